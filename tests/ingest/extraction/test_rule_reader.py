"""Relations by the phrases that Chinese answers use, on made-up answers and on text with known relations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks import extraction_text
from hypothesis import given
from hypothesis import strategies as st

from kgdx.errors import SourceError
from kgdx.ingest.extraction.filters import NameVocabulary, believe, denied, read_vocabulary
from kgdx.ingest.extraction.question_pages import clean, read_line
from kgdx.ingest.extraction.rule_reader import RuleReader


def read(question: str, answer: str, vocabulary: NameVocabulary | None = None) -> set[tuple[str, str, str]]:
    found = RuleReader(vocabulary or NameVocabulary()).read(question, answer)
    return {(r.type, r.head, r.tail) for r in believe(found, f"{question}\n{answer}").relations}


@pytest.mark.parametrize(
    ("question", "answer", "type_", "head", "tails"),
    [
        ("肺炎有什么症状？", "肺炎的症状主要有发热、咳嗽和胸痛等。", "HAS_SYMPTOM", "肺炎", {"发热", "咳嗽", "胸痛"}),
        (
            "医生您好，我妈妈得了痛风怎么办",
            "患者常表现为关节红肿、剧烈疼痛。",
            "HAS_SYMPTOM",
            "痛风",
            {"关节红肿", "剧烈疼痛"},
        ),
        ("百日咳的症状", "1.阵咳 2.低热 3.呕吐", "HAS_SYMPTOM", "百日咳", {"阵咳", "低热", "呕吐"}),
        (
            "肺癌需要做什么检查？",
            "需要做胸部CT、痰细胞学检查等检查。",
            "RECOMMEND_TEST",
            "肺癌",
            {"胸部CT", "痰细胞学检查"},
        ),
        (
            "如何确诊甲亢性心脏病",
            "可以通过甲状腺功能测定、心电图来确诊。",
            "RECOMMEND_TEST",
            "甲亢性心脏病",
            {"甲状腺功能测定", "心电图"},
        ),
        (
            "感冒吃什么药",
            "建议服用感冒灵颗粒、维生素C片，多喝水。",
            "RECOMMEND_DRUG",
            "感冒",
            {"感冒灵颗粒", "维生素C片"},
        ),
        ("胃溃疡怎么治疗", "治疗方法有药物治疗、手术治疗。", "RECOMMEND_CURE", "胃溃疡", {"药物治疗", "手术治疗"}),
        (
            "糖尿病有什么危害",
            "常见的并发症有糖尿病足、视网膜病变。",
            "HAS_COMORBIDITY",
            "糖尿病",
            {"糖尿病足", "视网膜病变"},
        ),
    ],
)
def test_a_cue_and_its_list_are_read(question: str, answer: str, type_: str, head: str, tails: set[str]) -> None:
    assert read(question, answer) == {(type_, head, tail) for tail in tails}


def test_tests_that_nobody_asked_for_count_where_half_of_their_list_are_known() -> None:
    assert len(read("肺癌怎么办？", "肺癌需要做胸部CT、家族史。")) == 2
    assert not read("肺癌怎么办？", "肺癌需要做胸部CT、家族史、生活史。")


def test_a_bare_list_answers_what_was_asked() -> None:
    assert read("脓腔炎如何治疗?", "手术治疗；药物治疗") == {
        ("RECOMMEND_CURE", "脓腔炎", "手术治疗"),
        ("RECOMMEND_CURE", "脓腔炎", "药物治疗"),
    }


def test_several_relations_in_one_answer_are_told_apart() -> None:
    answer = "肺结核的症状有咳嗽、咯血。需要做胸部平片、痰涂片检查。建议服用异烟肼片。可并发自发性气胸。"
    assert {type_ for type_, _, _ in read("肺结核是什么病？", answer)} == {
        "HAS_SYMPTOM",
        "RECOMMEND_TEST",
        "RECOMMEND_DRUG",
        "HAS_COMORBIDITY",
    }


@pytest.mark.parametrize(
    "answer",
    [
        "本病应与肺结核相鉴别。",
        "孕妇禁用利巴韦林片。",
        "不建议自行服用阿莫西林胶囊。",
        "一般不会出现皮疹。",
        "通常不需要做胸部CT。",
        "目前没有证据表明利巴韦林片对此有效。",
        "平时要注意饮食清淡，多喝水，保持心情愉快。",
        "发病原因目前还不清楚，可能与遗传、环境等因素有关。",
        "家里人得过肺结核，所以我比较担心。",
        "祝您早日康复！",
    ],
)
def test_what_denies_or_tells_of_something_else_gives_nothing(answer: str) -> None:
    assert read("肺炎是什么病？", answer) == set()


@pytest.mark.parametrize("question", ["今天天气怎么样？", "你好", "手机坏了怎么办", "。。。", "？"])
def test_a_question_without_a_disease_gives_nothing(question: str) -> None:
    assert read(question, "治疗方法有手术治疗。症状有发热、咳嗽。") == set()


def test_a_disease_with_a_longer_name_is_not_taken_for_its_beginning() -> None:
    known = NameVocabulary({"Disease": frozenset({"肺炎"})})
    assert {head for _, head, _ in read("肺炎性假瘤的症状有哪些？", "症状有胸痛。", known)} == {"肺炎性假瘤"}


def test_the_vocabulary_knows_names_that_are_not_worded_like_their_class(tmp_path: Path) -> None:
    file = tmp_path / "medical.json"
    file.write_text('{"name": "落枕", "recommand_drug": ["云南白药"], "symptom": "颈部不适"}\n\nbroken\n', "utf-8")
    known = read_vocabulary(file)
    assert read("落枕吃什么药", "建议服用云南白药。") == set()
    assert read("落枕吃什么药", "建议服用云南白药。", known) == {("RECOMMEND_DRUG", "落枕", "云南白药")}
    assert RuleReader(known).signature != RuleReader().signature


@pytest.mark.parametrize("content", ["no JSON", '{"title": "x"}', "[]"])
def test_a_file_without_names_is_no_vocabulary(tmp_path: Path, content: str) -> None:
    (tmp_path / "v.json").write_text(content + "\n")
    with pytest.raises(SourceError, match=r"v\.json"):
        read_vocabulary(tmp_path / "v.json")


def test_denial_holds_within_its_clause() -> None:
    assert denied("没有发热、咳嗽。", "咳嗽", "HAS_SYMPTOM")
    assert not denied("没有发热，但有咳嗽。", "咳嗽", "HAS_SYMPTOM")


@given(st.text(max_size=80), st.text(alphabet="肺炎的症状有发热、咳嗽，。；和等 1.治疗需要做检查片", max_size=120))
def test_no_text_breaks_the_rules_and_nothing_is_made_up(question: str, answer: str) -> None:
    question, answer = clean(question), clean(answer)
    text = f"{question}\n{answer}"
    for relation in believe(RuleReader().read(question, answer), text).relations:
        assert relation.head in text and relation.tail in text and relation.span in text


@pytest.mark.parametrize(
    "unit", ["症状有", "、发热", "需要做", "和", "（（（", "1.", "以发热为主要表现", "患者多可常会"]
)
def test_a_long_answer_takes_no_longer_than_its_length(unit: str) -> None:
    RuleReader().read("肺炎的症状？" * 100, unit * 20_000)


@pytest.mark.parametrize(("wordings", "precision", "recall"), [("records", 0.92, 0.7), ("unseen", 0.88, 0.38)])
def test_most_of_what_the_rules_read_is_right(
    shared_data: Path, wordings: str, precision: float, recall: float
) -> None:
    rows = [
        row
        for row in extraction_text.diseases(shared_data / "chinese-disease-kg.jsonl.gz")
        if extraction_text.held_out(row["name"])
    ]
    right = found = known = 0
    for each in getattr(extraction_text, wordings)(rows[:400]):
        question, answer, _ = read_line(json.dumps(each.line).encode())
        kept = believe(RuleReader().read(question, answer), f"{question}\n{answer}").relations
        stated = {(relation.type, relation.head, relation.tail) for relation in kept}
        right += len(stated & each.relations)
        found += len(stated)
        known += len(each.relations)
    assert right / found > precision
    assert right / known > recall
