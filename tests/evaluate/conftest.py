"""Small graphs of evaluations: a Chinese one with all five kinds of relations, and one that is compiled by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kgdx
import small_graph
from kgdx.api import Graph
from kgdx.graph.snapshot import Snapshot
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.rank import Ranker

SYMPTOMS = ("阵发性咳嗽", "持续发热", "全身皮疹", "剧烈头痛", "频繁呕吐", "关节肿痛", "视物模糊", "皮肤瘙痒")
TESTS = ("血液常规", "胸部平片", "头颅核磁", "肝功检验", "尿液分析")
DRUGS = ("甲氧片", "乙脒胶囊", "丙酸口服液", "丁胺注射液", "戊二醇丸")
CURES = ("静脉输液", "手术切除", "物理康复", "放射治疗", "氧气吸入")
NAMES = ("红斑热病", "寒湿症", "青藤中毒", "石林脑炎", "雾肺病", "沙眼热", "river fever", "银屑关节病")


def records() -> list[dict[str, Any]]:
    """Diseases that differ in what they have; each also in Latin letters."""
    return [
        {
            "name": f"{name}" if not name.isascii() else "河谷热",
            "desc": f"{name if not name.isascii() else '河谷热'}(madeup disease {chr(97 + at)})是一种假想的疾病。",
            "symptom": [SYMPTOMS[at], SYMPTOMS[(at + 1) % 8], SYMPTOMS[(at + 3) % 8]],
            "check": [TESTS[at % 5], TESTS[(at + 2) % 5]],
            "common_drug": [DRUGS[at % 5]],
            "cure_way": [CURES[at % 5], CURES[(at + 1) % 5]],
            "acompany": [NAMES[(at + 1) % 6]],
        }
        for at, name in enumerate(NAMES)
    ]


@pytest.fixture(scope="session")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return compile_snapshot(small_graph.tables(), tmp_path_factory.mktemp("evaluate") / "snapshot", "f1")


@pytest.fixture(scope="session")
def ranker(snapshot: Snapshot) -> Ranker:
    return Ranker.open(snapshot)


@pytest.fixture(scope="session")
def chinese_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the graph."""
    folder = tmp_path_factory.mktemp("chinese")
    source = folder / "medical.json"
    source.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in records()), encoding="utf-8")
    kgdx.build({"chinese_kg": str(source)}, store=folder / "graph", force=True)
    return folder / "graph"


@pytest.fixture(scope="module")
def chinese(chinese_store: Path) -> Iterator[Graph]:
    """The graph, open."""
    with kgdx.open(chinese_store) as graph:
        yield graph
