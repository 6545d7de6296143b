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

from kgdx.case.patient import Status
from kgdx.terms.normalise import CJK, read_table, simplify

_SENTENCE = re.compile(r"[.!?;](?=\s|$)|[。！？；]|\n\s*\n|\n\s*(?=[-*•\d])|\n(?=\s*[A-Z" + CJK + r"])|\r")
_RELATIVES = (
    r"(?:grand|step)?(?:mother|father|parents?)|brothers?|sisters?|siblings?|aunts?|uncles?|cousins?|nieces?|nephews?"
    r"|sons?|daughters?|(?:half[- ])(?:brother|sister)|twin|relatives?|family members?"
)
_OWNER = r"(?:his|her|their|the|a|one|two|patient's|proband's|child's|maternal|paternal|older|younger|elder|affected)"
_TELLS = (
    r"(?:reports?|reported|sa(?:ys|id)|states?|stated|not(?:es|ed|iced)|describes?|described|den(?:y|ies|ied)|brought)"
)
_SPEAKS = rf"(?!(?:\s+(?:also|has|have|had))*\s+{_TELLS})"
_FAMILY = re.compile(
    rf"\b(?:{_OWNER}\s+)+(?:{_RELATIVES})\b(?!'s pregnancy){_SPEAKS}"
    r"(?!\s*,?\s+(?:and|&)\s+(?:son|daughter|child))",
    re.IGNORECASE,
)
_KIN_FIRST = re.compile(
    rf"^\W*(?:{_OWNER}\s+)*(?:{_RELATIVES}){_SPEAKS}"
    r"(?:\s*:|(?=\s+(?:also|both|with|had|has|have|was|were|is|are|suffers?|died)\b))",
    re.IGNORECASE,
)
"""A relative whom a sentence begins with and tells something of: "Brother also has", "Sister: "."""
_COMMA = re.compile("[，,]")
_PAUSE = re.compile(r"[，,\s]")
_MASK = "\x00"
_NEAREST = 12
"""Triggers on each side of a finding that are looked at, so that a text without full stops takes no longer."""

_REACH = 300
"""Characters at most between a trigger and its finding."""

_VERB = re.compile(r"\b(?:is|are|was|were|has|had|have)\b", re.IGNORECASE)


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
        rows.setdefault(phrase, []).append((kind, status))
    return {phrase: tuple(kinds) for phrase, kinds in rows.items()}


@cache
def _pattern() -> re.Pattern[str]:
    parts = []
    for phrase in sorted(_phrases(), key=len, reverse=True):
        escaped = re.escape(phrase).replace(r"\ ", r"\s+").replace("'", "['’]")
        left = r"\b" if phrase[0].isascii() and phrase[0].isalnum() else ""
        right = r"\b" if phrase[-1].isascii() and phrase[-1].isalnum() else ""
        parts.append(f"{left}{escaped}{right}")
    return re.compile("|".join(parts), re.IGNORECASE)


def sentences(text: str) -> list[int]:
    """Return where the sentences of a text start.

    Example:
        >>> sentences("No fever. Cough since 2.5 days")
        [0, 9]
    """
    return [0, *(match.end() for match in _SENTENCE.finditer(text) if match.end() < len(text))]


def statuses(text: str, spans: Sequence[tuple[int, int]]) -> list[Status]:
    """Return what the text says of the finding at each span (start, end).

    Example:
        >>> statuses("No seizures, but hypotonia.", [(3, 11), (17, 26)])
        [<Status.ABSENT: 'absent'>, <Status.PRESENT: 'present'>]
    """
    starts = sentences(text)
    by_sentence: dict[int, list[int]] = {}
    for number, (start, _) in enumerate(spans):
        by_sentence.setdefault(bisect_right(starts, start) - 1, []).append(number)
    result = [Status.PRESENT] * len(spans)
    for sentence, members in by_sentence.items():
        low = starts[sentence]
        high = starts[sentence + 1] if sentence + 1 < len(starts) else len(text)
        part = simplify(text[low:high])
        local = [(spans[i][0] - low, spans[i][1] - low) for i in members]
        triggers = _triggers(part, local)
        places = [trigger.start for trigger in triggers]
        for number, span in zip(members, local, strict=True):
            at = bisect_left(places, span[0])
            near = triggers[max(0, at - _NEAREST) : at + _NEAREST]
            result[number] = _status(part, span, [t for t in near if -_REACH < t.start - span[0] < _REACH])
    return result


def _triggers(part: str, spans: Sequence[tuple[int, int]]) -> list[Trigger]:
    """The triggers of a sentence; words of a finding's own name ("absence of speech") are none."""
    chars = list(part)
    for start, end in spans:
        chars[start:end] = _MASK * (end - start)
    part = "".join(chars)
    found = []
    phrases = _phrases()
    for match in _pattern().finditer(part):
        phrase = re.sub(r"\s+", " ", match.group().lower().replace("’", "'"))
        chinese = bool(re.match(f"[{CJK}]", phrase)) or "：" in phrase
        found.append(Trigger(match.start(), match.end(), phrases[phrase], chinese))
    kin = [*_FAMILY.finditer(part), *_KIN_FIRST.finditer(part)]
    found.extend(Trigger(m.start(), m.end(), (("forward", "family"),), False) for m in kin)
    return sorted(found, key=lambda trigger: trigger.start)


def _status(part: str, span: tuple[int, int], triggers: Sequence[Trigger]) -> Status:
    given: dict[str, int] = {}
    for trigger in triggers:
        for kind, status in trigger.kinds:
            if kind in ("pseudo", "end") or not _reaches(part, span, trigger, kind, status, triggers):
                continue
            distance = span[0] - trigger.end if trigger.end <= span[0] else trigger.start - span[1]
            given[status] = min(given.get(status, len(part)), distance)
    if "family" in given:
        return Status.UNKNOWN if "absent" in given else Status.FAMILY
    return Status(min(given, key=given.__getitem__)) if given else Status.PRESENT


def _reaches(
    part: str, span: tuple[int, int], trigger: Trigger, kind: str, status: str, triggers: Sequence[Trigger]
) -> bool:
    forward = kind != "backward"
    low, high = (trigger.end, span[0]) if forward else (span[1], trigger.start)
    if low > high:
        return False
    between = part[low:high]
    if kind == "clause" and _COMMA.search(between):
        return False
    if kind == "adjacent" and len(between.strip()) > 1:
        return False
    ends = [t for t in triggers if t.start >= low and t.end <= high]
    if any(kind_ == "end" and _ends(end, status) for t in ends for kind_, end in t.kinds):
        return False
    if trigger.chinese and kind != "farther" and _PAUSE.search(between):
        return False
    if forward:
        return not any(k in ("backward",) and not t.chinese and s != status for t in ends for k, s in t.kinds)
    if _COMMA.search(between):
        before = part[max(0, span[0] - _REACH) : span[0]]
        return not _VERB.search(before) and not _VERB.search(between[: max(between.rfind(","), between.rfind("，"))])
    return True


def _ends(end: str, status: str) -> bool:
    """Whether a termination phrase (for one status, or "-" for all but family) ends a scope."""
    return end == status or (end == "-" and status != "family")
