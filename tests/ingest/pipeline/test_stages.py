"""Results kept by content, and steps that infer: what they are given, and what becomes of what they give."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kgdx.errors import StoreError
from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable
from kgdx.ingest.fetch import Digests
from kgdx.ingest.pipeline.built_graph import TABLE, BuiltTable, built, keep_table, load_table
from kgdx.ingest.pipeline.derive import Derive, StepResult, derive
from kgdx.ingest.pipeline.stages import Stages, code_digest, key_of, write_table
from kgdx.schema import load_schema

NUMBERS = pa.table({"id": ["a", "b"], "n": [1, 2]})


def make(folder: Path) -> Mapping[str, Any]:
    write_table(folder, "table", NUMBERS)
    return {"rows": 2}


def fail(folder: Path) -> Mapping[str, Any]:
    write_table(folder, "table", NUMBERS)
    raise ValueError("stop")


def test_a_result_is_made_once_and_found_afterwards(tmp_path: Path) -> None:
    stages = Stages(tmp_path)
    first, second = stages.get("kind", "key", make), Stages(tmp_path).get("kind", "key", fail)
    assert (first.made, second.made) == (True, False)
    assert first.facts == second.facts == {"rows": 2}
    assert second.table("table").equals(NUMBERS)
    assert second.table("table", ["n"]).column_names == ["n"]
    assert stages.used == {"kind/key"}


def test_what_fails_leaves_nothing_that_counts(tmp_path: Path) -> None:
    stages = Stages(tmp_path)
    with pytest.raises(ValueError, match="stop"):
        stages.get("kind", "key", fail)
    assert stages.find("kind/key") is None and not stages.used
    assert list((tmp_path / "kind").iterdir()) == []


def test_what_was_left_unfinished_is_swept_and_what_nothing_needs_is_cleaned(tmp_path: Path) -> None:
    stages = Stages(tmp_path)
    for key in ("one", "two"):
        stages.get("kind", key, make)
    (tmp_path / "kind" / ".making.xyz").mkdir()
    stages.sweep()
    stages.clean({"kind/two"})
    assert [path.name for path in (tmp_path / "kind").iterdir()] == ["two"]


@pytest.mark.parametrize("damage", ["short", "gone", "flipped", "facts", "other facts", "no facts"])
def test_a_damaged_result_is_not_found(tmp_path: Path, damage: str) -> None:
    path = Stages(tmp_path).get("kind", "key", make).path
    facts = path / "facts.json"
    if damage == "flipped":
        content = bytearray((path / "table.arrow").read_bytes())
        content[len(content) // 2] ^= 1
        (path / "table.arrow").write_bytes(content)
    elif damage == "other facts":
        facts.write_text(facts.read_text().replace('"rows": 2', '"rows": 3'))
    elif damage == "no facts":
        facts.write_text("[]")
    elif damage == "short":
        (path / "table.arrow").write_bytes(b"ARROW1")
    elif damage == "gone":
        (path / "table.arrow").unlink()
    else:
        facts.write_text("[")
    assert Stages(tmp_path).find("kind/key") is None
    assert Stages(tmp_path).get("kind", "key", make).table("table").equals(NUMBERS)


def test_damage_that_shows_only_when_it_is_read_takes_the_result_away(tmp_path: Path) -> None:
    stage = Stages(tmp_path).get("kind", "key", make)
    file = stage.path / "table.arrow"
    file.write_bytes(bytes(file.stat().st_size))
    with pytest.raises(StoreError, match="is damaged.*run the command again"):
        stage.table("table")
    assert Stages(tmp_path).get("kind", "key", make).made


def test_keys_tell_contents_apart() -> None:
    keys = {key_of("a"), key_of(["a"]), key_of("a", None), key_of({"a": 1}), key_of({"a": 2}), key_of("b")}
    assert len(keys) == 6
    assert key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1})
    assert code_digest("kgdx.ingest") != code_digest("kgdx.graph")


def test_a_file_is_read_again_only_when_it_has_changed(tmp_path: Path) -> None:
    file, kept = tmp_path / "file", tmp_path / "digests.json"
    file.write_text("one")
    read: list[Path] = []

    def digest(path: Path) -> str:
        read.append(path)
        return path.read_text()

    seen = Digests(kept)
    assert seen.unchanged(file) is None
    assert [seen.of(file, digest), seen.of(file, digest)] == ["one", "one"] and len(read) == 1
    seen.write()
    again = Digests(kept)
    assert again.of(file, digest) == "one" and again.unchanged(file) and len(read) == 1
    file.write_text("three")
    assert again.unchanged(file) is False and again.of(file, digest) == "three"
    file.unlink()
    again.write()
    assert Digests(kept).unchanged(file) is None
    file.write_text("four")
    again.of(file, digest)
    again.write()
    assert Digests(kept).unchanged(file)
    for damaged in ("{", "[]", "{}", kept.read_text().replace('"four"', '"five"')):
        kept.write_text(damaged)
        assert Digests(kept).unchanged(file) is None


def test_a_folder_has_changed_when_a_file_in_it_has(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a").write_text("a")
    seen = Digests(tmp_path / "digests.json")
    seen.of(tmp_path / "folder", lambda path: "digest")
    assert seen.unchanged(tmp_path / "folder")
    (tmp_path / "folder" / "b").write_text("b")
    assert seen.unchanged(tmp_path / "folder") is False


def test_a_folder_that_is_searched_twice_is_the_same_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "searched_twice").mkdir()
    (tmp_path / "searched_twice" / "step.py").write_text("VALUE = 1")
    digest = code_digest.__wrapped__  # not what the process remembers
    nothing = digest("searched_twice")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    once = digest("searched_twice")
    assert once != nothing
    monkeypatch.setattr(sys, "path", [f"{tmp_path}/.", *sys.path])
    assert digest("searched_twice") == once
    (tmp_path / "searched_twice" / "step.py").write_text("VALUE = 2")
    assert digest("searched_twice") != once


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
