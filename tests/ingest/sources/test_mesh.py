"""Reading MeSH: what a record carries, the tree, and records that cannot be used."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import examples
from kgdx.errors import SourceError
from kgdx.ingest.check import CheckedTables
from kgdx.ingest.manifest import manifest
from kgdx.ingest.records import Records
from kgdx.ingest.sources import mesh
from kgdx.ingest.sources.mesh import edges

Parse = Callable[[str, Path], Records]
Write = Callable[[str, str | bytes], Path]
Rows = Callable[[CheckedTables, str], list[dict[str, Any]]]

HEAD = '<?xml version="1.0"?>\n<!DOCTYPE DescriptorRecordSet SYSTEM "desc2025.dtd">\n<DescriptorRecordSet>\n'
TAIL = "</DescriptorRecordSet>\n"
STEMS = {"mesh": "desc", "mesh_supplements": "supp", "mesh_qualifiers": "qual"}


def record(ui: str, *places: str, name: str | None = None, more: str = "") -> str:
    numbers = "".join(f"<TreeNumber>{place}</TreeNumber>" for place in places)
    heading = name if name is not None else f"Heading {ui}"
    return (
        f"<DescriptorRecord><DescriptorUI>{ui}</DescriptorUI><DescriptorName><String>{heading}</String>"
        f"</DescriptorName>{more}<TreeNumberList>{numbers}</TreeNumberList></DescriptorRecord>\n"
    )


def ids(records: Records) -> list[str]:
    return records.frames["record"]["id"].to_list()


def test_every_meaningful_field_of_a_descriptor_is_read(parse: Parse, tiny: Path) -> None:
    records = parse("mesh", tiny / "desc2025.xml")
    epilepsy = next(row for row in records.frames["record"].to_dicts() if row["id"] == "MESH:D004827")
    assert epilepsy | {"_line": 0} == {
        "_line": 0,
        "id": "MESH:D004827",
        "name": "Epilepsy",
        "entry_terms": ["Seizure Disorder", "Aura", "EPI"],
        "entry_term_scopes": ["EXACT", "NARROW", "BROAD"],
        "entry_term_tags": ["NON", "NON", "ABB"],
        "permuted_terms": ["Disorder, Seizure"],
        "scope_note": "A disorder with recurrent episodes of neuronal dysfunction.",
        "semantic_types": [],
        "registry_numbers": [],
        "history_note": "66",
        "online_note": "search SEIZURES for convulsions",
        "public_note": "2000",
        "previous_indexing": ["Convulsions (1963-1965)"],
        "annotation": "GEN only: prefer specifics",
        "date_created": "1999-01-01",
        "date_revised": "2016-05-31",
        "date_established": "1966-01-01",
        "tree_numbers": ["C10.228"],
        "consider_also": "consider also terms at SEIZ-",
        "classification": "WL 385",
        "record_class": "topic",
    }
    assert records.version == "2025"


def test_the_tree_and_the_references_reach_the_graph(check_files: Callable[..., CheckedTables], rows: Rows) -> None:
    checked = check_files("mesh")
    ends = {
        type_: {(row["start"].removeprefix("MESH:"), row["end"].removeprefix("MESH:")) for row in rows(checked, type_)}
        for type_ in ("IS_A", "SEE_ALSO", "PHARMACOLOGICAL_ACTION", "ALLOWABLE_QUALIFIER", "ENTRY_COMBINATION")
    }
    assert ends == {
        "IS_A": {("D004827", "D009422"), ("D012640", "D004827")},
        "SEE_ALSO": {("D004827", "D000927")},
        "PHARMACOLOGICAL_ACTION": {("D014635", "D000927")},
        "ALLOWABLE_QUALIFIER": {("D004827", "Q000139"), ("D004827", "Q000188")},
        "ENTRY_COMBINATION": {("D004827", "D012640")},
    }
    (combination,) = rows(checked, "ENTRY_COMBINATION")
    assert combination["with_qualifier"] == "MESH:Q000139"
    qualifiers = {row["id"]: (row["name"], row["abbreviation"]) for row in rows(checked, "MeshQualifier")}
    assert qualifiers["MESH:Q000188"] == ("drug therapy", "DT")
    assert checked.counts["mesh"].quarantined == checked.quarantine.height == 2


def test_supplementary_records_and_qualifiers_join_the_descriptors(
    check_files: Callable[..., CheckedTables], rows: Rows
) -> None:
    checked = check_files("mesh", "mesh_supplements", "mesh_qualifiers")
    disease, substance = sorted(rows(checked, "MeshSupplement"), key=lambda row: row["record_class"], reverse=True)
    assert (disease["record_class"], disease["scope_note"]) == ("disease", "A rare epilepsy.")
    assert (disease["entry_terms"], disease["entry_term_tags"]) == (["TES1"], ["ACR"])
    assert disease["literature"] == ["J Tiny Med 2001;1(1):1"]
    assert substance["record_class"] == "chemical"
    mapped = {(row["end"], row["with_qualifier"], row["major"]) for row in rows(checked, "HEADING_MAPPED_TO")}
    assert mapped == {
        ("MESH:D004827", None, True),
        ("MESH:D012640", "MESH:Q000188", False),
        ("MESH:D014635", None, True),
    }
    actions = {(row["start"], row["end"]) for row in rows(checked, "PHARMACOLOGICAL_ACTION")}
    assert ("MESH:C000002", "MESH:D000927") in actions
    therapy = next(row for row in rows(checked, "MeshQualifier") if row["id"] == "MESH:Q000628")
    assert (therapy["abbreviation"], therapy["tree_numbers"]) == ("TH", ["Y11"])
    assert ("MESH:Q000188", "MESH:Q000628") in {(row["start"], row["end"]) for row in rows(checked, "IS_A")}


def test_registry_numbers_of_all_concepts_are_kept_but_zero(parse: Parse, tiny: Path) -> None:
    acid = parse("mesh", tiny / "desc2025.xml").frames["record"].row(-1, named=True)
    assert acid["registry_numbers"] == ["614OI1Z5WI", "99-66-1 (Valproic Acid)"]
    assert parse("mesh_supplements", tiny / "supp2025.xml").frames["record"]["registry_numbers"].to_list()[1] == []


def test_a_record_in_several_places_has_several_parents(parse: Parse, write: Write) -> None:
    text = HEAD + record("D000001", "A01") + record("D000002", "B01") + record("D000003", "A01.1", "B01.1") + TAIL
    found = parse("mesh", write("desc.xml", text)).frames["is_a"].select("child", "parent").rows()
    assert found == [("MESH:D000003", "MESH:D000001"), ("MESH:D000003", "MESH:D000002")]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (record("X1"), "its DescriptorUI 'X1' is not D and digits"),
        (record(""), "it has no DescriptorUI"),
        (record("D000001"), "MESH:D000001 stands here a second time"),
        (record("D000002", name=""), "it has no DescriptorName"),
        (record("D000002", name="&unknown;"), "it holds the entity &unknown;, which is not expanded"),
        (record("D000002", "A01.1.1"), "nothing in this file has the place A01.1, its parent"),
        (record("D000002", "A01"), "the place A01 is that of MESH:D000001"),
        (record("D000002", "B01", "B01.1"), "the place B01.1 puts the record below itself"),
    ],
)
def test_what_is_wrong_with_a_record_is_said_with_its_line_and_the_rest_loads(
    parse: Parse, write: Write, bad: str, reason: str
) -> None:
    records = parse(
        "mesh", write("desc.xml", HEAD + record("D000001", "A01") + bad + record("D000009", "A01.9") + TAIL)
    )
    assert records.rejects.select("line", "reason").rows() == [(5, reason)]
    assert {"MESH:D000001", "MESH:D000009"} <= set(ids(records))
    assert ("MESH:D000009", "MESH:D000001") in records.frames["is_a"].select("child", "parent").rows()


def test_a_reference_to_a_descriptor_that_is_not_there_is_quarantined(
    check_files: Callable[..., CheckedTables], write: Write
) -> None:
    see = (
        "<SeeRelatedList><SeeRelatedDescriptor><DescriptorReferredTo><DescriptorUI>D000404</DescriptorUI>"
        "</DescriptorReferredTo></SeeRelatedDescriptor></SeeRelatedList>"
    )
    checked = check_files(mesh=write("desc.xml", HEAD + record("D000001", "A01", more=see) + TAIL))
    assert checked.quarantine["reason"].to_list() == ["MESH:D000404 is no MeshDescriptor of this graph"]


def test_of_a_cycle_the_deepest_place_is_set_apart(parse: Parse, write: Write) -> None:
    text = HEAD + record("D000001", "A01", "A01.1.1") + record("D000002", "A01.1") + TAIL
    records = parse("mesh", write("desc.xml", text))
    assert records.frames["is_a"].select("child", "parent").rows() == [("MESH:D000002", "MESH:D000001")]
    (reason,) = records.rejects["reason"].to_list()
    assert reason == "the place A01.1.1 closes a cycle: MESH:D000001 lies below MESH:D000002 and above it"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        ((HEAD + record("D000001")).encode(), r"not well-formed XML \(line 5"),
        ((HEAD + record("D000001"))[:-30].encode(), "not well-formed XML"),
        (b"<html><body/></html>", "begins with <html>, not <DescriptorRecordSet>"),
        (b"<SupplementalRecordSet/>", "begins with <SupplementalRecordSet>"),
        ((HEAD + TAIL).encode(), "has no <DescriptorRecord>"),
        ((HEAD + record("D000001", name="a\x00b") + TAIL).encode(), "not well-formed XML"),
        (
            (HEAD.replace("?>", ' encoding="UTF-8"?>', 1) + record("D000001", name="é") + TAIL).encode("latin-1"),
            "line 4",
        ),
        (gzip.compress((HEAD + record("D000001") + TAIL).encode(), mtime=0)[:-9], "damaged gzip"),
    ],
)
def test_what_is_no_descriptor_file_is_refused_in_one_line(
    parse: Parse, write: Write, content: bytes, message: str
) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        parse("mesh", write("desc.xml", content))
    assert "\n" not in str(caught.value)


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "ha"}">' for n in range(9))


@pytest.mark.parametrize(
    "doctype",
    [
        f"<!DOCTYPE DescriptorRecordSet [{LAUGHS}]>",
        '<!DOCTYPE DescriptorRecordSet [<!ENTITY l8 SYSTEM "file:///etc/hostname">]>',
        '<!DOCTYPE DescriptorRecordSet SYSTEM "http://127.0.0.1:9/desc.dtd" [<!ENTITY l8 "x">]>',
    ],
)
def test_a_file_that_declares_entities_is_refused(parse: Parse, write: Write, doctype: str) -> None:
    text = f"{doctype}<DescriptorRecordSet>{record('D000001', name='&l8;')}{TAIL}"
    with pytest.raises(SourceError, match=r"declares the entity|not well-formed"):
        parse("mesh", write("desc.xml", text))


def test_a_text_of_ten_megabytes_is_refused_or_kept_whole(parse: Parse, write: Write) -> None:
    text = HEAD + record("D000001", more=f"<Annotation>{'x' * 9_000_000}</Annotation>") + TAIL
    assert len(parse("mesh", write("desc.xml", text)).frames["record"].item(0, "annotation")) == 9_000_000
    with pytest.raises(SourceError, match="not well-formed XML"):
        parse("mesh", write("desc.xml", text.replace("x" * 9_000_000, "x" * 11_000_000)))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_and_utf_16_do_not_matter(parse: Parse, write: Write, encoding: str) -> None:
    text = (HEAD + record("D000001", name="Ménière") + TAIL).replace('<?xml version="1.0"?>\n', "")
    assert parse("mesh", write("desc.xml", text.encode(encoding))).frames["record"]["name"].to_list() == ["Ménière"]


def test_the_real_sample_is_read(parse: Parse, shared_data: Path) -> None:
    records = parse("mesh", shared_data / "mesh-descriptors-2006-sample.xml")
    (row,) = records.frames["record"].to_dicts()
    assert (row["id"], row["name"], row["registry_numbers"]) == ("MESH:D000001", "Calcimycin", ["52665-69-7"])
    assert dict(zip(row["entry_terms"], row["entry_term_tags"], strict=True)) == {
        "A-23187": "LAB",
        "Antibiotic A23187": "NON",
        "A23187": "LAB",
    }
    assert set(row["entry_term_scopes"]) == {"NARROW"}
    assert row["semantic_types"] == ["Organic Chemical", "Antibiotic"]
    assert records.frames["qualifier"].height == 28
    assert records.frames["action"]["end"].to_list() == ["MESH:D000900", "MESH:D007476"]
    assert records.rejects.select("line", "reason").rows() == [
        (294, "nothing in this file has the place D03.438.221, its parent")
    ]
    assert records.version == "2006"


def test_a_generated_release_is_consistent(
    check_files: Callable[..., CheckedTables], rows: Rows, root: Path, tmp_path: Path
) -> None:
    command = [
        sys.executable,
        "-m",
        "benchmarks.generate.mesh",
        str(tmp_path),
        "--records",
        "300",
        "--supplements",
        "60",
    ]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    files = {name: tmp_path / f"{stem}2025.xml" for name, stem in STEMS.items()}
    checked = check_files("mesh", "mesh_supplements", "mesh_qualifiers", **files)
    assert checked.quarantine.is_empty()
    descriptors = rows(checked, "MeshDescriptor")
    assert len(descriptors) == len({row["name"] for row in descriptors}) == 300
    assert len(rows(checked, "MeshSupplement")) == 60
    assert {scope for row in descriptors for scope in row["entry_term_scopes"]} == {
        "EXACT",
        "NARROW",
        "BROAD",
        "RELATED",
    }
    below = {row["start"] for row in rows(checked, "IS_A") if row["source"] == "mesh"}
    assert below == {row["id"] for row in descriptors if any("." in number for number in row["tree_numbers"])}


place = st.lists(st.integers(1, 3), min_size=1, max_size=4).map(lambda parts: "A" + ".".join(map(str, parts)))


@examples(200)
@given(st.lists(st.tuples(st.integers(1, 6), place), max_size=14, unique=True))
def test_whatever_the_places_the_tree_has_no_cycle_and_no_place_is_lost(places: list[tuple[int, str]]) -> None:
    frame = pl.DataFrame(
        {
            "_line": range(len(places)),
            "id": [f"MESH:D{n}" for n, _ in places],
            "tree_number": [number for _, number in places],
        },
        schema={"_line": pl.Int64, "id": pl.String, "tree_number": pl.String},
    )
    found, refused = edges(frame)
    roots = {line for line, (_, number) in enumerate(places) if "." not in number}
    lines = [*found["_line"], *refused["line"]]
    assert len(lines) == len(set(lines))
    assert set(range(len(places))) - set(lines) <= roots
    above: dict[str, set[str]] = {}
    for child, parent in found.select("child", "parent").iter_rows():
        above.setdefault(child, set()).add(parent)
    while leaves := [child for child, parents in above.items() if not parents & above.keys()]:
        for leaf in leaves:
            del above[leaf]
    assert not above, "a cycle is left"


names = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FFF, exclude_categories=["Cs", "Cn"]), max_size=8)
uis = st.one_of(st.from_regex(r"\AD\d{6}\Z"), st.sampled_from(["D000001", "D1", "", "Q000001"]))


@examples(100)
@given(st.lists(st.tuples(uis, names), max_size=8))
def test_every_record_is_read_or_refused(drawn: list[tuple[str, str]]) -> None:
    text = HEAD + record("D999999") + "".join(record(ui, name=re.sub("[<&>]", "", name)) for ui, name in drawn) + TAIL
    with tempfile.NamedTemporaryFile(suffix=".xml") as file:
        file.write(text.encode())
        file.flush()
        records = mesh.read_descriptors(Path(file.name), manifest("mesh"))
    assert records.frames["record"].height + records.rejects.height == len(drawn) + 1
    assert records.frames["record"]["id"].is_unique().all()
    assert records.rejects["reason"].str.len_chars().min() != 0
