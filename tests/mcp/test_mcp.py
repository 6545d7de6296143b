"""`kgdx mcp` as an assistant meets it: by the package's own client, over standard input and over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kgdx
from conftest import require_module
from kgdx.llm.chat import Message, estimated_tokens
from kgdx.mcp.mcp_server import PATH, ROOM, Tools, Turns, application, readable, server
from kgdx.serve import Options
from policies.conftest import behind
from policies.test_second_reader import LIMP, NOTE, writes

require_module("mcp.server", "mcp")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
SEIZING = {"observed": ["HP:0001250", "HP:0002133"], "excluded": ["HP:0004322"]}


@pytest.fixture(scope="module")
def turns(tiny_graph: Path) -> Iterator[Turns]:
    made = Turns(lambda: Tools(kgdx.open(tiny_graph)), seconds=60)
    yield made
    made.close()


@pytest.fixture(scope="module")
def call(turns: Turns) -> Callable[..., str]:
    """Calls a tool in this process, through the client and the protocol."""
    from mcp import Client

    def called(tool: str, **given: Any) -> str:
        async def asked() -> str:
            async with Client(server(turns)) as client:
                return said(await client.call_tool(tool, given))

        return asyncio.run(asked())

    return called


def said(result: Any) -> str:
    return "\n".join(each.text for each in result.content)


def with_client(place: Any, use: Callable[[Any], Awaitable[Any]]) -> Any:
    from mcp import Client

    async def used() -> Any:
        async with Client(place) as client:
            return await use(client)

    return asyncio.run(used())


def test_a_patient_is_diagnosed_and_a_disease_explained(call: Callable[..., str]) -> None:
    ranked = call("diagnose", **SEIZING)
    assert "1. Tiny epilepsy syndrome 1, autosomal recessive" in ranked and "speaks for it" in ranked
    assert "PMID" in call("explain", disease="OMIM:100001", text="She has seizures, but is not short.")
    assert call("explain", disease="no such thing", **SEIZING).startswith("error: ")


def test_texts_are_read_by_a_model_too_where_the_server_has_one(tiny_graph: Path) -> None:
    with kgdx.open(tiny_graph) as graph, behind(writes([LIMP], [{"number": 1, "reason": "past"}])) as (model, server):
        tools = Tools(graph, reader=model, heed_doubts=True)
        assert "Hypotonia" in tools.diagnose(NOTE) and "doubts Seizure" in tools.diagnose(NOTE)
        assert "Hypotonia" in tools.explain("OMIM:100001", NOTE)
        assert len(server.requests) == 3 and tools.diagnose(observed=["HP:0001250"]) and len(server.requests) == 3


def test_what_cannot_be_read_is_one_line(call: Callable[..., str]) -> None:
    for given in ({}, {"observed": ["no such finding at all"]}):
        assert re.fullmatch(r"error: .+", call("diagnose", **given))
    assert call("look_up", action="rank", fields={}).startswith("error: ")


def test_names_are_found_and_sources_read(call: Callable[..., str]) -> None:
    assert "HP:0001250" in call("search", name="epilepsy")
    found = call("look_up", action="get_phenotype", fields={"diseases": ["OMIM:100001"]})
    assert "Seizure" in found and "source" in found
    assert "[E1]" in call("ask", question="What are the symptoms of OMIM:100001?")


def test_every_action_of_the_list_only_reads() -> None:
    from kgdx.answer.artifacts import Retrieved

    assert {"get_phenotype", "infer_by_phenotype"} <= readable().keys()
    assert all(issubclass(kind.makes, Retrieved) for kind in readable().values())


def test_the_graph_asks_until_the_diseases_are_ranked(call: Callable[..., str]) -> None:
    begun = call("consult_begin", observed=["HP:0001250"], questions=2)
    name = begun.partition("consultation: ")[2].split()[0]
    assert "question 1: " in begun and "leading so far: " in begun
    answered = call("consult_answer", consultation=name, answer="no")
    assert "question 2: " in answered
    assert "question 1: " in call("consult_answer", consultation=name, what="back")
    assert "1. " in call("consult_answer", consultation=name, what="finish")
    assert call("consult_answer", consultation=name, answer="no").startswith("error: there is no such consultation")


def test_a_result_has_room_in_a_context_window(call: Callable[..., str]) -> None:
    whole = call("diagnose", **SEIZING, top=50, explained=5, tokens=20_000)
    short = call("diagnose", **SEIZING, top=50, explained=5, tokens=100)
    assert short != whole and re.search(r"… \d+ more lines: ask for more with `tokens`", short)
    assert estimated_tokens([Message("user", short)]) <= 100
    assert estimated_tokens([Message("user", call("diagnose", **SEIZING))]) <= ROOM


def test_resources_say_what_the_graph_is(turns: Turns) -> None:
    async def read(client: Any) -> list[str]:
        every = ("kgdx://graph", "kgdx://actions", "kgdx://disease/OMIM:100001")
        return [(await client.read_resource(each)).contents[0].text for each in every]

    about, actions, disease = with_client(server(turns), read)
    assert '"hpoa"' in about and "get_phenotype(diseases" in actions
    assert "Tiny epilepsy" in disease and "HP:0001250" in disease


def test_what_takes_too_long_is_not_waited_for(turns: Turns) -> None:
    waits = threading.Event()
    slow = Turns.__new__(Turns)
    slow._seconds, slow._thread, slow.tools = 0.05, turns._thread, turns.tools
    found = asyncio.run(slow.run(lambda: str(waits.wait(10))))
    waits.set()
    assert found.startswith("error: no answer within 0.05 s")


def test_a_fault_of_ours_repeats_nothing_that_was_asked(turns: Turns, capsys: pytest.CaptureFixture[str]) -> None:
    def breaks() -> str:
        raise ValueError("Jane Roe")

    assert asyncio.run(turns.run(breaks)).startswith("error: this could not be answered")
    assert "Jane" not in capsys.readouterr().err


@contextlib.contextmanager
def listening(app: Any) -> Iterator[str]:
    import uvicorn

    place = socket.create_server(("127.0.0.1", 0))
    running = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [place]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{place.getsockname()[1]}{PATH}"
    finally:
        running.should_exit = True
        thread.join()


def test_over_http_the_guard_of_the_server_stands_before_it(turns: Turns) -> None:
    import httpx2

    options = Options(token="t" * 32, rate=0, log_requests=False)
    with listening(application(server(turns), options)) as url:
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        assert httpx2.post(url, json=body).status_code == 401
        known = {"Authorization": f"Bearer {'t' * 32}"}
        assert httpx2.post(url, json=body, headers={**known, "Host": "evil.example"}).status_code == 421
        assert httpx2.post(url, json=body, headers={**known, "Origin": "https://evil.example"}).status_code == 403
        assert httpx2.post(url, content=b" " * 3_000_000, headers=known).status_code == 413


def test_an_assistant_asks_over_http(turns: Turns) -> None:
    async def asked(client: Any) -> tuple[set[str], str]:
        tools = {each.name for each in (await client.list_tools()).tools}
        return tools, said(await client.call_tool("search", {"name": "epilepsy"}))

    with listening(application(server(turns), Options(rate=0, log_requests=False))) as url:
        tools, found = with_client(url, asked)
    assert tools == {"diagnose", "explain", "ask", "search", "look_up", "consult_begin", "consult_answer"}
    assert "HP:0001250" in found


def test_an_assistant_starts_the_command_itself(tiny_graph: Path) -> None:
    from mcp import StdioServerParameters

    command = ["-m", "kgdx", "mcp", "--store", str(tiny_graph)]
    place = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))

    async def asked(client: Any) -> str:
        return said(await client.call_tool("diagnose", SEIZING))

    assert "Tiny epilepsy syndrome 1" in with_client(place, asked)


def test_other_machines_need_a_token(tiny_graph: Path) -> None:
    command = [sys.executable, "-m", "kgdx", "mcp", "--http", "--host", "0.0.0.0", "--store", str(tiny_graph)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "give a token" in done.stderr
