"""Building a graph from its sources or from a Neo4j, bringing it up to date, taking sources out."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, Unpack

import polars as pl

from kgdx.errors import SourceError, StoreError
from kgdx.graph.arcade.embedded import ArcadeStore
from kgdx.graph.copies import Content, CopyReport
from kgdx.graph.neo4j.neo4j_store import Neo4jStore
from kgdx.graph.protocol import Store
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.ingest.pipeline.build_report import NUMBERS, TEXTS, BuildProgress, BuildReport, SourceReport
from kgdx.ingest.pipeline.build_stages import BuildOrder, Index, SourceChoice, run
from kgdx.ingest.pipeline.built_graph import BuiltGraph, totals
from kgdx.ingest.pipeline.derive import Derive
from kgdx.ingest.pipeline.graph_folder import BuildFolder, GraphFolder, sound_report
from kgdx.ingest.pipeline.snapshot_hooks import Hook, Hooks
from kgdx.ingest.pipeline.user_data import USER
from kgdx.ingest.records import QUARANTINE
from kgdx.ingest.source_choice import ChosenSource, choose, name_of, parse_choice
from kgdx.ingest.sources import Reader

Sources = Iterable[str] | Mapping[str, str | None]
Folder = str | os.PathLike[str]


class Means(TypedDict, total=False):
    """How graphs are made: keyword arguments of :func:`build`, :func:`update` and :func:`remove` alike."""

    progress: Callable[[BuildProgress], None] | None
    derive: Sequence[Derive]
    compile: Sequence[Hook]
    index: Sequence[Index]
    cache: Path
    readers: Mapping[str, Reader]
    server: Neo4jStore


def build(
    sources: Sources | None,
    folder: Folder,
    *,
    keep_cases: bool = True,
    force: bool = False,
    first: bool = False,
    **means: Unpack[Means],
) -> BuildReport:
    """Build a graph beside the one that is there, and put it in its place when it is complete.

    What an earlier build made of the same inputs is not made again. Where little differs from the graph that is there,
    a copy of its store is changed and has to show by its fingerprint that it is what a new one would be.
    """
    wanted, options = choose(sources), {"keep_cases": keep_cases, "force": force, "first": first}
    return run(BuildOrder(GraphFolder(folder), "build", lambda _before: SourceChoice(wanted), **options, **means))


def update(sources: Sources, folder: Folder, *, force: bool = False, **means: Unpack[Means]) -> BuildReport:
    """Read some sources again, or further ones, and bring the graph to what a build of all its sources would give.

    The other sources are not looked at. What was inferred is inferred again where something that it rests on has
    changed. The old graph stays until that is done.
    """
    named = dict(sources) if isinstance(sources, Mapping) else parse_choice(sources)
    target = GraphFolder(folder)
    target.current()
    return run(BuildOrder(target, "update", partial(_updated, target, named), force=force, **means))


def remove(source: str, folder: Folder, **means: Unpack[Means]) -> BuildReport:
    target = GraphFolder(folder)
    target.current()
    return run(BuildOrder(target, "remove", partial(_without, target, source), keep_cases=source != USER, **means))


def _updated(target: GraphFolder, named: Mapping[str, str | None], before: BuiltGraph | None) -> SourceChoice:
    origins = _origins(target, before)
    names = {word: name_of(word) for word in named}
    others = {name: origin for name, origin in origins.items() if name not in names.values()}
    again = {word: given or origins.get(names[word]) for word, given in named.items()}
    kept = {name: source for name, source in (before.sources if before else {}).items() if name in others}
    return SourceChoice(_chosen(target, {**others, **again}), kept)


def _without(target: GraphFolder, source: str, before: BuiltGraph | None) -> SourceChoice:
    origins = _origins(target, before)
    if source not in origins and source != USER:
        raise SourceError(f"the graph has no source {source!r}", hint=f"it has {', '.join(origins)}")
    wanted = _chosen(target, origins)
    for name, each in wanted.items():
        if source in each.manifest.needs:
            raise SourceError(f"{name} needs {source}", hint=f"remove {name} first, or build without both")
    if not origins.keys() - {source}:
        raise SourceError(f"{source} is the graph's only source", hint="build another graph with `kgdx build`")
    left = {name: each for name, each in wanted.items() if name != source}
    return SourceChoice(left, before.sources if before else {})


def _origins(target: GraphFolder, before: BuiltGraph | None) -> dict[str, str | None]:
    if before is not None:
        return {name: source.origin for name, source in before.sources.items()}
    report = sound_report(target.current())
    read = {name: source.origin for name, source in report.sources.items() if source.checksum and source.origin}
    if not read or any("bolt" in origin or "neo4j" in origin.partition("://")[0] for origin in read.values()):
        message = f"the graph at {target.path} was copied from a server and does not know its sources' files"
        raise StoreError(message, hint="build it from its sources with `kgdx build`")
    return dict(read)


def _chosen(target: GraphFolder, origins: Mapping[str, str | None]) -> dict[str, ChosenSource]:
    own = sorted(target.current().manifests.glob("*.yaml"))
    return choose(origins, more=own)


def pull(
    source: Store,
    folder: Folder,
    *,
    compile: Sequence[Hook] = (),
    force: bool = False,
    progress: Callable[[str], None] = lambda _message: None,
) -> CopyReport:
    """Copy a graph from a server into a graph folder, where it becomes the current build when it is complete."""
    started = time.monotonic()
    target = GraphFolder(folder)
    progress("Reading the graph")
    content = Content.of(source)

    def report(where: Path, method: str) -> CopyReport:
        seconds = round(time.monotonic() - started, 2)
        return CopyReport(source.url, str(where), method, content.counts, content.fingerprint, seconds)

    if target.exists and not force:
        _refuse_another(target, content)
        return report(target.path, "unchanged")
    with target.building() as made, closing(Hooks(compile)) as hooks:
        progress("Compiling the snapshot")
        compile_snapshot(content.tables, made.snapshot, content.build["fingerprint"])
        hooks.start(made.snapshot)
        progress("Loading the embedded store")
        with ArcadeStore.create(made.store) as store:
            store.load(content.tables)
            progress("Comparing both graphs")
            content.verify(store)
            store.write("set_build", **content.build)
        hooks.finish()
        pl.DataFrame(schema=QUARANTINE).write_parquet(made.quarantine)
        _build_report(made, content, source).write(made.report)
    return report(target.path, "embedded load")


def _refuse_another(target: GraphFolder, content: Content) -> None:
    with target.reading() as build, ArcadeStore.open(build.store) as store:
        if store.fingerprint() != content.fingerprint:
            raise StoreError(
                f"the folder {target.path} holds another graph", hint="replace it with `kgdx pull --force`"
            )


def _build_report(made: BuildFolder, content: Content, source: Store) -> BuildReport:
    nodes, relations = totals((table, table.rows.num_rows) for table in content.tables)
    stated = {row["id"]: {name: row[name] for name in (*TEXTS, *NUMBERS) if row[name]} for row in source.run("sources")}
    named = ("created", "fingerprint", "schema_version", "schema_checksum", "kgdx_version")
    about: dict[str, Any] = {name: content.build[name] or "" for name in named}
    return BuildReport(
        id=made.id,
        path=str(made.path),
        **about,
        kind="pull",
        sources={name: SourceReport(name, origin=source.url, **facts) for name, facts in stated.items()},
        nodes=nodes,
        relations=relations,
        warnings=(f"copied from {source.url}, without the quarantine of its build",),
    )
