"""Simulated patients: they know a case, and answer what is asked from it, never more."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kgdx.case import Ancestry, Case, Finding, Status
from kgdx.episode.state import State
from kgdx.episode.wish import AskPatient, Reply


@dataclass(frozen=True)
class SimulatedPatient:
    """Answers by a recorded case: yes where the finding or one below it is recorded, no where it is excluded.

    What the case does not record is "don't know": most answers are.

    Attributes:
        case: What is recorded.
        ancestry: Knows which findings lie below others.
        named: Whether a yes names the recorded finding below the one that was asked for.

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

    def reply(self, asked: AskPatient, state: State) -> Reply:
        """Answer a question; an open one gets the recorded findings that are not known yet, by their names."""
        if asked.term is None:
            known = {finding.id for finding in state.case.findings}
            new = [finding for finding in self.case.findings if finding.id not in known]
            told = [each.label or each.id for each in new if each.status is Status.PRESENT]
            return Reply(text=", ".join(told)) if told else Reply(status=Status.UNKNOWN)
        below = [id for id in self.case.observed if id == asked.term or asked.term in self.ancestry.ancestors(id)]
        if below:
            exact = asked.term in below or not self.named
            found = next(each for each in self.case.findings if each.id == below[0])
            return (
                Reply(status=Status.PRESENT)
                if exact
                else Reply(status=Status.PRESENT, term=found.id, label=found.label)
            )
        above = {asked.term, *self.ancestry.ancestors(asked.term)}
        if above.intersection(self.case.excluded):
            return Reply(status=Status.ABSENT)
        return Reply(status=Status.UNKNOWN)


def opening(case: Case, count: int = 2, seed: int = 0) -> Case:
    """Return a case of which only some findings are known, chosen at random: where a consultation begins.

    Args:
        case: What is recorded.
        count: How many of the present findings are known.
        seed: Of the choice; equal seeds and cases give equal openings.
    """
    present: Sequence[Finding] = [each for each in case.findings if each.status is Status.PRESENT]
    chosen = random.Random(f"{seed}:{case.id}").sample(list(present), min(count, len(present)))
    kept = tuple(each for each in present if each in chosen)
    return replace(case, findings=kept, text="", diseases=())
