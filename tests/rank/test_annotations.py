"""What several sources take from one reference is one statement."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import small_graph
from kgdx.graph.protocol import GraphTable, RelationTable
from kgdx.graph.snapshot import Snapshot
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.rank import Ranker
from kgdx.rank.annotations import read_rows


def from_source(table: RelationTable, source: str, reference: str | None = "") -> RelationTable:
    """The table's rows as another source's, with its own or another reference."""
    rows = table.rows.append_column("source", pa.array([source] * table.rows.num_rows))
    if reference != "":
        rows = rows.set_column(
            rows.column_names.index("reference"), "reference", pa.array([reference] * rows.num_rows, pa.string())
        )
    return RelationTable(table.type, table.start_label, table.end_label, rows)


def snapshot(folder: Path, *references: str | None) -> Snapshot:
    """The small graph, with its annotations stated again by one more source for each reference."""
    tables: list[GraphTable] = []
    for table in small_graph.tables():
        if isinstance(table, RelationTable) and table.type in ("HAS_PHENOTYPE", "LACKS_PHENOTYPE"):
            tables.append(from_source(table, "hpoa"))
            tables += [from_source(table, f"other{n}", each) for n, each in enumerate(references)]
        else:
            tables.append(table)
    return compile_snapshot(tables, folder / "snapshot", "f")


def matrix(ranker: Ranker) -> np.ndarray:
    dense = np.zeros((len(ranker.names.terms), len(small_graph.NAMES)))
    for row in range(len(ranker.names.terms)):
        index, values = ranker.model.columns.frequency.row(row)
        dense[row, index] = values
    return dense


def test_a_source_that_repeats_anothers_statements_changes_no_frequency(tmp_path: Path) -> None:
    once = Ranker.open(snapshot(tmp_path / "once"))
    twice = Ranker.open(snapshot(tmp_path / "twice", ""))
    assert np.allclose(matrix(once), matrix(twice), atol=1e-6)


def test_patients_of_one_reference_are_counted_once_however_many_sources_state_them(tmp_path: Path) -> None:
    once, thrice = read_rows(snapshot(tmp_path / "once")), read_rows(snapshot(tmp_path / "thrice", "", ""))
    assert len(thrice.patients) == 3 * len(once.patients)
    assert thrice.patients.sum() == pytest.approx(once.patients.sum(), rel=1e-5)
    assert thrice.positive.sum() == pytest.approx(once.positive.sum(), rel=1e-5)


@pytest.mark.parametrize("reference", ["PMID:77", None])
def test_another_reference_or_none_is_another_statement(tmp_path: Path, reference: str | None) -> None:
    once, twice = read_rows(snapshot(tmp_path / "once")), read_rows(snapshot(tmp_path / "twice", reference))
    assert twice.patients.sum() == pytest.approx(2 * once.patients.sum(), rel=1e-5)
