"""The ontology check: staged tables in, tables that a store may load out; what does not fit goes to quarantine.

Every record is loaded, merged into an equal one, or quarantined with its reason, and the counts have to add up.
All of it is columnar; no row is looked at by its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import polars as pl
import pyarrow as pa

from kgdx.errors import SourceError
from kgdx.load.mapping import Staged
from kgdx.load.records import REFUSED, refuse
from kgdx.schema import Property, Schema
from kgdx.store.protocol import GraphTable, NodeTable, RelationTable

_TYPES: dict[str, pl.DataType] = {
    "string": pl.String(),
    "integer": pl.Int64(),
    "float": pl.Float64(),
    "boolean": pl.Boolean(),
    "strings": pl.List(pl.String()),
    "floats": pl.List(pl.Float64()),
}
_SOURCE = "_source"
_REASON = "_reason"
_ROLE = "_role"
QUARANTINE = {"source": pl.String, **REFUSED}
"""Columns of the quarantine table."""

ACYCLIC = frozenset({"IS_A", "SAME_AS"})
"""Relations in which an edge from a node to itself says nothing, and is refused."""


@dataclass(slots=True)
class Counts:
    """What became of a source's records: ``read = loaded + merged + quarantined``.

    ``resolved`` counts those whose obsolete or alternative HPO id was replaced by the current one.
    """

    read: int = 0
    loaded: int = 0
    merged: int = 0
    quarantined: int = 0
    resolved: int = 0

    def settle(self, source: str) -> None:
        """Raise an error unless every record is accounted for."""
        if self.read != self.loaded + self.merged + self.quarantined:
            parts = f"{self.read} read, {self.loaded} loaded, {self.merged} merged, {self.quarantined} quarantined"
            raise SourceError(f"the counts of {source} do not add up ({parts})", hint="please report this as a defect")


@dataclass(slots=True)
class Checked:
    """Tables that fit the ontology, the quarantine table, and the counts by source."""

    tables: list[GraphTable]
    quarantine: pl.DataFrame
    counts: dict[str, Counts]


@dataclass(slots=True)
class _Check:
    schema: Schema
    counts: dict[str, Counts] = field(default_factory=dict)
    rejects: list[pl.DataFrame] = field(default_factory=list)

    def count(self, source: str) -> Counts:
        return self.counts.setdefault(source, Counts())

    def tally(self, rows: pl.DataFrame, outcome: str) -> None:
        """Add the rows to their sources' counts."""
        for source, number in rows.group_by(_SOURCE).len().iter_rows():
            counts = self.count(source)
            setattr(counts, outcome, getattr(counts, outcome) + number)

    def quarantine(self, rows: pl.DataFrame) -> None:
        """Set rows with a :data:`_REASON` apart."""
        rows = _records(rows)
        if rows.is_empty():
            return
        self.tally(rows, "quarantined")
        refused = refuse(rows.drop("source", strict=False), pl.col(_REASON))
        self.rejects.append(refused.with_columns(rows[_SOURCE].alias("source")).select(list(QUARANTINE)))

    def split(self, rows: pl.DataFrame, reason: pl.Expr) -> pl.DataFrame:
        """Quarantine the rows for which ``reason`` is not null, and return the others."""
        judged = rows.with_columns(reason.alias(_REASON))
        if judged[_REASON].null_count() == judged.height:
            return rows
        self.quarantine(judged.filter(pl.col(_REASON).is_not_null()))
        return judged.filter(pl.col(_REASON).is_null()).drop(_REASON)


def _records(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows that are records: an implied node is none, what mentions it is."""
    return rows.filter(pl.col(_ROLE) != "implied")


def check(staged: Sequence[Staged], refused: dict[str, pl.DataFrame], schema: Schema) -> Checked:
    """Check staged tables against the ontology.

    Args:
        staged: All sources' tables, in the order of the sources: where two bring the same node, the first one's
            properties stand and the later one's fill what is absent.
        refused: Records that were refused before, by source, with the columns of ``records.REFUSED``.
        schema: The ontology.

    Raises:
        SchemaError: A table's class, relation or property is not in the ontology.
        SourceError: The counts do not add up.
    """
    state = _Check(schema)
    for source, rejects in refused.items():
        counts = state.count(source)
        counts.read += rejects.height
        counts.quarantined += rejects.height
        state.rejects.append(rejects.with_columns(pl.lit(source).alias("source")).select(list(QUARANTINE)))
    typed = [_typed(table, state) for table in staged]
    nodes = _nodes([(table, rows) for table, rows in zip(staged, typed, strict=True) if table.ends is None], state)
    current = _current_ids(nodes.get("Phenotype"))
    relations = [(table, rows) for table, rows in zip(staged, typed, strict=True) if table.ends is not None]
    tables: list[GraphTable] = [NodeTable(label, _arrow(rows)) for label, rows in nodes.items()]
    tables += _relations(relations, nodes, current, state)
    for source, counts in state.counts.items():
        counts.settle(source)
    return Checked(tables, _quarantine_table(state.rejects), state.counts)


def _quarantine_table(rejects: Iterable[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(schema=QUARANTINE), *(part.select(list(QUARANTINE)) for part in rejects)])


def _typed(table: Staged, state: _Check) -> pl.DataFrame:
    """Give the columns the ontology's types; quarantine rows whose values do not have them."""
    kind = state.schema.node(table.name) if table.ends is None else state.schema.relation(table.name)
    keys = ("id",) if table.ends is None else ("start", "end")
    counted = table.role != "implied"
    if counted:
        state.count(table.source).read += table.rows.height
    rows = table.rows.with_columns(pl.lit(table.source).alias(_SOURCE), pl.lit(table.role).alias(_ROLE))
    names = [name for name in rows.columns if not name.startswith("_") and name not in keys]
    properties = []
    for name in names:
        if name not in kind.properties:
            raise SourceError(
                f"the source {table.source} gives {table.name} a property {name!r}",
                hint=f"the ontology has {', '.join(kind.properties)}",
            )
        properties.append(kind.properties[name])
    empty = [each for each in properties if rows.schema[each.name] == pl.Null]
    texts = [pl.col(key).cast(pl.String) for key in keys]
    rows = rows.with_columns(*texts, *(pl.col(each.name).cast(_TYPES[each.type]) for each in empty))
    reasons: list[pl.Expr] = [
        pl.when(pl.col(key).fill_null("").str.strip_chars() == "").then(pl.lit(f"its {key} is empty")) for key in keys
    ]
    reasons += [reason for each in properties for reason in _faults(each, rows.schema[each.name])]
    if table.role != "patch":
        given = set(names) | set(keys)
        absent = [each.name for each in kind.properties.values() if each.required and each.name not in given]
        reasons += [pl.lit(f"it has no {name}") for name in absent]
        required = [each.name for each in properties if each.required]
        reasons += [pl.when(pl.col(name).is_null()).then(pl.lit(f"it has no {name}")) for name in required]
    classes = (table.name,) if table.ends is None else table.ends
    for key, label in zip(keys, classes, strict=True):
        if prefixes := state.schema.node(label).prefixes:
            other = ~pl.col(key).str.contains(f"^(?:{'|'.join(prefixes)}):\\S")
            reasons.append(
                pl.when(other).then(
                    pl.format("{} is no id of a {} ({})", key, pl.lit(label), pl.lit(", ".join(prefixes)))
                )
            )
    rows = state.split(rows, pl.coalesce(reasons))
    return rows.with_columns([pl.col(each.name).cast(_TYPES[each.type], strict=False) for each in properties])


def _faults(each: Property, given: pl.DataType) -> list[pl.Expr]:
    """Reasons why a property's value cannot stand, as expressions over the raw column."""
    column, wanted = pl.col(each.name), _TYPES[each.type]
    faults: list[pl.Expr] = []
    if isinstance(given, pl.List) != each.is_list:
        return [pl.when(column.is_not_null()).then(pl.lit(f"{each.name} is not {_article(each.type)}"))]
    if given != wanted and not each.is_list:
        lost = column.is_not_null() & column.cast(wanted, strict=False).is_null()
        faults.append(pl.when(lost).then(pl.format(f"{each.name} is '{{}}', not {_article(each.type)}", column)))
    if each.values:
        unknown = (
            ~column.is_in(list(each.values))
            if not each.is_list
            else ~column.list.eval(pl.element().is_in(list(each.values))).list.all()
        )
        shown = column.list.join(", ") if each.is_list else column
        reason = pl.format(f"{each.name} is '{{}}', not one of {', '.join(each.values)}", shown)
        faults.append(pl.when(column.is_not_null() & unknown).then(reason))
    return faults


def _article(kind: str) -> str:
    return {"integer": "an integer", "strings": "a list", "floats": "a list of numbers"}.get(kind, f"a {kind}")


def _nodes(typed: Sequence[tuple[Staged, pl.DataFrame]], state: _Check) -> dict[str, pl.DataFrame]:
    """Merge the nodes of each class by id, then apply the patches."""
    nodes: dict[str, pl.DataFrame] = {}
    for label in dict.fromkeys(table.name for table, _ in typed):
        parts = [rows for table, rows in typed if table.name == label and table.role != "patch"]
        if not parts:
            continue
        rows = pl.concat(parts, how="diagonal")
        first = pl.col("id").is_first_distinct()
        state.tally(_records(rows.filter(first)), "loaded")
        state.tally(_records(rows.filter(~first)), "merged")
        nodes[label] = _coalesced(rows)
    for table, rows in typed:
        if table.ends is None and table.role == "patch":
            nodes[table.name] = _patched(nodes.get(table.name, rows.clear()), rows, table.name, state)
    return nodes


def _coalesced(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per id: of each property the first value that is not absent (or empty, for a list)."""
    repeated = rows.filter(pl.col("id").is_duplicated())
    if repeated.is_empty():
        return rows
    values = [
        (
            pl.col(name).filter(pl.col(name).list.len() > 0) if isinstance(kind, pl.List) else pl.col(name).drop_nulls()
        ).first()
        for name, kind in rows.schema.items()
        if name != "id"
    ]
    merged = repeated.group_by("id", maintain_order=True).agg(values)
    return pl.concat([rows.filter(pl.col("id").is_unique()), merged.select(rows.columns)])


def _patched(nodes: pl.DataFrame, rows: pl.DataFrame, label: str, state: _Check) -> pl.DataFrame:
    """Add properties to nodes; a patch of an unknown node, or one that contradicts it, is quarantined."""
    names = [name for name in rows.columns if name != "id" and not name.startswith("_")]
    known = pl.col("id").is_in(nodes["id"].implode())
    rows = state.split(rows, pl.when(~known).then(pl.format("{} is no {} of this graph", "id", pl.lit(label))))
    fresh = rows.select("id", *names).is_unique() | rows.select(pl.struct("id", *names).is_first_distinct()).to_series()
    state.tally(rows.filter(~fresh), "merged")
    rows = rows.filter(fresh)
    again = ~pl.col("id").is_first_distinct()
    rows = state.split(rows, pl.when(again).then(pl.format("{} has another value in this source", "id")))
    absent = [pl.lit(None, rows.schema[name]).alias(name) for name in names if name not in nodes.columns]
    nodes = nodes.with_columns(absent)
    before = nodes.select("id", *(pl.col(name).alias(f"_old_{name}") for name in names))
    rows = rows.join(before, on="id", how="left", maintain_order="left")
    clash = pl.any_horizontal([(pl.col(f"_old_{name}") != pl.col(name)).fill_null(False) for name in names])
    rows = state.split(rows, pl.when(clash).then(pl.format("{} has another value from an earlier source", "id")))
    state.tally(rows, "loaded")
    joined = nodes.join(rows.select("id", *names), on="id", how="left", maintain_order="left", suffix="_new")
    filled = [pl.coalesce(name, f"{name}_new").alias(name) for name in names]
    return joined.with_columns(filled).drop([f"{name}_new" for name in names])


def _current_ids(phenotypes: pl.DataFrame | None) -> pl.DataFrame:
    """Alternative and obsolete ids (``old``) and the current ones (``new``), or why there is none (``why``)."""
    schema = {"old": pl.String, "new": pl.String, "why": pl.String}
    if phenotypes is None or not {"alt_ids", "obsolete", "replaced_by", "consider"} <= set(phenotypes.columns):
        return pl.DataFrame(schema=schema)
    obsolete = phenotypes.filter(pl.col("obsolete").fill_null(False))
    consider = (
        pl.when(pl.col("consider").list.len() > 0).then(pl.col("consider").list.join(", ")).otherwise(pl.lit("nothing"))
    )
    replaced = obsolete.select(
        pl.col("id").alias("old"),
        pl.col("replaced_by").alias("new"),
        pl.when(pl.col("replaced_by").is_null())
        .then(pl.format("{} is obsolete without a replacement (to consider: {})", "id", consider))
        .alias("why"),
    )
    alternative = phenotypes.filter(~pl.col("obsolete").fill_null(False)).explode(
        "alt_ids", empty_as_null=True, keep_nulls=True
    )
    alternative = alternative.select(
        pl.col("alt_ids").alias("old"), pl.col("id").alias("new"), pl.lit(None, pl.String).alias("why")
    )
    current = phenotypes.filter(~pl.col("obsolete").fill_null(False))
    alternative = alternative.drop_nulls("old").join(current, left_on="old", right_on="id", how="anti")
    table = pl.concat([alternative, replaced]).unique("old", keep="first", maintain_order=True)
    for _ in range(4):  # a replacement may have been replaced itself
        table = table.join(table.select(new="old", _next="new"), on="new", how="left", maintain_order="left")
        table = table.with_columns(pl.coalesce("_next", "new").alias("new")).drop("_next")
    return table


def _relations(
    typed: Sequence[tuple[Staged, pl.DataFrame]],
    nodes: dict[str, pl.DataFrame],
    current: pl.DataFrame,
    state: _Check,
) -> list[GraphTable]:
    """Check the ends of all relations, bring them up to date, and merge duplicates."""
    tables: list[GraphTable] = []
    for type, ends in dict.fromkeys((table.name, table.ends) for table, _ in typed):
        assert ends is not None
        if ends not in state.schema.relation(type).ends:
            raise SourceError(f"no relation {type} goes from {ends[0]} to {ends[1]}", hint="see `kgdx schema`")
        rows = pl.concat([r for table, r in typed if (table.name, table.ends) == (type, ends)], how="diagonal")
        for end, label in zip(("start", "end"), ends, strict=True):
            if label == "Phenotype" and type != "IS_A":
                rows = _up_to_date(rows, end, current, state)
            known = nodes[label]["id"] if label in nodes else pl.Series("id", [], pl.String)
            unknown = ~pl.col(end).is_in(known.implode())
            rows = state.split(rows, pl.when(unknown).then(pl.format("{} is no {} of this graph", end, pl.lit(label))))
        if type in ACYCLIC:
            rows = state.split(rows, pl.when(pl.col("start") == pl.col("end")).then(pl.lit("it refers to itself")))
        first = _first_of(rows, [name for name in rows.columns if not name.startswith("_")])
        state.tally(rows.filter(~first), "merged")
        rows = rows.filter(first)
        identity = state.schema.relation(type).identity
        again = ~_first_of(rows, ["start", "end", *(name for name in identity if name in rows.columns)])
        if again.any():
            reason = f"an earlier record states it with other values (told apart by {', '.join(identity)})"
            rows = state.split(rows, pl.when(again).then(pl.lit(reason)))
        state.tally(rows, "loaded")
        tables.append(RelationTable(type, *ends, _arrow(rows)))
    return tables


def _first_of(rows: pl.DataFrame, names: Sequence[str]) -> pl.Series:
    """Which rows are the first with their values of these columns."""
    values = [
        pl.col(name).list.join("\x1f").alias(name) if isinstance(rows.schema[name], pl.List) else pl.col(name)
        for name in names
    ]
    return rows.select(pl.struct(values).is_first_distinct()).to_series()


def _up_to_date(rows: pl.DataFrame, end: str, current: pl.DataFrame, state: _Check) -> pl.DataFrame:
    """Replace obsolete and alternative HPO ids by the current ones, and count them."""
    joined = rows.join(current, left_on=end, right_on="old", how="left", maintain_order="left")
    joined = joined.rename({"new": "_new", "why": "_why"})
    if joined["_new"].null_count() == joined.height and joined["_why"].null_count() == joined.height:
        return rows
    joined = state.split(joined, pl.col("_why")).drop("_why")
    state.tally(joined.filter(pl.col("_new").is_not_null()), "resolved")
    return joined.with_columns(pl.coalesce("_new", end).alias(end)).drop("_new")


def _arrow(rows: pl.DataFrame) -> pa.Table:
    """The columns of the graph as an Arrow table of plain strings, without the bookkeeping."""
    table = rows.select(pl.exclude("^_.*$")).to_arrow(compat_level=pl.CompatLevel.oldest())
    schema = pa.schema([pa.field(column.name, _plain(column.type)) for column in table.schema])
    return table.cast(schema)


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_large_list(kind):
        return pa.list_(_plain(kind.value_type))
    return kind
