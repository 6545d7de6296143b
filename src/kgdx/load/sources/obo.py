"""Ontologies in OBO format (`hp.obo`, `mondo.obo`): terms read by pronto; edges and matches from their lines.

pronto stops at a missing parent or a syntax error, drops a self-loop in silence, and has no place for what is said of
a cross-reference. So edges and matches are read here, where each has its line and what is wrong with one is said, and a
stanza that pronto's grammar refuses is set apart. A cycle cannot be loaded around: it is an error that names its terms.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from kgdx.errors import SourceError
from kgdx.load.fetch import read_text
from kgdx.load.manifest import Manifest
from kgdx.load.records import LINE, Records, join_rejects
from kgdx.load.sources.table import find_version
from kgdx.load.sources.terms import FRAMES, HINT, TERM, curie, finished, prefixes

VERSION = "2"
_SYNONYM_TYPE = r'^(synonym:\s*"(?:[^"\\]|\\.)*"\s+(?:EXACT|BROAD|NARROW|RELATED))\s+[^\s\[]+\s*\['
"""Before a synonym's references: a type of synonym, which pronto refuses where the header does not declare it."""
_BY_PRONTO = tuple(name for name in TERM if name != "subsets")
_LISTS = ("synonyms", "synonym_scopes", "alt_ids", "xrefs", "consider")
_TAGS = r"^(id|name|def|comment|synonym|alt_id|xref|is_obsolete|replaced_by|consider):"
_MATCH = r"^property_value:\s+(?:skos:|http://www\.w3\.org/2004/02/skos/core#)?(exactMatch|broadMatch|narrowMatch)\s"
__all__ = ["FRAMES", "VERSION", "read"]
_REFUSALS = (SyntaxError, ValueError, KeyError, TypeError, AttributeError)
"""What pronto raises for a text that is no OBO."""


def read(path: Path, manifest: Manifest) -> Records:
    """Read terms and their is_a edges as the frames ``term`` and ``is_a``.

    Raises:
        SourceError: The file is unreadable, is no OBO file, or its is_a edges form a cycle.
    """
    content = read_text(path)
    lines = _lines(content)
    if lines.filter(pl.col("_kind") == "[Term]").is_empty():
        raise SourceError(f"{path} has no [Term]: it is not an OBO file", hint=HINT)
    broken = _plainly_broken(lines)
    try:
        terms = _parse(lines, broken)
    except _REFUSALS:
        broken = pl.concat([broken, _unreadable(lines).join(broken, on="_stanza", how="anti")])
        try:
            terms = _parse(lines, broken)
        except _REFUSALS as error:
            reason = " ".join(str(error).split())[:200]
            raise SourceError(f"{path} is not a usable OBO file ({reason})", hint=HINT) from error
    ids = _ids(lines).join(broken, on="_stanza", how="anti")
    own = prefixes(manifest)
    terms = terms.join(ids.select(LINE, "id"), on="id", how="left", maintain_order="left")
    terms = terms.join(_subsets(lines, ids), on="id", how="left", maintain_order="left")
    terms = terms.with_columns(pl.col("subsets").fill_null([]))
    if own:
        terms = terms.filter(pl.col("id").str.contains(f"^(?:{'|'.join(own)}):"))
    frames, wrong = finished(path, terms, _edges(lines, ids), _matches(lines, ids), own)
    return Records(frames, join_rejects([_stanza_rejects(lines, broken), wrong]), find_version(content, manifest))


def _lines(content: bytes) -> pl.DataFrame:
    """All lines with their number, stanza (0 is the header) and the stanza's kind."""
    lines = pl.read_lines(io.BytesIO(content), name="text", row_index_name=LINE, row_index_offset=1)
    lines = lines.with_columns(pl.col("text").str.strip_chars_end())
    starts = pl.col("text").str.starts_with("[") & pl.col("text").str.ends_with("]")
    kind = pl.when(starts).then(pl.col("text")).forward_fill()
    return lines.with_columns(starts.cum_sum().alias("_stanza"), kind.alias("_kind"))


def _tagged(lines: pl.DataFrame, tag: str, name: str) -> pl.DataFrame:
    """The first word after ``tag:`` in the term stanzas."""
    value = pl.col("text").str.extract(rf"^{tag}:\s*(\S+)").alias(name)
    chosen = (pl.col("_kind") == "[Term]") & pl.col("text").str.starts_with(f"{tag}:")
    return lines.filter(chosen).select(LINE, "_stanza", "text", value)


def _ids(lines: pl.DataFrame) -> pl.DataFrame:
    return _tagged(lines, "id", "id").unique("_stanza", keep="first", maintain_order=True)


def _plainly_broken(lines: pl.DataFrame) -> pl.DataFrame:
    """Term stanzas of damaged text, without an id, or with an earlier stanza's: ``_stanza`` and ``reason``."""
    damaged = lines.filter((pl.col("_kind") == "[Term]") & pl.col("text").str.contains("[\ufffd\x00]"))
    stanzas = lines.filter(pl.col("text") == "[Term]").select("_stanza")
    ids = _ids(lines)
    nameless = stanzas.join(ids.drop_nulls("id"), on="_stanza", how="anti")
    twice = ids.drop_nulls("id").filter(~pl.col("id").is_first_distinct())
    return pl.concat(
        [
            damaged.select("_stanza", reason=pl.lit("the term holds bytes that are no text in UTF-8")).unique(
                "_stanza"
            ),
            nameless.select("_stanza", reason=pl.lit("the term has no id")),
            twice.select("_stanza", reason=pl.format("{} stands here a second time", "id")),
        ]
    ).unique("_stanza", keep="first", maintain_order=True)


def _parse(lines: pl.DataFrame, broken: pl.DataFrame) -> pl.DataFrame:
    """Terms by pronto, from the lines whose content is kept."""
    header = (pl.col("_stanza") == 0) & ~pl.col("text").str.starts_with("import:")
    kept = (pl.col("_kind") == "[Term]") & (pl.col("text").str.contains(_TAGS) | (pl.col("text") == "[Term]"))
    chosen = lines.filter(header | kept).join(broken, on="_stanza", how="anti", maintain_order="left")
    texts = chosen["text"].str.replace(_SYNONYM_TYPE, "$1 [")
    rows = list(_terms("\n".join(texts).encode() + b"\n"))
    kinds = {name: pa.list_(pa.string()) if name in _LISTS else pa.string() for name in _BY_PRONTO}
    kinds["obsolete"] = pa.bool_()
    columns = zip(*rows, strict=True) if rows else ([] for _ in kinds)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds.values(), strict=True)]
    return pl.DataFrame(pl.from_arrow(pa.table(arrays, names=list(kinds))))


def _terms(content: bytes) -> Iterator[tuple[Any, ...]]:
    from pronto.ontology import Ontology

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pronto warns of constructs that stand in lines we do not hand it
        ontology = Ontology(io.BytesIO(content), import_depth=0, encoding="utf-8")
        for term in ontology.terms():
            synonyms = sorted((synonym.description, synonym.scope) for synonym in term.synonyms)
            yield (
                term.id,
                term.name,
                str(term.definition) if term.definition is not None else None,
                term.comment,
                [text for text, _ in synonyms],
                [scope for _, scope in synonyms],
                sorted(term.alternate_ids),
                sorted({curie(xref.id) for xref in term.xrefs}),
                term.obsolete,
                min(term.replaced_by.ids, default=None),
                sorted(term.consider.ids),
            )


def _unreadable(lines: pl.DataFrame) -> pl.DataFrame:
    """Term stanzas that the grammar refuses, one by one: ``_stanza`` and ``reason``."""
    import fastobo

    rows = []
    kept = pl.col("text").str.contains(_TAGS) | (pl.col("text") == "[Term]")
    stanzas = lines.filter((pl.col("_kind") == "[Term]") & kept).group_by("_stanza", maintain_order=True)
    for (stanza,), part in stanzas:
        try:
            fastobo.loads("format-version: 1.4\n\n" + "\n".join(part["text"]) + "\n")
        except _REFUSALS as error:
            rows.append((stanza, "not OBO: " + re.sub(r"\s+", " ", str(error))))
    return pl.DataFrame(rows, schema={"_stanza": lines.schema["_stanza"], "reason": pl.String}, orient="row")


def _edges(lines: pl.DataFrame, ids: pl.DataFrame) -> pl.DataFrame:
    """The is_a lines of the kept terms."""
    edges = _tagged(lines, "is_a", "parent")
    edges = edges.join(ids.select("_stanza", child="id"), on="_stanza", maintain_order="left")
    return edges.select(LINE, "child", "parent", "text")


def _subsets(lines: pl.DataFrame, ids: pl.DataFrame) -> pl.DataFrame:
    rows = _tagged(lines, "subset", "subset").join(ids.select("_stanza", "id"), on="_stanza")
    return rows.group_by("id").agg(pl.col("subset").unique().sort().alias("subsets"))


def _matches(lines: pl.DataFrame, ids: pl.DataFrame) -> pl.DataFrame:
    """What a term is said to match: by what qualifies its cross-references, and by SKOS."""
    xrefs = _tagged(lines, "xref", "other")
    said = pl.col("text").str.extract(r"\{(.*)\}\s*(?:!.*)?$").str.extract_all(r'source="[^"]*"')
    xrefs = xrefs.with_columns(said.alias("evidence")).explode("evidence", empty_as_null=False, keep_nulls=False)
    xrefs = xrefs.with_columns(pl.col("evidence").str.extract(r'"([^"]*)"'))
    stated = lines.filter((pl.col("_kind") == "[Term]") & pl.col("text").str.contains(_MATCH)).select(
        LINE,
        "_stanza",
        "text",
        pl.col("text").str.extract(_MATCH + r'"?([^\s"]+)', 2).alias("other"),
        pl.format("skos:{}", pl.col("text").str.extract(_MATCH)).alias("evidence"),
    )
    rows = pl.concat([xrefs, stated]).join(ids.select("_stanza", "id"), on="_stanza", maintain_order="left")
    others = pl.col("other").map_elements(curie, return_dtype=pl.String, skip_nulls=True)
    return rows.drop_nulls(["id", "other"]).select(LINE, "id", others, "evidence").sort(LINE)


def _stanza_rejects(lines: pl.DataFrame, broken: pl.DataFrame) -> pl.DataFrame:
    joined = lines.filter(pl.col("text") != "").join(broken, on="_stanza", maintain_order="left")
    grouped = joined.group_by("_stanza", maintain_order=True).agg(
        pl.lit(None).cast(pl.String).alias("file"),
        pl.col(LINE).first().alias("line"),
        pl.col("text").str.join("\n").alias("record"),
        pl.col("reason").first(),
    )
    return grouped.drop("_stanza")
