"""What each scorer claims, worked out by hand on the small graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from kgdx.rank import Ranker
from kgdx.rank.query import Recent
from kgdx.rank.term_scorers import BREADTH, EXCLUDED_MOST, EXCLUDED_SHARE
from small_graph import FEVER, HYPOTONIA, NERVOUS, SEIZURE, SHORT, STATUS

EPILEPSY, SHORTNESS, UNKNOWN_FEVER = 0, 1, 2
CERTAIN_FEVER = 1 - 1 / 4  # 1 − e^−IC of a term that one of four candidates has


OF_FINDINGS = ("likelihood", "coverage", "typicality", "excluded")
EVERYONE = np.arange(4)


@dataclass(frozen=True)
class Scored:
    """One scorer's scores, and each finding's share beyond its mean over the candidates."""

    total: Any
    shares: Any


def scored(ranker: Ranker, name: str, observed: list[str], excluded: tuple[str, ...] = ()) -> Scored:
    query, _ = ranker.query((observed, excluded))
    scorer = ranker.scorers[name]
    return Scored(scorer.score(query), scorer.explain(query, EVERYONE))


def test_likelihood_is_the_mean_over_findings_less_the_breadth_of_the_disease(ranker: Ranker) -> None:
    one, two = (scored(ranker, "likelihood", terms) for terms in ([SEIZURE], [SEIZURE, FEVER]))
    assert two.shares[0] == pytest.approx(one.shares[0] / 2)
    correction = BREADTH * ranker.model.columns.breadth
    assert two.total + correction == pytest.approx(two.shares.sum(axis=0) + (two.total + correction).mean(), abs=1e-6)


def test_likelihood_says_more_of_a_finding_that_fewer_diseases_have(ranker: Ranker) -> None:
    rare = scored(ranker, "likelihood", [STATUS]).total
    common = scored(ranker, "likelihood", [NERVOUS]).total
    assert np.argmax(rare) == EPILEPSY
    assert np.ptp(rare) > np.ptp(common)


def test_coverage_asks_how_much_of_the_patient_the_disease_explains(ranker: Ranker) -> None:
    explained = scored(ranker, "coverage", [FEVER]).total
    assert explained[UNKNOWN_FEVER] == pytest.approx(CERTAIN_FEVER)
    half = scored(ranker, "coverage", [FEVER, SHORT]).total  # two findings of equal information, one explained
    assert half[UNKNOWN_FEVER] == pytest.approx(CERTAIN_FEVER / 2)


def test_typicality_asks_how_much_of_the_disease_the_patient_shows(ranker: Ranker) -> None:
    alone, besides = (scored(ranker, "typicality", terms).total for terms in ([FEVER], [FEVER, SHORT]))
    assert alone[UNKNOWN_FEVER] == besides[UNKNOWN_FEVER] == pytest.approx(CERTAIN_FEVER)
    part, whole = (scored(ranker, "typicality", terms).total for terms in ([SHORT], [SHORT, HYPOTONIA]))
    assert 0 < part[SHORTNESS] < whole[SHORTNESS]


def test_excluded_takes_away_what_the_disease_makes_likely_and_no_more_than_its_bound(ranker: Ranker) -> None:
    index, frequency = ranker.model.columns.frequency.row(ranker.names.terms[FEVER])
    assert index.tolist() == [UNKNOWN_FEVER]
    one = scored(ranker, "excluded", [SHORT], (FEVER,)).total
    assert one[UNKNOWN_FEVER] == pytest.approx(np.log1p(-EXCLUDED_SHARE * float(frequency[0])), abs=1e-5)
    assert one[[EPILEPSY, SHORTNESS]].tolist() == [0, 0]
    many = scored(ranker, "excluded", [FEVER], (SEIZURE, STATUS, HYPOTONIA, NERVOUS))
    assert many.total.min() == -EXCLUDED_MOST
    assert many.shares.sum(axis=0) == pytest.approx(many.total, abs=1e-6)


@pytest.mark.parametrize("name", OF_FINDINGS)
def test_the_findings_shares_of_every_scorer_explain_its_total(ranker: Ranker, name: str) -> None:
    scores = scored(ranker, name, [SEIZURE, SHORT], (HYPOTONIA,))
    rest = scores.total - scores.shares.sum(axis=0)
    of_no_finding = {"likelihood": -BREADTH * ranker.model.columns.breadth, "hub": scores.total}
    expected = of_no_finding.get(name, np.zeros(4))
    assert np.ptp(rest - expected) == pytest.approx(0, abs=1e-6)  # the rest is the same for all candidates


@pytest.mark.parametrize("name", OF_FINDINGS)
def test_a_scorer_of_findings_scores_any_columns(ranker: Ranker, name: str) -> None:
    query, _ = ranker.query(([SEIZURE, SHORT], (HYPOTONIA,)))
    other = ranker.scorers[name].on(ranker.model.columns)
    assert other is not None and other is not ranker.scorers[name]
    assert (other.score(query) == ranker.scorers[name].score(query)).all()


def test_rows_are_kept_within_their_bound_the_last_used_the_longest() -> None:
    rows: Recent[int, int] = Recent(2)
    computed: list[int] = []

    def compute(term: int) -> int:
        computed.append(term)
        return 10 * term

    for term in (1, 2, 1, 3, 1, 2):
        assert rows.get(term, lambda term=term: compute(term)) == 10 * term  # type: ignore[misc]
    assert computed == [1, 2, 3, 2] and [rows.peek(term) for term in (1, 2, 3)] == [10, 20, None]
