"""Compared ways to retrieve diseases, in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from kgdx.render.terminal.console import narrow, not_run, percent
from kgdx.results.words import clean, count

Figures = Mapping[str, Any]
_LISTED = 8
_STAGES = ("behind", "lost in re-ranking", "missed in retrieval", "not in the graph", "failed")
_KIN = ("synonym", "group", "subtype", "family")
_NDCG = "10"


def retrieval_figures(result: Figures) -> RenderableType:
    """Return hits at each K with intervals over patients and labels, differences in pairs, and kinds of errors."""
    parts: list[RenderableType] = []
    for group, said in (("in_graph", "cases whose diagnosis is a candidate"), ("methods", "all cases")):
        if result[group] and (group == "in_graph" or result["labels"]["unknown"] or not result["in_graph"]):
            parts += [Text(f"{said}, in percent (95 % interval)"), _hits(result[group]), Text()]
    if result["paired"]:
        base = next(iter(result["paired"].values()))["against"]
        parts += [Text(f"difference from {clean(base)}, in points, in pairs"), _pairs(result["paired"]), Text()]
    parts += [Text("where the diagnosis was lost, percent of all cases"), _lost(result["methods"]), Text()]
    return Group(*parts, *(Text(fact) for fact in _facts(result)))


def _hits(methods: Figures) -> RenderableType:
    at = list(next(iter(methods.values()))["hit"])
    ndcg = _NDCG if _NDCG in at else at[-1]
    columns = ("Method", "mean over", "n", *(f"H@{k}" for k in at), f"NDCG@{ndcg}", "ms")
    rows = []
    for name, told in methods.items():
        for by, each in (("patients", told), ("labels", told["by_label"])):
            spent = "" if by == "labels" or told["ms_median"] is None else f"{told['ms_median']:.1f}"
            hits = (percent(each["hit"][k], each["ci95"]["hit"][k]) for k in at)
            gain = percent(each["ndcg"][ndcg], each["ci95"]["ndcg"][ndcg])
            rows.append((clean(name) if by == "patients" else "", by, f"{each['n']:,}", *hits, gain, spent))
    return narrow(columns, rows, text=2)


def _pairs(paired: Figures) -> RenderableType:
    at = list(next(iter(paired.values()))["hit"])
    rows = [
        (clean(name), *(percent(each["hit"][k], each["ci95"]["hit"][k], signed=True) for k in at))
        for name, each in paired.items()
    ]
    return narrow(("Method", *(f"H@{k}" for k in at)), rows)


def _lost(methods: Figures) -> RenderableType:
    stages = [stage for stage in _STAGES if any(stage in each["stages"] for each in methods.values())]
    kin = [each for each in _KIN if any(each in told["kin"] for told in methods.values())]
    columns = ("Method", *stages, *(f"first is a {each}" for each in kin))
    rows = [
        (
            clean(name),
            *(_share(told["stages"].get(each)) for each in stages),
            *(_share(told["kin"].get(k)) for k in kin),
        )
        for name, told in methods.items()
    ]
    return narrow(columns, rows)


def _share(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


def _facts(result: Figures) -> Iterator[str]:
    labels = result["labels"]
    yield f"{labels['in_graph']:,} of {count(labels['n'], 'label')} among {count(result['n_candidates'], 'candidate')}"
    if labels["unknown"]:
        named = ", ".join(map(clean, labels["unknown"][:_LISTED]))
        more = f", and {len(labels['unknown']) - _LISTED:,} more" if len(labels["unknown"]) > _LISTED else ""
        yield f"no candidate is named so: {named}{more}"
    if result["unlabelled"]:
        yield f"{count(result['unlabelled'], 'case')} without a diagnosis: left out"
    for name, failed in result["failed"].items():
        if failed:
            first = clean(failed[0]["error"])
            yield f"{clean(name)}: {count(len(failed), 'case')} failed and count as misses; the first: {first}"
    yield from not_run(result)
