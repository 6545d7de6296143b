"""What matched patients are worth, by disease; `python -m benchmarks.case_bank STORE CASES [--folds N]`.

Ranks phenopackets whose disease the annotations describe without the case bank, with its constants, and
cross-validated: of a grid of constants each fold takes those with the least loss (conditional logit, each case weighed
by 1/sqrt(cases of its disease), those that an annotation cites as much as the others) on the other folds, which share
neither publication nor disease with it. Printed are means over diseases and over patients of top-1/3/10. A case's own
publication is never matched.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

import kgdx
from kgdx.api import Graph
from kgdx.case import Case, read_cases
from kgdx.evaluate.labels import Labels
from kgdx.rank.case_bank import Matched
from kgdx.rank.fusion import PatientWeights
from kgdx.rank.held_out_ranks import Withheld
from kgdx.rank.ranking import leaving_out

TOPS = (1, 3, 10)
GRID = {"pooling": (2.5, 3.2, 5.0), "crowding": (0.3, 0.45, 0.7), "update": (1.6, 2.3, 3.0)}


@dataclass(frozen=True)
class Ranked:
    """A patient: whether annotations cite it, and by each choice of constants its rank and its loss."""

    disease: str
    publication: str
    seen: bool
    ranks: Sequence[int]
    losses: Sequence[float]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", help="graph folder, with patients")
    parser.add_argument("cases", type=Path)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    with kgdx.open(options.store) as graph:
        shipped = graph.ranker.weights.patients
        choices = [None, shipped]
        for values in product(*GRID.values()):
            choices.append(shipped.model_copy(update=dict(zip(GRID, values, strict=True))))
        found = list(ranked(graph, read_cases(options.cases), choices))
    print("\n".join(table(found, crossed(found, options.folds, options.seed))))
    return 0


def ranked(graph: Graph, cases: Iterator[object], choices: Sequence[PatientWeights | None]) -> Iterator[Ranked]:
    """Yield the patients whose disease has annotations; ``None`` among the choices is for no bank."""
    ranker, bank = graph.ranker, graph.bank
    labels, withheld = Labels(ranker, graph.snapshot), Withheld(ranker, graph.snapshot)
    described = np.diff(ranker.model.columns.annotated.start) > 0
    for case in cases:
        right = list(labels.of(case).right) if isinstance(case, Case) else []
        if not isinstance(case, Case) or not right or not described[right].any() or not case.publications:
            continue
        scored = ranker.score(case)
        matched = bank.match(scored, leaving_out(case))
        seen = any(withheld.cites(number, frozenset(case.publications)) for number in right)
        totals = (scored.total if each is None else raised(matched, scored.total, each) for each in choices)
        places = [(int((total > total[right].max()).sum()) + 1, loss(total, right)) for total in totals]
        disease = labels.of(case).disease
        yield Ranked(disease, case.publications[0], seen, *map(list, zip(*places, strict=True)))


def raised(matched: Matched, total: np.ndarray, weights: PatientWeights) -> np.ndarray:
    """Return the scores with a bank of other constants."""
    kept, matched.bank.weights = matched.bank.weights, weights
    try:
        return matched.raised(total)
    finally:
        matched.bank.weights = kept


def loss(total: np.ndarray, right: list[int]) -> float:
    """Return the negative log of the right diseases' share."""
    odds = np.exp(total.astype(np.float64) - total.max())
    return float(-np.log(max(odds[right].sum() / odds.sum(), 1e-12)))


def crossed(found: Sequence[Ranked], folds: int, seed: int) -> list[int]:
    """Return each patient's rank by the constants that its fold takes from the others."""
    component = components(found)
    fold = np.random.default_rng(seed).integers(0, folds, max(component) + 1)[component]
    count = Counter(each.disease for each in found)
    weight = np.array([count[each.disease] ** -0.5 for each in found])
    seen = np.array([each.seen for each in found])
    for group in (seen, ~seen):
        weight[group] /= max(weight[group].sum(), 1e-9)
    losses = np.array([each.losses for each in found])
    best = {each: 1 + int((weight[fold != each] @ losses[fold != each])[1:].argmin()) for each in range(folds)}
    return [each.ranks[best[number]] for each, number in zip(found, fold.tolist(), strict=True)]


def components(found: Sequence[Ranked]) -> list[int]:
    """Return to which part of the disease-publication graph each patient belongs."""
    above: dict[str, str] = {}

    def top(name: str) -> str:
        while above.setdefault(name, name) != name:
            name = above[name]
        return name

    for each in found:
        above[top(f"disease {each.disease}")] = top(f"publication {each.publication}")
    tops = [top(f"disease {each.disease}") for each in found]
    number = {name: at for at, name in enumerate(dict.fromkeys(tops))}
    return [number[name] for name in tops]


def table(found: Sequence[Ranked], folds: Sequence[int]) -> Iterator[str]:
    """Yield the table."""
    yield "| | " + " | ".join(f"{kind}, by disease | by patient" for kind in ("not cited", "cited")) + " |"
    yield "|---|---|---|---|---|"
    rows = {
        "no bank": [each.ranks[0] for each in found],
        "bank": [each.ranks[1] for each in found],
        "bank, cross-validated": list(folds),
    }
    for name, ranks in rows.items():
        cells = []
        for seen in (False, True):
            some = [(each.disease, rank) for each, rank in zip(found, ranks, strict=True) if each.seen is seen]
            by_disease: dict[str, list[int]] = {}
            for disease, rank in some:
                by_disease.setdefault(disease, []).append(rank)
            means = [np.mean([np.mean(np.array(one) <= top) for one in by_disease.values()]) for top in TOPS]
            micro = [np.mean([rank <= top for _, rank in some]) for top in TOPS]
            for values, n in ((means, len(by_disease)), (micro, len(some))):
                cells.append("/".join(f"{100 * value:.1f}" for value in values) + f" ({n})")
        yield f"| {name} | {' | '.join(cells)} |"


if __name__ == "__main__":
    raise SystemExit(main())
