"""Measured questions in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from kgdx.render.terminal.console import first_of, narrow
from kgdx.results.words import clean, count

Figures = Mapping[str, Any]

_STEPS = (0, 5, 10, 20)
"""Numbers of questions whose accuracy is a column, beside the last one."""
_LISTED = 5


def inquiry_figures(result: Figures) -> RenderableType:
    """Return accuracy by number of questions, by kind of answers, group of patients and selector."""
    rows = [row for how, told in result["answers"].items() for row in _rows(how, told["selectors"])]
    last = max(len(each["by_question"]) for each in result["selectors"].values()) - 1
    steps = [step for step in _STEPS if step < last] + [last]
    columns = ("Answers", "patients", "selector", *(f"after {step}" for step in steps), "to degree", "yes", "ms")
    told = [[*row[:3], *(_tops(row[3], step) for step in steps), *row[4:]] for row in rows]
    table = narrow(columns, told, text=3)
    table.columns[2].no_wrap = True
    return Group(
        Text(f"{count(result['n'], 'patient')}; the truth first / among the first ten, in percent"),
        Text(),
        table,
        Text(),
        Text("to degree  questions until the truth is first as often as for degree after the last", style="dim"),
        Text("yes        share of the questions that were answered with yes", style="dim"),
        *_failed(result["failed"]),
    )


def _rows(how: str, selectors: Figures) -> Iterator[tuple[Any, ...]]:
    for name, told in selectors.items():
        groups = {"all": told, **{key: each for key, each in told["groups"].items() if "questions_to" in each}}
        for group, figures in groups.items():
            needed = figures["questions_to"].get("degree")
            yes = "" if told["hits"] is None else f"{100 * told['hits']:.0f} %"
            spent = "" if told["ms_median"] is None else f"{told['ms_median']:.1f}"
            yield how, group, clean(name), figures["by_question"], "" if needed is None else needed, yes, spent


def _tops(rows: list[Figures], step: int) -> str:
    row = rows[min(step, len(rows) - 1)]
    return f"{100 * row['top1']:.0f} / {100 * row['top10']:.0f}"


def _failed(failed: list[Figures]) -> Iterator[Text]:
    for line in first_of([f"{clean(each['id'])}: {clean(each['error'])}" for each in failed], _LISTED):
        yield Text(line, style="yellow")
