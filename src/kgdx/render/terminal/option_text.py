"""What ``kgdx evaluate options`` measured, in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from kgdx.render.terminal.console import first_of, narrow, not_run, percent
from kgdx.results.words import clean, count

Figures = Mapping[str, Any]
_REFUSED = 5


def option_figures(result: Figures) -> RenderableType:
    """Return the table of arms, the differences in pairs, and the facts of the set."""
    arms = {name: told for name, told in result["arms"].items() if told}
    columns = ("arm", "n", "accuracy (95 %)", "chance", "letters", "unread", "needed", "calls", "tokens", "s", "cost")
    rows = [(clean(name), *row_of(told)) for name, told in arms.items()]
    pairs = ("difference", "n", "points (95 %)", "w/l", "p")
    parts: list[RenderableType] = [
        Text(f"{count(result['asked'], 'question')} asked of {clean(', '.join(result['models']))}"),
        narrow(columns, rows),
    ]
    if result["differences"]:
        parts += [Text(), narrow(pairs, [pair_of(each) for each in result["differences"]])]
    for table in _groups(result):
        parts += [Text(), table]
    return Group(*parts, Text(), *(Text(fact) for fact in facts_of(result)))


def row_of(told: Figures) -> tuple[str, ...]:
    """Return the cells of an arm's row behind its name."""
    about, needed = told["accuracy"], told["needed"]["shown"]
    return (
        f"{told['n']:,}",
        percent(about["share"], (about["low"], about["high"])),
        f"{100 * told['chance']:.0f}",
        "/".join(f"{100 * share:.0f}" for share in told["letters"].values()),
        f"{100 * told['unreadable']:.1f}",
        "" if needed is None else f"{100 * needed:.1f}",
        f"{told['calls']:.1f}",
        f"{told['read'] + told['written']:,.0f}",
        f"{told['ms_median'] / 1000:.2f}",
        f"{told['cost']:.2f}" if told["cost"] else "",
    )


def pair_of(told: Figures) -> tuple[str, ...]:
    """Return the cells of a difference between two arms."""
    about = told["difference"]
    points = percent(about["mean"], (about["low"], about["high"]), signed=True)
    p = "" if told["sign_p"] is None else f"{told['sign_p']:.2g}"
    name = f"{clean(told['arm'])} − {clean(told['against'])}"
    return name, f"{told['n']:,}", points, f"{told['wins']}/{told['losses']}", p


def facts_of(result: Figures) -> Iterator[str]:
    """Yield what is to be said of the set and of the run, a line each."""
    yield "chance: accuracy of guesses; letters: shares of A/B/… among answers, in percent (options stand by chance)"
    yield "unread: answers that choose none or two, in percent; s: median time of a question"
    yield "needed: of the questions whose documents are known, for how many one was shown, in percent"
    yield "w/l: questions that only one arm has right, p: exact McNemar test; intervals over subjects"
    if result["without_gold"]:
        yield f"{count(result['without_gold'], 'question')} without a right option: not asked"
    about = result.get("contamination")
    if about is not None:
        yield (
            f"{about['overlapping']:,} of {about['n']:,} questions share a run of words with a text that is searched, "
            f"{about['whole']:,} of them nearly all words"
        )
    for name, told in result["arms"].items():
        for error, number in (told or {}).get("errors", {}).items():
            yield f"{clean(name)}: {count(number, 'question')} with an error ({clean(error)})"
    yield from not_run(result)
    refused = result.get("refused", ())
    if refused:
        yield f"{count(len(refused), 'row')} refused:"
        yield from (f"  {line}" for line in first_of([*map(clean, refused)], _REFUSED))
    if result["open"]:
        yield f"{count(result['open'], 'answer')} not made: run the same command again"


def _groups(result: Figures) -> Iterator[RenderableType]:
    for field, values in result["groups"].items():
        if len(values) < 2:
            continue
        columns = (field.replace("_", " "), "n", *map(clean, result["arms"]))
        rows = []
        for value, told in values.items():
            shares = ("" if arm["accuracy"] is None else f"{100 * arm['accuracy']:.1f}" for arm in told.values())
            rows.append((clean(value), f"{max(arm['n'] for arm in told.values()):,}", *shares))
        yield narrow(columns, rows)
