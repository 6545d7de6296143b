"""Read templates through a py2neo ``Graph``, for code that has one already.

py2neo has ended as a project (its last version is 2021.2.4). That version still reads from Neo4j 5.26, so this adapter
exists, but nothing else in kgdx uses it: :class:`kgdx.store.neo4j.Neo4jStore` is the main road.
"""

from __future__ import annotations

from typing import Any

from kgdx.errors import StoreError, TemplateError
from kgdx.store.protocol import Row
from kgdx.store.rows import plain
from kgdx.store.templates import template


class Py2neoReader:
    """Runs kgdx's read templates on somebody's py2neo ``Graph``.

    Args:
        graph: A ``py2neo.Graph``; it stays the caller's, who closes it.

    Example:
        >>> class Graph:  # stands in for py2neo.Graph("bolt://…", auth=(user, password))
        ...     def query(self, cypher, parameters):
        ...         return [{"id": "build:current"}]
        >>> Py2neoReader(Graph()).run("build")
        [{'id': 'build:current'}]
    """

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    def run(self, name: str, /, **parameters: Any) -> list[Row]:
        """Run a read template in a read-only transaction.

        Raises:
            TemplateError: Unknown template, or parameters that do not fit its header.
            StoreError: py2neo or the server failed.
        """
        found = template(name, "read", "neo4j")
        bound = found.bind(parameters)
        try:
            records = self._graph.query(found.text, bound)
            return [{key: plain(value) for key, value in record.items()} for record in records]
        except Exception as error:
            if not type(error).__module__.startswith(("py2neo", "interchange")) and not isinstance(error, OSError):
                raise
            reason = " ".join(str(error).split())[:300]
            if "SyntaxError" in reason:
                raise TemplateError(f"Neo4j cannot read the template {name}: {reason}") from error
            raise StoreError(f"py2neo failed: {reason}", hint="check the server, or use Neo4jStore") from error
