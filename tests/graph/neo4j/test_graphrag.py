"""neo4j-graphrag's own retriever finds names by meaning and by words, and brings what the graph states around them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from kgdx import api
from kgdx.config import Settings
from kgdx.graph.neo4j.bolt import connect
from kgdx.graph.neo4j.graphrag import index_names, retriever
from kgdx.graph.neo4j.neo4j_store import Neo4jStore

pytest.importorskip("neo4j_graphrag", reason="needs kgdx[graphrag]")
pytestmark = [
    pytest.mark.neo4j,
    pytest.mark.heavy,
    pytest.mark.filterwarnings("ignore:The default returned:DeprecationWarning"),
]


def letters(texts: Sequence[str]) -> np.ndarray:
    return np.array([[1 + text.lower().count(chr(97 + at)) for at in range(26)] for text in texts], np.float32)


def test_the_retriever_of_the_real_package_finds_names_with_their_paths(neo4j_uri: str, tiny_graph: Path) -> None:
    api.push(store=tiny_graph, neo4j=neo4j_uri, force=True)
    access = Settings.load().neo4j(neo4j_uri)
    with connect(access) as driver, Neo4jStore.unchecked(access) as store:
        before = store.fingerprint()
        assert index_names(driver, letters) == index_names(driver, letters) > 20
        found = retriever(driver, letters).search(query_text="seizure", top_k=3)
        assert len(found.items) == 3
        first = found.items[0]
        assert first.metadata is not None and first.metadata["id"] == "HP:0001250"
        assert first.content.startswith("Seizure (HP:0001250)\n") and "HAS_PHENOTYPE Seizure [hpoa]" in first.content
        assert store.fingerprint() == before and not store.misfits()
        driver.execute_query("MATCH (v:KgdxVector) DELETE v")
        store.clear()
