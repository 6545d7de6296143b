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
from kgdx.rank.annotations import LISTED_FREQUENCY, PRIOR_FREQUENCY, read_rows


def from_source(table: RelationTable, source: str, reference: str | None = "") -> RelationTable:
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


LISTED = [(f"MONDO:{id}", term, None, None, None, None) for id, term, *_ in small_graph.HAS if id == "OMIM:2"]
LISTED = [("MONDO:7", term, *rest) for _, term, *rest in LISTED]


def listed_graph(folder: Path, has: list[small_graph.Stated]) -> Ranker:
    tables = small_graph.tables(names={"MONDO:7": "Of a list"}, has=has, same_as=[])
    return Ranker.open(compile_snapshot(tables, folder / "snapshot", "f"))


def test_what_a_source_only_lists_ranks_below_what_others_state_with_evidence(tmp_path: Path) -> None:
    ranker = listed_graph(tmp_path, [*small_graph.HAS, *LISTED])
    ids, scores = ranker.score_all(([small_graph.SHORT, small_graph.HYPOTONIA], []))
    ranked = [ids[at] for at in np.argsort(-scores)]
    assert ranked.index("OMIM:2") < ranked.index("MONDO:7") < ranked.index("OMIM:3")


def test_a_list_changes_no_frequency_that_others_state_and_is_all_there_is_alone(tmp_path: Path) -> None:
    again = [("OMIM:2", term, *rest) for _, term, *rest in LISTED]
    assert np.allclose(
        matrix(listed_graph(tmp_path / "a", small_graph.HAS)),
        matrix(listed_graph(tmp_path / "b", [*small_graph.HAS, *again])),
    )
    alone = listed_graph(tmp_path / "c", LISTED)
    assert alone.model.columns.frequency.values.max() == pytest.approx(PRIOR_FREQUENCY, abs=1e-3)
    beside = listed_graph(tmp_path / "d", [*small_graph.HAS, *LISTED])
    index, values = beside.model.columns.frequency.row(list(beside.names.terms).index(small_graph.SHORT))
    shown = dict(zip(index.tolist(), values.tolist(), strict=True))
    assert shown[beside.ids.index("MONDO:7")] == pytest.approx(LISTED_FREQUENCY, abs=1e-3)
