"""What the load room's tests share: the tiny sources, and ways to read and check one file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from kgdx.graph.protocol import NodeTable
from kgdx.ingest.check import CheckedTables, check_staged
from kgdx.ingest.column_mapping import stage
from kgdx.ingest.extraction.extract import read as read_huatuo
from kgdx.ingest.manifest import manifest
from kgdx.ingest.pipeline.graph_folder import GraphFolder
from kgdx.ingest.records import Records
from kgdx.ingest.sources import read
from kgdx.schema import load_schema
from kgdx.schema.model import MATCHES

FILES = {
    "hp": "hp.obo",
    "hpoa": "phenotype.hpoa",
    "genes": "genes_to_phenotype.txt",
    "orphanet_omim": "orphanet-omim-xrefs.tsv",
    "hp_zh": "hp-zh.babelon.tsv",
    "disease_names_zh": "disease-names-zh.tsv",
    "phenopackets": "phenopacket.json",
}

READERS = {"huatuo": read_huatuo}
"""Readers of formats that live above the load room, as the public functions hand them in."""

APART = {
    "mesh": "desc2025.xml",
    "mesh_supplements": "supp2025.xml",
    "mesh_qualifiers": "qual2025.xml",
    "mondo": "mondo.obo",
    "orphanet": "en_product1.xml",
    "orphanet_phenotypes": "en_product4.xml",
    "orphanet_genes": "en_product6.xml",
    "orphanet_prevalence": "en_product9_prev.xml",
    "orphanet_ages": "en_product9_ages.xml",
    "primekg": "kg.csv",
    "primekg_disease_features": "disease_features.csv",
    "primekg_drug_features": "drug_features.csv",
    "chinese_kg": "medical.json",
    "common_conditions": "common-conditions.tsv",
    "encyclopedia": "encyclopedia.jsonl",
    "encyclopedia_symptoms": "encyclopedia-symptoms.jsonl",
    "cases": "cases.csv",
    "dx_dialogues": "dx-dialogue.jsonl",
    "dx_symptoms": "dx-symptoms.txt",
    "symptom2disease": "symptom2disease.jsonl",
    "agentclinic": "agentclinic.jsonl",
    "ddxplus": "ddxplus-conditions.json",
    "ddxplus_patients": "ddxplus-patients.csv",
    "huatuo": "huatuo.jsonl",
}
"""Sources with a hand-drawn file that the small graph of most tests does without."""


@pytest.fixture
def graph(tmp_path: Path) -> GraphFolder:
    """A folder without a graph; modules have others of that name."""
    return GraphFolder(tmp_path / "graph")


@pytest.fixture
def every_source(tiny: Path) -> dict[str, str]:
    return {name: str(tiny / file) for name, file in (FILES | APART).items()}


@pytest.fixture
def tiny_sources(tiny: Path) -> dict[str, str]:
    return {name: str(tiny / file) for name, file in FILES.items()}


@pytest.fixture
def core_sources(tiny_sources: dict[str, str]) -> dict[str, str]:
    return {name: tiny_sources[name] for name in ("hp", "hpoa", "genes")}


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Write a file and return its path."""

    def written(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written


@pytest.fixture
def parse() -> Callable[[str, Path], Records]:
    return lambda source, path: read(path, manifest(source))


@pytest.fixture
def check_files(every_source: dict[str, str]) -> Callable[..., CheckedTables]:
    """Read and check sources; a source without a file of its own is the hand-drawn one."""

    def checked(*names: str, **files: Path | str) -> CheckedTables:
        tables, rejects = [], {}
        for name in (*names, *(file for file in files if file not in names)):
            found = manifest(name)
            staged, refused = stage(read(Path(files[name] if name in files else every_source[name]), found), found)
            tables += staged
            rejects[name] = refused
        return check_staged(tables, rejects, load_schema())

    return checked


@pytest.fixture
def rows() -> Callable[[CheckedTables, str], list[dict[str, object]]]:
    """Return the rows of a class or relation type of a check's result; ``matches`` are those of all four types."""

    def of(checked: CheckedTables, name: str) -> list[dict[str, object]]:
        if name == "matches":
            return [{**row, "relation": said} for said, type_ in MATCHES.items() for row in of(checked, type_)]
        return [
            row
            for table in checked.tables
            if (table.label if isinstance(table, NodeTable) else table.type) == name
            for row in pl.DataFrame(pl.from_arrow(table.rows)).to_dicts()
        ]

    return of
