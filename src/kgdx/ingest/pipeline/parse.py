"""A source is read into typed tables, unless it would be read as it was before."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from kgdx.errors import SourceError
from kgdx.graph.tables import title
from kgdx.ingest.check import typed
from kgdx.ingest.column_mapping import Role, StagedTable, stage
from kgdx.ingest.fetch import Digests, SourceFile, file_digest
from kgdx.ingest.pipeline.quarantine import Corrections, corrections_digest
from kgdx.ingest.pipeline.stages import PART_ROWS, Stage, Stages, code_digest, key_of, write_table, written
from kgdx.ingest.records import SCRATCH, RecordTally
from kgdx.ingest.source_choice import ChosenSource, companions
from kgdx.ingest.sources import Reader, read, reader
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


@dataclass(frozen=True, slots=True)
class ParsedSource:
    source: str
    stage: Stage
    seconds: float = 0.0

    @property
    def tables(self) -> tuple[ParsedTable, ...]:
        return tuple(
            ParsedTable(**{**each, "ends": each["ends"] and tuple(each["ends"])}) for each in self.stage.facts["tables"]
        )

    @property
    def stated(self) -> dict[str, int]:
        """How many rows it states, by table."""
        found: dict[str, int] = {}
        for table in self.tables:
            found[title(table)] = found.get(title(table), 0) + table.rows
        return found

    def rows(self, table: ParsedTable) -> StagedTable:
        return StagedTable(self.source, table.name, table.ends, table.role, self.stage.frame(table.file))

    def ends_of(self, table: ParsedTable, end: str) -> pl.Series:
        return self.stage.frame(f"{table.file}-{end}")[end]


def recipe(wanted: ChosenSource, path: Path, readers: Mapping[str, Reader], schema: Schema) -> str:
    """Return the digest of the software and ontology by which a source is read."""
    found = reader(path, wanted.manifest, readers)
    function = found.func if isinstance(found, partial) else found
    module = getattr(function, "__module__", type(function).__module__)
    version = getattr(found, "VERSION", None) or getattr(sys.modules.get(module), "VERSION", "")
    packages = ("kgdx.ingest", "kgdx.case", module.rpartition(".")[0] or module)
    code = [code_digest(package) for package in dict.fromkeys(packages)]
    return key_of(module, str(version), code, schema.checksum)


def mapping_digest(wanted: ChosenSource) -> str:
    return key_of(wanted.manifest.model_dump(mode="json", by_alias=True))


def parse(
    wanted: ChosenSource,
    fetched: SourceFile,
    stages: Stages,
    digests: Digests,
    schema: Schema,
    readers: Mapping[str, Reader],
    mended: pl.DataFrame | None,
) -> ParsedSource:
    """Read a source's file, map it to the ontology and give its columns their types, unless that was done before."""
    started = time.perf_counter()
    beside = companions(wanted.manifest, fetched.path)
    checksums = [(path.name, digests.of(path, partial(file_digest, origin=str(path)))) for path in beside]
    place = str(fetched.path) if fetched.path.is_dir() else ""
    key = key_of(
        mapping_digest(wanted),
        [fetched.checksum, place, checksums],
        recipe(wanted, fetched.path, readers, schema),
        corrections_digest(mended),
    )

    def make(folder: Path) -> Mapping[str, Any]:
        facts = _parse(wanted, fetched, schema, readers, mended, folder)
        for path in (fetched.path, *beside):
            if digests.unchanged(path) is False:
                message = f"{path} changed while it was read"
                raise SourceError(message, hint="wait until it is written, then run the command again")
        return facts

    made = stages.get("parsed", key, make)
    return ParsedSource(wanted.manifest.name, made, time.perf_counter() - started)


def _parse(
    wanted: ChosenSource,
    fetched: SourceFile,
    schema: Schema,
    readers: Mapping[str, Reader],
    mended: pl.DataFrame | None,
    folder: Path,
) -> dict[str, Any]:
    name = wanted.manifest.name
    mending = Corrections(mended)
    scratch = SCRATCH.set(folder)
    try:
        records = read(fetched.path, wanted.manifest, readers)
    finally:
        SCRATCH.reset(scratch)
    mending.records(records)
    version, merged, warnings = records.version, records.merged, list(records.warnings)
    tables, rejects = stage(records, wanted.manifest)
    del records
    tally = RecordTally()
    tally.refused(name, rejects)
    facts = write_tables(_mended(tables, mending), schema, tally, folder)
    if mending.left:
        warnings.append(f"{mending.left:,} of its corrections fit no record any more")
    return {**facts, "version": version, "merged": merged, "warnings": warnings}


def _mended(tables: list[StagedTable], mending: Corrections) -> Iterator[StagedTable]:
    tables.reverse()
    while tables:
        yield mending.table(tables.pop())


def write_tables(tables: Iterable[StagedTable], schema: Schema, tally: RecordTally, folder: Path) -> dict[str, Any]:
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


def _typed_parts(
    table: StagedTable, schema: Schema, tally: RecordTally, ends: dict[str, pl.Series]
) -> Iterator[pa.Table]:
    for at in range(0, max(table.rows.height, 1), PART_ROWS):
        rows = typed(replace(table, rows=table.rows[at : at + PART_ROWS]), schema, tally).rows
        for end in ENDS if table.ends is not None else ():
            seen = [ends[end]] if end in ends else []
            ends[end] = pl.concat([*seen, rows[end].unique()]).unique().sort()
        yield rows.to_arrow(compat_level=pl.CompatLevel.oldest())
