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


@dataclass(frozen=True)
class Listing:
    """What can be done next in several episodes: each place of the list is one choice, where it is listed.

    The places are: a diagnosis; single questions, the most telling first; a round of the most telling ones; look-ups of
    the leaders, each asking for what is typical of one.

    ``features`` are of shape (episodes, PLACES, FEATURES), ``listed`` says which can be chosen. Of the most telling
    ``questions``, of shape (episodes, ROUND), those are there that are ``open``; of the ``typical`` terms of diseases,
    of shape (episodes, LOOKED, TYPICAL), those that are ``asked``.
    """

    features: Floats
    listed: Ints
    questions: Ints
    open: Ints
    typical: Ints
    asked: Ints
    told: Sequence[Telling]

    def choice(self, episode: int, place: int) -> NextChoice:
        if place == 0:
            return NextChoice("diagnose")
        if place < _ROUND:
            return NextChoice("ask", (int(self.questions[episode, place - 1]),))
        if place < _LOOKUP:
            return NextChoice("round", tuple(self.questions[episode][self.open[episode]].tolist()))
        which = place - _LOOKUP
        terms = self.typical[episode, which][self.asked[episode, which]]
        return NextChoice("lookup", tuple(terms.tolist()), int(self.told[episode].diseases[which]))


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
    told = [tracker.telling(each.belief) for each in states]
    terms = np.array([each.terms for each in told])
    open_ = np.array([each.there & ~state.settled[each.terms] for state, each in zip(states, told, strict=True)])
    typical = terms[:, TELLING:].reshape(len(states), LOOKED, -1)
    asked = open_[:, TELLING:].reshape(typical.shape)
    asked &= asked.cumsum(axis=2) <= TERMS
    order = np.argsort(~open_[:, :TELLING], axis=1, kind="stable")[:, :ROUND]
    episode = np.arange(len(states))[:, None]
    free = open_[episode, order]
    features = np.array([_SAME] * len(states))
    values = np.array([each.values for each in told])[episode[:, None], [[0], [1], [2]], order[:, None]] * free[:, None]
    features[:, 1:_ROUND, _VALUES] = values[:, :, :ASKS].transpose(0, 2, 1)
    features[:, 1:_ROUND, _AT["expected_yes"]] = values[:, 1, :ASKS] / 5
    count, row = free.sum(axis=1), features[:, _ROUND]
    row[:, _AT["terms"]], row[:, _AT["expected_yes"]] = count / TERMS, values[:, 1].sum(axis=1) / 5
    row[:, _VALUES] = values.sum(axis=2) / np.maximum(count, 1)[:, None]
    row[:, _AT["chance"]] = values[:, 1].max(axis=1)
    _lookups(states, told, asked, features)
    features[:, :, : len(COMMON) - 3] = np.array([_common(each) for each in states], np.float32)[:, None]
    features[:, :, _AT["best_gain"] : _AT["one"]] = features[:, 1:3, _AT["gain"]][:, None]
    there = np.ones((len(states), PLACES), bool)
    there[:, 1:_ROUND], there[:, _ROUND], there[:, _LOOKUP:] = free[:, :ASKS], free[:, 0], asked.any(axis=2)
    there[[each.steps >= STEPS for each in states], 1:] = False
    return Listing(features, there, terms[episode, order], free, typical, asked, told)


def _common(at: EpisodeProgress) -> tuple[float, ...]:
    known = at.belief.query
    counts = (len(known.observed) / 10, len(known.excluded) / 20, at.unknown / 50)
    done = (at.asks / 8, at.rounds / 8, len(at.looked) / 8, at.steps / STEPS)
    return (*counts, *at.belief.shape, at.found / 5, *done)


def _lookups(states: Sequence[EpisodeProgress], told: Sequence[Telling], asked: Ints, features: Floats) -> None:
    chance = np.array([each.often for each in told]) * asked
    features[:, 0, _AT["disease_share"]] = [each.belief.share[0] for each in states]
    rows = features[:, _LOOKUP:]
    rows[:, :, _AT["disease_share"]] = [each.share for each in told]
    rows[:, :, _AT["terms"]] = asked.sum(axis=2) / TERMS
    rows[:, :, _AT["expected_yes"]] = chance.sum(axis=2) / 5
    rows[:, :, _AT["chance"]] = chance.max(axis=2)
    for row, state, each in zip(rows, states, told, strict=True):
        if state.looked:
            row[:, _AT["times_looked_up"]] = [state.looked.count(disease) / 4 for disease in each.diseases.tolist()]
