"""Fit the weights of a retrieval method; `python -m benchmarks.retrieval_weights GRAPH`, from the top of a checkout.

GRAPH is as for `benchmarks.retrieval`, with its patients and candidates. Weights are those of a conditional logit over
the candidates, each label counting the same, with a ridge to PRIOR; then that of commonness is scaled for the mean of
the four hit rates. Prints the weights, and Hit@1/10/20/50 over six folds of the labels, in each of which both steps
were taken on the other labels alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

import kgdx
from benchmarks.joint import show
from benchmarks.retrieval import AT, in_words, labelled, percent
from kgdx.api import Graph
from kgdx.arrays.sparse import Floats, Ints
from kgdx.rank.retrieval import METHODS

PRIOR, RIDGE, FOLDS, SEED = 0.3, 0.01, 6, 0
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
SCALED = "commonness"


@dataclass(frozen=True, slots=True)
class Patients:
    """Standardised scores of patients, shape (patients, scorers, candidates); which are right, and the labels."""

    scores: Floats
    right: Floats
    label: Ints
    deviation: Floats

    @classmethod
    def of(cls, graph: Graph, names: Sequence[str], name: str) -> Patients:
        method = METHODS.get(name).open(graph.snapshot, graph.ranker.model)
        among, scores, right, labels = in_words(graph), [], [], []
        for case, own, label in labelled(graph):
            scored = method.ranker.score_query(method.query(case))
            part = [scored.scales[each].part(scored.values[each])[among] for each in names]
            scores.append(np.array(part) / [[scored.scales[each].weight] for each in names])
            right.append(np.isin(np.arange(int(among.sum())), own))
            labels.append(label)
        each = np.array(scores, np.float32)
        deviation = each.std(axis=(0, 2), keepdims=True)
        return cls(each / deviation, np.array(right), np.unique(labels, return_inverse=True)[1], deviation[0, :, 0])

    def some(self, use: Floats) -> Patients:
        return Patients(self.scores[use], self.right[use], self.label[use], self.deviation)

    def hits(self, weight: Floats) -> Floats:
        """Whether the right disease is among the first; shape (patients, len(AT))."""
        total = np.einsum("k,ckn->cn", weight.astype(np.float32), self.scores)
        best = np.where(self.right, total, -np.inf).max(axis=1, keepdims=True)
        found: Floats = 1 + (total > best).sum(axis=1, keepdims=True) <= np.array(AT)
        return found

    def by_label(self, hits: Floats) -> Floats:
        mean: Floats = np.array([hits[self.label == each].mean(axis=0) for each in np.unique(self.label)]).mean(axis=0)
        return mean


def fitted(given: Patients, names: Sequence[str]) -> Floats:
    """Return the weights of standardised scores."""
    count = np.bincount(given.label)[given.label].astype(float)
    share = 1 / count / (1 / count).sum()

    def loss(weight: Floats) -> tuple[float, Floats]:
        total = np.einsum("k,ckn->cn", weight.astype(np.float32), given.scores).astype(float)
        odds = np.exp(total - total.max(axis=1, keepdims=True))
        own = np.where(given.right, odds, 0)
        told = own.sum(axis=1) / odds.sum(axis=1)
        pull = share[:, None] * (own / own.sum(axis=1, keepdims=True) - odds / odds.sum(axis=1, keepdims=True))
        slope = np.einsum("cn,ckn->k", pull, given.scores)
        away = weight - PRIOR
        return float(RIDGE * away @ away - share @ np.log(told)), 2 * RIDGE * away - slope

    start = np.full(len(names), PRIOR)
    weight = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(names)).x
    scaled = np.array(names) == SCALED
    tried = [np.where(scaled, share * weight, weight) for share in SHARES]
    best: Floats = max(tried, key=lambda each: float(given.by_label(given.hits(each)).mean()))
    return best


def rows(graph: Graph, methods: Sequence[str]) -> Iterator[tuple[str, str, str, str]]:
    for name in methods:
        names = list(METHODS.get(name).weights().scorers)
        patients = Patients.of(graph, names, name)
        labels = np.random.default_rng(SEED).permutation(int(patients.label.max()) + 1)
        hits = np.zeros((len(patients.label), len(AT)), bool)
        for fold in range(FOLDS):
            out = np.isin(patients.label, labels[fold::FOLDS])
            hits[out] = patients.some(out).hits(fitted(patients.some(~out), names))
        weight = fitted(patients, names) / patients.deviation
        told = ", ".join(f"{each} {value:.2f}" for each, value in zip(names, weight, strict=True))
        yield name, told, percent(hits.mean(axis=0)), percent(patients.by_label(hits))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", help="folder of the graph")
    parser.add_argument("--methods", nargs="+", metavar="NAME", default=["in-words", "in-words-learned"])
    options = parser.parse_args(arguments)
    with kgdx.open(options.graph) as graph:
        show(("method", "weights", "Hit@1/10/20/50, cross-validated", "by label"), rows(graph, options.methods))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
