"""The turns of a consultation as its log tells them: what was asked, what was answered, which diseases led then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kgdx.episode.segment import Author, Kind, Segment
from kgdx.episode.state import State
from kgdx.episode.wish import AskPatient, Reply


class Leader(NamedTuple):
    """A leading disease with its share among the annotated diseases of the graph."""

    id: str
    name: str
    share: float


@dataclass(frozen=True, slots=True)
class Turn:
    """A question to the patient, the reply, none while it is waited for, and which diseases led before and after."""

    at: int
    asked: AskPatient
    reply: Reply | None = None
    before: tuple[Leader, ...] = ()
    after: tuple[Leader, ...] = ()


def leaders_of(segment: Segment) -> tuple[Leader, ...] | None:
    """Return the leading diseases that a segment tells; ``None`` where it is about something else."""
    told: list[Any] | None = segment.data.get("summary", {}).get("leaders") if segment.kind is Kind.RESULT else None
    return None if told is None else tuple(Leader(*each) for each in told)


def turns_of(state: State) -> list[Turn]:
    """Return the turns of a state's log, going on from those of a state that led to it."""
    return state.kept("turns", state.log, lambda before: turns(state.log, before))


def turns(log: Sequence[Segment], before: tuple[Sequence[Segment], list[Turn]] | None = None) -> list[Turn]:
    """Return the questions to the patient, in order, with their answers, going on from those of a shorter log.

    Example:
        >>> asked = Segment(Author.POLICY, Kind.WISH, "ask_patient", {"term": "HP:0001250", "label": "Seizure"})
        >>> reply = Segment(Author.PATIENT, Kind.RESULT, "ask_patient", {"status": "present"})
        >>> [(turn.asked.label, str(turn.reply.status)) for turn in turns([asked, reply])]
        [('Seizure', 'present')]
    """
    known = before[1] if before is not None and log[: len(before[0])] == before[0] else []
    start, leading = (known[-1].at, known[-1].before) if known else (0, ())
    asked: list[tuple[int, Segment, tuple[Leader, ...]]] = []
    replies: dict[int, Segment] = {}
    after: dict[int, tuple[Leader, ...]] = {}
    for at, segment in enumerate(log[start:], start):
        last = len(asked) - 1
        if segment.kind is Kind.WISH and segment.name == AskPatient.name:
            asked.append((at, segment, leading))
        elif segment.author is Author.PATIENT and asked:
            replies[last] = segment
        elif (now := leaders_of(segment)) is not None:
            leading = now
            if last in replies:
                after[last] = leading
    return known[:-1] + [
        Turn(
            *(at, AskPatient.model_validate({**wish.data, **wish.words})),
            Reply.model_validate({**replies[number].data, **replies[number].words}) if number in replies else None,
            *(before, after.get(number, before)),
        )
        for number, (at, wish, before) in enumerate(asked)
    ]
