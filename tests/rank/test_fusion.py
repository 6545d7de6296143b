"""Shares, against the definitions written out in full on the small graph."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.rank import Ranker
from kgdx.rank.fusion import believed, leading, shares
from small_graph import HYPOTONIA, SEIZURE, SHORT


def test_shares_are_those_of_all_annotated_diseases(ranker: Ranker) -> None:
    scored = ranker.score(([SEIZURE, HYPOTONIA], ()))
    fitted = ranker.weights.posterior
    weight = [exp(score / fitted.temperature[2]) for score in scored.total.tolist()]
    beliefs = ranker.beliefs(scored)
    assert beliefs.shares.sum() == pytest.approx(fitted.most) and beliefs.findings == 2
    for number, share in zip(beliefs.numbers.tolist(), beliefs.shares.tolist(), strict=True):
        assert share == pytest.approx(fitted.most * weight[number] / sum(weight), rel=1e-5)
    assert ranker.beliefs(scored, 2).shares.tolist() == beliefs.shares[:2].tolist()


@given(
    scores=st.lists(st.floats(-50, 50, width=32), min_size=1, max_size=40),
    temperature=st.floats(0.1, 10),
    plausible=st.integers(1, 30),
    most=st.floats(0.05, 1),
)
def test_shares_are_ordered_as_the_scores_and_at_most_one_in_sum(
    scores: list[float], temperature: float, plausible: int, most: float
) -> None:
    total = np.array(scores, np.float32)
    found = believed(total, temperature, plausible, most)
    assert (found >= 0).all() and found.sum() <= 1 + 1e-9 and found.max() <= most + 1e-9
    order = np.argsort(-total, kind="stable")
    assert (np.diff(found[order]) <= 1e-12).all()


def test_shares_survive_scores_that_overflow() -> None:
    assert shares(np.array([5000.0, 0.0, 5000.0], np.float32), 1.2).tolist() == [0.5, 0.0, 0.5]


def test_leaders_are_the_first_of_the_ranking(ranker: Ranker) -> None:
    ranked = [ranker.number_of(candidate.id) for candidate in ranker.rank(([SEIZURE, SHORT], ())).candidates]
    assert ranker.beliefs(([SEIZURE, SHORT], ())).numbers.tolist() == ranked
    assert leading(np.array([1.0, 1.0]), 9).tolist() == [0, 1]
