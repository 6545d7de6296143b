"""Reading hp.obo: what a term carries, and what is done about broken ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kgdx.errors import SourceError
from kgdx.ingest.records import Records

Parse = Callable[[str, Path], Records]
Write = Callable[[str, str | bytes], Path]

HEAD = "format-version: 1.2\ndata-version: hp/releases/2024-01-01\n\n"


def term(id: str, *lines: str) -> str:
    return f"[Term]\nid: {id}\nname: {id} name\n" + "".join(line + "\n" for line in lines) + "\n"


ROOT = term("HP:0000001")


def test_every_meaningful_field_of_a_term_is_read(parse: Parse, tiny: Path) -> None:
    records = parse("hp", tiny / "hp.obo")
    terms = {row["id"]: row for row in records.frames["term"].to_dicts()}
    seizure = terms["HP:0001250"]
    assert seizure["name"] == "Seizure"
    assert seizure["definition"] == "A seizure is an intermittent abnormality of nervous system physiology."
    assert seizure["comment"] == "A type of electrographic seizure."
    assert seizure["lay_synonyms"] == ["Seizures"], "of the exact ones those that are marked as a layperson's"
    assert dict(zip(seizure["synonyms"], seizure["synonym_scopes"], strict=True)) == {
        "Epilepsy": "BROAD",
        "Epileptic seizure": "EXACT",
        "Seizures": "EXACT",
    }
    assert seizure["alt_ids"] == ["HP:0001275"]
    assert seizure["xrefs"] == ["UMLS:C0036572"]
    assert seizure["obsolete"] is False
    assert terms["HP:0006824"]["obsolete"] is True and terms["HP:0006824"]["replaced_by"] == "HP:0001252"
    assert terms["HP:0006957"]["consider"] == ["HP:0001510", "HP:0004322"]
    assert records.version == "2025-01-16"
    assert records.rejects.is_empty()


def test_edges_know_their_lines(parse: Parse, tiny: Path) -> None:
    edges = parse("hp", tiny / "hp.obo").frames["is_a"].to_dicts()
    lines = (tiny / "hp.obo").read_text().splitlines()
    assert len(edges) == sum(line.startswith("is_a:") for line in lines)
    for edge in edges:
        assert lines[edge["_line"] - 1].split()[1] == edge["parent"]


def test_a_cycle_is_an_error_that_names_it(parse: Parse, write: Write) -> None:
    text = HEAD + ROOT + term("HP:0000002", "is_a: HP:0000003") + term("HP:0000003", "is_a: HP:0000002")
    with pytest.raises(SourceError, match=r"cycle: HP:0000002 → HP:0000003 → HP:0000002 \(line 11\)"):
        parse("hp", write("hp.obo", text))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("is_a: HP:0009999 ! gone", "its parent HP:0009999 is not a term of this file"),
        ("is_a: HP:0000002 ! itself", "the term is its own parent"),
        ("is_a:", "is_a names no parent"),
    ],
)
def test_an_edge_that_leads_nowhere_is_set_apart_and_the_rest_loads(
    parse: Parse, write: Write, line: str, reason: str
) -> None:
    text = HEAD + ROOT + term("HP:0000002", line, "is_a: HP:0000001")
    records = parse("hp", write("hp.obo", text))
    assert records.frames["term"].height == 2
    assert records.frames["is_a"].select("child", "parent").rows() == [("HP:0000002", "HP:0000001")]
    assert records.rejects.select("line", "reason").rows() == [(11, reason)]


@pytest.mark.parametrize(
    ("stanza", "reason"),
    [
        ('[Term]\nid: HP:0000002\nname: x\nsynonym: "y" NONSENSE []\n', "not OBO"),
        ("[Term]\nname: nobody\n", "the term has no id"),
        (term("HP:0000001"), "HP:0000001 stands here a second time"),
        ("[Term]\nid: HP:0000002\nname: \ufffd\n", "the term holds bytes that are no text"),
        ("[Term]\nid: HP:0000002\nname: a\x00b\n", "the term holds bytes that are no text"),
    ],
)
def test_a_broken_term_is_set_apart_and_the_rest_loads(parse: Parse, write: Write, stanza: str, reason: str) -> None:
    records = parse("hp", write("hp.obo", HEAD + ROOT + stanza + "\n" + term("HP:0000003", "is_a: HP:0000001")))
    assert records.frames["term"]["id"].to_list() == ["HP:0000001", "HP:0000003"]
    (line, found), *others = records.rejects.select("line", "reason").rows()
    assert not others and line == 8 and found.startswith(reason)


def test_children_of_a_broken_term_lose_that_edge_only(parse: Parse, write: Write) -> None:
    broken = '[Term]\nid: HP:0000002\nname: x\nsynonym: "y" NONSENSE []\nis_a: HP:0000001\n\n'
    text = HEAD + ROOT + broken + term("HP:0000003", "is_a: HP:0000002", "is_a: HP:0000001")
    records = parse("hp", write("hp.obo", text))
    assert records.frames["is_a"].select("child", "parent").rows() == [("HP:0000003", "HP:0000001")]
    assert records.rejects.height == 2


def test_imports_are_not_followed(parse: Parse, write: Write) -> None:
    text = "format-version: 1.2\nimport: http://127.0.0.1:9/nothing.obo\n\n" + ROOT
    assert parse("hp", write("hp.obo", text)).frames["term"].height == 1


def test_windows_line_ends_and_a_byte_order_mark_do_not_matter(parse: Parse, write: Write, tiny: Path) -> None:
    plain = (tiny / "hp.obo").read_bytes()
    other = parse("hp", write("hp.obo", b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n")))
    assert other.frames["term"].equals(parse("hp", tiny / "hp.obo").frames["term"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00", "binary"),
        (b"id\tname\nHP:1\tx\n", "not an OBO file"),
        ("format-version: 1.2".encode("utf-16"), "UTF-16"),
        (b"\x1f\x8b\x08\x00broken", "gzip"),
    ],
)
def test_what_is_no_obo_file_is_refused_in_one_line(parse: Parse, write: Write, content: bytes, message: str) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        parse("hp", write("hp.obo", content))
    assert "\n" not in str(caught.value)


def test_escapes_qualifiers_and_remarks_are_no_part_of_a_value(parse: Parse, write: Write) -> None:
    lines = (
        'def: "say \\"a\\" \\\\ b\\nnext" [PMID:1, "x"] {source="y"}',
        "comment: one\\! two ! three",
        'synonym: "q, [r]" EXACT layperson [HPO:a] {xref="b"} ! c',
        'synonym: "q, [r]" EXACT []',
        "alt_id: HP:0000009 ! nine",
        'xref: MSH:D000001 "a heading" {source="z"}',
        "is_obsolete: true",
    )
    (term_,) = parse("hp", write("hp.obo", HEAD + term("HP:0000001", *lines))).frames["term"].to_dicts()
    assert term_["definition"] == 'say "a" \\ b\nnext'
    assert term_["comment"].strip() == "one! two"
    assert (term_["synonyms"], term_["synonym_scopes"]) == (["q, [r]"], ["EXACT"])
    assert (term_["alt_ids"], term_["xrefs"], term_["obsolete"]) == (["HP:0000009"], ["MESH:D000001"], True)


@pytest.mark.parametrize("line", ['def: "open [x]', "is_obsolete: maybe", "alt_id:", 'synonym: "a" EXACT', "comment:"])
def test_a_line_that_is_no_obo_is_named(parse: Parse, write: Write, line: str) -> None:
    records = parse("hp", write("hp.obo", HEAD + ROOT + term("HP:0000002", line)))
    (reason,) = records.rejects["reason"]
    assert reason == f"not OBO: line 11 is no valid {line.partition(':')[0]}"
