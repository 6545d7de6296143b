"""A graph in the formats of others, each read back by its own library."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import networkx
import pyarrow.parquet as pq
import pytest
import rdflib

import kgdx
from kgdx.api import export_graph
from kgdx.api.graph_formats import BIOLINK, FORMATS
from kgdx.errors import UsageError

LABEL = rdflib.RDFS.label


@pytest.fixture(scope="module")
def counts(tiny_graph: Path) -> dict[str, int]:
    with kgdx.open(tiny_graph) as graph:
        return {name: n for name, n in graph.store.counts().items() if name != "Build"}


@pytest.mark.filterwarnings("ignore:.*default_:DeprecationWarning", "ignore::ResourceWarning")
def test_rdflib_reads_each_node_edge_and_source(tmp_path: Path, tiny_graph: Path) -> None:
    report = export_graph(tmp_path / "g.nq", "nquads", store=tiny_graph)
    read = rdflib.Dataset()
    read.parse(data=(tmp_path / "g.nq").read_text("utf-8"), format="nquads")
    graphs = {str(each.identifier) for each in read.graphs()}
    assert {"urn:kgdx:source:hp", "urn:kgdx:source:hpoa"} <= graphs
    everything = rdflib.Graph()
    for subject, predicate, value, _ in read.quads((None, None, None, None)):
        everything.add((subject, predicate, value))
    nodes = set(everything.subjects(rdflib.RDF.type, None)) - set(
        everything.subjects(rdflib.RDF.type, rdflib.URIRef(f"{BIOLINK}Association"))
    )
    assert len(nodes) == report.nodes
    with kgdx.open(tiny_graph) as graph:
        rows = graph.store.export_relations("HAS_PHENOTYPE", "Disease", "Phenotype", ["frequency"]).to_pylist()
    row = next(row for row in rows if row["start"].startswith("OMIM:"))
    disease = rdflib.URIRef("https://omim.org/entry/" + row["start"].partition(":")[2])
    phenotype = rdflib.URIRef("http://purl.obolibrary.org/obo/" + row["end"].replace(":", "_"))
    assert (disease, rdflib.URIRef(f"{BIOLINK}has_phenotype"), phenotype) in everything
    assert list(everything.objects(phenotype, LABEL))
    said = next(everything.subjects(rdflib.RDF.object, phenotype))
    assert (said, rdflib.RDF.type, rdflib.URIRef(f"{BIOLINK}Association")) in everything


def test_kgx_tables_have_the_columns_that_kgx_documents(
    tmp_path: Path, tiny_graph: Path, counts: dict[str, int]
) -> None:
    report = export_graph(tmp_path / "kgx", "kgx", store=tiny_graph)
    texts = ((tmp_path / "kgx" / f"{name}.tsv").read_text("utf-8").splitlines() for name in ("nodes", "edges"))
    nodes, edges = (list(csv.DictReader(text, delimiter="\t", quoting=csv.QUOTE_NONE)) for text in texts)
    assert (len(nodes), len(edges)) == (report.nodes, report.relations)
    ids = {row["id"] for row in nodes}
    assert all(row["id"] and row["category"].startswith("biolink:") and row["provided_by"] for row in nodes)
    for row in edges:
        assert {row["subject"], row["object"]} <= ids
        assert row["predicate"].startswith("biolink:") and row["primary_knowledge_source"].startswith("infores:")
        assert row["knowledge_level"] in ("knowledge_assertion", "prediction")
    assert len({row["id"] for row in edges}) == len(edges)
    assert Counter(row["kgdx_relation"] for row in edges)["HAS_PHENOTYPE"] == counts["HAS_PHENOTYPE"]


def test_networkx_reads_nodes_edges_and_types(tmp_path: Path, tiny_graph: Path, counts: dict[str, int]) -> None:
    report = export_graph(tmp_path / "g.graphml", "graphml", store=tiny_graph)
    read = networkx.read_graphml(tmp_path / "g.graphml", force_multigraph=True)
    assert (read.number_of_nodes(), read.number_of_edges()) == (report.nodes, report.relations)
    kinds = Counter(kind for _, kind in read.nodes(data="category"))
    assert kinds["Disease"] == counts["Disease"] and kinds["Phenotype"] == counts["Phenotype"]
    assert Counter(kind for *_, kind in read.edges(data="type"))["IS_A"] == counts["IS_A"]
    assert read.nodes["HP:0000118"]["name"]


def test_parquet_has_a_file_for_each_class_and_relation(
    tmp_path: Path, tiny_graph: Path, counts: dict[str, int]
) -> None:
    export_graph(tmp_path / "pq", "parquet", store=tiny_graph)
    rows = {path.stem: pq.read_table(path).num_rows for path in (tmp_path / "pq").iterdir()}
    assert rows["Disease"] == counts["Disease"]
    assert rows["Disease-HAS_PHENOTYPE-Phenotype"] == counts["HAS_PHENOTYPE"]
    table = pq.read_table(tmp_path / "pq" / "Phenotype.parquet")
    assert {"id", "name", "source"} <= set(table.column_names)


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_there_is_kept_and_nothing_half_written_is_left(
    tmp_path: Path, tiny_graph: Path, format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").write_text("mine")
    with pytest.raises(UsageError, match="is there already"):
        export_graph(tmp_path / "there", format, store=tiny_graph)
    monkeypatch.setattr("kgdx.api.graph_formats.title", lambda table: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        export_graph(tmp_path / "new", format, store=tiny_graph)
    assert [each.name for each in tmp_path.iterdir()] == ["there"]
    assert (tmp_path / "there").read_text() == "mine"


def test_an_unknown_format_is_one_line(tmp_path: Path, tiny_graph: Path) -> None:
    with pytest.raises(UsageError, match="no format 'owl'") as raised:
        export_graph(tmp_path / "x", "owl", store=tiny_graph)
    assert "nquads, kgx, graphml, parquet" in str(raised.value.hint)
