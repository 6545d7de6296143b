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
        ("lithium while nursing", "ask a doctor or a pharmacist"),
        ("Which painkiller must I avoid with a history of stomach ulcer bleeding?", "ask a doctor or a pharmacist"),
        ("白血病里儿童最多见的是急淋还是急髓？", "图谱中没有白血病的患病率"),
        ("How much paracetamol may an adult take in a day?", "Not in this graph: doses"),
        ("highest amount of ibuprofen for a child per day", "Not in this graph: doses"),
        ("地高辛每天还是隔天，每次几片？", "图谱中没有剂量"),
        ("Can I take codeine in the second trimester?", "ask a doctor or a pharmacist"),
        ("Can simvastatin and amiodarone be given together?", "ask a doctor or a pharmacist"),
        ("甲硝唑和头孢一起服行吗", "请咨询医生或药师"),
        ("Her lips are swelling and she is gasping, what do I do?", "Call the emergency number"),
        ("奶奶突然说不出话，怎么办", "请立即拨打急救电话"),
    ],
)
def test_danger_and_doses_are_answered_by_whom_to_ask_alone(graph: Graph, question: str, said: str) -> None:
    answer = graph.ask(question, policy="rules").text
    assert said in answer.text and not any(sentence.cites for sentence in answer.sentences)


def test_diseases_with_signs_of_danger_are_looked_up(graph: Graph) -> None:
    assert "Bell palsy" in told(graph, "Which diseases have facial droop and arm weakness?")


@pytest.mark.parametrize(
    ("question", "said", "unsaid"),
    [
        ("What are the symptoms of Usher syndrome type 9?", ["no entry called Usher syndrome type 9", "type 2"], "[E"),
        ("Does Usher syndrome type 9 cause hearing loss?", ["no entry called Usher syndrome type 9"], "[E"),
        ("戈谢病9型有哪些症状？", ["没有名为“戈谢病9型”的条目", "Gaucher disease type 2"], "[E"),
        ("What are the symptoms of diabetes type 2?", ["recorded for diabetes type 2", "Polyuria"], "Nothing was made"),
        ("SMA type 1 symptoms?", ["recorded for SMA type 1", "Areflexia"], "no entry"),
        ("戈谢病2型有哪些症状？", ["脾肿大"], "没有名为"),
        ("为什么罗兰病的宝宝心脏大？", ["没有名为“罗兰病”的条目"], "[E"),
        ("阿克曼肌萎缩症有什么症状？", ["没有名为“阿克曼肌萎缩症”的条目"], "[E"),
        ("What are the symptoms of ABC deficiency?", ["no entry called ABC deficiency"], "[E"),
        ("Compare Crohn's disease with ulcerative colitis", ["not recorded for ulcerative colitis: "], "Only"),
        ("Is lupus inherited?", ["Polygenic inheritance"], "Yes"),
    ],
)
def test_a_type_is_found_however_it_is_written_and_one_that_is_not_there_is_not_answered_for_others(
    graph: Graph, question: str, said: list[str], unsaid: str
) -> None:
    answer = told(graph, question)
    assert all(each in answer for each in said) and unsaid not in answer


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Can people with Fabry disease sweat normally?", "Hypohidrosis (80-99%)"),
        ("法布雷病患者能正常出汗吗？", "少汗症"),
        ("Which diseases mean that I can't sweat normally?", "Ectodermal dysplasia"),
        ("急淋有哪些症状？", "贫血"),
        ("慢粒的致病基因是什么？", "ABL1"),
        ("哪些疾病会手抖？", "甲状腺危象"),
        ("Which gene is behind Marfans?", "FBN1"),
        ("脊髓性肌萎缩症的致病基因是什么？", "SMN1"),
        ("Which blood tests point to Wilsons?", "Decreased circulating ceruloplasmin"),
        ("What is HP:0000252?", "Microcephaly (HP:0000252)"),
        ("What is the OMIM number of Marfan syndrome?", "(OMIM:154700)"),
        ("I have Wilson disease, what are the odds for my child?", "at least a carrier"),
    ],
)
def test_words_of_every_day_are_read_in_questions(graph: Graph, question: str, said: str) -> None:
    answer = told(graph, question)
    assert said in answer and not answer.startswith(("Yes", "是"))


def test_the_opposite_of_what_is_read_in_a_question_is_no_answer(graph: Graph) -> None:
    assert "Hyperhidrosis" not in told(graph, "I can't sweat normally, what could it be?")


def test_what_has_to_be_counted_over_the_whole_graph_is_not_answered_from_a_part(graph: Graph) -> None:
    assert "over which nothing is counted" in told(graph, "Which genes cause more than one cancer syndrome?")
    assert "Nothing was made of “more than one form of”" in told(
        graph, "Which gene causes more than one form of Usher syndrome?"
    )
