"""What is believed of what somebody read: only what ontology and text allow, and every refusal is counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.extraction.readers import symptom
from kgdx.ingest.extraction.filters import (
    LONGEST_SPAN,
    MOST_RELATIONS,
    TYPES,
    ReadRelations,
    RelationClaim,
    believe,
    ends,
    known_classes,
)
from kgdx.schema import load_schema

TEXT = "感冒怎么办？\n感冒会发热。一般不会出现皮疹。可以吃阿司匹林，孕妇禁用利巴韦林片。应与肺炎相鉴别。"


def test_the_five_relations_are_those_of_the_ontology() -> None:
    relations = load_schema().relations
    assert [name for name in TYPES if ends()[name] not in relations[name].ends] == []
    assert [end for _, end in ends().values()] == ["Symptom", "Test", "Drug", "Cure", "Disease"]


def test_what_the_text_says_is_believed_with_its_passage() -> None:
    kept = believe(ReadRelations((symptom(evidence="感冒会发热"),)), TEXT)
    assert [(r.type, r.head, r.tail, r.span) for r in kept.relations] == [("HAS_SYMPTOM", "感冒", "发热", "感冒会发热")]
    assert not kept.refused


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (symptom(tail="头痛"), "not in the text"),
        (symptom(head="流感"), "not in the text"),
        (symptom(type="CAUSES"), "unknown relation"),
        (symptom(type="has_symptom"), "unknown relation"),
        (symptom(tail_class="Drug"), "outside domain or range"),
        (symptom(head_class="Symptom"), "outside domain or range"),
        (symptom(head_class=""), "outside domain or range"),
        (symptom(type="RECOMMEND_TEST"), "outside domain or range"),
        (symptom(tail="热"), "too short"),
        (symptom(tail=""), "too short"),
        (symptom(tail="发热" * 40), "too long"),
        (symptom(tail="<script>"), "no name"),
        (symptom(tail="感冒会发热。一般"), "no name"),
        (symptom(tail="http://x.y"), "no name"),
        (symptom(tail="123"), "no name"),
        (symptom(tail="发\u202e热"), "no name"),
        (symptom(tail="感冒"), "refers to itself"),
        (symptom(tail="皮疹"), "denied by the text"),
        (symptom(tail="利巴韦林片", type="RECOMMEND_DRUG", tail_class="Drug"), "denied by the text"),
        (symptom(tail="肺炎", type="HAS_COMORBIDITY", tail_class="Disease"), "denied by the text"),
    ],
)
def test_what_cannot_be_believed_is_left_out_and_counted(statement: RelationClaim, reason: str) -> None:
    kept = believe(ReadRelations((statement,)), TEXT)
    assert kept.relations == []
    assert dict(kept.refused) == {reason: 1}


def test_a_name_of_another_class_by_its_wording_is_outside_the_range() -> None:
    kept = believe(ReadRelations((symptom(tail="手术治疗"), symptom(tail="胸部CT检查"))), "感冒要手术治疗和胸部CT检查")
    assert dict(kept.refused) == {"outside domain or range": 2}


def test_a_repeated_statement_counts_once() -> None:
    kept = believe(ReadRelations((symptom(), symptom(tail=" 发热。"), symptom(head="《感冒》"))), TEXT)
    assert (len(kept.relations), dict(kept.refused)) == (1, {"duplicate": 2})


def test_an_entity_without_a_relation_is_isolated() -> None:
    kept = believe(ReadRelations((symptom(),), (("感冒", "Disease"), ("发热", "Symptom"), ("阿司匹林", "Drug"))), TEXT)
    assert dict(kept.refused) == {"isolated": 1}


def test_a_flood_of_statements_is_cut() -> None:
    kept = believe(ReadRelations((symptom(),) * 10_000), TEXT)
    assert dict(kept.refused) == {"duplicate": MOST_RELATIONS - 1, "too many for one record": 10_000 - MOST_RELATIONS}


def test_an_invented_passage_is_replaced_by_the_sentence() -> None:
    kept = believe(ReadRelations((symptom(evidence="感冒的人都会发热"),)), TEXT)
    assert kept.relations[0].span == "感冒会发热。"


def test_a_long_passage_is_cut_around_what_it_says() -> None:
    text = "感冒" + "很" * 1000 + "发热" + "很" * 1000
    (relation,) = believe(ReadRelations((symptom(),)), text).relations
    assert "发热" in relation.span
    assert len(relation.span) == LONGEST_SPAN
    assert relation.span in text


def test_an_entity_of_two_classes_is_of_none() -> None:
    assert known_classes([("a", "Drug"), ("b", "Nonsense"), ("c", "Test"), ("c", "Cure")]) == {"a": "Drug"}


names = st.sampled_from(["感冒", "发热", "皮疹", "阿司匹林", "<b>", "热", "肺炎", ""]) | st.text(max_size=50)
classes = st.sampled_from(["Disease", "Symptom", "Drug", "", "Robot"])
statements = st.builds(
    RelationClaim, st.sampled_from([*TYPES, "DELETE_ALL"]), names, names, classes, classes, st.text(max_size=30)
)


@given(st.lists(statements, max_size=30), st.text(max_size=60))
def test_everything_is_either_believed_or_counted_and_nothing_is_made_up(found: list[RelationClaim], more: str) -> None:
    text = TEXT + more
    kept = believe(ReadRelations(tuple(found)), text)
    assert len(kept.relations) + kept.refused.total() == len(found)
    for relation in kept.relations:
        assert relation.head in text and relation.tail in text and relation.span in text
        assert relation.tail in relation.span
        assert relation.type in TYPES
    assert len({(r.type, r.head, r.tail) for r in kept.relations}) == len(kept.relations)
