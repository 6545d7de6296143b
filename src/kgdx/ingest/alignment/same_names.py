"""Joins entries that are one disease under one name, in two languages or vocabularies: 痛风 is gout.

What is stated here lets ranking take two entries for one candidate, so it is stricter than the alignment of names
(:mod:`kgdx.terms.names.same_diseases`): names have to be equal in their forms, nothing is near enough. Two names are of
one disease where an entry has both, or a row of ``common_names.tsv``; labels of HPO's terms join nothing, whose Chinese
is of another disease in one of eight (色盲 of achromatopsia, 肾结核 of nephronophthisis). Pairs are joined one to one,
the surest first, and only where no vocabulary gets a second entry into what is joined: two entries of OMIM never become
one by a name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from operator import attrgetter
from pathlib import Path

import polars as pl
import pyarrow as pa

from kgdx.graph.protocol import GraphTable, RelationTable
from kgdx.ingest.alignment import differences
from kgdx.ingest.alignment.decisions import Decisions
from kgdx.ingest.alignment.disease_names import (
    NAME,
    SYNONYM,
    TRANSLATION,
    EntryName,
    entry_frame,
    entry_names,
    label_frame,
    label_keys,
    like,
    named,
    near,
    same_limits,
    signatures,
)
from kgdx.ingest.pipeline.derive import Derive
from kgdx.ingest.pipeline.stages import code_digest
from kgdx.schema.model import MATCHES
from kgdx.terms.names.morphemes import adds, meaning, without_population
from kgdx.terms.names.same_diseases import RARE, Components, exact_pairs, kind
from kgdx.terms.normalise import bare, has_chinese, read_table

SOURCE = "kgdx:names"
READS = ("Disease", "Phenotype", "PatientCase", *MATCHES.values(), *differences.READS)

SAME_ID = "same id"
SAME_NAME, SAME_WORDS, SAME_MEANING = "same name", "same words", "same meaning"
ONE_ROW = "names checked by hand"
FOREIGN_NAME = "name in English of what children have"
LABEL, FOR_SOME = "label of a case", "the same for some patients"
"""Methods: what two entries have in common. Of the same words are two names in one source, of the same meaning names in
two (:mod:`kgdx.terms.names.morphemes`)."""
_WORTH = {
    SAME_ID: 1.1,
    SAME_WORDS: 1.05,
    SAME_NAME: 1.0,
    SAME_MEANING: 0.992,
    ONE_ROW: 0.985,
    FOREIGN_NAME: 0.975,
}
_WORTH |= {FOR_SOME: 0.95, LABEL: 0.9}
"""How much each says beside the others: the surest pair is joined first."""
_STEP = 0.0005
"""By how much a name of a row says less than the one before it."""
_MINTED = "KGDX:"
_SHARED = "^(?:ICD10|ICD-10|UMLS|MESH|MSH|MeSH|GARD|MEDGEN|SCTID|NCIT|DOID|EFO|ICD11):"
"""Vocabularies whose ids several sources give."""


@dataclass(frozen=True, slots=True, order=True)
class NamePair:
    """Two entries with a name in common; ``rank`` sorts the surest first, ``refused`` says why they stay apart."""

    rank: float
    left: str
    right: str
    method: str
    evidence: str
    relation: str = "exact"
    refused: str = ""


def step(decisions: Decisions) -> Derive:
    version = f"{code_digest('kgdx.terms.names')} {decisions.digest}"
    return Derive(SOURCE, version, READS, lambda tables: [infer(tables, decisions.unequal(tables))], "joining names")


def infer(tables: Sequence[GraphTable], denied: Iterable[tuple[str, str]] = ()) -> RelationTable:
    """Return SAME_AS relations between entries that have a name in common; a label of cases gets one at most.

    What a source has for some patients only (小儿肺炎) is narrower than the disease. Pairs that a person has
    judged otherwise (``denied``) are not joined, nor are they through others.
    """
    rows = [
        {
            "start": pair.left,
            "end": pair.right,
            "relation": pair.relation,
            "method": pair.method,
            "score": -pair.rank,
            "evidence": [pair.evidence],
            "source": SOURCE,
        }
        for pair in judged(tables, denied)
        if not pair.refused
    ]
    return RelationTable("SAME_AS", "Disease", "Disease", pa.Table.from_pylist(rows))


def judged(tables: Sequence[GraphTable], denied: Iterable[tuple[str, str]] = ()) -> Iterator[NamePair]:
    """Yield the pairs that are joined, and those that stay apart by what is known of both (:mod:`.differences`)."""
    joined = Components()
    for one, other in exact_pairs(tables):
        joined.join(one, other)
    denials = {frozenset(pair) for pair in denied}
    told: set[tuple[str, str]] = set()
    for stage in _stages(tables, joined):
        pairs = sorted(stage)
        ends = {end for pair in pairs for end in (pair.left, pair.right)}
        facts = differences.known(tables, {id for end in ends for id in joined.of(end)})
        for pair in pairs:
            mine, yours = joined.of(pair.left), joined.of(pair.right)
            if denials and any(frozenset((one, other)) in denials for one in mine for other in yours):
                continue
            if pair.method in (FOR_SOME, LABEL):
                yield pair
            elif mine is not yours and joined.find(pair.left) != joined.find(pair.right) and _fits(pair, joined):
                if reason := pair.refused or differences.apart(facts, mine, yours):
                    if (pair.left, pair.right) not in told:
                        told.add((pair.left, pair.right))
                        yield replace(pair, refused=reason)
                else:
                    joined.join(pair.left, pair.right)
                    yield pair


def _called(labels: Iterable[str], entries: Sequence[EntryName]) -> dict[str, tuple[str, ...]]:
    asked = {label: label_keys(label) for label in labels}
    said = {meaning(label) for label in asked}
    by_key = _grouped(entries)
    by_meaning: dict[str, set[str]] = defaultdict(set)
    for each in entries:
        if each.weight >= TRANSLATION and (key := meaning(each.text)) in said:
            by_meaning[key].add(each.entry)
    of_row: dict[str, set[str]] = defaultdict(set)
    for each in _stated_names():
        of_row[each.entry].add(each.key)
    steps = [{key: {key} for keys in asked.values() for key in keys}]
    steps.append({each.key: of_row[each.entry] for each in _stated_names()})
    found = {}
    for label, keys in asked.items():
        ways = [
            {e.entry for other in step.get(key, ()) for e in by_key.get(other, ())} for key in keys for step in steps
        ]
        found[label] = tuple(sorted(next((ids for ids in (*ways, by_meaning[meaning(label)]) if ids), ())))
    return found


def _stages(tables: Sequence[GraphTable], joined: Components) -> Iterator[Iterable[NamePair]]:
    """Yield the pairs that may be joined: inside one source, between two, forms of a disease, and labels of cases.

    Entries of OMIM and Orphanet are joined with others only, and most graphs have few others: names of the former count
    only where they look like one of those.
    """
    entries, labels = entry_frame(tables), label_frame(tables)
    rare = entries.filter(pl.col("id").str.extract("^([^:]*)").is_in(list(RARE)))
    found = _of_one_row(entry_names(entries.join(rare, on="id", how="anti")))
    own = [each for each in found if each.entry.startswith(_MINTED) and each.weight == NAME]
    yield _shared_ids(entries)
    yield _inside(own)
    rows = list(_stated_names())
    wanted = signatures(text for each in (found, rows) for text in (name.text for name in each))
    wanted |= signatures(labels["name"])
    said = [each.by_meaning() for each in found]
    names = {(kind(each.entry), meaning(each.text)): each for each in own}
    children = list(_of_children(names))
    translated = list(_translated_children(names, entries))
    meant = {each.key for each in (*said, *children, *translated)} | {meaning(label) for label in labels["name"]}
    others = [each for each in _of_one_row(entry_names(like(rare, meant))) if meaning(each.text) in meant]
    said += (each.by_meaning() for each in others)
    found += _of_one_row(entry_names(near(rare, wanted)))
    preferred = {id: meaning(bare(name or "")) for id, name in entries.select("id", "name").iter_rows()}
    preferred |= {each.entry: each.key for each in children}
    pairs = {
        *_equal(found, joined, SAME_NAME),
        *_equal(said, joined, SAME_MEANING),
        *_of_rows(found, joined),
        *_equal([*children, *(inherited := list(_inherited(said, tables)))], joined, SAME_MEANING),
        *_equal([*translated, *inherited], joined, FOREIGN_NAME),
    }
    yield (
        pair
        for pair in pairs  # a synonym may be too wide
        if pair.method == ONE_ROW or not adds(preferred[pair.left], preferred[pair.right])
    )
    yield _for_some(names, own, said, joined)
    called = _called(labels["name"], [*found, *others])
    yield _labels(labels.iter_rows(), called, joined)


def _shared_ids(entries: pl.DataFrame) -> Iterator[NamePair]:
    """Yield pairs of which the sources give the same id of a third vocabulary, each to one entry only.

    An id may be of a class with many members (those of ICD-10 are): names must share a word, and none say more.
    """
    listed = entries.select("id", "name", "xrefs").explode("xrefs").drop_nulls("xrefs")
    by_id: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    for entry, name, xref in listed.filter(pl.col("xrefs").str.contains(_SHARED)).iter_rows():
        by_id[xref][kind(entry)][entry] = meaning(bare(name or ""))
    for xref, kinds in by_id.items():
        alone = sorted(next(iter(each.items())) for each in kinds.values() if len(each) == 1)
        for (one, mine), (other, yours) in combinations(alone, 2):
            if set(mine.split()) & set(yours.split()) and not adds(mine, yours):
                yield NamePair(-_WORTH[SAME_ID], one, other, SAME_ID, f"both are {xref}")


def _inside(own: Iterable[EntryName]) -> Iterator[NamePair]:
    for first, *others in _grouped(own, lambda each: f"{kind(each.entry)} {meaning(each.text)}").values():
        yield from (_pair(first, other, SAME_WORDS) for other in others)


def _of_children(own: Mapping[tuple[str, str], EntryName]) -> Iterator[EntryName]:
    """Yield what children have by the name of the disease, where the source has no other entry of it: 小儿槭糖尿病."""
    for (source, said), each in own.items():
        plain = without_population(said)
        alone = plain and (source, plain) not in own and has_chinese(each.text)
        if alone and set(said.split()) - set(plain.split()) == {meaning("child")}:
            yield replace(each, key=plain, weight=SYNONYM)


def _translated_children(own: Mapping[tuple[str, str], EntryName], entries: pl.DataFrame) -> Iterator[EntryName]:
    """Yield the English names of what children have, where the source has no other entry of it."""
    foreign = dict(entries.select("id", "synonyms").iter_rows())
    for (source, said), each in own.items():
        plain = without_population(said)
        if has_chinese(each.text) and meaning(each.text[:2]) == meaning("child") and (source, plain) not in own:
            texts = (text for text in foreign[each.entry] or () if not has_chinese(text) and " " in text)
            for text in texts:
                if same_limits(text, each.text[2:]):
                    yield EntryName(each.entry, meaning(text), text, SYNONYM)


def _inherited(said: Sequence[EntryName], tables: Sequence[GraphTable]) -> Iterator[EntryName]:
    """Yield the names of rare diseases that have genes or a mode of inheritance: children have those themselves."""
    facts = differences.known(tables, {each.entry for each in said if kind(each.entry) == RARE[0]})
    told = facts.get("genes", {}).keys() | facts.get("inheritance", {}).keys()
    yield from (each for each in said if each.entry in told)


def _for_some(
    names: Mapping[tuple[str, str], EntryName], own: Iterable[EntryName], said: Iterable[EntryName], joined: Components
) -> Iterator[NamePair]:
    """Yield what a source has for some patients only, with its own entry of the disease, or another source's."""
    called = _grouped(said)
    for each in own:
        plain = without_population(meaning(each.text))
        other = names.get((kind(each.entry), plain)) or (_meant(called[plain], joined) if plain in called else None)
        if other and joined.find(other.entry) != joined.find(each.entry):
            evidence = f"{each.text} is {other.text} of some patients"
            yield NamePair(-_WORTH[FOR_SOME], each.entry, other.entry, FOR_SOME, evidence, "narrower")


def _labels(
    labels: Iterable[tuple[str, str]], called: Mapping[str, Sequence[str]], joined: Components
) -> Iterator[NamePair]:
    for id, name in labels:
        if len({joined.find(each) for each in called[name]}) == 1:
            meant = min(called[name], key=lambda each: (each.startswith(_MINTED), each))
            yield NamePair(-_WORTH[LABEL], id, meant, LABEL, f"patients are labelled {name}")


@cache
def _stated_names() -> tuple[EntryName, ...]:
    found: list[EntryName] = []
    for english, chinese in read_table(Path(__file__).with_name("common_names.tsv")):
        row = english.partition(";")[0]
        for names in (english, chinese):
            texts = [(text.strip(), 1 - _STEP * at) for at, text in enumerate(names.split(";"))]
            found += named(row, texts)
    return tuple(found)


def _of_one_row(names: Iterable[EntryName]) -> list[EntryName]:
    """Leave out what an entry is also called that has a row of its own: Graves disease, of hyperthyroidism.

    Of an entry that has no row a translation that has one is left out, unless it says the same.
    """
    every, row = list(names), {each.key: each.entry for each in _stated_names()}
    name = {each.entry: each for each in every if each.weight == NAME}
    own = {id: row[each.key] for id, each in name.items() if each.key in row}

    def wrong(each: EntryName) -> bool:
        return each.weight == TRANSLATION and meaning(each.text) != meaning(name.get(each.entry, each).text)

    return [
        each
        for each in every
        if row.get(each.key) in (None, own.get(each.entry)) or (each.entry not in own and not wrong(each))
    ]


def _fits(pair: NamePair, joined: Components) -> bool:
    if pair.method not in (ONE_ROW, SAME_WORDS, FOREIGN_NAME):
        return joined.fits(pair.left, pair.right)
    ends = ((id for id in joined.of(end) if not id.startswith(_MINTED)) for end in (pair.left, pair.right))
    return set.isdisjoint(*({kind(id) for id in curated} for curated in ends))


def _equal(found: Iterable[EntryName], joined: Components, method: str) -> Iterator[NamePair]:
    for group in _grouped(found).values():
        yield from _pairs(group, joined, method)


def _grouped(
    found: Iterable[EntryName], by: Callable[[EntryName], str] = attrgetter("key")
) -> Mapping[str, list[EntryName]]:
    groups: dict[str, list[EntryName]] = defaultdict(list)
    for each in found:
        groups[by(each)].append(each)
    return groups


def _of_rows(found: Sequence[EntryName], joined: Components) -> Iterator[NamePair]:
    """Yield the pairs of entries of which each has a name of one row, a preferred one or one in its language."""
    rows = {each.key: each for each in _stated_names()}
    by_row: dict[str, dict[str, EntryName]] = defaultdict(dict)
    preferred = {each.entry: each for each in sorted(found, key=attrgetter("weight"))}
    for each in found:
        row, own = rows.get(each.key), preferred[each.entry]
        if row and (has_chinese(each.text) == has_chinese(own.text) or each.weight == own.weight):
            made, of_row = replace(each, weight=each.weight * row.weight), by_row[row.entry]
            of_row[each.entry] = max(of_row.get(each.entry, made), made, key=attrgetter("weight"))
    for entries in by_row.values():
        yield from _pairs(list(entries.values()), joined, ONE_ROW)


def _pairs(group: Sequence[EntryName], joined: Components, method: str) -> Iterator[NamePair]:
    if len(group) < 2:  # as most are
        return
    by_kind = _grouped(group, lambda each: kind(each.entry))
    chosen: list[EntryName] = []
    for _, members in sorted(by_kind.items()):
        if method == ONE_ROW and members[0].entry.startswith(_MINTED):
            chosen += members
        elif (one := _meant(members, joined)) is not None:
            chosen.append(one)
    yield from (_pair(one, other, method) for one, other in combinations(chosen, 2))


def _pair(one: EntryName, other: EntryName, method: str) -> NamePair:
    left, right = sorted((one, other), key=lambda each: each.entry)
    same = left.text == right.text and method != SAME_WORDS
    evidence = f"both are called {left.text}" if same else f"{left.text} = {right.text}"
    rank = -round(one.weight * other.weight * _WORTH[method], 4)
    return NamePair(rank, left.entry, right.entry, method, evidence)


def _meant(members: Sequence[EntryName], joined: Components) -> EntryName | None:
    weight = max(each.weight for each in members)
    best = sorted((each for each in members if each.weight == weight), key=lambda each: each.entry)
    best = [each for each in best if each.entry.startswith("ORPHA:")] or best
    return best[0] if len({joined.find(each.entry) for each in best}) == 1 else None
