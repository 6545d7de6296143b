"""Each source is fetched and parsed into typed tables, unless it would be read as it was before."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import polars as pl
import pyarrow as pa

from kgdx.errors import SourceError
from kgdx.ingest import corrections
from kgdx.ingest.column_mapping import Role, Staged, stage
from kgdx.ingest.corrections import Tally
from kgdx.ingest.fetch import Digests, Fetched, fetch, file_digest
from kgdx.ingest.pipeline.build_report import Clock
from kgdx.ingest.pipeline.deliver import Choice, Work
from kgdx.ingest.pipeline.stages import (
    PART_ROWS,
    BuiltSource,
    Stage,
    Stages,
    code_digest,
    key_of,
    write_table,
    written,
)
from kgdx.ingest.records import SCRATCH
from kgdx.ingest.source_choice import Wanted, companions
from kgdx.ingest.sources import FOLDERS, Reader, read, reader
from kgdx.schema import Schema

REJECTS = "rejects"
ENDS = ("start", "end")


@dataclass(frozen=True, slots=True)
class ParsedTable:
    """A table of a parsed source: what it is, and the name of its file."""

    name: str
    ends: tuple[str, str] | None
    role: Role
    file: str
    rows: int

    @property
    def title(self) -> str:
        """``Disease``, or ``Disease-HAS_PHENOTYPE->Phenotype``."""
        return self.name if self.ends is None else f"{self.ends[0]}-{self.name}->{self.ends[1]}"


@dataclass(frozen=True, slots=True)
class Parsed:
    """A source that was read, or found as it was read before.

    Attributes:
        source: Its name.
        stage: Holds its tables.
        seconds: How long it took now.
    """

    source: str
    stage: Stage
    seconds: float = 0.0

    @property
    def tables(self) -> tuple[ParsedTable, ...]:
        """Its tables, nodes first."""
        return tuple(
            ParsedTable(each["name"], _ends(each["ends"]), each["role"], each["file"], each["rows"])
            for each in self.stage.facts["tables"]
        )

    @property
    def stated(self) -> dict[str, int]:
        """How many rows it states, by table."""
        found: dict[str, int] = {}
        for table in self.tables:
            found[table.title] = found.get(table.title, 0) + table.rows
        return found

    def rows(self, table: ParsedTable) -> Staged:
        """Read a table."""
        frame = cast(pl.DataFrame, pl.from_arrow(self.stage.table(table.file)))
        return Staged(self.source, table.name, table.ends, table.role, frame)

    def ends_of(self, table: ParsedTable, end: str) -> pl.Series:
        """Read the different ids at one end of a relation table."""
        frame = cast(pl.DataFrame, pl.from_arrow(self.stage.table(f"{table.file}-{end}")))
        return frame[end]

    def rejects(self) -> pl.DataFrame:
        """Read the records that were refused; ``file`` is null for the source's own file."""
        return cast(pl.DataFrame, pl.from_arrow(self.stage.table(REJECTS)))


def recipe(wanted: Wanted, path: Path, readers: Mapping[str, Reader], schema: Schema) -> str:
    """Return the digest of the software and ontology by which a source is read."""
    found = reader(path, wanted.manifest, readers)
    function = found.func if isinstance(found, partial) else found
    module = getattr(function, "__module__", type(function).__module__)
    version = getattr(found, "VERSION", None) or getattr(sys.modules.get(module), "VERSION", "")
    packages = ("kgdx.ingest", "kgdx.case", module.rpartition(".")[0] or module)
    code = [code_digest(package) for package in dict.fromkeys(packages)]
    return key_of(module, str(version), code, schema.checksum)


def mapping_digest(wanted: Wanted) -> str:
    """Return the digest of a source's manifest."""
    return key_of(wanted.manifest.model_dump(mode="json", by_alias=True))


def parse(
    wanted: Wanted,
    fetched: Fetched,
    stages: Stages,
    digests: Digests,
    schema: Schema,
    *,
    readers: Mapping[str, Reader],
    mended: pl.DataFrame | None,
) -> Parsed:
    """Read a source's file, map it to the ontology and give its columns their types, unless that was done before.

    Args:
        wanted: The source.
        fetched: Its file.
        stages: Where the result is kept.
        digests: Remembers the checksums of files.
        schema: The ontology.
        readers: Readers beside those of :data:`kgdx.ingest.sources.FORMATS`.
        mended: Corrections of records that were refused.

    Raises:
        SourceError: The file is not what the manifest says, or changed while it was read.
    """
    started = time.perf_counter()
    beside = companions(wanted.manifest, fetched.path)
    checksums = [(path.name, digests.of(path, partial(file_digest, origin=str(path)))) for path in beside]
    place = str(fetched.path) if fetched.path.is_dir() else ""
    key = key_of(
        mapping_digest(wanted),
        [fetched.checksum, place, checksums],
        recipe(wanted, fetched.path, readers, schema),
        corrections.digest(mended),
    )

    def make(folder: Path) -> Mapping[str, Any]:
        facts = _parse(wanted, fetched, schema, readers, mended, folder)
        for path in (fetched.path, *beside):
            if digests.unchanged(path) is False:
                message = f"{path} changed while it was read"
                raise SourceError(message, hint="wait until it is written, then run the command again")
        return facts

    made = stages.get("parsed", key, make)
    return Parsed(wanted.manifest.name, made, time.perf_counter() - started)


def _parse(
    wanted: Wanted,
    fetched: Fetched,
    schema: Schema,
    readers: Mapping[str, Reader],
    mended: pl.DataFrame | None,
    folder: Path,
) -> dict[str, Any]:
    """Write a source's tables into a folder, and return the facts."""
    name = wanted.manifest.name
    mending = corrections.Mending(mended)
    scratch = SCRATCH.set(folder)
    try:
        records = read(fetched.path, wanted.manifest, readers)
    finally:
        SCRATCH.reset(scratch)
    mending.records(records)
    version, merged, warnings = records.version, records.merged, list(records.warnings)
    tables, rejects = stage(records, wanted.manifest)
    del records
    tally = Tally()
    tally.refused(name, rejects)
    facts = write_tables(_mended(tables, mending), schema, tally, folder)
    if mending.left:
        warnings.append(f"{mending.left:,} of its corrections fit no record any more")
    return {**facts, "version": version, "merged": merged, "warnings": warnings}


def _mended(tables: list[Staged], mending: corrections.Mending) -> Iterator[Staged]:
    """Yield the tables one by one, each being let go when the next is asked for."""
    tables.reverse()
    while tables:
        yield mending.table(tables.pop())


def write_tables(tables: Iterable[Staged], schema: Schema, tally: Tally, folder: Path) -> dict[str, Any]:
    """Give tables of one source their types, write them into a folder, and return what its facts must say of them."""
    facts = []
    for number, table in enumerate(tables):
        file = f"{number:03}"
        ends: dict[str, pl.Series] = {}
        parts = written(folder, file, _typed_parts(table, schema, tally, ends))
        rows = sum(part.num_rows for part in parts)
        for end, ids in ends.items():
            write_table(folder, f"{file}-{end}", ids.to_frame().to_arrow(compat_level=pl.CompatLevel.oldest()))
        facts.append({"name": table.name, "ends": table.ends, "role": table.role, "file": file, "rows": rows})
        del table
    rejects = tally.quarantine().drop("source")
    write_table(folder, REJECTS, rejects.to_arrow(compat_level=pl.CompatLevel.oldest()))
    counts = next(iter(tally.counts.values()), None)
    return {"tables": facts, "read": counts.read if counts else 0, "refused": rejects.height}


def _typed_parts(table: Staged, schema: Schema, tally: Tally, ends: dict[str, pl.Series]) -> Iterator[pa.Table]:
    """Yield a table with its types a part at a time, and collect the different ids at a relation's ends, sorted."""
    from kgdx.ingest.check import typed

    for at in range(0, max(table.rows.height, 1), PART_ROWS):
        rows = typed(replace(table, rows=table.rows[at : at + PART_ROWS]), schema, tally).rows
        for end in ENDS if table.ends is not None else ():
            seen = [ends[end]] if end in ends else []
            ends[end] = pl.concat([*seen, rows[end].unique()]).unique().sort()
        yield rows.to_arrow(compat_level=pl.CompatLevel.oldest())


def _ends(pair: Sequence[str] | None) -> tuple[str, str] | None:
    return None if pair is None else (pair[0], pair[1])


def fetch_and_parse(work: Work, choice: Choice) -> tuple[list[Parsed], dict[str, BuiltSource]]:
    """Fetch and parse all sources.

    Returns:
        The parsed sources in the order of the choice, and for an update what was read of each, and where.

    Raises:
        SourceError: A source is missing, or not what it should be.
    """
    fetched, kept = _fetch(work, choice)
    parsed = _parse_all(work, choice, fetched, kept)
    sources = {
        each.source: choice.kept[each.source]
        if each.source in kept
        else _source(each, choice.wanted[each.source], fetched[each.source], work)
        for each in parsed
    }
    return parsed, sources


def _fetch(work: Work, choice: Choice) -> tuple[dict[str, Fetched], dict[str, Parsed]]:
    """Return the files of the sources, and those sources that need not be looked at."""
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
            expected = wanted.manifest.checksum if wanted.origin == wanted.manifest.default else None
            try:
                folder = wanted.manifest.format in (*FOLDERS, *order.readers)
                file = fetch(
                    wanted.origin, order.cache, expected=expected, progress=arrived, digests=work.digests, folder=folder
                )
            except SourceError as error:
                raise _without_download(error, name, choice) from error
            fetched[name] = file
            work.remarks += [file.note] if file.note else []
        work.note("fetch", "files", len(fetched), len(kept), clock.elapsed - started)
    return fetched, kept


def _parse_all(work: Work, choice: Choice, fetched: Mapping[str, Fetched], kept: Mapping[str, Parsed]) -> list[Parsed]:
    """Parse two sources at a time."""
    clock, order = work.clock, work.order
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
    return parsed


def _as_before(work: Work, name: str, choice: Choice) -> Parsed | None:
    """A source as it was read before, if it need not be looked at: it would be read alike, and the stage is there."""
    if name not in choice.kept:
        return None
    before, wanted = choice.kept[name], choice.wanted[name]
    now = recipe(wanted, Path(before.path), work.order.readers, work.schema), mapping_digest(wanted)
    if (before.recipe, before.mapping) != now:
        return None
    stage = work.stages.find(before.parsed)
    return None if stage is None else Parsed(name, stage)


def _source(parsed: Parsed, wanted: Wanted, fetched: Fetched, work: Work) -> BuiltSource:
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
    """Return the error of a failed download with a hint how to build without the sources that are downloaded."""
    remote = [each for each, wanted in choice.wanted.items() if wanted.origin.startswith(("http://", "https://"))]
    if name not in remote:
        return error
    others = f"; to build without {', '.join(remote)}, name the sources that you have, or give `--from FOLDER` alone"
    return SourceError(f"{name}: {error.message}", hint=f"{error.hint or ''}{others}")


def _arrived(clock: Clock, title: str, arrived: int, total: int) -> None:
    clock.tell("fetch", f"{title}: {arrived / 1e6:.1f} MB", bytes=arrived, total=total)
