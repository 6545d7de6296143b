"""What is the same and what is only near are relations of their own, counted apart."""

from __future__ import annotations

from pathlib import Path

import kgdx
from kgdx.schema.model import MATCHES


def test_broader_and_narrower_are_not_the_same(tmp_path: Path, tiny: Path) -> None:
    names = {"hp": "hp.obo", "hpoa": "phenotype.hpoa", "orphanet_omim": "orphanet-omim-xrefs.tsv"}
    report = kgdx.build({name: str(tiny / file) for name, file in names.items()}, store=tmp_path / "graph")
    with kgdx.open(tmp_path / "graph") as graph:
        counts = graph.store.counts()
    found = {relation: counts.get(type, 0) for relation, type in MATCHES.items()}
    assert sum(report.mappings["SAME_AS"].values()) == found.pop("exact")
    assert report.near["SAME_AS"] == {relation: number for relation, number in found.items() if number}
    assert report.near["SAME_AS"]["broader"]
