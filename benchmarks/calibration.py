"""Measure how far shares hold what they say; `python -m benchmarks.calibration STORE CASES`.

Ranks random parts of development patients whose publication the annotations do not cite, and prints the reliability of
the first candidate's share, and of the steps low, fair and good, with the temperatures fitted to the other folds of
publications, and those fitted to all. With `--bank` whole patients are ranked as users rank them, matched with the
graph's other patients, two of a publication at most, and beside them notes in words (`--notes`, as benchmarks.judgement
takes them); printed are how often the first is right at each step, and for each kind of patients how far that is from
what the step's patients of the other folds, of all kinds, had. `--picture FILE` draws the reliability.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.inquiry import groups
from benchmarks.judgement import NOTES, called, diagnosed_as, notes

import kgdx
from kgdx.api import Graph
from kgdx.evaluate.labels import Labels
from kgdx.rank import ranker
from kgdx.rank.fusion import believed
from kgdx.rank.judgement import FAIR, GOOD, judged

COUNTS = (1, 2, 3, 4, 5, 7, 10)
DEGREES = np.arange(0.8, 6.01, 0.2)
FOLDS = 5
LEVELS = ("low", "fair", "good")
Stated = tuple[float, bool, str]
"""Share of the first, whether it is right, and the step that a user is told."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--sample", type=int, default=600)
    parser.add_argument("--bank", action="store_true", help="match whole patients, and print the steps")
    parser.add_argument("--notes", type=Path, nargs="*", default=[NOTES / "patients.jsonl"])
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args(arguments)
    with kgdx.open(options.store) as graph:
        if options.bank:
            told = {kind: list(each) for kind, each in whole(graph, options.cases, options.sample, options.notes)}
            print("\n".join(steps(told)))
            if options.picture is not None:
                draw(told, options.picture)
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


def whole(graph: Graph, path: Path, sample: int, told: Sequence[Path]) -> Iterator[tuple[str, Iterator[Stated]]]:
    """Yield patients that no annotation cites, others, and notes, each as ranked for users."""
    shares: list[float] = []
    ranker.judged = lambda share: shares.append(share) or judged(share)
    labels, found = Labels.of_graph(graph), groups(graph, path, 10**6)
    unseen = {case.id for case in found["unseen"]}
    cited = [case for case in found["all"] if case.id not in unseen]

    def published(cases: Sequence[Any]) -> Iterator[Stated]:
        seen: Counter[str] = Counter()
        for case in random.Random(0).sample(cases, len(cases)):
            seen[case.publications[0]] += 1
            if seen[case.publications[0]] <= 2 and sum(min(each, 2) for each in seen.values()) <= sample:
                right = {graph.ranker.ids[number] for number in labels.of(case).right}
                ranking = graph.ranker.rank(case, bank=graph.bank)
                yield shares[-1], ranking.candidates[0].id in right, ranking.judgement.level

    def worded() -> Iterator[Stated]:
        for note in called(graph, [each for file in told for each in notes(file)]):
            found = graph.diagnose(note["text"], explain=1)
            if found.candidates:
                yield shares[-1], diagnosed_as(note, found.candidates[0]), found.judgement.level

    yield "published, not cited", published(found["unseen"])
    yield "published, cited", published(cited)
    yield "notes in words", worded()


def steps(told: Mapping[str, Sequence[Stated]]) -> Iterator[str]:
    """Yield in Markdown how often the first is right at each step and share, and how wrong the other folds' rate is."""
    yield "| patients | chance of the first | patients | right |\n|---|---|---|---|"
    for kind, found in told.items():
        for level in LEVELS:
            right = [good for _, good, each in found if each == level]
            yield f"| {kind} | {level} | {len(right)} | {np.mean(right) if right else 0:.2f} |"
    rows = [(kind, *row[1:], random.Random(at).randrange(FOLDS)) for kind in told for at, row in enumerate(told[kind])]
    yield "\n| patients | calibration error of the steps |\n|---|---|"
    for kind, found in told.items():
        error = 0.0
        for level in LEVELS:
            mine = [(right, fold) for of, right, each, fold in rows if of == kind and each == level]
            stated = [
                np.mean([right for _, right, each, of in rows if each == level and of != fold]) for _, fold in mine
            ]
            error += abs(sum(stated) - sum(right for right, _ in mine)) / len(found)
        yield f"| {kind} | {error:.3f} |"


def draw(told: Mapping[str, Sequence[Stated]], file: Path) -> None:
    """Draw how often the first is right by its share, a line a kind of patients."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 5), layout="constrained")
    axes = figure.subplots()
    axes.plot((0, 1), (0, 1), color="#999", linestyle="--", linewidth=1)
    for kind, found in told.items():
        share, right = np.array([each[0] for each in found]), np.array([each[1] for each in found])
        bins = np.minimum((share * 5).astype(int), 4)
        points = [(share[bins == each].mean(), right[bins == each].mean()) for each in np.unique(bins)]
        axes.plot(*zip(*points, strict=True), marker="o", label=f"{kind} ({len(found)})")
    axes.axvline(FAIR, color="#ccc", linewidth=1)
    axes.axvline(GOOD, color="#ccc", linewidth=1)
    axes.set(xlabel="share of the first (lines: from fair, from good)", ylabel="right", xlim=(0, 1), ylim=(0, 1))
    axes.legend()
    figure.savefig(file)


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
