"""What a build runs and tests share: compile hooks, well-behaved and failing, and a step that infers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from kgdx.errors import StoreError
from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable
from kgdx.graph.snapshot import Snapshot
from kgdx.ingest.pipeline.derive import Derive


def count_diseases(snapshot: Snapshot) -> None:
    """Keep the number of diseases and the process that counted them."""
    print("what a hook prints does not disturb the build")

    def compute(folder: Path) -> None:
        (folder / "count").write_text(str(snapshot.rows("disease")))
        (folder / "process").write_text(str(os.getpid()))

    snapshot.derived("count", 1, compute)


def refuse(snapshot: Snapshot) -> None:
    """Fail as kgdx does."""
    raise StoreError(f"no model for {snapshot.rows('disease')} diseases", hint="build it again")


def crash(snapshot: Snapshot) -> None:
    """Fail as a defect does."""
    raise ZeroDivisionError("by zero")


def die(snapshot: Snapshot) -> None:
    """End without a word."""
    os._exit(9)


def named_alike(tables: Sequence[GraphTable]) -> list[GraphTable]:
    """Relate diseases whose names begin alike."""
    rows = [row for table in tables if isinstance(table, NodeTable) for row in table.rows.to_pylist()]
    pairs = [
        (one["id"], other["id"])
        for one in rows
        for other in rows
        if one["id"] < other["id"] and one["name"][:1] == other["name"][:1]
    ]
    columns = {
        "start": [one for one, _ in pairs],
        "end": [other for _, other in pairs],
        "relation": ["exact"] * len(pairs),
        "method": ["first letters"] * len(pairs),
    }
    found = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    return [RelationTable("SAME_AS", "Disease", "Disease", found)]


ALIKE = Derive("kgdx:test", "1", ("Disease",), named_alike)
