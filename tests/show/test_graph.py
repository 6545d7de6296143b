from __future__ import annotations

from kgdx.actions import Replayed
from kgdx.load.clock import Progress
from kgdx.load.manifest import manifests
from kgdx.load.report import BuildReport, Reason, SourceReport
from kgdx.schema import load_schema
from kgdx.show import build, graph, schema
from kgdx.show.console import text
from kgdx.store.templates import templates

REPORT = BuildReport(
    id="b1",
    path="/data/graphs/default/builds/b1",
    created="2025-01-01T00:00:00+00:00",
    fingerprint="abcdef0123456789abcdef",
    schema_version="1.0.0",
    schema_checksum="c",
    kgdx_version="0.1.0",
    sources={
        "hp": SourceReport("hp", version="2025-01-16", read=19_034, loaded=19_030, merged=4),
        "hpoa": SourceReport("hpoa", version="2025-01-16", read=272_061, loaded=271_000, merged=1_000, quarantined=61),
    },
    nodes={"Disease": 12_731, "Phenotype": 19_034},
    relations={"HAS_PHENOTYPE": 271_000, "LACKS_PHENOTYPE": 900},
    reasons=(Reason("hpoa", "unknown id …", 61, "unknown id 'HP:9999999'"),),
    warnings=("hpoa has 3 records, expected are 200,000 to 400,000",),
    seconds={"parse": 3.2, "load": 4.4, "kgdx.rank:compile_model": 2.0, "total": 10.1},
)

SHOWN = """\
Built in 10.1 s: 12,731 diseases, 19,034 phenotypes, 271,900 annotations

Source  version        read   loaded  merged  refused
hp      2025-01-16   19,034   19,030       4        0
hpoa    2025-01-16  272,061  271,000   1,000       61

Refused records
Source  records  such as
hpoa         61  unknown id 'HP:9999999'

! hpoa has 3 records, expected are 200,000 to 400,000
stages       parse 3.2 s, load 4.4 s
beside them  compile model 2.0 s
fingerprint  abcdef0123456789
graph        /data/graphs/default
"""


def test_a_build_report_opens_with_what_a_person_wants_to_know() -> None:
    assert text(build.report(REPORT)) == SHOWN


def test_progress_is_one_line_a_stage_where_there_is_no_terminal(capsys) -> None:
    with build.build_progress() as tell:
        for detail in ("Disease", "Phenotype"):
            tell(Progress("load", detail, 0.5, 3.0))
        tell(Progress("finish", "done", 1.0, 4.0))
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
    shown = text(build.state(found))
    assert "holds        3 nodes, 7 relations" in shown
    assert "Gene" not in shown
    assert "hp      v           5       4       1        0" in shown


def test_a_graph_without_a_build_node_can_be_shown() -> None:
    found = {"store": "bolt://x", "build": None, "sources": [], "nodes": {}, "relations": {}}
    assert "unknown" in text(build.state(found))


def test_every_source_is_listed() -> None:
    shown = text(build.source_list(manifests().values()))
    assert all(name in shown for name in manifests())


def test_every_template_is_listed_and_has_a_page() -> None:
    every = templates()
    shown = text(graph.template_list(list(every.values())))
    assert all(name in shown for name in every)
    for each in every.values():
        assert all(f"{name}: {type_}" in text(graph.template_page(each)) for name, type_ in each.parameters.items())


def test_the_whole_ontology_is_shown() -> None:
    found = load_schema()
    shown = text(schema.overview(found))
    assert all(name in shown for name in (*found.nodes, *found.relations))


def test_one_relation_is_shown_with_its_properties() -> None:
    shown = text(schema.element(load_schema().relation("SAME_AS")))
    assert "Disease → Disease" in shown
    assert "exact, narrower" in shown


def test_few_columns_make_a_table_and_many_make_blocks() -> None:
    row = {name: name.upper() for name in "abcdefg"}
    assert text(graph.rows(("a", "b"), [row])).splitlines() == ["a  b", "A  B", "1 row"]
    assert text(graph.rows(tuple("abcdefg"), [row])).splitlines()[0] == "a  A"
    assert text(graph.rows(("a",), [])) == "no rows\n"


def test_empty_values_are_left_out_of_blocks() -> None:
    row = {name: None for name in "abcdef"} | {"a": ["x", "y"]}
    assert text(graph.rows(tuple("abcdef"), [row])).splitlines() == ["a  x, y", "", "1 row"]


def test_a_replay_says_what_changed() -> None:
    shown = text(graph.replayed([Replayed("t", {}, 3, 3, True), Replayed("u", {}, 3, 4, False)]))
    assert "the same" in shown
    assert "different" in shown
