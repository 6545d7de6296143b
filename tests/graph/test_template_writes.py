"""Every write template, on every store, leaves exactly the graph that the same change makes in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from graph.conftest import Backend
from graph.graphs import AWKWARD, Graph, Row, make_graph
from kgdx.errors import StoreError
from kgdx.graph.tables import fingerprint
from kgdx.graph.templates import templates
from kgdx.schema import load_schema

CASE = "case:new"
RUN = "run:new"
WRITES = sorted(name for name, template in templates().items() if template.kind == "write")


@dataclass(frozen=True)
class Write:
    """One write, and the same change in plain Python, which returns the rows that the template must return."""

    template: str
    parameters: dict[str, Any]
    change: Callable[[Graph], list[Row]]


def put(graph: Graph, class_: str, id_: str, /, **values: Any) -> list[Row]:
    """Set a node's properties, making it where it is not there; null removes one."""
    row = graph.node(class_, id_)
    if row is None:
        row = {"id": id_}
        graph.nodes[class_].append(row)
    row.update(values)
    return [{"id": id_}]


def link(graph: Graph, type_: str, ends: tuple[str, str], start: str, end: str, **values: Any) -> None:
    """Set an edge's properties, making it where it is not there."""
    edges = graph.of(type_, *ends)
    edge = next((e for e in edges if (e["start"], e["end"]) == (start, end)), None)
    if edge is None:
        edge = {"start": start, "end": end}
        edges.append(edge)
    edge.update(values)


def unlink(graph: Graph, keep: Callable[[str, Row], bool]) -> int:
    """Drop the edges that are not kept; returns how many went."""
    gone = 0
    for (type_, _, _), edges in graph.edges.items():
        kept = [e for e in edges if keep(type_, e)]
        gone += len(edges) - len(kept)
        edges[:] = kept
    return gone


def findings(relation: str, ends: tuple[str, str], rows: list[Row]) -> Callable[[Graph], list[Row]]:
    """The change of adding rows that name a node at the other end; unknown ids are passed over."""

    def change(graph: Graph) -> list[Row]:
        start = RUN if ends[0] == "Diagnosis" else CASE
        known = [row for row in rows if graph.node(ends[1], row["id"])]
        for row in known:
            values = {k: v for k, v in row.items() if k != "id"}
            link(graph, relation, ends, start, row["id"], source="user", **values)
        return [{"id": row["id"]} for row in known]

    return change


def cleared(relations: tuple[str, ...], start: str) -> Callable[[Graph], list[Row]]:
    """The change of dropping edges of one node."""

    def change(graph: Graph) -> list[Row]:
        gone = unlink(graph, lambda type_, e: type_ not in relations or e["start"] != start)
        return [{"n": gone}] if gone else []

    return change


OBSERVED: list[Row] = [
    {"id": "HP:0000001", "method": "fuzzy", "score": 0.25, "text": AWKWARD[1], "span_start": 3, "span_end": 9},
    {"id": "HP:0000002", "onset": "HP:0003577", "matched": AWKWARD[0]},
    {"id": "HP:unknown"},
]
EXCLUDED: list[Row] = [{"id": "HP:0000003", "text": AWKWARD[4]}]
DISEASES: list[Row] = [{"id": "OMIM:0000001", "status": "solved"}, {"id": "OMIM:x"}]
CANDIDATES: list[Row] = [
    {"id": "OMIM:0000001", "rank": 1, "score": -2.5, "contributions": ["HP:0000001 +2.38"]},
    {"id": "OMIM:0000002", "rank": 2},
]
WEIGHED: list[Row] = [
    {"id": "HP:0000001", "contribution": 2.38, "contributions": ["OMIM:0000001 +2.38", "OMIM:0000002 -0.10"]},
    {"id": "HP:unknown", "contributions": ["OMIM:0000002 +0.00"]},
]
ASKED: list[tuple[str, str, str, list[Row]]] = [
    ("put_asked", "ASKED", "Phenotype", [{"id": "HP:0000001", "turn": 1, "answer": "absent", "gain": 0.5}]),
    ("put_asked_symptoms", "ASKED", "Symptom", [{"id": "KGDX:s0000001", "turn": 2}, {"id": "KGDX:unknown", "turn": 3}]),
    ("put_ordered", "ORDERED", "Test", [{"id": "KGDX:t0000001", "turn": 4, "answer": "present"}]),
]
PUBLICATIONS: list[Row] = [{"id": "PMID:0000001"}, {"id": "PMID:new", "title": AWKWARD[3]}]
THE_CASE = {"source": "user", "label": AWKWARD[5], "sex": "MALE", "age": "P1Y", "text": AWKWARD[2], "synthetic": False}
THE_RUN = {"source": "user", "policy": "fixed", "kgdx_version": "1", "fingerprint": "f", "trace": '{"a": "\\""}'}
TO_PHENOTYPE, TO_DISEASE = ("PatientCase", "Phenotype"), ("PatientCase", "Disease")


def put_run(graph: Graph) -> list[Row]:
    link(graph, "HAS_RUN", ("PatientCase", "Diagnosis"), CASE, RUN, source="user")
    created = (graph.node("Diagnosis", RUN) or {}).get("created", "2026-02-01")
    return put(graph, "Diagnosis", RUN, created=created, name=f"Diagnosis of {THE_CASE['label']}", **THE_RUN)


def put_publications(graph: Graph) -> list[Row]:
    for row in PUBLICATIONS:
        old = graph.node("Publication", row["id"]) or {"source": "user"}
        put(graph, "Publication", row["id"], source=old["source"], title=row.get("title", old.get("title")))
        link(graph, "REPORTED_IN", ("PatientCase", "Publication"), CASE, row["id"], source="user")
    return [{"id": row["id"]} for row in PUBLICATIONS]


def delete_case(graph: Graph) -> list[Row]:
    runs = {e["end"] for e in graph.of("HAS_RUN", "PatientCase", "Diagnosis") if e["start"] == CASE}
    gone = {CASE} | runs
    unlink(graph, lambda _, e: e["start"] not in gone and e["end"] not in gone)
    for label in ("PatientCase", "Diagnosis"):
        graph.nodes[label][:] = [r for r in graph.nodes[label] if r["id"] not in gone]
    return []


def clear_names_zh(label: str) -> Callable[[Graph], list[Row]]:
    def change(graph: Graph) -> list[Row]:
        rows = [row for row in graph.nodes[label] if row.get("name_zh_source") == "zh1"]
        for row in rows:
            row.update(name_zh=None, name_zh_source=None)
        return [{"n": len(rows)}]

    return change


def case_writes() -> Iterator[Write]:
    """A case and its run, as they are saved."""
    case, run = {"case_id": CASE, "source": "user"}, {"run_id": RUN}
    yield Write("put_case", {"case_id": CASE} | THE_CASE, lambda g: put(g, "PatientCase", CASE, **THE_CASE))
    yield Write("clear_case", {"case_id": CASE}, cleared(("OBSERVED", "EXCLUDED", "DIAGNOSED"), CASE))
    yield Write("put_observations", case | {"rows": OBSERVED}, findings("OBSERVED", TO_PHENOTYPE, OBSERVED))
    yield Write("put_exclusions", case | {"rows": EXCLUDED}, findings("EXCLUDED", TO_PHENOTYPE, EXCLUDED))
    yield Write("put_observations", case | {"rows": []}, lambda _: [])
    yield Write("put_case_diseases", case | {"rows": DISEASES}, findings("DIAGNOSED", TO_DISEASE, DISEASES))
    yield Write("put_case_publications", case | {"rows": PUBLICATIONS}, put_publications)
    yield Write("put_run", case | run | THE_RUN | {"created": "2026-02-01"}, put_run)
    yield Write("clear_run", run, cleared(("CONSIDERED", "WEIGHED"), RUN))
    yield Write("clear_asked", run, cleared(("ASKED", "ORDERED"), RUN))
    for template, relation, label, rows in ASKED:
        change = findings(relation, ("Diagnosis", label), rows)
        yield Write(template, run | {"source": "user", "rows": rows}, change)
    considered = findings("CONSIDERED", ("Diagnosis", "Disease"), CANDIDATES)
    yield Write("put_candidates", run | {"source": "user", "rows": CANDIDATES}, considered)
    weighed = findings("WEIGHED", ("Diagnosis", "Phenotype"), WEIGHED)
    yield Write("put_weighed", run | {"source": "user", "rows": WEIGHED}, weighed)


def predicted(disease: str, model: str, relation: str, label: str, rows: list[Row]) -> Write:
    """What a model expects of a disease; unknown ids are passed over."""
    told = {"source": "user", "relation": relation, "model": model, "embeddings": "digest"}

    def change(graph: Graph) -> list[Row]:
        known = [row for row in rows if graph.node(label, row["id"])]
        edges = graph.of("PREDICTED", "Disease", label)
        for row in known:
            new = {"start": disease, "end": row["id"], **told, "score": row["score"], "probability": row["probability"]}
            keys = ("start", "end", "source", "relation", "model")
            edges[:] = [each for each in edges if any(each[key] != new[key] for key in keys)]
            edges.append(new)
        return [{"id": row["id"]} for row in known]

    return Write("put_predictions", {"disease": disease, **told, "rows": rows}, change)


def drop_predictions(model: str | None) -> Write:
    def change(graph: Graph) -> list[Row]:
        return [{"n": unlink(graph, lambda type_, e: type_ != "PREDICTED" or model not in (None, e["model"]))}]

    return Write("drop_predictions", {"model": model}, change)


EXPECTED: list[Row] = [
    {"id": "KGDX:s0000001", "score": 0.5, "probability": 0.25},
    {"id": "KGDX:s0000002", "score": -0.5, "probability": 0.125},
    {"id": "KGDX:unknown", "score": 0.5, "probability": 0.25},
]


def predictions() -> Iterator[Write]:
    """What two models expect, one of them twice, and what is left when each is dropped."""
    yield predicted("OMIM:0000001", "vgae", "HAS_SYMPTOM", "Symptom", EXPECTED)
    yield predicted("OMIM:0000001", "vgae", "HAS_SYMPTOM", "Symptom", [EXPECTED[0] | {"score": 0.75}])
    yield predicted("OMIM:0000001", AWKWARD[1], "HAS_SYMPTOM", "Symptom", EXPECTED[:1])
    for label, id_ in (("Phenotype", "HP:0000001"), ("Disease", "OMIM:0000002"), ("Gene", "NCBIGene:0000001")):
        yield predicted("OMIM:0000001", "vgae", "HAS_PHENOTYPE", label, [EXPECTED[0] | {"id": id_}])
    for label, id_ in (("Drug", "KGDX:d0000001"), ("Test", "KGDX:t0000001"), ("Cure", "KGDX:c0000001")):
        yield predicted("OMIM:0000002", "vgae", "RECOMMEND_DRUG", label, [EXPECTED[0] | {"id": id_}])
    yield drop_predictions(AWKWARD[1])
    yield drop_predictions("vgae")
    yield drop_predictions(None)


def all_writes() -> Iterator[Write]:
    """Every write template: saving a case twice, then taking things away."""
    yield from case_writes()
    yield from case_writes()
    yield from predictions()
    yield Write("clear_disease_names_zh", {"source": "zh1"}, clear_names_zh("Disease"))
    yield Write("clear_phenotype_names_zh", {"source": "zh1"}, clear_names_zh("Phenotype"))
    yield Write("set_build", {"created": "2026"}, lambda g: [{"id": "build:current"}])
    yield Write("delete_case", {"case_id": "case:x"}, lambda _: [])
    yield Write("delete_case", {"case_id": CASE}, delete_case)


def in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=str)


def test_every_write_template_is_tried() -> None:
    assert sorted({write.template for write in all_writes()}) == WRITES


def test_writes_leave_the_graph_that_plain_python_leaves(backend: Backend) -> None:
    graph = make_graph(seed=5, scale=0.1)
    store = backend.new(graph.tables())
    for write in all_writes():
        got = store.write(write.template, **write.parameters)
        assert in_order(got) == in_order(write.change(graph)), write.template
        assert dict(store.counts()) == graph.counts() | {"Build": 1}, write.template
    assert store.fingerprint() == fingerprint(graph.tables())


def test_saving_a_case_again_changes_nothing(backend: Backend, small_graph: Graph) -> None:
    store = backend.new(small_graph.tables())
    prints = []
    for _ in range(2):
        with store.transaction() as running:
            for write in case_writes():
                running.run(write.template, **write.parameters)
        prints.append(store.fingerprint())
    assert prints[0] == prints[1] != fingerprint(small_graph.tables())


def test_set_build_keeps_what_is_left_out(backend: Backend) -> None:
    store = backend.new()
    store.write("set_build", fingerprint="abc", created="2026")
    store.write("set_build", created="2027")
    built = store.run("build")[0]
    assert (built["fingerprint"], built["created"]) == ("abc", "2027")
    assert built["schema_version"] == load_schema().version


def test_an_exception_rolls_the_whole_transaction_back(backend: Backend, small_graph: Graph) -> None:
    store = backend.new(small_graph.tables())
    before = store.fingerprint()
    with pytest.raises(ZeroDivisionError), store.transaction() as running:
        for write in all_writes():
            running.run(write.template, **write.parameters)
        raise ZeroDivisionError
    assert store.fingerprint() == before
    with pytest.raises(StoreError), store.transaction() as running:
        running.run("put_case", case_id="c", source="user")
        running.run("no_such_template")
    assert store.run("case_by_id", case_id="c") == []
    store.write("put_case", case_id="c", source="user")
    assert len(store.run("case_by_id", case_id="c")) == 1


def test_a_read_sees_what_its_transaction_wrote(backend: Backend) -> None:
    store = backend.new()
    with store.transaction() as running:
        running.run("put_case", case_id="c", source="user", label="here")
        assert running.run("case_by_id", case_id="c")[0]["label"] == "here"
