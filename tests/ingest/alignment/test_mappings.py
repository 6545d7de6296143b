"""What is stated between small vocabularies, by which stage, and what a person's decision changes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable
from kgdx.ingest.alignment.decisions import Decisions
from kgdx.ingest.alignment.mappings import SOURCE, align, relations, version
from kgdx.terms.encoder import NameEncoder, Vectors
from kgdx.terms.names.sssom import MappingStatement
from terms.names.named import findings, nodes, same_as

FINDINGS = {
    "HP:0001945": ("Fever", "Pyrexia"),
    "HP:0002315": ("Headache",),
    "HP:0000988": ("Skin rash", "Rash"),
    "HP:0002094": ("Dyspnea", "Trouble breathing"),
}


class Toy:
    """An encoder that knows two meanings."""

    name = "toy"

    def encode(self, texts: Sequence[str]) -> Vectors:
        breath = [any(word in text.lower() for word in ("breath", "dyspnea", "air")) for text in texts]
        return np.array([[1.0, 0.0] if near else [0.0, 1.0] for near in breath], np.float32)


def rows(tables: Sequence[GraphTable], kind: str = "MAPPED_TO") -> dict[tuple[str, str], dict[str, Any]]:
    found = {}
    for table in tables:
        assert isinstance(table, RelationTable)
        if table.type == kind:
            found.update({(row["start"], row["end"]): row for row in table.rows.to_pylist()})
    return found


def symptoms(**phrases: str) -> NodeTable:
    return nodes("Symptom", {f"KGDX:zh.{id}": (text,) for id, text in phrases.items()})


def test_each_stage_states_what_the_one_before_left_open() -> None:
    tables = [*findings(FINDINGS), symptoms(a="FEVER", b="skin rashes", c="Trouble braething", d="nothing at all")]
    found = rows(relations(tables, Decisions()))
    assert {pair: row["method"] for pair, row in found.items()} == {
        ("KGDX:zh.a", "HP:0001945"): "exact",
        ("KGDX:zh.b", "HP:0000988"): "normalised",
        ("KGDX:zh.c", "HP:0002094"): "edit",
    }
    assert {row["source"] for row in found.values()} == {SOURCE}
    assert {row["status"] for row in found.values()} == {"automatic"}
    scores = [found[pair]["score"] for pair in sorted(found)]
    assert scores[0] == 1 and scores == sorted(scores, reverse=True)


def test_symptoms_that_people_mapped_are_left_to_their_table() -> None:
    tables = [*findings(FINDINGS), nodes("Symptom", {"DDXPLUS:E_1": ("Fever",), "KGDX:zh.a": ("Fever",)})]
    assert rows(relations(tables, Decisions())).keys() == {("KGDX:zh.a", "HP:0001945")}


def test_the_encoder_comes_last_and_leaves_chinese_to_those_that_read_it() -> None:
    tables = [*findings(FINDINGS), symptoms(a="short of air", b="没有空气的感觉")]
    assert rows(relations(tables, Decisions())) == {}
    found = rows(relations(tables, Decisions(), NameEncoder(Toy())))
    assert list(found) == [("KGDX:zh.a", "HP:0002094")]
    record = json.loads(found["KGDX:zh.a", "HP:0002094"]["decision"])
    assert (record["encoder"], record["candidates"][0]["method"]) == ("toy", "encoder")


def test_two_equally_good_candidates_are_not_stated() -> None:
    twice = FINDINGS | {"HP:0000001": ("Rash",)}
    tables = [*findings(twice | {"HP:0000002": ("Rash",)}), symptoms(a="rash")]
    assert rows(relations(tables, Decisions())) == {}
    (one,) = align(tables, Decisions())[1:]
    assert sorted(one.found["outcome"]) == ["ambiguous", "ambiguous", "other"]


def test_a_rejected_pair_is_not_stated_and_resolves_what_was_ambiguous() -> None:
    tables = [*findings({"HP:0000001": ("Rash",), "HP:0000002": ("Rash",)}), symptoms(a="rash")]
    decisions = Decisions((MappingStatement("KGDX:zh.a", "exact", "HP:0000001", denied=True),))
    assert list(rows(relations(tables, decisions))) == [("KGDX:zh.a", "HP:0000002")]


@pytest.mark.parametrize("relation", ["narrower", "broader", "close"])
@pytest.mark.parametrize("term", ["HP:0001945", "HP:0002315"])
def test_a_symptom_that_a_table_judges_is_left_to_it(relation: str, term: str) -> None:
    stated = {"start": ["KGDX:zh.a"], "end": [term], "relation": [relation], "source": ["test"]}
    loaded = RelationTable("MAPPED_TO", "Symptom", "Phenotype", pa.table(stated))
    tables = [*findings(FINDINGS), symptoms(a="fever", b="pyrexia"), loaded]
    assert rows(relations(tables, Decisions())).keys() == {("KGDX:zh.b", "HP:0001945")}


def test_a_pair_that_a_person_judges_otherwise_is_not_restated() -> None:
    decided = Decisions((MappingStatement("KGDX:zh.a", "narrower", "HP:0001945"),))
    found = rows(relations([*findings(FINDINGS), symptoms(a="fever")], decided))
    assert [row["relation"] for row in found.values()] == ["narrower"]


def test_a_persons_mapping_wins_over_the_names() -> None:
    tables = [*findings(FINDINGS), symptoms(a="fever")]
    decisions = Decisions((MappingStatement("KGDX:zh.a", "exact", "HP:0002315", comment="means headache here"),))
    found = rows(relations(tables, decisions))
    assert list(found) == [("KGDX:zh.a", "HP:0002315")]
    row = found["KGDX:zh.a", "HP:0002315"]
    assert (row["status"], row["method"]) == ("manual", "review")
    assert json.loads(row["decision"])["comment"] == "means headache here"


def test_a_decision_about_what_the_graph_lacks_waits() -> None:
    decisions = Decisions((MappingStatement("KGDX:gone.1", "exact", "HP:0001945"),))
    assert rows(relations(findings(FINDINGS), decisions)) == {}


def test_a_narrow_synonym_is_no_equality() -> None:
    table = pa.table(
        {
            "id": ["HP:0000988"],
            "name": ["Skin rash"],
            "source": ["hp"],
            "synonyms": [["Nappy rash"]],
            "synonym_scopes": [["NARROW"]],
        }
    )
    found = rows(relations([NodeTable("Phenotype", table), symptoms(a="nappy rash")], Decisions()))
    assert found["KGDX:zh.a", "HP:0000988"]["relation"] == "narrower"


def test_obsolete_terms_and_modifiers_are_no_findings() -> None:
    hidden = NodeTable("Phenotype", pa.table({"id": ["HP:0012825"], "name": ["Mild"], "obsolete": [False]}))
    old = NodeTable("Phenotype", pa.table({"id": ["HP:0000009"], "name": ["Ague"], "obsolete": [True]}))
    tables = [*findings(FINDINGS), hidden, old, symptoms(a="mild", b="ague")]
    assert rows(relations(tables, Decisions())) == {}


def test_orphanet_and_omim_are_never_joined_by_names_alone() -> None:
    assert relations([nodes("Disease", {"OMIM:1": ("Gout",), "ORPHA:1": ("Gout",)})], Decisions()) == []


def test_diseases_of_other_sources_are_joined_one_to_one() -> None:
    tables = [
        nodes("Disease", {"OMIM:1": ("Marfan syndrome",), "OMIM:2": ("Achondroplasia",)}),
        nodes("Disease", {"MONDO:1": ("Marfan syndrome",), "KGDX:zh.1": ("马凡综合征", "Marfan syndrome")}),
        nodes("Disease", {"KGDX:zh.2": ("侏儒", "Achondroplasia"), "KGDX:zh.3": ("软骨病", "Achondroplasia")}),
    ]
    found = rows(relations(tables, Decisions()), "SAME_AS")
    assert set(found) == {("KGDX:zh.1", "MONDO:1"), ("KGDX:zh.1", "OMIM:1"), ("MONDO:1", "OMIM:1")}
    assert {row["relation"] for row in found.values()} == {"exact"}


def test_what_a_loaded_table_says_is_not_stated_again() -> None:
    tables: list[GraphTable] = [
        nodes("Disease", {"OMIM:1": ("Marfan syndrome",), "MONDO:1": ("Marfan syndrome",)}),
        same_as(("MONDO:1", "OMIM:1", "exact")),
    ]
    assert rows(relations(tables, Decisions()), "SAME_AS") == {}


GIVEN = [
    NodeTable("Disease", pa.table({"id": ["OMIM:1"], "name": ["Fever"], "source": ["x"], "xrefs": [["MESH:D000002"]]})),
    nodes("MeshDescriptor", {"MESH:D000001": ("Fever",), "MESH:D000002": ("Hyperthermia",)}),
]


def test_an_id_that_the_source_gives_goes_before_names() -> None:
    found = rows(relations(GIVEN, Decisions()))
    assert {pair: each["method"] for pair, each in found.items()} == {("OMIM:1", "MESH:D000002"): "given"}


def test_where_a_person_rejects_the_id_that_the_source_gives_names_decide() -> None:
    found = rows(relations(GIVEN, Decisions((MappingStatement("OMIM:1", "exact", "MESH:D000002", denied=True),))))
    assert {pair: each["method"] for pair, each in found.items()} == {("OMIM:1", "MESH:D000001"): "exact"}


def test_diseases_go_to_branches_of_diseases_only() -> None:
    tables = [
        nodes("Disease", {"OMIM:1": ("Cold",)}),
        NodeTable(
            "MeshDescriptor",
            pa.table({"id": ["MESH:D000003"], "name": ["Cold"], "entry_terms": [[""]], "tree_numbers": [["G16.500"]]}),
        ),
    ]
    assert rows(relations(tables, Decisions())) == {}


def test_the_decision_names_candidates_thresholds_and_versions() -> None:
    source = pa.table({"id": ["hp", "genes"], "version": ["2025-01-16", "7"], "checksum": ["ab", "cd"]})
    tables = [*findings(FINDINGS), symptoms(a="fever"), NodeTable("Source", source)]
    (row,) = rows(relations(tables, Decisions())).values()
    record = json.loads(row["decision"])
    assert record["versions"] == {"hp": "2025-01-16"}, "a source that has no part in the mapping is not named"
    assert record["thresholds"]["cosine"] == 0.85
    assert record["candidates"][0] == {
        "id": "HP:0001945",
        "name": "Fever",
        "matched": "Fever",
        "method": "exact",
        "score": 1.0,
        "outcome": "stated",
    }


def test_mappings_are_made_again_when_a_decision_or_the_encoder_changes() -> None:
    none, some = Decisions(), Decisions((MappingStatement("HP:1", "exact", "MESH:D1"),))
    versions = {version(none, None), version(some, None), version(none, NameEncoder(Toy()))}
    assert len(versions) == 3
    assert version(none, None) == version(Decisions(), None)


def test_the_same_tables_in_another_order_give_the_same_rows() -> None:
    tables = [*findings(FINDINGS), symptoms(a="FEVER", b="skin rashes"), symptoms(c="Trouble braething")]
    one, other = (relations(each, Decisions()) for each in (tables, tables[::-1]))
    assert [table.rows.to_pylist() for table in one] == [table.rows.to_pylist() for table in other]


@pytest.mark.parametrize("tables", [[], [nodes("Disease", {})], [nodes("Symptom", {"KGDX:a.1": ("fever",)})]])
def test_a_graph_with_nothing_to_align_has_no_mappings(tables: list[GraphTable]) -> None:
    assert relations(tables, Decisions()) == []


def test_a_disease_of_some_patients_is_narrower_and_takes_nothing_from_the_plain_one() -> None:
    tables = [
        nodes("Disease", {"ORPHA:1": ("Aortic aneurysm",)}),
        nodes(
            "Disease",
            {"KGDX:zh.1": ("老年人主动脉瘤", "Aortic aneurysm"), "KGDX:zh.2": ("主动脉瘤", "Aortic aneurysm")},
        ),
        nodes("MeshDescriptor", {"MESH:D001014": ("Aortic Aneurysm",)}),
    ]
    found = relations(tables, Decisions())
    assert set(rows(found, "SAME_AS")) == {("KGDX:zh.2", "ORPHA:1")}
    mapped = {start: row["relation"] for (start, _), row in rows(found).items()}
    assert mapped == {"KGDX:zh.1": "narrower", "KGDX:zh.2": "exact", "ORPHA:1": "exact"}


def test_a_related_synonym_is_close_and_never_exact() -> None:
    term = {"id": ["HP:0000988"], "name": ["Skin rash"], "synonyms": [["Itch"]], "synonym_scopes": [["RELATED"]]}
    tables = [NodeTable("Phenotype", pa.table(term | {"source": ["hp"]})), symptoms(a="itch")]
    (row,) = rows(relations(tables, Decisions())).values()
    assert (row["method"], row["relation"]) == ("related name", "close")
    assert align(tables, Decisions())[1].found["outcome"].to_list() == ["below", "stated"]


SAID = FINDINGS | {
    "HP:0002027": ("Abdominal pain", "Belly pain"),
    "HP:0012531": ("Pain",),
    "HP:0002018": ("Nausea",),
    "HP:0002013": ("Vomiting", "呕吐"),
    "HP:0002248": ("Hematemesis", "呕血"),
    "HP:0002014": ("Diarrhea",),
    "HP:0012393": ("Allergy", "过敏"),
    "HP:0001824": ("Weight loss",),
}


def test_a_symptom_is_what_the_head_of_its_name_says() -> None:
    phrases = symptoms(a="severe belly pain at night", b="反复呕血", c="饭后拉肚子", d="sudden weight loss")
    found = rows(relations([*findings(SAID), phrases], Decisions()))
    assert {(start[-1], end): (row["method"], row["relation"]) for (start, end), row in found.items()} == {
        ("a", "HP:0002027"): ("reader: head", "narrower"),
        ("b", "HP:0002248"): ("reader: head", "narrower"),
        ("c", "HP:0002014"): ("reader: head", "narrower"),
        ("d", "HP:0001824"): ("reader: head", "narrower"),
    }


def test_each_finding_that_a_name_joins_is_mapped_and_or_tells_the_direction() -> None:
    phrases = symptoms(a="nausea and fever", b="headache or fever", c="呕血伴拉肚子")
    found = rows(relations([*findings(SAID), phrases], Decisions()))
    assert {(start[-1], end): row["relation"] for (start, end), row in found.items()} == {
        ("a", "HP:0002018"): "narrower",
        ("a", "HP:0001945"): "narrower",
        ("b", "HP:0002315"): "broader",
        ("b", "HP:0001945"): "broader",
        ("c", "HP:0002248"): "narrower",
        ("c", "HP:0002014"): "narrower",
    }


@pytest.mark.parametrize(
    "name",
    [
        "no fever",
        "fear of weight loss",
        "vest worn for weight loss",
        "无呕吐",
        "嗅觉过敏",
        "呕吐物",
        "拉肚子减轻",
        "difficulty with pain",
    ],
)
def test_a_name_that_only_mentions_a_finding_is_not_mapped(name: str) -> None:
    assert rows(relations([*findings(SAID), symptoms(a=name)], Decisions())) == {}


def test_what_a_person_rejected_is_not_read_again() -> None:
    tables = [*findings(SAID), symptoms(a="sudden weight loss")]
    decisions = Decisions((MappingStatement("KGDX:zh.a", "exact", "HP:0001824", denied=True),))
    assert rows(relations(tables, decisions)) == {}


def test_symptoms_of_a_source_that_maps_its_own_are_left_to_it() -> None:
    own = RelationTable(
        "MAPPED_TO",
        "Symptom",
        "Phenotype",
        pa.table({"start": ["KGDX:zh.b"], "end": ["HP:0012531"], "relation": ["narrower"], "source": ["test"]}),
    )
    tables = [*findings(SAID), symptoms(a="sudden weight loss", b="dull pain"), own]
    assert rows(relations(tables, Decisions())) == {}


def test_two_real_words_are_no_typo_of_one_another() -> None:
    diseases = nodes("Disease", {"OMIM:1": ("Dystonia",), "KGDX:zh.1": ("难产", "dystocia")})
    assert not rows(relations([diseases], Decisions()), "SAME_AS"), "both are formed as terms are"
    known = nodes("MeshDescriptor", {"MESH:D004420": ("Dystocia",)})
    assert not rows(relations([diseases, known], Decisions()), "SAME_AS")
