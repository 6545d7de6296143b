"""Diseases of several vocabularies that are the same: pairs of vocabularies are aligned, and joined with care.

What ranking merges follows from these statements, so two entries of one vocabulary must never become one through a
third, nor an entry of Orphanet and one of OMIM: entries that are joined form components, and a component holds at most
one entry of each vocabulary and of these two together, unless the loaded tables (or the step before) say otherwise.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field

import polars as pl
import pyarrow.compute as pc

from kgdx.graph.protocol import GraphTable, RelationTable
from kgdx.terms.encoder import NameEncoder
from kgdx.terms.names.cascade import CANDIDATES, STAGES, AlignmentLimits, Given, candidates, decide
from kgdx.terms.names.entity_names import Side
from kgdx.terms.names.morphemes import adds
from kgdx.terms.names.morphemes import meaning as said
from kgdx.terms.normalise import bare

RULES = AlignmentLimits(stages=STAGES, cosine=0.93, least=0.93, alone=True)
"""What the encoder finds is a close match, which joins no candidates: of five such pairs one is wrong."""

RARE = ("OMIM", "ORPHA")
"""Vocabularies that kgdx aligns by more than names (:mod:`kgdx.ingest.alignment.equivalence`), and never by names
alone."""

_APART = ("MONDO_GROUPED",)
"""Groups of entries are none of their members."""
_ORDER = ("MONDO", "DECIPHER", "ORPHA", "OMIM")
"""Where a statement ends, the last first; other vocabularies stand before, in alphabetical order."""


@dataclass(slots=True)
class Components:
    """Entries that are joined, and which vocabularies each component holds."""

    parent: dict[str, str] = field(default_factory=dict)
    members: dict[str, set[str]] = field(default_factory=dict)

    def find(self, id: str) -> str:
        """Return what stands for the component of an entry."""
        root = id
        while (up := self.parent.get(root, root)) != root:
            root = up
        while (up := self.parent.get(id, id)) != root:
            self.parent[id], id = root, up
        return root

    def join(self, one: str, other: str) -> None:
        """Join two entries, whatever their vocabularies."""
        a, b = self.find(one), self.find(other)
        if a != b:
            self.members[a] = self.of(a) | self.of(b)
            self.members.pop(b, None)
            self.parent[b] = a

    def of(self, id: str) -> set[str]:
        root = self.find(id)
        return self.members.get(root, {root})

    def fits(self, one: str, other: str) -> bool:
        """Return whether joining two entries leaves each vocabulary with one entry, and joins no two rare diseases.

        Example:
            >>> joined = Components()
            >>> joined.join("MONDO:1", "OMIM:1")
            >>> joined.fits("KGDX:zh.1", "MONDO:1"), joined.fits("OMIM:2", "MONDO:1"), joined.fits("MONDO:1", "ORPHA:5")
            (True, False, False)
        """
        mine, yours = self.of(one), self.of(other)
        together = mine is yours or self.find(one) == self.find(other)
        return together or not {kind(id) for id in mine} & {kind(id) for id in yours}


def vocabulary(id: str) -> str:
    """Return the vocabulary of an id: its prefix, or the source that minted it."""
    prefix, _, local = id.partition(":")
    return local.partition(".")[0] if prefix == "KGDX" else prefix


def align_diseases(
    everything: Side,
    same: Iterable[tuple[str, str]],
    given: Given,
    meaning: NameEncoder | None = None,
    words: Container[str] | None = None,
) -> pl.DataFrame:
    """Align the diseases of each pair of vocabularies; what pairs known to be the ``same`` imply is not stated again.

    The outcome ``conflict`` is that of a statement that would have joined two entries of one vocabulary, or a disease
    with a part or form of it; other outcomes are those of :func:`kgdx.terms.names.cascade.decide`.
    """
    joined = Components()
    for one, other in same:
        joined.join(one, other)
    present = sorted(set(everything.entities["vocabulary"]) - set(_APART), key=_place)
    sides = {name: everything.of(name) for name in present}
    found = [pl.DataFrame(schema={**CANDIDATES, "outcome": pl.String})]
    for at, later in enumerate(present):
        for earlier in present[at + 1 :]:
            if later in RARE and earlier in RARE:
                continue
            reached = [id for id in sides[later].entities["id"] if earlier in map(vocabulary, joined.of(id))]
            taken = [id for id in sides[earlier].entities["id"] if later in map(vocabulary, joined.of(id))]
            mine, yours = sides[later].without(pl.Series(reached, dtype=pl.String)), sides[earlier]
            yours = yours.without(pl.Series(taken, dtype=pl.String))
            found.append(decide(candidates(mine, yours, RULES, given, meaning, words), RULES))
    return _without_conflicts(_without_forms(pl.concat(found), everything), joined)


def _without_forms(found: pl.DataFrame, everything: Side) -> pl.DataFrame:
    names = {id: bare(name or "") for id, name in everything.entities.select("id", "name").iter_rows()}
    minted = [id.startswith("KGDX:") for id in found["subject"]]
    pairs = zip(minted, found.select("subject", "object", "outcome", "method").iter_rows(), strict=True)
    forms = [
        outcome == "stated"
        and (mine or yours.startswith("KGDX:") or method == "encoder")
        and adds(said(names[one]), said(names[yours]))
        for mine, (one, yours, outcome, method) in pairs
    ]
    form = pl.Series(forms, dtype=pl.Boolean)
    return found.with_columns(pl.when(form).then(pl.lit("conflict")).otherwise("outcome").alias("outcome"))


def exact_pairs(
    tables: Iterable[GraphTable], type: str = "SAME_AS", ends: tuple[str, str] = ("Disease", "Disease")
) -> list[tuple[str, str]]:
    """Return the pairs of nodes that relations of a type say are exactly the same."""
    pairs: list[tuple[str, str]] = []
    for table in tables:
        if isinstance(table, RelationTable) and (table.type, table.start_label, table.end_label) == (type, *ends):
            rows = table.rows
            if "relation" in rows.column_names:
                rows = rows.filter(pc.equal(rows.column("relation"), "exact"))
            pairs += zip(*(rows.column(name).to_pylist() for name in ("start", "end")), strict=True)
    return pairs


def _without_conflicts(found: pl.DataFrame, joined: Components) -> pl.DataFrame:
    order = found.with_row_index("row").filter(pl.col("outcome") == "stated")
    place = pl.col("object").str.starts_with("ORPHA:")  # an Orphanet entry is a disease, an OMIM one often a form of it
    order = order.with_columns(place.alias("orphanet"))
    order = order.sort("score", "orphanet", "subject", "object", descending=[True, True, False, False])
    conflicts: list[int] = []
    for row, one, other, relation in order.select("row", "subject", "object", "relation").iter_rows():
        if not joined.fits(one, other):
            conflicts.append(row)
        elif relation == "exact":
            joined.join(one, other)
    wrong = pl.int_range(pl.len()).is_in(conflicts)
    return found.with_columns(pl.when(wrong).then(pl.lit("conflict")).otherwise("outcome").alias("outcome"))


def kind(id: str) -> str:
    return RARE[0] if vocabulary(id) in RARE else vocabulary(id)


def _place(vocabulary: str) -> tuple[int, str]:
    return (_ORDER.index(vocabulary) + 1 if vocabulary in _ORDER else 0, vocabulary)
