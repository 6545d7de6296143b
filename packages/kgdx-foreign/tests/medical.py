"""A Neo4j database as QASystemOnMedicalKG makes one of medical.json: its labels, relation types and properties."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import neo4j

from kgdx.config import Neo4jAccess
from kgdx.graph.protocol import Store

FIELDS = {
    "symptom": ("Symptom", "has_symptom"),
    "check": ("Check", "need_check"),
    "common_drug": ("Drug", "common_drug"),
    "recommand_drug": ("Drug", "recommand_drug"),
    "cure_department": ("Department", "belongs_to"),
    "do_eat": ("Food", "do_eat"),
}
"""Field of a record → label and relation type."""

MAPPING = """
mapping: 1
source: qasystem
language: zh
nodes:
  Disease: {label: Disease, key: name, properties: {definition: desc}}
  Symptom: {label: Symptom, key: name}
  Test: {label: Check, key: name}
  Drug: {label: Drug, key: name}
relations:
  HAS_SYMPTOM: has_symptom
  HAS_COMORBIDITY: acompany_with
  RECOMMEND_TEST: need_check
  RECOMMEND_DRUG: [common_drug, recommand_drug]
  RECOMMEND_CURE: {list: cure_way}
"""


def records(path: Path, most: int) -> list[dict[str, Any]]:
    """The first records of the file."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [record for record, _ in zip(map(json.loads, stream), range(most), strict=False)]


def held(store: Store) -> list[dict[str, Any]]:
    """What a graph of kgdx's own holds of such records, as records."""
    kinds = ("Disease", "Symptom", "Test", "Drug", "Cure")
    names: dict[str, str] = {}
    for kind in kinds:
        names |= {row["id"]: row["name"] for row in store.export_nodes(kind, ["name"]).to_pylist()}
    diseases = store.export_nodes("Disease", ["name", "definition"]).to_pylist()
    made = {row["id"]: {"name": row["name"], "desc": row["definition"]} for row in diseases}
    for type, kind, field in (
        ("HAS_SYMPTOM", "Symptom", "symptom"),
        ("RECOMMEND_TEST", "Test", "check"),
        ("RECOMMEND_DRUG", "Drug", "common_drug"),
        ("RECOMMEND_CURE", "Cure", "cure_way"),
        ("HAS_COMORBIDITY", "Disease", "acompany"),
    ):
        for row in store.export_relations(type, "Disease", kind, []).to_pylist():
            made[row["start"]].setdefault(field, []).append(names[row["end"]])
    return list(made.values())


def fill(access: Neo4jAccess, made: Sequence[Mapping[str, Any]]) -> None:
    """Fill an empty database."""
    with neo4j.GraphDatabase.driver(access.uri, auth=(access.user, access.password)) as driver:
        for label in ("Disease", *(label for label, _ in FIELDS.values())):
            driver.execute_query(f"CREATE INDEX IF NOT EXISTS FOR (n:{label}) ON (n.name)")
        driver.execute_query("CALL db.awaitIndexes(60)")
        rows = [
            {"name": each["name"], "desc": each.get("desc"), "cure_way": list(_words(each.get("cure_way")))}
            for each in made
        ]
        driver.execute_query("UNWIND $rows AS row CREATE (d:Disease) SET d = row", rows=rows)
        for field, (label, type) in FIELDS.items():
            pairs = [[each["name"], word] for each in made for word in _words(_field(each, field))]
            driver.execute_query(f"UNWIND $pairs AS pair MERGE (:{label} {{name: pair[1]}})", pairs=pairs)
            driver.execute_query(
                f"UNWIND $pairs AS pair MATCH (d:Disease {{name: pair[0]}}), (x:{label} {{name: pair[1]}}) "
                f"CREATE (d)-[:{type} {{name: $field}}]->(x)",
                pairs=pairs,
                field=field,
            )
        pairs = [[each["name"], word] for each in made for word in _words(each.get("acompany"))]
        driver.execute_query("UNWIND $pairs AS pair MERGE (:Disease {name: pair[1]})", pairs=pairs)
        driver.execute_query(
            "UNWIND $pairs AS pair MATCH (d:Disease {name: pair[0]}), (x:Disease {name: pair[1]}) "
            "CREATE (d)-[:acompany_with {name: '并发症'}]->(x)",
            pairs=pairs,
        )


def _field(record: Mapping[str, Any], field: str) -> object:
    """A field; the drugs stand under two names there, and some under both."""
    if not field.endswith("_drug"):
        return record.get(field)
    drugs = list(_words(record.get("common_drug")))
    return drugs[: len(drugs) // 2 + 1] if field == "common_drug" else drugs[len(drugs) // 2 :]


def _words(value: object) -> Iterator[str]:
    for word in value if isinstance(value, list) else []:
        if isinstance(word, str) and word.strip():
            yield word.strip()
