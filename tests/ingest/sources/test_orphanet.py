"""Reading Orphanet's products: what each states, how it reaches the graph, and that two forms say the same."""

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
from kgdx.ingest.records import Records, minted
from kgdx.ingest.sources import orphanet
from kgdx.schema import load_schema

Parse = Callable[[str, Path], Records]

Write = Callable[[str, str | bytes], Path]

Rows = Callable[[CheckedTables, str], list[dict[str, Any]]]

PRODUCTS = {
    "orphanet": "en_product1.xml",
    "orphanet_phenotypes": "en_product4.xml",
    "orphanet_genes": "en_product6.xml",
    "orphanet_prevalence": "en_product9_prev.xml",
    "orphanet_ages": "en_product9_ages.xml",
}

DISORDER = "<Disorder><OrphaCode>{code}</OrphaCode><Name>{name}</Name>{more}</Disorder>"


def reference(source: str, code: str, relation: str = "E") -> str:
    return (
        f"<ExternalReference><Source>{source}</Source><Reference>{code}</Reference><DisorderMappingRelation>"
        f"<Name>{relation} (words)</Name></DisorderMappingRelation></ExternalReference>"
    )


def product1(more: str, code: str = "900001") -> str:
    return f"<JDBOR><DisorderList>{DISORDER.format(code=code, name='One', more=more)}</DisorderList></JDBOR>"


def test_definition_synonyms_and_references_of_a_disorder_are_read(parse: Parse, write: Write) -> None:
    more = (
        "<SynonymList><Synonym>Uno</Synonym><Synonym>Uno</Synonym></SynonymList>"
        "<DisorderType><Name>Disease</Name></DisorderType><ExternalReferenceList>"
        + reference("OMIM", "1")
        + reference("MeSH", "D004827", "NTBT")
        + reference("MeSH", "C536412")
        + reference("MONDO", "0000003")
        + reference("ICD-10", "G40")
        + reference("UMLS", "C1")
        + "</ExternalReferenceList><SummaryInformationList><SummaryInformation><TextSectionList><TextSection>"
        "<TextSectionType><Name>Definition</Name></TextSectionType><Contents> A disorder. </Contents></TextSection>"
        "</TextSectionList></SummaryInformation></SummaryInformationList>"
    )
    records = parse("orphanet", write("p1.xml", product1(more)))
    (row,) = records.frames["disorder"].to_dicts()
    assert row | {"_line": 0} == {
        "_line": 0,
        "id": "ORPHA:900001",
        "name": "One",
        "definition": "A disorder.",
        "synonyms": ["Uno"],
        "xrefs": ["OMIM:1", "MESH:D004827", "MESH:C536412", "MONDO:0000003", "ICD10:G40", "UMLS:C1"],
        "disease_type": "Disease",
        "obsolete": False,
        "replaced_by": None,
    }
    assert records.frames["mesh_descriptor"].select("other", "relation").rows() == [("MESH:D004827", "NTBT")]
    assert records.frames["mesh_supplement"]["other"].to_list() == ["MESH:C536412"]
    assert records.frames["mondo"]["other"].to_list() == ["MONDO:0000003"]


def test_an_entry_that_was_moved_says_where_to(parse: Parse, write: Write) -> None:
    more = (
        "<DisorderFlagList><DisorderFlag><Label>Deprecated entity</Label></DisorderFlag></DisorderFlagList>"
        "<ExternalReferenceList>" + reference("OMIM", "1") + "</ExternalReferenceList>"
        "<DisorderDisorderAssociationList><DisorderDisorderAssociation><TargetDisorder><OrphaCode>7</OrphaCode>"
        "</TargetDisorder><DisorderDisorderAssociationType><Name>Moved to</Name></DisorderDisorderAssociationType>"
        "</DisorderDisorderAssociation></DisorderDisorderAssociationList>"
    )
    (row,) = parse("orphanet", write("p1.xml", product1(more))).frames["disorder"].to_dicts()
    assert (row["obsolete"], row["replaced_by"]) == (True, "ORPHA:7")


def test_matches_are_relations_with_their_direction(
    check_files: Callable[..., CheckedTables], rows: Rows, write: Write
) -> None:
    references = (
        reference("OMIM", "100001", "NTBT") + reference("OMIM", "100002", "ND") + reference("OMIM", "404404")
    ) + reference("MeSH", "D004827", "BTNT")
    path = write("p1.xml", product1(f"<ExternalReferenceList>{references}</ExternalReferenceList>"))
    checked = check_files("hp", "hpoa", "mesh", orphanet=path)
    same = [(row["start"], row["end"], row["relation"]) for row in rows(checked, "matches")]
    assert same == [("ORPHA:900001", "OMIM:100001", "narrower")], "undecided, or not in the graph"
    mapped = [(row["start"], row["end"], row["relation"]) for row in rows(checked, "MAPPED_TO")]
    assert mapped == [("ORPHA:900001", "MESH:D004827", "broader")]
    disease = next(row for row in rows(checked, "Disease") if row["id"] == "ORPHA:900001")
    assert {"OMIM:100002", "OMIM:404404"} <= set(disease["xrefs"]), "no reference is lost"
    assert (checked.counts["orphanet"].read, checked.counts["orphanet"].quarantined) == (1, 0)


def test_phenotypes_carry_hpos_frequency_terms_and_their_source(
    check_files: Callable[..., CheckedTables], rows: Rows
) -> None:
    checked = check_files("hp", "orphanet_phenotypes")
    found = {(row["start"], row["end"]): row for row in rows(checked, "HAS_PHENOTYPE")}
    assert set(found) == {
        ("ORPHA:900001", "HP:0001250"),
        ("ORPHA:900001", "HP:0001252"),
        ("ORPHA:900003", "HP:0004322"),
    }
    seizure = found["ORPHA:900001", "HP:0001250"]
    expected = {
        "source": "orphanet_phenotypes",
        "frequency": "HP:0040281",
        "frequency_class": "HP:0040281",
        "share": 0.9,
        "diagnostic_criterion": "Diagnostic criterion",
        "evidence": "TAS",
        "references": ["ORPHA:900001"],
        "publications": ["PMID:11111111", "PMID:22222222"],
        "validation": "Validated",
    }
    assert {name: seizure[name] for name in expected} == expected
    assert [(row["start"], row["end"]) for row in rows(checked, "LACKS_PHENOTYPE")] == [("ORPHA:900001", "HP:0001945")]
    assert checked.quarantine["reason"].to_list() == ["its frequency is 'Now and then', none of Orphanet's classes"]
    counts = checked.counts["orphanet_phenotypes"]
    assert (counts.read, counts.loaded, counts.quarantined, counts.resolved) == (5, 4, 1, 1)


def test_annotations_of_both_sources_stay_apart(check_files: Callable[..., CheckedTables], rows: Rows) -> None:
    checked = check_files("hp", "hpoa", "orphanet_phenotypes")
    both = [
        row for row in rows(checked, "HAS_PHENOTYPE") if (row["start"], row["end"]) == ("ORPHA:900001", "HP:0001250")
    ]
    assert {row["source"] for row in both} == {"hpoa", "orphanet_phenotypes"}
    assert {(*row["references"], row["frequency"]) for row in both} == {("ORPHA:900001", "HP:0040281")}


def test_genes_are_known_by_ncbi_or_keep_another_id(check_files: Callable[..., CheckedTables], rows: Rows) -> None:
    checked = check_files("orphanet_genes")
    genes = {row["id"]: row for row in rows(checked, "Gene")}
    assert {id: row["name"] for id, row in genes.items()} == {
        "NCBIGene:2670": "GFAP",
        "HGNC:99999": "TINYLOC",
        "ENSEMBL:ENSG00000888888": "TINYENS",
    }
    assert genes["NCBIGene:2670"]["xrefs"] == [
        "ENSEMBL:ENSG00000131095",
        "HGNC:4235",
        "OMIM:137780",
        "UniProtKB:P14136",
    ]
    stated = {row["end"]: row for row in rows(checked, "ASSOCIATED_GENE")}
    assert stated["NCBIGene:2670"]["association"] == "Disease-causing germline mutation(s) in"
    assert stated["NCBIGene:2670"]["publications"] == ["PMID:11111111"]
    assert checked.quarantine["reason"].to_list() == ["its gene has no id of NCBI, HGNC or Ensembl"]


def test_an_id_of_ncbi_in_the_file_wins(parse: Parse, tiny: Path, write: Write) -> None:
    text = (tiny / "en_product6.xml").read_text().replace("<Source>Ensembl</Source>", "<Source>NCBI Gene</Source>", 1)
    records = parse("orphanet_genes", write("p6.xml", text.replace("ENSG00000131095", "77")))
    assert records.frames["rows"].item(0, "gene") == "NCBIGene:77"


def test_prevalence_is_a_statement_on_a_disease_in_a_region(
    check_files: Callable[..., CheckedTables], rows: Rows
) -> None:
    checked = check_files("orphanet_prevalence")
    regions = {row["id"]: row["name"] for row in rows(checked, "Region")}
    assert regions == {minted("orphanet_prevalence", "Region", name): name for name in ("Worldwide", "Europe")}
    found = [
        (regions[row["end"]], row["prevalence_type"], row["prevalence_class"], row["value"], *row["references"])
        for row in rows(checked, "HAS_PREVALENCE")
    ]
    assert sorted(found, key=str) == [
        ("Europe", "Point prevalence", "<1 / 1 000 000", None, "ORPHANET"),
        ("Worldwide", "Cases/families", None, 12.0, "22222222[PMID]"),
        ("Worldwide", "Point prevalence", "1-9 / 100 000", 2.6, "11389160[PMID]_9689990[PMID]_[EXPERT]"),
    ]
    assert checked.quarantine["reason"].to_list() == ["its value is 'many', no number", "it names no region"]
    assert {row["source"] for row in rows(checked, "HAS_PREVALENCE")} == {"orphanet_prevalence"}


def test_ages_and_inheritance_are_properties_of_the_disease(
    check_files: Callable[..., CheckedTables], rows: Rows
) -> None:
    checked = check_files("hp", "hpoa", "orphanet_ages")
    diseases = {row["id"]: row for row in rows(checked, "Disease")}
    known, unknown = diseases["ORPHA:900001"], diseases["ORPHA:900003"]
    assert (known["onset_ages"], known["inheritance"]) == (["Infancy", "Childhood"], ["Autosomal recessive"])
    assert known["source"] == "hpoa", "the first source that states it"
    assert (unknown["onset_ages"], unknown["disease_type"]) == ([], "Malformation syndrome")


@pytest.mark.parametrize("source", PRODUCTS)
def test_each_product_names_its_release(parse: Parse, tiny: Path, source: str) -> None:
    assert parse(source, tiny / PRODUCTS[source]).version == "2025-06-24 07:05:44"


@pytest.mark.parametrize("source", PRODUCTS)
@pytest.mark.parametrize("other", PRODUCTS.values())
def test_another_product_is_refused(parse: Parse, tiny: Path, source: str, other: str) -> None:
    if other == PRODUCTS[source]:
        return
    with pytest.raises(SourceError, match=f"it should be {PRODUCTS[source]} from https://www.orphadata.com"):
        parse(source, tiny / other)


@pytest.mark.parametrize("source", PRODUCTS)
@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("<OrphaCode>900001</OrphaCode>", "<OrphaCode>x</OrphaCode>", "its OrphaCode is 'x', not a number"),
        ("<OrphaCode>900001</OrphaCode>", "", "its OrphaCode is '', not a number"),
        ('<Name lang="en">Autosomal recessive tiny', '<Name lang="en">&who;', "it holds the entity &who;"),
    ],
)
def test_a_disorder_that_cannot_be_used_is_set_apart_with_its_line(
    parse: Parse, write: Write, tiny: Path, source: str, old: str, new: str, reason: str
) -> None:
    text = (tiny / PRODUCTS[source]).read_text().replace("<JDBOR", '<!DOCTYPE JDBOR SYSTEM "x.dtd"><JDBOR', 1)
    good = text.replace("900001", "900009").partition("List count=")[2].partition(">")[2].rpartition("</")[0]
    good = good[: good.rindex("</")]  # a second copy of the records, under another code
    start = text.index(">", text.index("List count=")) + 1
    broken = text[:start] + text[start:].replace(old, new, 1)
    at = broken.index(">", broken.index("List count=")) + 1
    records = parse(source, write("p.xml", broken[:at] + good + broken[at:]))
    assert any(str(each).startswith(reason) for each in records.rejects["reason"])
    assert records.rejects["line"].null_count() == 0
    assert sum(frame.height for frame in records.frames.values()) > 0


def test_a_disorder_that_comes_again_is_set_apart(parse: Parse, write: Write) -> None:
    more = "<ExternalReferenceList>" + reference("OMIM", "1") + "</ExternalReferenceList>"
    one = DISORDER.format(code=1, name="One", more=more)
    records = parse("orphanet", write("p1.xml", f"<JDBOR><DisorderList>{one}\n{one}</DisorderList></JDBOR>"))
    assert records.rejects.select("line", "reason").rows() == [(2, "ORPHA:1 stands here a second time")]
    assert records.frames["disorder"].height == records.frames["rows"].height == 1


def test_gene_ids_are_of_the_ontologys_prefixes() -> None:
    assert set(load_schema().node("Gene").prefixes) == {"NCBIGene", "HGNC", "ENSEMBL"}


cell = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"], exclude_characters="<&"), max_size=6)


@examples(80)
@given(st.lists(st.tuples(st.one_of(st.integers(1, 9).map(str), cell), cell, cell), max_size=8))
def test_every_statement_is_read_or_refused(drawn: list[tuple[str, str, str]]) -> None:
    def disorder(code: str, value: str, region: str) -> str:
        where = f"<PrevalenceGeographic><Name>{region}</Name></PrevalenceGeographic>"
        return DISORDER.format(
            code=code,
            name="A",
            more=f"<PrevalenceList><Prevalence><ValMoy>{value}</ValMoy>{where}</Prevalence></PrevalenceList>",
        )

    body = "".join(disorder(*each) for each in [("999", "1", "World"), *drawn])
    with tempfile.NamedTemporaryFile(suffix=".xml") as file:
        file.write(f"<JDBOR><DisorderList>{body}</DisorderList></JDBOR>".encode())
        file.flush()
        records = orphanet.read_prevalence(Path(file.name), manifest("orphanet_prevalence"))
    assert records.frames["rows"].height + records.rejects.height == len(drawn) + 1
    assert records.rejects["reason"].null_count() == 0


def test_a_file_of_the_older_form_is_read(parse: Parse, write: Write, tiny: Path) -> None:
    text = (tiny / PRODUCTS["orphanet_ages"]).read_text("utf-8")
    newer = parse("orphanet_ages", write("new.xml", text))
    older = parse("orphanet_ages", write("old.xml", text.replace("OrphaCode", "OrphaNumber")))
    for name, frame in newer.frames.items():
        assert frame.equals(older.frames[name])


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
