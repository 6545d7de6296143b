"""The ontology check: staged tables in, tables that a store may load out; what does not fit goes to quarantine.

Every record is loaded, merged into an equal one, or quarantined with its reason, and the counts have to add up.
All of it is columnar; no row is looked at by its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl
import pyarrow as pa

from kgdx.case.case_rows import TRUTH
from kgdx.errors import SourceError
from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable
from kgdx.load.corrections import part_of
from kgdx.load.mapping import Staged
from kgdx.load.nodes import checked_relations, current_ids, merged_nodes
from kgdx.load.tally import ROLE, SOURCE, Counts, Tally, marked
from kgdx.schema import NodeClass, Property, Relation, Schema

_TYPES: dict[str, pl.DataType] = {
    "string": pl.String(),
    "integer": pl.Int64(),
    "float": pl.Float64(),
    "boolean": pl.Boolean(),
    "strings": pl.List(pl.String()),
    "floats": pl.List(pl.Float64()),
}

LONGEST_ID = 1_000
LONGEST_NAME = 4_000
LONGEST_TEXT = 4_000_000
"""Most bytes of an id, a name and any other text: a damaged file may go on for megabytes where a quote is missing."""


@dataclass(slots=True)
class Checked:
    """Tables that fit the ontology, the quarantine table, and the counts by source."""

    tables: list[GraphTable]
    quarantine: pl.DataFrame
    counts: dict[str, Counts]


def check(staged: Sequence[Staged], refused: dict[str, pl.DataFrame], schema: Schema) -> Checked:
    """Check staged tables against the ontology, all of them in memory.

    Args:
        staged: All sources' tables, in the order of the sources: where two bring the same node, the first one's
            properties stand and the later one's fill what is absent.
        refused: Records that were refused before, by source, with the columns of ``records.REFUSED``.
        schema: The ontology.

    Raises:
        SchemaError: A table's class, relation or property is not in the ontology.
        SourceError: The counts do not add up.
    """
    tally = Tally()
    for source, rejects in refused.items():
        tally.refused(source, rejects)
    fitting = [typed(table, schema, tally) for table in staged]
    nodes: dict[str, pl.DataFrame] = {}
    for label in dict.fromkeys(table.name for table in fitting if table.ends is None):
        nodes[label] = merged_nodes([table for table in fitting if table.ends is None and table.name == label], tally)
    ids = {label: rows["id"] for label, rows in nodes.items()}
    tables: list[GraphTable] = [NodeTable(label, plain_table(rows)) for label, rows in nodes.items()]
    current = current_ids(nodes.get("Phenotype"))
    for source, type, ends in dict.fromkeys((table.source, table.name, table.ends) for table in fitting):
        if ends is not None:
            of_it = [each for each in fitting if (each.source, each.name, each.ends) == (source, type, ends)]
            rows = checked_relations(of_it, ids, current, schema, tally)
            tables.append(RelationTable(type, *ends, plain_table(rows)))
    for source, counts in tally.counts.items():
        counts.settle(source)
    return Checked(tables, tally.quarantine(), tally.counts)


def typed(table: Staged, schema: Schema, tally: Tally) -> Staged:
    """Give a table's columns the ontology's types; quarantine rows whose values do not have them.

    Raises:
        SchemaError: The ontology has no such class or relation.
        SourceError: It has no such property, or no such ends.
    """
    kind = schema.node(table.name) if table.ends is None else schema.relation(table.name)
    keys = ("id",) if table.ends is None else ("start", "end")
    if table.role != "implied":
        tally.of(table.source).read += table.rows.height
    rows = marked(table)
    names = [name for name in rows.columns if not name.startswith("_") and name not in keys]
    properties = [_property(table, kind, name) for name in names]
    empty = [each for each in properties if rows.schema[each.name] == pl.Null]
    texts = [pl.col(key).cast(pl.String) for key in keys]
    rows = rows.with_columns(*texts, *(pl.col(each.name).cast(_TYPES[each.type]) for each in empty))
    reasons: list[pl.Expr] = [
        pl.when(pl.col(key).fill_null("").str.strip_chars() == "").then(pl.lit(f"its {key} is empty")) for key in keys
    ]
    reasons += [reason for each in properties for reason in _problems(each, rows.schema[each.name])]
    if table.role != "patch":
        given = set(names) | set(keys)
        absent = [each.name for each in kind.properties.values() if each.required and each.name not in given]
        reasons += [pl.lit(f"it has no {name}") for name in absent]
        required = [each.name for each in properties if each.required]
        reasons += [pl.when(pl.col(name).is_null()).then(pl.lit(f"it has no {name}")) for name in required]
    reasons += [_long(key, pl.col(key), LONGEST_ID) for key in keys]
    classes = (table.name,) if table.ends is None else table.ends
    reasons += [_foreign(key, schema.node(label)) for key, label in zip(keys, classes, strict=True)]
    rows = tally.split(rows, pl.coalesce(reasons), part_of(table))
    rows = rows.with_columns([_read(each, rows.schema[each.name]) for each in properties])
    return replace(table, rows=rows.drop(SOURCE, ROLE))


def _property(table: Staged, kind: NodeClass | Relation, name: str) -> Property:
    if name not in kind.properties:
        message = f"the source {table.source} gives {table.name} a property {name!r}"
        raise SourceError(message, hint=f"the ontology has {', '.join(kind.properties)}")
    if isinstance(kind, Relation) and table.ends not in kind.ends:
        assert table.ends is not None
        message = f"no relation {table.name} goes from {table.ends[0]} to {table.ends[1]}"
        raise SourceError(message, hint="see `kgdx schema`")
    return kind.properties[name]


def _foreign(key: str, kind: NodeClass) -> pl.Expr:
    """Return the reason why an id is none of a class: it has another prefix."""
    if not kind.prefixes:
        return pl.lit(None, pl.String)
    other = ~pl.col(key).str.contains(f"^(?:{'|'.join(kind.prefixes)}):\\S")
    shown = pl.format("{} is no id of a {} ({})", key, pl.lit(kind.name), pl.lit(", ".join(kind.prefixes)))
    return pl.when(other).then(shown)


def _problems(each: Property, given: pl.DataType) -> list[pl.Expr]:
    """Reasons why a property's value cannot stand, as expressions over the raw column."""
    column, wanted = pl.col(each.name), _TYPES[each.type]
    reasons: list[pl.Expr] = []
    if given in (pl.String, pl.List(pl.String)):
        reasons.append(_long(each.name, column, LONGEST_NAME if each.name == "name" else LONGEST_TEXT, each.is_list))
    if isinstance(given, pl.List) != each.is_list:
        return [pl.when(column.is_not_null()).then(pl.lit(f"{each.name} is not {_article(each.type)}"))]
    if given != wanted and not each.is_list:
        lost = column.is_not_null() & _read(each, given).is_null()
        reasons.append(pl.when(lost).then(pl.format(f"{each.name} is '{{}}', not {_article(each.type)}", column)))
    if each.values:
        unknown = (
            ~column.is_in(list(each.values))
            if not each.is_list
            else ~column.list.eval(pl.element().is_in(list(each.values))).list.all()
        )
        shown = column.list.join(", ") if each.is_list else column
        reason = pl.format(f"{each.name} is '{{}}', not one of {', '.join(each.values)}", shown)
        reasons.append(pl.when(column.is_not_null() & unknown).then(reason))
    return reasons


def _long(name: str, column: pl.Expr, most: int, listed: bool = False) -> pl.Expr:
    """Return the reason why a text cannot stand: it is so long that it must be damage."""
    size = pl.element().str.len_bytes() if listed else column.str.len_bytes()
    beyond = column.list.eval(size > most).list.any() if listed else size > most
    return pl.when(beyond).then(pl.lit(f"{name} has more than {most:,} bytes"))


def _read(each: Property, given: pl.DataType) -> pl.Expr:
    """A property's column in the ontology's type; null where the value has no such form, or would lose a part."""
    column, wanted = pl.col(each.name), _TYPES[each.type]
    if given == wanted:
        return column
    if wanted == pl.Boolean and given == pl.String:
        return column.str.strip_chars().str.to_lowercase().replace_strict(TRUTH, default=None, return_dtype=wanted)
    found = column.cast(wanted, strict=False)
    if given.is_numeric() and wanted in (pl.Boolean, pl.Int64):
        return pl.when(found.cast(given) == column).then(found)
    return found


def _article(kind: str) -> str:
    words = {"integer": "an integer", "boolean": "true or false", "strings": "a list", "floats": "a list of numbers"}
    return words.get(kind, f"a {kind}")


def plain_table(rows: pl.DataFrame) -> pa.Table:
    """Return the columns of the graph as an Arrow table of plain strings, without the bookkeeping."""
    table = rows.select(pl.exclude("^_.*$")).to_arrow(compat_level=pl.CompatLevel.oldest())
    schema = pa.schema([pa.field(column.name, _plain(column.type)) for column in table.schema])
    return table.cast(schema)


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_large_list(kind):
        return pa.list_(_plain(kind.value_type))
    return kind
