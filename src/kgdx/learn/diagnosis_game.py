"""The game of withheld diagnoses: recorded patients are asked, by row numbers, thousands of questions a second.

The patients, what they tell at first and how they answer are those of
:class:`~kgdx.learn.recorded_cases.RecordedCases`, so that an episode is what a consultation with the policy of the same
choices would be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.case import Case, Status
from kgdx.episode.recorded_patient import EXACT
from kgdx.errors import CaseError
from kgdx.learn.recorded_cases import RecordedCases
from kgdx.rank.belief import BeliefTracker
from kgdx.rank.choices import FEATURES, EpisodeProgress, Listing, NextChoice, listing
from kgdx.rank.fusion import leading
from kgdx.rank.query import Query
from kgdx.rank.ranking import leaving_out

DECLARED = 5
"""Diseases that a diagnosis names."""
RIGHT = 0.5
"""Of a right disease in first place, and once more of one among those declared."""
PRICE = 0.005
"""What a question costs: twenty of them a fifth of a disease among the first five."""
Chooser = Callable[[Floats, Ints], Ints]
"""Features and which places are listed → the place that is taken in each episode: an agent, or a plan."""


@dataclass(frozen=True)
class RecordedPatient:
    """A recorded patient by row numbers.

    Attributes:
        id: Of the case.
        publication: Whose patients are drawn, split and resampled together.
        right: Numbers of the right diseases; nothing that is observed depends on them.
        opening: What is known at first.
        leave_out: What names the patient in a case bank.
        yes: Asked term → the recorded finding that answers it.
        no: Terms that are recorded as absent, and those below them.
        noisy: Turns an answer into what the patient says.
    """

    id: str
    publication: str
    right: frozenset[int]
    opening: Query
    leave_out: frozenset[str]
    yes: Mapping[int, int] = field(repr=False)
    no: frozenset[int] = field(repr=False)
    noisy: Callable[[int, Status], Status] | None = field(default=None, repr=False)

    def answer(self, term: int) -> Status:
        status = Status.PRESENT if term in self.yes else Status.ABSENT if term in self.no else Status.UNKNOWN
        return status if self.noisy is None else self.noisy(term, status)


@dataclass(frozen=True)
class Played:
    """What came of episodes; each array has shape (episodes,)."""

    ranks: Ints
    rewards: Floats
    steps: Ints
    questions: Ints


def outcome(place: int) -> float:
    """Return what a diagnosis is worth that has the right disease in a place, 0 for none of the first five.

    Example:
        >>> outcome(1), outcome(4), outcome(0)
        (1.0, 0.5, 0.0)
    """
    return RIGHT * (place == 1) + RIGHT * (place > 0)


class DiagnosisGame:
    """Deals patients, lists what can be done, and does it."""

    def __init__(self, cases: RecordedCases, tracker: BeliefTracker | None = None, price: float = PRICE) -> None:
        self.cases, self.price = cases, price
        self.tracker = tracker or cases.graph.belief_tracker
        found = (self._patient(id, case) for id, case in cases.cases.items())
        self.patients = {each.id: each for each in found if each is not None}
        if not self.patients:
            hint = "give phenopackets whose diseases it has"
            raise CaseError("the graph describes the disease of no patient", hint=hint)
        by_publication: dict[str, list[RecordedPatient]] = {}
        for each in self.patients.values():
            by_publication.setdefault(each.publication, []).append(each)
        self._groups = list(by_publication.values())

    def _patient(self, id: str, case: Case) -> RecordedPatient | None:
        ranker, basis = self.tracker.ranker, self.tracker.model.basis
        right = frozenset(number for each in case.diseases if (number := ranker.number_of(each)) >= 0)
        try:
            query, _ = ranker.query(self.cases.start(id).case)
        except CaseError:
            return None
        if not right or not len(query.observed):
            return None
        simulated, terms = self.cases.patient(id), ranker.names.terms
        rows = [row for each in simulated.known if (row := terms.get(each.id, -1)) >= 0]
        yes: dict[int, int] = {}
        for row in rows:
            for term in basis.up.columns(row).tolist():
                yes.setdefault(term, row)
        yes |= {row: row for row in rows if row in yes}
        lacking = [terms[each] for each in case.excluded if each in terms]
        no = frozenset(term for row in lacking for term in basis.down.columns(row).tolist())
        noisy = None
        if simulated.noise != EXACT:
            noisy = lambda term, status: simulated.noisy(ranker.terms[term], status)  # noqa: E731
        publication = case.publications[0] if case.publications else id
        return RecordedPatient(id, publication, right, query, leaving_out(case), yes, no, noisy)

    def draw(self, chance: np.random.Generator) -> RecordedPatient:
        """Draw a patient, evenly over publications, so that no long series of one paper leads."""
        group = self._groups[int(chance.integers(len(self._groups)))]
        return group[int(chance.integers(len(group)))]

    def begin(self, patient: RecordedPatient) -> EpisodeProgress:
        return EpisodeProgress.begun(self.tracker, patient.opening)

    def listing(self, states: Sequence[EpisodeProgress]) -> Listing:
        return listing(self.tracker, states)

    def do(self, at: EpisodeProgress, choice: NextChoice, patient: RecordedPatient) -> float:
        """Do a choice, by which ``at`` is changed in place, and return what it is worth."""
        if choice.kind == "diagnose":
            return outcome(self.place(at, patient))
        up, down = self.tracker.model.basis.up, self.tracker.model.basis.down
        present, absent, before = list[int](), list[int](), at.questions
        at.settled = at.settled.copy()
        for term in choice.terms:
            if at.settled[term]:
                continue
            at.questions += 1
            status = patient.answer(term)
            if status is Status.PRESENT:
                row = patient.yes.get(term, term)
                present.append(row)
                at.settled[up.columns(row)] = True
                at.settled[up.columns(term)] = True
                continue
            at.settled[down.columns(term)] = True
            if status is Status.ABSENT:
                absent.append(term)
            else:
                at.unknown += 1
        at.asks, at.rounds = at.asks + (choice.kind == "ask"), at.rounds + (choice.kind == "round")
        if choice.kind == "lookup":
            at.looked.append(choice.disease)
        at.found = len(present)
        if present or absent:
            at.learn(self.tracker, present, absent)
        return -self.price * (at.questions - before)

    def place(self, at: EpisodeProgress, patient: RecordedPatient) -> int:
        """Return the place of the right disease among those that are declared now, 0 where it is not."""
        best = leading(self.tracker.concluded(at.belief, patient.leave_out), DECLARED).tolist()
        return next((place for place, each in enumerate(best, 1) if each in patient.right), 0)

    def play(self, choose: Chooser, patients: Sequence[RecordedPatient]) -> Played:
        """Play an episode of each patient, all in step; one may be met several times."""
        states = [self.begin(each) for each in patients]
        ranks, steps = (np.zeros(len(patients), np.int64) for _ in range(2))
        rewards = np.zeros(len(patients))
        going = list(range(len(patients)))
        while going:
            offered = self.listing([states[number] for number in going])
            places = choose(offered.features, offered.listed).tolist()
            steps[going] += 1
            for row, (number, place) in enumerate(zip(going, places, strict=True)):
                if place:
                    rewards[number] += self.do(states[number], offered.choice(row, place), patients[number])
            for number in (number for number, place in zip(going, places, strict=True) if not place):
                ranks[number] = self.place(states[number], patients[number])
                rewards[number] += outcome(int(ranks[number]))
            going = [number for number, place in zip(going, places, strict=True) if place]
        return Played(ranks, rewards, steps, np.array([each.questions for each in states]))


@dataclass(frozen=True)
class FixedPlan:
    """So many rounds of questions, or look-ups of the leading disease that was looked up least, and a diagnosis."""

    times: int = 0
    kind: Literal["round", "lookup"] = "round"

    def __str__(self) -> str:
        return f"{self.times} {self.kind}s" if self.times else "at once"

    def __call__(self, features: Floats, listed: Ints) -> Ints:
        """Return the place that is chosen in each episode, of a :class:`~kgdx.rank.choices.Listing`."""

        def of(name: str) -> Floats:
            return features[..., FEATURES.index(name)]

        more = np.rint(of(f"{self.kind}s_done") * 8) < self.times
        value = of("diagnose") + 10 * more * of(self.kind) * (8 - 4 * of("times_looked_up") - of("place"))
        found: Ints = np.where(listed, value, -np.inf).argmax(axis=1)
        return found


PLANS = (FixedPlan(), *(FixedPlan(times) for times in (1, 2, 3, 5, 8)), *(FixedPlan(each, "lookup") for each in (3, 8)))
"""The plans that are compared."""


@dataclass(frozen=True)
class AtRandom:
    """Takes any place that is listed."""

    chance: np.random.Generator

    def __call__(self, features: Floats, listed: Ints) -> Ints:
        found: Ints = np.where(listed, self.chance.random(listed.shape), -1.0).argmax(axis=1)
        return found
