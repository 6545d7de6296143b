"""Measure how far shares hold what they say; `python -m benchmarks.calibration STORE CASES`.

Ranks random parts of development patients whose publication the annotations do not cite, and prints the reliability of
the first candidate's share, and of the steps low, fair and good, with the
temperatures fitted to the other folds of publications, and those fitted to all. With `--bank` whole patients are ranked
as users rank them, matched with the graph's other patients, two of a publication at most; only the steps are printed.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.inquiry import groups

import kgdx
from kgdx.api import Graph
from kgdx.evaluate.labels import Labels
from kgdx.rank.fusion import believed
from kgdx.rank.judgement import FAIR, GOOD

COUNTS = (1, 2, 3, 4, 5, 7, 10)
DEGREES = np.arange(0.8, 6.01, 0.2)
FOLDS = 5


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--sample", type=int, default=600)
    parser.add_argument("--bank", action="store_true", help="match whole patients, and print the steps")
    options = parser.parse_args(arguments)
    with kgdx.open(options.store) as graph:
        if options.bank:
            print("| patients | chance of the first | patients | right |\n|---|---|---|---|")
            for row in steps(graph, options.cases, options.sample):
                print(f"| {' | '.join(row)} |")
            return 0
        stated, right, findings, fold, disease = measured(graph, options.cases, options.sample)
    told = np.zeros(len(right))
    for number in range(FOLDS):
        fitted = fit(stated, right, findings, fold != number)
        for count in COUNTS:
            mine = (fold == number) & (findings == count)
            told[mine] = stated[mine, fitted[count]]
    bins = np.minimum((told * 10).astype(int), 9)
    print("| stated share | patients | mean | right |\n|---|---|---|---|")
    error = 0.0
    for number in np.unique(bins):
        mine = bins == number
        error += abs(told[mine].mean() - right[mine].mean()) * mine.mean()
        print(f"| from {number / 10:.1f} | {mine.sum()} | {told[mine].mean():.2f} | {right[mine].mean():.2f} |")
    print("\n| chance of the first | patients | right | right, mean over diseases |\n|---|---|---|---|")
    for name, least, beyond in (("low", 0, FAIR), ("fair", FAIR, GOOD), ("good", GOOD, 2)):
        mine = (told >= least) & (told < beyond)
        by = [right[mine & (disease == each)].mean() for each in np.unique(disease[mine])]
        print(f"| {name} | {mine.sum()} | {right[mine].mean():.2f} | {np.mean(by):.2f} |")
    every = fit(stated, right, findings, fold >= 0)
    print(
        f"\nexpected calibration error {error:.3f}; fitted to all:", {n: round(DEGREES[t], 1) for n, t in every.items()}
    )
    return 0


def steps(graph: Graph, path: Path, sample: int) -> Iterator[tuple[str, ...]]:
    """Yield for patients that no annotation cites, and others, how often the first is right at each step."""
    labels, found = Labels.of_graph(graph), groups(graph, path, 10**6)
    unseen = {case.id for case in found["unseen"]}
    cited = [case for case in found["all"] if case.id not in unseen]
    for group, cases in (("uncited", found["unseen"]), ("cited", cited)):
        seen: Counter[str] = Counter()
        told: dict[str, list[bool]] = defaultdict(list)
        for case in random.Random(0).sample(cases, len(cases)):
            seen[case.publications[0]] += 1
            if seen[case.publications[0]] > 2 or sum(map(len, told.values())) >= sample:
                continue
            ranking = graph.ranker.rank(case, bank=graph.bank)
            right = {graph.ranker.ids[number] for number in labels.of(case).right}
            told[ranking.judgement.level].append(ranking.candidates[0].id in right)
        for level in ("low", "fair", "good"):
            yield group, level, str(len(told[level])), f"{np.mean(told[level]):.2f}" if told[level] else ""


def measured(graph: Graph, cases: Path, sample: int) -> tuple[Any, ...]:
    """Return of each part: the first's share at each temperature, if it is right, number of findings, fold, disease."""
    labels, posterior = Labels.of_graph(graph), graph.ranker.weights.posterior
    chance, rows = random.Random(0), []
    for case in groups(graph, cases, sample)["unseen"]:
        for count in COUNTS:
            if len(case.observed) < count:
                continue
            try:
                total = graph.ranker.score((chance.sample(list(case.observed), count), ())).total
            except kgdx.KgdxError:  # none of them is a finding that can be ranked
                continue
            first = int(total.argmax())
            told = [believed(total, t, posterior.plausible, posterior.most)[first] for t in DEGREES.tolist()]
            fold = random.Random(case.publications[0]).randrange(FOLDS)
            label = labels.of(case)
            rows.append((told, first in label.right, count, fold, label.disease))
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def fit(stated: Any, right: Any, findings: Any, among: Any) -> dict[int, int]:
    """Return the place of the temperature with the least Brier score for each number of findings."""
    found = {}
    for count in COUNTS:
        mine = among & (findings == count)
        found[count] = int(((stated[mine] - right[mine, None]) ** 2).mean(axis=0).argmin())
    return found


if __name__ == "__main__":
    raise SystemExit(main())
