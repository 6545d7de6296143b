"""Pictures of results by matplotlib, for notebooks and papers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgdx.errors import MissingExtraError, UsageError
from kgdx.results.ranked import Candidate, CaseSummary, DiagnosisDocument
from kgdx.results.view import WEAK, listed, names, of_the_person, weights, worded

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.axes import Axes

REASONS = 9
"""Reasons with a colour of their own; the rest is drawn together."""
REST = "everything else"
"""What the rest is called."""
MOST_NAMED = 5
"""Training runs that a legend names; more are told apart by nobody."""
LONGEST = 48
"""Characters of the longest name beside a bar."""


def ranking_plot(document: DiagnosisDocument, top: int = 10, ax: Axes | None = None) -> Axes:
    """Draw what raises and lowers the first candidates: a bar for each, parted by reason; parts add up to its score."""
    pyplot = _pyplot("Diagnosis.plot()")
    rows = listed(document)[:top]
    labels = names((document.case or CaseSummary("")).findings)
    parts = [parted(row.candidate, labels) for row in rows]
    total: dict[str, float] = {}
    for each in parts:
        for reason, score in each.items():
            total[reason] = total.get(reason, 0.0) + abs(score)
    total.pop(REST, None)
    shown = sorted(total, key=lambda reason: -total[reason])[:REASONS]
    if ax is None:
        ax = pyplot.subplots(figsize=(9, 1.2 + 0.42 * max(1, len(rows))), layout="constrained")[1]
    right, left = [0.0] * len(rows), [0.0] * len(rows)
    for reason in [*shown, REST]:
        scores = [sum(score for name, score in each.items() if _group(name, shown) == reason) for each in parts]
        if any(scores):
            starts = [right[place] if score >= 0 else left[place] for place, score in enumerate(scores)]
            ax.barh(range(len(rows)), scores, left=starts, label=reason, color=None if reason in shown else "0.8")
        right = [end + max(0.0, score) for end, score in zip(right, scores, strict=True)]
        left = [end + min(0.0, score) for end, score in zip(left, scores, strict=True)]
    ax.set_yticks(range(len(rows)), [f"{row.rank}. {row.name[:LONGEST]}" for row in rows])
    ax.invert_yaxis()
    ax.set_xlabel("fit (a ranking score, no probability)")
    if rows:
        ax.legend(fontsize="small", frameon=False, loc="lower right")
    return ax


def _pyplot(what: str) -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingExtraError(what, "plot") from error
    return pyplot


def _save(figure: Any, path: Path) -> None:
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be written ({error})", hint="name another file, ending in .png") from error
    finally:
        _pyplot("a picture").close(figure)


def inquiry_plot(figures: Mapping[str, Any], path: Path) -> None:
    """Draw how often the truth is first by number of questions, a line a selector, into a file.

    ``figures`` are what ``kgdx evaluate inquiry`` measured; the suffix of the file says its form, such as ``.png``.
    """
    figure, axes = _pyplot("--plot").subplots(1, 2, figsize=(10, 4.5), layout="constrained", sharex=True)
    for ax, top in zip(axes, ("top1", "top10"), strict=True):
        for name, told in figures["selectors"].items():
            rows = told["by_question"]
            q = [row["q"] for row in rows]
            ax.plot(q, [100 * row[top] for row in rows], label=name)
            low, high = ([100 * row["ci95"][top][end] for row in rows] for end in (0, 1))
            ax.fill_between(q, low, high, alpha=0.12)
        ax.set_xlabel("questions")
        ax.set_ylabel(f"truth among the first {top.removeprefix('top')}, %")
        ax.set_ylim(0, 100)
    axes[0].legend(fontsize="small", frameon=False)
    _save(figure, path)


MEASURES = {"reward": "reward, sampled", "top5": "truth among five, sampled", "actions": "actions an episode"}
"""What the curves of the policy of listed actions show → its label."""


def training_plot(
    curves: Mapping[str, Mapping[str, list[float]]],
    updates: int,
    path: Path,
    measures: Mapping[str, str] = MEASURES,
) -> None:
    """Draw how training runs went, a line a run, into a file.

    ``curves`` are run → measure → its values at even distances, which span the updates; ``measures`` what is shown of
    each run → its label.
    """
    pyplot = _pyplot("a picture of training curves")
    figure, axes = pyplot.subplots(1, len(measures), figsize=(13, 4), layout="constrained", sharex=True)
    for ax, (measure, label) in zip(axes, measures.items(), strict=True):
        for name, curve in curves.items():
            values = curve[measure]
            ax.plot([(at + 0.5) * updates / len(values) for at in range(len(values))], values, lw=0.9, label=name)
        ax.set_xlabel("updates")
        ax.set_ylabel(label)
    if len(curves) <= MOST_NAMED:
        axes[0].legend(fontsize="small", frameon=False)
    _save(figure, path)


def parted(candidate: Candidate, labels: Mapping[str, str]) -> dict[str, float]:
    """Return a candidate's score by reason; the parts add up to it.

    Example:
        >>> parted(Candidate(1, "OMIM:1", "Fever", ("OMIM:1",), 4.0), {})
        {'everything else': 4.0}
    """
    found = {labels.get(id, id): score for id, score in weights(candidate.contributions).items() if abs(score) >= WEAK}
    for text, score in [(each.text, each.score) for each in worded(candidate.contributions) if each.words]:
        found[text] = found.get(text, 0.0) + score
    for told in of_the_person(candidate.contributions):
        found[told.name] = found.get(told.name, 0.0) + told.score
    rest = candidate.score - sum(found.values())
    return found | {REST: rest} if abs(rest) > 1e-9 else found


def _group(reason: str, shown: list[str]) -> str:
    return reason if reason in shown else REST
