"""A log, cut anywhere and gone on with, gives the same log; it is JSON, and forged ones are refused."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actions.fakes import SEIZURE, Fake
from conftest import examples
from episode.worlds import Bare, Broken, Count, Idle, Listed, Note, Oracle, Scripted, Talk
from episode.worlds import case as case_of
from kgdx.case import Case
from kgdx.episode import (
    Episode,
    Limits,
    Policy,
    World,
    begin,
    dump,
    load,
    policy_of,
    resume,
    run,
)
from kgdx.errors import LlmError, UsageError
from kgdx.policies import FixedPolicy

pytestmark = pytest.mark.usefixtures("named")


class Graph(Fake):
    fingerprint = "f"


def cuts(world: World, episode: Episode, policy: Policy) -> None:
    """Assert that the log, cut after each of its segments, goes on to be the same."""
    for length in range(1, len(episode.log) + 1):
        written = load(dump(episode.log[:length]))
        assert written == episode.log[:length]
        again = run(world, resume(world, written), policy)
        assert (again.log, again.reason) == (episode.log, episode.reason), length
        assert again.state.counts._replace(milliseconds=0) == episode.state.counts._replace(milliseconds=0)


def test_a_diagnosis_goes_on_from_any_cut() -> None:
    world, policy = World(Graph()), FixedPolicy()  # type: ignore[arg-type]
    episode = run(world, begin(Case("p", text="a seizure"), policy, fingerprint="f"), policy)
    assert episode.reason == "diagnosed"
    cuts(world, episode, policy)
    assert policy_of(episode.log) == policy


@given(st.lists(st.sampled_from([Note(word="a"), Idle(), Broken(), Count()]), max_size=8), st.integers(0, 3))
@examples(40)
def test_any_episode_goes_on_from_any_cut(wishes: list[Any], errors: int) -> None:
    world, policy = World(Bare()), Listed(wishes=tuple(wishes))  # type: ignore[arg-type]
    cuts(world, run(world, begin(case_of("HP:1"), policy, limits=Limits(errors=errors, steps=6)), policy), policy)


@pytest.mark.parametrize("limits", [Limits(), Limits(steps=5), Limits(calls=1), Limits(questions=1), Limits(tokens=40)])
def test_patients_and_models_are_not_asked_again(limits: Limits) -> None:
    policy = Talk()
    model = Scripted()
    world = World(Bare(), Oracle(), {"m": model})  # type: ignore[arg-type]
    episode = run(world, begin(case_of("HP:1"), policy, limits=limits, seed=5), policy)
    asked = model.asked
    resume(world, load(dump(episode.log)))
    assert model.asked == asked
    cuts(world, episode, policy)


def test_a_model_that_fails_is_an_error_in_the_log_that_a_resume_keeps() -> None:
    class Failing(Scripted):
        async def complete(self, request: Any, on_text: Any = None) -> Any:
            raise LlmError("it is away", hint="wait", kind="unreachable", partial="It is")

    policy = Talk()
    world = World(Bare(), Oracle(), {"m": Failing()})  # type: ignore[arg-type]
    episode = run(world, begin(case_of("HP:1"), policy, limits=Limits(errors=2)), policy)
    error = episode.error
    assert isinstance(error, LlmError)
    assert (error.kind, error.partial, str(error)) == ("unreachable", "It is", "it is away: wait")
    cuts(world, episode, policy)


def test_an_episode_goes_on_in_another_process(tmp_path: Path) -> None:
    policy = Talk()
    whole = run(World(Bare(), Oracle(), {"m": Scripted()}), begin(case_of("HP:1"), policy), policy)  # type: ignore[arg-type]
    (tmp_path / "log.jsonl").write_text(dump(whole.log[:7]), "utf-8")
    program = (
        "import sys; from pathlib import Path\n"
        "from episode.worlds import *\n"
        "from kgdx.episode import *\n"
        "[ACTIONS.register(kind.name, kind) for kind in (Note, Idle, Count, Broken)]\n"
        "world = World(Bare(), Oracle(), {'m': Scripted()})\n"
        "log = load(Path(sys.argv[1]).read_text('utf-8'))\n"
        "print(dump(run(world, resume(world, log), Talk()).log), end='')\n"
    )
    tests = str(Path(__file__).parents[1])
    command = [
        sys.executable,
        "-c",
        f"import sys; sys.path.insert(0, {tests!r})\n{program}",
        str(tmp_path / "log.jsonl"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert load(done.stdout) == whole.log


def finished() -> tuple[World, Episode]:
    policy = FixedPolicy()
    world = World(Graph())  # type: ignore[arg-type]
    return world, run(world, begin(Case("p", text="a seizure"), policy, fingerprint="f"), policy)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda log: (), "the log has no beginning"),
        (lambda log: log[1:], "the log has no beginning"),
        (lambda log: (replace(log[0], words={}), *log[1:]), "the log is without its words"),
        (lambda log: (replace(log[0], data={**log[0].data, "fingerprint": "g"}), *log[1:]), "begun on another graph"),
        (lambda log: (replace(log[0], data={**log[0].data, "limits": {"x": 1}}), *log[1:]), "beginning cannot be read"),
        (lambda log: (replace(log[0], words={"case": 3, "question": ""}), *log[1:]), "beginning cannot be read"),
        (lambda log: (log[0], log[2]), "a result that nothing asked for"),
        (lambda log: (*log[:2], replace(log[2], data={"digest": "forged"}), *log[3:]), "does not answer extract as"),
        (lambda log: (*log[:4], replace(log[4], data={"digest": "forged"}), *log[5:]), "does not answer rank as"),
        (lambda log: (log[0], replace(log[1], name="drop_all")), "no action 'drop_all'"),
        (lambda log: (*log[:3], replace(log[3], data={"top": -1})), "action rank: top"),
    ],
)
def test_a_forged_or_foreign_log_is_refused_in_one_line(change: Any, message: str) -> None:
    world, episode = finished()
    with pytest.raises(UsageError, match=message) as caught:
        resume(world, change(episode.log))
    assert "\n" not in str(caught.value)


def test_a_graph_that_answers_otherwise_is_noticed() -> None:
    _, episode = finished()
    other = Graph()
    other.score = 9.0
    with pytest.raises(UsageError, match="the graph does not answer rank as the log says"):
        resume(World(other), episode.log[:5])  # type: ignore[arg-type]


def test_a_log_is_json_lines_and_a_line_that_was_cut_off_is_left_out() -> None:
    _, episode = finished()
    text = dump(episode.log)
    assert load(text[:-9]) == episode.log[:-1]
    with pytest.raises(UsageError, match="line 1 of the log is no JSON"):
        load("{]\n" + text)
    with pytest.raises(UsageError, match="an entry that is none"):
        load('{"author": "policy"}\n')
    with pytest.raises(UsageError, match="an entry that is none"):
        load("[1]\n")
    keys = {"author", "kind", "name", "data", "cost", "milliseconds", "operations", "words"}
    assert all(json.loads(line).keys() <= keys for line in text.splitlines())


def test_a_log_without_words_can_be_shown_and_not_resumed() -> None:
    world, episode = finished()
    shown = dump(episode.log, private=False)
    assert "seizure" not in shown
    assert [each.name for each in load(shown)] == [each.name for each in episode.log]
    with pytest.raises(UsageError, match="without its words"):
        resume(world, load(shown))


def test_what_was_read_of_a_patient_is_read_again_at_its_place() -> None:
    world, episode = finished()
    state = resume(world, episode.log[:3])
    assert state.case.observed == (SEIZURE,)
    assert world.graph.banks == [None]  # type: ignore[union-attr]
