"""The one road of every build: fetch, parse, check, derive, compile, load, each stage kept by content.

A build is a function of files, manifests, ontology and decisions to tables. The store is loaded with them, or brought
to them from the tables of the build before; so building, updating and removing differ only in what they start from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

import polars as pl

from kgdx.errors import SourceError, StoreError
from kgdx.load import corrections, reporting
from kgdx.load.assemble import Assembled, assemble
from kgdx.load.carry import USER, Saved, saved
from kgdx.load.choice import Wanted
from kgdx.load.clock import Clock, Progress
from kgdx.load.deliver import Before, fill_store, make_snapshot, snapshot_key
from kgdx.load.derive import Derive, Derived, derive
from kgdx.load.diff import Difference, compare
from kgdx.load.digests import DIGESTS, Digests
from kgdx.load.fetch import Fetched, fetch
from kgdx.load.folder import BuildFolder, GraphFolder
from kgdx.load.hooks import Hook, Hooks
from kgdx.load.parse import Parsed, mapping_digest, parse, recipe, write_tables
from kgdx.load.report import BuildReport, SourceReport, StageReport, read_report
from kgdx.load.sources import FOLDERS, Reader
from kgdx.load.stages import Stages, code_digest, key_of
from kgdx.load.tables import TABLE, BuiltGraph, BuiltSource, BuiltTable, built, keep_table, load_table, read_graph
from kgdx.load.tally import Tally
from kgdx.schema import Schema, kin, load_schema
from kgdx.store.fingerprint import part_digests
from kgdx.store.protocol import GraphTable, NodeTable

DELTA_ROWS = 300_000
"""More differing rows than this are faster loaded anew."""
DELTA_SHARE = 0.1
"""So is a larger share of the graph."""
DELTA_ALWAYS = 1_000
"""So few rows are always changed in place."""


@dataclass(frozen=True, slots=True)
class Order:
    """What to build, and how.

    Attributes:
        folder: The graph folder.
        kind: ``build``, ``update`` or ``remove``.
        choose: Says which sources the graph is to have, from what it has.
        derive: Steps that infer further tables.
        compile: Functions that compute something from the finished snapshot; they run in a second process.
        readers: Readers of formats that live elsewhere.
        cache: Where downloads are kept.
        progress: Called as the build goes on.
        keep_cases: Whether what users saved is carried over.
        force: Whether a source may lose half of its rows.
    """

    folder: GraphFolder
    kind: str
    choose: Callable[[BuiltGraph | None], Choice]
    cache: Path
    derive: Sequence[Derive] = ()
    compile: Sequence[Hook] = ()
    readers: Mapping[str, Reader] = field(default_factory=dict)
    progress: Callable[[Progress], None] | None = None
    keep_cases: bool = True
    force: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """The sources that a graph is to have, and those of them that are taken as they were read before."""

    wanted: Mapping[str, Wanted]
    kept: Mapping[str, BuiltSource] = field(default_factory=dict)


@dataclass(slots=True)
class _Run:
    """What the stages of one build share."""

    order: Order
    made: BuildFolder
    stages: Stages
    digests: Digests
    schema: Schema
    clock: Clock
    before: Before | None
    done: list[StageReport] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def note(self, stage: str, what: str, made: int, found: int, seconds: float) -> None:
        self.done.append(StageReport(stage, what, made, found, round(seconds, 3)))


def run(order: Order) -> BuildReport:
    """Make a graph beside the one that is there, and put it in its place when it is complete.

    Raises:
        SourceError: A source is missing, not what it should be, or has lost half of its rows.
        StoreLockedError: Another process builds or writes.
        StoreError: The folder cannot be written, the disk is full, or the old graph cannot be read.
    """
    clock = Clock(order.progress)
    schema = load_schema()
    with order.folder.building() as made, closing(Hooks(order.compile)) as hooks:
        stages = Stages(order.folder.path / "stages")
        stages.sweep()
        digests = Digests(stages.path / DIGESTS)
        before = _before(order.folder, stages)
        work = _Run(order, made, stages, digests, schema, clock, before)
        choice = order.choose(before.graph if before else None)
        carried = Saved()
        if order.keep_cases:
            had = before is not None and any(USER in table.parts for table in before.graph.tables)
            carried = saved(order.folder, schema, carried=had)
        report = _make(work, choice, carried, hooks)
        stages.clean(stages.used | (before.graph.stages if before else set()))
        digests.write()
        return report


def _before(folder: GraphFolder, stages: Stages) -> Before | None:
    """The build before, where its tables are known and are of an ontology that this one only adds to."""
    if not folder.exists:
        return None
    current = folder.current()
    graph = read_graph(current.tables, stages)
    try:
        report = read_report(current.report)
    except StoreError:  # its report is damaged: the new build writes another
        return None
    if graph is None or not kin(report.schema_version):
        return None
    return Before(current, graph, report.schema_checksum)


def _make(work: _Run, choice: Choice, carried: Saved, hooks: Hooks) -> BuildReport:
    """Go through all stages, and return the report."""
    order, clock, stages = work.order, work.clock, work.stages
    parsed, sources = _parse(work, choice)
    if carried.staged:
        parsed = [*parsed, _saved(work, carried)]
    with clock.stage("check", "checking against the ontology"):
        started = clock.elapsed
        checked = assemble(parsed, stages, work.schema, partial(clock.tell, "check"))
        _refuse_empty(parsed, sources, checked)
        work.note("check", "tables", checked.made, checked.found, clock.elapsed - started)
    reports = reporting.source_reports(choice.wanted, parsed, sources, checked.counts)
    with clock.stage("derive", "inferring"):
        inferred = _derive(work, checked.tables, reports)
    reports |= reporting.inferred_reports((step.name, step.tables) for step in inferred)
    tables = [*checked.tables, *(table for step in inferred for table in step.tables), _source_table(work, reports)]
    graph = BuiltGraph(tables, sources, snapshot_key(tuple(tables)))
    difference = _compare(work, graph, carried)
    if not order.force and work.before is not None and difference is not None:
        _refuse_losses(work.before.graph.sources, sources, difference)
    created = reporting.now()
    how = _deliver(work, graph, difference, hooks, created)
    quarantine = checked.quarantine(parsed, {name: source.origin for name, source in sources.items()})
    with work.made.quarantine.open("wb") as file:
        quarantine.write_parquet(file)
    clock.seconds |= hooks.seconds
    clock.seconds["total"] = clock.elapsed
    nodes, relations = graph.totals()
    report = BuildReport(
        id=work.made.id,
        path=str(work.made.path),
        created=created,
        fingerprint=graph.fingerprint,
        schema_version=work.schema.version,
        schema_checksum=work.schema.checksum,
        kgdx_version=version("kgdx"),
        sources=reports,
        nodes=nodes,
        relations=relations,
        reasons=tuple(reporting.reasons(quarantine)),
        warnings=(*work.remarks, *reporting.warnings(choice.wanted, parsed, sources, checked.counts)),
        seconds={name: round(seconds, 3) for name, seconds in clock.seconds.items()},
        kind=order.kind,
        stages=tuple(work.done),
        changes=None if difference is None else tuple(each for each in difference.changes if each.table != "Source"),
        store=how,
        peak_memory=reporting.peak_memory(),
        content=reporting.content(graph.tables),
        mappings=reporting.mappings(graph.tables, stages),
    )
    _write(work, graph, choice)
    report.write(work.made.report)
    clock.tell("finish", "done", 1.0)
    return report


def _parse(work: _Run, choice: Choice) -> tuple[list[Parsed], dict[str, BuiltSource]]:
    """Fetch and parse all sources, two at a time: pronto keeps one core busy, polars does the tables on the other."""
    clock, order = work.clock, work.order
    fetched: dict[str, Fetched] = {}
    kept: dict[str, Parsed] = {}
    with clock.stage("fetch", "looking for the sources"):
        started = clock.elapsed
        for name, wanted in choice.wanted.items():
            title = wanted.manifest.title
            clock.tell("fetch", title)
            if (found := _as_before(work, name, choice)) is not None:
                kept[name] = found
                continue
            arrived = partial(_arrived, clock, title)
            held = wanted.manifest.checksum if wanted.origin == wanted.manifest.default else None
            try:
                folder = wanted.manifest.format in (*FOLDERS, *order.readers)
                file = fetch(
                    wanted.origin, order.cache, expected=held, progress=arrived, digests=work.digests, folder=folder
                )
            except SourceError as error:
                raise _without_download(error, name, choice) from error
            fetched[name] = file
            work.remarks += [file.note] if file.note else []
        work.note("fetch", "files", len(fetched), len(kept), clock.elapsed - started)
    mended = corrections.read(order.folder.path)
    with clock.stage("parse", "reading the sources"), ThreadPoolExecutor(2) as pool:
        jobs = {
            name: pool.submit(
                parse,
                choice.wanted[name],
                where,
                work.stages,
                work.digests,
                work.schema,
                readers=order.readers,
                mended=mended.get(name),
            )
            for name, where in fetched.items()
        }
        parsed = []
        try:
            for number, (name, wanted) in enumerate(choice.wanted.items()):
                each = kept[name] if name in kept else jobs[name].result()
                parsed.append(each)
                work.note("parse", name, int(each.stage.made), int(not each.stage.made), each.seconds)
                clock.tell("parse", wanted.manifest.title, (number + 1) / len(choice.wanted))
        finally:
            pool.shutdown(cancel_futures=True)  # of a source that cannot be read one hears at once
    sources = {}
    for each in parsed:
        if each.source in kept:
            sources[each.source] = choice.kept[each.source]
        else:
            sources[each.source] = _source(each, choice.wanted[each.source], fetched[each.source], work)
    return parsed, sources


def _as_before(work: _Run, name: str, choice: Choice) -> Parsed | None:
    """A source as it was read before, if it need not be looked at: it would be read alike, and the stage is there."""
    if name not in choice.kept:
        return None
    before, wanted = choice.kept[name], choice.wanted[name]
    now = recipe(wanted, Path(before.path), work.order.readers, work.schema), mapping_digest(wanted)
    if (before.recipe, before.mapping) != now:
        return None
    stage = work.stages.find(before.parsed)
    return None if stage is None else Parsed(name, stage)


def _source(parsed: Parsed, wanted: Wanted, fetched: Fetched, work: _Run) -> BuiltSource:
    return BuiltSource(
        fetched.origin,
        str(fetched.path),
        fetched.checksum,
        parsed.stage.name,
        recipe(wanted, fetched.path, work.order.readers, work.schema),
        mapping_digest(wanted),
        parsed.stated,
    )


def _without_download(error: SourceError, name: str, choice: Choice) -> SourceError:
    """Say which sources are downloaded, and how to do without them, where one could not be."""
    remote = [each for each, wanted in choice.wanted.items() if wanted.origin.startswith(("http://", "https://"))]
    if name not in remote:
        return error
    others = f"; to build without {', '.join(remote)}, name the sources that you have, or give `--from FOLDER` alone"
    return SourceError(f"{name}: {error.message}", hint=f"{error.hint or ''}{others}")


def _arrived(clock: Clock, title: str, arrived: int, total: int) -> None:
    clock.tell("fetch", f"{title}: {arrived / 1e6:.1f} MB", bytes=arrived, total=total)


def _saved(work: _Run, carried: Saved) -> Parsed:
    """What users saved, as a parsed source of its own."""
    content = [(table.name, table.ends, table.role, table.rows.write_json()) for table in carried.staged]
    key = key_of(content, code_digest("kgdx.load"), work.schema.checksum)

    def make(folder: Path) -> Mapping[str, object]:
        return write_tables(carried.staged, work.schema, Tally(), folder)

    return Parsed(USER, work.stages.get("saved", key, make))


def _refuse_empty(parsed: Sequence[Parsed], sources: Mapping[str, BuiltSource], checked: Assembled) -> None:
    for each in parsed:
        counts = checked.counts[each.source]
        if each.source in sources and counts.loaded + counts.merged == 0:
            refused = checked.quarantine(parsed, {}).filter(pl.col("source") == each.source)
            reason = f"; the first was refused: {refused.item(0, 'reason')}" if refused.height else ""
            origin = sources[each.source].origin
            message = f"none of the {counts.read} records of {origin} can be loaded{reason}"
            raise SourceError(message, hint=f"check that it is a file of the source {each.source}")


def _refuse_losses(before: Mapping[str, BuiltSource], after: Mapping[str, BuiltSource], found: Difference) -> None:
    lost = list(reporting.losses(after, before, after, found.changes))
    if lost:
        shown = "; ".join(f"{name}: {', '.join(tables)}" for name, tables in lost)
        message = f"the new version of a source has lost half of its rows or more ({shown})"
        raise SourceError(message, hint="check the file; to load it all the same, use --force")


def _derive(work: _Run, tables: Sequence[BuiltTable], reports: Mapping[str, SourceReport]) -> list[Derived]:
    sources = reporting.source_nodes(reports, counted=False)
    tell = partial(work.clock.tell, "derive")
    found = []
    for step in derive(work.order.derive, tables, sources, work.stages, work.schema, tell):
        work.note("derive", step.name, int(not step.found), int(step.found), step.seconds)
        found.append(step)
    return found


def _source_table(work: _Run, reports: Mapping[str, SourceReport]) -> BuiltTable:
    return _kept(work.stages, "sources", reporting.source_nodes(reports))


def _kept(stages: Stages, kind: str, table: GraphTable) -> BuiltTable:
    """Keep a small table by its content."""
    digests = sorted([*part, *digest] for part, digest in part_digests(table).items())
    stage = stages.get(kind, key_of(digests), lambda folder: keep_table(folder, TABLE, table))
    return built(stage, stage.facts)


def _compare(work: _Run, graph: BuiltGraph, carried: Saved) -> Difference | None:
    """How the graph differs from the one before, whose store may hold cases that were saved since it was built."""
    if work.before is None:
        return None
    load = partial(load_table, stages=work.stages)
    before = _as_now(work, carried)
    work.before = replace(work.before, graph=replace(work.before.graph, tables=before))
    total = sum(table.rows for table in graph.tables)
    limit = max(DELTA_ALWAYS, min(DELTA_ROWS, int(total * DELTA_SHARE)))
    return compare(before, graph.tables, load, load, work.schema, limit=limit)


def _as_now(work: _Run, carried: Saved) -> list[BuiltTable]:
    assert work.before is not None
    now = [_kept(work.stages, "now", table) for table in carried.now if table.rows.num_rows]
    titles = {_title(table) for table in carried.now}
    return [*(table for table in work.before.graph.tables if table.title not in titles), *now]


def _title(table: GraphTable) -> str:
    if isinstance(table, NodeTable):
        return table.label
    return f"{table.start_label}-{table.type}->{table.end_label}"


def _deliver(work: _Run, graph: BuiltGraph, difference: Difference | None, hooks: Hooks, created: str) -> str:
    """Make the snapshot and fill the store, the hooks running beside it."""
    clock = work.clock
    with clock.stage("compile", "compiling the snapshot"):
        started = clock.elapsed
        again = work.order.kind == "build"  # perhaps because something is damaged
        linked = make_snapshot(work.made, graph, None if again else work.before, work.stages)
        hooks.start(work.made.snapshot)
        work.note("compile", "snapshot", int(not linked), int(linked), clock.elapsed - started)
    build = {"fingerprint": graph.fingerprint, "kgdx_version": version("kgdx"), "created": created}
    same = work.before is not None and work.before.schema == work.schema.checksum
    delta = difference.delta if difference is not None and same else None
    with clock.stage("load", "filling the store"):
        started = clock.elapsed
        how = fill_store(work.made, graph, work.before, delta, work.stages, clock, build, proven=again)
        work.note("load", "store", int(how == "loaded"), int(how == "changed"), clock.elapsed - started)
    with clock.stage("finish", "waiting for the rank model and the dictionary"):
        hooks.finish()
    return how


def _write(work: _Run, graph: BuiltGraph, choice: Choice) -> None:
    """Keep what an update needs to know of this build, and what a diff needs to know of the one before."""
    graph.write(work.made.tables)
    if work.before is not None:
        work.before.graph.write(work.made.previous)
    own: Iterable[Wanted] = (each for each in choice.wanted.values() if not each.manifest.shipped)
    for each in own:
        path = each.manifest.path
        if path is not None:
            work.made.manifests.mkdir(exist_ok=True)
            (work.made.manifests / f"{each.manifest.name}.yaml").write_bytes(path.read_bytes())
