"""Logs and actions in words: rounds, what a trainer needs of a model, what is told of each action."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import ClassVar

import pytest

from episode.worlds import Scripted, ask_model
from kgdx.actions import ACTIONS
from kgdx.case import Case
from kgdx.episode import AskModel, Limits, Policy, State, Wish, World, begin, dump, load, run
from kgdx.episode.conversation import conversation, exchanges, requested, training_sample
from kgdx.episode.described import docstrings, fields_of, line, markdown, purpose
from kgdx.episode.lookup_rounds import rounds_of
from kgdx.episode.segment import Author, Kind, Operation, Segment, error_segment
from kgdx.errors import UsageError
from kgdx.llm.chat import Message


def wish(name: str, **fields: object) -> Segment:
    return Segment(Author.POLICY, Kind.WISH, name, fields)


def plan(number: int, *refused: str, ended: bool = False, thought: str = "") -> Segment:
    artifact = {"round": number, "actions": [], "refused": refused, "ended": ended, "failed": False}
    return Segment(Author.GRAPH, Kind.RESULT, "read_plan", {"artifact": artifact}, {"thought": thought})


def result(name: str, *ran: Operation) -> Segment:
    return Segment(Author.GRAPH, Kind.RESULT, name, operations=ran, milliseconds=3.0)


LOG = (
    wish("recognise"),
    result("recognise", Operation("tool", "names", rows=2)),
    wish("ask_model", prompt="plan@1"),
    Segment(Author.MODEL, Kind.RESULT, "m", words={"text": "{…}"}),
    wish("read_plan", round=1),
    plan(1, "unknown action 'x'", thought="drugs of Ada's disease"),
    wish("get_drug", diseases=["flu"]),
    result("get_drug", Operation("tool", "names", rows=1), Operation("query", "drugs_of_diseases", rows=7)),
    wish("get_test", diseases=["zzz"]),
    error_segment("get_test", UsageError("the graph knows no zzz")),
    plan(2, ended=True),
    Segment(Author.LOOP, Kind.END, "answered"),
)


def test_steps_stand_in_the_round_that_planned_them() -> None:
    before, first, second = rounds_of(LOG)
    assert (before.number, [step.action for step in before.steps]) == (0, ["recognise"])
    assert [(step.action, step.rows, step.error) for step in first.steps] == [
        ("get_drug", 7, ""),
        ("get_test", None, "the graph knows no zzz"),
    ]
    assert (first.refused, first.ended) == (("unknown action 'x'",), False)
    assert (second.steps, second.ended) == ((), True)


def test_a_steps_time_is_that_of_all_it_ran() -> None:
    assert rounds_of(LOG)[1].steps[0].milliseconds == 3.0


def test_a_models_reason_leaves_only_when_asked_for() -> None:
    told = [rounds_of(LOG, private=private)[1].thought for private in (False, True)]
    assert told == ["", "drugs of Ada's disease"]


def test_an_episode_without_plans_is_one_round() -> None:
    assert [each.number for each in rounds_of(LOG[:2])] == [0]
    assert rounds_of(()) == ()


class Tags(Policy):
    """Continues one text, with something of the environment's after each call."""

    name: ClassVar[str] = "tags"

    def choose(self, state: State) -> Wish | None:
        done = len(exchanges(state.log))
        if done == 0:
            return ask_model("begin", tokens=True, temperature=1.0, whole=False)
        if done == 3:
            return None
        given = (Message("assistant", f"<guide>{done}</guide>"),)
        return AskModel(prompt="test@1", messages=given, continues=True, tokens=True, temperature=1.0, whole=False)


def test_a_continued_text_is_one_message_and_its_tokens_are_increments() -> None:
    policy = Tags()
    episode = run(World(models={"m": Scripted()}), begin(Case("p"), policy, seed=3), policy)
    texts = [each.text for each in exchanges(episode.log)]
    whole = f"{texts[0]}<guide>1</guide>{texts[1]}<guide>2</guide>{texts[2]}"
    assert conversation(episode.log) == (Message("user", "begin"), Message("assistant", whole))
    assert [len(each.wish.words["messages"]) for each in exchanges(episode.log)] == [1, 1, 1]
    ids, mask, logprobs = training_sample(load(dump(episode.log)))
    assert len(ids) == len(mask) == len(logprobs)
    written = bytes(one for one, own in zip(ids, mask, strict=True) if own).decode()
    assert written == "".join(texts)
    assert {value for value, own in zip(logprobs, mask, strict=True) if own} == {-0.5}
    assert {value for value, own in zip(logprobs, mask, strict=True) if not own} == {0.0}
    assert bytes(ids).decode().endswith(whole)


def test_seeds_differ_by_call_and_by_episode_and_tokens_left_bound_an_answer() -> None:
    policy = Tags()
    model = World(models={"m": Scripted()})
    one, other = (run(model, begin(Case("p"), policy, seed=seed), policy) for seed in (3, 4))
    assert exchanges(one.log)[0].text != exchanges(other.log)[0].text
    state = State(Case("p"), limits=Limits(tokens=100))
    assert requested(state, ask_model()).max_tokens == 100
    assert requested(state, ask_model(max_tokens=7)).max_tokens == 7
    assert (requested(state, ask_model()).seed, requested(state, ask_model(temperature=0.5)).seed) == (None, 0)


@pytest.mark.parametrize("count", [1, 3])
def test_several_samples_of_one_request_have_own_seeds(count: int) -> None:
    class Samples(Tags):
        def choose(self, state: State) -> Wish | None:
            return None if state.log[1:] else ask_model(samples=count, temperature=1.0, tokens=True)

    policy = Samples()
    episode = run(World(models={"m": Scripted()}), begin(Case("p"), policy), policy)
    result = episode.log[2]
    assert len({*result.words.get("samples", [result.words["text"]])}) == count
    assert len(result.tokens) == count


PAGE = Path(__file__).parents[2] / "docs" / "reference" / "actions.md"


@pytest.mark.parametrize("name", sorted(ACTIONS))
def test_a_line_names_the_action_every_field_and_the_purpose(name: str) -> None:
    kind = ACTIONS[name]
    told = line(kind)
    assert "\n" not in told
    assert told.startswith(f'{{"action": "{name}"')
    assert told.endswith(purpose(kind))
    assert all(f'"{field}": ' in told for field in kind.model_fields)


@pytest.mark.parametrize("name", sorted(ACTIONS))
def test_every_field_says_what_it_is_for(name: str) -> None:
    fields = fields_of(ACTIONS[name])
    told = docstrings(ACTIONS[name])
    assert all(told.get(field.name) and field.type for field in fields)


def test_a_line_needs_no_source(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(of: object) -> str:
        raise OSError("no source")

    monkeypatch.setattr(inspect, "getsource", absent)
    fields_of.cache_clear()
    line.cache_clear()
    assert line(ACTIONS["get_symptom"]).startswith('{"action": "get_symptom"')


def test_bounds_and_defaults_are_told() -> None:
    fields = {field.name: field for field in fields_of(ACTIONS["infer_by_symptom"])}
    assert (fields["symptoms"].type, fields["symptoms"].default) == ("1 to 50 texts", None)
    assert (fields["min_match_count"].type, fields["min_match_count"].default) == ("1 or more", "1")


def test_the_page_of_the_documentation_is_up_to_date() -> None:
    made = markdown(ACTIONS)
    assert PAGE.read_text(encoding="utf-8") == made, "run `python -m kgdx.episode.described docs/reference/actions.md`"
