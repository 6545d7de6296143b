"""Questions made of names of diseases, on the default graph and on one of all sources: more sources lose no answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kgdx
from kgdx.answer.cited_answer import Answer
from kgdx.api import Graph
from kgdx.ingest.source_choice import select
from kgdx.terms.normalise import has_chinese

pytestmark = pytest.mark.heavy

DISEASES = (
    *(
        "Marfan syndrome",
        "Noonan syndrome",
        "cystic fibrosis",
        "Huntington disease",
        "Wilson disease",
        "gout",
        "asthma",
    ),
    *("Turner syndrome", "Down syndrome", "phenylketonuria", "Fabry disease", "Gaucher disease", "Crohn disease"),
    *("Friedreich ataxia", "Refsum disease", "Alport syndrome", "Bartter syndrome", "Gitelman syndrome", "psoriasis"),
    *("Duchenne muscular dystrophy", "tuberous sclerosis", "Lesch-Nyhan syndrome", "Tay-Sachs disease", "migraine"),
    *("Cowden syndrome", "Usher syndrome", "Bardet-Biedl syndrome", "haemophilia A", "Rett syndrome", "influenza"),
    *("Angelman syndrome", "Williams syndrome", "myasthenia gravis", "systemic lupus erythematosus", "pneumonia"),
    *("马凡综合征", "努南综合征", "囊性纤维化", "亨廷顿病", "肝豆状核变性", "痛风", "糖尿病", "血友病A", "法布雷病"),
    *("系统性红斑狼疮", "类风湿关节炎", "帕金森病", "百日咳", "苯丙酮尿症", "唐氏综合征"),
)
ENGLISH = ("What are the symptoms of {}?", "Which gene causes {}?", "How is {} inherited?", "Does {} cause {}?")
CHINESE = ("{}有哪些症状？", "{}的致病基因是什么？", "{}怎么遗传？", "{}会有{}吗？")


@pytest.fixture(scope="module")
def both(
    default_graph: Path, shared_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Graph, Graph]]:
    folder = tmp_path_factory.mktemp("every") / "graph"
    kgdx.build(select((), place=shared_data).sources, store=folder)
    with kgdx.open(default_graph) as few, kgdx.open(folder) as many:
        yield few, many


def objects(answer: Answer, *, cited: bool) -> dict[str, str]:
    """What an answer says, or has found, of its disease: id → name, in the order of the answer."""
    items = {each.id: each for each in answer.pack.items}
    shown = [items[id] for id in answer.text.cited] if cited else items.values()
    return {node.id: node.name for each in shown if each.kind == "relation" for node in each.objects}


def worse(question: str, few: Answer, many: Answer) -> str:
    """How an answer from more sources is worse; empty where it is not."""
    if few.text.insufficient:
        return ""
    if many.text.insufficient:
        return f"{question}: nothing said, but {few.text.text}"
    if few.text.text.startswith(("Yes", "是")) and not many.text.text.startswith(("Yes", "是")):
        return f"{question}: no longer yes: {many.text.text}"
    lost = objects(few, cited=True).keys() - objects(many, cited=False).keys()
    return f"{question}: without {sorted(lost)}" if lost else ""


def test_more_sources_make_no_answer_worse(both: tuple[Graph, Graph]) -> None:
    few, many = both
    found, asked = [], 0
    for disease in DISEASES:
        forms = CHINESE if has_chinese(disease) else ENGLISH
        listed = few.ask(forms[0].format(disease), policy="rules")
        finding = next(iter(objects(listed, cited=True).values()), "fever").lower()
        for form in forms:
            question = form.format(disease, finding)
            asked += 1
            found.append(worse(question, few.ask(question, policy="rules"), many.ask(question, policy="rules")))
    assert asked == 200 and [each for each in found if each] == []
