"""Frames of ontologies and nested formats, filled row by row: OBO, OWL and obographs give equal ones.

A reader hands on its terms, is_a edges and matches to other vocabularies as frames; what is wrong with an edge, which
matches stand and how ids are written is decided here, once.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import polars as pl

from kgdx.errors import SourceError
from kgdx.ingest.fetch import fetch
from kgdx.ingest.manifest import Manifest
from kgdx.ingest.manifest import manifest as manifest_of
from kgdx.ingest.records import LINE, RecordBuilder, Records, columns, join_rejects
from kgdx.schema import load_schema

COMPONENT = "_component"


def in_cycles(edges: pl.DataFrame, child: str, parent: str) -> pl.DataFrame:
    """Return the edges that stand in a cycle, with the number of their strongly connected component.

    Example:
        >>> edges = pl.DataFrame({"child": ["a", "b", "c"], "parent": ["b", "a", "a"]})
        >>> in_cycles(edges, "child", "parent").select("child", "parent").rows()
        [('a', 'b'), ('b', 'a')]
    """
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    names = pl.concat([edges[child], edges[parent]]).unique(maintain_order=True)
    if names.is_empty():
        return edges.with_columns(pl.lit(None, pl.Int32).alias(COMPONENT))
    codes = pl.Enum(names)
    lower, upper = (edges[end].cast(codes).to_physical().to_numpy() for end in (child, parent))
    graph = coo_array((np.ones(len(lower), np.int8), (lower, upper)), shape=(len(names), len(names)))
    _, component = connected_components(graph, directed=True, connection="strong")
    within = pl.Series(COMPONENT, component[lower])
    return edges.with_columns(within).filter(pl.Series(component[lower] == component[upper]))


READ = {
    "term": "id name definition comment synonyms:strings synonym_scopes:strings lay_synonyms:strings alt_ids:strings"
    " xrefs:strings obsolete:bool replaced_by consider:strings subsets:strings",
    "edge": "child parent text",
    "match": "id other evidence",
    "axiom": "id predicate other name",
}
"""Columns that readers give of terms, of edges (``text`` as it stands in the file), of matches, and of other axioms of
a term (``name`` is what the file calls the other end), each with its line."""
TERM = columns(READ["term"])

DEFINITION = "logical definition"
"""Predicate of an axiom that says what a term equals; its parts are not looked at."""
AXIOMS = {
    "RO:0004001": ("gene", "has material basis in gain of function germline mutation in"),
    "RO:0004002": ("gene", "has material basis in loss of function germline mutation in"),
    "RO:0004003": ("gene", "has material basis in germline mutation in"),
    "RO:0004004": ("gene", "has material basis in somatic mutation in"),
    "RO:0004026": ("location", "disease has location"),
    "RO:0002573": ("modifier", "has modifier"),
}
"""Predicate → the frame that its axioms go to, and what the Relation Ontology calls it. OBO files may write the name
with underscores in place of the id."""
_OTHERS = ("HGNC:", "NCBIGene:", "UBERON:")
"""Terms of other vocabularies whose names are wanted."""
_NAMED = {name.replace(" ", "_"): id for id, (_, name) in AXIOMS.items()}
_ENDS = {"gene": r"^(?:HGNC|NCBIGene):\d+$", "location": r"^UBERON:\d{7}$", "modifier": r"^\w+:\w+$"}

FRAMES = {
    "term": tuple(TERM),
    "is_a": ("child", "parent"),
    "gene": ("id", "other", "association", "name"),
    "location": ("id", "other", "name"),
    "modifier": ("id", "modifiers"),
    **dict.fromkeys(("disease", "mesh_descriptor", "mesh_supplement"), ("id", "other", "relation", "evidence")),
}
RELATIONS = {
    "skos:exactMatch": "exact",
    "MONDO:equivalentTo": "exact",
    "skos:broadMatch": "narrower",
    "MONDO:mondoIsNarrowerThanSource": "narrower",
    "skos:narrowMatch": "broader",
    "MONDO:mondoIsBroaderThanSource": "broader",
}
"""What says that a term equals, or is narrower or broader than, an entry of another vocabulary. A broadMatch names
something broader, so the term itself is the narrower one."""
_ORDER = ("exact", "narrower", "broader")
_TARGETS = {
    "disease": r"^(?:OMIM|ORPHA|DECIPHER):\S+$",
    "mesh_descriptor": r"^MESH:D\d+$",
    "mesh_supplement": r"^MESH:C\d+$",
}
SCOPES = {
    "hasExactSynonym": "EXACT",
    "hasBroadSynonym": "BROAD",
    "hasNarrowSynonym": "NARROW",
    "hasRelatedSynonym": "RELATED",
}
_TOLD = {
    "hasDbXref": "xrefs",
    "hasAlternativeId": "alt_ids",
    "consider": "consider",
    "IAO_0100001": "replaced_by",
    "IAO_0000231": "reasons",
}
_MERGED = "IAO:0000227"
"""The reason 'terms merged': the class is an alternative id."""
HINT = "use a release from https://obofoundry.org"
_OBO = re.compile(r"https?://purl\.obolibrary\.org/obo/([A-Za-z]+(?:_[A-Za-z]+)*)_(\S+)")
_PLACES = (
    (re.compile(r"https?://www\.orpha\.net/ORDO/Orphanet_(\d+)"), "ORPHA"),
    (re.compile(r"https?://(?:www\.)?(?:omim\.org/(?:entry|MIM:)|identifiers\.org/(?:omim|mim)[/:])/?(\d+)"), "OMIM"),
    (re.compile(r"https?://(?:identifiers\.org/mesh[/:]|id\.nlm\.nih\.gov/mesh/)(\w+)"), "MESH"),
    (re.compile(r"https?://(?:linkedlifedata\.com/resource/umls/id|identifiers\.org/umls)[/:](\w+)"), "UMLS"),
    (re.compile(r"https?://identifiers\.org/(?:snomedct|sctid)[/:](\w+)"), "SCTID"),
    (re.compile(r"https?://identifiers\.org/meddra[/:](\w+)"), "MEDDRA"),
    (re.compile(r"https?://identifiers\.org/medgen[/:](\w+)"), "MEDGEN"),
    (re.compile(r"https?://identifiers\.org/hgnc[/:](\w+)"), "HGNC"),
)
_PREFIXES = {"Orphanet": "ORPHA", "ORDO": "ORPHA", "MIM": "OMIM", "MSH": "MESH", "MeSH": "MESH", "OMIMPS": "OMIMPS"}
_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})")


def curie(name: str) -> str:
    """Write an IRI as the CURIE that kgdx uses; what is one already gets the prefix that kgdx uses.

    Example:
        >>> curie("http://purl.obolibrary.org/obo/MONDO_0000001"), curie("Orphanet:58")
        ('MONDO:0000001', 'ORPHA:58')
        >>> curie("http://identifiers.org/mesh/D001234")
        'MESH:D001234'
    """
    name = name.strip()
    if name.startswith("http"):
        if found := _OBO.fullmatch(name):
            return f"{found[1]}:{found[2]}"
        for pattern, prefix in _PLACES:
            if found := pattern.fullmatch(name):
                return f"{prefix}:{found[1]}"
        return name
    prefix, colon, local = name.partition(":")
    return f"{_PREFIXES.get(prefix, prefix)}:{local}" if colon else name


def release(text: str | None) -> str | None:
    found = _DATE.search(text or "")
    return found[1] if found else None


def prefixes(manifest: Manifest) -> tuple[str, ...]:
    """Return the prefixes of the terms that a source is about; others are those of ontologies that it imports."""
    classes = [each.class_ for each in manifest.nodes if each.frame == "term"]
    return tuple(prefix for name in classes for prefix in load_schema().node(name).prefixes)


@cache
def by_symbol() -> Mapping[str, str]:
    """Return NCBI's ids by approved symbol, from the gene table of the default build."""
    genes = manifest_of("genes")
    table = pl.read_csv(
        fetch(genes.default or "", Path()).path,
        separator="\t",
        columns=["ncbi_gene_id", "gene_symbol"],
        schema_overrides={"ncbi_gene_id": pl.String},
    )
    pairs = table.unique("gene_symbol", keep="first", maintain_order=True).drop_nulls()
    return {symbol: f"NCBIGene:{number}" for number, symbol in pairs.iter_rows()}


def gene_id(id: str, symbol: str | None) -> str:
    """Return NCBI's id of a gene where its symbol has one, else the id that it is given by.

    Example:
        >>> gene_id("HGNC:3603", "FBN1"), gene_id("HGNC:1", None)
        ('NCBIGene:2200', 'HGNC:1')
    """
    return id if symbol is None or id.startswith("NCBIGene:") else by_symbol().get(symbol, id)


@dataclass(frozen=True, slots=True)
class OntologyFrames:
    """What a reader found in an ontology, with the columns of :data:`READ`."""

    terms: pl.DataFrame
    edges: pl.DataFrame
    matches: pl.DataFrame
    axioms: pl.DataFrame


def finished(
    path: Path, found: OntologyFrames, own: Collection[str]
) -> tuple[dict[str, pl.DataFrame], pl.DataFrame, tuple[str, ...]]:
    """Make an ontology's frames from what its reader found, refused edges, and warnings of axioms that are left out."""
    terms, edges = found.terms, found.edges
    known = terms["id"].implode()
    foreign = ~pl.col("parent").str.contains(f"^(?:{'|'.join(own)}):") if own else pl.lit(False)
    mine = pl.col("child").str.contains(f"^(?:{'|'.join(own)}):") if own else pl.lit(True)
    edges = edges.filter(mine & ~foreign.fill_null(False))
    reason = pl.coalesce(
        pl.when(~pl.col("child").is_in(known)).then(pl.format("its child {} is not a term of this file", "child")),
        pl.when(pl.col("parent").is_null()).then(pl.lit("is_a names no parent")),
        pl.when(pl.col("parent") == pl.col("child")).then(pl.lit("the term is its own parent")),
        pl.when(~pl.col("parent").is_in(known)).then(pl.format("its parent {} is not a term of this file", "parent")),
    )
    edges = edges.with_columns(reason.alias("reason"))
    wrong = edges.filter(pl.col("reason").is_not_null()).select(
        pl.col(LINE).alias("line"),
        pl.format("{} {}", "child", "text").alias("record"),
        "reason",
    )
    kept = edges.filter(pl.col("reason").is_null()).select(LINE, "child", "parent")
    _refuse_cycle(path, kept)
    line = pl.col(LINE).cast(pl.Int64)
    frames = {"term": terms.select(line, *TERM), "is_a": kept.with_columns(line)}
    told, left = _stated(found.axioms, terms)
    return frames | _matched(found.matches, terms) | told, wrong, left


def _stated(axioms: pl.DataFrame, terms: pl.DataFrame) -> tuple[dict[str, pl.DataFrame], tuple[str, ...]]:
    current = terms.filter(~pl.col("obsolete").fill_null(False))["id"].implode()
    rows = axioms.filter(pl.col("id").is_in(current)).with_columns(pl.col("predicate").replace(_NAMED))
    frame, words = ({id: pair[place] for id, pair in AXIOMS.items()} for place in (0, 1))
    rows = rows.with_columns(
        pl.col("predicate").replace_strict(frame, default=None, return_dtype=pl.String).alias("frame"),
        pl.col("predicate").replace_strict(words, default=None, return_dtype=pl.String).alias("association"),
        pl.col(LINE).cast(pl.Int64),
    )
    fits = [(pl.col("frame") == name) & pl.col("other").str.contains(end) for name, end in _ENDS.items()]
    kept = {name: rows.filter(fit) for name, fit in zip(_ENDS, fits, strict=True)}
    left = rows.filter(~pl.any_horizontal(fits).fill_null(False))
    genes = kept["gene"].unique(["id", "other", "association"], maintain_order=True)
    symbols = [gene_id(other, name) for other, name in genes.select("other", "name").iter_rows()]
    genes = genes.with_columns(pl.Series("other", symbols, pl.String), pl.col("name").fill_null(pl.col("other")))
    places = kept["location"].unique(["id", "other"], maintain_order=True)
    modifiers = (
        kept["modifier"]
        .group_by("id", maintain_order=True)
        .agg(pl.col(LINE).first(), pl.col("other").unique().sort().alias("modifiers"))
    )
    frames = {
        "gene": genes.select(LINE, *FRAMES["gene"]),
        "location": places.with_columns(pl.col("name").fill_null(pl.col("other"))).select(LINE, *FRAMES["location"]),
        "modifier": modifiers.select(LINE, *FRAMES["modifier"]),
    }
    if left.is_empty():
        return frames, ()
    counts = left.group_by("predicate").len().sort("len", "predicate", descending=[True, False])
    shown = ", ".join(f"{count:,} {name}" for name, count in counts.head(5).iter_rows())
    more = f" and {counts.height - 5} other kinds" if counts.height > 5 else ""
    return frames, (f"{left.height:,} axioms besides is_a are not loaded: {shown}{more}",)


def _matched(matches: pl.DataFrame, terms: pl.DataFrame) -> dict[str, pl.DataFrame]:
    current = terms.filter(~pl.col("obsolete").fill_null(False))["id"].implode()
    relation = pl.col("evidence").replace_strict(RELATIONS, default=None, return_dtype=pl.String)
    rows = matches.with_columns(relation.cast(pl.Enum(_ORDER)).alias("relation"))
    rows = rows.filter(pl.col("relation").is_not_null() & pl.col("id").is_in(current))
    rows = rows.filter(pl.col("relation") == pl.col("relation").min().over("id", "other"))
    rows = rows.group_by("id", "other", maintain_order=True).agg(
        pl.col(LINE).first(), pl.col("relation").first().cast(pl.String), pl.col("evidence").unique().sort()
    )
    rows = rows.select(pl.col(LINE).cast(pl.Int64), "id", "other", "relation", "evidence")
    return {name: rows.filter(pl.col("other").str.contains(pattern)) for name, pattern in _TARGETS.items()}


def _refuse_cycle(path: Path, edges: pl.DataFrame) -> None:
    inside = in_cycles(edges, "child", "parent")
    if inside.is_empty():
        return
    parents = {row["child"]: row for row in inside.iter_rows(named=True)}
    walk = [str(inside.item(0, "child"))]
    while walk.count(walk[-1]) == 1:
        walk.append(parents[walk[-1]]["parent"])
    cycle = walk[walk.index(walk[-1]) :]
    line = parents[cycle[0]][LINE]
    message = f"{path} has an is_a cycle: {' → '.join(cycle[:10])} (line {line})"
    raise SourceError(message, hint=f"remove one of these is_a edges, or {HINT}")


@dataclass(slots=True)
class OntologyTerm:
    """One class of an ontology; ids are CURIEs."""

    line: int
    id: str
    name: str | None = None
    definition: str | None = None
    comment: str | None = None
    synonyms: set[tuple[str, str]] = field(default_factory=set)
    alt_ids: set[str] = field(default_factory=set)
    xrefs: set[str] = field(default_factory=set)
    obsolete: bool = False
    replaced_by: set[str] = field(default_factory=set)
    consider: set[str] = field(default_factory=set)
    subsets: set[str] = field(default_factory=set)
    reasons: set[str] = field(default_factory=set)
    """Why it is obsolete."""

    def tell(self, property: str, value: str) -> None:
        """Take up what a property of oboInOwl or IAO, given by its local name, says of the term; others say nothing."""
        if property in SCOPES:
            self.synonyms.add((value, SCOPES[property]))
        elif property == "inSubset":
            self.subsets.add(value.rpartition("#")[2])
        elif property in _TOLD:
            getattr(self, _TOLD[property]).add(curie(value))


class Ontology:
    """Terms, edges, matches and axioms of one file, as they are found.

    Only terms with the prefixes ``own`` are its own; others are those of ontologies that it imports, and no records.
    """

    def __init__(self, path: Path, own: Collection[str]) -> None:
        self.path = path
        self.own = own
        self._building = RecordBuilder(READ)
        self._terms: dict[str, OntologyTerm] = {}
        self._merged: dict[str, set[str]] = {}
        self._lay: dict[str, set[str]] = {}
        self._others: dict[str, str] = {}

    def add(self, term: OntologyTerm) -> None:
        if self.own and term.id.partition(":")[0] not in self.own:
            if term.name is not None and term.id.startswith(_OTHERS):
                self._others[term.id] = term.name
            return
        if term.obsolete and _MERGED in term.reasons and term.name is None:
            for target in term.replaced_by:
                self._merged.setdefault(target, set()).add(term.id)
        elif any("\x00" in text for text in (term.name or "", term.definition or "", *(s for s, _ in term.synonyms))):
            self._building.refuse(term.line, term.id, f"{term.id} holds characters that are no text")
        elif term.id in self._terms:
            self._building.refuse(term.line, term.id, f"{term.id} stands here a second time")
        else:
            self._terms[term.id] = term

    def edge(self, line: int, child: str, parent: str | None, text: str) -> None:
        self._building.add("edge", line, child, parent, text)

    def match(self, line: int, id: str, other: str, evidence: str | None) -> None:
        self._building.add("match", line, id, other, evidence)

    def axiom(self, line: int, id: str, predicate: str, other: str | None) -> None:
        self._building.add("axiom", line, id, predicate, other, None)

    def call(self, id: str, text: str) -> None:
        self._lay.setdefault(id, set()).add(text)

    def records(self, version: str | None) -> Records:
        if not self._terms:
            message = f"{self.path} has no term of {' or '.join(self.own) or 'its own'}"
            raise SourceError(message, hint=HINT)
        for term in self._terms.values():
            synonyms = sorted(term.synonyms)
            self._building.add(
                "term",
                term.line,
                term.id,
                term.name,
                term.definition,
                term.comment,
                [text for text, _ in synonyms],
                [scope for _, scope in synonyms],
                sorted(self._lay.get(term.id, ())),
                sorted(term.alt_ids | self._merged.get(term.id, set())),
                sorted(term.xrefs),
                term.obsolete,
                min(term.replaced_by, default=None),
                sorted(term.consider),
                sorted(term.subsets),
            )
        called = pl.col("other").replace_strict(self._others, default=None, return_dtype=pl.String)
        terms, edges, matches, axioms = (self._building.frame(name) for name in ("term", "edge", "match", "axiom"))
        found = OntologyFrames(terms, edges, matches, axioms.with_columns(name=pl.coalesce("name", called)))
        frames, wrong, left = finished(self.path, found, self.own)
        return Records(frames, join_rejects([self._building.rejects(), wrong]), version, warnings=left)


def text_of(value: object) -> str | None:
    return (str(value).strip() or None) if value is not None else None
