"""Where a text names an analyte, and in which specimen."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from kgdx.terms.measured.analytes import Analyte, analytes
from kgdx.terms.normalise import CJK, fold, read_table

_TOKEN = re.compile(rf"(?:(?![{CJK}_])[^\W\d])+\d*(?:(?![{CJK}_])[^\W\d])*|\d+(?:(?![{CJK}_])[^\W\d])*|[+]")
_GAP = re.compile(r"[\s\-–/.,:()&']{0,2}")
_HAN = re.compile(f"[{CJK}]")
_BREAK = re.compile(r"[.;](?=\s|$)|[。；\n]")
_COLON = re.compile(r"\s*[:：]")
BLOOD, BODY = "", "body"
"""Specimens of what is measured in blood unless something else is said, and of what is measured in no specimen."""
_BESIDE = 2
"""Characters between a specimen and a name that it belongs to."""
_EXACT = 3
"""Letters of the longest name whose capitals count: K and Na are names, k and na are not."""


class Mention(NamedTuple):
    """A place at which a text names what can be measured.

    Attributes:
        start: Where the name begins.
        end: Where it ends.
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
def _names() -> tuple[dict[str, list[_Name]], dict[str, list[_Name]], re.Pattern[str], dict[str, tuple[str, str]]]:
    """Names by their first word, Chinese ones by their first character, and the words that name a specimen."""
    keys: dict[str, list[str]] = defaultdict(list)
    for analyte in analytes().values():
        for written in analyte.names:
            if analyte.key not in keys[written]:
                keys[written].append(analyte.key)
    for (written,) in read_table(Path(__file__).with_name("not_analytes.tsv")):
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
    longest = sorted(specimens, key=len, reverse=True)
    pattern = "|".join(rf"(?<!\w){re.escape(word)}(?!\w)" if word.isascii() else re.escape(word) for word in longest)
    return dict(words), dict(han), re.compile(pattern, re.IGNORECASE), specimens


def spotted(text: str) -> list[Mention]:
    """Return the places at which a text names analytes, in order; of names that overlap, the longer.

    Example:
        >>> [(each.start, each.end, each.analytes[0].key) for each in spotted("CK 5000, K 2.1")]
        [(0, 2, 'creatine_kinase'), (9, 10, 'potassium')]
    """
    words, han, _, _ = _names()
    found = [*_words(text, words), *_chinese(text, han)]
    found.sort(key=lambda each: (each[0], -each[1]))
    said, reach = _specimens(text), 0
    mentions = []
    for start, end, keys in found:
        if start < reach:
            continue
        reach = end
        if of := _of(keys, said, start):
            mentions.append(Mention(start, end, of))
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
    """Whether words are a name's, the last one perhaps in the plural."""
    return tuple(said[:-1]) == name[:-1] and (
        said[-1] == name[-1] or (len(name[-1]) > _EXACT and said[-1] in (name[-1] + "s", name[-1] + "es"))
    )


def _chinese(text: str, names: dict[str, list[_Name]]) -> list[tuple[int, int, tuple[str, ...]]]:
    if not _HAN.search(text):
        return []
    folded = text.lower() if len(text.lower()) == len(text) else text
    found, at = [], 0
    while at < len(folded):
        for name in names.get(folded[at], ()):
            if folded.startswith(name.written, at):
                found.append((at, at + len(name.written), name.keys))
                at += len(name.written) - 1
                break
        at += 1
    return found


def _specimens(text: str) -> list[tuple[int, int, str]]:
    """Where the text says which specimen is spoken of, and until where that holds."""
    _, _, pattern, kinds = _names()
    breaks = [match.start() for match in _BREAK.finditer(text)]
    found = []
    for match in pattern.finditer(text):
        kind, reach = kinds[match.group().lower()]
        if reach == "sentence" or _COLON.match(text, match.end()):
            at = bisect_left(breaks, match.end())
            found.append((match.start(), breaks[at] if at < len(breaks) else len(text), kind))
        else:
            found.append((match.start(), match.end() + _BESIDE, kind))
    return found


def _of(keys: tuple[str, ...], said: list[tuple[int, int, str]], start: int) -> tuple[Analyte, ...]:
    """The analytes of a name, in the specimen that the sentence speaks of."""
    specimen = next((kind for begin, end, kind in reversed(said) if begin <= start <= end), BLOOD)
    named = [analytes()[key] for key in keys]
    fitting = [each for each in named if each.specimen in (specimen, BODY)]
    return tuple(fitting or (named if len(named) == 1 and specimen == BLOOD else ()))
