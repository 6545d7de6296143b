"""A real Neo4j that is lost while a model plans: the answer rests on what was found, and nothing is half."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import kgdx
from kgdx import api
from kgdx.config import LlmAccess, Settings
from kgdx.errors import StoreError
from kgdx.llm.connect import connect
from llm.server import Body, Reply, Say, serving

pytestmark = [pytest.mark.neo4j, pytest.mark.heavy]

PLANS = (
    {"action": "get_drug", "diseases": ["甲热"]},
    {"action": "infer_by_symptom", "symptoms": ["抽搐"]},
)


class Wire:
    """Forwards connections to a server until it is cut."""

    def __init__(self, host: str, port: int) -> None:
        self._to = (host, port)
        self._ends: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """End all connections, and take no more."""
        for end in (self._listening, *self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self._listening.accept()
                there = socket.create_connection(self._to)
                self._ends += (here, there)
                for one, other in ((here, there), (there, here)):
                    threading.Thread(target=self._forward, args=(one, other), daemon=True).start()

    @staticmethod
    def _forward(one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65_536):
                other.sendall(data)
        with suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)


@contextmanager
def wired(uri: str) -> Iterator[Wire]:
    parts = urlsplit(uri)
    wire = Wire(parts.hostname or "127.0.0.1", parts.port or 7687)
    yield wire
    wire.cut()


@pytest.fixture(scope="module")
def pushed(zh_graph: Path, neo4j_uri: str) -> str:
    api.push(store=zh_graph, neo4j=neo4j_uri, force=True)
    return neo4j_uri


def test_a_neo4j_that_is_lost_mid_episode_leaves_an_answer(pushed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[int] = []
    monkeypatch.setattr("kgdx.graph.neo4j.bolt._RETRY_SECONDS", 1.0)
    monkeypatch.setenv("KGDX_NEO4J_PASSWORD", Settings.load().neo4j(pushed).password or "")

    with wired(pushed) as wire, kgdx.open(f"bolt://127.0.0.1:{wire.port}") as graph:

        def reply(body: Body, number: int) -> Reply:
            if "# Your choice" not in body["messages"][1]["content"]:
                return Say("甲热用甲片[E1]。")
            planned.append(number)
            if len(planned) == 2:
                wire.cut()
            return Say(json.dumps({"thought": "", "actions": [*PLANS[len(planned) - 1 : len(planned)]]}))

        with serving(reply) as server:
            answer = graph.ask("甲热吃什么药", model=connect(LlmAccess("m", server.url)))
        lost = [segment for segment in answer.trace if segment.kind == "error"]
        assert "甲片[E1]" in answer.text.text
        assert answer.reason == "answered"
        assert lost, "what is not in the snapshot was asked of the server in vain"
        assert all(segment.data["error"].startswith("Store") for segment in lost)
        assert all("\n" not in issue.message for issue in answer.issues)
        with pytest.raises(StoreError):
            graph.save(answer)
    with kgdx.open(pushed) as graph:
        assert graph.run("run_by_id", run_id=answer.id) == []
        run = graph.save(answer)
        assert graph.save(answer) == run
        (kept,) = graph.run("run_by_id", run_id=run)
        assert [each["id"] for each in graph.run("case_runs", case_id=kept["case_id"])] == [run]
