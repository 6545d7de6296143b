"""What an episode looked up, round by round, as its log tells it: for people, pages and models to read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from kgdx.episode.segment import Kind, Segment

UNPLANNED = "unplanned"
"""Code of the remark that rules take over from a model without a usable plan."""
THOUGHT = "thought@"
"""Beginning of the name of the prompt whose answer is a thought that is searched by."""
_READING = ("read_plan", "open_sources", "name_thought", "fit_passages", "read_choice", "read_diagnosis")
NO_STEPS = frozenset({"remark", "ask_model", "ask_patient", *_READING, "respond", "diagnose"})
"""Wishes that look nothing up."""


@dataclass(frozen=True, slots=True)
class Step:
    """One action and what came of it: how many rows or results, ``None`` where it asked for none, or why it failed."""

    action: str
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    rows: int | None = None
    error: str = ""
    milliseconds: float = field(default=0.0, compare=False)

    def to_dict(self) -> dict[str, Any]:
        told = {name: getattr(self, name) for name in self.__slots__}
        return told | {"parameters": dict(self.parameters), "milliseconds": round(self.milliseconds, 3)}


@dataclass(frozen=True, slots=True)
class Round:
    """A plan or a thought and its steps; round 0 is what is done before, and without, any plan.

    Attributes:
        thought: Why the model chose so; may repeat a patient's words.
        refused: What of the plan was not done, and why.
        ended: The plan said that enough was found.
        failed: The model gave no plan, or none that could be read.
        by: ``rules`` for what was looked up because no plan of the model could be used.
    """

    number: int
    thought: str = field(default="", repr=False)
    steps: tuple[Step, ...] = ()
    refused: tuple[str, ...] = ()
    ended: bool = False
    failed: bool = False
    by: Literal["model", "rules"] = "model"

    def to_dict(self, *, private: bool = False) -> dict[str, Any]:
        """Return it as plain JSON values; the model's own words only when ``private``."""
        said = {"round": self.number, "thought": self.thought if private else ""}
        done = {"steps": [step.to_dict() for step in self.steps], "refused": list(self.refused)}
        return said | done | {"ended": self.ended, "failed": self.failed, "by": self.by}


def rounds_of(log: Iterable[Segment]) -> tuple[Round, ...]:
    """Return the rounds of an episode."""
    rounds = [Round(0)]
    for segment in log:
        now, data = rounds[-1], segment.data
        if segment.kind is Kind.WISH:
            if str(data.get("prompt", "")).startswith(THOUGHT):
                rounds.append(Round(now.number + 1))
            elif segment.name == "remark" and data.get("code") == UNPLANNED:
                rounds.append(Round(0, by="rules"))
            elif segment.name not in NO_STEPS:
                rounds[-1] = replace(now, steps=(*now.steps, Step(segment.name, data)))
        elif str(data.get("prompt", "")).startswith(THOUGHT) and segment.words:
            rounds[-1] = replace(now, thought="\n".join(segment.words.get("samples") or [segment.words["text"]]))
        elif segment.name == "read_plan" and "artifact" in data:
            plan = data["artifact"]
            told = {"refused": tuple(plan["refused"]), "ended": plan["ended"], "failed": plan["failed"]}
            rounds.append(Round(plan["round"], str(segment.words.get("thought", "")), **told))
        elif now.steps and segment.name == now.steps[-1].action and segment.kind in (Kind.RESULT, Kind.ERROR):
            rounds[-1] = replace(now, steps=(*now.steps[:-1], _came(now.steps[-1], segment)))
    return tuple(each for each in rounds if each.number or each.steps)


def _came(step: Step, segment: Segment) -> Step:
    if segment.kind is Kind.ERROR:
        return replace(step, error=message_of(segment), milliseconds=segment.milliseconds)
    kind = "tool" if step.action in ("recognise", "extract", "rank", "search") else "query"
    counted = [each.rows for each in segment.operations if each.kind == kind]
    return replace(step, rows=sum(counted) if counted else None, milliseconds=segment.milliseconds)


def message_of(segment: Segment) -> str:
    """Return what an error says, with what to do about it."""
    message, hint = str(segment.data.get("message", "")), segment.data.get("hint")
    return f"{message}: {hint}" if hint else message
