"""Which part of an encyclopedia article is about what patients have, by its headings.

Causes, complications, risks, prevention, treatment and literature name findings too, but not as the disease's own.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

_ABOUT = ("Signs and symptoms", "Symptoms", "Symptoms and signs", "Clinical features", "Presentation", "Overview")
_ABOUT_ZH = ("临床表现", "症状体征", "症状", "概述")
_OTHER = (
    *("Causes", "Cause", "Etiology", "Risk factors", "Complications", "Prevention", "Diagnosis"),
    *("Differential diagnosis", "Treatment", "Treatments", "Emergency care", "More Information", "References"),
    *("When to see a doctor", "When to see your doctor", "When to see a health care provider"),
    *("When to see your health care provider", "When to see a health care professional"),
    *("When to get emergency help", "When to get medical help", "When to seek emergency care"),
    *("Request an Appointment", "From Mayo Clinic to your inbox"),
)
_OTHER_ZH = ("病因", "发病原因", "并发症", "预防", "鉴别诊断", "诊断", "治疗", "参考文献")


def _heading(names: tuple[str, ...], names_zh: tuple[str, ...]) -> str:
    """English headings may have lost their line break: a capital follows. Chinese ones have one, or a colon."""
    return rf"(?:{'|'.join(names)})(?=[ \t]*(?:$|\n|:|[ \t][A-Z0-9]))|(?:{'|'.join(names_zh)})(?=[ \t]*(?:$|\n|[:：]))"


_HEADING = re.compile(
    rf"(?:^|(?<=[.!?。\n]))[ \t]*(?:(?P<about>{_heading(_ABOUT, _ABOUT_ZH)})|(?P<other>{_heading(_OTHER, _OTHER_ZH)}))",
    re.MULTILINE,
)
_LITERATURE = re.compile(r"https?://|\bdoi:|\bAccessed [A-Z][a-z]+\.? \d")


@dataclass(frozen=True, slots=True)
class Parts:
    """Where the text changes between what patients have and what not: from ``starts[i]`` on it is ``kept[i]``."""

    starts: tuple[int, ...]
    kept: tuple[bool, ...]

    def covers(self, place: int) -> bool:
        """Whether a place is in a part about what patients have."""
        at = bisect_right(self.starts, place) - 1
        return at < 0 or self.kept[at]


def about_symptoms(text: str) -> Parts:
    r"""Return which parts of a text are about what patients have: all of it, where there are no headings.

    Example:
        >>> parts = about_symptoms("Fever and cough.\nCauses\nSmoking.\nSymptoms\nChills.")
        >>> [parts.covers(place) for place in (0, 27, 45)]
        [True, False, True]
    """
    starts, kept = [], []
    for found in _HEADING.finditer(text):
        starts.append(found.start())
        kept.append(found["about"] is not None)
    literature = _LITERATURE.search(text)
    if literature:
        line = text.rfind("\n", 0, literature.start()) + 1
        cut = bisect_right(starts, line)
        starts[cut:], kept[cut:] = [line], [False]
    return Parts(tuple(starts), tuple(kept))
