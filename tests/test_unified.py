"""All real files in one graph: what is loaded and refused, and that no answer is the worse for it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import kgdx
from kgdx import api
from kgdx.answer.cited_answer import Answer
from kgdx.graph.arcade.embedded import ArcadeStore
from kgdx.ingest.pipeline.build_report import BuildReport, read_report
from kgdx.ingest.pipeline.graph_folder import GraphFolder
from kgdx.ingest.source_choice import select
from kgdx.terms.normalise import has_chinese

pytestmark = pytest.mark.heavy

COUNTS = {
    "agentclinic": (214, 214, 0, 0),
    "chinese_kg": (159_995, 158_675, 231, 1_089),
    "disease_names_zh": (8_689, 7_589, 0, 1_100),
    "dx_dialogues": (2_799, 2_792, 0, 7),
    "dx_symptoms": (41, 0, 41, 0),
    "encyclopedia": (2_116, 2_116, 0, 0),
    "encyclopedia_symptoms": (10_869, 10_846, 23, 0),
    "hp_zh": (18_988, 18_988, 0, 0),
    "hpoa": (271_702, 271_659, 43, 0),
    "orphanet_omim": (11_378, 7_364, 0, 4_014),
    "phenopackets": (150_808, 150_636, 0, 172),
    "symptom2disease": (3_513, 3_513, 0, 0),
}
"""Read, loaded, merged, refused."""

RELATIONS = {"HAS_SYMPTOM", "RECOMMEND_TEST", "RECOMMEND_DRUG", "RECOMMEND_CURE", "HAS_COMORBIDITY"}

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


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("unified") / "graph"


@pytest.fixture(scope="session")
def report(shared_data: Path, folder: Path) -> BuildReport:
    return kgdx.build(select((), place=shared_data).sources, store=folder)


def test_every_source_adds_up(report: BuildReport) -> None:
    found = {name: (s.read, s.loaded, s.merged, s.quarantined) for name, s in report.sources.items()}
    assert {name: counts for name, counts in found.items() if name in COUNTS} == COUNTS
    assert all(read == loaded + merged + refused for read, loaded, merged, refused in found.values())
    assert report.relations.keys() >= RELATIONS
    assert report.nodes["Document"] == 1_058 and report.nodes["PatientCase"] == 6_740 + 1_307  # those of DDXPlus


def test_the_store_holds_what_was_built(report: BuildReport, folder: Path) -> None:
    with ArcadeStore.open(folder / "builds" / report.id / "store") as store:
        assert store.fingerprint() == report.fingerprint


def test_reading_a_source_and_removing_it_again_changes_nothing(
    tiny_graph: Path, shared_data: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(tiny_graph, tmp_path / "graph"))
    before = read_report(GraphFolder(folder).current().report)
    read = api.update({"dx_dialogues": str(shared_data / "dxy-dialogue-train.jsonl.gz")}, store=folder)
    assert "dx_dialogues" in read.sources and read.fingerprint != before.fingerprint
    again = api.remove("dx_dialogues", store=folder)
    assert again.fingerprint == before.fingerprint
    assert (again.nodes, again.relations) == (before.nodes, before.relations)


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


def test_more_sources_make_no_answer_worse(report: BuildReport, folder: Path, default_graph: Path) -> None:
    found, asked = [], 0
    with kgdx.open(default_graph) as few, kgdx.open(folder) as many:
        for disease in DISEASES:
            forms = CHINESE if has_chinese(disease) else ENGLISH
            listed = few.ask(forms[0].format(disease), policy="rules")
            finding = next(iter(objects(listed, cited=True).values()), "fever").lower()
            for form in forms:
                question = form.format(disease, finding)
                asked += 1
                found.append(worse(question, few.ask(question, policy="rules"), many.ask(question, policy="rules")))
    assert asked == 200 and [each for each in found if each] == []
