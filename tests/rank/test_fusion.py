"""Shares, against the definitions written out in full on the small graph."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest

from kgdx.rank import Ranker
from kgdx.rank.fusion import leading, shares
from small_graph import HYPOTONIA, SEIZURE, SHORT


def test_shares_are_those_of_all_annotated_diseases(ranker: Ranker) -> None:
    scored = ranker.score(([SEIZURE, HYPOTONIA], ()))
    fitted = ranker.weights.posterior.temperature[2]
    weight = [exp(score / fitted) for score in scored.total.tolist()]
    beliefs = ranker.beliefs(scored)
    assert beliefs.shares.sum() == pytest.approx(1) and beliefs.findings == 2
    for number, share in zip(beliefs.numbers.tolist(), beliefs.shares.tolist(), strict=True):
        assert share == pytest.approx(weight[number] / sum(weight), rel=1e-5)
    assert ranker.beliefs(scored, 2).shares.tolist() == beliefs.shares[:2].tolist()


def test_shares_survive_scores_that_overflow() -> None:
    assert shares(np.array([5000.0, 0.0, 5000.0], np.float32), 1.2).tolist() == [0.5, 0.0, 0.5]


def test_leaders_are_the_first_of_the_ranking(ranker: Ranker) -> None:
    ranked = [ranker.number_of(candidate.id) for candidate in ranker.rank(([SEIZURE, SHORT], ())).candidates]
    assert ranker.beliefs(([SEIZURE, SHORT], ())).numbers.tolist() == ranked
    assert leading(np.array([1.0, 1.0]), 9).tolist() == [0, 1]
