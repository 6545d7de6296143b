"""Fit and measure the inference of equivalent entries; `python -m benchmarks.equivalence`, from a checkout's top.

Compares it with Orphanet's cross-reference table: a model fitted to half of the Orphanet entries is measured on the
other half, and the shipped constants on all. "Known" leaves out pairs whose Orphanet entry the table does not list.
With --fit it prints the constants of :mod:`kgdx.ingest.alignment.equivalence`. Needs scipy alone.

With ``--graph FOLDER`` it says of a graph of several sources how many entries of each are joined with an entry of
another, and draws by ``--seed`` what readers judge: joined pairs with the reason (precision), candidates (does any
stand twice?), and entries that no other source shares (is there a counterpart?).
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import random
import tempfile
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

import kgdx
from kgdx.graph.protocol import GraphTable, RelationTable
from kgdx.ingest.alignment.equivalence import (
    WEIGHTS,
    EntryPairs,
    EquivalenceWeights,
    compare,
    judge,
    leads,
    read_entries,
)
from kgdx.terms.names.same_diseases import Components, vocabulary

DATA = Path(os.environ.get("KGDX_SHARED_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
PENALTY = (1e-6, 1e-5)


@dataclass(frozen=True, slots=True)
class Truth:
    """What the table says of the compared pairs; shapes (pairs,)."""

    exact: Any
    known: Any
    half: Any
    totals: tuple[int, int]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", type=Path, default=DATA / "orphanet-omim-xrefs.tsv.gz")
    parser.add_argument("--fit", action="store_true", help="print constants fitted to all entries")
    parser.add_argument("--graph", type=Path, help="folder of a graph whose joins are counted and drawn")
    parser.add_argument("--seed", type=int, default=20261127)
    parser.add_argument("--draw", type=int, default=200, help="how many pairs and candidates are drawn")
    options = parser.parse_args(arguments)
    if options.graph:
        report_joins(options.graph, options.seed, options.draw)
        return 0
    entries = read_entries(default_tables())
    pairs = compare(entries)
    truth = read_truth(options.table, entries.ids, pairs)
    print("| model | measured on | pairs | precision | precision, known | recall |\n|---|---|---|---|---|---|")
    for half in (True, False):
        weights = fit(pairs, truth.exact, truth.half == half)
        measured = truth.half != half
        report(
            "fitted to the other half", f"half {2 - half}", judge(pairs, weights) >= WEIGHTS.threshold, truth, measured
        )
    stated = judge(pairs, WEIGHTS) >= WEIGHTS.threshold
    report("as shipped", "all", stated, truth, np.ones(len(stated), bool))
    if options.fit:
        print(fit(pairs, truth.exact, np.ones(len(stated), bool)))
    return 0


def report_joins(folder: Path, seed: int, draw: int) -> None:
    """Print how many entries of each source are joined, and the drawn pairs, candidates and lone entries."""
    with kgdx.open(folder) as graph:
        rows = graph.store.export_nodes("Disease", ["name", "source"]).to_pylist()
        columns = ["method", "source", "evidence"]
        pairs = graph.store.export_relations("SAME_AS", "Disease", "Disease", columns).to_pylist()
        model = graph.ranker.model.candidates
        ids = graph.snapshot.column("disease", "id").tolist()
        ranked = [[ids[at] for at in model.members.columns(number).tolist()] for number in range(len(model.disease))]
    names, sources = ({row["id"]: row[key] for row in rows} for key in ("name", "source"))
    joined = Components()
    for pair in pairs:
        if pair["source"] != "kgdx:alignment":
            joined.join(pair["start"], pair["end"])
    alone = {id for id in names if len({vocabulary(each) for each in joined.of(id)}) == 1}
    print(f"{len(ranked):,} candidates\n\n| source | entries | joined with another source |\n|---|---|---|")
    for source, number in sorted(Counter(sources.values()).items()):
        with_others = sum(sources[id] == source and id not in alone for id in names)
        print(f"| {source} | {number:,} | {with_others:,} ({with_others / number:.0%}) |")
    chance = random.Random(seed)
    made = sorted((p for p in pairs if p["source"] == "kgdx:names"), key=lambda p: (p["start"], p["end"]))
    print("\nPairs that are joined, with the reason:")
    for pair in chance.sample(made, min(draw, len(made))):
        ends = " = ".join(names[pair[end]] or pair[end] for end in ("start", "end"))
        print(f"{ends} | {pair['method']} | {'; '.join(pair['evidence'] or ())}")
    print("\nCandidates:")
    for members in chance.sample(ranked, min(draw, len(ranked))):
        print("; ".join(dict.fromkeys(names[id] or id for id in members)))
    for source in ("encyclopedia", "chinese_kg"):
        lone = sorted(names[id] for id in alone if sources[id] == source)
        print(f"\nEntries of {source} that no other source shares:")
        print("; ".join(chance.sample(lone, min(draw // 2, len(lone)))))


def default_tables() -> list[GraphTable]:
    """The default graph without what was inferred."""
    with tempfile.TemporaryDirectory(prefix="kgdx-equivalence-") as scratch:
        kgdx.build(store=Path(scratch) / "graph")
        with kgdx.open(Path(scratch) / "graph") as graph:
            tables = list(graph.store.tables())
    return [table for table in tables if not (isinstance(table, RelationTable) and table.type == "SAME_AS")]


def read_truth(path: Path, ids: list[str], pairs: EntryPairs) -> Truth:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    there, listed = set(ids), {row["orpha"] for row in rows}
    exact = {
        (row["orpha"], row["omim"]) for row in rows if row["relation"] == "E" and {row["orpha"], row["omim"]} <= there
    }
    compared = [(ids[left], ids[right]) for left, right in zip(pairs.left, pairs.right, strict=True)]
    first = sum(in_first_half(orpha) for orpha, _ in exact)
    return Truth(
        np.array([pair in exact for pair in compared]),
        np.array([orpha in listed for orpha, _ in compared]),
        np.array([in_first_half(orpha) for orpha, _ in compared]),
        (first, len(exact) - first),
    )


def in_first_half(id: str) -> bool:
    return zlib.crc32(id.encode()) % 2 == 0


def report(model: str, where: str, stated: Any, truth: Truth, measured: Any) -> None:
    found = stated & measured
    right = (truth.exact & found).sum()
    total = sum(n for n, half in zip(truth.totals, (True, False), strict=True) if (truth.half[measured] == half).any())
    figures = right / found.sum(), right / (found & truth.known).sum(), right / total
    print(f"| {model} | {where} | {found.sum()} | {' | '.join(f'{figure:.3f}' for figure in figures)} |")


def fit(pairs: EntryPairs, exact: Any, use: Any) -> EquivalenceWeights:
    """Fit both steps by penalised logistic regression; the threshold stays."""
    alike = logistic(pairs.features[use], exact[use], PENALTY[0])
    lead = leads(pairs, pairs.features @ alike[:-1] + alike[-1])
    best = use & (lead.min(axis=1) > 0)
    again = logistic(np.column_stack([lead, pairs.features])[best], exact[best], PENALTY[1])
    rounded = [tuple(float(x) for x in part.round(3)) for part in (alike, again[:2], again[2:])]
    return EquivalenceWeights(rounded[0], (rounded[1][0], rounded[1][1]), rounded[2], WEIGHTS.threshold)


def logistic(features: Any, truth: Any, penalty: float) -> Any:
    """Weights and constant that minimise the mean logistic loss plus penalty · |weights|²."""
    design = np.column_stack([features, np.ones(len(features))])

    def loss(weights: Any) -> tuple[float, Any]:
        value = design @ weights
        plain = np.r_[weights[:-1], 0]
        error = 1 / (1 + np.exp(-value)) - truth
        total = np.mean(np.logaddexp(0, value) - truth * value) + penalty * (plain**2).sum()
        return float(total), design.T @ error / len(truth) + 2 * penalty * plain

    return minimize(loss, np.zeros(design.shape[1]), jac=True, method="L-BFGS-B").x


if __name__ == "__main__":
    raise SystemExit(main())
