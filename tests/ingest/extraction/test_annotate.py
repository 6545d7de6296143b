"""What texts name becomes relations with their place, under the heading where it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.case import Extraction, Finding, FindingReader, Span
from kgdx.graph.protocol import GraphTable, RelationTable
from kgdx.ingest.check import check_staged
from kgdx.ingest.column_mapping import stage
from kgdx.ingest.extraction.annotate import SOURCE, Article, about_symptoms, annotate, step
from kgdx.ingest.manifest import manifest
from kgdx.ingest.records import minted
from kgdx.ingest.sources import read
from kgdx.schema import load_schema

SEIZURE, STATUS, SHORT, DELAY, HYPOTONIA, FEVER = (
    *("HP:0001250", "HP:0002133", "HP:0004322"),
    *("HP:0001510", "HP:0001252", "HP:0001945"),
)

FILES = {
    "hp": "hp.obo",
    "hpoa": "phenotype.hpoa",
    "hp_zh": "hp-zh.babelon.tsv",
    "encyclopedia": "encyclopedia.jsonl",
    "cases": "cases.csv",
    "dx_dialogues": "dx-dialogue.jsonl",
    "symptom2disease": "symptom2disease.jsonl",
    "agentclinic": "agentclinic.jsonl",
}

Tables = Callable[..., list[GraphTable]]


@pytest.fixture
def tables(tiny: Path) -> Tables:
    """The checked tables of the hand-drawn ontology and of some more sources."""

    def made(*names: str, **files: Path) -> list[GraphTable]:
        staged, refused = [], {}
        for name in ("hp", "hpoa", "hp_zh", *names, *files):
            found = manifest(name)
            more, refused[name] = stage(read(files.get(name, tiny / FILES.get(name, name)), found), found)
            staged += more
        return check_staged(staged, refused, load_schema()).tables

    return made


def rows(found: list[GraphTable], type: str) -> list[dict[str, Any]]:
    (table,) = [each for each in found if isinstance(each, RelationTable) and each.type == type]
    return pl.DataFrame(pl.from_arrow(table.rows)).to_dicts()


def test_a_disease_gets_what_its_article_says_to_be_present(tables: Tables) -> None:
    given = tables("encyclopedia")
    symptoms = rows(annotate(given), "HAS_SYMPTOM")
    assert {row["start"] for row in symptoms} == {minted("encyclopedia", "Disease", "made up fever")}
    assert {row["end"] for row in symptoms} == {SEIZURE, SHORT}, "not its own name, the denied, or a complication"
    (document,) = [table.rows.to_pylist()[0] for table in given if getattr(table, "label", "") == "Document"]
    for row in symptoms:
        assert row["references"] == [document["id"]]
        assert row["source"] == SOURCE
        assert document["text"][row["span_start"] : row["span_end"]] in row["span"]
        assert row["span"] in document["text"]
        assert row["model"].startswith("matcher")


def test_a_patient_gets_what_the_text_says_with_its_place(tables: Tables) -> None:
    found = annotate(tables("cases", "agentclinic"))
    observed, excluded = rows(found, "OBSERVED"), rows(found, "EXCLUDED")
    first = [row for row in observed if row["start"] == "cases:1"]
    assert [(row["end"], row["text"], row["span_start"]) for row in first] == [(SEIZURE, "seizures", 12)]
    assert ("cases:1", FEVER) in {(row["start"], row["end"]) for row in excluded}
    osce = {row["end"] for row in observed if row["start"].startswith("case:")}
    assert osce == {SEIZURE}


def test_a_phrase_becomes_its_phenotype_without_a_place(tables: Tables) -> None:
    found = annotate(tables("cases", "dx_dialogues"))
    observed = {(row["start"], row["end"]): row for row in rows(found, "OBSERVED")}
    row = observed["cases:2", SHORT]
    assert (row["text"], row["span_start"], row["span_end"]) == ("short stature", None, None)
    assert ("cases:2", DELAY) in observed
    assert [row["end"] for row in rows(found, "EXCLUDED") if row["start"] == "cases:2"] == [STATUS]
    assert observed["dx_dialogues:1", FEVER]["text"] in ("发热", "孩子发热两天。")


def test_what_the_source_states_by_id_is_not_said_again(tables: Tables, tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text("id,text,hpo,excluded\n1,Seizures and fever.,HP:0001250,HP:0001945\n")
    assert annotate(tables(cases=path)) == []


def test_codes_that_a_table_maps_are_not_read_as_words(tables: Tables, tiny: Path) -> None:
    files = {"ddxplus": tiny / "ddxplus-conditions.json", "ddxplus_patients": tiny / "ddxplus-patients.csv"}
    found = [each for each in annotate(tables(**files)) if isinstance(each, RelationTable)]
    assert not any(each.rows.num_rows for each in found if each.type in ("OBSERVED", "EXCLUDED"))


def test_only_the_whole_of_a_phrase_is_known_absent(tables: Tables, tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(
        '{"id": "1", "hpo": ["HP:0001252", "no seizures"], "excluded": ["fever at night", "short stature"]}\n'
        '{"id": "2", "hpo": ["fever at night"], "excluded": ["fever"]}\n'
    )
    found = annotate(tables(cases=path))
    assert {(row["start"], row["end"]) for row in rows(found, "EXCLUDED")} == {("cases:1", SEIZURE), ("cases:1", SHORT)}
    assert {(row["start"], row["end"]) for row in rows(found, "OBSERVED")} == {("cases:2", FEVER)}


def test_a_document_about_two_diseases_is_not_read(tables: Tables) -> None:
    given = tables("encyclopedia")
    (mentions,) = [table for table in given if getattr(table, "type", "") == "MENTIONS"]
    other = mentions.rows.set_column(
        mentions.rows.column_names.index("end"), "end", [["OMIM:100001"] * mentions.rows.num_rows]
    )
    assert annotate([*given, RelationTable("MENTIONS", "Document", "Disease", other)]) == []


def test_without_a_text_nothing_is_compiled(tables: Tables) -> None:
    assert annotate(tables()) == []


def test_another_reader_may_read_documents(tables: Tables) -> None:
    @dataclass(frozen=True)
    class Clever:
        name: str = "clever 1"

        def read_all(self, articles: Sequence[Article], matcher: FindingReader) -> Iterator[tuple[str, Extraction]]:
            for article in articles:
                at = article.text.index("suddenly")
                found = Finding(FEVER, span=Span(at, at + 8), text="suddenly", method="llm")
                yield self.name, Extraction((found,))

    (row,) = rows(annotate(tables("encyclopedia"), Clever()), "HAS_SYMPTOM")
    assert (row["end"], row["span"], row["model"]) == (FEVER, "Made-up fever begins suddenly.", "clever 1")
    assert "clever 1" in step(Clever()).version
    assert step(Clever()).version != step().version


def kept(text: str) -> str:
    parts = about_symptoms(text)
    return "".join(char for place, char in enumerate(text) if parts.covers(place))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Fever and chills.", "Fever and chills."),
        ("Fever. Causes It is a virus.", "Fever."),
        ("Fever.\nCauses\nA virus.\nSymptoms\nRash.", "Fever.\nSymptoms\nRash."),
        ("Fever. Causes are unknown.", "Fever. Causes are unknown."),
        ("发热。\n并发症：\n肺炎。\n临床表现：\n咳嗽。", "发热。\n临床表现：\n咳嗽。"),
        ("治疗后发热。", "治疗后发热。"),
        ("Rash.\nSmith J. Rash. https://example.org. Accessed May 1, 2020.", "Rash.\n"),
    ],
)
def test_a_heading_ends_or_begins_what_patients_have(text: str, words: str) -> None:
    assert kept(text).strip() == words.strip()


@given(st.text())
def test_any_text_has_parts(text: str) -> None:
    parts = about_symptoms(text)
    assert list(parts.starts) == sorted(parts.starts)
    assert len(parts.starts) == len(parts.kept)
