"""A reference that a record makes in passing is a relation where its end is in the graph, and else no fault."""

from __future__ import annotations

import polars as pl

from kgdx.ingest.check import check
from kgdx.ingest.column_mapping import stage
from kgdx.ingest.manifest import End, Manifest, NodeMap, RelationMap
from kgdx.ingest.records import Records
from kgdx.schema import load_schema

TERMS = pl.DataFrame({"_line": [1, 2], "id": ["MONDO:1", "MONDO:2"], "name": ["One", "Two"]})
SAME = pl.DataFrame({"_line": [1, 1], "id": ["MONDO:1", "MONDO:1"], "other": ["MONDO:2", "OMIM:404"]})


def manifest(role: str) -> Manifest:
    return Manifest.model_validate(
        {
            "name": "tiny",
            "title": "Tiny",
            "homepage": "-",
            "licence": "-",
            "citation": "-",
            "default": None,
            "format": "table",
            "nodes": [
                NodeMap.model_validate({"class": "Disease", "frame": "t", "id": "id", "properties": {"name": "name"}})
            ],
            "relations": [
                RelationMap.model_validate(
                    {
                        "type": "SAME_AS",
                        "frame": "s",
                        "role": role,
                        "start": End.model_validate({"class": "Disease", "id": "id"}),
                        "end": End.model_validate({"class": "Disease", "id": "other"}),
                        "properties": {"relation": {"constant": "exact"}},
                    }
                )
            ],
        }
    )


def test_an_implied_relation_to_what_is_not_loaded_is_left_out_and_not_counted() -> None:
    found = manifest("implied")
    tables, refused = stage(Records({"t": TERMS, "s": SAME}), found)
    checked = check(tables, {"tiny": refused}, load_schema())
    assert [t.rows.column("end").to_pylist() for t in checked.tables if hasattr(t, "type")] == [["MONDO:2"]]
    assert checked.quarantine.is_empty()
    counts = checked.counts["tiny"]
    assert (counts.read, counts.loaded, counts.quarantined) == (2, 2, 0)


def test_a_stated_relation_to_what_is_not_loaded_is_quarantined() -> None:
    found = manifest("record")
    tables, refused = stage(Records({"t": TERMS, "s": SAME}), found)
    checked = check(tables, {"tiny": refused}, load_schema())
    assert checked.quarantine["reason"].to_list() == ["OMIM:404 is no Disease of this graph"]
    assert checked.counts["tiny"].read == 4
