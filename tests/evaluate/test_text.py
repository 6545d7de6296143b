"""Precision, recall and F1 of reading text, counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from kgdx.case.patient import Finding, Issue
from kgdx.errors import SourceError
from kgdx.evaluate.text_accuracy import evaluate_text


class Terms:
    """One alternative id; everything else is current, but for HP:9999999, which is unknown."""

    def current(self, curie: str) -> tuple[Finding | None, list[Issue]]:
        if curie == "HP:9999999":
            return None, []
        return Finding({"HP:0000002": "HP:0000001"}.get(curie, curie)), []


class Reader:
    """Finds the ids that stand in a text."""

    terms = Terms()

    def mentions(self, text: str) -> list[Finding]:
        return [Finding(word) for word in text.split()]


def evaluated(*docs: dict[str, Any]) -> dict[str, float | int]:
    return evaluate_text(Reader(), docs)  # type: ignore[arg-type]


def doc(text: str, *gold: str) -> dict[str, Any]:
    return {"id": "1", "text": text, "mentions": [[0, 1, "x", curie] for curie in gold]}


def test_counts_are_pooled_over_documents() -> None:
    result = evaluated(doc("HP:0000001 HP:0000003", "HP:0000001"), doc("HP:0000005", "HP:0000005", "HP:0000006"))
    assert result["precision"] == pytest.approx(2 / 3)
    assert result["recall"] == pytest.approx(2 / 3)
    assert result["f1"] == pytest.approx(2 / 3)
    assert result["n"] == 2


def test_alternative_ids_stand_for_the_current_term_and_repeats_count_once() -> None:
    assert evaluated(doc("HP:0000001 HP:0000001", "HP:0000002", "HP:0000001"))["f1"] == 1


def test_gold_id_that_the_ontology_lost_is_missed() -> None:
    assert evaluated(doc("HP:0000001", "HP:0000001", "HP:9999999"))["recall"] == 0.5


def test_documents_without_findings_give_zero_not_an_error() -> None:
    assert evaluated(doc(""))["f1"] == 0


@pytest.mark.parametrize("bad", [{}, {"text": "x"}, {"text": 1, "mentions": []}, {"text": "x", "mentions": [[1]]}])
def test_unusable_document_is_named(bad: dict[str, Any]) -> None:
    with pytest.raises(SourceError, match="document 2"):
        evaluated(doc("HP:0000001"), bad)


def test_no_document_is_an_error() -> None:
    with pytest.raises(SourceError, match="no document"):
        evaluated()
