"""Orphanet entries linked to an OMIM candidate are ranked under it."""

from __future__ import annotations

from pathlib import Path

import pytest

import small_graph
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.rank import Ranker
from kgdx.rank.held_out_ranks import Withheld
from small_graph import FEVER, HYPOTONIA, SEIZURE


@pytest.mark.parametrize("relation", ["broader", "narrower"])
def test_a_linked_orphanet_entry_is_found_under_its_candidate(tmp_path: Path, relation: str) -> None:
    same = [("ORPHA:1", "OMIM:2", relation)]
    ranker = Ranker.open(compile_snapshot(small_graph.tables(same), tmp_path / "s", "f1"))
    assert "ORPHA:1" not in ranker.ids
    assert ranker.number_of("ORPHA:1") == ranker.number_of("OMIM:2")
    best = next(each for each in ranker.rank(([HYPOTONIA], ())).candidates if each.id == "OMIM:2")
    assert (best.members, best.nested) == (("OMIM:2",), ("ORPHA:1",)), "it is not the same disease"


def test_only_what_is_narrower_inherits_from_a_nested_entry(tmp_path: Path) -> None:
    found = {}
    for relation in ("broader", "narrower"):
        same = [("ORPHA:1", "OMIM:3", relation)]
        ranker = Ranker.open(compile_snapshot(small_graph.tables(same), tmp_path / relation, "f1"))
        having = ranker.model.columns.frequency.columns(ranker.names.terms[SEIZURE]).tolist()
        found[relation] = ranker.number_of("OMIM:3") in having
    assert found == {"broader": True, "narrower": False}


def test_an_annotation_inherited_from_a_nested_entry_cites_it(tmp_path: Path) -> None:
    ranker = Ranker.open(compile_snapshot(small_graph.tables([("ORPHA:1", "OMIM:3", "broader")]), tmp_path / "s", "f1"))
    told = next(each for each in ranker.rank(([SEIZURE], ()), explain=True).candidates if each.id == "OMIM:3")
    part = next(each for each in told.contributions if "likelihood" in each.parts and each.finding == SEIZURE)
    assert part.references == ("ORPHA:1",)


def test_withholding_a_publication_keeps_what_is_inherited(tmp_path: Path) -> None:
    snapshot = compile_snapshot(small_graph.tables([("ORPHA:1", "OMIM:3", "broader")]), tmp_path / "s", "f1")
    ranker = Ranker.open(snapshot)
    withheld = Withheld(ranker, snapshot)
    number = ranker.number_of("OMIM:3")
    assert withheld.without(number, frozenset({"PMID:4"})) is None, "nothing of its own is left"
    kept = withheld.without(number, frozenset({"PMID:9"}))
    assert kept is not None
    terms = kept.annotated.columns(0).tolist()
    assert {ranker.names.terms[SEIZURE], ranker.names.terms[FEVER]} <= set(terms)
