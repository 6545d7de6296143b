"""Joins entries that are one disease under one name, in two languages or vocabularies: 痛风 is gout.

What is stated here lets ranking take two entries for one candidate, so it is stricter than the alignment of names
(:mod:`kgdx.terms.names.same_diseases`): names have to be equal in their forms, nothing is near enough. Two names are of
one disease where an entry or a term of HPO has both, or a row of ``common_names.tsv``. Pairs are joined one to one, the
surest first, and only where no vocabulary gets a second entry into what is joined: two entries of OMIM never become one
by a name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kgdx.ingest.alignment.disease_names import (
    EntryName,
    entry_frame,
    entry_names,
    label_keys,
    named,
    near,
    signatures,
    term_names,
)
from kgdx.terms.names.entity_names import node_frame
from kgdx.terms.names.same_diseases import RARE, Components, exact_pairs, vocabulary
from kgdx.terms.normalise import read_table

if TYPE_CHECKING:
    import pyarrow as pa

    from kgdx.graph.protocol import GraphTable, RelationTable

SOURCE = "kgdx:names"
VERSION = "1"
READS = ("Disease", "Phenotype", "PatientCase", "SAME_AS")

SAME_NAME, ONE_TERM, ONE_ROW = "same name", "names of one term", "names checked by hand"
"""Methods: what two entries have in common."""
_WORTH = {SAME_NAME: 1.0, ONE_ROW: 0.985, ONE_TERM: 0.98}
"""How much each says beside the others: the surest pair is joined first."""
_STEP = 0.0005
"""By how much a name of a row says less than the one before it."""
_MINTED = "KGDX:"


@dataclass(frozen=True, slots=True, order=True)
class NamePair:
    """Two entries that have a name in common; ``rank`` sorts the surest first."""

    rank: float
    left: str
    right: str
    method: str
    evidence: str


def infer(tables: Sequence[GraphTable]) -> RelationTable:
    """Return SAME_AS relations between entries of different vocabularies that have a name in common."""
    from kgdx.graph.protocol import RelationTable

    joined = Components()
    for one, other in exact_pairs(tables):
        joined.join(one, other)
    stated = []
    for pair in sorted(_all_pairs(tables, joined)):
        if joined.find(pair.left) != joined.find(pair.right) and _fits(pair, joined):
            joined.join(pair.left, pair.right)
            stated.append(pair)
    return RelationTable("SAME_AS", "Disease", "Disease", _rows(stated))


def entries_called(tables: Sequence[GraphTable], labels: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the entries that each label means: by their own names, else by a row of the table, else by a term.

    For labels of patients, which have names only. The names of diseases that patients' files brought do not count. A
    label for some patients (小儿手足口病) means the disease itself where no entry is called like it.

    Returns:
        For each label the ids, sorted; none where no entry has the name.
    """
    asked = {label: label_keys(label) for label in labels}
    entries = list(entry_names(entry_frame(tables)))
    wanted = {key for keys in asked.values() for key in keys}
    terms = term_names(node_frame(tables, "Phenotype", _TERM), wanted)
    by_key: dict[str, set[str]] = defaultdict(set)
    for each in entries:
        by_key[each.key].add(each.entry)
    steps: list[dict[str, set[str]]] = [{key: {key} for key in wanted}]
    for bridges in (_stated_names(), terms):
        of_bridge: dict[str, set[str]] = defaultdict(set)
        for each in bridges:
            of_bridge[each.entry].add(each.key)
        steps.append({each.key: of_bridge[each.entry] for each in bridges})
    found = {}
    for label, keys in asked.items():
        ways = ({id for other in step.get(key, ()) for id in by_key.get(other, ())} for key in keys for step in steps)
        found[label] = tuple(sorted(next((ids for ids in ways if ids), ())))
    return found


def _all_pairs(tables: Sequence[GraphTable], joined: Components) -> set[NamePair]:
    """The pairs that may be joined.

    Entries of OMIM, Orphanet and DECIPHER are joined with others only, and most graphs have few others: names of the
    former, and of HPO's terms, count only where they look like one of those.
    """
    entries = entry_frame(tables)
    rare = entries["id"].str.extract("^([^:]*)").is_in(list(RARE))
    found = list(entry_names(entries.filter(~rare)))
    rows = list(_stated_names())
    wanted = signatures(each.text for each in found)
    keys = {each.key for each in found}
    terms = term_names(near(node_frame(tables, "Phenotype", _TERM), wanted), keys)
    wanted |= signatures(each.text for each in (*terms, *rows))
    found += entry_names(near(entries.filter(rare), wanted))
    return {
        *_equal(found, joined),
        *_bridged(found, terms, joined, ONE_TERM),
        *_bridged(found, rows, joined, ONE_ROW),
    }


_TERM = ("id", "name", "name_zh", "synonyms", "obsolete")


@cache
def _stated_names() -> tuple[EntryName, ...]:
    found: list[EntryName] = []
    for english, chinese in read_table(Path(__file__).with_name("common_names.tsv")):
        row = english.partition(";")[0]
        for names in (english, chinese):
            texts = [(text.strip(), 1 - _STEP * at) for at, text in enumerate(names.split(";"))]
            found += named(row, texts)
    return tuple(found)


def _fits(pair: NamePair, joined: Components) -> bool:
    if pair.method != ONE_ROW:
        return joined.fits(pair.left, pair.right)
    mine, yours = ({id for id in joined.of(end)} for end in (pair.left, pair.right))
    curated = [{_kind(id) for id in side if not id.startswith(_MINTED)} for side in (mine, yours)]
    return not curated[0] & curated[1]


def _kind(id: str) -> str:
    found = vocabulary(id)
    return RARE[0] if found in RARE else found


def _equal(found: Iterable[EntryName], joined: Components) -> Iterator[NamePair]:
    by_key: dict[str, list[EntryName]] = defaultdict(list)
    for each in found:
        by_key[each.key].append(each)
    for group in by_key.values():
        yield from _pairs(group, joined, SAME_NAME, "")


def _bridged(
    found: Sequence[EntryName], bridges: Iterable[EntryName], joined: Components, method: str
) -> Iterator[NamePair]:
    """Yield the pairs of entries of which each has a name of one bridge: a term, or a row of the table.

    For a term, the name has to be the entry's preferred one: a translation may be that of several terms.
    """
    by_key: dict[str, list[EntryName]] = defaultdict(list)
    for bridge in bridges:
        by_key[bridge.key].append(bridge)
    meant = {key: one for key, group in by_key.items() if (one := _only(group)) is not None}
    by_bridge: dict[str, dict[str, EntryName]] = defaultdict(dict)
    preferred: dict[str, float] = {}
    for each in found:
        preferred[each.entry] = max(each.weight, preferred.get(each.entry, 0.0))
    for each in found:
        one = meant.get(each.key)
        if one is not None and (method == ONE_ROW or each.weight == preferred[each.entry]):
            weight = each.weight * one.weight
            known = by_bridge[one.entry].get(each.entry)
            if known is None or known.weight < weight:
                by_bridge[one.entry][each.entry] = EntryName(each.entry, each.key, each.text, weight)
    for name, entries in by_bridge.items():
        yield from _pairs(list(entries.values()), joined, method, f" ({name})" if method == ONE_TERM else "")


def _only(group: Sequence[EntryName]) -> EntryName | None:
    first, *others = sorted(group, key=lambda each: (-each.weight, each.entry))
    return None if others and others[0].weight == first.weight else first


def _pairs(group: Sequence[EntryName], joined: Components, method: str, note: str) -> Iterator[NamePair]:
    if len(group) < 2:  # as most are
        return
    by_kind: dict[str, list[EntryName]] = defaultdict(list)
    for each in group:
        by_kind[_kind(each.entry)].append(each)
    chosen: list[EntryName] = []
    for _, members in sorted(by_kind.items()):
        if method == ONE_ROW and members[0].entry.startswith(_MINTED):
            chosen += members
        elif (one := _meant(members, joined)) is not None:
            chosen.append(one)
    for at, one in enumerate(chosen):
        for other in chosen[at + 1 :]:
            left, right = sorted((one, other), key=lambda each: each.entry)
            same = left.text == right.text and not note
            evidence = f"both are called {left.text}" if same else f"{left.text} = {right.text}{note}"
            rank = -round(one.weight * other.weight * _WORTH[method], 4)
            yield NamePair(rank, left.entry, right.entry, method, evidence)


def _meant(members: Sequence[EntryName], joined: Components) -> EntryName | None:
    best = max(each.weight for each in members)
    first, *others = sorted((each for each in members if each.weight == best), key=lambda each: each.entry)
    return first if all(joined.find(first.entry) == joined.find(each.entry) for each in others) else None


def _rows(stated: Sequence[NamePair]) -> pa.Table:
    import pyarrow as pa

    size = len(stated)
    return pa.table(
        {
            "start": pa.array([pair.left for pair in stated], pa.string()),
            "end": pa.array([pair.right for pair in stated], pa.string()),
            "relation": pa.array(["exact"] * size, pa.string()),
            "method": pa.array([pair.method for pair in stated], pa.string()),
            "score": pa.array([-pair.rank for pair in stated], pa.float64()),
            "evidence": pa.array([[pair.evidence] for pair in stated], pa.list_(pa.string())),
            "source": pa.array([SOURCE] * size, pa.string()),
        }
    )
