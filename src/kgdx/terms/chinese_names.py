"""Find the dictionary's Chinese names in a text, also those inside which words of degree, side or course stand."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from kgdx.lazy import lazy_pattern
from kgdx.terms.dictionary import Entries, substring_keys
from kgdx.terms.normalise import word_list

_PARTING_ZH = lazy_pattern("|".join(sorted(word_list("modifier_zh"), key=len, reverse=True)))


def find_chinese(text: str, entries: Entries, lengths: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return (start, end, term) of the names in a folded Chinese text; where two overlap, the longer one.

    Args:
        text: Folded by :func:`kgdx.terms.normalise.fold_chinese`.
        entries: Chinese names.
        lengths: The lengths that names have, in characters.
    """
    found: list[tuple[int, int, int]] = []
    taken = np.zeros(len(text), bool)
    for size in sorted(lengths, reverse=True):
        if size > len(text):
            continue
        at = entries.find(substring_keys(text, size))
        for start in np.flatnonzero(at >= 0).tolist():
            if not taken[start : start + size].any():
                taken[start : start + size] = True
                found.append((start, start + size, int(entries.terms[at[start]])))
    return sorted(found)


def find_chinese_parted(
    text: str, entries: Entries, lengths: Sequence[int], whole: Sequence[tuple[int, int, int]]
) -> list[tuple[int, int, int]]:
    """Return names inside which words of degree, side or course stand: 肌张力明显低下, 肝、脾肿大."""
    left_out = [match.span() for match in _PARTING_ZH.finditer(text)]
    if not left_out:
        return []
    places = [at for at in range(len(text)) if not any(start <= at < end for start, end in _near(left_out, at))]
    known = set(whole)
    found = []
    for start, end, term in find_chinese("".join(text[at] for at in places), entries, lengths):
        first, last = places[start], places[end - 1] + 1
        parted = last - first > end - start
        if parted and (first, last, term) not in known and not any(a <= first and last <= b for a, b, _ in whole):
            found.append((first, last, term))
    return found


def unparted(text: str) -> str:
    """Return a Chinese text without its words of degree, side or course.

    Example:
        >>> unparted("走路很好")
        '走路好'
    """
    return _PARTING_ZH.sub("", text)


def _near(spans: Sequence[tuple[int, int]], place: int) -> Sequence[tuple[int, int]]:
    at = bisect_right(spans, (place, place + 1))
    return spans[max(0, at - 1) : at + 1]
