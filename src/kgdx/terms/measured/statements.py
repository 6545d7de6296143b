"""What a text says of an analyte beside its name: number, unit, printed range, flag, and direction in words."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kgdx.lazy import lazy_pattern
from kgdx.terms.measured.amounts import NUMBER, UNIT
from kgdx.terms.normalise import CJK, read_table

_KIND = (
    r"(?:\s*+\b(?:levels?|values?|counts?|conc(?:entration)?s?|activity|tit(?:re|er)s?|results?|scores?|readings?|antibod(?:y|ies)"
    r"|test(?:s|ing)?|serology|screen)\b|(?:水平|数值|值|计数|浓度|定量|定性|测定|检测|检查|结果|活性|评分|滴度|抗体|指标)){0,3}"
)
_ALIAS = r"(?:\s*+[(（](?![Hh][)）]|[Ll][)）]|N[)）])(?:\d{1,2}-?)?[A-Za-z][\w+/-]{0,9}[)）])?"
"""An abbreviation in brackets behind a name: creatine kinase (CK)."""
_COPULA = (
    r"(?:(?:was|were|is|are|of|at|on|to|about|around|approx(?:imately)?|approx\.|only|measured|measuring"
    r"|found to be|remains?"
    r"|remained|came back(?: as)?|returned(?: at)?|showed|peak(?:ed|ing)?(?: at)?|rose|fell|dropped|reached|up|down|max"
    r"|today|now|initial(?:ly)?|on admission|repeat(?:ed)?|random|fasting|result)\b"
    r"|为|是|在|位于|约|达到?|至|仅|测得|提示|示|最高|最低|高达|低至|升至|降至|可达|分别为|复查|入院时|结果)"
)
_SEPARATOR = rf"(?:\s*+(?:-?[:：=|]|-\t|{_COPULA})|(?>\s*\t)){{0,4}}[\s,，]{{0,3}}"
_DEGREE = (
    r"(?:(?:very|markedly|mildly|slightly|moderately|severely|significantly|grossly|massively|persistently|strongly"
    r"|weakly|also|really|quite|rather|too|so|fairly|extremely"
    r"|a bit|all|both|still|again|clearly|just|entirely|completely|not be|found|be|being|been)\s+"
    r"|明显|显著|轻度|中度|重度|轻微|稍|略|均|都|也|一直|始终|持续|进行性|极度|仍|强|轻)*"
)
_SCORE = (
    r"(?P<score>(?:[zZ](?:[- ]?scores?)?|[tT][- ]?scores?|SDS|Z值|T值|SD评分)\s*+"
    r"(?:(?:was|is|of|at|为)\s+|[:：=]\s*+|为)?"
    r"|(?:on|at|below|above|under|over)?\s*+(?:the\s+)?(?:P(?=\d)|第))?"
)
"""What marks a number as a standard deviation score or a centile before it is written."""
_WORD = lazy_pattern(r"[A-Za-z][A-Za-z'-]*")
_FILLED, _MOST_WORDS, _LONGEST_HAN = 5, 5, 6
_BETWEEN = "between"
"""Kind of the words that stand between a direction and a name: elevated levels of serum CK."""
_FIRST_SIGN = "\u2190"
"""The first arrow: it and Chinese characters need no blank around them."""
_FEWER = r"(?:[<>≤≥~≈＜＞]=?|less than|more than|greater than|below|above|over|under|大于|小于|低于|高于|超过|不足)"
_OCR = r"(?=[\d.,]*[OolI])(?=[OolI.,]*\d)[\dOolI][\dOolI.,]*(?<!l)(?![A-Za-z\d])"
"""A number in which letters stand for digits; one that ends in l may be a volume."""
_WAS = rf"(?:{NUMBER})(?:/\d+)?(?:\s?{UNIT})?\s*+"
_FORMER = (
    rf"(?:(?:from\s|从|由)\s*+{_WAS}(?:to\s|(?:下?降|降低|上?升|升高|[增减]加?)?[至到为])\s*+|{_WAS}(?:-{{1,2}}>|→"
    r"|(?:(?:previously|before|earlier(?: today)?|initially|yesterday|this morning|last (?:night|week|month|year)"
    r"|(?:at|on) (?:home|admission|baseline))\s*+)?[,;，；]?\s*+(?:and\s|but\s)?(?:now|today|现在?|目前)"
    r"(?:\s(?:is|at)|为)?)\s*+(?=\d))?"
)
"""A value of before, which the one behind it replaces: fell from 13 to 7, was 13, now 7, 13 -> 7."""
_VALUE = lazy_pattern(
    rf"{_KIND}{_ALIAS}{_KIND}(?:\s*+[(（,]\s*+(?P<before>{UNIT})(?:\s*+[)）])?)?{_SEPARATOR}{_FORMER}"
    rf"(?P<open>[(（]\s*+)?(?P<fewer>{_FEWER})?\s*+(?:the\s+)?{_SCORE}\s*+(?P<less>[<>])?\s*+(?P<sign>[-−–+](?=\s?\d))?\s?(?P<number>{_OCR}|{NUMBER})"
    rf"(?![\d.]*\+(?!\d))(?:\s?(?P<mark>/|:)\s?(?P<second>{NUMBER}))?(?P<ordinal>st|nd|rd|th)?(?![A-Za-z]{{7,}})"
    rf"(?P<times>\s?(?:[x×]|times|倍)\s*(?:the\s)?(?:uln|upper limit(?: of normal)?|正常上限))?",
    re.IGNORECASE,
)
_UNIT = lazy_pattern(
    rf"[ \t|]{{0,4}}(?P<unit>{UNIT}|%\s?ile|(?:per)?cent(?:ile|ages?)s?\b|百分位数?|SDS?\b|s\.d\.|个?标准差"
    r"|weeks?\b|min(?:utes)?\b|wks?\b|周|斤|[CF](?![A-Za-z]))"
)
_BEYOND = lazy_pattern(r"\s*(?:(?P<mean>below|under|above|over)(?=\s+(?:the\s+)?mean)|以下|以上)", re.IGNORECASE)
_PARAGRAPH = lazy_pattern(r"\n\s*(?:\d+[.)、]\s|[-*•]|\n)")
_FLAG = lazy_pattern(r"[\s|]*+[(（\[]?\s*+(?P<flag>HH|LL|H(?![A-Za-z\d])|L(?![A-Za-z\d/])|[↑⬆]+|[↓⬇]+)\s*[)）\]]?")
_CALLED = (
    r"(?P<called>ref(?:erence)?\.?(?:\s*(?:range|interval|values?|limits?))?|normal(?:\s*(?:range|values?|limits?|is))?|nl|NL|N|NR|RR"
    r"|range|usual|正常(?:参考)?(?:值|范围)?|参考(?:值|范围|区间)?(?:范围)?|范围)\s*[:：=,]?\s*"
)
_RANGE = lazy_pattern(
    rf"[\s,，;；|*]*+(?P<open>[(（\[【])?\s*+(?:{_CALLED})?(?:(?P<low>{NUMBER})\s*(?:-|–|—|−|~|～|to|至|－)\s*(?P<high>{NUMBER})"
    rf"|(?P<bound>[<>≤≥＜＞]=?|up to|less than|below|above|over)\s*(?P<end>{NUMBER}))"
    rf"(?:\s*(?![LH](?![A-Za-z/]))(?P<unit>{UNIT}))?\s*(?P<close>[)）\]】])?(?![\d%]|[A-Za-z]{{2}})",
    re.IGNORECASE,
)
_ABOVE = lazy_pattern(r"[>≥＞]|more|greater|above|over|大于|高于|超过")
CENTILE = lazy_pattern(r"%\s?ile|(?:per)?cent(?:ile|ages?)s?|百分位数?", re.IGNORECASE)
DEVIATION = lazy_pattern(r"SDS?|s\.d\.|个?标准差", re.IGNORECASE)
SCORES = ("centile", "SD")
_AHEAD = lazy_pattern(
    rf"(?P<number>{NUMBER})(?:st|nd|rd|th)(?:\s+(?:per)?cent(?:ile|ages?))?\s+(?:for|in)\s+(?:(?:his|her|the)\s+)?$",
    re.IGNORECASE,
)
"""A centile that stands before what it is of: on the 2nd centile for height."""


@dataclass(frozen=True, slots=True)
class MeasuredStatement:
    """What is said of an analyte.

    Attributes:
        start: Where what stands before the name begins; -1 where nothing does.
        direction: ``high``, ``low``, ``normal``, ``abnormal``, ``positive``, ``negative``, ``unclear``, or empty.
        value: The number, as it is written; empty where there is none.
        second: The second number of a pair such as 120/80.
        fewer: ``<`` or ``>`` where the value lies below or above the number.
    """

    end: int
    start: int = -1
    direction: str = ""
    value: str = ""
    second: str = ""
    place: tuple[int, int] = (0, 0)
    unit: str = ""
    fewer: str = ""
    low: str = ""
    high: str = ""
    range_unit: str = ""

    @property
    def says(self) -> bool:
        return bool(self.direction or self.value)


@lru_cache(maxsize=1)
def _wordings() -> dict[str, str]:
    return {phrase: kind for _, kind, phrase in read_table(Path(__file__).with_name("wordings.tsv"))}


@lru_cache(maxsize=1)
def _directions() -> tuple[dict[str, str], re.Pattern[str]]:
    kinds = {phrase: kind for phrase, kind in _wordings().items() if kind != _BETWEEN}
    parts = []
    for phrase in sorted(kinds, key=len, reverse=True):
        left = r"(?<![A-Za-z])" if phrase[0].isascii() and phrase[0].isalpha() else ""
        right = r"(?![A-Za-z])" if phrase[-1].isascii() and phrase[-1].isalpha() else ""
        parts.append(left + re.escape(phrase).replace(r"\ ", r"\s+") + right)
    said = "|".join(parts)
    behind = rf"{_KIND}{_ALIAS}{_KIND}{_SEPARATOR}[(（]?{_DEGREE}(?P<said>{said})[)）]?"
    return kinds, re.compile(behind, re.IGNORECASE)


def stated(text: str, start: int, end: int, floor: int, limit: int) -> MeasuredStatement:
    """Return what a text says of the analyte whose name it has at ``start`` to ``end``."""
    found: dict[str, str] = defaultdict(str)
    if paragraph := _PARAGRAPH.search(text, end, limit):
        limit = paragraph.start()
    at, place = end, (0, 0)
    kinds, behind = _directions()
    for _ in range(4):
        if not found["value"] and (match := _VALUE.match(text, at, limit)) and _starts(text, end, at, match):
            at, place = _take_value(text, match, limit, found)
        elif found["value"] and found["unit"] not in SCORES and (scored := _scored(text, at, limit)):
            at, place = scored[:2]
            found.update({"fewer": "", **scored[2]})
        elif not found["direction"] and (match := behind.match(text, at, limit)) and not _range(text, at, limit, found):
            found["direction"], at = kinds.get(_plain(match["said"]), "unclear"), match.end()
        elif found["value"] and (match := _FLAG.match(text, at, limit)):
            found["direction"] = found["direction"] or ("high" if match["flag"][0] in "H↑⬆" else "low")
            at = match.end()
        elif found["value"] and not (found["low"] or found["high"]) and (match := _range(text, at, limit, found)):
            _take_range(match, found)
            at = match.end()
        elif found["value"] and not found["unit"] and text[at - 1] != ")" and (match := _UNIT.match(text, at, limit)):
            found["unit"], at = match["unit"], match.end()
        else:
            break
    begin = -1
    if not (found["value"] or found["direction"]) and (match := _AHEAD.search(text, max(floor, start - 60), start)):
        begin, found["value"], found["unit"] = match.start(), match["number"], "centile"
        place = match.span("number")
    elif not found["direction"] and (before := _before(text, max(floor, start - 60), start)):
        begin, found["direction"] = before
    return MeasuredStatement(at, begin, found["direction"], found["value"], found["second"], place, **_rest(found))


def _before(text: str, floor: int, start: int) -> tuple[int, str] | None:
    kinds, _ = _directions()
    end = start
    for _ in range(_FILLED):
        head = text[floor:end].rstrip().removesuffix("的")
        for size in range(min(_LONGEST_HAN, len(head)), 0, -1):
            if head[-size] >= _FIRST_SIGN and head[-size:] in kinds:
                return floor + len(head) - size, kinds[head[-size:]]
        words = list(_WORD.finditer(head))[-_MOST_WORDS:]
        for word in words:
            if (kind := kinds.get(_plain(head[word.start() :]))) is not None:
                return floor + word.start(), kind
        if not words or words[-1].end() < len(head) or _wordings().get(words[-1].group().lower()) != _BETWEEN:
            return None
        end = floor + words[-1].start()
    return None


def _rest(found: dict[str, str]) -> dict[str, str]:
    return {key: found[key] for key in ("unit", "fewer", "low", "high", "range_unit")}


def _plain(said: str) -> str:
    return re.sub(r"\s+", " ", said.lower())


def _starts(text: str, end: int, at: int, match: re.Match[str]) -> bool:
    begin = match.start("number")
    apart = text[at:begin]
    if at > end and ("," in apart or "，" in apart) and not _UNIT.match(text, match.end()):
        return False
    if begin == end and text[end - 1 : end].isascii() and text[end - 1].isalnum():
        return False
    return not (match["mark"] and not match["second"])


def _take_value(text: str, match: re.Match[str], limit: int, found: dict[str, str]) -> tuple[int, tuple[int, int]]:
    at = match.end()
    sign = "-" if match["sign"] and match["sign"] in "-−–" else ""
    found["value"] = sign + match["number"].rstrip(".,")
    if match["number"] != match["number"].rstrip(".,"):
        at = match.end("number") - 1
    found["second"] = match["second"] or ""
    found["unit"] = match["before"] or ("centile" if match["ordinal"] else "")
    if score := (match["score"] or "").strip():
        found["unit"] = "centile" if score[-1] in "P第" else "SD"
    if fewer := match["fewer"] or match["less"]:
        found["fewer"] = ">" if _ABOVE.match(fewer.lower()) else "<"
    if match["times"]:
        found["direction"], found["value"] = "high", ""
        return at, (match.start("number"), at)
    if not _FLAG.match(text, at, limit) or text[at : at + 2].strip()[:1] not in ("L", "H"):
        if unit := _UNIT.match(text, at, limit):
            found["unit"], at = unit["unit"], unit.end()
        if beyond := _BEYOND.match(text, at, limit):
            at = beyond.end()
            below = beyond.group().strip().lower() in ("以下", "below", "under")
            if found["unit"].upper().startswith("SD") and beyond["mean"] and below:
                found["value"] = "-" + found["value"].lstrip("-")
            elif beyond.group().strip() in ("以下", "以上"):
                found["fewer"] = "<" if below else ">"
    if match["open"] and (closed := re.compile(r"\s*[)）]").match(text, at, limit)):
        at = closed.end()
    return at, (match.start("number"), at)


def _scored(text: str, at: int, limit: int) -> tuple[int, tuple[int, int], dict[str, str]] | None:
    match = _VALUE.match(text, at, limit)
    if match is None or match["second"]:
        return None
    found: dict[str, str] = defaultdict(str)
    end, place = _take_value(text, match, limit, found)
    return (end, place, dict(found)) if CENTILE.fullmatch(found["unit"]) or DEVIATION.fullmatch(found["unit"]) else None


def _range(text: str, at: int, limit: int, found: dict[str, str]) -> re.Match[str] | None:
    match = _RANGE.match(text, at, limit)
    if match and found["value"] and (match["called"] or (match["open"] and match["close"]) or match["low"]):
        return match
    return None


def _take_range(match: re.Match[str], found: dict[str, str]) -> None:
    if match["low"]:
        found["low"], found["high"] = match["low"], match["high"]
    else:
        found["low" if _ABOVE.match(match["bound"].lower()) else "high"] = match["end"]
    found["range_unit"] = match["unit"] or ""


def mended(written: str) -> str:
    """Return a number whose letters O, l and I stand for the digits that they look like.

    Example:
        >>> mended("l4O")
        '140'
    """
    return re.sub("[OolI]", lambda match: "0" if match.group() in "Oo" else "1", written)


_JOINED = lazy_pattern(
    rf"\s*(?:,|，|、|/|&|\band\b|\bor\b|及|和|与|以及)\s*(?:and\s+)?(?:his|her|the|serum|both)?\s*|(?<=[{CJK}])(?=[{CJK}])",
    re.IGNORECASE,
)


def joined(between: str) -> bool:
    """Return whether what stands between two names only lists them: AST, ALT and GGT."""
    return bool(_JOINED.fullmatch(between))
