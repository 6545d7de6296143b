"""Opposites and absences speak against a disease, in every scorer, and unspecific ancestors for none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import small_graph
from kgdx.arrays.sparse import ancestors
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.rank import Ranker
from kgdx.rank.feature_matrices import named_opposites, opposites

TERMS = ["HP:1", "HP:2", "HP:3", "HP:4", "HP:5"]
NAMES = [
    "Abnormal blood pressure",
    "Hypertension",
    "Hypotension",
    "Renovascular hypertension",
    "Orthostatic hypotension",
]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Tachycardia", "Bradycardia"),
        ("Leukocytosis", "Leukopenia"),
        ("Tall stature", "Short stature"),
        ("Delayed thelarche", "Premature thelarche"),
        ("Increased circulating renin concentration", "Decreased circulating renin concentration"),
    ],
)
def test_opposites_are_read_from_names(one: str, other: str) -> None:
    assert [set(pair) for pair in named_opposites(["HP:1", "HP:2"], [one, other])] == [{0, 1}]


def test_a_name_of_a_place_has_no_opposite() -> None:
    names = ["Abnormal large intestine morphology", "Abnormal small intestine morphology"]
    assert named_opposites(["HP:1", "HP:2"], names) == []


def test_what_is_below_an_opposite_inherits_it() -> None:
    up = ancestors(np.array([1, 2, 3, 4]), np.array([0, 0, 1, 2]), n=5, root=0)
    found = opposites(TERMS, NAMES, up)
    assert [found.columns(term).tolist() for term in range(5)] == [[], [2], [1], [2], [1]]


def test_a_term_below_both_is_the_opposite_of_neither() -> None:
    up = ancestors(np.array([1, 2, 3, 3, 4]), np.array([0, 0, 1, 2, 2]), n=5, root=0)
    assert opposites(TERMS, NAMES, up).columns(3).tolist() == []


@pytest.fixture(scope="module")
def ranker(tmp_path_factory: pytest.TempPathFactory) -> Ranker:
    """The small graph, in which short stature and delayed growth are opposites."""
    pair = small_graph.SHORT, small_graph.DELAY
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "kgdx.rank.feature_matrices.named_opposites",
            lambda ids, names: [tuple(map(list(ids).index, pair))],
        )
        folder: Path = tmp_path_factory.mktemp("opposites")
        return Ranker.open(compile_snapshot(small_graph.tables(), folder / "snapshot", "opposites"))


@pytest.mark.parametrize(
    ("finding", "disease", "rule", "matched"),
    [
        (small_graph.DELAY, "OMIM:2", "opposite", small_graph.SHORT),
        (small_graph.SHORT, "OMIM:1", "annotated_absent", small_graph.SHORT),
    ],
)
def test_what_is_contrary_speaks_against(ranker: Ranker, finding: str, disease: str, rule: str, matched: str) -> None:
    others = [finding, small_graph.SEIZURE, small_graph.HYPOTONIA]
    found = ranker.rank((others, ()), also=[disease], explain=True)
    candidate = next(each for each in found.candidates if each.id == disease)
    rows = [each for each in candidate.contributions if each.finding == finding]
    assert {(each.rule, each.matched) for each in rows} == {(rule, matched)}
    assert sum(each.score for each in rows) < 0
    assert sum(each.score for each in candidate.contributions) == pytest.approx(candidate.score, abs=1e-5)
