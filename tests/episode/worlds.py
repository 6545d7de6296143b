"""Small actions, policies, patients and models for the loop's own tests; all of them pure functions."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from kgdx.case import Case, Status
from kgdx.episode import Action, Artifact, AskModel, AskPatient, Operations, Outcome, Policy, Remark, Reply, State, Wish
from kgdx.episode.state import Reads
from kgdx.errors import StoreError
from kgdx.llm.chat import ChatModel, Completion, Message, Request, Tokens, Usage


@dataclass(frozen=True, slots=True)
class Noted(Artifact):
    depends: ClassVar[tuple[Reads, ...]] = ()
    word: str = ""


class Note(Action):
    """Adds a word to the case's source."""

    name: ClassVar[str] = "note"
    makes: ClassVar[type[Artifact]] = Noted
    changes_case: ClassVar[bool] = True
    word: str = "x"

    @property
    def reads(self) -> tuple[Reads, ...]:
        return ("case",)

    def run(self, graph: Operations, view: State) -> Outcome:
        source = view.case.source + self.word
        return Outcome(Noted(source), replace(view.case, source=source))


class Idle(Action):
    """Finds nothing."""

    name: ClassVar[str] = "idle"
    makes: ClassVar[type[Artifact]] = Noted

    def run(self, graph: Operations, view: State) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Counted(Artifact):
    """How many findings are present; bound to them."""

    present: int


class Count(Action):
    name: ClassVar[str] = "count"
    makes: ClassVar[type[Artifact]] = Counted

    def run(self, graph: Operations, view: State) -> Counted:
        return Counted(len(view.case.observed))


class Broken(Action):
    """Always fails."""

    name: ClassVar[str] = "broken"
    makes: ClassVar[type[Artifact]] = Noted

    def run(self, graph: Operations, view: State) -> None:
        raise StoreError("the store is gone")


class Listed(Policy):
    """Wishes what is listed, one after the other."""

    name: ClassVar[str] = "listed"
    wishes: tuple[Wish, ...]

    def choose(self, state: State) -> Wish | None:
        done = state.counts.steps
        return self.wishes[done] if done < len(self.wishes) else None


class Forever(Policy):
    name: ClassVar[str] = "forever"
    wish: Wish

    def choose(self, state: State) -> Wish | None:
        return self.wish


class Mute(Policy):
    """Cannot choose once it has seen ``after`` steps."""

    name: ClassVar[str] = "mute"
    after: int = 1

    def choose(self, state: State) -> Wish | None:
        if state.counts.steps >= self.after:
            raise StoreError("the model is away")
        return Note()


def ask_model(text: str = "hello", **more: Any) -> AskModel:
    return AskModel(prompt="test@1", messages=(Message("user", text),), **more)


class Talk(Policy):
    """Asks a model and the patient in turn, notes, counts, remarks, and ends."""

    name: ClassVar[str] = "talk"
    turns: int = 3

    def choose(self, state: State) -> Wish | None:
        turn, part = divmod(state.counts.steps, 4)
        if turn >= self.turns:
            remark = Remark(code="enough", text="that is enough")
            return None if state.tried(remark) else remark
        if part == 0:
            return ask_model(f"turn {turn} of {len(state.case.observed)}", temperature=1.0)
        if part == 1:
            return AskPatient(term=f"HP:{state.random().randrange(20):07}")
        return (Count(), Note(word=str(turn)))[part - 2]


class Oracle:
    """A patient who answers by the digest of what is asked."""

    def reply(self, asked: AskPatient, state: State) -> Reply:
        number = int(hashlib.sha256(f"{asked.term}".encode()).hexdigest()[:4], 16) % 3
        status = (Status.PRESENT, Status.ABSENT, Status.UNKNOWN)[number]
        return Reply(status=status, text="and more" if number == 0 else "")


class Scripted(ChatModel):
    """A model whose answer is a function of the messages and the seed; it counts how often it is asked."""

    def __init__(self, latency: Callable[[], float] = lambda: 0.0, fails: bool = False) -> None:
        self.asked = 0
        self.latency, self.fails = latency, fails

    @property
    def name(self) -> str:
        return "scripted"

    async def complete(self, request: Request, on_text: Callable[[str], None] | None = None) -> Completion:
        self.asked += 1
        await asyncio.sleep(self.latency())
        said = "|".join(message.content for message in request.messages)
        text = hashlib.sha256(f"{said}{request.seed}".encode()).hexdigest()[:8]
        given = tuple(said.encode())
        tokens = Tokens(given, tuple(text.encode()), tuple(-0.5 for _ in text)) if request.logprobs else None
        return Completion(text, self.name, Usage(len(given), len(text)), tokens=tokens)


class Bare:
    """A graph that has nothing but a fingerprint."""

    fingerprint = "bare"


def case(*present: str) -> Case:
    from kgdx.case import Finding

    return Case("p", tuple(map(Finding, present)))
