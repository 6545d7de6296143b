"""Simulated patients: they know a case, and answer what is asked from it, never more."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Literal

from kgdx.case import Ancestry
from kgdx.case.ddxplus_release import evidence_of
from kgdx.case.patient import Case, Finding, Status
from kgdx.episode.state import State
from kgdx.episode.wish import AskPatient, Reply
from kgdx.errors import UsageError


@dataclass(frozen=True, slots=True)
class Noise:
    """How far answers are from what is recorded, in shares from 0 to 1.

    Of the recorded findings some are forgotten, of yes and no some turned round, of questions some never known.
    """

    forgets: float = 0.0
    contradicts: float = 0.0
    unsure: float = 0.0

    def __post_init__(self) -> None:
        for name, share in asdict(self).items():
            if not 0 <= share <= 1:
                raise UsageError(f"{name} is {share}", hint="give a share from 0 to 1")


EXACT = Noise()
"""Answers as recorded."""
Answer = Literal[Status.PRESENT, Status.ABSENT, Status.UNKNOWN]


@dataclass(frozen=True)
class SimulatedPatient:
    """Answers by a recorded case: yes where the finding or one below it is recorded, no where it is excluded.

    What the case does not record is "don't know": most answers are. It says no diagnosis, and nothing that was not
    asked for. Equal questions get equal answers.

    A yes that is ``named`` names the recorded finding below the one that was asked for, or the values of an evidence;
    of a ``complete`` record, as DDXPlus's are, what it does not have is absent.

    Example:
        >>> from kgdx.case import Case, Finding
        >>> class Flat:
        ...     def ancestors(self, id): return frozenset()
        >>> patient = SimulatedPatient(Case("p", (Finding("HP:0001250"),)), Flat())
        >>> patient.reply(AskPatient(term="HP:0001250"), None).status
        <Status.PRESENT: 'present'>
    """

    case: Case
    ancestry: Ancestry
    named: bool = True
    complete: bool = False
    noise: Noise = EXACT
    seed: int = 0

    def reply(self, asked: AskPatient, state: State) -> Reply:
        """Answer a question; an open one gets the recorded findings that are not known yet, by their names."""
        if asked.term is None:
            return self._openly(state)
        below = [each for each in self.known if self._below(each.id, asked.term)]
        status: Answer = Status.PRESENT if below else self._lacking(asked.term)
        if not asked.which:
            status = self.noisy(asked.term, status)
        if status is not Status.PRESENT or not below:
            return Reply(status=status)
        narrower = [each for each in below if each.id != asked.term] if self.named or asked.which else []
        if not narrower or len(narrower) < len(below):
            return Reply(status=status)
        first, *others = narrower
        more = tuple((each.id, each.label) for each in others if evidence_of(each.id) == asked.term)
        return Reply(status=status, term=first.id, label=first.label, more=more)

    @cached_property
    def known(self) -> tuple[Finding, ...]:
        """The recorded findings that the patient knows to be present."""
        present = (each for each in self.case.findings if each.status is Status.PRESENT)
        return tuple(each for each in present if not self._drawn("forgets", each.id, self.noise.forgets))

    def _openly(self, state: State) -> Reply:
        heard = {finding.id for finding in state.case.findings}
        told = [each.label or each.id for each in self.known if each.id not in heard]
        return Reply(text=", ".join(told)) if told else Reply(status=Status.UNKNOWN)

    def _below(self, id: str, term: str) -> bool:
        return term in (id, evidence_of(id)) or term in self.ancestry.ancestors(id)

    def _lacking(self, term: str) -> Answer:
        above = {term, *self.ancestry.ancestors(term)}
        absent = self.complete or bool(above.intersection(self.case.excluded))
        return Status.ABSENT if absent else Status.UNKNOWN

    def noisy(self, term: str, status: Answer) -> Answer:
        """Return what the patient says where this is the answer."""
        if self._drawn("unsure", term, self.noise.unsure):
            return Status.UNKNOWN
        turned: dict[Status, Answer] = {Status.PRESENT: Status.ABSENT, Status.ABSENT: Status.PRESENT}
        if status in turned and self._drawn("contradicts", term, self.noise.contradicts):
            return turned[status]
        return status

    def _drawn(self, what: str, term: str, share: float) -> bool:
        return share > 0 and random.Random(f"{self.seed}:{self.case.id}:{what}:{term}").random() < share


FIRST = "first"
"""Key of ``Case.extra``: the findings with which a recorded consultation begins."""


def opening(case: Case, count: int = 2, seed: int = 0) -> Case:
    """Return a case of which only some findings are known: where a consultation begins.

    Of a recorded consultation (a dialogue, a patient of DDXPlus) they are what the patient reports at first; of others
    they are chosen at random among those that are present: the same ones for equal seeds and cases.
    """
    first = case.extra.get(FIRST)
    if first is not None:
        told = [each for each in case.findings if each.id in first or (each.method == "mapped" and each.text in first)]
        return replace(case, findings=tuple(told), text="", phrases=(), diseases=(), extra={})
    present: Sequence[Finding] = [each for each in case.findings if each.status is Status.PRESENT]
    chosen = random.Random(f"{seed}:{case.id}").sample(list(present), min(count, len(present)))
    kept = tuple(each for each in present if each in chosen)
    return replace(case, findings=kept, text="", diseases=(), extra={})
