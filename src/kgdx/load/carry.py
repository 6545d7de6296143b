"""What users saved in the old graph (source ``user``: cases and runs) → staged tables for the new one."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from kgdx.errors import StoreError
from kgdx.load.folder import GraphFolder
from kgdx.load.mapping import Staged
from kgdx.load.records import LINE
from kgdx.schema import Schema
from kgdx.store.arcade import ArcadeStore
from kgdx.store.protocol import Store

USER = "user"
NODES = {"PatientCase": "record", "Diagnosis": "record", "Publication": "implied"}
_STARTS = ("PatientCase", "Diagnosis")


def saved(folder: GraphFolder, schema: Schema) -> list[Staged]:
    """Return what users saved in the current graph; nothing where there is no graph.

    Raises:
        StoreError: There is a graph, but it cannot be read.
    """
    if not folder.exists:
        return []
    with folder.reading() as build:
        try:
            store = ArcadeStore.open(build.store)
        except StoreError as error:
            hint = "to build without the cases that were saved in it, use `kgdx build --discard-cases`"
            raise StoreError(f"the old graph cannot be read ({error.message})", hint=hint) from error
        with store:
            return list(_staged(store, schema))


def _staged(store: Store, schema: Schema) -> Iterator[Staged]:
    if not store.run("user_cases", source=USER, limit=1):  # every run belongs to a case
        return
    for label, role in NODES.items():
        rows = _of_user(store.export_nodes(label, list(schema.node(label).properties)))
        if rows.height:
            yield Staged(USER, label, None, "implied" if role == "implied" else "record", rows)
    for type, relation in schema.relations.items():
        for start, end in relation.ends:
            if start in _STARTS:
                rows = _of_user(store.export_relations(type, start, end, list(relation.properties)))
                if rows.height:
                    yield Staged(USER, type, (start, end), "record", rows)


def _of_user(rows: pa.Table) -> pl.DataFrame:
    kept = rows.filter(pc.equal(rows.column("source"), USER)) if rows.num_rows else rows
    frame = pl.DataFrame(pl.from_arrow(kept))
    return frame.with_columns(pl.lit(None, pl.Int64).alias(LINE))
