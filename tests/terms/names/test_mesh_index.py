"""MeSH descriptors by name: deterministic, explained, and the same as the graph's own relations."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pyarrow as pa
import pytest

from kgdx.errors import StoreError
from kgdx.graph.protocol import NodeTable
from kgdx.terms.names.cascade import AlignmentLimits, candidates, decide
from kgdx.terms.names.entity_names import descriptors, diseases
from kgdx.terms.names.mesh_index import FILE, MeshIndex, write_mesh
from terms.names.named import nodes

DESCRIPTORS = {
    "MESH:D005334": ("Fever", "Pyrexia", "Hyperthermia"),
    "MESH:D014917": ("Whooping Cough", "Pertussis", "Bordetella pertussis Infection"),
    "MESH:D003924": ("Diabetes Mellitus, Type 2", "Diabetes Mellitus, Type II", "NIDDM"),
    "MESH:D003922": ("Diabetes Mellitus, Type 1", "Diabetes Mellitus, Type I"),
    "MESH:D058437": ("Hypertensive Retinopathy",),
    "MESH:D000001": ("Twin", "Double"),
    "MESH:D000002": ("Pair", "Double"),
}


@pytest.fixture
def index(tmp_path: Path) -> MeshIndex:
    source = NodeTable("Source", pa.table({"id": ["test"], "version": ["2025"], "checksum": ["x"]}))
    write_mesh(tmp_path / FILE, [nodes("MeshDescriptor", DESCRIPTORS), source])
    return MeshIndex(tmp_path / FILE)


@pytest.mark.parametrize(
    ("name", "id", "method"),
    [
        ("fever", "MESH:D005334", "exact"),
        ("type II diabetes mellitus", "MESH:D003924", "normalised"),
        ("pertusis", "MESH:D014917", "edit"),
        ("hypertensie retinopathy", "MESH:D058437", "edit"),
        ("Diabetes mellitus, type 3", None, None),
        ("double", None, None),
        ("", None, None),
        ('") OR 1', None, None),
    ],
)
def test_a_name_finds_its_descriptor_or_none(index: MeshIndex, name: str, id: str | None, method: str | None) -> None:
    found = index.map_to_mesh(name)
    assert (found.id, found.method) == (id, method)
    assert found.reason
    assert bool(found.heading) == bool(id)


def test_a_decision_records_what_it_rests_on(index: MeshIndex) -> None:
    found = json.loads(index.map_to_mesh("pertusis", branches=["C01"]).to_json())
    assert found["version"] == "2025"
    assert len(found["checksum"]) == 64
    assert found["thresholds"]["branches"] == ["C01"]
    assert found["candidates"][0]["matched"] == "Pertussis"
    assert found["reason"] == "'pertusis' and 'Pertussis' differ by a typo"


def test_equally_near_descriptors_are_listed_and_none_is_stated(index: MeshIndex) -> None:
    found = index.map_to_mesh("double")
    assert [each.id for each in found.candidates] == ["MESH:D000001", "MESH:D000002"]
    assert found.reason == "2 descriptors are equally near"


def test_where_nothing_is_the_same_the_nearest_words_are_shown(index: MeshIndex) -> None:
    found = index.map_to_mesh("fever of the retinopathy")
    assert found.id is None
    assert {each.method for each in found.candidates} == {"words"}
    assert {each.id for each in found.candidates} >= {"MESH:D005334", "MESH:D058437"}


def test_a_descriptor_outside_the_branches_is_not_found(index: MeshIndex) -> None:
    assert index.map_to_mesh("fever", branches=["F03"]).id is None


def test_the_same_descriptors_give_the_same_decisions(tmp_path: Path, index: MeshIndex) -> None:
    turned = dict(reversed(DESCRIPTORS.items()))
    write_mesh(tmp_path / "other.sqlite", [nodes("MeshDescriptor", turned)])
    with MeshIndex(tmp_path / "other.sqlite") as other:
        assert other.checksum == index.checksum
        for name in ("fever", "double", "pertusis", "retinopathy"):
            assert other.map_to_mesh(name).candidates == index.map_to_mesh(name).candidates


def test_the_index_decides_as_the_graphs_relations_do(index: MeshIndex) -> None:
    names = ["Fever", "pertusis", "Hypertensive retinopathies", "Double", "type I diabetes mellitus", "Nothing known"]
    subjects = diseases([nodes("Disease", {f"OMIM:{n}": (name,) for n, name in enumerate(names)})])
    objects = descriptors([nodes("MeshDescriptor", DESCRIPTORS)])
    decided = decide(candidates(subjects, objects, AlignmentLimits()), AlignmentLimits())
    stated = {row["subject"]: row for row in decided.iter_rows(named=True) if row["outcome"] == "stated"}
    for number, name in enumerate(names):
        found, row = index.map_to_mesh(name), stated.get(f"OMIM:{number}")
        assert (found.id, found.method, found.score) == (
            (row["object"], row["method"], row["score"]) if row else (None, None, 0.0)
        )


def test_an_interrupted_writer_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("disk is full")

    monkeypatch.setattr("kgdx.terms.names.name_database._fill", fail)
    with pytest.raises(StoreError, match=r"cannot be written \(disk is full\)"):
        write_mesh(tmp_path / FILE, [nodes("MeshDescriptor", DESCRIPTORS)])
    assert list(tmp_path.iterdir()) == []


def test_a_graph_without_descriptors_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no MeSH descriptors: build it with the source mesh"):
        write_mesh(tmp_path / FILE, [])


def test_a_file_that_is_no_index_is_told(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("no database, but long enough to be taken for one by its size alone" * 20)
    with pytest.raises(StoreError, match="cannot be read"):
        MeshIndex(tmp_path / FILE)
    with pytest.raises(StoreError, match="cannot be read"):
        MeshIndex(tmp_path / "none.sqlite")
