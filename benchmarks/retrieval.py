"""Measure retrieval in words; `python -m benchmarks.retrieval GRAPH`, from the top of a checkout.

GRAPH is the folder of a graph of the encyclopedia with its symptoms, and with embeddings where the methods that read
them are to be measured. Prints in Markdown Hit@1/10/20/50 of the Symptom2Disease development patients whose label is
among the diseases with symptoms in words, those being the candidates, over patients and as the mean over labels; then
the time and memory of one patient against 24,000 diseases, copies of those of the graph.
"""

from __future__ import annotations

import argparse
import gc
import resource
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import kgdx
from benchmarks.joint import DATA, show
from kgdx.api import Graph
from kgdx.arrays.sparse import Floats
from kgdx.case import Case, read_cases
from kgdx.errors import CaseError
from kgdx.evaluate.labels import Labels
from kgdx.evaluate.rank_accuracy import words_reader
from kgdx.rank.commonness import Commonness
from kgdx.rank.fusion import fused, leading, scale
from kgdx.rank.meanings import Gist, MeaningScorer, MeanMeaning, NameMeaning, vectors_of
from kgdx.rank.phrases import Articles, WordsScorer
from kgdx.rank.query import Query
from kgdx.rank.retrieval import METHODS
from kgdx.rank.scorers import Scorer

AT = (1, 10, 20, 50)
DISEASES, TIMED, KEPT = 24_000, 40, 100


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", help="folder of the graph")
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="methods to measure; all by default")
    parser.add_argument("--only", choices=("accuracy", "speed"), help="what to measure")
    options = parser.parse_args(arguments)
    with kgdx.open(options.graph) as graph:
        patients = list(labelled(graph))
        if options.only != "speed":
            print(f"{len(patients)} patients, {np.count_nonzero(in_words(graph))} candidates\n")
            show(("method", "Hit@1/10/20/50", "by label"), rows(graph, patients, options.methods or list(METHODS)))
            print()
        if options.only != "accuracy":
            show(("what", "target", "measured (median, 95th percentile)"), speed(graph, patients))
    return 0


def in_words(graph: Graph) -> Floats:
    """Which candidates have symptoms in words."""
    found: Floats = graph.ranker.scorers["words"].arrays["spoken"] > 0
    return found


def labelled(graph: Graph) -> Iterator[tuple[Case, list[int], str]]:
    """Yield each patient whose label is a candidate, with the places of the right ones among those with symptoms."""
    labels, read = Labels.of_graph(graph), words_reader(graph)
    place = np.cumsum(in_words(graph)) - 1
    for case in read_cases(DATA / "symptom2disease-dev.jsonl.gz"):
        if isinstance(case, Case):
            label = labels.of(case)
            right = [int(place[number]) for number in label.right if in_words(graph)[number]]
            if right:
                yield read(case), right, label.disease


def rows(graph: Graph, patients: Sequence[Any], names: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    among = in_words(graph)
    of = np.array([label for *_, label in patients])
    for name in names:
        try:
            method = METHODS.get(name).open(graph.snapshot, graph.ranker.model)
        except kgdx.KgdxError as error:
            yield name, "–", str(error)
            continue
        ranks = []
        for case, right, _ in patients:
            try:
                total = method.scores(method.query(case))[among]
            except CaseError:  # nothing that the method reads: a miss
                ranks.append(len(among))
            else:
                ranks.append(1 + np.count_nonzero(total > total[right].max()))
        hit = np.array(ranks)[:, None] <= np.array(AT)
        each = np.array([hit[of == label].mean(axis=0) for label in np.unique(of)])
        yield name, percent(hit.mean(axis=0)), percent(each.mean(axis=0))


def percent(shares: Floats) -> str:
    return "/".join(f"{100 * share:.1f}" for share in shares)


def speed(graph: Graph, patients: Sequence[Any]) -> Iterator[tuple[str, str, str]]:
    """Yield time and memory with phrases that the copies share, and with phrases of each copy's own."""
    method = METHODS.get("in-words").open(graph.snapshot, graph.ranker.model)
    queries = [method.query(case) for case, *_ in patients[:: max(1, len(patients) // TIMED)]]
    weights, scorers = method.weights(), method.ranker.scorers
    said = statistics.median(len(query.phrases) for query in queries)
    yield "phrases of a patient, those given and the clauses of the text", "", f"{said:.0f}"
    before = resident()
    for own, how in ((False, "phrases shared"), (True, "all phrases distinct")):
        copied = {name: copies(scorer, own=own) for name, scorer in scorers.items() if name != "gist"}
        names = copied["names"]
        assert isinstance(names, NameMeaning)
        copied["gist"] = Gist(graph.ranker.model, copied["meaning"].arrays, names)
        copied["gist"].size = DISEASES  # type: ignore[attr-defined]
        for warm in (True, False):
            what = f"{DISEASES:,} diseases, {how}" + ("" if warm else ", encoding included")
            yield what, "15 ms" if warm else "", timed(copied, weights.of, queries, warm=warm)
        held = {id(array): array.nbytes for each in copied.values() for array in each.arrays.values()}
        yield "… arrays", "300 MB", f"{sum(held.values()) / 2**20:.0f} MB"
        yield "… process, beside the graph that was copied", "", f"{resident():.0f} MB, {before:.0f} MB before"


def resident() -> float:
    """Resident memory of the process, in MB."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def timed(scorers: dict[str, Scorer], weight: Any, queries: Sequence[Query], *, warm: bool) -> str:
    taken = []
    for query in queries:
        vectors_of.cache_clear()
        if warm:
            vectors_of(query.phrases)
            vectors_of((", ".join(query.phrases),))
        begin = time.process_time()
        values = {name: scorer.score(query) for name, scorer in scorers.items()}
        scales = {
            name: scale(scorers[name], value, weight(name), DISEASES, scorers[name].field(query))
            for name, value in values.items()
        }
        leading(fused(values, scales), KEPT)
        taken.append(1000 * (time.process_time() - begin))
    return f"{statistics.median(taken):.1f} ms, {np.percentile(taken, 95):.1f} ms"


def copies(scorer: Scorer, *, own: bool) -> Scorer:
    """Return a scorer of copies of its diseases, which have the same phrases, or each its own."""
    size = len(scorer.model.curated)
    times = -(-DISEASES // size)
    kept = dict(scorer.arrays)
    new = {"spoken": np.tile(kept["spoken"], times)[:DISEASES]} if "spoken" in kept else {}
    if isinstance(scorer, (MeaningScorer, MeanMeaning, NameMeaning)):
        count = np.tile(np.diff(kept["first"]), times)[:DISEASES]
        distinct = own or isinstance(scorer, MeanMeaning)
        shift = len(kept["vectors"]) if distinct else 0
        row = np.concatenate([kept["row"] + shift * number for number in range(times)])[: count.sum()]
        vectors = np.tile(kept["vectors"], (times if distinct else 1, 1))[: row.max() + 1]
        new |= {"first": np.r_[0, np.cumsum(count)].astype(np.int32), "row": row, "vectors": vectors}
    elif isinstance(scorer, (WordsScorer, Articles)):
        owner = np.repeat(np.arange(len(kept["words"])), np.diff(kept["start"]))
        index = (kept["index"][:, None].astype(np.int32) + size * np.arange(times, dtype=np.int32)).ravel()
        used = index < DISEASES
        start = np.r_[0, np.cumsum(np.bincount(np.repeat(owner, times)[used], minlength=len(kept["words"])))]
        new |= {"words": kept["words"], "start": start, "index": index[used]}
        new["weight"] = np.repeat(kept["weight"], times)[used]
    elif isinstance(scorer, Commonness):
        new |= {"prior": np.tile(kept["prior"], times)[:DISEASES], "ratio": kept["ratio"]}
    else:
        raise TypeError(scorer.name)
    made = type(scorer)(scorer.model, new)
    made.size = DISEASES  # type: ignore[attr-defined]
    return made


if __name__ == "__main__":
    raise SystemExit(main())
