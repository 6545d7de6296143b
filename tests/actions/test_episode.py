"""The loop ends for a reason, keeps what it has when an action fails, and is the same for the same input."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.actions import (
    ACTIONS,
    Action,
    Author,
    Chosen,
    Citation,
    CitedText,
    Description,
    Diagnose,
    Limits,
    Operations,
    Resolved,
    Retrieve,
    Segment,
    State,
    parse_action,
    run,
    step,
)
from kgdx.case import Case
from kgdx.errors import CaseError, StoreError, UsageError
from kgdx.policies import FixedPolicy


class Note(Action):
    """Adds a word to the case's source; cheap, for the loop's own tests."""

    name: ClassVar[str] = "note"
    word: str = "x"

    def run(self, graph: Operations, state: State) -> State:
        return replace(state, case=replace(state.case, source=state.case.source + self.word))


class Idle(Action):
    """Changes nothing."""

    name: ClassVar[str] = "idle"

    def run(self, graph: Operations, state: State) -> State:
        return state.logged(Segment(Author.TOOL, "tool", "nothing", cost=1.0))


class Broken(Action):
    """Always fails."""

    name: ClassVar[str] = "broken"

    def run(self, graph: Operations, state: State) -> State:
        raise StoreError("the store is gone")


@dataclass(frozen=True)
class Script:
    """Chooses the listed actions, one after the other."""

    actions: tuple[Action, ...]
    name: str = "script"

    def choose(self, state: State) -> Action | None:
        return self.actions[state.steps] if state.steps < len(self.actions) else None


@dataclass(frozen=True)
class Forever:
    action: Action
    name: str = "forever"

    def choose(self, state: State) -> Action | None:
        return self.action


def start(text: str = "a seizure") -> State:
    return State(Case("p", text=text))


def test_a_diagnosis_ends_the_episode(graph: Any) -> None:
    episode = run(graph, start(), FixedPolicy())
    assert episode.reason == "diagnosed"
    assert [segment.name for segment in episode.log if segment.kind == "action"] == [
        "extract",
        "rank",
        "explain",
        "diagnose",
    ]
    assert episode.log[-1].content == "diagnosed"


def test_a_policy_that_has_nothing_more_to_do_ends_it(graph: Any) -> None:
    assert run(graph, start(), Script(())).reason == "policy ended"


@pytest.mark.parametrize(
    ("action", "limits", "reason", "steps"),
    [
        (Note(), Limits(steps=5), "steps", 5),
        (Idle(), Limits(stagnation=2), "stagnation", 2),
        (Idle(), Limits(stagnation=99, cost=4.0), "cost", 4),
        (Note(), Limits(seconds=0.0), "time", 0),
    ],
)
def test_each_limit_ends_it(graph: Any, action: Action, limits: Limits, reason: str, steps: int) -> None:
    episode = run(graph, start(), Forever(action), limits)
    assert (episode.reason, episode.state.steps) == (reason, steps)


def test_progress_resets_stagnation(graph: Any) -> None:
    script = Script((Idle(), Idle(), Note(), Idle(), Idle()))
    assert run(graph, start(), script, Limits(stagnation=3)).reason == "policy ended"


def test_a_failing_action_ends_it_with_what_it_has(graph: Any) -> None:
    episode = run(graph, start(), Script((Note(), Broken(), Note())))
    assert episode.reason == "error"
    assert isinstance(episode.error, StoreError)
    assert episode.state.case.source == "userx"
    assert [segment.kind for segment in episode.log] == ["action", "action", "error", "end"]


def test_a_policy_may_mend_errors_within_its_limit(graph: Any) -> None:
    episode = run(graph, start(), Script((Broken(), Note())), Limits(errors=1))
    assert (episode.reason, episode.error) == ("policy ended", None)
    assert episode.state.case.source == "userx"


def test_a_fault_of_the_program_is_not_swallowed(graph: Any) -> None:
    class Faulty(Idle):
        def run(self, graph: Operations, state: State) -> State:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(graph, start(), Forever(Faulty()))


def test_a_step_leaves_the_state_it_was_given_untouched(graph: Any) -> None:
    before = start()
    after = step(graph, before, Note())
    assert before == start()
    assert after.steps == 1


@given(st.lists(st.sampled_from([Note(word="a"), Note(word="b"), Idle(), Broken()]), max_size=12))
def test_equal_episodes_have_equal_logs(actions: list[Action]) -> None:
    script, limits = Script(tuple(actions)), Limits(errors=3)
    first, second = (run(None, start(), script, limits) for _ in range(2))  # type: ignore[arg-type]
    assert first.log == second.log
    assert first.reason == second.reason


@given(st.lists(st.sampled_from([Note(word="a"), Idle(), Broken()]), max_size=12))
def test_the_log_only_grows(actions: list[Action]) -> None:
    state = start()
    for action in actions:
        try:
            after = step(None, state, action)  # type: ignore[arg-type]
        except StoreError:
            continue
        assert after.log[: len(state.log)] == state.log
        state = after


def test_random_choices_depend_on_seed_and_step_alone() -> None:
    state = State(Case("p"), seed=3)
    later = state.logged(Segment(Author.POLICY, "action", "note"))
    assert state.random().random() == State(Case("q"), seed=3).random().random()
    assert state.random().random() != later.random().random()
    assert state.random().random() != State(Case("p"), seed=4).random().random()


def test_segments_survive_json() -> None:
    segment = Segment(Author.GRAPH, "query", "t", {"ids": ["a"]}, 3, "d", 1.5, 2.0, "said")
    assert Segment.from_dict(json.loads(json.dumps(segment.to_dict()))) == segment


@pytest.mark.parametrize("author", [Author.PATIENT, Author.USER])
def test_a_persons_words_leave_the_log_only_when_asked_for(author: Author) -> None:
    segment = Segment(author, "text", "answer", content="my name is Ada")
    assert "Ada" not in json.dumps(segment.to_dict())
    assert segment.to_dict(private=True)["content"] == "my name is Ada"


def test_no_text_of_the_patient_enters_the_log(graph: Any) -> None:
    episode = run(graph, start("Ada Lovelace had a seizure"), FixedPolicy())
    assert "Lovelace" not in json.dumps([segment.to_dict(private=True) for segment in episode.log])


@pytest.mark.parametrize("name", sorted(ACTIONS))
def test_every_action_is_registered_by_its_name_and_documented(name: str) -> None:
    action = ACTIONS[name]
    assert action.name == name
    assert ">>>" in (action.__doc__ or "")
    assert set(action.model_json_schema()["properties"] if action.model_fields else ()) == set(action.model_fields)


NEEDED: dict[str, dict[str, Any]] = {
    "extract": {},
    "rank": {},
    "explain": {},
    "retrieve": {"template": "build"},
    "infer": {},
    "match": {},
    "diagnose": {},
    "describe": {},
    "cite": {},
    "recognise": {},
    "respond": {},
    **{f"get_{what}": {"diseases": ["flu"]} for what in ("symptom", "test", "drug", "cure", "comorbidity")},
    **{f"get_{what}": {"diseases": ["flu"]} for what in ("phenotype", "gene", "medicine")},
    "get_cooccurrence": {"phenotype": "fever"},
    **{f"infer_by_{what}": {f"{what}s": ["x"]} for what in ("symptom", "test", "drug", "cure", "gene", "phenotype")},
    "infer_by_comorbidity": {"diseases": ["flu"]},
}


@pytest.mark.parametrize("name", sorted(ACTIONS.keys() - {"respond"}))  # whose record leaves its words out
def test_every_action_is_read_back_from_its_own_record(name: str) -> None:
    action = parse_action({"action": name, **NEEDED[name]}, ACTIONS)
    written = json.loads(json.dumps({"action": name, **action.parameters()}))
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
    episode = run(graph, start(), Forever(action), Limits(steps=1000))
    assert (episode.reason, len(graph.asked)) == ("stagnation", 4)


def test_diagnose_needs_a_ranking(graph: Any) -> None:
    with pytest.raises(UsageError, match="no ranking"):
        step(graph, start(), Diagnose())


NOTE = Note()
SAID = (
    Segment(Author.TOOL, "prompt", "m", {"prompt": "plan@1"}, content="Ada has a cough"),
    Segment(Author.POLICY, "answer", "m", {"prompt": "plan@1", "read": 90, "written": 10, "cached": False}, cost=0.25),
)


@dataclass(frozen=True)
class Talker:
    """Says something before each action."""

    action: Action | None = NOTE
    said: tuple[Segment, ...] = SAID
    name: str = "talker"

    def choose(self, state: State) -> Chosen:
        return Chosen(self.action, self.said)


@dataclass(frozen=True)
class Mute:
    """Cannot choose once it has seen ``after`` steps."""

    after: int = 1
    name: str = "mute"

    def choose(self, state: State) -> Action | None:
        if state.steps >= self.after:
            raise StoreError("the model is away")
        return Note()


def test_what_a_policy_said_stands_before_its_action(graph: Any) -> None:
    episode = run(graph, start(), Talker(), Limits(steps=2))
    assert [segment.kind for segment in episode.log] == ["prompt", "answer", "action"] * 2 + ["end"]


def test_what_a_policy_said_last_is_kept_although_nothing_follows(graph: Any) -> None:
    episode = run(graph, start(), Talker(action=None))
    assert (episode.reason, [segment.kind for segment in episode.log]) == ("policy ended", ["prompt", "answer", "end"])


def test_a_policy_that_cannot_choose_ends_the_episode_with_what_it_has(graph: Any) -> None:
    episode = run(graph, start(), Mute())
    assert (episode.reason, str(episode.error)) == ("error", "the model is away")
    assert episode.state.case.source == "userx"
    assert (episode.log[-2].kind, episode.log[-2].name) == ("error", "mute")
    assert episode.log[-2].parameters == {"error": "StoreError"}


@pytest.mark.parametrize(
    ("limits", "reason", "calls"),
    [(Limits(calls=3), "calls", 3), (Limits(tokens=150), "tokens", 2), (Limits(cost=1.0), "cost", 4)],
)
def test_budgets_of_a_language_model_end_it(graph: Any, limits: Limits, reason: str, calls: int) -> None:
    episode = run(graph, start(), Talker(), limits)
    assert (episode.reason, episode.state.spent.calls) == (reason, calls)


def test_answers_that_were_kept_cost_nothing(graph: Any) -> None:
    kept = replace(SAID[1], parameters={**SAID[1].parameters, "cached": True}, cost=0.0)
    episode = run(graph, start(), Talker(said=(kept,)), Limits(steps=4, calls=1, tokens=1))
    assert episode.reason == "steps"
    assert (episode.state.spent.calls, episode.state.spent.cached, episode.state.spent.prompt_tokens) == (0, 4, 0)


@pytest.mark.parametrize("segment", SAID)
def test_what_a_model_was_asked_and_said_leaves_the_log_only_when_asked_for(segment: Segment) -> None:
    words = replace(segment, content="Ada has a cough")
    assert "Ada" not in json.dumps(words.to_dict())
    assert words.to_dict(private=True)["content"] == "Ada has a cough"
    assert "Ada" not in repr(words)


@pytest.mark.parametrize("policy", [Forever(Idle()), Script(()), Script((Broken(),)), Mute(after=0)])
def test_an_episode_without_an_end_is_brought_to_one(graph: Any, policy: Any) -> None:
    plain, closed = run(graph, start(), policy), run(graph, start(), policy, closing=FixedPolicy())
    assert closed.state.done
    assert not plain.state.done
    assert (closed.reason, str(closed.error)) == (plain.reason, str(plain.error))
    assert closed.log[-1] == plain.log[-1]


def test_a_closing_that_fails_leaves_what_there_is(graph: Any) -> None:
    episode = run(graph, start("no finding here"), Forever(Note()), Limits(steps=1), closing=FixedPolicy())
    assert (episode.reason, episode.state.case.source) == ("steps", "userx")
    assert isinstance(episode.error, CaseError)


def test_a_finished_episode_needs_no_closing(graph: Any) -> None:
    assert run(graph, start(), FixedPolicy(), closing=Forever(Broken())).error is None


def test_an_answer_ends_an_episode_as_answered(graph: Any) -> None:
    done = replace(start(), answer=CitedText(), done=True)
    assert run(graph, done, Script(())).reason == "answered"


@pytest.mark.parametrize(
    "change",
    [
        {"resolved": (Resolved("x"),)},
        {"described": (Description("OMIM:1"),)},
        {"citations": (Citation("PMID:1"),)},
        {"answer": CitedText()},
    ],
)
def test_whatever_is_learned_counts_as_progress(change: dict[str, Any]) -> None:
    assert replace(start(), **change).differs(start())


def test_a_question_is_not_in_the_representation_of_a_state() -> None:
    assert "Ada" not in repr(replace(start(), question="what ails Ada?"))


def test_who_watches_is_told_every_segment_in_order(graph: Any) -> None:
    told: list[Segment] = []
    script = Script((Note(), Broken()))
    episode = run(graph, start(), script, closing=FixedPolicy(), watch=told.append)
    assert tuple(told) == episode.log
