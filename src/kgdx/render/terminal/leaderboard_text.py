"""The leaderboard of methods, in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from kgdx.render.terminal.console import plain
from kgdx.results.words import clean, count

Figures = Mapping[str, Any]
MEASURES = (("acc1", "Acc@1"), ("acc5", "Acc@5"), ("hit20", "Hit@20"))
"""Keys of the figures, and how the field calls them."""


def leaderboard_figures(result: Figures) -> RenderableType:
    """Return the table, the best first by Acc@1 of unseen patients where there are any."""
    group = group_of(result)
    rows = [tuple(_row(name, told)) for name, told in ordered(result)]
    first, shown = next(iter(result["methods"])), (said for _, said in MEASURES)
    columns = ("Method", *shown, f"Acc@1 − {clean(first)}", "actions", "asked", "ms", "cost")
    table = plain(columns, rows, right=columns[1:])
    table.padding = (0, 1, 0, 0)
    n = next(iter(result["methods"].values()))
    told = n["unseen"] if group == "unseen" else n
    which = " whose publication the graph does not cite" if group == "unseen" else ""
    return Group(
        Text(f"{count(told['n'], 'patient')}{which}, in percent (95 % over publications)"),
        table,
        Text(),
        *(Text(fact) for fact in facts(result)),
    )


def group_of(result: Figures) -> str:
    """Return which patients the order is by: the unseen ones, where there are any."""
    return "unseen" if all(told.get("unseen") for told in result["methods"].values()) else "all"


def ordered(result: Figures) -> list[tuple[str, Figures]]:
    """Return the methods with their figures of that group, best first."""
    group = group_of(result)
    told = {name: each["unseen"] if group == "unseen" else each for name, each in result["methods"].items()}
    return sorted(told.items(), key=lambda item: (-item[1]["acc1"], -item[1]["acc5"], item[1]["actions"]))


def _row(name: str, told: Figures) -> Iterator[str]:
    yield clean(name)
    for key, _ in MEASURES:
        low, high = (f"{100 * end:.0f}" for end in told["ci95"][key])
        yield f"{100 * told[key]:.1f} ({low}–{high})"
    apart, (low, high) = told["against"]["acc1"], (f"{100 * end:+.1f}" for end in told["against"]["ci95"]["acc1"])
    yield f"{100 * apart:+.1f} ({low} to {high})"
    yield f"{told['actions']:.1f}"
    yield f"{told['questions']:.1f}"
    yield "" if told["ms"] is None else f"{told['ms']:.1f}"
    yield f"{told['cost']:.2f}" if told["cost"] else ""


def facts(result: Figures) -> Iterator[str]:
    """Yield what a reader has to know of some methods: who did not run, or could not rank everybody, a line each."""
    if result["left_out"]:
        yield f"{count(result['left_out'], 'patient')} with a disease that the graph does not describe: left out"
    for name, remark in result["remarks"].items():
        yield f"{clean(name)}: {clean(remark)}"
    for name, told in result["methods"].items():
        if told["failed"]:
            yield f"{clean(name)}: nothing to rank for {count(told['failed'], 'patient')}, which are misses"
    for why, names in not_run(result).items():
        yield f"not run ({clean(why)}): {clean(', '.join(names))}"


def not_run(result: Figures) -> Mapping[str, list[str]]:
    """Return why methods did not run, and which ones for each reason.

    Example:
        >>> not_run({"not_run": {"a": "no model", "b": "no model"}})
        {'no model': ['a', 'b']}
    """
    why: dict[str, list[str]] = {}
    for name, reason in result["not_run"].items():
        why.setdefault(reason, []).append(name)
    return why
