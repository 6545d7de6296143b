"""What users saved on a server alone is carried over when its graph is replaced, whichever version had made that."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import neo4j
import pytest

import kgdx
from graph.test_neo4j_kill import OVER_BOLT, PUSH, another_home, kill_at
from kgdx import api
from kgdx.config import Neo4jAccess, Settings
from kgdx.errors import StoreError
from kgdx.graph import copies
from kgdx.graph.arcade.embedded import ArcadeStore
from kgdx.graph.neo4j.neo4j_store import Neo4jStore
from kgdx.graph.neo4j.saved_rows import saved_rows
from kgdx.ingest.pipeline.graph_folder import GraphFolder

pytestmark = [pytest.mark.neo4j, pytest.mark.java, pytest.mark.maven, pytest.mark.heavy]

LAYOUTS = sorted(Path(__file__).parents[1].joinpath("data", "layouts").glob("*.tar.xz"))
FILES = {"hp": "hp.obo", "hpoa": "phenotype.hpoa", "genes": "genes_to_phenotype.txt"}


@pytest.fixture
def folder(tiny_graph: Path) -> GraphFolder:
    return GraphFolder(tiny_graph)


@pytest.fixture(params=LAYOUTS, ids=lambda file: file.name.removesuffix(".tar.xz"))
def earlier(request: pytest.FixtureRequest, empty: Neo4jAccess, tmp_path: Path) -> Neo4jAccess:
    """A server with the graph that an earlier version made, and the case that it had saved."""
    with tarfile.open(request.param) as packed:
        packed.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.4 and newer
        packed.extractall(tmp_path / "earlier")
    copy_as_it_is(GraphFolder(tmp_path / "earlier").current().store, empty)
    return empty


def copy_as_it_is(path: Path, access: Neo4jAccess) -> None:
    """Copy a store of any version to a server by Cypher alone."""
    with ArcadeStore.open(path, earlier=True) as store, driver(access) as server:
        database: Any = store._database
        for row in database.query("MATCH (n) RETURN labels(n)[0] AS label, properties(n) AS properties"):
            server.execute_query(f"CREATE (n:`{row['label']}`) SET n = $p", p=plain(row["properties"]))
        text = "MATCH (a)-[r]->(b) RETURN type(r) AS type, properties(r) AS p, a.id AS start, b.id AS end"
        for row in database.query(text):
            made = f"MATCH (a {{id: $start}}), (b {{id: $end}}) CREATE (a)-[r:`{row['type']}`]->(b) SET r = $p"
            server.execute_query(made, p=plain(row["p"]), start=row["start"], end=row["end"])


def plain(properties: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in properties.items() if not name.startswith("@")}


def driver(access: Neo4jAccess) -> neo4j.Driver:
    assert access.password is not None
    return neo4j.GraphDatabase.driver(access.uri, auth=(access.user, access.password))


def saved(access: Neo4jAccess) -> list[tuple[str, str, int]]:
    """Each saved patient's finding, the best candidate of the run, and how many there are."""
    text = """
        MATCH (p:Phenotype)<-[:OBSERVED]-(c:PatientCase {source: 'user'})-[:HAS_RUN]->(:Diagnosis)-[k:CONSIDERED]->(d)
        WITH c, p, k, d ORDER BY k.rank
        RETURN p.id AS finding, head(collect(d.id)) AS best, count(k) AS n"""
    with driver(access) as server:
        return [tuple(row.values()) for row in server.execute_query(text).records]


@pytest.fixture
def environ(settings: Settings, empty: Neo4jAccess, monkeypatch: pytest.MonkeyPatch) -> None:
    assert empty.password is not None
    monkeypatch.setenv("KGDX_HOME", str(settings.home))
    monkeypatch.setenv("KGDX_NEO4J_PASSWORD", empty.password)


def test_a_push_carries_over_what_was_saved_there_alone(
    earlier: Neo4jAccess, folder: GraphFolder, environ: None
) -> None:
    before = saved(earlier)
    assert before == [("HP:0001250", "OMIM:100001", 4)]
    with pytest.raises(StoreError, match=r"holds something else: .* carries over what users saved"):
        api.push(store=folder.path, neo4j=earlier.uri)
    report = api.push(store=folder.path, neo4j=earlier.uri, force=True)
    assert report.carried["PatientCase"] == report.carried["Diagnosis"] == 1 and not report.aside
    assert saved(earlier) == before
    assert api.push(store=folder.path, neo4j=earlier.uri).method == "unchanged"
    with kgdx.open(earlier.uri) as graph:
        (case,) = graph.run("user_cases", source="user", limit=9)
        assert case["observed"] == 1
    assert not api.misfits(store=earlier.uri)
    assert not api.push(store=folder.path, neo4j=earlier.uri, force=True, keep_saved=False).carried
    assert saved(earlier) == []


@pytest.mark.parametrize("earlier", [LAYOUTS[0]], indirect=True, ids=["layout-1"])
def test_a_build_carries_over_what_was_saved_there(earlier: Neo4jAccess, tiny: Path, environ: None) -> None:
    before = saved(earlier)
    kgdx.build({name: str(tiny / file) for name, file in FILES.items()}, store=earlier.uri)
    assert saved(earlier) == before
    assert not api.misfits(store=earlier.uri)


@pytest.mark.parametrize("earlier", [LAYOUTS[-1]], indirect=True, ids=["latest"])
@pytest.mark.parametrize("step", ["Carrying", "Disease", "CONSIDERED", "Comparing"])
def test_a_killed_push_loses_nothing_of_it(
    step: str, earlier: Neo4jAccess, folder: GraphFolder, tmp_path: Path, settings: Settings
) -> None:
    before = saved(earlier)
    kill_at(step, PUSH, folder.current().store, earlier.uri, OVER_BOLT, environ=another_home(tmp_path, earlier))
    with ArcadeStore.open(folder.current().store) as source:
        assert copies.push(source, settings, earlier, force=True).carried["PatientCase"] == 1
    assert saved(earlier) == before


def test_what_the_graph_has_no_place_for_waits_on_the_server(
    empty: Neo4jAccess, folder: GraphFolder, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements = [
        "CREATE (:Disease {id: 'OMIM:9', name: 'gone', source: 'x'})",
        "CREATE (:PatientCase {id: 'case', source: 'user', synthetic: false})-[:HAS_RUN {source: 'user'}]->"
        "(:Diagnosis {id: 'run', source: 'user', created: '2026', policy: 'fixed', kgdx_version: '1', "
        "fingerprint: 'f'})",
        "MATCH (r:Diagnosis), (d:Disease) CREATE (r)-[:CONSIDERED {source: 'user', rank: 1}]->(d)",
        "MATCH (r:Diagnosis) CREATE (r)-[:CONSIDERED {source: 'user', rank: 2}]->(:Disease {id: 'OMIM:100001'})",
    ]
    with driver(empty) as server:
        for text in statements:
            server.execute_query(text)
    with ArcadeStore.open(folder.current().store) as source:
        for method, rows in (("bolt", 10**9), ("offline import", 1)):  # the second finds what the first left waiting
            monkeypatch.setattr(copies, "_OFFLINE_ROWS", rows)
            report = copies.push(source, settings, empty, force=True)
            assert report.method == method and report.aside == ("Diagnosis run CONSIDERED Disease OMIM:9",)
            assert dict(report.carried) == {"PatientCase": 1, "Diagnosis": 1, "HAS_RUN": 1, "CONSIDERED": 1}
    with Neo4jStore.connect(empty) as store:
        assert store.run("run_by_id", run_id="run")[0]["id"] == "run"
        assert {str(row) for row in saved_rows(store)} >= set(report.aside)
        assert not store.misfits()
