"""Ontologies in OBO format (`hp.obo`, `mondo.obo`), read line by line after the OBO 1.4 grammar.

Each term and edge knows its line. A stanza with a line that is no OBO is set apart, and so is an edge that leads
nowhere. A cycle cannot be loaded around: it is an error that names its terms.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import polars as pl

from kgdx.errors import SourceError
from kgdx.ingest.manifest import Manifest
from kgdx.ingest.records import LINE, Records, join_rejects
from kgdx.ingest.sources.table_files import find_version
from kgdx.ingest.sources.term_frames import DEFINITION, HINT, TERM, OntologyFrames, curie, finished, prefixes
from kgdx.ingest.unpack import read_text

VERSION = "4"
_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_TEXT = r"((?:[^!\\]|\\.)+?)"
_WORD = r"((?:[^\s\\]|\\.)+)\s*"
_REST = r"(?:\{.*\})?\s*(?:!.*)?$"
"""Qualifiers and a comment, which may end a line; a text keeps the blank before them."""
_VALUES = {
    "name": _TEXT,
    "comment": _TEXT,
    "def": rf"{_QUOTED}\s*\[.*\]\s*",
    "synonym": rf"{_QUOTED}\s+(EXACT|BROAD|NARROW|RELATED)(?:\s+([^\s\[]+))?\s*\[.*\]\s*",
    "is_obsolete": r"(true|false)\s*",
    "replaced_by": _WORD,
    "alt_id": _WORD,
    "xref": rf"{_WORD}(?:{_QUOTED}\s*)?",
    "consider": _WORD,
    "subset": _WORD,
}
"""Tag → its value after the OBO 1.4 grammar; other tags are not looked at here."""
LAY = "layperson"
"""Type of a synonym that people say."""
_LISTS = {"alt_id": "alt_ids", "xref": "xrefs", "consider": "consider", "subset": "subsets"}
_ESCAPED = {"n": "\n", "t": "\t", "W": " "}
_MATCH = r"^property_value:\s+(?:skos:|http://www\.w3\.org/2004/02/skos/core#)?(exactMatch|broadMatch|narrowMatch)\s"


def read(path: Path, manifest: Manifest) -> Records:
    """Read terms and their is_a edges as the frames ``term`` and ``is_a``."""
    content = read_text(path)
    lines = _lines(content)
    if lines.filter(pl.col("_kind") == "[Term]").is_empty():
        raise SourceError(f"{path} has no [Term]: it is not an OBO file", hint=HINT)
    clauses = _clauses(lines)
    broken = _broken(lines, clauses)
    ids = _ids(lines).join(broken, on="_stanza", how="anti")
    own = prefixes(manifest)
    terms = _terms(ids, clauses)
    if own:
        terms = terms.filter(pl.col("id").str.contains(f"^(?:{'|'.join(own)}):"))
    found = OntologyFrames(terms, _edges(lines, ids), _matches(lines, ids), _axioms(lines, ids))
    frames, wrong, left = finished(path, found, own)
    rejects = join_rejects([_stanza_rejects(lines, broken), wrong])
    return Records(frames, rejects, find_version(content, manifest), warnings=left)


def _lines(content: bytes) -> pl.DataFrame:
    lines = pl.read_lines(io.BytesIO(content), name="text", row_index_name=LINE, row_index_offset=1)
    lines = lines.with_columns(pl.col("text").str.strip_chars_end())
    starts = pl.col("text").str.starts_with("[") & pl.col("text").str.ends_with("]")
    kind = pl.when(starts).then(pl.col("text")).forward_fill()
    return lines.with_columns(starts.cum_sum().alias("_stanza"), kind.alias("_kind"))


def _tagged(lines: pl.DataFrame, tag: str, name: str) -> pl.DataFrame:
    value = pl.col("text").str.extract(rf"^{tag}:\s*(\S+)").alias(name)
    chosen = (pl.col("_kind") == "[Term]") & pl.col("text").str.starts_with(f"{tag}:")
    return lines.filter(chosen).select(LINE, "_stanza", "text", value)


def _ids(lines: pl.DataFrame) -> pl.DataFrame:
    return _tagged(lines, "id", "id").unique("_stanza", keep="first", maintain_order=True)


def _clauses(lines: pl.DataFrame) -> pl.DataFrame:
    """Return ``tag`` and ``value`` of the lines that describe a term, of synonyms ``scope`` and ``type``.

    A line that is not OBO has no value.
    """
    stanzas = lines.filter(pl.col("_kind") == "[Term]").with_columns(tag=pl.col("text").str.extract(r"^(\w+):"))
    found, text, none = [], pl.col("text"), pl.lit(None, pl.String)
    for tag, value in _VALUES.items():
        pattern = rf"^{tag}:\s*{value}{_REST}"
        more = (text.str.extract(pattern, number) if tag == "synonym" else none for number in (2, 3))
        told = dict(zip(("value", "scope", "type"), (text.str.extract(pattern), *more), strict=True))
        found.append(stanzas.filter(pl.col("tag") == tag).select(LINE, "_stanza", "tag", **told))
    return pl.concat(found)


def _broken(lines: pl.DataFrame, clauses: pl.DataFrame) -> pl.DataFrame:
    damaged = lines.filter((pl.col("_kind") == "[Term]") & pl.col("text").str.contains("[\ufffd\x00]"))
    stanzas = lines.filter(pl.col("text") == "[Term]").select("_stanza")
    ids = _ids(lines)
    nameless = stanzas.join(ids.drop_nulls("id"), on="_stanza", how="anti")
    twice = ids.drop_nulls("id").filter(~pl.col("id").is_first_distinct())
    unlike = clauses.filter(pl.col("value").is_null()).sort(LINE)
    return pl.concat(
        [
            damaged.select("_stanza", reason=pl.lit("the term holds bytes that are no text in UTF-8")),
            nameless.select("_stanza", reason=pl.lit("the term has no id")),
            twice.select("_stanza", reason=pl.format("{} stands here a second time", "id")),
            unlike.select("_stanza", reason=pl.format("not OBO: line {} is no valid {}", LINE, "tag")),
        ]
    ).unique("_stanza", keep="first", maintain_order=True)


def _terms(ids: pl.DataFrame, clauses: pl.DataFrame) -> pl.DataFrame:
    escaped = pl.when(pl.col("value").str.contains("\\", literal=True)).then("value")
    texts = clauses.filter(pl.col("tag").is_in(["name", "comment", "def", "synonym"])).with_columns(
        value=pl.coalesce(escaped.map_elements(_unescaped, return_dtype=pl.String, skip_nulls=True), "value")
    )
    single = pl.concat([texts, clauses.filter(pl.col("tag").is_in(["is_obsolete", "replaced_by"]))])

    def last(tag: str) -> pl.Expr:
        return pl.col("value").filter(pl.col("tag") == tag).last()

    parts = [
        single.sort(LINE)
        .group_by("_stanza")
        .agg(
            name=last("name"),
            definition=last("def"),
            comment=last("comment"),
            obsolete=last("is_obsolete") == "true",
            replaced_by=pl.col("value").filter(pl.col("tag") == "replaced_by").min(),
        ),
        texts.filter(pl.col("tag") == "synonym")
        .unique(["_stanza", "value", "scope"])
        .sort("value", "scope")
        .group_by("_stanza", maintain_order=True)
        .agg(synonyms="value", synonym_scopes="scope"),
        texts.filter((pl.col("type") == LAY) & (pl.col("scope") == "EXACT"))
        .group_by("_stanza")
        .agg(lay_synonyms=pl.col("value").unique().sort()),
    ]
    for tag, column in _LISTS.items():
        rows = clauses.filter(pl.col("tag") == tag)
        if tag == "xref":
            rows = rows.with_columns(pl.col("value").map_elements(curie, return_dtype=pl.String))
        parts.append(rows.group_by("_stanza").agg(pl.col("value").unique().sort().alias(column)))
    terms = ids.select(LINE, "_stanza", "id")
    for part in parts:
        terms = terms.join(part, on="_stanza", how="left", maintain_order="left")
    lists = pl.col([name for name, kind in TERM.items() if kind == "strings"])
    return terms.with_columns(lists.fill_null([]), pl.col("obsolete").fill_null(False)).select(LINE, *TERM)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPED.get(found[1], found[1]), text)


def _edges(lines: pl.DataFrame, ids: pl.DataFrame) -> pl.DataFrame:
    edges = _tagged(lines, "is_a", "parent")
    edges = edges.join(ids.select("_stanza", child="id"), on="_stanza", maintain_order="left")
    return edges.select(LINE, "child", "parent", "text")


def _axioms(lines: pl.DataFrame, ids: pl.DataFrame) -> pl.DataFrame:
    text, none = pl.col("text"), pl.lit(None, pl.String)
    stated = _tagged(lines, "relationship", "predicate").with_columns(
        other=text.str.extract(r"^relationship:\s*\S+\s+(\S+)"), name=text.str.extract(r"\s!\s+(.+)$")
    )
    defined = _tagged(lines, "intersection_of", "predicate").unique("_stanza", keep="first", maintain_order=True)
    defined = defined.with_columns(predicate=pl.lit(DEFINITION), other=none, name=none)
    rows = pl.concat([stated, defined]).join(ids.select("_stanza", "id"), on="_stanza", maintain_order="left")
    curies = [pl.col(each).map_elements(curie, return_dtype=pl.String) for each in ("predicate", "other")]
    return rows.drop_nulls(["id", "predicate"]).with_columns(curies).select(LINE, "id", "predicate", "other", "name")


def _matches(lines: pl.DataFrame, ids: pl.DataFrame) -> pl.DataFrame:
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
        pl.col(LINE).first().alias("line"),
        pl.col("text").str.join("\n").alias("record"),
        pl.col("reason").first(),
    )
    return grouped.drop("_stanza")
