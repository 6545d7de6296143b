"""Finds Chinese names in folded text: all substrings of the lengths that names have, the longest first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgdx.text.chinese import substring_keys
from kgdx.text.dictionary import Entries


def find_chinese(text: str, entries: Entries, lengths: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return (start, end, term) of the names in a folded text; where two overlap, the longer one.

    Args:
        text: Folded by :func:`kgdx.text.chinese.fold_chinese`.
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
