"""Names to choose from: how what was typed may go on, and what comes near to a name that means nothing.

A typo is found word by word: a word that no name has, or hardly any, may be a typo of another. The rules are those
between two columns of names (:mod:`kgdx.terms.names.typos`), but for shorter words: who looks a name up sees what it
was taken for. Names of drugs that differ by a letter are other drugs, and symbols of genes are no words: both have no
typos, only names that come near.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from itertools import islice, product
from pathlib import Path

import numpy as np
from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA

from kgdx.graph.snapshot import Snapshot
from kgdx.lazy import lazy_pattern
from kgdx.terms.encoder import VERSION, Encoder, Rows, Vectors, name_vectors, nearest_names
from kgdx.terms.names.cascade import COSINE, LEAD
from kgdx.terms.names.name_database import layout, marks, skeleton
from kgdx.terms.names.name_decision import ALL_KINDS, KINDS, NameDecision, NameEntry
from kgdx.terms.names.typos import WORD_STEPS, bound, is_typo, is_word_typo, word_edits
from kgdx.terms.normalise import Form, fold_name, form, has_chinese, read_table, word_list, word_rows
from kgdx.terms.phrase_vectors import contrary
from kgdx.terms.word_index import WordIndex

MOST_WORDS = 30
"""Words of the longest name in which typos are looked for."""
TRUSTED = 3
"""Forms that must have a word for it to be spelt right; sources have typos too."""
OFTENER = 20
"""How many times as often another word must be there for one of fewer forms to be a typo of it."""
STEPS = ((14, 2), (5, 1))
"""Letters of a word from which on so many edits in it may be a typo, in a look-up."""

TAU = 13.0
"""Least BM25 score of the disease whose words are taken; fitted on misspelt names by ``python -m benchmarks.tools``."""
KEPT = 4096

_LEAST_SHORT = 4
"""Letters of the shortest name that another one may begin with."""
_BEGUN = 40
_LONGEST_SHORT = 6
_SAYING = lazy_pattern(r"[^\W\d_]{3}|[\u4e00-\u9fff]")  # 15q11 is a place
_ABBREVIATION = lazy_pattern(r"[A-Z][A-Z0-9]{1,5}")
_PART = lazy_pattern(r" (?i:due to|type) |-[a-z]")
"""How the name of a part of a disease goes on, or a list of findings, for which its first words do not stand."""
_TRIED = 20
_READINGS = 8
"""Words that one misspelt word may be read as."""
_NAMES = 64
"""Names that all readings together may give."""
_EXACT = (KINDS.index("Drug"), KINDS.index("Gene"))


def typos_of(database: sqlite3.Connection, asked: Form, kinds: Sequence[int]) -> list[tuple[str, int]]:
    """Return the key that a name is a typo of, with the distance; none where several are equally near."""
    found = typos_within(database, asked, [kind for kind in kinds if kind not in _EXACT])
    least = min((distance for _, distance in found), default=0)
    nearest = [(key, distance) for key, distance in found if distance == least]
    return nearest if len(nearest) == 1 else []


@cache
def _said() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for said, meant in read_table(Path(__file__).with_name("lay_diseases.tsv")):
        found.setdefault(said if _ABBREVIATION.fullmatch(said) else fold_name(said), []).append(meant)
    return found


@cache
def _said_beginnings() -> frozenset[str]:
    folded = map(fold_name, _said())
    return frozenset(said[:end] for said in folded for end in range(1, len(said) + 1))


def lay_names(given: str) -> list[str]:
    return lay_names_in(given, () if _ABBREVIATION.fullmatch(given) else (fold_name(given),))


def lay_names_in(said: str, forms: Sequence[str]) -> list[str]:
    """Return the names of the disease that a part of a text stands for, whose folded forms are known."""
    known = _said()
    short = [f"{each}综合征" for each in forms if has_chinese(each)]  # 马凡
    found = [name for each in (*forms, *short) for name in known.get(each, ())]
    return found or (known.get(said, []) if len(said) <= _LONGEST_SHORT else [])


def begin_lay_names(forms: AbstractSet[str]) -> AbstractSet[str]:
    return forms & _said_beginnings()


def shortened(database: sqlite3.Connection, given: str, asked: Form, kind: int) -> list[str]:
    """Return the folded names that one name is short for; none where it may be short for several things.

    A name stands for itself with a word such as *disease*, *syndrome* or 病 behind it; for the only name that begins
    with it; and in capitals for the only one that has it as its abbreviation.
    """
    stem = asked.folded.removesuffix(" s").removesuffix("'s").removesuffix("’s").strip()
    if set(stem.split()) <= word_list("short_for_nothing") or not _SAYING.search(stem):
        return []
    if len(stem) < (2 if asked.han else _LEAST_SHORT):
        return _abbreviated(database, given, kind)
    space = "" if asked.han else " "
    words = word_rows("head_zh" if asked.han else "head_en")[0]
    owner = stem if asked.han else stem.removesuffix("s")  # "Wilsons"
    heads = [f"{each}{space}{head}" for each in (owner, f"{owner}s") for head in words]
    named = (
        "SELECT DISTINCT t.folded, coalesce(e.same, -e.number), t.text "
        "FROM term t JOIN entity e ON e.number = t.entity WHERE t.kind = ? AND t.relation = 'exact' AND t.folded"
    )
    whole = database.execute(f"{named} IN ({marks(heads)})", (kind, *heads)).fetchall()
    if whole or kind != KINDS.index("Disease"):
        behind = {name.removeprefix(owner).removeprefix("s") for name, *_ in whole}
        return [name for name, *_ in whole] if 1 in (len(behind), len({entity for _, entity, _ in whole})) else []
    goes_on = f"{named} >= ? AND t.folded < ? LIMIT {_BEGUN}"
    start = stem + space
    texts = {row[0]: row[2] for row in database.execute(goes_on, (kind, start, start + "\U0010ffff"))}
    found = sorted(texts, key=len)
    if found and all(name.startswith(found[0]) for name in found) and not _PART.match(texts[found[0]], len(stem)):
        return found[:1]
    return [] if found else _abbreviated(database, given, kind)


def _abbreviated(database: sqlite3.Connection, given: str, kind: int) -> list[str]:
    if not _ABBREVIATION.fullmatch(given):
        return []
    query = (
        "SELECT DISTINCT t.folded, t.text, coalesce(e.same, -e.number) FROM "
        "(SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid LIMIT 200) w "
        "JOIN term t ON t.form = w.rowid JOIN entity e ON e.number = t.entity WHERE t.kind = ?"
    )
    behind = re.compile(rf"[;；,，(（]\s*{re.escape(given)}\s*[)）]?$")
    rows = [row for row in database.execute(query, (f'"{given.lower()}"', kind)) if behind.search(row[1])]
    return [rows[0][0]] if len({row[2] for row in rows}) == 1 else []


def typos_within(
    database: sqlite3.Connection, asked: Form, kinds: Sequence[int], *, strict: bool = False
) -> list[tuple[str, int]]:
    """Return the keys that a name may be a typo of, with their distances."""
    named = f"AND EXISTS (SELECT 1 FROM term t WHERE t.form = f.number AND t.kind IN ({marks(kinds)}))"
    query = f"SELECT f.key, f.mark FROM form f WHERE f.skeleton = ? {named}"
    rows = database.execute(query, (skeleton(asked.key), *kinds)).fetchall()
    steps, trusted = (WORD_STEPS, 1) if strict else (STEPS, TRUSTED)
    for key in [] if asked.han else _readings(database, asked.key.split(" "), steps, trusted):
        rows += database.execute(f"SELECT f.key, f.mark FROM form f WHERE f.key = ? {named}", (key, *kinds)).fetchall()
    found = {key: _distance(asked, key, steps, strict) for key, mark in rows if mark == asked.mark}
    return [(key, distance) for key, distance in found.items() if distance]


def _distance(asked: Form, key: str, steps: Sequence[tuple[int, int]], strict: bool) -> int:
    shortest = min(len(key), len(asked.key))
    allowed = bound(shortest, han=asked.han)
    if not asked.han and not strict:
        allowed = max(allowed, word_edits(shortest, steps))
    distance = int(OSA.distance(asked.key, key, score_cutoff=allowed))
    right = 0 < distance <= allowed and is_typo(asked.key, key, frozenset(), steps)
    return distance if right else 0


def _readings(
    database: sqlite3.Connection, words: Sequence[str], steps: Sequence[tuple[int, int]], trusted: int
) -> list[str]:
    if len(words) > MOST_WORDS:
        return []
    forms = {word: _forms(database, word) for word in words}
    choices = [[word] if forms[word] >= trusted else _corrections(database, word, forms[word], steps) for word in words]
    readings = (" ".join(reading) for reading in islice(product(*choices), _NAMES))
    return [reading for reading in readings if reading != " ".join(words)]


def _forms(database: sqlite3.Connection, word: str) -> int:
    found = database.execute("SELECT forms FROM word WHERE word = ?", (word,)).fetchone()
    return found[0] if found else 0


def _corrections(database: sqlite3.Connection, word: str, forms: int, steps: Sequence[tuple[int, int]]) -> list[str]:
    right = [word] if forms else []
    edits = word_edits(len(word), steps)
    if not edits:
        return right
    near = words_near(database, word, edits, forms * OFTENER)
    found = process.extract(word, near, scorer=OSA.distance, score_cutoff=edits, limit=None)
    fitting = [(distance, other) for other, distance, _ in found if is_word_typo(word, other, (), steps)]
    return right + [other for _, other in sorted(fitting)[:_READINGS]]


def words_near(database: sqlite3.Connection, word: str, edits: int, forms: int = 0) -> list[str]:
    """Return the words with the same first letter, of about the same length, that more than so many forms have."""
    query = "SELECT word FROM word WHERE first = ? AND length BETWEEN ? AND ? AND forms > ? AND word <> ?"
    given = (word[:1], len(word) - edits, len(word) + edits, forms, word)
    return [row[0] for row in database.execute(query, given)]


def similar_words(database: sqlite3.Connection, word: str) -> list[str]:
    """Return the known words that look most like an unknown one; for suggestions, not for decisions."""
    near = words_near(database, word, 2)
    return [found for found, _, _ in process.extract(word, near, scorer=fuzz.ratio, score_cutoff=70, limit=3)]


class Meanings:
    """The vectors of the graph's names, one file for each node class, encoded when it is first asked for."""

    def __init__(
        self,
        snapshot: Snapshot,
        encoder: Encoder,
        *,
        chinese: bool = False,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self._snapshot, self._encoder, self._chinese = snapshot, encoder, chinese
        self._tell = progress
        self._opened: dict[int, tuple[Vectors, Rows]] = {}

    def nearest(self, database: sqlite3.Connection, given: str, kinds: Sequence[int]) -> list[tuple[str, float]]:
        """Return the folded name nearest in meaning, and the cosine; none when none is near enough.

        It must agree in numbers and telling words, not say the contrary, and be well ahead of the next entity's.
        """
        asked = form(given)
        if asked.han and not self._chinese:
            return []
        vector = self._encoder.encode([given])
        found: list[tuple[float, int]] = []
        for kind in kinds:
            vectors, terms = self._of(database, kind)
            (rows,), (cosines,) = nearest_names(vector, vectors, _TRIED)
            found += zip(cosines.tolist(), terms[rows].tolist(), strict=True)
        fitting: list[tuple[float, str]] = []
        for cosine, term in sorted(found, key=lambda one: (-one[0], one[1])):
            text, folded, mark = database.execute(
                "SELECT t.text, t.folded, f.mark FROM term t JOIN form f ON f.number = t.form WHERE t.number = ?",
                (term,),
            ).fetchone()
            if mark == asked.mark and not contrary(given, text):
                fitting.append((round(cosine, 4), folded))
        best, *others = [cosine for cosine, _ in fitting] or [0.0]
        rival = others and best - others[0] < LEAD and best < 1  # another name is nearly as near
        return [(folded, cosine) for cosine, folded in fitting[:1] if best >= COSINE and not rival]

    def _of(self, database: sqlite3.Connection, kind: int) -> tuple[Vectors, Rows]:
        if kind not in self._opened:
            version = f"{layout()}-{VERSION}{'-zh' if self._chinese else ''}"
            part = f"meaning-{ALL_KINDS[kind].lower()}", version

            def names() -> dict[int, str]:
                return self._names(database, kind)

            self._opened[kind] = name_vectors(self._snapshot, part, self._encoder, names, self._tell)
        return self._opened[kind]

    def _names(self, database: sqlite3.Connection, kind: int) -> dict[int, str]:
        query = (
            "SELECT min(t.number), t.text, t.folded FROM term t JOIN entity e ON e.number = t.entity "
            "WHERE t.kind = ? AND t.text = e.name GROUP BY t.folded ORDER BY 1"
        )
        rows = database.execute(query, (kind,))
        return {number: text for number, text, _ in rows if self._chinese or not form(text).han}


class DiseaseWords:
    """Names and synonyms of a graph's diseases by BM25: equation 20 of Deep-DxSearch, for what no name of it is."""

    def __init__(self, snapshot: Snapshot) -> None:
        table = snapshot.table("disease").select(["id", "name", "synonyms", "source"]).to_pylist()
        named = [
            (row, name) for row in table for name in dict.fromkeys((row["name"], *(row["synonyms"] or ()))) if name
        ]
        self._rows, self._names = [row for row, _ in named], [name for _, name in named]
        self._index = WordIndex(self._names)
        self.resolve = lru_cache(maxsize=KEPT)(self._resolve)

    def best(self, name: str) -> tuple[NameEntry, float] | None:
        """Return the disease with the best name, and its score; of equal ones the shortest name, then the first."""
        scores = self._index.scores(name)
        highest = float(scores.max(initial=0.0))
        if highest <= 0:
            return None
        equal = np.flatnonzero(scores >= highest - 1e-6).tolist()
        at = min(equal, key=lambda each: (len(self._names[each]), self._rows[each]["id"]))
        row = self._rows[at]
        found = NameEntry(row["id"], "Disease", row["name"], row["source"], self._names[at], "words", "exact", highest)
        return found, highest

    def _resolve(self, name: str) -> NameDecision:
        found = self.best(name)
        if found is None:
            return NameDecision(name, ("Disease",), (), f"no reference: no disease has a word of {name[:60]!r}")
        entry, score = found
        said = f"{entry.matched!r} shares most words with it, BM25 {score:.1f}"
        if score < TAU:
            return NameDecision(name, ("Disease",), (), f"no reference: {said}, below {TAU:g}", (entry,))
        return NameDecision(name, ("Disease",), (entry,), f"{name[:60]!r}: {said}")
