"""PrimeKG: `kg.csv`, or `edges.csv` with `nodes.csv` beside it, either packed or not.

PrimeKG states every edge twice, once from each end. Here each stands once, in the direction that the manifest gives
its relation; between two nodes of one type, in the direction in which it stands first. The reader keeps numbers only
while it goes through the file, so eight million rows take some hundred megabytes.

Chandak et al., doi:10.1038/s41597-023-01960-3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from kgdx.errors import SourceError
from kgdx.ingest.manifest import Manifest
from kgdx.ingest.records import LINE, Records, join_rejects, no_rejects, refuse
from kgdx.ingest.sources.csv_blocks import read_blocks, read_header
from kgdx.ingest.sources.primekg_nodes import CLASSES, Nodes, beside, node_frames, read_nodes, sides

VERSION = "1"
"""Changes when the same file would be read otherwise."""

_EDGE = ("relation", "display_relation", "x_index", "y_index")
_SIDE = ("id", "type", "name", "source")
COLUMNS = (*_EDGE, *(f"{side}_{name}" for side in "xy" for name in _SIDE))
_WORDS = 1 << 16
"""Most combinations of relation and display word; PrimeKG has 33."""

RELATIONS = (
    "protein_protein",
    "drug_protein",
    "contraindication",
    "indication",
    "off-label use",
    "drug_drug",
    "phenotype_protein",
    "phenotype_phenotype",
    "disease_phenotype_negative",
    "disease_phenotype_positive",
    "disease_protein",
    "disease_disease",
    "drug_effect",
    "bioprocess_bioprocess",
    "molfunc_molfunc",
    "cellcomp_cellcomp",
    "molfunc_protein",
    "cellcomp_protein",
    "bioprocess_protein",
    "exposure_protein",
    "exposure_disease",
    "exposure_exposure",
    "exposure_bioprocess",
    "exposure_molfunc",
    "exposure_cellcomp",
    "pathway_pathway",
    "pathway_protein",
    "anatomy_anatomy",
    "anatomy_protein_present",
    "anatomy_protein_absent",
)
"""PrimeKG's relations, each of them a frame."""


@dataclass(slots=True)
class _Edges:
    """Rows that can be used, as numbers: which combination of relation and display word, both nodes, the line.

    Attributes:
        ends: Relation → the node types that it joins, in the direction of the ontology.
        words: Combination of relation and display word → its number.
    """

    ends: Mapping[str, tuple[str, str]]
    words: dict[tuple[str, str], int] = field(default_factory=dict)
    word: list[np.ndarray] = field(default_factory=list)
    x: list[np.ndarray] = field(default_factory=list)
    y: list[np.ndarray] = field(default_factory=list)
    turned: list[np.ndarray] = field(default_factory=list)
    line: list[np.ndarray] = field(default_factory=list)

    def add(self, rows: pl.DataFrame) -> None:
        """Take rows with ``_x`` and ``_y`` (numbers of nodes), ``_turned``, and the words of the relation."""
        pairs = rows.select("relation", "display_relation").unique().sort("relation", "display_relation").rows()
        for pair in pairs:
            self.words.setdefault(pair, len(self.words))
        if len(self.words) > _WORDS:
            raise SourceError("display_relation has too many different words", hint="check that it is PrimeKG's file")
        known = pl.DataFrame(
            [(*pair, self.words[pair]) for pair in pairs],
            schema={"relation": pl.String, "display_relation": pl.String, "_word": pl.UInt64},
            orient="row",
        )
        rows = rows.join(known, on=["relation", "display_relation"], how="left", maintain_order="left")
        self.word.append(rows["_word"].to_numpy().astype(np.uint16))
        self.x.append(rows["_x"].to_numpy().astype(np.int32))
        self.y.append(rows["_y"].to_numpy().astype(np.int32))
        self.turned.append(rows["_turned"].to_numpy())
        self.line.append(rows[LINE].to_numpy().astype(np.uint32))


def read(path: Path, manifest: Manifest) -> Records:
    """Read nodes by type, and each relation's edges as the frame of PrimeKG's own name for it.

    Raises:
        SourceError: The file is unreadable, a column is missing, or nodes.csv is not beside edges.csv.
    """
    header = read_header(path)
    described = set(COLUMNS) <= set(header.columns)
    if not described and not set(_EDGE) <= set(header.columns):
        missing = next(name for name in COLUMNS if name not in header.columns)
        hint = f"it should have {', '.join(COLUMNS)}"
        raise SourceError(f"{path} has no column {missing!r} in its header line", hint=hint)
    nodes = Nodes()
    rejects = [] if described else [read_nodes(beside(path), nodes)]
    edges = _Edges(_ends(manifest))
    for rows, refused in read_blocks(path, header):
        rejects.append(refused)
        if described:
            nodes.meet(sides(rows))
        rows = _described(rows, nodes) if described else _named(rows, nodes)
        rejects.append(_take(rows, edges))
    found = _unite(edges, nodes)
    frames = found.frames | node_frames(nodes)
    rejects.append(found.loops)
    return Records(frames, join_rejects(rejects), None, found.merged, (*nodes.warnings(), *found.warnings))


def _ends(manifest: Manifest) -> dict[str, tuple[str, str]]:
    """Relation → PrimeKG's types at its ends, as the manifest maps its frame."""
    types = {class_: type for type, class_ in CLASSES.items()}
    return {
        entry.frame: (types[entry.start.class_], types[entry.end.class_])
        for entry in manifest.relations
        if entry.frame in RELATIONS
    }


def _described(rows: pl.DataFrame, nodes: Nodes) -> pl.DataFrame:
    """Return rows of kg.csv with ``_x``, ``_y`` (indices as numbers) and ``_why``, what is wrong with a node."""
    rows = rows.with_columns(pl.col(f"{side}_index").cast(pl.Int64, strict=False).alias(f"_{side}") for side in "xy")
    bad = nodes.bad()
    if bad.is_empty():
        return rows.with_columns(pl.lit(None, pl.String).alias("_why"))
    for side in "xy":
        problems = bad.rename({name: f"{side}_{name}" if name != "why" else f"_why_{side}" for name in bad.columns})
        on = [name for name in problems.columns if not name.startswith("_")]
        rows = rows.join(problems, on=on, how="left", nulls_equal=True, maintain_order="left")
    return rows.with_columns(pl.coalesce("_why_x", "_why_y").alias("_why"))


def _named(rows: pl.DataFrame, nodes: Nodes) -> pl.DataFrame:
    """Return rows of edges.csv with what :func:`_described` adds, and the types of their nodes."""
    known = nodes.sound().select("_n", "type")
    for side in "xy":
        rows = rows.with_columns(pl.col(f"{side}_index").cast(pl.Int64, strict=False).alias(f"_{side}"))
        types = known.rename({"_n": f"_{side}", "type": f"{side}_type"})
        rows = rows.join(types, on=f"_{side}", how="left", maintain_order="left")
    shown = {side: pl.col(f"{side}_index").fill_null("").str.slice(0, 60) for side in "xy"}
    return rows.with_columns(
        pl.coalesce(
            pl.when(pl.col(f"{side}_type").is_null()).then(
                pl.format(f"{side}_index is '{{}}', no node of nodes.csv that can be used", shown[side])
            )
            for side in "xy"
        ).alias("_why")
    )


def _take(rows: pl.DataFrame, edges: _Edges) -> pl.DataFrame:
    """Add the rows that can be used to the edges, and return the others."""
    ways = [
        (name, first, second, turned)
        for name, (x, y) in edges.ends.items()
        for first, second, turned in {(x, y, False), (y, x, x != y)}
    ]
    schema = {"relation": pl.String, "x_type": pl.String, "y_type": pl.String, "_turned": pl.Boolean}
    ends = pl.DataFrame(ways, schema=schema, orient="row")
    rows = rows.join(ends, on=["relation", "x_type", "y_type"], how="left", maintain_order="left")
    good = pl.all_horizontal(pl.col("_turned", "display_relation").is_not_null(), pl.col("_why").is_null())
    usable = rows.select((good & (pl.col("_x") != pl.col("_y"))).fill_null(False)).to_series()
    if usable.all():
        edges.add(rows)
        return no_rejects()
    edges.add(rows.filter(usable))
    bad = rows.filter(~usable)
    given = [name for name in (*_EDGE, *COLUMNS) if name in rows.columns and (name in _EDGE or "x_id" in rows.columns)]
    reasons = bad.select(_problems(edges)).to_series()
    frames = bad.select(pl.concat_str(pl.lit("frame:"), "relation")).to_series()
    return refuse(bad.select(LINE, *dict.fromkeys(given)), pl.lit(reasons)).with_columns(frames.alias("part"))


def _problems(edges: _Edges) -> pl.Expr:
    unknown = ~pl.col("relation").is_in(list(edges.ends))
    return pl.coalesce(
        *(
            pl.when(pl.col(name).is_null()).then(pl.lit(f"{name} is empty"))
            for name in ("relation", "display_relation")
        ),
        pl.when(unknown).then(pl.format("'{}' is no relation of PrimeKG", pl.col("relation").str.slice(0, 60))),
        "_why",
        pl.when(pl.col("_turned").is_null()).then(pl.format("{} joins no {} and {}", "relation", "x_type", "y_type")),
        pl.lit("it refers to itself"),
    )


@dataclass(frozen=True, slots=True)
class _United:
    """Each edge once: frames by relation, how many rows were merged, what is odd, and edges of a node with itself."""

    frames: dict[str, pl.DataFrame]
    merged: int
    warnings: tuple[str, ...]
    loops: pl.DataFrame


def _unite(edges: _Edges, nodes: Nodes) -> _United:
    """Bring the rows of an edge together: the first gives the line, and the direction between nodes of one type."""
    same, curies = nodes.united(), nodes.curies()
    word, turned, line = _joined(edges.word, np.uint16), _joined(edges.turned, bool), _joined(edges.line, np.uint32)
    x, y = same[_joined(edges.x, np.int32)], same[_joined(edges.y, np.int32)]
    words = list(edges.words)
    looped = x == y
    loops = refuse(
        pl.DataFrame({LINE: line[looped], "start": curies.gather(x[looped]), "end": curies.gather(y[looped])}),
        "it refers to itself",
    ).with_columns(part=pl.Series([f"frame:{words[number][0]}" for number in word[looped]], dtype=pl.String))
    low, high = np.minimum(x, y).astype(np.uint64), np.maximum(x, y).astype(np.uint64)
    key = (word.astype(np.uint64) << 48) | (low << 24) | high
    key[looped] = np.iinfo(np.uint64).max
    order = np.argsort(key, kind="stable")[: len(key) - int(looped.sum())]
    key = key[order]
    begins = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if len(key) else np.empty(0, np.int64)
    first = order[begins]
    forward = x[order] < y[order]
    both = np.maximum.reduceat(forward, begins) & ~np.minimum.reduceat(forward, begins) if len(key) else forward
    merged = len(order) - len(first)
    warnings = _oddities(len(first) - int(both.sum()), merged - int(both.sum()), _contradicted(words, key[begins]))
    first = np.sort(first)
    start, end = np.where(turned[first], y[first], x[first]), np.where(turned[first], x[first], y[first])
    displays = pl.Series([display for _, display in words], dtype=pl.String)
    kinds = np.array([RELATIONS.index(relation) for relation, _ in words], np.uint8)[word[first]] if words else first
    frames = {}
    for number, name in enumerate(RELATIONS):
        own = kinds == number
        frames[name] = pl.DataFrame(
            {
                LINE: pl.Series(line[first[own]], dtype=pl.Int64),
                "start": curies.gather(start[own]),
                "end": curies.gather(end[own]),
                "display_relation": displays.gather(word[first[own]]),
            }
        )
    return _United(frames, merged, tuple(warnings), loops)


def _joined(parts: list[np.ndarray], kind: type) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty(0, kind)


def _contradicted(words: list[tuple[str, str]], keys: np.ndarray) -> int:
    """Return how many pairs of a disease and a phenotype stand as present and as absent."""
    pairs = []
    for relation in ("disease_phenotype_positive", "disease_phenotype_negative"):
        numbers = [number for number, (name, _) in enumerate(words) if name == relation]
        pairs.append(keys[np.isin(keys >> np.uint64(48), numbers)] & np.uint64((1 << 48) - 1))
    return len(np.intersect1d(pairs[0], pairs[1]))


def _oddities(alone: int, repeated: int, contradicted: int) -> Iterator[str]:
    if alone:
        yield f"{alone:,} edges stand in one direction only; is the file complete?"
    if repeated:
        yield f"{repeated:,} rows say what an earlier one says; they are merged into it"
    if contradicted:
        yield f"{contradicted:,} pairs of a disease and a phenotype stand as present and as absent; both are kept"
