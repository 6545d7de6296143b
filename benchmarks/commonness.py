"""Measure what the prior of commonness costs rare patients and brings others; `python -m benchmarks.commonness STORE`.

Ranks the same cases with the prior at several weights, and without its gate, and prints the means over diseases in
Markdown, one line a weight. STORE is a graph with symptoms in words; CASES are files as `kgdx evaluate rank` takes
them. With `--words` it prints instead how much words should count beside telling findings; phenopackets are then
written out as a text of their terms' names.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import kgdx
from kgdx.api import Graph
from kgdx.case import Case, read_cases
from kgdx.errors import CaseError
from kgdx.evaluate.labels import Label, Labels
from kgdx.evaluate.metrics import mean_over, mean_rank
from kgdx.evaluate.rank_accuracy import words_reader
from kgdx.rank import phrases
from kgdx.rank.fusion import Scored

WEIGHTS = (0.0, 0.5, 0.7, 1.0, 1.5, 2.0)
SHARES = (1.0, 0.5, 0.3, 0.2, 0.1, 0.0)
PRIOR = "prior"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("cases", nargs="+", type=Path)
    parser.add_argument("--every", type=int, default=1, help="take one case of so many")
    parser.add_argument("--words", action="store_true", help="how much words count beside telling findings")
    options = parser.parse_args(arguments)
    with kgdx.open(options.store) as graph:
        if options.words:
            heed(graph, options.cases, options.every)
            return 0
        found = {path: ranks(graph, path, options.every) for path in options.cases}
    print("| weight of the prior |", " | ".join(path.name.split(".")[0] for path in found), "|")
    print("|---|" + "---|" * len(found))
    for name in (*map(str, WEIGHTS), "1, no gate"):
        cells = [mean_over(by[name], diseases) for by, diseases in found.values()]
        print(f"| {name} |", " | ".join(f"{100 * each['top1']:.1f} / {100 * each['top10']:.1f}" for each in cells), "|")
    return 0


def ranks(graph: Graph, path: Path, every: int) -> tuple[dict[str, list[float]], list[str]]:
    """Return the ranks of the cases whose disease the graph describes, by weight, and their diseases."""
    labels, read = Labels.of_graph(graph), words_reader(graph)
    found: dict[str, list[float]] = {name: [] for name in (*map(str, WEIGHTS), "1, no gate")}
    diseases: list[str] = []
    for number, case in enumerate(read_cases(path)):
        if number % every or not isinstance(case, Case) or not (label := labels.of(case)).right:
            continue
        diseases.append(label.disease)
        try:
            totals = weighed(graph, graph.ranker.score(read(case)))
        except CaseError:
            totals = {}
        for name, each in found.items():
            each.append(mean_rank(totals[name], label.right) if totals else float("inf"))
    return found, diseases


def heed(graph: Graph, paths: Sequence[Path], every: int) -> None:
    """Print the ranks at each share of words that counts where the gate is closed, and with findings alone."""
    labels = Labels.of_graph(graph)
    sets = {path: list(in_words(graph, path, every, labels)) for path in paths}
    print("| words beside telling findings |", " | ".join(path.name.split(".")[0] for path in sets), "|")
    print("|---|" + "---|" * len(sets))
    chosen = phrases.CLOSED
    for share in (*SHARES, None):
        phrases.CLOSED = chosen if share is None else share
        graph.ranker.forget()
        cells = []
        for cases in sets.values():
            totals = (_total(graph, replace(case, text="", phrases=()) if share is None else case) for case, _ in cases)
            found = [
                mean_rank(total, label.right) if total is not None else float("inf")
                for total, (_, label) in zip(totals, cases, strict=True)
            ]
            mean = mean_over(found, [label.disease for _, label in cases])
            cells.append(f"{100 * mean['top1']:.1f} / {100 * mean['top10']:.1f}")
        print(f"| {'findings alone' if share is None else share} |", " | ".join(cells), "|")


def in_words(graph: Graph, path: Path, every: int, labels: Labels) -> Iterator[tuple[Case, Label]]:
    """Yield the cases of a file as they are read from words, each with its label."""
    read, name = words_reader(graph), graph.ranker.names.label
    for number, case in enumerate(read_cases(path)):
        if number % every or not isinstance(case, Case) or not (label := labels.of(case)).right:
            continue
        terms = [name(term).lower() for term in case.observed if term in graph.ranker.names.terms]
        if not case.text and not case.phrases and terms:
            case = Case(case.id, text=f"The patient has {', '.join(terms)}.")
        with suppress(CaseError):
            yield read(case), label


def _total(graph: Graph, case: Case) -> Any:
    try:
        return graph.ranker.score(case).total
    except CaseError:
        return None


def weighed(graph: Graph, scored: Scored) -> dict[str, Any]:
    """Return the scores with the prior at each weight, and with an open gate."""
    scorer = graph.ranker.scorers[PRIOR]
    part = scored.scales[PRIOR].part(scored.values[PRIOR])
    rest = scored.total - part
    unit = graph.ranker.weights.of(PRIOR)
    found = {str(weight): rest + weight / unit * part for weight in WEIGHTS}
    return found | {"1, no gate": rest + scorer.opened(scored.query)}  # type: ignore[attr-defined]


if __name__ == "__main__":
    raise SystemExit(main())
