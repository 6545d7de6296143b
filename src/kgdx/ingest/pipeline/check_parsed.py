"""Parsed sources → the tables of the graph, checked against the ontology and against each other, one at a time.

A table is made again only when its own outcome could be another one. For relations that is: their rows, which of the
ids at their ends are not in the graph, and which of them have been replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from kgdx.ingest.check import checked_relations, current_ids, is_updated, merged_nodes, named_by_matches, plain_table
from kgdx.ingest.pipeline.built_graph import TABLE, BuiltTable, built, keep_parts
from kgdx.ingest.pipeline.parse import ENDS, REJECTS, ParsedSource, ParsedTable
from kgdx.ingest.pipeline.stages import PART_ROWS, Stage, Stages, key_of, write_table
from kgdx.ingest.records import RecordCounts, RecordTally, quarantine_table
from kgdx.schema import Schema
from kgdx.schema.model import MATCHES

_Use = tuple[ParsedSource, ParsedTable]


@dataclass(slots=True)
class CheckedGraph:
    """The checked tables of a graph, none of them empty, with what became of each source's records.

    ``made`` tables were made now, and ``found`` ones by an earlier build.
    """

    tables: list[BuiltTable] = field(default_factory=list)
    counts: dict[str, RecordCounts] = field(default_factory=dict)
    ids: dict[str, pl.Series] = field(default_factory=dict)
    made: int = 0
    found: int = 0
    refused: list[Stage] = field(default_factory=list)

    def add(self, stage: Stage) -> None:
        self.made += stage.made
        self.found += not stage.made
        for source, numbers in stage.facts["counts"].items():
            for outcome, number in numbers.items():
                counts = self.counts.setdefault(source, RecordCounts())
                setattr(counts, outcome, getattr(counts, outcome) + number)
        if stage.facts["refused"]:
            self.refused.append(stage)
        table = built(stage, stage.facts)
        if table.rows:
            self.tables.append(table)

    def quarantine(self, parsed: Sequence[ParsedSource], origins: Mapping[str, str]) -> pl.DataFrame:
        parts = []
        for each in parsed:
            if each.stage.facts["refused"]:
                parts.append(each.stage.frame(REJECTS).with_columns(pl.lit(each.source).alias("source")))
        parts += [stage.frame(REJECTS) for stage in self.refused]
        origin = pl.col("source").replace_strict(origins, default=None, return_dtype=pl.String)
        return quarantine_table(part.with_columns(pl.col("file").fill_null(origin)) for part in parts)


def check_parsed(
    parsed: Sequence[ParsedSource], stages: Stages, schema: Schema, tell: Callable[[str, float], None]
) -> CheckedGraph:
    """Check the tables of all sources, in the order of the sources."""
    result = CheckedGraph()
    nodes: dict[str, list[_Use]] = {}
    relations: dict[tuple[str, str, tuple[str, str]], list[_Use]] = {}
    for each in parsed:
        facts, merged = each.stage.facts, each.stage.facts.get("merged", 0)
        result.counts[each.source] = RecordCounts(facts["read"] + merged, merged=merged, quarantined=facts["refused"])
        for table in each.tables:
            if table.ends is None:
                nodes.setdefault(table.name, []).append((each, table))
            else:
                relations.setdefault((each.source, table.name, table.ends), []).append((each, table))
    total = len(nodes) + len(relations) or 1
    current = current_ids(None)
    for number, (label, uses) in enumerate(nodes.items()):
        tell(f"merging {label} nodes", number / total)
        matched = {
            relation: [use for (_, type, _), of_it in relations.items() if type == match for use in of_it]
            for relation, match in (MATCHES.items() if label == "Disease" else ())
        }
        stage = _nodes(label, uses, matched, stages)
        result.add(stage)
        result.ids[label] = stage.frame(TABLE, ["id"])["id"]
        if label == "Phenotype":
            current = current_ids(stage.frame(TABLE))
    for number, ((_, type, ends), uses) in enumerate(relations.items(), len(nodes)):
        tell(f"checking {type}", number / total)
        result.add(_relations(type, ends, uses, result.ids, current, schema, stages))
    for source, counts in result.counts.items():
        counts.settle(source)
    return result


def _nodes(label: str, uses: Sequence[_Use], matched: Mapping[str, Sequence[_Use]], stages: Stages) -> Stage:
    every = [*uses, *(use for of_it in matched.values() for use in of_it)]
    key = key_of(label, [(parsed.source, parsed.stage.name, table.file) for parsed, table in every])

    def make(folder: Path) -> Mapping[str, Any]:
        tally = RecordTally()
        rows = merged_nodes([parsed.rows(table) for parsed, table in uses], tally)
        ends = {of: [parsed.rows(table).rows for parsed, table in of_it] for of, of_it in matched.items()}
        rows = named_by_matches(rows, ends)
        return _kept_checked(folder, label, None, rows, tally)

    return stages.get("nodes", key, make)


def _relations(
    type: str,
    ends: tuple[str, str],
    uses: Sequence[_Use],
    ids: Mapping[str, pl.Series],
    current: pl.DataFrame,
    schema: Schema,
    stages: Stages,
) -> Stage:
    outcome = []
    for end, label in zip(ENDS, ends, strict=True):
        used = pl.concat([parsed.ends_of(table, end) for parsed, table in uses]).unique()
        replaced = current.filter(pl.col("old").is_in(used.implode())) if is_updated(type, label) else current.clear()
        now = used.to_frame().join(replaced, left_on=end, right_on="old", how="left")
        now = now.select(pl.coalesce("new", end).alias("id"))
        known = ids.get(label, pl.Series("id", [], pl.String))
        missing = now.filter(~pl.col("id").is_in(known.implode()))["id"].unique().sort()
        outcome.append([missing.to_list(), replaced.sort("old").rows()])
    key = key_of(type, ends, [(parsed.source, parsed.stage.name, table.file) for parsed, table in uses], outcome)

    def make(folder: Path) -> Mapping[str, Any]:
        tally = RecordTally()
        rows = checked_relations([parsed.rows(table) for parsed, table in uses], ids, current, schema, tally)
        return _kept_checked(folder, type, ends, rows, tally)

    return stages.get("relations", key, make)


def _kept_checked(
    folder: Path, name: str, ends: tuple[str, str] | None, rows: pl.DataFrame, tally: RecordTally
) -> dict[str, Any]:
    refused = tally.quarantine()
    write_table(folder, REJECTS, refused.to_arrow(compat_level=pl.CompatLevel.oldest()))
    parts = (plain_table(rows[at : at + PART_ROWS]) for at in range(0, max(rows.height, 1), PART_ROWS))
    facts = keep_parts(folder, TABLE, name, ends, parts)
    counts = {source: asdict(counts) for source, counts in tally.counts.items()}
    return {**facts, "counts": counts, "refused": refused.height}
