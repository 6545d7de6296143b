"""The rules on text with known relations, in wordings that they were not made for."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from kgdx.ingest.extraction.filters import believe
from kgdx.ingest.extraction.question_pages import read_line
from kgdx.ingest.extraction.rule_reader import RuleReader


@pytest.mark.parametrize(("wordings", "precision", "recall"), [("records", 0.92, 0.7), ("unseen", 0.88, 0.38)])
def test_most_of_what_the_rules_read_is_right(
    shared_data: Path, root: Path, wordings: str, precision: float, recall: float
) -> None:
    spec = importlib.util.spec_from_file_location("extraction_text", root / "benchmarks" / "extraction_text.py")
    assert spec is not None and spec.loader is not None
    made = sys.modules["extraction_text"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    rows = [row for row in made.diseases(shared_data / "chinese-disease-kg.jsonl.gz") if made.held_out(row["name"])]
    right = found = known = 0
    for each in getattr(made, wordings)(rows[:400]):
        question, answer, _ = read_line(json.dumps(each.line).encode())
        kept = believe(RuleReader().read(question, answer), f"{question}\n{answer}").relations
        stated = {(relation.type, relation.head, relation.tail) for relation in kept}
        right += len(stated & each.relations)
        found += len(stated)
        known += len(each.relations)
    assert right / found > precision
    assert right / known > recall
