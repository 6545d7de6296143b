"""What people say in words that no list of names holds: red flags by description, and risks.

``drugs.tsv`` names drugs by class, and in its first row how it is said that one is taken, or how much of it.
``spoken.tsv`` has regular expressions, each with words of which a text has one where it can match; a group ``at`` is
what is read. ``phrases.tsv`` has phrases: of the words in brackets one is said, ``*`` stands for any ending, ``~`` for
up to five words (Chinese: eight characters) of the same clause, ``&&`` for the same with its sides in either order, a
blank also for articles, prepositions and the like, ``#`` for a number, ``<name>`` for a group of words. ``!`` before
an id: the phrase denies the finding, unless a negation stands before it, or "until" or "apart from" behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from kgdx.case.patient import Finding, Span, Status
from kgdx.lazy import lazy_pattern
from kgdx.terms.context import LIMITED
from kgdx.terms.normalise import CJK, read_table, simplify

FIGURE = "-"
"""Stands for a finding where words are a figure of speech or a comparison, and what is named in them is none."""
PRECEDING = "DDXPLUS:E_0"
"""An infection that was over before the illness: what is named in its words is history, and no finding of now."""
DENIED = "!"
"""Stands before the id of a finding that a phrase denies: "chest clear"."""
SCORE = 0.9
"""How sure such a reading is, as that of other wordings."""
_KEY = 4
"""Letters by which words are looked up."""
_SPACE = r"(?:[ \t-]|\n(?=[a-z]))+"
"""What parts words; a new line only where the sentence goes on."""
_FILLERS = (
    "the|an?|my|his|her|their|our|its|is|are|was|were|has|have|had|been|be|being|of|in|into|on|at|to|with|very|quite|so"
    "|really|all|both|left|right|up|gone|went|goes|got|gets?|getting|feels?|looks?|looking|bit|just|too|now|he|she|it"
    r"|and(?! (?:her|his|my|their|our|she|he|they|i)\b)"
)
_MARK, _MARKS = 0xE000, "\ue000-\ue0ff"
"""Words that may stand between others are written in letters of their own while phrases are looked for."""
_MARKED = {code: code + _MARK for code in range(128)}
_UNMARKED = {code: at for at, code in _MARKED.items()}
_BLANK = rf"{_SPACE}(?:[{_MARKS}]+{_SPACE}){{0,3}}"
_NEGATED = r"(?!(?:no|not|never|without|nor|denie[sd]|but|and|except|neg\w*|nil|blood|\w+n['’]t)\b)"
_GAP, _GAP_ZH = (
    rf"{_SPACE}(?:{_NEGATED}[^\s,.;:!?()+]+{_SPACE}){{0,5}}?",
    r"(?:(?![不无没未否及和与])[^，。；;,.！？、\s]){0,8}?",
)
_SIGN = {"(": "(?:", ")": ")", "|": "|", "*": r"\w*", "#": r"\d+"}
_FILLER = lazy_pattern(rf"\b(?:{_FILLERS})\b")
_SHORT_IS, _IS = lazy_pattern(r"(?<=[a-z])['’]s\b"), chr(_MARK + ord("s"))
"""An "is" or "has" that is written with the word before it, and how it is written while phrases are looked for."""
_TOKEN = lazy_pattern(r" ~ | |[()|*~#]|[^ ()|*~#]+")
_LITERAL = lazy_pattern(r"[(~*#]")
_CHOICES = lazy_pattern(r"\|(?![^(]*\))")
"""Between the choices of a bracket, but not those of one inside it."""
_STOP = lazy_pattern(r"[.;!?](?=\s)|[。；！？]|\n(?![a-z])")
"""Where a sentence ends, over which no phrase goes on."""
_TURNED = lazy_pattern(
    r"(?:\b(?:not|never|no longer|cannot|unable|used|stop(?:s|ped)?|hardly|barely|\w+n['’]t)(?:\s+\w+){0,2}\s+"
    r"|(?:[不没未无难](?:有|太|大|怎么|再)?|不是|并非|不能|以前|原来|本来|过去|曾经)\s*)$",
    re.IGNORECASE,
)
"""What turns the denial that stands behind it."""
_SPARED = lazy_pattern(r",? (?:apart from|except|other than)\b", re.IGNORECASE)
"""What takes back a part of a normal examination."""
_SEEN = 40
"""Letters before a denial that are looked at."""
_WORD = lazy_pattern(rf"[a-z0-9]+|[{CJK}]+")
_CHINESE = lazy_pattern(f"[{CJK}]")


class SpokenPattern(NamedTuple):
    """A row of a table."""

    id: str
    name: str
    needs: tuple[str, ...]
    pattern: str


@cache
def spoken_patterns() -> tuple[SpokenPattern, ...]:
    """Return the regular expressions of the tables."""
    rows = read_table(Path(__file__).with_name("spoken.tsv"))
    said = [SpokenPattern(id, name, tuple(needs.split("|")), pattern) for id, name, needs, pattern in rows]
    (_, _, taken, taken_zh), *drugs = read_table(Path(__file__).with_name("drugs.tsv"))
    for id, name, english, chinese in drugs:
        needs = (*english.lower().split("|"), *chinese.split("|"))
        pattern = f"{taken}|{taken_zh}".format(english=english, chinese=chinese)
        said.append(SpokenPattern(id, name, needs, pattern))
    return tuple(said)


@cache
def spoken_phrases() -> tuple[tuple[str, str, str], ...]:
    """Return the phrases of the table, spelt out but for their choices: id, name, phrase."""
    rows = read_table(Path(__file__).with_name("phrases.tsv"))
    groups = {f"<{name}>": words for id, name, words in rows if id == "@"}
    name = re.compile("|".join(map(re.escape, groups)))
    said = []
    for id, label, phrase in rows:
        if id != "@":
            sides = [side.strip() for side in name.sub(lambda found: groups[found[0]], phrase).split("&&")]
            gap = "~" if _CHINESE.search(phrase) else " ~ "
            said += [(id, label, gap.join(each)) for each in {tuple(sides): 0, tuple(sides[::-1]): 0}]
    return tuple(said)


@cache
def _phrases_by_key() -> dict[str, tuple[SpokenPattern, ...]]:
    found: dict[str, dict[SpokenPattern, None]] = {}
    for id, name, phrase in spoken_phrases():
        row = SpokenPattern(id, name, (), phrase)
        for words in beginnings(phrase):
            found.setdefault(_keys_of(words)[-1], {})[row] = None
    return {key: tuple(rows) for key, rows in found.items()}


@cache
def _choices(phrase: str) -> tuple[tuple[frozenset[str], ...], ...]:
    """Return for each part of a phrase what keys each of its choices needs."""
    parts = [beginnings(part) for part in _parts(phrase)]
    return tuple(tuple(map(_needed, part)) for part in parts if all(map(_WORD.search, part)))


def _needed(words: str) -> frozenset[str]:
    """Return the keys of all words, but for the end of "don't", which may be written as one with its beginning."""
    return frozenset(_keys_of(word[0])[-1] for word in _WORD.finditer(words) if words[word.start() - 1] not in "'’")


def _parts(phrase: str, ends: str = " ~(") -> Iterator[str]:
    start = depth = 0
    for end, sign in enumerate(phrase):
        if not depth and sign in ends:
            yield phrase[start:end]
            start = end if sign == "(" else end + 1
        depth += (sign == "(") - (sign == ")")
    yield phrase[start:]


def beginnings(phrase: str) -> list[str]:
    """Return what a phrase may begin with.

    Example:
        >>> beginnings("(cold|icy) hands"), beginnings("sheets ~ wet")
        (['cold', 'icy'], ['sheets '])
    """
    if phrase[:1] != "(":
        return [_LITERAL.split(phrase, maxsplit=1)[0].lower()]
    inner = next(_parts(phrase[1:], ")"))
    return [_LITERAL.split(part, maxsplit=1)[0].lower() for part in _CHOICES.split(inner)]


def _keys_of(words: str) -> list[str]:
    found = _WORD.search(words)
    first = found[0] if found else words
    longest = 2 if _CHINESE.match(first) else _KEY
    return [first[:length] for length in range(1, min(longest, len(first)) + 1)]


@lru_cache(maxsize=65536)
def _word_keys(word: str) -> tuple[str, ...]:
    starts = range(len(word)) if _CHINESE.match(word) else (0,)
    return tuple(key for start in starts for key in _keys_of(word[start:]))


def phrase_pattern(phrase: str) -> str:
    """Return a phrase as a regular expression."""
    chinese = bool(_CHINESE.search(phrase))
    parts = []
    for token in _TOKEN.findall(phrase):
        if "~" in token:
            parts.append(_GAP_ZH if chinese else _GAP)
        elif token == " ":
            parts.append("" if chinese else _BLANK)
        elif token == "*" and parts[-1][-1:] >= chr(_MARK):  # "look*": a word that may stand between, or a longer one
            parts[-1] = rf"(?:{parts[-1]}|{parts[-1].translate(_UNMARKED)}\w*)"
        else:
            said = re.escape(marked(token.lower())).replace("'", "['’]?").replace(rf"\ {_IS}", f"(?: {_IS}|s)")
            parts.append(_SIGN.get(token) or said)
    said = "".join(parts)
    return said if chinese else rf"(?<![\w{_MARKS}]){said}(?![\w{_MARKS}])"


def marked(text: str) -> str:
    """Write the words that may stand between others, in small letters, in letters of their own at the same places."""
    return _FILLER.sub(lambda found: found[0].translate(_MARKED), _SHORT_IS.sub(f" {_IS}", text))


@cache
def _compiled(pattern: str, phrase: bool) -> re.Pattern[str]:
    return re.compile(phrase_pattern(pattern)) if phrase else re.compile(pattern, re.IGNORECASE)


def spoken(text: str, known: Callable[[str], bool]) -> list[Finding]:
    """Return what a text says, all as present; of one thing in one place the longest."""
    return [each for each in _spoken(text) if known(each.id)]


@lru_cache(maxsize=2)
def _spoken(text: str) -> tuple[Finding, ...]:
    simple = simplify(text)
    plain = simple.lower() if len(simple.lower()) == len(simple) else simple
    found: dict[str, list[tuple[int, int, str]]] = {}
    for row in spoken_patterns():
        if any(each in plain for each in row.needs):
            for match in _compiled(row.pattern, False).finditer(simple):
                place = match.span("at" if match.groupdict().get("at") else 0)
                found.setdefault(row.id, []).append((*place, row.name))
    written = marked(plain)
    stops = [0, *(match.end() for match in _STOP.finditer(simple)), len(simple)]
    for start, end in pairwise(stops):
        for row in _near(plain[start:end]):
            pattern = _compiled(row.pattern, True)
            for match in pattern.finditer(written, start, end):
                place = _tightened(pattern, written, *match.span()) if "~" in row.pattern else match.span()
                found.setdefault(row.id, []).append((*place, row.name))
    kept, ruled = [], set[int]()
    for id, places in sorted(found.items()):
        taken, status = 0, Status.ABSENT if id.startswith(DENIED) else Status.PRESENT
        id = id.removeprefix(DENIED)
        for start, end, name in sorted(places, key=lambda place: (place[0], -place[1])):
            if taken <= start < end:
                taken = end
                said, at = text[start:end], Span(start, end)
                read = FIGURE if status is Status.ABSENT and turned(text, at) else id
                kept.append(Finding(read, status, name, at, said, said, "variant", SCORE))
                ruled.update(range(start, end) if id == FIGURE or status is Status.ABSENT else ())
    return tuple(
        e for e in kept if e.id == FIGURE or e.status is Status.ABSENT or not e.span or e.span.start not in ruled
    )


def _tightened(pattern: re.Pattern[str], text: str, start: int, end: int) -> tuple[int, int]:
    """Return where the shortest match with this end is: 尿痛 in 尿频尿急尿痛."""
    while (nearer := pattern.search(text, start + 1, end)) and nearer.end() == end:
        start = nearer.start()
    return start, end


def turned(text: str, at: Span) -> bool:
    """Return whether what denies a finding is denied itself: "not breathing normally", "throat fine apart from"."""
    behind = LIMITED.match(text, at.end) or _SPARED.match(text, at.end)
    return bool(behind or _TURNED.search(text[max(0, at.start - _SEEN) : at.start]))


def _near(plain: str) -> list[SpokenPattern]:
    index, keys = _phrases_by_key(), frozenset(key for word in set(_WORD.findall(plain)) for key in _word_keys(word))
    near = {row: None for key in keys for row in index.get(key, ())}
    return [row for row in near if all(any(map(keys.issuperset, part)) for part in _choices(row.pattern))]
