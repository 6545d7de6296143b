"""What an episode records of its graph operations: digests of rows, timed queries and tools, and their replay."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from kgdx.actions.state import Author, Segment, State
from kgdx.errors import KgdxError
from kgdx.store.protocol import Row

Result = TypeVar("Result")


class Queries(Protocol):
    """Runs read templates; every store does, and so does a graph."""

    def run(self, template: str, /, **parameters: Any) -> list[Row]:
        """Run a read template by name."""
        ...


def digest(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return a short SHA-256 of rows, equal for equal rows in any order, on any store.

    Lists inside a row count as bags: stores collect them in no promised order. Floats count to nine digits.

    Example:
        >>> digest([{"id": "b"}, {"id": "a"}]) == digest([{"id": "a"}, {"id": "b"}])
        True
    """
    texts = sorted(json.dumps(_canonical(row), sort_keys=True, ensure_ascii=False) for row in rows)
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def _canonical(value: Any) -> Any:
    if value is None or isinstance(value, str | int):
        return value  # most are: decided before the slower questions
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, Mapping):
        return {key: _canonical(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return sorted((_canonical(inner) for inner in value), key=lambda inner: json.dumps(inner, sort_keys=True))
    return value


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
