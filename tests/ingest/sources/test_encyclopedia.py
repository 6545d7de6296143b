"""Scraped articles and lists of symptoms become clean documents and relations."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.errors import SourceError
from kgdx.ingest.records import Records, minted
from kgdx.ingest.sources.encyclopedia import article
from kgdx.ingest.sources.json_records import prose

Parse = Callable[[str, Path], Records]

Write = Callable[[str, str | bytes], Path]

Rows = Callable[[Any, str], list[dict[str, Any]]]

SCRAPED = (
    "\n\r\n\t    Light eruption on the chest\r\n\t    Open pop-up dialog box\n\n\nClose\n\n"
    "Light eruption on the chest\nIt is a bad rash. It itches a lot.\n Open pop-up dialog box \n\nClose\n"
    "Close Light eruption on the chest It is a bad rash. It itches a lot. Signs may include:\n"
    "Blisters\nHives\nBlisters\n"
)


def test_buttons_captions_and_repetitions_are_taken_out() -> None:
    assert article(SCRAPED).splitlines() == [
        "Light eruption on the chest",
        "It is a bad rash. It itches a lot.",
        "Signs may include:",
        "Blisters",
        "Hives",
    ]


def test_the_word_of_a_button_stays_where_it_is_a_word() -> None:
    assert article("Close contact spreads it.\nClose\nKeep close.") == "Close contact spreads it.\nKeep close."


def test_markup_is_no_text() -> None:
    assert article("<div><p>Fever &lt;38 °C</p><script src='x'></script><br/>Cough</div>") == "Fever <38 °C\nCough"


@given(st.text())
def test_nothing_is_added_by_cleaning(text: str) -> None:
    clean = article(text)
    assert set(clean.split()) <= set(prose(text).split())
    assert all(char == "\n" or char.isprintable() or not char.isascii() for char in clean)


def test_an_article_is_a_document_that_mentions_its_disease(
    check_files: Callable[..., Any], rows: Rows, write: Write
) -> None:
    content = json.dumps({"disease_name": "sun-allergy", "symptoms": SCRAPED})
    checked = check_files("hp", encyclopedia=write("e.jsonl", content))
    (disease,) = rows(checked, "Disease")
    (document,) = rows(checked, "Document")
    assert disease["name"] == document["title"] == "sun allergy"
    assert document["language"] == "en"
    assert document["text"].endswith("Hives")
    assert [(row["start"], row["end"]) for row in rows(checked, "MENTIONS")] == [(document["id"], disease["id"])]


def test_phrases_and_article_of_one_disease_meet_in_one_node(
    check_files: Callable[..., Any], rows: Rows, write: Write
) -> None:
    text = write("e.jsonl", json.dumps({"disease_name": "lupus-nephritis", "symptoms": "Foamy urine."}))
    phrases = write(
        "s.jsonl", json.dumps({"disease_name": "Lupus nephritis", "symptoms": ["foamy urine.", "Foamy urine"]})
    )
    checked = check_files("hp", encyclopedia=text, encyclopedia_symptoms=phrases)
    assert len(rows(checked, "Disease")) == len(rows(checked, "Symptom")) == len(rows(checked, "HAS_SYMPTOM")) == 1
    assert checked.counts["encyclopedia_symptoms"].merged == 1


def test_a_table_and_chinese_names_are_read_too(parse: Parse, write: Write) -> None:
    records = parse("encyclopedia", write("e.csv", '疾病,text,url\n麻疹,"发热，\n皮疹",https://example.org\n'))
    assert records.frames["document"].select("title", "text", "language", "url").rows() == [
        ("麻疹", "发热，\n皮疹", "zh", "https://example.org")
    ]
    assert records.frames["disease"]["name_zh"].to_list() == ["麻疹"]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"text": "Fever."}, "it names no disease"),
        ({"disease": "…", "text": "Fever."}, "it has no word"),
        ({"disease": "flu"}, "it has neither a text nor a list of symptoms"),
        ({"disease": "flu", "text": {"a": 1}}, "it has neither a text nor a list of symptoms"),
        ({"disease": "flu", "text": "x" * 1_000_001}, "its text has 1,000,001 characters"),
        ({"disease": "flu", "text": "<br> \u0000"}, "its text has no word"),
        ({"disease": "flu", "symptoms": [7]}, "a symptom names nothing: it is no text"),
        ({"disease": "flu", "symptoms": ["."]}, "a symptom names nothing: it has no word"),
    ],
)
def test_what_says_nothing_is_refused_with_line_and_reason(
    parse: Parse, write: Write, record: dict[str, Any], reason: str
) -> None:
    content = json.dumps({"disease": "mumps", "text": "Swelling."}) + "\n" + json.dumps(record)
    assert parse("encyclopedia", write("e.jsonl", content)).rejects.select("line", "reason").rows() == [(2, reason)]


def test_a_file_of_something_else_is_refused(parse: Parse, write: Write) -> None:
    with pytest.raises(SourceError, match="none of the columns"):
        parse("encyclopedia", write("e.csv", "a,b\n1,2\n"))


def test_the_real_articles_are_all_read(parse: Parse, shared_data: Path) -> None:
    articles = parse("encyclopedia", shared_data / "mayo-diseases.jsonl.gz")
    phrases = parse("encyclopedia_symptoms", shared_data / "mayo-symptoms.jsonl.gz")
    assert articles.frames["document"].height == 1058
    assert phrases.frames["symptom"].height == 10_869
    assert articles.rejects.height + phrases.rejects.height == 0
    assert not articles.frames["document"]["text"].str.contains("Open pop-up dialog box").any()
    both = set(articles.frames["disease"]["id"]) & set(phrases.frames["disease"]["id"])
    assert len(both) > 890


def test_a_line_is_a_symptom_with_its_wordings(parse: Parse, write: Write) -> None:
    records = parse("dx_symptoms", write("s.txt", "咳嗽\t咳/咳嗽/干咳/干咳\n\n厌食\t拒食/不吃饭\n"))
    assert records.frames["symptom"].drop("_line").rows() == [
        (minted("dx_dialogues", "Symptom", "咳嗽"), "咳嗽", ["咳", "干咳"]),
        (minted("dx_dialogues", "Symptom", "厌食"), "厌食", ["拒食", "不吃饭"]),
    ]


def test_a_line_of_another_form_is_refused(parse: Parse, write: Write) -> None:
    records = parse("dx_symptoms", write("s.txt", b"\xe5\x92\xb3\t\xe5\x92\xb3\nno tab\n\tx\n\xff\xfeab\tx\n"))
    assert records.frames["symptom"].height == 1
    assert records.rejects.select("line", "reason").rows() == [
        (2, "it has no tab after the symptom"),
        (3, "it has no word"),
        (4, "it is not UTF-8 text"),
    ]


def test_a_file_without_a_symptom_is_refused(parse: Parse, write: Write) -> None:
    with pytest.raises(SourceError, match="has no symptom"):
        parse("dx_symptoms", write("s.txt", "咳嗽\n"))


def test_the_real_list_is_read_whole(parse: Parse, shared_data: Path) -> None:
    records = parse("dx_symptoms", shared_data / "dxy-normalised-symptoms.txt")
    assert records.frames["symptom"].height == 41
    assert records.rejects.is_empty()
