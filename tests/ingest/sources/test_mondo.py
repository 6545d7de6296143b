"""MONDO says the same in OBO, OWL and obographs JSON, and so do the frames; what each format may have wrong with it."""

from __future__ import annotations

import io
import json
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
from kgdx.ingest.records import LINE, Records
from kgdx.ingest.sources import read
from kgdx.ingest.sources.obographs import Shallow
from kgdx.ingest.sources.term_frames import FRAMES

Parse = Callable[[str, Path], Records]
Write = Callable[[str, str | bytes], Path]
Rows = Callable[[CheckedTables, str], list[dict[str, Any]]]

FORMATS = ("obo", "owl", "json")
OWL_HEAD = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="http://www.w3.org/2002/07/owl#" '
    'xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">\n'
)
PURL = "http://purl.obolibrary.org/obo/"


def small(format: str, terms: dict[str, str], edges: list[tuple[str, str]]) -> str:
    """An ontology of names and is_a edges in one of the formats."""
    if format == "obo":
        stanzas = (
            f"[Term]\nid: {id}\nname: {name}\n" + "".join(f"is_a: {up}\n" for down, up in edges if down == id)
            for id, name in terms.items()
        )
        return "format-version: 1.2\n\n" + "\n".join(stanzas)
    iri = {id: PURL + id.replace(":", "_") for pair in edges for id in pair} | {
        id: PURL + id.replace(":", "_") for id in terms
    }
    if format == "owl":
        classes = (
            f'<owl:Class rdf:about="{iri[id]}">'
            + "".join(f'<rdfs:subClassOf rdf:resource="{iri[up]}"/>' for down, up in edges if down == id)
            + f"<rdfs:label>{name}</rdfs:label></owl:Class>\n"
            for id, name in terms.items()
        )
        return OWL_HEAD + "".join(classes) + "</rdf:RDF>"
    nodes = [{"id": iri[id], "lbl": name, "type": "CLASS"} for id, name in terms.items()]
    return json.dumps(
        {"graphs": [{"nodes": nodes, "edges": [{"sub": iri[a], "pred": "is_a", "obj": iri[b]} for a, b in edges]}]}
    )


def without_lines(records: Records) -> dict[str, list[tuple[Any, ...]]]:
    return {name: sorted(map(repr, frame.drop(LINE).rows())) for name, frame in records.frames.items()}  # type: ignore[misc]


def test_the_three_formats_give_equal_tables(parse: Parse, tiny: Path) -> None:
    obo, owl, graphs = (parse("mondo", tiny / f"mondo.{format}") for format in FORMATS)
    assert obo.frames.keys() == FRAMES.keys()
    assert without_lines(obo) == without_lines(owl) == without_lines(graphs)
    assert obo.frames["term"].schema == owl.frames["term"].schema == graphs.frames["term"].schema
    assert {records.version for records in (obo, owl, graphs)} == {"2025-01-07"}
    assert all(records.rejects.is_empty() for records in (obo, owl, graphs))


@pytest.mark.parametrize("format", FORMATS)
def test_every_meaningful_field_of_a_term_is_read(parse: Parse, tiny: Path, format: str) -> None:
    terms = {row["id"]: row for row in parse("mondo", tiny / f"mondo.{format}").frames["term"].to_dicts()}
    assert set(terms) == {"MONDO:0000001", "MONDO:0005027", "MONDO:0000003", "MONDO:0000004", "MONDO:0000005"}
    epilepsy, tiny_epilepsy = terms["MONDO:0005027"], terms["MONDO:0000003"]
    assert epilepsy["definition"] == 'A brain disorder with "recurrent" seizures.'
    assert epilepsy["comment"] == "Editor note: see seizure disorder."
    assert (epilepsy["synonyms"], epilepsy["synonym_scopes"]) == (
        ["epileptic disorder", "seizure disorder"],
        ["EXACT", "BROAD"],
    )
    assert tiny_epilepsy["xrefs"] == ["MESH:C536412", "OMIM:100001", "OMIM:999999", "ORPHA:900001", "ORPHA:900002"]
    assert (tiny_epilepsy["alt_ids"], tiny_epilepsy["subsets"]) == (["MONDO:0000099"], ["gard_rare", "rare"])
    assert (terms["MONDO:0000004"]["obsolete"], terms["MONDO:0000004"]["replaced_by"]) == (True, "MONDO:0005027")
    assert terms["MONDO:0000005"]["consider"] == ["MONDO:0000003", "MONDO:0005027"]


@pytest.mark.parametrize("format", FORMATS)
def test_matches_are_relations_to_what_is_in_the_graph(
    check_files: Callable[..., CheckedTables], rows: Rows, tiny: Path, format: str
) -> None:
    checked = check_files("hp", "hpoa", "mesh", "mesh_supplements", mondo=tiny / f"mondo.{format}")
    same = {(row["start"], row["end"], row["relation"], *row["evidence"]) for row in rows(checked, "matches")}
    assert same == {
        ("MONDO:0000003", "OMIM:100001", "exact", "MONDO:equivalentTo"),
        ("MONDO:0000003", "ORPHA:900001", "exact", "MONDO:equivalentTo", "skos:exactMatch"),
        ("MONDO:0000003", "ORPHA:900002", "narrower", "MONDO:mondoIsNarrowerThanSource", "skos:broadMatch"),
    }
    mapped = {(row["start"], row["end"], row["relation"], row["method"]) for row in rows(checked, "MAPPED_TO")}
    assert mapped == {
        ("MONDO:0005027", "MESH:D004827", "exact", "mondo"),
        ("MONDO:0000003", "MESH:C536412", "exact", "mondo"),
    }
    assert checked.counts["mondo"].quarantined == 0
    is_a = {(row["start"], row["end"]) for row in rows(checked, "IS_A") if row["source"] == "mondo"}
    assert is_a == {("MONDO:0005027", "MONDO:0000001"), ("MONDO:0000003", "MONDO:0005027")}


def test_matches_to_vocabularies_that_are_not_loaded_are_no_fault(
    check_files: Callable[..., CheckedTables], rows: Rows
) -> None:
    checked = check_files("mondo")
    assert rows(checked, "matches") == rows(checked, "MAPPED_TO") == []
    assert checked.quarantine.is_empty()
    assert checked.counts["mondo"].read == 10


@pytest.mark.parametrize("format", FORMATS)
def test_causes_locations_and_modifiers_are_loaded_and_other_axioms_counted(
    check_files: Callable[..., CheckedTables], rows: Rows, parse: Parse, tiny: Path, format: str
) -> None:
    checked = check_files(mondo=tiny / f"mondo.{format}")
    (gene,) = rows(checked, "ASSOCIATED_GENE")
    said = "has material basis in germline mutation in"
    assert (gene["start"], gene["end"], gene["association"]) == ("MONDO:0005027", "NCBIGene:2670", said)
    assert {(row["id"], row["name"]) for row in rows(checked, "Gene")} == {("NCBIGene:2670", "GFAP")}
    (place,) = rows(checked, "HAS_LOCATION")
    assert (place["start"], place["end"]) == ("MONDO:0005027", "UBERON:0000955")
    assert [row["name"] for row in rows(checked, "Anatomy")] == ["brain"]
    modified = {row["id"]: row["modifiers"] for row in rows(checked, "Disease") if row["modifiers"]}
    assert modified == {"MONDO:0005027": ["MONDO:0000005"]}
    arises = "disease_arises_from_structure" if format == "obo" else "RO:0004030"
    assert parse("mondo", tiny / f"mondo.{format}").warnings == (
        f"2 axioms besides is_a are not loaded: 1 {arises}, 1 logical definition",
    )


def test_the_phenotype_ontology_is_read_from_owl_and_json_too(parse: Parse, write: Write) -> None:
    terms, edges = {"HP:0000001": "All", "HP:0000118": "Phenotypic abnormality"}, [("HP:0000118", "HP:0000001")]
    found = [without_lines(parse("hp", write(f"hp.{format}", small(format, terms, edges)))) for format in FORMATS]
    assert found[0] == found[1] == found[2]
    assert len(found[0]["term"]) == 2 and len(found[0]["is_a"]) == 1


@pytest.mark.parametrize("format", FORMATS)
def test_a_cycle_is_an_error_that_names_it(parse: Parse, write: Write, format: str) -> None:
    text = small(format, {"MONDO:1": "a", "MONDO:2": "b"}, [("MONDO:1", "MONDO:2"), ("MONDO:2", "MONDO:1")])
    with pytest.raises(SourceError, match="is_a cycle: MONDO:1 → MONDO:2 → MONDO:1"):
        parse("mondo", write(f"m.{format}", text))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    ("parent", "reason"),
    [("MONDO:404", "its parent MONDO:404 is not a term of this file"), ("MONDO:2", "the term is its own parent")],
)
def test_an_edge_that_leads_nowhere_is_set_apart(
    parse: Parse, write: Write, format: str, parent: str, reason: str
) -> None:
    text = small(format, {"MONDO:1": "a", "MONDO:2": "b"}, [("MONDO:2", "MONDO:1"), ("MONDO:2", parent)])
    records = parse("mondo", write(f"m.{format}", text))
    assert records.rejects["reason"].to_list() == [reason]
    assert records.rejects["line"].null_count() == 0
    assert records.frames["is_a"].select("child", "parent").rows() == [("MONDO:2", "MONDO:1")]


def test_an_edge_of_a_term_that_the_file_does_not_declare_is_set_apart(parse: Parse, write: Write) -> None:
    edges = [("MONDO:2", "MONDO:1"), ("MONDO:404", "MONDO:1"), ("CL:1", "CL:2")]
    records = parse("mondo", write("m.json", small("json", {"MONDO:1": "a", "MONDO:2": "b"}, edges)))
    assert records.rejects["reason"].to_list() == ["its child MONDO:404 is not a term of this file"]
    assert records.frames["is_a"].height == 1


@pytest.mark.parametrize("format", ["owl", "json"])
def test_a_class_that_comes_again_is_set_apart(parse: Parse, write: Write, format: str) -> None:
    text = small(format, {"MONDO:1": "a", "MONDO:2": "b"}, []).replace("MONDO_2", "MONDO_1")
    records = parse("mondo", write(f"m.{format}", text))
    assert records.frames["term"]["name"].to_list() == ["a"]
    assert records.rejects["reason"].to_list() == ["MONDO:1 stands here a second time"]


def test_a_synonym_type_that_the_header_does_not_declare_does_not_matter(parse: Parse, write: Write) -> None:
    stanza = '[Term]\nid: MONDO:1\nname: a\nsynonym: "b \\"c\\" [d]" EXACT EXCLUDE [MONDO:x]\n'
    records = parse("mondo", write("m.obo", "format-version: 1.2\n\n" + stanza))
    assert records.frames["term"]["synonyms"].to_list() == [['b "c" [d]']]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.owl", "", "is empty"),
        ("m.owl", OWL_HEAD, "not well-formed XML"),
        ("m.owl", "<html/>", "begins with <html>, not <RDF>"),
        ("m.owl", OWL_HEAD + "</rdf:RDF>", "has no <Class>"),
        ("m.owl", small("owl", {"CL:1": "cell"}, []), "has no term of OMIM or ORPHA"),
        (
            "m.owl",
            '<!DOCTYPE rdf:RDF [<!ENTITY obo "http://x/">]>' + small("owl", {"MONDO:1": "a"}, []),
            "entity 'obo'",
        ),
        ("m.json", "", "not well-formed JSON"),
        ("m.json", "{", "not well-formed JSON"),
        ("m.json", small("json", {"MONDO:1": "a"}, [])[:-3], "not well-formed JSON"),
        ("m.json", "[1, 2]", "has no term"),
        ("m.json", '{"graphs": [{"nodes": [1, null, {"id": 3}, {"id": "MONDO:1", "type": 7}]}]}', "has no term"),
        ("m.json", small("json", {"MONDO:1": "a\x00"}, []).replace("\\u0000", "\x00"), "not well-formed JSON"),
        (
            "m.json",
            small("json", {"MONDO:1": "é"}, []).replace("\\u00e9", "é").encode("latin-1"),
            "not well-formed JSON",
        ),
    ],
)
def test_what_is_no_such_ontology_is_refused_in_one_line(
    parse: Parse, write: Write, name: str, content: str | bytes, message: str
) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        parse("mondo", write(name, content))
    assert "\n" not in str(caught.value)


def test_values_of_another_shape_than_obographs_do_not_stop_the_reader(parse: Parse, write: Write) -> None:
    meta = {
        "definition": "text",
        "comments": "text",
        "synonyms": [1, {"pred": "hasExactSynonym"}, {"pred": "?", "val": "x"}],
        "xrefs": {"val": "OMIM:1"},
        "basicPropertyValues": [{"pred": 3, "val": None}],
        "deprecated": "yes",
        "subsets": None,
    }
    node = {"id": f"{PURL}MONDO_1", "lbl": "a", "type": "CLASS", "meta": meta}
    records = parse("mondo", write("m.json", json.dumps({"graphs": [{"nodes": [node], "edges": [{"pred": "is_a"}]}]})))
    (term,) = records.frames["term"].to_dicts()
    assert (term["name"], term["definition"], term["synonyms"], term["obsolete"]) == ("a", None, [], False)


@pytest.mark.parametrize("bomb", ["[" * 200_000, '{"graphs":[{"nodes":[' + '{"a":[1,{"b":"]}","c":' * 50_000])
def test_json_that_is_nested_without_end_is_refused_before_it_fills_memory(
    parse: Parse, write: Write, bomb: str
) -> None:
    with pytest.raises(SourceError, match="nested deeper than 100 levels"):
        parse("mondo", write("m.json", bomb))


def test_brackets_in_texts_are_no_levels(parse: Parse, write: Write) -> None:
    name = 'a "' + "[{" * 200 + "\\" * 3
    text = small("json", {"MONDO:1": "x"}, []).replace('"x"', json.dumps(name))
    assert parse("mondo", write("m.json", text)).frames["term"]["name"].to_list() == [name]


@examples(100)
@given(st.recursive(st.text(max_size=6), lambda inner: st.lists(inner, max_size=3), max_leaves=20), st.integers(1, 9))
def test_any_shallow_json_passes_the_guard_unchanged(value: object, size: int) -> None:
    raw = json.dumps(value).encode()
    stream = Shallow(Path("a.json"), io.BytesIO(raw))
    assert b"".join(iter(lambda: stream.read(size), b"")) == raw
    assert stream._depth == 0


def test_a_name_with_a_nul_is_set_apart(parse: Parse, write: Write) -> None:
    text = small("json", {"MONDO:1": "a\x00b", "MONDO:2": "c"}, [])
    records = parse("mondo", write("m.json", text))
    assert records.frames["term"]["name"].to_list() == ["c"]
    assert records.rejects["reason"].to_list() == ["MONDO:1 holds characters that are no text"]


words = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=6)
forests = st.dictionaries(st.integers(1, 9), words, min_size=1, max_size=7).flatmap(
    lambda terms: st.tuples(
        st.just(terms),
        st.lists(st.tuples(st.sampled_from(sorted(terms)), st.integers(1, 9)), max_size=8, unique=True),
    )
)


@examples(60)
@given(forests)
def test_any_forest_is_the_same_in_the_three_formats(drawn: tuple[dict[int, str], list[tuple[int, int]]]) -> None:
    numbers, pairs = drawn
    terms = {f"MONDO:{n}": name for n, name in numbers.items()}
    edges = [(f"MONDO:{a}", f"MONDO:{b}") for a, b in pairs if a >= b]
    found = []
    for format in FORMATS:
        with tempfile.NamedTemporaryFile(suffix=f".{format}") as file:
            file.write(small(format, terms, edges).encode())
            file.flush()
            records = read(Path(file.name), manifest("mondo"))
        found.append((without_lines(records), sorted(records.rejects["reason"])))
        kept = records.frames["is_a"].height
        assert kept + records.rejects.height == len(edges)
    assert found[0] == found[1] == found[2]
