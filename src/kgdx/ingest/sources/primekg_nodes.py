"""PrimeKG's nodes, as `kg.csv` describes them on every row or `nodes.csv` once: types, namespaces and CURIEs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from kgdx.errors import SourceError
from kgdx.ingest.records import LINE, join_rejects, refuse
from kgdx.ingest.sources.csv_blocks import read_blocks, read_header

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

NODE_COLUMNS = ("node_index", "node_id", "node_type", "node_name", "node_source")
INDICES = 1 << 24
"""Node indices are below this; PrimeKG has 129,375."""
LONGEST_NAME = 4_000
"""Characters beyond which a name is taken for damage; the longest in PrimeKG has 700."""

_CELLS = ("index", "id", "type", "name", "source")


class _Namespace(NamedTuple):
    """Ids of one source: what they look like, their prefix, and the digits they are filled up to."""

    type: str
    source: str
    pattern: str
    prefix: str
    digits: int


_NUMBER = r"^[0-9]{1,7}$"
_NAMESPACES = (
    _Namespace("gene/protein", "NCBI", r"^[0-9]{1,9}$", "NCBIGene:", 0),
    _Namespace("drug", "DrugBank", r"^DB[0-9]{5}$", "DRUGBANK:", 0),
    _Namespace("effect/phenotype", "HPO", _NUMBER, "HP:", 7),
    _Namespace("disease", "MONDO", _NUMBER, "MONDO:", 7),
    _Namespace("disease", "MONDO_grouped", r"^[0-9]{1,7}(?:_[0-9]{1,7})+$", "MONDO_GROUPED:", 0),
    _Namespace("biological_process", "GO", _NUMBER, "GO:", 7),
    _Namespace("molecular_function", "GO", _NUMBER, "GO:", 7),
    _Namespace("cellular_component", "GO", _NUMBER, "GO:", 7),
    _Namespace("anatomy", "UBERON", _NUMBER, "UBERON:", 7),
    _Namespace("pathway", "REACTOME", r"^R-HSA-[0-9]+$", "REACT:", 0),
    _Namespace("exposure", "CTD", r"^[CD][0-9]{6,9}$", "MESH:", 0),
)


@dataclass(slots=True)
class Nodes:
    """The descriptions of nodes met so far.

    Attributes:
        known: Every different description (:data:`_CELLS`, as text) with ``_n`` (its index as a number), ``curie``,
            the line it was first met on, and ``why`` it cannot be used.
    """

    known: pl.DataFrame = field(
        default_factory=lambda: pl.DataFrame(
            schema={
                **dict.fromkeys(_CELLS, pl.String),
                LINE: pl.Int64,
                "_n": pl.Int64,
                "curie": pl.String,
                "why": pl.String,
            }
        )
    )
    _first: pl.DataFrame = field(default_factory=pl.DataFrame)
    _place: np.ndarray = field(default_factory=lambda: np.empty(0, np.uint32))

    def meet(self, described: pl.DataFrame) -> None:
        """Take descriptions (:data:`_CELLS` and the line): the first of an index stands, one of another node not."""
        described = self._unfamiliar(described) if self._first.height else described
        met = described.group_by(_CELLS).agg(pl.col(LINE).min())
        fresh = met.join(self.known, on=_CELLS, how="anti", nulls_equal=True)
        if fresh.is_empty():
            return
        fresh = _judged(fresh).sort(LINE, *_CELLS)
        every = pl.concat([self.known, fresh])
        identity = ("id", "type", "source")
        sound = every.filter(pl.col("why").is_null())
        first = sound.unique("_n", keep="first", maintain_order=True).select("_n", *(f"{c}" for c in identity))
        first = first.rename({name: f"_{name}" for name in identity})
        every = every.join(first, on="_n", how="left", maintain_order="left")
        other = pl.any_horizontal(pl.col(name) != pl.col(f"_{name}") for name in identity)
        reason = pl.format("the index {} stands for {} {} elsewhere", "index", "_source", "_id")
        why = pl.coalesce("why", pl.when(other).then(reason)).alias("why")
        self.known = every.with_columns(why).select(self.known.columns)
        self._first = self.sound()
        numbers = self._first["_n"].to_numpy()
        self._place = np.zeros(numbers.max(initial=0) + 2, np.uint32)
        self._place[numbers] = np.arange(len(numbers))

    def _unfamiliar(self, described: pl.DataFrame) -> pl.DataFrame:
        """Return the descriptions without those that say of their index what was said of it first: that is most."""
        number = described["index"].cast(pl.Int64, strict=False).fill_null(-1).to_numpy()
        place = self._place[np.where((number >= 0) & (number < len(self._place) - 1), number, -1)]
        first = self._first[place]
        again = np.logical_and.reduce([(described[name] == first[name]).fill_null(False) for name in _CELLS])
        return described.filter(~again)

    def bad(self) -> pl.DataFrame:
        """Return the descriptions that cannot be used, with ``why``."""
        return self.known.filter(pl.col("why").is_not_null()).select(*_CELLS, "why")

    def sound(self) -> pl.DataFrame:
        """Return the node of each index that can be used, with the name that was met first."""
        good = self.known.filter(pl.col("why").is_null())
        return good.unique("_n", keep="first", maintain_order=True)

    def united(self) -> np.ndarray:
        """By index, the first index under which the same node stands; -1 where there is none."""
        sound = self.sound().with_columns(first=pl.col("_n").first().over("curie"))
        numbers = sound["_n"].to_numpy()
        same = np.full(numbers.max(initial=0) + 1, -1, np.int32)
        same[numbers] = sound["first"].to_numpy()
        return same

    def curies(self) -> pl.Series:
        """CURIEs by index."""
        sound = self.sound()
        at = pl.DataFrame({"_n": np.arange(sound["_n"].to_numpy().max(initial=0) + 1)})
        return at.join(sound.select("_n", "curie"), on="_n", how="left", maintain_order="left")["curie"]

    def warnings(self) -> Iterator[str]:
        """Yield what is odd about the nodes that can be used."""
        good = self.known.filter(pl.col("why").is_null())
        named = good.group_by("_n", maintain_order=True).agg(pl.col("name").unique(maintain_order=True))
        several = named.filter(pl.col("name").list.len() > 1)
        if several.height:
            names = " and ".join(repr(name) for name in several["name"][0].to_list()[:2])
            yield f"{several.height:,} nodes stand under several names, such as {names}; the first is kept"
        again = self.sound().filter(pl.col("curie").is_duplicated())
        if again.height:
            number, example = again["curie"].n_unique(), again["curie"][0]
            yield f"{number:,} nodes stand under several indices, such as {example}; each is one node"


def sides(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the descriptions of both ends of kg.csv's rows."""
    return pl.concat([rows.select(*(pl.col(f"{side}_{c}").alias(c) for c in _CELLS), LINE) for side in "xy"])


def read_nodes(path: Path, nodes: Nodes) -> pl.DataFrame:
    """Read nodes.csv (or PrimeKG's nodes.tab), and return the rows that cannot be used.

    Raises:
        SourceError: It is unreadable, or a column is missing.
    """
    header = read_header(path, NODE_COLUMNS)
    rejects = []
    for rows, refused in read_blocks(path, header):
        described = rows.select(*(pl.col(f"node_{name}").alias(name) for name in _CELLS), LINE)
        nodes.meet(described)
        bad = described.join(nodes.bad(), on=_CELLS, nulls_equal=True, maintain_order="left")
        rejects += [refused, refuse(bad.drop("why"), pl.lit(bad["why"]), "frame:nodes")]
    return join_rejects(rejects).with_columns(file=pl.lit(str(path)))


def beside(path: Path) -> Path:
    """Find the nodes of edges.csv or of features in the same folder.

    Raises:
        SourceError: They are not there.
    """
    names = ("nodes.csv", "nodes.csv.gz", "nodes.tab", "nodes.tab.gz")
    found = next((path.with_name(name) for name in names if path.with_name(name).is_file()), None)
    if found is None:
        message = f"{path} names nodes by their index, and {path.with_name('nodes.csv')} is not there"
        raise SourceError(message, hint="put PrimeKG's nodes.csv beside it")
    return found


def node_frames(nodes: Nodes) -> dict[str, pl.DataFrame]:
    """Return nodes by type, each once, and the members of groups."""
    sound = nodes.sound().unique("curie", keep="first", maintain_order=True).rename({"id": "_id"})
    sound = sound.select(LINE, "type", "_id", id="curie", name="name")
    frames = {
        name: sound.filter(pl.col("type") == name).select(LINE, "id", "name")
        for name in CLASSES
        if name != "effect/phenotype"  # HPO itself brings phenotypes
    }
    groups = sound.filter(pl.col("id").str.starts_with("MONDO_GROUPED:"))
    frames["member"] = members(groups.select(LINE, group="id"))
    return frames


def members(groups: pl.DataFrame) -> pl.DataFrame:
    """Return the entries of MONDO that a group's id (column ``group``) is made of.

    Example:
        >>> members(pl.DataFrame({"group": ["MONDO_GROUPED:13924_12592"]}))["id"].to_list()
        ['MONDO:0013924', 'MONDO:0012592']
    """
    numbers = pl.col("group").str.strip_prefix("MONDO_GROUPED:").str.split("_").alias("id")
    single = groups.with_columns(numbers).explode("id", empty_as_null=False, keep_nulls=False)
    return single.with_columns(pl.concat_str(pl.lit("MONDO:"), pl.col("id").str.zfill(7)).alias("id")).unique(
        ["group", "id"], keep="first", maintain_order=True
    )


def _judged(described: pl.DataFrame) -> pl.DataFrame:
    """Give descriptions their index as a number, their CURIE, and why they cannot be used."""
    spaces = pl.DataFrame(_NAMESPACES, schema=_Namespace._fields, orient="row")
    rows = described.with_columns(
        pl.col("index").cast(pl.Int64, strict=False).alias("_n"),
        pl.col("id").str.replace(r"^([0-9]+)\.0$", "$1"),  # as pandas writes a column of numbers with a gap
    )
    rows = (
        described.select(raw="id").hstack(rows).join(spaces, on=["type", "source"], how="left", maintain_order="left")
    )
    fits = pl.coalesce(
        pl.when(pl.col("pattern") == pattern).then(pl.col("id").str.contains(pattern))
        for pattern in sorted({space.pattern for space in _NAMESPACES})
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
