"""How likely diseases are: by the ranker's own scores, computed once; and shares against their definitions."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pytest import MonkeyPatch

from kgdx.case.patient import Case, Finding, Status
from kgdx.graph.snapshot import Snapshot
from kgdx.rank import Ranker
from kgdx.rank.belief import LEAST, TELLING, BeliefTracker
from kgdx.rank.case_bank import CaseBank
from kgdx.rank.choices import FEATURES, PLACES, STEPS, EpisodeProgress, listing
from kgdx.rank.fusion import believed, leading, shares
from kgdx.rank.query import Query
from small_graph import DELAY, FEVER, FOCAL, HYPOTONIA, NERVOUS, SEIZURE, SHORT, STATUS


@pytest.fixture(scope="module")
def tracker(ranker: Ranker, snapshot: Snapshot) -> BeliefTracker:
    return BeliefTracker(ranker, CaseBank(ranker, snapshot))


def query(ranker: Ranker, *present: str, absent: tuple[str, ...] = ()) -> Query:
    findings = (*map(Finding, present), *(Finding(each, Status.ABSENT) for each in absent))
    return ranker.query(Case("p", findings))[0]


@given(arrays(np.float32, st.integers(1, 3000), elements=st.integers(-50, 50)), st.integers(1, 80))
def test_the_best_are_those_of_a_stable_sort(total: np.ndarray, count: int) -> None:
    assert leading(total, count).tolist() == np.argsort(-total, kind="stable")[:count].tolist()


def test_diseases_stand_as_they_are_ranked(ranker: Ranker, tracker: BeliefTracker) -> None:
    for present, absent in (((SEIZURE,), ()), ((FOCAL, SHORT), (HYPOTONIA,)), ((HYPOTONIA, SEIZURE), (SHORT,))):
        known = query(ranker, *present, absent=absent)
        ranked = ranker.rank((present, absent), top=5).candidates
        names = [ranker.names.candidate(number).id for number in tracker.of(known).leaders[:5].tolist()]
        assert names == [each.id for each in ranked]
        assert np.array_equal(tracker.of(known).total, ranker.score_query(known).total)


def test_going_on_from_less_gives_equal_scores(ranker: Ranker, snapshot: Snapshot) -> None:
    one, two = BeliefTracker(ranker), BeliefTracker(ranker)
    before = one.of(query(ranker, SEIZURE))
    longer = query(ranker, SEIZURE, HYPOTONIA, absent=(SHORT,))
    assert np.array_equal(one.of(longer, before).total, two.of(longer).total)
    assert one.of(longer, before) is one.of(longer, before)


ANSWERS = st.lists(
    st.tuples(st.sampled_from((SEIZURE, STATUS, FOCAL, HYPOTONIA, SHORT, DELAY, FEVER, NERVOUS)), st.booleans()),
    min_size=1,
    max_size=7,
    unique_by=lambda answer: answer[0],
)


def told(ranker: Ranker, answers: Sequence[tuple[str, bool]]) -> list[Query]:
    """What is known after each answer; before the first, that one finding is present."""
    (first, _), *rest = answers
    cases = [Case("p", (Finding(first),), sex="FEMALE", age="P3Y")]
    for id, yes in rest:
        cases.append(cases[-1].with_finding(Finding(id, Status.PRESENT if yes else Status.ABSENT)))
    return [ranker.query(each)[0] for each in cases]


@given(ANSWERS, st.lists(st.integers(1, 4), min_size=7, max_size=7))
def test_after_any_answers_diseases_stand_as_if_scored_from_scratch(
    ranker: Ranker, answers: list[tuple[str, bool]], strides: list[int]
) -> None:
    known, tracker, before, at = told(ranker, answers), BeliefTracker(ranker), None, 0
    for stride in strides:
        before = tracker.of(known[at], before)
        assert np.array_equal(before.total, BeliefTracker(ranker).of(known[at]).total)
        at = min(at + stride, len(known) - 1)


def test_a_case_goes_on_from_a_kept_one_that_lacks_a_few_findings(ranker: Ranker, monkeypatch: MonkeyPatch) -> None:
    tracker, gone_on = BeliefTracker(ranker), []
    anew = ranker.score_anew
    monkeypatch.setattr(ranker, "score_anew", lambda each, before=None: gone_on.append(before) or anew(each, before))
    tracker.of(query(ranker, SEIZURE))
    tracker.of(query(ranker, SEIZURE, HYPOTONIA, absent=(SHORT,)))
    assert gone_on[0] is None
    assert gone_on[1].query.observed.tolist() == query(ranker, SEIZURE).observed.tolist()


def test_a_diagnosis_is_concluded_by_the_case_bank(ranker: Ranker, tracker: BeliefTracker) -> None:
    belief = tracker.of(query(ranker, FOCAL, SHORT))
    bank = CaseBank(ranker, ranker.names.snapshot)
    for left_out in (frozenset[str](), frozenset({"PMID:4"})):
        expected = bank.match(ranker.score_query(belief.query), left_out).raised(belief.total)
        assert np.array_equal(tracker.concluded(belief, left_out), expected)
    assert not np.array_equal(tracker.concluded(belief), tracker.concluded(belief, frozenset({"PMID:4"})))
    assert BeliefTracker(ranker).concluded(belief) is belief.total


def test_the_gain_of_a_question_is_what_its_answer_tells_of_the_leaders(ranker: Ranker) -> None:
    tracker = BeliefTracker(ranker)
    belief = tracker.of(query(ranker, SEIZURE))
    told, by = tracker.telling(belief), ranker.model.propagated
    counted = belief.share >= LEAST
    leaders, share = belief.leaders[counted].tolist(), belief.share[counted].tolist()

    def bits(chance: float) -> float:
        return -sum(each * np.log2(each) for each in (chance, 1 - chance) if each > 0)

    for place in np.flatnonzero(told.there[:TELLING]).tolist():
        rows = [dict(zip(*(part.tolist() for part in by.row(each)), strict=True)) for each in leaders]
        often = [row.get(int(told.terms[place]), 0.0) for row in rows]
        chance = sum(map(float.__mul__, often, share))
        gain = bits(chance) - sum(one * bits(each) for one, each in zip(share, often, strict=True))
        assert (told.values[1, place], told.values[0, place]) == pytest.approx((chance, max(gain, 0)), abs=1e-4)
    assert (np.diff(told.values[0]) <= 1e-6).all()


def test_what_is_listed_is_open_and_what_is_settled_is_not(ranker: Ranker, tracker: BeliefTracker) -> None:
    known = query(ranker, SEIZURE, absent=(HYPOTONIA,))
    offered = listing(tracker, [EpisodeProgress.begun(tracker, known)])
    assert offered.features.shape == (1, PLACES, len(FEATURES)) and np.isfinite(offered.features).all()
    settled = EpisodeProgress.begun(tracker, known).settled
    for place in np.flatnonzero(offered.listed[0]).tolist():
        choice = offered.choice(0, place)
        if choice.kind in ("ask", "round", "lookup"):
            assert choice.terms and not settled[list(choice.terms)].any()
    assert offered.choice(0, 0).kind == "diagnose"


def test_after_the_last_step_only_a_diagnosis_is_listed(ranker: Ranker, tracker: BeliefTracker) -> None:
    at = EpisodeProgress.begun(tracker, query(ranker, SEIZURE))
    at.asks = STEPS
    assert np.flatnonzero(listing(tracker, [at]).listed[0]).tolist() == [0]


def test_several_episodes_are_listed_as_each_alone(ranker: Ranker, tracker: BeliefTracker) -> None:
    states = [
        EpisodeProgress.begun(tracker, query(ranker, *each)) for each in ((SEIZURE,), (FOCAL, SHORT), (HYPOTONIA,))
    ]
    states[1].looked.append(int(states[1].belief.leaders[0]))
    together = listing(tracker, states)
    for number, state in enumerate(states):
        alone = listing(tracker, [state])
        assert np.array_equal(together.features[number], alone.features[0])
        assert np.array_equal(together.listed[number], alone.listed[0])


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
