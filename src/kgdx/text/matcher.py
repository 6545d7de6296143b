"""Finds the dictionary's names in the words of a text: windows of neighbouring words, and coordinated phrases.

"Renal and ear anomalies" names two findings of which one is no window of the text: where a comma or conjunction parts
a phrase, the words before and after the shared part are also looked up with the conjuncts in between left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from kgdx.text.dictionary import MAX_WORDS, Entries, single_hash, substring_keys, sum_hashes, word_hash
from kgdx.text.stems import MODIFIERS
from kgdx.text.tokens import ATTACHED, HARD, NONE, SOFT, Words

_CONJUNCT = 3
"""Content words at most in a conjunct or in the part that conjuncts share."""

_REACH = 8
"""Content words at most between a coordinated phrase's first word and its conjunction, and after it."""


@dataclass(frozen=True, slots=True)
class Match:
    """A name found in a text.

    Attributes:
        start: First word.
        end: One past the last word.
        entry: Position in the dictionary of the first entry with this key.
        gap: (first, one past last) word of the conjuncts left out; empty for a plain window.
    """

    start: int
    end: int
    entry: int
    gap: tuple[int, int] = (0, 0)

    def __len__(self) -> int:
        return self.end - self.start


def hashes_of(found: Words) -> npt.NDArray[np.int64]:
    """Return the hash of each word's class."""
    return np.array([word_hash(word) for word in found.folded], np.int64)


def find_windows(found: Words, hashes: npt.NDArray[np.int64], entries: Entries) -> list[Match]:
    """Return every run of words within a clause that is a name; runs over commas only where the name has one too."""
    count = len(found)
    if not count:
        return []
    sums = np.concatenate(([0], np.cumsum(hashes)))
    hard = np.concatenate(([0], np.cumsum(found.parting == HARD)))
    soft = np.concatenate(([0], np.cumsum(found.parting == SOFT)))
    matches = []
    for size in range(1, min(MAX_WORDS, count) + 1):
        start = np.arange(count - size + 1)
        end = start + size
        start = start[hard[end] == hard[start + 1]]
        end = start + size
        keys = sums[end] - sums[start] if size > 1 else np.array([single_hash(word) for word in found.folded], np.int64)
        at = entries.find(keys)
        crossing = soft[end] > soft[start + 1]
        for index in np.flatnonzero((at >= 0) & (~crossing | entries.joined[at])).tolist():
            matches.append(Match(int(start[index]), int(end[index]), int(at[index])))
    return matches


def find_modified(found: Words, hashes: npt.NDArray[np.int64], entries: Entries) -> list[Match]:
    """Return names inside which an adjective of side or degree stands ("hypoplastic left thumb")."""
    kept = [index for index, word in enumerate(found.folded) if word not in MODIFIERS]
    if len(kept) == len(found) or len(kept) < 2:
        return []
    reduced = replace(
        found,
        folded=[found.folded[index] for index in kept],
        parting=np.maximum.reduceat(found.parting[: kept[-1] + 1], [0, *(index + 1 for index in kept[:-1])]),
    )
    matches = []
    for match in find_windows(reduced, hashes[kept], entries):
        start, end = kept[match.start], kept[match.end - 1] + 1
        left_out = [index for index in range(start, end) if found.folded[index] in MODIFIERS]
        if len(left_out) == 1:
            matches.append(Match(start, end, match.entry, (left_out[0], left_out[0] + 1)))
    return matches


def find_coordinated(found: Words, hashes: npt.NDArray[np.int64], entries: Entries, whole: list[Match]) -> list[Match]:
    """Return names of which conjuncts part the words.

    Args:
        found: The text's words.
        hashes: Those of the words.
        entries: The dictionary.
        whole: Names found as windows: a coordinated one may not cut one of these or bridge one, and what the
            conjunct has of its own may not be one.
    """
    parting = found.parting.tolist()
    sums = [0, *np.cumsum(hashes).tolist()]
    candidates = [gap for place in np.flatnonzero(found.parting == SOFT).tolist() for gap in _gaps(parting, place)]
    if not candidates:
        return []
    keys = [sum_hashes((sums[a], -sums[s], sums[e], -sums[b])) for s, a, b, e in candidates]
    at = entries.find(np.array(keys, np.int64))
    complete = {(match.start, match.end) for match in whole}
    matches = []
    for index in np.flatnonzero(at >= 0).tolist():
        start, gap_start, gap_end, end = candidates[index]
        own = (start, gap_start) if parting[gap_start] == SOFT else (gap_end, end)
        if own not in complete and not _cuts(whole, start, gap_start, gap_end, end):
            matches.append(Match(start, end, int(at[index]), (gap_start, gap_end)))
    return matches


def _gaps(parting: list[int], place: int) -> Iterator[tuple[int, int, int, int]]:
    """(start, gap start, gap end, end) of phrases whose conjunction stands before the word ``place``."""
    low, high = place, place + 1
    while low > 0 and parting[low] != HARD and place - low < _REACH:
        low -= 1
    while high < len(parting) and parting[high] != HARD and high - place < _REACH:
        high += 1
    yield from _shared_end(parting, place, low, high)
    yield from _shared_start(parting, place, low, high)


def _shared_end(parting: list[int], place: int, low: int, high: int) -> Iterator[tuple[int, int, int, int]]:
    """Of "A, B and C head": "A head", with the first comma or conjunction before ``place``."""
    for start in range(place - 1, max(low, place - _CONJUNCT) - 1, -1):
        if start < place - 1 and parting[start + 1] != NONE:
            break
        conjunct = 0
        for gap_end in range(place + 1, high):
            conjunct = 0 if parting[gap_end] == SOFT else conjunct + 1
            if parting[gap_end] not in (NONE, SOFT) or conjunct > _CONJUNCT:
                break
            if parting[gap_end] == NONE:
                for end in range(gap_end + 1, min(high, gap_end + _CONJUNCT) + 1):
                    if end > gap_end + 1 and parting[end - 1] > ATTACHED:
                        break
                    yield start, place, gap_end, end


def _shared_start(parting: list[int], place: int, low: int, high: int) -> Iterator[tuple[int, int, int, int]]:
    """Of "head of A, B and C": "head of C", with the last comma or conjunction before ``place``."""
    for end in range(place + 1, min(high, place + _CONJUNCT) + 1):
        if end > place + 1 and parting[end - 1] != NONE:
            break
        for gap_start in range(place - 1, low, -1):
            if parting[gap_start] == SOFT:
                continue
            if parting[gap_start] > ATTACHED:
                break
            for start in range(gap_start - 1, max(low, gap_start - _CONJUNCT) - 1, -1):
                if start < gap_start - 1 and parting[start + 1] != NONE:
                    break
                yield start, gap_start, place, end
            if parting[gap_start] != NONE:
                break


def _cuts(whole: list[Match], start: int, gap_start: int, gap_end: int, end: int) -> bool:
    """Whether a coordinated phrase takes a name apart, or leaves out a whole name that shares nothing with it."""
    for match in whole:
        if match.end <= start or match.start >= end:
            continue
        if gap_start <= match.start and match.end <= gap_end:
            return True
        over_left = match.start < gap_start and match.end > start
        over_right = match.end > gap_end and match.start < end
        if over_left and match.start < start and match.end <= gap_start:
            return True
        if over_right and match.end > end and match.start >= gap_end:
            return True
    return False


def find_chinese(text: str, entries: Entries, lengths: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return (start, end, term) of the names in a folded Chinese text; where two overlap, the longer one.

    Args:
        text: Folded by :func:`kgdx.text.stems.fold_chinese`.
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
