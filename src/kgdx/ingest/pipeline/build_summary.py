"""From what a build did to what it reports; whether a graph still is what its sources give."""

from __future__ import annotations

import datetime
import os
import resource
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl
import pyarrow as pa

from kgdx.graph.protocol import GraphTable, NodeTable
from kgdx.ingest.corrections import Counts
from kgdx.ingest.fetch import DIGESTS, Digests
from kgdx.ingest.manifest import Manifest, manifests
from kgdx.ingest.pipeline.build_report import Change, Reason, SourceReport
from kgdx.ingest.pipeline.graph_folder import GraphFolder, sound_report
from kgdx.ingest.pipeline.parse import Parsed, mapping_digest, recipe
from kgdx.ingest.pipeline.stages import BuiltSource, BuiltTable, Stages, name_of, read_graph
from kgdx.ingest.source_choice import Wanted
from kgdx.ingest.sources import Reader
from kgdx.schema import load_schema

_TEXTS = ("version", "checksum", "licence", "citation")
_NUMBERS = ("read", "loaded", "merged", "quarantined")

MAPPINGS = ("SAME_AS", "MAPPED_TO")
"""Relations that say what is the same."""


def source_reports(
    wanted: Mapping[str, Wanted],
    parsed: Sequence[Parsed],
    sources: Mapping[str, BuiltSource],
    counts: Mapping[str, Counts],
) -> dict[str, SourceReport]:
    """Report the sources that were read, and what users saved."""
    reports = {}
    for each in parsed:
        numbers = counts[each.source]
        outcome = {name: getattr(numbers, name) for name in (*_NUMBERS, "resolved")}
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


def inferred_reports(steps: Iterable[tuple[str, Sequence[BuiltTable]]]) -> dict[str, SourceReport]:
    """Report what kgdx inferred, by step."""
    numbers = {name: sum(table.rows for table in tables) for name, tables in steps}
    return {
        name: SourceReport(name, "inferred by kgdx", read=number, loaded=number)
        for name, number in sorted(numbers.items())
        if number
    }


def source_nodes(reports: Mapping[str, SourceReport], *, counted: bool = True) -> NodeTable:
    """Return the Source nodes; without the counts for those who only want to know what was read."""
    numbers = _NUMBERS if counted else ()
    rows = [
        {"id": name, "source": name}
        | {column: getattr(report, column) or None for column in _TEXTS}
        | {column: getattr(report, column) for column in numbers}
        for name, report in reports.items()
    ]
    fields = [(name, pa.string()) for name in ("id", "source", *_TEXTS)] + [(name, pa.int64()) for name in numbers]
    return NodeTable("Source", pa.Table.from_pylist(rows, schema=pa.schema(fields)))


def totals(tables: Iterable[GraphTable]) -> tuple[dict[str, int], dict[str, int]]:
    """Count nodes by class and relations by type."""
    nodes: dict[str, int] = {}
    relations: dict[str, int] = {}
    for table in tables:
        counts = nodes if isinstance(table, NodeTable) else relations
        name = name_of(table)
        counts[name] = counts.get(name, 0) + table.rows.num_rows
    return nodes, relations


def content(tables: Iterable[BuiltTable]) -> dict[str, dict[str, int]]:
    """Count nodes by class and source, and relations by type and source."""
    found: dict[str, dict[str, int]] = {}
    for table in tables:
        of_it = found.setdefault(table.name, {})
        for source, (rows, _) in table.parts.items():
            of_it[source] = of_it.get(source, 0) + rows
    return found


def mappings(tables: Iterable[BuiltTable], stages: Stages) -> dict[str, dict[str, int]]:
    """Count the relations that say what is the same by the method that found them."""
    found: dict[str, dict[str, int]] = {}
    for table in tables:
        if table.name in MAPPINGS and table.rows and (stage := stages.find(table.stage)) is not None:
            rows = stage.table(table.file)
            if "method" in rows.column_names:
                of_it = found.setdefault(table.name, {})
                for each in rows.column("method").value_counts().to_pylist():
                    method = each["values"] or "not stated"
                    of_it[method] = of_it.get(method, 0) + each["counts"]
    return found


def shape_of_reason() -> pl.Expr:
    """Return an expression over the column ``reason``: the reason with ids and quoted values taken out of it."""
    return pl.col("reason").str.replace_all(r"'[^']*'|\b[A-Za-z]+:\w+\b", "…")


def reasons(quarantine: pl.DataFrame) -> Iterator[Reason]:
    """Group refused records by reason, with ids and quoted values taken out of it."""
    shape = shape_of_reason().alias("shape")
    grouped = quarantine.group_by("source", shape).agg(pl.len().alias("n"), pl.col("reason").first())
    for source, shape_, number, example in grouped.sort(
        "n", "source", "shape", descending=[True, False, False]
    ).iter_rows():
        yield Reason(source, shape_, number, example)


def warnings(
    wanted: Mapping[str, Wanted],
    parsed: Sequence[Parsed],
    sources: Mapping[str, BuiltSource],
    counts: Mapping[str, Counts],
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
    names: Iterable[str], before: Mapping[str, BuiltSource], after: Mapping[str, BuiltSource], changes: Sequence[Change]
) -> Iterator[tuple[str, list[str]]]:
    """Name the sources whose new file lost half of what the old one stated, with the counts of what it lost.

    Args:
        names: The sources to compare.
        before: As they were.
        after: As they are.
        changes: How the graphs differ: relations that are gone count as lost, though the file still states them.
    """
    for name in names:
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


FEW = 100
"""A table with fewer rows may lose half of them: so few are no sign that something is wrong."""


def now() -> str:
    """Return the time, UTC, ISO 8601."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def peak_memory() -> int:
    """Return the most memory that this process had, in bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


# The sources there are, and whether a graph is up to date with them: for `kgdx sources` and `kgdx status`.


_NONE: Mapping[str, Reader] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SourceState:
    """A source of a graph, and whether it still is what was read.

    Attributes:
        name: The source.
        origin: Where it was read from.
        stale: Why an update would read something else; empty where it would not, or where that cannot be told without
            fetching.
    """

    name: str
    origin: str
    stale: str = ""


@dataclass(frozen=True, slots=True)
class AbsentSource:
    """A source that a graph would gain by.

    Attributes:
        name: The source.
        worth: What the graph lacks without it.
        command: What to type to add it.
    """

    name: str
    worth: str
    command: str


@dataclass(frozen=True, slots=True)
class Freshness:
    """How a graph was made last, and whether it still is what its sources give.

    Attributes:
        kind: ``build``, ``update``, ``remove`` or ``pull``.
        created: When, UTC, ISO 8601.
        seconds: How long it took.
        sources: The graph's sources, those read from files.
        kept: Results of stages that the next build need not make.
        kept_bytes: Their size on disk.
        absent: Sources that the graph would gain by.
    """

    kind: str
    created: str
    seconds: float
    sources: tuple[SourceState, ...]
    kept: int = 0
    kept_bytes: int = 0
    absent: tuple[AbsentSource, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)


def freshness(folder: GraphFolder | str | os.PathLike[str], readers: Mapping[str, Reader] = _NONE) -> Freshness:
    """Return how a graph was made last, and which of its sources an update would read anew; no source is read for this.

    Args:
        folder: The graph folder.
        readers: As for :func:`kgdx.ingest.pipeline.build.build`.

    Raises:
        StoreError: There is no graph, or its report is damaged.
    """
    target = folder if isinstance(folder, GraphFolder) else GraphFolder(folder)
    build = target.current()
    report = sound_report(build)
    stages = Stages(target.path / "stages")
    graph = read_graph(build.tables, stages)
    found = []
    known = manifests(sorted(build.manifests.glob("*.yaml")))
    if graph is not None:
        digests = Digests(stages.path / DIGESTS)
        for name, source in graph.sources.items():
            found.append(SourceState(name, source.origin, _stale(source, known.get(name), digests, readers)))
    folders = [path for path in stages.path.glob("*/*") if path.is_dir()]
    size = sum(file.stat().st_size for path in folders for file in path.iterdir())
    seconds = report.seconds.get("total", 0.0)
    absent = () if graph is None else tuple(_absent(known, {each.name for each in found}))
    return Freshness(report.kind, report.created, seconds, tuple(found), len(folders), size, absent)


def _absent(known: Mapping[str, Manifest], there: Set[str]) -> Iterator[AbsentSource]:
    """Name the sources that a graph would gain by, with the command that brings each."""
    for name, found in known.items():
        if found.worth and name not in there:
            given = name if found.default is not None else f"{name}=FILE"
            yield AbsentSource(name, found.worth, f"kgdx update {given}")


def _stale(source: BuiltSource, found: Manifest | None, digests: Digests, readers: Mapping[str, Reader]) -> str:
    if found is None:
        return "its manifest is gone"
    wanted, path = Wanted(found, source.origin), Path(source.path)
    if not path.exists():
        return "its file is gone"
    if digests.unchanged(path) is False:
        return "its file has changed"
    if source.mapping != mapping_digest(wanted):
        return "its manifest has changed"
    if source.recipe != recipe(wanted, path, readers, load_schema()):
        return "it was read by another version of kgdx"
    return ""


def sources() -> tuple[Manifest, ...]:
    """Return the manifests of all sources, those of the default build first.

    Example:
        >>> [manifest.name for manifest in sources() if manifest.standard]
        ['hp', 'hpoa', 'ddxplus', 'genes', 'hp_zh', 'orphanet_omim']
    """
    return tuple(manifests().values())
