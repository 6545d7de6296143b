"""What an episode looked up, round by round, as its log tells it: for people, pages and models to read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kgdx.episode.segment import Kind, Segment, message_of
from kgdx.results.cited import LookupRound, LookupStep

THOUGHT = "thought@"
"""Beginning of the name of the prompt whose answer is a thought that is searched by."""
_READING = ("read_plan", "open_sources", "name_thought", "fit_passages", "read_choice", "read_diagnosis")
NO_STEPS = frozenset({"remark", "ask_model", "ask_patient", *_READING, "draft", "respond", "diagnose"})
"""Wishes that look nothing up."""


def rounds_of(log: Iterable[Segment], *, private: bool = True) -> tuple[LookupRound, ...]:
    """Return the rounds of an episode; the model's own words only when ``private``."""
    rounds = [LookupRound(0)]
    for segment in log:
        now, data = rounds[-1], segment.data
        if segment.kind is Kind.WISH:
            if str(data.get("prompt", "")).startswith(THOUGHT):
                rounds.append(LookupRound(now.number + 1))
            elif segment.name not in NO_STEPS:
                rounds[-1] = replace(now, steps=(*now.steps, LookupStep(segment.name, data)))
        elif str(data.get("prompt", "")).startswith(THOUGHT) and segment.words:
            rounds[-1] = replace(now, thought="\n".join(segment.words.get("samples") or [segment.words["text"]]))
        elif segment.name == "read_plan" and "artifact" in data:
            plan = data["artifact"]
            told = {"refused": tuple(plan["refused"]), "ended": plan["ended"], "failed": plan["failed"]}
            rounds.append(LookupRound(plan["round"], str(segment.words.get("thought", "")), **told))
        elif now.steps and segment.name == now.steps[-1].action and segment.kind in (Kind.RESULT, Kind.ERROR):
            rounds[-1] = replace(now, steps=(*now.steps[:-1], _came(now.steps[-1], segment)))
    found = (each for each in rounds if each.number or each.steps)
    return tuple(each if private else replace(each, thought="") for each in found)


def _came(step: LookupStep, segment: Segment) -> LookupStep:
    if segment.kind is Kind.ERROR:
        return replace(step, error=message_of(segment), milliseconds=round(segment.milliseconds, 3))
    kind = "tool" if step.action in ("recognise", "extract", "rank", "search") else "query"
    counted = [each.rows for each in segment.operations if each.kind == kind]
    return replace(step, rows=sum(counted) if counted else None, milliseconds=round(segment.milliseconds, 3))
