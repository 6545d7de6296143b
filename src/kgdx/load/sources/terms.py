"""What an ontology of terms says: OBO, OWL (RDF/XML) and obographs JSON give equal frames.

A reader hands on its terms, is_a edges and matches to other vocabularies as frames; what is wrong with an edge, which
matches stand and how ids are written is decided here, once.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from kgdx.errors import SourceError
from kgdx.load.manifest import Manifest
from kgdx.load.records import LINE
from kgdx.load.sources.columns import TEXT, TEXTS
from kgdx.load.sources.cycles import in_cycles
from kgdx.schema import load_schema

TERM: Mapping[str, Any] = {
    "id": TEXT,
    "name": TEXT,
    "definition": TEXT,
    "comment": TEXT,
    "synonyms": TEXTS,
    "synonym_scopes": TEXTS,
    "alt_ids": TEXTS,
    "xrefs": TEXTS,
    "obsolete": pl.Boolean(),
    "replaced_by": TEXT,
    "consider": TEXTS,
    "subsets": TEXTS,
}
"""Columns of a term and their types."""

EDGE: Mapping[str, Any] = {"child": TEXT, "parent": TEXT, "text": TEXT}
MATCH: Mapping[str, Any] = {"id": TEXT, "other": TEXT, "evidence": TEXT}
"""Columns that readers give of edges (``text`` as it stands in the file) and of matches, each with its line."""

FRAMES = {
    "term": tuple(TERM),
    "is_a": ("child", "parent"),
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
    """Return the date in the IRI of a release.

    Example:
        >>> release("http://purl.obolibrary.org/obo/mondo/releases/2025-01-07/mondo.owl")
        '2025-01-07'
    """
    found = _DATE.search(text or "")
    return found[1] if found else None


def prefixes(manifest: Manifest) -> tuple[str, ...]:
    """Return the prefixes of the terms that a source is about; others are those of ontologies that it imports."""
    classes = [each.class_ for each in manifest.nodes if each.frame == "term"]
    return tuple(prefix for name in classes for prefix in load_schema().node(name).prefixes)


def is_own(id: str, own: Collection[str]) -> bool:
    """Say whether a term's id has one of these prefixes (none: any).

    Example:
        >>> is_own("MONDO:1", ("MONDO",)), is_own("CL:1", ("MONDO",))
        (True, False)
    """
    return not own or id.partition(":")[0] in own


def finished(
    path: Path, terms: pl.DataFrame, edges: pl.DataFrame, matches: pl.DataFrame, own: Collection[str]
) -> tuple[dict[str, pl.DataFrame], pl.DataFrame]:
    """Make the frames of an ontology from what its reader found.

    Args:
        path: The file, for messages.
        terms: Columns :data:`TERM` and the line.
        edges: Columns :data:`EDGE`; those of other ontologies' terms, or to them, are left out.
        matches: Columns :data:`MATCH`.
        own: Prefixes of the ontology's own terms.

    Returns:
        The frames (:data:`FRAMES`), and refused edges.

    Raises:
        SourceError: The is_a edges form a cycle.
    """
    known = terms["id"].implode()
    foreign = ~pl.col("parent").str.contains(f"^(?:{'|'.join(own)}):") if own else pl.lit(False)
    edges = edges.filter(pl.col("child").is_in(known) & ~foreign.fill_null(False))
    reason = pl.coalesce(
        pl.when(pl.col("parent").is_null()).then(pl.lit("is_a names no parent")),
        pl.when(pl.col("parent") == pl.col("child")).then(pl.lit("the term is its own parent")),
        pl.when(~pl.col("parent").is_in(known)).then(pl.format("its parent {} is not a term of this file", "parent")),
    )
    edges = edges.with_columns(reason.alias("reason"))
    wrong = edges.filter(pl.col("reason").is_not_null()).select(
        pl.lit(None).cast(pl.String).alias("file"),
        pl.col(LINE).alias("line"),
        pl.format("{} {}", "child", "text").alias("record"),
        "reason",
    )
    kept = edges.filter(pl.col("reason").is_null()).select(LINE, "child", "parent")
    _refuse_cycle(path, kept)
    line = pl.col(LINE).cast(pl.Int64)
    frames = {"term": terms.select(line, *TERM), "is_a": kept.with_columns(line)}
    return frames | _matched(matches, terms), wrong


def _matched(matches: pl.DataFrame, terms: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Matches of current terms by what they match; of several relations to one entry the closest stands."""
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
    """Raise an error that names the terms and lines of a cycle, if there is one."""
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
