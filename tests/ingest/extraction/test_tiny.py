"""The hand-drawn file of the source huatuo, from its lines to tables that fit the ontology."""

from __future__ import annotations

from pathlib import Path

from kgdx.graph.protocol import RelationTable
from kgdx.ingest.check import check_staged
from kgdx.ingest.column_mapping import stage
from kgdx.ingest.extraction.extract import read
from kgdx.ingest.manifest import manifest
from kgdx.ingest.records import minted
from kgdx.schema import load_schema


def test_the_tiny_file_gives_the_relations_that_can_be_read_in_it(tiny: Path) -> None:
    records = read(tiny / "huatuo.jsonl", manifest("huatuo"))
    tables, rejects = stage(records, manifest("huatuo"))
    checked = check_staged(tables, {"huatuo": rejects}, load_schema())
    counts = checked.counts["huatuo"]
    assert (counts.loaded, counts.merged, counts.quarantined) == (10, 0, 2)
    assert records.merged == 2
    found = {
        (table.type, row["end"])
        for table in checked.tables
        if isinstance(table, RelationTable)
        for row in table.rows.to_pylist()
    }
    assert found == {
        (type_, minted("huatuo", class_, name))
        for type_, class_, names in (
            ("HAS_SYMPTOM", "Symptom", ("发热", "咳嗽", "胸痛")),
            ("RECOMMEND_CURE", "Cure", ("药物治疗", "支持性治疗")),
            ("RECOMMEND_TEST", "Test", ("血常规", "胸部CT")),
            ("RECOMMEND_DRUG", "Drug", ("阿莫西林颗粒",)),
            ("HAS_COMORBIDITY", "Disease", ("胸膜炎", "败血症")),
        )
        for name in names
    }


def test_what_several_records_say_is_one_relation_with_their_number(tiny: Path) -> None:
    frame = read(tiny / "huatuo.jsonl", manifest("huatuo")).frames["has_symptom"]
    rows = {row["name"]: row for row in frame.to_dicts()}
    assert {name: row["support"] for name, row in rows.items()} == {"发热": 2, "咳嗽": 2, "胸痛": 1}
    assert (rows["发热"]["record"], rows["发热"]["page"]) == ("huatuo.jsonl:1", 0)
    assert rows["发热"]["span"] == "肺炎的症状主要有发热、咳嗽和胸痛等。"
