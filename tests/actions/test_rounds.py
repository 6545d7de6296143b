"""The log of an episode reads as rounds: what was planned, what came of it, what was refused."""

from __future__ import annotations

from kgdx.actions import Author, Segment
from kgdx.actions.rounds import rounds_of

LOG = (
    Segment(Author.POLICY, "action", "recognise"),
    Segment(Author.TOOL, "tool", "names", rows=2, milliseconds=1.0),
    Segment(Author.TOOL, "prompt", "m", {"round": 1}),
    Segment(Author.POLICY, "answer", "m", {"round": 1}, content="{…}"),
    Segment(Author.POLICY, "thought", "m", {"round": 1}, content="drugs of Ada's disease"),
    Segment(Author.POLICY, "plan", "planner", {"round": 1, "actions": []}),
    Segment(Author.TOOL, "error", "plan", content="unknown action 'x'"),
    Segment(Author.POLICY, "action", "get_drug", {"diseases": ["flu"]}),
    Segment(Author.TOOL, "tool", "names", rows=1, milliseconds=1.0),
    Segment(Author.GRAPH, "query", "drugs_of_diseases", {}, 7, milliseconds=2.0),
    Segment(Author.POLICY, "action", "get_test", {"diseases": ["zzz"]}),
    Segment(Author.TOOL, "error", "get_test", {"error": "UsageError"}, content="the graph knows no zzz"),
    Segment(Author.POLICY, "plan", "planner", {"round": 2, "ended": True}),
    Segment(Author.TOOL, "end", "episode", content="answered"),
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
    first = rounds_of(LOG)[1]
    assert (first.to_dict()["thought"], first.to_dict(private=True)["thought"]) == ("", "drugs of Ada's disease")


def test_an_episode_without_plans_is_one_round() -> None:
    assert [each.number for each in rounds_of(LOG[:2])] == [0]
    assert rounds_of(()) == ()
