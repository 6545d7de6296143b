"""Where a text names an analyte, and in which specimen."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from kgdx.lazy import lazy_pattern
from kgdx.terms.measured.analytes import BLOOD, BODY, Analyte, analytes
from kgdx.terms.normalise import CJK, fold, read_table

_TOKEN = lazy_pattern(rf"(?:(?![{CJK}_])[^\W\d])+\d*(?:(?![{CJK}_])[^\W\d])*|\d+(?:(?![{CJK}_])[^\W\d])*|[+]")
_GAP = lazy_pattern(r"[\s\-–/.,:()&']{0,2}")
_HAN = lazy_pattern(f"[{CJK}]")
_BREAK = lazy_pattern(r"[.;](?=\s|$)|[。；\n]")
_COLON = lazy_pattern(r"\s*[:：]")
_BESIDE = 2
"""Characters between a specimen and a name that it belongs to."""
_EXACT = 3
"""Letters of the longest name whose capitals count: K and Na are names, k and na are not."""


class AnalyteMention(NamedTuple):
    """A place at which a text names what can be measured.

    Attributes:
        analytes: What it may mean: most names mean one analyte, T means temperature, and P pulse or phosphate.
    """

    start: int
    end: int
    analytes: tuple[Analyte, ...]


class _Name(NamedTuple):
    tokens: tuple[str, ...]
    written: str
    keys: tuple[str, ...]


@lru_cache(maxsize=1)
def _names() -> tuple[dict[str, list[_Name]], dict[str, list[_Name]], dict[str, tuple[str, str]]]:
    keys: dict[str, list[str]] = defaultdict(list)
    for analyte in analytes().values():
        for written in analyte.names:
            if analyte.key not in keys[written]:
                keys[written].append(analyte.key)
    for written in _not_analytes("always"):
        keys[written] = []
    words: dict[str, list[_Name]] = defaultdict(list)
    han: dict[str, list[_Name]] = defaultdict(list)
    for written, named in keys.items():
        if _HAN.search(written):
            han[written[0].lower()].append(_Name((), written.lower(), tuple(named)))
            continue
        tokens = tuple(fold(token) for token in _TOKEN.findall(written))
        words[tokens[0]].append(_Name(tokens, written, tuple(named)))
    for listed in (*words.values(), *han.values()):
        listed.sort(key=lambda each: (len(each.tokens), len(each.written)), reverse=True)
    specimens = {word: (kind, reach) for word, kind, reach in read_table(Path(__file__).with_name("specimens.tsv"))}
    return dict(words), dict(han), specimens


def spotted(text: str) -> list[AnalyteMention]:
    """Return the places at which a text names analytes, in order; of names that overlap, the longer."""
    words, han, _ = _names()
    found = [*_words(text, words), *_chinese(text, han)]
    found.sort(key=lambda each: (each[0], -each[1]))
    said, reach = _specimens(text), 0
    mentions = []
    for start, end, keys in found:
        if start < reach:
            continue
        reach = end
        if of := _of(keys, said, start, text[start:end].lower()):
            mentions.append(AnalyteMention(start, end, of))
    return mentions


def _words(text: str, names: dict[str, list[_Name]]) -> list[tuple[int, int, tuple[str, ...]]]:
    tokens = [(match.start(), match.end()) for match in _TOKEN.finditer(text)]
    folded = [fold(text[start:end]) for start, end in tokens]
    found, at = [], 0
    while at < len(tokens):
        step = 1
        for name in names.get(folded[at], names.get(folded[at].removesuffix("s"), ())):
            last = at + len(name.tokens)
            if last > len(tokens) or not _same(folded[at:last], name.tokens):
                continue
            start, end = tokens[at][0], tokens[last - 1][1]
            if len(name.written) <= _EXACT and text[start:end] != name.written:
                continue
            if all(_GAP.fullmatch(text, tokens[i][1], tokens[i + 1][0]) for i in range(at, last - 1)):
                found.append((start, end, name.keys))
                step = len(name.tokens)
                break
        at += step
    return found


def _same(said: list[str], name: tuple[str, ...]) -> bool:
    return tuple(said[:-1]) == name[:-1] and (
        said[-1] == name[-1] or (len(name[-1]) > _EXACT and said[-1] in (name[-1] + "s", name[-1] + "es"))
    )


def _chinese(text: str, names: dict[str, list[_Name]]) -> list[tuple[int, int, tuple[str, ...]]]:
    if not _HAN.search(text):
        return []
    folded = text.lower() if len(text.lower()) == len(text) else text
    found, reach = [], 0
    for match in _first_signs().finditer(folded):
        at = match.start()
        if at < reach:
            continue
        for name in names[match.group()]:
            if folded.startswith(name.written, at):
                reach = at + len(name.written)
                found.append((at, reach, name.keys))
                break
    return found


@lru_cache(maxsize=1)
def _first_signs() -> re.Pattern[str]:
    return re.compile("[" + re.escape("".join(_names()[1])) + "]")


def _specimens(text: str) -> list[tuple[int, int, str]]:
    _, _, kinds = _names()
    breaks = [match.start() for match in _BREAK.finditer(text)]
    found = []
    folded = text.lower()
    there = tuple(word for word in kinds if word in folded)
    if not there:
        return []
    for match in _specimen_words(there).finditer(text):
        kind, reach = kinds.get(match.group().lower(), ("", ""))  # the dotless i is an i to the pattern, not here
        if reach == "sentence" or _COLON.match(text, match.end()):
            at = bisect_left(breaks, match.end())
            found.append((match.start(), breaks[at] if at < len(breaks) else len(text), kind))
        elif reach != "heading":
            found.append((match.start(), match.end() + _BESIDE, kind))
    return found


@lru_cache(maxsize=256)
def _specimen_words(words: tuple[str, ...]) -> re.Pattern[str]:
    longest = sorted(words, key=len, reverse=True)
    parts = (rf"(?<!\w){re.escape(word)}(?!\w)" if word.isascii() else re.escape(word) for word in longest)
    return re.compile("|".join(parts), re.IGNORECASE)


@lru_cache(maxsize=2)
def _not_analytes(when: str) -> frozenset[str]:
    rows = read_table(Path(__file__).with_name("not_analytes.tsv"))
    return frozenset(name for name, kind in rows if kind == when)


def _of(keys: tuple[str, ...], said: list[tuple[int, int, str]], start: int, name: str) -> tuple[Analyte, ...]:
    itself = name in _names()[2]  # "blood" under a heading of urine is no other specimen
    held = (kind for begin, end, kind in reversed(said) if begin <= start <= end and not (itself and begin == start))
    specimen = next(held, BLOOD)
    named = [analytes()[key] for key in keys]
    fitting = [each for each in named if each.specimen in (specimen, BODY)]
    telling = len(named) == 1 and specimen == BLOOD and name not in _not_analytes("alone")
    return tuple(fitting or (named if telling else ()))
