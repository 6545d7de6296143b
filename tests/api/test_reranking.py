"""Many patients are re-ranked at the same time, each as if alone, within one budget that is told before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import kgdx
from kgdx.answer.diagnosis import Diagnosis
from kgdx.api import Graph
from kgdx.api.reranking import Reranker
from kgdx.case import Case
from kgdx.config import LlmAccess
from kgdx.episode.state import Limits
from kgdx.errors import CaseError, KgdxError
from kgdx.llm.connect import connect
from kgdx.policies.rerank import RerankPolicy
from llm.server import serving
from policies.conftest import behind
from policies.rerankers import USELESS, backwards, by, shuffling

TERMS = ("HP:0001250", "HP:0001252", "HP:0004322", "HP:0001945", "HP:0002133")


@pytest.fixture(scope="module")
def cases(graph: Graph) -> list[Case]:
    pairs = [(one, other) for one in TERMS for other in TERMS if one < other]
    return [replace(graph.case(list(pair)), id=f"p{number}") for number, pair in enumerate(pairs)]


def diagnoses(found: Iterator[Diagnosis | KgdxError]) -> list[Diagnosis]:
    return [each for each in found if isinstance(each, Diagnosis)]


def test_concurrent_patients_are_ordered_as_single_ones(graph: Graph, cases: list[Case]) -> None:
    policy = RerankPolicy(explain=0, shuffles=1)
    with behind(by(shuffling)) as (model, _):
        single = [graph.diagnose(each, policy=policy, model=model) for each in cases]
    with serving(by(shuffling), latency=(0.0, 0.02)) as server:
        slow = connect(LlmAccess("m", server.url, attempts=1, concurrency=8))
        many = diagnoses(Reranker(graph, slow, policy, concurrency=8).diagnose(cases))
        assert server.busiest > 1
    assert [each.candidates for each in many] == [each.candidates for each in single]


def test_a_case_that_cannot_be_used_is_told_in_its_place(graph: Graph, cases: list[Case]) -> None:
    bad = Case("bad")
    with behind(by(backwards)) as (model, _):
        found = list(Reranker(graph, model, RerankPolicy(explain=0)).diagnose([cases[0], bad, cases[1]]))
    assert [isinstance(each, Diagnosis) for each in found] == [True, False, True]
    assert isinstance(found[1], CaseError)


def test_rankings_of_any_method_are_put_in_order(graph: Graph, cases: list[Case]) -> None:
    ids, scores = graph.ranker.score_all(cases[0])
    with behind(by(backwards)) as (model, server):
        work = Reranker(graph, model)
        own = work.listed(ids[::-1], [float(each) for each in scores[::-1]])
        ranked = graph.ranker.rank(cases[1], top=2)
        found = work.order([(cases[0], own), (cases[1], ranked)])
        assert len(server.requests) == 2
    assert found[0].order == tuple(ids)
    assert found[1].order == tuple(each.id for each in reversed(ranked.candidates))


def test_what_it_will_take_is_told_before_anything_is_sent(graph: Graph, cases: list[Case]) -> None:
    with behind(by(backwards)) as (model, server):
        for policy in (RerankPolicy(), RerankPolicy(window=2, shuffles=1)):
            work = Reranker(graph, model, policy)
            told = work.estimate(cases, len(cases))
            assert not server.requests
            diagnoses(work.diagnose(cases))
            sent = sum(len(str(message["content"])) for each in server.requests for message in each["messages"])
            assert told.calls == len(server.requests)
            assert told.prompt_tokens == pytest.approx(sent / 4, rel=0.1)
            server.requests.clear()


def test_one_budget_holds_for_all_and_the_order_of_retrieval_stands_beyond_it(
    graph: Graph, cases: list[Case], kgdx_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(by(backwards), monkeypatch) as server:
        monkeypatch.setenv("KGDX_CACHE", str(kgdx_home / "cache"))
        with kgdx.open(graph.url) as opened:
            work = Reranker(opened, "m", RerankPolicy(explain=0), budget=Limits(calls=3), concurrency=2)
            found = diagnoses(work.diagnose(cases))
            again = Reranker(opened, "m", RerankPolicy(explain=0), budget=Limits(calls=3), concurrency=2)
            rest = diagnoses(again.diagnose(cases))
        asked = len({str(each["messages"]) for each in server.requests})
    stands = [each.reranking is not None and each.reranking.stands for each in found]
    assert asked == len(server.requests) == 6  # what was answered once is not asked again
    assert len(found) == len(cases) and stands.count(False) == 3
    assert [each.reranking is not None and each.reranking.stands for each in rest].count(False) == 6
    assert any("budget" in issue.message for each in found for issue in each.issues)


def test_what_identifies_a_patient_is_taken_out_where_that_is_switched_on(graph: Graph) -> None:
    case = Case("p", text="Jane Roe (MRN 448812, born 3 May 1961) has seizures.")
    with behind(by(backwards), deidentify=True) as (model, server):
        graph.diagnose(case, policy="rerank", model=model)
        told = str(server.requests)
    assert "Roe" not in told and "448812" not in told and "1961" not in told
    assert re.search(r"Seizure|seizure", told)


def test_a_useless_model_leaves_every_order_as_it_was(graph: Graph, cases: list[Case]) -> None:
    plain = [[each.id for each in graph.diagnose(case, top=50)] for case in cases]
    with behind(by(USELESS["prose"])) as (model, _):
        found = diagnoses(Reranker(graph, model, RerankPolicy(explain=0, top=50)).diagnose(cases))
    assert [[each.id for each in one] for one in found] == plain
