"""All names of the entities that are aligned, with how much each says: read from the graph's tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from kgdx.graph.protocol import GraphTable, NodeTable
from kgdx.terms.dictionary import ROOT, descendants
from kgdx.terms.everyday import lay_wordings
from kgdx.terms.normalise import Form, bare, fold_name, form, has_chinese, word_rows, wordings


def _either(name: str) -> str:
    return "|".join(word for row in word_rows(name) for word in row)


RELATED_NAME = 0.84
_WEIGHTS = {
    "name": 1.0,
    "synonym": 0.995,
    "translation": 0.995,
    "related": RELATED_NAME,
    "scoped": 0.9,
    "wording": 0.96,
}
"""Weight of a match of each kind of name; of equal matches, the one of the preferred names wins. A related name means
something else, and makes a candidate only."""
_LAY = 0.98
_BARE = 0.99
"""The same for everyday wordings, and for names without the abbreviation that follows them."""
_ABBREVIATION = "^[A-Z0-9-]{1,3}$"
"""An abbreviation that stands for too many things to be anybody's name."""
WORDED = "KGDX:common."
"""Conditions whose synonyms are wordings that mean them in texts, wider and narrower ones among these."""
POPULATION = f"^(?:{_either('population_zh')})|(?i:{_either('population')})"
"""Words by which a name speaks of some patients only."""
_DOSAGE_FORM = f"(?:{_either('dosage_before')})*(?:{_either('dosage_form')})(?:[(（][^)）]*[)）])?$"
_EPONYM = r"^(\p{Han}{2,})氏(\p{Han}*(?:综合征|综合症|病|症|瘤|征))$"
"""A disease named after somebody, in the longer of two ways: 马凡氏综合征 for 马凡综合征."""
_FORMS = {name: pl.Boolean if name in ("turned", "han") else pl.String for name in ("text", *Form._fields)}
_SCHEMA = {"entity": pl.String, "text": pl.String, "weight": pl.Float64, "relation": pl.String}


@dataclass(frozen=True, slots=True)
class Side:
    """Entities of one class that take part in an alignment.

    Attributes:
        entities: ``id``, ``name``, ``source`` and ``vocabulary`` (the id's prefix, or the source that minted it).
        names: The forms of all names (:class:`kgdx.terms.normalise.Form`) with ``entity`` (id), ``text``,
            ``weight`` and ``relation``: how the entity relates to what the name says.
    """

    entities: pl.DataFrame
    names: pl.DataFrame

    def of(self, vocabulary: str) -> Side:
        chosen = self.entities.filter(pl.col("vocabulary") == vocabulary)
        return Side(chosen, self.names.join(chosen.select(entity="id"), on="entity", how="semi"))

    def without(self, ids: pl.Series) -> Side:
        gone = pl.DataFrame({"id": ids})
        return Side(
            self.entities.join(gone, on="id", how="anti"),
            self.names.join(gone, left_on="entity", right_on="id", how="anti"),
        )


def node_frame(tables: Iterable[GraphTable], label: str, columns: Sequence[str]) -> pl.DataFrame:
    """Return the nodes of a class with some of their properties; an absent column is null."""
    frames = [pl.DataFrame(schema=dict.fromkeys(columns, pl.Null))]
    for table in tables:
        if isinstance(table, NodeTable) and table.label == label:
            rows = table.rows.select([name for name in columns if name in table.rows.column_names])
            frames.append(pl.DataFrame(pl.from_arrow(rows)))
    found = pl.concat(frames, how="diagonal_relaxed")
    lists: tuple[str, ...] = ("alt_ids", "synonyms", "synonym_scopes", "entry_terms", "entry_term_scopes")
    lists += ("tree_numbers", "xrefs", "onset_ages", "inheritance")
    types = {c: pl.List(pl.String) if c in lists else pl.Boolean if c == "obsolete" else pl.String for c in columns}
    return found.cast(types)  # type: ignore[arg-type]


def edges(
    tables: Iterable[GraphTable], type: str, start: str | None = None, end: str | None = None
) -> Iterator[tuple[str, str]]:
    """Yield both ends of the relations of a type, between these classes where they are named."""
    for table in tables:
        if table.name == type and table.ends and start in (None, table.ends[0]) and end in (None, table.ends[1]):
            yield from zip(table.rows["start"].to_pylist(), table.rows["end"].to_pylist(), strict=True)


def symptoms(tables: Sequence[GraphTable], *, lookup: bool = False) -> Side:
    """Return the symptoms: the phrases of their sources, and what these list as the same."""
    nodes = node_frame(tables, "Symptom", ("id", "name", "source", "synonyms"))
    return side(nodes, pl.concat([_named(nodes, "name", "name"), _listed(nodes, "synonyms")]), lookup=lookup)


def plain(tables: Sequence[GraphTable], label: str) -> Side:
    """Return the nodes of a class by their names alone, abbreviations and symbols of genes among them."""
    nodes = node_frame(tables, label, ("id", "name", "source"))
    return side(nodes, _named(nodes, "name", "name"), lookup=True)


def drugs(tables: Sequence[GraphTable]) -> Side:
    """Return the drugs by their names, and products of Chinese sources by what is in them: 红霉素 for 红霉素软膏."""
    nodes = node_frame(tables, "Drug", ("id", "name", "source"))
    substance = pl.col("name").str.replace(_DOSAGE_FORM, "").str.replace("^注射用", "")
    bare = nodes.with_columns(substance.alias("name")).filter(
        (pl.col("name") != nodes["name"]) & (pl.col("name").str.len_chars() > 1)
    )
    broader = _named(bare, "name", "scoped").with_columns(pl.lit("broader").alias("relation"))
    return side(nodes, pl.concat([_named(nodes, "name", "name"), broader]), lookup=True)


def phenotypes(tables: Sequence[GraphTable], *, lay: bool = True, lookup: bool = False) -> Side:
    """Return the current findings of the Human Phenotype Ontology."""
    columns = ("id", "name", "source", "name_zh", "synonyms", "synonym_scopes", "obsolete")
    nodes = node_frame(tables, "Phenotype", columns).filter(~pl.col("obsolete").fill_null(False))
    inside = descendants(edges(tables, "IS_A", "Phenotype"), ROOT)
    if inside:
        nodes = nodes.filter(pl.col("id").is_in(inside))
    names = [
        _named(nodes, "name", "name"),
        _named(nodes, "name_zh", "translation"),
        _scoped(nodes, "synonyms", "synonym_scopes"),
    ]
    names += [_chinese_wordings(nodes), _lay_names(nodes)] if lay else [_chinese_wordings(nodes)]
    return side(nodes, pl.concat(names), lookup=lookup)


def diseases(tables: Sequence[GraphTable], *, lookup: bool = False) -> Side:
    """Return the current diseases of all vocabularies."""
    columns = ("id", "name", "source", "name_source", "name_zh", "synonyms", "obsolete")
    nodes = node_frame(tables, "Disease", columns).filter(~pl.col("obsolete").fill_null(False))
    named = nodes.filter(~pl.col("name_source").is_in(["id", "match"]).fill_null(False))
    listed = _listed(nodes.filter(pl.lit(lookup) | ~pl.col("id").str.starts_with(WORDED)), "synonyms")
    names = pl.concat([_named(named, "name", "name"), _named(nodes, "name_zh", "translation"), listed])
    return side(nodes, _of_some_patients(named, names), diseases=True, lookup=lookup)


def descriptors(tables: Sequence[GraphTable], branches: Sequence[str] = ()) -> Side:
    """Return the MeSH descriptors of some branches of the tree (``C``, ``F03``); all of them when none is named."""
    columns = ("id", "name", "source", "entry_terms", "entry_term_scopes", "tree_numbers")
    nodes = node_frame(tables, "MeshDescriptor", columns)
    if branches:
        within = pl.any_horizontal(pl.element().str.starts_with(branch) for branch in branches)
        nodes = nodes.filter(pl.col("tree_numbers").list.eval(within).list.any().fill_null(False))
    terms = _scoped(nodes, "entry_terms", "entry_term_scopes")
    return side(nodes, pl.concat([_named(nodes, "name", "name"), terms]), diseases=True)


def side(nodes: pl.DataFrame, names: pl.DataFrame, *, diseases: bool = False, lookup: bool = False) -> Side:
    """Return entities with the forms of their names."""
    vocabulary = pl.col("id").str.extract(r"^(?:KGDX:)?([^:.]*)").alias("vocabulary")
    entities = nodes.select("id", "name", "source", vocabulary)
    usable = names.drop_nulls("text").filter(pl.lit(lookup) | ~pl.col("text").str.contains(_ABBREVIATION))
    every = variants(usable)
    every = pl.concat([every, *([_plain_eponyms(every)] if lookup else [])])
    bare = pl.int_range(every.height) >= usable.height
    every = every.with_columns(pl.when(bare).then(pl.col("weight") * _BARE).otherwise("weight").alias("weight"))
    forms = with_forms(every, diseases=diseases or lookup)
    best = forms.sort("entity", pl.col("weight"), descending=[False, True], maintain_order=True)
    return Side(entities, best.unique(["entity", "folded"], keep="first", maintain_order=True))


def variants(names: pl.DataFrame) -> pl.DataFrame:
    """Add the names without the abbreviation that follows them."""
    without = names.with_columns(pl.Series("text", [bare(text) for text in names["text"]], pl.String))
    changed = (pl.col("text") != names["text"]) & (pl.col("text").str.len_chars() > 1)
    return pl.concat([names, without.filter(changed)])


def with_forms(names: pl.DataFrame, *, diseases: bool) -> pl.DataFrame:
    """Add the forms (:class:`kgdx.terms.normalise.Form`) of the column ``text``."""
    texts = names["text"].unique(maintain_order=True).to_list()
    rows = [(text, *form(text, diseases=diseases)) for text in texts]
    forms = pl.DataFrame(rows, schema=_FORMS, orient="row").filter(pl.col("folded") != "")
    return names.join(forms, on="text", maintain_order="left")


def asked_names(name: str, synonyms: Sequence[str] = ()) -> list[tuple[str, Form, float]]:
    """Return the names of one entity with their forms and weights, as :func:`side` gives them to a column."""
    given = [(name, _WEIGHTS["name"]), *((other, _WEIGHTS["synonym"]) for other in synonyms)]
    usable = [(text, weight) for text, weight in given if not re.search(_ABBREVIATION, text)]
    usable += [(bare(text), weight * _BARE) for text, weight in usable if bare(text) != text and len(bare(text)) > 1]
    found: dict[str, tuple[str, Form, float]] = {}
    for text, weight in sorted(usable, key=lambda each: -each[1]):
        found.setdefault((forms := form(text)).folded, (text, forms, weight))
    found.pop("", None)
    return list(found.values())


def _plain_eponyms(names: pl.DataFrame) -> pl.DataFrame:
    plain = names.with_columns(pl.col("text").str.replace(_EPONYM, "$1$2"))
    return plain.filter(pl.col("text") != names["text"])


def _named(nodes: pl.DataFrame, column: str, kind: str) -> pl.DataFrame:
    weight, relation = pl.lit(_WEIGHTS[kind]).alias("weight"), pl.lit("exact").alias("relation")
    return nodes.select(pl.col("id").alias("entity"), pl.col(column).alias("text"), weight, relation).drop_nulls("text")


def _listed(nodes: pl.DataFrame, column: str) -> pl.DataFrame:
    return _named(nodes.select("id", column).explode(column), column, "synonym")


def _scoped(nodes: pl.DataFrame, column: str, scopes: str) -> pl.DataFrame:
    fitting = pl.col(scopes).list.len() == pl.col(column).list.len()
    unknown = pl.col(column).list.eval(pl.lit("EXACT"))
    lists = nodes.select("id", column, pl.when(fitting).then(scopes).otherwise(unknown).alias("scope"))
    rows = lists.filter(pl.col(column).list.len() > 0).explode(column, "scope")
    kinds = {"EXACT": "synonym", "RELATED": "related", "NARROW": "scoped", "BROAD": "scoped"}
    weight = pl.col("scope").replace_strict({k: _WEIGHTS[v] for k, v in kinds.items()}, default=0.95)
    relation = pl.col("scope").replace_strict({"NARROW": "broader", "BROAD": "narrower"}, default="exact")
    return rows.select(entity="id", text=column, weight=weight.cast(pl.Float64), relation=relation)


def _of_some_patients(nodes: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    some = nodes.filter(pl.col("name").str.contains(POPULATION)).select(entity="id", some=pl.lit(True))
    told = names.join(some, on="entity", how="left", maintain_order="left")
    wider = pl.col("some").fill_null(False) & ~pl.col("text").str.contains(POPULATION)
    return told.with_columns(
        pl.when(wider).then(_WEIGHTS["scoped"]).otherwise("weight").alias("weight"),
        pl.when(wider).then(pl.lit("narrower")).otherwise("relation").alias("relation"),
    ).drop("some")


def _chinese_wordings(nodes: pl.DataFrame) -> pl.DataFrame:
    chinese = ((id, fold_name(name)) for id, name in nodes.select("id", "name_zh").drop_nulls().iter_rows())
    rows = [
        (id, other, _WEIGHTS["wording"], "exact")
        for id, zh in chinese
        if has_chinese(zh)
        for other in sorted(wordings(zh))
    ]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _lay_names(nodes: pl.DataFrame) -> pl.DataFrame:
    rows = pl.DataFrame([(id, phrase, _LAY, "exact") for phrase, id in lay_wordings()], schema=_SCHEMA, orient="row")
    return rows.join(nodes, left_on="entity", right_on="id", how="semi")
