"""What a stated diagnosis means, on the small graph and an index of names in its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import small_graph
from kgdx.case import Case
from kgdx.evaluate.labels import Labels
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.rank import Ranker
from kgdx.terms.names.name_decision import NameDecision, NameEntry


class Index:
    """Knows a few names."""

    def __init__(self, *entries: tuple[str, str, float, str, str]) -> None:
        self.entries = entries

    def resolve(self, name: str, kinds: Any) -> NameDecision:
        found = (
            NameEntry(id, "Disease", name, "source", name, method, relation, score, via)
            for id, method, score, relation, via in self.entries
        )
        return NameDecision(name, tuple(kinds), tuple(found), "because")


def labels(tmp_path: Path, *entries: tuple[str, str, float, str, str]) -> tuple[Labels, Ranker]:
    snapshot = compile_snapshot(small_graph.tables(), tmp_path / "s", "f")
    ranker = Ranker.open(snapshot)
    return Labels(ranker, snapshot, lambda: Index(*entries)), ranker  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize(
    ("entries", "meant"),
    [
        ([("OMIM:1", "exact", 1.0, "exact", ""), ("OMIM:2", "exact", 0.995, "exact", "")], ["OMIM:1"]),
        ([("GONE:1", "exact", 1.0, "exact", ""), ("OMIM:2", "exact", 0.995, "exact", "")], ["OMIM:2"]),
        ([("GONE:1", "exact", 1.0, "exact", ""), ("OMIM:2", "same", 0.99, "exact", "GONE:1")], ["OMIM:2"]),
        ([("OMIM:1", "normalised", 0.98, "exact", "")], ["OMIM:1"]),
        ([("OMIM:1", "exact", 1.0, "exact", ""), ("OMIM:2", "exact", 1.0, "exact", "")], ["OMIM:1", "OMIM:2"]),
        ([("OMIM:1", "edit", 0.97, "exact", "")], []),
        ([("OMIM:1", "encoder", 0.97, "exact", "")], []),
        ([("OMIM:1", "exact", 0.9, "narrower", "")], []),
        ([("GONE:1", "edit", 0.97, "exact", ""), ("OMIM:2", "same", 0.96, "exact", "GONE:1")], []),
    ],
    ids=[
        "name first",
        "synonym",
        "same",
        "word order",
        "two of one name",
        "typo",
        "likeness",
        "narrower",
        "same as a typo",
    ],
)
def test_a_name_means_the_best_candidates_of_that_name(
    tmp_path: Path, entries: list[tuple[str, str, float, str, str]], meant: list[str]
) -> None:
    found, ranker = labels(tmp_path, *entries)
    label = found.of(Case("p", extra={"diagnosis": "Some disease"}))
    assert label.right == tuple(sorted(map(ranker.number_of, meant)))


def test_names_count_only_where_the_ids_mean_nothing(tmp_path: Path) -> None:
    found, ranker = labels(tmp_path, ("OMIM:2", "exact", 1.0, "exact", ""))
    by_id = found.of(Case("p", diseases=("OMIM:1",), extra={"diagnosis": ["Some disease"]}))
    assert by_id.right == (ranker.number_of("OMIM:1"),)
    by_name = found.of(Case("p", diseases=("GONE:9",), extra={"diagnosis": ["Some disease"]}))
    assert by_name.right == (ranker.number_of("OMIM:2"),)


def test_an_id_is_never_taken_for_a_name(tmp_path: Path) -> None:
    found, _ = labels(tmp_path, ("OMIM:2", "exact", 1.0, "exact", ""))
    assert found.of(Case("p", diseases=("GONE:9",))).right == ()


def test_a_case_without_a_diagnosis_has_no_label(tmp_path: Path) -> None:
    found, _ = labels(tmp_path)
    assert found.of(Case("p", diseases=(" ",), extra={"diagnosis": ""})).stated == ()
