"""The one road of every build: fetch, parse, check, derive, compile, load, each stage kept by content.

A build is a function of files, manifests, ontology and decisions to tables. The store is loaded with them, or brought
to them from the tables of the build before; so building, updating and removing differ only in what they start from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import polars as pl

from kgdx.errors import SourceError, StoreError
from kgdx.graph.protocol import GraphTable
from kgdx.graph.tables import part_digests, title
from kgdx.ingest.check import checked_relations, current_ids, is_updated, merged_nodes, plain_table
from kgdx.ingest.corrections import Counts, Tally, quarantine_table
from kgdx.ingest.fetch import DIGESTS, Digests
from kgdx.ingest.pipeline import build_summary
from kgdx.ingest.pipeline.build_report import BuildReport, Clock, SourceReport
from kgdx.ingest.pipeline.deliver import (
    Before,
    BuiltTables,
    Choice,
    Order,
    StoreLoad,
    Work,
    fill_store,
    index,
    make_snapshot,
    snapshot_key,
)
from kgdx.ingest.pipeline.derive import Derived, derive
from kgdx.ingest.pipeline.graph_diff import Difference, compare
from kgdx.ingest.pipeline.graph_folder import GraphFolder, sound_report
from kgdx.ingest.pipeline.parse import ENDS, REJECTS, Parsed, ParsedTable, fetch_and_parse, write_tables
from kgdx.ingest.pipeline.snapshot_hooks import Hooks
from kgdx.ingest.pipeline.stages import (
    PART_ROWS,
    TABLE,
    BuiltGraph,
    BuiltSource,
    BuiltTable,
    Stage,
    Stages,
    built,
    code_digest,
    keep_parts,
    keep_table,
    key_of,
    load_table,
    read_graph,
    write_table,
)
from kgdx.ingest.pipeline.user_data import USER, Saved, saved
from kgdx.ingest.source_choice import Wanted
from kgdx.schema import Schema, kin, load_schema

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
        report = sound_report(current)
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
    reports = build_summary.source_reports(choice.wanted, parsed, sources, checked.counts)
    with clock.stage("derive", "inferring"):
        inferred = _derive(work, checked.tables, reports)
    reports |= build_summary.inferred_reports((step.name, step.tables) for step in inferred)
    tables = [*checked.tables, *(table for step in inferred for table in step.tables), _source_table(work, reports)]
    graph = BuiltGraph(tables, sources, snapshot_key(tuple(tables)))
    difference = _compare(work, graph, saved_rows)
    if not order.force and work.before is not None and difference is not None:
        _refuse_losses(work.before.graph.sources, sources, difference)
    created = build_summary.now()
    how = _deliver(work, graph, difference, hooks, load, created)
    quarantine = _quarantine(work, checked, parsed, sources)
    clock.seconds |= hooks.seconds
    clock.seconds["total"] = clock.elapsed
    nodes, relations = graph.totals()
    same, near = build_summary.mappings(graph.tables, stages)
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
        reasons=tuple(build_summary.reasons(quarantine)),
        warnings=(*work.remarks, *build_summary.warnings(choice.wanted, parsed, sources, checked.counts)),
        seconds={name: round(seconds, 3) for name, seconds in clock.seconds.items()},
        kind=order.kind,
        stages=tuple(work.done),
        changes=None if difference is None else tuple(each for each in difference.changes if each.table != "Source"),
        store=how,
        peak_memory=build_summary.peak_memory(),
        content=build_summary.content(graph.tables),
        mappings=same,
        near=near,
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
    key = key_of(content, code_digest("kgdx.ingest"), work.schema.checksum)

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
    lost = list(build_summary.losses(after, before, after, found.changes))
    if lost:
        shown = "; ".join(f"{name}: {', '.join(tables)}" for name, tables in lost)
        message = f"the new version of a source has lost half of its rows or more ({shown})"
        raise SourceError(message, hint="check the file; to load it all the same, use --force")


def _derive(work: Work, tables: Sequence[BuiltTable], reports: Mapping[str, SourceReport]) -> list[Derived]:
    sources = build_summary.source_nodes(reports, counted=False)
    tell = partial(work.clock.tell, "derive")
    found = []
    for step in derive(work.order.derive, tables, sources, work.stages, work.schema, tell):
        work.note("derive", step.name, int(not step.found), int(step.found), step.seconds)
        found.append(step)
    return found


def _source_table(work: Work, reports: Mapping[str, SourceReport]) -> BuiltTable:
    return _kept(work.stages, "sources", build_summary.source_nodes(reports))


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
    if delta is None:
        load.add(graph.tables)
    with clock.stage("index", "indexing names"):  # most of a load is done outside Python
        tables = BuiltTables(graph, work.stages, work.schema)
        index(work.made.snapshot, tables, work.order.index, partial(clock.tell, "index"))
    with clock.stage("load", "filling the store"):
        started = clock.elapsed
        how = fill_store(load, work.made, graph, work.before, delta, clock, build, proven=again)
        work.note("load", "store", int(how == "loaded"), int(how == "changed"), clock.elapsed - started)
    with clock.stage("finish", "finishing"):
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


# Parsed sources → the tables of the graph, checked against the ontology and against each other, one at a time.
#
# A table is made again only when its own outcome could be another one. For relations that is: their rows, which of the
# ids at their ends are not in the graph, and which of them have been replaced.


_Use = tuple[Parsed, ParsedTable]


@dataclass(slots=True)
class Assembled:
    """The checked tables of a graph, with what became of the records.

    Attributes:
        tables: Tables that fit the ontology; none is empty.
        counts: What became of each source's records.
        ids: Ids of the graph's nodes, by class.
        made: How many tables were made, and how many were found made.
    """

    tables: list[BuiltTable] = field(default_factory=list)
    counts: dict[str, Counts] = field(default_factory=dict)
    ids: dict[str, pl.Series] = field(default_factory=dict)
    made: int = 0
    found: int = 0
    refused: list[Stage] = field(default_factory=list)

    def add(self, stage: Stage) -> None:
        """Take up a table with its counts."""
        self.made += stage.made
        self.found += not stage.made
        for source, numbers in stage.facts["counts"].items():
            for outcome, number in numbers.items():
                counts = self.counts.setdefault(source, Counts())
                setattr(counts, outcome, getattr(counts, outcome) + number)
        if stage.facts["refused"]:
            self.refused.append(stage)
        table = built(stage, stage.facts)
        if table.rows:
            self.tables.append(table)

    def quarantine(self, parsed: Sequence[Parsed], origins: Mapping[str, str]) -> pl.DataFrame:
        """Return all refused records, of all stages."""
        parts = []
        for each in parsed:
            if each.stage.facts["refused"]:
                own = pl.col("file").fill_null(pl.lit(origins.get(each.source), pl.String))
                parts.append(each.rejects().with_columns(own, pl.lit(each.source).alias("source")))
        for stage in self.refused:
            rows = cast(pl.DataFrame, pl.from_arrow(stage.table(REJECTS)))
            parts.append(
                rows.with_columns(
                    pl.col("file").fill_null(
                        pl.col("source").replace_strict(origins, default=None, return_dtype=pl.String)
                    )
                )
            )
        return quarantine_table(parts)


def assemble(parsed: Sequence[Parsed], stages: Stages, schema: Schema, tell: Callable[[str, float], None]) -> Assembled:
    """Check the tables of all sources, in the order of the sources.

    Args:
        parsed: The sources.
        stages: Where tables are kept.
        schema: The ontology.
        tell: Called with what is being checked, and how much of all is done.

    Raises:
        SourceError: The counts of a source do not add up.
    """
    result = Assembled(counts={each.source: _counts_before(each) for each in parsed})
    nodes: dict[str, list[_Use]] = {}
    relations: dict[tuple[str, str, tuple[str, str]], list[_Use]] = {}
    for each in parsed:
        for table in each.tables:
            if table.ends is None:
                nodes.setdefault(table.name, []).append((each, table))
            else:
                relations.setdefault((each.source, table.name, table.ends), []).append((each, table))
    total = len(nodes) + len(relations) or 1
    current = current_ids(None)
    for number, (label, uses) in enumerate(nodes.items()):
        tell(f"merging {label} nodes", number / total)
        stage = _nodes(label, uses, stages)
        result.add(stage)
        result.ids[label] = cast(pl.DataFrame, pl.from_arrow(stage.table(TABLE, ["id"])))["id"]
        if label == "Phenotype":
            current = current_ids(cast(pl.DataFrame, pl.from_arrow(stage.table(TABLE))))
    for number, ((_, type, ends), uses) in enumerate(relations.items(), len(nodes)):
        tell(f"checking {type}", number / total)
        result.add(_relations(type, ends, uses, result.ids, current, schema, stages))
    for source, counts in result.counts.items():
        counts.settle(source)
    return result


def _counts_before(parsed: Parsed) -> Counts:
    """Return what became of a source's records before the check."""
    facts = parsed.stage.facts
    merged = facts.get("merged", 0)
    return Counts(read=facts["read"] + merged, merged=merged, quarantined=facts["refused"])


def _nodes(label: str, uses: Sequence[_Use], stages: Stages) -> Stage:
    key = key_of(label, [(parsed.source, parsed.stage.name, table.file) for parsed, table in uses])

    def make(folder: Path) -> Mapping[str, Any]:
        tally = Tally()
        rows = merged_nodes([parsed.rows(table) for parsed, table in uses], tally)
        return _kept_checked(folder, label, None, rows, tally)

    return stages.get("nodes", key, make)


def _relations(
    type: str,
    ends: tuple[str, str],
    uses: Sequence[_Use],
    ids: Mapping[str, pl.Series],
    current: pl.DataFrame,
    schema: Schema,
    stages: Stages,
) -> Stage:
    outcome = []
    for end, label in zip(ENDS, ends, strict=True):
        used = pl.concat([parsed.ends_of(table, end) for parsed, table in uses]).unique()
        replaced = current.filter(pl.col("old").is_in(used.implode())) if is_updated(type, label) else current.clear()
        now = used.to_frame().join(replaced, left_on=end, right_on="old", how="left")
        now = now.select(pl.coalesce("new", end).alias("id"))
        known = ids.get(label, pl.Series("id", [], pl.String))
        missing = now.filter(~pl.col("id").is_in(known.implode()))["id"].unique().sort()
        outcome.append([missing.to_list(), replaced.sort("old").rows()])
    key = key_of(type, ends, [(parsed.source, parsed.stage.name, table.file) for parsed, table in uses], outcome)

    def make(folder: Path) -> Mapping[str, Any]:
        tally = Tally()
        rows = checked_relations([parsed.rows(table) for parsed, table in uses], ids, current, schema, tally)
        return _kept_checked(folder, type, ends, rows, tally)

    return stages.get("relations", key, make)


def _kept_checked(
    folder: Path, name: str, ends: tuple[str, str] | None, rows: pl.DataFrame, tally: Tally
) -> dict[str, Any]:
    refused = tally.quarantine()
    write_table(folder, REJECTS, refused.to_arrow(compat_level=pl.CompatLevel.oldest()))
    parts = (plain_table(rows[at : at + PART_ROWS]) for at in range(0, max(rows.height, 1), PART_ROWS))
    facts = keep_parts(folder, TABLE, name, ends, parts)
    counts = {source: asdict(counts) for source, counts in tally.counts.items()}
    return {**facts, "counts": counts, "refused": refused.height}
