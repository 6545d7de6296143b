"""Questions asked of an open graph: any text, by rules and by models of every way to reach them."""

from __future__ import annotations

import json
import re
import shutil
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kgdx
from kgdx.api.questions import MAX_QUESTION, checked
from kgdx.config import LlmAccess
from kgdx.episode import Limits
from kgdx.errors import ConfigError, StoreLockedError, UsageError
from kgdx.llm.connect import connect
from kgdx.results.words import clean
from llm.server import Body, Reply, Say, serving
from racing import raced

QUESTION = "甲热吃什么药"

PLAN = json.dumps({"thought": "", "actions": [{"action": "get_drug", "diseases": ["甲热"]}]}, ensure_ascii=False)


@pytest.fixture
def copy(zh_graph: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(zh_graph, tmp_path / "copy", ignore=shutil.ignore_patterns(".*")))


def planned(body: Body, number: int) -> Reply:
    return [Say(PLAN), Say("[]"), Say("甲热用甲片[E1]。")][number % 3]


# ------------------------------------------------------------------ by rules
@pytest.mark.parametrize(
    "question", ["0" * 1_500, "咕噜" * 700, "Blorp zorp frum " * 90, "MATCH (n) DETACH DELETE n", "?!" * 50 + "x"]
)
def test_nonsense_has_no_evidence_whatever_its_length(zh_graph: Path, question: str) -> None:
    with kgdx.open(zh_graph) as graph:
        answer = graph.ask(question)
    assert (answer.text.insufficient, answer.text.unsupported, answer.pack.answers) == (True, 0, ())
    assert answer.text.text.startswith(("Not enough evidence", "Not in this graph", "证据不足"))


@pytest.mark.parametrize(
    ("question", "how", "wrong"),
    [
        ("", {}, "the question is empty"),
        (" ?! ", {}, "the question is empty"),
        ("x" * 20_001, {}, "20,001 letters"),
        (QUESTION, {"rounds": 0}, "rounds is 0"),
        (QUESTION, {"colour": "red"}, "no setting 'colour'"),
        (QUESTION, {"policy": "magic"}, "no policy 'magic'"),
    ],
)
def test_a_question_that_cannot_be_asked_says_why(
    zh_graph: Path, question: str, how: dict[str, Any], wrong: str
) -> None:
    with kgdx.open(zh_graph) as graph, pytest.raises(UsageError, match=wrong):
        graph.ask(question, **how)


def test_a_case_is_ranked_for_its_question(zh_graph: Path, tiny: Path, tmp_path: Path) -> None:
    made = tmp_path / "cases"
    kgdx.build({"hp": str(tiny / "hp.obo"), "hpoa": str(tiny / "phenotype.hpoa")}, store=made)
    with kgdx.open(made) as graph:
        answer = graph.ask("What does it fit?", case="seizures and hypotonia")
    assert answer.case is not None
    assert answer.candidates[0].id == answer.pack.items[0].subject.id == "OMIM:100001"
    assert [member.id for member in answer.candidates[0].in_family] == ["ORPHA:900001"], "one row for a family"
    assert answer.pack.items[0].id in answer.text.sentences[0].cites


# ------------------------------------------------------------------ by models
def test_a_model_is_reached_by_the_settings(zh_graph: Path, kgdx_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with kgdx.open(zh_graph) as graph, pytest.raises(ConfigError, match="KGDX_LLM_BASE_URL"):
        graph.ask(QUESTION, model="m")
    monkeypatch.setenv("KGDX_LLM_PRICE_IN", "1000")
    with serving(planned, monkeypatch) as server, kgdx.open(zh_graph) as graph:
        first, again = (graph.ask(QUESTION, model="m") for _ in range(2))
    assert len(server.requests) == 3
    assert (first.usage.calls, first.usage.cached, first.usage.cost) == (3, 0, pytest.approx(0.03))
    assert (again.usage.calls, again.usage.cached, again.usage.cost) == (0, 3, 0.0)
    assert first.id == again.id


def test_a_cost_needs_prices(zh_graph: Path, kgdx_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGDX_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    with kgdx.open(zh_graph) as graph, pytest.raises(UsageError, match="KGDX_LLM_PRICE_IN"):
        graph.ask(QUESTION, model="m", limits=Limits(cost=1.0))


def test_a_recorded_run_is_played_back_without_an_endpoint(zh_graph: Path, tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    with serving(planned) as server, kgdx.open(zh_graph) as graph:
        recording = connect(LlmAccess("m", server.url, cassette=tape, cassette_mode="record"))
        recorded = graph.ask(QUESTION, model=recording)
    with kgdx.open(zh_graph) as graph:
        played = graph.ask(QUESTION, model=connect(LlmAccess("m", "", cassette=tape, cassette_mode="replay")))
        other = graph.ask("甲热做什么检查", model=connect(LlmAccess("m", "", cassette=tape, cassette_mode="replay")))
    assert (played.id, played.text, played.pack) == (recorded.id, recorded.text, recorded.pack)
    assert [issue.message for issue in other.issues if "recording" in issue.message]
    assert "血常规[E1]" in other.text.text, "what the recording lacks is looked up by rules"


def test_what_identifies_the_patient_does_not_leave(zh_graph: Path) -> None:
    asked = "Which drugs treat 甲热? Dr. Jane Roe (MRN 448812, born 3 May 1961) wants to know."
    with serving(planned) as server, kgdx.open(zh_graph) as graph:
        answer = graph.ask(asked, model=connect(LlmAccess("m", server.url, deidentify=True)), language="zh")
    sent = json.dumps(server.requests, ensure_ascii=False)
    assert len(server.requests) == 3
    assert "甲热" in sent
    assert not [each for each in ("Jane", "Roe", "448812", "1961") if each in sent]
    assert answer.text.cited == ("E1",)


def test_many_questions_at_once_keep_to_the_limit_of_calls_at_a_time(zh_graph: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with serving(lambda body, number: Say("[]", stall=0.02)) as server, kgdx.open(zh_graph) as graph:
        model = connect(LlmAccess("m", server.url, concurrency=2))
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: graph.ask(QUESTION, model=model), range(8)))
    assert len({answer.id for answer in answers}) == 1
    assert server.busiest == 2


# ------------------------------------------------------------------ saved
def test_a_saved_answer_holds_the_models_words_only_when_asked_to(copy: Path) -> None:
    with serving(planned) as server, kgdx.open(copy) as graph:
        answer = graph.ask(QUESTION, model=connect(LlmAccess("m", server.url)))
        run = graph.save(answer)
        (kept,) = graph.run("run_by_id", run_id=run)
        assert run == answer.id
        assert QUESTION not in kept["trace"]
        assert "甲片[E1]" not in kept["trace"]
        assert graph.save(answer, text=True) == run
        (kept,) = graph.run("run_by_id", run_id=run)
        assert QUESTION in kept["trace"]
        assert all(each.same for each in graph.replay(run))


_SAVING = """
import sys
import kgdx
from kgdx.errors import KgdxError
store, question = sys.argv[1:]
with kgdx.open(store) as graph:
    answer = graph.ask(question)
print("ready", flush=True)
sys.stdin.readline()
try:
    print(kgdx.save(answer, store=store))
except KgdxError as error:
    print(type(error).__name__)
"""


def test_runs_that_are_saved_at_once_are_there_once_and_whole(copy: Path) -> None:
    questions = (QUESTION, QUESTION, "甲热做什么检查", "甲热有哪些症状")
    saved = [each.strip() for each in raced(_SAVING, [(copy, question) for question in questions])]
    assert any(each.startswith("run:") for each in saved), saved
    assert {each for each in saved if not each.startswith("run:")} <= {StoreLockedError.__name__}
    with kgdx.open(copy) as graph:
        for run in {each for each in saved if each.startswith("run:")}:
            (kept,) = graph.run("run_by_id", run_id=run)
            assert [each["id"] for each in graph.run("case_runs", case_id=kept["case_id"])] == [run]
            assert json.loads(kept["trace"])[-1]["name"] == "final"
            assert all(each.same for each in graph.replay(run))


def test_a_run_that_cannot_be_saved_whole_leaves_nothing(copy: Path) -> None:
    from dataclasses import replace

    from kgdx.errors import StoreError
    from kgdx.results.ranked import Candidate

    with kgdx.open(copy) as graph:
        answer = graph.ask(QUESTION)
        stranger = Candidate(1, "OMIM:404", "Elsewhere", ("OMIM:404",), 1.0, {}, ())
        with pytest.raises(StoreError, match="OMIM:404 is not in this graph"):
            graph.save(replace(answer, candidates=(stranger,)))
        assert graph.run("run_by_id", run_id=answer.id) == []


def test_a_graph_that_cannot_be_read_is_no_graph_without_evidence(copy: Path) -> None:
    from kgdx.errors import StoreError
    from kgdx.ingest.pipeline.build_files import record

    (snapshot,) = copy.glob("builds/*/snapshot/snapshot.json")
    snapshot.write_text(re.sub(r'"format": \d+', '"format": 2', snapshot.read_text("utf-8")), "utf-8")
    with pytest.raises(StoreError, match=r"snapshot.json is not what was written: build it again with `kgdx build`"):
        kgdx.open(copy)
    record(snapshot.parents[1])
    with kgdx.open(copy) as graph, pytest.raises(StoreError, match=r"has layout 2.*build the graph again"):
        graph.ask(QUESTION)


def test_a_malformed_template_is_an_error_and_never_an_answer(zh_graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kgdx.errors import TemplateError

    def broken(*arguments: Any, **parameters: Any) -> Any:
        raise TemplateError("template file read/drugs_of_diseases.cypher has no columns")

    with kgdx.open(zh_graph) as graph:
        monkeypatch.setattr(type(graph.compiled), "answered", broken)
        monkeypatch.setattr(type(graph), "run", broken)
        for question in (QUESTION, "甲热做什么检查", "What causes 甲热?"):
            with pytest.raises(TemplateError, match="has no columns"):
                graph.ask(question)


@pytest.mark.parametrize("name", ["Tiny epilepsy 7", "Tiny epilepsy syndrome 7", "Tiny epilepsy syndrome type 7"])
def test_a_form_that_the_graph_lacks_is_not_taken_for_another(graph: kgdx.Graph, name: str) -> None:
    assert "Not enough evidence" in graph.ask(f"Which gene causes {name}?").text.text


hostile = st.text(
    alphabet=st.sampled_from(["\ud800", "\udcff", "a", "咳", " ", "?", "\0", "\x1b", "\u202e"]), max_size=20
)


@given(st.text(max_size=200) | hostile)
def test_any_question_is_taken_or_refused(question: str) -> None:
    try:
        taken = checked(question)
    except UsageError:
        assert not any(each.isalnum() for each in question)
        return
    assert taken == taken.strip() and len(taken) <= MAX_QUESTION
    taken.encode("utf-8")


@given(st.text(max_size=100) | hostile)
def test_what_is_shown_holds_nothing_that_steers_a_terminal(text: str) -> None:
    shown = clean(text)
    assert not any(unicodedata.category(each) == "Cc" and each not in "\t\n" for each in shown)
    assert not set(shown) & set("\x1b\x07\x00\u202e\u2066\u200b\u061c")
    assert clean(shown) == shown
    shown.encode("utf-8")
