"""What a worker does with what arrives while it works."""

from __future__ import annotations

import io
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from conftest import require_module

require_module("orjson", "serve")

from kgdx.serve import worker  # noqa: E402
from kgdx.serve.worker import CANCEL, PROBLEM, REQUEST, RESULT, Inbox, answer, frame, read  # noqa: E402
from kgdx.serve.worker_pool import request  # noqa: E402

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
