"""What an episode records of its graph operations: digests of rows, timed queries and tools, and their replay."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from kgdx.actions.state import Author, Segment, State
from kgdx.errors import KgdxError
from kgdx.store.protocol import Row
from kgdx.store.rows import digest

Result = TypeVar("Result")


class Queries(Protocol):
    """Runs read templates; every store does, and so does a graph."""

    def run(self, template: str, /, **parameters: Any) -> list[Row]:
        """Run a read template by name."""
        ...


def query(graph: Queries, state: State, template: str, /, **parameters: Any) -> tuple[State, list[Row]]:
    """Run a read template and record it: the way for an action to ask the graph.

    Returns:
        The state with the query in its log, and the rows.
    """
    started = time.perf_counter()
    rows = graph.run(template, **parameters)
    spent = (time.perf_counter() - started) * 1000
    segment = Segment(Author.GRAPH, "query", template, parameters, len(rows), digest(rows), spent)
    return state.logged(segment), rows


def tool(
    state: State, name: str, parameters: Mapping[str, Any], call: Callable[[], Result], count: Callable[[Result], int]
) -> tuple[State, Result]:
    """Call a tool (extractor, ranker) and record it.

    Args:
        state: The state so far.
        name: What the tool is called in the log.
        parameters: What it is given, without a patient's text.
        call: Does the work.
        count: How many results it gave.
    """
    started = time.perf_counter()
    result = call()
    spent = (time.perf_counter() - started) * 1000
    return state.logged(Segment(Author.TOOL, "tool", name, parameters, count(result), "", spent)), result


@dataclass(frozen=True, slots=True)
class Replayed:
    """One query of a trace, run again; ``same`` when it returned the rows that the trace recorded."""

    template: str
    parameters: Mapping[str, Any]
    recorded: int | None
    rows: int | None
    same: bool
    error: str = ""


def replay(trace: Sequence[Segment], graph: Queries) -> tuple[Replayed, ...]:
    """Run every query of a trace again and compare row counts and digests with the record.

    Args:
        trace: Segments, such as ``diagnosis.trace`` or those read from a saved run.
        graph: Where to run them; another store with the same content gives the same rows.

    Example:
        >>> replay([Segment(Author.POLICY, "action", "rank")], graph=None)
        ()
    """
    return tuple(_again(segment, graph) for segment in trace if segment.kind == "query")


def _again(segment: Segment, graph: Queries) -> Replayed:
    try:
        rows = graph.run(segment.name, **segment.parameters)
    except KgdxError as error:
        return Replayed(segment.name, segment.parameters, segment.rows, None, False, str(error))
    same = len(rows) == segment.rows and digest(rows) == segment.digest
    return Replayed(segment.name, segment.parameters, segment.rows, len(rows), same)
