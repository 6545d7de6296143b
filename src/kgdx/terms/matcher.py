"""Find the dictionary's names in the words of a text, English and Chinese, and choose among those that overlap.

Names are windows of neighbouring words, and coordinated phrases.

"Renal and ear anomalies" names two findings of which one is no window of the text: where a comma or conjunction parts
a phrase, the words before and after the shared part are also looked up with the conjuncts in between left out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from kgdx.lazy import lazy_pattern
from kgdx.terms.dictionary import (
    DENYING,
    MAX_WORDS,
    SHORTENED,
    Entries,
    single_hash,
    substring_keys,
    sum_hashes,
    word_hash,
)
from kgdx.terms.everyday import everyday_wordings
from kgdx.terms.normalise import MODIFIERS, inflection, word_class, word_list, word_rows
from kgdx.terms.tokens import ATTACHED, HARD, LINKED, NONE, SOFT, ContentWords, scan

_PARTING_ZH = lazy_pattern("|".join(sorted(word_list("modifier_zh"), key=len, reverse=True)))
_DENIED_ZH = lazy_pattern(
    "(?<![痰涕])(?:也|都|均|并|倒|还)?(?:不(?![出下起动上住了到进开清但仅过断停止时同吃])|没有?|未[见触闻]?及?|无)(?:明显|太|很|再)?"
)
_HEDGES = word_list("hedge")
_AS_NOUN, _DETERMINERS = word_list("as_noun"), word_list("determiner")
_CONJUNCT = 3
"""Content words at most in a conjunct or in the part that conjuncts share."""

_REACH = 8
"""Content words at most between a coordinated phrase's first word and its conjunction, and after it."""


(_ADJECTIVE,) = word_rows("adjective")
_FOLLOWING, _SENSED, _PARTS = word_list("following"), word_list("sensed"), word_list("part")


_CHROMOSOMAL = (["short", "arm"], ["long", "arm"])
"""Parts of a chromosome; people who have short or long arms have two."""


@dataclass(frozen=True, slots=True)
class TermMatch:
    """A name found in a text.

    Attributes:
        entry: Position in the dictionary of the first entry with this key.
        gap: (first, one past last) word of the conjuncts left out; empty for a plain window.
    """

    start: int
    end: int
    entry: int
    gap: tuple[int, int] = (0, 0)

    def __len__(self) -> int:
        return self.end - self.start


def hashes_of(found: ContentWords) -> npt.NDArray[np.int64]:
    return np.array([word_hash(word) for word in found.folded], np.int64)


def find_windows(found: ContentWords, hashes: npt.NDArray[np.int64], entries: Entries) -> list[TermMatch]:
    """Return every run of words within a clause that is a name; runs over commas only where the name has one too."""
    count = len(found)
    if not count or not len(entries.joined):  # a graph without phenotypes has no names of any
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
            matches.append(TermMatch(int(start[index]), int(end[index]), int(at[index])))
    return matches


def find_modified(found: ContentWords, hashes: npt.NDArray[np.int64], entries: Entries) -> list[TermMatch]:
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
        if left_out and left_out[-1] - left_out[0] < len(left_out):  # one run of them: "bruises really easily"
            matches.append(TermMatch(start, end, match.entry, (left_out[0], left_out[-1] + 1)))
    return matches


def find_coordinated(
    found: ContentWords, hashes: npt.NDArray[np.int64], entries: Entries, whole: list[TermMatch]
) -> list[TermMatch]:
    """Return names of which conjuncts part the words."""
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
        sure = _HEDGES.isdisjoint(found.folded[gap_start:gap_end])
        if sure and own not in complete and not _cuts(whole, start, gap_start, gap_end, end):
            matches.append(TermMatch(start, end, int(at[index]), (gap_start, gap_end)))
    return matches


def _gaps(parting: list[int], place: int) -> Iterator[tuple[int, int, int, int]]:
    low, high = place, place + 1
    while low > 0 and parting[low] != HARD and place - low < _REACH:
        low -= 1
    while high < len(parting) and parting[high] != HARD and high - place < _REACH:
        high += 1
    yield from _shared_end(parting, place, low, high)
    yield from _shared_start(parting, place, low, high)


def _shared_end(parting: list[int], place: int, low: int, high: int) -> Iterator[tuple[int, int, int, int]]:
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


def _cuts(whole: list[TermMatch], start: int, gap_start: int, gap_end: int, end: int) -> bool:
    return any(
        (gap_start <= match.start and match.end <= gap_end)
        or match.start < start < match.end <= gap_start
        or gap_end <= match.start < end < match.end
        for match in whole
    )


@dataclass(frozen=True, slots=True)
class TermChoice:
    """A name in a text and the term it was taken for."""

    start: int
    end: int
    term: int
    label: str
    exact: bool
    rank: int
    corrected: bool = False
    nested: bool = False


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Data that :func:`choose` needs."""

    entries: Entries
    label: Callable[[int], str]
    above: Callable[[int, int], bool]
    corrected: Set[int] = frozenset()


def choose(found: ContentWords, whole: list[TermMatch], split: list[TermMatch], lexicon: Lexicon) -> list[TermChoice]:
    """Return the choices in the order of the text.

    Of matches that overlap the longest wins. A shorter one inside it is kept too where it names a more general term
    ("brachydactyly" in "brachydactyly type C"): it is said as well; any other is a part of the longer name.
    """
    complete = {(match.start, match.end) for match in whole}
    owner = [-1] * len(found)
    choices: list[TermChoice] = []
    for match in sorted(whole, key=lambda m: (-len(m), m.start)):
        owners = set(owner[match.start : match.end])
        if owners != {-1} and (len(owners) > 1 or -1 in owners):
            continue
        choice = None if _denied(found, match, complete) else _read(found, match, lexicon)
        if choice is None:
            continue
        if owners == {-1}:
            owner[match.start : match.end] = [len(choices)] * len(match)
            choices.append(choice)
        elif lexicon.above(choice.term, choices[owners.pop()].term):
            choices.append(replace(choice, nested=True))
    choices.extend(choice for match in split if (choice := _read(found, match, lexicon)))
    return sorted(set(choices), key=lambda c: (c.start, c.end, c.term, c.label))


def _denied(found: ContentWords, match: TermMatch, complete: set[tuple[int, int]]) -> bool:
    last = match.end - 1
    linked = found.parting[last] == LINKED and word_class(found.folded[last]) == word_class("absent")
    behind = found.folded[last] == "absent" and found.parting[last] <= LINKED
    return bool(linked or behind) and (match.start, last) in complete


def _read(found: ContentWords, match: TermMatch, lexicon: Lexicon) -> TermChoice | None:
    entries = lexicon.entries
    start, end = int(found.starts[match.start]), int(found.ends[match.end - 1])
    kept = [i for i in range(match.start, match.end) if not match.gap[0] <= i < match.gap[1]]
    said = [found.folded[i] for i in kept]
    crossing = match.gap == (0, 0) and any(found.parting[i] >= SOFT for i in kept[1:])
    corrected = not lexicon.corrected.isdisjoint(kept)
    best: tuple[float, TermChoice] | None = None
    for position in entries.at(match.entry):
        name = lexicon.label(position)
        if not _fits(found.text[start:end], said, name, crossing):
            continue
        wording = everyday_wordings("en").get(name)
        if wording and (
            _splits(found, match) or (wording.alone and (_describes(found, match) or _is_no_noun(found, match)))
        ):
            continue
        parts = _said_by(name)
        exact = parts == said
        rank = int(entries.ranks[position])
        if rank >= SHORTENED and match.gap != (0, 0):
            continue
        if not exact and _runs_on(found, match, parts):
            continue
        value = rank - (0.5 if exact else 0.4 * _literal(said, parts))
        if best is None or value < best[0]:
            best = value, TermChoice(start, end, int(entries.terms[position]), name, exact, rank, corrected)
    return best[1] if best else None


def _splits(found: ContentWords, match: TermMatch) -> bool:
    return any(found.folded[at] not in MODIFIERS for at in range(*match.gap))


def _describes(found: ContentWords, match: TermMatch) -> bool:
    after = match.end
    if after >= len(found) or found.parting[after] in (LINKED, HARD):
        return False
    between = found.text[int(found.ends[after - 1]) : int(found.starts[after])].split()
    if found.parting[after] == SOFT:  # "short and broad hands", but "he is short and floppy", "short and he falls"
        return found.parting[match.start] < LINKED and between in (["and"], ["or"])
    if found.parting[after] == ATTACHED:
        return "of" in between or "the" in between
    if found.folded[after] in _PARTS and found.folded[match.end - 1] in _SENSED:
        return False
    return found.folded[after] not in _FOLLOWING


def _is_no_noun(found: ContentWords, match: TermMatch) -> bool:
    if len(match) > 1 or found.folded[match.start] not in _AS_NOUN:
        return False
    before = found.text[: int(found.starts[match.start])].rsplit(None, 1)
    return not before or before[-1].lower() not in _DETERMINERS


@lru_cache(maxsize=65536)
def _said_by(name: str) -> list[str]:
    return scan(name)[0]


def _fits(text: str, said: list[str], name: str, crossing: bool) -> bool:
    parts = _said_by(name)
    if said in _CHROMOSOMAL:
        return False
    if len(said) == 1 and len(name) <= 5 and name.isupper():  # an acronym
        return len(name) > 2 and text == name
    if crossing:
        return [word_class(word) for word in said] == [word_class(word) for word in parts]
    return True


def _literal(said: list[str], parts: list[str]) -> float:
    own = {inflection(part) for part in parts}
    return sum(inflection(word) in own for word in said) / len(said)


def _runs_on(found: ContentWords, match: TermMatch, parts: list[str]) -> bool:
    after = match.end
    if len(match) < 2 or after >= len(found) or found.parting[after] != NONE:
        return False
    last = found.folded[after - 1]
    return last != parts[-1] and last.endswith(_ADJECTIVE)


def find_chinese(text: str, entries: Entries, lengths: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return (start, end, term) of a folded Chinese text's names, of those that deny a term ~term; the longer first."""
    keys = dict(substring_keys(text, lengths))
    if not keys:
        return []
    places = np.cumsum([len(part) for part in keys.values()])[:-1]
    by_size = zip(keys, np.split(entries.find(np.concatenate([*keys.values()])), places), strict=True)
    found: list[tuple[int, int, int]] = []
    taken = np.zeros(len(text), bool)
    for size, at in reversed(list(by_size)):
        for start in np.flatnonzero(at >= 0).tolist():
            if not taken[start : start + size].any():
                taken[start : start + size] = True
                term = int(entries.terms[at[start]])
                found.append((start, start + size, ~term if entries.ranks[at[start]] >= DENYING else term))
    return sorted(found)


def find_chinese_parted(
    text: str, entries: Entries, lengths: Sequence[int], whole: Sequence[tuple[int, int, int]], denied: bool = False
) -> list[tuple[int, int, int]]:
    """Return names inside which words of degree or side, or a denial, stand: 肌张力明显低下, 肝、脾肿大, 腿不麻."""
    left_out = [match.span() for match in (_DENIED_ZH if denied else _PARTING_ZH).finditer(text)]
    if not left_out:
        return []
    places = [at for at in range(len(text)) if not any(start <= at < end for start, end in _near(left_out, at))]
    known = set(whole)
    found = []
    for start, end, term in find_chinese("".join(text[at] for at in places), entries, lengths):
        first, last = places[start], places[end - 1] + 1
        parted = last - first > end - start and not (denied and term < 0)
        if (
            parted
            and (first, last, term) not in known
            and not any((a <= first and last <= b) or (denied and first <= a and b <= last) for a, b, _ in whole)
        ):
            found.append((first, last, ~term if denied else term))
    return found


def _near(spans: Sequence[tuple[int, int]], place: int) -> Sequence[tuple[int, int]]:
    at = bisect_right(spans, (place, place + 1))
    return spans[max(0, at - 1) : at + 1]
