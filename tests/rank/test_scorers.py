"""What each scorer claims, worked out by hand on the small graph."""

from __future__ import annotations

import numpy as np
import pytest

from kgdx.rank import Ranker
from kgdx.rank.scorers import BREADTH, EXCLUDED_MOST, EXCLUDED_SHARE, SCORERS, Scores
from small_graph import FEVER, HYPOTONIA, NERVOUS, SEIZURE, SHORT, STATUS

EPILEPSY, SHORTNESS, UNKNOWN_FEVER = 0, 1, 2
CERTAIN_FEVER = 1 - 1 / 4  # 1 − e^−IC of a term that one of four candidates has


def scored(ranker: Ranker, name: str, observed: list[str], excluded: tuple[str, ...] = ()) -> Scores:
    query, _ = ranker.query((observed, excluded))
    return SCORERS[name](ranker.model.columns, ranker.model.basis, query)


def test_likelihood_is_the_mean_over_findings_less_the_breadth_of_the_disease(ranker: Ranker) -> None:
    one, two = (scored(ranker, "likelihood", terms) for terms in ([SEIZURE], [SEIZURE, FEVER]))
    everyone = np.arange(4)
    assert two.findings(everyone)[0] == pytest.approx(one.findings(everyone)[0] / 2)
    assert two.total == pytest.approx(two.findings(everyone).sum(axis=0) - BREADTH * ranker.model.columns.breadth)


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
    assert many.findings(np.arange(4)).sum(axis=0) == pytest.approx(many.total, abs=1e-6)


@pytest.mark.parametrize("name", SCORERS)
def test_the_findings_shares_of_every_scorer_explain_its_total(ranker: Ranker, name: str) -> None:
    scores = scored(ranker, name, [SEIZURE, SHORT], (HYPOTONIA,))
    rest = scores.total - scores.findings(np.arange(4)).sum(axis=0)
    expected = -BREADTH * ranker.model.columns.breadth if name == "likelihood" else np.zeros(4)
    assert rest == pytest.approx(expected, abs=1e-6)
