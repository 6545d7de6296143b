"""Measure how far shares hold what they say; `python -m benchmarks.calibration STORE CASES`.

Ranks random parts of development patients whose publication the annotations do not cite, and prints the reliability of
the first candidate's share with the temperatures fitted to the other folds of publications, and those fitted to all.
With `--bank` whole patients are ranked as users rank them, matched with the graph's other patients, two of a
publication at most, as terms and told in words, and beside them notes (`--notes`, as benchmarks.judgement takes them);
printed are how often the first is right at each step, and for each kind of patients how far that is from what the step
has over all kinds, which count alike. With `--fit` the steps come from log-odds fitted to the other four folds of
publications, and those fitted to all are printed (`kgdx.rank.judgement.ODDS`). `--picture FILE` draws the reliability.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import kgdx
from benchmarks.inquiry import groups
from benchmarks.judgement import NOTES, called, diagnosed_as, notes
from kgdx.api import Graph
from kgdx.case import Case
from kgdx.evaluate.labels import Labels
from kgdx.evaluate.rank_accuracy import words_reader
from kgdx.rank import ranker
from kgdx.rank.fusion import believed
from kgdx.rank.judgement import FAIR, GOOD, ODDS, traits

COUNTS = (1, 2, 3, 4, 5, 7, 10)
DEGREES = np.arange(0.8, 6.01, 0.2)
FOLDS = 5
STEPS, RIDGE = 20, 0.02
LEVELS = ("low", "fair", "good")


class Stated(NamedTuple):
    """What tells how likely a first is right, whether it is, and what no two folds share."""

    traits: tuple[float, ...]
    right: bool
    publication: str


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--sample", type=int, default=600)
    parser.add_argument("--bank", action="store_true", help="match whole patients, and print the steps")
    parser.add_argument("--notes", type=Path, nargs="*", default=[NOTES / "patients.jsonl"])
    parser.add_argument("--fit", action="store_true", help="fit the log-odds of the steps, out of fold")
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args(arguments)
    with kgdx.open(options.store) as graph:
        if options.bank:
            told = {kind: list(each) for kind, each in whole(graph, options.cases, options.sample, options.notes)}
            chances = chances_of(told, fitting=options.fit)
            print("\n".join(steps(told, chances)))
            if options.picture is not None:
                draw(told, chances, options.picture)
            return 0
        stated, right, findings, fold = measured(graph, options.cases, options.sample)
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
    every = fit(stated, right, findings, fold >= 0)
    print(
        f"\nexpected calibration error {error:.3f}; fitted to all:", {n: round(DEGREES[t], 1) for n, t in every.items()}
    )
    return 0


def whole(graph: Graph, path: Path, sample: int, told: Sequence[Path]) -> Iterator[tuple[str, Iterator[Stated]]]:
    """Yield patients that no annotation cites, others, both also in words, and notes, each as ranked for users."""
    found: list[tuple[float, ...]] = []
    ranker.traits = lambda *given: found.append(traits(*given)) or found[-1]
    labels, patients = Labels.of_graph(graph), groups(graph, path, 10**6)
    unseen = {case.id for case in patients["unseen"]}
    cited = [case for case in patients["all"] if case.id not in unseen]
    read, name = words_reader(graph), graph.ranker.names.label

    def in_words(case: Any) -> Any:
        terms = [name(term).lower() for term in case.observed if term in graph.ranker.names.terms]
        return replace(read(Case(case.id, text=f"The patient has {', '.join(terms)}.")), publications=case.publications)

    def published(cases: Sequence[Any], said: Callable[[Any], Any]) -> Iterator[Stated]:
        seen: Counter[str] = Counter()
        for case in random.Random(0).sample(cases, len(cases)):
            seen[case.publications[0]] += 1
            if seen[case.publications[0]] <= 2 and sum(min(each, 2) for each in seen.values()) <= sample:
                right = {graph.ranker.ids[number] for number in labels.of(case).right}
                with suppress(kgdx.KgdxError):
                    first = graph.ranker.rank(said(case), bank=graph.bank, abstain=True).candidates[:1]
                    for each in first:
                        yield Stated(found[-1], each.id in right, case.publications[0])

    def worded() -> Iterator[Stated]:
        for note in called(graph, [each for file in told for each in notes(file)]):
            first = graph.diagnose(note["text"], explain=1).candidates[:1]
            for each in first:
                yield Stated(found[-1], diagnosed_as(note, each), note["id"])

    for kind, cases in (("not cited", patients["unseen"]), ("cited", cited)):
        yield f"published, {kind}", published(cases, lambda case: case)
        yield f"published, {kind}, in words", published(cases, in_words)
    yield "notes", worded()


def chances_of(told: Mapping[str, Sequence[Stated]], *, fitting: bool) -> dict[str, Any]:
    """Return the chance of each first, as stated to users, or by log-odds that are fitted to the other folds."""
    every = {kind: np.array([each.traits for each in found]) for kind, found in told.items()}
    if not fitting:
        return {kind: 1 / (1 + np.exp(-(each @ ODDS))) for kind, each in every.items()}
    of = {
        kind: np.array([random.Random(each.publication).randrange(FOLDS) for each in found])
        for kind, found in told.items()
    }
    chances = {kind: np.zeros(len(found)) for kind, found in told.items()}
    for fold in range(FOLDS):
        odds = fitted_odds(told, {kind: each != fold for kind, each in of.items()})
        for kind, each in every.items():
            mine = of[kind] == fold
            chances[kind][mine] = 1 / (1 + np.exp(-(each[mine] @ odds)))
    print("log-odds:", fitted_odds(told, {kind: each >= 0 for kind, each in of.items()}).round(2).tolist(), "\n")
    return chances


def fitted_odds(told: Mapping[str, Sequence[Stated]], use: Mapping[str, Any]) -> Any:
    """Return log-odds of the traits by logistic regression, kinds of patients weighed alike, by Newton's steps."""
    some = {kind: [each for each, taken in zip(found, use[kind], strict=True) if taken] for kind, found in told.items()}
    known = np.array([each.traits for found in some.values() for each in found])
    right = np.array([each.right for found in some.values() for each in found])
    weight = np.array([1 / len(found) for found in some.values() for _ in found]) * len(right) / len(some)
    odds = np.zeros(known.shape[1])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-(known @ odds)))
        curve = known.T @ (known * (weight * chance * (1 - chance))[:, None]) + RIDGE * np.eye(len(odds))
        odds += np.linalg.solve(curve, known.T @ (weight * (right - chance)) - RIDGE * odds)
    return odds


def steps(told: Mapping[str, Sequence[Stated]], chances: Mapping[str, Any]) -> Iterator[str]:
    """Yield in Markdown how often the first is right at each step, and how far that is from all kinds' rate."""
    right = {kind: np.array([each.right for each in found]) for kind, found in told.items()}
    level = {kind: np.digitize(each, (FAIR, GOOD)) for kind, each in chances.items()}
    weight = {kind: 1 / len(found) for kind, found in told.items()}
    rate = [
        sum(weight[kind] * right[kind][level[kind] == step].sum() for kind in told)
        / sum(weight[kind] * (level[kind] == step).sum() for kind in told)
        for step in range(len(LEVELS))
    ]
    yield f"| patients | {' | '.join(LEVELS)} | error of the steps |\n|---|---|---|---|---|"
    for kind, found in told.items():
        mine = [right[kind][level[kind] == step] for step in range(len(LEVELS))]
        error = sum(abs(each.sum() - len(each) * rate[step]) for step, each in enumerate(mine)) / len(found)
        cells = (f"{100 * each.mean():.0f} ({len(each)})" if len(each) else "–" for each in mine)
        yield f"| {kind} | {' | '.join(cells)} | {error:.3f} |"
    yield f"| all, weighed alike | {' | '.join(f'{100 * each:.0f}' for each in rate)} | |"


def draw(told: Mapping[str, Sequence[Stated]], chances: Mapping[str, Any], file: Path) -> None:
    """Draw how often the first is right by its chance, a line a kind of patients."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 5), layout="constrained")
    axes = figure.subplots()
    axes.plot((0, 1), (0, 1), color="#999", linestyle="--", linewidth=1)
    for kind, found in told.items():
        chance, right = chances[kind], np.array([each.right for each in found])
        bins = np.minimum((chance * 5).astype(int), 4)
        points = [(chance[bins == each].mean(), right[bins == each].mean()) for each in np.unique(bins)]
        axes.plot(*zip(*points, strict=True), marker="o", label=f"{kind} ({len(found)})")
    axes.axvline(FAIR, color="#ccc", linewidth=1)
    axes.axvline(GOOD, color="#ccc", linewidth=1)
    axes.set(xlabel="chance of the first (lines: from fair, from good)", ylabel="right", xlim=(0, 1), ylim=(0, 1))
    axes.legend()
    figure.savefig(file)


def measured(graph: Graph, cases: Path, sample: int) -> tuple[Any, ...]:
    """Return of each part: the first's share at each temperature, if it is right, number of findings, fold."""
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
            rows.append((told, first in label.right, count, fold))
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
