"""PrimeKG: `kg.csv`, or `edges.csv` with `nodes.csv` beside it, either packed or not.

PrimeKG states every edge twice, once from each end. Here each stands once, in the direction that the manifest gives
its relation; between two nodes of one type, in the direction in which it stands first. While the reader goes through
the file it writes numbers alone, 15 bytes a row, to disk, and brings the rows together one relation after the other.

Chandak et al., doi:10.1038/s41597-023-01960-3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np
import polars as pl

from kgdx.errors import SourceError
from kgdx.ingest.manifest import Manifest
from kgdx.ingest.records import LINE, Records, join_rejects, no_rejects, refuse, scratch_file
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


_ROW = np.dtype([("line", np.uint32), ("x", np.int32), ("y", np.int32), ("word", np.uint16), ("turned", np.bool_)])
"""A row that can be used: where it stands, both nodes, the combination of relation and display word, and its way."""


@dataclass(frozen=True, slots=True)
class _Edges:
    """Rows that can be used, as numbers (:data:`_ROW`), in a file for each relation.

    Attributes:
        ends: Relation → the node types that it joins, in the direction of the ontology.
        words: Combination of relation and display word → its number.
        files: Relation → its rows, in the order of the file.
    """

    ends: Mapping[str, tuple[str, str]]
    words: dict[tuple[str, str], int] = field(default_factory=dict)
    files: dict[str, IO[bytes]] = field(default_factory=dict)

    def add(self, rows: pl.DataFrame) -> None:
        """Take rows with ``_x`` and ``_y`` (numbers of nodes), ``_turned``, and the words of the relation."""
        pairs = rows.select("relation", "display_relation").unique().sort("relation", "display_relation").rows()
        for pair in pairs:
            self.words.setdefault(pair, len(self.words))
        if len(self.words) > _WORDS:
            raise SourceError("display_relation has too many different words", hint="check that it is PrimeKG's file")
        known = pl.DataFrame(
            [(*pair, self.words[pair]) for pair in pairs],
            schema={"relation": pl.String, "display_relation": pl.String, "_word": pl.UInt16},
            orient="row",
        )
        rows = rows.join(known, on=["relation", "display_relation"], how="left", maintain_order="left")
        packed = np.empty(rows.height, _ROW)
        for name, column in (("line", LINE), ("x", "_x"), ("y", "_y"), ("word", "_word"), ("turned", "_turned")):
            packed[name] = rows[column].to_numpy()
        for relation in dict.fromkeys(relation for relation, _ in pairs):
            numbers = [self.words[pair] for pair in pairs if pair[0] == relation]
            if relation not in self.files:
                self.files[relation] = scratch_file()
            self.files[relation].write(packed[np.isin(packed["word"], numbers)].tobytes())

    def of(self, relation: str) -> np.ndarray:
        """Return a relation's rows (:data:`_ROW`), and give its file back."""
        if relation not in self.files:
            return np.empty(0, _ROW)
        with self.files.pop(relation) as file:
            file.seek(0)
            return np.fromfile(file, _ROW)


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
    rejects.append(join_rejects(found.loops).sort("line", maintain_order=True))
    frames = found.frames | node_frames(nodes)
    return Records(frames, join_rejects(rejects), None, found.merged, (*nodes.warnings(), *found.warnings()))


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


@dataclass(slots=True)
class _United:
    """Each edge once: frames by relation, how many rows were merged, what is odd, and edges of a node with itself."""

    frames: dict[str, pl.DataFrame] = field(default_factory=dict)
    merged: int = 0
    both: int = 0
    pairs: dict[str, np.ndarray] = field(default_factory=dict)
    loops: list[pl.DataFrame] = field(default_factory=list)

    def warnings(self) -> Iterator[str]:
        """Yield what is odd about the edges."""
        total = sum(frame.height for frame in self.frames.values())
        present, absent = (self.pairs[name] for name in _OPPOSITE)
        contradicted = len(np.intersect1d(present, absent))
        yield from _oddities(total - self.both, self.merged - self.both, contradicted)


_OPPOSITE = ("disease_phenotype_positive", "disease_phenotype_negative")


def _unite(edges: _Edges, nodes: Nodes) -> _United:
    """Bring the rows of each edge together, one relation after the other."""
    same, curies = nodes.united(), nodes.curies()
    curies = curies.cast(pl.Categorical)
    displays = pl.Series([display for _, display in edges.words], dtype=pl.String)
    displays = displays.cast(pl.Categorical)
    united = _United()
    for relation in RELATIONS:
        _unite_relation(relation, edges.of(relation), (same, curies, displays), united)
    return united


def _unite_relation(
    relation: str, rows: np.ndarray, known: tuple[np.ndarray, pl.Series, pl.Series], united: _United
) -> None:
    """Bring the rows of an edge together: the first gives the line, and the direction between nodes of one type.

    Args:
        relation: PrimeKG's name of it.
        rows: Its rows, as :data:`_ROW`.
        known: By index of a node, the index of the same node that stands first, and its CURIE; the display words.
        united: Takes what comes of it.
    """
    same, curies, displays = known
    x, y = same[rows["x"]], same[rows["y"]]
    looped = x == y
    if looped.any():
        at = pl.DataFrame({LINE: rows["line"][looped], "start": curies[x[looped]], "end": curies[y[looped]]})
        united.loops.append(refuse(at, "it refers to itself", f"frame:{relation}"))
        rows, x, y = rows[~looped], x[~looped], y[~looped]
    low, high = np.minimum(x, y).astype(np.uint64), np.maximum(x, y).astype(np.uint64)
    key = (rows["word"].astype(np.uint64) << 48) | (low << 24) | high
    del low, high
    order = np.argsort(key, kind="stable")
    key = key[order]
    begins = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if len(key) else np.empty(0, np.int64)
    forward = (x < y)[order]
    if len(key):
        united.both += int((np.maximum.reduceat(forward, begins) & ~np.minimum.reduceat(forward, begins)).sum())
    if relation in _OPPOSITE:
        united.pairs[relation] = key[begins] & np.uint64((1 << 48) - 1)
    united.merged += len(key) - len(begins)
    first = np.sort(order[begins])
    turned = rows["turned"][first]
    united.frames[relation] = pl.DataFrame(
        {
            LINE: pl.Series(rows["line"][first], dtype=pl.Int64),
            "start": curies[np.where(turned, y[first], x[first])],
            "end": curies[np.where(turned, x[first], y[first])],
            "display_relation": displays[rows["word"][first].astype(np.uint32)],
        }
    )


def _oddities(alone: int, repeated: int, contradicted: int) -> Iterator[str]:
    if alone:
        yield f"{alone:,} edges stand in one direction only; is the file complete?"
    if repeated:
        yield f"{repeated:,} rows say what an earlier one says; they are merged into it"
    if contradicted:
        yield f"{contradicted:,} pairs of a disease and a phenotype stand as present and as absent; both are kept"
