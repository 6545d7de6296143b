"""PrimeKG: `kg.csv`, or `edges.csv` with `nodes.csv` beside it, either packed or not.

PrimeKG states every edge twice, once from each end. Here each stands once, in the direction that the manifest gives
its relation; between two nodes of one type, in the direction in which it stands first. While the reader goes through
the file it writes numbers alone, 15 bytes a row, to disk, and brings the rows together one relation after the other.

Chandak et al., doi:10.1038/s41597-023-01960-3.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np
import polars as pl

from kgdx.errors import SourceError
from kgdx.ingest.manifest import Manifest
from kgdx.ingest.records import LINE, Records, join_rejects, refuse, scratch_file
from kgdx.ingest.sources.table_files import read_blocks, read_header

VERSION = "1"
"""Changes when the same file would be read otherwise."""

_EDGE = ("relation", "display_relation", "x_index", "y_index")
_SIDE = ("id", "type", "name", "source")
COLUMNS = (*_EDGE, *(f"{side}_{name}" for side in "xy" for name in _SIDE))
_WORDS = 1 << 16
"""Most combinations of relation and display word; PrimeKG has 33."""

_ROW = np.dtype([("line", np.uint32), ("x", np.int32), ("y", np.int32), ("word", np.uint16), ("turned", np.bool_)])
"""A row that can be used: where it stands, both nodes, the combination of relation and display word, and its way."""


@dataclass(frozen=True, slots=True)
class _Edges:
    """Rows that can be used, as numbers (:data:`_ROW`), in a file for each relation (``ends``, with its classes)."""

    ends: Mapping[str, tuple[str, str]]
    words: dict[tuple[str, str], int] = field(default_factory=dict)
    files: defaultdict[str, IO[bytes]] = field(default_factory=lambda: defaultdict(scratch_file))

    def add(self, rows: pl.DataFrame, ends: np.ndarray, kinds: np.ndarray) -> pl.Series:
        """Keep the rows that can be used, whose ends are nodes of these types (-1 for none); return which those are."""
        said = rows[["relation", "display_relation"]]
        _, firsts, local = np.unique(said.hash_rows().to_numpy(), return_index=True, return_inverse=True)
        pairs = said[firsts.tolist()].rows()
        types = list(CLASSES)
        ways = np.full((len(pairs), len(types) + 1, len(types) + 1), -1, np.int8)
        for number, (relation, display) in enumerate(pairs):
            if relation in self.ends and display is not None:
                first, second = (types.index(end) for end in self.ends[relation])
                ways[number, second, first] = 1
                ways[number, first, second] = 0
        turned = ways[local, kinds[0], kinds[1]]
        good = pl.Series((turned >= 0) & (ends[0] != ends[1]))
        at = np.flatnonzero(good)
        relations = list(self.ends)
        words, places = np.zeros(len(pairs), np.int64), np.zeros(len(pairs), np.uint8)
        for number in sorted(np.unique(local[at]).tolist(), key=pairs.__getitem__):
            words[number] = self.words.setdefault(pairs[number], len(self.words))
            places[number] = relations.index(pairs[number][0])
        if len(self.words) > _WORDS:
            raise SourceError("display_relation has too many different words", hint="check that it is PrimeKG's file")
        place = places[local[at]]
        at = at[np.argsort(place, kind="stable")]
        packed = np.empty(len(at), _ROW)
        packed["line"], packed["x"], packed["y"] = rows[LINE].to_numpy()[at], ends[0][at], ends[1][at]
        packed["word"], packed["turned"] = words[local[at]], turned[at]
        bounds = np.cumsum(np.bincount(place, minlength=len(relations)))[:-1]
        for relation, part in zip(relations, np.split(packed, bounds), strict=True):
            if len(part):
                self.files[relation].write(part.tobytes())
        return good

    def of(self, relation: str) -> np.ndarray:
        if relation not in self.files:
            return np.empty(0, _ROW)
        with self.files[relation] as file:
            file.seek(0)
            return np.fromfile(file, _ROW)


def read(path: Path, manifest: Manifest) -> Records:
    """Read nodes by type, and each relation's edges as the frame of PrimeKG's own name for it."""
    header = read_header(path)
    described = set(COLUMNS) <= set(header.columns)
    if not described and not set(_EDGE) <= set(header.columns):
        missing = next(name for name in COLUMNS if name not in header.columns)
        hint = f"it should have {', '.join(COLUMNS)}"
        raise SourceError(f"{path} has no column {missing!r} in its header line", hint=hint)
    nodes = PrimeNodes()
    rejects = [] if described else [read_nodes(beside(path), nodes)]
    edges = _Edges(_ends(manifest))
    for rows, refused in read_blocks(path, header):
        rejects.append(refused)
        ends = nodes.ends(rows, described=described)
        good = edges.add(rows, ends, nodes.kinds[ends])
        if not good.all():
            bad = rows.filter(~good)
            rejects.append(_refused(_described(bad, nodes) if described else _named(bad, nodes), edges))
    found = _unite(edges, nodes)
    rejects.append(join_rejects(found.loops).sort("line", maintain_order=True))
    frames = found.frames | node_frames(nodes)
    return Records(frames, join_rejects(rejects), None, found.merged, (*nodes.warnings(), *found.warnings()))


def _ends(manifest: Manifest) -> dict[str, tuple[str, str]]:
    types = {class_: type for type, class_ in CLASSES.items()}
    relations = [entry for entry in manifest.relations if entry.frame != MEMBER]
    return {entry.frame: (types[entry.start.class_], types[entry.end.class_]) for entry in relations}


def _described(rows: pl.DataFrame, nodes: PrimeNodes) -> pl.DataFrame:
    rows = rows.with_columns(pl.col(f"{side}_index").cast(pl.Int64, strict=False).alias(f"_{side}") for side in "xy")
    bad = nodes.bad()
    if bad.is_empty():
        return rows.with_columns(pl.lit(None, pl.String).alias("_why"))
    for side in "xy":
        problems = bad.rename({name: f"{side}_{name}" if name != "why" else f"_why_{side}" for name in bad.columns})
        on = [name for name in problems.columns if not name.startswith("_")]
        rows = rows.join(problems, on=on, how="left", nulls_equal=True, maintain_order="left")
    return rows.with_columns(pl.coalesce("_why_x", "_why_y").alias("_why"))


def _named(rows: pl.DataFrame, nodes: PrimeNodes) -> pl.DataFrame:
    for side in "xy":
        rows = rows.with_columns(pl.col(f"{side}_index").cast(pl.Int64, strict=False).alias(f"_{side}"))
        types = nodes.first.select(pl.col("_n").alias(f"_{side}"), pl.col("type").alias(f"{side}_type"))
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


def _refused(rows: pl.DataFrame, edges: _Edges) -> pl.DataFrame:
    ways = {way for name, (x, y) in edges.ends.items() for way in ((name, x, y), (name, y, x))}
    schema = {"relation": pl.String, "x_type": pl.String, "y_type": pl.String}
    ends = pl.DataFrame(sorted(ways), schema=schema, orient="row").with_columns(_joined=True)
    rows = rows.join(ends, on=["relation", "x_type", "y_type"], how="left", maintain_order="left")
    given = [name for name in (*_EDGE, *COLUMNS) if name in rows.columns and (name in _EDGE or "x_id" in rows.columns)]
    reasons = rows.select(_problems(edges)).to_series()
    frames = rows.select(pl.concat_str(pl.lit("frame:"), "relation")).to_series()
    return refuse(rows.select(LINE, *dict.fromkeys(given)), pl.lit(reasons)).with_columns(frames.alias("part"))


def _problems(edges: _Edges) -> pl.Expr:
    unknown = ~pl.col("relation").is_in(list(edges.ends))
    return pl.coalesce(
        *(
            pl.when(pl.col(name).is_null()).then(pl.lit(f"{name} is empty"))
            for name in ("relation", "display_relation")
        ),
        pl.when(unknown).then(pl.format("'{}' is no relation of PrimeKG", pl.col("relation").str.slice(0, 60))),
        "_why",
        pl.when(pl.col("_joined").is_null()).then(pl.format("{} joins no {} and {}", "relation", "x_type", "y_type")),
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
        if alone := sum(frame.height for frame in self.frames.values()) - self.both:
            yield f"{alone:,} edges stand in one direction only; is the file complete?"
        if repeated := self.merged - self.both:
            yield f"{repeated:,} rows say what an earlier one says; they are merged into it"
        present, absent = (self.pairs.get(name, np.empty(0, np.uint64)) for name in _OPPOSITE)
        if contradicted := len(np.intersect1d(present, absent)):
            yield f"{contradicted:,} pairs of a disease and a phenotype stand as present and as absent; both are kept"


_OPPOSITE = ("disease_phenotype_positive", "disease_phenotype_negative")


def _unite(edges: _Edges, nodes: PrimeNodes) -> _United:
    displays = pl.Series([display for _, display in edges.words], dtype=pl.String).cast(pl.Categorical)
    known = nodes.united(), nodes.curies().cast(pl.Categorical), displays
    united = _United()
    for relation in edges.ends:
        _unite_relation(relation, edges.of(relation), known, united)
    return united


def _unite_relation(
    relation: str, rows: np.ndarray, known: tuple[np.ndarray, pl.Series, pl.Series], united: _United
) -> None:
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
    order = np.argsort(key)
    key = key[order]
    begins = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if len(key) else np.empty(0, np.int64)
    forward = (x < y)[order]
    if len(key):
        united.both += int((np.maximum.reduceat(forward, begins) & ~np.minimum.reduceat(forward, begins)).sum())
    if relation in _OPPOSITE:
        united.pairs[relation] = key[begins] & np.uint64((1 << 48) - 1)
    united.merged += len(key) - len(begins)
    first = np.sort(np.minimum.reduceat(order, begins)) if len(key) else order
    turned = rows["turned"][first]
    united.frames[relation] = pl.DataFrame(
        {
            LINE: pl.Series(rows["line"][first], dtype=pl.Int64),
            "start": curies[np.where(turned, y[first], x[first])],
            "end": curies[np.where(turned, x[first], y[first])],
            "display_relation": displays[rows["word"][first].astype(np.uint32)],
        }
    )


CLASSES = {
    "gene/protein": "Gene",
    "drug": "Drug",
    "effect/phenotype": "Phenotype",
    "disease": "Disease",
    "biological_process": "BiologicalProcess",
    "molecular_function": "MolecularFunction",
    "cellular_component": "CellularComponent",
    "exposure": "Exposure",
    "pathway": "Pathway",
    "anatomy": "Anatomy",
}
"""PrimeKG's node types and the ontology's classes."""
MEMBER = "member"
"""The one frame of relations that PrimeKG does not state itself: entries of MONDO in its groups."""

NODE_COLUMNS = ("node_index", "node_id", "node_type", "node_name", "node_source")
INDICES = 1 << 24
"""Node indices are below this; PrimeKG has 129,375."""
LONGEST_NAME = 4_000
"""Characters beyond which a name is taken for damage; the longest in PrimeKG has 700."""

_CELLS = ("index", "id", "type", "name", "source")
_KNOWN = {**dict.fromkeys(_CELLS, pl.String), LINE: pl.Int64, "_n": pl.Int64, "curie": pl.String, "why": pl.String}


_NUMBER = r"^[0-9]{1,7}$"
_NAMESPACE = ("type", "source", "pattern", "prefix", "digits")
_NAMESPACES = (
    ("gene/protein", "NCBI", r"^[0-9]{1,9}$", "NCBIGene:", 0),
    ("drug", "DrugBank", r"^DB[0-9]{5}$", "DRUGBANK:", 0),
    ("effect/phenotype", "HPO", _NUMBER, "HP:", 7),
    ("disease", "MONDO", _NUMBER, "MONDO:", 7),
    ("disease", "MONDO_grouped", r"^[0-9]{1,7}(?:_[0-9]{1,7})+$", "MONDO_GROUPED:", 0),
    ("biological_process", "GO", _NUMBER, "GO:", 7),
    ("molecular_function", "GO", _NUMBER, "GO:", 7),
    ("cellular_component", "GO", _NUMBER, "GO:", 7),
    ("anatomy", "UBERON", _NUMBER, "UBERON:", 7),
    ("pathway", "REACTOME", r"^R-HSA-[0-9]+$", "REACT:", 0),
    ("exposure", "CTD", r"^[CD][0-9]{6,9}$", "MESH:", 0),
)
"""Ids of each source: what they look like, their prefix, and the digits they are filled up to."""


@dataclass(slots=True)
class PrimeNodes:
    """The descriptions of nodes met so far.

    Attributes:
        known: Every different description (:data:`_CELLS`, as text) with ``_n`` (its index as a number), ``curie``,
            the line it was first met on, and ``why`` it cannot be used.
    """

    known: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_KNOWN))
    first: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_KNOWN))
    """The node of each index that can be used, as it was met first."""
    kinds: np.ndarray = field(default_factory=lambda: np.full(1, -1, np.int8))
    """By index, which of :data:`CLASSES` the node has; -1 for none, as at the end."""
    _prints: np.ndarray = field(default_factory=lambda: np.zeros(1, np.uint64))
    _met: set[int] = field(default_factory=set)  # fingerprints of all that is known

    def ends(self, rows: pl.DataFrame, *, described: bool) -> np.ndarray:
        """Return the indices of both nodes of each row, meeting what is described there; -1 for no such node.

        A description that its index has already had is known by its fingerprint of 64 bits.
        """
        ends = np.stack([rows[f"{s}_index"].cast(pl.Int64, strict=False).fill_null(-1).to_numpy() for s in "xy"])
        if not described:
            ends = self._within(ends)
            return np.where(self.kinds[ends] >= 0, ends, -1)
        sides = [pl.DataFrame({name: rows[f"{side}_{name}"] for name in _CELLS} | {LINE: rows[LINE]}) for side in "xy"]
        prints = np.stack([side[[*_CELLS]].hash_rows().to_numpy() for side in sides])
        strange = self._prints[self._within(ends)] != prints
        if not strange.any():
            return ends
        new = [pl.Series(prints[at]).is_first_distinct() & pl.Series(strange[at]) for at in (0, 1)]
        self.meet(pl.concat(side.filter(each) for side, each in zip(sides, new, strict=True)))
        ends = self._within(ends)
        for at, side in enumerate(sides):
            strange = self._prints[ends[at]] != prints[at]
            if strange.any():
                known = self.known.select(*_CELLS, pl.when(pl.col("why").is_null()).then("_n").fill_null(-1))
                others = side.filter(pl.Series(strange))
                others = others.join(known, on=_CELLS, how="left", nulls_equal=True, maintain_order="left")
                ends[at, strange] = others["_n"].to_numpy()
        return ends

    def _within(self, number: np.ndarray) -> np.ndarray:
        return np.where((number >= 0) & (number < len(self.kinds) - 1), number, -1)

    def meet(self, described: pl.DataFrame) -> None:
        """Take descriptions (:data:`_CELLS` and the line): the first of an index stands, one of another node not."""
        met = described.group_by(_CELLS).agg(pl.col(LINE).min())
        prints = met[[*_CELLS]].hash_rows().to_list()
        fresh = met.filter(pl.Series([each not in self._met for each in prints], dtype=pl.Boolean))
        if fresh.is_empty():
            return
        self._met.update(prints)
        fresh = _judged(fresh).sort(LINE, *_CELLS)
        last = fresh["_n"].filter(fresh["why"].is_null()).max()
        if isinstance(last, int) and (more := last + 2 - len(self.kinds)) > 0:
            self.kinds = np.append(self.kinds, np.full(more, -1, np.int8))
            self._prints = np.append(self._prints, np.zeros(more, np.uint64))
        first = fresh.filter(pl.col("why").is_null()).unique("_n", keep="first", maintain_order=True)
        first = first.filter(pl.Series(self.kinds[first["_n"].to_numpy()] < 0))
        self.first = pl.concat([self.first, first])
        numbers = first["_n"].to_numpy()
        self._prints[numbers] = first.select(_CELLS).hash_rows().to_numpy()
        self.kinds[numbers] = first["type"].replace_strict(list(CLASSES), range(len(CLASSES))).to_numpy()
        identity = ("id", "type", "source")
        known = self.first.select("_n", *(pl.col(name).alias(f"_{name}") for name in identity))
        fresh = fresh.join(known, on="_n", how="left", maintain_order="left")
        other = pl.any_horizontal(pl.col(name) != pl.col(f"_{name}") for name in identity)
        reason = pl.format("the index {} stands for {} {} elsewhere", "index", "_source", "_id")
        why = pl.coalesce("why", pl.when(other).then(reason)).alias("why")
        self.known = pl.concat([self.known, fresh.with_columns(why).select(self.known.columns)])

    def bad(self) -> pl.DataFrame:
        return self.known.filter(pl.col("why").is_not_null()).select(*_CELLS, "why")

    def united(self) -> np.ndarray:
        """By index, the first index under which the same node stands; -1 where there is none."""
        sound = self.first.with_columns(first=pl.col("_n").first().over("curie"))
        numbers = sound["_n"].to_numpy()
        same = np.full(numbers.max(initial=0) + 1, -1, np.int32)
        same[numbers] = sound["first"].to_numpy()
        return same

    def curies(self) -> pl.Series:
        at = pl.DataFrame({"_n": np.arange(self.first["_n"].to_numpy().max(initial=0) + 1)})
        return at.join(self.first.select("_n", "curie"), on="_n", how="left", maintain_order="left")["curie"]

    def warnings(self) -> Iterator[str]:
        """Yield what is odd about the nodes that can be used."""
        good = self.known.filter(pl.col("why").is_null())
        named = good.group_by("_n", maintain_order=True).agg(pl.col("name").unique(maintain_order=True))
        several = named.filter(pl.col("name").list.len() > 1)
        if several.height:
            names = " and ".join(repr(name) for name in several["name"][0].to_list()[:2])
            yield f"{several.height:,} nodes stand under several names, such as {names}; the first is kept"
        again = self.first.filter(pl.col("curie").is_duplicated())
        if again.height:
            number, example = again["curie"].n_unique(), again["curie"][0]
            yield f"{number:,} nodes stand under several indices, such as {example}; each is one node"


def read_nodes(path: Path, nodes: PrimeNodes) -> pl.DataFrame:
    """Read nodes.csv (or PrimeKG's nodes.tab), and return the rows that cannot be used."""
    header = read_header(path, NODE_COLUMNS)
    rejects = []
    for rows, refused in read_blocks(path, header):
        described = rows.select(*(pl.col(f"node_{name}").alias(name) for name in _CELLS), LINE)
        nodes.meet(described)
        bad = described.join(nodes.bad(), on=_CELLS, nulls_equal=True, maintain_order="left")
        rejects += [refused, refuse(bad.drop("why"), pl.lit(bad["why"]), "frame:nodes")]
    return join_rejects(rejects).with_columns(file=pl.lit(str(path)))


def beside(path: Path) -> Path:
    """Find the nodes of edges.csv or of features in the same folder."""
    names = ("nodes.csv", "nodes.csv.gz", "nodes.tab", "nodes.tab.gz")
    found = next((path.with_name(name) for name in names if path.with_name(name).is_file()), None)
    if found is None:
        message = f"{path} names nodes by their index, and {path.with_name('nodes.csv')} is not there"
        raise SourceError(message, hint="put PrimeKG's nodes.csv beside it")
    return found


def node_frames(nodes: PrimeNodes) -> dict[str, pl.DataFrame]:
    """Return nodes by type, each once, and the members of groups."""
    sound = nodes.first.unique("curie", keep="first", maintain_order=True).rename({"id": "_id"})
    sound = sound.select(LINE, "type", "_id", id="curie", name="name")
    frames = {
        name: sound.filter(pl.col("type") == name).select(LINE, "id", "name")
        for name in CLASSES
        if name != "effect/phenotype"  # HPO itself brings phenotypes
    }
    groups = sound.filter(pl.col("id").str.starts_with("MONDO_GROUPED:")).select(LINE, group="id")
    numbers = pl.col("group").str.strip_prefix("MONDO_GROUPED:").str.split("_").alias("id")
    single = groups.with_columns(numbers).explode("id", empty_as_null=False, keep_nulls=False)
    members = single.with_columns(pl.concat_str(pl.lit("MONDO:"), pl.col("id").str.zfill(7)).alias("id"))
    frames[MEMBER] = members.unique(["group", "id"], keep="first", maintain_order=True)
    return frames


def _judged(described: pl.DataFrame) -> pl.DataFrame:
    spaces = pl.DataFrame(_NAMESPACES, schema=_NAMESPACE, orient="row")
    rows = described.with_columns(
        pl.col("index").cast(pl.Int64, strict=False).alias("_n"),
        pl.col("id").str.replace(r"^([0-9]+)\.0$", "$1"),  # as pandas writes a column of numbers with a gap
    )
    rows = described.select(raw="id").hstack(rows)
    rows = rows.join(spaces, on=["type", "source"], how="left", maintain_order="left")
    fits = pl.coalesce(
        pl.when(pl.col("pattern") == pattern).then(pl.col("id").str.contains(pattern))
        for pattern in sorted(set(spaces["pattern"]))
    )
    cells = ("id", "type", "name", "source")
    why = pl.coalesce(
        pl.when(pl.col("_n").is_null() | ~pl.col("_n").is_between(0, INDICES - 1)).then(
            pl.format("the index '{}' is no number of a node", pl.col("index").fill_null("").str.slice(0, 60))
        ),
        *(pl.when(pl.col(name).is_null()).then(pl.lit(f"the node's {name} is empty")) for name in cells),
        pl.when(~pl.col("type").is_in(list(CLASSES))).then(
            pl.format("'{}' is no type of PrimeKG's nodes", pl.col("type").str.slice(0, 60))
        ),
        pl.when(pl.col("prefix").is_null()).then(
            pl.format("'{}' is no source of nodes of the type {}", pl.col("source").str.slice(0, 60), "type")
        ),
        pl.when(~fits).then(pl.format("'{}' is no id of {}", pl.col("id").str.slice(0, 60), "source")),
        pl.when(pl.col("name").str.len_chars() > LONGEST_NAME).then(
            pl.format("the name has {} characters", pl.col("name").str.len_chars())
        ),
    )
    curie = pl.concat_str("prefix", pl.when(pl.col("digits") > 0).then(pl.col("id").str.zfill(7)).otherwise("id"))
    rows = rows.with_columns(curie.alias("curie"), why.alias("why")).with_columns(id="raw")
    return rows.select(*_CELLS, LINE, "_n", "curie", "why")
