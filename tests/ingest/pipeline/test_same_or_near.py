"""What is the same and what is only near are counted apart."""

from __future__ import annotations

from pathlib import Path

import kgdx


def test_broader_and_narrower_are_not_counted_as_the_same(tmp_path: Path, tiny: Path) -> None:
    names = {"hp": "hp.obo", "hpoa": "phenotype.hpoa", "orphanet_omim": "orphanet-omim-xrefs.tsv"}
    report = kgdx.build({name: str(tiny / file) for name, file in names.items()}, store=tmp_path / "graph")
    with kgdx.open(tmp_path / "graph") as graph:
        relations = graph.store.export_relations("SAME_AS", "Disease", "Disease", ["relation"])
        found = relations.column("relation").to_pylist()
    assert sum(report.mappings["SAME_AS"].values()) == found.count("exact")
    assert report.near["SAME_AS"] == {name: found.count(name) for name in sorted(set(found) - {"exact"})}
    assert "broader" in report.near["SAME_AS"] or "narrower" in report.near["SAME_AS"]
