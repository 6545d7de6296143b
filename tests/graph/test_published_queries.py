"""The queries of the how-to page give the same rows on both stores."""

from __future__ import annotations

import re
from pathlib import Path

import kgdx
from kgdx import api
from kgdx.config import Settings
from kgdx.graph.neo4j.neo4j_store import Neo4jStore

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "graph-queries.md"
OURS = {
    "Marfan syndrome": "Tiny epilepsy syndrome 1, autosomal recessive",
    "Ectopia lentis": "Seizure",
    "Scoliosis": "Hypotonia",
    "OMIM:154700": "OMIM:100001",
    "PMID:20301510": "PMID:22222222",
}


def queries() -> list[str]:
    """The queries of the page, asked about what the tiny graph has."""
    found = re.findall(r"```cypher\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    return [re.sub("|".join(OURS), lambda name: OURS[name[0]], text) for text in found]


def test_the_embedded_store_answers_all(tiny_graph: Path) -> None:
    with kgdx.open(tiny_graph) as graph:
        answers = [graph.store._database.query(text, {}) for text in queries()]
    assert len(answers) == 12
    assert [number for number, rows in enumerate(answers, 1) if not rows] == []
    inherited = {row["relation"] for row in answers[1]}
    assert inherited <= {"HAS_INHERITANCE", "HAS_COURSE"}
    assert [row["is"] for row in answers[6]] == ["wider"]


def test_neo4j_answers_alike(tiny_graph: Path, neo4j_uri: str) -> None:
    api.push(store=tiny_graph, neo4j=neo4j_uri, force=True)
    with kgdx.open(tiny_graph) as graph, Neo4jStore.unchecked(Settings.load().neo4j(neo4j_uri)) as server:
        for text in queries():
            found = [dict(row) for row in server._driver.execute_query(text).records]
            assert found == [dict(row) for row in graph.store._database.query(text, {})], text
        server.clear()
