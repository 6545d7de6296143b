"""The dictionary of finding names: compiled once from a snapshot into sorted arrays, opened memory-mapped.

A name is found by the sum of its word classes' 64-bit hashes, so that word order does not matter ("stenosis of the
pulmonary artery", "pulmonary artery stenosis") and all windows of a text are looked up at once by binary search.
"""

from __future__ import annotations

import json
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from kgdx.arrays.sparse import mapped
from kgdx.terms.everyday import everyday_wordings
from kgdx.terms.normalise import SPARE_ZH, fold, fold_chinese, inflection, read_table, word_class, word_list, wordings
from kgdx.terms.tokens import NONE, SOFT, Spelling, scan, stable_hash

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot

LAYOUT = 24
"""Changes with the files' layout or with the rules that fill them."""

_TABLES = ("words.tsv", "traditional.tsv", "lay_en.tsv", "lay_zh.tsv", "sites.tsv")

CHINESE = "zh.json"
"""File with the lengths of the Chinese names, and whether the graph has any of its own."""

ROOT = "HP:0000118"
"""Phenotypic abnormality: only what lies below it is a finding (not inheritance, onset, severity or frequency)."""

MAX_WORDS = 12
"""Content words of the longest name that is looked for."""

_SCOPE_RANK = {"EXACT": 1, "NARROW": 3, "BROAD": 3, "RELATED": 3}
_REWRITTEN = 4
WORDING = -1
"""Rank of Chinese wordings: they were chosen by hand, and outweigh a translation."""
SHORTENED = 12
"""Rank of names with one word left out."""
DENYING = 40
"""Rank of Chinese wordings that say that a finding is not there."""
_LONGEST_SHORTENED = 6
"""Content words of the longest name that is shortened."""
_RARE = 2
"""Terms at most whose names have the word that carries the meaning."""
_PARTICIPLE = ("ed", "ing", "ive")
"""Endings of words that mostly tell what is wrong."""

_MASK = (1 << 64) - 1
_T = TypeVar("_T")


@lru_cache(maxsize=65536)
def word_hash(folded: str) -> int:
    """Return the hash of a folded word's class."""
    return stable_hash(word_class(folded))


@lru_cache(maxsize=65536)
def single_hash(folded: str) -> int:
    """Return the key of a name of one word, which only the forms of that word share, not the rest of its class.

    Example:
        >>> single_hash("seizures") == single_hash("seizure"), single_hash("number") == single_hash("numbness")
        (True, False)
    """
    return stable_hash(f"1 {inflection(folded)}")


def sum_hashes(hashes: Iterable[int]) -> int:
    """Add hashes as signed 64-bit integers do, wrapping round."""
    total = sum(hashes) & _MASK
    return total - (1 << 64) if total >> 63 else total


class Name(NamedTuple):
    """A name as the dictionary's compiler reads it."""

    term: int
    number: int
    rank: int
    folded: Sequence[str]
    partings: Sequence[int]
    hashes: list[int]

    @property
    def joined(self) -> bool:
        return any(parting >= SOFT for parting in self.partings[1:])


@dataclass(frozen=True, slots=True)
class Entries:
    """Names sorted by key: the parallel arrays of one language.

    Attributes:
        keys: int64, the sum of the hashes of the name's words (Chinese: the hash of the name's characters).
        terms: int32, row of the snapshot's ``phenotype`` table.
        labels: int16, 0 for the term's name, n for its n-th synonym, -n for the n-th wording
            of :func:`kgdx.terms.everyday.everyday_wordings`.
        ranks: int8, how good the name is: 0 the term's own, higher for looser synonyms and for rewritten forms.
    """

    keys: npt.NDArray[np.int64]
    terms: npt.NDArray[np.int32]
    labels: npt.NDArray[np.int16]
    ranks: npt.NDArray[np.int8]
    joined: npt.NDArray[np.bool_]

    FIELDS = ("keys", "terms", "labels", "ranks", "joined")

    @classmethod
    def of(cls, rows: Sequence[tuple[int, int, int, int, bool]]) -> Entries:
        """Sort rows of (key, term, label, rank, joined), best rank first within a key, each term once per key."""
        best: dict[tuple[int, int], tuple[int, int, int, int, bool]] = {}
        for row in rows:
            known = best.get(row[:2])
            if known is None or row[3] < known[3]:
                best[row[:2]] = row
        ordered = sorted(best.values(), key=lambda row: (row[0], row[3], row[1]))
        kinds = (np.int64, np.int32, np.int16, np.int8, np.bool_)
        columns = list(zip(*ordered, strict=True)) or [()] * len(kinds)
        return cls(*(np.array(column, kind) for column, kind in zip(columns, kinds, strict=True)))

    def save(self, folder: Path, prefix: str) -> None:
        """Write the arrays as ``<prefix>-<field>.npy``."""
        for name in self.FIELDS:
            np.save(folder / f"{prefix}-{name}.npy", getattr(self, name))

    @classmethod
    def open(cls, folder: Path, prefix: str) -> Entries:
        return cls(*(mapped(folder / f"{prefix}-{name}.npy") for name in cls.FIELDS))

    def find(self, keys: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return for each key the position of its first entry, or -1."""
        if not len(self.keys) or not len(keys):
            return np.full(len(keys), -1)
        at = np.searchsorted(self.keys, keys)
        at[at == len(self.keys)] = 0
        return np.where(self.keys[at] == keys, at, -1)

    def at(self, position: int) -> range:
        """Return the positions of all entries that share the key at ``position``."""
        end = position + 1
        while end < len(self.keys) and self.keys[end] == self.keys[position]:
            end += 1
        return range(position, end)


def substring_keys(text: str, sizes: Iterable[int]) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """Yield each of some lengths, shortest first, with the key of every substring of it.

    A key is a polynomial hash of the code points, modulo 2**64.

    Example:
        >>> ((size, keys),) = substring_keys("发热发热", [2])
        >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
        (True, False)
    """
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    mixed = (points + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(31)
    total, wanted = np.zeros(len(text) + 1, np.uint64), {size for size in sizes if size <= len(text)}
    for size in range(1, max(wanted, default=0) + 1):
        total = total[:-1] * np.uint64(0x94D049BB133111EB) + mixed[size - 1 :]
        if size in wanted:
            yield size, total.view(np.int64)


@cache
def version() -> str:
    """Return what a compiled dictionary is of: the layout, and a digest of the tables that are compiled into it."""
    tables = b"".join(Path(__file__).with_name(name).read_bytes() for name in _TABLES)
    return f"{LAYOUT}-{zlib.crc32(tables):08x}"


def build_dictionary(snapshot: Snapshot) -> Path:
    return snapshot.derived("text", version(), lambda folder: compile_dictionary(snapshot, folder))


def compile_dictionary(snapshot: Snapshot, folder: Path) -> None:
    """Write the dictionary of a snapshot's findings into a folder."""
    table = snapshot.table("phenotype")
    scope = in_scope(snapshot)
    rows = table.select(["name", "synonyms", "synonym_scopes", "name_zh"]).to_pylist()
    names = [name for term in np.flatnonzero(scope).tolist() for name in _names(term, rows[term])]
    own = {tuple(name.folded) for name in names if name.number == 0}
    everyday = [name for name in _everyday(snapshot, scope) if tuple(name.folded) not in own]
    vocabulary = {word for name in names for word in name.folded}
    Entries.of(list(_english([*names, *everyday]))).save(folder, "en")
    _spelling(snapshot, vocabulary, {word for name in everyday for word in name.folded}).save(folder)
    chinese = list(_chinese(snapshot, rows, scope))
    Entries.of([(_key(name), term, 0, rank, False) for name, term, rank in chinese]).save(folder, "zh")
    about = {"lengths": sorted({len(name) for name, *_ in chinese}), "named": any(row["name_zh"] for row in rows)}
    (folder / CHINESE).write_text(json.dumps(about))


def _chinese(
    snapshot: Snapshot, rows: list[dict[str, Any]], scope: npt.NDArray[np.bool_]
) -> Iterator[tuple[str, int, int]]:
    sites = read_table(Path(__file__).with_name("sites.tsv"))
    places = {word for kind, name, _, said, _ in sites if kind == "site" and name != "-" for word in said.split("|")}
    for term in np.flatnonzero(scope).tolist():
        if (name := fold_chinese(rows[term]["name_zh"] or "").text) and name not in places:
            yield name, term, 0
            yield from ((other, term, _REWRITTEN) for other in wordings(name))
    place = {curie: row for row, curie in enumerate(snapshot.values("phenotype", "id").values())}
    for wording in everyday_wordings("zh").values():
        term = place.get(wording.id, -1)
        if term >= 0 and scope[term] and not wording.alone:
            name, rank = fold_chinese(wording.phrase).text, DENYING if wording.absent else WORDING
            yield from ((other, term, rank) for other in {name, SPARE_ZH.sub("", name)} if other)


def _everyday(snapshot: Snapshot, scope: npt.NDArray[np.bool_]) -> Iterator[Name]:
    place = {curie: row for row, curie in enumerate(snapshot.values("phenotype", "id").values())}
    for number, wording in enumerate(everyday_wordings("en").values(), start=1):
        term = place.get(wording.id, -1)
        if term >= 0 and scope[term]:
            folded, _, _, partings = scan(wording.phrase)
            yield Name(term, -number, 0, folded, partings, [word_hash(word) for word in folded])


def _key(name: str) -> int:
    return next(int(keys[0]) for _, keys in substring_keys(name, [len(name)]))


def _spelling(snapshot: Snapshot, vocabulary: set[str], everyday: set[str]) -> Spelling:
    table = snapshot.table("phenotype")
    texts = [text or "" for name in ("name", "definition") for text in table.column(name).to_pylist()]
    tables = (Path(__file__).with_name(name) for name in ("context.tsv", "headings.tsv", "words.tsv"))
    texts += [table.read_text(encoding="utf-8") for table in tables]
    known = {fold(word) for word in re.findall(r"[^\W\d_]{4,}", " ".join(texts))}
    return Spelling.of(vocabulary, known | everyday)


def in_scope(snapshot: Snapshot) -> npt.NDArray[np.bool_]:
    """Return which rows of the ``phenotype`` table are findings: current, and below phenotypic abnormality.

    An ontology without that root is taken whole.
    """
    obsolete = np.array([bool(value) for value in snapshot.values("phenotype", "obsolete")[:]], bool)
    ids = snapshot.values("phenotype", "id").all
    if ROOT not in ids:
        return ~obsolete
    pairs = zip(*(snapshot.column("is_a", end).tolist() for end in ("child", "parent")), strict=True)
    found = np.zeros(len(ids), bool)
    found[list(descendants(pairs, ids.index(ROOT)))] = True
    result: npt.NDArray[np.bool_] = found & ~obsolete
    return result


def descendants(pairs: Iterable[tuple[_T, _T]], root: _T) -> set[_T]:
    """Return what is below a root in a hierarchy of (child, parent) pairs, itself left out."""
    children: dict[_T, list[_T]] = defaultdict(list)
    for child, parent in pairs:
        children[parent].append(child)
    found: set[_T] = set()
    waiting = [root]
    while waiting:
        new = [child for child in children.get(waiting.pop(), ()) if child not in found]
        found.update(new)
        waiting += new
    return found


def _names(term: int, row: dict[str, Any]) -> Iterator[Name]:
    scopes = row["synonym_scopes"] or ()
    for number, label in enumerate((row["name"], *(row["synonyms"] or ()))):
        folded, _, _, partings = scan(label or "")
        scope = scopes[number - 1] if 0 < number <= len(scopes) else "EXACT"
        rank = _SCOPE_RANK.get(scope, 3) if number else 0
        yield Name(term, number, rank, folded, partings, [word_hash(word) for word in folded])


def _english(names: list[Name]) -> Iterator[tuple[int, int, int, int, bool]]:
    taken = set()
    for name in names:
        if not 0 < len(name.folded) <= MAX_WORDS:
            continue
        if len(name.folded) == 1:
            yield single_hash(name.folded[0]), name.term, name.number, name.rank, False
            continue
        for variant, penalty in ((name.hashes, 0), *_rewritten(name.hashes)):
            key = sum_hashes(variant)
            taken.add(key)
            yield key, name.term, name.number, name.rank + penalty, name.joined
    for key, name in shortened(names, taken):
        yield key, name.term, name.number, name.rank + SHORTENED, name.joined


def _rewritten(hashes: list[int]) -> Iterator[tuple[list[int], int]]:
    abnormal, morphology, malformation = (word_hash(w) for w in ("abnormal", "morphology", "malformation"))
    if abnormal not in hashes:
        return
    rest = [value for value in hashes if value not in (abnormal, morphology)]
    if not rest or word_hash("chromosome") in rest:  # "chromosomal abnormalities" are causes, seldom findings
        return
    looser = _REWRITTEN + 2 + (morphology in hashes)
    yield from (([*rest, word_hash(noun)], looser) for noun in word_list("vague"))
    if morphology in hashes:
        yield [*rest, abnormal], _REWRITTEN
        yield [*rest, malformation], 1
    else:
        yield [*rest, malformation], _REWRITTEN + 1
        yield [*rest, abnormal, morphology], _REWRITTEN + 1


def shortened(names: Sequence[Name], taken: Set[int]) -> Iterator[tuple[int, Name]]:
    """Yield (key of the rest, name) of names with one word left out: "happy disposition", "odontogenic keratocysts".

    The rest must be no name, be of one term only and have a word that hardly any other finding has; the word left out
    neither is the noun that the others describe nor says by itself what is wrong.
    """
    owners: dict[int, set[int]] = defaultdict(set)
    for name in names:
        for value in name.hashes:
            owners[value].add(name.term)
    rare = {value for value, terms in owners.items() if len(terms) <= _RARE}
    rests: dict[int, dict[int, Name]] = defaultdict(dict)
    for name in names:
        if (
            name.rank > 1
            or name.number < 0
            or not 2 < len(name.folded) <= _LONGEST_SHORTENED
            or rare.isdisjoint(name.hashes)
        ):
            continue
        for place in _spare(name):
            rest = [*name.hashes[:place], *name.hashes[place + 1 :]]
            if not rare.isdisjoint(rest) and (value := sum_hashes(rest)) not in taken:
                rests[value].setdefault(name.term, name)
    for value, by_term in rests.items():
        if len(by_term) == 1:
            yield value, next(iter(by_term.values()))


def _spare(name: Name) -> Iterator[int]:
    wrong = _wrong()
    parted = [place for place, parting in enumerate(name.partings) if place and parting > NONE]
    head = (parted[0] if parted else len(name.folded)) - 1
    for place, word in enumerate(name.folded):
        telling = word_class(word) in wrong or word.endswith(_PARTICIPLE)
        if place != head and len(word) > 2 and word.isalpha() and not telling:
            yield place


@cache
def _wrong() -> frozenset[str]:
    return frozenset(map(word_class, word_list("wrong")))
