"""Diagnoses many cases, in this process or in several that read the graph at the same time; in their order."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Future

    from kgdx.actions import Diagnosis
    from kgdx.api import Graph
    from kgdx.case import Case, Failure

CHUNK = 16
"""Cases that a worker gets at once."""

MANY = 200
"""Fewer cases are done before other processes would have started."""

Result = tuple[str, bool]
"""A line of JSON, and whether it says what went wrong."""

_opened: Graph | None = None


def results(
    graph: Graph, cases: Iterable[Case | Failure], jobs: int, opening: dict[str, Any], options: dict[str, Any]
) -> Iterator[Result]:
    """Diagnose cases, in their order.

    Args:
        graph: The open graph.
        cases: The cases.
        jobs: How many processes; with one, nothing is started.
        opening: For :func:`kgdx.open` in the processes that open the graph for themselves.
        options: For :meth:`kgdx.api.Graph.diagnose`.
    """
    if jobs == 1:
        return (result(graph, case, options) for case in cases)
    return _shared_out(iter(cases), jobs, opening, options)


def jobs_for(count: int | None) -> int:
    """Return how many processes suit so many cases, when nobody says.

    Example:
        >>> jobs_for(3), jobs_for(None)
        (1, 1)
    """
    if (count or 0) < MANY:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def result(graph: Graph, case: Case | Failure, options: dict[str, Any]) -> Result:
    """Return the diagnosis of one case without its trace, or what went wrong."""
    from kgdx.case import Failure
    from kgdx.errors import KgdxError

    if isinstance(case, Failure):
        line: dict[str, Any] = {"id": case.id, "where": case.where, "error": case.message}
    else:
        try:
            found = graph.diagnose(case, **options)
            finished(found)
            line = {**found.to_dict(trace=False), "id": case.id, "run": found.id}
            del line["sources"]  # the same in every line; `kgdx info` lists them
        except KgdxError as error:
            line = {"id": case.id, "error": str(error)}
    return json.dumps(line, ensure_ascii=False), "error" in line


def finished(result: Diagnosis) -> None:
    """Fail where an action did: what was found before it may be shown, but is not the whole answer.

    Raises:
        KgdxError: What the action failed with.
    """
    from kgdx.errors import KgdxError

    failed = [issue.message for issue in result.issues if (issue.level, issue.where) == ("error", "episode")]
    if failed:
        raise KgdxError(failed[0])


def _shared_out(
    cases: Iterator[Case | Failure], jobs: int, opening: dict[str, Any], options: dict[str, Any]
) -> Iterator[Result]:
    """Hand out chunks to workers, a few ahead of those whose results are awaited."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    executor = ProcessPoolExecutor(jobs, get_context("spawn"), _start, (opening,))
    try:
        waiting: deque[Future[list[Result]]] = deque()
        while chunk := list(islice(cases, CHUNK)):
            waiting.append(executor.submit(_work, chunk, options))
            if len(waiting) > 2 * jobs:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    finally:
        executor.shutdown(cancel_futures=True)


def _start(opening: dict[str, Any]) -> None:
    """Open the graph in a worker; the process that started it answers to interruptions."""
    import signal

    import kgdx

    global _opened
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _opened = kgdx.open(**opening)


def _work(cases: list[Case | Failure], options: dict[str, Any]) -> list[Result]:
    assert _opened is not None
    return [result(_opened, case, options) for case in cases]
