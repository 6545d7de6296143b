"""Questions of patients and clinicians, answered by rules from the graph that everybody has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kgdx
from kgdx.api import Graph
from kgdx.terms.normalise import has_chinese, read_table


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


@pytest.mark.parametrize("question", ["白癜风看什么科", "冠心病常见吗", "关节痛好发年龄", "冠心病会引起什么病"])
def test_what_is_said_of_diseases_alone_is_not_answered_with_diseases_of_a_finding(graph: Graph, question: str) -> None:
    answer = told(graph, question)
    assert "相符的疾病" not in answer and ("图谱中没有" in answer or "证据不足" in answer)


def test_details_of_a_questionnaire_are_no_symptoms(graph: Graph) -> None:
    answer = told(graph, "symptoms of pneumonia")
    assert "Cough" in answer and "color of the rash" not in answer and "place of the rash" not in answer


def test_names_in_another_language_are_said_to_be_so(graph: Graph) -> None:
    assert "部分名称为英文" in told(graph, "肌肉无力、眼睑下垂、近视是什么病")
    assert "部分名称为英文" not in told(graph, "马方综合征是遗传病吗")


def test_diseases_with_signs_of_danger_are_looked_up(graph: Graph) -> None:
    assert "Bell palsy" in told(graph, "Which diseases have facial droop and arm weakness?")


def test_the_opposite_of_what_is_read_in_a_question_is_no_answer(graph: Graph) -> None:
    assert "Hyperhidrosis" not in told(graph, "I can't sweat normally, what could it be?")


def test_what_has_to_be_counted_over_the_whole_graph_is_not_answered_from_a_part(graph: Graph) -> None:
    assert "over which nothing is counted" in told(graph, "Which genes cause more than one cancer syndrome?")
    assert "Nothing was made of “more than one form of”" in told(
        graph, "Which gene causes more than one form of Usher syndrome?"
    )


TABLE = read_table(Path(__file__).parents[1] / "data" / "questions_said.tsv")


@pytest.mark.parametrize(("question", "said", "unsaid"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_questions_of_a_kind_are_answered_with_what_they_ask(
    graph: Graph, question: str, said: str, unsaid: str
) -> None:
    answer = told(graph, question)
    assert all(each in answer for each in said.split("|")), answer
    assert not any(each in answer for each in unsaid.split("|") if each), answer
