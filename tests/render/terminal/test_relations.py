"""What a person sees of an extraction."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from kgdx.ingest.extraction.extract import RelationExtraction
from kgdx.llm.budget import Spent
from kgdx.render.terminal.console import text
from kgdx.render.terminal.sources_text import extraction, extraction_progress, far

DONE = RelationExtraction(
    "relations",
    "model \x1b[31m",
    pages=3,
    kept=1,
    records=3_000,
    reasons=Counter({"the line is no JSON": 2}),
    left_out=Counter({"not in the text": 12, "duplicate": 30}),
    by_type=Counter({"HAS_SYMPTOM": 1_200}),
    spent=Spent(
        calls=2_000, cached=5, retries=1, prompt_tokens=900_000, completion_tokens=100_000, uncounted=3, cost=0.5
    ),
    seconds=20.0,
    read_now=2_000,
)


def test_how_far_it_is_has_rate_cost_and_time_left() -> None:
    said = far(DONE, 13, True)
    assert said == "1,200 relations, 100 records/s, 1,000,000 tokens, cost 0.5000, 1 min 40 s left"
    assert "cost" not in far(DONE, 13, False)
    assert far(RelationExtraction("f", "m"), None, True) == "0 relations"
    assert "1 page failed" in far(replace(DONE, failed={3: "down"}), 13, True)


def test_a_finished_extraction_opens_with_what_was_read_and_hides_nothing() -> None:
    shown = text(extraction(DONE, True), 100)
    assert shown.startswith("1,200 relations from 3,000 records by model")
    assert "\x1b" not in shown
    for part in (
        "2   the line is no JSON",
        "30  duplicate",
        "12  not in the text",
        "3, 1 of them finished before",
        "2,000 answers, 5 from the cache, 1 retry, 3 without a count of tokens, 1,000,000 tokens, cost 0.5000",
        "kgdx update huatuo=relations, which adds them to the graph",
    ):
        assert " ".join(part.split()) in " ".join(shown.split()), shown


def test_without_a_terminal_progress_is_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgdx.render.terminal.sources_text.EVERY_S", 0.0)
    with extraction_progress(13, True) as tell:
        tell(DONE)
    assert capsys.readouterr().err == f"page 3 of 13: {far(DONE, 13, True)}\n"
