"""The status that a text gives a finding: present, absent, unknown, in the family, or hypothetical.

The method is that of ConText (doi:10.1016/j.jbi.2009.05.002): trigger phrases before or after a finding hold as far as
their scope reaches, which a clause or a termination phrase ends; some phrases only look like triggers. The phrases
stand in ``context.tsv``.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kgdx.case.ages import subject
from kgdx.case.patient import Status
from kgdx.lazy import lazy_pattern
from kgdx.terms.checklist import answers
from kgdx.terms.headings import OTHER, any_of, kind_at, parts
from kgdx.terms.kin import relatives
from kgdx.terms.normalise import CJK, has_chinese, read_table, simplify
from kgdx.terms.qualifiers import LASTING

_SENTENCE = lazy_pattern(
    rf"(?<!er d)[.!;](?=\s|$)|(?<=[{CJK}]);|;(?=[{CJK}])|(?<=[^\s(,/])\?(?=\s|$)|[。！；]|(?<=\w)？|\n\s*\n"
    rf"|\n\s*(?=[-*•\d])|\n(?=\s*[A-Z{CJK}])|\r|\|"
)
"""Where a sentence ends; "sister d. cardiomyopathy" goes on."""
_COMMA = lazy_pattern("[，,]")
_PAUSE = lazy_pattern(rf"[，,]|(?<=[{CJK}])\s+(?=[{CJK}])")
_MASK = "\x00"
_NEAREST = 12
"""Triggers on each side of a finding that are looked at, so that a text without full stops takes no longer."""

_REACH = 300
_LATER = 40
"""Characters between a finding and what says behind a comma that it is over."""
_AFTER = ("backward", "behind", "later")

_MORE = lazy_pattern(r"[^.;]{0,80}?,?\s(?:or|nor)\s")
_GOES_ON = lazy_pattern(r"\s*(?:并|有|患|曾|[^，,。]{0,3}也|均|因|死于|确诊|诊断|表现)")
"""How a clause begins that goes on to tell of the relative of the clause before it."""
_I = lazy_pattern(r"\bI(?:['’]m|['’]ve| (?:am|have|feel|get|had|was))\b")
"""Where the patient speaks: "my dad had it, he …" goes on to tell of the relative."""
_FEW_WORDS = lazy_pattern(r"\s*(?:[\w-]+\s+){0,2}")
_HAN = lazy_pattern(f"[{CJK}]")
_PREDICATED = lazy_pattern(
    r"\b(?:(?:he|she|they|i|we|his|her|their|my)\b.{0,80}|(?!.{0,60}\b(?:n?or|and)\b)[\w'’-]{1,20}(?:\s[\w'’-]{1,20}){0,2}\s(?:enlarged"
    r"|stiff|raised|reduced|swollen|tender|red|blue|pale|elevated|high|low|up|palpable|weak|increased|decreased|impaired|abnormal"
    r"|distended|dilated|hot|warm|yellow|dry|painful|positive|brisk|upgoing|extensor|poor|bad|slurred|unsteady|ataxic"
    r"|absent|lost|delayed|prolonged|inflamed|bulging|sunken|blurr(?:ed|y)|blocked|runny|numb|puffy|itchy|floppy|lax|rigid|thickened))",
    re.IGNORECASE,
)
"""What is said of somebody, or of a part behind its name: "neck stiff" goes on no list of "no fever, rash"."""
LIMITED = lazy_pattern(
    r",? until\b|,? (?:apart from|except|other than) (?:at|on|during|after|before|when|while|with)\b"
    r"|[^.;。；]{0,30}?(?:\b(?:but|then|and|has|have)\b(?:(?!\bnot\b|\bnever\b|n['’]t)[^.;]){0,20}?"
    r"\b(?:back|return\w*|recur\w*|again|relaps\w+)\b|(?:又|再次|复)(?:发|烧|起|出|开始|有|来|痛|疼|咳|吐|拉|喘|痒|肿))",
    re.IGNORECASE,
)
"""What takes back the denial that stands before it: until when, except when, what came back."""
_VERB = lazy_pattern(r"\b(?:is|are|was|were|has|had|have)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Trigger:
    """A phrase that says something of findings near it; kinds map to the status it gives."""

    start: int
    end: int
    kinds: tuple[tuple[str, str], ...]
    chinese: bool


@cache
def _phrases() -> dict[str, tuple[tuple[str, str], ...]]:
    rows: dict[str, list[tuple[str, str]]] = {}
    for _, kind, status, phrase in read_table(Path(__file__).with_name("context.tsv")):
        if kind != "answer":
            rows.setdefault(phrase, []).append((kind, status))
    return {phrase: tuple(kinds) for phrase, kinds in rows.items()}


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    every = [phrase for phrase in _phrases() if phrase[0] != "/"]
    return any_of([phrase for phrase in every if phrase.isascii()]), any_of(every)


@cache
def _constructs() -> list[tuple[re.Pattern[str], tuple[tuple[str, str], ...]]]:
    return [(re.compile(said[1:], re.IGNORECASE), kinds) for said, kinds in _phrases().items() if said[0] == "/"]


def sentences(text: str) -> list[int]:
    """Return where the sentences of a text start."""
    return [0, *(match.end() for match in _SENTENCE.finditer(text) if match.end() < len(text))]


def statuses(text: str, spans: Sequence[tuple[int, int]]) -> list[Status]:
    """Return what the text says of the finding at each span (start, end)."""
    plain = simplify(text)
    known, said, about = parts(plain), answers(plain, spans), subject(plain)
    whose = (about["kin"] or about["zh"]).lower() if about else ""
    own = not whose and bool(_I.search(plain))
    starts = sorted({*sentences(plain), *(place for part in known for place in (part.start, part.body, part.end))})
    by_sentence: dict[int, list[int]] = {}
    for number, (start, _) in enumerate(spans):
        by_sentence.setdefault(bisect_right(starts, start) - 1, []).append(number)
    result = [Status.PRESENT] * len(spans)
    for sentence, members in by_sentence.items():
        low = starts[sentence]
        high = starts[sentence + 1] if sentence + 1 < len(starts) else len(text)
        part = plain[low:high]
        local = [(spans[i][0] - low, spans[i][1] - low) for i in members]
        used = [(said[i].start - low, said[i].end - low) for i in members if i in said]
        triggers = _triggers(part, [*local, *used], whose, own)
        places = [trigger.start for trigger in triggers]
        for number, span in zip(members, local, strict=True):
            at = bisect_left(places, span[0])
            near = [t for t in triggers[max(0, at - _NEAREST) : at + _NEAREST] if -_REACH < t.start - span[0] < _REACH]
            answer = said.get(number)
            if answer is not None and answer.status is Status.PRESENT:
                bound = span[0] if answer.sure else part.rfind(",", 0, span[0])
                near = [t for t in near if bound < t.start < span[0] or ("forward", "family") in t.kinds]
            kind = kind_at(known, spans[number][0])
            result[number] = _under(_status(part, span, near), answer.status if answer else None, kind)
    return result


def _under(told: Status, answer: Status | None, kind: str) -> Status:
    if answer is not None and answer is not Status.PRESENT:
        told = Status.UNKNOWN if told is Status.FAMILY else answer
    if kind == "family":
        return Status.FAMILY if told in (Status.PRESENT, Status.FAMILY) else Status.UNKNOWN
    if kind == OTHER:
        return Status.UNKNOWN
    if told is Status.PRESENT and answer is None and kind in (Status.ABSENT, Status.HYPOTHETICAL):
        return Status(kind)
    return told


def _triggers(part: str, spans: Sequence[tuple[int, int]], whose: str, own: bool) -> list[Trigger]:
    chars = list(part)
    for start, end in spans:
        chars[start:end] = _MASK * (min(end, len(chars)) - start)
    part = "".join(chars)
    found = []
    phrases = _phrases()
    latin, both = _patterns()
    for match in (both if has_chinese(part) else latin).finditer(part):
        phrase = re.sub(r"\s+", " ", match.group().lower().replace("’", "'"))
        if not (own and phrase in ("he", "she") and "my " in part.lower()):
            found.append(Trigger(match.start(), match.end(), phrases[phrase], bool(_HAN.match(phrase))))
    for pattern, kinds in _constructs():
        found += [Trigger(*match.span(), kinds, not match[0].isascii()) for match in pattern.finditer(part)]
    found.extend(
        Trigger(kin.start, kin.end, ((kin.kind, "family"),), has_chinese(part[kin.start : kin.end]))
        for kin in relatives(part, whose)
    )
    return sorted(found, key=lambda trigger: trigger.start)


def _status(part: str, span: tuple[int, int], triggers: Sequence[Trigger]) -> Status:
    given: dict[str, int] = {}
    for trigger in triggers:
        for kind, status in trigger.kinds:
            if kind in ("pseudo", "end") or not _reaches(part, span, trigger, kind, status, triggers):
                continue
            distance = span[0] - trigger.end if trigger.end <= span[0] else trigger.start - span[1]
            given[status] = min(given.get(status, len(part)), distance)
    if given.pop("verdict", None) and min(given, key=given.__getitem__, default="") == "hypothetical":
        return Status.ABSENT  # a test rules out what was only thought of
    if "family" in given:
        return Status.UNKNOWN if "absent" in given else Status.FAMILY
    return Status(min(given, key=given.__getitem__)) if given else Status.PRESENT


def _reaches(
    part: str, span: tuple[int, int], trigger: Trigger, kind: str, status: str, triggers: Sequence[Trigger]
) -> bool:
    forward = kind not in _AFTER
    low, high = (trigger.end, span[0]) if forward else (span[1], trigger.start)
    if low > high:
        return False
    between = part[low:high]
    if kind == "clause" and _COMMA.search(between):
        return False
    if (kind == "adjacent" and len(between.strip()) > 1) or (kind == "behind" and between.strip(" -–(（")):
        return False
    if part[trigger.start] == "?" and kind == "behind" and part[trigger.end : trigger.end + 1].isalnum():
        return False  # "fever ?UTI"
    if status == "absent" and LIMITED.match(part, max(span[1], trigger.end)):
        return False
    if kind == "later":
        return len(between) < _LATER and len(_COMMA.findall(between)) < 2
    if kind == "query":
        return bool(_FEW_WORDS.fullmatch(between)) and not part[: trigger.start].rstrip(" ,(/").endswith(_MASK)
    ends = [t for t in triggers if t.start >= low and t.end <= high]
    if any(kind_ == "end" and _ends(end, status) for t in ends for kind_, end in t.kinds):
        return False
    if trigger.chinese and kind != "farther" and _PAUSE.search(between.strip()):
        clauses = _COMMA.split(part[low : span[1]] if forward else between)[1:]
        goes_on = status == "family" and all(map(_GOES_ON.match, clauses))
        return goes_on and kind == "forward"
    if forward:
        listed = between.rstrip().endswith(",") and part[trigger.start : trigger.end].lower() == "no"
        told = ("," in between or between.endswith(" and ")) and _PREDICATED.fullmatch(part, *span)
        told = told or (listed and LASTING.match(part, span[1] + 1))  # no fever, cough for three days
        if status == "absent" and not trigger.chinese and (told or _list_ended(part, between, span[1])):
            return False
        return all(k not in _AFTER or t.chinese or s in (status, "present") for t in ends for k, s in t.kinds)
    if _COMMA.search(between):
        before = part[max(0, span[0] - _REACH) : span[0]]
        return not _VERB.search(before) and not _VERB.search(between[: max(between.rfind(","), between.rfind("，"))])
    return True


def _list_ended(part: str, between: str, end: int) -> bool:
    last = max(between.rfind(" or "), between.rfind(" nor "))
    return last >= 0 and "," in between[last:] and not _MORE.match(part, end)


def _ends(end: str, status: str) -> bool:
    return end == status or (end == "-" and status != "family")
