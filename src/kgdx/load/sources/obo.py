"""HPO in OBO format (`hp.obo`): terms read by pronto, is_a edges from their lines.

pronto stops at a missing parent or a syntax error and drops a self-loop in silence. So the edges are read here, where
each has its line and what is wrong with one is said, and a stanza that pronto's grammar refuses is set apart. A cycle
cannot be loaded around: it is an error that names its terms.
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

FRAMES = {
    "term": (
        "id",
        "name",
        "definition",
        "comment",
        "synonyms",
        "synonym_scopes",
        "alt_ids",
        "xrefs",
        "obsolete",
        "replaced_by",
        "consider",
    ),
    "is_a": ("child", "parent"),
}
_LISTS = ("synonyms", "synonym_scopes", "alt_ids", "xrefs", "consider")
_TAGS = r"^(id|name|def|comment|synonym|alt_id|xref|is_obsolete|replaced_by|consider):"
_HINT = "use a release from https://github.com/obophenotype/human-phenotype-ontology/releases"
_REFUSALS = (SyntaxError, ValueError, KeyError, TypeError, AttributeError)
"""What pronto raises for a text that is no OBO."""


def read(path: Path, manifest: Manifest) -> Records:
    """Read terms and their is_a edges as the frames ``term`` and ``is_a``.

    Raises:
        SourceError: The file is unreadable, is no OBO file, is not UTF-8, or its is_a edges form a cycle.
    """
    content = read_text(path)
    try:
        content.decode()
    except UnicodeDecodeError as error:
        raise SourceError(f"{path} is not UTF-8 (byte {error.start})", hint=_HINT) from error
    lines = _lines(content)
    if lines.filter(pl.col("_kind") == "[Term]").is_empty():
        raise SourceError(f"{path} has no [Term]: it is not an OBO file", hint=_HINT)
    broken = _without_own_id(lines)
    try:
        terms = _parse(lines, broken)
    except _REFUSALS:
        broken = pl.concat([broken, _unreadable(lines).join(broken, on="_stanza", how="anti")])
        try:
            terms = _parse(lines, broken)
        except _REFUSALS as error:
            reason = " ".join(str(error).split())[:200]
            raise SourceError(f"{path} is not a usable OBO file ({reason})", hint=_HINT) from error
    ids = _ids(lines).join(broken, on="_stanza", how="anti")
    edges, wrong = _edges(lines, ids)
    _refuse_cycle(path, edges)
    terms = terms.join(ids.select(LINE, "id"), on="id", how="left", maintain_order="left")
    rejects = [_stanza_rejects(lines, broken), wrong]
    frames = {"term": terms, "is_a": edges.select(LINE, "child", "parent")}
    return Records(frames, join_rejects(rejects), find_version(content, manifest))


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


def _without_own_id(lines: pl.DataFrame) -> pl.DataFrame:
    """Term stanzas without an id, or with one that an earlier stanza has: ``_stanza`` and ``reason``."""
    stanzas = lines.filter(pl.col("text") == "[Term]").select("_stanza")
    ids = _ids(lines)
    nameless = stanzas.join(ids.drop_nulls("id"), on="_stanza", how="anti")
    twice = ids.drop_nulls("id").filter(~pl.col("id").is_first_distinct())
    return pl.concat(
        [
            nameless.select("_stanza", reason=pl.lit("the term has no id")),
            twice.select("_stanza", reason=pl.format("{} stands here a second time", "id")),
        ]
    )


def _parse(lines: pl.DataFrame, broken: pl.DataFrame) -> pl.DataFrame:
    """Terms by pronto, from the lines whose content is kept."""
    header = (pl.col("_stanza") == 0) & ~pl.col("text").str.starts_with("import:")
    kept = (pl.col("_kind") == "[Term]") & (pl.col("text").str.contains(_TAGS) | (pl.col("text") == "[Term]"))
    chosen = lines.filter(header | kept).join(broken, on="_stanza", how="anti", maintain_order="left")
    rows = list(_terms("\n".join(chosen["text"]).encode() + b"\n"))
    kinds = {name: pa.list_(pa.string()) if name in _LISTS else pa.string() for name in FRAMES["term"]}
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
                sorted({xref.id for xref in term.xrefs}),
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


def _edges(lines: pl.DataFrame, ids: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The is_a lines of the kept terms, and those that cannot be used with their reason."""
    edges = _tagged(lines, "is_a", "parent")
    edges = edges.join(ids.select("_stanza", child="id"), on="_stanza", maintain_order="left")
    reason = pl.coalesce(
        pl.when(pl.col("parent").is_null()).then(pl.lit("is_a names no parent")),
        pl.when(pl.col("parent") == pl.col("child")).then(pl.lit("the term is its own parent")),
        pl.when(~pl.col("parent").is_in(ids["id"].implode())).then(
            pl.format("its parent {} is not a term of this file", "parent")
        ),
    )
    edges = edges.with_columns(reason.alias("reason"))
    wrong = edges.filter(pl.col("reason").is_not_null()).select(
        pl.lit(None).cast(pl.String).alias("file"),
        pl.col(LINE).alias("line"),
        record=pl.format("{} {}", "child", "text"),
        reason="reason",
    )
    return edges.filter(pl.col("reason").is_null()), wrong


def _stanza_rejects(lines: pl.DataFrame, broken: pl.DataFrame) -> pl.DataFrame:
    joined = lines.filter(pl.col("text") != "").join(broken, on="_stanza", maintain_order="left")
    grouped = joined.group_by("_stanza", maintain_order=True).agg(
        pl.lit(None).cast(pl.String).alias("file"),
        pl.col(LINE).first().alias("line"),
        pl.col("text").str.join("\n").alias("record"),
        pl.col("reason").first(),
    )
    return grouped.drop("_stanza")


def _refuse_cycle(path: Path, edges: pl.DataFrame) -> None:
    """Raise an error that names the terms and lines of a cycle, if there is one."""
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    names = pl.concat([edges["child"], edges["parent"]]).unique(maintain_order=True)
    if names.is_empty():
        return
    codes = pl.Enum(names)
    child, parent = (edges[end].cast(codes).to_physical().to_numpy() for end in ("child", "parent"))
    graph = coo_array((np.ones(len(child), np.int8), (child, parent)), shape=(len(names), len(names)))
    count, component = connected_components(graph, directed=True, connection="strong")
    if count == len(names):
        return
    inside = edges.filter(pl.Series(component[child] == component[parent]))
    parents = {row["child"]: row for row in inside.iter_rows(named=True)}
    walk = [str(inside.item(0, "child"))]
    while walk.count(walk[-1]) == 1:
        walk.append(parents[walk[-1]]["parent"])
    cycle = walk[walk.index(walk[-1]) :]
    line = parents[cycle[0]][LINE]
    message = f"{path} has an is_a cycle: {' → '.join(cycle[:10])} (line {line})"
    raise SourceError(message, hint=f"remove one of these is_a lines, or {_HINT}")
