"""`kgdx extract-relations` as a person calls it, by rules and with a model behind a scripted endpoint."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Run
from conftest import TINY, require_module
from llm.server import Fail, Reply, Say, in_turn, serving

FILE = str(TINY / "huatuo.jsonl")
REPORT = {
    "entities": [{"text": "肺炎", "class": "Disease"}, {"text": "发热", "class": "Symptom"}],
    "relations": [{"type": "HAS_SYMPTOM", "head": "肺炎", "tail": "发热", "evidence": ""}],
}
GOOD = Say(json.dumps(REPORT, ensure_ascii=False), usage=(1_000_000, 0))


def test_relations_are_read_by_rules_and_summed_up(invoke: Callable[..., Run], tmp_path: Path) -> None:
    done = invoke("extract-relations", FILE, "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "12 relations from 8 records by kgdx rules" in done.stdout
    assert "HAS_SYMPTOM" in done.stdout
    assert "the line is no JSON" in done.stdout
    assert "kgdx update" in done.stdout
    again = invoke("extract-relations", FILE, "--out", str(tmp_path / "out"), "--json")
    found = json.loads(again.stdout)
    assert (found["pages"], found["kept"], found["relations"], found["refused"]) == (1, 1, 12, 2)


def test_a_vocabulary_helps_the_rules(invoke: Callable[..., Run], tmp_path: Path) -> None:
    done = invoke(
        "extract-relations", FILE, "-o", str(tmp_path / "o"), "--vocabulary", str(TINY / "medical.json"), "--json"
    )
    assert json.loads(done.stdout)["relations"] >= 12


def test_what_was_read_is_built_and_asked(invoke: Callable[..., Run], home: Path, tmp_path: Path) -> None:
    import kgdx

    invoke("extract-relations", FILE, "--out", str(tmp_path / "out"))
    for origin in (tmp_path / "out", Path(FILE)):
        built = kgdx.build(
            [f"hp={TINY / 'hp.obo'}", f"hpoa={TINY / 'phenotype.hpoa'}", f"huatuo={origin}"], store=tmp_path / "graph"
        )
        assert built.relations["HAS_SYMPTOM"] == 3
        assert built.sources["huatuo"].quarantined == 2
        assert built.sources["huatuo"].merged == 2


def test_the_source_can_be_tried_out(invoke: Callable[..., Run]) -> None:
    done = invoke("sources", "check", "huatuo", FILE, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["counts"]["loaded"] == 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("none.jsonl",), "none.jsonl"),
        ((FILE, "--pages", "3"), "--pages 3 is no range: write it as 0:10"),
        ((FILE, "--pages", "5:9"), "there is no page 5 to 8: the files have the pages 0 to 0"),
        ((FILE, FILE), "two files have one name"),
        ((FILE, "--llm", "m"), "no endpoint is set for the model m: set KGDX_LLM_BASE_URL"),
        ((FILE, "--llm", "m", "--vocabulary", FILE), "--vocabulary is for the rules"),
        ((FILE, "--vocabulary", str(TINY / "hp.obo")), "has no names"),
    ],
)
def test_a_mistake_is_one_line(
    invoke: Callable[..., Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.delenv("KGDX_LLM_BASE_URL", raising=False)
    done = invoke("extract-relations", *arguments, "--out", str(tmp_path / "out"))
    assert done.returncode != 0
    assert done.stdout == ""
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.fixture
def modelled(invoke: Callable[..., Run], tmp_path: Path) -> Callable[..., Run]:
    """Runs the command in a process of its own, with a model at an address."""
    require_module("openai", "llm")

    def run(url: str, *more: str, **environment: str) -> Run:
        command = ("extract-relations", FILE, "--out", str(tmp_path / "out"), "--llm", "m", "--page-size", "2", *more)
        cache = str(tmp_path / "cache")
        settings = {"KGDX_LLM_BASE_URL": url, "KGDX_LLM_ATTEMPTS": "1", "KGDX_LLM_PRICE_IN": "3", "KGDX_CACHE": cache}
        return invoke(*command, home=tmp_path / "home", **(settings | environment))

    return run


def test_a_model_is_asked_and_its_cost_is_shown(modelled: Callable[..., Run], tmp_path: Path) -> None:
    with serving(in_turn(GOOD)) as server:
        done = modelled(server.url, KGDX_LLM_API_KEY="sk-secret")
        assert done.returncode == 0, done.stderr
        assert server.keys[0] == "Bearer sk-secret"
        shutil.rmtree(tmp_path / "out")
        again = modelled(server.url)
        asked = len(server.requests)
    assert "cost 18.0000" in done.stdout
    assert "6 answers, 0 from the cache" in done.stdout
    assert asked == 6
    assert "0 answers, 6 from the cache" in again.stdout
    assert "sk-secret" not in done.stdout + done.stderr


def test_an_endpoint_that_goes_down_leaves_what_is_finished_and_says_how_to_go_on(modelled: Callable[..., Run]) -> None:
    def script(body: Mapping[str, Any], number: int) -> Reply:
        return GOOD if number < 2 else Fail(503)

    with serving(script) as server:
        done = modelled(server.url, "--jobs", "1")
        assert done.returncode == 8
        assert done.stdout == ""
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("error:")]
        assert "run the same command again: it goes on at page 2, 1 pages are kept" in line
        server.script = in_turn(GOOD)
        again = modelled(server.url, "--json")
    assert json.loads(again.stdout)["kept"] == 1


def test_a_recording_replaces_the_endpoint(modelled: Callable[..., Run], tmp_path: Path) -> None:
    tape = {"KGDX_LLM_CASSETTE": str(tmp_path / "tape.jsonl")}
    with serving(in_turn(GOOD)) as server:
        recorded = modelled(server.url, "--json", KGDX_LLM_CASSETTE_MODE="record", **tape)
    shutil.rmtree(tmp_path / "out")
    replayed = modelled("http://127.0.0.1:9/v1", "--json", **tape)
    counts = [json.loads(done.stdout)["by_type"] for done in (recorded, replayed)]
    assert counts[0] == counts[1] != {}
