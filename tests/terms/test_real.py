"""The real ontology on real text."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from kgdx.evaluate.text_accuracy import evaluate_text
from kgdx.terms.extractor import Extractor


def test_abstracts_are_read_well(hpo_reader: Extractor, shared_data: Path) -> None:
    with gzip.open(shared_data / "gsc-plus-dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        docs = [json.loads(line) for line in lines]
    result = evaluate_text(hpo_reader, docs)
    assert result["n"] == len(docs) == 123
    assert result["f1"] > 0.74
    assert result["precision"] > 0.8


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Cleft palate and bilateral sensorineural hearing loss", {"HP:0000175", "HP:0000407"}),
        ("short stature; hypertelorism; low-set ears", {"HP:0004322", "HP:0000316", "HP:0000369"}),
        ("shortness of breath on exertion", {"HP:0002094"}),
        ("患儿身材矮小，双眼上睑下垂，无抽搐", {"HP:0004322", "HP:0000508", "HP:0001250"}),
    ],
)
def test_plain_phrases_are_read(hpo_reader: Extractor, text: str, expected: set[str]) -> None:
    assert expected <= {finding.id for finding in hpo_reader.extract(text).findings}
