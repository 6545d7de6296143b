"""What the templates on cases, runs and evidence must return; see :mod:`store.oracles`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from graph.graphs import Graph, Row
from graph.oracles import EDGE, Parameters, annotations, ids, limited, oracle, pick


def findings_and_diseases(graph: Graph) -> list[Parameters]:
    """Findings that the diseases have, that lie above or below what they have, and that are unrelated."""
    rows = [r["id"] for r in graph.nodes["Phenotype"]]
    annotated = [e["end"] for e in annotations(graph)]
    some = [r["id"] for r in graph.nodes["Disease"]]
    return [
        {"diseases": some[:3], "findings": annotated[:12] + rows[::150]},
        {"diseases": some[:300], "findings": rows[::40]},
        {"diseases": some[:2], "findings": []},
        {"diseases": ["OMIM:x"], "findings": rows[:5]},
    ]


def _evidence(graph: Graph, diseases: list[str], type_: str) -> Iterable[tuple[Row, Row]]:
    known, names, wanted = graph.index("Disease"), graph.index("Phenotype"), set(diseases)
    for edge in annotations(graph) if type_ == "HAS_PHENOTYPE" else graph.of(type_, "Disease", "Phenotype"):
        if edge["start"] in wanted:
            phenotype = {"phenotype": edge["end"], "phenotype_name": names[edge["end"]]["name"]}
            disease = {"disease": edge["start"], "disease_name": known[edge["start"]]["name"]}
            yield disease | phenotype | pick(edge, *EDGE), edge


def _chain(graph: Graph, finding: str, direction: str, path: Iterable[str]) -> Row:
    names = graph.index("Phenotype")
    path = list(path)
    return {
        "finding": finding,
        "finding_name": names[finding]["name"],
        "direction": "exact" if len(path) == 1 else direction,
        "path_ids": path,
        "path_names": [names[i]["name"] for i in path],
    }


@oracle("evidence_supporting", findings_and_diseases)
def _(graph: Graph, diseases: list[str], findings: list[str]) -> Iterable[Row]:
    for row, edge in _evidence(graph, diseases, "HAS_PHENOTYPE"):
        for finding in set(findings):
            if edge["end"] in graph.above[finding]:
                yield row | _chain(graph, finding, "ancestor", graph.above[finding][edge["end"]])
            elif finding in graph.above[edge["end"]]:
                yield row | _chain(graph, finding, "descendant", reversed(graph.above[edge["end"]][finding]))


def _in_words(graph: Graph, diseases: list[str], findings: list[str], symptoms: bool) -> Iterable[tuple[Row, Row, str]]:
    """Rows of evidence in words, with the edge and the symptom (empty where a text names the phenotype itself)."""
    known = graph.index("Disease")
    if symptoms:
        mapped = list(graph.of("MAPPED_TO", "Symptom", "Phenotype"))
        stated = [
            (edge, each["start"], each["end"], each.get("relation"))
            for edge in graph.of("HAS_SYMPTOM", "Disease", "Symptom")
            for each in mapped
            if each["start"] == edge["end"]
        ]
    else:
        stated = [(edge, "", edge["end"], None) for edge in graph.of("HAS_SYMPTOM", "Disease", "Phenotype")]
    for edge, symptom, phenotype, relation in stated:
        if edge["start"] not in diseases:
            continue
        head = {"disease": edge["start"], "disease_name": known[edge["start"]]["name"], "phenotype": phenotype}
        head |= {"relation": relation}
        for finding in set(findings):
            if phenotype in graph.above[finding]:
                yield head | _chain(graph, finding, "ancestor", graph.above[finding][phenotype]), edge, symptom
            elif finding in graph.above[phenotype]:
                way = reversed(graph.above[phenotype][finding])
                yield head | _chain(graph, finding, "descendant", way), edge, symptom


@oracle("evidence_symptoms", findings_and_diseases)
def _(graph: Graph, diseases: list[str], findings: list[str]) -> Iterable[Row]:
    names = graph.index("Symptom")
    for row, edge, symptom in _in_words(graph, diseases, findings, True):
        yield row | {"symptom": symptom, "symptom_name": names[symptom]["name"]} | pick(edge, "reference", "source")


@oracle("evidence_texts", findings_and_diseases)
def _(graph: Graph, diseases: list[str], findings: list[str]) -> Iterable[Row]:
    for row, edge, _ in _in_words(graph, diseases, findings, False):
        del row["relation"]
        yield row | pick(edge, "span", "method", "reference", "source")


@oracle(
    "evidence_against",
    lambda g: [p | {"excluded": p["findings"][::2] + ids(g, "Phenotype", 0, 1, 260)} for p in findings_and_diseases(g)],
)
def _(graph: Graph, diseases: list[str], findings: list[str], excluded: list[str]) -> Iterable[Row]:
    for row, edge in _evidence(graph, diseases, "HAS_PHENOTYPE"):
        for finding in set(excluded) & graph.above[edge["end"]].keys():
            path = reversed(graph.above[edge["end"]][finding])
            yield {"kind": "excluded", "relation": "HAS_PHENOTYPE"} | row | _chain(graph, finding, "descendant", path)
    for row, edge in _evidence(graph, diseases, "LACKS_PHENOTYPE"):
        for finding in set(findings):
            if edge["end"] in graph.above[finding]:
                head = {"kind": "annotated_absent", "relation": "LACKS_PHENOTYPE"}
                yield head | row | _chain(graph, finding, "ancestor", graph.above[finding][edge["end"]])


@oracle(
    "evidence_shared",
    lambda g: [
        p | {"matched": [r["id"] for r in g.nodes["Phenotype"][3::5]], "via": ids(g, "Phenotype", 0, 5, 300, 600)}
        for p in findings_and_diseases(g)
    ],
    ("disease", "finding", "via", "phenotype", "source", "reference", "frequency"),
)
def _(graph: Graph, diseases: list[str], findings: list[str], matched: list[str], via: list[str]) -> Iterable[Row]:
    names = graph.index("Phenotype")
    for row, edge in _evidence(graph, diseases, "HAS_PHENOTYPE"):
        if edge["end"] not in matched:
            continue
        for shared in graph.above[edge["end"]].keys() & set(via):
            for finding in (f for f in set(findings) if shared in graph.above[f]):
                up, down = graph.above[finding][shared], graph.above[edge["end"]][shared]
                yield row | {
                    "finding": finding,
                    "finding_name": names[finding]["name"],
                    "via": shared,
                    "via_name": names[shared]["name"],
                    "finding_path_ids": list(up),
                    "finding_path_names": [names[i]["name"] for i in up],
                    "phenotype_path_ids": list(down),
                    "phenotype_path_names": [names[i]["name"] for i in down],
                }


@oracle(
    "evidence_typical",
    lambda g: [
        {
            "diseases": [r["id"] for r in g.nodes["Disease"][:n]],
            "known": ids(g, "Phenotype", *range(m)),
            "minimum": s,
            "limit": 5000,
        }
        for n, m, s in ((5, 0, 0.55), (400, 900, 0.2), (1400, 20, 0.0))
    ],
    ("-share", "disease", "phenotype", "source", "reference", "frequency"),
)
def _(graph: Graph, diseases: list[str], known: list[str], minimum: float, limit: int) -> Iterable[Row]:
    for row, edge in _evidence(graph, diseases, "HAS_PHENOTYPE"):
        share = _share(edge)
        if edge["aspect"] == "P" and share >= minimum and edge["end"] not in known:
            yield row | {"share": share}


def _share(edge: Row) -> float:
    """Share of patients: n of m, else the percentage, else the middle of the frequency class, else nothing."""
    if edge.get("denominator"):
        return float(edge["numerator"] / edge["denominator"])
    if edge.get("percentage") is not None:
        return float(edge["percentage"] / 100)
    middle = {"HP:0040280": 1.0, "HP:0040281": 0.9, "HP:0040282": 0.55, "HP:0040283": 0.17, "HP:0040284": 0.025}
    return middle.get(edge.get("frequency_class", ""), 0.0)


def case_parameters(graph: Graph) -> list[Parameters]:
    return [{"case_id": i} for i in (*ids(graph, "PatientCase", 0, 1, 2, -1), "case:x")]


@oracle("case_by_id", case_parameters)
def _(graph: Graph, case_id: str) -> Iterable[Row]:
    row = graph.node("PatientCase", case_id)
    if row:
        yield pick(row, "id", "label", "sex", "age", "text", "origin", "synthetic", "source")


@oracle(
    "case_findings",
    case_parameters,
    ("-relation", "id", "onset", "span_start", "span_end", "matched", "method", "score", "text"),
)
def _(graph: Graph, case_id: str) -> Iterable[Row]:
    names = graph.index("Phenotype")
    columns = ("onset", "span_start", "span_end", "matched", "method", "score", "text")
    for relation in ("OBSERVED", "EXCLUDED"):
        for edge in graph.of(relation, "PatientCase", "Phenotype"):
            if edge["start"] == case_id:
                yield {"relation": relation} | pick(names[edge["end"]], "id", "name") | pick(edge, *columns)


@oracle("case_symptoms", case_parameters, ("-relation", "id", "source"))
def _(graph: Graph, case_id: str) -> Iterable[Row]:
    names = graph.index("Symptom")
    for relation in ("OBSERVED", "EXCLUDED"):
        for edge in graph.of(relation, "PatientCase", "Symptom"):
            if edge["start"] == case_id:
                named = pick(names[edge["end"]], "id", "name", "language")
                yield {"relation": relation} | named | pick(edge, "source")


RUN = ("id", "created", "policy", "kgdx_version", "fingerprint", "trace", "text_digest")


@oracle("case_runs", case_parameters, ("-created", "id"))
def _(graph: Graph, case_id: str) -> Iterable[Row]:
    runs = graph.index("Diagnosis")
    edges = graph.of("HAS_RUN", "PatientCase", "Diagnosis")
    return [pick(runs[e["end"]], *RUN) for e in edges if e["start"] == case_id]


def run_parameters(graph: Graph) -> list[Parameters]:
    return [{"run_id": i} for i in (*ids(graph, "Diagnosis", 0, 5, -1), "run:x")]


@oracle("run_by_id", run_parameters)
def _(graph: Graph, run_id: str) -> Iterable[Row]:
    runs = graph.index("Diagnosis")
    for edge in graph.of("HAS_RUN", "PatientCase", "Diagnosis"):
        if edge["end"] == run_id:
            yield pick(runs[run_id], *RUN) | {"case_id": edge["start"]}


@oracle("run_candidates", run_parameters, ("rank", "id"))
def _(graph: Graph, run_id: str) -> Iterable[Row]:
    names = graph.index("Disease")
    for edge in graph.of("CONSIDERED", "Diagnosis", "Disease"):
        if edge["start"] == run_id:
            yield (
                pick(names[edge["end"]], "id", "name")
                | pick(edge, "rank", "score")
                | {"contributions": edge.get("contributions", [])}
            )


@oracle("run_asked", run_parameters, ("turn", "id"))
def _(graph: Graph, run_id: str) -> Iterable[Row]:
    for relation, label in (("ASKED", "Phenotype"), ("ASKED", "Symptom"), ("ORDERED", "Test")):
        names = graph.index(label)
        for edge in graph.of(relation, "Diagnosis", label):
            if edge["start"] == run_id:
                told = pick(edge, "turn", "answer", "gain")
                yield {"relation": relation} | pick(names[edge["end"]], "id", "name") | told


@oracle(
    "user_cases",
    lambda g: [{"source": s, "limit": n} for s in ("user", "phenopackets", "x") for n in (7, 5000)],
    ("id",),
)
def _(graph: Graph, source: str, limit: int) -> Iterable[Row]:
    observed = Counter(e["start"] for e in graph.of("OBSERVED", "PatientCase", "Phenotype"))
    runs = Counter(e["start"] for e in graph.of("HAS_RUN", "PatientCase", "Diagnosis"))
    rows = [
        pick(r, "id", "label") | {"observed": observed[r["id"]], "runs": runs[r["id"]]}
        for r in graph.nodes["PatientCase"]
        if r["source"] == source
    ]
    return limited(rows, ("id",), limit)


@oracle(
    "saved_cases",
    lambda g: [{"source": s} for s in ("user", "phenopackets", "x")],
    ("id",),
    ("observed", "diseases", "publications"),
)
def _(graph: Graph, source: str) -> Iterable[Row]:
    for row in graph.nodes["PatientCase"]:
        if row["source"] == source:
            observed = [e["end"] for e in graph.of("OBSERVED", "PatientCase", "Phenotype") if e["start"] == row["id"]]
            stated = [e["end"] for e in graph.of("DIAGNOSED", "PatientCase", "Disease") if e["start"] == row["id"]]
            papers = [
                e["end"] for e in graph.of("REPORTED_IN", "PatientCase", "Publication") if e["start"] == row["id"]
            ]
            found = {"observed": sorted(observed), "diseases": sorted(stated), "publications": sorted(papers)}
            yield pick(row, "id", "label", "synthetic") | found


def _near(graph: Graph, *at: int) -> list[Row]:
    """What is similar to each of some phenotypes: itself, and those that follow it, less and less."""
    size = len(graph.nodes["Phenotype"])
    return [
        {"asked": number, "id": graph.nodes["Phenotype"][(start + step) % size]["id"], "similarity": 9000 - 700 * step}
        for number, start in enumerate(at)
        for step in range(14)
    ]


@oracle(
    "similar_cases",
    lambda g: (
        [
            {"near": _near(g, *at), "asked": len(at) + 1, "without": w, "publications": p, "limit": n}
            for at, w, p, n in (
                (range(0, 12, 5), [], [], 2000),
                ((0, 3), ids(g, "PatientCase", 0, 1), ids(g, "Publication", 0, 1), 15),
                ((7,), ["case:x"], ["PMID:x"], 3),
                ((7,), [], [], 0),
            )
        ]
        + [
            {"near": rows, "asked": 1, "without": [], "publications": [], "limit": 9}
            for rows in ([], [{"asked": 0, "id": "HP:x", "similarity": 5}])
        ]
    ),
    ("-score", "id"),
)
def _(
    graph: Graph, near: list[Row], asked: int, without: list[str], publications: list[str], limit: int
) -> Iterable[Row]:
    observed: defaultdict[str, set[str]] = defaultdict(set)
    for edge in graph.of("OBSERVED", "PatientCase", "Phenotype"):
        observed[edge["start"]].add(edge["end"])
    diagnosed, papers = (
        _ends(graph, type_, end) for type_, end in (("DIAGNOSED", "Disease"), ("REPORTED_IN", "Publication"))
    )
    cases, rows = graph.index("PatientCase"), []
    for case, terms in observed.items():
        best: dict[int, tuple[int, str]] = {}
        for row in sorted(near, key=lambda row: (-row["similarity"], row["id"])):
            if row["id"] in terms and row["similarity"] > 0:
                best.setdefault(row["asked"], (row["similarity"], row["id"]))
        named = {case, cases[case].get("label")} & set(without)
        if not best or named or cases[case].get("synthetic") or papers[case] & set(publications):
            continue
        score = sum(similarity for similarity, _ in best.values()) / (asked * 10000)
        nearest = [id_ for _, (_, id_) in sorted(best.items())]
        rows.append(
            pick(cases[case], "id", "label") | {"score": score, "matched": nearest, "diseases": sorted(diagnosed[case])}
        )
    return limited(rows, ("-score", "id"), limit)


def _ends(graph: Graph, type_: str, end: str) -> defaultdict[str, set[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for edge in graph.of(type_, "PatientCase", end):
        found[edge["start"]].add(edge["end"])
    return found


@oracle(
    "cooccurring_phenotypes",
    lambda g: [
        {"phenotype": i, "source": s, "limit": n}
        for i in (*ids(g, "Phenotype", 0, 8), "HP:x")
        for s, n in ((None, 30), ("user", 500), ("nowhere", 5))
    ],
    ("-cases", "id"),
)
def _(graph: Graph, phenotype: str, source: str | None, limit: int) -> Iterable[Row]:
    edges = [e for e in graph.of("OBSERVED", "PatientCase", "Phenotype") if source in (None, e["source"])]
    cases = {e["start"] for e in edges if e["end"] == phenotype}
    found = Counter(e["end"] for e in edges if e["start"] in cases and e["end"] != phenotype)
    names = graph.index("Phenotype")
    return limited((pick(names[i], "id", "name") | {"cases": n} for i, n in found.items()), ("-cases", "id"), limit)


@oracle("diseases_of_source", lambda g: [{"source": "made0"}, {"source": "made2"}, {"source": "nowhere"}], ("id",))
def _(graph: Graph, source: str) -> Iterable[Row]:
    for row in graph.nodes["Disease"]:
        if row["source"] == source:
            yield pick(row, "id", "name", "name_zh") | {"synonyms": row.get("synonyms", [])}
