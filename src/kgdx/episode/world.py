"""What an episode acts on: a graph, a patient, models; each may be absent. And what equal actions found before."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from kgdx.episode.operations import GraphLike
from kgdx.episode.segment import Operation
from kgdx.episode.state import State
from kgdx.episode.wish import AskPatient, Outcome, Reply
from kgdx.errors import KgdxError, UsageError
from kgdx.lazy import Recent
from kgdx.llm.chat import ChatModel, Prices


class Patient(Protocol):
    """Whoever can be asked at once, such as a simulated patient; a person is absent, and waited for."""

    def reply(self, asked: AskPatient, state: State) -> Reply: ...


@runtime_checkable
class AwaitedPatient(Patient, Protocol):
    """A patient who takes long to answer, as one that a model plays; concurrent episodes go on meanwhile."""

    async def awaited(self, asked: AskPatient, state: State) -> Reply: ...


@dataclass(frozen=True, slots=True)
class Done:
    """An action that was run: its outcome or why there is none, what it ran, and what of it failed."""

    outcome: Outcome | KgdxError
    operations: tuple[Operation, ...] = ()
    problems: tuple[dict[str, str], ...] = ()


class Memo(Recent[Hashable, Done]):
    """Outcomes of actions on one graph by wish and by what was read, those that were used last."""


@dataclass(frozen=True)
class World:
    """What an episode acts on; each part may be absent, and is then waited for.

    Attributes:
        models: Language models by the name that :attr:`AskModel.model` gives; one is enough where none is given.
        memo: What equal actions found before; share it among worlds of one graph.
        prices: Of a million prompt and completion tokens of the models.
    """

    graph: GraphLike | None = None
    patient: Patient | None = None
    models: Mapping[str, ChatModel] = field(default_factory=dict)
    on_text: Callable[[str], None] | None = None
    memo: Memo = field(default_factory=Memo)
    prices: Prices = (0.0, 0.0)

    def model(self, name: str) -> ChatModel | None:
        if not self.models:
            return None
        if not name and len(self.models) == 1:
            return next(iter(self.models.values()))
        if name not in self.models:
            raise UsageError(f"no model {name[:40]!r}", hint=f"one of {', '.join(sorted(self.models))}")
        return self.models[name]
