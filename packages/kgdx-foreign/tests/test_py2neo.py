"""The adapter for py2neo, on a graph of kgdx's own."""

from __future__ import annotations

import pyarrow as pa
import pytest

from conftest import require_module
from kgdx.config import Settings
from kgdx.graph.neo4j.neo4j_store import Neo4jStore
from kgdx.graph.protocol import NodeTable
from kgdx_foreign import Py2neoReader

pytestmark = [pytest.mark.neo4j, pytest.mark.heavy]

GENE = NodeTable("Gene", pa.table({"id": ["NCBIGene:1"], "name": ["A1BG"], "source": ["test"]}))


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
