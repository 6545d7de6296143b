"""Findings put together from a place of the body and what is felt or seen there (``sites.tsv``), English and Chinese.

Wordings that stand in a table as a whole are read first; a quality that none of them takes up goes to the place that
follows it ("no feeling in both feet"), else to the nearest before it in its clause ("her elbow, when lifted, hurts").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from kgdx.case.patient import Finding, Span, Status
from kgdx.lazy import lazy_pattern
from kgdx.terms.everyday import spelt_out
from kgdx.terms.headings import any_of
from kgdx.terms.normalise import read_table, simplify

SCORE, GENERAL = 0.85, 0.8
"""How sure a finding of a place is, and one that is the same at any place."""
_ANYWHERE = "*"
_NOTHING = "-"
"""A word that only looks like one of a place or quality, and a place and quality that name no finding."""
_NOT = r"(?:no|not|never|without|nor|denie[sd]|but|except|normal|fine|\w+n['’]t)\b"
_SMALL = (
    "the|an?|my|his|her|their|our|your|both|left|right|one|[LR]|upper|lower|back|front|sides?|top|tips?|base|whole"
    "|entire|all|inner|outer|big|little|of|in|on|at|to|down|up|along|around|round|behind|under|over|inside|across"
    "|through|into|by|near|and(?! (?:my|his|her|their|our)\\b)"
)
_FOLLOWS = lazy_pattern(rf"\s+(?:(?:{_SMALL})\s+){{0,5}}|", re.IGNORECASE)
"""Between a quality and the place behind it."""
_BEFORE = lazy_pattern(
    r"(?:\s+(?:is |are )?(?:normal|fine|ok(?:ay)?|clear|good|unremarkable) (?:but|apart from|except(?: for)?))?"
    rf"(?:\s+(?!{_NOT})[^\s,.;:!?()]+){{0,5}}\s+"
    "|(?:也|都|很|又|有点儿?|总是?|老是?|就|是|一直|经常|常常|感觉|觉得|感到|最近|突然|这几天|今天|昨天|早上|晚上|夜里|走路|部|上|里|边"
    "|侧|特别|越来越|开始|出现|有时|时不时|一?阵阵?|隐隐|持续|反复|轻微|明显|剧烈|又红又|还|会|得|关节|周围|附近|[左右双两]侧|那里|这里|处"
    "|一[^，。；,]{1,4}就){0,4}",
    re.IGNORECASE,
)
"""Between a place and the quality behind it."""
_FAR = lazy_pattern("[^，。；,.;！？\\s不没无未否]{0,7}")
"""The same for what is told of a place at length: 肩膀抬到一半就卡住."""
_FELT = frozenset(
    ("pain", "swelling", "numbness", "tingling", "limitation", "weakness", "stiffness", "itching", "crepitus", "cramp")
)
_AND = lazy_pattern(rf"\s*(?:,|and|or|&|/|\+|、|和|及|与|跟|又)\s*(?:(?:{_SMALL})\s+){{0,3}}", re.IGNORECASE)
"""Between two places, or two qualities, of a list."""
_GOES_ON = lazy_pattern("[，,][^，。；,.;不没无未否]{0,8}")
"""Between two qualities of one place that two Chinese clauses tell of."""


class _Mention(NamedTuple):
    start: int
    end: int
    site: str
    quality: str


@cache
def _table() -> tuple[dict[str, tuple[str, str]], dict[tuple[str, str], tuple[str, str]], re.Pattern[str]]:
    said: dict[str, tuple[str, str]] = {}
    cells: dict[tuple[str, str], tuple[str, str]] = {}
    for kind, name, english, chinese, label in read_table(Path(__file__).with_name("sites.tsv")):
        if kind == "finding":
            cells[name, english] = chinese, label
            continue
        words = [*(spelt_out(english) if "(" in english else english.split("|")), *chinese.split("|")]
        said |= dict.fromkeys(map(str.lower, words), (name, "") if kind == "site" else ("", name))
    return said, cells, any_of(list(said))


def at_sites(text: str, read: Sequence[Finding], known: Callable[[str], bool]) -> list[Finding]:
    """Return the findings of places and qualities that nothing read takes up, all as present."""
    taken = [each.span for each in read if each.span]
    return [
        finding
        for quality, finding in _composed(text)
        if known(finding.id) and not any(_is_read(span, quality, finding) for span in taken)
    ]


def _is_read(span: Span, quality: Span, finding: Finding) -> bool:
    alone = quality.start <= span.start and span.end <= quality.end and finding.score > GENERAL
    return span.start < quality.end and quality.start < span.end and not alone


@lru_cache(maxsize=2)
def _composed(text: str) -> tuple[tuple[Span, Finding], ...]:
    said, cells, pattern = _table()
    plain = simplify(text)
    found = [
        _Mention(*match.span(), *said.get(" ".join(match[0].lower().replace("’", "'").split()), (_NOTHING, "")))
        for match in pattern.finditer(plain)
    ]
    result: list[tuple[Span, Finding]] = []
    sites: list[_Mention] = []
    for at, each in enumerate(found):
        if not each.quality or each.quality == _NOTHING:
            continue
        sites = _behind(plain, found, at) or _ahead(plain, found, at, sites)
        for site in sites:
            own = cells.get((site.site, each.quality))
            id, label = own or cells.get((_ANYWHERE, each.quality), (_NOTHING, ""))
            if id != _NOTHING:
                span = Span(min(each.start, site.start), max(each.end, site.end))
                words = text[span.start : span.end]
                finding = Finding(id, Status.PRESENT, label, span, words, words, "variant", SCORE if own else GENERAL)
                result.append((Span(each.start, each.end), finding))
    return tuple(result)


def _behind(plain: str, found: Sequence[_Mention], at: int) -> list[_Mention]:
    sites: list[_Mention] = []
    for before, each in zip(found[at:], found[at + 1 :], strict=False):
        joint = _AND if sites else _FOLLOWS
        if each.site in ("", _NOTHING) or not joint.fullmatch(plain, before.end, each.start):
            break
        sites.append(each)
    return sites


def _ahead(plain: str, found: Sequence[_Mention], at: int, last: Sequence[_Mention]) -> list[_Mention]:
    if not at:
        return []
    before, each = found[at - 1], found[at]
    between = _BEFORE.fullmatch(plain, before.end, each.start) or (
        each.quality in _FELT
        and before.end > before.start + 1
        and not plain[before.start].isascii()
        and _FAR.fullmatch(plain, before.end, each.start)
    )
    if before.quality:
        joint = between or any(pattern.fullmatch(plain, before.end, each.start) for pattern in (_AND, _GOES_ON))
        return list(last) if joint else []
    if not between or before.site == _NOTHING:
        return []
    sites = [before]
    for site in reversed(found[: at - 1]):
        if site.site in ("", _NOTHING) or not _AND.fullmatch(plain, site.end, sites[-1].start):
            break
        sites.append(site)
    return sites
