"""What users saved (source ``user``): cases and runs are carried from the old graph into the new one.

Predictions are not: they rest on embeddings of the old graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl
import pyarrow as pa

from kgdx.errors import StoreError
from kgdx.graph.arcade.embedded import ArcadeStore
from kgdx.graph.copies import Kept
from kgdx.graph.neo4j.neo4j_store import Neo4jStore
from kgdx.graph.neo4j.saved_rows import named_runs, saved_rows, saved_tables
from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable, Store
from kgdx.graph.tables import merged
from kgdx.ingest.column_mapping import Role, StagedTable
from kgdx.ingest.pipeline import build_files
from kgdx.ingest.pipeline.built_graph import load_tables, read_graph
from kgdx.ingest.pipeline.graph_folder import BuildFolder, GraphFolder
from kgdx.ingest.pipeline.stages import Stages
from kgdx.ingest.records import LINE
from kgdx.schema import Schema, load_schema
from kgdx.schema.model import PREDICTED

USER = "user"
NODES: Mapping[str, Role] = {"PatientCase": "record", "Diagnosis": "record", "Publication": "implied"}
_STARTS = ("PatientCase", "Diagnosis")
"""Classes that the relations start from which users save, but those of predictions."""


@dataclass(frozen=True, slots=True)
class SavedRows:
    staged: Sequence[StagedTable] = ()
    now: Sequence[GraphTable] = ()


def saved(folder: GraphFolder, schema: Schema, *, expected: bool = False) -> SavedRows:
    """Return what users saved in the current graph; nothing where there is no graph."""
    if not folder.exists:
        return SavedRows()
    with folder.reading() as build:
        listed = build_files.is_listed(build.path)  # graphs of earlier layouts are not, and may hold cases all the same
        sound = not listed or build_files.whole(build.path, "store")
        if not sound and not expected and not build_files.has_saved(build.path):
            return SavedRows()
        try:
            if not sound:
                build_files.check(build.path)
            with ArcadeStore.open(build.store, earlier=True) as store:
                now = list(_tables(store, schema, expected=expected))
                return SavedRows(list(_staged(now)), now)
        except StoreError as error:
            if error.message.endswith(" is full"):  # which damages nothing
                raise
            hint = "to build without what was saved in it, use `kgdx build --discard-saved`; nothing was changed"
            raise StoreError(f"the old graph cannot be read ({error.message})", hint=hint) from error


def saved_on(server: Neo4jStore, schema: Schema, *, expected: bool) -> SavedRows:
    """Return what users saved on a server, whose graph may be of any version of the ontology, or incomplete."""
    rows, _ = saved_tables(saved_rows(server), schema)
    return SavedRows(list(_staged(rows)), list(_tables(server, schema, expected=expected)))


def _tables(store: Store, schema: Schema, *, expected: bool) -> Iterator[GraphTable]:
    """Yield the tables that hold what users saved, whole, as a store has them now; none where nobody saved anything.

    They are ``expected`` where the graph's build had such rows already: then they are read though none may be left.
    """
    wanted = expected or store.run("user_cases", source=USER, limit=1)  # every run belongs to a case
    if not wanted and not store.run("predictions", limit=1):
        return
    there, none = store.counts(), pa.table({})
    for label in NODES:
        names = list(schema.node(label).properties)
        yield NodeTable(label, store.export_nodes(label, names) if label in there else none)
    for type, relation in schema.relations.items():
        for start, end in relation.ends:
            if start in _STARTS or type == PREDICTED:
                known = type in there and {start, end} <= there.keys()
                names = list(relation.properties)
                rows = store.export_relations(type, start, end, names) if known else none
                yield RelationTable(type, start, end, rows)


def _staged(tables: Sequence[GraphTable]) -> Iterator[StagedTable]:
    for table in tables:
        if not table.rows.num_rows or not (table.name in NODES or (table.ends and table.ends[0] in _STARTS)):
            continue
        stated = named_runs(table.rows) if table.name == "Diagnosis" else table.rows
        rows = pl.DataFrame(pl.from_arrow(stated)).filter(pl.col("source") == USER)
        rows = rows.with_columns(pl.lit(None, pl.Int64).alias(LINE))
        if rows.height:
            yield StagedTable(USER, table.name, table.ends, NODES.get(table.name, "record"), rows)


def kept_tables(build: BuildFolder, stages: Stages, store: Store) -> Kept | None:
    """Return a build's tables; ``None`` where their files are not there, as in a graph copied from a server."""
    graph = read_graph(build.tables, stages)
    if graph is None:
        return None
    expected = any(USER in table.parts for table in graph.tables)
    now = list(_tables(store, load_schema(), expected=expected))
    return Kept(merged(load_tables(graph.tables, stages)), now)
