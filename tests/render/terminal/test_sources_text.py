from __future__ import annotations

from kgdx.ingest.pipeline.quarantine import RefusalGroup
from kgdx.render.terminal.console import text
from kgdx.render.terminal.sources_text import overview


def group(record: str) -> RefusalGroup:
    return RefusalGroup("clinic", "… is no Phenotype", 1, "HP:9 is no Phenotype", "/data/clinic.csv", 4, record)


def test_a_refused_record_is_shown_by_its_columns_without_those_that_are_empty() -> None:
    record = '{"start": "OMIM:1", "end": "HP:9", "onset": null, "pmid": [], "count": 2, "at": ["a", "b"]}'
    shown = text(overview([group(record)], 20), 80)
    assert "clinic.csv, line 4: start: OMIM:1 · end: HP:9 · count: 2" in " ".join(shown.split())
    assert '["a", "b"]' in shown and "onset" not in shown


def test_a_line_that_could_not_be_read_is_shown_as_it_is() -> None:
    assert "line 4: a,b,c" in text(overview([group("a,b,c")], 20), 80)
    assert "line 4: 431158" in text(overview([group("431158")], 20), 80)
