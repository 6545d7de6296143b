"""Look-ups beside what a name means: what a text mentions, how what was typed goes on, and what comes near to a name.

A text is read from each of its words and Chinese characters on, as long as some name begins like what was read.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple

from rapidfuzz import fuzz

from kgdx.lazy import lazy_pattern
from kgdx.terms.names.name_database import COMMON, LONGEST_PREFIX, marks, spaced
from kgdx.terms.names.name_decision import ALL_KINDS, KINDS, Mention, NameEntry
from kgdx.terms.names.suggestions import begin_lay_names, lay_names_in, similar_words
from kgdx.terms.normalise import (
    CJK,
    Folded,
    Form,
    fold_chinese,
    fold_name,
    form,
    has_chinese,
    rephrased,
    same_length,
    word_key,
    word_list,
)

READ = 10_000
"""Characters of a text that are read: it is a question."""
MOST_WORDS = 10
MOST_CHARACTERS = 24
"""Length of the longest name that is looked for, in words and in Chinese characters."""

_CURIE = lazy_pattern(r"(?<![\w:])[A-Za-z][A-Za-z_.]*:[A-Za-z0-9_.]*[A-Za-z0-9]", re.ASCII)
_TOKEN = lazy_pattern(rf"(?:[^\W_{CJK}]|[+<>%'’`])+")
_QUOTES = lazy_pattern(r"(?<!\w)['’`]+|['’`]+(?!\w)")
_HAN = lazy_pattern(rf"[{CJK}]")
_JOINS = frozenset("-‐‑–—－·•/／()（）[]［］\"'“”‘’")
"""Signs that stand within Chinese names: 锁骨下动脉-腋动脉瘤, 静注人免疫球蛋白(pH4), 抗溶血性链球菌“O”试验."""
_CLOSES = {")": "(", "）": "（", "]": "[", "］": "［", "”": "“", "’": "‘"}
_DISEASE, _GENE, _DRUG = KINDS.index("Disease"), KINDS.index("Gene"), KINDS.index("Drug")
_SAYS_NOTHING = word_list("question")
"""Words of questions that some source has as a name."""
_VERB = lazy_pattern(
    r"\bleads?\s+to\b|(?<=\bwhat )fits?\b|(?<=\bwhich )fits?\b|(?<=\bbest )fits?\b|(?<=\bbetter )fits?\b"
    r"|\bfits?\b(?=\s+(?:best|better|all|the|this|that|these|those|my|our|your|his|her|him|it|them)\b)",
    re.IGNORECASE,
)
"""What "fits this patient" is no seizure, and what "leads to" it no metal."""
_TYPED_LOW = lazy_pattern(r"[a-z]{2,}[0-9]+[a-z]?[0-9]*")
"""A gene in small letters, which no word looks like: "brca1"."""
MOST_FORMS = 1_000
"""Forms that a search for names near to another one may touch."""
_SCORED = 120
_SCANNED = 4 * COMMON
_COLUMNS = "e.id, e.kind, e.name, e.source, t.text, t.folded, e.same, t.relation"
_NARROWER = 0.9
"""Factor of the score of a name that means something narrower or broader."""


class _Run(NamedTuple):
    """A part of the text that may be a name: where it stands, and the forms under which to look it up.

    A longer run from the same start has forms that begin with these; the key is empty where it is yet to come.
    """

    start: int
    end: int
    folded: str
    key: str

    @property
    def forms(self) -> tuple[str, ...]:
        return (self.folded, self.key) if self.key and self.key != self.folded else (self.folded,)


_Found = tuple[_Run, dict[int, list[Any]]]
"""A part of the text, and the rows (id, class, name, weight) that it stands for, by class."""


def mentions(database: sqlite3.Connection, text: str, kinds: Sequence[int]) -> list[Mention]:
    """Return the parts of a text that name entries, in order; where two overlap, the longer one."""
    read = text[:READ]
    verbs = [found.start() for found in _VERB.finditer(read)]
    runs = [
        run
        for run in _begun(database, [*_words(read), *_characters(read)])
        if _SAYS_NOTHING.isdisjoint(run.forms) and not any(run.start <= verb < run.end for verb in verbs)
    ]
    lay = ((number, lay_names_in(read[run.start : run.end], run.forms)) for number, run in enumerate(runs))
    meant = {number: [fold_name(name) for name in names] for number, names in lay if names}
    asked = {each for forms in (*(run.forms for run in runs), *meant.values()) for each in forms}
    named = _look_up(database, asked, kinds)
    found = list(_ids(database, read, kinds))
    for number, run in enumerate(runs):
        if number not in meant and run.folded not in named and run.key not in named:
            continue
        said = read[run.start : run.end]
        by_kind: dict[int, list[Any]] = defaultdict(list)
        plain = [row for each in meant.get(number, ()) for row in named.get(each, ()) if row[1] == _DISEASE]
        for row in {*plain, *(row for each in run.forms for row in named.get(each, ()))}:
            if row[1] != _GENE or row[2] == said or (row[2] == said.upper() and _TYPED_LOW.fullmatch(said)):
                by_kind[row[1]].append(row)
        if by_kind:
            found.append((run, by_kind))
    return list(_longest(read, found))


def _begun(database: sqlite3.Connection, starts: Iterable[Iterator[_Run]]) -> Iterator[_Run]:
    while starts:
        read = [(run, runs) for runs in starts if (run := next(runs, None)) is not None]
        names = _beginnings(database, {each for run, _ in read for each in run.forms})
        kept = [(run, runs) for run, runs in read if not run.key or not names.isdisjoint(run.forms)]
        yield from (run for run, _ in kept)
        starts = [runs for _, runs in kept]


def _beginnings(database: sqlite3.Connection, forms: set[str]) -> set[str]:
    query = (
        "SELECT j.value FROM json_each(?) j WHERE "
        f"EXISTS (SELECT 1 FROM term t WHERE t.folded >= j.value AND t.folded < j.value || char({sys.maxunicode})) OR "
        f"EXISTS (SELECT 1 FROM form f WHERE f.key >= j.value AND f.key < j.value || char({sys.maxunicode}))"
    )
    asked = json.dumps(sorted(forms), ensure_ascii=True)
    return {said for (said,) in database.execute(query, (asked,))} | begin_lay_names(forms)


def _ids(database: sqlite3.Connection, text: str, kinds: Sequence[int]) -> Iterator[_Found]:
    query = (
        "SELECT id, kind, name, 1.0 FROM entity WHERE id = ? UNION SELECT e.id, e.kind, e.name, 1.0 "
        "FROM other_id o JOIN entity e ON e.number = o.entity WHERE o.id = ?"
    )
    for written in _CURIE.finditer(text):
        rows = [row for row in database.execute(query, (written[0], written[0])) if row[1] in kinds]
        if by_kind := {row[1]: [each for each in rows if each[1] == row[1]] for row in rows}:
            yield _Run(written.start(), written.end(), written[0], ""), by_kind


def _longest(text: str, found: list[_Found]) -> Iterator[Mention]:
    taken = bytearray(len(text))
    kept: list[_Found] = []
    for run, by_kind in sorted(found, key=lambda one: (one[0].start - one[0].end, one[0].start)):
        if not any(taken[run.start : run.end]):
            taken[run.start : run.end] = b"\1" * (run.end - run.start)
            kept.append((run, by_kind))
    for run, by_kind in sorted(kept, key=lambda one: one[0].start):
        for kind, rows in sorted(by_kind.items()):
            best = {row[0]: row for row in sorted(rows, key=lambda row: (row[3], row[0]))}
            ranked = sorted(best.values(), key=lambda row: (-row[3], row[0]))
            ids, names = tuple(row[0] for row in ranked), tuple(row[2] for row in ranked)
            yield Mention(run.start, run.end, text[run.start : run.end], KINDS[kind], ids, names)


def _words(text: str) -> Iterator[Iterator[_Run]]:
    bare = _QUOTES.sub(lambda signs: " " * len(signs[0]), text)  # 'Microcephaly' is no other name
    tokens = [(found.start(), found.end(), fold_name(found[0])) for found in _TOKEN.finditer(bare)]
    words = [
        (start, end, folded, " ".join(part for word in folded.split(" ") for part in word_key(word)))
        for start, end, folded in tokens
        if folded
    ]
    for first in range(len(words)):
        yield _words_from(words[first : first + MOST_WORDS])


def _words_from(words: Sequence[tuple[int, int, str, str]]) -> Iterator[_Run]:
    begin = words[0][0]
    said = key = ""
    for _, end, folded, part in words:
        said = f"{said} {folded}" if said else folded
        key = f"{key} {part}" if key and part else key or part
        if not part:
            continue  # no name ends in an article
        yield _Run(begin, end, said, form(said).key if rephrased(said) else key)


def _characters(text: str) -> Iterator[Iterator[_Run]]:
    folded = fold_chinese(text)
    if not has_chinese(folded.text):
        return
    signs = _Signs(text, folded)
    for start, han in enumerate(signs.han):
        if han < start + MOST_CHARACTERS and signs.edges[start] and folded.text[start].isalnum():
            yield signs.runs(start)


class _Signs:
    def __init__(self, text: str, folded: Folded) -> None:
        self._text, self._folded = text, folded
        self._other = same_length(folded.text)
        self.edges = [_begins(folded, at) for at in range(len(folded.text) + 1)]
        self.han: list[int] = []
        for found in _HAN.finditer(folded.text):
            self.han += [found.start()] * (found.end() - len(self.han))

    def runs(self, start: int) -> Iterator[_Run]:
        plain, places, begin = self._folded.text, self._folded.places, self._folded.places[start]
        for end in range(start + 1, min(start + MOST_CHARACTERS, len(plain)) + 1):
            if not plain[end - 1].isalnum():
                if plain[end - 1] in _JOINS:
                    continue
                break
            if self.edges[end] and self.han[start] < end and end - start > 1:
                forms = (_letters(each[start:end]) for each in (plain, self._other))
                yield _Run(begin, _closed(self._text, begin, places[end - 1] + 1), *forms)


def _letters(said: str) -> str:
    return said if said.isalnum() else "".join(sign for sign in said if sign.isalnum())


def _closed(text: str, start: int, end: int) -> int:
    opening = _CLOSES.get(text[end : end + 1])
    return end + 1 if opening is not None and opening in text[start:end] else end


def _begins(folded: Folded, at: int) -> bool:
    if not 0 < at < len(folded.text) or folded.places[at] > folded.places[at - 1] + 1:
        return True
    pair = folded.text[at - 1 : at + 1]
    return bool(_HAN.search(pair)) or not pair.isalnum()


def _look_up(database: sqlite3.Connection, forms: set[str], kinds: Sequence[int]) -> dict[str, list[Any]]:
    usual = f"(t.relation = 'exact' OR t.kind = {_DRUG}) AND t.weight >= 0.85"
    asked = json.dumps(sorted(forms), ensure_ascii=True)
    query = (
        "SELECT j.value, e.id, e.kind, e.name, t.weight FROM json_each(?) j JOIN term t ON t.folded = j.value "
        f"JOIN entity e ON e.number = t.entity WHERE t.kind IN ({marks(kinds)}) AND {usual} "
        "UNION SELECT j.value, e.id, e.kind, e.name, t.weight * 0.98 FROM json_each(?) j "
        "JOIN form f ON f.key = j.value JOIN term t ON t.form = f.number JOIN entity e ON e.number = t.entity "
        f"WHERE t.kind IN ({marks(kinds)}) AND {usual}"
    )
    found: dict[str, list[Any]] = defaultdict(list)
    for said, *row in database.execute(query, (asked, *kinds, asked, *kinds)):
        found[said].append(tuple(row))
    return found


def complete(database: sqlite3.Connection, prefix: str, kinds: Sequence[int], limit: int) -> list[NameEntry]:
    """Return the entries whose names begin with what was typed, then those that hold it as words."""
    asked = form(prefix)
    found: dict[Any, NameEntry] = {}
    for row in _starting(database, prefix, asked.folded, kinds, limit):
        _add(found, row, "exact")
    if len(found) < limit and asked.folded:
        for row in _holding(database, asked, kinds):
            _add(found, row, "words")
    return list(found.values())[:limit]


def _add(found: dict[Any, NameEntry], row: Any, method: str) -> None:
    id, kind, name, source, text, _, same, _ = row
    entry = NameEntry(id, ALL_KINDS[kind], name, source, text, method, "exact", 1.0 if method == "exact" else 0.5)
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
    rows = [row for kind in kinds for row in _head(database, folded, kind) or _range(database, folded, kind)]
    yield from sorted(rows, key=lambda row: (len(row[5]), row[5], row[1], row[0]))


def _head(database: sqlite3.Connection, folded: str, kind: int) -> list[Any]:
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
    if asked.han:
        query = f'"{spaced(asked.key)}"' if len(asked.key) > 1 else ""
    else:
        words = asked.folded.replace('"', " ").split()
        query = " AND ".join([f'"{word}"' for word in words[:-1]] + [f'"{words[-1]}"*'])
    return _found(database, query, kinds, f"ORDER BY rowid LIMIT {_SCORED}") if query else []


def near(database: sqlite3.Connection, asked: Form, kinds: Sequence[int], limit: int) -> list[NameEntry]:
    """Return the entries whose names share most with a name, the best first."""
    tokens, said = _telling(database, asked), [asked.folded]
    for one, other in pairwise([] if asked.han else asked.key.split()):
        if _count(database, [one + other]):  # names write "colorblindness", too
            tokens.append(one + other)
            said.append(asked.key.replace(f"{one} {other}", one + other))
    if not tokens or not kinds:
        return []
    query = " OR ".join(f'"{token}"' for token in tokens)
    best: dict[Any, tuple[float, Any]] = {}
    for row in _found(database, query, kinds, f"ORDER BY rank LIMIT {_SCORED}"):
        like = max(fuzz.token_sort_ratio(each, row[5]) for each in said)
        score = like / 100 * (1 if row[7] == "exact" else _NARROWER)
        key = (row[1], row[6]) if row[6] is not None else (row[1], row[0])
        best[key] = max(best.get(key, (score, row)), (score, row), key=itemgetter(0))
    ranked = sorted(best.values(), key=lambda found: (-found[0], found[1][1], found[1][0]))
    return [
        NameEntry(row[0], ALL_KINDS[row[1]], row[2], row[3], row[4], "words", row[7], round(score, 4))
        for score, row in ranked[:limit]
    ]


def _telling(database: sqlite3.Connection, asked: Form) -> list[str]:
    words = (spaced(asked.key) if asked.han else asked.key).replace('"', " ").split()
    counted: dict[str, int] = {}
    for word in dict.fromkeys(words[:64]):
        misspelt = not asked.han and len(word) > 3
        counted |= _count(database, [word]) or _count(database, similar_words(database, word) if misspelt else ())
    kept: list[str] = []
    read = 0
    for token, forms in sorted(counted.items(), key=lambda one: (one[1], one[0])):
        read += forms
        if read > MOST_FORMS and kept:
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
