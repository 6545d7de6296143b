"""Questions of patients and clinicians, answered by rules from the graph that everybody has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kgdx
from kgdx.api import Graph
from kgdx.terms.normalise import has_chinese


@pytest.fixture(scope="module")
def graph(default_graph: Path) -> Iterator[Graph]:
    with kgdx.open(default_graph) as opened:
        yield opened


def told(graph: Graph, question: str) -> str:
    return graph.ask(question, policy="rules").text.text


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("马方综合征是遗传病吗", "常染色体显性遗传"),
        ("苯丙酮尿症的遗传方式", "常染色体隐性遗传"),
        ("百日咳有什么症状", "咳嗽"),
        ("怀疑阑尾炎要查什么", "白细胞计数"),
        ("Gitelman综合征的致病基因", "SLC12A3"),
    ],
)
def test_chinese_questions_have_chinese_answers_without_leftover_words(graph: Graph, question: str, said: str) -> None:
    answer = told(graph, question)
    assert said in answer and "未使用" not in answer and has_chinese(answer)


@pytest.mark.parametrize("question", ["白癜风看什么科", "冠心病常见吗", "眼球震颤好发年龄", "冠心病会引起什么病"])
def test_what_is_said_of_diseases_alone_is_not_answered_with_diseases_of_a_finding(graph: Graph, question: str) -> None:
    answer = told(graph, question)
    assert "相符的疾病" not in answer and ("图谱中没有" in answer or "证据不足" in answer)


def test_details_of_a_questionnaire_are_no_symptoms(graph: Graph) -> None:
    answer = told(graph, "symptoms of pneumonia")
    assert "Cough" in answer and "color of the rash" not in answer and "place of the rash" not in answer


def test_names_in_another_language_are_said_to_be_so(graph: Graph) -> None:
    assert "部分名称为英文" in told(graph, "肌肉无力、眼睑下垂、近视是什么病")
    assert "部分名称为英文" not in told(graph, "马方综合征是遗传病吗")


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("my dad's face has dropped on one side and he can't lift his arm", "Call the emergency number"),
        ("Swallowed 30 paracetamol two hours ago, do I need anything?", "Call the emergency number"),
        ("孩子吃花生后嘴唇肿、喘不上气怎么办？", "请立即拨打急救电话"),
        ("布洛芬孩子12公斤一次吃多少？", "图谱中没有剂量"),
        ("How much paracetamol may an adult take in a day?", "Not in this graph: doses"),
    ],
)
def test_danger_and_doses_are_answered_by_whom_to_ask_alone(graph: Graph, question: str, said: str) -> None:
    answer = graph.ask(question, policy="rules").text
    assert said in answer.text and not any(sentence.cites for sentence in answer.sentences)


def test_diseases_with_signs_of_danger_are_looked_up(graph: Graph) -> None:
    assert "Bell palsy" in told(graph, "Which diseases have facial droop and arm weakness?")
