"""A source's frames → graph tables still to be checked, as its manifest maps columns to the ontology."""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from kgdx.errors import SourceError
from kgdx.load.manifest import Manifest, NodeMap, RelationMap, Value
from kgdx.load.records import LINE, Records, join_rejects, refuse

Role = Literal["record", "implied", "patch"]


@dataclass(frozen=True, slots=True)
class Staged:
    """Nodes or relations of one source before the check.

    Attributes:
        source: Who states them.
        name: The node class or relation type.
        ends: The classes of a relation's ends; ``None`` for nodes.
        role: Whether its rows are records (counted), implied nodes, or patches of nodes (counted).
        rows: ``id``, or ``start`` and ``end``; properties; :data:`~kgdx.load.records.LINE`.
    """

    source: str
    name: str
    ends: tuple[str, str] | None
    role: Role
    rows: pl.DataFrame


def stage(records: Records, manifest: Manifest) -> tuple[list[Staged], pl.DataFrame]:
    """Map a source's records to the ontology.

    Returns:
        Tables to check, and the records refused so far (by the reader, or for a value that cannot be translated).

    Raises:
        SourceError: The manifest names a frame or column that the format does not have.
    """
    tables, rejects = [], [records.rejects]
    for column, allowed in manifest.only.items():
        rejects += _keep_only(records, manifest, column, allowed)
    entries: list[NodeMap | RelationMap] = [*manifest.nodes, *manifest.relations]
    for entry in entries:
        frame = _frame(records, manifest, entry)
        values = _values(entry)
        minted = isinstance(entry, RelationMap) or entry.role != "patch"
        kept, refused = _translatable(frame, values)
        if isinstance(entry, RelationMap) or entry.role != "implied":
            rejects.append(refused)
        columns = [_expression(value).alias(name) for name, value in values.items()]
        if minted:
            columns.append(pl.lit(manifest.name).alias("source"))
        rows = kept.select(*columns, pl.col(LINE).cast(pl.Int64))
        if isinstance(entry, NodeMap):
            if entry.role == "implied":
                rows = rows.drop_nulls("id").unique("id", keep="first", maintain_order=True)
            tables.append(Staged(manifest.name, entry.class_, None, entry.role, rows))
        else:
            ends = (entry.start.class_, entry.end.class_)
            tables.append(Staged(manifest.name, entry.type, ends, "record", rows))
    return tables, join_rejects(rejects)


def _keep_only(records: Records, manifest: Manifest, column: str, allowed: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Take the rows with other values out of the frames that have the column, and yield them as refused."""
    for name, frame in records.frames.items():
        if column in frame.columns:
            other = ~pl.col(column).is_in(list(allowed)).fill_null(False)
            reason = pl.format(f"{column} is '{{}}', not one of {', '.join(allowed)}", pl.col(column).fill_null(""))
            yield refuse(frame.filter(other), reason)
            records.frames[name] = frame.filter(~other)


def _frame(records: Records, manifest: Manifest, entry: NodeMap | RelationMap) -> pl.DataFrame:
    if entry.frame not in records.frames:
        message = f"the manifest of {manifest.name} maps the frame {entry.frame!r}"
        raise SourceError(message, hint=f"its format has {', '.join(records.frames)}")
    frame = records.frames[entry.frame]
    for value in _values(entry).values():
        for column in value.columns:
            if column not in frame.columns:
                message = f"the manifest of {manifest.name} maps the column {column!r}"
                raise SourceError(message, hint=f"{entry.frame} has {', '.join(frame.columns)}")
    return frame


def _values(entry: NodeMap | RelationMap) -> dict[str, Value]:
    if isinstance(entry, NodeMap):
        return {"id": entry.id, **entry.properties}
    return {"start": entry.start.id, "end": entry.end.id, **entry.properties}


def _translatable(frame: pl.DataFrame, values: dict[str, Value]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split rows by whether every value that has a translation table is in it."""
    reasons = [
        pl.when(~_origin(value).is_in(list(value.values)).fill_null(True)).then(
            pl.format(f"{name} is '{{}}', not one of {', '.join(value.values)}", _origin(value))
        )
        for name, value in values.items()
        if value.values is not None
    ]
    if not reasons:
        return frame, refuse(frame.clear(), "")
    judged = frame.with_columns(pl.coalesce(reasons).alias("_reason"))
    refused = refuse(judged.filter(pl.col("_reason").is_not_null()), pl.col("_reason"))
    return judged.filter(pl.col("_reason").is_null()).drop("_reason"), refused


def _expression(value: Value) -> pl.Expr:
    made = _origin(value)
    if value.values is not None:
        made = made.replace_strict(value.values, default=None, return_dtype=pl.String)
    if value.separator is not None:
        parts = made.str.split(value.separator).list.eval(pl.element().str.strip_chars())
        made = parts.list.eval(pl.element().filter(pl.element() != ""))
    return made


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
