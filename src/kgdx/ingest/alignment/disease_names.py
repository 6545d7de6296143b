"""Names by which diseases may be joined, in a form that compares.

A name that limits what another of the same entry says (a translation without "familial", the English word for asthma
in a definition of asthma in pregnancy) is left out: the shortest unmodified name of a Chinese description is its own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from kgdx.terms.names.entity_names import POPULATION, WORDED, node_frame
from kgdx.terms.names.morphemes import adds, beginnings, meaning
from kgdx.terms.normalise import PHRASES, bare, form, has_chinese, read_table, word_list

if TYPE_CHECKING:
    from kgdx.graph.protocol import GraphTable

NAME, TRANSLATION, GLOSS, SYNONYM = 1.0, 0.995, 0.991, 0.99
"""How much a match of each kind of name says: a gloss is the English name with which a Chinese definition begins."""

_APART = "MONDO_GROUPED:"
"""Groups of entries are none of their members."""
_ABBREVIATION = re.compile(r"[A-Z0-9-]{1,4}")
_INITIALS = re.compile(r"[A-Z]{4,} (?:syndrome|association)$")
"""Initials that read as a word are none: LUMBAR syndrome is not of the lumbar spine."""
_EPONYM = re.compile(r"^(\w{2,})氏(\w*(?:综合征|病|症|瘤|征))$")
_DISORDER = re.compile(r"(?<=\w{3})(?<!综合)(?<!并发)症$")
_POPULATION = re.compile(POPULATION.replace("(?i:", "(?:"), re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
_LIMITS = Path(__file__).with_suffix(".tsv")


@dataclass(frozen=True, slots=True)
class EntryName:
    """A name of an entry: its comparable form, as it is written, and how much it says."""

    entry: str
    key: str
    text: str
    weight: float

    def by_meaning(self) -> EntryName:
        return self if _INITIALS.match(self.text) else replace(self, key=meaning(self.text))


def entry_frame(tables: Sequence[GraphTable]) -> pl.DataFrame:
    """Return the diseases that may be joined, with their names.

    Diseases that only a file of patients names are left out: their names are labels, which nothing may rest on.
    """
    columns = ("id", "name", "name_zh", "name_source", "synonyms", "source", "definition", "obsolete", "xrefs")
    patients = node_frame(tables, "PatientCase", ("source",))["source"].unique().implode()
    kept = node_frame(tables, "Disease", columns).filter(
        ~pl.col("obsolete").fill_null(False),
        ~pl.col("source").is_in(patients),
        ~pl.col("id").str.starts_with(_APART),
    )
    label = pl.col("name_source").is_in(patients).fill_null(False)
    return kept.with_columns(pl.when(~label).then("name").alias("name"))


def label_frame(tables: Sequence[GraphTable]) -> pl.DataFrame:
    """Return ``id`` and ``name`` of the diseases that are labels of patients, and no more."""
    patients = node_frame(tables, "PatientCase", ("source",))["source"].unique().implode()
    labels = node_frame(tables, "Disease", ("id", "name", "source")).drop_nulls("name")
    return labels.filter(pl.col("source").is_in(patients), pl.col("id").str.starts_with("KGDX:")).select("id", "name")


def entry_names(entries: pl.DataFrame) -> Iterator[EntryName]:
    """Yield the names of diseases (:func:`entry_frame`), each form of an entry's once."""
    for row in entries.iter_rows(named=True):
        yield from named(row["id"], _entry_texts(row))


def _entry_texts(row: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield an entry's names: those in the other language only where they limit it in the same way.

    A translation alone, of an entry that no source names, may have lost what limits it.
    """
    name = row["name"] if row["name"] and row["name_source"] not in ("id", "match") else ""
    if name:
        yield name, NAME
    zh = row["name_zh"]
    if zh and zh != name and name and (has_chinese(name) or same_limits(name, zh)):
        yield zh, TRANSLATION
    of_some = _POPULATION.match(name)
    explained = not has_chinese(name) or _plain(row["definition"] or "").startswith(f"{_plain(name)}(")
    for each in () if row["id"].startswith(WORDED) else row["synonyms"] or ():
        if _ABBREVIATION.fullmatch(each) or (of_some and not _POPULATION.match(each)):
            continue
        foreign = has_chinese(each) != has_chinese(name)
        pair = (name, each) if has_chinese(each) else (each, name)
        if not foreign or (explained and same_limits(*pair)):
            yield each, GLOSS if foreign and has_chinese(name) else SYNONYM


def _plain(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).split())


def named(entry: str, texts: Iterable[tuple[str, float]]) -> Iterator[EntryName]:
    best: dict[str, EntryName] = {}
    for text, weight in texts:
        for each in dict.fromkeys((text, bare(text))):
            key = name_key(each)
            if len(key) > 1 and (key not in best or best[key].weight < weight):
                best[key] = EntryName(entry, key, each, weight)
    yield from best.values()


def name_key(text: str) -> str:
    """Return the form in which names are compared: without case, punctuation, plural and the order of words."""
    found = form(text)
    if found.han:
        return _DISORDER.sub("", _EPONYM.sub(r"\1\2", found.key))
    return found.bag or found.key


def same_limits(english: str, chinese: str) -> bool:
    """Return whether a name and its translation limit in the same way what they mean."""
    left, right = form(bare(english)), form(bare(chinese))
    if set(_NUMBER.findall(left.key)) != set(_NUMBER.findall(right.key)):
        return False
    said = english.lower()
    if any((one.search(said) is None) != (other.search(right.folded) is None) for one, other in _limits()):
        return False
    return not adds(meaning(bare(english)), meaning(bare(chinese)))


def label_keys(label: str) -> list[str]:
    """Return the forms by which a label is looked up, the closest first: the last ones without whom it speaks of."""
    plain = _POPULATION.sub("", label).strip()
    texts = [label, bare(label), *([plain] if len(plain) > 1 else [])]
    return list(dict.fromkeys(name_key(text) for text in texts))


@cache
def _limits() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    return tuple((re.compile(english), re.compile(chinese)) for english, chinese in read_table(_LIMITS))


_SMALL = rf"\b(?:{'|'.join(sorted({*word_list('unordered'), 'a', 'an', 'the', 'type'}))}|[ivx]+[a-h]?)\b"
_CHANGED = {"ae": "e", "oe": "e", "'s": "", "’s": "", **dict(PHRASES)}


def signatures(texts: Iterable[str]) -> set[str]:
    """Return the signatures of names: names with equal forms have equal ones.

    It is made of the first letters of a name's words, or of a Chinese name's first character.
    """
    return set(pl.DataFrame({"text": [*texts]}, schema={"text": pl.String}).select(_signature("text")).to_series())


def near(nodes: pl.DataFrame, wanted: Set[str]) -> pl.DataFrame:
    chosen = _texts(nodes).filter(_signature("text").is_in(pl.Series(sorted(wanted), dtype=pl.String).implode()))
    return nodes.filter(pl.col("id").is_in(chosen["id"].unique().implode()))


def like(nodes: pl.DataFrame, meant: Set[str]) -> pl.DataFrame:
    """Return the nodes of which a name may say one of these things: its words begin as theirs do, or are Chinese."""
    begins = pl.Series(sorted(beginnings(meant)), dtype=pl.String).implode()
    long = _texts(nodes).filter(pl.col("text").str.len_chars() > 1)
    words = pl.col("text").str.to_lowercase().str.extract_all(r"[a-z]{4,}")
    known = words.list.eval(pl.element().str.head(4).is_in(begins)).list.all()
    chosen = long.filter(pl.col("text").str.contains(r"\p{Han}") | known)
    return nodes.filter(pl.col("id").is_in(chosen["id"].unique().implode()))


def _texts(nodes: pl.DataFrame) -> pl.DataFrame:
    names = [nodes.select("id", text=column) for column in ("name", "name_zh")]
    return pl.concat([*names, nodes.select("id", text="synonyms").explode("text")]).drop_nulls("text")


def _signature(column: str) -> pl.Expr:
    plain = pl.col(column).str.normalize("NFKD").str.replace_all(r"\p{M}", "").str.to_lowercase()
    plain = plain.str.replace_many(list(_CHANGED), list(_CHANGED.values()), leftmost=True)
    letters = plain.str.replace(r"[;,(]\s*[a-z][a-z0-9-]{0,9}\)?\s*$", "").str.replace_all(_SMALL, " ")
    first = letters.str.extract_all(r"\b[a-z]").list.unique().list.sort().list.join("")
    return pl.coalesce(plain.str.extract(r"(\p{Han})"), first)
