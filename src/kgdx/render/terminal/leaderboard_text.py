"""The leaderboard of methods, in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from kgdx.render.terminal.console import narrow, not_run, percent
from kgdx.results.words import clean, count

Figures = Mapping[str, Any]
MEASURES = (("acc1", "Acc@1"), ("acc5", "Acc@5"), ("hit20", "Acc@20"))
"""Keys of the figures, and how the field calls them."""


BLOCKS: Mapping[int | None, str] = {
    0: "nothing asked",
    **{most: f"up to {most} questions" for most in (5, 10, 20)},
    None: "more than 20 questions",
}
"""Budget of questions → title of the methods that keep within it."""


def leaderboard_figures(result: Figures) -> RenderableType:
    """Return the table: all patients beside those that are unseen, in blocks of equal budgets, the best first."""
    group, unseen = group_of(result), next(iter(result["methods"].values()))["unseen"]
    rows: list[tuple[str, ...]] = []
    for budget, title in BLOCKS.items():
        block = [(name, told) for name, told in ordered(result) if result["methods"][name].get("budget") == budget]
        if block:
            rows.append((f"{title}:",))
            rows += [tuple(_row(f"  {name}", result["methods"][name], told)) for name, told in block]
    shown = [head for _, said in MEASURES for head in ((said, "unseen") if unseen else (said,))]
    costs = any(told["cost"] for told in result["methods"].values())
    columns = ("Method", *shown, "− first", "asked", "ms", *(("cost",) if costs else ()))
    rows = [(*row, *[""] * (len(columns) - len(row)))[: len(columns)] for row in rows]
    first = next(iter(result["methods"]))
    n = next(iter(result["methods"].values()))["n"]
    whom = f"; {unseen['n']:,} unseen: the graph does not cite their publication" if unseen else ""
    of = "unseen patients" if group == "unseen" else "all patients"
    return Group(
        Text(f"{count(n, 'patient')}{whom}; in percent (95 % over publications)"),
        narrow(columns, rows),
        Text(),
        Text(f"− first: Acc@1 of {of} less that of {clean(first)}, in pairs; * its interval leaves out 0", style="dim"),
        *(Text(fact) for fact in facts(result)),
    )


def group_of(result: Figures) -> str:
    """Return which patients the order is by: the unseen ones, where there are any."""
    return "unseen" if all(told.get("unseen") for told in result["methods"].values()) else "all"


def ordered(result: Figures) -> list[tuple[str, Figures]]:
    """Return the methods with their figures of that group, by budgets of questions and then best first."""
    group, budgets = group_of(result), list(BLOCKS)
    told = {name: each["unseen"] if group == "unseen" else each for name, each in result["methods"].items()}

    def key(item: tuple[str, Figures]) -> tuple[float, ...]:
        name, each = item
        budget = budgets.index(result["methods"][name].get("budget"))
        return budget, -each["acc1"], -each["acc5"], each["actions"]

    return sorted(told.items(), key=key)


def _row(name: str, every: Figures, told: Figures) -> Iterator[str]:
    yield clean(name)
    for place, (key, _) in enumerate(MEASURES):
        if told is not every:
            yield f"{100 * every[key]:.1f}"
        yield percent(told[key], () if place else told["ci95"][key])
    low, high = told["against"]["ci95"]["acc1"]
    yield f"{100 * told['against']['acc1']:+.1f}{'*' if low > 0 or high < 0 else ' '}"
    yield f"{told['questions']:.1f}"
    yield "" if told["ms"] is None else f"{told['ms']:.1f}"
    yield f"{told['cost']:.2f}" if told["cost"] else ""


def facts(result: Figures) -> Iterator[str]:
    """Yield what a reader has to know of some methods: who did not run, or could not rank everybody."""
    if result["left_out"]:
        yield f"{count(result['left_out'], 'patient')} with a disease that the graph does not describe: left out"
    for name, remark in result["remarks"].items():
        yield f"{clean(name)}: {clean(remark)}"
    failed = [f"{clean(name)} {told['failed']:,}" for name, told in result["methods"].items() if told["failed"]]
    if failed:
        yield f"patients of whom nothing could be ranked, which are misses: {', '.join(failed)}"
    yield from not_run(result)
