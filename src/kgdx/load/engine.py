"""The one road of every build: fetch, parse, check, derive, compile, load, each stage kept by content.

A build is a function of files, manifests, ontology and decisions to tables. The store is loaded with them, or brought
to them from the tables of the build before; so building, updating and removing differ only in what they start from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

import polars as pl

from kgdx.errors import SourceError, StoreError
from kgdx.graph.protocol import GraphTable
from kgdx.graph.tables import part_digests, title
from kgdx.load import reporting
from kgdx.load.assemble import Assembled, assemble
from kgdx.load.carry import USER, Saved, saved
from kgdx.load.choice import Wanted
from kgdx.load.deliver import Before, StoreLoad, fill_store, index, make_snapshot, snapshot_key
from kgdx.load.derive import Derived, derive
from kgdx.load.diff import Difference, compare
from kgdx.load.fetch import DIGESTS, Digests
from kgdx.load.folder import GraphFolder
from kgdx.load.hooks import Hooks
from kgdx.load.order import Choice, Order, Work
from kgdx.load.parse import Parsed, fetch_and_parse, write_tables
from kgdx.load.report import BuildReport, Clock, SourceReport, read_report
from kgdx.load.stages import Stages, code_digest, key_of
from kgdx.load.tables import TABLE, BuiltGraph, BuiltSource, BuiltTable, built, keep_table, load_table, read_graph
from kgdx.load.tally import Tally
from kgdx.schema import kin, load_schema

DELTA_ROWS = 300_000
"""More differing rows than this are faster loaded anew."""
DELTA_SHARE = 0.1
"""So is a larger share of the graph."""
DELTA_ALWAYS = 1_000
"""So few rows are always changed in place."""


def run(order: Order) -> BuildReport:
    """Make a graph beside the one that is there, and put it in its place when it is complete.

    Raises:
        SourceError: A source is missing, not what it should be, or has lost half of its rows.
        StoreLockedError: Another process builds or writes.
        StoreError: The folder cannot be written, the disk is full, or the old graph cannot be read.
    """
    clock = Clock(order.progress)
    schema = load_schema()
    with (
        order.folder.building(float(order.first), first=order.first) as made,
        closing(Hooks(order.compile)) as hooks,
        closing(StoreLoad(made, stages := Stages(order.folder.path / "stages"), clock)) as load,
    ):
        stages.sweep()
        digests = Digests(stages.path / DIGESTS)
        before = _before(order.folder, stages)
        work = Work(order, made, stages, digests, schema, clock, before)
        choice = order.choose(before.graph if before else None)
        saved_rows = Saved()
        if order.keep_cases:
            had = before is not None and any(USER in table.parts for table in before.graph.tables)
            saved_rows = saved(order.folder, schema, expected=had)
        report = _make(work, choice, saved_rows, hooks, load)
        stages.clean(stages.used | (before.graph.stages if before else set()))
        digests.write()
        return report


def _before(folder: GraphFolder, stages: Stages) -> Before | None:
    """Return the build before, where its tables are known and are of an ontology that this one only adds to."""
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


def _make(work: Work, choice: Choice, saved_rows: Saved, hooks: Hooks, load: StoreLoad) -> BuildReport:
    """Go through all stages, and return the report."""
    order, clock, stages = work.order, work.clock, work.stages
    parsed, sources = fetch_and_parse(work, choice)
    if saved_rows.staged:
        parsed = [*parsed, _saved(work, saved_rows)]
    with clock.stage("check", "checking against the ontology"):
        started = clock.elapsed
        checked = assemble(parsed, stages, work.schema, partial(clock.tell, "check"))
        _refuse_empty(parsed, sources, checked)
        work.note("check", "tables", checked.made, checked.found, clock.elapsed - started)
    if work.before is None:  # there is nothing that the graph could be refused for, or made from, later on
        load.add(checked.tables)
    reports = reporting.source_reports(choice.wanted, parsed, sources, checked.counts)
    with clock.stage("derive", "inferring"):
        inferred = _derive(work, checked.tables, reports)
    reports |= reporting.inferred_reports((step.name, step.tables) for step in inferred)
    tables = [*checked.tables, *(table for step in inferred for table in step.tables), _source_table(work, reports)]
    graph = BuiltGraph(tables, sources, snapshot_key(tuple(tables)))
    difference = _compare(work, graph, saved_rows)
    if not order.force and work.before is not None and difference is not None:
        _refuse_losses(work.before.graph.sources, sources, difference)
    created = reporting.now()
    how = _deliver(work, graph, difference, hooks, load, created)
    quarantine = _quarantine(work, checked, parsed, sources)
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


def _quarantine(
    work: Work, checked: Assembled, parsed: Sequence[Parsed], sources: Mapping[str, BuiltSource]
) -> pl.DataFrame:
    """Keep the records that were refused, and return them."""
    refused = checked.quarantine(parsed, {name: source.origin for name, source in sources.items()})
    with work.made.quarantine.open("wb") as file:
        refused.write_parquet(file)
    return refused


def _saved(work: Work, saved_rows: Saved) -> Parsed:
    """Return what users saved, as a parsed source of its own."""
    content = [(table.name, table.ends, table.role, table.rows.write_json()) for table in saved_rows.staged]
    key = key_of(content, code_digest("kgdx.load"), work.schema.checksum)

    def make(folder: Path) -> Mapping[str, object]:
        return write_tables(saved_rows.staged, work.schema, Tally(), folder)

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


def _derive(work: Work, tables: Sequence[BuiltTable], reports: Mapping[str, SourceReport]) -> list[Derived]:
    sources = reporting.source_nodes(reports, counted=False)
    tell = partial(work.clock.tell, "derive")
    found = []
    for step in derive(work.order.derive, tables, sources, work.stages, work.schema, tell):
        work.note("derive", step.name, int(not step.found), int(step.found), step.seconds)
        found.append(step)
    return found


def _source_table(work: Work, reports: Mapping[str, SourceReport]) -> BuiltTable:
    return _kept(work.stages, "sources", reporting.source_nodes(reports))


def _kept(stages: Stages, kind: str, table: GraphTable) -> BuiltTable:
    """Keep a small table by its content."""
    digests = sorted([*part, *digest] for part, digest in part_digests(table).items())
    stage = stages.get(kind, key_of(digests), lambda folder: keep_table(folder, TABLE, table))
    return built(stage, stage.facts)


def _compare(work: Work, graph: BuiltGraph, saved_rows: Saved) -> Difference | None:
    """How the graph differs from the one before, whose store may hold cases that were saved since it was built."""
    if work.before is None:
        return None
    load = partial(load_table, stages=work.stages)
    before = _as_now(work, saved_rows)
    work.before = replace(work.before, graph=replace(work.before.graph, tables=before))
    total = sum(table.rows for table in graph.tables)
    limit = max(DELTA_ALWAYS, min(DELTA_ROWS, int(total * DELTA_SHARE)))
    return compare(before, graph.tables, load, load, work.schema, limit=limit)


def _as_now(work: Work, saved_rows: Saved) -> list[BuiltTable]:
    assert work.before is not None
    now = [_kept(work.stages, "now", table) for table in saved_rows.now if table.rows.num_rows]
    titles = {title(table) for table in saved_rows.now}
    return [*(table for table in work.before.graph.tables if table.title not in titles), *now]


def _deliver(
    work: Work, graph: BuiltGraph, difference: Difference | None, hooks: Hooks, load: StoreLoad, created: str
) -> str:
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
        how = fill_store(load, work.made, graph, work.before, delta, clock, build, proven=again)
        work.note("load", "store", int(how == "loaded"), int(how == "changed"), clock.elapsed - started)
    with clock.stage("finish", "finishing"):
        index(work.made, work.order.index, partial(clock.tell, "finish"))
        clock.tell("finish", "waiting for the rank model and the dictionary", 0.8)
        hooks.finish()
    return how


def _write(work: Work, graph: BuiltGraph, choice: Choice) -> None:
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
