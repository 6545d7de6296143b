"""What keeps two entries of diseases apart whatever their names share: what is known of both, and differs.

Of both must be known genes, inheritance, sex, age at onset or organ, and nothing of it be common: what one source does
not say is no difference. Names say some of it, relations and properties the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from kgdx.terms.names.entity_names import edges, node_frame
from kgdx.terms.names.morphemes import meaning
from kgdx.terms.normalise import bare, read_table

if TYPE_CHECKING:
    from kgdx.graph.protocol import GraphTable

READS = ("ASSOCIATED_GENE", "HAS_INHERITANCE")

Known = Mapping[str, Mapping[str, frozenset[str]]]
"""Kinds of what is known, with its values by entry."""
_AGES = {"infant": (0, 2), "child": (2, 18), "adult": (18, 60), "old": (60, 120)}
"""Years of the ages that names speak of."""


def known(tables: Sequence[GraphTable], ids: Iterable[str]) -> Known:
    """Return what is known of entries that may be joined."""
    wanted = pl.Series("id", sorted(set(ids)), pl.String).implode()
    found: dict[str, dict[str, set[str]]] = {}

    def add(kind: str, id: str, values: Iterable[str]) -> None:
        for value in values:
            found.setdefault(kind, {}).setdefault(id, set()).add(value)

    columns = ("id", "name", "name_zh", "patient_sex", "youngest", "oldest", "onset_ages", "inheritance")
    for id, name, zh, sex, youngest, oldest, onset, modes in (
        node_frame(tables, "Disease", columns).filter(pl.col("id").is_in(wanted)).iter_rows()
    ):
        for text in (name if name and name != id else zh or "", *(onset or ()), *(modes or ())):
            for kind, value in _said(text):
                add(kind, id, [value])
        add("sex", id, [sex.lower()] if sex else [])
        if youngest or oldest:
            low, high = float(youngest or 0), float(oldest or 120)
            add("age", id, (age for age, (start, end) in _AGES.items() if start < high and end > low))
    named = dict(node_frame(tables, "Phenotype", ("id", "name")).iter_rows()) if found else {}
    chosen = set(wanted[0])
    for type, kind in zip(READS, ("genes", "inheritance"), strict=True):
        for id, value in edges(tables, type):
            if id in chosen:
                said = [v for k, v in _said(named.get(value) or "") if k == kind]
                add(kind, id, [value] if kind == "genes" else said)
    return {kind: {id: frozenset(values) for id, values in each.items()} for kind, each in found.items()}


def apart(facts: Known, mine: Iterable[str], yours: Iterable[str]) -> str:
    """Return why two groups of entries are not one disease; nothing where nothing known of both differs."""
    groups = list(mine), list(yours)
    for kind, values in facts.items():
        left, right = (frozenset(value for id in ids for value in values.get(id, ())) for ids in groups)
        if left and right and left.isdisjoint(right):
            return f"different {kind}: {' and '.join(sorted(left))}, {' and '.join(sorted(right))}"
    return ""


def _said(name: str) -> Iterator[tuple[str, str]]:
    patterns, organs = _table()
    lower = name.lower()
    yield from ((kind, value) for kind, value, pattern in patterns if pattern.search(lower))
    yield from {("organ", organs[part]) for part in meaning(bare(name)).split() if part in organs}


@cache
def _table() -> tuple[list[tuple[str, str, re.Pattern[str]]], Mapping[str, str]]:
    rows = list(read_table(Path(__file__).with_suffix(".tsv")))
    patterns = [(kind, value, re.compile(said)) for kind, value, said in rows if kind != "organ"]
    words = [(value, word) for kind, value, said in rows if kind == "organ" for word in said.split(";")]
    return patterns, {meaning(word.strip()): value for value, word in words}
