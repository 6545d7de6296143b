"""Graphs are ready for the first question when they are made, and when they are copied to a server."""

from __future__ import annotations

from pathlib import Path

import pytest

import kgdx
from kgdx import api
from kgdx.api.opening import verify
from kgdx.ingest.pipeline.build_report import BuildProgress
from kgdx.ingest.pipeline.build_stages import snapshot_key
from kgdx.ingest.pipeline.built_graph import BuiltTable
from kgdx.terms.names.name_database import FILE

INDEXING = "indexing the names of the graph, once"
"""Told where an index is made."""
FILES = {"hp": "hp.obo", "hpoa": "phenotype.hpoa", "genes": "genes_to_phenotype.txt"}


@pytest.fixture(scope="module")
def told() -> list[BuildProgress]:
    return []


@pytest.fixture(scope="module")
def folder(tiny: Path, tmp_path_factory: pytest.TempPathFactory, told: list[BuildProgress]) -> Path:
    made = tmp_path_factory.mktemp("graph")
    kgdx.build({name: str(tiny / file) for name, file in FILES.items()}, store=made, progress=told.append)
    return made


def indexes(folder: Path) -> list[Path]:
    return list(folder.glob(f"**/snapshot/derived/*/{FILE}"))


def test_a_build_ends_with_an_index_of_names(folder: Path, told: list[BuildProgress]) -> None:
    assert len(indexes(folder)) == 1
    assert any(each.detail == INDEXING for each in told)
    assert told[-1].detail == "done" and told[-1].done == 1.0
    assert [each.done for each in told] == sorted(each.done for each in told)
    with kgdx.open(folder, progress=lambda line: pytest.fail(f"it had to wait: {line}")) as graph:
        assert graph.names.resolve("Short stature with hypotonia").ids


def test_a_build_indexes_texts_where_they_say_something_of_diseases(folder: Path, tiny: Path, tmp_path: Path) -> None:
    with kgdx.open(folder) as graph:
        assert not graph.texts.useful
    kgdx.build(
        {"hp": str(tiny / "hp.obo"), "encyclopedia": str(tiny / "encyclopedia.jsonl")}, store=tmp_path, force=True
    )
    with kgdx.open(tmp_path, progress=lambda line: pytest.fail(f"it had to wait: {line}")) as graph:
        assert graph.texts.useful and "encyclopedia" in graph.texts.sources
    assert verify(store=tmp_path).again == ()
    next(tmp_path.glob("**/derived/texts/*/texts.arrow")).write_bytes(b"x")
    assert verify(store=tmp_path).again == ("texts",)


def test_an_update_that_changes_no_name_takes_the_index_along(folder: Path, tiny: Path, tmp_path: Path) -> None:
    again: list[BuildProgress] = []
    kgdx.build({name: str(tiny / file) for name, file in FILES.items()}, store=tmp_path)
    api.update({"hpoa": str(tiny / "phenotype.hpoa")}, store=tmp_path, progress=again.append)
    assert again[-1].detail == "done" and INDEXING not in {one.detail for one in again}
    assert all(index.stat().st_nlink == len(indexes(tmp_path)) for index in indexes(tmp_path))


@pytest.mark.parametrize(
    ("name", "ends", "counts"),
    [
        ("MeshDescriptor", None, True),
        ("MAPPED_TO", ("Symptom", "Phenotype"), True),
        ("MAPPED_TO", ("Disease", "MeshDescriptor"), False),
        ("Publication", None, False),
        ("Disease", None, True),
    ],
)
def test_what_the_indexes_hold_makes_another_snapshot(name: str, ends: tuple[str, str] | None, counts: bool) -> None:
    tables = [BuiltTable(name, ends, "stage", {"source": (1, digest)}) for digest in ("a", "b")]
    assert (snapshot_key((tables[0],)) != snapshot_key((tables[1],))) is counts


@pytest.mark.neo4j
def test_a_copy_on_a_server_needs_no_snapshot_of_its_own(
    folder: Path, neo4j_uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kgdx.config import Settings

    access = Settings.load().neo4j(neo4j_uri)
    assert access.password is not None
    monkeypatch.setenv("KGDX_NEO4J_PASSWORD", access.password)
    monkeypatch.setenv("KGDX_HOME", str(tmp_path / "home"))
    report = api.push(store=folder, neo4j=neo4j_uri, force=True)
    assert (tmp_path / "home" / "snapshots" / report.fingerprint / "snapshot.json").exists()
    with kgdx.open(neo4j_uri, progress=lambda line: pytest.fail(f"it had to wait: {line}")) as graph:
        assert graph.names.resolve("Short stature with hypotonia").ids
        assert graph.snapshot.fingerprint == report.fingerprint
