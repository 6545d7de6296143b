"""Small graphs of names: what the alignment tests share."""

from __future__ import annotations

import pyarrow as pa

from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable

L = pa.list_(pa.string())


def nodes(label: str, rows: dict[str, tuple[str, ...]], source: str = "test") -> NodeTable:
    """Nodes by id, each with its name and then its synonyms."""
    synonyms = "entry_terms" if label == "MeshDescriptor" else "synonyms"
    columns = {
        "id": pa.array(list(rows)),
        "name": pa.array([names[0] for names in rows.values()]),
        "source": pa.array([source] * len(rows)),
        synonyms: pa.array([list(names[1:]) for names in rows.values()], L),
    }
    if label == "MeshDescriptor":
        columns["tree_numbers"] = pa.array([["C01"] for _ in rows], L)
    return NodeTable(label, pa.table(columns))


def findings(rows: dict[str, tuple[str, ...]]) -> list[GraphTable]:
    """Phenotypes under the root of phenotypic abnormality."""
    ends = pa.table({"start": list(rows), "end": ["HP:0000118"] * len(rows)})
    return [nodes("Phenotype", rows, "hp"), RelationTable("IS_A", "Phenotype", "Phenotype", ends)]


def same_as(*pairs: tuple[str, str, str]) -> RelationTable:
    """Loaded equalities of diseases."""
    start, end, relation = zip(*pairs, strict=True)
    rows = pa.table({"start": start, "end": end, "relation": relation, "source": ["loaded"] * len(pairs)})
    return RelationTable("SAME_AS", "Disease", "Disease", rows)
