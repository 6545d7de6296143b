"""`kgdx extract-relations` as a person calls it, by rules and with a model behind a scripted endpoint."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import Run
from conftest import TINY, require_module
from llm.server import Say, in_turn, serving

FILE = str(TINY / "huatuo.jsonl")
REPORT = {
    "entities": [{"text": "肺炎", "class": "Disease"}, {"text": "发热", "class": "Symptom"}],
    "relations": [{"type": "HAS_SYMPTOM", "head": "肺炎", "tail": "发热", "evidence": ""}],
}
GOOD = Say(json.dumps(REPORT, ensure_ascii=False), usage=(1_000_000, 0))


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


def test_no_more_is_asked_than_is_let(modelled: Callable[..., Run], tmp_path: Path) -> None:
    with serving(in_turn(GOOD)) as server:
        done = modelled(server.url, "--max-calls", "3", "--jobs", "2")
        assert len(server.requests) == 3
    assert done.returncode != 0 and "budget of 3 calls" in done.stderr and "1 pages are kept" in done.stderr


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
