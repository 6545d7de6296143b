"""The graph as a set of tools for a language model in training: TRL's ``environment_factory``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kgdx.actions.reading import Diagnose
from kgdx.actions.tools import Lookup, Match, Search, Summarise
from kgdx.episode.operations import Operations
from kgdx.episode.segment import Kind, Segment
from kgdx.episode.state import State
from kgdx.episode.tag_protocol import Block, Item, ProtocolRules
from kgdx.episode.wish import Remark, Wish
from kgdx.errors import UsageError
from kgdx.learn.recorded_cases import RecordedCases, wished
from kgdx.llm.chat import prompt
from kgdx.policies.tags import ShowFound, declared_in, presented
from kgdx_train.rewards import REFUSED, Scoring, reward

ROOM = 4_000
"""Characters of a result at most."""


def tool_environment(
    ward: RecordedCases, scoring: Scoring | None = None, room: int = ROOM
) -> Callable[[], DiagnosisTools]:
    """Return TRL's ``environment_factory`` for the cases of a ward."""
    return lambda: DiagnosisTools(ward, scoring or Scoring(), room)


class DiagnosisTools:
    """One episode at a time; each public method is a tool that the model can call, by its name and docstring."""

    def __init__(self, ward: RecordedCases, scoring: Scoring, room: int = ROOM) -> None:
        self._ward, self._scoring, self._room = ward, scoring, room
        self._state: State | None = None

    @property
    def log(self) -> tuple[Segment, ...]:
        return self._now.log

    def reset(self, **row: Any) -> str:
        """Begin the episode of a row's case, and leave nothing of the one before; return what the patient presents."""
        self._state = None
        case = row.get("case")
        if not isinstance(case, str):
            raise UsageError("the row names no case", hint="give the data set a column `case` of the ward's ids")
        self._state = self._ward.start(case, seed=int(row.get("seed", 0)))
        told = presented(self._state.case, self._rules)
        _, user = prompt("tool_calls").messages(**told)
        return f"\n\n{user.content}"

    def get_reward(self) -> float:
        """Return what the episode is worth: a function of its log and of what is right."""
        return reward(self.log, self._ward.truth(self._now.case.id), self._scoring).value

    def lookup(self, diseases: list[str]) -> str:
        """Look up the typical phenotypes of diseases, the most frequent first.

        Args:
            diseases: Names of diseases, at most ten.

        Returns:
            A line for each disease.
        """
        return self._done("lookup", diseases, lambda names: [Lookup(diseases=names)])

    def match(self, phenotypes: list[str]) -> str:
        """Find recorded patients with similar phenotypes, and what they had.

        Args:
            phenotypes: Names of phenotypes; others than in the match before.

        Returns:
            A line for each patient, the most similar first.
        """
        return self._done("match", phenotypes, lambda names: [Match(phrases=names)])

    def search(self, queries: list[str], source: str = "") -> str:
        """Search medical texts.

        Args:
            queries: What to search for, at most three.
            source: Tag of the source to search; all of them if empty.

        Returns:
            The points that the passages found make.
        """
        sources = (source,) if source else ()

        def wishes(names: tuple[str, ...]) -> list[Wish]:
            own = self._now.case.publications
            searches = [Search(query=name, sources=sources, without=own) for name in names]
            return [*searches, Summarise(query=" ".join(names))]

        return self._done("search", queries, wishes)

    def diagnose(self, diseases: list[str]) -> str:
        """State the diagnosis; nothing can be done after it.

        Args:
            diseases: Names of diseases, at most five, the likeliest first.

        Returns:
            That it is taken.
        """
        names = self._names("diagnose", diseases)
        block = Block("diagnose", "", True, 0, 0, tuple(map(Item, names)))
        ids = declared_in(Operations(self._ward.graph), block, self._rules.declared)
        if not ids:
            self._refuse("the graph knows none of these diseases: give their usual names")
        self._state = wished(self._ward.world, self._now, Diagnose(diseases=ids))
        return "the diagnosis is taken"

    @property
    def _rules(self) -> ProtocolRules:
        return self._scoring.rules

    @property
    def _now(self) -> State:
        if self._state is None:
            raise UsageError("no episode has begun", hint="call reset first")
        return self._state

    def _names(self, act: str, given: Any) -> tuple[str, ...]:
        if self._now.ended:
            raise UsageError("the episode has ended", hint="the diagnosis was given")
        if not isinstance(given, list | tuple) or not all(isinstance(each, str) for each in given):
            self._refuse(f"{act} takes a list of names")
        names = tuple(dict.fromkeys(name for each in given if (name := " ".join(each.split())[:200])))
        if not names:
            self._refuse(f"{act} names nothing")
        if (most := self._rules.width(act)) and len(names) > most:
            self._refuse(f"{act} names {len(names)}, {most} at most")
        return names

    def _done(self, act: str, given: Any, wishes: Callable[[tuple[str, ...]], list[Wish]]) -> str:
        names = self._names(act, given)
        shown = sum(
            each.kind is Kind.WISH and each.name == "show_found" and each.data["act"] == act for each in self.log
        )
        if shown >= self._rules.most(act):
            self._refuse(f"{act} can be done {self._rules.most(act)} times")
        for wish in (*wishes(names), ShowFound(act=act, call=True, room=self._room)):
            if not self._now.ended:
                self._state = wished(self._ward.world, self._now, wish)
        text = str(self.log[-1].words.get("text", "")) if self.log[-1].name == "show_found" else ""
        return text.removeprefix("<tool_response>").removesuffix("</tool_response>")

    def _refuse(self, why: str) -> None:
        self._state = wished(self._ward.world, self._now, Remark(code=REFUSED, text=why))
        message, _, hint = why.partition(": ")
        raise UsageError(message, hint=hint or "call it as its description says")
