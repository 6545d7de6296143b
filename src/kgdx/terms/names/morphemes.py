"""What a name of a disease or finding says, in meanings that two languages share: 胆囊炎 and cholecystitis are one.

A name is parted into the words and parts of words that ``morphemes.tsv`` knows, as few as cover most of it; what it
does not know stays as it is written. So two names of one language are equal whatever words they choose (后天性,
获得性), and two of different languages where the table covers both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from kgdx.terms.normalise import form, has_chinese, inflection, read_table

_TABLE = Path(__file__).with_suffix(".tsv")
_PIECE, _UNKNOWN = 1.0, 8.0
"""What a known piece costs, and each word or Chinese character that is not known: the cheapest parting is taken."""
_SHORTEST = 5
"""Letters of the shortest word that may follow a combining form: neuro-endocrine."""
_LINKS = ("", "o", "i")


class _Lexicon(NamedTuple):
    kind: Mapping[int, str]
    english: Mapping[str, int]
    first: Mapping[str, int]
    last: Mapping[str, int]
    chinese: Mapping[str, int]
    longest: tuple[int, int]
    inborn: frozenset[int]
    words: frozenset[str]


@cache
def _lexicon() -> _Lexicon:
    kinds: dict[int, str] = {}
    english: dict[str, int] = {}
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    chinese: dict[str, int] = {}
    for number, (kind, left, right) in enumerate(read_table(_TABLE)):
        kinds[number] = kind
        for text in filter(None, map(str.strip, left.split(";"))):
            if text.endswith("-"):
                first.setdefault(text[:-1], number)
            elif text.startswith("-"):
                last.setdefault(inflection(text[1:]), number)
            else:
                english.setdefault(form(text).key, number)
        for text in filter(None, map(str.strip, right.split(";"))):
            chinese.setdefault(form(text).key, number)
    longest = max(text.count(" ") + 1 for text in english), max(map(len, chinese))
    inborn = frozenset(english[word] for word in ("congenital", "hereditary", "familial", "xlinked"))
    words = frozenset(word for text in english for word in text.split())
    return _Lexicon(kinds, english, first, last, chinese, longest, inborn, words)


@lru_cache(maxsize=1 << 17)
def meaning(text: str) -> str:
    """Return what a name says, in no order: meanings of the table (``#12``), and words that it lacks."""
    lexicon, pieces = _lexicon(), _pieces(form(text).key)
    found = [piece for piece in pieces if isinstance(piece, str) or lexicon.kind[piece] != "little"]
    kinds = {lexicon.kind[piece] for piece in found if isinstance(piece, int)}
    heads = {piece for piece in found if isinstance(piece, int) and lexicon.kind[piece] == "head"}
    if "germ" in kinds:
        heads.add(lexicon.english["infection"])
    if "child" in kinds:
        heads.add(lexicon.english["congenital"])
    if kinds & {"child", "name"} or not lexicon.inborn.isdisjoint(found):
        heads.add(lexicon.english["child"])
    kept = [piece for piece in found if piece not in heads] or found
    return " ".join(sorted(f"#{piece}" if isinstance(piece, int) else piece for piece in kept))


@lru_cache(maxsize=1 << 17)
def _pieces(key: str) -> tuple[int | str, ...]:
    lexicon = _lexicon()
    if has_chinese(key):
        return tuple(_parted(list(key), "", lexicon.chinese, lexicon.longest[1], lambda part: []))
    words = [_with_apostrophe(word) for word in _without_initials(key.split())]
    return tuple(_parted(words, " ", lexicon.english, lexicon.longest[0], _word_parts))


def adds(one: str, other: str) -> bool:
    """Return whether one name says all that the other says, and more: that of a part, a form or a complication.

    Example:
        >>> adds(meaning("Parkinson disease"), meaning("帕金森病性痴呆")), adds(meaning("gout"), meaning("痛风"))
        (True, False)
    """
    mine, yours = set(one.split()), set(other.split())
    return mine < yours or yours < mine


def without_population(said: str) -> str:
    """Return what a name says but for the children or the old that it is of; nothing where it is of neither.

    Example:
        >>> without_population(meaning("小儿肺炎")) == meaning("pneumonia"), without_population(meaning("肺炎"))
        (True, '')
    """
    some = {f"#{_lexicon().english[word]}" for word in ("child", "elderly")}
    words = said.split()
    kept = [each for each in words if each not in some]
    return " ".join(kept) if len(kept) < len(words) else ""


def names_disorder(text: str) -> bool:
    """Return whether a name has a word that says only that something is wrong: "joint problems", but not "joints".

    Example:
        >>> names_disorder("肺部"), names_disorder("肺部疾病")
        (False, True)
    """
    return any(isinstance(piece, int) and _lexicon().kind[piece] == "head" for piece in _pieces(form(text).key))


def ends_in_word(text: str) -> bool:
    """Return whether a Chinese text ends in a word, or part of one, that the table knows.

    Example:
        >>> ends_in_word("劳累后"), ends_in_word("肛门"), ends_in_word("酪氨")
        (True, True, False)
    """
    known = _lexicon()
    return any(text[start:] in known.chinese for start in range(max(0, len(text) - known.longest[1]), len(text)))


def beginnings(keys: Iterable[str]) -> set[str]:
    """Return the first four letters of all English words that may be in a name with one of these keys."""
    lexicon = _lexicon()
    said = {each for key in keys for each in key.split(" ")}
    rows = {number for number, kind in lexicon.kind.items() if kind or f"#{number}" in said}
    texts = [text for known in (lexicon.english, lexicon.first) for text, number in known.items() if number in rows]
    return {word[:4] for text in (*texts, *said) for word in text.split(" ")}


def _parted(
    parts: list[str], between: str, known: Mapping[str, int], longest: int, inside: Callable[[str], list[int]]
) -> Iterator[int | str]:
    best: list[tuple[float, int, tuple[int, ...]]] = [(0.0, 0, ())]
    for end in range(1, len(parts) + 1):
        options: list[tuple[float, int, tuple[int, ...]]] = [(best[end - 1][0] + _UNKNOWN, end - 1, ())]
        for start in range(max(0, end - longest), end):
            text = between.join(parts[start:end])
            if (number := known.get(text)) is not None:
                options.append((best[start][0] + _PIECE, start, (number,)))
            elif start == end - 1 and (within := inside(text)):
                options.append((best[start][0] + _PIECE * len(within), start, tuple(within)))
        best.append(min(options, key=lambda option: (option[0], option[1])))
    places, at = [], len(parts)
    while at:
        _, start, numbers = best[at]
        places.append((start, at, numbers))
        at = start
    for known_here, run in groupby(reversed(places), key=lambda place: bool(place[2])):
        found = [piece for start, end, numbers in run for piece in numbers or parts[start:end]]
        yield from found if known_here or between else ["".join(map(str, found))]


def _without_initials(words: list[str]) -> list[str]:
    for short, rest in ((words[-1], words[:-1]), (words[0], words[1:])) if len(words) > 2 else ():
        initials = "".join(word[0] for word in rest)
        if len(short) > 2 and (short == initials or short.removesuffix("s") == initials):
            return rest
    return words


def _with_apostrophe(word: str) -> str:
    words = _lexicon().words
    return word[:-1] if word not in words and word.endswith("s") and word[:-1] in words else word


@lru_cache(maxsize=1 << 14)
def _word_parts(word: str) -> list[int]:
    lexicon = _lexicon()

    def rest(text: str) -> list[int] | None:
        if (number := lexicon.last.get(text)) is not None:
            return [number]
        if len(text) >= _SHORTEST and (number := lexicon.english.get(text)) is not None:
            return [number]
        for end in range(len(text) - 1, 1, -1):
            number = lexicon.first.get(text[:end])
            if number is None and end >= _SHORTEST:
                number = lexicon.english.get(text[:end])
            if number is None:
                continue
            for link in _LINKS:
                if text[end:].startswith(link) and (found := rest(text[end + len(link) :])) is not None:
                    return [number, *found]
        return None

    found = rest(word)
    return found if found is not None and len(found) > 1 else []
