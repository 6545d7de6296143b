"""Reading findings from text: accuracy on annotated abstracts, statuses on hand-written sentences, speed and size.

Run ``python benchmarks/text.py [DOCS] [--store FOLDER]``: DOCS are JSON lines ``{"id", "text", "mentions"}`` (also
gzipped). Prints one JSON object.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kgdx
from kgdx.evaluate.text import evaluate_text
from kgdx.store.snapshot import Snapshot
from kgdx.text.context import statuses
from kgdx.text.dictionary import build_dictionary, compile_dictionary
from kgdx.text.extractor import Extractor

ROOT = Path(__file__).resolve().parents[1]
ABSTRACTS = ROOT.parent / "shared" / "data" / "gsc-plus-dev.jsonl.gz"
SENTENCES = ROOT / "tests" / "data"
REPEATS = 5
LONG = 100_000


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
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
