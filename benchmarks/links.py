"""Measure link prediction on held-out links of diseases and symptoms; `python -m benchmarks.links STORE`.

For each seed a tenth of the links is taken out of the graph, before similar diseases are derived from it, and each
method tells them from as many other pairs: drawn by chance, and drawn as often as a symptom has links. Hit@10 places
each link among all symptoms that the disease is not known to have. Prints Markdown: means over the seeds with 95%
intervals (Student), and how calibrated the probabilities are at the top of the ranking.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import t as student

import kgdx
from kgdx.arrays.sparse import Floats, Ints
from kgdx.config import Settings
from kgdx.learn.hetero_graph import SIMILAR_DISEASES, GraphChoice, HeteroGraph, hetero_graph, jaccard
from kgdx.rank.link_prediction import Calibration, calibrate
from kgdx.terms.encoder import CachedEncoder, encoder
from kgdx_train.graph_encoders import GRAPH_ENCODERS
from kgdx_train.held_out_links import auc, average_precision, split, unlinked
from kgdx_train.link_training import Training, train

RELATION = "has_symptom"
TOP = 10
BINS = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0)

Scores = Callable[[Ints], Floats]
"""Scores of all symptoms for some diseases; shape (diseases, symptoms)."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("--sources", default="encyclopedia,encyclopedia_symptoms")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--encoders", default=",".join(GRAPH_ENCODERS.names()))
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--share", type=float, default=0.1, help="of the links that are taken out")
    options = parser.parse_args(arguments)
    settings = Settings.load(str(options.store))
    cached = CachedEncoder(encoder("minilm"), settings.cache / "vectors")
    with kgdx.open(options.store) as graph:
        whole = hetero_graph(graph.snapshot, cached, GraphChoice(sources=tuple(options.sources.split(","))))
    found: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    calibrated: dict[str, list[tuple[Floats, Floats]]] = defaultdict(list)
    for seed in range(options.seeds):
        task = taken_out(whole, options.share, seed)
        methods: dict[str, Scores] = baselines(task)
        for name in options.encoders.split(","):
            scores, calibration = learned(task, Training(name, options.epochs, seed=seed))
            methods[name] = scores
            calibrated[name].append(top_probabilities(task, scores, calibration, options.share))
        for name, scores in methods.items():
            found[name].append(measured(task, scores, seed))
    print(table(found))
    print(reliability_table(calibrated))
    return 0


@dataclass(frozen=True, slots=True)
class Task:
    """A graph that some links were taken out of.

    Attributes:
        graph: What is left.
        links: The links that were taken out; shape (2, n).
        every: All links; shape (2, links).
    """

    graph: HeteroGraph
    links: Ints
    every: Ints

    @property
    def sizes(self) -> tuple[int, int]:
        """Diseases and symptoms."""
        return len(self.graph.rows["disease"]), len(self.graph.rows["symptom"])

    def has(self, links: Ints) -> csr_array:
        """Return links as a matrix of ones."""
        return csr_array((np.ones(links.shape[1], np.int32), tuple(links)), shape=self.sizes)

    def marked(self, links: Ints) -> Ints:
        """Return which pairs are among links; shape (diseases, symptoms)."""
        found = np.zeros(self.sizes, bool)
        found[tuple(links)] = True
        return found

    @property
    def known(self) -> Ints:
        """The links that were left."""
        return self.graph.edges[RELATION]


def taken_out(whole: HeteroGraph, share: float, seed: int) -> Task:
    """Take links out by chance, and derive anew what rests on them."""
    every = whole.edges[RELATION]
    order = np.random.default_rng((seed, 1)).permutation(every.shape[1])
    count = int(len(order) * share)
    left = every[:, np.sort(order[count:])]
    task = Task(replace(whole, edges={**whole.edges, RELATION: left}), every[:, order[:count]], every)
    derived = jaccard(task.has(left), GraphChoice().gamma)
    return replace(task, graph=replace(whole, edges={**task.graph.edges, SIMILAR_DISEASES: derived}))


def baselines(task: Task) -> dict[str, Scores]:
    """Return the scores that learn nothing of the graph but its degrees and names."""
    has = task.has(task.known)
    degrees = np.asarray(has.sum(axis=0)).ravel()
    names, symptoms = task.graph.inputs["disease"], task.graph.inputs["symptom"]

    def nearest(diseases: Ints) -> Floats:
        rows = [symptoms[has[[disease]].indices] for disease in diseases.tolist()]
        return np.stack([(symptoms @ own.T).max(axis=1) if len(own) else np.zeros(len(symptoms)) for own in rows])

    return {
        "degree": lambda diseases: np.tile(degrees.astype(np.float64), (len(diseases), 1)),
        "text cosine of the names": lambda diseases: names[diseases] @ symptoms.T,
        "text cosine to the nearest known symptom": nearest,
    }


def learned(task: Task, how: Training) -> tuple[Scores, Calibration]:
    """Train an encoder on what is left, and calibrate it on links that its training held out."""
    parts = split(task.graph, how.held_out, how.seed)
    with tempfile.TemporaryDirectory() as folder:
        trained = train(task.graph, parts, how, Path(folder), "benchmark")
    heads = trained.latents["disease"] * trained.weights[f"decoder.{RELATION}"]
    tails = trained.latents["symptom"]

    def scores(diseases: Ints) -> Floats:
        found: Floats = heads[diseases] @ tails.T
        return found

    def logits(one: Floats, other: Floats) -> Floats:
        found: Floats = one @ other.T
        return found

    return scores, calibrate(trained.held_out[RELATION][0], logits, heads, tails, task.known)


def measured(task: Task, scores: Scores, seed: int) -> tuple[float, ...]:
    """Return AUC and AP against pairs drawn by chance, the same by degree, and Hit@10."""
    draws = np.random.default_rng((seed, 2))
    every = scores(np.arange(task.sizes[0]))
    stated = task.marked(task.every)
    by_chance = unlinked(task.every, task.sizes, task.links.shape[1], draws)
    frequent = task.known[1][draws.integers(task.known.shape[1], size=task.links.shape[1])]
    by_degree = np.stack([task.links[0], frequent])
    by_degree = by_degree[:, ~stated[tuple(by_degree)]]
    of = every[tuple(task.links)]
    figures = [
        measure(of, every[tuple(pairs)]) for pairs in (by_chance, by_degree) for measure in (auc, average_precision)
    ]
    offered = np.where(stated, -np.inf, every)
    above = [np.count_nonzero(offered[disease] >= score) for disease, score in zip(task.links[0], of, strict=True)]
    return (*figures, float(np.mean(np.array(above) < TOP)))


def top_probabilities(task: Task, scores: Scores, calibration: Calibration, share: float) -> tuple[Floats, Floats]:
    """Return probability and truth of all pairs that are not known to be links.

    A share of the links was taken out, so only their odds are left: p/(1 − p) times the share.
    """
    unknown = ~task.marked(task.known)
    stated = calibration.probability(scores(np.arange(task.sizes[0])).astype(np.float64))[unknown]
    return stated * share / (stated * share + 1 - stated), task.marked(task.links)[unknown]


def table(found: Mapping[str, Sequence[tuple[float, ...]]]) -> str:
    """Return the figures in Markdown."""
    lines = ["| method | AUC | AP | AUC, by degree | AP, by degree | Hit@10 |", "|---|---|---|---|---|---|"]
    for name, rows in found.items():
        values = np.array(rows)
        reach = (
            student.ppf(0.975, max(len(rows) - 1, 1))
            * values.std(axis=0, ddof=min(1, len(rows) - 1))
            / len(rows) ** 0.5
        )
        cells = " | ".join(f"{mean:.3f} ± {half:.3f}" for mean, half in zip(values.mean(axis=0), reach, strict=True))
        lines.append(f"| {name} | {cells} |")
    return "\n".join(lines) + "\n"


def reliability_table(calibrated: Mapping[str, Sequence[tuple[Floats, Floats]]]) -> str:
    """Return stated and found shares of links by stated probability, in Markdown."""
    lines = ["| probability stated | " + " | ".join(f"{name}: stated, found, pairs" for name in calibrated) + " |"]
    lines.append("|---|" + "---|" * len(calibrated))
    for low, high in pairwise(BINS):
        cells = []
        for runs in calibrated.values():
            stated, truth = (np.concatenate(part) for part in zip(*runs, strict=True))
            own = (stated >= low) & (stated < high)
            shown = (
                f"{100 * stated[own].mean():.2f}%, {100 * truth[own].mean():.2f}%, {own.sum():,}" if own.any() else "–"
            )
            cells.append(shown)
        lines.append(f"| {100 * low:g}–{100 * high:g}% | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
