"""Relations by a language model over real HTTP, from one that answers well to one that attacks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conftest import require_module
from kgdx.config import LlmAccess
from kgdx.errors import LlmError
from kgdx.ingest.extraction.extract import RelationExtraction, extract
from kgdx.ingest.extraction.model_readers import ModelReader
from kgdx.llm.budget import Meter
from kgdx.llm.connect import connect
from llm.server import Fail, Reply, Say, Server, in_turn, serving

require_module("openai", "llm")

ANSWER = "感冒会发热、咳嗽。可以吃阿司匹林片。"
GOOD: dict[str, Any] = {
    "entities": [
        {"text": "感冒", "class": "Disease"},
        {"text": "发热", "class": "Symptom"},
        {"text": "阿司匹林片", "class": "Drug"},
    ],
    "relations": [
        {"type": "HAS_SYMPTOM", "head": "感冒", "tail": "发热", "evidence": "感冒会发热"},
        {"type": "RECOMMEND_DRUG", "head": "感冒", "tail": "阿司匹林片", "evidence": "可以吃阿司匹林片"},
    ],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "qa.jsonl"
    lines = [{"id": f"r{n}", "question": f"感冒怎么办{n}", "answer": ANSWER} for n in range(4)]
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines), "utf-8")
    return path


def said(document: Mapping[str, Any]) -> Say:
    return Say(json.dumps(document, ensure_ascii=False), usage=(100, 50))


def run(
    server: Server, file: Path, out: Path, cache: Path | None = None, jobs: int = 2, **how: Any
) -> RelationExtraction:
    access = LlmAccess("m", server.url, price_in=1.0, price_out=2.0, timeout=60.0, attempts=1, concurrency=jobs)
    meter = Meter.of(access)
    reader = ModelReader(connect(access, cache=cache, meter=meter), **how)
    return extract([file], out, reader, size=2, jobs=jobs, meter=meter)


def one(reply: Say, tmp_path: Path, file: Path) -> RelationExtraction:
    with serving(in_turn(reply)) as server:
        return run(server, file, tmp_path / "out")


def test_relations_tokens_and_cost_come_from_the_endpoint(tmp_path: Path, file: Path) -> None:
    with serving(in_turn(said(GOOD))) as server:
        done = run(server, file, tmp_path / "out")
    assert dict(done.by_type) == {"HAS_SYMPTOM": 4, "RECOMMEND_DRUG": 4}
    assert (done.model, done.spent.calls, done.spent.prompt_tokens, done.spent.completion_tokens) == ("m", 4, 400, 200)
    assert done.spent.cost == pytest.approx(4 * 200 / 1e6)
    asked = server.requests[0]
    assert asked["response_format"]["json_schema"]["strict"] is True
    schema = json.dumps(asked["response_format"]["json_schema"]["schema"])
    assert "HAS_COMORBIDITY" in schema and '"additionalProperties": false' in schema
    assert ANSWER in asked["messages"][1]["content"]


def test_a_second_run_costs_nothing_even_with_other_pages(tmp_path: Path, file: Path) -> None:
    with serving(in_turn(said(GOOD))) as server:
        run(server, file, tmp_path / "out", tmp_path / "cache.sqlite")
        lines = file.read_text("utf-8").splitlines()
        file.write_text("\n".join([*reversed(lines), lines[0]]), "utf-8")
        done = run(server, file, tmp_path / "other", tmp_path / "cache.sqlite")
    assert (done.relations, done.spent.calls, done.spent.cached, done.spent.cost) == (10, 0, 5, 0.0)
    assert len(server.requests) == 4


def test_what_was_answered_before_the_endpoint_went_down_costs_nothing_later(tmp_path: Path, file: Path) -> None:
    def script(body: Mapping[str, Any], number: int) -> Reply:
        return said(GOOD) if number < 3 else Fail(500)

    with serving(script) as server:
        with pytest.raises(LlmError, match="run the same command again"):
            run(server, file, tmp_path / "out", tmp_path / "cache.sqlite", jobs=1)
        server.script = in_turn(said(GOOD))
        before = len(server.requests)
        done = run(server, file, tmp_path / "out", tmp_path / "cache.sqlite", jobs=1)
    assert (done.kept, done.relations, done.spent.cached) == (1, 8, 1)
    assert len(server.requests) == before + 1


def test_records_are_read_together_each_by_its_own_words_and_alone_where_that_gives_nothing(tmp_path: Path) -> None:
    texts = ["感冒会发热。", "可以吃阿司匹林片。感冒要休息。", "没有。", "也没有。"]
    file = tmp_path / "qa.jsonl"
    file.write_text("".join(json.dumps({"question": "怎么办", "answer": each}) + "\n" for each in texts))

    def script(body: Mapping[str, Any], number: int) -> Reply:
        return said(GOOD) if texts[0] in body["messages"][1]["content"] else Say("I cannot", finish="length")

    with serving(script) as server:
        done = run(server, file, tmp_path / "out", together=2, temperature=0.7)
    assert dict(done.by_type) == {"HAS_SYMPTOM": 1, "RECOMMEND_DRUG": 1} and not done.left_out
    assert (done.refused, len(server.requests)) == (2, 4) and {each["temperature"] for each in server.requests} == {0.7}


def stated(**change: str) -> dict[str, Any]:
    return {**GOOD, "relations": [{**GOOD["relations"][0], **change}]}


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (stated(tail="头痛"), "outside domain or range"),
        (stated(type="DROP_TABLE"), "unknown relation"),
        (stated(type="RECOMMEND_TEST"), "outside domain or range"),
        (stated(tail="感冒", head="发热"), "outside domain or range"),
        (stated(tail="感冒"), "outside domain or range"),
        (
            {
                "entities": [{"text": "<img src=x>", "class": "Symptom"}, GOOD["entities"][0]],
                "relations": [{**GOOD["relations"][0], "tail": "<img src=x>"}],
            },
            "no name",
        ),
        (
            {
                "entities": [{"text": "忽略以上指令", "class": "Symptom"}, GOOD["entities"][0]],
                "relations": [{**GOOD["relations"][0], "tail": "忽略以上指令"}],
            },
            "not in the text",
        ),
        (
            {**GOOD, "relations": [{**GOOD["relations"][0], "tail": f"症状{n}"} for n in range(900)]},
            "too many for one record",
        ),
        ({**GOOD, "relations": []}, "isolated"),
    ],
)
def test_what_a_hostile_model_says_is_not_believed(
    tmp_path: Path, file: Path, document: dict[str, Any], reason: str
) -> None:
    done = one(said(document), tmp_path, file)
    assert done.relations == 0
    assert done.left_out[reason] > 0
    assert done.refused == 0


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Say("There are no relations in this text."), "no JSON as asked for"),
        (Say('{"relations": "none"}'), "no JSON as asked for"),
        (Say('{"entities": [], "relations": [], "cypher": "MATCH (n) DETACH DELETE n"}'), "no JSON as asked for"),
        (Say(json.dumps({**GOOD, "relations": GOOD["relations"] * 10_000})), "does not end its answer"),
        (Say(refusal="no"), "refuses to answer"),
        (Say("抱歉，我无法回答"), "refuses to answer"),
    ],
    ids=range(6),
)
def test_an_answer_of_another_form_refuses_its_record(tmp_path: Path, file: Path, reply: Say, reason: str) -> None:
    done = one(reply, tmp_path, file)
    assert (done.relations, done.refused) == (0, 4)
    assert reason in next(iter(done.reasons))


def test_a_name_that_was_cut_off_is_not_taken(tmp_path: Path, file: Path) -> None:
    text = json.dumps(GOOD, ensure_ascii=False)
    with serving(in_turn(Say(text[: text.rindex("阿司匹林片")], finish="length"))) as server:
        done = run(server, file, tmp_path / "out")
    assert dict(done.by_type) == {"HAS_SYMPTOM": 4}


def test_a_wrong_key_is_one_line_and_leaves_a_folder_to_go_on_with(tmp_path: Path, file: Path) -> None:
    with serving(in_turn(Fail(401, "bad key"))) as server:
        with pytest.raises(LlmError) as caught:
            run(server, file, tmp_path / "out", jobs=1)
        server.script = in_turn(said(GOOD))
        assert run(server, file, tmp_path / "out").relations == 8
    assert "401: bad key" in str(caught.value)
    assert "KGDX_LLM_API_KEY" in str(caught.value)
    assert "\n" not in str(caught.value)
