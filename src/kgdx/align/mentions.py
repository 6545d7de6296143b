"""Entities that a question names: all runs of its words, and of its Chinese characters, are looked up at once."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kgdx.align.index_file import marks
from kgdx.align.named import KINDS, Mention
from kgdx.text.stems import CJK, Folded, fold_chinese, fold_name, same_length, word_key, word_list

READ = 10_000
"""Characters of a text that are read: it is a question."""
MOST_WORDS = 10
MOST_CHARACTERS = 24
"""Length of the longest name that is looked for, in words and in Chinese characters."""

_CURIE = re.compile(r"(?<![\w:])[A-Za-z][A-Za-z_.]*:[A-Za-z0-9_.]*[A-Za-z0-9]", re.ASCII)
_TOKEN = re.compile(rf"(?:[^\W_{CJK}]|[+<>%'’`])+")
_HAN = re.compile(rf"[{CJK}]")
_PLAIN = re.compile(r"[^\W_]")
_JOINS = frozenset("-‐‑–—－·•/／()（）[]［］\"'“”‘’")
"""Signs that stand within Chinese names: 锁骨下动脉-腋动脉瘤, 静注人免疫球蛋白(pH4), 抗溶血性链球菌“O”试验."""
_CLOSES = {")": "(", "）": "（", "]": "[", "］": "［", "”": "“", "’": "‘"}
_GENE, _DRUG = KINDS.index("Gene"), KINDS.index("Drug")
_SAYS_NOTHING = word_list("question")
"""Words of questions that some source has as a name."""


@dataclass(frozen=True, slots=True)
class _Run:
    """A part of the text that may be a name: where it stands, and the forms under which to look it up."""

    start: int
    end: int
    forms: tuple[str, ...]


_Found = tuple[_Run, dict[int, list[Any]]]
"""A part of the text, and the rows (id, class, name, weight) that it stands for, by class."""


def mentions(database: sqlite3.Connection, text: str, kinds: Sequence[int]) -> list[Mention]:
    """Return the parts of a text that name entries, in order; where two overlap, the longer one."""
    read = text[:READ]
    runs = [run for run in (*_words(read), *_characters(read)) if not _SAYS_NOTHING.intersection(run.forms)]
    named = _look_up(database, {form for run in runs for form in run.forms}, kinds)
    found = list(_ids(database, read, kinds))
    for run in runs:
        said = read[run.start : run.end]
        by_kind: dict[int, list[Any]] = defaultdict(list)
        for row in {row for form in run.forms for row in named.get(form, ())}:
            if row[1] != _GENE or row[2] == said:
                by_kind[row[1]].append(row)
        if by_kind:
            found.append((run, by_kind))
    return list(_longest(read, found))


def _ids(database: sqlite3.Connection, text: str, kinds: Sequence[int]) -> Iterator[_Found]:
    """The ids in a text that entries have, or had before."""
    for written in _CURIE.finditer(text):
        by_kind: dict[int, list[Any]] = defaultdict(list)
        query = (
            "SELECT id, kind, name, 1.0 FROM entity WHERE id = ? UNION SELECT e.id, e.kind, e.name, 1.0 "
            "FROM other_id o JOIN entity e ON e.number = o.entity WHERE o.id = ?"
        )
        for row in database.execute(query, (written[0], written[0])):
            if row[1] in kinds:
                by_kind[row[1]].append(row)
        if by_kind:
            yield _Run(written.start(), written.end(), ()), by_kind


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


def _words(text: str) -> Iterator[_Run]:
    """Runs of words of a text, each folded, and each without plural and spelling variant."""
    tokens = [(found.start(), found.end(), fold_name(found[0])) for found in _TOKEN.finditer(text)]
    tokens = [token for token in tokens if token[2]]
    keys = [" ".join(part for word in folded.split(" ") for part in word_key(word)) for _, _, folded in tokens]
    for first in range(len(tokens)):
        for last in range(first, min(first + MOST_WORDS, len(tokens))):
            folded = " ".join(token[2] for token in tokens[first : last + 1])
            key = " ".join(filter(None, keys[first : last + 1]))
            yield _Run(tokens[first][0], tokens[last][1], tuple(dict.fromkeys((folded, key or folded))))


def _characters(text: str) -> Iterator[_Run]:
    """Runs of characters around Chinese ones; none begins or ends within a word or number of other letters."""
    folded = fold_chinese(text)
    plain, other = folded.text, same_length(folded.text)
    for start in range(len(plain)):
        if not _PLAIN.match(plain[start]) or not _begins(folded, start):
            continue
        for end in range(start + 1, min(start + MOST_CHARACTERS, len(plain)) + 1):
            if not _PLAIN.match(plain[end - 1]):
                if plain[end - 1] in _JOINS:
                    continue
                break
            if _begins(folded, end) and _HAN.search(plain, start, end) and end - start > 1:
                forms = tuple(dict.fromkeys(_letters(each[start:end]) for each in (plain, other)))
                yield _Run(folded.places[start], _closed(text, folded.places[start], folded.places[end - 1] + 1), forms)


def _letters(said: str) -> str:
    """A Chinese name as it is kept: without the signs in it."""
    return said if said.isalnum() else "".join(sign for sign in said if sign.isalnum())


def _closed(text: str, start: int, end: int) -> int:
    """Where a name ends when the bracket or quotation mark that is open in it is closed right after it."""
    opening = _CLOSES.get(text[end : end + 1])
    return end + 1 if opening is not None and opening in text[start:end] else end


def _begins(folded: Folded, at: int) -> bool:
    """Whether a name may begin, or the one before end, at a place: not between two letters or digits of one word."""
    if not 0 < at < len(folded.text) or folded.places[at] > folded.places[at - 1] + 1:
        return True
    pair = folded.text[at - 1 : at + 1]
    return bool(_HAN.search(pair)) or not pair.isalnum()


def _look_up(database: sqlite3.Connection, forms: set[str], kinds: Sequence[int]) -> dict[str, list[Any]]:
    """Rows (id, class, name, weight) of the entries that have a form as a name in full."""
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
    for form, *row in database.execute(query, (asked, *kinds, asked, *kinds)):
        found[form].append(tuple(row))
    return found
