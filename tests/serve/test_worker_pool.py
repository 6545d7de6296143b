"""Workers, what they do with what arrives meanwhile, and the pool that hands requests to them."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conftest import require_module

require_module("orjson", "serve")

from kgdx.serve import worker, worker_pool  # noqa: E402
from kgdx.serve.problems import RequestRefused  # noqa: E402
from kgdx.serve.worker import CANCEL, PROBLEM, REQUEST, RESULT, Inbox, answer, frame, read  # noqa: E402
from kgdx.serve.worker_pool import CLIENT, WorkerPool, request  # noqa: E402

STUB = (sys.executable, str(Path(__file__).with_name("stub_worker.py")))


def with_pool(
    work: Callable[[WorkerPool], Awaitable[Any]], size: int = 1, waiting: int = 4, **opening: Any
) -> list[str]:
    lines: list[str] = []

    async def run() -> None:
        pool = WorkerPool(opening, size, waiting, lines.append, command=STUB)
        pool.start()
        try:
            await work(pool)
        finally:
            await pool.close()

    asyncio.run(run())
    return lines


async def ask(pool: WorkerPool, operation: str, seconds: float = 30, **given: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(await pool.ask(operation, given, seconds=seconds))
    return found


async def refused(pool: WorkerPool, operation: str, seconds: float = 30, **given: Any) -> RequestRefused:
    with pytest.raises(RequestRefused) as caught:
        await ask(pool, operation, seconds, **given)
    return caught.value


def test_a_worker_answers_one_request_after_the_other() -> None:
    async def work(pool: WorkerPool) -> None:
        first, second = await asyncio.gather(ask(pool, "one"), ask(pool, "two"))
        assert (first["operation"], second["operation"]) == ("one", "two")
        assert first["process"] == second["process"]

    assert with_pool(work) == []


def test_workers_that_were_killed_while_they_had_nothing_to_do_are_passed_over() -> None:
    async def work(pool: WorkerPool) -> None:
        while pool.alive < 2:
            await asyncio.sleep(0.05)
        first, second = await asyncio.gather(ask(pool, "one"), ask(pool, "two"))
        for each in (first, second):
            os.kill(each["process"], signal.SIGKILL)
        await asyncio.sleep(0.5)  # until the server has heard of it
        found = await ask(pool, "three")
        assert found["operation"] == "three"
        assert found["process"] not in (first["process"], second["process"])

    assert with_pool(work, size=2) == ["a worker ended while it had nothing to do (exit code -9)"] * 2


def test_two_workers_answer_at_the_same_time() -> None:
    async def work(pool: WorkerPool) -> None:
        while pool.alive < 2:
            await asyncio.sleep(0.05)
        found = await asyncio.gather(*(ask(pool, "sleep", lasting=0.5) for _ in range(2)))
        assert len({each["process"] for each in found}) == 2

    with_pool(work, size=2)


def test_one_client_holds_no_more_than_half_of_the_workers() -> None:
    async def of(client: str, pool: WorkerPool, operation: str, **given: Any) -> dict[str, Any]:
        CLIENT.set(client)
        return await ask(pool, operation, **given)

    async def work(pool: WorkerPool) -> None:
        while pool.alive < 2:
            await asyncio.sleep(0.05)
        greedy = [asyncio.create_task(of("greedy", pool, "sleep", lasting=1.0)) for _ in range(3)]
        await asyncio.sleep(0.2)
        found = await asyncio.create_task(of("another", pool, "one"))
        assert found["operation"] == "one" and not any(task.done() for task in greedy)
        assert len({(await task)["process"] for task in greedy}) >= 1

    with_pool(work, size=2)


async def _slow(pool: WorkerPool) -> None:
    with pytest.raises(RequestRefused) as caught:
        await pool.ask("sleep", {"lasting": 60}, seconds=0.5)
    problem = caught.value.problem
    assert (problem.status, problem.kind) == (503, "time-out") and "Retry-After" in problem.headers


def test_a_request_that_takes_too_long_is_ended_and_its_worker_replaced() -> None:
    async def work(pool: WorkerPool) -> None:
        before = await ask(pool, "one")
        await _slow(pool)
        after = await ask(pool, "two")
        assert after["process"] != before["process"]

    with_pool(work)


@pytest.mark.parametrize("operation", ["die", "break"])
def test_a_worker_that_ends_or_goes_mad_is_replaced(operation: str) -> None:
    async def work(pool: WorkerPool) -> None:
        problem = (await refused(pool, operation)).problem
        assert problem.status == 503 and problem.headers["Retry-After"]
        assert (await ask(pool, "again"))["operation"] == "again"

    assert any(operation in line for line in with_pool(work))


def test_more_requests_than_may_wait_are_refused_at_once() -> None:
    async def work(pool: WorkerPool) -> None:
        await ask(pool, "one")
        tasks = [asyncio.create_task(pool.ask("sleep", {"lasting": 0.3}, seconds=30)) for _ in range(6)]
        done = await asyncio.gather(*tasks, return_exceptions=True)
        refusals = [each for each in done if isinstance(each, RequestRefused)]
        assert [each.problem.kind for each in refusals] == ["busy"] * 3

    with_pool(work, waiting=2)


def test_a_problem_of_a_request_leaves_its_worker_alone() -> None:
    async def work(pool: WorkerPool) -> None:
        before = await ask(pool, "one")
        assert (await refused(pool, "refuse")).problem.status == 422
        assert (await ask(pool, "two"))["process"] == before["process"]

    with_pool(work)


def test_events_come_before_the_answer() -> None:
    async def work(pool: WorkerPool) -> None:
        told: list[dict[str, Any]] = []
        await pool.ask("tell", {}, seconds=30, event=told.append)
        assert told == [{"event": "text", "data": "one"}]

    with_pool(work)


def test_work_that_nobody_waits_for_and_that_goes_on_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_pool, "CANCEL_S", 0.2)

    async def work(pool: WorkerPool) -> None:
        before = await ask(pool, "one")
        task = asyncio.create_task(pool.ask("sleep", {"lasting": 60}, seconds=120))
        await asyncio.sleep(0.1)
        task.cancel()
        assert (await ask(pool, "two"))["process"] != before["process"]

    with_pool(work)


def test_work_that_nobody_waits_for_and_that_ends_soon_leaves_its_worker_alone() -> None:
    async def work(pool: WorkerPool) -> None:
        before = await ask(pool, "one")
        for _ in range(5):
            task = asyncio.create_task(pool.ask("sleep", {"lasting": 0.1}, seconds=120))
            await asyncio.sleep(0.02)
            task.cancel()
            after = await ask(pool, "two")  # the answer is its own, and not the one that was left
            assert (after["operation"], after["process"]) == ("two", before["process"])

    assert with_pool(work) == []


def test_workers_without_a_graph_are_tried_again_until_there_is_one(tmp_path: Path) -> None:
    graph = tmp_path / "graph"

    async def work(pool: WorkerPool) -> None:
        while pool.trouble is None or pool.trouble.detail != "no graph":
            await asyncio.sleep(0.05)
        problem = (await refused(pool, "one", seconds=3600)).problem  # nobody waits for what does not come
        assert problem.detail == "no graph" and pool.alive == 0
        assert problem.status == 503 and problem.headers["Retry-After"]
        graph.touch()
        while not pool.alive:
            await asyncio.sleep(0.05)
        await ask(pool, "two")
        assert pool.trouble is None and pool.alive == 1

    lines = with_pool(work, refuse=str(graph))
    assert lines == ["a worker does not start: no graph"], "told once"


def test_requests_do_not_wait_for_a_store_that_no_worker_reaches(tmp_path: Path) -> None:
    graph, hangs = tmp_path / "graph", tmp_path / "hangs"
    graph.touch()

    async def work(pool: WorkerPool) -> None:
        await ask(pool, "one")
        hangs.touch()
        graph.unlink()
        await pool.look(0.2)
        assert (await refused(pool, "two", seconds=3600)).problem.status == 503
        hangs.unlink()
        graph.touch()
        while not pool.alive:
            await asyncio.sleep(0.05)
        await ask(pool, "three")

    with_pool(work, refuse=str(graph), hangs=str(hangs))


def test_a_lazy_pool_starts_with_the_first_request() -> None:
    async def run() -> None:
        pool = WorkerPool({}, 1, 4, print, lazy=True, command=STUB)
        assert pool.alive == 0
        await ask(pool, "one")
        assert pool.alive == 1
        await pool.close()

    asyncio.run(run())


@pytest.mark.parametrize("value", ["\ud800", 1 << 70])
def test_what_no_json_can_hold_is_refused(value: Any) -> None:
    with pytest.raises(RequestRefused, match="cannot be used"):
        request("one", {"value": value})


def test_nesting_without_end_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(2000):
        deep = [deep]
    with pytest.raises(RequestRefused):
        request("one", {"value": deep})


Work = Callable[[Any, Any, Any], Any]


@contextmanager
def inbox(monkeypatch: pytest.MonkeyPatch, **operations: Work) -> Iterator[tuple[Inbox, Callable[..., None]]]:
    """An inbox at the end of a pipe, and what sends to it after some seconds."""
    monkeypatch.setattr(worker, "OPERATIONS", operations)
    before = signal.getsignal(signal.SIGUSR1)
    to_read, to_write = os.pipe()

    def send(kind: int, content: bytes = b"", after: float = 0.0) -> None:
        threading.Timer(after, os.write, (to_write, frame(kind, content))).start()

    try:
        with os.fdopen(to_read, "rb") as source:
            yield Inbox(source), send
            os.close(to_write)
            time.sleep(0.05)
    finally:
        signal.signal(signal.SIGUSR1, before)


def answered(box: Inbox) -> tuple[int, Any]:
    content = box.get()
    assert content is not None
    found = read(io.BytesIO(answer(None, content, lambda _: None, box)))  # type: ignore[arg-type]
    assert found is not None
    return found[0], json.loads(found[1])


def test_work_that_waits_for_others_is_left_at_once_and_the_next_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def waits(serving: Any, given: Any, event: Any) -> dict[str, Any]:
        time.sleep(60)
        return {}

    with inbox(monkeypatch, waits=waits, next=lambda serving, given, event: {"done": True}) as (box, send):
        for _ in range(5):
            send(REQUEST, request("waits", {}))
            send(CANCEL, after=0.1)
            kind, said = answered(box)
            assert (kind, said["kind"]) == (PROBLEM, "abandoned")
        send(REQUEST, request("next", {}))
        assert answered(box) == (RESULT, {"done": True})


def test_an_answer_that_is_ready_is_not_lost_to_one_who_left_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    with inbox(monkeypatch, quick=lambda serving, given, event: {"done": True}) as (box, send):
        for _ in range(20):
            send(REQUEST, request("quick", {}))
            kind, _ = answered(box)
            assert kind == RESULT
            send(CANCEL)
            time.sleep(0.01)


def test_an_event_is_told_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    told = io.BytesIO()

    def write(content: bytes) -> None:
        told.write(content[:4])
        time.sleep(0.3)
        told.write(content[4:])

    def tells(serving: Any, given: Any, event: Any) -> dict[str, Any]:
        while True:
            event({"event": "text", "data": "one"})

    with inbox(monkeypatch, tells=tells) as (box, send):
        send(REQUEST, request("tells", {}))
        send(CANCEL, after=0.4)
        content = box.get()
        assert content is not None
        answer(None, content, write, box)  # type: ignore[arg-type]
    told.seek(0)
    found = [read(told), read(told), read(told)]
    assert found[-1] is None and told.read() == b"", "two events, the last of them whole"
    assert [json.loads(each[1])["data"] for each in found[:-1] if each] == ["one", "one"]


def test_json_that_is_ready_is_sent_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    with inbox(monkeypatch, ready=lambda serving, given, event: '{"a":"é"}') as (box, send):
        send(REQUEST, request("ready", {}))
        assert answered(box) == (RESULT, {"a": "é"})
