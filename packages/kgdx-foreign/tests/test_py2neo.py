"""The adapter for py2neo, on a graph of kgdx's own."""

from __future__ import annotations

import socket
from collections.abc import Callable
from threading import Event
from types import SimpleNamespace

import pyarrow as pa
import pytest

from conftest import require_module
from kgdx.config import Settings
from kgdx.errors import StoreError
from kgdx.graph.neo4j.neo4j_store import Neo4jStore
from kgdx.graph.protocol import NodeTable
from kgdx_foreign import Py2neoReader

GENE = NodeTable("Gene", pa.table({"id": ["NCBIGene:1"], "name": ["A1BG"], "source": ["test"]}))


@pytest.mark.neo4j
@pytest.mark.heavy
def test_py2neo_graph_runs_read_templates(neo4j_uri: str) -> None:
    require_module("py2neo", "py2neo")
    import py2neo

    access = Settings.load(neo4j_uri).neo4j()
    with Neo4jStore.create(access) as store:
        store.load([GENE])
        graph = py2neo.Graph(access.uri, auth=(access.user, access.password))
        try:
            reader = Py2neoReader(graph)
            assert reader.run("build") == store.run("build")
            assert reader.run("count_nodes") == store.run("count_nodes")
        finally:
            graph.service.connector.close()


def waiting_graph(address: tuple[str, int], query: Callable[..., object], closed: Event) -> SimpleNamespace:
    """What of a py2neo ``Graph`` is used; like the real one it tries for ever where its server is gone."""
    service = SimpleNamespace(
        uri="bolt://there", profile=SimpleNamespace(address=address), connector=SimpleNamespace(close=closed.set)
    )
    return SimpleNamespace(service=service, query=query)


def test_a_server_that_is_gone_or_silent_ends_in_one_line() -> None:
    closed = Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = listening.getsockname()
        silent = waiting_graph(address, lambda *_: closed.wait(60), closed)
        with pytest.raises(StoreError, match=r"^nothing at bolt://there has answered for 0\.2 s.*make a new py2neo"):
            Py2neoReader(silent, seconds=0.2).run("build")
        assert closed.is_set()
    gone = waiting_graph(address, lambda *_: pytest.fail("py2neo would never come back"), closed)
    with pytest.raises(StoreError, match="py2neo failed: .*refused"):
        Py2neoReader(gone).run("build")
