"""A made-up graph, seeded and held in plain lists, so that what a template returns can be computed without a store.

With the default size every relation that a template reads has more than 3,000 rows: the wrong results that engines have
been seen to give appear above about 2,048 rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable
from kgdx.graph.tables import arrow_schema
from kgdx.schema import load_schema
from kgdx.schema.model import ANNOTATIONS, FREQUENCIES, MATCHES

Row = dict[str, Any]
LAYERS = 8

#: Names and texts that have broken query builders before.
AWKWARD = (
    "O'Neil's \"quoted\" disease",
    "back\\slash \\u0041 $id {x: 1}",
    "}) DETACH DELETE n //",
    "马凡综合征",
    "line\nbreak\ttab",
    "emoji 🧬 and İi",
    "' OR 1=1 --",
    "`tick` /* comment */",
)


@dataclass
class Graph:
    """Nodes by label and edges by (type, start label, end label), each a plain dict without absent properties."""

    nodes: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    edges: dict[tuple[str, str, str], list[Row]] = field(default_factory=lambda: defaultdict(list))
    _index: dict[str, dict[str, Row]] = field(default_factory=dict, repr=False)

    def tables(self) -> Iterator[GraphTable]:
        """The graph as the tables that a store loads."""
        schema = load_schema()
        for label, rows in self.nodes.items():
            yield NodeTable(label, _table(rows, arrow_schema(schema.nodes[label])))
        for (type_, start, end), rows in self.edges.items():
            yield RelationTable(type_, start, end, _table(rows, arrow_schema(schema.relations[type_])))

    def node(self, label: str, id_: str) -> Row | None:
        return self.index(label).get(id_)

    def index(self, label: str) -> dict[str, Row]:
        known = self._index.setdefault(label, {})
        if len(known) != len(self.nodes[label]):
            known.clear()
            known.update((row["id"], row) for row in self.nodes[label])
        return known

    def of(self, type_: str, start: str, end: str) -> list[Row]:
        return self.edges[type_, start, end]

    def counts(self) -> dict[str, int]:
        out: dict[str, int] = {label: len(rows) for label, rows in self.nodes.items() if rows}
        for (type_, _, _), rows in self.edges.items():
            if rows:
                out[type_] = out.get(type_, 0) + len(rows)
        return out

    @cached_property
    def parents(self) -> dict[str, list[str]]:
        out: dict[str, list[str]] = {row["id"]: [] for row in self.nodes["Phenotype"]}
        for edge in self.of("IS_A", "Phenotype", "Phenotype"):
            out[edge["start"]].append(edge["end"])
        return out

    def ancestors(self, phenotype: str) -> dict[str, tuple[str, ...]]:
        """Every phenotype at or above one, with the first of the shortest chains that lead to it."""
        found = {phenotype: (phenotype,)}
        level = [phenotype]
        while level:
            nearest: dict[str, tuple[str, ...]] = {}
            for id_ in level:
                for parent in self.parents[id_]:
                    chain = (*found[id_], parent)
                    if parent not in found and (parent not in nearest or chain < nearest[parent]):
                        nearest[parent] = chain
            found |= nearest
            level = list(nearest)
        return found

    @cached_property
    def above(self) -> dict[str, dict[str, tuple[str, ...]]]:
        return {row["id"]: self.ancestors(row["id"]) for row in self.nodes["Phenotype"]}


def _table(rows: list[Row], fields: pa.Schema) -> pa.Table:
    return pa.table({each.name: pa.array([row.get(each.name) for row in rows], each.type) for each in fields})


def make_graph(seed: int = 7, scale: float = 1.0) -> Graph:
    """A graph in which everything is random but the shape: eight layers of phenotypes, many-to-many edges."""
    rng = np.random.default_rng(seed)
    graph = Graph()
    _nodes(graph, rng, scale)
    _ontology(graph, rng)
    _annotations(graph, rng, scale)
    _retrieval(graph, rng, scale)
    _cases(graph, rng, scale)
    _primekg(graph, rng, scale)
    _descriptions(graph, rng, scale)
    _predictions(graph, rng, scale)
    return graph


def _ids(prefix: str, n: int) -> list[str]:
    return [f"{prefix}{i:07d}" for i in range(n)]


def _nodes(graph: Graph, rng: np.random.Generator, scale: float) -> None:
    def named(label: str, prefix: str, n: int, **more: Any) -> None:
        for i, id_ in enumerate(_ids(prefix, max(8, int(n * scale)))):
            name = AWKWARD[i] if i < len(AWKWARD) else f"{label} number {i}"
            graph.nodes[label].append({"id": id_, "source": f"made{i % 3}", "name": name} | more)

    named("Disease", "OMIM:", 1500)
    named("Phenotype", "HP:", 2400)
    named("Gene", "NCBIGene:", 300)
    for label, prefix in (("Symptom", "KGDX:s"), ("Test", "KGDX:t"), ("Drug", "KGDX:d"), ("Cure", "KGDX:c")):
        named(label, prefix, 200, language="en")
    for i in range(4):
        source: Row = {"id": f"made{i}", "source": f"made{i}", "version": "1", "checksum": "c", "licence": "CC0"}
        graph.nodes["Source"].append(source | {"read": 10 + i, "loaded": 7 + i, "merged": 2, "quarantined": 1})
    for i, row in enumerate((*graph.nodes["Disease"], *graph.nodes["Phenotype"])):
        if i % 2:
            row |= {"name_zh": f"疾病{row['id']}", "name_zh_source": f"zh{i % 3}"}
    for row in graph.nodes["Disease"]:
        if rng.random() < 0.3:
            row["synonyms"] = [f"also {row['id']}", 'it\'s "so"']
    for i, row in enumerate(graph.nodes["Phenotype"]):
        row["alt_ids"] = [f"HP:9{i:06d}"] if i % 3 == 0 else []
        if i % 50 == 49:
            row |= {"obsolete": True, "replaced_by": graph.nodes["Phenotype"][i - 1]["id"]}


def _ontology(graph: Graph, rng: np.random.Generator) -> None:
    ids = [row["id"] for row in graph.nodes["Phenotype"]]
    size = len(ids) // LAYERS
    for i in range(size, len(ids)):
        layer = min(i // size, LAYERS - 1)
        above = ids[(layer - 1) * size : layer * size]
        for parent in rng.choice(above, size=int(rng.choice(3, p=(0.55, 0.35, 0.1))) + 1, replace=False):
            graph.edges["IS_A", "Phenotype", "Phenotype"].append(
                {"start": ids[i], "end": str(parent), "source": "made0"}
            )


def _pairs(graph: Graph, rng: np.random.Generator, start: str, end: str, n: int) -> list[tuple[str, str]]:
    starts = [row["id"] for row in graph.nodes[start]]
    ends = [row["id"] for row in graph.nodes[end]]
    ones, others = rng.integers(len(starts), size=n), rng.integers(len(ends), size=n)
    picked = {(starts[a], ends[b]) for a, b in zip(ones, others, strict=True)}
    return sorted((a, b) for a, b in picked if a != b)


def _annotations(graph: Graph, rng: np.random.Generator, scale: float) -> None:
    for relation, n in (("HAS_PHENOTYPE", 9700), ("LACKS_PHENOTYPE", 3600)):
        for i, (start, end) in enumerate(_pairs(graph, rng, "Disease", "Phenotype", int(n * scale))):
            total = int(rng.integers(1, 30))
            part = int(rng.integers(0, total + 1))
            edge: Row = {
                "start": start,
                "end": end,
                "source": f"made{i % 2}",
                "aspect": "PIC"[i % 3],
                "evidence": "PCS",
            }
            match i % 4:
                case 1:
                    edge |= {"frequency": f"{part}/{total}", "numerator": part, "denominator": total}
                    edge["share"] = part / total
                case 2:
                    edge |= {"frequency": f"{part}%", "percentage": float(part), "share": part / 100}
                case 3:
                    class_ = f"HP:004028{i % 5}"
                    edge |= {"frequency": class_, "frequency_class": class_, "share": FREQUENCIES[class_].share}
            if i % 5:
                edge["references"] = [f"PMID:{i}", f"PMID:{i + 1}"][: 1 + i % 2]
            if i % 7 == 0:
                edge |= {"modifiers": ["HP:0012825", "HP:0012826"], "onset": "HP:0003577", "sex": "FEMALE"}
            type_ = ANNOTATIONS["PIC".index(edge["aspect"])] if relation == "HAS_PHENOTYPE" else relation
            graph.edges[type_, "Disease", "Phenotype"].append(edge)
    twice = graph.of("HAS_PHENOTYPE", "Disease", "Phenotype")[:50]  # the same pair from two references
    graph.of("HAS_PHENOTYPE", "Disease", "Phenotype").extend(
        e | {"references": [f"PMID:9{i}"]} for i, e in enumerate(twice)
    )


def _retrieval(graph: Graph, rng: np.random.Generator, scale: float) -> None:
    def add(type_: str, start: str, end: str, n: int, **more: Any) -> None:
        for i, (a, b) in enumerate(_pairs(graph, rng, start, end, int(n * scale))):
            edge: Row = {"start": a, "end": b, "source": f"made{i % 2}"}
            edge |= {k: v(i) if callable(v) else v for k, v in more.items()}
            graph.edges[type_, start, end].append({k: v for k, v in edge.items() if v is not None})

    def score(i: int) -> float | None:
        return None if i % 5 == 0 else i / 1024

    def publications(i: int) -> list[str] | None:
        return None if i % 3 else [f"PMID:{i}", f"PMID:{i + 1}"]

    add("ASSOCIATED_GENE", "Disease", "Gene", 3600, association="MENDELIAN", publications=publications)
    for type_, end in (("HAS_SYMPTOM", "Symptom"), ("RECOMMEND_TEST", "Test"), ("RECOMMEND_DRUG", "Drug")):
        add(type_, "Disease", end, 3600, score=score, references=lambda i: ["book"])
    add("RECOMMEND_CURE", "Disease", "Cure", 3600, score=score)
    read: Row = {"method": "exact", "matched": "fits", "span": lambda i: AWKWARD[i % 8], "model": "matcher"}
    add("HAS_SYMPTOM", "Disease", "Phenotype", 600, score=score, references=lambda i: [f"text{i % 3}"], **read)
    add("HAS_COMORBIDITY", "Disease", "Disease", 3600, score=score)
    for type_ in MATCHES.values():
        add(type_, "Disease", "Disease", 3100, method="name", score=score)
        for edge in graph.of(type_, "Disease", "Disease")[::3]:
            edge["evidence"] = ["same name", "same gene"]
    _stated_again(graph)


def _stated_again(graph: Graph) -> None:
    """The same relation from other references and sources, and a comorbidity from its other end."""
    for key in (("HAS_SYMPTOM", "Disease", "Symptom"), ("RECOMMEND_DRUG", "Disease", "Drug")):
        again = [e | {"references": [f"page {i % 2}"]} for i, e in enumerate(graph.edges[key][:40])]
        bare = [{name: e[name] for name in ("start", "end", "source")} for e in graph.edges[key][20:60]]
        graph.edges[key] += [*again, *bare]
    genes = graph.of("ASSOCIATED_GENE", "Disease", "Gene")
    genes += [e | {"association": f"ROLE {i % 2}"} for i, e in enumerate(genes[:40])]
    both = graph.of("HAS_COMORBIDITY", "Disease", "Disease")
    both += [e | {"start": e["end"], "end": e["start"], "score": i / 64} for i, e in enumerate(both[:60])]


def _predictions(graph: Graph, rng: np.random.Generator, scale: float) -> None:
    for label, relation in (("Symptom", "HAS_SYMPTOM"), ("Phenotype", "HAS_PHENOTYPE")):
        for i, (a, b) in enumerate(_pairs(graph, rng, "Disease", label, int(1800 * scale))):
            edge: Row = {"start": a, "end": b, "source": "user", "relation": relation, "model": f"model {i % 2}"}
            told = {"score": i / 64 - 2, "probability": (i % 64) / 64, "embeddings": "digest"}
            graph.edges["PREDICTED", "Disease", label].append(edge | told)


def _cases(graph: Graph, rng: np.random.Generator, scale: float) -> None:
    n = max(20, int(1600 * scale))
    for i, id_ in enumerate(_ids("case:", n)):
        row: Row = {
            "id": id_,
            "source": "user" if i % 2 else "phenopackets",
            "label": f"case {i}",
            "synthetic": i % 4 == 0,
        }
        graph.nodes["PatientCase"].append(row | ({"sex": "FEMALE", "age": "P7Y"} if i % 3 else {}))
    for i, id_ in enumerate(_ids("run:", 2 * n + 20)):
        run: Row = {"id": id_, "source": "user", "created": f"2026-01-{1 + i % 28:02d}T00:00:00Z", "policy": "fixed"}
        graph.nodes["Diagnosis"].append(run | {"kgdx_version": "0.1.0", "fingerprint": "f", "trace": '{"a": [1]}'})
        case = graph.nodes["PatientCase"][i % n]["id"]
        graph.edges["HAS_RUN", "PatientCase", "Diagnosis"].append({"start": case, "end": id_, "source": "user"})
    for i, id_ in enumerate(_ids("PMID:", max(8, int(400 * scale)))):
        graph.nodes["Publication"].append({"id": id_, "source": "phenopackets", "title": f"report {i}"})
    for i, (start, end) in enumerate(_pairs(graph, rng, "PatientCase", "Publication", int(3600 * scale))):
        graph.edges["REPORTED_IN", "PatientCase", "Publication"].append(
            {"start": start, "end": end, "source": f"made{i % 2}"}
        )
    for i, (start, end) in enumerate(_pairs(graph, rng, "PatientCase", "Disease", int(3600 * scale))):
        graph.edges["DIAGNOSED", "PatientCase", "Disease"].append(
            {"start": start, "end": end, "source": f"made{i % 2}", "status": "solved"}
        )
    for i, (start, end) in enumerate(_pairs(graph, rng, "Diagnosis", "Disease", int(6000 * scale))):
        graph.edges["CONSIDERED", "Diagnosis", "Disease"].append(
            {"start": start, "end": end, "source": "user", "rank": i % 50, "score": i / 512}
        )
    for relation, label, size in (("ASKED", "Phenotype", 6000), ("ASKED", "Symptom", 600), ("ORDERED", "Test", 4000)):
        for i, (start, end) in enumerate(_pairs(graph, rng, "Diagnosis", label, int(size * scale))):
            edge = {"start": start, "end": end, "source": "user", "turn": i % 20, "answer": "absent", "gain": i / 512}
            graph.edges[relation, "Diagnosis", label].append(edge)
    for relation in ("OBSERVED", "EXCLUDED"):
        for start, end in _pairs(graph, rng, "PatientCase", "Symptom", int(600 * scale)):
            graph.edges[relation, "PatientCase", "Symptom"].append({"start": start, "end": end, "source": "made0"})
    few = graph.nodes["Phenotype"][: max(40, int(300 * scale))]  # cases share findings
    for relation, size in (("OBSERVED", 12_000), ("EXCLUDED", 3600)):
        pool = Graph({"PatientCase": graph.nodes["PatientCase"], "Phenotype": few})
        for i, (start, end) in enumerate(_pairs(pool, rng, "PatientCase", "Phenotype", int(size * scale))):
            edge: Row = {"start": start, "end": end, "source": "user" if i % 2 else "phenopackets", "method": "exact"}
            if i % 3:
                edge |= {"span_start": i, "span_end": i + 5, "matched": "fits", "score": 0.5, "text": AWKWARD[i % 8]}
            graph.edges[relation, "PatientCase", "Phenotype"].append(edge)


def _primekg(graph: Graph, rng: np.random.Generator, scale: float) -> None:
    for i, id_ in enumerate(_ids("MESH:C", max(8, int(200 * scale)))):
        name = AWKWARD[i] if i < len(AWKWARD) else f"exposure {i}"
        graph.nodes["Exposure"].append({"id": id_, "source": "primekg", "name": name})
    for type_, start, end, word in (
        ("INDICATION", "Drug", "Disease", "indication"),
        ("OFF_LABEL_USE", "Drug", "Disease", "off-label use"),
        ("CONTRAINDICATION", "Drug", "Disease", "contraindication"),
        ("DRUG_EFFECT", "Drug", "Phenotype", "side effect"),
        ("DISEASE_PROTEIN", "Disease", "Gene", "associated with"),
        ("EXPOSURE_DISEASE", "Exposure", "Disease", "linked to"),
    ):
        for i, (one, other) in enumerate(_pairs(graph, rng, start, end, int(3600 * scale))):
            edge: Row = {"start": one, "end": other, "source": f"made{i % 2}", "display_relation": word}
            graph.edges[type_, start, end].append(edge)
    for one, other in _pairs(graph, rng, "Disease", "Disease", int(3600 * scale)):
        graph.edges["HAS_MEMBER", "Disease", "Disease"].append({"start": one, "end": other, "source": "primekg"})


def _descriptions(graph: Graph, rng: np.random.Generator, scale: float) -> None:
    for i, row in enumerate(graph.nodes["Disease"]):
        if i % 4:
            row[("orphanet_definition", "umls_description", "orphanet_clinical_description")[i % 3]] = [AWKWARD[i % 8]]
        if i % 5 == 0:
            row["definition"] = f"a disease, the {i}th"
        if i % 3 == 0:
            row |= {"cause": f"cause {i}", "departments": [f"ward {i % 7}", AWKWARD[i % 8]], "incidence": "rare"}
            row |= {"inheritance": ["dominant"], "onset_ages": ["infancy"], "foods_bad": ["salt", "sugar"]}
    for i, id_ in enumerate(_ids("KGDX:doc", max(8, int(400 * scale)))):
        named = {"id": id_, "source": "made0", "title": AWKWARD[i % 8], "language": "en"}
        graph.nodes["Document"].append(named | {"text": f"text {i}"})
    for i, (start, end) in enumerate(_pairs(graph, rng, "Document", "Disease", int(3600 * scale))):
        graph.edges["MENTIONS", "Document", "Disease"].append({"start": start, "end": end, "source": f"made{i % 2}"})
    kinds = ("exact", "narrower", "broader")
    for i, (start, end) in enumerate(_pairs(graph, rng, "Symptom", "Phenotype", int(600 * scale))):
        edge: Row = {"start": start, "end": end, "source": "made0", "relation": kinds[i % 3], "method": "exact"}
        graph.edges["MAPPED_TO", "Symptom", "Phenotype"].append(edge | {"decision": "{}", "status": "automatic"})
    for i, id_ in enumerate(_ids("MESH:D", max(8, int(200 * scale)))):
        row = {"id": id_, "source": "mesh", "name": f"Heading {i}"}
        graph.nodes["MeshDescriptor"].append(row | ({"scope_note": AWKWARD[i % 8]} if i % 3 else {}))
        if i % 2:
            graph.nodes["MeshDescriptor"][-1]["tree_numbers"] = [f"C{i:02d}.100", f"F03.{i}"]
    relations = ("exact", "narrower", "broader")
    for i, (start, end) in enumerate(_pairs(graph, rng, "Disease", "MeshDescriptor", int(3600 * scale))):
        edge = {"start": start, "end": end, "source": f"made{i % 2}", "relation": relations[i % 3]}
        edge |= {"method": "exact", "decision": '{"reason": "so"}', "status": "automatic"}
        graph.edges["MAPPED_TO", "Disease", "MeshDescriptor"].append(edge | ({"score": i / 4096} if i % 7 else {}))
