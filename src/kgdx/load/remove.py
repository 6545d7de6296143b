"""Taking one source out of a graph: done on a copy of the build, which then takes its place."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import polars as pl

from kgdx.errors import SourceError
from kgdx.load.build import Clock, Progress, derived, inferred_reports, now, source_nodes, totals
from kgdx.load.carry import USER
from kgdx.load.derive import Derive
from kgdx.load.folder import BuildFolder, GraphFolder
from kgdx.load.hooks import Hook, Hooks
from kgdx.load.manifest import manifests
from kgdx.load.report import BuildReport, SourceReport, read_report
from kgdx.store.arcade import ArcadeStore
from kgdx.store.compile import compile_snapshot
from kgdx.store.fingerprint import fingerprint
from kgdx.store.protocol import GraphTable

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
    clock = Clock(progress)
    with target.building() as made, closing(Hooks(compile)) as hooks:
        with clock.stage("fetch", "copying the graph"), target.reading() as old:
            report = read_report(old.report)
            _refuse_needed(source, report)
            shutil.copytree(old.store, made.store)
            shutil.copy(old.quarantine, made.quarantine)
        inferred = [name for name in report.sources if name.startswith(INFERRED)]
        kept = {name: found for name, found in report.sources.items() if name != source and name not in inferred}
        with ArcadeStore.open(made.store, read_only=False) as store:
            with clock.stage("check", f"removing {source}"):
                _take_out(store, source, inferred)
            with clock.stage("derive", "inferring equivalences"):
                tables = list(store.tables())
                more = derived(derive, tables)
                reports = {**kept, **inferred_reports(more, kept)}
            with clock.stage("compile", "compiling the snapshot"):
                if more:
                    more = [*more, source_nodes({name: reports[name] for name in reports.keys() - kept.keys()})]
                    store.load(more)
                tables += more
                digest = fingerprint(tables)
                compile_snapshot(tables, made.snapshot, digest)
                hooks.start(made.snapshot)
            created = now()
            store.write("set_build", fingerprint=digest, kgdx_version=version("kgdx"), created=created)
        with clock.stage("finish", "waiting for the rank model and the dictionary"):
            hooks.finish()
        return _report(report, made, source, reports, tables, digest, created, clock)


def _take_out(store: ArcadeStore, source: str, inferred: Sequence[str]) -> None:
    for name in (source, *inferred):
        store.delete_source(name)
    for template in ("clear_phenotype_names_zh", "clear_disease_names_zh"):
        store.write(template, source=source)


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
    clock: Clock,
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
        seconds={name: round(seconds, 3) for name, seconds in clock.seconds.items()},
    )
    report.write(made.report)
    clock.tell("finish", "done", 1.0)
    return report
