"""A graph of the hand-drawn excerpt with four recorded patients, a ward of them, and graphs of diseases in words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kgdx
from conftest import require
from kgdx.api import Graph
from kgdx.case import Case, case_from_document
from kgdx.graph.protocol import NodeTable, RelationTable
from kgdx.graph.snapshot import Snapshot
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.learn.recorded_cases import RecordedCases
from worded_graph import Letters, Make, links

SEIZURE, STATUS, FOCAL = "HP:0001250", "HP:0002133", "HP:0007359"
HYPOTONIA, SHORT, FEVER = "HP:0001252", "HP:0004322", "HP:0001945"
EPILEPSY, STATURE = "OMIM:100001", "OMIM:100002"
EPILEPSY_NAME, STATURE_NAME = "Tiny epilepsy syndrome 1, autosomal recessive", "Short stature with hypotonia"
PATIENTS = [
    ("one", EPILEPSY, "PMID:1", (SEIZURE, STATUS)),
    ("two", EPILEPSY, "PMID:2", (STATUS, FOCAL)),
    ("three", STATURE, "PMID:3", (SHORT, HYPOTONIA)),
    ("four", STATURE, "PMID:4", (HYPOTONIA, FEVER)),
]


def packet(id: str, disease: str, publication: str, terms: tuple[str, ...]) -> dict[str, Any]:
    return {
        "id": id,
        "subject": {"id": id},
        "phenotypicFeatures": [{"type": {"id": term}} for term in terms],
        "diseases": [{"term": {"id": disease, "label": ""}}],
        "metaData": {"externalReferences": [{"id": publication}]},
    }


def built(tiny: Path, folder: Path) -> Path:
    """The folder of a graph of the excerpt and the patients."""
    file = folder / "patients.jsonl"
    file.write_text("".join(json.dumps(packet(*each)) + "\n" for each in PATIENTS))
    sources = {"hp": tiny / "hp.obo", "hpoa": tiny / "phenotype.hpoa", "phenopackets": file}
    kgdx.build({name: str(path) for name, path in sources.items()}, store=folder / "graph")
    return folder / "graph"


@pytest.fixture(scope="session")
def patients_folder(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tiny, tmp_path_factory.mktemp("ward"))


@pytest.fixture(scope="session")
def graph(patients_folder: Path) -> Iterator[Graph]:
    with kgdx.open(patients_folder) as opened:
        yield opened


@pytest.fixture(scope="session")
def recorded() -> list[Case]:
    return [case_from_document(packet(*each)) for each in PATIENTS]


@pytest.fixture(scope="session")
def ward(graph: Graph, recorded: list[Case]) -> RecordedCases:
    return RecordedCases.of(graph, recorded, known=None)


@pytest.fixture
def letters() -> Letters:
    return Letters()


@pytest.fixture
def torch_here() -> None:
    """Skips a test where nothing can be trained."""
    import importlib.util

    found = all(importlib.util.find_spec(name) for name in ("torch", "torch_geometric"))
    require(found, 'torch and torch-geometric: pip install "kgdx[learn]"')


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Compiles a graph of diseases with symptoms; ``names`` replaces what a symptom is called."""

    def compiled(stated: Sequence[tuple[str, str]], *, source: str = "book", extra: Sequence[str] = ()) -> Snapshot:
        diseases = sorted({disease for disease, _ in stated} | set(extra))
        symptoms = sorted({symptom for _, symptom in stated})
        of = {"start_label": "Disease", "end_label": "Symptom"}
        edges = {"start": [d for d, _ in stated], "end": [f"S:{s}" for _, s in stated]}
        tables = [
            NodeTable("Disease", pa.table({"id": diseases, "name": [each[2:] for each in diseases]})),
            NodeTable(
                "Symptom",
                pa.table({"id": [f"S:{s}" for s in symptoms], "name": symptoms, "language": ["en"] * len(symptoms)}),
            ),
        ]
        if stated:
            rows = pa.table({**edges, "source": [source] * len(stated)})
            tables.append(RelationTable("HAS_SYMPTOM", rows=rows, **of))  # type: ignore[arg-type]
        folder: Path = tmp_path_factory.mktemp("learn")
        return compile_snapshot(tables, folder / "snapshot", "f1")

    return compiled


@pytest.fixture(scope="session")
def snapshot(make: Make) -> Snapshot:
    return make(links())
