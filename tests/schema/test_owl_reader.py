"""The ontology file is read as it stands, into a world of its own, and a broken one is refused with its fault named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kgdx.errors import SchemaError
from kgdx.resources import resource
from kgdx.schema import fits, load_schema, schema_checksum, wording
from kgdx.schema.owl_reader import read_owl

PRIMEKG_TYPES = {"Anatomy", "BiologicalProcess", "CellularComponent", "Disease", "Drug", "Exposure", "Gene"} | {
    "MolecularFunction",
    "Pathway",
    "Phenotype",
}


@pytest.fixture
def owl_text() -> str:
    return resource("ontology", "kgdx.owl").read_text(encoding="utf-8")


def written(folder: Path, text: str) -> Path:
    path = folder / "broken.owl"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_entity_has_a_definition_and_every_node_a_key_and_a_source() -> None:
    schema = load_schema()
    for entity in (*schema.nodes.values(), *schema.relations.values()):
        assert len(entity.definition) > 10, entity.name
        assert entity.properties["source"].required, entity.name
        assert all(len(p.definition) > 5 for p in entity.properties.values()), entity.name
    for node in schema.nodes.values():
        assert node.properties[node.key].required, node.name


def test_every_node_class_and_relation_is_aligned_with_biolink() -> None:
    schema = load_schema()
    for node in schema.nodes.values():
        assert node.biolink.startswith("biolink:"), node.name
        assert node.biolink[8].isupper(), node.name
    for relation in schema.relations.values():
        assert relation.biolink.startswith("biolink:"), relation.name
        assert relation.biolink[8:].islower(), relation.name


def test_union_of_ends_is_cut_down_to_the_pairs_that_are_meant() -> None:
    relations = load_schema().relations
    assert set(relations["IS_A"].ends) == {(c, c) for c in ("Phenotype", "Disease", "MeshDescriptor", "MeshQualifier")}
    assert set(relations["MAPPED_TO"].ends) == {
        ("Symptom", "Phenotype"),
        ("Disease", "MeshDescriptor"),
        ("Disease", "MeshSupplement"),
        ("Phenotype", "MeshDescriptor"),
    }


def test_one_name_may_mean_different_things_to_different_owners() -> None:
    schema = load_schema()
    assert schema.relations["HAS_PHENOTYPE"].properties["evidence"].type == "string"
    assert schema.relations["SAME_AS"].properties["evidence"].type == "strings"
    assert schema.nodes["PatientCase"].properties["sex"].values == ("MALE", "FEMALE", "OTHER", "UNKNOWN")
    assert schema.relations["HAS_PHENOTYPE"].properties["sex"].values == ()


def test_subclasses_and_subproperties_inherit_properties() -> None:
    schema = load_schema()
    assert {"id", "source", "name", "synonyms", "obsolete"} <= schema.nodes["Phenotype"].properties.keys()
    assert schema.relations["HAS_PHENOTYPE"].properties == schema.relations["LACKS_PHENOTYPE"].properties
    assert "relation" not in schema.relations
    assert "NamedNode" not in schema.nodes


def test_primekg_vocabulary_is_complete() -> None:
    relations = [r for r in load_schema().relations.values() if "display_relation" in r.properties]
    assert len(relations) == 30
    assert {name for r in relations for pair in r.ends for name in pair} == PRIMEKG_TYPES


def test_identity_is_made_of_the_relations_own_properties() -> None:
    for relation in load_schema().relations.values():
        assert "source" in relation.identity, relation.name
        assert set(relation.identity) <= relation.properties.keys(), relation.name


def test_nothing_reaches_owlready2s_global_world() -> None:
    from owlready2 import default_world

    read_owl(resource("ontology", "kgdx.owl"))
    assert list(default_world.classes()) == []
    assert list(default_world.data_properties()) == []


def test_reading_twice_gives_equal_schemas(owl_text: str, tmp_path: Path) -> None:
    copy = written(tmp_path, owl_text)
    assert read_owl(copy) == load_schema()
    assert load_schema() is load_schema()


def test_checksum_is_that_of_the_file(owl_text: str, tmp_path: Path) -> None:
    changed = read_owl(written(tmp_path, owl_text.replace("A disease or syndrome", "A syndrome or disease")))
    assert changed.checksum != schema_checksum() == load_schema().checksum


def test_every_relation_reads_both_ways_in_english_and_chinese() -> None:
    for relation in load_schema().relations.values():
        for language in ("en", "zh"):
            assert relation.wording[language].label and relation.wording[language].inverse, relation.name


def test_relations_that_answers_name_have_words_for_one_and_for_several() -> None:
    assert wording("HAS_SYMPTOM").statement == ("symptom recorded for", "symptoms recorded for")
    assert wording("HAS_SYMPTOM", "zh").noun == ("症状", "症状")
    assert wording("TREATS", "zh").label == "TREATS"


def test_a_graph_can_be_used_when_only_words_of_the_ontology_changed_since() -> None:
    major, minor, _ = load_schema().version.split(".")
    assert fits(f"{major}.{minor}.99", "another checksum")
    assert not fits(f"{major}.{int(minor) + 1}.0", "another checksum")
    assert not fits(None, None)


def test_a_class_added_to_the_file_is_in_the_schema(owl_text: str, tmp_path: Path) -> None:
    addition = """
      <owl:Class rdf:about="#Variant">
        <rdfs:subClassOf rdf:resource="#NamedNode"/>
        <rdfs:comment>A variant of a gene.</rdfs:comment>
      </owl:Class>
    </rdf:RDF>"""
    schema = read_owl(written(tmp_path, owl_text.replace("</rdf:RDF>", addition)))
    assert list(schema.nodes["Variant"].properties) == ["id", "source", "name"]


@pytest.mark.parametrize("content", [b"", b"\x00\xff\x80binary", b"id: HP:0000001\n", b"<html><body/></html>"])
def test_a_file_that_is_no_ontology_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "broken.owl"
    path.write_bytes(content)
    with pytest.raises(SchemaError, match=r"broken\.owl"):
        read_owl(path)


def test_a_truncated_file_is_refused(owl_text: str, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"broken\.owl"):
        read_owl(written(tmp_path, owl_text[: len(owl_text) // 2]))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="cannot read the ontology"):
        read_owl(tmp_path / "none.owl")


def replaced(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            f"<owl:versionInfo>{load_schema().version}</owl:versionInfo>",
            "",
            "ontology header in broken.owl needs exactly one",
        ),
        ('rdf:about="#PatientCase.label"', 'rdf:about="#label"', "property label .* a name of OWL's own"),
        ("<rdfs:comment>Alternative ids: terms that were merged into this one.</rdfs:comment>", "", "alt_ids .*comm"),
        ('"#scope_note">', '"#scope_note"><rdfs:label>name</rdfs:label>', "MeshDescriptor .*property name twice"),
        ('<key rdf:resource="#id"/>', "", "needs one of its properties as key"),
        ('<identity rdf:resource="#association"/>', '<identity rdf:resource="#policy"/>', "ASSOCIATED_GENE .*policy"),
        ('<rdfs:range rdf:resource="#Gene"/>', '<rdfs:range rdf:resource="#Concept"/>', "ASSOCIATED_GENE .*abstract"),
        ('boolean"/>\n    <rdfs:comment>Whether the e', 'date"/>\n    <rdfs:comment>', "obsolete .*rdfs:range"),
        ('<rdfs:domain rdf:resource="#Diagnosis"/>', "", "policy .*belongs to no node class"),
    ],
)
def test_a_broken_convention_is_named(owl_text: str, tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        read_owl(written(tmp_path, replaced(owl_text, old, new)))


def test_disjoint_classes_ids_inverses_and_characteristics_are_read() -> None:
    schema = load_schema()
    assert "Drug" in schema.node("Gene").disjoint
    assert "Gene" in schema.node("Drug").disjoint
    assert "MeshDescriptor" not in schema.node("Exposure").disjoint
    assert all(name not in node.disjoint for name, node in schema.nodes.items())
    assert schema.relation("HAS_PHENOTYPE").inverse == "phenotype_of"
    assert schema.relation("IS_A").characteristics == {"irreflexive"}
    assert schema.relation("DRUG_DRUG").inverse == ""
    assert not {relation.inverse for relation in schema.relations.values()} & schema.relations.keys()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (r"HP:\d{1,7}<", "HP:(<", "Phenotype in broken.owl has an id pattern that cannot be read"),
        (r"HP:\d{1,7}<", "GO:1<", "Phenotype in broken.owl has an id pattern of a prefix that its ids do not have"),
        (
            'rdf:about="#DRUG_EFFECT">',
            'rdf:about="#DRUG_EFFECT"><rdf:type rdf:resource="http://www.w3.org/2002/07/owl#SymmetricProperty"/>',
            "DRUG_EFFECT in broken.owl is symmetric, but cannot lead back",
        ),
    ],
)
def test_an_axiom_that_cannot_hold_is_refused(tmp_path: Path, owl_text: str, old: str, new: str, said: str) -> None:
    assert old in owl_text
    with pytest.raises(SchemaError, match=re.escape(said)):
        read_owl(written(tmp_path, owl_text.replace(old, new, 1)))
