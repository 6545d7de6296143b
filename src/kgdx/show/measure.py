"""Measured accuracy in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from kgdx.results.words import count
from kgdx.show.console import plain

GROUPS = {
    "all": "every case",
    "in_graph": "the diagnosis is a disease of the graph",
    "seen": "… and the graph cites the case's own publication",
    "unseen": "… and it does not: the fair estimate for a new patient",
    "withheld": "the cited cases, their publication's annotations withheld",
}
"""What the groups of the ranking's evaluation mean."""


def text_accuracy(result: Mapping[str, Any]) -> RenderableType:
    """How well findings are read from text."""
    rows = [(name, f"{result[name]:.3f}") for name in ("precision", "recall", "f1")]
    rows.append(("time", f"{result['ms_median']:.1f} ms, median of a document"))
    return Group(Text(count(result["n"], "document")), plain(("", ""), rows))


def rank_accuracy(result: Mapping[str, Any]) -> RenderableType:
    """How often the diagnosis stands at the top, by group of cases, in percent."""
    columns = ("Cases", "n", "top 1", "top 3", "top 5", "top 10", "MRR")
    rows = [
        (
            name,
            group["n"],
            *(f"{100 * group[key]:.1f}" for key in ("top1", "top3", "top5", "top10")),
            f"{group['mrr']:.3f}",
        )
        for name, group in result["groups"].items()
    ]
    known = [(name, GROUPS[name]) for name in result["groups"] if name in GROUPS]
    facts = []
    if result["ms_median"] is not None:
        facts.append(f"{result['ms_median']:.1f} ms a case (median), {result['ms_p95']:.1f} ms (95th percentile)")
    if "banked" in result:
        found = f"{count(result['banked'], 'case')} of in_graph with another publication's patient"
        facts.append(f"{found} of the disease in the bank")
    if result["synthetic"]:
        facts.append(f"{count(result['synthetic'], 'case')} made up from annotations: no estimate for real patients")
    if result["unrankable"]:
        facts.append(f"{count(result['unrankable'], 'case')} with a diagnosis that the graph does not annotate: misses")
    if result["failed"]:
        facts.append(f"{count(len(result['failed']), 'case')} failed and count as misses; --json names them")
    return Group(
        plain(columns, rows, right=columns[1:]),
        Text(),
        *(Text(f"{name:<9} {meaning}", style="dim") for name, meaning in known),
        Text(),
        *(Text(fact) for fact in facts),
    )
