"""Evidence paths as neo4j-viz draws them: Neo4j's own graph drawing, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kgdx.errors import MissingExtraError
from kgdx.results.ranked import EvidencePath

if TYPE_CHECKING:
    from neo4j_viz import VisualizationGraph

COLOURS = {"PatientCase": "#17212b", "Phenotype": "#5aa9a2", "Disease": "#1f4e79"}
"""Label → colour of its nodes, as on the page."""

OTHER = "#8e5b86"


def graph(paths: Iterable[EvidencePath]) -> VisualizationGraph:
    """Return the graph of some paths, each node and each relation once.

    Args:
        paths: The paths.

    Raises:
        MissingExtraError: neo4j-viz is not installed.
    """
    try:
        from neo4j_viz import Node, Relationship, VisualizationGraph
    except ImportError as error:
        raise MissingExtraError("to_neo4j_viz()", "viz") from error
    nodes: dict[str, Node] = {}
    relations: dict[tuple[str, str, str], Relationship] = {}
    for path in paths:
        for node in path.nodes:
            nodes.setdefault(
                node.id,
                Node(
                    id=node.id,
                    caption=node.name or node.id,
                    color=COLOURS.get(node.label, OTHER),
                    size=50 if node.label in ("PatientCase", "Disease") else 36,
                    properties={"id": node.id, "label": node.label},
                ),
            )
        for at, edge in enumerate(path.relations):
            ends = [path.nodes[at].id, path.nodes[at + 1].id]
            source, target = reversed(ends) if edge.reversed else ends
            relations.setdefault(
                (source, edge.type, target),
                Relationship(source=source, target=target, caption=edge.type, properties=dict(edge.properties)),
            )
    return VisualizationGraph(nodes=list(nodes.values()), relationships=list(relations.values()))
