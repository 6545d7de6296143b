"""What can be done next for a patient, as a list, and what a policy observes of each: a row of numbers.

The list depends on the patient: which questions tell most, which diseases lead, which patients are alike. A policy
scores its entries one by one, so it carries over to any graph of the ontology.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.rank.query import Query
from kgdx.rank.standing import LOOKED, TELLING, Matched, Mentioned, Standing, Standings, Telling

Kind = Literal["ask", "round", "lookup", "search", "match", "diagnose"]
KINDS: tuple[Kind, ...] = ("ask", "round", "lookup", "search", "match", "diagnose")
ASKS, ROUND, TERMS = 8, 10, 10
"""Single questions that are listed, questions of a round, and terms that are asked of a disease."""
WEIGHTS = (0.0, 1.0, 2.0)
"""τ: how much patients that match count. With a greater one, patients whose annotations are clear would lose by it."""
MATCHES, SEARCHES, STEPS = 3, 2, 12
"""Most matches and searches, and the steps after which nothing but a diagnosis is listed."""
TEXTS = 1.0
"""How much passages about a disease count: the best one's gains so many points."""
SPECIFIC = 4
"""Findings from which on a match may be with the more telling half of them alone."""

ALIKE = (ASKS, 2, LOOKED, 1, 2 * len(WEIGHTS), 1)
"""How many places of a list are of each kind."""
COMMON = (
    *("present", "absent", "unknown", "share_1", "share_2", "share_3_to_5", "uncertainty"),
    *("score_1", "gap_1_2", "gap_1_5", "matched", "patient_above", "similar_best", "match_leads"),
    *("match_among_leaders", "match_weight", "searched", "text_leads", "text_among_leaders", "found_last"),
    *("lookups_done", "asks_done", "matches_done", "searches_done", "steps_done"),
    *("best_gain", "second_gain", "wide_gain"),
)
"""Observed of the patient: equal in each row."""
OWN = (
    *KINDS,
    *("disease_share", "place", "terms", "expected_yes", "gain", "chance", "of_leader", "times_looked_up"),
    *("wide", "weight", "specific", "changes_first", "information", "one"),
)
"""Observed of a choice."""
FEATURES = (*COMMON, *OWN)
"""Names of the features, in order: a policy trained on others cannot be used."""


class Choice(NamedTuple):
    """Something that can be done next.

    Attributes:
        kind: What.
        terms: Rows of the findings that are asked for, matched with, or searched for.
        disease: The candidate that is looked up, -1 for none.
        weight: How much a match counts.
    """

    kind: Kind
    terms: tuple[int, ...] = ()
    disease: int = -1
    weight: float = 0.0


@dataclass
class Progress:
    """How far an episode is.

    Attributes:
        standing: Where the diseases stand by what is known of them.
        settled: Which terms need not be asked for; shape (terms,).
        unknown: How many questions were answered with "don't know".
        asks: How many single questions were asked.
        looked: Diseases that were looked up, once for each time; -1 for a round of questions.
        matched: The patients that match what is known now.
        weight: How much that match counts.
        half: The more telling half of the findings that are present, once it is known.
        seen: Where the diseases stand with those patients.
        matches: How many matches were made.
        texts: The diseases of the passages that were found for what is known now.
        searches: How many searches were made.
        found: How many findings the last questions found.
    """

    standing: Standing
    settled: Ints
    unknown: int = 0
    asks: int = 0
    looked: list[int] = field(default_factory=list)
    matched: Matched | None = None
    weight: float = 0.0
    matches: int = 0
    half: Ints | None = None
    texts: Mentioned | None = None
    searches: int = 0
    found: int = 0

    def __post_init__(self) -> None:
        self.seen = self.standing
        self._raise()

    @property
    def steps(self) -> int:
        """How much was done."""
        return self.asks + len(self.looked) + self.matches + self.searches

    def _raise(self) -> None:
        self.seen, matched, texts = self.standing, self.matched, self.texts
        if matched is not None:
            self.seen = self.seen.raised(matched.candidates, matched.gain(self.standing.total, self.weight))
        if texts is not None:
            self.seen = self.seen.raised(texts.candidates, TEXTS * texts.similar)

    def learned(self, standings: Standings, present: Sequence[int], absent: Sequence[int]) -> None:
        """Go on with what an answer told; what matched before matches something else."""
        known = self.standing.query
        query = replace(
            known,
            observed=np.concatenate([known.observed, np.array(present, np.int64)]),
            excluded=np.concatenate([known.excluded, np.array(absent, np.int64)]),
        )
        self.standing, self.matched, self.weight = standings.of(query, self.standing), None, 0.0
        self.seen, self.half, self.texts = self.standing, None, None

    def match(self, standings: Standings, terms: Sequence[int], weight: float, leave_out: frozenset[str]) -> None:
        """Go on with the patients that match some findings."""
        self.matched = standings.match(self.standing, terms, leave_out)
        self.weight, self.matches = weight, self.matches + 1
        self._raise()

    def search(self, standings: Standings, terms: Sequence[int]) -> None:
        """Go on with the diseases that passages about some findings are of."""
        self.texts, self.searches = standings.search(terms), self.searches + 1
        self._raise()


@dataclass(frozen=True)
class Listing:
    """What can be done next in several episodes: each place of the list is one choice, where it is listed.

    The places are: a diagnosis; single questions; a round of those that tell most among the leaders, and one of those
    that tell most among many more diseases; look-ups of the leaders; a search for the findings; matches by each weight,
    with all findings, and with the more telling half of them.

    Attributes:
        features: Shape (episodes, PLACES, FEATURES).
        listed: Whether it can be chosen; shape (episodes, PLACES).
        questions: The most telling questions that are open, and the widest; shape (episodes, 2, ROUND).
        typical: Typical terms of each disease that can be looked up; shape (episodes, LOOKED, TYPICAL).
        asked: Which of them are asked; of the same shape.
        states: The episodes.
        told: What could be asked in each.
    """

    features: Floats
    listed: Ints
    questions: Ints
    typical: Ints
    asked: Ints
    states: Sequence[Progress]
    told: Sequence[Telling]

    def choice(self, episode: int, place: int) -> Choice:
        """Return the choice at a place."""
        if place == 0:
            return Choice("diagnose")
        if place <= ASKS:
            return Choice("ask", (int(self.questions[episode, 0, place - 1]),))
        if place < _LOOKUP:
            count = round(float(self.features[episode, place, _AT["terms"]]) * TERMS)
            return Choice("round", tuple(self.questions[episode, place - _ROUND, :count].tolist()))
        if place < _SEARCH:
            which = place - _LOOKUP
            terms = self.typical[episode, which][self.asked[episode, which]]
            return Choice("lookup", tuple(terms.tolist()), int(self.told[episode].diseases[which]))
        state = self.states[episode]
        if place == _SEARCH:
            return Choice("search", tuple(state.standing.query.observed.tolist()))
        half, weight = divmod(place - _MATCH, len(WEIGHTS))
        findings = state.half if half and state.half is not None else state.standing.query.observed
        return Choice("match", tuple(findings.tolist()), -1, WEIGHTS[weight])


_AT = {name: place for place, name in enumerate(FEATURES)}
_ROUND, _LOOKUP = ASKS + 1, ASKS + 3
_SEARCH, _MATCH = _LOOKUP + LOOKED, _LOOKUP + LOOKED + 1
_LAST = slice(len(COMMON) - 3, len(COMMON))
PLACES = _MATCH + 2 * len(WEIGHTS)
"""Choices of a list."""


def listing(standings: Standings, states: Sequence[Progress]) -> Listing:
    """Return what can be done next in some episodes, and what a policy observes of it.

    Args:
        standings: Of the graph.
        states: How far each episode is; at least one.
    """
    told = [standings.telling(each.seen) for each in states]
    terms = np.array([each.terms for each in told])
    settled = np.array([state.settled[each.terms] for state, each in zip(states, told, strict=True)])
    open_ = np.array([each.there for each in told]) & ~settled
    features = np.zeros((len(states), PLACES, len(FEATURES)), np.float32)
    there = np.zeros((len(states), PLACES), bool)
    going = np.array([each.steps < STEPS for each in states])
    typical = terms[:, 2 * TELLING :].reshape(len(states), LOOKED, -1)
    asked = open_[:, 2 * TELLING :].reshape(typical.shape)
    asked &= asked.cumsum(axis=2) <= TERMS
    by_round = open_[:, : 2 * TELLING].reshape(len(states), 2, TELLING)
    order = np.argsort(~by_round, axis=2, kind="stable")[:, :, :ROUND]
    free = np.take_along_axis(by_round, order, axis=2)
    _diagnosis(states, features)
    _questions(told, order, free, features)
    _lookups(states, told, asked, features)
    _matches(standings, states, features)
    features[:, _ROUND:_LOOKUP, _AT["times_looked_up"]] = np.array([[each.looked.count(-1) / 4] for each in states])
    features[:, :, : _LAST.start] = np.array([_common(each) for each in states], np.float32)[:, None]
    gains = features[:, [1, 2, _ROUND + 1], _AT["gain"]]
    features[:, :, _LAST] = gains[:, None]
    features[:, :, -1] = 1
    there[:, 0] = True
    there[:, 1:_ROUND], there[:, _ROUND:_LOOKUP] = free[:, 0, :ASKS] & going[:, None], free[:, :, 0] & going[:, None]
    there[:, _LOOKUP:_SEARCH] = asked.any(axis=2) & going[:, None]
    there[:, _SEARCH] = [standings.texts is not None and _searching(each) for each in states]
    if standings.bank is not None:
        there[:, _MATCH:] = [_matching(each) for each in states]
    questions = np.take_along_axis(terms[:, : 2 * TELLING].reshape(by_round.shape), order, axis=2)
    return Listing(features, there, questions, typical, asked, states, told)


def _common(at: Progress) -> tuple[float, ...]:
    """What is observed of a patient, but for the gain of the best questions."""
    known, looked = at.standing.query, len(at.looked) / 8
    done = (looked, at.asks / 8, at.matches / MATCHES, at.searches / SEARCHES, at.steps / STEPS)
    counts = (len(known.observed) / 10, len(known.excluded) / 20, at.unknown / 50)
    matched, texts = (0.0,) * 6, (0.0,) * 3
    if at.matched is not None:
        above, similar = 0.0, 0.0
        if len(at.matched.score):
            above = (float(at.matched.score.max()) - float(at.standing.total[at.standing.leaders[0]])) / 5
            similar = float(at.matched.similar[0])
        matched = (1.0, above, similar, *_leading(at, at.matched), at.weight / 2)
    if at.texts is not None:
        texts = (1.0, *_leading(at, at.texts))
    return (*counts, *at.seen.shape, *matched, *texts, at.found / 5, *done)


def _leading(at: Progress, found: Matched | Mentioned) -> tuple[float, float]:
    """Whether the best of what was found leads without it, and whether it is among the leaders."""
    if not len(found.candidates):
        return 0.0, 0.0
    best = int(found.candidates[0])
    return float(best == at.standing.leaders[0]), float(best in at.standing.leaders)


def _searching(at: Progress) -> bool:
    """Whether a search is listed."""
    return at.steps < STEPS and at.texts is None and at.searches < SEARCHES


def _matching(at: Progress) -> list[bool]:
    """Which matches are listed."""
    may = at.steps < STEPS and at.matched is None and at.matches < MATCHES
    half = may and len(at.standing.query.observed) >= SPECIFIC
    return [may] * len(WEIGHTS) + [half] * len(WEIGHTS)


def _diagnosis(states: Sequence[Progress], features: Floats) -> None:
    row = features[:, 0]
    row[:, _AT["diagnose"]] = 1
    row[:, _AT["disease_share"]] = [each.seen.share[0] for each in states]
    row[:, _AT["changes_first"]] = [each.seen.leaders[0] != each.standing.leaders[0] for each in states]
    row[:, _AT["weight"]] = [each.weight / 2 for each in states]


def _questions(told: Sequence[Telling], order: Ints, free: Ints, features: Floats) -> None:
    """Single questions, and the rounds of them."""
    gain, chance, first = (
        np.take_along_axis(np.array([getattr(each, name) for each in told]), order, axis=2) * free
        for name in ("gain", "chance", "first")
    )
    asks = features[:, 1:_ROUND]
    asks[:, :, _AT["ask"]] = 1
    asks[:, :, _AT["place"]] = np.arange(ASKS) / ASKS
    asks[:, :, _AT["terms"]] = 1 / TERMS
    asks[:, :, _AT["expected_yes"]] = chance[:, 0, :ASKS] / 5
    asks[:, :, _AT["gain"]] = gain[:, 0, :ASKS]
    asks[:, :, _AT["chance"]] = chance[:, 0, :ASKS]
    asks[:, :, _AT["of_leader"]] = first[:, 0, :ASKS]
    asks[:, :, _AT["disease_share"]] = np.array([each.share[0] for each in told])[:, None]
    rows, count = features[:, _ROUND:_LOOKUP], np.maximum(free.sum(axis=2), 1)
    rows[:, :, _AT["round"]] = 1
    rows[:, 1, _AT["wide"]] = 1
    rows[:, :, _AT["terms"]] = free.sum(axis=2) / TERMS
    rows[:, :, _AT["expected_yes"]] = chance.sum(axis=2) / 5
    rows[:, :, _AT["gain"]] = gain.sum(axis=2) / count
    rows[:, :, _AT["chance"]] = chance.max(axis=2)
    rows[:, :, _AT["of_leader"]] = first.sum(axis=2) / count


def _lookups(states: Sequence[Progress], told: Sequence[Telling], asked: Ints, features: Floats) -> None:
    """Look-ups of the leading diseases."""
    chance = np.array([each.often for each in told]) * asked
    rows = features[:, _LOOKUP:_SEARCH]
    rows[:, :, _AT["lookup"]] = 1
    rows[:, :, _AT["disease_share"]] = [each.share for each in told]
    rows[:, :, _AT["place"]] = np.arange(LOOKED) / LOOKED
    rows[:, :, _AT["terms"]] = asked.sum(axis=2) / TERMS
    rows[:, :, _AT["expected_yes"]] = chance.sum(axis=2) / 5
    rows[:, :, _AT["chance"]] = chance.max(axis=2)
    for row, state, each in zip(rows, states, told, strict=True):
        if state.looked:
            row[:, _AT["times_looked_up"]] = [state.looked.count(disease) / 4 for disease in each.diseases.tolist()]


def _matches(standings: Standings, states: Sequence[Progress], features: Floats) -> None:
    """A search, matches with all findings, and with the more telling half of them."""
    ic = standings.model.basis.ic
    features[:, _SEARCH, _AT["search"]] = 1
    rows = features[:, _MATCH:]
    rows[:, :, _AT["match"]] = 1
    rows[:, :, _AT["weight"]] = np.array(WEIGHTS * 2) / 2
    rows[:, len(WEIGHTS) :, _AT["specific"]] = 1
    for row, state in zip(rows, states, strict=True):
        if state.half is None:
            state.half = _telling_half(state.standing.query.observed, ic)
        for some, terms in ((row[: len(WEIGHTS)], state.standing.query.observed), (row[len(WEIGHTS) :], state.half)):
            some[:, _AT["terms"]] = len(terms) / TERMS
            some[:, _AT["information"]] = ic[terms].sum() / (10 * max(len(terms), 1))


def _telling_half(terms: Ints, ic: Floats) -> Ints:
    """Return the half of some findings that has most information, in their order."""
    half: Ints = terms[np.sort(np.argsort(-ic[terms], kind="stable")[: (len(terms) + 1) // 2])]
    return half


def begun(standings: Standings, query: Query, unknown: Iterable[int] = ()) -> Progress:
    """Return an episode of which nothing is done yet.

    Args:
        standings: Of the graph.
        query: What is known.
        unknown: Terms to which the answer was "don't know".
    """
    basis = standings.model.basis
    settled = standings.outside.copy()
    for term in query.observed.tolist():
        settled[basis.up.columns(term)] = True
    for term in (*query.excluded.tolist(), *unknown):
        settled[basis.down.columns(term)] = True
    return Progress(standings.of(query), settled)
