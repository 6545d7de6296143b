"""Work shared out to processes and to actors of Ray: what one process gives, in its order, whatever happens to them."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import require_module
from kgdx.api import Graph
from kgdx.errors import ConfigError, KgdxError, LlmError, MissingExtraError, StoreError, UsageError
from kgdx.learn.shares import TRIES, Team, shared
from kgdx.learn.workers import Doer, Post
from shared_work import BROKEN, FAILS, Counting

HOWS = [pytest.param(None, id="processes"), pytest.param("local", id="ray", marks=pytest.mark.heavy)]
COUNT = 40


@pytest.fixture(params=HOWS)
def ray(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """Where work is shared out to; actors find the work of these tests by the path."""
    where: str | None = request.param
    if where is not None:
        require_module("ray", "cluster")
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    return where


def found(results: Iterator[tuple[int, int, int]]) -> list[tuple[int, int]]:
    return [(item, size) for item, size, _ in results]


def one(graph: Graph) -> list[tuple[int, int]]:
    return found(shared(Counting(), range(COUNT), graph))


def test_one_process_works_on_the_graph_that_is_open(graph: Graph) -> None:
    assert {who for _, _, who in shared(Counting(), range(3), graph)} == {os.getpid()}


def test_many_processes_give_what_one_gives_in_the_same_order(graph: Graph, ray: str | None) -> None:
    told = list(shared(Counting(), range(COUNT), graph, jobs=2, ray=ray, share=3))
    assert found(iter(told)) == one(graph)
    assert os.getpid() not in {who for _, _, who in told}


def test_the_share_of_a_killed_process_is_done_again(graph: Graph, ray: str | None, tmp_path: Path) -> None:
    told = list(shared(Counting(tmp_path, deadly=17), range(COUNT), graph, jobs=2, ray=ray, share=3))
    died = int((tmp_path / "died").read_text())
    assert found(iter(told)) == one(graph)
    assert died not in {who for item, _, who in told if item >= 15}


def test_what_kills_each_process_is_told_after_a_few(graph: Graph, tmp_path: Path) -> None:
    told = shared(Counting(tmp_path, deadly=5, always=True), range(COUNT), graph, jobs=2, share=3)
    with pytest.raises(StoreError, match=r"3 processes died over the same 3 items: .*fewer --jobs"):
        list(told)
    assert len((tmp_path / "died").read_text().splitlines()) == TRIES


def test_what_an_item_raises_comes_after_the_results_before_it(graph: Graph) -> None:
    told, before = shared(Counting(), [*range(7), FAILS, *range(9)], graph, jobs=2, share=3), []
    with pytest.raises(MissingExtraError, match=r'this item needs an optional dependency: pip install "kgdx\[cluster'):
        for each in told:
            before.append(each[0])
    assert before == list(range(7))


def test_a_fault_of_the_program_says_where_it_was(graph: Graph) -> None:
    with pytest.raises(ZeroDivisionError) as fault:
        list(shared(Counting(), [BROKEN], graph, jobs=2))
    assert "shared_work.py" in fault.value.__notes__[0]


def test_nothing_to_do_starts_nobody(graph: Graph) -> None:
    assert list(shared(Counting(), [], graph, jobs=2)) == []


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_processes_end_with_the_one_that_shares_out(graph: Graph, sent: signal.Signals) -> None:
    script = (
        "import kgdx, sys; from kgdx.learn.shares import shared; from shared_work import Counting\n"
        "if __name__ == '__main__':\n"
        "    for _ in shared(Counting(endless=1), [0, 1, 1], kgdx.open(sys.argv[1]), jobs=2, share=1):\n"
        "        print('busy', flush=True)\n"
    )
    about = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", script, graph.url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=about, text=True) as parent:
        assert parent.stdout is not None and parent.stdout.readline() == "busy\n"
        parent.send_signal(sent)
        rest, _ = parent.communicate(timeout=60)  # its output ends when the last process that shares it has ended
    assert rest == "" and parent.returncode == -sent


def test_a_team_goes_on_after_a_round_that_was_left(graph: Graph) -> None:
    with Team(Counting(pause=0.01), graph, jobs=2) as team:
        left = team.map(range(COUNT), share=2)
        assert next(left)[0] == 0
        left.close()
        assert [item for item, *_ in team.map(range(5), share=1)] == list(range(5))


def test_items_are_read_as_the_work_goes_on(graph: Graph) -> None:
    read: list[int] = []

    def items() -> Iterator[int]:
        for item in range(1000):
            read.append(item)
            yield item

    told = shared(Counting(), items(), graph, jobs=2, share=2)
    next(told)
    told.close()
    assert len(read) < 40


def test_another_graph_is_refused(graph: Graph) -> None:
    outcome = Doer(Post(Counting(), graph.settings, False, "another")).do([1])
    assert isinstance(outcome.error, StoreError) and "is not the one that is open here" in str(outcome.error)


@pytest.mark.parametrize("jobs", [0, -3])
def test_no_processes_can_do_nothing(graph: Graph, jobs: int) -> None:
    with pytest.raises(UsageError, match=f"{jobs} processes can do nothing"):
        list(shared(Counting(), range(3), graph, jobs=jobs))


@pytest.mark.parametrize("address", ["nowhere", "host:port", "127.0.0.1:0", "127.0.0.1:99999"])
def test_what_is_no_address_is_refused(graph: Graph, address: str) -> None:
    require_module("ray", "cluster")
    with pytest.raises(ConfigError, match=f"'{address}' is no address of Ray: give host and port"):
        list(shared(Counting(), range(3), graph, ray=address))


@pytest.mark.parametrize(
    "error",
    [
        UsageError("wrong", hint="right"),
        MissingExtraError("this", "cluster"),
        LlmError("no answer", kind="denied"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_are_the_same_in_another_process(error: KgdxError) -> None:
    for same in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(same) is type(error) and str(same) == str(error) and vars(same) == vars(error)
