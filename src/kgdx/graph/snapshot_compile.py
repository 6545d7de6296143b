"""Graph tables → the snapshot's tables: rows sorted, ids turned into row numbers, all in Arrow's own kernels."""

from __future__ import annotations

import json
import os
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kgdx.errors import StoreError
from kgdx.files.known import place
from kgdx.files.private import private_folder
from kgdx.graph.protocol import GraphTable, NodeTable, Store
from kgdx.graph.snapshot import ENDS, MANIFEST, TABLES, Snapshot, schema, write_manifest
from kgdx.graph.tables import whole
from kgdx.schema import load_schema
from kgdx.schema.model import ANNOTATIONS, MATCHES

NODES = {
    "Disease": "disease",
    "Phenotype": "phenotype",
    "Gene": "gene",
    "Symptom": "symptom",
    "Test": "test",
    "Drug": "drug",
    "Cure": "cure",
    "Document": "document",
    "PatientCase": "patient_case",
}


@dataclass(frozen=True, slots=True)
class _Edge:
    type: str
    start: str
    end: str


_TURNED = {"indication", "off_label_use", "contraindication"}
"""Tables whose first column is the end of the edge: whoever asks comes from the disease."""
_NAMED = {"symptom_phenotype": "MAPPED_TO"}
"""Tables that are not called like their relation."""


def _edge(table: str) -> _Edge:
    labels = {name: label for label, name in NODES.items()}
    first, second = (labels[name] for name in ENDS[table].values())
    ends = (second, first) if table in _TURNED else (first, second)
    return _Edge(_NAMED.get(table, table.upper()), *ends)


EDGES = {table: _edge(table) for table, ends in ENDS.items() if ends}
_RELATIONS = {type: relation for relation, type in MATCHES.items()}
"""Relations that are one table, which says what the start is to the end."""
_LINKS = {
    "publications": _Edge("REPORTED_IN", "PatientCase", "Publication"),
    "diseases": _Edge("DIAGNOSED", "PatientCase", "Disease"),
}
_PREVALENCE = _Edge("HAS_PREVALENCE", "Disease", "Region")
_REGIONS = ("Worldwide", "Europe")
"""Regions whose prevalence stands for a disease before that of others."""


def compile_snapshot(tables: Iterable[GraphTable], path: str | os.PathLike[str], fingerprint: str) -> Snapshot:
    """Compile graph tables into a snapshot folder and open it."""
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        private_folder(temporary)
        counts = {}
        for name, table in compile_tables(tables):
            counts[name] = table.num_rows
            if not table.num_rows:
                continue
            with (
                pa.OSFile(str(temporary / f"{name}.arrow"), "wb") as sink,
                pa.ipc.new_file(sink, table.schema) as writer,
            ):
                writer.write_table(table.combine_chunks(), max_chunksize=max(1, table.num_rows))
        write_manifest(temporary, fingerprint, counts)
        place(temporary, path)
    except OSError as error:
        hint = "free some disk space, or choose another --store"
        raise StoreError(f"cannot write the snapshot in {path} ({error})", hint=hint) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return Snapshot.open(path, fingerprint)


def link_snapshot(old: Path, new: Path, fingerprint: str) -> Snapshot:
    """Make a snapshot of the same content for a graph with another fingerprint, from hard links in its file system."""
    Snapshot.open(old)
    shutil.copytree(old, new, copy_function=os.link, ignore=shutil.ignore_patterns(".*"))
    # Lists are put in the place of the old ones, never written into: the old snapshot has the same files.
    write_manifest(new, fingerprint, json.loads((new / MANIFEST).read_bytes())["tables"])
    return Snapshot.open(new, fingerprint)


def reads(name: str, ends: tuple[str, str] | None) -> bool:
    """Whether a snapshot holds anything of a node class, or of a relation between two classes."""
    if ends is None:
        return name in NODES
    name = EDGES["same_as"].type if name in _RELATIONS else ANNOTATIONS[0] if name in ANNOTATIONS else name
    return _Edge(name, *ends) in (*EDGES.values(), *_LINKS.values(), _PREVALENCE)


def snapshot_tables(store: Store) -> Iterator[GraphTable]:
    """Export what a snapshot holds from a store: of a graph with many other relations a small part."""
    return whole(store, load_schema(), reads)


def compile_tables(tables: Iterable[GraphTable]) -> Iterator[tuple[str, pa.Table]]:
    """Yield the snapshot's tables by name, node tables first."""
    nodes: dict[str, list[pa.Table]] = defaultdict(list)
    edges: dict[_Edge, list[pa.Table]] = defaultdict(list)
    for table in tables:
        if isinstance(table, NodeTable):
            if table.label in NODES:
                columns = TABLES[NODES[table.label]]
                nodes[table.label].append(table.rows.select([c for c in table.rows.column_names if c in columns]))
        else:
            type, rows = table.type, _cited(table.rows)
            if type in _RELATIONS:
                if "relation" not in rows.column_names:
                    rows = rows.append_column("relation", pa.repeat(_RELATIONS[type], rows.num_rows))
                type = EDGES["same_as"].type
            elif type in ANNOTATIONS:
                type = ANNOTATIONS[0]
            edges[_Edge(type, table.start_label, table.end_label)].append(rows)
    ids: dict[str, pa.Array] = {}
    for label, name in NODES.items():
        rows = _fit(nodes[label], _node_columns(name))
        rows = rows.take(pc.sort_indices(rows, sort_keys=[("id", "ascending")]))
        if name == "disease":
            rows = _with_prevalence(rows, edges[_PREVALENCE])
        ids[label] = _flat(rows.column("id"))
        if name == "patient_case":
            for column, edge in _LINKS.items():
                rows = rows.append_column(pa.field(column, pa.list_(pa.string())), _links(ids[label], edges[edge]))
        yield name, rows
    for name, edge in EDGES.items():
        yield name, _edges(name, edge, edges[edge], ids)


def _cited(rows: pa.Table) -> pa.Table:
    """The rows with their references as one text: what is counted once is told apart by all of them."""
    if "references" not in rows.column_names:
        return rows
    cited = rows.column("references")
    joined = pc.if_else(pc.greater(pc.list_value_length(cited), 0), pc.binary_join(cited, ";"), None)
    return rows.drop_columns(["references"]).append_column("reference", joined)


def _node_columns(name: str) -> dict[str, pa.DataType]:
    return {each.name: each.type for each in schema(name) if name != "patient_case" or each.name not in _LINKS}


def _edges(name: str, edge: _Edge, parts: list[pa.Table], ids: dict[str, pa.Array]) -> pa.Table:
    first, second, *rest = TABLES[name]
    if not parts:
        return schema(name).empty_table()
    columns = {"start": pa.string(), "end": pa.string(), **{column: schema(name).field(column).type for column in rest}}
    rows = _fit(parts, columns)
    for index, (column, label) in enumerate((("start", edge.start), ("end", edge.end))):
        found = pc.index_in(_flat(rows.column(column)), value_set=ids[label])
        if found.null_count:
            missing = rows.column(column).filter(pc.is_null(found))[0].as_py()
            raise StoreError(f"{edge.type} refers to {missing}, which is no {label} of this graph")
        rows = rows.set_column(index, column, found)
    rows = rows.select(["end", "start", *rest] if name in _TURNED else ["start", "end", *rest])
    rows = rows.rename_columns([first, second, *rest])
    return rows.take(pc.sort_indices(_sortable(rows), sort_keys=[(key, "ascending") for key in TABLES[name]]))


def _sortable(rows: pa.Table) -> pa.Table:
    """The rows with lists as text: an order over all columns makes a staged graph and an exported one equal files."""
    for at, field in enumerate(rows.schema):
        if pa.types.is_list(field.type):
            rows = rows.set_column(at, field.name, pc.binary_join(rows.column(at), "\x1f"))
    return rows


def _links(cases: pa.Array, parts: list[pa.Table]) -> pa.Array:
    rows = _fit(parts, {"start": pa.string(), "end": pa.string()})
    rows = rows.group_by(["start", "end"]).aggregate([]).sort_by([("start", "ascending"), ("end", "ascending")])
    owner = pc.index_in(_flat(rows.column("start")), value_set=cases)
    kept = pc.is_valid(owner)
    counts = pc.value_counts(owner.filter(kept))
    sizes = dict(zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True))
    offsets = [0]
    for case in range(len(cases)):
        offsets.append(offsets[-1] + sizes.get(case, 0))
    values = _flat(rows.column("end")).filter(kept)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)


def _with_prevalence(diseases: pa.Table, parts: list[pa.Table]) -> pa.Table:
    """Fill in each disease's class of prevalence: worldwide, else in Europe, else the first region's by name."""
    if not parts:
        return diseases
    rows = _fit(parts, {"start": pa.string(), "end": pa.string(), "prevalence_class": pa.string()})
    found: dict[str, tuple[Any, ...]] = {}
    for disease, region, stated in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        if stated and stated != "Unknown":
            place = (*(not region.lower().endswith(each.lower()) for each in _REGIONS), region, stated)
            found[disease] = min(found.get(disease, place), place)
    stated = [found[id][-1] if id in found else None for id in diseases.column("id").to_pylist()]
    at = diseases.schema.get_field_index("prevalence")
    return diseases.set_column(at, "prevalence", pa.array(stated, pa.string()))


def _fit(parts: list[pa.Table], columns: dict[str, pa.DataType]) -> pa.Table:
    fitted = []
    for part in parts:
        arrays = []
        for column, kind in columns.items():
            if column in part.column_names:
                values = part.column(column)
                values = values if values.type == kind else values.cast(kind)
            else:
                values = pa.nulls(part.num_rows, kind)
            if pa.types.is_list(kind) and values.null_count:
                values = pc.fill_null(values, pa.scalar([], kind))
            arrays.append(values)
        fitted.append(pa.table(arrays, names=list(columns)))
    empty = pa.schema(list(columns.items())).empty_table()
    return pa.concat_tables([empty, *fitted]).combine_chunks()


def _flat(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
