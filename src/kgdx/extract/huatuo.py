"""The source ``huatuo``: a folder of extracted relations, or a file of questions and answers, read by rules."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from kgdx.errors import SourceError
from kgdx.extract.folder import ExtractionFolder, read_facts
from kgdx.extract.model import TYPES
from kgdx.extract.pages import Outcome, pages, read_page
from kgdx.extract.rules import VERSION as RULES
from kgdx.extract.rules import RuleReader
from kgdx.load.manifest import Manifest
from kgdx.load.records import LINE, Records, join_rejects

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
