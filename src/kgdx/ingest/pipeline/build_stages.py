"""The stages of every build, as a graph: each is a function of what its parameters name, and gives what it is called.

A build is a function of files, manifests, ontology and decisions to tables. Building, updating and removing differ only
in the sources that they start from. What takes long is kept by content (:mod:`kgdx.ingest.pipeline.stages`): a stage
whose inputs are those of an earlier build finds its results and makes none.
"""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import polars as pl

from kgdx.config import Settings
from kgdx.errors import SourceError, StoreError
from kgdx.graph.arcade.embedded import ArcadeStore
from kgdx.graph.neo4j.neo4j_store import Neo4jStore
from kgdx.graph.protocol import Delta, Exports, GraphTable
from kgdx.graph.snapshot import FORMAT, Snapshot
from kgdx.graph.snapshot_compile import compile_snapshot, link_snapshot, reads
from kgdx.graph.tables import BOOKKEEPING, digests, title
from kgdx.ingest.fetch import DIGESTS, Digests, SourceFile, fetch
from kgdx.ingest.pipeline import build_files, build_summary
from kgdx.ingest.pipeline.build_report import BuildProgress, BuildReport, Clock, SourceReport, StageReport
from kgdx.ingest.pipeline.built_graph import (
    TABLE,
    BuiltGraph,
    BuiltSource,
    BuiltTable,
    BuiltTables,
    built,
    keep_table,
    load_table,
    load_tables,
    read_graph,
    totals,
)
from kgdx.ingest.pipeline.check_parsed import CheckedGraph, check_parsed
from kgdx.ingest.pipeline.derive import Derive, StepResult, derive
from kgdx.ingest.pipeline.graph_diff import GraphDifference, compare
from kgdx.ingest.pipeline.graph_folder import BuildFolder, GraphFolder, sound_report
from kgdx.ingest.pipeline.parse import ParsedSource, mapping_digest, parse, recipe, write_tables
from kgdx.ingest.pipeline.quarantine import read_corrections
from kgdx.ingest.pipeline.snapshot_hooks import Hook, Hooks
from kgdx.ingest.pipeline.stages import Stages, code_digest, key_of
from kgdx.ingest.pipeline.user_data import USER, SavedRows, saved, saved_on
from kgdx.ingest.records import RecordTally
from kgdx.ingest.source_choice import ChosenSource
from kgdx.ingest.sources import FOLDERS, Reader
from kgdx.schema import Schema, kin, load_schema


class StoreLoad:
    """A new store, filled in a second thread while the build goes on.

    Most of a load is done outside Python, so the tables that are complete are loaded while others are inferred.
    """

    def __init__(self, made: BuildFolder, stages: Stages, clock: Clock, wanted: bool = True) -> None:
        self._made, self._stages, self._clock, self._wanted = made, stages, clock, wanted
        self._build: Mapping[str, str] = {}
        self._added: list[BuiltTable] = []
        self._tables: SimpleQueue[BuiltTable | None] = SimpleQueue()
        self._begun: SimpleQueue[BuiltTable | None] = SimpleQueue()
        self._stopped = False
        self._pool = ThreadPoolExecutor(1)
        self._loading: Future[None] | None = None

    def add(self, tables: Iterable[BuiltTable]) -> None:
        """Load the tables that were not added before, nodes first."""
        new = sorted((table for table in tables if table not in self._added), key=lambda table: table.ends is not None)
        self._added += new
        for table in new:
            self._tables.put(table)
        if self._loading is None and self._wanted:
            self._loading = self._pool.submit(self._load)

    def finish(self, build: Mapping[str, str]) -> None:
        self._build = build
        self._tables.put(None)
        if not self._wanted:  # the graph is for a server
            return
        total = sum(table.rows for table in self._added) or 1
        done = 0
        while (table := self._begun.get()) is not None:
            self._clock.tell("load", f"{table.rows:,} {table.name}", done / total, rows=done, total=total)
            done += table.rows
        if self._loading is not None:
            self._loading.result()

    def close(self) -> None:
        self._stopped = True
        self._tables.put(None)
        self._pool.shutdown()

    def _load(self) -> None:
        try:
            with ArcadeStore.create(self._made.store) as store:
                store.load(self._given())
                store.write("set_build", **self._build)
        finally:
            self._begun.put(None)

    def _given(self) -> Iterator[GraphTable]:
        while (table := self._tables.get()) is not None and not self._stopped:
            self._begun.put(table)
            yield load_table(table, self._stages)
        if self._stopped:
            raise StoreError("the load was stopped", hint="build again with `kgdx build`")

    def changed(
        self, before: BuildFolder, delta: Delta, graph: BuiltGraph, build: Mapping[str, str], *, proven: bool
    ) -> bool:
        """Bring a copy of the store before to the new tables; returns whether it holds them then.

        Where it is ``proven`` the copy has to show by its fingerprint that it holds the tables: whoever builds again
        may do so because the store is damaged.
        """
        if not build_files.whole(before.path, "store"):
            return False
        try:
            shutil.copytree(before.store, self._made.store)
            with ArcadeStore.open(self._made.store, read_only=False) as store:
                store.apply(delta)
                store.write("set_build", **build)
                counts = {name: n for name, n in store.counts().items() if name not in BOOKKEEPING}
                nodes, relations = totals((table, table.rows) for table in graph.tables)
                if counts == {**nodes, **relations} and (not proven or store.fingerprint() == graph.fingerprint):
                    return True
        except (StoreError, OSError):  # the store before is not what its build says, or a copy does not fit on the disk
            pass
        shutil.rmtree(self._made.store, ignore_errors=True)
        return False


DELTA_ROWS = 300_000
"""More differing rows than this are faster loaded anew."""
DELTA_SHARE = 0.1
"""So is a larger share of the graph."""
DELTA_ALWAYS = 1_000
"""So few rows are always changed in place."""

Index = Callable[[Snapshot, Callable[[], Exports], Callable[[str], None]], None]
"""Makes an index beside the snapshot, from the tables that it asks for where it has to; says in words what takes long.
"""


@dataclass(frozen=True, slots=True)
class SourceChoice:
    """The sources that a graph is to have, and those of them that are taken as they were read before."""

    wanted: Mapping[str, ChosenSource]
    kept: Mapping[str, BuiltSource] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BuildOrder:
    """Settings of a build.

    ``kind`` is ``build``, ``update`` or ``remove``; ``choose`` says which sources the graph is to have, from what it
    has; the rest is as in :class:`kgdx.ingest.pipeline.build.Means` and :func:`kgdx.ingest.pipeline.build.build`.
    """

    folder: GraphFolder
    kind: str
    choose: Callable[[BuiltGraph | None], SourceChoice]
    cache: Path = field(default_factory=lambda: Settings.load().cache / "downloads")
    derive: Sequence[Derive] = ()
    compile: Sequence[Hook] = ()
    index: Sequence[Index] = ()
    readers: Mapping[str, Reader] = field(default_factory=dict)
    progress: Callable[[BuildProgress], None] | None = None
    keep_cases: bool = True
    force: bool = False
    first: bool = False
    server: Neo4jStore | None = None
    """The server that the graph is for: what users saved is read there, and no embedded store is made."""


@dataclass(slots=True)
class Build:
    """A build that is going on: what all its stages share."""

    order: BuildOrder
    made: BuildFolder
    stages: Stages
    digests: Digests
    clock: Clock
    hooks: Hooks
    load: StoreLoad
    schema: Schema
    done: list[StageReport] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def note(self, stage: str, what: str, made: int, found: int, seconds: float) -> None:
        self.done.append(StageReport(stage, what, made, found, round(seconds, 3)))

    def kept(self, kind: str, table: GraphTable) -> BuiltTable:
        found = sorted([*part, *digest] for part, digest in digests([table]).items())
        stage = self.stages.get(kind, key_of(found), lambda folder: keep_table(folder, TABLE, table))
        return built(stage, stage.facts)


@dataclass(frozen=True, slots=True)
class PreviousBuild:
    """The build before: its folder, the tables that its store holds now, and the checksum of its ontology."""

    folder: BuildFolder
    graph: BuiltGraph
    schema: str


@dataclass(frozen=True, slots=True)
class FetchedSources:
    files: Mapping[str, SourceFile]
    kept: Mapping[str, ParsedSource]


def run(order: BuildOrder) -> BuildReport:
    """Make a graph beside the one that is there, and put it in its place when it is complete."""
    clock = Clock(order.progress)
    with (
        order.folder.building(float(order.first), first=order.first) as made,
        closing(Hooks(order.compile)) as hooks,
        closing(StoreLoad(made, stages := Stages(order.folder.path / "stages"), clock, order.server is None)) as load,
    ):
        stages.sweep()
        digests = Digests(stages.path / DIGESTS)
        results: dict[str, Any] = {"build": Build(order, made, stages, digests, clock, hooks, load, load_schema())}
        for stage in STAGES:
            needs = inspect.signature(stage).parameters
            results[stage.__name__] = stage(**{name: results[name] for name in needs})
        before, report = results["before"], results["report"]
        stages.clean(stages.used | (before.graph.stages if before else set()))
        digests.write()
        assert isinstance(report, BuildReport)
        return report


def before(build: Build) -> PreviousBuild | None:
    """The build before, where its tables are known and are of an ontology that this one only adds to."""
    if not build.order.folder.exists:
        return None
    current = build.order.folder.current()
    graph = read_graph(current.tables, build.stages)
    try:
        report = sound_report(current)
    except StoreError:  # its report is damaged: the new build writes another
        return None
    if graph is None or not kin(report.schema_version):
        return None
    return PreviousBuild(current, graph, report.schema_checksum)


def choice(build: Build, before: PreviousBuild | None) -> SourceChoice:
    return build.order.choose(before.graph if before else None)


def saved_rows(build: Build, before: PreviousBuild | None) -> SavedRows:
    """What users saved in the graph that is there."""
    if not build.order.keep_cases:
        return SavedRows()
    had = before is not None and any(USER in table.parts for table in before.graph.tables)
    if build.order.server is not None:
        return saved_on(build.order.server, build.schema, expected=had)
    return saved(build.order.folder, build.schema, expected=had)


def fetched(build: Build, choice: SourceChoice) -> FetchedSources:
    clock, order = build.clock, build.order
    files: dict[str, SourceFile] = {}
    kept: dict[str, ParsedSource] = {}
    with clock.stage("fetch", "looking for the sources"):
        started = clock.elapsed
        for name, wanted in choice.wanted.items():
            source = wanted.manifest
            clock.tell("fetch", source.title)
            if (found := _as_before(build, name, choice)) is not None:
                kept[name] = found
                continue

            def arrived(size: int, total: int, named: str = source.title) -> None:
                clock.tell("fetch", f"{named}: {size / 1e6:.1f} MB", bytes=size, total=total)

            try:
                files[name] = fetch(
                    wanted.origin,
                    order.cache,
                    expected=source.checksum if wanted.origin == source.default else None,
                    progress=arrived,
                    digests=build.digests,
                    folder=source.format in (*FOLDERS, *order.readers),
                )
            except SourceError as error:
                remote = [each for each, of in choice.wanted.items() if of.origin.startswith(("http://", "https://"))]
                if name not in remote:
                    raise
                others = f"to build without {', '.join(remote)}, name the sources that you have"
                hint = f"{error.hint or ''}; {others}, or give `--from FOLDER` alone"
                raise SourceError(f"{name}: {error.message}", hint=hint) from error
            build.remarks += [files[name].note] if files[name].note else []
        build.note("fetch", "files", len(files), len(kept), clock.elapsed - started)
    return FetchedSources(files, kept)


def _as_before(build: Build, name: str, choice: SourceChoice) -> ParsedSource | None:
    if name not in choice.kept:
        return None
    kept, wanted = choice.kept[name], choice.wanted[name]
    now = recipe(wanted, Path(kept.path), build.order.readers, build.schema), mapping_digest(wanted)
    stage = build.stages.find(kept.parsed) if (kept.recipe, kept.mapping) == now else None
    return None if stage is None else ParsedSource(name, stage)


def parsed(build: Build, choice: SourceChoice, fetched: FetchedSources, saved_rows: SavedRows) -> list[ParsedSource]:
    """The typed tables of all sources in their order, two being read at a time, and what users saved."""
    mended = read_corrections(build.order.folder.path)
    found = []
    with build.clock.stage("parse", "reading the sources"), ThreadPoolExecutor(2) as pool:

        def read(name: str) -> ParsedSource:
            if name in fetched.kept:
                return fetched.kept[name]
            file, own = fetched.files[name], mended.get(name)
            readers = build.order.readers
            return parse(choice.wanted[name], file, build.stages, build.digests, build.schema, readers, own)

        for number, each in enumerate(pool.map(read, choice.wanted), 1):  # where one fails, the rest is left unread
            found.append(each)
            build.note("parse", each.source, int(each.stage.made), int(not each.stage.made), each.seconds)
            build.clock.tell("parse", choice.wanted[each.source].manifest.title, number / len(choice.wanted))
    if saved_rows.staged:
        content = [(table.name, table.ends, table.role, table.rows.write_json()) for table in saved_rows.staged]
        key = key_of(content, code_digest("kgdx.ingest"), build.schema.checksum)
        write = partial(write_tables, saved_rows.staged, build.schema, RecordTally())
        found.append(ParsedSource(USER, build.stages.get("saved", key, write)))
    return found


def sources(
    build: Build, choice: SourceChoice, fetched: FetchedSources, parsed: list[ParsedSource]
) -> dict[str, BuiltSource]:
    found = {}
    for each in parsed:
        if each.source in fetched.kept:
            found[each.source] = choice.kept[each.source]
        elif each.source in fetched.files:
            wanted, file = choice.wanted[each.source], fetched.files[each.source]
            how = recipe(wanted, file.path, build.order.readers, build.schema), mapping_digest(wanted)
            read = (file.origin, str(file.path), file.checksum, each.stage.name)
            found[each.source] = BuiltSource(*read, *how, each.stated)
    return found


def checked(
    build: Build, before: PreviousBuild | None, parsed: list[ParsedSource], sources: dict[str, BuiltSource]
) -> CheckedGraph:
    """The tables that fit the ontology and each other, and what became of the records."""
    with build.clock.stage("check", "checking against the ontology"):
        started = build.clock.elapsed
        found = check_parsed(parsed, build.stages, build.schema, partial(build.clock.tell, "check"))
        for each in parsed:
            counts = found.counts[each.source]
            if each.source in sources and counts.loaded + counts.merged == 0:
                refused = found.quarantine(parsed, {}).filter(pl.col("source") == each.source)
                reason = f"; the first was refused: {refused.item(0, 'reason')}" if refused.height else ""
                origin = sources[each.source].origin
                message = f"none of the {counts.read} records of {origin} can be loaded{reason}"
                raise SourceError(message, hint=f"check that it is a file of the source {each.source}")
        build.note("check", "tables", found.made, found.found, build.clock.elapsed - started)
    if before is None:  # there is nothing that the graph could be refused for, or made from, later on
        build.load.add(found.tables)
    return found


def read_reports(
    choice: SourceChoice, parsed: list[ParsedSource], sources: dict[str, BuiltSource], checked: CheckedGraph
) -> dict[str, SourceReport]:
    return build_summary.source_reports(choice.wanted, parsed, sources, checked.counts)


def inferred(build: Build, checked: CheckedGraph, read_reports: dict[str, SourceReport]) -> list[StepResult]:
    """What kgdx infers from the checked tables, step by step."""
    stated = build_summary.source_nodes(read_reports, counted=False)
    tell = partial(build.clock.tell, "derive")
    found = []
    with build.clock.stage("derive", "inferring"):
        for step in derive(build.order.derive, checked.tables, stated, build.stages, build.schema, tell):
            build.note("derive", step.name, int(not step.found), int(step.found), step.seconds)
            found.append(step)
    return found


def reports(read_reports: dict[str, SourceReport], inferred: list[StepResult]) -> dict[str, SourceReport]:
    found = dict(read_reports)
    for step in sorted(inferred, key=lambda step: step.name):
        if rows := sum(table.rows for table in step.tables):
            found[step.name] = SourceReport(step.name, "inferred by kgdx", read=rows, loaded=rows)
    return found


def graph(
    build: Build,
    checked: CheckedGraph,
    inferred: list[StepResult],
    reports: dict[str, SourceReport],
    sources: dict[str, BuiltSource],
) -> BuiltGraph:
    own = build.kept("sources", build_summary.source_nodes(reports))
    tables = [*checked.tables, *(table for step in inferred for table in step.tables), own]
    return BuiltGraph(tables, sources, snapshot_key(tables))


def now(build: Build, before: PreviousBuild | None, saved_rows: SavedRows) -> PreviousBuild | None:
    """The build before with the tables that its store holds now: cases may have been saved since it was made."""
    if before is None:
        return None
    tables = [build.kept("now", table) for table in saved_rows.now if table.rows.num_rows]
    titles = {title(table) for table in saved_rows.now}
    others = [table for table in before.graph.tables if title(table) not in titles]
    return replace(before, graph=replace(before.graph, tables=[*others, *tables]))


def difference(
    build: Build, now: PreviousBuild | None, graph: BuiltGraph, sources: dict[str, BuiltSource]
) -> GraphDifference | None:
    """How the graph differs from the one before; refused where a source has lost too much."""
    if now is None:
        return None
    limit = max(DELTA_ALWAYS, min(DELTA_ROWS, int(sum(table.rows for table in graph.tables) * DELTA_SHARE)))
    load = partial(load_table, stages=build.stages)
    found = compare(now.graph.tables, graph.tables, load, load, build.schema, limit=limit)
    lost = [] if build.order.force else list(build_summary.losses(now.graph.sources, sources, found.changes))
    if lost:
        shown = "; ".join(f"{name}: {', '.join(tables)}" for name, tables in lost)
        message = f"the new version of a source has lost half of its rows or more ({shown})"
        raise SourceError(message, hint="check the file; to load it all the same, use --force")
    return found


def snapshot(build: Build, now: PreviousBuild | None, graph: BuiltGraph) -> Path:
    """The graph's numeric part, compiled, or linked where that of the build before would be the same."""
    made = build.made.snapshot
    with build.clock.stage("compile", "compiling the snapshot"):
        started = build.clock.elapsed
        linked = False
        same = now is not None and now.graph.snapshot == graph.snapshot and build.order.kind != "build"
        if now is not None and same and build_files.whole(now.folder.path, "snapshot"):
            try:
                link_snapshot(now.folder.snapshot, made, graph.fingerprint)
                linked = True
            except (OSError, StoreError):
                shutil.rmtree(made, ignore_errors=True)
        if not linked:
            wanted = [table for table in graph.tables if reads(table.name, table.ends)]
            compile_snapshot(load_tables(wanted, build.stages), made, graph.fingerprint)
        build.hooks.start(made)
        build.note("compile", "snapshot", int(not linked), int(linked), build.clock.elapsed - started)
    return made


_BESIDE: frozenset[tuple[str, tuple[str, str] | None]] = frozenset(
    {("MeshDescriptor", None), ("MAPPED_TO", ("Symptom", "Phenotype"))}
)
"""Tables that are not in the snapshot, but in the indexes that are kept beside it (:mod:`kgdx.terms.names`)."""


def snapshot_key(tables: Sequence[BuiltTable]) -> str:
    """Return the digest of what a snapshot, and what is kept beside it, is made from."""
    wanted = [table for table in tables if reads(table.name, table.ends) or (table.name, table.ends) in _BESIDE]
    parts = sorted([title(table), sorted(table.parts.items())] for table in wanted)
    return key_of(FORMAT, code_digest("kgdx.graph.snapshot_compile"), code_digest("kgdx.graph.snapshot"), parts)


def delta(build: Build, now: PreviousBuild | None, difference: GraphDifference | None) -> Delta | None:
    """What a copy of the store before has to take in; nothing where the store is loaded anew."""
    if build.order.server is not None or now is None or difference is None or now.schema != build.schema.checksum:
        return None
    return difference.delta


def indexes(build: Build, graph: BuiltGraph, delta: Delta | None, snapshot: Path) -> None:
    """What is looked up beside the snapshot, made while the store is filled: most of a load is done outside Python."""
    if delta is None:
        build.load.add(graph.tables)
    with build.clock.stage("index", "indexing names"):
        tables = BuiltTables(graph, build.stages, build.schema)
        index(snapshot, tables, build.order.index, partial(build.clock.tell, "index"))


def index(snapshot: Path, tables: Exports, indexes: Sequence[Index], tell: Callable[[str], None]) -> None:
    opened = Snapshot.open(snapshot)
    for make in indexes:
        make(opened, lambda: tables, tell)


def created(graph: BuiltGraph) -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def store(
    build: Build, now: PreviousBuild | None, graph: BuiltGraph, delta: Delta | None, indexes: None, created: str
) -> str:
    """How the store was filled: ``changed`` from a copy of the one before, or ``loaded`` anew."""
    about = {"fingerprint": graph.fingerprint, "kgdx_version": version("kgdx"), "created": created}
    proven = build.order.kind == "build"  # perhaps because something is damaged
    how = "loaded"
    with build.clock.stage("load", "filling the store"):
        started = build.clock.elapsed
        if delta is not None and now is not None:
            build.clock.tell("load", f"changing {delta.rows:,} rows in a copy of the store")
            if build.load.changed(now.folder, delta, graph, about, proven=proven):
                how = "changed"
        if how == "loaded":
            build.load.add(graph.tables)
            build.load.finish(about)
        build.note("load", "store", int(how == "loaded"), int(how == "changed"), build.clock.elapsed - started)
    with build.clock.stage("finish", "finishing"):
        build.clock.tell("finish", "waiting for the rank model and the dictionary", 0.8)
        build.hooks.finish()
    return how


def quarantine(
    build: Build, checked: CheckedGraph, parsed: list[ParsedSource], sources: dict[str, BuiltSource], store: str
) -> pl.DataFrame:
    """The records that were refused, kept beside the graph."""
    refused = checked.quarantine(parsed, {name: source.origin for name, source in sources.items()})
    with build.made.quarantine.open("wb") as file:
        refused.write_parquet(file)
    return refused


def report(
    build: Build,
    before: PreviousBuild | None,
    now: PreviousBuild | None,
    choice: SourceChoice,
    parsed: list[ParsedSource],
    sources: dict[str, BuiltSource],
    checked: CheckedGraph,
    reports: dict[str, SourceReport],
    graph: BuiltGraph,
    difference: GraphDifference | None,
    quarantine: pl.DataFrame,
    store: str,
    created: str,
) -> BuildReport:
    """What people and an update need to know of this build, and a diff of the one before."""
    clock, schema = build.clock, build.schema
    clock.seconds |= build.hooks.seconds
    clock.seconds["total"] = clock.elapsed
    nodes, relations = totals((table, table.rows) for table in graph.tables)
    same, near = build_summary.mappings(graph.tables, build.stages)
    warnings = build_summary.warnings(choice.wanted, parsed, sources, checked.counts)
    changes = None if difference is None else tuple(each for each in difference.changes if each.table != "Source")
    found = BuildReport(
        id=build.made.id,
        path=str(build.made.path),
        created=created,
        fingerprint=graph.fingerprint,
        schema_version=schema.version,
        schema_checksum=schema.checksum,
        kgdx_version=version("kgdx"),
        sources=reports,
        nodes=nodes,
        relations=relations,
        reasons=tuple(build_summary.reasons(quarantine)),
        warnings=(*build.remarks, *warnings),
        seconds={name: round(seconds, 3) for name, seconds in clock.seconds.items()},
        kind=build.order.kind,
        stages=tuple(build.done),
        changes=changes,
        store=store,
        peak_memory=build_summary.peak_memory(),
        content=build_summary.content(graph.tables),
        mappings=same,
        near=near,
    )
    graph.write(build.made.tables)
    if now is not None:
        now.graph.write(build.made.previous)
    for each in choice.wanted.values():
        if not each.manifest.shipped and each.manifest.path is not None:
            build.made.manifests.mkdir(exist_ok=True)
            (build.made.manifests / f"{each.manifest.name}.yaml").write_bytes(each.manifest.path.read_bytes())
    found.write(build.made.report)
    clock.tell("finish", "done", 1.0)
    return found


STAGES: tuple[Callable[..., Any], ...] = (
    before,
    choice,
    saved_rows,
    fetched,
    parsed,
    sources,
    checked,
    read_reports,
    inferred,
    reports,
    graph,
    now,
    difference,
    snapshot,
    created,
    delta,
    indexes,
    store,
    quarantine,
    report,
)
"""All stages, each after those whose results it takes; some take one only because it has to be there before them."""
