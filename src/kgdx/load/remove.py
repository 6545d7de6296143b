"""Taking one source out of a graph: done on a copy of the build, which then takes its place."""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import polars as pl

from kgdx.errors import SourceError
from kgdx.load.build import Derive, Progress, derived, inferred_reports, source_nodes, totals
from kgdx.load.carry import USER
from kgdx.load.folder import BuildFolder, GraphFolder
from kgdx.load.hooks import Hook, Hooks
from kgdx.load.manifest import manifests
from kgdx.load.report import BuildReport, SourceReport, read_report
from kgdx.store.arcade import ArcadeStore
from kgdx.store.fingerprint import fingerprint
from kgdx.store.protocol import GraphTable
from kgdx.store.snapshot import compile_snapshot

INFERRED = "kgdx:"
"""What kgdx infers has a source of this prefix; it is dropped and made again when what it rests on changes."""


def remove(
    source: str,
    folder: GraphFolder | str | Path,
    *,
    progress: Callable[[Progress], None] | None = None,
    derive: Sequence[Derive] = (),
    compile: Sequence[Hook] = (),
) -> BuildReport:
    """Remove what one source stated: its relations, its nodes that nothing else needs, and the names it gave.

    What kgdx inferred is inferred again, and the snapshot is compiled again. The old graph stays until that is done.

    Args:
        source: The source's name; ``user`` for all saved cases and runs.
        folder: The graph folder.
        progress: Called as it goes on.
        derive: As in :func:`kgdx.load.build.build`.
        compile: As in :func:`kgdx.load.build.build`.

    Raises:
        SourceError: The graph has no such source, or another one needs it.
        StoreLockedError: Another process builds or writes.
        StoreError: There is no graph, or it cannot be written.
    """
    target = folder if isinstance(folder, GraphFolder) else GraphFolder(folder)
    target.current()
    tell = progress or (lambda _: None)
    start = datetime.datetime.now(datetime.UTC)

    def said(stage: str, detail: str, done: float) -> None:
        tell(Progress(stage, detail, done, (datetime.datetime.now(datetime.UTC) - start).total_seconds()))

    with target.building() as made, closing(Hooks(compile)) as hooks:
        with target.reading() as old:
            report = read_report(old.report)
            _refuse_needed(source, report)
            said("load", "copying the graph", 0.0)
            shutil.copytree(old.store, made.store)
            shutil.copy(old.quarantine, made.quarantine)
        with ArcadeStore.open(made.store, read_only=False) as store:
            said("load", f"removing {source}", 0.2)
            again = {name for name in report.sources if name.startswith(INFERRED)}
            for name in (source, *sorted(again)):
                store.delete_source(name)
            for template in ("clear_phenotype_names_zh", "clear_disease_names_zh"):
                store.write(template, source=source)
            said("derive", "inferring equivalences", 0.4)
            tables = list(store.tables())
            inferred = derived(derive, tables)
            kept = {name: found for name, found in report.sources.items() if name != source and name not in again}
            more = inferred_reports(inferred, kept)
            new: list[GraphTable] = [*inferred, source_nodes(more)] if more else list(inferred)
            store.load(new)
            tables += new
            said("compile", "compiling the snapshot", 0.6)
            digest = fingerprint(tables)
            compile_snapshot(tables, made.snapshot, digest)
            hooks.start(made.snapshot)
            created = start.isoformat(timespec="seconds")
            store.write("set_build", fingerprint=digest, kgdx_version=version("kgdx"), created=created)
        said("finish", "waiting for the rank model and the dictionary", 0.8)
        hooks.finish()
        result = _report(report, made, source, {**kept, **more}, tables, digest, created)
    said("finish", "done", 1.0)
    return result


def _refuse_needed(source: str, report: BuildReport) -> None:
    if source not in report.sources and source != USER:
        raise SourceError(f"the graph has no source {source!r}", hint=f"it has {', '.join(report.sources)}")
    for name in report.sources:
        if name != source and name in manifests() and source in manifests()[name].needs:
            raise SourceError(f"{name} needs {source}", hint=f"remove {name} first, or build without both")


def _report(
    old: BuildReport,
    made: BuildFolder,
    source: str,
    sources: Mapping[str, SourceReport],
    tables: Sequence[GraphTable],
    digest: str,
    created: str,
) -> BuildReport:
    quarantine = pl.read_parquet(made.quarantine)
    quarantine.filter(pl.col("source") != source).write_parquet(made.quarantine)
    nodes, relations = totals(tables)
    report = replace(
        old,
        id=made.id,
        path=str(made.path),
        created=created,
        kgdx_version=version("kgdx"),
        fingerprint=digest,
        sources=sources,
        nodes=nodes,
        relations=relations,
        reasons=tuple(reason for reason in old.reasons if reason.source != source),
    )
    report.write(made.report)
    return report
