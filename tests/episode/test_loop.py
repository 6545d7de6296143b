"""The loop ends for a reason, keeps what it has when a wish fails, and is the same for the same input."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actions.fakes import Fake
from episode.states import state_of
from episode.worlds import Bare, Broken, Count, Counted, Forever, Idle, Listed, Mute, Note, Oracle, Scripted, Talk
from episode.worlds import ask_model as asking
from episode.worlds import case as case_of
from kgdx.actions import ACTIONS, Diagnose, Explain, Extract, Rank, Retrieve, parse_action
from kgdx.answer.artifacts import Ranked, Read, answer_of
from kgdx.case import Case, Finding, Status
from kgdx.episode import (
    AskPatient,
    Author,
    Kind,
    Limits,
    Remark,
    Reply,
    Segment,
    State,
    Wish,
    World,
    advance,
    answered,
    begin,
    run,
    run_many,
    settle,
    step,
)
from kgdx.episode.loop import CLOSING, act
from kgdx.episode.state import digest_of
from kgdx.episode.turns import turns, turns_of
from kgdx.episode.world import Done
from kgdx.errors import CaseError, StoreError, UsageError
from kgdx.policies import FixedPolicy

pytestmark = pytest.mark.usefixtures("named")


@pytest.fixture
def graph() -> Any:
    return Fake()


@pytest.fixture
def bare() -> World:
    return World(Bare())  # type: ignore[arg-type]


def start(text: str = "a seizure", **more: Any) -> State:
    return State(Case("p", text=text), **more)


def names(state: State, kind: Kind = Kind.WISH) -> list[str]:
    return [segment.name for segment in state.log if segment.kind is kind]


def heard(state: State, finding: Finding) -> State:
    return state.add(Segment(Author.PATIENT, Kind.RESULT, "x"), case=state.case.with_finding(finding))


def test_a_diagnosis_ends_the_episode(graph: Any) -> None:
    episode = run(World(graph), start(), FixedPolicy())
    assert episode.reason == "diagnosed"
    assert names(episode.state) == ["extract", "rank", "explain", "diagnose"]
    assert (episode.log[-1].kind, episode.log[-1].name) == (Kind.END, "diagnosed")


def test_a_policy_that_has_nothing_more_to_do_ends_it(bare: World) -> None:
    assert run(bare, start(), Listed(wishes=())).reason == "policy ended"


@pytest.mark.parametrize(
    ("wish", "limits", "reason", "steps"),
    [
        (Note(), Limits(steps=5), "steps", 5),
        (Idle(), Limits(stagnation=2), "stagnation", 2),
        (Note(), Limits(seconds=0.0), "time", 0),
        (AskPatient(term="HP:1"), Limits(questions=2), "questions", 2),
        (asking(), Limits(calls=3), "calls", 3),
        (asking(), Limits(tokens=20), "tokens", 2),
        (asking(), Limits(cost=25.0), "cost", 2),
    ],
)
def test_each_limit_ends_it(wish: Wish, limits: Limits, reason: str, steps: int) -> None:
    world = World(Bare(), Oracle(), {"m": Scripted()}, prices=(1e6, 1e6))  # type: ignore[arg-type]
    episode = run(world, start(limits=limits), Forever(wish=wish))
    assert (episode.reason, episode.state.counts.steps) == (reason, steps)
    assert names(episode.state, Kind.LIMIT) == [reason]


def test_answers_that_were_kept_cost_nothing() -> None:
    class Kept(Scripted):
        async def complete(self, request: Any, on_text: Any = None) -> Any:
            return replace(await super().complete(request), cached=True)

    world = World(models={"m": Kept()}, prices=(1e6, 1e6))
    episode = run(world, start(limits=Limits(steps=4, calls=1, tokens=1, cost=1.0)), Forever(wish=asking()))
    spent = episode.state.counts.spent
    assert (episode.reason, spent.calls, spent.cached, spent.prompt_tokens) == ("steps", 0, 4, 0)


def test_progress_resets_stagnation(bare: World) -> None:
    script = Listed(wishes=(Idle(), Idle(), Note(), Idle(), Idle()))
    assert run(bare, start(limits=Limits(stagnation=3)), script).reason == "policy ended"


def test_a_failing_action_ends_it_with_what_it_has(bare: World) -> None:
    episode = run(bare, start(), Listed(wishes=(Note(), Broken(), Note())))
    assert (episode.reason, str(episode.error)) == ("error", "the store is gone")
    assert isinstance(episode.error, StoreError)
    assert episode.state.case.source == "userx"
    assert [str(segment.kind) for segment in episode.log] == ["wish", "result", "wish", "error", "limit", "end"]


def test_a_policy_may_mend_errors_within_its_limit(bare: World) -> None:
    episode = run(bare, start(limits=Limits(errors=1)), Listed(wishes=(Broken(), Note())))
    assert (episode.reason, episode.error, episode.state.case.source) == ("policy ended", None, "userx")


def test_a_fault_of_the_program_is_not_swallowed(bare: World) -> None:
    class Faulty(Idle):
        def run(self, graph: Any, view: State) -> None:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(bare, start(), Forever(wish=Faulty()))


def test_a_policy_that_cannot_choose_ends_the_episode_with_what_it_has(bare: World) -> None:
    episode = run(bare, start(limits=Limits(errors=99)), Mute())
    assert (episode.reason, str(episode.error)) == ("error", "the model is away")
    assert episode.state.case.source == "userx"
    assert [segment.name for segment in episode.log[-3:]] == ["mute", "error", "error"]


def test_after_a_limit_the_policy_closes_the_episode_in_a_few_wishes(bare: World) -> None:
    class Closing(Forever):
        def close(self, state: State) -> Wish | None:
            return Note(word="c")

    episode = run(bare, start(limits=Limits(steps=2)), Closing(wish=Note()))
    assert (episode.reason, episode.state.case.source) == ("steps", "userxx" + CLOSING * "c")


def test_a_closing_that_fails_leaves_what_there_is(graph: Any) -> None:
    class Closing(Forever):
        def close(self, state: State) -> Wish | None:
            return FixedPolicy().choose(state)

    episode = run(World(graph), start("no finding here", limits=Limits(steps=1)), Closing(wish=Note()))
    assert (episode.reason, episode.state.case.source) == ("steps", "userx")
    assert names(episode.state, Kind.ERROR) == ["extract"]


def test_a_ranking_that_is_there_is_declared_after_a_limit(graph: Any) -> None:
    episode = run(World(graph), start(limits=Limits(steps=2)), FixedPolicy())
    assert (episode.reason, names(episode.state)) == ("steps", ["extract", "rank", "diagnose"])


def test_a_ranking_of_an_older_case_cannot_be_declared(graph: Any) -> None:
    ranked = step(graph, state_of(case_of("HP:0001250"), read=True), Rank())
    assert ranked.get(Ranked) is not None
    later = heard(ranked, Finding("HP:2"))
    assert (later.get(Ranked), later.last(Ranked)) == (None, ranked.get(Ranked))
    with pytest.raises(UsageError, match="ranking was made before the case's findings changed: run the action rank"):
        step(graph, later, Diagnose())
    assert step(graph, step(graph, later, Rank()), Diagnose()).finished == "diagnosed"


def test_diagnose_needs_a_ranking_or_an_order(graph: Any) -> None:
    with pytest.raises(UsageError, match="there is no ranking to declare: run the action rank first"):
        step(graph, start(), Diagnose())
    assert step(graph, start(), Diagnose(diseases=("OMIM:1",))).finished == "diagnosed"


def test_a_refused_wish_is_an_error_in_the_log_and_not_done(graph: Any) -> None:
    episode = run(World(graph), start(), Listed(wishes=(Diagnose(),)))
    assert (episode.reason, type(episode.error)) == ("error", UsageError)
    assert graph.asked == []


def test_unknown_answers_leave_what_rests_on_evidence_fresh(bare: World) -> None:
    state = step(bare.graph, state_of(case_of("HP:1")), Count())  # type: ignore[arg-type]
    assert heard(state, Finding("HP:2", Status.UNKNOWN)).get(Counted) == Counted(1)
    assert heard(state, Finding("HP:2")).get(Counted) is None


def test_an_action_sees_nothing_but_what_it_says_that_it_reads(graph: Any) -> None:
    seen: list[State] = []

    class Nosy(Count):
        def run(self, graph: Any, view: State) -> Counted:
            seen.append(view)
            return Counted(0)

    told = replace(case_of("HP:1"), text="secret", sex="FEMALE", diseases=("OMIM:1",), genes=("GENA",))
    state = state_of(told, "why?", answer=None, read=True)
    step(graph, state, Nosy())
    (view,) = seen
    assert (view.case.text, view.case.diseases, view.case.genes) == ("", (), ())
    assert (view.question, view.log, view.get(Read)) == ("", (), None)
    assert (view.case.observed, view.case.sex) == (("HP:1",), "FEMALE")


def test_words_of_a_patient_are_read_whenever_they_come(graph: Any) -> None:
    state = step(graph, start("a seizure"), Extract())
    asked = state.add(Segment(Author.POLICY, Kind.WISH, "ask_patient"), wish=AskPatient())
    said = answered(asked, Reply(text="it was another seizure"))
    assert (said.get(Read), said.case.text) == (None, "a seizure\nit was another seizure")
    again = step(graph, said, Extract())
    assert again.get(Read) is not None
    assert [finding.span.start for finding in again.case.findings if finding.span] == [2]
    assert again.log[-1].operations[0].parameters["characters"] == len("\nit was another seizure")


WISHES = st.lists(st.sampled_from([Note(word="a"), Note(word="b"), Idle(), Broken(), Count()]), max_size=12)


@given(WISHES)
def test_equal_episodes_have_equal_logs(wishes: list[Wish]) -> None:
    world = World(Bare())  # type: ignore[arg-type]
    policy = Listed(wishes=tuple(wishes))
    first, second = (run(world, start(limits=Limits(errors=3)), policy) for _ in range(2))
    assert first.log == second.log
    assert first.reason == second.reason


@given(WISHES)
def test_each_transition_appends_one_segment(wishes: list[Wish]) -> None:
    watched: list[Segment] = []
    policy = Listed(wishes=tuple(wishes))
    episode = run(World(Bare()), start(limits=Limits(errors=3)), policy, watched.append)  # type: ignore[arg-type]
    assert tuple(watched) == episode.log
    state, lengths = start(limits=Limits(errors=3)), []
    while True:
        state, wish = advance(state, policy)
        if wish is None:
            break
        state = settle(state, act(World(Bare()), state, wish))  # type: ignore[arg-type]
        lengths.append(len(state.log))
    assert state.log == episode.log
    assert lengths == sorted(set(lengths))


def test_random_choices_depend_on_seed_and_step_alone() -> None:
    state = State(Case("p"), seed=3)
    later = state.add(Segment(Author.POLICY, Kind.WISH, "note"), wish=Note())
    assert state.random().random() == State(Case("q"), seed=3).random().random()
    assert state.random().random() != later.random().random()
    assert state.random().random() != State(Case("p"), seed=4).random().random()
    assert state.random("a").random() != state.random("b").random()


@pytest.mark.parametrize("concurrency", [1, 7, 64])
def test_episodes_run_at_once_are_equal_to_the_same_run_alone(concurrency: int) -> None:
    import random

    waits = random.Random(concurrency)
    policy = Talk()
    starts = [begin(case_of("HP:9"), policy, seed=seed) for seed in range(40)]
    alone = [run(World(Bare(), Oracle(), {"m": Scripted()}), each, policy) for each in starts]  # type: ignore[arg-type]
    model = Scripted(latency=lambda: waits.random() / 500)
    world = World(Bare(), Oracle(), {"m": model})  # type: ignore[arg-type]
    together = asyncio.run(run_many(world, starts, policy, concurrency=concurrency))
    assert [each.log for each in together] == [each.log for each in alone]
    assert len({each.log[2:] for each in together}) > 1
    assert model.asked == sum(each.state.counts.spent.calls for each in together) == 120


def test_a_memo_gives_equal_outcomes_without_running_again(graph: Any) -> None:
    world = World(graph)
    first = run(world, start(), FixedPolicy())
    asked = len(graph.asked)
    assert run(world, start(), FixedPolicy()).log == first.log
    assert len(graph.asked) == asked > 0


@pytest.mark.parametrize("wish", [Count(), AskPatient(term="HP:1"), asking()])
def test_whoever_is_absent_is_waited_for(wish: Wish) -> None:
    episode = run(World(), start(), Forever(wish=wish))
    assert (episode.reason, episode.waiting, episode.state.pending, episode.state.ended) == ("waiting", True, wish, "")
    assert [segment.kind for segment in episode.log] == [Kind.WISH]
    again = run(World(), episode.state, Forever(wish=wish))
    assert again.log == episode.log


def test_a_reply_goes_on_where_the_question_was_asked() -> None:
    policy = Listed(wishes=(AskPatient(term="HP:1", label="Ptosis"), Remark(code="x", text="done")))
    waiting = run(World(), start(), policy)
    ended = run(World(), answered(waiting.state, Reply(status=Status.PRESENT)), policy)
    assert (ended.state.case.observed, ended.state.case.findings[0].label) == (("HP:1",), "Ptosis")
    with pytest.raises(UsageError, match="no question to the patient is pending"):
        answered(ended.state, Reply(status=Status.PRESENT))


def test_a_more_specific_finding_takes_the_place_of_the_one_that_was_asked_for() -> None:
    heard = Reply(status=Status.PRESENT, term="HP:2", label="Left ptosis").heard(Case("p"), AskPatient(term="HP:1"))
    assert [(each.id, each.label) for each in heard.findings] == [("HP:2", "Left ptosis")]


def test_a_model_that_is_not_there_by_name_is_an_error() -> None:
    episode = run(World(models={"a": Scripted(), "b": Scripted()}), start(), Forever(wish=asking(model="c")))
    assert str(episode.error) == "no model 'c': one of a, b"


def test_no_text_of_the_patient_enters_the_log_but_as_words(graph: Any) -> None:
    policy = FixedPolicy()
    episode = run(World(graph), begin(Case("p", text="Ada Lovelace had a seizure"), policy), policy)
    assert "Lovelace" not in json.dumps([segment.to_dict() for segment in episode.log])
    assert "Lovelace" not in repr(episode)
    assert "Lovelace" in json.dumps([segment.to_dict(private=True) for segment in episode.log])


def test_what_a_model_was_asked_and_said_leaves_the_log_only_when_asked_for() -> None:
    policy = Forever(wish=asking("Ada has a cough"))
    episode = run(World(models={"m": Scripted()}), start(limits=Limits(steps=1)), policy)
    said = episode.log[1].words["text"]
    shown = json.dumps([segment.to_dict() for segment in episode.log]) + repr(episode)
    assert "Ada" not in shown
    assert said not in shown


def test_a_question_is_not_in_the_representation_of_a_state() -> None:
    assert "Ada" not in repr(State(Case("p"), "what ails Ada?"))
    assert answer_of(State(Case("p"))) is None


@pytest.mark.parametrize("name", list(ACTIONS))
def test_every_action_is_registered_by_its_name_and_documented(name: str) -> None:
    action = ACTIONS[name]
    assert action.name == name
    assert action.__doc__
    assert set(action.model_json_schema().get("properties", ())) == set(action.model_fields)


NEEDED: dict[str, dict[str, Any]] = {
    "respond": {"text": "Ptosis [E1]."},
    "retrieve": {"template": "build"},
    "read_plan": {"round": 1, "actions": []},
    **{f"get_{what}": {"diseases": ["flu"]} for what in ("symptom", "test", "drug", "cure", "comorbidity")},
    **{f"get_{what}": {"diseases": ["flu"]} for what in ("phenotype", "gene", "medicine", "absent")},
    "get_cooccurrence": {"phenotype": "fever"},
    **{f"infer_by_{what}": {f"{what}s": ["x"]} for what in ("symptom", "test", "drug", "cure", "gene", "phenotype")},
    "infer_by_comorbidity": {"diseases": ["flu"]},
    "get_definition": {"phenotype": "fever"},
    "get_entry": {"names": ["fever"]},
    "get_passage": {"diseases": ["flu"], "about": "cause"},
    "understand": {"names": ["flu"]},
    **{name: {"turn": 1} for name in ("forget", "read_record", "read_differential", "read_turn")},
    "lookup": {"diseases": ["flu"]},
    **{name: {"query": "flu"} for name in ("search", "summarise")},
    "read_tags": {"round": 1},
    "show_found": {"act": "match", "room": 100},
    "read_answer": {"turn": 1, "term": "HP:0001945"},
    "name_thought": {"round": 1, "text": "flu"},
    "fit_passages": {"budget": 100},
    **{name: {"answers": ["Answer: A"]} for name in ("read_choice", "read_diagnosis")},
    "read_order": {"turn": 0, "begin": 0, "shown": ["OMIM:1", "OMIM:2"]},
}


@pytest.mark.parametrize("name", list(ACTIONS))
def test_every_action_is_read_back_from_its_own_record(name: str) -> None:
    action = parse_action({"action": name, **NEEDED.get(name, {})}, ACTIONS)
    written = json.loads(json.dumps({"action": name, **action.parameters(), **action.words()}))
    assert parse_action(written, ACTIONS) == action


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "unknown action 'None'"),
        ({"action": "drop_all"}, "unknown action 'drop_all': one of"),
        ({"action": ["rank"]}, "unknown action"),
        ({"action": "rank", "top": 0}, "action rank: top"),
        ({"action": "rank", "top": "many"}, "action rank: top"),
        ({"action": "rank", "cypher": "MATCH (n)"}, "action rank: cypher"),
        ({"action": "retrieve"}, "action retrieve: template"),
    ],
)
def test_untrusted_actions_are_refused_with_the_field_at_fault(document: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_action(document, ACTIONS)


def test_a_thousand_retrievals_stop_at_the_limit(graph: Any) -> None:
    graph.answers["disease_by_id"] = [{"id": "OMIM:1"}]
    action = Retrieve(template="disease_by_id", arguments={"disease": "OMIM:1"})
    episode = run(World(graph), start(limits=Limits(steps=1000)), Forever(wish=action))
    assert (episode.reason, episode.state.counts.steps, len(graph.asked)) == ("stagnation", 4, 1)


def test_a_malformed_template_is_the_graphs_fault_and_a_wrong_name_is_the_askers(
    graph: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kgdx.errors import TemplateError

    state = state_of(case_of("HP:0001250"), read=True)
    with pytest.raises(UsageError):
        step(graph, state, Retrieve(template="no_such"))
    del graph.answers["evidence_typical"]
    done = act(World(graph), state, Explain(diseases=("OMIM:100001",)))
    assert isinstance(done, Done)
    assert isinstance(done.outcome, TemplateError)
    assert done.outcome.fault == "graph"


def test_extract_refuses_a_text_without_findings(graph: Any) -> None:
    episode = run(World(graph), start("well"), FixedPolicy())
    assert isinstance(episode.error, CaseError)


def test_a_digest_is_of_what_an_artifact_holds() -> None:
    limits = Limits(steps=2, seconds=0.1 + 0.2)
    assert digest_of([limits, {"a": (limits,)}]) == digest_of([asdict(limits), {"a": [asdict(limits)]}])
    assert digest_of(limits) == digest_of(replace(limits, seconds=0.3))
    assert digest_of(limits) != digest_of(replace(limits, seconds=0.31))


def test_turns_go_on_from_those_of_a_shorter_log_and_of_no_other() -> None:
    def told(name: str, term: str, status: str) -> list[Segment]:
        asked = Segment(Author.POLICY, Kind.WISH, "ask_patient", {"term": term})
        reply = Segment(Author.PATIENT, Kind.RESULT, "ask_patient", {"status": status})
        return [
            asked,
            reply,
            Segment(Author.GRAPH, Kind.RESULT, "believe", {"summary": {"leaders": [[name, "", 0.5]]}}),
        ]

    states = [State(Case("p"))]
    for segment in told("A", "HP:1", "present") + told("B", "HP:2", "absent") + told("C", "HP:3", "unknown"):
        states.append(states[-1].add(segment))
        assert turns_of(states[-1]) == turns(states[-1].log)
    assert [each.after[0].id for each in turns_of(states[-1])] == ["A", "B", "C"]
    other = states[4]
    for segment in told("D", "HP:2", "present")[1:]:
        other = other.add(segment)
        assert turns_of(other) == turns(other.log)
