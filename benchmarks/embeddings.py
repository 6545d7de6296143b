"""Measure learned embeddings; `python -m benchmarks.embeddings STORE [CASES]`, from the top of a checkout.

STORE is a graph with the sources encyclopedia and encyclopedia_symptoms, CASES patients in words with their disease
(lines of JSON: disease_name, symptoms). For each encoder and seed it trains, and prints in Markdown: Hit@K of the
patients whose disease is in the graph, by GPT-RagAD's rule and by insertion, AUC and AP of the held-out links beside
degree and text cosine, time and memory. `--large` instead times epochs on a made-up graph of PrimeKG's size, and says
what 200 of them would take.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

import kgdx
from kgdx.arrays.sparse import Floats, Ints
from kgdx.graph.snapshot import Snapshot
from kgdx.learn.hetero_graph import PAPER, GraphChoice, HeteroGraph, ends_of
from kgdx.rank.embeddings import Embeddings, Insertion
from kgdx.terms.encoder import CachedEncoder, encoder
from kgdx_train.embed import learn_embeddings
from kgdx_train.held_out_links import split
from kgdx_train.link_training import Training, train

DATA = Path(os.environ.get("KGDX_SHARED_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
AT = (1, 10, 20, 50)
SOURCES = ("encyclopedia", "encyclopedia_symptoms")
LARGE = {"disease": 40_000, "phenotype": 29_000, "gene": 40_000, "drug": 20_000}
LINKS = {"has_phenotype": 2_000_000, "disease_protein": 1_500_000, "recommend_drug": 1_000_000, "is_a": 500_000}
HEAD = ("encoder, seed", "mean, H@1/10/20/50", "inserted", "AUC / AP", "degree", "cosine", "epoch", "CPU s")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", nargs="?")
    parser.add_argument("cases", nargs="?", type=Path, default=DATA / "symptom2disease-dev.jsonl.gz")
    parser.add_argument("--encoders", nargs="+", default=["vgae"])
    parser.add_argument("--relations", nargs="+", default=list(PAPER))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--held-out", type=float, default=Training().held_out)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    if options.large:
        large()
        return 0
    vectors = CachedEncoder(encoder("minilm"), Path(tempfile.gettempdir()) / "kgdx-vectors")
    show(HEAD)
    show("---" for _ in HEAD)
    with kgdx.open(options.store) as graph, tempfile.TemporaryDirectory(prefix="kgdx-embeddings-") as scratch:
        patients = Patients(options.cases, vectors)
        choice = GraphChoice(tuple(options.relations), SOURCES)
        for name in options.encoders:
            for seed in options.seeds:
                how = Training(encoder=name, seed=seed, held_out=options.held_out)
                began = time.process_time()
                made = learn_embeddings(graph.snapshot, Path(scratch), f"{name}-{seed}", vectors, choice, how)
                show((f"{name}, {seed}", *patients.lines(graph.snapshot, made), f"{time.process_time() - began:.0f}"))
    memory()
    return 0


def memory() -> None:
    print(f"\nMost memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


def large() -> None:
    """Time epochs on a graph of 129,000 nodes with hubs, whose vectors are drawn by chance."""
    draws = np.random.default_rng(0)
    inputs = {kind: unit(draws.standard_normal((size, 384), np.float32)) for kind, size in LARGE.items()}
    edges = {}
    for name, count in LINKS.items():
        ends = [(LARGE[kind] * draws.random(count) ** 3).astype(np.int64) for kind in ends_of(name)]
        edges[name] = np.unique(np.stack(ends), axis=1)
    graph = HeteroGraph({kind: np.arange(size) for kind, size in LARGE.items()}, {}, inputs, edges)
    parts = split(graph, Training().held_out, 0)
    spent = []
    for epochs in (1, 1, 4):  # the first one loads what is loaded once
        with tempfile.TemporaryDirectory(prefix="kgdx-large-") as scratch:
            began = time.process_time(), time.perf_counter()
            train(graph, parts, Training(epochs=epochs), Path(scratch), "large")
            spent.append((time.process_time() - began[0], time.perf_counter() - began[1]))
    told = f"{sum(LARGE.values()):,} nodes, {sum(links.shape[1] for links in edges.values()):,} links"
    cpu, wall = ((last - first) / 3 for first, last in zip(*spent[1:], strict=True))
    print(
        f"{told}: an epoch takes {cpu:.1f} s of processor ({wall:.1f} s in all), so that 200 take {cpu / 0.3:.0f} min"
    )
    memory()


class Patients:
    """Patients in words, with the vectors of their phrases."""

    def __init__(self, file: Path, vectors: CachedEncoder) -> None:
        with gzip.open(file, "rt", encoding="utf-8") as stream:
            cases = [json.loads(line) for line in stream]
        self.labels = [case["disease_name"].lower() for case in cases]
        self.phrases = [vectors.encode(case["symptoms"]) for case in cases]

    def lines(self, snapshot: Snapshot, made: Embeddings) -> list[str]:
        names = np.array(snapshot.column("disease", "name").tolist(), object)[made.rows("disease")]
        known = {name.lower(): place for place, name in enumerate(names)}
        asked = [at for at, label in enumerate(self.labels) if label in known]
        truth = np.array([known[self.labels[at]] for at in asked])
        means = mean_of_symptoms(made)

        def hits(patient: Callable[[Floats], Floats | None], diseases: Floats) -> str:
            found = np.stack([patient(self.phrases[at]) for at in asked])
            scores = unit(found) @ unit(diseases).T
            ranks = 1 + (scores > scores[np.arange(len(truth)), truth][:, None]).sum(axis=1)
            return " / ".join(f"{100 * np.mean(ranks <= k):.1f}" for k in AT)

        figures = made.card["figures"].get("has_symptom", {})
        told = [f"{own['auc']:.3f} / {own['ap']:.3f}" for own in ([figures] if figures else [])]
        told += [f"{own['auc']:.3f} / {own['ap']:.3f}" for own in map(figures.get, ("degree", "cosine")) if own]
        inserted = "–"
        if made.card["training"]["encoder"] == "vgae":
            inserted = hits(Insertion(made).patient, made.nodes("disease"))
        return [hits(made.patient, means), inserted, *(told or ["–"] * 3), f"{made.card['best_epoch']}"]


def mean_of_symptoms(made: Embeddings) -> Floats:
    disease, symptom = made.links("has_symptom")
    total: Floats = np.zeros((made.card["nodes"]["disease"], made.card["width"]))
    np.add.at(total, disease, made.nodes("symptom")[symptom])
    counts: Ints = np.bincount(disease, minlength=len(total))
    return total / counts[:, None]


def unit(vectors: Floats) -> Floats:
    scaled: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return scaled


def show(cells: Sequence[str]) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
