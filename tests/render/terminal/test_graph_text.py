from __future__ import annotations

import io
import sys
from dataclasses import replace

from rich.console import Console

from kgdx.episode import Replayed
from kgdx.graph.templates import templates
from kgdx.ingest.manifest import manifests
from kgdx.ingest.pipeline.build_report import BuildProgress, BuildReport, Change, RefusalCount, SourceReport
from kgdx.render.terminal import build_text, graph_text, sources_text
from kgdx.render.terminal.console import text
from kgdx.schema import load_schema

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


def test_progress_is_one_line_a_stage_where_there_is_no_terminal(capsys) -> None:
    with build_text.build_progress() as tell:
        for detail in ("Disease", "Phenotype"):
            tell(BuildProgress("load", detail, 0.5, 3.0))
        tell(BuildProgress("finish", "done", 1.0, 4.0))
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == ["   3.0 s  load     Disease", "   4.0 s  finish   done"]


def test_state_names_place_content_and_sources() -> None:
    found = {
        "store": "/data/graphs/default",
        "build": {"created": "2025-01-01", "kgdx_version": "0.1.0", "fingerprint": "f" * 64, "schema_version": "1"},
        "sources": [{"id": "hp", "version": "v", "read": 5, "loaded": 4, "merged": 1, "quarantined": 0}],
        "nodes": {"Disease": 3, "Gene": 0},
        "relations": {"IS_A": 7},
    }
    shown = text(build_text.state(found))
    assert "holds        3 nodes, 7 relations" in shown
    assert "Gene" not in shown
    assert "hp      v           5       4       1        0" in shown


def test_a_graph_without_a_build_node_can_be_shown() -> None:
    found = {"store": "bolt://x", "build": None, "sources": [], "nodes": {}, "relations": {}}
    assert "unknown" in text(build_text.state(found))


def test_every_source_is_listed() -> None:
    shown = text(sources_text.source_list(manifests().values()))
    assert len(shown.splitlines()) <= 2.5 * len(manifests()) + 6
    assert all(name in shown for name in manifests())


def test_every_template_is_listed_and_has_a_page() -> None:
    every = templates()
    shown = text(graph_text.template_list(list(every.values())))
    assert all(name in shown for name in every)
    for each in every.values():
        assert all(
            f"{name}: {type_}" in text(graph_text.template_details(each)) for name, type_ in each.parameters.items()
        )


def test_the_whole_ontology_is_shown() -> None:
    found = load_schema()
    shown = text(graph_text.ontology(found))
    assert all(name in shown for name in (*found.nodes, *found.relations))


def test_one_relation_is_shown_with_its_properties() -> None:
    shown = text(graph_text.element(load_schema().relation("MAPPED_TO")))
    assert "Symptom → Phenotype" in shown
    assert "exact, narrower" in " ".join(shown.split())


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
