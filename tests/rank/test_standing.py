"""Where diseases stand: by the ranker's own scores, computed once; patients found by equation 21 raise them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pytest import MonkeyPatch

from kgdx.case.patient import Case, Finding, Status
from kgdx.graph.snapshot import Snapshot
from kgdx.rank import Ranker
from kgdx.rank.case_bank import CaseBank
from kgdx.rank.choices import FEATURES, PLACES, ROUND, STEPS, TEXTS, begun, listing
from kgdx.rank.fusion import leading
from kgdx.rank.query import Query
from kgdx.rank.standing import Matched, Standings
from small_graph import DELAY, FEVER, FOCAL, HYPOTONIA, NERVOUS, SEIZURE, SHORT, STATUS


@pytest.fixture(scope="module")
def standings(ranker: Ranker, snapshot: Snapshot) -> Standings:
    return Standings(ranker, CaseBank(ranker, snapshot))


def query(ranker: Ranker, *present: str, absent: tuple[str, ...] = ()) -> Query:
    findings = (*map(Finding, present), *(Finding(each, Status.ABSENT) for each in absent))
    return ranker.query(Case("p", findings))[0]


@given(arrays(np.float32, st.integers(1, 3000), elements=st.integers(-50, 50)), st.integers(1, 80))
def test_the_best_are_those_of_a_stable_sort(total: np.ndarray, count: int) -> None:
    assert leading(total, count).tolist() == np.argsort(-total, kind="stable")[:count].tolist()


def test_diseases_stand_as_they_are_ranked(ranker: Ranker, standings: Standings) -> None:
    for present, absent in (((SEIZURE,), ()), ((FOCAL, SHORT), (HYPOTONIA,)), ((HYPOTONIA, SEIZURE), (SHORT,))):
        known = query(ranker, *present, absent=absent)
        ranked = ranker.rank((present, absent), top=5).candidates
        names = [ranker.names.candidate(number).id for number in standings.of(known).leaders[:5].tolist()]
        assert names == [each.id for each in ranked]
        assert np.array_equal(standings.of(known).total, ranker.score_query(known).total)


def test_going_on_from_less_gives_equal_scores(ranker: Ranker, snapshot: Snapshot) -> None:
    one, two = Standings(ranker), Standings(ranker)
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
    known, standings, before, at = told(ranker, answers), Standings(ranker), None, 0
    for stride in strides:
        before = standings.of(known[at], before)
        assert np.array_equal(before.total, Standings(ranker).of(known[at]).total)
        at = min(at + stride, len(known) - 1)


@given(st.lists(ANSWERS, min_size=1, max_size=5))
def test_cases_that_are_scored_together_stand_as_each_alone(ranker: Ranker, met: list[list[tuple[str, bool]]]) -> None:
    series, standings, alone = [told(ranker, each) for each in met], Standings(ranker), Standings(ranker)
    before = [None] * len(series)
    for at in range(max(map(len, series))):
        queries = [each[min(at, len(each) - 1)] for each in series]
        with standings.together():
            before = [standings.of(each, one) for each, one in zip(queries, before, strict=True)]
        for each, one in zip(queries, before, strict=True):
            expected = alone.of(each)
            assert np.array_equal(one.total, expected.total)
            assert np.array_equal(one.leaders, expected.leaders)
            assert np.array_equal(one.share, expected.share)


def test_cases_that_could_not_be_scored_together_are_not_remembered(ranker: Ranker) -> None:
    standings, known = Standings(ranker), query(ranker, SEIZURE)
    with pytest.raises(KeyError), standings.together():
        standings.of(known)
        raise KeyError
    assert np.array_equal(standings.of(known).total, ranker.score_anew(known).total)


def test_a_case_goes_on_from_a_kept_one_that_lacks_a_few_findings(ranker: Ranker, monkeypatch: MonkeyPatch) -> None:
    standings, gone_on = Standings(ranker), []
    anew = ranker.score_anew
    monkeypatch.setattr(ranker, "score_anew", lambda each, before=None: gone_on.append(before) or anew(each, before))
    standings.of(query(ranker, SEIZURE))
    standings.of(query(ranker, SEIZURE, HYPOTONIA, absent=(SHORT,)))
    assert gone_on[0] is None
    assert gone_on[1].query.observed.tolist() == query(ranker, SEIZURE).observed.tolist()


def test_patients_match_by_the_mean_similarity_of_their_nearest_findings(ranker: Ranker, standings: Standings) -> None:
    bank, up, ic = standings.bank, standings.model.basis.up, standings.model.basis.ic
    assert bank is not None
    known = query(ranker, FOCAL, SHORT)
    asked = known.observed.tolist()
    matched = standings.match(standings.of(known), asked, frozenset())

    def similar(one: int, other: int) -> float:
        common = max((float(ic[each]) for each in set(up.columns(one)) & set(up.columns(other))), default=0.0)
        return 2 * common * (1 - np.exp(-common)) / max(float(ic[one] + ic[other]), 1e-9)

    having = [np.flatnonzero(bank._columns.annotated.start >= 0) for _ in range(bank.size)]
    best = dict.fromkeys(bank.candidate.tolist(), 0.0)
    for patient in range(bank.size):
        having[patient] = bank._columns.annotated.columns(patient)
        value = float(np.mean([max(similar(term, own) for own in having[patient].tolist()) for term in asked]))
        best[int(bank.candidate[patient])] = max(best[int(bank.candidate[patient])], value)
    found = dict(zip(matched.candidates.tolist(), matched.similar.tolist(), strict=True))
    assert found == pytest.approx(best, abs=1e-5)


def test_who_is_left_out_is_not_matched(ranker: Ranker, standings: Standings) -> None:
    known = query(ranker, FOCAL, SHORT)
    standing, terms = standings.of(known), known.observed.tolist()
    matched, without = (standings.match(standing, terms, frozenset(left_out)) for left_out in ((), ("PMID:4",)))
    assert len(without.score) < len(matched.score)


def test_matched_patients_count_as_in_the_case_bank(ranker: Ranker, standings: Standings) -> None:
    known = query(ranker, FOCAL, SHORT)
    standing = standings.of(known)
    matched = standings.match(standing, known.observed.tolist(), frozenset())
    nothing, gain = matched.gain(standing.total, 0.0), matched.gain(standing.total, 2.0)
    assert standing.raised(matched.candidates, nothing) is standing
    bank = CaseBank(ranker, ranker.names.snapshot, pooling=2.0)
    expected = bank.match(ranker.score_query(known)).raised(standing.total)
    raised = standing.raised(matched.candidates, gain).total
    assert (gain > 0).any() and raised[matched.candidates] == pytest.approx(expected[matched.candidates], abs=1e-4)


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-30, 30)), min_size=1, max_size=8), st.floats(0.5, 3))
def test_a_disease_is_never_lowered_and_stands_at_least_where_its_best_patient_does(
    patients: list[tuple[int, float]], weight: float
) -> None:
    of, score = (np.array(each) for each in zip(*patients, strict=True))
    total = np.array([4.0, 0.0, -2.0, 20.0], np.float32)
    gain = Matched(np.arange(4), np.ones(4, np.float32), of, score).gain(total, weight)
    assert (gain >= 0).all() and (gain[~np.isin(np.arange(4), of)] == 0).all()
    for disease in set(of.tolist()):
        assert total[disease] + gain[disease] >= score[of == disease].max() - 1e-4


def test_what_is_listed_is_open_and_what_is_settled_is_not(ranker: Ranker, standings: Standings) -> None:
    known = query(ranker, SEIZURE, absent=(HYPOTONIA,))
    offered = listing(standings, [begun(standings, known)])
    assert offered.features.shape == (1, PLACES, len(FEATURES)) and np.isfinite(offered.features).all()
    settled = begun(standings, known).settled
    for place in np.flatnonzero(offered.listed[0]).tolist():
        choice = offered.choice(0, place)
        if choice.kind in ("ask", "round", "lookup"):
            assert choice.terms and not settled[list(choice.terms)].any()
    assert offered.choice(0, 0).kind == "diagnose"


def test_after_the_last_step_only_a_diagnosis_is_listed(ranker: Ranker, standings: Standings) -> None:
    at = begun(standings, query(ranker, SEIZURE))
    at.asks = STEPS
    assert np.flatnonzero(listing(standings, [at]).listed[0]).tolist() == [0]


def test_several_episodes_are_listed_as_each_alone(ranker: Ranker, standings: Standings) -> None:
    states = [begun(standings, query(ranker, *each)) for each in ((SEIZURE,), (FOCAL, SHORT), (HYPOTONIA,))]
    states[1].match(standings, states[1].standing.query.observed.tolist(), 1.0, frozenset())
    together = listing(standings, states)
    for number, state in enumerate(states):
        alone = listing(standings, [state])
        assert np.array_equal(together.features[number], alone.features[0])
        assert np.array_equal(together.listed[number], alone.listed[0])


def test_a_graph_without_patients_lists_no_match(ranker: Ranker) -> None:
    alone = Standings(ranker)
    offered = listing(alone, [begun(alone, query(ranker, SEIZURE))])
    listed = {offered.choice(0, place).kind for place in np.flatnonzero(offered.listed[0]).tolist()}
    assert not listed & {"match", "search"}


class Texts:
    """Finds one passage about a disease, and one about something else."""

    def __init__(self, disease: str) -> None:
        self.disease, self.asked = disease, ""

    def search(self, query: str, sources: Sequence[str] = (), limit: int = 5) -> list[tuple[str, str, str, str, float]]:
        self.asked = query
        return [("HP:0001250", "", "", "hp", 9.0), (f"{self.disease}#2", "", "", "mayo", 4.0)][:limit]


def test_a_search_raises_the_diseases_whose_texts_are_found(ranker: Ranker) -> None:
    number = 1
    texts = Texts(ranker.names.candidate(number).id)
    standings = Standings(ranker, None, texts)  # type: ignore[arg-type]
    at = begun(standings, query(ranker, SEIZURE))
    before = at.standing.total[number]
    at.search(standings, at.standing.query.observed.tolist())
    assert texts.asked == ranker.names.label(SEIZURE)
    assert at.seen.total[number] == pytest.approx(before + TEXTS) and (at.steps, at.searches) == (1, 1)
    offered = listing(standings, [at])
    assert "search" not in {offered.choice(0, place).kind for place in np.flatnonzero(offered.listed[0]).tolist()}
    at.learned(standings, [int(ranker.names.terms[HYPOTONIA])], [])
    assert at.texts is None and at.seen is at.standing


def test_a_wide_round_asks_what_tells_among_many_more_diseases(ranker: Ranker, standings: Standings) -> None:
    offered = listing(standings, [begun(standings, query(ranker, SEIZURE))])
    rounds = [place for place in range(PLACES) if offered.features[0, place, FEATURES.index("round")]]
    assert [offered.features[0, place, FEATURES.index("wide")] for place in rounds] == [0, 1]
    assert all(len(offered.choice(0, place).terms) <= ROUND for place in rounds)
