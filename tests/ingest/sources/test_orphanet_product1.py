"""Orphanet's own cross-reference file gives the same relations as the table made from it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kgdx.errors import SourceError
from kgdx.ingest.check import CheckedTables
from kgdx.ingest.records import Records

Parse = Callable[[str, Path], Records]
Write = Callable[[str, str | bytes], Path]


def test_the_omim_references_of_each_disorder_are_read(parse: Parse, tiny: Path) -> None:
    records = parse("orphanet_omim", tiny / "en_product1.xml")
    found = records.frames["rows"].select("orpha", "omim", "relation", "name", "validation").rows()
    assert found == [
        ("ORPHA:900001", "OMIM:100001", "E", "Autosomal recessive tiny epilepsy syndrome type 1", "Validated"),
        ("ORPHA:900002", "OMIM:100001", "BTNT", "Rare genetic epilepsy", "Not yet validated"),
    ]
    assert records.version == "2025-06-24 07:05:44"


def test_table_and_xml_state_the_same(
    check_files: Callable[..., CheckedTables], rows: Callable[[CheckedTables, str], list[dict[str, Any]]], tiny: Path
) -> None:
    def relations(checked: CheckedTables) -> set[tuple[object, ...]]:
        return {(row["start"], row["end"], row["relation"]) for row in rows(checked, "matches")}

    xml = relations(check_files("hp", "hpoa", orphanet_omim=tiny / "en_product1.xml"))
    table = relations(check_files("hp", "hpoa", "orphanet_omim"))
    assert xml == {row for row in table if row[0] != "ORPHA:999999"}


def test_a_reference_whose_relation_is_not_stated_is_set_apart(
    check_files: Callable[..., CheckedTables], write: Write, tiny: Path
) -> None:
    text = (tiny / "en_product1.xml").read_text().replace("BTNT (ORPHA", "ND (ORPHA")
    checked = check_files("hp", "hpoa", orphanet_omim=write("p1.xml", text))
    assert checked.quarantine["reason"].to_list() == ["relation is 'ND', not one of E, NTBT, BTNT"]


def test_a_file_that_declares_entities_is_refused(parse: Parse, write: Write, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("stolen")
    text = (
        f'<!DOCTYPE JDBOR [<!ENTITY x SYSTEM "{secret.as_uri()}">]><JDBOR><DisorderList><Disorder>'
        "<OrphaCode>1</OrphaCode><Name>&x;</Name><ExternalReferenceList><ExternalReference><Source>OMIM</Source>"
        "<Reference>2</Reference></ExternalReference></ExternalReferenceList></Disorder></DisorderList></JDBOR>"
    )
    with pytest.raises(SourceError, match="declares the entity 'x', which is not expanded"):
        parse("orphanet_omim", write("p1.xml", text))


@pytest.mark.parametrize(
    ("content", "message"),
    [("<JDBOR><Disorder>", "not well-formed"), ("<a/>", "begins with <a>, not <JDBOR>"), ("", "is empty")],
)
def test_what_is_no_product1_is_refused(parse: Parse, write: Write, content: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        parse("orphanet_omim", write("p1.xml", content))
