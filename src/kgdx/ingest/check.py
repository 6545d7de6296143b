"""The ontology check: staged tables in, tables that a store may load out; the rest goes to quarantine.

Every record is loaded, merged into an equal one, or quarantined with its reason, and the counts have to add up.
All of it is columnar; no row is looked at by its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pyarrow as pa

from kgdx.case.case_rows import TRUTH
from kgdx.errors import SourceError
from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable
from kgdx.graph.tables import title
from kgdx.ingest.column_mapping import StagedTable, marked
from kgdx.ingest.records import GIVEN, LINE, ROLE, SOURCE, RecordCounts, RecordTally
from kgdx.schema import NodeClass, Property, Relation, Schema
from kgdx.schema.model import FREQUENCIES

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
class CheckedTables:
    """Tables that fit the ontology, the quarantine table, and the counts by source."""

    tables: list[GraphTable]
    quarantine: pl.DataFrame
    counts: dict[str, RecordCounts]


def check_staged(staged: Sequence[StagedTable], refused: dict[str, pl.DataFrame], schema: Schema) -> CheckedTables:
    """Check the tables of a few sources in memory; a build checks what it has parsed to files (``check_parsed``)."""
    tally = RecordTally()
    for source, rejects in refused.items():
        tally.refused(source, rejects)
    fitting = of_one_class([typed(table, schema, tally) for table in staged], schema, tally)
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
    return CheckedTables(tables, tally.quarantine(), tally.counts)


def typed(table: StagedTable, schema: Schema, tally: RecordTally) -> StagedTable:
    """Give a table's columns the ontology's types; quarantine rows whose values do not have them."""
    kind = schema.node(table.name) if table.ends is None else schema.relation(table.name)
    keys = ("id",) if table.ends is None else ("start", "end")
    if table.role != "implied":
        tally.of(table.source).read += table.rows.height
    rows = marked(table).with_columns(pl.col(pl.Categorical).cast(pl.String))  # few words of many rows
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
    reasons += [_foreign(rows, key, schema.node(label)) for key, label in zip(keys, classes, strict=True)]
    rows = tally.split(rows, pl.coalesce(reasons), title(table))
    rows = rows.with_columns([_read(each, rows.schema[each.name]) for each in properties])
    if "share" in kind.properties and "share" not in rows.columns:
        rows = rows.with_columns(*_share(rows.columns))
    return replace(table, rows=rows.drop(SOURCE, ROLE))


def _share(given: Sequence[str]) -> Iterator[pl.Expr]:
    stated: list[pl.Expr] = []
    if {"numerator", "denominator"} <= set(given):
        stated.append(pl.when(pl.col("denominator") > 0).then(pl.col("numerator") / pl.col("denominator")))
    if "percentage" in given:
        stated.append(pl.col("percentage") / 100)
    if "frequency_class" in given:
        shares = {name: each.share for name, each in FREQUENCIES.items()}
        stated.append(pl.col("frequency_class").replace_strict(shares, default=None, return_dtype=pl.Float64))
    if stated:
        yield pl.coalesce(stated).alias("share")


def of_one_class(tables: Sequence[StagedTable], schema: Schema, tally: RecordTally) -> list[StagedTable]:
    """Quarantine nodes that an earlier table has as nodes of a class of which they cannot also be."""
    parts = [table.rows.select("id", label=pl.lit(table.name)) for table in tables if _makes_nodes(table)]
    if len({part["label"][0] for part in parts if part.height}) < 2:
        return list(tables)
    apart = pl.concat(parts).unique(maintain_order=True).filter(pl.col("id").is_duplicated())
    if apart.is_empty():
        return list(tables)
    first = apart.unique("id", keep="first").rename({"label": "_first"})
    return [_without(table, first, schema, tally) if _makes_nodes(table) else table for table in tables]


def _makes_nodes(table: StagedTable) -> bool:
    return table.ends is None and table.role != "patch"


def _without(table: StagedTable, first: pl.DataFrame, schema: Schema, tally: RecordTally) -> StagedTable:
    rows = marked(table).join(first, on="id", how="left", maintain_order="left")
    said = pl.format("{} is a {}, and nothing is that and a {}", "id", "_first", pl.lit(table.name))
    reason = pl.when(pl.col("_first").is_in(list(schema.node(table.name).disjoint))).then(said)
    return replace(table, rows=tally.split(rows, reason, title(table)).drop("_first", SOURCE, ROLE))


def _property(table: StagedTable, kind: NodeClass | Relation, name: str) -> Property:
    if name not in kind.properties:
        message = f"the source {table.source} gives {table.name} a property {name!r}"
        raise SourceError(message, hint=f"the ontology has {', '.join(kind.properties)}")
    if isinstance(kind, Relation) and table.ends not in kind.ends:
        assert table.ends is not None
        message = f"no relation {table.name} goes from {table.ends[0]} to {table.ends[1]}"
        raise SourceError(message, hint="see `kgdx schema`")
    return kind.properties[name]


def _foreign(rows: pl.DataFrame, key: str, kind: NodeClass) -> pl.Expr:
    if not kind.prefixes:
        return pl.lit(None, pl.String)
    other = ~pl.col(key).str.contains(f"^(?:{'|'.join(kind.prefixes)}):\\S")
    shown = pl.format("{} is no id of a {} ({})", key, pl.lit(kind.name), pl.lit(", ".join(kind.prefixes)))
    malformed = pl.lit(False)
    for prefix, pattern in kind.patterns.items():
        formed_so = pl.col(key).str.contains(f"^{prefix}:(?:{pattern})$")
        malformed = malformed | (pl.col(key).str.starts_with(f"{prefix}:") & ~formed_so)
    if not rows.select((other | malformed).any()).item():  # the reasons would be written for every row
        return pl.lit(None, pl.String)
    formed = pl.format("{} is not formed as ids of its vocabulary are", key)
    return pl.when(other).then(shown).when(malformed).then(formed)


def _problems(each: Property, given: pl.DataType) -> list[pl.Expr]:
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
        known = (pl.element() if each.is_list else column).is_in(list(each.values))
        unknown = ~(column.list.eval(known).list.all() if each.is_list else known)
        shown = column.list.join(", ") if each.is_list else column
        reason = pl.format(f"{each.name} is '{{}}', not one of {', '.join(each.values)}", shown)
        reasons.append(pl.when(column.is_not_null() & unknown).then(reason))
    return reasons


def _long(name: str, column: pl.Expr, most: int, listed: bool = False) -> pl.Expr:
    size = pl.element().str.len_bytes() if listed else column.str.len_bytes()
    beyond = column.list.eval(size > most).list.any() if listed else size > most
    return pl.when(beyond).then(pl.lit(f"{name} has more than {most:,} bytes"))


def _read(each: Property, given: pl.DataType) -> pl.Expr:
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


ID_NAMED, MATCH_NAMED = "id", "match"
"""What ``name_source`` says of a disease that no source names: its name is only its id, or that of another entry."""
_NAMED_BY = {
    "exact": ("{}", "{}"),
    "close": ("close to {}", "close to {}"),
    "narrower": ("form of {}", "{} and its like"),
    "broader": ("{} and its like", "form of {}"),
}
"""What an entry is called that stands at the start, and at the end, of a match with an entry that has a name."""


def named_by_matches(nodes: pl.DataFrame, matches: Mapping[str, Sequence[pl.DataFrame]]) -> pl.DataFrame:
    """Give diseases that no source names the name of their equals, or one made of their neighbours', or say so."""
    nameless = (pl.col("name_source") == ID_NAMED).fill_null(False)
    if not {"name", "name_source"} <= set(nodes.columns) or not nodes.select(nameless.any()).item():
        return nodes
    known = nodes.filter(~nameless & pl.col("name").is_not_null()).select(other="id", called="name")
    ways = [known.clear().select(id="other", order=pl.lit(0), called="called")]
    for order, (relation, wordings) in enumerate(_NAMED_BY.items()):
        for mine, yours, wording in zip(("start", "end"), ("end", "start"), wordings, strict=True):
            for table in matches.get(relation, ()):
                pairs = table.select(id=mine, other=yours).join(known, on="other")
                ways.append(pairs.select("id", order=order, called=pl.format(wording, "called")))
    found = pl.concat(ways).sort("order", "called").unique("id", keep="first", maintain_order=True)
    rows = nodes.join(found.drop("order"), on="id", how="left", maintain_order="left")
    given = nameless & pl.col("called").is_not_null()
    source = pl.when(given).then(pl.lit(MATCH_NAMED)).otherwise("name_source").alias("name_source")
    parts = pl.col("id").str.splitn(":", 2).struct
    unnamed = pl.format("unnamed entry of {} ({})", parts[0], parts[1])
    name = pl.when(given).then("called").when(nameless).then(unnamed).otherwise("name").alias("name")
    return rows.with_columns(name, source).drop("called")


def merged_nodes(tables: Sequence[StagedTable], tally: RecordTally) -> pl.DataFrame:
    """Merge the nodes of one class by id and sort them, then apply the patches."""
    parts = [marked(table) for table in tables if table.role != "patch"]
    rows = pl.concat(parts, how="diagonal") if parts else marked(tables[0]).clear()
    first = pl.col("id").is_first_distinct()
    tally.add(rows.filter(first), "loaded")
    tally.add(rows.filter(~first), "merged")
    nodes = _coalesced(rows)
    for table in tables:
        if table.role == "patch":
            nodes = _patched(nodes, marked(table), table.name, tally)
    return nodes.drop(SOURCE, ROLE, LINE, strict=False).sort("id")


def _coalesced(rows: pl.DataFrame) -> pl.DataFrame:
    repeated = rows.filter(pl.col("id").is_duplicated())
    if repeated.is_empty():
        return rows
    repeated = _named(repeated)
    lists = [name for name, kind in repeated.schema.items() if isinstance(kind, pl.List)]
    others = [name for name in repeated.columns if name not in (*lists, "id")]
    values = [pl.col(name).filter(pl.col(name).list.len() > 0).first() for name in lists]
    merged = repeated.group_by("id", maintain_order=True).agg(*values, pl.col(others).drop_nulls().first())
    return pl.concat([rows.filter(pl.col("id").is_unique()), merged.select(rows.columns)])


def _named(rows: pl.DataFrame) -> pl.DataFrame:
    if not {"name", "name_source"} <= set(rows.columns):
        return rows
    stopgap = (pl.col("name_source") == ID_NAMED).fill_null(False)
    better = (pl.col("name").is_not_null() & ~stopgap).any().over("id")
    return rows.with_columns(pl.when(~(stopgap & better)).then(pl.col(name)) for name in ("name", "name_source"))


def _patched(nodes: pl.DataFrame, rows: pl.DataFrame, label: str, tally: RecordTally) -> pl.DataFrame:
    names = [name for name in rows.columns if name != "id" and not name.startswith("_")]
    known = pl.col("id").is_in(nodes["id"].implode())
    rows = tally.split(rows, pl.when(~known).then(pl.format("{} is no {} of this graph", "id", pl.lit(label))), label)
    fresh = rows.select("id", *names).is_unique() | rows.select(pl.struct("id", *names).is_first_distinct()).to_series()
    tally.add(rows.filter(~fresh), "merged")
    rows = rows.filter(fresh)
    again = ~pl.col("id").is_first_distinct()
    rows = tally.split(rows, pl.when(again).then(pl.format("{} has another value in this source", "id")), label)
    absent = [pl.lit(None, rows.schema[name]).alias(name) for name in names if name not in nodes.columns]
    nodes = nodes.with_columns(absent)
    before = nodes.select("id", *(pl.col(name).alias(f"_old_{name}") for name in names))
    rows = rows.join(before, on="id", how="left", maintain_order="left")
    clash = pl.any_horizontal([(pl.col(f"_old_{name}") != pl.col(name)).fill_null(False) for name in names])
    rows = tally.split(rows, pl.when(clash).then(pl.format("{} has another value from an earlier source", "id")), label)
    tally.add(rows, "loaded")
    joined = nodes.join(rows.select("id", *names), on="id", how="left", maintain_order="left", suffix="_new")
    filled = [pl.coalesce(name, f"{name}_new").alias(name) for name in names]
    return joined.with_columns(filled).drop([f"{name}_new" for name in names])


def current_ids(phenotypes: pl.DataFrame | None) -> pl.DataFrame:
    """Return alternative and obsolete ids (``old``) with the current ones (``new``), or why there is none (``why``)."""
    schema = {"old": pl.String, "new": pl.String, "why": pl.String}
    if phenotypes is None or not {"alt_ids", "obsolete", "replaced_by", "consider"} <= set(phenotypes.columns):
        return pl.DataFrame(schema=schema)
    obsolete = pl.col("obsolete").fill_null(False)
    current = phenotypes.filter(~obsolete)
    consider = pl.when(pl.col("consider").list.len() > 0).then(pl.col("consider").list.join(", "))
    gone = pl.format(
        "{} is obsolete without a replacement (to consider: {})", "id", consider.fill_null(pl.lit("nothing"))
    )
    replaced = phenotypes.filter(obsolete).select(
        old="id", new="replaced_by", why=pl.when(pl.col("replaced_by").is_null()).then(gone)
    )
    alternative = current.explode("alt_ids", empty_as_null=True, keep_nulls=True).drop_nulls("alt_ids")
    alternative = alternative.select(old="alt_ids", new="id", why=pl.lit(None, pl.String))
    alternative = alternative.join(current, left_on="old", right_on="id", how="anti")
    table = pl.concat([alternative, replaced]).unique("old", keep="first", maintain_order=True)
    for _ in range(4):  # a replacement may have been replaced itself
        table = table.join(table.select(new="old", _next="new"), on="new", how="left", maintain_order="left")
        table = table.with_columns(pl.coalesce("_next", "new").alias("new")).drop("_next")
    return table


_ROW = "_row"
_NO_IDS = pl.Series("id", [], pl.String)


def checked_relations(
    tables: Sequence[StagedTable],
    ids: Mapping[str, pl.Series],
    current: pl.DataFrame,
    schema: Schema,
    tally: RecordTally,
) -> pl.DataFrame:
    """Check the ends of one source's relations of one type, bring them up to date, and merge duplicates."""
    type, ends, part = tables[0].name, tables[0].ends, title(tables[0])
    assert ends is not None
    rows = pl.concat([marked(table) for table in tables], how="diagonal") if len(tables) > 1 else marked(tables[0])
    for end, label in zip(("start", "end"), ends, strict=True):
        if is_updated(type, label):
            rows = _up_to_date(rows, end, current, part, tally)
        unknown = rows.select(~pl.col(end).is_in(ids.get(label, _NO_IDS).implode())).to_series()
        if unknown.any():  # the reason would be written for every row
            reason = pl.when(unknown).then(pl.format("{} is no {} of this graph", end, pl.lit(label)))
            rows = tally.split(rows, reason, part)
    if "irreflexive" in schema.relation(type).characteristics:
        reason = pl.when(pl.col("start") == pl.col("end")).then(pl.lit("it refers to itself"))
        rows = tally.split(rows, reason, part)
    rows = _without_duplicates(rows, schema.relation(type).identity, part, tally)
    tally.add(rows, "loaded")
    given = [name for name in rows.columns if name.startswith(GIVEN)]
    return rows.drop(SOURCE, ROLE, LINE, *given, strict=False)


def is_updated(type: str, label: str) -> bool:
    return label == "Phenotype" and type != "IS_A"


def _without_duplicates(rows: pl.DataFrame, identity: Sequence[str], part: str, tally: RecordTally) -> pl.DataFrame:
    keys = ["start", "end", *(name for name in identity if name in rows.columns and name != "source")]
    hashes = rows.select(_plain_lists(rows, keys)).hash_rows().to_numpy()
    ordered = np.sort(hashes)
    again = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(again):
        return rows
    repeated = pl.Series(np.isin(hashes, again))  # perhaps one too many, which is then told apart
    rows = rows.with_row_index(_ROW)
    apart = rows.filter(repeated)
    first = _first_of(apart, [name for name in rows.columns if not name.startswith("_")])
    tally.add(apart.filter(~first), "merged")
    apart = apart.filter(first)
    again = ~_first_of(apart, keys)
    if again.any():
        reason = f"an earlier record states it with other values (told apart by {', '.join(identity)})"
        apart = tally.split(apart, pl.when(again).then(pl.lit(reason)), part)
    return pl.concat([rows.filter(~repeated), apart]).sort(_ROW).drop(_ROW)


def _first_of(rows: pl.DataFrame, names: Sequence[str]) -> pl.Series:
    return rows.select(pl.struct(_plain_lists(rows, names)).is_first_distinct()).to_series()


def _plain_lists(rows: pl.DataFrame, names: Sequence[str]) -> list[pl.Expr]:
    return [
        pl.col(name).cast(pl.List(pl.String)).list.join("\x1f").alias(name)
        if isinstance(rows.schema[name], pl.List)
        else pl.col(name)
        for name in names
    ]


def _up_to_date(rows: pl.DataFrame, end: str, current: pl.DataFrame, part: str, tally: RecordTally) -> pl.DataFrame:
    joined = rows.join(current, left_on=end, right_on="old", how="left", maintain_order="left")
    joined = joined.rename({"new": "_new", "why": "_why"})
    if joined["_new"].null_count() == joined.height and joined["_why"].null_count() == joined.height:
        return rows
    joined = tally.split(joined, pl.col("_why"), part).drop("_why")
    tally.add(joined.filter(pl.col("_new").is_not_null()), "resolved")
    given = pl.col(end).alias(f"{GIVEN}{end}")
    return joined.with_columns(given, pl.coalesce("_new", end).alias(end)).drop("_new")
