"""A consultation at the terminal: piped answers, words that are none, and a model that words the questions."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.scripted_agents import scripted_agent

import kgdx
from cli.conftest import Run
from kgdx.episode import load
from kgdx.episode.segment import dump
from llm.server import answering, serving
from osce_cases import osces

ANSWERS = "n\ny\n?\n" * 4


def start(invoke: Callable[..., Run], transcript: Path, answers: str, *more: str, term: str = "HP:0001250") -> Run:
    """Begin with a seizure and ask while an answer tells anything: of three diseases one leads early."""
    known = ("--hpo", term, "--certain", "1", "--transcript", str(transcript))
    return invoke("consult", *known, *more, stdin=answers)


def finished(transcript: Path) -> bool:
    return load(transcript.read_text("utf-8"))[-1].kind == "end"


def test_piped_answers_lead_to_a_ranking(invoke: Callable[..., Run], tmp_path: Path) -> None:
    done = start(invoke, tmp_path / "log", ANSWERS, "--max-questions", "3")
    assert done.returncode == 0, done.stderr
    assert [line[:2] for line in done.stderr.splitlines() if "%]" in line] == ["1.", "2.", "3."]
    assert "Most likely of" in done.stdout
    assert finished(tmp_path / "log")
    if os.name == "posix":
        assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o600


def test_where_the_answers_end_it_waits_and_another_process_goes_on_with_an_equal_log(
    invoke: Callable[..., Run], tmp_path: Path
) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    start(invoke, whole, ANSWERS, "--max-questions", "4")
    first = start(invoke, parts, "n\n", "--max-questions", "4")
    assert f"the consultation is not finished: go on with `kgdx consult --resume {parts}`" in first.stderr
    assert first.stdout == ""
    assert not finished(parts)
    second = invoke("consult", "--resume", str(parts), stdin="y\n?\nn\n")
    assert second.returncode == 0, second.stderr
    assert load(parts.read_text("utf-8")) == load(whole.read_text("utf-8"))


def test_one_can_go_back_ask_why_and_finish(invoke: Callable[..., Run], tmp_path: Path) -> None:
    done = start(invoke, tmp_path / "log", "b\nw\nn\nb\ny\nf\n", "--json")
    assert "this is the first question" in done.stderr
    assert "bits about which disease it is" in done.stderr and "If yes: " in done.stderr
    found = json.loads(done.stdout)
    assert found["reason"] == "finished"
    replies = [each for each in load((tmp_path / "log").read_text("utf-8")) if each.author == "patient"]
    assert [each.data["status"] for each in replies] == ["present"], "what was taken back is not in the log"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--resume", "none.jsonl"), "the transcript none.jsonl cannot be read"),
        (("--resume", "{bad}"), "line 1 of the log is no JSON"),
        (("--resume", "{bad}", "--hpo", "HP:0001250"), "a transcript has its own patient"),
        (("--policy", "oracle"), "no policy 'oracle'"),
        (("--policy", "fixed"), "the policy fixed asks no patient: take one of"),
        (("--selector", "oracle"), "no selector 'oracle'"),
        (("--language", "fr"), "policy inquiry: speaks"),
        (("--record", "visit.doc"), "visit.doc is no form of a record"),
        (("--certain", "2"), "Invalid value for '--certain'"),
        (("--max-questions", "-1"), "Invalid value for '--max-questions'"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    invoke: Callable[..., Run], tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("{]\n{}\n", "utf-8")
    done = invoke("consult", *(each.format(bad=bad) for each in arguments), stdin="")
    assert done.returncode != 0
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_consultation_is_led_in_chinese(invoke: Callable[..., Run], tmp_path: Path) -> None:
    done = start(invoke, tmp_path / "log", "没有，从来没有\n有，三天前开始\n?\n结束\n", "--language", "zh")
    assert done.returncode == 0, done.stderr
    assert "1. 有没有" in done.stderr
    replies = [each for each in load((tmp_path / "log").read_text("utf-8")) if each.author == "patient"]
    assert [(each.data["status"], each.words.get("text")) for each in replies[:2]] == [
        ("absent", "从来没有"),
        ("present", "三天前开始"),
    ]


def test_after_a_yes_the_kinds_are_listed_and_chosen_by_number(
    invoke: Callable[..., Run], tmp_path: Path, tiny_graph: Path
) -> None:
    with kgdx.open(tiny_graph) as graph:
        talk = graph.consult(["HP:0001250"], certain=1.0, complaints=False)
        while (asked := talk.question) is not None and asked.term != "HP:0001507":
            talk.skip()
        talk.answer(True)
        (tmp_path / "log").write_text(dump(talk.log), "utf-8")
    done = invoke("consult", "--resume", str(tmp_path / "log"), stdin="2\nf\n")
    assert "which of these?" in done.stderr
    assert "   1 Delayed growth" in done.stderr and "   2 Small stature" in done.stderr
    assert "Short stature" in done.stdout


def test_what_contradicts_and_what_could_not_be_read_is_said(invoke: Callable[..., Run], tmp_path: Path) -> None:
    done = start(invoke, tmp_path / "log", "n\nhe has a fever\nthe weather is nice\nf\n")
    assert "! Fever" in done.stderr
    assert "noted; nothing of it could be read" in done.stderr


def test_the_record_is_written_in_three_forms_and_reads_back(invoke: Callable[..., Run], tmp_path: Path) -> None:
    for name in ("visit.json", "visit.html", "visit.phenopacket.json"):
        done = start(invoke, tmp_path / "log", "n\nf\n", "--record", str(tmp_path / name))
        assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "visit.json").read_text("utf-8"))
    assert [each["answer"] for each in record["turns"]] == ["absent", None]
    assert "Fever" in (tmp_path / "visit.html").read_text("utf-8")
    packet = json.loads((tmp_path / "visit.phenopacket.json").read_text("utf-8"))
    assert [each.get("excluded", False) for each in packet["phenotypicFeatures"]] == [False, True]
    again = invoke("report", str(tmp_path / "visit.json"), "--out", str(tmp_path / "again.html"))
    assert again.returncode == 0, again.stderr


Kgdx = Callable[..., Run]

ENDPOINT = {"KGDX_LLM_API_KEY": "none", "KGDX_LLM_ATTEMPTS": "1"}


def test_a_model_words_the_questions_and_a_person_answers(invoke: Kgdx, tmp_path: Path) -> None:
    transcript = tmp_path / "visit.jsonl"
    settings = ("--certain", "1", "--max-questions", "4", "--transcript", str(transcript))
    with serving(answering(scripted_agent("right", osces()))) as server:
        done = invoke(
            "consult", "seizures", "--llm", "m", *settings, stdin="y\nn\n", KGDX_LLM_BASE_URL=server.url, **ENDPOINT
        )
        asked = len(server.requests)
        assert "Do you have" in done.stderr, done.stderr
        resumed = ("consult", "--resume", str(transcript), "--llm", "m")
        again = invoke(*resumed, stdin="f\n", KGDX_LLM_BASE_URL=server.url, **ENDPOINT)
    assert asked >= 2 and again.returncode == 0, again.stderr
    assert '"policy": "doctor"' in transcript.read_text("utf-8")


def test_a_consultation_keeps_to_its_calls_and_goes_on_by_rules(invoke: Kgdx, tmp_path: Path) -> None:
    words = ("--llm", "m", "--certain", "1", "--max-calls", "2", "--json")
    with serving(answering(scripted_agent("right", osces()))) as server:
        settings = {"KGDX_LLM_BASE_URL": server.url, "KGDX_CACHE": str(tmp_path), **ENDPOINT}
        done = invoke("consult", "seizures", *words, stdin="y\nn\nn\nf\n", **settings)
        assert len(server.requests) == 2
    assert done.returncode == 0 and json.loads(done.stdout)["candidates"], done.stderr


def test_a_model_for_a_policy_that_asks_none_is_refused_in_a_line(invoke: Kgdx) -> None:
    done = invoke("consult", "seizures", "--policy", "inquiry", "--llm", "m", stdin="f\n")
    assert done.returncode != 0 and "asks no model" in done.stderr and done.stderr.count("\n") == 1
