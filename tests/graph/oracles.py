"""What each read template must return, computed from the plain lists of :mod:`store.graphs`: no store, no Cypher."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graph.graphs import Graph, Row
from kgdx.schema import load_schema
from kgdx.schema.model import ANNOTATIONS, MATCHES

Parameters = dict[str, Any]
#: What the suite writes into the Build node of the graph that the templates read.
BUILT = {"fingerprint": "f1", "kgdx_version": "0.1.0", "created": "2026-01-01T00:00:00Z"}

Compute = Callable[..., Iterable[Row]]

EDGE = (
    "frequency",
    "numerator",
    "denominator",
    "percentage",
    "frequency_class",
    "onset",
    "evidence",
    "reference",
    "source",
)


@dataclass(frozen=True)
class Oracle:
    """How to compute a template's rows, the parameters to try, and the order that the rows must come in."""

    compute: Compute
    parameters: Callable[[Graph], Sequence[Parameters]]
    order: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()  # columns whose list order is not part of the answer


ORACLES: dict[str, Oracle] = {}


def oracle(
    name: str,
    parameters: Callable[[Graph], Sequence[Parameters]],
    order: tuple[str, ...] = (),
    lists: tuple[str, ...] = (),
) -> Callable[[Compute], Compute]:
    """Register the oracle of a template; ``order`` names its sort columns, ``-`` in front for descending."""

    def register(compute: Compute) -> Compute:
        assert name not in ORACLES
        ORACLES[name] = Oracle(compute, parameters, order, lists)
        return compute

    return register


def annotations(graph: Graph) -> list[Row]:
    return [edge for type_ in ANNOTATIONS for edge in graph.of(type_, "Disease", "Phenotype")]


def pick(row: Mapping[str, Any], *names: str, **renamed: str) -> Row:
    found = {n: row.get(n) for n in names} | {new: row.get(old) for new, old in renamed.items()}
    return found | (
        {"reference": ";".join(row["references"])} if "reference" in names and row.get("references") else {}
    )


def sorted_rows(rows: Iterable[Row], order: Sequence[str]) -> list[Row]:
    out = list(rows)
    for column in reversed(order):
        name = column.lstrip("-")
        down = column.startswith("-")
        out.sort(key=lambda r: ((r[name] is None) != down, 0 if r[name] is None else r[name]), reverse=down)
    return out


def ids(graph: Graph, label: str, *at: int) -> list[str]:
    return [graph.nodes[label][i]["id"] for i in at]


def some_diseases(graph: Graph) -> list[Parameters]:
    """Nothing, one, some, all of the diseases, and one that is not there."""
    rows = graph.nodes["Disease"]
    return [
        {"diseases": []},
        {"diseases": [rows[3]["id"], "OMIM:nowhere"]},
        {"diseases": [r["id"] for r in rows[:40]]},
        {"diseases": [r["id"] for r in rows]},
    ]


def names_to_try(label: str, parameter: str) -> Callable[[Graph], list[Parameters]]:
    return lambda graph: [{parameter: r["name"]} for r in graph.nodes[label][:9]] + [{parameter: "no such name"}]


def limited(rows: Iterable[Row], order: Sequence[str], limit: int) -> list[Row]:
    return sorted_rows(rows, order)[:limit]


@oracle("disease_by_id", lambda g: [{"disease": i} for i in (*ids(g, "Disease", 0, 3, 5), "x'} RETURN 1 //")])
def _(graph: Graph, disease: str) -> Iterable[Row]:
    row = graph.node("Disease", disease)
    if row:
        yield pick(row, "id", "name", "name_zh", "definition", "source") | {"synonyms": row.get("synonyms", [])}


@oracle("diseases_by_ids", some_diseases, ("id",))
def _(graph: Graph, diseases: list[str]) -> Iterable[Row]:
    known = graph.index("Disease")
    return [pick(known[i], "id", "name", "name_zh", "source") for i in diseases if i in known]


@oracle("disease_by_name", names_to_try("Disease", "name"), ("id",))
def _(graph: Graph, name: str) -> Iterable[Row]:
    return [pick(r, "id", "name", "source") for r in graph.nodes["Disease"] if r["name"] == name]


def _search(rows: Iterable[Row], text: str, limit: int, columns: tuple[str, ...]) -> list[Row]:
    said = [(r, (r["name"].lower(), (r.get("name_zh") or "").lower())) for r in rows]
    found = [pick(r, *columns) | {"n": len(r["name"])} for r, names in said if any(text.lower() in n for n in names)]
    return [pick(r, *columns) for r in limited(found, ("n", "id"), limit)]


def searches(graph: Graph) -> list[Parameters]:
    texts = ["NUMBER 12", "马凡", "疾病", "'s \"", "\\", "}) detach", "no such name", ""]
    texts += ["umber 1", "ber", " number", "number  12", "AND number", "number OR", "病", "number-", "x" * 300]
    return [{"text": t, "limit": 25} for t in texts] + [{"text": "number", "limit": 5000}]


@oracle("search_diseases", searches)
def _(graph: Graph, text: str, limit: int) -> Iterable[Row]:
    return _search(graph.nodes["Disease"], text, limit, ("id", "name", "name_zh", "source"))


@oracle("search_phenotypes", searches)
def _(graph: Graph, text: str, limit: int) -> Iterable[Row]:
    return _search(
        (r for r in graph.nodes["Phenotype"] if not r.get("obsolete")), text, limit, ("id", "name", "name_zh")
    )


@oracle("phenotype_by_id", lambda g: [{"phenotype": i} for i in (*ids(g, "Phenotype", 0, 3, 49), "HP:x")])
def _(graph: Graph, phenotype: str) -> Iterable[Row]:
    row = graph.node("Phenotype", phenotype)
    if row:
        lists = {n: row.get(n, []) for n in ("synonyms", "alt_ids", "consider")}
        plain = pick(row, "id", "name", "name_zh", "definition", "replaced_by")
        yield plain | lists | {"obsolete": row.get("obsolete", False)}


@oracle("phenotypes_by_ids", lambda g: [{"phenotypes": [*ids(g, "Phenotype", 5, 1, 5), "x"]}], ("id",))
def _(graph: Graph, phenotypes: list[str]) -> Iterable[Row]:
    known = graph.index("Phenotype")
    return [pick(known[i], "id", "name", "name_zh") for i in set(phenotypes) if i in known]


@oracle("phenotype_by_name", names_to_try("Phenotype", "name"), ("id",))
def _(graph: Graph, name: str) -> Iterable[Row]:
    return [pick(r, "id", "name") for r in graph.nodes["Phenotype"] if r["name"] == name]


@oracle("phenotype_by_alt_id", lambda g: [{"alt_id": "HP:9000003"}, {"alt_id": "HP:9000004"}], ("id",))
def _(graph: Graph, alt_id: str) -> Iterable[Row]:
    return [pick(r, "id", "name") for r in graph.nodes["Phenotype"] if alt_id in r.get("alt_ids", [])]


def some_phenotypes(graph: Graph) -> list[Parameters]:
    rows = [r["id"] for r in graph.nodes["Phenotype"]]
    return [{"phenotypes": p} for p in ([], rows[-3:], rows[-260:], [rows[0], rows[-1], "x"])]


@oracle("phenotype_ancestors", some_phenotypes, ("phenotype", "steps", "id"))
def _(graph: Graph, phenotypes: list[str]) -> Iterable[Row]:
    known = graph.index("Phenotype")
    for id_ in phenotypes:
        for above, chain in graph.above.get(id_, {}).items():
            yield {"phenotype": id_, "id": above, "name": known[above]["name"], "steps": len(chain) - 1}


@oracle("phenotype_descendants", some_phenotypes, ("phenotype", "steps", "id"))
def _(graph: Graph, phenotypes: list[str]) -> Iterable[Row]:
    wanted = set(phenotypes)
    for row in graph.nodes["Phenotype"]:
        for above, chain in graph.above[row["id"]].items():
            if above in wanted:
                yield {"phenotype": above, "id": row["id"], "name": row["name"], "steps": len(chain) - 1}


@oracle(
    "phenotype_neighbours",
    lambda g: [{"phenotype": i} for i in (*ids(g, "Phenotype", 0, 1, 2, 700, -1), "HP:x")],
    ("direction", "id"),
)
def _(graph: Graph, phenotype: str) -> Iterable[Row]:
    known = graph.index("Phenotype")
    for edge in graph.of("IS_A", "Phenotype", "Phenotype"):
        if edge["start"] == phenotype:
            yield {"direction": "above"} | pick(known[edge["end"]], "id", "name")
        if edge["end"] == phenotype:
            yield {"direction": "below"} | pick(known[edge["start"]], "id", "name")


def _retrieved(graph: Graph, diseases: list[str], type_: str, end: str, *columns: str) -> Iterable[tuple[Row, Row]]:
    known, wanted = graph.index(end), set(diseases)
    for edge in graph.of(type_, "Disease", end):
        if edge["start"] in wanted:
            target = known[edge["end"]]
            yield {"disease": edge["start"]} | pick(target, "id", "name") | pick(edge, *columns), edge


@oracle("absent_phenotypes_of_diseases", some_diseases, ("disease", "id", "source", "reference", "frequency"))
def _(graph: Graph, diseases: list[str]) -> Iterable[Row]:
    columns = ("frequency", "evidence", "reference", "source")
    return [row for row, _ in _retrieved(graph, diseases, "LACKS_PHENOTYPE", "Phenotype", *columns)]


@oracle("diseases_of_genes", lambda g: [{"symbols": [r["name"] for r in g.nodes["Gene"][:20]]}], ("gene", "id"))
def _(graph: Graph, symbols: list[str]) -> Iterable[Row]:
    genes, diseases = graph.index("Gene"), graph.index("Disease")
    for edge in graph.of("ASSOCIATED_GENE", "Disease", "Gene"):
        name = genes[edge["end"]]["name"]
        if name in symbols:
            yield {"gene": name} | pick(diseases[edge["start"]], "id", "name") | pick(edge, "association", "source")


@oracle("text_symptoms_of_diseases", some_diseases, ("disease", "id", "source", "reference"))
def _(graph: Graph, diseases: list[str]) -> Iterable[Row]:
    known = graph.index("Phenotype")
    columns = ("reference", "span", "matched", "method", "score", "model", "source")
    for edge in graph.of("HAS_SYMPTOM", "Disease", "Phenotype"):
        if edge["start"] in diseases:
            named = pick(known[edge["end"]], "id", "name", "name_zh")
            yield {"disease": edge["start"]} | named | pick(edge, *columns)


@oracle("same_as_of_diseases", some_diseases)
def _(graph: Graph, diseases: list[str]) -> Iterable[Row]:
    known, wanted = graph.index("Disease"), set(diseases)
    turned = {"narrower": "broader", "broader": "narrower"}
    for stated, type_ in MATCHES.items():
        for edge in graph.of(type_, "Disease", "Disease"):
            for one, other, relation in (
                (edge["start"], edge["end"], turned.get(stated, stated)),
                (edge["end"], edge["start"], stated),
            ):
                if one in wanted:
                    head = {"disease": one, "other": other, "name": known[other]["name"], "relation": relation}
                    yield head | pick(edge, "method", "score", "source") | {"evidence": edge.get("evidence", [])}


@oracle("relations_of_disease", lambda g: [{"disease": i} for i in ids(g, "Disease", 0, 7)], ("relation", "label"))
def _(graph: Graph, disease: str) -> Iterable[Row]:
    found: Counter[tuple[str, str]] = Counter()
    for (type_, start, end), edges in graph.edges.items():
        for edge in edges if type_ != "PREDICTED" else ():
            found[type_, end] += start == "Disease" and edge["start"] == disease
            found[type_, start] += end == "Disease" and edge["end"] == disease
    return [{"relation": t, "label": label, "n": n} for (t, label), n in found.items() if n]


def some_predictions(graph: Graph) -> list[Parameters]:
    disease = graph.of("PREDICTED", "Disease", "Symptom")[0]["start"]
    tried: list[Parameters] = [{}, {"model": "model 1"}, {"disease": disease}, {"disease": "OMIM:nowhere"}]
    return [each | {"limit": limit} for each in tried for limit in (5, 10_000)]


@oracle("predictions", some_predictions, ("-probability", "-score", "disease", "relation", "other", "model"))
def _(graph: Graph, limit: int, model: str | None = None, disease: str | None = None) -> Iterable[Row]:
    found = []
    for label in ("Symptom", "Phenotype"):
        for edge in graph.of("PREDICTED", "Disease", label):
            if model in (None, edge["model"]) and disease in (None, edge["start"]):
                head = {"disease": edge["start"], "name": graph.index("Disease")[edge["start"]]["name"]}
                other = {"other": edge["end"], "other_name": graph.index(label)[edge["end"]]["name"], "label": label}
                told = ("relation", "model", "score", "probability", "embeddings", "source")
                found.append(head | other | pick(edge, *told))
    return limited(found, ("-probability", "-score", "disease", "relation", "other", "model"), limit)


def queries(graph: Graph) -> list[Parameters]:
    rows = [r["id"] for r in graph.nodes["Phenotype"]]
    picks = (rows[10::400], rows[-6:], rows[:3], [], ["HP:x", rows[9], rows[9]])
    return [{"phenotypes": p, "min_match_count": m, "limit": n} for p in picks for m, n in ((1, 30), (2, 2000))]


def _inferred(graph: Graph, matches: dict[str, set[str]], minimum: int, limit: int) -> list[Row]:
    diseases, phenotypes = graph.index("Disease"), graph.index("Phenotype")
    rows = [
        pick(diseases[d], "id", "name")
        | {"matched": len(m), "matched_ids": sorted(m), "matched_names": [phenotypes[p]["name"] for p in sorted(m)]}
        for d, m in matches.items()
        if len(m) >= minimum
    ]
    return limited(rows, ("-matched", "id"), limit)


@oracle("infer_diseases", queries, ("-matched", "id"))
def _(graph: Graph, phenotypes: list[str], min_match_count: int, limit: int) -> Iterable[Row]:
    matches: defaultdict[str, set[str]] = defaultdict(set)
    for edge in annotations(graph):
        matches[edge["start"]] |= graph.above[edge["end"]].keys() & set(phenotypes)
    return _inferred(graph, matches, min_match_count, limit)


@oracle("infer_diseases_exact", queries, ("-matched", "id"))
def _(graph: Graph, phenotypes: list[str], min_match_count: int, limit: int) -> Iterable[Row]:
    matches: defaultdict[str, set[str]] = defaultdict(set)
    for edge in annotations(graph):
        matches[edge["start"]] |= {edge["end"]} & set(phenotypes)
    return _inferred(graph, matches, min_match_count, limit)


@oracle("sources", lambda g: [{}], ("id",))
def _(graph: Graph) -> Iterable[Row]:
    columns = ("id", "version", "checksum", "licence", "citation", "read", "loaded", "merged", "quarantined")
    return [pick(row, *columns) for row in graph.nodes["Source"]]


@oracle("build", lambda g: [{}])
def _(graph: Graph) -> Iterable[Row]:
    schema = load_schema()
    yield {"id": "build:current", "schema_version": schema.version, "schema_checksum": schema.checksum} | BUILT


@oracle("count_nodes", lambda g: [{}], ("name",))
def _(graph: Graph) -> Iterable[Row]:
    counts = {label: len(rows) for label, rows in graph.nodes.items()} | {"Build": 1}
    return [{"name": label, "n": n} for label, n in counts.items()]


@oracle("count_relations", lambda g: [{}], ("name",))
def _(graph: Graph) -> Iterable[Row]:
    return [{"name": name, "n": n} for name, n in graph.counts().items() if name not in graph.nodes]
