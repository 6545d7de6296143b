"""The folder that an extraction is kept in: a file for each finished page, so that it goes on where it stopped.

Layout::

    extraction.json       what is extracted, how, and by whom
    lock                  held by the process that extracts
    pages/000012.parquet  a finished page: its relations; refused records and counts in the file's metadata
    failed/000013.json    a page that failed, and why; it is tried again by the next run

A page's file appears by being renamed when it is complete.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from kgdx.errors import SourceError, StoreError, StoreLockedError, UsageError
from kgdx.files.known import whole_file, write_whole
from kgdx.files.locks import take
from kgdx.ingest.extraction.filters import TYPES, RelationReader
from kgdx.ingest.extraction.question_pages import Outcome, pages, read_page
from kgdx.ingest.extraction.rule_reader import VERSION as RULES
from kgdx.ingest.extraction.rule_reader import RuleReader
from kgdx.ingest.manifest import Manifest
from kgdx.ingest.records import LINE, Records, join_rejects

FORMAT = 1
SCHEMA = pa.schema(
    [
        ("type", pa.string()),
        ("head", pa.string()),
        ("tail", pa.string()),
        ("page", pa.int64()),
        ("record", pa.string()),
        ("line", pa.int64()),
        ("model", pa.string()),
        ("prompt", pa.string()),
        ("span", pa.string()),
    ]
)
"""Columns of a page's relations."""

_KEY = b"kgdx"


@dataclass(frozen=True, slots=True)
class PageFacts:
    """Metadata of a finished page's file.

    Attributes:
        page: Its number.
        digest: Of all that its result depended on.
        file: The file it is of.
        records: How many it has.
        relations: How many were read, by type.
        refused: Records that could not be read: line, record, reason.
        left_out: How many statements were not believed, by reason.
    """

    page: int
    digest: str
    file: str
    records: int
    relations: Mapping[str, int]
    refused: tuple[tuple[int, str, str], ...]
    left_out: Mapping[str, int]


class ExtractionFolder:
    """An extraction's folder; nothing is created until :meth:`extracting`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def extracting(self, reader: RelationReader, size: int) -> Iterator[None]:
        """Hold the folder for extracting, alone.

        Raises:
            StoreLockedError: Another process extracts into it.
            UsageError: It holds pages of another size, or by another reader.
            StoreError: It cannot be written.
        """
        try:
            (self.path / "pages").mkdir(parents=True, exist_ok=True)
            (self.path / "failed").mkdir(exist_ok=True)
            handle = os.open(self.path / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            if not take(handle, wait_s=0.0):
                message = f"another process extracts into {self.path}"
                raise StoreLockedError(message, hint="wait for it to finish, or choose another --out")
            self._begin(reader, size)
            yield
        finally:
            os.close(handle)

    def about(self) -> dict[str, Any]:
        """Return what is extracted here, how, and by whom.

        Raises:
            SourceError: It is no folder of an extraction.
        """
        try:
            found = json.loads((self.path / "extraction.json").read_text("utf-8"))
        except (OSError, ValueError) as error:
            hint = "make one with `kgdx extract-relations`, or give a file of questions and answers"
            raise SourceError(f"{self.path} holds no extracted relations", hint=hint) from error
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise SourceError(f"{self.path} is of another version of kgdx", hint="extract into a new folder")
        return found

    def page_files(self) -> list[Path]:
        """Return the files of the finished pages, in order."""
        return sorted((self.path / "pages").glob("*.parquet"))

    def failed(self) -> list[dict[str, Any]]:
        """Return what is known of the pages that failed, in order."""
        return [json.loads(path.read_text("utf-8")) for path in sorted((self.path / "failed").glob("*.json"))]

    def facts(self, page: int) -> PageFacts | None:
        """Return what a finished page says of itself; ``None`` where it is not finished, or its file is damaged."""
        try:
            return read_facts(self._page(page))
        except SourceError:
            return None

    def finish(self, outcome: Outcome, digest: str, reader: RelationReader) -> PageFacts:
        """Write a page's result, whole or not at all.

        Raises:
            StoreError: It cannot be written.
        """
        rows = outcome.rows
        columns: dict[str, list[Any]] = {
            name: [getattr(row, name) for row in rows] for name in ("type", "head", "tail")
        }
        columns |= {"page": [outcome.page] * len(rows), "record": [row.record for row in rows]}
        columns |= {"line": [row.line for row in rows], "model": [reader.model] * len(rows)}
        columns |= {"prompt": [reader.prompt] * len(rows), "span": [row.span for row in rows]}
        refused = tuple((each.line, each.record, each.reason) for each in outcome.refused)
        left_out = dict(sorted(outcome.left_out.items()))
        by_type = dict(sorted(Counter(row.type for row in rows).items()))
        facts = PageFacts(outcome.page, digest, outcome.file, outcome.records, by_type, refused, left_out)
        told = {_KEY: json.dumps(asdict(facts), ensure_ascii=False).encode()}
        table = pa.table(columns, schema=SCHEMA.with_metadata(told))
        target = self._page(outcome.page)
        try:
            with whole_file(target) as temporary:
                pq.write_table(table, temporary, compression="zstd")
            self._failure(outcome.page).unlink(missing_ok=True)
        except OSError as error:
            raise self._unwritable(error) from error
        return facts

    def fail(self, page: int, file: str, reason: str, attempts: int) -> None:
        """Write down that a page failed, and why."""
        content = {"page": page, "file": file, "reason": reason, "attempts": attempts}
        try:
            write_whole(self._failure(page), json.dumps(content, ensure_ascii=False))
        except OSError as error:
            raise self._unwritable(error) from error

    def drop_from(self, page: int) -> None:
        """Remove pages from a number on, which the files do not have any more."""
        for folder in ("pages", "failed"):
            for path in (self.path / folder).iterdir():
                if path.stem.isdigit() and int(path.stem) >= page:
                    path.unlink()

    def _begin(self, reader: RelationReader, size: int) -> None:
        told = {"format": FORMAT, "model": reader.model, "prompt": reader.prompt, "size": size}
        told["signature"] = reader.signature
        if (self.path / "extraction.json").exists():
            before = self.about()
            if before != told:
                message = (
                    f"{self.path} holds pages by {before['model']} ({before['size']} records each, or other words)"
                )
                raise UsageError(message, hint="choose another --out, or remove that folder")
        for leftover in self.path.glob("*/.[0-9]*"):
            leftover.unlink(missing_ok=True)
        try:
            write_whole(self.path / "extraction.json", json.dumps(told, ensure_ascii=False, indent=2))
        except OSError as error:
            raise self._unwritable(error) from error

    def _page(self, page: int) -> Path:
        return self.path / "pages" / f"{page:06}.parquet"

    def _failure(self, page: int) -> Path:
        return self.path / "failed" / f"{page:06}.json"

    def _unwritable(self, error: OSError) -> StoreError:
        reason = error.strerror or str(error)
        hint = "free some space or choose another --out; finished pages stay"
        return StoreError(f"{self.path} cannot be written ({reason})", hint=hint)


def read_facts(path: Path) -> PageFacts:
    """Read what a page's file says of itself.

    Raises:
        SourceError: It is damaged.
    """
    try:
        told = json.loads((pq.read_schema(path).metadata or {})[_KEY])
        refused = tuple((line, record, reason) for line, record, reason in told.pop("refused"))
        return PageFacts(refused=refused, **told)
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        hint = "run `kgdx extract-relations` again"
        raise SourceError(f"the page {path} is missing or damaged", hint=hint) from error


# The source ``huatuo``: a folder of extracted relations, or a file of questions and answers, read by rules.


VERSION = f"1 rules {RULES}"

COLUMNS = ("disease", "name", "page", "record", "model", "prompt", "span", "support")
FRAMES = {type_.lower(): COLUMNS for type_ in TYPES}
"""A frame for each relation; a relation that several records state is one row, with their number as ``support``."""

_STATED = {
    "type": pl.String,
    "head": pl.String,
    "tail": pl.String,
    "page": pl.Int64,
    "record": pl.String,
    "line": pl.Int64,
    "model": pl.String,
    "prompt": pl.String,
    "span": pl.String,
}


def read(path: Path, manifest: Manifest) -> Records:
    """Read a folder that ``kgdx extract-relations`` made; or read a file's relations by rules, page by page.

    Raises:
        SourceError: It is neither, or there is no relation in it.
    """
    records = _folder(path) if path.is_dir() else _file(path)
    if not any(frame.height for frame in records.frames.values()):
        hint = "check that it holds Chinese questions and answers, as in kgdx's page on relations from text"
        raise SourceError(f"no relation was read from {path}", hint=hint)
    return records


def _folder(path: Path) -> Records:
    folder = ExtractionFolder(path)
    about = folder.about()
    files = folder.page_files()
    if not files:
        raise SourceError(f"{path} has no finished page", hint="run `kgdx extract-relations` again")
    rejects = [_rejects(facts.file, facts.refused) for facts in map(read_facts, files)]
    stated = pl.scan_parquet(files)
    frames = {type_.lower(): _joined(stated.filter(pl.col("type") == type_)).collect() for type_ in TYPES}
    total = int(stated.select(pl.len()).collect().item())
    warnings = []
    if failed := folder.failed():
        warnings.append(f"{len(failed)} of its pages failed and are missing: run `kgdx extract-relations` again")
    version = about["model"] if about["prompt"] is None else f"{about['model']}, {about['prompt']}"
    return Records(frames, join_rejects(rejects), version, total - _rows(frames.values()), tuple(warnings))


def _file(path: Path) -> Records:
    reader = RuleReader()
    parts: list[pl.DataFrame] = []
    rejects: list[pl.DataFrame] = []
    for page in pages([path]):
        outcome = read_page(page, reader)
        parts.append(_stated(outcome, reader.model))
        rejects.append(_rejects(None, [(each.line, each.record, each.reason) for each in outcome.refused]))
    stated = pl.concat([pl.DataFrame(schema=_STATED), *parts])
    frames = {type_.lower(): _joined(stated.lazy().filter(pl.col("type") == type_)).collect() for type_ in TYPES}
    return Records(frames, join_rejects(rejects), reader.model, stated.height - _rows(frames.values()))


def _stated(outcome: Outcome, model: str) -> pl.DataFrame:
    rows = [
        (row.type, row.head, row.tail, outcome.page, row.record, row.line, model, None, row.span)
        for row in outcome.rows
    ]
    return pl.DataFrame(rows, schema=_STATED, orient="row")


def _joined(stated: pl.LazyFrame) -> pl.LazyFrame:
    """Return one row for each relation: where it is stated first, and in how many records."""
    first = ["page", "record", "model", "prompt", "span", "line"]
    return (
        stated.group_by("head", "tail", maintain_order=True)
        .agg(*(pl.col(name).first() for name in first), pl.len().cast(pl.Int64).alias("support"))
        .rename({"head": "disease", "tail": "name", "line": LINE})
        .select(*COLUMNS, LINE)
    )


def _rejects(file: str | None, refused: Iterable[tuple[int, str, str]]) -> pl.DataFrame:
    rows = [(file, line, record, reason) for line, record, reason in refused]
    schema = {"file": pl.String, "line": pl.Int64, "record": pl.String, "reason": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _rows(frames: Iterable[pl.DataFrame]) -> int:
    return sum(frame.height for frame in frames)
