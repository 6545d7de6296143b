"""Slips of spelling in one name, found word by word: only a word that no name has can be a slip of one that some has.

The same rules as between two columns of names (:mod:`kgdx.align.slips`), without comparing the name with all of them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import islice, product

from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA

from kgdx.align import slips
from kgdx.align.index_file import skeleton
from kgdx.align.single import Form

MOST_WORDS = 30
"""Words of the longest name in which slips are looked for."""
_READINGS = 8
"""Words that one misspelt word may be read as."""
_NAMES = 64
"""Names that all readings together may give."""


def slips_of(database: sqlite3.Connection, asked: Form, kinds: Sequence[int]) -> list[tuple[str, int]]:
    """Return the key that a name is a slip of, with the distance; none where several are equally near.

    Args:
        database: An opened index.
        asked: The name.
        kinds: Numbers of the node classes that the key must be a name in.
    """
    allowed = slips.bound(len(asked.key), han=asked.han)
    if not allowed and not slips.bound(len(asked.key) + 1, han=asked.han):
        return []
    keys = [skeleton(asked.key)]
    marks = ", ".join("?" * len(kinds))
    named = f"AND EXISTS (SELECT 1 FROM term t WHERE t.form = f.number AND t.kind IN ({marks}))"
    query = f"SELECT f.key, f.mark FROM form f WHERE f.skeleton = ? {named}"
    rows = database.execute(query, (*keys, *kinds)).fetchall()
    readings = [] if asked.han else _readings(database, asked.key.split(" "))
    for key in readings:
        rows += database.execute(f"SELECT f.key, f.mark FROM form f WHERE f.key = ? {named}", (key, *kinds)).fetchall()
    found = {key: distance for key, mark in rows if mark == asked.mark and (distance := _slip(asked, key))}
    least = min(found.values(), default=0)
    nearest = [(key, distance) for key, distance in found.items() if distance == least]
    return nearest if len(nearest) == 1 else []


def _slip(asked: Form, key: str) -> int:
    """The distance of a key that may be meant; 0 when it may not."""
    allowed = slips.bound(min(len(key), len(asked.key)), han=asked.han)
    distance = int(OSA.distance(asked.key, key, score_cutoff=allowed))
    right = 0 < distance <= allowed and slips.is_slip(asked.key, key, frozenset(key.split(" ")))
    return distance if right else 0


def _readings(database: sqlite3.Connection, words: Sequence[str]) -> list[str]:
    """The names that a name with misspelt words may be read as; none when all of them are known."""
    if len(words) > MOST_WORDS:
        return []
    known = {word for word in words if database.execute("SELECT 1 FROM word WHERE word = ?", (word,)).fetchone()}
    if len(known) == len(set(words)):
        return []
    choices = [[word] if word in known else _corrections(database, word) for word in words]
    return [" ".join(reading) for reading in islice(product(*choices), _NAMES)]


def _corrections(database: sqlite3.Connection, word: str) -> list[str]:
    edits = slips.word_edits(len(word))
    if not edits:
        return []
    near = words_near(database, word, edits)
    found = process.extract(word, near, scorer=OSA.distance, score_cutoff=edits, limit=None)
    fitting = [(distance, other) for other, distance, _ in found if slips.is_word_slip(word, other, {other})]
    return [other for _, other in sorted(fitting)[:_READINGS]]


def words_near(database: sqlite3.Connection, word: str, edits: int) -> list[str]:
    """Return the known words with the same first letter and about the same length."""
    query = "SELECT word FROM word WHERE first = ? AND length BETWEEN ? AND ?"
    return [row[0] for row in database.execute(query, (word[:1], len(word) - edits, len(word) + edits))]


def similar_words(database: sqlite3.Connection, word: str, limit: int = 3) -> list[str]:
    """Return the known words that look most like an unknown one; for suggestions, not for decisions."""
    near = words_near(database, word, 2)
    return [found for found, _, _ in process.extract(word, near, scorer=fuzz.ratio, score_cutoff=70, limit=limit)]
