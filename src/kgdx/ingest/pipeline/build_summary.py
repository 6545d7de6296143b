"""From what a build did to what it reports."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

import polars as pl
import pyarrow as pa

from kgdx.graph.protocol import NodeTable
from kgdx.ingest.pipeline.build_report import NUMBERS, TEXTS, Change, RefusalCount, SourceReport
from kgdx.ingest.pipeline.built_graph import BuiltSource, BuiltTable
from kgdx.ingest.pipeline.parse import ParsedSource
from kgdx.ingest.pipeline.stages import Stages
from kgdx.ingest.records import RecordCounts, by_reason
from kgdx.ingest.source_choice import ChosenSource
from kgdx.schema.model import MATCHES

_RELATED = ("relation", "method", "count_all")
FEW = 100
"""A table with fewer rows may lose half of them: so few are no sign that something is wrong."""


def source_reports(
    wanted: Mapping[str, ChosenSource],
    parsed: Sequence[ParsedSource],
    sources: Mapping[str, BuiltSource],
    counts: Mapping[str, RecordCounts],
) -> dict[str, SourceReport]:
    reports = {}
    for each in parsed:
        numbers = counts[each.source]
        outcome = {name: getattr(numbers, name) for name in (*NUMBERS, "resolved")}
        if each.source not in wanted:
            reports[each.source] = SourceReport(each.source, "saved cases and runs", **outcome)
            continue
        found = wanted[each.source].manifest
        reports[each.source] = SourceReport(
            each.source,
            found.title,
            sources[each.source].origin,
            each.stage.facts["version"],
            sources[each.source].checksum,
            found.licence,
            found.citation,
            **outcome,
            seconds=round(each.seconds, 3),
            found=not each.stage.made,
        )
    return reports


def source_nodes(reports: Mapping[str, SourceReport], *, counted: bool = True) -> NodeTable:
    """Return the Source nodes; without the counts for those who only want to know what was read."""
    numbers = NUMBERS if counted else ()
    rows = [
        {"id": name, "source": name}
        | {column: getattr(report, column) or None for column in TEXTS}
        | {column: getattr(report, column) for column in numbers}
        for name, report in reports.items()
    ]
    fields = [(name, pa.string()) for name in ("id", "source", *TEXTS)] + [(name, pa.int64()) for name in numbers]
    return NodeTable("Source", pa.Table.from_pylist(rows, schema=pa.schema(fields)))


def content(tables: Iterable[BuiltTable]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for table in tables:
        of_it = found.setdefault(table.name, {})
        for source, (rows, _) in table.parts.items():
            of_it[source] = of_it.get(source, 0) + rows
    return found


def mappings(
    tables: Iterable[BuiltTable], stages: Stages
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, int]]]:
    """Count the relations that say what is exactly the same by the method that found them, and the others by relation.

    A broader or narrower entry, or one that is only close, is not the same, and nothing takes it for that.
    """
    same: dict[str, dict[str, int]] = {}
    near: dict[str, dict[str, int]] = {}
    stated = {type: relation for relation, type in MATCHES.items()}
    for table in tables:
        if table.name in (*stated, "MAPPED_TO") and table.rows and (stage := stages.find(table.stage)) is not None:
            rows = stage.table(table.file)
            if table.name in stated:
                rows = rows.append_column("relation", pa.repeat(stated[table.name], rows.num_rows))
            if not {"method", "relation"} <= set(rows.column_names):
                continue
            counted = rows.group_by(["relation", "method"]).aggregate([([], "count_all")])
            for relation, method, number in zip(*(counted.column(i).to_pylist() for i in _RELATED), strict=True):
                exact = relation == "exact"
                name = MATCHES["exact"] if table.name in stated else table.name
                of_it = (same if exact else near).setdefault(name, {})
                kind = (method if exact else relation) or "not stated"
                of_it[kind] = of_it.get(kind, 0) + number
    return same, near


def reasons(quarantine: pl.DataFrame) -> list[RefusalCount]:
    return [RefusalCount(*row[:4]) for row in by_reason(quarantine)]


def warnings(
    wanted: Mapping[str, ChosenSource],
    parsed: Sequence[ParsedSource],
    sources: Mapping[str, BuiltSource],
    counts: Mapping[str, RecordCounts],
) -> Iterator[str]:
    """Yield the readers' warnings, and one for each default file that differs from what its manifest describes."""
    for each in parsed:
        for warning in each.stage.facts.get("warnings", ()):
            yield f"{each.source}: {warning}"
        if each.source not in wanted:
            continue
        found, source, numbers = wanted[each.source].manifest, sources[each.source], counts[each.source]
        if source.origin != found.default:
            continue
        if found.checksum not in (None, source.checksum):
            yield f"{each.source} is another release than the one its manifest describes (SHA-256 differs)"
        if found.expected is None:
            continue
        for what, number, (least, most) in (
            ("records", numbers.read, found.expected.records),
            ("quarantined records", numbers.quarantined, found.expected.quarantined),
        ):
            if not least <= number <= most:
                yield f"{each.source} has {number:,} {what}, expected are {least:,} to {most:,}"


def losses(
    before: Mapping[str, BuiltSource], after: Mapping[str, BuiltSource], changes: Sequence[Change]
) -> Iterator[tuple[str, list[str]]]:
    """Name the sources whose new file lost half of what the old one stated, with the counts of what it lost.

    Relations that are gone from the graph count as lost, though the file still states them.
    """
    for name in after:
        if name not in before or before[name].parsed == after[name].parsed:
            continue
        gone = {each.table: each.removed - each.added for each in changes if each.source == name and "->" in each.table}
        shown = []
        for table, old in before[name].stated.items():
            new = min(after[name].stated.get(table, 0), old - gone.get(table, 0))
            if old >= FEW and new * 2 <= old:
                shown.append(f"{table} {old:,} → {max(new, 0):,}")
        if shown:
            yield name, shown


def peak_memory() -> int:
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
