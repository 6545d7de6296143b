"""What the read templates over PrimeKG's relations must return; see :mod:`store.oracles`."""

from __future__ import annotations

from collections.abc import Iterable

from graph.graphs import Graph, Row
from graph.oracles import ids, oracle, pick, some_diseases


def _towards(graph: Graph, wanted: list[str], type_: str, start: str, end: str) -> Iterable[tuple[Row, Row]]:
    """Nodes from which an edge of the type leads to one of the wanted nodes, and the edges."""
    known, asked = graph.index(start), set(wanted)
    for edge in graph.of(type_, start, end):
        if edge["end"] in asked:
            yield known[edge["start"]], edge


@oracle("proteins_of_diseases", some_diseases, ("disease", "id", "source", "display_relation"))
def _(graph: Graph, diseases: list[str]) -> Iterable[Row]:
    known, asked = graph.index("Gene"), set(diseases)
    for edge in graph.of("DISEASE_PROTEIN", "Disease", "Gene"):
        if edge["start"] in asked:
            gene = pick(known[edge["end"]], "id", "name")
            yield {"disease": edge["start"]} | gene | pick(edge, "display_relation", "source")


@oracle("exposures_of_diseases", some_diseases, ("disease", "id", "source", "display_relation"))
def _(graph: Graph, diseases: list[str]) -> Iterable[Row]:
    for exposure, edge in _towards(graph, diseases, "EXPOSURE_DISEASE", "Exposure", "Disease"):
        yield {"disease": edge["end"]} | pick(exposure, "id", "name") | pick(edge, "display_relation", "source")


@oracle("groups_of_diseases", some_diseases, ("disease", "id", "source"))
def _(graph: Graph, diseases: list[str]) -> Iterable[Row]:
    for group, edge in _towards(graph, diseases, "HAS_MEMBER", "Disease", "Disease"):
        yield {"disease": edge["end"]} | pick(group, "id", "name") | pick(edge, "source")


@oracle(
    "drugs_with_effects",
    lambda g: [{"phenotypes": ids(g, "Phenotype", 0, 5, 700, -1)}, {"phenotypes": []}],
    ("phenotype", "id", "source"),
)
def _(graph: Graph, phenotypes: list[str]) -> Iterable[Row]:
    for drug, edge in _towards(graph, phenotypes, "DRUG_EFFECT", "Drug", "Phenotype"):
        yield {"phenotype": edge["end"]} | pick(drug, "id", "name") | pick(edge, "source")
