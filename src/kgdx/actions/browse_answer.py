"""Queries for Neo4j Browser that draw what a result rests on, as paths of real relations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgdx.errors import UsageError
from kgdx.graph.neo4j.browser_links import statement

if TYPE_CHECKING:
    from kgdx.actions.answer import Answer
    from kgdx.results.cited import EvidenceItem
    from kgdx.results.ranked import PathNode


THINGS = 60
"""How many nodes of an answer's evidence are drawn, the cited ones first."""


def answer_query(answer: Answer) -> str:
    """Return the query for an answer: the relations between the diseases and the other nodes of its evidence.

    Raises:
        UsageError: Its evidence names no disease.
    """
    cited = frozenset(answer.text.cited)
    diseases: dict[str, None] = {}
    things: dict[str, None] = {}
    for item in sorted(answer.pack.items, key=lambda item: item.id not in cited):
        for node in _nodes(item):
            if len(things) < THINGS or node.id in things:
                things[node.id] = None
                if node.label == "Disease":
                    diseases[node.id] = None
    if not diseases:
        raise UsageError("the answer's evidence names no disease of the graph", hint="ask of one by its name")
    return statement("evidence_of_answer", diseases=list(diseases), things=list(things))


def _nodes(item: EvidenceItem) -> list[PathNode]:
    return [node for node in (item.subject, *item.objects) if node is not None]
