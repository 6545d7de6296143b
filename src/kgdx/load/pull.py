"""The graph of a Neo4j → a new embedded build, swapped in when it is complete and equal to what was read."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import polars as pl

from kgdx.errors import StoreError
from kgdx.graph.arcade.embedded import ArcadeStore
from kgdx.graph.copies import Content, CopyReport
from kgdx.graph.protocol import Store
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.load.folder import BuildFolder, GraphFolder
from kgdx.load.hooks import Hook, Hooks
from kgdx.load.report import BuildReport, SourceReport
from kgdx.load.reporting import totals
from kgdx.load.tally import QUARANTINE


def pull(
    source: Store,
    folder: GraphFolder | str | Path,
    *,
    compile: Sequence[Hook] = (),
    force: bool = False,
    progress: Callable[[str], None] = lambda _message: None,
) -> CopyReport:
    """Copy a graph from a server into a graph folder, where it becomes the current build.

    Args:
        source: The graph to copy, with a finished build.
        folder: The graph folder.
        compile: As in :func:`kgdx.load.build.build`.
        force: Replace the graph that is there. Without it only a folder without a graph, or with the same one, is
            written.
        progress: Called with a line for each step.

    Raises:
        StoreError: The folder holds another graph, or the copy differs. The graph that was there stays.
        StoreLockedError: Another process builds or writes.
    """
    started = time.monotonic()
    target = folder if isinstance(folder, GraphFolder) else GraphFolder(folder)
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
    """Return a report from the server's Source nodes; the quarantine stays where the graph was built."""
    nodes, relations = totals(content.tables)
    sources = {
        row["id"]: SourceReport(
            name=row["id"],
            origin=source.url,
            version=row["version"],
            checksum=row["checksum"],
            licence=row["licence"] or "",
            citation=row["citation"] or "",
            read=row["read"] or 0,
            loaded=row["loaded"] or 0,
            merged=row["merged"] or 0,
            quarantined=row["quarantined"] or 0,
        )
        for row in source.run("sources")
    }
    build = content.build
    return BuildReport(
        id=made.id,
        path=str(made.path),
        created=build["created"] or "",
        fingerprint=build["fingerprint"],
        kind="pull",
        schema_version=build["schema_version"] or "",
        schema_checksum=build["schema_checksum"] or "",
        kgdx_version=build["kgdx_version"] or "",
        sources=sources,
        nodes=nodes,
        relations=relations,
        warnings=(f"copied from {source.url}, without the quarantine of its build",),
    )
