"""Read templates through a py2neo ``Graph``, for code that has one already.

py2neo has ended as a project (its last version is 2021.2.4). That version still reads from Neo4j 5.26, so this adapter
exists, but nothing else in kgdx uses it: :class:`kgdx.store.neo4j.Neo4jStore` is the main road.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kgdx.errors import StoreError, TemplateError
from kgdx.store.foreign.mapping import read_mapping
from kgdx.store.foreign.store import Translation
from kgdx.store.protocol import Row
from kgdx.store.rows import plain
from kgdx.store.templates import template


class Py2neoReader:
    """Runs kgdx's read templates on somebody's py2neo ``Graph``.

    Args:
        graph: A ``py2neo.Graph``; it stays the caller's, who closes it.
        mapping: File that says what the names of the database stand for, where others built it.

    Raises:
        ConfigError: The mapping cannot be used.

    Example:
        >>> class Graph:  # stands in for py2neo.Graph("bolt://…", auth=(user, password))
        ...     def query(self, cypher, parameters):
        ...         return [{"id": "build:current"}]
        >>> Py2neoReader(Graph()).run("build")
        [{'id': 'build:current'}]
    """

    def __init__(self, graph: Any, mapping: str | Path | None = None) -> None:
        self._graph = graph
        self._translation = None if mapping is None else Translation(read_mapping(Path(mapping)))

    def run(self, name: str, /, **parameters: Any) -> list[Row]:
        """Run a read template in a read-only transaction.

        Raises:
            TemplateError: Unknown template, or parameters that do not fit its header.
            StoreError: py2neo or the server failed.
        """
        found = template(name, "read", "neo4j")
        text, bound = found.text, found.bind(parameters)
        if self._translation is not None:
            translated = self._translation.of(found)
            if translated is None:
                return []
            text, bound = translated.text, {**bound, **translated.parameters}
        try:
            records = self._graph.query(text, bound)
            return [{key: plain(value) for key, value in record.items()} for record in records]
        except Exception as error:
            if not type(error).__module__.startswith(("py2neo", "interchange")) and not isinstance(error, OSError):
                raise
            reason = " ".join(str(error).split())[:300]
            if "SyntaxError" in reason:
                raise TemplateError(f"Neo4j cannot read the template {name}: {reason}") from error
            raise StoreError(f"py2neo failed: {reason}", hint="check the server, or use Neo4jStore") from error
