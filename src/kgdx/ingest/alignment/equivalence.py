"""Infers which Orphanet and OMIM entries are the same disease, for graphs that have no cross-reference table.

Names, genes and annotations are weighed together, one to one: a pair is stated only where each entry is the other's
best and no rival comes near. Each statement says what it rests on; rows of a loaded table always win.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from kgdx.arrays.sparse import Floats, Ints, ancestors, gather
from kgdx.graph.protocol import GraphTable, RelationTable
from kgdx.ingest.alignment.decisions import Decisions
from kgdx.ingest.pipeline.derive import Derive
from kgdx.schema.model import ANNOTATIONS, MATCHES
from kgdx.terms.dictionary import ROOT
from kgdx.terms.names.entity_names import edges, node_frame
from kgdx.terms.normalise import NUMERALS, PHRASES, fold, lettered, read_table, word_list

SOURCE = "kgdx:equivalence"
METHOD = "names, genes and annotations"
LEFT, RIGHT = "ORPHA:", "OMIM:"
NEAR = 0.35
"""Cosine of name words from which on two entries are compared; entries with a common gene always are."""
FAR = 6.0
"""A rival further behind than this makes no difference."""

_EMPTY = word_list("empty")
_WORD = re.compile(r"[a-z]+|\d+")
_GENITIVE = re.compile(r"['’]s\b")


@dataclass(frozen=True, slots=True)
class EquivalenceWeights:
    """A logistic model in two steps: how alike two entries are, then with the lead over their rivals."""

    alike: tuple[float, ...]
    lead: tuple[float, float]
    again: tuple[float, ...]
    threshold: float


_ROWS = {name: (alike, again) for name, alike, again, _ in read_table(Path(__file__).with_suffix(".tsv"))}
*_FITTED, _, _ = _ROWS
FEATURES = tuple(_FITTED[:-1])
"""Names of the features; ``equivalence.tsv`` says what each is and how its weights were fitted."""
WEIGHTS = EquivalenceWeights(
    alike=tuple(float(_ROWS[name][0]) for name in _FITTED),
    lead=(float(_ROWS["lead"][0]), float(_ROWS["lead"][1])),
    again=tuple(float(_ROWS[name][1]) for name in _FITTED),
    threshold=float(_ROWS["threshold"][1]),
)


@dataclass(frozen=True, slots=True)
class DiseaseEntries:
    """Data of the entries of both sources; the first ``left`` of them are Orphanet's."""

    ids: list[str]
    names: list[str]
    left: int
    genes: list[frozenset[str]]
    annotations: Any


@dataclass(frozen=True, slots=True)
class EntryPairs:
    left: Ints
    right: Ints
    features: Floats
    group: Ints


def step(decisions: Decisions) -> Derive:
    reads = ("Disease", "Phenotype", "IS_A", *ANNOTATIONS, "ASSOCIATED_GENE", *MATCHES.values())
    made = f"2 {decisions.digest}"
    return Derive(SOURCE, made, reads, lambda tables: [infer(tables, decisions.unequal())], "inferring equivalences")


def infer(tables: Sequence[GraphTable], denied: Container[tuple[str, str]] = ()) -> RelationTable:
    entries = read_entries(tables)
    pairs = compare(entries)
    value = judge(pairs, WEIGHTS)
    rows = [
        {
            "start": entries.ids[pairs.left[row]],
            "end": entries.ids[pairs.right[row]],
            "method": METHOD,
            "score": float((1 / (1 + np.exp(-value[row]))).round(4)),
            "evidence": _evidence(entries, pairs, row),
            "source": SOURCE,
        }
        for row in np.flatnonzero(value >= WEIGHTS.threshold).tolist()
        if (entries.ids[pairs.left[row]], entries.ids[pairs.right[row]]) not in denied
    ]
    return RelationTable("SAME_AS", "Disease", "Disease", pa.Table.from_pylist(rows))


def judge(pairs: EntryPairs, weights: EquivalenceWeights) -> Floats:
    """Return each pair's log-odds of being the same disease.

    It is −inf where the pair is not both entries' best one, and where a name is that of a group: what one source means
    by it may be a single subtype in the other.
    """
    alike = pairs.features @ np.array(weights.alike[:-1]) + weights.alike[-1]
    lead = leads(pairs, alike)
    second = lead @ np.array(weights.lead) + pairs.features @ np.array(weights.again[:-1]) + weights.again[-1]
    return np.where((lead.min(axis=1) > 0) & ~pairs.group, second, -np.inf)


def leads(pairs: EntryPairs, value: Floats) -> Floats:
    return np.column_stack([np.minimum(value - _rival(end, value), FAR) for end in (pairs.left, pairs.right)])


def _rival(end: Ints, value: Floats) -> Floats:
    best, second = (pl.col("value").top_k(most).min().over("end") for most in (1, 2))
    alone = pl.when(pl.len().over("end") > 1).then(second).otherwise(-np.inf)
    rows = pl.DataFrame({"end": end, "value": value}, schema_overrides={"value": pl.Float64})
    return rows.select(pl.when(pl.col("value") < best).then(best).otherwise(alone)).to_series().to_numpy()


def read_entries(tables: Sequence[GraphTable]) -> DiseaseEntries:
    """Gather names, genes and propagated annotations of the Orphanet and OMIM entries that no table relates exactly."""
    known = set()
    for relation, type in MATCHES.items():
        for start, end in edges(tables, type):
            known |= {start, end} if relation == "exact" else {start if start.startswith(LEFT) else end}
    chosen = sorted(
        (not id.startswith(LEFT), id, name or "")
        for id, name in node_frame(tables, "Disease", ("id", "name")).iter_rows()
        if id.startswith((LEFT, RIGHT)) and id not in known
    )
    ids = [id for _, id, _ in chosen]
    genes: dict[str, set[str]] = {id: set() for id in ids}
    for disease, gene in edges(tables, "ASSOCIATED_GENE"):
        if disease in genes:
            genes[disease].add(gene)
    return DiseaseEntries(
        ids,
        [name for _, _, name in chosen],
        sum(id.startswith(LEFT) for id in ids),
        [frozenset(genes[id]) for id in ids],
        _annotations(tables, ids),
    )


def _annotations(tables: Sequence[GraphTable], ids: list[str]) -> Any:
    terms = node_frame(tables, "Phenotype", ("id",))["id"].sort().to_list()
    size = len(ids), len(terms)

    def rows(pairs: Iterable[tuple[str, str]], *known: list[str]) -> Iterator[Ints]:
        for values, place in zip(list(zip(*pairs, strict=True)) or ((), ()), known, strict=True):
            found = pc.index_in(pa.array(values, pa.string()), value_set=pa.array(place, pa.string()))
            yield pc.fill_null(found, -1).to_numpy()

    child, parent = rows(edges(tables, "IS_A", "Phenotype"), terms, terms)
    root = terms.index(ROOT) if ROOT in terms else -1
    inside = (child >= 0) & (parent >= 0)
    if root < 0:
        return sparse.csr_array(size, dtype=np.float32)
    up = ancestors(child[inside], parent[inside], len(terms), root)
    owner, term = rows((pair for type in ANNOTATIONS for pair in edges(tables, type)), ids, terms)
    use = (owner >= 0) & (term >= 0)
    position, at = gather(up.start, term[use])
    matrix = sparse.csr_array((np.ones(len(at), np.float32), (owner[use][at], up.index[position])), shape=size)
    matrix.data[:] = 1
    having = np.bincount(matrix.indices, minlength=size[1])
    matrix.data = -np.log(np.maximum(having, 1) / max(size[0], 1))[matrix.indices].astype(np.float32)
    return _unit(matrix)


def compare(entries: DiseaseEntries) -> EntryPairs:
    found = [words(name) for name in entries.names]
    by_words, by_letters = (_vectors(parts) for parts in (found, [trigrams(part) for part in found]))
    near = (by_words[: entries.left] @ by_words[entries.left :].T).tocoo()
    close = near.data > NEAR
    pairs = set(zip(near.row[close].tolist(), (near.col[close] + entries.left).tolist(), strict=True))
    partners, counts = _gene_partners(entries)
    pairs |= {(left, right) for left, rights in partners.items() for right in rights}
    ordered = np.array(sorted(pairs), np.int64).reshape(-1, 2)
    left, right = ordered[:, 0], ordered[:, 1]
    letters = _cosine(by_letters, left, right)
    cosines = np.column_stack(
        [_cosine(by_words, left, right), letters, letters**2, _cosine(entries.annotations, left, right)]
    )
    rest = np.array(list(_facts(entries, found, counts, ordered)), np.float64).reshape(-1, 9)
    same, numbered, mode, common, other, only, in_series, none, equal = rest.T
    columns = (*cosines.T[:3], same, numbered, mode, common, other, only, cosines[:, 3])
    features = np.column_stack([*columns, letters * (common > 0), in_series, none, equal])
    group = _groups(found)
    return EntryPairs(left, right, features, group[left] | group[right])


def _groups(found: list[frozenset[str]]) -> Ints:
    parts = [parted(words) for words in found]
    groups = {part - {word} for part in set(parts) for word in part if len(word) == 1 or word.isdigit()}
    return np.array([bool(part) and part in groups for part in parts], bool)


def _gene_partners(entries: DiseaseEntries) -> tuple[dict[int, set[int]], Ints]:
    carriers: dict[str, tuple[list[int], list[int]]] = {}
    for row, genes in enumerate(entries.genes):
        for gene in genes:
            carriers.setdefault(gene, ([], []))[row >= entries.left].append(row)
    partners: dict[int, set[int]] = {}
    for lefts, rights in carriers.values():
        for left in lefts:
            partners.setdefault(left, set()).update(rights)
    counts = np.zeros(len(entries.ids), np.int64)
    for left, others in partners.items():
        counts[left] = len(others)
        for right in others:
            counts[right] += 1
    return partners, counts


def _facts(
    entries: DiseaseEntries, found: list[frozenset[str]], counts: Ints, pairs: Ints
) -> Iterator[tuple[float, ...]]:
    stems = [stem(part) for part in found]
    frequent = Counter(stems[entries.left :])
    has_number = [any(word.isdigit() for word in part) for part in found]
    stated = [inheritance(name) for name in entries.names]
    for left, right in pairs.tolist():
        mine, yours = entries.genes[left], entries.genes[right]
        common = len(mine & yours)
        numbered = has_number[left] != has_number[right]
        yield (
            float(found[left] == found[right] and bool(found[left])),
            float(numbered),
            float(bool(stated[left] and stated[right]) and stated[left] != stated[right]),
            common / max(len(mine | yours), 1),
            float(bool(mine) and bool(yours) and not common),
            float(counts[left] == 1 and counts[right] == 1 and common > 0),
            float(numbered and frequent[stems[right]] > 1),
            float(not mine and not yours),
            float(common > 0 and mine == yours),
        )


def _vectors(parts: list[frozenset[str]]) -> Any:
    vocabulary: dict[str, int] = {}
    row = [number for number, part in enumerate(parts) for _ in part]
    column = [vocabulary.setdefault(element, len(vocabulary)) for part in parts for element in sorted(part)]
    frequent = np.bincount(column, minlength=len(vocabulary))
    weight = np.log((len(parts) + 1) / np.maximum(frequent, 1))[column].astype(np.float32)
    return _unit(sparse.csr_array((weight, (row, column)), shape=(len(parts), max(len(vocabulary), 1))))


def _unit(matrix: Any) -> Any:
    length = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return sparse.csr_array(sparse.diags_array((1 / np.maximum(length, 1e-9)).astype(np.float32)) @ matrix)


def _cosine(unit: Any, left: Ints, right: Ints) -> Floats:
    return np.asarray(unit[left].multiply(unit[right]).sum(axis=1), np.float64).ravel()


def _evidence(entries: DiseaseEntries, pairs: EntryPairs, row: int) -> list[str]:
    fact = dict(zip(FEATURES, pairs.features[row].tolist(), strict=True))
    left, right = int(pairs.left[row]), int(pairs.right[row])
    said = ["names have the same words" if fact["same_words"] else f"names are {fact['letters']:.0%} alike"]
    common = sorted(entries.genes[left] & entries.genes[right])
    if common:
        said.append(f"{'same' if fact['same_genes'] else 'common'} genes: {', '.join(common)}")
    if fact["only_pair"]:
        said.append("no other entry of either source has the gene")
    said.append(f"annotations are {fact['annotations']:.0%} alike")
    return said


def words(name: str) -> frozenset[str]:
    """Return the telling words of a disease name, without accents, order, plural and Roman numerals.

    Example:
        >>> words("Albinism, oculocutaneous, type VI") == words("Oculocutaneous albinism type 6")
        True
    """
    plain = _plain(name)
    found = (NUMERALS.get(word, word) for word in _WORD.findall(_GENITIVE.sub("", plain)))
    return frozenset(word.rstrip("s") if len(word) > 3 else word for word in found if word not in _EMPTY)


def stem(found: frozenset[str]) -> frozenset[str]:
    """Return the words without numbers and single letters: what the members of a numbered series share."""
    return frozenset(word for word in found if len(word) > 1 and not word.isdigit())


def parted(found: frozenset[str]) -> frozenset[str]:
    return frozenset(part for word in found for part in lettered(word))


def trigrams(found: frozenset[str]) -> frozenset[str]:
    marked = (f"#{word}#" for word in found)
    return frozenset(word[at : at + 3] for word in marked for at in range(len(word) - 2))


def inheritance(name: str) -> str:
    plain = _plain(name)
    stated = (("d", "dominant"), ("r", "recessive"), ("x", "xlinked"))
    return "".join(letter for letter, word in stated if word in plain)


def _plain(name: str) -> str:
    plain = fold(name)
    for phrase, other in PHRASES:
        plain = plain.replace(phrase, other)
    return plain
