"""A source tried out: what a build would load, merge and refuse of it, without touching any graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import polars as pl

from kgdx.errors import SourceError, StoreError
from kgdx.graph.protocol import NodeTable
from kgdx.load.check import check
from kgdx.load.choice import companions, origin_of
from kgdx.load.fetch import fetch
from kgdx.load.folder import GraphFolder
from kgdx.load.manifest import Manifest
from kgdx.load.mapping import Staged, stage
from kgdx.load.records import LINE
from kgdx.load.report import Reason
from kgdx.load.reporting import reasons
from kgdx.load.sources import Reader, read
from kgdx.load.stages import Stages
from kgdx.load.tables import read_graph
from kgdx.load.tally import Counts
from kgdx.schema import Schema

_NONE: Mapping[str, Reader] = MappingProxyType({})

OTHERS = "(graph)"
"""The source that stands for everything that is in the graph already."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Some rows of a table as they would become nodes or relations.

    Attributes:
        title: ``Disease``, or ``Disease-HAS_PHENOTYPE->Phenotype``.
        rows: How many there are.
        first: The first of them, without what is absent.
    """

    title: str
    rows: int
    first: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of trying out a source.

    Attributes:
        counts: What would become of its records.
        samples: Its tables, nodes first.
        reasons: Why records would be refused, most frequent first.
        quarantine: The records that would be refused.
        against: The graph's folder whose nodes the ends of relations were looked for in; ``None`` where there is no
            graph, so that every end was taken to be there.
        warnings: What the reader says.
    """

    counts: Counts
    samples: tuple[Sample, ...]
    reasons: tuple[Reason, ...]
    quarantine: pl.DataFrame
    against: Path | None
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "counts": asdict(self.counts),
            "tables": [{"title": each.title, "rows": each.rows, "first": list(each.first)} for each in self.samples],
            "reasons": [asdict(each) for each in self.reasons],
            "quarantine": self.quarantine.to_dicts(),
            "against": None if self.against is None else str(self.against),
            "warnings": list(self.warnings),
        }


def file_of(manifest: Manifest) -> Path:
    """Return the file on this machine that a manifest names as its default.

    Raises:
        SourceError: It names none.

    Example:
        >>> from kgdx.load.manifest import manifest
        >>> file_of(manifest("hp")).name
        'hp.obo'
    """
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
    """Read a source's file and check it, against the nodes of a graph where there is one.

    Args:
        manifest: The source.
        path: Its file.
        schema: The ontology.
        folder: The graph.
        rows: How many rows of each table to show.
        readers: Readers of formats that are not in :data:`kgdx.load.sources.FORMATS`, by format.

    Raises:
        SourceError: The file is not what the manifest says.
    """
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
        content = cast(pl.DataFrame, pl.from_arrow(table.rows))
        own = content.filter(_own(tables, table, manifest.name))
        if own.height:
            title = (
                table.label if isinstance(table, NodeTable) else f"{table.start_label}-{table.type}->{table.end_label}"
            )
            first = [{name: value for name, value in row.items() if value is not None} for row in own[:rows].to_dicts()]
            samples.append(Sample(title, own.height, tuple(first)))
    counts = checked.counts.get(manifest.name, Counts())
    counts.read += records.merged
    counts.merged += records.merged
    if not counts.read and samples:
        hint = "give the class that each row is about `role: record` in the manifest, or state a relation"
        warnings = (*warnings, f"no row counts as a record, since every class is implied: {hint}")
    return Trial(counts, tuple(samples), tuple(reasons(mine)), mine, against, warnings)


def _own(tables: list[Staged], table: Any, source: str) -> pl.Expr:
    """Return the rows that the source states: of relations its own, of nodes those whose ids it names."""
    if not isinstance(table, NodeTable):
        return pl.col("source") == source
    named = [each.rows["id"].cast(pl.String) for each in tables if each.ends is None and each.name == table.label]
    ids = pl.concat(named) if named else pl.Series([], dtype=pl.String)
    return pl.col("id").is_in(ids.implode())


def _in_graph(folder: GraphFolder, source: str) -> list[Staged]:
    """Return the nodes of a graph, but for those that only the source itself states."""
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
                    rows = cast(pl.DataFrame, pl.from_arrow(kept.table(table.file)))
                    rows = rows.filter(pl.col("source") != source).with_columns(pl.lit(None, pl.Int64).alias(LINE))
                    found.append(Staged(OTHERS, table.name, None, "implied", rows))
            return found
    except (StoreError, SourceError):
        return []


def _assumed(tables: list[Staged], schema: Schema) -> list[Staged]:
    """Return nodes for every end of the source's relations, and for every node that it adds properties to."""
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
        assumed.append(Staged(OTHERS, label, None, "implied", rows))
    return assumed
