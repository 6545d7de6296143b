"""A consultation by information gain: what it asks, when it declares, and that it waits and goes on from its log."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kgdx.actions.believing import Questions, Shares
from kgdx.answer.artifacts import candidates_of
from kgdx.api import Graph
from kgdx.case import Case, Finding, Status
from kgdx.episode import (
    POLICIES,
    AskModel,
    AskPatient,
    Episode,
    Kind,
    Limits,
    Policy,
    Reply,
    State,
    World,
    answered,
    begin,
    dump,
    load,
    make_policy,
    resume,
    run,
)
from kgdx.episode.recorded_patient import SimulatedPatient
from kgdx.episode.world import Memo
from kgdx.llm.chat import ChatModel, Completion, Request, Usage
from kgdx.policies.inquiry import InquiryPolicy

SEIZURE, FOCAL, HYPOTONIA, SHORT = "HP:0001250", "HP:0007359", "HP:0001252", "HP:0004322"
RECORDED = Case(
    "patient", (Finding(SEIZURE, label="Seizure"), Finding(HYPOTONIA, label="Hypotonia"), Finding(SHORT, Status.ABSENT))
)
POLICY = InquiryPolicy(certain=1.0)


class Planner(ChatModel):
    """A model that plans a match and then nothing, and writes a sentence; a function of the messages alone."""

    @property
    def name(self) -> str:
        return "planner"

    async def complete(self, request: Request, on_text: Any = None) -> Completion:
        said = "".join(message.content for message in request.messages)
        plan = '[{"action": "match"}]' if "match" not in said.rpartition("What was done so far")[2] else "[]"
        text = f'{{"actions": {plan}, "reason": "because"}}' if request.schema else "Nothing more is known."
        return Completion(text, self.name, Usage(len(said), len(text)))


def world(graph: Graph, recorded: Case = RECORDED) -> World:
    return World(graph, SimulatedPatient(recorded, graph.ancestry), {"m": Planner()})


def first(policy: Policy, *findings: str, graph: Graph, **more: Any) -> State:
    known = Case("patient", tuple(map(Finding, findings)))
    return begin(known, policy, fingerprint=graph.fingerprint, **more)


def asked(episode: Episode) -> list[str | None]:
    return [each.data["term"] for each in episode.log if each.kind is Kind.WISH and each.name == AskPatient.name]


def cuts(here: World, episode: Episode, policy: Policy) -> None:
    """Assert that the log, cut after each of its segments, goes on to be the same in a world that remembers nothing."""
    for length in range(1, len(episode.log) + 1):
        here = replace(here, memo=Memo())
        again = run(here, resume(here, load(dump(episode.log[:length]))), policy)
        assert (again.log, again.reason) == (episode.log, episode.reason), length
        assert again.state.counts._replace(milliseconds=0) == episode.state.counts._replace(milliseconds=0)


def test_a_simulated_patient_is_asked_and_diagnosed(graph: Graph) -> None:
    episode = run(world(graph), first(POLICY, SEIZURE, graph=graph), POLICY)
    assert episode.reason == "diagnosed"
    assert asked(episode) and len(asked(episode)) == len(set(asked(episode)))
    assert HYPOTONIA in episode.state.case.observed
    assert candidates_of(episode.state)


def test_what_the_patient_says_openly_is_read(graph: Graph) -> None:
    episode = run(world(graph), first(POLICY, graph=graph), POLICY)
    assert asked(episode)[0] is None
    assert {SEIZURE, HYPOTONIA} <= set(episode.state.case.observed)
    assert episode.reason == "diagnosed"


def test_the_most_telling_question_comes_first_and_none_is_settled_already(graph: Graph) -> None:
    state = first(POLICY, SEIZURE, graph=graph)
    waiting = run(World(graph), state, POLICY)
    proposed = waiting.state.get(Questions)
    assert proposed is not None
    worth = [each.value for each in proposed.questions]
    assert worth == sorted(worth, reverse=True)
    best, pending = proposed.questions[0], waiting.state.pending
    assert isinstance(pending, AskPatient)
    assert (pending.term, pending.label, pending.gain) == (best.id, best.label, round(best.gain, 6))
    episode = run(world(graph, Case("patient")), state, POLICY)
    for number, term in enumerate(asked(episode)):
        assert term is not None
        assert not graph.ancestry.ancestors(term) & set(asked(episode)[:number]), "below one that is unknown"
    assert SEIZURE not in asked(episode)


def test_unknown_leaves_shares_and_questions_as_they_are(graph: Graph) -> None:
    waiting = run(World(graph), first(POLICY, SEIZURE, graph=graph), POLICY)
    shares, questions = waiting.state.get(Shares), waiting.state.get(Questions)
    unknown = answered(waiting.state, Reply(status=Status.UNKNOWN))
    assert (unknown.get(Shares), unknown.get(Questions)) == (shares, questions)
    present = answered(waiting.state, Reply(status=Status.PRESENT))
    assert (present.get(Shares), present.get(Questions)) == (None, None)


def test_it_asks_no_more_once_it_is_certain_or_has_asked_enough(graph: Graph) -> None:
    quick = InquiryPolicy(certain=1e-6)
    assert asked(run(world(graph), first(quick, SEIZURE, graph=graph), quick)) == []
    one = InquiryPolicy(certain=1.0, questions=1)
    episode = run(world(graph), first(one, SEIZURE, graph=graph), one)
    assert (len(asked(episode)), episode.reason) == (1, "diagnosed")
    limited = run(world(graph), first(POLICY, SEIZURE, graph=graph, limits=Limits(questions=1)), POLICY)
    assert (len(asked(limited)), candidates_of(limited.state) != ()) == (1, True)


def test_without_a_patient_it_waits_and_goes_on_with_the_reply(graph: Graph) -> None:
    here, patient = World(graph), SimulatedPatient(RECORDED, graph.ancestry)
    episode = run(here, first(POLICY, SEIZURE, graph=graph), POLICY)
    turns = 0
    while episode.waiting:
        question = episode.state.pending
        assert isinstance(question, AskPatient) and episode.log[-1].kind is Kind.WISH
        turns += 1
        episode = run(here, answered(episode.state, patient.reply(question, episode.state)), POLICY)
    assert turns > 0
    assert episode.log == run(world(graph), first(POLICY, SEIZURE, graph=graph), POLICY).log


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_a_log_of_every_registered_policy_goes_on_from_any_cut(name: str, graph: Graph) -> None:
    policy, here = make_policy(name), world(graph)
    can = policy.capabilities
    question = "What are the symptoms of Tiny epilepsy syndrome 1?" if can.answers else ""
    for asks in dict.fromkeys((question, "" if can.diagnoses else question)):
        patient = Case("patient", (Finding(SEIZURE),), text="She has fits.")
        episode = run(here, begin(patient, policy, fingerprint=graph.fingerprint, question=asks), policy)
        assert not episode.waiting and episode.reason not in ("error", "steps"), episode.error
        assert can.models == any(each.name == AskModel.name for each in episode.log)
        cuts(here, episode, policy)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (Limits(steps=5), RECORDED),
        (Limits(steps=9), RECORDED),
        (Limits(questions=1), RECORDED),
        (Limits(questions=0), RECORDED),
        (Limits(), Case("patient")),
        (Limits(), Case("patient", (Finding(FOCAL),))),
    ],
)
def test_a_consultation_goes_on_from_any_cut(limits: Limits, said: Case, graph: Graph) -> None:
    here = world(graph, said)
    for findings in ((SEIZURE,), ()):
        episode = run(here, first(POLICY, *findings, graph=graph, limits=limits), POLICY)
        assert not episode.waiting
        cuts(here, episode, POLICY)
