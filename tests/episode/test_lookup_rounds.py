"""The log of an episode reads as rounds: what was planned, what came of it, what was refused."""

from __future__ import annotations

from kgdx.episode.lookup_rounds import rounds_of
from kgdx.episode.segment import Author, Kind, Operation, Segment, error_segment
from kgdx.errors import UsageError


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
    first = rounds_of(LOG)[1]
    assert (first.to_dict()["thought"], first.to_dict(private=True)["thought"]) == ("", "drugs of Ada's disease")


def test_an_episode_without_plans_is_one_round() -> None:
    assert [each.number for each in rounds_of(LOG[:2])] == [0]
    assert rounds_of(()) == ()
