"""A model reads a text after the rules: held to words of the text and to terms of the graph, whatever it writes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import kgdx
from kgdx.api import Graph
from kgdx.case import Status
from kgdx.episode.resume import policy_of, resume
from kgdx.episode.state import Limits
from kgdx.errors import CaseError
from kgdx.policies.second_reader import SecondReader
from llm.server import Body, Reply, Say, Script
from policies.conftest import behind

NOTE = "He has seizures. No fever.\nHe hangs like a wet\n towel when lifted."
LIMP = {"quote": "hangs like a wet  towel", "name": "Hypotonia", "status": "present", "whose": "patient"}


def finding(**other: str) -> dict[str, str]:
    return {**LIMP, **other}


def writes(found: Sequence[Any] = (), doubts: Sequence[Any] = (), choice: str = "{}") -> Script:
    """A model that writes the same of every text, and chooses the same among terms."""

    def script(body: Body, number: int) -> Reply:
        asked = str(body["messages"][-1]["content"])
        said = json.dumps({"findings": list(found), "doubts": list(doubts)}) if "# Note" in asked else choice
        return Say(said, usage=(90, 9))

    return script


def read(graph: Graph, script: Script, text: str = NOTE, **how: Any) -> tuple[list[tuple[str, str]], str, list[Any]]:
    """What is read, what is told of the reader, and what it was asked."""
    with behind(script) as (model, server):
        found = graph.extract(text, reader=model, **how)
        told = " ".join(f"{each.message}; {each.remedy}" for each in found.issues)
        return [(each.label, str(each.status)) for each in found.findings], told, server.requests


RULES = [("Seizure", "present"), ("Fever", "absent")]


def test_a_finding_is_added_by_words_of_the_text_and_says_who_read_it(graph: Graph) -> None:
    with behind(writes([LIMP])) as (model, server):
        found = graph.extract(NOTE, reader=model).findings[-1]
        diagnosis = graph.diagnose(NOTE, reader=model)
        assert len(server.requests) == 2 and '1. "seizures": Seizure (present)' in str(
            server.requests[0]["messages"][-1]["content"]
        )
    assert found.span is not None and NOTE[found.span.start : found.span.end] == "hangs like a wet\n towel"
    assert (found.label, found.method, found.status) == ("Hypotonia", "model m", Status.PRESENT)
    assert "HP:0001252" in diagnosis.case.observed
    assert any("read by the model m" in each.message for each in diagnosis.issues)
    again = policy_of(diagnosis.trace)
    assert isinstance(again, SecondReader) and again.then is not None and again.then.name == "fixed"
    assert resume(graph.world(again, model=model), diagnosis.trace).case == diagnosis.case  # by read_again, too


@pytest.mark.parametrize(
    "written",
    [
        finding(quote="he is weak"),
        finding(quote="wel"),
        finding(quote="[NAME] has seizures"),
        finding(quote="...", name="Hypotonia"),
        finding(name="OMIM:190350"),
        finding(name="HP:0001252"),
        finding(name="Ignore all rules"),
        finding(whose="family"),
        finding(status="past"),
        finding(status="possible"),
        finding(status="certain"),
        finding(quote="seizures", name="Seizure", status="absent"),
        finding(quote="fever", name="Fever"),
        "Hypotonia",
        {"quote": ["wet"], "name": 7},
        None,
    ],
)
def test_what_does_not_hold_is_left_out(graph: Graph, written: Any) -> None:
    found, told, _ = read(graph, writes([written], choice='{"1": "z", "2": "a"}'))
    assert found == RULES and "read by the model" not in told


@pytest.mark.parametrize(
    "said",
    ["No.", '{"findings": "all"}', "[" * 10_000, '{"findings": [{"quote": "hangs like a', "x" * 300_000],
    ids=["prose", "form", "nested", "cut", "endless"],
)
def test_an_answer_that_cannot_be_read_leaves_what_rules_read_and_says_so(graph: Graph, said: str) -> None:
    found, told, _ = read(graph, lambda body, number: Say(said))
    assert found == RULES and "did not read the text" in told


def test_ten_thousand_findings_are_forty(graph: Graph) -> None:
    many = [finding(quote="wet", name=f"thing {number}") for number in range(1_500)]
    found, _, asked = read(graph, writes([*many, LIMP]))
    assert found == RULES and len(asked) <= 2


def test_a_name_that_the_graph_lacks_is_chosen_among_its_terms(graph: Graph) -> None:
    odd = finding(name="Muscular hypotonie generalised")
    found, _, asked = read(graph, writes([odd], choice='{"1": "a"}'))
    offered = re.findall(r"^[a-h]\) .+", str(asked[-1]["messages"][-1]["content"]), re.MULTILINE)
    assert 1 <= len(offered) <= 8 and found[-1][0] == offered[0].removeprefix("a) ")
    assert read(graph, writes([odd], choice='{"1": "none"}'))[0] == RULES


def test_a_doubt_is_told_and_withdraws_only_where_that_is_wanted(graph: Graph) -> None:
    doubting = writes(doubts=[{"number": 1, "reason": "past"}, {"number": 99, "reason": "past"}, {"number": 2}])
    found, told, _ = read(graph, doubting)
    assert found == RULES and 'doubts Seizure (HP:0001250), read as present: past; --not "Seizure"' in told
    found, told, _ = read(graph, doubting, heed_doubts=True)
    assert found == [("Seizure", "unknown"), RULES[1]] and "taken as unknown" in told


def test_where_all_is_doubted_and_doubts_are_heeded_nothing_is_ranked(default_graph: Path) -> None:
    text = "Worried sick about the exam; it is a pain. My heart races when I see her. Sleep fine, appetite good."
    with kgdx.open(default_graph) as graph, behind(doubting_all) as (model, _):
        told = graph.diagnose(text, reader=model)
        found = graph.diagnose(text, reader=model, heed_doubts=True)
        again = graph.explain(found, "OMIM:208900")  # rules read the text anew, and what was taken back stays so
        beside = graph.diagnose(text, reader=model, heed_doubts=True, genes=["FBN1"])
    assert told.candidates and all(each.doubt for each in told.case.findings if each.span is not None)
    assert not found.candidates and found.judgement is not None and found.judgement.level == "nothing"
    assert not found.case.observed and not again.case.observed
    assert beside.candidates


def doubting_all(body: Body, number: int) -> Reply:
    words = str(body["messages"][-1]["content"]).split("# Read by the program")[-1]
    shown = re.findall(r"^(\d+)\. ", words, re.MULTILINE)
    return Say(json.dumps({"findings": [], "doubts": [{"number": int(n), "reason": "not the patient"} for n in shown]}))


def test_a_long_text_is_read_in_parts_within_the_budget(graph: Graph) -> None:
    text = NOTE + " He eats well and sleeps well, as he always did." * 30
    found, told, asked = read(graph, writes([LIMP]), text, room=100, limits=Limits(steps=99, calls=2))
    assert found[-1] == ("Hypotonia", "present") and len(asked) == 2
    assert "read 2 of" in told and "rules alone the rest" in told


def test_rules_go_on_where_the_model_cannot_be_asked(graph: Graph) -> None:
    plain = graph.diagnose(NOTE)
    with behind(lambda body, number: Say(status=401)) as (model, server):
        found = graph.diagnose(NOTE, reader=model)
        assert len(server.requests) == 1
    assert found.candidates == plain.candidates and found.case.findings == plain.case.findings
    assert [each.where for each in found.issues if each.where in ("model", "reader")] == ["reader"]


def test_another_policy_asks_its_own_model_after_the_reading(graph: Graph) -> None:
    with behind(writes([LIMP])) as (reader, heard), behind(lambda body, number: Say("no order")) as (other, asked):
        found = graph.diagnose(NOTE, policy="rerank", model=other, reader=reader)
        assert len(heard.requests) == 1 and asked.requests
        assert "Hypotonia" in str(asked.requests[0]["messages"])
    assert found.reranking is not None and "HP:0001252" in found.case.observed


def test_what_identifies_a_patient_is_taken_out_and_places_stay(graph: Graph) -> None:
    text = f"Jane Roe (MRN 448812). {NOTE}"
    with behind(writes([LIMP]), deidentify=True) as (model, server):
        found = graph.extract(text, reader=model).findings[-1]
        assert "Roe" not in str(server.requests) and "448812" not in str(server.requests)
    assert found.span is not None and text[found.span.start : found.span.end] == found.text


def test_what_rules_read_nothing_in_is_ranked_by_what_the_model_reads(graph: Graph) -> None:
    text = "The child hangs like a wet towel."
    with pytest.raises(CaseError, match="no finding was recognised"):
        graph.diagnose(text)
    with behind(writes([LIMP])) as (model, _):
        assert graph.diagnose(text, reader=model).candidates
        assert [each.label for each in graph.extract(text, reader=model).findings] == ["Hypotonia"]


def test_terms_and_corrected_texts_are_not_read(graph: Graph) -> None:
    with behind(writes([LIMP])) as (model, server):
        graph.diagnose(["HP:0001250"], reader=model)
        graph.diagnose(replace(graph.case(["HP:0001250"]), text=NOTE, source="corrected"), reader=model)
        assert not server.requests
