"""A source tried out without touching any graph, and whether a manifest agrees with the ontology."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl

from kgdx.errors import SourceError, StoreError
from kgdx.graph.protocol import GraphTable
from kgdx.graph.tables import title
from kgdx.ingest.check import check
from kgdx.ingest.column_mapping import StagedTable, stage
from kgdx.ingest.fetch import fetch
from kgdx.ingest.manifest import Manifest, NodeMap, RelationMap, Value, did_you_mean, line_of
from kgdx.ingest.pipeline.build_report import RefusalCount
from kgdx.ingest.pipeline.build_summary import reasons
from kgdx.ingest.pipeline.built_graph import read_graph
from kgdx.ingest.pipeline.graph_folder import GraphFolder
from kgdx.ingest.pipeline.stages import Stages
from kgdx.ingest.record_counts import RecordCounts
from kgdx.ingest.records import LINE
from kgdx.ingest.source_choice import companions, origin_of
from kgdx.ingest.sources import FORMATS, Reader, read
from kgdx.schema import Property, Schema
from kgdx.schema.model import MATCHES

_NONE: Mapping[str, Reader] = MappingProxyType({})

OTHERS = "(graph)"
"""The source that stands for everything that is in the graph already."""


@dataclass(frozen=True, slots=True)
class TableSample:
    title: str
    rows: int
    first: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of trying out a source; without a graph to try it ``against``, all ends were taken to be there."""

    counts: RecordCounts
    samples: tuple[TableSample, ...]
    reasons: tuple[RefusalCount, ...]
    quarantine: pl.DataFrame
    against: Path | None
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "counts": asdict(self.counts),
            "tables": [{"title": each.title, "rows": each.rows, "first": list(each.first)} for each in self.samples],
            "reasons": [asdict(each) for each in self.reasons],
            "quarantine": self.quarantine.to_dicts(),
            "against": None if self.against is None else str(self.against),
            "warnings": list(self.warnings),
        }


def file_of(manifest: Manifest) -> Path:
    origin = origin_of(manifest)
    if origin.startswith(("http://", "https://")):
        raise SourceError(f"{manifest.name} is read from {origin}", hint="fetch it, and name the file")
    return fetch(origin, Path()).path


def attempt(
    manifest: Manifest,
    path: Path,
    schema: Schema,
    folder: GraphFolder,
    *,
    rows: int = 3,
    readers: Mapping[str, Reader] = _NONE,
) -> Trial:
    """Read a source's file and check it, against the nodes of a graph where there is one."""
    companions(manifest, path)
    records = read(path, manifest, readers)
    warnings = records.warnings
    tables, rejects = stage(records, manifest)
    others = _in_graph(folder, manifest.name)
    against = folder.path if others else None
    staged = [*others, *tables] if others else [*tables, *_assumed(tables, schema)]
    checked = check(staged, {manifest.name: rejects}, schema)
    mine = checked.quarantine.filter(pl.col("source") == manifest.name)
    samples = []
    for table in checked.tables:
        own = pl.DataFrame(pl.from_arrow(table.rows)).filter(_own(tables, table, manifest.name))
        if own.height:
            first = [{name: value for name, value in row.items() if value is not None} for row in own[:rows].to_dicts()]
            samples.append(TableSample(title(table), own.height, tuple(first)))
    counts = checked.counts.get(manifest.name, RecordCounts())
    counts.read += records.merged
    counts.merged += records.merged
    if not counts.read and samples:
        hint = "give the class that each row is about `role: record` in the manifest, or state a relation"
        warnings = (*warnings, f"no row counts as a record, since every class is implied: {hint}")
    return Trial(counts, tuple(samples), tuple(reasons(mine)), mine, against, warnings)


def _own(tables: list[StagedTable], table: GraphTable, source: str) -> pl.Expr:
    if table.ends is not None:
        return pl.col("source") == source
    named = [each.rows["id"].cast(pl.String) for each in tables if each.ends is None and each.name == table.name]
    return pl.col("id").is_in(pl.concat([pl.Series("id", [], pl.String), *named]).implode())


def _in_graph(folder: GraphFolder, source: str) -> list[StagedTable]:
    try:
        if not folder.exists:
            return []
        with folder.reading() as build:
            stages = Stages(folder.path / "stages")
            graph = read_graph(build.tables, stages)
            if graph is None:
                return []
            found = []
            for table in graph.tables:
                kept = stages.find(table.stage) if table.ends is None else None
                if kept is not None:
                    rows = kept.frame(table.file).filter(pl.col("source") != source)
                    rows = rows.with_columns(pl.lit(None, pl.Int64).alias(LINE))
                    found.append(StagedTable(OTHERS, table.name, None, "implied", rows))
            return found
    except (StoreError, SourceError):
        return []


def _assumed(tables: list[StagedTable], schema: Schema) -> list[StagedTable]:
    found: dict[str, list[pl.Series]] = {}
    for table in tables:
        if table.ends is None:
            if table.role == "patch":
                found.setdefault(table.name, []).append(table.rows["id"])
            continue
        for column, label in zip(("start", "end"), table.ends, strict=True):
            found.setdefault(label, []).append(table.rows[column])
    assumed = []
    for label, ids in found.items():
        every = pl.concat([each.cast(pl.String) for each in ids]).drop_nulls().unique().alias("id")
        rows = pl.DataFrame([every]).with_columns(pl.lit(OTHERS).alias("source"), pl.lit(None, pl.Int64).alias(LINE))
        if "name" in schema.node(label).properties:
            rows = rows.with_columns(pl.col("id").alias("name"))
        assumed.append(StagedTable(OTHERS, label, None, "implied", rows))
    return assumed


Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Disagreement:
    line: int
    message: str


def disagreements(
    manifest: Manifest, schema: Schema, known: Collection[str], formats: Iterable[str] = FORMATS
) -> list[Disagreement]:
    """Compare a manifest with what there is."""
    text = manifest.path.read_text("utf-8") if manifest.path else ""
    found = [*_about(manifest, known, list(formats))]
    for number, node in enumerate(manifest.nodes):
        found += _node(node, schema, ("nodes", number))
    for number, relation in enumerate(manifest.relations):
        found += _relation(relation, schema, ("relations", number))
    return sorted((Disagreement(line_of(text, place), message) for place, message in found), key=lambda each: each.line)


def _about(manifest: Manifest, known: Collection[str], formats: list[str]) -> Iterator[tuple[Place, str]]:
    if not manifest.nodes and not manifest.relations:
        yield (), "it maps nothing: give nodes, relations, or both"
    named: list[tuple[Place, str, str, Collection[str]]] = [(("format",), "format", manifest.format, formats)]
    named += [(("also", key), "format", name, formats) for key, name in manifest.also.items()]
    named += [(("needs", number), "source", name, known) for number, name in enumerate(manifest.needs)]
    for place, what, name, there in named:
        if name not in there:
            yield place, f"there is no {what} {name!r}: one of {', '.join(there)}{did_you_mean(name, there)}"


def _node(node: NodeMap, schema: Schema, place: Place) -> Iterator[tuple[Place, str]]:
    if node.class_ not in schema.nodes:
        yield (*place, "class"), _no_class(node.class_, schema)
        return
    properties = schema.node(node.class_).properties
    yield from _properties(node.class_, node.properties, properties, place)
    yield from _minted((*place, "id"), node.id, schema)
    missing = [each.name for each in properties.values() if each.required and each.name not in ("id", "source")]
    for name in missing if node.role != "patch" else ():
        if name not in node.properties:
            yield place, f"a {node.class_} must have a {name}: add it under properties"


def _relation(relation: RelationMap, schema: Schema, place: Place) -> Iterator[tuple[Place, str]]:
    ends = (relation.start.class_, relation.end.class_)
    for end, name in zip(("start", "end"), ends, strict=True):
        if name not in schema.nodes:
            yield (*place, end, "class"), _no_class(name, schema)
        yield from _minted((*place, end, "id"), getattr(relation, end).id, schema)
    if relation.type not in schema.relations:
        fitting = [name for name, each in schema.relations.items() if ends in each.ends]
        offer = f"from {ends[0]} to {ends[1]} go {', '.join(fitting)}" if fitting else "see `kgdx schema`"
        message = f"there is no relation {relation.type!r}: {offer}{did_you_mean(relation.type, schema.relations)}"
        yield (*place, "type"), message
        return
    found = schema.relation(relation.type)
    if ends not in found.ends:
        allowed = ", ".join(f"{start}→{end}" for start, end in found.ends)
        yield (*place, "type"), f"no {relation.type} goes from {ends[0]} to {ends[1]}: it goes {allowed}"
    known = found.properties
    if relation.type == MATCHES["exact"]:
        known = {"relation": Property("relation", "string", values=tuple(MATCHES)), **known}
    yield from _properties(relation.type, relation.properties, known, place)
    for each in found.properties.values():
        if each.required and each.name != "source" and each.name not in relation.properties:
            yield place, f"a {relation.type} must have a {each.name}: add it under properties"


def _properties(
    owner: str, given: Mapping[str, Value], known: Mapping[str, Property], place: Place
) -> Iterator[tuple[Place, str]]:
    settable = [name for name in known if name not in ("id", "source")]
    for name, value in given.items():
        where = (*place, "properties", name)
        if name not in settable:
            offer = f"one of {', '.join(settable)}" if settable else "it has none"
            yield where, f"{owner} has no property {name!r}: {offer}{did_you_mean(name, settable)}"
            continue
        allowed = known[name].values
        stated = [value.constant] if isinstance(value.constant, str) else list((value.values or {}).values())
        wrong = [each for each in stated if allowed and each not in allowed]
        if wrong:
            yield where, f"{name} is never {wrong[0]!r}: one of {', '.join(allowed)}{did_you_mean(wrong[0], allowed)}"


def _minted(place: Place, id: Value, schema: Schema) -> Iterator[tuple[Place, str]]:
    if id.mint is not None and id.mint not in schema.nodes:
        yield (*place, "mint"), _no_class(id.mint, schema)
    elif id.mint is not None and (prefixes := schema.node(id.mint).prefixes) and "KGDX" not in prefixes:
        yield (*place, "mint"), f"a {id.mint} is known by its id only ({', '.join(prefixes)}), none can be minted"


def _no_class(name: str, schema: Schema) -> str:
    return f"there is no class {name!r}: one of {', '.join(schema.nodes)}{did_you_mean(name, schema.nodes)}"
