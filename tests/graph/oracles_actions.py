"""What the templates of the graph actions must return: entities of diseases, and diseases by entities.

See :mod:`store.oracles`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from graph.graphs import Graph, Row
from graph.oracles import EDGE, Parameters, annotations, limited, oracle, pick, some_diseases, sorted_rows

#: Relations, each with the side that the disease is on: its start, its end, or either.
Way = tuple[tuple[str, str], ...]

GENE: Way = (("ASSOCIATED_GENE", "start"), ("DISEASE_PROTEIN", "start"))
MEDICINE: Way = (("INDICATION", "end"), ("OFF_LABEL_USE", "end"), ("CONTRAINDICATION", "end"))
TREATMENT: Way = (("RECOMMEND_DRUG", "start"), ("INDICATION", "end"), ("OFF_LABEL_USE", "end"))
COMORBIDITY: Way = (("HAS_COMORBIDITY", "either"),)

AWKWARD_PAIR = "'; MATCH (n) DETACH DELETE n //"

PHRASE = ("id", "name", "language", "score", "reference", "source")
STATED = ("id", "source", "reference")


def edges(graph: Graph, way: Way, label: str) -> Iterator[tuple[str, str, str, Row]]:
    for type_, side in way:
        if side != "end":
            yield from ((e["start"], e["end"], type_, e) for e in graph.of(type_, "Disease", label))
        if side != "start":
            yield from ((e["end"], e["start"], type_, e) for e in graph.of(type_, label, "Disease"))


def diseases_and_limits(graph: Graph) -> list[Parameters]:
    asked = some_diseases(graph)
    return [*asked, *(p | {"limit": limit} for p in asked for limit in (None, 1, 3, 5000)), asked[-1] | {"limit": 0}]


def cut(rows: Iterable[Row], group: Sequence[str], order: Sequence[str], limit: int | None) -> Iterator[Row]:
    groups: defaultdict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in group)].append(row)
    for found in groups.values():
        yield from (row | {"total": len(found)} for row in sorted_rows(found, order)[:limit])


def _of_diseases(
    name: str, way: Way, label: str, columns: Sequence[str], order: Sequence[str], group: tuple[str, ...] = ("disease",)
) -> None:
    @oracle(name, diseases_and_limits, (*group, *order))
    def _(graph: Graph, diseases: list[str], limit: int | None = None) -> Iterable[Row]:
        known, wanted = graph.index(label), set(diseases)
        stated: dict[tuple[object, ...], Row] = {}
        for disease, entity, type_, edge in edges(graph, way, label):
            if disease in wanted:
                row = {"disease": disease, "relation": type_, "publications": edge.get("publications", [])}
                row |= pick(known[entity], "id", "name", "language") | pick(edge, "score", "association")
                row |= pick(edge, "reference", "source", "antecedent")
                key = (disease, type_, entity, row["source"], row["reference"], row["association"])
                same = stated.setdefault(key, row)
                same["score"] = max((r["score"] for r in (row, same) if r["score"] is not None), default=None)
        for row in cut(stated.values(), group, order, limit):
            yield pick(row, *group, *columns, "total")


_of_diseases("symptoms_of_diseases", (("HAS_SYMPTOM", "start"),), "Symptom", (*PHRASE, "antecedent"), STATED)
_of_diseases("tests_of_diseases", (("RECOMMEND_TEST", "start"),), "Test", PHRASE, STATED)
_of_diseases("drugs_of_diseases", (("RECOMMEND_DRUG", "start"),), "Drug", PHRASE, STATED)
_of_diseases("cures_of_diseases", (("RECOMMEND_CURE", "start"),), "Cure", PHRASE, STATED)
_of_diseases(
    "comorbidities_of_diseases", COMORBIDITY, "Disease", ("id", "name", "score", "reference", "source"), STATED
)
_of_diseases(
    "medicines_of_diseases", MEDICINE, "Drug", ("id", "name", "source"), ("id", "source"), ("disease", "relation")
)
_of_diseases(
    "genes_of_diseases",
    GENE,
    "Gene",
    ("relation", "id", "name", "association", "publications", "source"),
    ("id", "relation", "source", "association"),
)


PRESENTED = ("id", "source", "reference", "frequency", "evidence", "onset", "sex", "aspect")


@oracle("phenotypes_of_diseases", diseases_and_limits, ("disease", *PRESENTED[:4]))
def _(graph: Graph, diseases: list[str], limit: int | None = None) -> Iterable[Row]:
    known, rows = graph.index("Phenotype"), []
    for edge in annotations(graph):
        if edge["start"] in diseases:
            row = {"disease": edge["start"], "modifiers": edge.get("modifiers", [])}
            rows.append(row | pick(known[edge["end"]], "id", "name") | pick(edge, *EDGE, "sex", "aspect"))
    return cut(rows, ("disease",), PRESENTED, limit)


_SHARES = {"HP:0040280": 1.0, "HP:0040281": 0.9, "HP:0040282": 0.55, "HP:0040283": 0.17, "HP:0040284": 0.025}


@oracle(
    "typical_phenotypes",
    lambda g: [{"diseases": [r["id"] for r in g.nodes["Disease"]] + ["x"], "limit": n} for n in (10, 0, 2)],
    ("disease",),
)
def _(graph: Graph, diseases: list[str], limit: int) -> Iterable[Row]:
    names, known = graph.index("Phenotype"), graph.index("Disease")
    found: defaultdict[str, dict[str, float | None]] = defaultdict(dict)
    for edge in annotations(graph):
        if edge["start"] in diseases and (edge.get("aspect") or "P") == "P":
            stated = [each for each in (found[edge["start"]].get(edge["end"]), _share(edge)) if each is not None]
            found[edge["start"]][edge["end"]] = max(stated, default=None)
    for disease, shares in sorted(found.items()):
        order = sorted(shares, key=lambda id_: (-(0.45 if shares[id_] is None else shares[id_]), id_))
        for id_ in order[:limit]:
            row = {"disease": disease, "disease_name": known[disease].get("name"), "share": shares[id_]}
            yield row | pick(names[id_], "id", "name") | {"total": len(order)}


def _share(edge: Row) -> float | None:
    if edge.get("denominator"):
        return float(edge["numerator"] / edge["denominator"])
    if edge.get("frequency_class"):
        return _SHARES.get(edge["frequency_class"], 0.0)
    return None if edge.get("percentage") is None else edge["percentage"] / 100


def _inferring(name: str, parameter: str, way: Way, label: str) -> None:
    def questions(graph: Graph) -> list[Parameters]:
        nodes = [row["id"] for row in graph.nodes[label]]
        alone = [{"given": node, "id": node} for node in nodes[:60]]
        paired = [{"given": f"{AWKWARD_PAIR} {i // 2}", "id": node} for i, node in enumerate(nodes[:40])]
        asked = (alone, paired, [*alone[:3], *alone[:3], {"given": "x", "id": "nowhere"}], alone[-1:], [])
        return [
            {parameter: p, "min_match_count": m, "limit": n} for p in asked for m, n in ((1, 50), (2, 2000), (3, 5))
        ]

    @oracle(name, questions, ("-matched", "id"))
    def _(graph: Graph, min_match_count: int, limit: int, **asked: list[Row]) -> Iterable[Row]:
        known, diseases = graph.index(label), graph.index("Disease")
        given: defaultdict[str, set[str]] = defaultdict(set)
        for row in asked[parameter]:
            given[row["id"]].add(row["given"])
        found: defaultdict[str, set[str]] = defaultdict(set)
        for disease, entity, _, _ in edges(graph, way, label):
            if entity in given:
                found[disease].add(entity)
        rows = []
        for disease, entities in found.items():
            matched = len(set().union(*(given[entity] for entity in entities)))
            if matched >= min_match_count:
                names = {"matched_ids": sorted(entities), "matched_names": [known[e]["name"] for e in sorted(entities)]}
                rows.append(pick(diseases[disease], "id", "name") | {"matched": matched} | names)
        return limited(rows, ("-matched", "id"), limit)


_inferring("infer_diseases_by_symptoms", "symptoms", (("HAS_SYMPTOM", "start"),), "Symptom")
_inferring("infer_diseases_by_tests", "tests", (("RECOMMEND_TEST", "start"),), "Test")
_inferring("infer_diseases_by_drugs", "drugs", TREATMENT, "Drug")
_inferring("infer_diseases_by_cures", "cures", (("RECOMMEND_CURE", "start"),), "Cure")
_inferring("infer_diseases_by_comorbidities", "comorbidities", COMORBIDITY, "Disease")
_inferring("infer_diseases_by_genes", "genes", GENE, "Gene")
