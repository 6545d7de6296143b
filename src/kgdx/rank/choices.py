"""What can be done next for a patient, as a list, and what an agent observes of each: a row of numbers.

The list depends on the patient: which questions tell most, which diseases lead. Nothing in it names a term, a disease
or a gene, so an agent carries over to any graph of the ontology.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.rank.belief import LOOKED, TELLING, Belief, BeliefTracker, Telling
from kgdx.rank.query import Query

Kind = Literal["ask", "round", "lookup", "diagnose"]
KINDS: tuple[Kind, ...] = ("ask", "round", "lookup", "diagnose")
ASKS, ROUND, TERMS = 8, 10, 10
"""Single questions that are listed, questions of a round, and terms that are asked of a disease."""
STEPS = 12
"""Steps after which nothing but a diagnosis is listed."""
COMMON = (
    *("present", "absent", "unknown", "share_1", "share_2", "share_3_to_5", "uncertainty"),
    *("score_1", "gap_1_2", "gap_1_5", "found_last", "asks_done", "rounds_done", "lookups_done", "steps_done"),
    *("best_gain", "second_gain", "one"),
)
"""Observed of the patient: equal in each row."""
OWN = (
    *KINDS,
    *("disease_share", "place", "terms", "expected_yes", "gain", "chance", "of_leader", "times_looked_up"),
)
"""Observed of a choice."""
FEATURES = (*COMMON, *OWN)
"""Names of the features, in order."""
_AT = {name: place for place, name in enumerate(FEATURES)}
_VALUES = slice(_AT["gain"], _AT["of_leader"] + 1)
_ROUND, _LOOKUP = ASKS + 1, ASKS + 2
PLACES = _LOOKUP + LOOKED
"""Choices of a list."""


class NextChoice(NamedTuple):
    """Something that can be done next: findings that are asked for, and the disease that is looked up, -1 for none."""

    kind: Kind
    terms: tuple[int, ...] = ()
    disease: int = -1


@dataclass
class EpisodeProgress:
    """How far an episode is: what is believed and settled, how many questions there were, and what came of them.

    ``unknown`` counts answers of "don't know", ``asks`` single questions, ``looked`` are diseases that were looked up,
    once for each time, and ``found`` is how many findings the last questions found.
    """

    belief: Belief
    settled: Ints
    unknown: int = 0
    asks: int = 0
    rounds: int = 0
    looked: list[int] = field(default_factory=list)
    found: int = 0
    questions: int = 0

    @classmethod
    def begun(cls, tracker: BeliefTracker, query: Query) -> EpisodeProgress:
        return cls(tracker.of(query), tracker.settled(query))

    @property
    def steps(self) -> int:
        return self.asks + self.rounds + len(self.looked)

    def learn(self, tracker: BeliefTracker, present: Sequence[int], absent: Sequence[int]) -> None:
        known = self.belief.query
        query = replace(
            known,
            observed=np.concatenate([known.observed, np.array(present, np.int64)]),
            excluded=np.concatenate([known.excluded, np.array(absent, np.int64)]),
        )
        self.belief = tracker.of(query, self.belief)


class Offer(NamedTuple):
    """What a list is of: the places among :attr:`Telling.terms` of open questions, and of what look-ups would ask."""

    told: Telling
    questions: Ints
    asked: Ints


@dataclass(frozen=True)
class Listing:
    """What can be done next in several episodes: each place of the list is one choice, where it is listed.

    The places are: a diagnosis; single questions, the most telling first; a round of the most telling ones; look-ups of
    the leaders, each asking for what is typical of one. ``features`` are of shape (episodes, PLACES, FEATURES),
    ``listed`` says which can be chosen.
    """

    features: Floats
    listed: Ints
    offers: Sequence[Offer]

    def choice(self, episode: int, place: int) -> NextChoice:
        told, questions, asked = self.offers[episode]
        if place == 0:
            return NextChoice("diagnose")
        if place < _LOOKUP:
            some = questions if place == _ROUND else questions[place - 1 : place]
            return NextChoice("round" if place == _ROUND else "ask", tuple(told.terms[some].tolist()))
        which = place - _LOOKUP
        terms = told.terms[TELLING:].reshape(asked.shape)[which][asked[which]]
        return NextChoice("lookup", tuple(terms.tolist()), int(told.diseases[which]))


def telling_round(tracker: BeliefTracker, belief: Belief, settled: Ints) -> Ints:
    """Return the rows of the most telling questions that are open, as a round asks them, the best first."""
    told = tracker.telling(belief)
    terms: Ints = told.terms[:TELLING][told.there[:TELLING] & ~settled[told.terms[:TELLING]]]
    return terms[:ROUND]


def _template() -> Floats:
    made = np.zeros((PLACES, len(FEATURES)), np.float32)
    kinds = ("diagnose", *("ask",) * ASKS, "round", *("lookup",) * LOOKED)
    made[range(PLACES), [_AT[kind] for kind in kinds]] = 1
    made[1:_ROUND, _AT["place"]], made[_LOOKUP:, _AT["place"]] = np.arange(ASKS) / ASKS, np.arange(LOOKED) / LOOKED
    made[1:_ROUND, _AT["terms"]] = 1 / TERMS
    made[:, _AT["one"]] = 1
    return made


_SAME = _template()
"""What is observed whatever the patient is."""


def listing(tracker: BeliefTracker, states: Sequence[EpisodeProgress]) -> Listing:
    """Return what can be done next in some episodes, at least one, and what an agent observes of it."""
    features, listed = np.array([_SAME] * len(states)), np.zeros((len(states), PLACES), bool)
    told = [tracker.telling(each.belief) for each in states]
    return Listing(features, listed, list(map(_offer, told, features, listed, states)))


def _offer(told: Telling, rows: Floats, listed: Ints, at: EpisodeProgress) -> Offer:
    """Write features and mask of an episode into the rows that are given for them."""
    open_ = ~at.settled[told.terms]
    open_ &= told.there
    questions = np.flatnonzero(open_[:TELLING])[:ROUND]
    asked = open_[TELLING:].reshape(told.often.shape)
    asked &= asked.cumsum(axis=1) <= TERMS
    count, asks = len(questions), min(len(questions), ASKS)
    values = told.values[:, questions]
    rows[1 : asks + 1, _VALUES] = values[:, :asks].T
    rows[1 : asks + 1, _AT["expected_yes"]] = values[1, :asks] / 5
    (gain, chance, of_leader), most = values.sum(axis=1).tolist(), values[1].max(initial=0.0)
    row = (count / TERMS, chance / 5, gain / max(count, 1), most, of_leader / max(count, 1))
    rows[_ROUND, _AT["terms"] : _AT["of_leader"] + 1] = row
    often, terms = told.often * asked, asked.sum(axis=1)
    rows[0, _AT["disease_share"]], rows[_LOOKUP:, _AT["disease_share"]] = at.belief.share[0], told.share
    rows[_LOOKUP:, _AT["terms"]], rows[_LOOKUP:, _AT["expected_yes"]] = terms / TERMS, often.sum(axis=1) / 5
    rows[_LOOKUP:, _AT["chance"]] = often.max(axis=1)
    if at.looked:
        rows[_LOOKUP:, _AT["times_looked_up"]] = [at.looked.count(each) / 4 for each in told.diseases.tolist()]
    rows[:, : _AT["one"]] = (*_common(at), *rows[1:3, _AT["gain"]].tolist())
    listed[0] = True
    if at.steps < STEPS:
        listed[1 : asks + 1], listed[_ROUND], listed[_LOOKUP:] = True, count > 0, terms > 0
    return Offer(told, questions, asked)


def _common(at: EpisodeProgress) -> tuple[float, ...]:
    known = at.belief.query
    counts = (len(known.observed) / 10, len(known.excluded) / 20, at.unknown / 50)
    done = (at.asks / 8, at.rounds / 8, len(at.looked) / 8, at.steps / STEPS)
    return (*counts, *at.belief.shape, at.found / 5, *done)
