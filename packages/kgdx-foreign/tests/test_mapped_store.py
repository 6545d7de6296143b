"""A real Neo4j as others build one, and through py2neo: the same actions."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from medical import MAPPING, fill, held, records

import kgdx
from conftest import require_module
from kgdx.actions import ACTIONS, parse_action
from kgdx.answer.artifacts import Retrieved, resolved_of
from kgdx.case import Case
from kgdx.config import Settings
from kgdx.episode import State, step
from kgdx.errors import KgdxError, StoreError
from kgdx.graph.neo4j.neo4j_store import Neo4jStore
from kgdx.graph.protocol import NodeTable
from kgdx_foreign import Py2neoReader
from kgdx_foreign.database_mapping import parse_mapping
from kgdx_foreign.mapped_store import ForeignDatabase, ForeignStore
from kgdx_foreign.mapping_proposal import ASKED, check, propose

if TYPE_CHECKING:
    from kgdx.config import Neo4jAccess


RECORDS = 300


@pytest.fixture(scope="module")
def access(ours: kgdx.Graph, neo4j_uri: str) -> Neo4jAccess:
    """The database, filled with what the graph of kgdx's own holds."""

    found = Settings.load(neo4j_uri).neo4j()
    fill(found, held(ours.store))
    return found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def theirs(access: Neo4jAccess, home: Path) -> Iterator[kgdx.Graph]:
    (home / "mapping.yaml").write_text(MAPPING, "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KGDX_HOME", str(home))
        patch.setenv("KGDX_NEO4J_PASSWORD", access.password or "")  # the other home may be where it stands
        with kgdx.open(access.uri, mapping=home / "mapping.yaml") as graph:
            yield graph


@pytest.fixture(scope="module")
def ours(shared_data: Path, home: Path) -> Iterator[kgdx.Graph]:
    """The same records as a source of a graph of kgdx's own."""
    import gzip
    import json

    made = records(shared_data / "chinese-disease-kg.jsonl.gz", RECORDS)
    with gzip.open(home / "chinese-disease-kg.jsonl.gz", "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(each, ensure_ascii=False) + "\n" for each in made)
    kgdx.build({"chinese_kg": str(home / "chinese-disease-kg.jsonl.gz")}, store=home / "own")
    with kgdx.open(home / "own") as graph:
        yield graph


def rows(graph: kgdx.Graph, **action: Any) -> list[tuple[Any, ...]]:
    """What an action finds, by names, without what tells the two graphs apart: ids, source, field of the source."""
    state = step(graph, State(Case("p")), parse_action(action, ACTIONS))
    found = state.all(Retrieved)[-1]
    names = {id: name for each in resolved_of(state) for id, name in zip(each.ids, each.names, strict=True)}
    shown = []
    for row in found.rows:
        if "matched" in row:
            shown.append((row["name"], row["matched"], tuple(sorted(row["matched_names"]))))
        else:
            shown.append((names.get(row["disease"], row["disease"]), row["name"], row.get("language"), row["total"]))
    return sorted(set(shown))


def alone(graph: kgdx.Graph, name: str) -> bool:
    """Whether kgdx joins no other entry with a disease, as it does by names in its own graph alone."""
    return len(graph.names.resolve(name).ids) == 1


def sample(shared_data: Path, field: str) -> list[list[str]]:
    """Words of a field, as several records have them."""
    made = records(shared_data / "chinese-disease-kg.jsonl.gz", RECORDS)
    return [[word.strip() for word in each[field][:3]] for each in made[::30] if each.get(field)]


@pytest.mark.neo4j
@pytest.mark.heavy
@pytest.mark.parametrize("action", ["get_symptom", "get_test", "get_drug", "get_cure", "get_comorbidity"])
def test_what_diseases_have_is_the_same(action: str, theirs: Any, ours: Any, shared_data: Path) -> None:
    every = [each["name"] for each in records(shared_data / "chinese-disease-kg.jsonl.gz", RECORDS)[::20]]
    names = [name for name in every if alone(ours, name)]
    given = {"action": action, "diseases": names, "limit": 1000}
    found = rows(theirs, **given)
    assert found == rows(ours, **given)
    assert len(found) > 15


@pytest.mark.neo4j
@pytest.mark.heavy
@pytest.mark.parametrize(
    ("action", "parameter", "field"),
    [
        ("infer_by_symptom", "symptoms", "symptom"),
        ("infer_by_test", "tests", "check"),
        ("infer_by_drug", "drugs", "common_drug"),
        ("infer_by_cure", "cures", "cure_way"),
        ("infer_by_comorbidity", "diseases", "acompany"),
    ],
)
def test_which_diseases_have_it_is_the_same(
    action: str, parameter: str, field: str, theirs: Any, ours: Any, shared_data: Path
) -> None:
    asked = sample(shared_data, field)
    assert len(asked) > 4
    for every in asked:
        words = every if parameter != "diseases" else [word for word in every if alone(ours, word)]
        given = {"action": action, parameter: words, "min_match_count": 1, "limit": 1000}
        assert not words or rows(theirs, **given) == rows(ours, **given) != [], words


@pytest.mark.neo4j
@pytest.mark.heavy
def test_a_question_is_answered_with_evidence(theirs: Any) -> None:
    answer = theirs.ask("百日咳有哪些症状?")
    assert "惊厥" in answer.text.text and answer.pack.items
    assert {source for item in answer.pack.items for source in item.sources} == {"qasystem"}


@pytest.mark.neo4j
@pytest.mark.heavy
def test_ranking_says_plainly_what_is_lacking(theirs: Any) -> None:
    with pytest.raises(StoreError, match="is read through a mapping and has no snapshot, which ranking") as caught:
        theirs.diagnose("发热，咳嗽")
    assert "\n" not in str(caught.value)
    with pytest.raises(StoreError, match="is never written"), theirs.writing():
        raise AssertionError("it was opened for writing")


@pytest.mark.neo4j
@pytest.mark.heavy
def test_names_are_kept_on_this_machine_and_follow_the_database(theirs: Any, access: Neo4jAccess, home: Path) -> None:
    import neo4j

    assert theirs.names.resolve("百日咳").ids == ("百日咳",)
    kept = set((home / "foreign").iterdir())
    assert len(kept) == 1
    with neo4j.GraphDatabase.driver(access.uri, auth=(access.user, access.password)) as driver:
        driver.execute_query("CREATE (:Disease {name: '新病名'})")
        try:
            with kgdx.open(access.uri, mapping=home / "mapping.yaml") as again:
                assert again.names.resolve("新病名").ids == ("新病名",)
                assert theirs.replaced()
            assert kept < set((home / "foreign").iterdir())
        finally:
            driver.execute_query("MATCH (d:Disease {name: '新病名'}) DELETE d")


@pytest.mark.neo4j
@pytest.mark.heavy
def test_a_name_that_the_database_lacks_is_told(access: Neo4jAccess) -> None:
    for old, new, fault in (
        ("label: Check", "label: Chek", r"has no label 'Chek': did you mean Check\?"),
        ("need_check", "need_chek", "has no relation type 'need_chek': did you mean need_check"),
        ("list: cure_way", "list: cure_ways", "has no property 'cure_ways': did you mean cure_way"),
    ):
        with pytest.raises(StoreError, match=fault):
            ForeignStore.connect(access, parse_mapping(MAPPING.replace(old, new)))


@pytest.mark.neo4j
@pytest.mark.heavy
def test_a_hostile_mapping_changes_nothing(access: Neo4jAccess) -> None:
    import json

    import neo4j

    with neo4j.GraphDatabase.driver(access.uri, auth=(access.user, access.password)) as driver:
        before = driver.execute_query("MATCH (n) RETURN count(n) AS n").records[0]["n"]
        for name in (
            "D`) DETACH DELETE (n) //",
            "D`)-[:x]-() CREATE (:Evil) //",
            "``",
            "$x",
            "D` {name: 'x'}) SET n.a=1//",
        ):
            text = json.dumps({"mapping": 1, "source": "x", "nodes": {"Disease": {"label": name, "key": "name"}}})
            with pytest.raises(StoreError, match="has no label"):
                ForeignStore.connect(access, parse_mapping(text))
            with ForeignDatabase(access) as database:
                for found in (
                    database.ask("their_nodes", label=name, key=name),
                    database.ask("their_relations", type=name),
                ):
                    assert found[0]["n"] == 0
        assert driver.execute_query("MATCH (n) RETURN count(n) AS n").records[0]["n"] == before
    with ForeignDatabase(access) as database, pytest.raises(KgdxError, match="reading only|[Ww]riting"):
        database.read("CREATE (n:Evil) RETURN n", {})


@pytest.mark.neo4j
@pytest.mark.heavy
def test_a_proposal_is_a_mapping_that_fits(access: Neo4jAccess) -> None:
    with ForeignDatabase(access) as database:
        text = propose(database, "qasystem")
    found = parse_mapping(text)
    wanted = parse_mapping(MAPPING)
    assert found.nodes == wanted.nodes and found.relations == wanted.relations
    assert '#   label "Food"' in text or '#   label "Department"' in text
    report = check(access, found)
    assert report.faults == () and report.can == ASKED and report.cannot == ()


@pytest.mark.neo4j
@pytest.mark.heavy
def test_a_check_finds_what_does_not_fit(access: Neo4jAccess) -> None:
    turned = MAPPING.replace("HAS_SYMPTOM: has_symptom", "HAS_SYMPTOM: {type: has_symptom, reversed: true}")
    turned = turned.replace("Disease: {label: Disease, key: name", "Disease: {label: Disease, key: desc")
    report = check(access, parse_mapping(turned))
    faults = {line.name: line.fault for line in report.faults}
    assert "none goes from" in faults["HAS_SYMPTOM"] and "`reversed`" in faults["HAS_SYMPTOM"]
    assert "desc" in faults["Disease"]
    assert report.to_dict()["cannot"] == []


@pytest.mark.neo4j
@pytest.mark.heavy
def test_py2neo_reads_it_through_the_mapping(access: Neo4jAccess, home: Path, theirs: Any) -> None:
    require_module("py2neo", "py2neo")
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import py2neo

        graph = py2neo.Graph(access.uri, auth=(access.user, access.password))
        reader = Py2neoReader(graph, mapping=home / "mapping.yaml")
        for name in ("symptoms_of_diseases", "cures_of_diseases", "drugs_of_diseases"):
            assert reader.run(name, diseases=["百日咳"]) == theirs.run(name, diseases=["百日咳"]) != []
        assert reader.run("genes_of_diseases", diseases=["百日咳"]) == []
        graph.service.connector.close()


GENE = NodeTable("Gene", pa.table({"id": ["NCBIGene:1"], "name": ["A1BG"], "source": ["test"]}))


@pytest.mark.neo4j
@pytest.mark.heavy
def test_py2neo_graph_runs_read_templates(access: Neo4jAccess) -> None:
    require_module("py2neo", "py2neo")
    import py2neo

    with Neo4jStore.unchecked(access) as store:
        store.clear()
        store.load([GENE])
        graph = py2neo.Graph(access.uri, auth=(access.user, access.password))
        try:
            reader = Py2neoReader(graph)
            assert reader.run("build") == store.run("build")
            assert reader.run("count_nodes") == store.run("count_nodes")
        finally:
            graph.service.connector.close()


def waiting_graph(address: tuple[str, int], query: Callable[..., object], closed: Event) -> SimpleNamespace:
    """What of a py2neo ``Graph`` is used; like the real one it tries for ever where its server is gone."""
    service = SimpleNamespace(
        uri="bolt://there", profile=SimpleNamespace(address=address), connector=SimpleNamespace(close=closed.set)
    )
    return SimpleNamespace(service=service, query=query)


def test_a_server_that_is_gone_or_silent_ends_in_one_line() -> None:
    closed = Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = listening.getsockname()
        silent = waiting_graph(address, lambda *_: closed.wait(60), closed)
        with pytest.raises(StoreError, match=r"^nothing at bolt://there has answered for 0\.2 s.*make a new py2neo"):
            Py2neoReader(silent, seconds=0.2).run("build")
        assert closed.is_set()
    gone = waiting_graph(address, lambda *_: pytest.fail("py2neo would never come back"), closed)
    with pytest.raises(StoreError, match="py2neo failed: .*refused"):
        Py2neoReader(gone).run("build")
