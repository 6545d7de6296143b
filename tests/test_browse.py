"""Bringing results to a Neo4j to look at them: what is copied, when, and what is refused."""

from __future__ import annotations

import html
import re
import shutil
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

import kgdx
from kgdx import api
from kgdx.errors import ConfigError, StoreError, UsageError

TEXT = "A girl with seizures and low muscle tone, no fever."


@pytest.fixture
def built(tiny_graph: Path) -> Path:
    return tiny_graph


def diagnosed(folder: Path) -> kgdx.Diagnosis:
    with kgdx.open(folder) as graph:
        return graph.diagnose(TEXT, explain=10)


def paths(uri: str, query: str) -> list[list[str]]:
    """Classes of the nodes on each path that a query returns."""
    from kgdx.config import Settings
    from kgdx.graph.neo4j.neo4j_store import Neo4jStore

    with Neo4jStore.connect(Settings.load().neo4j(uri)) as store:
        records, _, _ = store._driver.execute_query(query)
    return [[next(iter(node.labels)) for node in record["path"].nodes] for record in records]


@pytest.mark.neo4j
def test_graph_and_run_are_brought_once(neo4j_uri: str, built: Path) -> None:
    result = diagnosed(built)
    with pytest.raises(StoreError, match="holds no graph: copy this one there with --push"):
        kgdx.browse(result, store=built, neo4j=neo4j_uri)
    asked: list[str] = []
    with pytest.raises(StoreError, match="holds no graph"):
        kgdx.browse(result, store=built, neo4j=neo4j_uri, push=lambda why: bool(asked.append(why)))
    assert len(asked) == 1
    first = kgdx.browse(result, store=built, neo4j=neo4j_uri, push=True)
    assert (first.copied, first.saved, first.run) == (True, True, result.id)
    again = kgdx.browse(result, store=built, neo4j=neo4j_uri)
    assert (again.copied, again.saved, again.url) == (False, False, first.url)
    assert kgdx.browse(result, store=neo4j_uri).query == first.query


@pytest.mark.neo4j
def test_the_query_returns_paths_from_the_patient_to_the_disease(neo4j_uri: str, built: Path) -> None:
    result = diagnosed(built)
    found = kgdx.browse(result, [result.candidates[0].id], store=built, neo4j=neo4j_uri, push=True)
    drawn = paths(neo4j_uri, found.query)
    assert ["PatientCase", "Diagnosis", "Disease"] in drawn
    reaching = [path for path in drawn if path[0] == "PatientCase" and path[-1] == "Disease"]
    supports = [path for path in result.paths(result.candidates[0].id) if path.kind != "typical_unmentioned"]
    assert supports and len(reaching) > 1
    lengths = {len(path) for path in reaching if "Diagnosis" not in path}
    assert {len(path.nodes) for path in supports} & lengths
    assert all(set(path) <= {"PatientCase", "Diagnosis", "Disease", "Phenotype"} for path in drawn)
    assert kgdx.browse(result, store=built, neo4j=neo4j_uri).query == found.query, "one candidate is drawn by default"
    several = kgdx.browse(result, top=3, store=built, neo4j=neo4j_uri)
    assert len(paths(neo4j_uri, several.query)) > len(drawn)


@pytest.mark.neo4j
def test_what_the_case_says_of_itself_is_not_drawn(neo4j_uri: str, built: Path) -> None:
    """Browser draws each relation between what is drawn, so that the case's own diagnosis would stand in the answer."""
    truth = diagnosed(built).candidates[0].id
    with kgdx.open(built) as graph:
        result = graph.diagnose(kgdx.Case("known", text=TEXT, diseases=(truth,)), explain=10)
    found = kgdx.browse(result, store=built, neo4j=neo4j_uri, push=True)
    assert found.saved and f"{truth}" == result.candidates[0].id
    with kgdx.open(neo4j_uri) as graph:
        assert graph.run("run_by_id", run_id=result.id)
        assert [row for row in graph.run("saved_cases", source="user") if row["diseases"]] == []


@pytest.mark.neo4j
def test_a_page_links_to_the_evidence_of_each_disease_where_the_graph_is(neo4j_uri: str, built: Path) -> None:
    result = diagnosed(built)
    first = result.candidates[0].id
    assert "Open in Neo4j Browser" not in result.to_html(None)
    kgdx.browse(result, store=built, neo4j=neo4j_uri, push=True)
    assert kgdx.browser_place("another", neo4j_uri) is None
    where = kgdx.browser_place(result.fingerprint, neo4j_uri)
    assert where is not None
    links = re.findall(r'href="(http[^"]+/browser/[^"]+)"', result.to_html(where))
    assert len(links) == sum(bool(found) for found in result.evidence.values())
    query = parse_qs(urlsplit(html.unescape(links[0])).query)["arg"][0]
    drawn = paths(neo4j_uri, query)
    assert f"'{first}'" in query and result.id not in query, "the run need not be saved"
    assert any(path[-1] == "Disease" for path in drawn)
    assert all(set(path) <= {"Phenotype", "Symptom", "Disease", "Test", "Document"} for path in drawn)
    supports = [path for path in result.paths(first) if path.kind == "supports"]
    assert {len(path.nodes) - 1 for path in supports} <= {len(path) for path in drawn}


def test_a_page_needs_no_neo4j(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KGDX_NEO4J_URI", "KGDX_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KGDX_HOME", str(tmp_path))
    monkeypatch.setenv("KGDX_NEO4J_PASSWORD", "x")
    assert kgdx.browser_place("any") is None
    assert kgdx.browser_place("any", "bolt://127.0.0.1:1") is None


@pytest.mark.neo4j
def test_a_run_saved_in_the_folder_is_carried_to_the_server(neo4j_uri: str, built: Path, tmp_path: Path) -> None:
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    other = diagnosed(tmp_path)
    kgdx.browse(other, store=tmp_path, neo4j=neo4j_uri, push=True)
    with kgdx.open(tmp_path) as graph:
        saved = graph.diagnose("A boy with fever and short stature, no seizures.")
        graph.save(saved)
    found = kgdx.browse(saved.id, store=tmp_path, neo4j=neo4j_uri)
    assert found.saved and not kgdx.browse(saved.id, store=tmp_path, neo4j=neo4j_uri).saved
    with kgdx.open(tmp_path) as here, kgdx.open(neo4j_uri) as there:
        for template, key in (("run_candidates", saved.id), ("run_by_id", saved.id)):
            rows = here.run(template, run_id=key)
            assert rows and there.run(template, run_id=key) == rows
        case = here.run("run_by_id", run_id=saved.id)[0]["case_id"]
        assert there.run("case_findings", case_id=case) == here.run("case_findings", case_id=case) != []
        assert there.run("case_by_id", case_id=case) == here.run("case_by_id", case_id=case)
    first = saved.candidates[0].id
    assert "rank IN [1]" in kgdx.browse(saved.id, [first], store=tmp_path, neo4j=neo4j_uri).query
    with pytest.raises(UsageError, match="MONDO:x is not among the"):
        kgdx.browse(saved.id, ["MONDO:x"], store=tmp_path, neo4j=neo4j_uri)


@pytest.mark.neo4j
@pytest.mark.parametrize("run", ["run:0", "run:'<b>\" OR 1=1 //", "run:" + "9" * 5000])
def test_an_unknown_run_is_named_and_nothing_is_written(neo4j_uri: str, built: Path, run: str) -> None:
    kgdx.browse(diagnosed(built), store=built, neo4j=neo4j_uri, push=True)
    with kgdx.open(neo4j_uri) as graph:
        before = graph.status()
    for store in (built, neo4j_uri):
        with pytest.raises(UsageError, match="no saved run") as caught:
            kgdx.browse(run, store=store, neo4j=neo4j_uri)
        assert len(str(caught.value)) < 200
    with kgdx.open(neo4j_uri) as graph:
        assert graph.status() == before


@pytest.mark.neo4j
def test_another_graph_is_replaced_only_when_allowed(neo4j_uri: str, built: Path, tiny: Path, tmp_path: Path) -> None:
    kgdx.browse(diagnosed(built), store=built, neo4j=neo4j_uri, push=True)
    kgdx.build({"hp": str(tiny / "hp.obo"), "hpoa": str(tiny / "phenotype.hpoa")}, store=tmp_path)
    other = diagnosed(tmp_path)
    with pytest.raises(StoreError, match="holds another graph: copy this one there with --push"):
        kgdx.browse(other, store=tmp_path, neo4j=neo4j_uri)
    with pytest.raises(StoreError, match="rests on another graph"):
        kgdx.browse(other, store=neo4j_uri)
    assert kgdx.browse(other, store=tmp_path, neo4j=neo4j_uri, push=True).copied


@pytest.mark.neo4j
def test_what_is_no_graph_of_kgdx_is_left_alone(neo4j_uri: str, built: Path) -> None:
    from kgdx.config import Settings
    from kgdx.graph.neo4j.neo4j_store import Neo4jStore

    with Neo4jStore.unchecked(Settings.load().neo4j(neo4j_uri)) as store:
        store.clear()
        store._driver.execute_query("CREATE (:Film {title: 'Metropolis'})")
        try:
            with pytest.raises(StoreError, match=r"no graph of kgdx: .*kgdx push --force"):
                kgdx.browse(diagnosed(built), store=built, neo4j=neo4j_uri, push=True)
            assert store._driver.execute_query("MATCH (f:Film) RETURN f").records
        finally:
            store.clear()


@pytest.mark.neo4j
def test_a_wrong_password_is_one_clear_line(
    neo4j_uri: str, built: Path, kgdx_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGDX_NEO4J_PASSWORD", "wr0ng")
    with pytest.raises(StoreError, match="refuses the user") as caught:
        kgdx.browse(diagnosed(built), store=built, neo4j=neo4j_uri)
    assert "wr0ng" not in str(caught.value)


def test_a_server_that_is_down_is_told(built: Path, kgdx_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGDX_NEO4J_PASSWORD", "x")
    with pytest.raises(StoreError, match="bolt://127.0.0.1:9"):
        kgdx.browse(diagnosed(built), store=built, neo4j="bolt://127.0.0.1:9")


def test_without_a_server_it_says_how_to_start_one(built: Path, kgdx_home: Path) -> None:
    with pytest.raises(ConfigError, match="kgdx neo4j up"):
        kgdx.browse(diagnosed(built), store=built)


def test_an_impossible_candidate_is_told_before_anything_is_copied(
    built: Path, kgdx_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGDX_NEO4J_PASSWORD", "x")
    with pytest.raises(UsageError, match="is not among the"):
        kgdx.browse(diagnosed(built), ["OMIM:nowhere"], store=built, neo4j="bolt://127.0.0.1:9")


def test_browse_is_public() -> None:
    assert kgdx.browse is api.browse
