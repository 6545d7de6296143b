"""Reading phenotype.hpoa: every column kind, what counts as absent, and lines that cannot be used."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import examples
from kgdx.errors import SourceError
from kgdx.ingest.check import CheckedTables
from kgdx.ingest.manifest import manifest
from kgdx.ingest.records import Records
from kgdx.ingest.sources import hpoa
from kgdx.schema.model import ANNOTATIONS

Parse = Callable[[str, Path], Records]
Write = Callable[[str, str | bytes], Path]

COLUMNS = manifest("hpoa").columns
HEAD = "#version: 2024-01-01\n" + "\t".join(COLUMNS) + "\n"


def line(**cells: str) -> str:
    given = {"database_id": "OMIM:1", "disease_name": "One", "hpo_id": "HP:0001250", "aspect": "P"} | cells
    return "\t".join(given.get(column, "") for column in COLUMNS) + "\n"


def one(parse: Parse, path: Path, frame: str) -> dict[str, Any]:
    records = parse("hpoa", path)
    assert records.rejects.is_empty()
    (row,) = records.frames[frame].to_dicts()
    return dict(row)


@pytest.mark.parametrize(
    ("text", "numerator", "denominator", "percentage", "term"),
    [
        ("3/4", 3, 4, None, None),
        ("1 / 12", 1, 12, None, None),
        ("50%", None, None, 50.0, None),
        ("12.5 %", None, None, 12.5, None),
        ("HP:0040281", None, None, None, "HP:0040281"),
        ("", None, None, None, None),
    ],
)
def test_each_form_of_frequency_is_read(
    parse: Parse, write: Write, text: str, numerator: int, denominator: int, percentage: float, term: str
) -> None:
    row = one(parse, write("h", HEAD + line(frequency=text)), "present")
    found = (row["numerator"], row["denominator"], row["percentage"], row["frequency_class"])
    assert found == (numerator, denominator, percentage, term)
    assert row["frequency"] == (text or None)


@pytest.mark.parametrize(
    "cells", [{"qualifier": "NOT"}, {"frequency": "0/3"}, {"frequency": "0%"}, {"frequency": "HP:0040285"}]
)
def test_not_none_of_n_and_excluded_are_absent(parse: Parse, write: Write, cells: dict[str, str]) -> None:
    records = parse("hpoa", write("h", HEAD + line(**cells)))
    assert (records.frames["present"].height, records.frames["absent"].height) == (0, 1)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("OMIM:1\tOne\n", "the line has 2 columns, the header has 12"),
        (line(database_id=""), "database_id is empty"),
        (line(hpo_id=" "), "hpo_id is empty"),
        (
            line(frequency="often"),
            "frequency is 'often': neither n/m, a percentage, nor an HPO term of a frequency",
        ),
        (
            line(frequency="HP:0001250"),
            "frequency is 'HP:0001250': neither n/m, a percentage, nor an HPO term of a frequency",
        ),
        (line(frequency="5/4"), "frequency '5/4' is not between 0 and 1"),
        (line(frequency="0/0"), "frequency '0/0' is not between 0 and 1"),
        (line(frequency="101%"), "frequency '101%' is not between 0 and 1"),
        (line(qualifier="MAYBE"), "qualifier is 'MAYBE', not NOT or empty"),
        (line(disease_name="a\x00b"), "the line holds bytes that are no text in UTF-8"),
    ],
)
def test_a_line_that_cannot_be_used_is_set_apart_and_the_rest_loads(
    parse: Parse, write: Write, bad: str, reason: str
) -> None:
    records = parse("hpoa", write("h", HEAD + line() + bad + line(hpo_id="HP:0001252")))
    assert records.frames["present"]["hpo_id"].to_list() == ["HP:0001250", "HP:0001252"]
    assert records.rejects.select("line", "reason").rows() == [(4, reason)]


def test_bytes_that_are_not_utf8_spoil_their_line_only(parse: Parse, write: Write) -> None:
    content = (HEAD + line()).encode() + line(disease_name="Ménière").encode("latin-1")
    records = parse("hpoa", write("h", content))
    assert records.frames["present"].height == 1
    assert records.rejects["reason"].to_list() == ["the line holds bytes that are no text in UTF-8"]


def test_further_names_of_a_disease_are_kept(parse: Parse, write: Write) -> None:
    records = parse("hpoa", write("h", HEAD + line() + line(disease_name="Uno", hpo_id="HP:0001252")))
    (disease,) = records.frames["disease"].to_dicts()
    assert (disease["name"], disease["other_names"]) == ("One", ["Uno"])


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "is empty"), ("#only\n#comments\n", "no table"), ("a\tb\n1\t2\n", "no column 'database_id'")],
)
def test_what_is_no_annotation_file_is_refused(parse: Parse, write: Write, content: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        parse("hpoa", write("h", content))


def test_every_column_reaches_the_graph(
    check_files: Callable[..., CheckedTables], rows: Callable[[CheckedTables, str], list[dict[str, Any]]]
) -> None:
    checked = check_files("hp", "hpoa")
    found = {(row["start"], row["end"]): row for row in rows(checked, "HAS_PHENOTYPE")}
    status = found["OMIM:100001", "HP:0002133"]
    expected = {
        "frequency": "1/4",
        "numerator": 1,
        "denominator": 4,
        "modifiers": ["HP:0012828", "HP:0025303"],
        "evidence": "PCS",
        "references": ["PMID:11111111", "PMID:22222222"],
        "aspect": "P",
        "biocuration": "HPO:tiny[2024-01-01];HPO:second[2024-02-01]",
        "source": "hpoa",
    }
    assert {name: status[name] for name in expected} == expected
    assert found["OMIM:100001", "HP:0001250"]["onset"] == "HP:0003577"
    assert found["OMIM:100002", "HP:0001252"]["sex"] == "MALE"
    aspects = {type_: {row["aspect"] for row in rows(checked, type_)} for type_ in ANNOTATIONS}
    assert aspects == {"HAS_PHENOTYPE": {"P"}, "HAS_INHERITANCE": {"I"}, "HAS_COURSE": set("CMH")}
    assert status["share"] == 0.25
    lacking = {(row["start"], row["end"]) for row in rows(checked, "LACKS_PHENOTYPE")}
    assert lacking == {("OMIM:100001", "HP:0004322"), ("OMIM:100002", "HP:0001250"), ("ORPHA:900001", "HP:0001945")}


def test_obsolete_and_alternative_terms_become_current_ones_and_are_counted(
    check_files: Callable[..., CheckedTables], rows: Callable[[CheckedTables, str], list[dict[str, Any]]]
) -> None:
    checked = check_files("hp", "hpoa")
    pairs = {(row["start"], row["end"]) for row in rows(checked, "HAS_PHENOTYPE")}
    assert ("OMIM:100001", "HP:0001252") in pairs, "stated with the obsolete HP:0006824"
    assert ("ORPHA:900001", "HP:0001250") in pairs, "stated with the alternative HP:0001275"
    assert checked.counts["hpoa"].resolved == 2


cells = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\n"), max_size=12)
frequency = st.one_of(
    cells,
    st.from_regex(r"\A\d{0,12}/\d{0,12}\Z"),
    st.from_regex(r"\A\d{0,4}(\.\d{0,3})?%\Z"),
    st.sampled_from(["HP:0040285", "HP:0040281"]),
)
mangled = st.one_of(
    st.builds(lambda **c: line(**c), frequency=frequency, qualifier=st.sampled_from(["", "NOT", "not"]), hpo_id=cells),
    st.lists(cells, min_size=1, max_size=15).map(lambda parts: "\t".join(parts) + "\n"),
    st.binary(max_size=40).map(lambda raw: raw.replace(b"\n", b" ") + b"\n"),
)


GOOD = 1000
"""So many good lines come before the mangled ones that the file is never taken for binary as a whole."""


@examples(150)
@given(st.lists(mangled, max_size=8))
def test_no_line_is_lost_whatever_it_holds(parts: list[str | bytes]) -> None:
    body = b"".join(part if isinstance(part, bytes) else part.encode() for part in parts)
    with tempfile.NamedTemporaryFile(suffix=".hpoa") as file:
        file.write((HEAD + line() * GOOD).encode() + body)
        file.flush()
        records = hpoa.read(Path(file.name), manifest("hpoa"))
    kept = records.frames["present"].height + records.frames["absent"].height
    texts = [raw.decode("utf-8", "replace").rstrip("\r") for raw in body.split(b"\n")]
    lines = sum(bool(text.strip(" \t")) and not text.startswith("#") for text in texts)
    assert kept + records.rejects.height == GOOD + lines
    assert records.rejects["reason"].null_count() == 0
