"""Symptoms read from encyclopedia articles and patients' texts, against the phrases that their sources give for them.

Run ``python benchmarks/documents.py [--data FOLDER]``. The phrases (a language model's for the articles and complaints,
the annotators' for the dialogues) are turned into phenotypes by the same matcher, so that what is measured is the
reading of running text: negation, sections, coordination. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.ingest.check import check_staged
from kgdx.ingest.column_mapping import stage
from kgdx.ingest.extraction.annotate import annotate
from kgdx.ingest.fetch import fetch
from kgdx.ingest.manifest import manifest
from kgdx.ingest.sources import read
from kgdx.schema import load_schema
from kgdx.terms.extractor import Extractor

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
FILES = {
    "hp_zh": "hp-zh.babelon.tsv.gz",
    "encyclopedia": "mayo-diseases.jsonl.gz",
    "encyclopedia_symptoms": "mayo-symptoms.jsonl.gz",
    "dx_dialogues": "dxy-dialogue-train.jsonl.gz",
    "symptom2disease": "symptom2disease-dev.jsonl.gz",
}
Pairs = set[tuple[str, str]]


def tables_of(data: Path) -> list[GraphTable]:
    """The ontology and the sources, checked."""
    staged, refused = [], {}
    with tempfile.TemporaryDirectory() as cache:
        hp = fetch(str(manifest("hp").default), Path(cache)).path
    for name, path in {"hp": hp, **{name: data / file for name, file in FILES.items()}}.items():
        more, refused[name] = stage(read(path, manifest(name)), manifest(name))
        staged += more
    return check_staged(staged, refused, load_schema()).tables


def edges(tables: Iterable[GraphTable], type: str, end: str) -> pl.DataFrame:
    """The edges of a type to a class."""
    rows = [
        pl.DataFrame(pl.from_arrow(table.rows)).select("start", "end")
        for table in tables
        if isinstance(table, RelationTable) and (table.type, table.end_label) == (type, end)
    ]
    return pl.concat(rows) if rows else pl.DataFrame(schema={"start": pl.String, "end": pl.String})


def agreement(found: Pairs, wanted: Pairs, above: Callable[[str], frozenset[str]]) -> dict[str, Any]:
    """Precision and recall, and the share of what was found that is wanted, or above or below something wanted."""
    known = {start for start, _ in wanted}
    found = {pair for pair in found if pair[0] in known}
    of: dict[str, set[str]] = {}
    for start, end in wanted:
        of.setdefault(start, set()).add(end)
    near = sum(any(end in above(each) or each in above(end) for each in of[start]) for start, end in found)
    right = len(found & wanted)
    return {
        "n": len(found),
        "wanted": len(wanted),
        "precision": round(right / len(found), 3),
        "recall": round(right / len(wanted), 3),
        "related": round(near / len(found), 3),
    }


def ancestry(tables: Iterable[GraphTable]) -> Callable[[str], frozenset[str]]:
    """A function from a term to itself and all above it."""
    parents: dict[str, list[str]] = {}
    for child, parent in edges(tables, "IS_A", "Phenotype").iter_rows():
        parents.setdefault(child, []).append(parent)

    @cache
    def above(term: str) -> frozenset[str]:
        return frozenset({term}).union(*(above(parent) for parent in parents.get(term, ())))

    return above


def meanings(tables: Sequence[GraphTable]) -> dict[str, set[str]]:
    """Symptom → the phenotypes that the matcher finds in its words."""
    terms = [t for t in tables if getattr(t, "label", "") == "Phenotype" or getattr(t, "type", "") == "IS_A"]
    with tempfile.TemporaryDirectory() as folder:
        matcher = Extractor.open(compile_snapshot(terms, Path(folder) / "snapshot", "f"))
        symptoms = [table.rows for table in tables if isinstance(table, NodeTable) and table.label == "Symptom"]
        return {
            id: {finding.id for finding in matcher.extract(name).findings}
            for rows in symptoms
            for id, name in zip(rows.column("id").to_pylist(), rows.column("name").to_pylist(), strict=True)
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    tables = tables_of(parser.parse_args().data)
    said = [
        t for t in tables if isinstance(t, RelationTable) and t.end_label == "Symptom" and t.start_label != "Disease"
    ]
    start = time.perf_counter()
    read_ = annotate([table for table in tables if not any(table is each for each in said)])
    result: dict[str, Any] = {"seconds": round(time.perf_counter() - start, 1)}
    above, meant = ancestry(tables), meanings(tables)

    def wanted(type: str, source: str) -> Pairs:
        rows = edges(tables, type, "Symptom").filter(pl.col("start").str.contains(source, literal=True)).iter_rows()
        return {(start, id) for start, symptom in rows for id in meant[symptom]}

    articles = set(edges(tables, "MENTIONS", "Disease")["end"])
    phrases = {pair for pair in wanted("HAS_SYMPTOM", "encyclopedia") if pair[0] in articles}
    found = set(edges(read_, "HAS_SYMPTOM", "Phenotype").iter_rows())
    result["encyclopedia"] = agreement(found, phrases, above)
    observed = set(edges(read_, "OBSERVED", "Phenotype").iter_rows())
    for source in ("symptom2disease", "dx_dialogues"):
        result[source] = agreement(observed, wanted("OBSERVED", source), above)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
