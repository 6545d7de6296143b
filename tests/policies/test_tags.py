"""The policy ``tags`` over a real endpoint: generate, cut at the first closing tag, do it, append, until the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kgdx
from kgdx.api import Graph
from kgdx.case import Case, Finding
from kgdx.cli import main
from kgdx.episode import Kind, begin, run
from kgdx.episode.conversation import spans
from kgdx.episode.tag_protocol import ProtocolRules, read
from kgdx.errors import CaseError
from kgdx.policies.tags import Notation, TagsPolicy
from kgdx.terms.corpora import Corpus
from kgdx.terms.text_search import index_corpus
from kgdx_train.adversaries import Writer
from learn.conftest import EPILEPSY, EPILEPSY_NAME, SEIZURE, STATURE_NAME, built
from llm.server import Fail, Say, Server, serving
from policies.conftest import behind

CASE = Case("x", (Finding(SEIZURE, label="Seizure"),), publications=("PMID:77",))
PARTS = [
    "<think>first</think><lookup>Tiny epilepsy syndrome 1</lookup>",
    "<think>then</think><match>Seizure, Status epilepticus</match>",
    "<think>then</think><search>seizure</search>",
    f"<think>so</think><diagnose>\\textbf{{{EPILEPSY_NAME}}}, \\textbf{{{STATURE_NAME}}}, \\textbf{{x}}</diagnose>",
]


@pytest.fixture(scope="module")
def patients_folder(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tiny, tmp_path_factory.mktemp("ward"))


@pytest.fixture(scope="module")
def graph(patients_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    texts, home = tmp_path_factory.mktemp("notes"), tmp_path_factory.mktemp("home")
    (texts / "note.txt").write_text("A seizure with fever is rarely epilepsy.")
    index_corpus(home / "texts", Corpus.of(texts, "notes"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KGDX_HOME", str(home))
        opened = kgdx.open(patients_folder)
    with opened:
        yield opened


def writing(parts: list[str], *, stops: bool = True) -> Callable[[Any, int], Say]:
    """A server's model that writes these parts; without ``stops`` it knows no stop strings, and goes on and on."""
    model = Writer(parts)

    def script(body: Any, number: int) -> Say:
        text = body["messages"][-1]["content"] if body["messages"][-1]["role"] == "assistant" else ""
        done = sum(text.count(f"</{each}>") for each in ("lookup", "match", "search", "diagnose"))
        part = model.parts[min(done, len(parts) - 1)]
        if not stops:
            return Say(f"{part} and <match>more</match> and more")
        stop = next((each for each in body["stop"] if part.endswith(each)), None)
        return Say(part.removesuffix(stop or ""), stop=stop)

    return script


def roll(graph: Graph, parts: list[str], policy: TagsPolicy | None = None, **how: Any) -> tuple[Any, Server]:
    with behind(writing(parts, **how)) as (model, server):
        found = graph.diagnose(CASE, policy=policy or TagsPolicy(top=5), model=model)
    return found, server


def test_a_rollout_over_http_does_what_the_model_writes_and_shows_who_wrote_it(graph: Graph) -> None:
    found, server = roll(graph, PARTS)
    assert found.reason == "diagnosed" and found.policy == "tags"
    assert [each.author for each in found.rollout] == ["model", "graph"] * 3 + ["model"]
    assert [each.text for each in found.rollout if each.author == "model"] == PARTS
    guide, refer, result = (each.text for each in found.rollout if each.author == "graph")
    assert guide.startswith("<guide>Tiny epilepsy") and refer.startswith("<refer>1. Tiny") and "seizure" in result
    assert found.candidates[0].id == EPILEPSY and found.evidence[EPILEPSY]
    assert not read(spans(found.trace)).violations
    assert len(server.requests) == 4 and server.requests[1]["continue_final_message"]
    asked = server.requests[-1]["messages"]
    assert [each["role"] for each in asked] == ["system", "user", "assistant"]
    assert asked[-1]["content"].startswith(PARTS[0]) and "PMID:77" not in str(asked)


def test_a_server_that_knows_no_stop_strings_is_cut_at_the_first_closing_tag(graph: Graph) -> None:
    assert [each.text for each in roll(graph, PARTS, stops=False)[0].rollout] == [
        each.text for each in roll(graph, PARTS)[0].rollout
    ]


def test_a_result_that_does_not_fit_is_cut_and_marked_and_the_length_ends_it(graph: Graph) -> None:
    found, _ = roll(graph, PARTS, TagsPolicy(top=5, result=40))
    cut = [each.text for each in found.rollout if each.author == "graph"]
    assert all(len(each) < 80 for each in cut) and any("[cut]" in each for each in cut)
    short, server = roll(graph, PARTS[:1] * 9, TagsPolicy(top=0, length=400, rules=ProtocolRules(lookups=9)))
    assert short.reason == "policy ended" and short.candidates == () and len(server.requests) < 9
    assert sum(len(each.text) for each in short.rollout) <= 500


def test_an_act_over_its_limit_is_not_done_and_the_model_is_told(graph: Graph) -> None:
    found, _ = roll(graph, [PARTS[0], PARTS[0].replace("1<", "2<"), PARTS[3]])
    assert found.rollout[3].text == "<guide>not done: lookup can be done 1 times</guide>"
    assert sum(each.name == "lookup" and each.kind is Kind.WISH for each in found.trace) == 1


@pytest.mark.parametrize(("notation", "named"), [("tags", "<search>"), ("calls", '"search"')])
def test_no_search_is_offered_where_nothing_but_definitions_of_findings_could_be_found(
    patients_folder: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, notation: Notation, named: str
) -> None:
    def told(on: Graph) -> str:
        _, server = roll(on, PARTS[3:], TagsPolicy(top=0, notation=notation))
        return str(server.requests[0]["messages"][0]["content"])

    assert named in told(graph)
    monkeypatch.setenv("KGDX_HOME", str(tmp_path))
    with kgdx.open(patients_folder) as bare:
        assert named not in told(bare) and "diagnose" in told(bare)


def test_calls_in_json_are_a_second_notation(graph: Graph) -> None:
    named = f'{{"diseases": ["{EPILEPSY_NAME}"]}}'
    calls = [
        '<think>.</think><tool_call>{"name": "match", "arguments": {"phenotypes": ["Seizure"]}}</tool_call>',
        f'<think>.</think><tool_call>{{"name": "diagnose", "arguments": {named}}}</tool_call>',
    ]
    policy = TagsPolicy(notation="calls", top=0)
    world = graph.world(policy, model=Writer(calls))
    episode = run(world, begin(CASE, policy), policy)
    assert episode.reason == "diagnosed"
    assert [each.text.strip()[:15] for each in spans(episode.log) if not each.own] == ["<tool_response>"]


@pytest.mark.parametrize(
    ("wrote", "turns", "asked"),
    [
        ("<think>I cannot say.</think>", "graph; what", 2),
        ("I do not know.", "graph; it broke the protocol in turn 1 (outside), 2 (outside); what", 2),
        ("<think>I do not", "graph; it broke the protocol in turn 1 (unclosed), 2 (unclosed); what", 2),
        ("<think>.</think><diagnose>\\textbf{Nothing}</diagnose>", "graph; what", 1),
    ],
)
def test_where_the_model_declares_nothing_the_ranking_of_the_graph_stands_and_it_is_said(
    graph: Graph, wrote: str, turns: str, asked: int
) -> None:
    found, server = roll(graph, [wrote], TagsPolicy(top=3))
    assert [each.id for each in found] == [each.id for each in graph.diagnose(CASE, top=3)]
    [told] = [each for each in found.issues if each.where == "undeclared"]
    assert f"declared no disease of the {turns} the graph ranks without it stands" in told.message
    assert len(server.requests) == asked


def test_a_model_that_breaks_the_protocol_is_reminded_once_and_goes_on(graph: Graph) -> None:
    said = iter([Say("It is epilepsy."), Say(PARTS[1]), Say("Enough."), Say(PARTS[3])])
    with behind(lambda body, number: next(said)) as (model, server):
        found = graph.diagnose(CASE, policy=TagsPolicy(top=5), model=model)
    assert [each["role"] for each in server.requests[1]["messages"]] == ["system", "user", "assistant", "user"]
    reminder = server.requests[1]["messages"][-1]["content"]
    assert "text stands outside of any block; there is no diagnosis" in reminder and EPILEPSY_NAME not in reminder
    assert "<refer>1. Tiny" in server.requests[2]["messages"][-1]["content"]
    assert len(server.requests) == 3 and found.candidates[0].id == EPILEPSY  # not reminded twice
    assert "in turn 1 (outside), 3 (outside); what" in found.issues[-1].message
    assert [each.author for each in found.rollout] == ["model", "graph", "model", "graph", "model"]


def test_a_text_without_findings_of_which_the_model_declares_nothing_ends_as_by_rules(graph: Graph) -> None:
    with behind(lambda body, number: Say("I do not know.")) as (model, _):
        for how in ({}, {"policy": "tags", "model": model}):
            with pytest.raises(CaseError, match="no finding was recognised"):
                graph.diagnose("hello", **how)


def test_a_model_that_fails_ends_the_rollout_with_what_there_is(graph: Graph) -> None:
    with behind(lambda body, number: Fail(500)) as (model, _):
        found = graph.diagnose(CASE, policy="tags", model=model)
    assert [each.where for each in found.issues if each.level == "error"] == ["model"]


def test_the_command_shows_the_whole_rollout(
    patients_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    with serving(writing(PARTS), monkeypatch):
        monkeypatch.setenv("KGDX_HOME", str(tmp_path))
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as ended:
            command = ["diagnose", "--hpo", SEIZURE, "--policy", "tags", "--llm", "m"]
            main([*command, "--html", str(page), "--store", str(patients_folder)])
    shown = capfd.readouterr()
    assert ended.value.code == 0, shown.err
    assert "Rollout" in shown.out and PARTS[1] in shown.out and "<refer>1. Tiny" in shown.out
    assert "&lt;refer&gt;" in page.read_text() and 'id="rollout"' in page.read_text()
