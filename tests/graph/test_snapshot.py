"""The snapshot: what it holds, that it is mapped, and when it is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kgdx.errors import StaleSnapshotError, StoreError
from kgdx.graph.arcade.embedded import ArcadeStore
from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable
from kgdx.graph.snapshot import TABLES, Snapshot, schema
from kgdx.graph.snapshot_compile import compile_snapshot, compile_tables, snapshot_tables
from kgdx.graph.tables import title

STRINGS = pa.list_(pa.string())


def graph() -> list[GraphTable]:
    ends = ("Disease", "Phenotype")
    annotation = {"start": ["D:2", "D:1"], "end": ["HP:1", "HP:2"], "frequency": ["1/2", None], "numerator": [1, None]}
    return [
        NodeTable("Disease", pa.table({"id": ["D:2", "D:1"], "name": ["two", "one"]})),
        NodeTable(
            "Phenotype",
            pa.table({"id": ["HP:2", "HP:1"], "name": ["b", "a"], "synonyms": pa.array([["x", "y"], None], STRINGS)}),
        ),
        NodeTable("PatientCase", pa.table({"id": ["c1", "c0"]})),
        NodeTable("Anatomy", pa.table({"id": ["A:1"]})),
        RelationTable("HAS_PHENOTYPE", *ends, pa.table(annotation)),
        RelationTable("IS_A", "Phenotype", "Phenotype", pa.table({"start": ["HP:2"], "end": ["HP:1"]})),
        RelationTable(
            "REPORTED_IN", "PatientCase", "Publication", pa.table({"start": ["c1", "c1"], "end": ["PMID:2", "PMID:1"]})
        ),
    ]


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    return compile_snapshot(graph(), tmp_path / "snapshot", "f1")


def test_every_declared_table_is_there_with_its_columns(snapshot: Snapshot) -> None:
    for name, columns in TABLES.items():
        table = snapshot.table(name)
        assert table.schema == schema(name) and table.column_names == list(columns)
        assert table.num_rows == snapshot.rows(name)
        for column in columns:  # read without Arrow
            values = snapshot.values(name, column)
            assert values.values() == list(values) == table.column(column).to_pylist()
            assert values[1:] == values.values(1) == values.values()[1:]


def test_nodes_are_sorted_and_edges_are_rows_of_them(snapshot: Snapshot) -> None:
    assert snapshot.column("disease", "id").tolist() == ["D:1", "D:2"]
    edges = snapshot.table("has_phenotype").select(["disease", "phenotype", "frequency"]).to_pylist()
    assert edges == [
        {"disease": 0, "phenotype": 1, "frequency": None},
        {"disease": 1, "phenotype": 0, "frequency": "1/2"},
    ]
    assert snapshot.column("is_a", "child").tolist() == [1]


def test_absent_lists_are_empty_and_absent_numbers_are_nan(snapshot: Snapshot) -> None:
    assert snapshot.table("phenotype").column("synonyms").to_pylist() == [[], ["x", "y"]]
    numerators = snapshot.column("has_phenotype", "numerator")
    assert numerators.dtype == np.float64
    assert np.isnan(numerators[0]) and numerators[1] == 1


def test_publications_of_a_case_are_listed_with_it(snapshot: Snapshot) -> None:
    assert snapshot.table("patient_case").column("publications").to_pylist() == [[], ["PMID:1", "PMID:2"]]


def test_a_store_exports_no_more_than_a_snapshot_holds(tmp_path: Path) -> None:
    sourced = [
        replace(table, rows=table.rows.append_column("source", pa.array(["test"] * table.rows.num_rows)))
        for table in graph()
    ]
    publications = pa.table({"id": ["PMID:1", "PMID:2"], "source": ["test"] * 2})
    with ArcadeStore.create(tmp_path / "store") as store:
        store.load([*sourced[:-3], NodeTable("Publication", publications), *sourced[-3:]])
        exported = list(snapshot_tables(store))
        whole = dict(compile_tables(store.tables()))
    assert {title(table) for table in exported}.isdisjoint({"Anatomy", "Publication"})
    for name, table in compile_tables(exported):
        assert table.equals(whole.pop(name)), name
    assert not whole


def test_row_order_of_the_input_does_not_matter(snapshot: Snapshot, tmp_path: Path) -> None:
    reversed_tables: list[GraphTable] = []
    for table in reversed(graph()):
        rows = table.rows.take(list(range(table.rows.num_rows))[::-1])
        if isinstance(table, NodeTable):
            reversed_tables.append(NodeTable(table.label, rows))
        else:
            reversed_tables.append(RelationTable(table.type, table.start_label, table.end_label, rows))
    other = compile_snapshot(reversed_tables, tmp_path / "other", "f1")
    for name in TABLES:
        assert other.table(name).equals(snapshot.table(name))


def test_edges_that_differ_in_any_one_property_have_one_order() -> None:
    first = {"start": "D:1", "end": "HP:1", "frequency": "1/2", "sex": None, "onset": None, "modifiers": []}
    rows = [first | other for other in ({"sex": "FEMALE"}, {"sex": "MALE"}, {"onset": "HP:9"}, {"modifiers": ["HP:8"]})]
    kept = [table for table in graph() if not isinstance(table, RelationTable)]

    def compiled(rows: list[dict[str, object]]) -> pa.Table:
        edges = RelationTable("HAS_PHENOTYPE", "Disease", "Phenotype", pa.Table.from_pylist(rows))
        return dict(compile_tables([*kept, edges]))["has_phenotype"]

    assert compiled(rows).equals(compiled(rows[::-1]))


def test_index_columns_are_read_without_a_copy(snapshot: Snapshot) -> None:
    before = pa.total_allocated_bytes()
    column = snapshot.column("has_phenotype", "disease")
    assert column.dtype == np.int32 and not column.flags.owndata
    assert pa.total_allocated_bytes() == before


def test_opening_imports_neither_polars_nor_scipy(snapshot: Snapshot) -> None:
    code = (
        "import sys; from kgdx.graph.snapshot import Snapshot\n"
        f"Snapshot.open({str(snapshot.path)!r}).table('disease')\n"
        "assert not {'polars', 'scipy', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_stale_snapshot_is_refused(snapshot: Snapshot) -> None:
    assert Snapshot.open(snapshot.path, "f1").fingerprint == "f1"
    with pytest.raises(StaleSnapshotError, match="another state"):
        Snapshot.open(snapshot.path, "f2")


def test_another_layout_is_refused(snapshot: Snapshot) -> None:
    file = snapshot.path / "snapshot.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": 0}))
    with pytest.raises(StaleSnapshotError, match="layout 0"):
        Snapshot.open(snapshot.path)


def test_missing_and_damaged_snapshots_say_what_to_do(snapshot: Snapshot, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="kgdx build"):
        Snapshot.open(tmp_path / "nothing")
    (snapshot.path / "disease.arrow").write_bytes(b"ARROW1")
    with pytest.raises(StoreError, match="is damaged: disease.arrow has 6 bytes"):
        Snapshot.open(snapshot.path).table("disease")
    (snapshot.path / "snapshot.json").write_text("[]")
    with pytest.raises(StoreError, match="damaged"):
        Snapshot.open(snapshot.path)


def test_unknown_tables_and_columns_are_refused(snapshot: Snapshot) -> None:
    with pytest.raises(StoreError, match="no table"):
        snapshot.table("nodes")
    with pytest.raises(StoreError, match="no column"):
        snapshot.column("disease", "colour")


def test_a_dangling_edge_leaves_no_snapshot(tmp_path: Path) -> None:
    bad = RelationTable("IS_A", "Phenotype", "Phenotype", pa.table({"start": ["HP:2"], "end": ["HP:9"]}))
    with pytest.raises(StoreError, match="HP:9"):
        compile_snapshot([*graph(), bad], tmp_path / "bad", "f")
    assert list(tmp_path.iterdir()) == []


def test_a_derived_part_is_computed_once(snapshot: Snapshot) -> None:
    calls = []

    def compute(folder: Path) -> None:
        calls.append(folder)
        (folder / "x").write_text("1")

    first = snapshot.derived("model", 1, compute)
    assert snapshot.derived("model", 1, compute) == first
    assert len(calls) == 1 and (first / "x").read_text() == "1"
    assert snapshot.derived("model", 2, compute) != first


def test_a_failed_derivation_leaves_nothing(snapshot: Snapshot) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").write_text("1")
        raise ValueError("stopped")

    with pytest.raises(ValueError, match="stopped"):
        snapshot.derived("model", 1, fail)
    assert list((snapshot.path / "derived").iterdir()) == []


def test_of_two_derivations_at_once_the_first_stays(snapshot: Snapshot) -> None:
    def slow(folder: Path) -> None:
        snapshot.derived("model", 1, lambda other: (other / "who").write_text("first") and None)
        (folder / "who").write_text("second")

    assert (snapshot.derived("model", 1, slow) / "who").read_text() == "first"


def test_what_a_killed_process_left_half_made_is_cleared_a_day_later(snapshot: Snapshot) -> None:
    derived = snapshot.path / "derived"
    for name, age in ((".model-1.old", 25 * 3600), (".model-1.new", 0)):
        (derived / name).mkdir(parents=True)
        os.utime(derived / name, (time.time() - age,) * 2)
    snapshot.derived("model", 1, lambda folder: (folder / "made").write_text("") and None)
    assert sorted(path.name for path in derived.iterdir()) == [".model-1.new", "model-1"]
