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


#: Property of a disease → what kind of text it is; lists are a row for each.
TEXTS = {
    "definition": "definition",
    "orphanet_definition": "definition",
    "umls_description": "definition",
    "orphanet_clinical_description": "picture",
    "cause": "cause",
    "incidence": "prevalence",
    "inheritance": "inheritance",
    "onset_ages": "onset",
    "departments": "department",
    "foods_bad": "avoided",
}


@oracle("texts_of_diseases", some_diseases, ("disease", "kind", "source", "text"))
def _(graph: Graph, diseases: list[str]) -> Iterable[Row]:
    known = graph.index("Disease")
    for row in (known[id] for id in dict.fromkeys(diseases) if id in known):
        for name, kind in TEXTS.items():
            said = row.get(name) or []
            for text in [said] if isinstance(said, str) else said:
                yield {"disease": row["id"], "kind": kind, "text": text} | pick(row, "source", disease_name="name")


@oracle("articles_of_diseases", some_diseases, ("disease", "document", "source"))
def _(graph: Graph, diseases: list[str]) -> Iterable[Row]:
    articles, known, wanted = graph.index("Document"), graph.index("Disease"), set(diseases)
    for edge in graph.of("MENTIONS", "Document", "Disease"):
        if edge["end"] in wanted:
            row = pick(articles[edge["start"]], "title", "text", document="id") | pick(edge, "source")
            yield row | {"disease": edge["end"], "disease_name": known[edge["end"]]["name"]}


@oracle("complications_of_diseases", some_diseases, ("disease", "id"))
def _(graph: Graph, diseases: list[str]) -> Iterable[Row]:
    wanted = set(diseases)
    pairs = {(edge["start"], edge["end"]) for edge in graph.of("HAS_COMORBIDITY", "Disease", "Disease")}
    return [{"disease": start, "id": end} for start, end in pairs if start in wanted]


def _symptoms(graph: Graph) -> list[Parameters]:
    rows = graph.nodes["Symptom"]
    return [{"symptoms": []}, {"symptoms": ["KGDX:nowhere", *(row["id"] for row in rows[3:])]}]


@oracle("phenotypes_of_symptoms", _symptoms, ("symptom", "id"))
def _(graph: Graph, symptoms: list[str]) -> Iterable[Row]:
    known, wanted = graph.index("Phenotype"), set(symptoms)
    for edge in graph.of("MAPPED_TO", "Symptom", "Phenotype"):
        if edge["start"] in wanted and edge["relation"] == "exact":
            yield {"symptom": edge["start"]} | pick(known[edge["end"]], "id", "name", "name_zh")
