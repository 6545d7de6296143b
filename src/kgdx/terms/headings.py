"""The parts of a clinical note: what stands under a heading such as ``FHx:``, and where another patient begins.

The headings stand in ``headings.tsv``. What stands behind a heading in its line belongs to it as far as that line; what
stands in the lines below it, as far as an empty line; a heading that follows ends it in any case.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from kgdx.lazy import lazy_pattern
from kgdx.terms.kin import named
from kgdx.terms.normalise import CJK, read_table, simplify

OTHER = "other"
"""Kind of a part that tells of a second patient."""

_CLAUSE_START = r"(?:(?:^|(?<=[\n.;:,，。；：、!！]))[ \t]*(?:[-*•#>]+|\d{1,2}[.)])?[ \t]*)"
_BLANK_LINE = lazy_pattern(r"\n[ \t]*\r?\n")
_NEW_ITEM = lazy_pattern(rf"[\r\n]+[ \t]*(?=[A-Z{CJK}\d•*#-])")
_STOP = lazy_pattern(r"[.;](?=\s|$)|[。；]")
_NOTHING = lazy_pattern(
    r"[\s:：-]*(?:nil|none|neg(?:ative)?|n/?c|nad|unremarkable|non-?contributory|not contributory|normal|no|unknown"
    r"|not known|无特殊|无殊|无异常|阴性|不详|无|[（(]\s*[-－—]\s*[)）])"
    r"(?:\s*(?:of note|known|relevant|noted|significant|记载|可询))?"
    r"\s*(?=[.,;，。；\n]|$)",
    re.IGNORECASE,
)
"""What may stand behind a heading to say that there is nothing under it: the next clause is not under it."""

_PATIENT = lazy_pattern(
    r"(?:^|(?<=[.;,\n。；，])\s?)\s*(?:(?:he|she|i|they|(?:(?:our|the|this|index) )?(?:patient|proband|child|baby"
    r"|infant)|on exam\w*|today|currently|presents|presented|referred)\b|患者|患儿|病人|先证者|本人|现|目前|近|入院|因"
    r"|查|体查)",
    re.IGNORECASE,
)
"""How a clause begins that tells of the patient again."""

_NUMBERED = lazy_pattern(
    r"(?<!\w)(?:(?P<kind>patient|case|proband|subject|child)[ \t]*(?:no\.?|number|#)?[ \t]*"
    r"(?P<number>[1-9]|I{1,3}|[A-D])(?![\w/.-]*\w)"
    r"|(?P<nth>first|second|third) (?P<nthkind>patient|case|child)\b|(?P<twin>twin) (?P<letter>[A-D12])\b"
    r"|(?P<人>患者|患儿|病例|病人|例)(?P<数>[1-9一二三甲乙])(?![\d岁月天日年周个例名次位男女]))",
    re.IGNORECASE,
)
_ORDER = {"i": "1", "ii": "2", "iii": "3", "a": "1", "b": "2", "c": "3", "d": "4"}
_ORDER |= {"first": "1", "second": "2", "third": "3", "一": "1", "二": "2", "三": "3", "甲": "1", "乙": "2"}
_PHRASE_ENDS = "\x01"
"""Marks the end of a phrase that ends in a letter, where no other letter may follow."""


@dataclass(frozen=True, slots=True)
class NotePart:
    """A part of a note.

    Attributes:
        kind: ``patient``, ``family``, ``absent``, ``hypothetical`` or ``other`` (a second patient).
    """

    start: int
    body: int
    end: int
    kind: str


@cache
def _kinds() -> dict[str, tuple[str, bool]]:
    rows = read_table(Path(__file__).with_name("headings.tsv"))
    return {heading: (kind, plain == "yes") for kind, plain, heading in rows}


@cache
def _pattern() -> re.Pattern[str]:
    plain = phrase_tree([heading for heading, (_, alone) in _kinds().items() if alone])
    latin = phrase_tree([heading for heading in _kinds() if heading.isascii()])
    han = phrase_tree([heading for heading in _kinds() if not heading.isascii()])
    return re.compile(
        rf"(?<![\w/?])(?P<colon>{latin})(?:\s*[:：]|[ \t]*[-–—=]{{1,2}}>?[ \t])"
        rf"|{_CLAUSE_START}(?P<colon2>{han})\s*[:：]"
        rf"|{_CLAUSE_START}(?P<plain>{plain})(?!\s*(?:of|for|is|was)\b)"
        r"(?:\s*[:：]|[ \t]*[-–—=]{1,2}>?[ \t])?"
        rf"|(?:^|(?<=\n))[ \t]*(?P<line>{latin}|{han})[ \t]*(?=\r?\n)",
        re.IGNORECASE,
    )


def parts(text: str) -> list[NotePart]:
    """Return the parts of a text that stand under headings, in its order; what stands before the first is none."""
    plain = simplify(text)
    found = [(match.start(), match.end(), _kind(match)) for match in _pattern().finditer(plain)]
    found += [(start, end, kind) for start, end, kind, _ in _patients(plain)]
    found.sort()
    result = []
    for number, (start, body, kind) in enumerate(found):
        after = found[number + 1][0] if number + 1 < len(found) else len(text)
        result.append(NotePart(start, body, _end(plain, body, after, kind), kind))
    return result


def kind_at(known: Sequence[NotePart], place: int) -> str:
    at = bisect_right(known, place, key=lambda part: part.start) - 1
    return known[at].kind if at >= 0 and place < known[at].end else "patient"


def patients(text: str) -> list[tuple[int, int]]:
    """Return where each patient of a text is named first, if there are several; otherwise nothing."""
    first: dict[str, tuple[int, int]] = {}
    for start, end, _, number in _patients(simplify(text)):
        first.setdefault(number, (start, end))
    return list(first.values())


def _patients(text: str) -> list[tuple[int, int, str, str]]:
    found = []
    for match in _NUMBERED.finditer(text):
        said = match["number"] or match["nth"] or match["letter"] or match["数"]
        number = _ORDER.get(said.lower(), said)
        found.append((match.start(), match.end(), number))
    if len({number for *_, number in found}) < 2:
        return []
    own = found[0][2]
    return [(start, end, "patient" if number == own else OTHER, number) for start, end, number in found]


def _kind(match: re.Match[str]) -> str:
    said = match["colon"] or match["colon2"] or match["plain"] or match["line"]
    return _kinds()[re.sub(r"\s+", " ", said.lower())][0]


def _last_of_kin(text: str, body: int, after: int) -> int:
    ends = [match.end() for match in _STOP.finditer(text, body, after)]
    for end, beyond in pairwise([*ends, after]):
        if not named(text[end:beyond]):
            return end
    return after


def _end(text: str, body: int, after: int, kind: str) -> int:
    if kind in ("patient", OTHER):
        return after
    if nothing := _NOTHING.match(text, body, after):
        return nothing.end()
    ends = [after]
    inline = text[body:after].split("\n", 1)[0].strip()
    if inline:
        ends += [match.start() for match in [_NEW_ITEM.search(text, body, after)] if match]
        if kind == "family":
            ends.append(_last_of_kin(text, body, after))
        else:
            ends += [match.end() for match in [_STOP.search(text, body, after)] if match]
    elif first := re.compile(r"\S").search(text, body, after):
        ends += [match.start() for match in [_BLANK_LINE.search(text, first.start(), after)] if match]
    if kind == "family":
        ends += [match.start() for match in [_PATIENT.search(text, body + 1, after)] if match]
    return min(ends)


def phrase_tree(phrases: Sequence[str]) -> str:
    """Return phrases as nested alternatives by their first letters; of several that fit the longest is found.

    A blank stands for any white space, and no letter may follow a phrase that ends in one of the Latin alphabet.

    Example:
        >>> re.findall(phrase_tree(["no", "no sign of", "non"]), "no sign of it, no rash, none")
        ['no sign of', 'no']
    """
    by_first: dict[str, list[str]] = {}
    for phrase in phrases:
        by_first.setdefault(phrase[:1], []).append(phrase[1:])
    branches = []
    for first, rests in sorted(by_first.items(), reverse=True):  # where a phrase ends comes last
        if first in ("", _PHRASE_ENDS):
            branches.append(r"\b" if first else "")
            continue
        sign = r"\s+" if first == " " else "['’]" if first == "'" else re.escape(first)
        ending = _PHRASE_ENDS if first.isascii() and first.isalnum() else ""
        branches.append(sign + phrase_tree([rest or ending for rest in rests]))
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"


def any_of(phrases: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern of phrases that begin words, and of signs and Chinese words that stand anywhere."""
    words = [phrase for phrase in phrases if phrase[0].isascii() and phrase[0].isalnum()]
    signs = [phrase for phrase in phrases if phrase not in set(words)]
    kinds = [rf"\b(?:{phrase_tree(words)})", phrase_tree(signs)]
    return re.compile("|".join(kind for kind, given in zip(kinds, (words, signs), strict=True) if given), re.IGNORECASE)
