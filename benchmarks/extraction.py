"""Relations read from question–answer text by rules: precision and recall where the relations are known, and speed.

Run ``python -m benchmarks.extraction [GRAPH] [--half tuning|held-out]``: GRAPH are the lines of a ``medical.json``
(also gzipped). The text is templated; see ``extraction_text.py``. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.extraction_text import FIELDS, Known, diseases, held_out, records, unseen
from kgdx.ingest.extraction.filters import FIELDS as CLASSES
from kgdx.ingest.extraction.filters import NameVocabulary, believe
from kgdx.ingest.extraction.question_pages import clean, read_line
from kgdx.ingest.extraction.rule_reader import RuleReader

ROOT = Path(__file__).resolve().parents[1]
GRAPH = ROOT.parent / "shared" / "data" / "chinese-disease-kg.jsonl.gz"


def vocabulary_of(rows: Sequence[dict[str, Any]]) -> NameVocabulary:
    """The names of these diseases' entries."""
    names: dict[str, set[str]] = {}
    for row in rows:
        for field, class_ in CLASSES.items():
            values = row.get(field) or []
            names.setdefault(class_, set()).update([values] if isinstance(values, str) else values)
    return NameVocabulary({class_: frozenset(known) for class_, known in names.items()})


def measured(reader: RuleReader, known: Sequence[Known], show: int = 0) -> dict[str, Any]:
    """Precision and recall by relation; a relation counts when type, disease and other end are those put in."""
    right, wrong, missed, refused = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    start = time.perf_counter()
    for each in known:
        question, answer, _ = read_line(json.dumps(each.line).encode())
        kept = believe(reader.read(question, answer), clean(f"{question}\n{answer}"))
        found = {(r.type, r.head, r.tail) for r in kept.relations}
        refused.update(kept.refused)
        right.update(type_ for type_, _, _ in found & each.relations)
        wrong.update(type_ for type_, _, _ in found - each.relations)
        missed.update(type_ for type_, _, _ in each.relations - found)
        if show and (found ^ each.relations):
            show -= 1
            print(json.dumps(each.line, ensure_ascii=False))
            print("   wrong:", sorted(found - each.relations), "\n   missed:", sorted(each.relations - found))
    seconds = time.perf_counter() - start
    table = {type_: scores(right[type_], wrong[type_], missed[type_]) for type_ in FIELDS}
    table["all"] = scores(right.total(), wrong.total(), missed.total())
    return {"records": len(known), "records_per_second": round(len(known) / seconds), "refused": refused, **table}


def scores(right: int, wrong: int, missed: int) -> dict[str, float]:
    """Precision, recall and the number of relations."""
    precision, recall = right / max(1, right + wrong), right / max(1, right + missed)
    return {"precision": round(precision, 3), "recall": round(recall, 3), "relations": right + missed}


def main() -> None:
    """Measure both ways of reading on a half of the diseases, with the vocabulary of the other half."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", nargs="?", type=Path, default=GRAPH)
    parser.add_argument("--half", choices=("tuning", "held-out"), default="held-out")
    parser.add_argument("--show", type=int, default=0, help="how many records with a mistake to print")
    options = parser.parse_args()
    rows = diseases(options.graph)
    halves = {
        "tuning": [row for row in rows if not held_out(row["name"])],
        "held-out": [row for row in rows if held_out(row["name"])],
    }
    other = halves["tuning" if options.half == "held-out" else "held-out"]
    known = list(records(halves[options.half]))
    result = {
        "half": options.half,
        "without vocabulary": measured(RuleReader(), known, options.show),
        "with vocabulary": measured(RuleReader(vocabulary_of(other)), known),
        "unseen wording, without vocabulary": measured(RuleReader(), list(unseen(halves[options.half]))),
        "unseen wording, with vocabulary": measured(
            RuleReader(vocabulary_of(other)), list(unseen(halves[options.half]))
        ),
    }
    print(json.dumps(result, ensure_ascii=False, indent=2))


if __name__ == "__main__":
    main()
