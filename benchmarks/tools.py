"""Time the tools of an agent, at the size of Deep-DxSearch's corpora; ``python -m benchmarks.tools STORE``.

Three parts, each alone with ``--only``: ``match`` compares patients with 177,029 made-up records in the shape of the
paper's five sources by equation 21 and proves the result against a plain computation; ``search`` makes a BM25 index of
a million made-up pieces in shards, kills the maker once, and asks it; ``names`` misspells names of diseases and finds
the threshold of equation 20; ``actions`` times lookup, match, search and summarise on the graph itself.

The exit code is 1 where a figure misses its target or an answer differs.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kgdx.actions import Lookup, Match, Search, Summarise
from kgdx.actions.graph_context import GraphContext
from kgdx.case import Case, Finding
from kgdx.config import Settings
from kgdx.episode.loop import step
from kgdx.episode.state import State
from kgdx.errors import KgdxError
from kgdx.graph.case_index import UNIT, CaseIndex
from kgdx.graph.snapshot import TABLES, Snapshot
from kgdx.rank.near_findings import NearFindings
from kgdx.terms.names.suggestions import DiseaseWords
from kgdx.terms.text_index import SHARD, TextIndex, build, plain
from kgdx.terms.text_ranking import SegmentRanking
from kgdx.terms.text_segment import TextPiece

PARTS = ("match", "search", "names", "actions")
RECORDS = {  # number of records, and mean number of findings of one: the mix is ours, the sum the paper's
    "mimic": (60_000, 14),
    "pmc_patients": (60_000, 10),
    "meddialog": (40_000, 3),
    "rarearena": (15_929, 9),
    "rarebench": (1_100, 12),
}
PIECES, WORDS, LONG = 1_000_000, 400_000, 90
MATCH_MS, MATCH_GIB, SEARCH_MS, MAKER_GIB, STEP_MS = 10.0, 1.5, 20.0, 2.0, 1.0
INDEX_S = 180.0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", nargs="?", help="graph folder; the default graph without it")
    parser.add_argument("--only", choices=PARTS, help="one part of it")
    parser.add_argument("--pieces", type=int, default=PIECES, help="pieces of text to index")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)  # the process that is killed
    options = parser.parse_args(arguments)
    if options.make is not None:
        build(options.make, "made", plain(lambda: pieces(options.pieces, options.seed)))
        return 0
    try:
        with GraphContext(Settings.load(options.store)) as graph:
            found = {part: globals()[part](graph, options) for part in ([options.only] if options.only else PARTS)}
    except KgdxError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    if options.json:
        print(json.dumps(found))
    for part, rows in found.items() if not options.json else ():
        print(part)
        for row in rows:
            target = f"target {row['target']:g}" if "target" in row else ""
            print(f"  {row['what']:58} {row['value']:>12,.4g} {row['unit']:4} {target} {'' if row['ok'] else 'MISSED'}")
    return 0 if all(row["ok"] for rows in found.values() for row in rows) else 1


def row(what: str, value: float, unit: str, target: float | None = None, *, ok: bool = True) -> dict[str, Any]:
    found: dict[str, Any] = {"what": what, "value": value, "unit": unit}
    return found | {"ok": ok} if target is None else found | {"target": target, "ok": ok and value <= target}


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.process_time()
    result = run()
    return 1000 * (time.process_time() - begin), result


# -- equation 21


class Records(Snapshot):
    """A graph's snapshot with made-up patients in the place of its own."""

    def __init__(self, real: Snapshot, seed: int) -> None:
        self._real = real
        rng = np.random.default_rng(seed)
        weight = np.bincount(real.column("has_phenotype", "phenotype"), minlength=real.rows("phenotype")) ** 0.75
        count = sum(number for number, _ in RECORDS.values())
        source = np.repeat(list(RECORDS), [number for number, _ in RECORDS.values()])
        many = np.concatenate([1 + rng.poisson(mean - 1, number) for number, mean in RECORDS.values()])
        owner = np.repeat(np.arange(count), many)
        term = rng.choice(len(weight), len(owner), p=weight / weight.sum())
        keys = np.unique(owner * len(weight) + term)
        ids = [f"record:{number:06d}" for number in range(count)]
        none = {"label": None, "sex": None, "age": None, "publications": []}
        columns = {"id": ids, "source": source.tolist(), "synthetic": [False] * count, "diseases": [[]] * count}
        made = {name: columns.get(name, [none.get(name)] * count) for name in TABLES["patient_case"]}
        observed = {"case": keys // len(weight), "phenotype": keys % len(weight), "source": ["made"] * len(keys)}
        self._made = {
            name: pa.table(rows, schema=pa.schema(list(TABLES[name].items()))).combine_chunks()
            for name, rows in (("patient_case", made), ("observed", observed))
        }

    def table(self, name: str) -> pa.Table:
        return self._made.get(name) or self._real.table(name)

    def column(self, name: str, column: str) -> Any:
        return self.table(name).column(column).to_numpy() if name in self._made else self._real.column(name, column)


def match(graph: GraphContext, options: argparse.Namespace) -> list[dict[str, Any]]:
    graph.ranker  # noqa: B018 - not what is measured
    records = Records(graph.snapshot, options.seed)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    making, index = timed(lambda: CaseIndex(records))
    starts = np.searchsorted(records.column("observed", "case"), np.arange(len(records.table("patient_case")) + 1))
    terms = records.column("observed", "phenotype")
    rng = np.random.default_rng(options.seed + 1)
    names = graph.ranker.names
    asked = []
    for case in rng.choice(len(starts) - 1, 200, replace=False).tolist():
        have = terms[starts[case] : starts[case + 1]]
        asked.append([names.term(int(each)) for each in rng.permutation(have)[:12]])
    cold, warm, same = [], [], True
    near = NearFindings(graph.ranker)
    for number, ids in enumerate(asked):
        if number % 20 == 0:  # what was remembered is forgotten
            near, index = NearFindings(graph.ranker), CaseIndex(records)
            alike(index, near, ["HP:0001250"])
        ask = partial(alike, index, near, ids)
        spent, rows = timed(ask)
        cold.append(spent)
        warm.append(timed(ask)[0])
        if number < 10:
            same &= [each["id"] for each in rows] == _plain(near, ids, starts, terms, records)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    median = float(np.median(cold))
    return [
        row("records", len(starts) - 1, ""),
        row("findings of all records", len(terms), ""),
        row("index", making / 1000, "s", INDEX_S),
        row("a patient of at most 12 findings, new ones, median", median, "ms", MATCH_MS, ok=same),
        row("the same, 95th percentile", float(np.percentile(cold, 95)), "ms"),
        row("the same findings again, median", float(np.median(warm)), "ms"),
        row("memory of it all, at most", (used - before) / 2**20, "GiB", MATCH_GIB),
    ]


def alike(index: CaseIndex, near: NearFindings, ids: list[str]) -> list[dict[str, Any]]:
    """The 20 records that are most similar to findings."""
    return index.similar(near.by_ontology(ids), [], [], 20, len(ids))


def _plain(near: NearFindings, ids: list[str], starts: Any, terms: Any, records: Records) -> list[str]:
    """The best records by equation 21, computed record by record."""
    total = np.zeros(len(starts) - 1, np.int64)
    for each in near.by_ontology(ids):
        similarity = np.zeros(records.table("phenotype").num_rows, np.int64)
        similarity[each.terms] = each.similarity
        total += np.maximum.reduceat(similarity[terms], starts[:-1])
    best = np.argsort(-total, kind="stable")[:20]
    assert total.max() <= UNIT * len(ids)
    return [f"record:{at:06d}" for at in best.tolist() if total[at]]


# -- equation 20 over texts


def pieces(count: int, seed: int) -> Iterator[TextPiece]:
    """Made-up texts whose words are as frequent as those of a language: by Zipf's law."""
    rng = np.random.default_rng(seed)
    weight = 1 / np.arange(10, WORDS + 10) ** 1.05
    steps = np.cumsum(weight) / weight.sum()
    words = np.array([f"w{number:x}" for number in range(WORDS)])
    for start in range(0, count, 10_000):
        many = min(10_000, count - start)
        lengths = rng.integers(LONG // 2, LONG * 3 // 2, many)
        drawn = words[np.searchsorted(steps, rng.random(int(lengths.sum())))]
        ends = np.cumsum(lengths)
        for number, end in enumerate(ends.tolist()):
            text = " ".join(drawn[end - int(lengths[number]) : end])
            yield TextPiece(f"made:{start + number}", "", text, f"made{number % 3}")


def search(graph: GraphContext, options: argparse.Namespace) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "texts"
        command = [sys.executable, "-m", "benchmarks.tools", "--make", str(folder), "--pieces", str(options.pieces)]
        begin = time.monotonic()
        with subprocess.Popen([*command, "--seed", str(options.seed)]) as maker:
            unfinished = folder.with_name("texts.partial")
            while maker.poll() is None and len(list(unfinished.glob("shards/0*"))) < options.pieces // SHARD // 2:
                time.sleep(0.2)
            os.kill(maker.pid, signal.SIGKILL)
        kept = len(list(unfinished.glob("shards/0*")))
        killed = time.monotonic() - begin
        subprocess.run([*command, "--seed", str(options.seed)], check=True)
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
        made = time.monotonic() - begin
        opening, index = timed(lambda: SegmentRanking(TextIndex(folder).segments))
        sizes = [(file.name, file.stat().st_size / 2**30) for file in folder.rglob("*") if file.is_file()]
        rng = np.random.default_rng(options.seed)
        six = [" ".join(f"w{int(each):x}" for each in 10 ** rng.uniform(1, 5, 6)) for _ in range(200)]
        texts = (each.text.split() for each in pieces(400, options.seed + 1))
        sixty = [" ".join(words[:60]) for words in texts if len(words) >= 60]
        for query in (*six[:9], *sixty[:99]):  # the files come into memory
            index.search(query, (), 32)
        times = [timed(lambda query=query: index.search(query, (), 5))[0] for query in six]
        long = [timed(lambda query=query: index.search(query, (), 32))[0] for query in sixty[99:]]
        same = all(_exact(index, query) for query in sixty[99:119])
    return [
        row("pieces", options.pieces, ""),
        row("killed after", killed, "s"),
        row("shards kept by the killed process", kept, "", ok=kept > 0),
        row("index, with the kill", made, "s"),
        row("memory of its maker, at most", memory, "GiB", MAKER_GIB),
        row("size", sum(size for _, size in sizes), "GiB"),
        row("of which texts", sum(size for name, size in sizes if name == "texts.arrow"), "GiB"),
        row("opening it", opening, "ms"),
        row("a query of six words, median", float(np.median(times)), "ms", SEARCH_MS),
        row("the same, 95th percentile", float(np.percentile(times, 95)), "ms", SEARCH_MS),
        row("the best 32 for sixty words, median", float(np.median(long)), "ms", SEARCH_MS, ok=same),
        row("the same, 95th percentile", float(np.percentile(long, 95)), "ms", SEARCH_MS),
    ]


def _exact(index: SegmentRanking, query: str) -> bool:
    """Whether what is found is what a score of every piece finds."""
    scores = index.scores(query)
    best = np.argsort(-scores, kind="stable")[:32]
    return [score for _, score in index.search(query, (), 32)] == scores[best].tolist()


# -- equation 20 over names


def names(graph: GraphContext, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Misspell a letter in one word of a name: found means the same disease; names of other things mean none."""
    rng = np.random.default_rng(options.seed)
    words = DiseaseWords(graph.snapshot)
    table = graph.snapshot.table("disease").select(["id", "name"]).to_pylist()
    named = [row for row in table if row["name"] and row["name"].isascii() and " " in row["name"]]
    right, scores = [], []
    for at in rng.choice(len(named), 1000, replace=False).tolist():
        best = words.best(misspelt(named[at]["name"], rng))
        right.append(best is not None and best[0].name == named[at]["name"])
        scores.append(best[1] if best else 0.0)
    others = [str(name) for kind in ("drug", "gene", "test", "cure") for name in graph.snapshot.column(kind, "name")]
    drawn = [others[at] for at in rng.choice(len(others), 1000, replace=False).tolist()]
    wrong = [best[1] if (best := words.best(name)) else 0.0 for name in drawn]
    steps = np.arange(0, 40, 0.5)
    found = np.array([np.mean(np.array(right) & (np.array(scores) >= tau)) for tau in steps])
    false = np.array([np.mean(np.array(wrong) >= tau) for tau in steps])
    none = np.array([np.mean(~np.array(right) & (np.array(scores) >= tau)) for tau in steps])
    best_at = int(np.argmax(found - none - false))
    at = int(np.argmin(abs(steps - words.least)))
    return [
        row("misspelt names whose best disease is right", float(np.mean(right)), ""),
        row("threshold with most right less wrong", float(steps[best_at]), ""),
        row(f"taken and right at {steps[at]:g}", float(found[at]), ""),
        row("taken and wrong", float(none[at]), ""),
        row("names of other things that are taken", float(false[at]), ""),
    ]


def misspelt(name: str, rng: np.random.Generator) -> str:
    """Change a letter of the longest word: drop it, double it, or swap it with the next."""
    word = max(name.split(), key=len)
    at = int(rng.integers(1, max(len(word) - 1, 2)))
    ways = (
        word[:at] + word[at + 1 :],
        word[:at] + word[at - 1 :],
        word[:at] + word[at : at + 2][::-1] + word[at + 2 :],
    )
    return name.replace(word, ways[int(rng.integers(3))], 1)


# -- the actions themselves


def actions(graph: GraphContext, options: argparse.Namespace) -> list[dict[str, Any]]:
    rng = np.random.default_rng(options.seed)
    diseases = [str(each) for each in graph.snapshot.column("disease", "name") if each]
    annotated = np.unique(graph.snapshot.column("has_phenotype", "phenotype"))
    ids = graph.snapshot.column("phenotype", "id")
    found = []
    for what, make in {
        "lookup, by the name index": lambda name, case: Lookup(diseases=(name,)),
        "lookup, letter mode": lambda name, case: Lookup(diseases=(name,), letter=True),
        "match": lambda name, case: Match(),
        "search": lambda name, case: Search(query=f"cause of {name[:300]}"),
        "search and summarise": lambda name, case: Summarise(query=f"cause of {name[:300]}"),
    }.items():
        times, again = [], []
        for _ in range(101):
            name = diseases[int(rng.integers(len(diseases)))]
            terms = rng.choice(annotated, 8, replace=False)
            case = Case("p", findings=tuple(Finding(str(ids[each])) for each in terms))
            state = State(case)
            if what == "search and summarise":
                state = step(graph, state, Search(query=f"cause of {name[:300]}"))
            wish = make(name, case)
            times.append(timed(lambda state=state, wish=wish: step(graph, state, wish))[0])
            again.append(timed(lambda state=state, wish=wish: step(graph, state, wish))[0])
        found.append(row(f"{what}, new, median", float(np.median(times[1:])), "ms"))
        found.append(row(f"{what}, asked before, median", float(np.median(again[1:])), "ms", STEP_MS))
    return found


if __name__ == "__main__":
    sys.exit(main())
