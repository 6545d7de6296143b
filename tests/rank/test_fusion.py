"""Shares and gains, against the definitions written out in full on the small graph."""

from __future__ import annotations

from math import exp, log2

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgdx.case.patient import Case, Finding, Status
from kgdx.rank import Ranker
from kgdx.rank.fusion import Beliefs, askable, entropy, gains, leading, shares
from small_graph import DELAY, FEVER, FOCAL, HYPOTONIA, NERVOUS, RECESSIVE, ROOT, SEIZURE, SHORT, STATUS, TERMS

PHENOTYPES = sorted(set(TERMS) - {"HP:0000001", RECESSIVE})


def frequency(ranker: Ranker, candidate: int, term: str) -> float:
    index, values = ranker.model.columns.frequency.row(ranker.names.terms[term])
    return float(dict(zip(index.tolist(), values.tolist(), strict=True)).get(candidate, 0.0))


def entropy_of(*shares: float) -> float:
    return -sum(share * log2(share) for share in shares if share > 0)


def gain(ranker: Ranker, beliefs: Beliefs, term: str) -> float:
    """Entropy of which candidate it is, less what is left of it after the answer."""
    share = [each / beliefs.shares.sum() for each in beliefs.shares.tolist()]
    having = [frequency(ranker, number, term) for number in beliefs.numbers.tolist()]
    left = 0.0
    for answer in (having, [1 - each for each in having]):
        joint = [p * f for p, f in zip(share, answer, strict=True)]
        if sum(joint) > 0:
            left += sum(joint) * entropy_of(*(each / sum(joint) for each in joint))
    return entropy_of(*share) - left


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(observed=st.lists(st.sampled_from(PHENOTYPES), min_size=1, max_size=4, unique=True), count=st.integers(1, 4))
def test_the_gain_of_a_term_is_what_its_answer_tells_of_the_candidate(
    ranker: Ranker, observed: list[str], count: int
) -> None:
    beliefs = ranker.beliefs((observed, ()), count)
    frequencies = ranker.model.propagated
    bits_of = entropy(frequencies.values.astype(float))
    found = gains(beliefs.shares, beliefs.numbers, frequencies, bits_of, len(ranker.terms))
    for term, bits in zip(ranker.terms, found, strict=True):
        assert bits == pytest.approx(gain(ranker, beliefs, term), abs=1e-9)


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


def test_nothing_above_a_finding_and_nothing_below_a_no_is_asked(ranker: Ranker) -> None:
    terms = ranker.names.terms
    free = askable(ranker.model.basis, [terms[STATUS]], [terms["HP:0001507"]])
    assert {ranker.terms[row] for row in np.flatnonzero(free)} == {FOCAL, HYPOTONIA, FEVER}


@pytest.mark.parametrize("answered", ["excluded", "unknown", "case"])
def test_a_term_that_was_answered_has_no_gain_nor_what_it_settles(ranker: Ranker, answered: str) -> None:
    case: Case | tuple[list[str], list[str]] = ([STATUS], [NERVOUS] if answered == "excluded" else [])
    if answered == "case":
        case = Case("p", (Finding(STATUS), Finding(NERVOUS, Status.UNKNOWN)))
    found = ranker.gains(ranker.beliefs(case), case, [NERVOUS] if answered == "unknown" else ())
    left = dict(zip(ranker.terms, found.tolist(), strict=True))
    assert left[FEVER] > 0 and left[SHORT] > 0
    for settled in (ROOT, NERVOUS, SEIZURE, STATUS, FOCAL, HYPOTONIA, RECESSIVE, DELAY):
        assert left[settled] == 0


def test_questions_are_the_terms_of_most_gain(ranker: Ranker) -> None:
    case = Case("p", (Finding(STATUS), Finding(HYPOTONIA, Status.UNKNOWN)))
    found = ranker.gains(ranker.beliefs(case), case, [SHORT])
    asked = ranker.questions(case, unknown=[SHORT])
    assert asked == sorted(asked, key=lambda each: -each[1])
    assert dict(asked) == {term: bits for term, bits in zip(ranker.terms, found.tolist(), strict=True) if bits > 0}
    assert {HYPOTONIA, SHORT} & dict(asked).keys() == set() and FEVER in dict(asked)
    assert ranker.questions(case, 1, [SHORT]) == asked[:1]
    assert SHORT in dict(ranker.questions(case))


def test_unknown_ids_are_passed_over(ranker: Ranker) -> None:
    beliefs = ranker.beliefs(([SEIZURE], ()))
    assert (ranker.gains(beliefs, ([SEIZURE], ()), ["HP:9999999"]) == ranker.gains(beliefs, ([SEIZURE], ()))).all()
