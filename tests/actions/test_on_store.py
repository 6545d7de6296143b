"""Every look-up as a template on the store: nothing is answered from arrays, and all rows are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import kgdx
from kgdx.episode.operations import Operations
from kgdx.errors import StoreError


def test_every_template_runs_on_the_store_and_gives_the_same_rows(
    tiny_graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    with kgdx.open(tiny_graph) as sooner, kgdx.open(tiny_graph, on_store=True) as there:
        disease = sooner.diagnose("seizures", top=1).candidates[0].id
        compiled = Operations(sooner).query("phenotypes_of_diseases", diseases=[disease], limit=5)
        run = type(there.store).run

        def watched(store: object, name: str, /, **parameters: object) -> object:
            asked.append(name)
            return run(store, name, **parameters)  # type: ignore[arg-type]

        monkeypatch.setattr(type(there.store), "run", watched)
        rows = Operations(there).query("phenotypes_of_diseases", diseases=[disease], limit=5)
        assert asked == ["phenotypes_of_diseases"]
        assert list(rows) == list(compiled) != []
        assert sooner.compiled.has("phenotypes_of_diseases") and not there.compiled.has("phenotypes_of_diseases")
        with pytest.raises(StoreError, match="no compiled form here"):
            there.compiled.run("phenotypes_of_diseases", diseases=[disease], limit=5)


def test_a_diagnosis_is_the_same(tiny_graph: Path) -> None:
    results = []
    for on_store in (False, True):
        with kgdx.open(tiny_graph, on_store=on_store) as graph:
            found = graph.diagnose("seizures and low muscle tone, no fever")
            results.append([(each.id, each.score) for each in found.candidates])
    assert results[0] == results[1] != []
