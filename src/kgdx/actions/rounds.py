"""What an episode looked up, round by round, as its log tells it: for people, pages and models to read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from kgdx.actions.state import Segment

WITHIN = frozenset({"query", "tool"})
"""Kinds of segments that an action leaves while it runs."""

UNPLANNED = "unplanned"
"""Name of the segment that says that rules take over from a model without a usable plan."""


@dataclass(frozen=True, slots=True)
class Step:
    """One action and what came of it.

    Attributes:
        action: Its name.
        parameters: Its fields.
        rows: How many rows came back, or how many results a tool gave; ``None`` where it asked for none.
        error: Why it failed; empty where it did not.
        milliseconds: How long it took.
    """

    action: str
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    rows: int | None = None
    error: str = ""
    milliseconds: float = field(default=0.0, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {
            "action": self.action,
            "parameters": dict(self.parameters),
            "rows": self.rows,
            "error": self.error,
            "milliseconds": round(self.milliseconds, 3),
        }


@dataclass(frozen=True, slots=True)
class Round:
    """A plan and its steps; round 0 is what is done before, and without, any plan.

    Attributes:
        number: Which round.
        thought: Why the model chose so; may repeat a patient's words.
        steps: What was done.
        refused: What of the plan was not done, and why.
        ended: The plan said that enough was found.
        failed: The model gave no plan, or none that could be read.
        by: ``rules`` for what was looked up because no plan of the model could be used; otherwise ``model``.
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
        return {
            "round": self.number,
            "thought": self.thought if private else "",
            "steps": [step.to_dict() for step in self.steps],
            "refused": list(self.refused),
            "ended": self.ended,
            "failed": self.failed,
            "by": self.by,
        }


def rounds_of(log: Iterable[Segment]) -> tuple[Round, ...]:
    """Return the rounds of an episode.

    Example:
        >>> from kgdx.actions.state import Author
        >>> log = [Segment(Author.POLICY, "action", "get_test"), Segment(Author.GRAPH, "query", "tests", rows=3)]
        >>> rounds_of(log)[0].steps[0].rows
        3
    """
    rounds = [Round(0)]
    thought = ""
    failed = False
    for segment in log:
        now = rounds[-1]
        if segment.kind == "thought":
            thought = segment.content
        elif segment.kind == "plan":
            number, ended = int(segment.parameters.get("round", len(rounds))), bool(segment.parameters.get("ended"))
            rounds.append(Round(number, thought, ended=ended, failed=failed and not segment.parameters.get("actions")))
            thought, failed = "", False
        elif segment.kind == "error" and segment.name == UNPLANNED:
            rounds.append(Round(0, by="rules"))
        elif segment.kind == "error" and "kind" in segment.parameters:
            failed = True
        elif segment.kind == "action":
            rounds[-1] = replace(now, steps=(*now.steps, Step(segment.name, segment.parameters)))
        elif segment.kind == "error" and segment.name == "plan":
            rounds[-1] = replace(now, refused=(*now.refused, segment.content))
        elif now.steps and (segment.kind in WITHIN or (segment.kind, segment.name) == ("error", now.steps[-1].action)):
            rounds[-1] = replace(now, steps=(*now.steps[:-1], _went_on(now.steps[-1], segment)))
    return tuple(each for each in rounds if each.number or each.steps)


def _went_on(step: Step, segment: Segment) -> Step:
    spent = step.milliseconds + segment.milliseconds
    if segment.kind == "error":
        return replace(step, error=segment.content, milliseconds=spent)
    counted = segment.kind == "query" or step.action in ("recognise", "extract", "rank")
    if not counted or segment.rows is None:
        return replace(step, milliseconds=spent)
    return replace(step, rows=(step.rows or 0) + segment.rows, milliseconds=spent)
