"""The gate for each version of an engine: forms that engines have answered wrongly without an error.

Every expected value is computed in Python. The sizes lie above 2,048 rows, where silent wrong results begin.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from graph.conftest import Backend
from graph.graphs import AWKWARD, Graph, Row
from kgdx.errors import StoreError
from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable, Store

CASES = 3000
EDGES = 5000


@pytest.fixture(scope="module")
def cohort(backend: Backend) -> Iterator[tuple[Store, Graph]]:
    """Cases, each with some observed phenotypes and one diagnosis; half of the observations carry a score."""
    rng = np.random.default_rng(3)
    graph = Graph()
    graph.nodes["Phenotype"] = [{"id": f"HP:{i}", "name": f"p{i}", "source": "s"} for i in range(25)]
    graph.nodes["Disease"] = [{"id": f"OMIM:{i}", "name": f"d{i}", "source": "s"} for i in range(10)]
    graph.nodes["PatientCase"] = [{"id": f"c{i}", "source": "s"} for i in range(CASES)]
    for i in range(CASES):
        for j in rng.choice(25, size=3, replace=False):
            edge: Row = {"start": f"c{i}", "end": f"HP:{j}", "source": "s", "method": "exact" if i % 10 else "fuzzy"}
            graph.edges["OBSERVED", "PatientCase", "Phenotype"].append(edge | ({"score": i % 4 / 4} if i % 2 else {}))
        diagnosed: Row = {
            "start": f"c{i}",
            "end": f"OMIM:{i % 10}",
            "source": "s",
            "status": "solved" if i % 3 else "open",
        }
        graph.edges["DIAGNOSED", "PatientCase", "Disease"].append(diagnosed)
    store = backend.new(graph.tables())
    yield store, graph
    store.close()


HOP = "MATCH (p:Phenotype {id: 'HP:0'})<-[a:OBSERVED]-(c:PatientCase)-[b:DIAGNOSED]->(d:Disease)"
TWO = "MATCH (p:Phenotype {id: 'HP:0'})<-[a:OBSERVED]-(c:PatientCase)-[b:OBSERVED]->(q:Phenotype)"

#: A property of an edge as a condition in a pattern of several hops, in the forms that have gone wrong elsewhere.
ONE_DISEASE_FORMS = {
    "first edge": (f"{HOP} WHERE a.method = 'exact'", lambda a, b: a["method"] == "exact"),
    "first edge inline": (
        HOP.replace("a:OBSERVED", "a:OBSERVED {method: 'exact'}"),
        lambda a, b: a["method"] == "exact",
    ),
    "second edge": (f"{HOP} WHERE b.status = 'open'", lambda a, b: b["status"] == "open"),
    "not": (f"{HOP} WHERE NOT a.method = 'exact'", lambda a, b: a["method"] != "exact"),
    "unequal": (f"{HOP} WHERE a.method <> 'exact'", lambda a, b: a["method"] != "exact"),
    "both": (
        f"{HOP} WHERE a.method = 'exact' AND b.status = 'open'",
        lambda a, b: a["method"] == "exact" and b["status"] == "open",
    ),
    "either": (
        f"{HOP} WHERE a.method = 'fuzzy' OR b.status = 'open'",
        lambda a, b: a["method"] == "fuzzy" or b["status"] == "open",
    ),
    "in list": (f"{HOP} WHERE a.method IN ['fuzzy', 'x']", lambda a, b: a["method"] == "fuzzy"),
    "range": (f"{HOP} WHERE a.score >= 0.25 AND a.score < 0.75", lambda a, b: 0.25 <= a.get("score", -1) < 0.75),
    "absent": (f"{HOP} WHERE a.score IS NULL", lambda a, b: "score" not in a),
    "present": (f"{HOP} WHERE a.score IS NOT NULL", lambda a, b: "score" in a),
    "coalesce": (f"{HOP} WHERE coalesce(a.score, 9.0) > 0.6", lambda a, b: a.get("score", 9.0) > 0.6),
    "case": (
        f"{HOP} WHERE CASE WHEN a.method = 'exact' THEN b.status ELSE 'open' END = 'open'",
        lambda a, b: (b["status"] if a["method"] == "exact" else "open") == "open",
    ),
    "projected first": (f"{HOP} WITH c, a.method AS m WHERE m = 'exact'", lambda a, b: a["method"] == "exact"),
    "two matches": (
        "MATCH (p:Phenotype {id: 'HP:0'})<-[a:OBSERVED]-(c:PatientCase) WHERE a.method = 'exact' "
        "MATCH (c)-[b:DIAGNOSED]->(d:Disease) WHERE b.status = 'solved'",
        lambda a, b: a["method"] == "exact" and b["status"] == "solved",
    ),
    "exists": (
        f"{HOP} WHERE EXISTS {{ MATCH (c)-[x:DIAGNOSED]->(:Disease) WHERE x.status = 'open' }}",
        lambda a, b: b["status"] == "open",
    ),
    "string prefix": (f"{HOP} WHERE a.method STARTS WITH 'fu'", lambda a, b: a["method"].startswith("fu")),
    "far node": (
        f"{HOP} WHERE d.id = 'OMIM:3' AND a.method = 'exact'",
        lambda a, b: (b["end"], a["method"]) == ("OMIM:3", "exact"),
    ),
}


@pytest.mark.parametrize("form", ONE_DISEASE_FORMS)
def test_edge_conditions_in_longer_patterns_are_right(backend: Backend, cohort: tuple[Store, Graph], form: str) -> None:
    store, graph = cohort
    text, holds = ONE_DISEASE_FORMS[form]
    diagnosed = {e["start"]: e for e in graph.of("DIAGNOSED", "PatientCase", "Disease")}
    observed = [e for e in graph.of("OBSERVED", "PatientCase", "Phenotype") if e["end"] == "HP:0"]
    expected = sum(bool(holds(a, diagnosed[a["start"]])) for a in observed)
    assert 0 < expected < len(observed)
    assert backend.cypher(store, f"{text} RETURN count(*) AS n") == [{"n": expected}]


@pytest.mark.parametrize(
    "condition",
    ["a.method = 'exact' AND b.method = 'exact' AND q.id <> 'HP:0'", "q.id <> p.id AND a.method = b.method"],
)
def test_cooccurrence_with_conditions_on_both_edges_is_right(
    backend: Backend, cohort: tuple[Store, Graph], condition: str
) -> None:
    store, graph = cohort
    edges = graph.of("OBSERVED", "PatientCase", "Phenotype")
    cases = {e["start"]: e["method"] for e in edges if e["end"] == "HP:0"}
    exact = "exact'" in condition
    expected = Counter(
        e["end"]
        for e in edges
        if e["end"] != "HP:0" and cases.get(e["start"]) in (("exact",) if exact else ("exact", "fuzzy"))
    )
    rows = backend.cypher(store, f"{TWO} WHERE {condition} RETURN q.id AS id, count(DISTINCT c.id) AS n")
    assert {r["id"]: r["n"] for r in rows} == expected


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("[1, 2, 3][1]", 2),
        ("[1, 2, 3, 4][1..3]", [2, 3]),
        ("substring('abcdef', 1, 3)", "bcd"),
        ("'1' = 1", False),
        ("$hundred + $hundred", 200),
        ("[x IN [1, 2, 3] WHERE x > 1 | x * 2]", [4, 6]),
        ("reverse(['a', 'b'])", ["b", "a"]),
        ("head([])", None),
        ("size([])", 0),
        ("coalesce(null, 'x')", "x"),
        ("null = null", None),
        ("toLower('ÄB')", "äb"),
        ("$hundred / 8", 12),
        ("any(x IN ['a', 'b'] WHERE toLower(x) = $b)", True),
        ("CASE WHEN null THEN 1 ELSE 2 END", 2),
    ],
)
def test_expressions_mean_the_same(
    backend: Backend, cohort: tuple[Store, Graph], expression: str, value: object
) -> None:
    rows = backend.cypher(
        cohort[0], f"RETURN {expression} AS value", {"hundred": 100, "b": "b"} if "$" in expression else {}
    )
    assert rows == [{"value": value}]


def test_aggregates_over_nothing(backend: Backend, cohort: tuple[Store, Graph]) -> None:
    text = "MATCH (x:Gene) RETURN count(x) AS n, collect(x.id) AS ids, coalesce(sum(x.score), 0) AS total"
    assert backend.cypher(cohort[0], text) == [{"n": 0, "ids": [], "total": 0}]


def _loop(edges: list[tuple[int, int]]) -> list[GraphTable]:
    """Diseases with numbered comorbidity edges between them."""
    nodes = pa.table({"id": [f"OMIM:{i}" for i in range(1000)], "name": ["x"] * 1000, "source": ["s"] * 1000})
    rows = pa.table(
        {
            "start": [f"OMIM:{a}" for a, _ in edges],
            "end": [f"OMIM:{b}" for _, b in edges],
            "source": ["s"] * len(edges),
            "score": [float(i) for i in range(len(edges))],
        }
    )
    return [NodeTable("Disease", nodes), RelationTable("HAS_COMORBIDITY", "Disease", "Disease", rows)]


DELETES = {
    "all": ("", lambda i: True),
    "first 2000": ("WHERE r.score < 2000", lambda i: i < 2000),
    "first 100": ("WHERE r.score < 100", lambda i: i < 100),
    "last 100": (f"WHERE r.score >= {EDGES - 100}", lambda i: i >= EDGES - 100),
    "last 3000": (f"WHERE r.score >= {EDGES - 3000}", lambda i: i >= EDGES - 3000),
    "every 50th": ("WHERE toInteger(r.score) % 50 = 0", lambda i: i % 50 == 0),
    "one node": ("WHERE a.id = 'OMIM:7'", None),
}


@pytest.mark.parametrize("which", DELETES)
def test_deleted_edges_are_gone_in_both_directions(backend: Backend, which: str) -> None:
    rng = np.random.default_rng(9)
    edges = [(int(a), int(b)) for a, b in rng.integers(1000, size=(EDGES, 2))]
    store = backend.new(_loop(edges))
    condition, gone = DELETES[which]
    backend.cypher(store, f"MATCH (a:Disease)-[r:HAS_COMORBIDITY]->(b:Disease) {condition} DELETE r")
    left = [e for i, e in enumerate(edges) if not (gone(i) if gone else e[0] == 7)]
    assert len(left) < len(edges)
    _assert_edges(backend, store, left)
    backend.cypher(
        store, "MATCH (a:Disease {id: 'OMIM:1'}), (b:Disease {id: 'OMIM:2'}) CREATE (a)-[:HAS_COMORBIDITY]->(b)"
    )
    _assert_edges(backend, store, [*left, (1, 2)])


def test_edges_deleted_in_parts_are_gone(backend: Backend) -> None:
    edges = [(i % 1000, (i * 7 + 1) % 1000) for i in range(EDGES)]
    store = backend.new(_loop(edges))
    part = "MATCH (a:Disease)-[r:HAS_COMORBIDITY]->(b:Disease) WITH r LIMIT 1500 DELETE r"
    for _ in range(4):
        backend.cypher(store, part)
    _assert_edges(backend, store, [])


def test_detached_nodes_take_their_edges_along(backend: Backend) -> None:
    edges = [(i % 1000, (i * 7 + 1) % 1000) for i in range(EDGES)]
    store = backend.new(_loop(edges))
    for i in range(0, 300, 3):
        backend.cypher(store, "MATCH (d:Disease {id: $id}) DETACH DELETE d", {"id": f"OMIM:{i}"})
    gone = set(range(0, 300, 3))
    _assert_edges(backend, store, [e for e in edges if not gone & set(e)])
    assert store.counts()["Disease"] == 900


def _assert_edges(backend: Backend, store: Store, edges: list[tuple[int, int]]) -> None:
    """Both directions, per node and in all, hold exactly these edges."""
    starts, ends = Counter(f"OMIM:{a}" for a, _ in edges), Counter(f"OMIM:{b}" for _, b in edges)
    forward = backend.cypher(store, "MATCH (a:Disease)-[r:HAS_COMORBIDITY]->(b) RETURN a.id AS id, count(r) AS n")
    backward = backend.cypher(store, "MATCH (b:Disease)<-[r:HAS_COMORBIDITY]-(a) RETURN b.id AS id, count(r) AS n")
    assert {r["id"]: r["n"] for r in forward} == starts
    assert {r["id"]: r["n"] for r in backward} == ends
    assert store.counts().get("HAS_COMORBIDITY", 0) == len(edges)
    exported = store.export_relations("HAS_COMORBIDITY", "Disease", "Disease", [])
    pairs = zip(exported["start"].to_pylist(), exported["end"].to_pylist(), strict=True)
    assert Counter(pairs) == Counter((f"OMIM:{a}", f"OMIM:{b}") for a, b in edges)


def test_a_second_node_of_the_same_id_is_refused(backend: Backend) -> None:
    store = backend.new()
    backend.cypher(store, "CREATE (d:Disease {id: 'OMIM:1'})")
    with pytest.raises(Exception, match=r"(?i)duplicat|already exists|there already"):
        backend.cypher(store, "CREATE (a:Disease {id: 'OMIM:2'}) CREATE (d:Disease {id: 'OMIM:1'})")
    assert backend.cypher(store, "MATCH (d:Disease) RETURN collect(d.id) AS ids") == [{"ids": ["OMIM:1"]}]


def test_merge_with_a_key_twice_keeps_the_last(backend: Backend) -> None:
    store = backend.new()
    rows = [{"id": f"g{i % 1500}", "n": f"v{i}"} for i in range(3001)]
    backend.cypher(store, "UNWIND $rows AS row MERGE (g:Gene {id: row.id}) SET g.name = row.n", {"rows": rows})
    names = {r["id"]: r["name"] for r in backend.cypher(store, "MATCH (g:Gene) RETURN g.id AS id, g.name AS name")}
    assert names == {row["id"]: row["n"] for row in rows}


@pytest.mark.parametrize("text", [*AWKWARD, "", " ", "\u0000x", "a" * 100_000, "$x {{}} \\u0000 \\", "\u0001"])
def test_text_comes_back_as_it_went_in(backend: Backend, text: str) -> None:
    store = backend.new([NodeTable("Symptom", pa.table({"id": ["s"], "name": [text], "source": [text]}))])
    store.write("put_case", case_id=f"case {text[:50]}", source="user", text=text, label=text[:200])
    row = store.run("case_by_id", case_id=f"case {text[:50]}")[0]
    assert (row["text"], row["label"]) == (text, text[:200])
    assert store.export_nodes("Symptom", ["name", "source"]).to_pylist() == [{"id": "s", "name": text, "source": text}]


def test_lists_numbers_and_absent_values_come_back_as_they_went_in(backend: Backend) -> None:
    rows = pa.table(
        {
            "start": ["OMIM:1"] * 3,
            "end": ["HP:1"] * 3,
            "source": ["a", "b", "c"],
            "modifiers": pa.array([["x", 'y, "z"'], [], None], pa.list_(pa.string())),
            "percentage": [0.1, float("nan"), 1.0],
            "numerator": pa.array([2**53 + 1, None, -5], pa.int64()),
        }
    )
    tables: list[GraphTable] = [
        NodeTable("Disease", pa.table({"id": ["OMIM:1"], "name": ["d"], "source": ["s"]})),
        NodeTable("Phenotype", pa.table({"id": ["HP:1"], "name": ["p"], "source": ["s"], "obsolete": [True]})),
        RelationTable("HAS_PHENOTYPE", "Disease", "Phenotype", rows),
    ]
    store = backend.new(tables)
    columns = ["source", "modifiers", "percentage", "numerator", "onset"]
    out = sorted(store.export_relations("HAS_PHENOTYPE", "Disease", "Phenotype", columns).to_pylist(), key=str)
    ends = {"start": "OMIM:1", "end": "HP:1"}
    assert sorted(out, key=lambda r: r["source"]) == [
        ends | {"source": "a", "modifiers": ["x", 'y, "z"'], "percentage": 0.1, "numerator": 2**53 + 1, "onset": None},
        ends | {"source": "b", "modifiers": [], "percentage": None, "numerator": None, "onset": None},
        ends | {"source": "c", "modifiers": [], "percentage": 1.0, "numerator": -5, "onset": None},
    ]
    assert store.run("phenotype_by_id", phenotype="HP:1")[0]["obsolete"] is True


def test_a_load_that_cannot_be_right_says_so(backend: Backend) -> None:
    gene = pa.table({"id": ["g1", "g2"], "name": ["a", "b"], "source": ["s", "s"]})
    edge = pa.table({"start": ["g1"], "end": ["OMIM:x"], "source": ["s"]})
    wrong: list[tuple[GraphTable, str]] = [
        (NodeTable("Gene", pa.concat_tables([gene, gene])), "g1"),
        (NodeTable("Nothing", gene), "no class Nothing"),
        (NodeTable("Gene", gene.append_column("colour", pa.array(["r", "g"]))), "no property 'colour'"),
        (NodeTable("Gene", gene.drop_columns("id")), "without 'id'"),
        (NodeTable("Gene", gene.set_column(0, "id", pa.array(["g1", None]))), "without 'id'"),
        (
            NodeTable("PatientCase", gene.drop_columns("name").append_column("synthetic", pa.array(["x", "y"]))),
            "synthetic",
        ),
        (RelationTable("ASSOCIATED_GENE", "Gene", "Disease", edge), "no relation Gene-ASSOCIATED_GENE->Disease"),
        (RelationTable("HAS_COMORBIDITY", "Disease", "Disease", edge), "no Disease"),
    ]
    for table, message in wrong:
        store = backend.new()
        with pytest.raises(StoreError, match=message):
            store.load([table])
