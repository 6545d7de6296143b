"""Episodes of recorded patients by row numbers, many in step: what training plays, thousands of choices a second.

It is the compiled form of :class:`kgdx.learn.listed_environment.DiagnosisEnv`: the same patients, openings, answers,
choices and rewards, without a log. That both play alike is tested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.errors import CaseError
from kgdx.learn.rewards import PRICES, outcome
from kgdx.rank.choices import Choice, Listing, Progress, begun, listing
from kgdx.rank.query import Query
from kgdx.rank.ranking import leaving_out
from kgdx.rank.standing import Standings

if TYPE_CHECKING:
    from kgdx.learn.ward import Ward

DECLARED = 5
"""Diseases that a diagnosis names."""


class Scores(Protocol):
    """Scores listed choices: a network, or a plan."""

    def logits(self, features: Floats) -> Floats:
        """Return a score for each row of features."""
        ...


@dataclass(frozen=True)
class Recorded:
    """A recorded patient by row numbers.

    Attributes:
        id: Of the case.
        publication: Whose patients are drawn, split and resampled together.
        right: Numbers of the right diseases; nothing that is observed depends on them.
        opening: What is known at first.
        leave_out: What names the patient in a case bank.
        yes: Asked term → the recorded finding that answers it.
        lacks: Terms that are recorded as absent.
    """

    id: str
    publication: str
    right: frozenset[int]
    opening: Query
    leave_out: frozenset[str]
    yes: Mapping[int, int] = field(repr=False)
    lacks: frozenset[int] = field(repr=False)


def recorded(ward: Ward, standings: Standings) -> list[Recorded]:
    """Return the patients of a ward that can be ranked and whose disease the graph describes.

    Raises:
        CaseError: There is none.
    """
    found = [each for id in ward.ids if (each := _recorded(ward, standings, id)) is not None]
    if not found:
        raise CaseError("the graph describes the disease of no patient", hint="give phenopackets whose diseases it has")
    return found


def _recorded(ward: Ward, standings: Standings, id: str) -> Recorded | None:
    ranker, up = standings.ranker, standings.model.basis.up
    case, told = ward.cases[id], ward.start(id).case
    right = frozenset(number for each in case.diseases if (number := ranker.number_of(each)) >= 0)
    try:
        query, _ = ranker.query(told)
    except CaseError:
        return None
    if not right or not len(query.observed):
        return None
    rows = [(row, each) for each in ward.patient(id).known if (row := ranker.names.terms.get(each.id, -1)) >= 0]
    yes: dict[int, int] = {}
    for row, _ in rows:
        for term in up.columns(row).tolist():
            yes.setdefault(term, row)
    yes |= {row: row for row, _ in rows if row in yes}
    lacks = (ranker.names.terms.get(each, -1) for each in case.excluded)
    publication = case.publications[0] if case.publications else id
    return Recorded(id, publication, right, query, leaving_out(case), yes, frozenset(lacks) - {-1})


def done(standings: Standings, at: Progress, choice: Choice, patient: Recorded) -> int:
    """Do a choice: ask the patient, or match; ``at`` is changed in place. Return how many questions were asked."""
    if choice.kind == "match":
        at.match(standings, choice.terms, choice.weight, patient.leave_out)
        return 0
    if choice.kind == "search":
        at.search(standings, choice.terms)
        return 0
    up, down = standings.model.basis.up, standings.model.basis.down
    present, absent, asked = list[int](), list[int](), 0
    for term in choice.terms:
        if at.settled[term]:
            continue
        asked += 1
        row = patient.yes.get(term, -1)
        if row >= 0:
            present.append(row)
            at.settled[up.columns(row)] = True
            at.settled[up.columns(term)] = True
            continue
        at.settled[down.columns(term)] = True
        if patient.lacks.isdisjoint(up.columns(term).tolist()):
            at.unknown += 1
        else:
            absent.append(term)
    if choice.kind == "ask":
        at.asks += 1
    else:
        at.looked.append(choice.disease)
    at.found = len(present)
    if present or absent:
        at.learned(standings, present, absent)
    return asked


@dataclass
class Played:
    """Episodes that were played, and every choice in them.

    Attributes:
        features: Shape (choices made, PLACES, FEATURES).
        listed: Which places were listed; shape (choices made, PLACES).
        chosen: Which place was taken.
        logarithm: The logarithm of its probability.
        episode: The episode of each choice.
        ranks: Of each episode, the place of the right disease among those declared, 0 where it is not.
        rewards: Of each episode.
        actions: How many choices it took, with the diagnosis.
        questions: How many findings were asked for.
    """

    features: Floats
    listed: Ints
    chosen: Ints
    logarithm: Floats
    episode: Ints
    ranks: Ints
    rewards: Floats
    actions: Ints
    questions: Ints

    def joined(self, other: Played) -> Played:
        """Return the episodes of both."""
        second = replace(other, episode=other.episode + len(self.ranks))
        return Played(*(np.concatenate([getattr(each, one.name) for each in (self, second)]) for one in fields(self)))


class Bedside:
    """Plays episodes.

    Args:
        standings: Of the graph.
    """

    def __init__(self, standings: Standings) -> None:
        self.standings = standings

    def begin(self, patient: Recorded) -> Progress:
        """Return the first state of an episode."""
        return begun(self.standings, patient.opening)

    def play(self, network: Scores, patients: Sequence[Recorded], chance: np.random.Generator | None = None) -> Played:
        """Play an episode of each patient, all in step.

        Args:
            network: Scores the choices.
            patients: Who is met; one may be met several times.
            chance: Draws the choices; the best ones are taken where ``None``.
        """
        with self.standings.together():
            states = [self.begin(each) for each in patients]
        made = _Made(len(patients))
        going = list(range(len(patients)))
        while going:
            offered = listing(self.standings, [states[number] for number in going])
            logits = np.where(offered.listed, network.logits(offered.features), -np.inf)
            logits -= logits.max(axis=1, keepdims=True)
            logarithm = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
            taken = logits.argmax(axis=1) if chance is None else _drawn(logarithm, chance)
            made.add(going, offered, taken, logarithm)
            with self.standings.together():
                for row, (number, place) in enumerate(zip(going, taken.tolist(), strict=True)):
                    choice = offered.choice(row, place)
                    made.rewards[number] -= PRICES[choice.kind]
                    if choice.kind == "diagnose":
                        self._declare(made, number, states[number], patients[number])
                    else:
                        made.questions[number] += done(self.standings, states[number], choice, patients[number])
            going = [number for number, place in zip(going, taken.tolist(), strict=True) if place]
        return made.played()

    def _declare(self, made: _Made, number: int, at: Progress, patient: Recorded) -> None:
        best = at.seen.leaders[:DECLARED].tolist()
        made.ranks[number] = rank = next((place for place, each in enumerate(best, 1) if each in patient.right), 0)
        made.rewards[number] += outcome(rank)


def _drawn(logarithm: Floats, chance: np.random.Generator) -> Ints:
    """Draw a place of each row, by Gumbel's trick."""
    found: Ints = (logarithm + chance.gumbel(size=logarithm.shape)).argmax(axis=1)
    return found


class _Made:
    """Collects what is played."""

    def __init__(self, episodes: int) -> None:
        self.ranks, self.actions, self.questions = (np.zeros(episodes, np.int64) for _ in range(3))
        self.rewards = np.zeros(episodes)
        self._steps: list[tuple[Floats, Ints, Ints, Floats, Ints]] = []

    def add(self, going: list[int], offered: Listing, taken: Ints, logarithm: Floats) -> None:
        self.actions[going] += 1
        own = np.take_along_axis(logarithm, taken[:, None], axis=1)[:, 0]
        self._steps.append((offered.features, offered.listed, taken, own, np.array(going)))

    def played(self) -> Played:
        features, listed, chosen, logarithm, episode = (np.concatenate(each) for each in zip(*self._steps, strict=True))
        steps = (features, listed, chosen, logarithm, episode)
        return Played(*steps, self.ranks, self.rewards, self.actions, self.questions)
