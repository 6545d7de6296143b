"""Steps that infer: what they are given, what becomes of what they give, and when they run again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kgdx.errors import StoreError
from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable
from kgdx.ingest.pipeline.built_graph import TABLE, BuiltTable, built, keep_table, load_table
from kgdx.ingest.pipeline.derive import Derive, StepResult, derive
from kgdx.ingest.pipeline.stages import Stages
from kgdx.schema import load_schema

GENES = NodeTable("Gene", pa.table({"id": ["NCBIGene:2", "NCBIGene:1"], "name": ["B", "A"], "source": ["s", "s"]}))
DISEASES = NodeTable("Disease", pa.table({"id": ["OMIM:1"], "name": ["One"], "source": ["s"]}))
SOURCES = NodeTable("Source", pa.table({"id": ["s"], "source": ["s"], "version": ["7"]}))


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., tuple[list[StepResult], Stages]]:
    """Run steps on tables."""

    def ran(*steps: Derive, tables: Sequence[GraphTable] = (GENES, DISEASES)) -> tuple[list[StepResult], Stages]:
        stages = Stages(tmp_path)
        kept: list[BuiltTable] = []
        for number, table in enumerate(tables):
            stage = stages.get("given", f"{number}", lambda folder, table=table: keep_table(folder, TABLE, table))
            kept.append(built(stage, stage.facts))
        return list(derive(steps, kept, SOURCES, stages, load_schema(), lambda *_: None)), stages

    return ran


def associated(start: Sequence[str], end: Sequence[str], **columns: Any) -> RelationTable:
    rows = {"start": list(start), "end": list(end), **columns}
    return RelationTable("ASSOCIATED_GENE", "Disease", "Gene", pa.table(rows))


def step(*tables: GraphTable, reads: tuple[str, ...] = ("Gene", "Disease"), name: str = "kgdx:x") -> Derive:
    return Derive(name, "1", reads, lambda _: tables)


def test_a_step_gets_only_what_it_reads_in_an_order_of_its_own(run: Callable[..., Any]) -> None:
    given: list[GraphTable] = []

    def look(tables: Sequence[GraphTable]) -> list[GraphTable]:
        given.extend(tables)
        return []

    run(Derive("kgdx:x", "1", ("Gene", "Source"), look))
    assert [table.name for table in given] == ["Gene", "Source"]
    assert given[0].rows.column("id").to_pylist() == ["NCBIGene:1", "NCBIGene:2"]
    assert given[1].rows.column("version").to_pylist() == ["7"]


def test_a_later_step_sees_what_an_earlier_one_gave(run: Callable[..., Any]) -> None:
    seen: list[list[str]] = []

    def look(tables: Sequence[GraphTable]) -> list[GraphTable]:
        seen.append([row["source"] for table in tables for row in table.rows.to_pylist()])
        return []

    found, stages = run(
        step(associated(["OMIM:1"], ["NCBIGene:1"], source=["another"])),
        Derive("kgdx:y", "1", ("ASSOCIATED_GENE",), look),
    )
    assert seen == [["kgdx:x"]], "whatever it says, its source is the step"
    assert [step.name for step in found] == ["kgdx:x", "kgdx:y"]
    assert load_table(found[0].tables[0], stages).rows.num_rows == 1


def test_a_step_runs_again_only_when_what_it_rests_on_has_changed(run: Callable[..., Any]) -> None:
    runs: list[int] = []

    def count(tables: Sequence[GraphTable]) -> list[GraphTable]:
        runs.append(len(tables))
        return []

    first = Derive("kgdx:x", "1", ("Gene",), count)
    assert [each.found for each in run(first)[0]] == [False]
    assert [each.found for each in run(first)[0]] == [True]
    run(Derive("kgdx:x", "2", ("Gene",), count))
    assert len(runs) == 2


def test_equal_rows_and_known_nodes_are_given_once(run: Callable[..., Any]) -> None:
    more = NodeTable("Gene", pa.table({"id": ["NCBIGene:2", "NCBIGene:3", "NCBIGene:3"], "name": ["?", "C", "C"]}))
    twice = associated(["OMIM:1", "OMIM:1"], ["NCBIGene:3", "NCBIGene:3"])
    (found,), stages = run(step(twice, more))
    tables = {table.name: table for table in (load_table(each, stages) for each in found.tables)}
    assert tables["Gene"].rows.column("id").to_pylist() == ["NCBIGene:3"]
    assert tables["ASSOCIATED_GENE"].rows.num_rows == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (step(associated(["OMIM:2"], ["NCBIGene:1"])), "a ASSOCIATED_GENE of OMIM:2, which is no Disease"),
        (step(GENES, reads=("Disease",)), "gives nodes of Gene, which it does not read"),
        (step(associated(["OMIM:1"], ["NCBIGene:1"], colour=["red"])), "no property 'colour'"),
    ],
)
def test_what_does_not_conform_is_refused(run: Callable[..., Any], wrong: Derive, message: str) -> None:
    with pytest.raises(StoreError, match=message):
        run(wrong)
