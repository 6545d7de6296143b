"""States for tests: artifacts put into them as if an action had found them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, ClassVar

from kgdx.answer.artifacts import Answered, Cited, Described, Explained, Mentioned, Ranked, Read, Retrieved
from kgdx.case import Case
from kgdx.episode.operations import Operations
from kgdx.episode.state import Artifact, ArtifactEntry, State
from kgdx.episode.wish import Action
from kgdx.results.cited import CitedText, Resolved

_numbers = count()


class Given(Action):
    """Stands for whatever found an artifact."""

    name: ClassVar[str] = "given"
    number: int

    def run(self, graph: Operations, view: State) -> None:
        return None


def holding(state: State, *artifacts: Artifact) -> State:
    """Return the state with artifacts, fresh."""
    for each in artifacts:
        reads = type(each).depends
        wish = Given(number=next(_numbers))
        state = state.found(ArtifactEntry(each, each.digest(), reads, state.stamp(reads), wish), each)
    return state


def state_of(
    case: Case | None = None,
    question: str = "",
    *,
    read: bool = False,
    ranking: Any = None,
    evidence: Mapping[str, Any] | None = None,
    retrieved: Sequence[Retrieved] = (),
    resolved: Sequence[Resolved] = (),
    described: Sequence[Any] = (),
    citations: Sequence[Any] = (),
    mentioned: Sequence[Any] | None = None,
    answer: CitedText | None = None,
) -> State:
    """Return a state in which all of this has been found."""
    found: list[Artifact] = []
    if read:
        found.append(Read())
    if mentioned is not None:
        found.append(Mentioned(tuple(mentioned)))
    if ranking is not None:
        found.append(Ranked(ranking))
    if evidence is not None:
        found.append(Explained(evidence))
    rows = [replace(each, resolved=tuple(resolved)) if number == 0 else each for number, each in enumerate(retrieved)]
    if resolved and not rows:
        rows = [Retrieved("diseases_by_ids", {}, ({},), "retrieve", tuple(resolved))]
    found += rows
    if described:
        found.append(Described(tuple(described)))
    if citations:
        found.append(Cited(tuple(citations)))
    if answer is not None:
        found.append(Answered(answer))
    return holding(State(case or Case("q"), question), *found)
