"""What the templates of the evidence pack must return: descriptions, MeSH headings, publications.

See :mod:`store.oracles`.
"""

from __future__ import annotations

from collections.abc import Iterable

from graph.graphs import Graph, Row
from graph.oracles import Parameters, oracle, pick, some_diseases


@oracle("descriptions_of_diseases", some_diseases, ("id",))
def _(graph: Graph, diseases: list[str]) -> Iterable[Row]:
    known = graph.index("Disease")
    lists = ("orphanet_definition", "umls_description", "orphanet_clinical_description")
    for row in (known[id] for id in diseases if id in known):
        text = row.get("definition") or next((row[name][0] for name in lists if row.get(name)), None)
        yield pick(row, "id", "name", "name_zh", "source") | {"synonyms": row.get("synonyms", []), "text": text}


@oracle("mesh_of_diseases", some_diseases, ("disease", "id", "source"))
def _(graph: Graph, diseases: list[str]) -> Iterable[Row]:
    known, wanted = graph.index("MeshDescriptor"), set(diseases)
    for edge in graph.of("MAPPED_TO", "Disease", "MeshDescriptor"):
        if edge["start"] in wanted:
            head = {"disease": edge["start"], **_heading(known[edge["end"]])}
            yield head | pick(edge, "relation", "method", "score", "decision", "source")


def _headings(graph: Graph) -> list[Parameters]:
    rows = graph.nodes["MeshDescriptor"]
    return [{"descriptors": []}, {"descriptors": ["MESH:nowhere", *(r["id"] for r in rows)]}]


@oracle("mesh_by_ids", _headings, ("id",))
def _(graph: Graph, descriptors: list[str]) -> Iterable[Row]:
    known = graph.index("MeshDescriptor")
    return [_heading(known[id]) for id in descriptors if id in known]


def _heading(row: Row) -> Row:
    head = pick(row, "id", "scope_note", heading="name")
    return head | {"tree_numbers": row.get("tree_numbers", [])}


def _publications(graph: Graph) -> list[Parameters]:
    rows = graph.nodes["Publication"]
    return [{"publications": []}, {"publications": ["PMID:0", *(r["id"] for r in rows[5:])]}]


@oracle("publications_by_ids", _publications, ("id",))
def _(graph: Graph, publications: list[str]) -> Iterable[Row]:
    known = graph.index("Publication")
    return [pick(known[id], "id", "title") for id in publications if id in known]
