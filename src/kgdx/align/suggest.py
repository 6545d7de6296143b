"""Names to choose from: how what was typed may go on, and what comes near to a name that means nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rapidfuzz import fuzz

from kgdx.align.index_file import COMMON, LONGEST_PREFIX, marks, spaced
from kgdx.align.named import ALL_KINDS, Entry
from kgdx.align.spelling import similar_words
from kgdx.text.stems import Form, form

READ = 1_000
"""Forms that a search for names near to another one may touch."""
_SCORED = 120
_SCANNED = 4 * COMMON
_COLUMNS = "e.id, e.kind, e.name, e.source, t.text, t.folded, e.same, t.relation"
_NARROWER = 0.9
"""What it takes from the score that a name means something narrower or broader."""


def complete(database: sqlite3.Connection, prefix: str, kinds: Sequence[int], limit: int) -> list[Entry]:
    """Return the entries whose names begin with what was typed, then those that hold it as words."""
    asked = form(prefix)
    found: dict[Any, Entry] = {}
    for row in _starting(database, prefix, asked.folded, kinds, limit):
        _add(found, row, "exact")
    if len(found) < limit and asked.folded:
        for row in _holding(database, asked, kinds):
            _add(found, row, "words")
    return list(found.values())[:limit]


def _add(found: dict[Any, Entry], row: Any, method: str) -> None:
    """Entries that are the same thing count once in each class."""
    id, kind, name, source, text, _, same, _ = row
    entry = Entry(id, ALL_KINDS[kind], name, source, text, method, "exact", 1.0 if method == "exact" else 0.5)
    found.setdefault((kind, "same", same) if same is not None else (kind, "id", id), entry)


def _starting(
    database: sqlite3.Connection, prefix: str, folded: str, kinds: Sequence[int], limit: int
) -> Iterator[Any]:
    if ":" in prefix:
        query = (
            "SELECT id, kind, name, source, id, id, same, 'exact' FROM entity "
            f"WHERE id >= ? AND id < ? AND kind IN ({marks(kinds)}) ORDER BY id LIMIT ?"
        )
        typed = prefix.strip()
        yield from database.execute(query, (typed, typed + "\U0010ffff", *kinds, limit))
    if not folded:
        return
    rows: list[Any] = []
    for kind in kinds:
        rows += _head(database, folded, kind) or _range(database, folded, kind)
    rows.sort(key=lambda row: (len(row[5]), row[5], row[1], row[0]))
    yield from rows


def _head(database: sqlite3.Connection, folded: str, kind: int) -> list[Any]:
    """The kept first names of a common prefix; a longer prefix than is kept has few enough names to read."""
    if len(folded) > LONGEST_PREFIX:
        return []
    query = (
        f"SELECT {_COLUMNS} FROM head h JOIN term t ON t.number = h.term JOIN entity e ON e.number = t.entity "
        "WHERE h.kind = ? AND h.prefix = ? ORDER BY h.place"
    )
    return database.execute(query, (kind, folded)).fetchall()


def _range(database: sqlite3.Connection, folded: str, kind: int) -> list[Any]:
    query = (
        f"SELECT {_COLUMNS} FROM term t JOIN entity e ON e.number = t.entity "
        "WHERE t.kind = ? AND t.folded >= ? AND t.folded < ? LIMIT ?"
    )
    return database.execute(query, (kind, folded, folded + "\U0010ffff", _SCANNED)).fetchall()


def _holding(database: sqlite3.Connection, asked: Form, kinds: Sequence[int]) -> list[Any]:
    """Names with all the words, the last one begun; in Chinese, names with these characters in a row."""
    if asked.han:
        query = f'"{spaced(asked.key)}"' if len(asked.key) > 1 else ""
    else:
        words = asked.folded.replace('"', " ").split()
        query = " AND ".join([f'"{word}"' for word in words[:-1]] + [f'"{words[-1]}"*'])
    return _found(database, query, kinds, f"ORDER BY rowid LIMIT {_SCORED}") if query else []


def near(database: sqlite3.Connection, asked: Form, kinds: Sequence[int], limit: int) -> list[Entry]:
    """Return the entries whose names share most with a name, the best first."""
    tokens = _telling(database, asked)
    if not tokens or not kinds:
        return []
    query = " OR ".join(f'"{token}"' for token in tokens)
    best: dict[Any, tuple[float, Any]] = {}
    for row in _found(database, query, kinds, f"ORDER BY rank LIMIT {_SCORED}"):
        score = fuzz.token_sort_ratio(asked.folded, row[5]) / 100 * (1 if row[7] == "exact" else _NARROWER)
        key = (row[1], row[6]) if row[6] is not None else (row[1], row[0])
        if key not in best or score > best[key][0]:
            best[key] = (score, row)
    ranked = sorted(best.values(), key=lambda found: (-found[0], found[1][1], found[1][0]))
    return [
        Entry(row[0], ALL_KINDS[row[1]], row[2], row[3], row[4], "words", row[7], round(score, 4))
        for score, row in ranked[:limit]
    ]


def _telling(database: sqlite3.Connection, asked: Form) -> list[str]:
    """The rarest words (in Chinese, pairs of characters) of a name, as many as may be read; unknown ones corrected."""
    words = (spaced(asked.key) if asked.han else asked.key).replace('"', " ").split()
    counted: dict[str, int] = {}
    for word in dict.fromkeys(words[:64]):
        known = _count(database, [word])
        if not known and not asked.han and len(word) > 3:
            known = _count(database, similar_words(database, word))
        counted |= known
    kept: list[str] = []
    read = 0
    for token, forms in sorted(counted.items(), key=lambda one: (one[1], one[0])):
        read += forms
        if read > READ and kept:
            break
        kept.append(token)
    return kept


def _count(database: sqlite3.Connection, words: Iterable[str]) -> dict[str, int]:
    found = (database.execute("SELECT token, forms FROM token WHERE token = ?", (word,)).fetchone() for word in words)
    return {token: forms for token, forms in filter(None, found)}


def _found(database: sqlite3.Connection, query: str, kinds: Sequence[int], order: str) -> list[Any]:
    return database.execute(
        f"SELECT {_COLUMNS} FROM (SELECT rowid FROM words WHERE words MATCH ? {order}) w "
        f"JOIN term t ON t.form = w.rowid JOIN entity e ON e.number = t.entity WHERE t.kind IN ({marks(kinds)})",
        (query, *kinds),
    ).fetchall()
