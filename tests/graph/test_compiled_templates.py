"""The compiled form of a template returns what the template returns: the same rows, in the same order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graph.oracles_actions
import graph.oracles_cases  # noqa: F401  registers its oracles
from conftest import examples
from graph.conftest import Backend
from graph.graphs import Graph
from graph.oracles import ORACLES, sorted_rows
from kgdx.errors import StoreError, TemplateError
from kgdx.files import known
from kgdx.graph.compiled_templates import COMPILED, CompiledQueries
from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable, digest
from kgdx.graph.snapshot import LIST, Snapshot
from kgdx.graph.snapshot_compile import compile_snapshot, snapshot_tables
from kgdx.graph.templates import templates


@pytest.fixture(scope="module")
def compiled(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> CompiledQueries:
    return CompiledQueries(compile_snapshot(graph.tables(), tmp_path_factory.mktemp("staged") / "s", "f"))


@pytest.mark.parametrize("name", COMPILED)
def test_the_compiled_form_returns_what_the_data_says(compiled: CompiledQueries, graph: Graph, name: str) -> None:
    oracle = ORACLES[name]
    for parameters in oracle.parameters(graph):
        rows, order = compiled.run(name, **parameters), oracle.order or templates()[name].columns
        given = rows if oracle.order else sorted_rows(rows, order)  # the store's order is compared with it elsewhere
        assert given == _in_columns(name, sorted_rows(oracle.compute(graph, **parameters), order)), parameters


def _in_columns(name: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{column: row[column] for column in templates()[name].columns} for row in rows]


PAIRS = st.lists(st.tuples(st.sampled_from(["a", "b", "c", "d", "' OR 1=1 //"]), st.integers(-1, 199)), max_size=12)


@examples(40)
@given(pairs=PAIRS, minimum=st.integers(-1, 5), limit=st.integers(0, 40))
def test_any_grouping_of_given_things_is_counted_right(
    compiled: CompiledQueries, graph: Graph, pairs: list[tuple[str, int]], minimum: int, limit: int
) -> None:
    nodes = [row["id"] for row in graph.nodes["Drug"]]
    drugs = [{"given": one, "id": nodes[at] if at >= 0 else "nowhere"} for one, at in pairs]
    parameters = {"drugs": drugs, "min_match_count": minimum, "limit": limit}
    expected = ORACLES["infer_diseases_by_drugs"].compute(graph, **parameters)
    assert compiled.run("infer_diseases_by_drugs", **parameters) == list(expected)


def test_a_graph_without_relations_has_no_rows(tmp_path: Path) -> None:
    nodes = pa.table({"id": ["D:1"], "name": ["one"]})
    queries = CompiledQueries(compile_snapshot([NodeTable("Disease", nodes)], tmp_path / "s", "f"))
    given = [{"given": "x", "id": "x"}]
    for name in COMPILED:
        takes = templates()[name].parameters
        if "diseases" in takes:
            parameters: dict[str, Any] = {name: ["x"] for name, kind in takes.items() if kind == "strings"}
            parameters |= {"diseases": ["D:1"]} | ({"limit": 5} if "limit" in takes else {})
            parameters |= {"minimum": 0.0} if "minimum" in takes else {}
        elif "phenotype" in takes:
            parameters = {"phenotype": "x"} | ({"limit": 5} if "limit" in takes else {})
        elif "without" in takes:
            near = [{"asked": 0, "id": "x", "similarity": 1}]
            parameters = {"near": near, "asked": 1, "without": ["y"], "publications": [], "limit": 5}
        else:
            (asked,) = templates()[name].parameters.keys() - {"min_match_count", "limit"}
            things = ["x"] if asked == "phenotypes" else given
            parameters = {asked: things, "min_match_count": 1, "limit": 5}
        assert queries.run(name, **parameters) == [], name


def test_saved_cases_take_the_place_of_those_that_were_compiled(backend: Backend, tmp_path: Path) -> None:
    phenotypes = pa.table({"id": ["HP:1", "HP:2", "HP:3"], "name": ["one", "two", "three"]})
    cases = pa.table({"id": ["case:b", "case:d"], "label": ["b", "d"], "source": ["made", "user"]})
    observed = pa.table(
        {"start": ["case:b", "case:d", "case:d"], "end": ["HP:1", "HP:1", "HP:2"], "source": ["made"] * 3}
    )
    tables: list[GraphTable] = [
        NodeTable("Phenotype", phenotypes),
        NodeTable("PatientCase", cases),
        RelationTable("OBSERVED", "PatientCase", "Phenotype", observed),
    ]
    store = backend.new(tables)
    queries = CompiledQueries(
        compile_snapshot(snapshot_tables(store), tmp_path / "s", "f"), lambda: store.run("saved_cases", source="user")
    )
    near = [{"asked": at, "id": f"HP:{at}", "similarity": 9000} for at in (1, 2, 3)]
    questions: list[tuple[str, dict[str, Any]]] = [
        ("similar_cases", {"near": near, "asked": 3, "without": [], "publications": [], "limit": 9}),
        *(
            ("cooccurring_phenotypes", {"phenotype": i, "source": s, "limit": 9})
            for i in ("HP:1", "HP:3")
            for s in (None, "user")
        ),
    ]

    def same() -> list[str]:
        for name, parameters in questions:
            assert queries.run(name, **parameters) == store.run(name, **parameters), (name, parameters)
            assert list(queries.answered(name, **parameters).rows) == store.run(name, **parameters)
        return [row["id"] for row in queries.run("similar_cases", **questions[0][1])]

    def put(case: str, *findings: str) -> None:
        store.write("put_case", case_id=case, source="user", label=None, synthetic=False)
        store.write("clear_case", case_id=case)
        store.write("put_observations", case_id=case, source="user", rows=[{"id": each} for each in findings])

    store.write("delete_case", case_id="case:d")
    assert same() == ["case:b"]
    put("case:a", "HP:3", "HP:1")
    put("case:c")
    assert same() == ["case:a", "case:b"]
    put("case:c", "HP:1", "HP:2", "HP:3")
    assert same() == ["case:c", "case:a", "case:b"]


def test_no_more_than_twenty_steps_down_are_followed(tmp_path: Path) -> None:
    ids = [f"HP:{at:02d}" for at in range(30)]
    tables: list[GraphTable] = [
        NodeTable("Disease", pa.table({"id": ["D:1"], "name": ["one"]})),
        NodeTable("Phenotype", pa.table({"id": ids, "name": ids})),
        RelationTable("IS_A", "Phenotype", "Phenotype", pa.table({"start": ids[1:], "end": ids[:-1]})),
        RelationTable("HAS_PHENOTYPE", "Disease", "Phenotype", pa.table({"start": ["D:1"], "end": [ids[-1]]})),
    ]
    queries = CompiledQueries(compile_snapshot(tables, tmp_path / "s", "f"))
    rows = queries.run("infer_diseases", phenotypes=ids, min_match_count=1, limit=5)
    assert rows[0]["matched_ids"] == ids[-21:]


def test_what_was_put_together_once_is_read_again(graph: Graph, tmp_path: Path) -> None:
    snapshot = compile_snapshot(graph.tables(), tmp_path / "s", "f")
    question = ORACLES["infer_diseases_by_tests"].parameters(graph)[0]
    rows = CompiledQueries(snapshot).run("infer_diseases_by_tests", **question)
    files = {file: file.stat().st_mtime_ns for file in snapshot.path.rglob("*.npy")}
    assert files
    assert CompiledQueries(snapshot).run("infer_diseases_by_tests", **question) == rows
    assert {file: file.stat().st_mtime_ns for file in snapshot.path.rglob("*.npy")} == files


@pytest.mark.parametrize(
    ("name", "files"), [("infer_diseases_by_cures", "*.npy"), ("comorbidities_of_diseases", "derived/*/table.arrow")]
)
def test_damaged_files_are_made_again_and_say_what_to_do_where_that_does_not_help(
    graph: Graph, tmp_path: Path, name: str, files: str
) -> None:
    said: list[str] = []
    compile_snapshot(graph.tables(), tmp_path / "s", "f")
    snapshot = Snapshot.open(tmp_path / "s", tell=said.append)
    question = ORACLES[name].parameters(graph)[1]
    rows = CompiledQueries(snapshot).run(name, **question)
    written = {file: file.read_bytes() for file in snapshot.path.rglob(files)}
    assert rows and written and not said
    for file in written:
        file.write_bytes(b"x")
    assert CompiledQueries(snapshot).run(name, **question) == rows
    assert said and all("is damaged and made again" in line for line in said)
    assert {file: file.read_bytes() for file in written} == written
    for folder in {file.parent for file in written}:
        for file in folder.glob(files.rpartition("/")[2]):
            file.write_bytes(b"x")
        known.write_list(folder / LIST, known.known(folder, known.listed(folder, without=[LIST])))
    with pytest.raises(StoreError, match=r"cannot be read.*kgdx build"):
        CompiledQueries(snapshot).run(name, **question)


def test_answers_are_remembered_with_their_digest_up_to_a_bound(
    compiled: CompiledQueries, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = ORACLES["phenotypes_of_diseases"].parameters(graph)[:3]
    first = [compiled.answered("phenotypes_of_diseases", **question) for question in questions]
    for question, answer in zip(questions, first, strict=True):
        rows = compiled.run("phenotypes_of_diseases", **question)
        assert list(answer.rows) == rows and answer.digest == digest(rows)
        assert compiled.answered("phenotypes_of_diseases", **question) is answer
    monkeypatch.setattr("kgdx.graph.compiled_templates.MOST_REMEMBERED", 0)
    again = compiled.answered("phenotypes_of_diseases", **questions[0], limit=2)
    assert compiled.answered("phenotypes_of_diseases", **questions[0], limit=2) == again
    assert compiled.answered("phenotypes_of_diseases", **questions[0], limit=2) is not again


def test_what_cannot_be_asked_is_refused(compiled: CompiledQueries) -> None:
    assert compiled.has("infer_diseases") and not compiled.has("case_by_id")
    with pytest.raises(TemplateError, match="case_by_id has no compiled form"):
        compiled.run("case_by_id", case_id="x")
    with pytest.raises(TemplateError, match="did you mean infer_diseases"):
        compiled.run("infer_disease", phenotypes=[])
    with pytest.raises(TemplateError, match="needs limit"):
        compiled.run("infer_diseases", phenotypes=[], min_match_count=1)
    for name, parameters in {
        "genes_of_diseases": {"diseases": []},
        "infer_diseases_exact": {"phenotypes": [], "min_match_count": 1},
    }.items():
        with pytest.raises(TemplateError, match="limit is -1"):
            compiled.run(name, **parameters, limit=-1)
