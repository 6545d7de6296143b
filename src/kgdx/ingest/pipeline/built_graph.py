"""The tables of a build as files: what the graph holds, part by part, without opening the store."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import TypeAdapter

from kgdx.errors import StoreError
from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable
from kgdx.graph.tables import Digest, Part, columns_of, combine, conformed, digests, title
from kgdx.ingest.pipeline.stages import Stage, Stages, key_of, written
from kgdx.schema import Schema

LAYOUT = 2
"""Changes with the form of the file; a build with another one is no base for an update."""
TABLE = "table"


@dataclass(frozen=True, slots=True)
class BuiltTable:
    """One table of a build: nodes of a class, or the relations of one type, one pair of ends and one source."""

    name: str
    ends: tuple[str, str] | None
    stage: str
    parts: Mapping[str, Digest]
    file: str = TABLE

    @property
    def rows(self) -> int:
        return sum(rows for rows, _ in self.parts.values())


@dataclass(frozen=True, slots=True)
class BuiltSource:
    """A source of a build: where it was read from, and the stage that holds what was read."""

    origin: str
    path: str
    checksum: str
    parsed: str
    recipe: str
    mapping: str
    stated: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class BuiltGraph:
    """All tables and sources of a build, and which stages its snapshot was made from."""

    tables: Sequence[BuiltTable] = ()
    sources: Mapping[str, BuiltSource] = field(default_factory=dict)
    snapshot: str = ""

    @property
    def parts(self) -> dict[Part, Digest]:
        return {(title(table), source): digest for table in self.tables for source, digest in table.parts.items()}

    @property
    def fingerprint(self) -> str:
        return combine(self.parts)

    @property
    def stages(self) -> set[str]:
        return {table.stage for table in self.tables} | {source.parsed for source in self.sources.values()}

    def write(self, path: Path) -> None:
        content = asdict(self)
        known = {"layout": LAYOUT, "checksum": key_of(content), **content}
        path.write_text(json.dumps(known, ensure_ascii=False), "utf-8")


def totals(rows: Iterable[tuple[GraphTable | BuiltTable, int]]) -> tuple[dict[str, int], dict[str, int]]:
    """Count nodes by class and relations by type, of tables with their numbers of rows."""
    counts: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    for table, number in rows:
        counts[table.ends is not None][table.name] += number
    return dict(counts[0]), dict(counts[1])


def stated_graph(path: Path) -> BuiltGraph | None:
    """Read what :meth:`BuiltGraph.write` wrote; nothing where it is missing or damaged."""
    try:
        content = json.loads(path.read_bytes())
        if content.pop("layout") != LAYOUT or content.pop("checksum") != key_of(content):
            return None
        return TypeAdapter(BuiltGraph).validate_python(content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def read_graph(path: Path, stages: Stages) -> BuiltGraph | None:
    """Return what :func:`stated_graph` does; nothing where a stage of it is gone, too."""
    graph = stated_graph(path)
    if graph is None:
        return None
    used = set(stages.used)
    whole = all(stages.find(table.stage) is not None for table in graph.tables)
    stages.used = used
    return graph if whole else None


def keep_table(folder: Path, file: str, table: GraphTable) -> dict[str, Any]:
    """Write a table into a stage that is being made, and return what its facts must say of it (:func:`built`)."""
    return keep_parts(folder, file, table.name, table.ends, [table.rows])


def keep_parts(
    folder: Path, file: str, name: str, ends: tuple[str, str] | None, parts: Iterable[pa.Table]
) -> dict[str, Any]:
    """Do what :func:`keep_table` does with rows that come in parts, at least one, of which one is in memory."""
    found = digests(graph_table(name, ends, part) for part in written(folder, file, parts))
    of_sources = {source: digest for (_, source), digest in found.items()}
    return {"name": name, "ends": ends, "parts": of_sources, "file": file}


_BUILT = TypeAdapter(BuiltTable)


def built(stage: Stage, facts: Mapping[str, Any]) -> BuiltTable:
    return _BUILT.validate_python({**facts, "stage": stage.name})


def load_table(table: BuiltTable, stages: Stages) -> GraphTable:
    stage = stages.find(table.stage)
    if stage is None:
        raise StoreError(f"the stage {stages.path / table.stage} is gone", hint="build again with `kgdx build`")
    return graph_table(table.name, table.ends, stage.table(table.file))


def load_tables(tables: Iterable[BuiltTable], stages: Stages) -> Iterator[GraphTable]:
    """Read tables one by one, so that only one is in memory."""
    for table in tables:
        yield load_table(table, stages)


def graph_table(name: str, ends: tuple[str, str] | None, rows: pa.Table) -> GraphTable:
    return NodeTable(name, rows) if ends is None else RelationTable(name, *ends, rows)


class BuiltTables:
    """Hands out the tables of a graph that is being built as a store would."""

    def __init__(self, graph: BuiltGraph, stages: Stages, schema: Schema) -> None:
        self._graph, self._stages, self._schema = graph, stages, schema

    def export_nodes(self, label: str, columns: Sequence[str]) -> pa.Table:
        return self._read(label, None, ("id", *columns)).sort_by("id")

    def export_relations(self, type: str, start_label: str, end_label: str, columns: Sequence[str]) -> pa.Table:
        return self._read(type, (start_label, end_label), ("start", "end", *columns))

    def _read(self, name: str, ends: tuple[str, str] | None, columns: Sequence[str]) -> pa.Table:
        types = columns_of(graph_table(name, ends, pa.table({})), self._schema)
        schema = pa.schema([(column, types[column]) for column in columns])
        wanted = [table for table in self._graph.tables if (table.name, table.ends) == (name, ends)]
        found = [conformed(load_table(table, self._stages), self._schema) for table in wanted]
        chosen = [rows.select([each for each in columns if each in rows.column_names]) for rows in found]
        return pa.concat_tables([schema.empty_table(), *chosen], promote_options="default")
