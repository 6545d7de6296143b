"""Graphs, builds, sources and extractions in the terminal."""

from __future__ import annotations

import io
import sys
from collections import Counter
from dataclasses import replace

import pytest
from rich.console import Console

from kgdx.episode import Replayed
from kgdx.graph.templates import templates
from kgdx.ingest.extraction.extract import RelationExtraction
from kgdx.ingest.pipeline.build_report import BuildProgress, BuildReport, Change, RefusalCount, SourceReport
from kgdx.ingest.pipeline.graph_diff import Comparison
from kgdx.ingest.pipeline.quarantine import RefusalGroup
from kgdx.llm.budget import Spent
from kgdx.render.terminal import build_text, graph_text
from kgdx.render.terminal.build_text import comparison
from kgdx.render.terminal.console import text
from kgdx.render.terminal.sources_text import extraction, extraction_progress, far, overview

REPORT = BuildReport(
    id="b1",
    path="/data/graphs/default/builds/b1",
    created="2025-01-01T00:00:00+00:00",
    fingerprint="abcdef0123456789abcdef",
    schema_version="1.0.0",
    schema_checksum="c",
    kgdx_version="0.1.0",
    sources={
        "hp": SourceReport("hp", origin="hp.obo", version="2025-01-16", read=19_034, loaded=19_030, merged=4),
        "hpoa": SourceReport(
            "hpoa",
            origin="phenotype.hpoa",
            version="2025-01-16",
            read=272_061,
            loaded=271_000,
            merged=1_000,
            quarantined=61,
        ),
    },
    nodes={"Disease": 12_731, "Phenotype": 19_034},
    relations={"HAS_PHENOTYPE": 271_000, "LACKS_PHENOTYPE": 900},
    reasons=(RefusalCount("hpoa", "unknown id …", 61, "unknown id 'HP:9999999'"),),
    warnings=("hpoa has 3 records, expected are 200,000 to 400,000",),
    seconds={"parse": 3.2, "load": 4.4, "kgdx.rank.ranking_model:compile_if_annotated": 2.0, "total": 10.1},
    kind="build",
    changes=(Change("Disease", "hpoa", added=3, changed=2), Change("Disease-HAS_PHENOTYPE->Phenotype", "hpoa", 10, 4)),
    content={
        "Disease": {"hpoa": 12_700, "orphanet": 31},
        "Phenotype": {"hp": 19_034},
        "HAS_PHENOTYPE": {"hpoa": 271_000},
        "LACKS_PHENOTYPE": {"hpoa": 900},
    },
    mappings={"SAME_AS": {"names": 700, "orphanet": 59}},
)

SHOWN = """\
Built in 10.1 s: the graph is ready, 31,765 nodes and 271,900 relations of 2
sources.
61 of 291,095 records were refused, the rest is in it.
Different from before: 13 rows added, 4 rows removed, 2 nodes changed.
! hpoa has 3 records, expected are 200,000 to 400,000
Next: kgdx quarantine show

Refused
Source  records  such as
hpoa         61  unknown id 'HP:9999999'

Changed
what                              added  removed  changed
Disease-HAS_PHENOTYPE->Phenotype     10        4        0
Disease                               3        0        2

Source  version        read   loaded  merged  refused
hp      2025-01-16   19,034   19,030       4        0
hpoa    2025-01-16  272,061  271,000   1,000       61

What is the same, by method  count  of
SAME_AS                        759  names 700, orphanet 59

Nodes       count  of
Phenotype  19,034  hp
Disease    12,731  hpoa 12,700, orphanet 31

Relations          count  of
HAS_PHENOTYPE    271,000  hpoa
LACKS_PHENOTYPE      900  hpoa

stages       parse 3.2 s, load 4.4 s
beside them  rank model 2.0 s
fingerprint  abcdef0123456789
graph        /data/graphs/default
"""


def test_a_build_report_opens_with_what_a_person_wants_to_know() -> None:
    assert text(build_text.report(REPORT)) == SHOWN


def test_after_an_update_stands_what_changed_and_not_the_whole_graph_again() -> None:
    shown = text(build_text.report(replace(REPORT, kind="update")))
    assert shown.startswith("Updated in 10.1 s")
    tables = SHOWN[SHOWN.index("Refused") : SHOWN.index("What is the same")]
    assert tables in shown
    assert "What is the same" not in shown and "\nNodes" not in shown and "\nRelations" not in shown
    assert shown.endswith(SHOWN[SHOWN.index("stages ") :])


def test_a_build_without_a_fault_says_so() -> None:
    fine = replace(REPORT, sources={"hp": REPORT.sources["hp"]}, reasons=(), warnings=(), changes=(), kind="build")
    head = text(build_text.report(fine)).splitlines()[:5]
    assert head[2:5] == [
        "None of 19,034 records was refused.",
        "Different from before: nothing.",
        'Next: kgdx diagnose "…"',
    ]


def test_a_terminal_sees_rate_and_time_left(monkeypatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(
        build_text, "console", lambda _: Console(file=screen, force_terminal=True, width=80, legacy_windows=False)
    )
    with build_text.build_progress() as tell:
        tell(BuildProgress("load", "0 HAS_PHENOTYPE", 0.5, 10.0, rows=0, total=100))
        tell(BuildProgress("load", "HAS_PHENOTYPE " * 9, 0.75, 12.0, rows=50_000, total=100))
    shown = screen.getvalue()
    assert "25,000 rows/s" in shown and "0:04 left" in shown and "75%" in shown
    assert "…" in shown, "what does not fit is cut"


def test_a_download_shows_its_speed_and_when_it_is_there() -> None:
    pace = build_text.Pace()
    assert pace.rate(BuildProgress("fetch", "", 0.0, 1.0, bytes=1_000_000, total=11_000_000)) == ""
    event = BuildProgress("fetch", "", 0.0, 3.0, bytes=5_000_000, total=11_000_000)
    assert (pace.rate(event), pace.left(event)) == ("2.0 MB/s", "0:03 left")


def test_a_graph_without_a_build_node_can_be_shown() -> None:
    found = {"store": "bolt://x", "build": None, "sources": [], "nodes": {}, "relations": {}}
    assert "unknown" in text(build_text.state(found))


def test_every_template_is_listed_and_has_a_page() -> None:
    every = templates()
    shown = text(graph_text.template_list(list(every.values())))
    assert all(name in shown for name in every)
    for each in every.values():
        assert all(
            f"{name}: {type_}" in text(graph_text.template_details(each)) for name, type_ in each.parameters.items()
        )


def test_few_columns_make_a_table_and_many_make_blocks() -> None:
    row = {name: name.upper() for name in "abcdefg"}
    assert text(graph_text.rows(("a", "b"), [row])).splitlines() == ["a  b", "A  B", "1 row"]
    assert text(graph_text.rows(tuple("abcdefg"), [row])).splitlines()[0] == "a  A"
    assert text(graph_text.rows(("a",), [])) == "no rows\n"


def test_empty_values_are_left_out_of_blocks() -> None:
    row = {name: None for name in "abcdef"} | {"a": ["x", "y"]}
    assert text(graph_text.rows(tuple("abcdef"), [row])).splitlines() == ["a  x, y", "", "1 row"]


def test_a_replay_says_what_changed() -> None:
    shown = text(graph_text.replayed([Replayed("t", {}, 3, 3, True), Replayed("u", {}, 3, 4, False)]))
    assert "the same" in shown
    assert "different" in shown


MINTED = "KGDX:clinic.0123456789abcdef"

FOUND = Comparison(
    "the build before",
    "/data/graphs/default",
    (
        Change("Disease", "clinic", added=2, examples=(f"+ {MINTED}", "+ OMIM:1")),
        Change("Disease", "hpoa", removed=1, changed=6_980, examples=("- OMIM:2", "~ OMIM:3", "~ OMIM:4")),
        Change("MeshDescriptor-ALLOWABLE_QUALIFIER->MeshQualifier", "mesh", 28, examples=("+ MESH:D1 MESH:Q1",)),
        Change("PatientCase-DIAGNOSED->Disease", "clinic", 1, examples=("+ case one OMIM:2",)),
    ),
    {MINTED: "百日咳", "OMIM:1": "Marfan syndrome", "OMIM:2": "OMIM:2", "MESH:Q1": "blood supply"},
)

BUILT = """\
From the build before to /data/graphs/default: 31 rows added, 1 row removed,
6,980 nodes changed

Disease
  clinic  2 added
  hpoa    1 removed, 6,980 changed
     +  百日咳
     -  OMIM:2
     ~  OMIM:3

MeshDescriptor-ALLOWABLE_QUALIFIER->MeshQualifier
  mesh    28 added
     +  MESH:D1 → blood supply (MESH:Q1)

PatientCase-DIAGNOSED->Disease
  clinic  1 added
     +  case one OMIM:2
"""


def test_a_comparison_names_what_is_different_table_by_table() -> None:
    assert text(comparison(FOUND), 80) == BUILT


def test_examples_can_be_left_out_or_be_more() -> None:
    bare = text(comparison(FOUND, 0))
    assert "6,980 changed" in bare and "OMIM:3" not in bare
    assert "OMIM:4" in text(comparison(FOUND, 5))


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


DONE = RelationExtraction(
    "relations",
    "model \x1b[31m",
    pages=3,
    kept=1,
    records=3_000,
    reasons=Counter({"the line is no JSON": 2}),
    left_out=Counter({"not in the text": 12, "duplicate": 30}),
    by_type=Counter({"HAS_SYMPTOM": 1_200}),
    spent=Spent(
        calls=2_000, cached=5, retries=1, prompt_tokens=900_000, completion_tokens=100_000, uncounted=3, cost=0.5
    ),
    seconds=20.0,
    read_now=2_000,
)


def test_how_far_it_is_has_rate_cost_and_time_left() -> None:
    said = far(DONE, 13, True)
    assert said == "1,200 relations, 100 records/s, 1,000,000 tokens, cost 0.5000, 1 min 40 s left"
    assert "cost" not in far(DONE, 13, False)
    assert far(RelationExtraction("f", "m"), None, True) == "0 relations"
    assert "1 page failed" in far(replace(DONE, failed={3: "down"}), 13, True)


def test_a_finished_extraction_opens_with_what_was_read_and_hides_nothing() -> None:
    shown = text(extraction(DONE, True), 100)
    assert shown.startswith("1,200 relations from 3,000 records by model")
    assert "\x1b" not in shown
    for part in (
        "2   the line is no JSON",
        "30  duplicate",
        "12  not in the text",
        "3, 1 of them finished before",
        "2,000 answers, 5 from the cache, 1 retry, 3 without a count of tokens, 1,000,000 tokens, cost 0.5000",
        "kgdx update huatuo=relations, which adds them to the graph",
    ):
        assert " ".join(part.split()) in " ".join(shown.split()), shown


def test_without_a_terminal_progress_is_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgdx.render.terminal.sources_text.EVERY_S", 0.0)
    with extraction_progress(13, True) as tell:
        tell(DONE)
    assert capsys.readouterr().err == f"page 3 of 13: {far(DONE, 13, True)}\n"
