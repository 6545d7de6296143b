"""Questions to the index of names, and whole actions that begin with one, timed; part of ``benchmarks.actions``.

Names are drawn from the graph: as they are written, with a typo, by their first letters, and in sentences.
"""

from __future__ import annotations

import string
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kgdx.actions import ACTIONS, parse_action
from kgdx.actions.graph_context import GraphContext
from kgdx.answer.artifacts import Retrieved
from kgdx.case import Case
from kgdx.episode import State, step
from kgdx.errors import KgdxError
from kgdx.graph.snapshot import Snapshot
from kgdx.terms.normalise import form

LOOK_UP_MS = 10.0
"""What the median of a look-up may take."""
NONSENSE = ("qwrtzplx vbnm", "asdf jkl ghtr", "囧囧囧病", "'; MATCH (n) DETACH DELETE n //", "x" * 200, "0" * 300)
SENTENCES = ("What are the symptoms of {0}, and is {1} one of them?", "患者有{1}，是不是{0}，该吃什么药?")
LEAST_LETTERS = 6
"""Shorter names are not misspelt: with another letter they are other words."""
LETTERS = (1, 2, 3, 5, 8)
"""How much of a name was typed."""

Named = list[tuple[str, str]]
"""Ids and names of nodes."""


def look_ups(graph: GraphContext, count: int, seed: int) -> list[dict[str, Any]]:
    """Times of each kind of look-up, and the share of the questions that found what was meant."""
    rng = np.random.default_rng(seed)
    names = graph.names
    diseases = drawn(graph.snapshot, "disease", count, rng)
    findings = drawn(graph.snapshot, "phenotype", count, rng)
    written = [(name, id) for id, name in diseases]
    misspelt = [(typo(name, rng), id) for id, name in diseases if len(name) >= LEAST_LETTERS]
    typed = [(name[:letters], "") for _, name in diseases for letters in LETTERS]
    said = [
        (sentence.format(disease, finding), id)
        for (id, disease), (_, finding) in zip(diseases, findings, strict=False)
        for sentence in SENTENCES
    ]
    return [
        _row("exact", written, lambda name, id: id in names.resolve(name).ids),
        _row("misspelt", misspelt, lambda name, id: id in names.resolve(name).ids),
        _row("misspelt, near names", misspelt, lambda name, id: any(id == near.id for near in names.near(name))),
        _row("nonsense", [(name, "") for name in NONSENSE], lambda name, _: not names.resolve(name).ids),
        _row("complete", typed, lambda name, _: bool(names.complete(name))),
        _row("mentions", said, lambda text, id: any(id in found.ids for found in names.mentions(text))),
    ]


def whole_action(graph: GraphContext, name: str, field: str, given: list[list[str]], target: float) -> dict[str, Any]:
    """Times of an action from names to rows.

    Args:
        graph: An open graph.
        name: The action's.
        field: Where it takes names; one of them where the field is no list.
        given: The names of each question.
        target: What the median may take.
    """
    several = ACTIONS[name].model_fields[field].annotation is not str

    def run(words: list[str], _: str) -> bool:
        action = parse_action({"action": name, field: words if several else words[0]}, ACTIONS)
        try:
            return bool(step(graph, State(Case("p")), action).all(Retrieved)[-1].rows)
        except KgdxError:  # a name that the index leaves out, such as that of an obsolete term
            return False

    return _row(name, [(words, "") for words in given], run, target)


def drawn(snapshot: Snapshot, table: str, count: int, rng: np.random.Generator) -> Named:
    """Some nodes of a table, whatever their names are."""
    rows = snapshot.rows(table)
    chosen = rng.choice(rows, min(count, rows), replace=False) if rows else ()
    ids, names = snapshot.column(table, "id"), snapshot.column(table, "name")
    return [(str(ids[at]), str(names[at])) for at in chosen if names[at]]


def typo(name: str, rng: np.random.Generator) -> str:
    """A name with one letter left out, doubled or replaced; a Chinese one with a character left out."""
    at = int(rng.integers(1, len(name) - 1))
    if not name.isascii() and form(name).han:
        return name[:at] + name[at + 1 :]
    letter = ("", 2 * name[at], str(rng.choice(list(string.ascii_lowercase))))[int(rng.integers(3))]
    return name[:at] + letter + name[at + 1 :]


def _row(
    name: str, questions: Sequence[tuple[Any, str]], ask: Callable[[Any, str], bool], target: float = LOOK_UP_MS
) -> dict[str, Any]:
    """Each question asked once, after one that opens files: what a user waits for."""
    times, right = [], 0
    for at, (question, meant) in enumerate((*questions[:1], *questions)):
        begin = time.perf_counter()
        found = ask(question, meant)
        if at:
            times.append(1000 * (time.perf_counter() - begin))
            right += found
    share = round(right / len(times), 3)
    slow = bool(np.median(times) > target)
    row = {"asked": name, "questions": len(times), "ms": percentiles(times), "found": share}
    return row | {"target_ms": target, "in_time": not slow}


def percentiles(times: Sequence[float]) -> list[float]:
    """Median and 95th percentile."""
    return [round(float(np.percentile(times, q)), 3) for q in (50, 95)]
