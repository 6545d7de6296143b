"""What a planning model is shown: the actions, the case, and what was found."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache

from kgdx.answer.artifacts import mentions_of
from kgdx.answer.evidence_pack import clean, pack
from kgdx.case import Case
from kgdx.episode.described import purpose
from kgdx.episode.lookup_rounds import Step, rounds_of
from kgdx.episode.segment import Segment
from kgdx.episode.state import State
from kgdx.episode.wish import Action
from kgdx.policies.plan_text import planned_fields

CLASSES = "diseases, phenotypes (HPO), symptoms, tests, drugs, treatments (cures) and genes"
"""What actions ask about, in words."""

MENTIONS = 20

FINDINGS = 100
"""Most findings of a patient that a model is told."""

IDS = 1
"""Ids that are shown of one name; one disease has entries in several sources."""

QUESTION = 4_000
"""Letters of a question that a model is told."""

FIELDS = 120
"""Letters of an action's fields that a model is told."""

DIAGNOSIS = "Which diseases explain this patient's findings best, and what in the graph speaks for them?"
"""Stands for the question where there is a case alone."""


@cache
def signature(kind: type[Action]) -> str:
    return f"{kind.name}({', '.join(planned_fields(kind))}): {purpose(kind)}"


def briefing(
    state: State, registry: Mapping[str, type[Action]], *, number: int, rounds: int, most: int, room: int
) -> dict[str, str]:
    """Return what fills the planner's prompt."""
    return {
        "graph": CLASSES,
        "actions": "\n".join(signature(kind) for _, kind in sorted(registry.items())),
        "question": clean(state.question, QUESTION) or DIAGNOSIS,
        "entities": "\n".join(_mentioned(state)) or "None that the graph knows by that name.",
        "findings": "\n".join(_findings(state.case)) or "There is no patient.",
        "done": "\n".join(history(state.log)) or "Nothing yet.",
        "found": pack(state).prompt(room) or "Nothing yet.",
        "round": str(number),
        "rounds": str(rounds),
        "most": str(most),
    }


def history(log: tuple[Segment, ...]) -> Iterator[str]:
    """Yield what each round asked and what came of it, a line each: rows, what failed, what was refused."""
    for each in rounds_of(log):
        yield f"Round {each.number}:" if each.number else "Before the first round:"
        for step in each.steps:
            yield f"- {_shown(step)}: {_came(step)}"
        for reason in each.refused:
            yield f"- refused: {reason}"


def _came(step: Step) -> str:
    if step.error:
        return f"error: {step.error}"
    return "done" if step.rows is None else f"{step.rows:,} rows"


def _shown(step: Step) -> str:
    fields = {key: value for key, value in step.parameters.items() if value not in (None, [], "")}
    written = json.dumps(fields, ensure_ascii=False)
    return f"{step.action} {written[:FIELDS]}" if fields else step.action


def _mentioned(state: State) -> Iterator[str]:
    for mention in mentions_of(state)[:MENTIONS]:
        ids = ", ".join(mention.ids[:IDS])
        yield f"- {json.dumps(mention.text, ensure_ascii=False)}: {mention.kind} {ids}"


def _findings(case: Case) -> Iterator[str]:
    about = [f"{key} {value}" for key, value in (("sex", case.sex), ("age", case.age)) if value]
    if about and case.findings:
        yield f"- {', '.join(about)}"
    for finding in case.findings[:FINDINGS]:
        yield f"- {finding.status}: {finding.label or finding.id} ({finding.id})"
    if len(case.findings) > FINDINGS:
        yield f"- and {len(case.findings) - FINDINGS:,} more"
