"""A graph as actions see it: the tools that it has, and a recorder of what is run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kgdx.case import Ancestry, FindingReader
from kgdx.episode.segment import Operation
from kgdx.errors import KgdxError, UsageError
from kgdx.graph.protocol import Row, digest

if TYPE_CHECKING:
    from kgdx.literature import Literature
    from kgdx.terms.names.mesh_index import Headings

Result = TypeVar("Result")


class Queries(Protocol):
    """Runs read templates; every store does, and so does a graph."""

    def run(self, template: str, /, **parameters: Any) -> list[Row]: ...


class GraphLike(Queries, Protocol):
    """What an action may use of a graph: templates, and the tools compiled from it."""

    def sources(self) -> Sequence[Row]: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def reader(self) -> FindingReader: ...

    @property
    def terms(self) -> Any: ...

    @property
    def in_words(self) -> bool: ...

    @property
    def in_texts(self) -> bool: ...

    @property
    def ranker(self) -> Any: ...

    @property
    def bank(self) -> Any: ...

    @property
    def bank_if_any(self) -> Any: ...

    @property
    def ancestry(self) -> Ancestry: ...

    @property
    def compiled(self) -> Any: ...

    @property
    def names(self) -> Any: ...

    @property
    def belief_tracker(self) -> Any: ...

    @property
    def nearness(self) -> Any: ...

    @property
    def disease_words(self) -> Any: ...

    @property
    def texts(self) -> Any: ...

    @property
    def literature(self) -> Literature | None: ...

    @property
    def headings(self) -> Headings: ...


class Operations:
    """A graph as an action sees it: what it runs is recorded."""

    def __init__(self, graph: GraphLike | None) -> None:
        self._graph = graph
        self.ran: list[Operation] = []
        self.problems: list[dict[str, str]] = []

    @property
    def graph(self) -> GraphLike:
        if self._graph is None:
            raise UsageError("there is no graph", hint="give the world one")
        return self._graph

    def query(self, template: str, /, **parameters: Any) -> Sequence[Row]:
        """Run a read template, in its compiled form where it has one, and record it; leave the rows as they are."""
        started = time.perf_counter()
        compiled = self.graph.compiled
        rows: Sequence[Row]
        if compiled.has(template):
            found = compiled.answered(template, **parameters)
            rows, proof = found.rows, found.digest
        else:
            rows = self.graph.run(template, **parameters)
            proof = digest(rows)
        spent = (time.perf_counter() - started) * 1000
        self.ran.append(Operation("query", template, parameters, len(rows), proof, spent))
        return rows

    def tool(
        self, name: str, given: Mapping[str, Any], call: Callable[[], Result], count: Callable[[Result], int]
    ) -> Result:
        started = time.perf_counter()
        result = call()
        spent = (time.perf_counter() - started) * 1000
        self.ran.append(Operation("tool", name, given, count(result), "", spent))
        return result

    def problem(self, name: str, error: KgdxError | str, kind: str = "") -> None:
        self.problems.append({"name": name, "error": kind or type(error).__name__, "message": str(error)})
