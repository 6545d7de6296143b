"""Entries that are one disease under one name are joined, in two languages or vocabularies; look-alikes are not."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable
from kgdx.ingest.alignment.decisions import Decisions
from kgdx.ingest.alignment.disease_names import name_key, same_limits, signatures
from kgdx.ingest.alignment.same_names import (
    FOR_SOME,
    FOREIGN_NAME,
    LABEL,
    ONE_ROW,
    SAME_ID,
    SAME_MEANING,
    SAME_NAME,
    SAME_WORDS,
    _stated_names,
    infer,
    judged,
    step,
)
from kgdx.schema import load_schema
from kgdx.terms.names.same_diseases import Components, vocabulary

ZH, EN = "KGDX:chinese_kg.", "KGDX:encyclopedia."
PATIENTS = NodeTable("PatientCase", pa.table({"id": ["p"], "source": ["cases"]}))
Node = dict[str, Any]


def disease(id: str, name: str, name_zh: str | None = None, **more: Any) -> Node:
    return {"id": id, "name": name, "name_zh": name_zh, "synonyms": [], "source": "test", **more}


def chinese(local: str, name: str, *, english: Sequence[str] = (), definition: str = "") -> Node:
    return disease(f"{ZH}{local}", name, name, synonyms=list(english), definition=definition)


def table(label: str, rows: Sequence[Node]) -> NodeTable:
    names = dict.fromkeys(name for row in rows for name in row)
    lists = ("synonyms", "synonym_scopes", "xrefs", "inheritance")
    kinds = dict.fromkeys(lists, pa.list_(pa.string())) | {"obsolete": pa.bool_()}
    columns = {name: pa.array([row.get(name) for row in rows], kinds.get(name, pa.string())) for name in names}
    return NodeTable(label, pa.table(columns))


def same(*pairs: tuple[str, str]) -> RelationTable:
    rows = {
        "start": [one for one, _ in pairs],
        "end": [other for _, other in pairs],
        "relation": ["exact"] * len(pairs),
    }
    return RelationTable("SAME_AS", "Disease", "Disease", pa.table(rows))


def joined(diseases: Sequence[Node], *more: GraphTable) -> dict[frozenset[str], str]:
    rows = infer([table("Disease", diseases), *more]).rows.to_pylist()
    assert all((row["relation"] == "narrower") == (row["method"] == FOR_SOME) and row["evidence"] for row in rows)
    return {frozenset((row["start"], row["end"])): row["method"] for row in rows}


@pytest.mark.parametrize(
    ("one", "other", "method"),
    [
        (chinese("1", "肝豆状核变性"), disease("ORPHA:905", "Wilson disease", "肝豆状核变性"), SAME_NAME),
        (disease("DECIPHER:1", "Sotos syndrome"), disease("OMIM:1", "Sotos syndrome"), SAME_NAME),
        (chinese("1", "耳石症"), disease(f"{EN}1", "benign paroxysmal positional vertigo"), ONE_ROW),
        (chinese("1", "肺栓塞"), disease(f"{EN}1", "pulmonary embolism"), SAME_MEANING),
        (chinese("1", "老视"), disease(f"{EN}1", "presbyopia"), SAME_MEANING),
        (chinese("1", "心绞痛"), disease(f"{EN}1", "angina"), SAME_MEANING),
        (chinese("1", "头虱"), disease(f"{EN}1", "head lice"), SAME_MEANING),
        (chinese("1", "克兰费尔特综合征"), disease(f"{EN}1", "klinefelter syndrome"), SAME_MEANING),
        (chinese("1", "先天性喉闭锁"), disease(f"{EN}1", "larynx atresia"), SAME_MEANING),
        (chinese("1", "胸腺瘤"), disease(f"{EN}1", "thymoma"), SAME_MEANING),
        (chinese("1", "先天性喉蹼"), disease(f"{EN}1", "isolated congenital laryngeal web"), SAME_MEANING),
        (chinese("1", "食管癌"), disease("OMIM:1", "Esophageal cancer, somatic"), SAME_MEANING),
        (chinese("1", "获得性鱼鳞病"), chinese("2", "后天性鱼鳞病"), SAME_WORDS),
        (chinese("1", "食管贲门粘膜撕裂综合征"), chinese("2", "食管贲门黏膜撕裂症"), SAME_WORDS),
        (chinese("1", "失眠症"), chinese("2", "失眠"), SAME_WORDS),
        (chinese("1", "桡骨远端骨折"), chinese("2", "桡骨下端骨折"), SAME_WORDS),
        (chinese("1", "小儿先天性心脏病"), chinese("2", "先天性心脏病"), SAME_WORDS),
        (disease(f"{EN}1", "chicken pox"), disease(f"{EN}2", "chickenpox"), SAME_WORDS),
        (chinese("1", "小儿食物变态反应"), disease(f"{EN}1", "food allergy"), FOR_SOME),
        (chinese("1", "骨瘤"), chinese("2", "骨肿瘤"), None),
        (chinese("1", "阴茎癌"), chinese("2", "龟头癌"), None),
        (chinese("1", "胃肠道癌"), chinese("2", "胃肠道伴癌综合征"), None),
        (disease("KGDX:common.1", "Biliary colic", synonyms=["gallstones"]), disease(f"{EN}1", "gallstones"), None),
        (disease("KGDX:common.1", "Biliary colic", synonyms=["胆结石"]), chinese("1", "胆结石"), None),
        (chinese("1", "雷诺综合征"), disease("OMIM:1", "Reynolds syndrome", "雷诺综合征"), None),
        (chinese("1", "主动脉瓣狭窄"), disease("OMIM:1", "Supravalvular aortic stenosis", "主动脉瓣狭窄；SVAS"), None),
        (chinese("1", "溶血性贫血"), disease("ORPHA:712", "ORPHA:712", "溶血性贫血", name_source="id"), None),
        (disease(f"{EN}1", "gout"), disease("MONDO_GROUPED:1_2", "gout"), None),
        (disease(f"{EN}1", "gout"), disease("MONDO:1", "gout", obsolete=True), None),
        (chinese("1", "色盲"), disease("ORPHA:1", "Achromatopsia", "全色盲"), None),
    ],
)
def test_two_names_join_where_they_say_the_same(one: Node, other: Node, method: str | None) -> None:
    labels = table("Phenotype", [{"id": "HP:1", "name": "Achromatopsia", "name_zh": "色盲"}])  # which join nothing
    assert joined([one, other], labels) == ({frozenset((one["id"], other["id"])): method} if method else {})


def test_an_id_that_two_sources_give_joins_what_their_names_may_say() -> None:
    nodes = [
        disease("DDXPLUS:1", "Boerhaave rupture", xrefs=["ICD10:K22.3"]),
        disease("KGDX:common.1", "Spontaneous esophageal rupture", xrefs=["ICD10:K22.3"]),
        disease("DDXPLUS:2", "Panic attack", xrefs=["ICD10:F41"]),
        disease("KGDX:common.2", "Anxiety disorder", xrefs=["ICD10:F41"]),
    ]
    assert joined(nodes) == {frozenset(("DDXPLUS:1", "KGDX:common.1")): SAME_ID}


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ({"patient_sex": "male"}, {"patient_sex": "female"}, "different sex: female, male"),
        ({"oldest": "2"}, {"youngest": "18"}, "different age: adult and old, infant"),
        ({"inheritance": ["Dominant"]}, {"inheritance": ["X-linked"]}, "different inheritance: X-linked, dominant"),
        ({"synonyms": ["wandering node"]}, {"name": "Kidney node", "synonyms": ["wandering node"]}, ""),
    ],
)
def test_what_is_known_of_both_and_differs_keeps_them_apart(one: Node, other: Node, reason: str) -> None:
    nodes = [disease("ORPHA:1", "Wandering node") | one, disease(f"{EN}1", "wandering node") | other]
    found = list(judged([table("Disease", nodes)]))
    assert [each.refused.startswith(reason) and bool(each.refused) == bool(reason) for each in found] == [True]


def test_different_genes_and_organs_keep_apart_what_a_synonym_joins() -> None:
    nodes = [
        disease("MONDO:1", "Wandering lung node"),
        disease(f"{EN}1", "kidney node", synonyms=["wandering lung node"]),
    ]
    assert [each.refused for each in judged([table("Disease", nodes)])] == ["different organ: kidney, lung"]
    genes = pa.table({"start": ["MONDO:1", f"{EN}1"], "end": ["NCBIGene:1", "NCBIGene:2"]})
    related = RelationTable("ASSOCIATED_GENE", "Disease", "Gene", genes)
    nodes = [disease("MONDO:1", "Wandering node"), disease(f"{EN}1", "wandering node")]
    assert [each.refused for each in judged([table("Disease", nodes), related])] == [
        "different genes: NCBIGene:2, NCBIGene:1"
    ]


@pytest.mark.parametrize(
    ("wrong", "english", "right"),
    [
        ("帕金森病性痴呆", "Parkinson disease", "帕金森病"),
        ("高尿酸血症", "gout", "痛风"),
        ("鼻咽癌的眼部病变", "nasopharyngeal carcinoma", "鼻咽癌"),
    ],
)
def test_a_part_a_form_or_a_complication_is_not_the_disease(wrong: str, english: str, right: str) -> None:
    explained = chinese("1", wrong, english=[english], definition=f"{wrong}({english})是一种疾病。")
    nodes = [explained, chinese("2", right), disease(f"{EN}1", english)]
    assert joined(nodes) == {frozenset((f"{ZH}2", f"{EN}1")): SAME_MEANING}


def test_what_children_have_is_the_disease_where_it_is_inherited_and_has_no_other_entry() -> None:
    nodes = [chinese("1", "小儿槭糖尿病"), disease("OMIM:1", "Maple syrup urine disease", "槭糖尿病")]
    assert joined(nodes) == {frozenset((f"{ZH}1", "OMIM:1")): FOR_SOME}
    nodes[1]["inheritance"] = ["Autosomal recessive"]
    assert joined(nodes) == {frozenset((f"{ZH}1", "OMIM:1")): SAME_MEANING}
    assert joined([*nodes, chinese("2", "槭糖尿病")])[frozenset((f"{ZH}1", f"{ZH}2"))] == FOR_SOME


def test_an_english_name_joins_what_children_have_to_a_disease_that_is_inherited() -> None:
    name = "Peutz-Jeghers syndrome"
    nodes = [chinese("1", "小儿波-杰综合征", english=[name]), disease("OMIM:1", name)]
    assert not joined(nodes)
    nodes[1]["inheritance"] = ["Autosomal dominant"]
    assert joined(nodes) == {frozenset((f"{ZH}1", "OMIM:1")): FOREIGN_NAME}
    assert joined([*nodes, chinese("2", "波-杰综合征")]) == {frozenset((f"{ZH}1", f"{ZH}2")): FOR_SOME}


@pytest.mark.parametrize("type", ["BROAD_MATCH", "NARROW_MATCH", "CLOSE_MATCH"])
def test_what_a_loaded_table_judges_otherwise_is_not_joined(type: str) -> None:
    nodes = table("Disease", [chinese("1", "肺炎"), disease(f"{EN}1", "pneumonia")])
    rows = pa.table({"start": [f"{ZH}1"], "end": [f"{EN}1"], "source": ["test"]})
    tables: list[GraphTable] = [nodes, RelationTable(type, "Disease", "Disease", rows)]
    (made,) = step(Decisions()).function(tables)
    assert made.rows.num_rows == 0 and infer([nodes]).rows.num_rows == 1


def test_what_some_patients_have_is_narrower_than_the_disease() -> None:
    nodes = [chinese("1", "小儿肺炎"), chinese("2", "肺炎"), disease(f"{EN}1", "pneumonia")]
    rows = infer([table("Disease", nodes)]).rows.to_pylist()
    assert {(row["start"], row["relation"], row["end"]) for row in rows} == {
        (f"{ZH}1", "narrower", f"{ZH}2"),
        (f"{ZH}2", "exact", f"{EN}1"),
    }


def test_what_a_person_rejected_is_not_joined_through_others_either() -> None:
    nodes = [table("Disease", [chinese("1", "肺炎"), *(disease(id, "Pneumonia") for id in (f"{EN}1", "KGDX:other.1"))])]
    assert infer(nodes).rows.num_rows == 2
    joined = Components()
    for row in infer(nodes, [(f"{ZH}1", f"{EN}1")]).rows.to_pylist():
        joined.join(row["start"], row["end"])
    assert joined.find(f"{ZH}1") != joined.find(f"{EN}1")


@pytest.mark.parametrize("name", ["妊娠合并哮喘", "小儿肝硬化", "老年人甲状腺功能亢进症"])
def test_a_qualified_name_is_not_the_plain_disease(name: str) -> None:
    plain = {"妊娠合并哮喘": "asthma", "小儿肝硬化": "cirrhosis", "老年人甲状腺功能亢进症": "hyperthyroidism"}[name]
    definition = f"{name.removeprefix('妊娠合并').removeprefix('小儿').removeprefix('老年人')}({plain})是一种疾病。"
    nodes = [chinese("1", name, english=[plain], definition=definition), disease(f"{EN}1", plain)]
    assert set(joined(nodes).values()) <= {FOR_SOME}


def test_english_in_a_definition_counts_where_it_explains_the_name() -> None:
    node = chinese("1", "小棘苔藓", english=["lichen spinulosus"], definition="小棘苔藓(lichen spinulosus)。")
    assert joined([node, disease("ORPHA:1", "Lichen spinulosus")])
    node["definition"] = "一种皮肤病(lichen spinulosus)。"
    assert not joined([node, disease("ORPHA:1", "Lichen spinulosus")])


@pytest.mark.parametrize(
    ("english", "translated"),
    [
        ("Asthma, susceptibility to", "哮喘"),
        ("Epileptic encephalopathy, early infantile, 13", "早期婴儿型癫痫性脑病；EIEE13"),
        ("Hyperlipoproteinemia, type V", "高脂蛋白血症"),
        ("Gout, familial", "痛风"),
        ("Hyperkeratosis lenticularis perstans", "豆状角化过度病"),
        ("Cutis marmorata telangiectatica congenita", "毛细血管扩张性大理石样皮肤"),
    ],
)
def test_a_translation_that_lost_a_limit_joins_nothing(english: str, translated: str) -> None:
    assert not same_limits(english, translated)
    assert same_limits("Multifocal atrial tachycardia", "多源性房性心动过速")
    bare = translated.partition("；")[0]
    assert not joined([chinese("1", bare), disease("OMIM:100001", english, translated)])


def test_two_entries_of_omim_never_become_one() -> None:
    nodes = [chinese("1", "甲病症"), chinese("2", "乙病症"), disease("OMIM:100001", "Alpha disease", "甲病症")]
    nodes += [disease("OMIM:100002", "Beta disease", "乙病症"), disease(f"{EN}1", "alpha disease")]
    nodes += [disease("DDXPLUS:x", "Beta disease", synonyms=["Alpha disease"])]
    components = Components()
    for one, other in joined(nodes):
        components.join(one, other)
    for id in ("OMIM:100001", "OMIM:100002"):
        assert sum(vocabulary(each) == "OMIM" for each in components.of(id)) == 1


def test_entries_that_a_table_joins_take_one_partner_together() -> None:
    nodes = [disease(id, "Alpha disease") for id in ("ORPHA:1", "OMIM:100001", f"{EN}1")]
    assert set(joined(nodes)) == {frozenset((f"{EN}1", "ORPHA:1"))}  # OMIM's may be one form of it
    assert len(joined(nodes, same(("ORPHA:1", "OMIM:100001")))) == 1


def test_labels_of_patients_are_no_bridge() -> None:
    label = disease("KGDX:cases.1", "Alpha disease", "甲病症", source="cases")
    nodes = [chinese("1", "甲病症"), disease(f"{EN}1", "alpha disease"), label]
    assert len(joined(nodes)) == 2
    assert joined(nodes, PATIENTS) == {frozenset(("KGDX:cases.1", f"{EN}1")): LABEL}


def test_a_label_that_may_mean_two_diseases_is_folded_into_neither() -> None:
    label = disease("KGDX:cases.1", "Node", source="cases")
    nodes = [disease(f"{EN}1", "node"), disease("OMIM:1", "Node, familial", synonyms=["Node"])]
    assert LABEL not in joined([*nodes, label], PATIENTS).values()


def test_a_name_that_only_patients_give_is_a_label_too() -> None:
    nodes = [disease("OMIM:100001", "Alpha disease", name_source="cases"), disease(f"{EN}1", "alpha disease")]
    assert joined(nodes) and not joined(nodes, PATIENTS)


def test_the_order_of_rows_makes_no_difference() -> None:
    nodes = [chinese("1", "哮喘"), chinese("2", "支气管哮喘"), disease(f"{EN}1", "asthma"), disease(f"{EN}2", "gout")]
    nodes += [chinese("3", "痛风"), disease("ORPHA:1", "Gout", "痛风")]
    found = joined(nodes)
    for seed in range(5):
        shuffled = random.Random(seed).sample(nodes, len(nodes))
        assert joined(shuffled) == found


def test_statements_fit_the_ontology() -> None:
    rows = infer([table("Disease", [disease(f"{EN}1", "gout"), chinese("1", "痛风")])]).rows
    known = load_schema().relation("SAME_AS").properties
    assert set(rows.column_names) - {"start", "end", "relation"} <= set(known)


def test_no_name_of_the_table_stands_for_two_diseases() -> None:
    keys: dict[str, str] = {}
    for each in _stated_names():
        assert keys.setdefault(each.key, each.entry) == each.entry, each.text


WORDS = ["alpha", "beta", "of", "the", "disease", "type", "ii", "2", "b", "syndrome", "oedema", "anemia", "anaemia"]


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_names_with_equal_forms_have_equal_signatures(words: list[str], chance: random.Random) -> None:
    one, other = " ".join(words).title(), " ".join(chance.sample(words, len(words)))
    if name_key(one) == name_key(other):
        assert signatures([one]) == signatures([other])


def test_a_label_means_the_entry_of_its_name_or_of_one_that_is_the_same() -> None:
    nodes = [chinese("1", "肩周炎"), chinese("2", "子宫内膜炎"), disease(f"{EN}1", "gout")]
    said = ["Gout", "Adhesive capsulitis", "Endometritis", "Endometriosis", "小儿肩周炎"]
    labels = [disease(f"KGDX:cases.{at}", name, source="cases") for at, name in enumerate(said)]
    found = joined([*nodes, *labels], PATIENTS)
    meant = zip(said, (f"{EN}1", f"{ZH}1", f"{ZH}2", None, f"{ZH}1"), strict=True)
    wanted = {frozenset((f"KGDX:cases.{at}", id)) for at, (_, id) in enumerate(meant) if id}
    assert {pair for pair, method in found.items() if method == LABEL} == wanted
