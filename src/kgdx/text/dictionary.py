"""The dictionary of finding names: compiled once from a snapshot into sorted arrays, opened memory-mapped.

A name is found by the sum of its word classes' 64-bit hashes, so that word order does not matter ("stenosis of the
pulmonary artery", "pulmonary artery stenosis") and all windows of a text are looked up at once by binary search.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kgdx.text.chinese import fold_chinese, lay_wordings, substring_keys, wordings
from kgdx.text.fuzzy import Spelling
from kgdx.text.shortened import Name, shortened
from kgdx.text.stems import inflection, word_class
from kgdx.text.tokens import fold, scan

if TYPE_CHECKING:
    from kgdx.store.snapshot import Snapshot

VERSION = 6
"""Changes with the files' layout or with the rules that fill them."""

CHINESE = "zh.json"
"""What is to be known of the Chinese names: their lengths, and whether the graph has any of its own."""

ROOT = "HP:0000118"
"""Phenotypic abnormality: only what lies below it is a finding (not inheritance, onset, severity or frequency)."""

MAX_WORDS = 12
"""Content words of the longest name that is looked for."""

_SCOPE_RANK = {"EXACT": 1, "NARROW": 3, "BROAD": 3, "RELATED": 3}
_REWRITTEN = 4
SHORTENED = 12
"""Rank of names with one word left out."""

_MASK = (1 << 64) - 1


@lru_cache(maxsize=65536)
def class_hash(name: str) -> int:
    """Return the 64-bit hash of a word class, as a signed integer that is the same in every process.

    Example:
        >>> class_hash("kidney") == class_hash("kidney") != class_hash("liver")
        True
    """
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little", signed=True)


@lru_cache(maxsize=65536)
def word_hash(folded: str) -> int:
    """Return the hash of a folded word's class.

    Example:
        >>> word_hash("renal") == word_hash("kidneys")
        True
    """
    return class_hash(word_class(folded))


@lru_cache(maxsize=65536)
def single_hash(folded: str) -> int:
    """Return the key of a name of one word, which only the forms of that word share, not the rest of its class.

    Example:
        >>> single_hash("seizures") == single_hash("seizure"), single_hash("number") == single_hash("numbness")
        (True, False)
    """
    return class_hash(f"1 {inflection(folded)}")


def sum_hashes(hashes: Iterable[int]) -> int:
    """Add hashes as signed 64-bit integers do, wrapping round.

    Example:
        >>> sum_hashes([2**63 - 1, 1]) == -(2**63)
        True
    """
    total = sum(hashes) & _MASK
    return total - (1 << 64) if total >> 63 else total


@dataclass(frozen=True, slots=True)
class Entries:
    """Names sorted by key: the parallel arrays of one language.

    Attributes:
        keys: int64, the sum of the hashes of the name's words (Chinese: the hash of the name's characters).
        terms: int32, row of the snapshot's ``phenotype`` table.
        labels: int16, 0 for the term's name, n for its n-th synonym.
        ranks: int8, how good the name is: 0 the term's own, higher for looser synonyms and for rewritten forms.
        joined: bool, the name itself holds a comma, slash or conjunction.
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
        """Map the arrays that :meth:`save` wrote."""
        return cls(*(np.load(folder / f"{prefix}-{name}.npy", mmap_mode="r") for name in cls.FIELDS))

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


def build_dictionary(snapshot: Snapshot) -> Path:
    """Return the folder of the snapshot's dictionary, compiling it when it is not there yet."""
    return snapshot.derived("text", VERSION, lambda folder: compile_dictionary(snapshot, folder))


def compile_dictionary(snapshot: Snapshot, folder: Path) -> None:
    """Write the dictionary of a snapshot's findings into a folder."""
    table = snapshot.table("phenotype")
    scope = in_scope(snapshot)
    rows = table.select(["name", "synonyms", "synonym_scopes", "name_zh"]).to_pylist()
    names = [name for term in np.flatnonzero(scope).tolist() for name in _names(term, rows[term])]
    vocabulary = {word for name in names for word in name.folded}
    Entries.of(list(_english(names))).save(folder, "en")
    _spelling(snapshot, vocabulary).save(folder)
    chinese = list(_chinese(snapshot, rows, scope))
    Entries.of([(_key(name), term, 0, rank, False) for name, term, rank in chinese]).save(folder, "zh")
    about = {"lengths": sorted({len(name) for name, *_ in chinese}), "named": any(row["name_zh"] for row in rows)}
    (folder / CHINESE).write_text(json.dumps(about))


def _chinese(
    snapshot: Snapshot, rows: list[dict[str, Any]], scope: npt.NDArray[np.bool_]
) -> Iterator[tuple[str, int, int]]:
    """(folded name, term, rank): translations, their other wordings, and the lay wordings that every graph knows."""
    for term in np.flatnonzero(scope).tolist():
        if name := fold_chinese(rows[term]["name_zh"] or "").text:
            yield name, term, 0
            yield from ((other, term, _REWRITTEN) for other in wordings(name))
    place = {curie: row for row, curie in enumerate(snapshot.table("phenotype").column("id").to_pylist())}
    for phrase, curie in lay_wordings():
        term = place.get(curie, -1)
        if term >= 0 and scope[term]:
            yield fold_chinese(phrase).text, term, 1


def _key(name: str) -> int:
    return int(substring_keys(name, len(name))[0])


def _spelling(snapshot: Snapshot, vocabulary: set[str]) -> Spelling:
    table = snapshot.table("phenotype")
    texts = [text or "" for name in ("name", "definition") for text in table.column(name).to_pylist()]
    known = {fold(word) for word in re.findall(r"[^\W\d_]{4,}", " ".join(texts))}
    return Spelling.of(vocabulary, known)


def in_scope(snapshot: Snapshot) -> npt.NDArray[np.bool_]:
    """Return which rows of the ``phenotype`` table are findings: current, and below phenotypic abnormality.

    An ontology without that root is taken whole.
    """
    table = snapshot.table("phenotype")
    obsolete = np.array([bool(value) for value in table.column("obsolete").to_pylist()], bool)
    ids = table.column("id").to_pylist()
    if ROOT not in ids:
        return ~obsolete
    children: dict[int, list[int]] = {}
    edges = snapshot.table("is_a")
    for child, parent in zip(edges.column("child").to_pylist(), edges.column("parent").to_pylist(), strict=True):
        children.setdefault(parent, []).append(child)
    found = np.zeros(len(ids), bool)
    stack = list(children.get(ids.index(ROOT), ()))
    while stack:
        row = stack.pop()
        if not found[row]:
            found[row] = True
            stack.extend(children.get(row, ()))
    result: npt.NDArray[np.bool_] = found & ~obsolete
    return result


def _names(term: int, row: dict[str, Any]) -> Iterator[Name]:
    """A term's names, best first."""
    scopes = row["synonym_scopes"] or ()
    for number, label in enumerate((row["name"], *(row["synonyms"] or ()))):
        folded, _, _, partings = scan(label or "")
        scope = scopes[number - 1] if 0 < number <= len(scopes) else "EXACT"
        rank = _SCOPE_RANK.get(scope, 3) if number else 0
        yield Name(term, number, rank, folded, partings, [word_hash(word) for word in folded])


def _english(names: list[Name]) -> Iterator[tuple[int, int, int, int, bool]]:
    """Entries of all names, of those rewritten and of those shortened."""
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
    for key, name in shortened(names, taken, sum_hashes):
        yield key, name.term, name.number, name.rank + SHORTENED, name.joined


_VAGUE = (
    "change",
    "characteristic",
    "deformity",
    "difficulty",
    "feature",
    "finding",
    "impairment",
    "involvement",
    "manifestation",
    "symptom",
)
"""Nouns by which an organ is said to be abnormal without saying how; looked for only where no name has them."""


def _rewritten(hashes: list[int]) -> Iterator[tuple[list[int], int]]:
    """Other ways to say that something is abnormal, with how much looser each is."""
    abnormal, morphology, malformation = (word_hash(w) for w in ("abnormal", "morphology", "malformation"))
    if abnormal not in hashes:
        return
    rest = [value for value in hashes if value not in (abnormal, morphology)]
    if not rest or word_hash("chromosome") in rest:  # "chromosomal abnormalities" are causes, seldom findings
        return
    looser = _REWRITTEN + 2 + (morphology in hashes)
    yield from (([*rest, word_hash(noun)], looser) for noun in _VAGUE)
    if morphology in hashes:
        yield [*rest, abnormal], _REWRITTEN
        yield [*rest, malformation], 1
    else:
        yield [*rest, malformation], _REWRITTEN + 1
        yield [*rest, abnormal, morphology], _REWRITTEN + 1
