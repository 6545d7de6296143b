"""A source's frames → graph tables still to be checked, as its manifest maps columns to the ontology."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import polars as pl

from kgdx.errors import SourceError
from kgdx.ingest.manifest import Manifest, NodeMap, RelationMap, Value, did_you_mean
from kgdx.ingest.records import LINE, ROLE, SOURCE, Records, join_rejects, mint, no_rejects, refuse, split
from kgdx.schema.model import MATCHES

Role = Literal["record", "implied", "patch"]


@dataclass(frozen=True, slots=True)
class StagedTable:
    """Nodes or relations of one source before the check."""

    source: str
    name: str
    ends: tuple[str, str] | None
    role: Role
    rows: pl.DataFrame


def marked(table: StagedTable) -> pl.DataFrame:
    return table.rows.with_columns(pl.lit(table.source).alias(SOURCE), pl.lit(table.role).alias(ROLE))


def stage(records: Records, manifest: Manifest) -> tuple[list[StagedTable], pl.DataFrame]:
    """Map a source's records to the ontology: tables to check, and the records that were refused so far."""
    tables, rejects = [], [records.rejects]
    for column, allowed in manifest.only.items():
        rejects += _keep_only(records, column, allowed)
    entries: list[NodeMap | RelationMap] = [*manifest.nodes, *manifest.relations]
    for entry in entries:
        frame = _rows(_frame(records, manifest, entry), entry)
        values = _values(entry)
        named = entry.role != "patch"
        frame, silent = _telling(frame, values, entry)
        rejects.append(silent)
        kept, refused = _translatable(frame, values, entry.frame)
        if entry.role != "implied":
            rejects.append(refused)
        columns = [_expression(value, frame, manifest.name).alias(name) for name, value in values.items()]
        if named:
            columns.append(pl.lit(manifest.name).alias("source"))
        rows = kept.select(*columns, pl.col(LINE).cast(pl.Int64))
        _check_ids(rows, manifest)
        if isinstance(entry, NodeMap):
            if entry.role == "implied":
                rows = _fullest(rows.drop_nulls("id"), entry.properties).unique("id", keep="first", maintain_order=True)
            tables.append(StagedTable(manifest.name, entry.class_, None, entry.role, rows))
        else:
            ends = (entry.start.class_, entry.end.class_)
            if entry.type == MATCHES["exact"] and "relation" in rows.columns and entry.role != "implied":
                rows, wrong = split(rows, _none_of("relation", MATCHES), f"frame:{entry.frame}")
                rejects.append(wrong)
            for type, part in matches_apart(entry.type, rows):
                tables.append(StagedTable(manifest.name, type, ends, entry.role, part))
    return tables, join_rejects([*rejects, *_untaken(records, manifest)])


def matches_apart(type: str, rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield rows of SAME_AS by the relation that each is, as their column ``relation`` says; others as they are."""
    if type != MATCHES["exact"] or "relation" not in rows.columns:
        yield type, rows
        return
    for relation, match in MATCHES.items():
        part = rows.filter(pl.col("relation") == relation).drop("relation")
        if part.height or match == type:
            yield match, part


def _fullest(rows: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    absent = [pl.col(name).is_null() for name in names if rows[name].null_count()]
    return rows.sort(pl.sum_horizontal(absent), maintain_order=True) if absent else rows


def _check_ids(rows: pl.DataFrame, manifest: Manifest) -> None:
    for name in ("id", "start", "end"):
        if isinstance(rows.schema.get(name), pl.List):
            message = f"the manifest of {manifest.name} makes the {name} of a list"
            raise SourceError(message, hint="add `each: COLUMN` to the mapping, for a row for each of the list")


def mapped_columns(manifest: Manifest) -> tuple[str, ...]:
    """Return the columns that a manifest names anywhere."""
    named: list[str] = [*manifest.columns, *manifest.only]
    entries: list[NodeMap | RelationMap] = [*manifest.nodes, *manifest.relations]
    for entry in entries:
        named += [*entry.where, *([entry.each.column] if entry.each else [])]
        named += [name for value in _values(entry).values() for name in value.columns]
    return tuple(dict.fromkeys(named))


def _keep_only(records: Records, column: str, allowed: Sequence[str]) -> Iterator[pl.DataFrame]:
    for name, frame in records.frames.items():
        if column in frame.columns:
            records.frames[name], wrong = split(frame, _none_of(column, allowed), f"frame:{name}")
            yield wrong


def _none_of(column: str, allowed: Iterable[str]) -> pl.Expr:
    said = pl.format(f"{column} is '{{}}', not one of {', '.join(allowed)}", pl.col(column).fill_null(""))
    return pl.when(~pl.col(column).is_in(list(allowed)).fill_null(False)).then(said)


def _untaken(records: Records, manifest: Manifest) -> Iterator[pl.DataFrame]:
    every: list[NodeMap | RelationMap] = [*manifest.nodes, *manifest.relations]
    entries = [entry for entry in every if entry.role != "implied"]
    for name, frame in records.frames.items():
        conditions = [entry.where for entry in entries if entry.frame == name]
        if conditions and all(conditions):
            columns = list(dict.fromkeys(column for where in conditions for column in where))
            shown = [pl.format(f"{column} '{{}}'", pl.col(column).cast(pl.String).fill_null("")) for column in columns]
            reason = pl.concat_str(pl.lit("no mapping takes a row with "), pl.concat_str(shown, separator=", "))
            untaken = frame.filter(~pl.any_horizontal([_holds(where) for where in conditions]))
            yield refuse(untaken, reason, f"frame:{name}")


def _holds(where: Mapping[str, Sequence[str | None]]) -> pl.Expr:
    wanted = [(column, [value for value in values if value is not None], values) for column, values in where.items()]
    return pl.all_horizontal(
        pl.col(column).cast(pl.String).is_in(given).fill_null(None in values) for column, given, values in wanted
    )


def _rows(frame: pl.DataFrame, entry: NodeMap | RelationMap) -> pl.DataFrame:
    if entry.where:
        frame = frame.filter(_holds(entry.where))
    if entry.each is None:
        return frame
    name = entry.each.column
    if not isinstance(frame.schema[name], pl.List):
        text = pl.col(name).cast(pl.String)
        split_text = text.str.split(entry.each.separator) if entry.each.separator else pl.concat_list(text)
        frame = frame.with_columns(split_text)
    frame = frame.explode(name, empty_as_null=False, keep_nulls=False)
    if frame.schema[name] == pl.String:
        frame = frame.with_columns(pl.col(name).str.strip_chars()).filter(pl.col(name) != "")
    return frame.filter(pl.col(name).is_not_null())


def _frame(records: Records, manifest: Manifest, entry: NodeMap | RelationMap) -> pl.DataFrame:
    if entry.frame not in records.frames:
        message = f"the manifest of {manifest.name} maps the frame {entry.frame!r}"
        raise SourceError(message, hint=f"its format has {', '.join(records.frames)}")
    frame = records.frames[entry.frame]
    each = (entry.each.column,) if entry.each else ()
    for column in (*(name for value in _values(entry).values() for name in value.columns), *entry.where, *each):
        if column not in frame.columns:
            message = f"the manifest of {manifest.name} maps the column {column!r}"
            given = [name for name in frame.columns if not name.startswith("_")]
            raise SourceError(message, hint=f"{entry.frame} has {', '.join(given)}{did_you_mean(column, given)}")
    return frame


def _values(entry: NodeMap | RelationMap) -> dict[str, Value]:
    if isinstance(entry, NodeMap):
        return {"id": entry.id, **entry.properties}
    return {"start": entry.start.id, "end": entry.end.id, **entry.properties}


def _telling(
    frame: pl.DataFrame, values: dict[str, Value], entry: NodeMap | RelationMap
) -> tuple[pl.DataFrame, pl.DataFrame]:
    said = {name: value for name, value in values.items() if name != "id" and value.columns}
    if entry.role != "patch" or not said:
        return frame, no_rejects()
    told = [
        _changed(value, frame).list.len().fill_null(0) > 0
        if _is_list(value, frame)
        else _changed(value, frame).cast(pl.String).str.strip_chars().fill_null("") != ""
        for value in said.values()
    ]
    reason = f"{' and '.join(said)} {'are' if len(said) > 1 else 'is'} empty"
    return split(frame, pl.when(~pl.any_horizontal(told)).then(pl.lit(reason)), f"frame:{entry.frame}")


def _translatable(frame: pl.DataFrame, values: dict[str, Value], name: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    reasons = []
    for property, value in values.items():
        if value.values is not None:
            given, known = _changed(value, frame), list(value.values)
            several = _is_list(value, frame)
            fits = given.list.eval(pl.element().is_in(known)).list.all() if several else given.is_in(known)
            shown = given.list.join(", ") if several else given
            reason = pl.format(f"{property} is '{{}}', not one of {', '.join(known)}", shown)
            reasons.append(pl.when(~fits.fill_null(True)).then(reason))
    return split(frame, pl.coalesce(reasons), f"frame:{name}") if reasons else (frame, no_rejects())


def _expression(value: Value, frame: pl.DataFrame, source: str) -> pl.Expr:
    made = _changed(value, frame)
    several = _is_list(value, frame)
    if value.values is not None:
        table = value.values
        made = _for_all(made, several, lambda text: text.replace_strict(table, default=None, return_dtype=pl.String))
    if value.mint is not None:
        named = partial(mint, source, value.mint)
        made = _for_all(made, several, lambda text: text.map_batches(named, return_dtype=pl.String))
    return made if value.otherwise is None else pl.coalesce(made, pl.concat_str(list(_pieces(value.otherwise))))


def _changed(value: Value, frame: pl.DataFrame) -> pl.Expr:
    made = _origin(value)
    if value.separator is not None and not _has_list(value, frame):
        parts = made.cast(pl.String).str.split(value.separator).list.eval(pl.element().str.strip_chars())
        made = parts.list.eval(pl.element().filter(pl.element() != ""))
    words = (value.case, value.pattern, value.pad, value.prefix, value.values, value.mint)
    if all(change is None for change in words):
        return made
    return _for_all(made, _is_list(value, frame), lambda text: _rewritten(value, text.cast(pl.String)))


def _rewritten(value: Value, text: pl.Expr) -> pl.Expr:
    if value.case is not None:
        text = text.str.to_lowercase() if value.case == "lower" else text.str.to_uppercase()
    if value.pattern is not None:
        text = text.str.extract(value.pattern, min(1, re.compile(value.pattern).groups))
    if value.pad is not None:
        text = text.str.zfill(value.pad)
    return text if value.prefix is None else pl.lit(value.prefix) + text


def _for_all(made: pl.Expr, several: bool, change: Callable[[pl.Expr], pl.Expr]) -> pl.Expr:
    return made.list.eval(change(pl.element()).drop_nulls()) if several else change(made)


def _has_list(value: Value, frame: pl.DataFrame) -> bool:
    return value.column is not None and isinstance(frame.schema[value.column], pl.List)


def _is_list(value: Value, frame: pl.DataFrame) -> bool:
    return value.separator is not None or _has_list(value, frame)


def _origin(value: Value) -> pl.Expr:
    if value.column is not None:
        return pl.col(value.column)
    if value.template is not None:
        return pl.concat_str(list(_pieces(value.template)))
    return pl.lit(value.constant)


def _pieces(template: str) -> Iterator[pl.Expr]:
    for text, name, _, _ in string.Formatter().parse(template):
        if text:
            yield pl.lit(text)
        if name:
            yield pl.col(name)
