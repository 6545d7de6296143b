"""Looking at a result in Neo4j Browser: the graph and the run are brought to a Neo4j, and a link opens the evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kgdx.actions.graph_context import GraphContext
from kgdx.answer.cited_answer import Answer
from kgdx.answer.diagnosis import Diagnosis
from kgdx.answer.saved_runs import save
from kgdx.api.building import push as push_graph
from kgdx.config import Settings
from kgdx.errors import KgdxError, StoreError, UsageError

if TYPE_CHECKING:
    from kgdx.graph.neo4j.browser_links import Place

SHOWN = 1
"""How many candidates are drawn when none is named: the paths of several are hard to tell apart."""

Allowed = bool | Callable[[str], bool]
"""Whether the graph may be copied into the Neo4j, or whom to ask: told why it is needed."""


@dataclass(frozen=True, slots=True)
class Browsed:
    """What was brought to the Neo4j, and how to look at it.

    Attributes:
        url: Opens Neo4j Browser with the query in its editor; Browser asks for the password.
        run: Id of the run; empty for an answer, whose evidence is in the graph itself.
    """

    url: str
    query: str
    uri: str
    user: str
    run: str = ""
    copied: bool = False
    saved: bool = False


def browse(
    result: Diagnosis | Answer | str,
    diseases: Sequence[str] = (),
    *,
    top: int = SHOWN,
    store: str | Path | None = None,
    neo4j: str | None = None,
    browser: str | None = None,
    push: Allowed = False,
    progress: Callable[[str], None] | None = None,
) -> Browsed:
    """Bring a result to a Neo4j where it is not there, and return the link that draws its evidence.

    Args:
        diseases: Candidates whose evidence is drawn; the first ``top`` when none is named.
        neo4j: Bolt address; the local server that kgdx started when ``None``.
        browser: Address of Neo4j Browser's server, where it is not that of the Neo4j.
        push: Whether the graph may be copied to a Neo4j that is empty or holds another graph of kgdx.
    """
    from kgdx.graph.neo4j.browser_links import place

    settings = Settings.load(store)
    where = place(settings, neo4j, browser)
    query = _query_of(result, diseases, top)  # what cannot be shown is told before anything is copied
    copied = _bring_graph(settings, where, neo4j, push, progress)
    if isinstance(result, Answer):
        return Browsed(where.link(query), query, where.access.uri, where.access.user, copied=copied)
    run = result if isinstance(result, str) else result.id
    saved = _bring_run(result, settings, where)
    query = query or _saved_query(run, where, diseases, top)
    return Browsed(where.link(query), query, where.access.uri, where.access.user, run, copied, saved)


def browser_place(fingerprint: str, store: str | Path | None = None) -> Place | None:
    """Return where Neo4j Browser can draw a graph: the store, or the local server, if the graph is there."""
    from kgdx.graph.neo4j.browser_links import place
    from kgdx.graph.neo4j.neo4j_store import Neo4jStore

    with suppress(KgdxError):  # a page without the link is whole
        where = place(Settings.load(store))
        with Neo4jStore.unchecked(where.access) as target:
            built = target.run("build")
        return where if built and built[0]["fingerprint"] == fingerprint else None
    return None


def _query_of(result: Diagnosis | Answer | str, diseases: Sequence[str], top: int) -> str:
    if isinstance(result, str):
        return ""
    from kgdx.answer.cited_answer import answer_query
    from kgdx.answer.diagnosis import diagnosis_query

    return answer_query(result) if isinstance(result, Answer) else diagnosis_query(result, diseases, top)


def _bring_graph(
    settings: Settings, where: Place, neo4j: str | None, push: Allowed, progress: Callable[[str], None] | None
) -> bool:
    if settings.is_neo4j:
        return False
    from kgdx.graph.neo4j.neo4j_store import Neo4jStore

    with Neo4jStore.unchecked(where.access) as target:
        empty = target.is_empty()
        built = [] if empty else target.run("build")
    with GraphContext(settings) as graph:
        if built and built[0]["fingerprint"] == graph.fingerprint:
            return False
    uri = where.access.uri
    if not empty and not built:
        hint = "use another one, or replace all of it with `kgdx push --force`"
        raise StoreError(f"the Neo4j at {uri} holds something that is no graph of kgdx", hint=hint)
    finished = built and built[0]["fingerprint"]
    why = f"the Neo4j at {uri} holds {'another graph' if finished else 'no graph'}"
    if not (push(why) if callable(push) else push):
        raise StoreError(why, hint="copy this one there with --push")
    push_graph(store=settings.graph_folder, neo4j=neo4j, force=not empty, progress=progress)
    return True


def _bring_run(result: Diagnosis | str, settings: Settings, where: Place) -> bool:
    run = result if isinstance(result, str) else result.id
    with GraphContext(replace(settings, store=where.access.uri)) as target:
        if target.run("run_by_id", run_id=run):
            return False
        if isinstance(result, Diagnosis):
            if target.fingerprint != result.fingerprint:
                raise StoreError("the diagnosis rests on another graph", hint="diagnose the case again on this one")
            save(result, target, diagnoses=False)  # Browser would draw what nobody asked for: the case's own truth
            return True
        from kgdx.answer.saved_runs import carry_run

        if settings.is_neo4j:
            raise UsageError(f"no saved run {run[:60]!r}", hint="save one with `kgdx diagnose … --save`")
        with GraphContext(settings) as source, target.writing() as store:
            carry_run(run, source.store, store)
        return True


def _saved_query(run: str, where: Place, diseases: Sequence[str], top: int) -> str:
    from kgdx.answer.diagnosis import run_query
    from kgdx.graph.neo4j.neo4j_store import Neo4jStore

    with Neo4jStore.connect(where.access) as store:
        ranks = {row["id"]: row["rank"] for row in store.run("run_candidates", run_id=run)}
        asked = not diseases and bool(store.run("run_asked", run_id=run))
    for disease in diseases:
        if disease not in ranks:
            raise UsageError(f"{disease[:40]} is not among the {len(ranks)} candidates of {run}")
    wanted = [ranks[disease] for disease in diseases] or sorted(ranks.values())[:top]
    return run_query(run, wanted, asked=asked)
