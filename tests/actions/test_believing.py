"""Shares and questions: what believe and propose_questions find, and when it is found anew."""

from __future__ import annotations

from pathlib import Path

import pytest

import kgdx
from kgdx.actions.believing import Believe, ProposeQuestions, Questions, Shares
from kgdx.case import Case, Finding, Status
from kgdx.episode import ACTIONS, Author, Kind, Segment, State, step
from kgdx.errors import CaseError

SEIZURE = Finding("HP:0001250")


def heard(state: State, finding: Finding) -> State:
    return state.add(Segment(Author.PATIENT, Kind.RESULT, "x"), case=state.case.with_finding(finding))


def test_both_are_registered() -> None:
    assert (ACTIONS["believe"], ACTIONS["propose_questions"]) == (Believe, ProposeQuestions)


def test_shares_are_those_of_the_leaders_best_first(tiny_graph: Path) -> None:
    with kgdx.open(tiny_graph) as graph:
        state = step(graph, State(Case("p", (SEIZURE,))), Believe())
        shares = state.get(Shares)
        assert shares is not None
        listed = [each.share for each in shares.shares]
        assert listed == sorted(listed, reverse=True)
        assert 0 < sum(listed) <= 1 + 1e-6
        assert shares.shares[0].id == graph.diagnose(["HP:0001250"]).candidates[0].id
        assert all(each.name for each in shares.shares)


def test_questions_are_those_of_the_ranker_and_rest_on_the_findings_alone(tiny_graph: Path) -> None:
    with kgdx.open(tiny_graph) as graph:
        state = step(graph, State(Case("p", (SEIZURE,))), ProposeQuestions(count=5))
        questions = state.get(Questions)
        assert questions is not None
        case = Case("p", (SEIZURE,))
        assert questions.questions == graph.ranker.proposer.propose(case, count=5)
        gains = [each.gain for each in questions.questions]
        assert gains == sorted(gains, reverse=True)
        first = questions.questions[0]
        assert heard(state, Finding(first.id, Status.UNKNOWN)).get(Questions) is not None
        assert heard(state, Finding(first.id)).get(Questions) is None
        for each in questions.questions:
            assert all(each.id in graph.ancestry.ancestors(below) for below in each.below)


def test_without_a_finding_nothing_is_believed(tiny_graph: Path) -> None:
    with kgdx.open(tiny_graph) as graph:
        for action in (Believe(), ProposeQuestions()):
            with pytest.raises(CaseError, match="no observed finding"):
                step(graph, State(Case("p")), action)
