"""Names that differ by a typo: an edit distance of at most three, and no more than their length allows.

Two names within k edits share one of their 4k + 1 rarest trigrams (prefix filtering, as in Xiao et al., Efficient
similarity joins for near duplicate detection, WWW 2008), so 50,000 names are compared with 50,000 by one join.
Distance alone says little about meaning: what differs must look like a typo, and be none between two known words.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

import numpy as np
import polars as pl

from kgdx.lazy import lazy_pattern
from kgdx.terms.normalise import word_class, word_rows

VERSION = 2
"""Changes with what counts as a typo."""

MOST = 3
"""Greatest edit distance."""

_GRAM = 3
_SPOILT = _GRAM + 1
"""Trigrams that one edit can spoil: a swap of neighbours is one edit of two letters."""
_STEPS = ((18, 3), (12, 2), (8, 1))
"""Letters of the shorter name from which on so many edits may be a typo."""
_HAN_STEPS = ((6, 1),)
"""The same for Chinese names, where one character is a word."""
_WEAK = frozenset("性症型期样病基第之及")
"""Chinese characters that names of one thing have or lack, or have one for another."""
_ALIKE = tuple(map(frozenset, ("凸突", "酯脂", "贮储", "他它")))
"""Chinese characters that are written for one another."""
_SAME_SIGN = {sign: min(pair) for pair in _ALIKE for sign in pair}
WORD_STEPS = ((14, 2), (7, 1))
"""Letters of a word from which on so many edits in it may be a typo."""
_CHUNK = 4_000_000
_PREFIXES, _SUFFIXES = word_rows("prefix")[0], word_rows("ending")[0]
_FORMED = tuple(sorted((*_SUFFIXES, *word_rows("formed")[0]), key=len, reverse=True))
_EXCHANGED = frozenset({frozenset("ei"), frozenset("iy"), frozenset("ae")})
"""Vowels that are written for one another."""
_ALIKE_FROM = 0.6
"""Share of letters in place from which on two words look alike."""
_DIGIT = lazy_pattern(r"\d")


def near(subjects: pl.DataFrame, objects: pl.DataFrame, words: Container[str] | None = None) -> pl.DataFrame:
    """Return the pairs of keys that a typo parts.

    Returns:
        ``key``, ``other`` (the object's key) and ``distance`` (1 to 3).

    Example:
        >>> frame = lambda *keys: pl.DataFrame({"key": keys, "mark": [""] * len(keys), "han": [False] * len(keys)})
        >>> near(frame("legionela pneumonia"), frame("legionella pneumonia", "chlamydia pneumonia")).rows()
        [('legionela pneumonia', 'legionella pneumonia', 1)]
    """
    left, right = (_measured(side) for side in (subjects, objects))
    known = known_words(objects) if words is None else words
    found = [_verified(pairs, left, right) for pairs in _candidates(left, right)]
    empty = pl.DataFrame(schema={"key": pl.String, "other": pl.String, "distance": pl.Int32})
    pairs = pl.concat([empty, *found])
    typos = [is_typo(key, other, known) and not look_alike(key, other, known) for key, other, _ in pairs.iter_rows()]
    return pairs.filter(pl.Series(typos, dtype=pl.Boolean)).sort("key", "distance", "other")


def bound(letters: int, *, han: bool) -> int:
    return word_edits(letters, _HAN_STEPS if han else _STEPS)


def is_typo(one: str, other: str, words: Container[str], steps: Sequence[tuple[int, int]] = WORD_STEPS) -> bool:
    """Return whether the difference of two keys within the edit distance can be a typo rather than another meaning.

    Blanks may be missing; otherwise the words must agree one by one, and a word that differs may do so by few letters,
    not in its first one, not in a prefix or suffix of its own meaning, and not be another word that is known. In
    Chinese only characters may differ that say little.
    """
    if one.replace(" ", "") == other.replace(" ", ""):
        return True
    if not one.isascii() or not other.isascii():
        return _han_typo(one, other)
    mine, yours = one.split(" "), other.split(" ")
    return len(mine) == len(yours) and all(
        is_word_typo(a, b, words, steps) for a, b in zip(mine, yours, strict=True) if a != b
    )


def _han_typo(one: str, other: str) -> bool:
    from rapidfuzz.distance import Levenshtein

    for edit in Levenshtein.editops(one, other):
        at, to = edit.src_pos, edit.dest_pos
        parts = {*one[at : at + (edit.tag != "insert")], *other[to : to + (edit.tag != "delete")]}
        if not (parts <= _WEAK or frozenset(parts) in _ALIKE):
            return False
    return True


def han_skeleton(key: str) -> str:
    """Return what typos leave of a Chinese key: without weak characters, one character for those written alike.

    Example:
        >>> han_skeleton("急性间歇型卟啉病")
        '急间歇卟啉'
    """
    return "".join(_SAME_SIGN.get(sign, sign) for sign in key if sign not in _WEAK)


def word_edits(letters: int, steps: Sequence[tuple[int, int]] = WORD_STEPS) -> int:
    return next((edits for least, edits in steps if letters >= least), 0)


def is_word_typo(one: str, other: str, words: Container[str], steps: Sequence[tuple[int, int]] = WORD_STEPS) -> bool:
    """Return whether the difference of two words can be a typo; see :func:`is_typo`."""
    from rapidfuzz.distance import OSA

    shortest = min(len(one), len(other))
    allowed = word_edits(shortest, steps)
    if OSA.distance(one, other, score_cutoff=allowed) > allowed or one[0] != other[0] or _DIGIT.search(one + other):
        return False
    if one in words and other in words:
        return False
    starts = [_part(word, _PREFIXES, str.startswith) for word in (one, other)]
    ends = [_part(word, _SUFFIXES, str.endswith) for word in (one, other)]
    return starts[0] == starts[1] and (ends[0] == ends[1] or not all(ends))


def look_alike(one: str, other: str, words: Container[str]) -> bool:
    """Return whether two keys differ by a word that looks like another one and means something else.

    Two words that are known, or that are both formed as terms of medicine are, are two words and no slip of one of
    them; but for a letter that is doubled, two that are swapped, and vowels that are written for one another.

    Example:
        >>> none = set()
        >>> look_alike("ureteritis", "urethritis", none), look_alike("dysphasia", "dysphagia", none)
        (True, True)
        >>> look_alike("diarhea", "diarrhea", none), look_alike("runny nose", "rhinorrhea", none)
        (False, False)
    """
    if one.replace(" ", "") == other.replace(" ", ""):
        return False
    if not one.isascii() and not other.isascii():
        return _close(one, other) and not _han_typo(one, other)
    mine, yours = set(one.split()), set(other.split())
    return any(_two_terms(a, b, words) for a in mine - yours for b in yours - mine)


def _two_terms(one: str, other: str, words: Container[str]) -> bool:
    if not _close(one, other) or word_class(one) == word_class(other):
        return False
    formed = _part(one, _FORMED, str.endswith) and _part(other, _FORMED, str.endswith)
    return bool((one in words and other in words) or formed) and not _slip(one, other)


def _close(one: str, other: str) -> bool:
    from rapidfuzz.distance import OSA

    return float(OSA.normalized_similarity(one, other)) >= _ALIKE_FROM


def _slip(one: str, other: str) -> bool:
    from rapidfuzz.distance import OSA, Levenshtein

    if len(one) == len(other) and OSA.distance(one, other) == 1 and sorted(one) == sorted(other):
        return True
    edits = Levenshtein.editops(one, other)
    return len(edits) == 1 and all(
        frozenset((one[edit.src_pos], other[edit.dest_pos])) in _EXCHANGED
        if edit.tag == "replace"
        else _doubles(one, edit.src_pos)
        if edit.tag == "delete"
        else _doubles(other, edit.dest_pos)
        for edit in edits
    )


def _doubles(word: str, at: int) -> bool:
    return word[at] in (word[at - 1 : at] + word[at + 1 : at + 2])


def _part(word: str, parts: tuple[str, ...], has: Callable[[str, str], bool]) -> str:
    return max((part for part in parts if has(word, part)), key=len, default="")


def known_words(side: pl.DataFrame) -> set[str]:
    """Return the words of keys.

    Example:
        >>> sorted(known_words(pl.DataFrame({"key": ["septic shock"], "han": [False]})))
        ['septic', 'shock']
    """
    words = side.filter(~pl.col("han")).select(pl.col("key").unique().str.split(" ").explode().unique())
    return set(words["key"])


def _measured(side: pl.DataFrame) -> pl.DataFrame:
    length = pl.col("key").str.len_chars().cast(pl.Int32)
    edits = pl.when("han").then(_stepped(length, _HAN_STEPS)).otherwise(_stepped(length, _STEPS))
    measured = side.select("key", "mark", "han").unique("key", maintain_order=True)
    measured = measured.with_columns(length.alias("length"), edits.alias("edits")).filter(pl.col("edits") > 0)
    return measured.with_row_index("row")


def _stepped(length: pl.Expr, steps: tuple[tuple[int, int], ...]) -> pl.Expr:
    found = pl.lit(0, pl.Int32)
    for least, edits in sorted(steps):
        found = pl.when(length >= least).then(pl.lit(edits, pl.Int32)).otherwise(found)
    return found


def _candidates(left: pl.DataFrame, right: pl.DataFrame) -> list[pl.DataFrame]:
    grams = [_grams(side) for side in (left, right)]
    common = (
        pl.concat([gram.select("gram").unique() for gram in grams]).group_by("gram").len().filter(pl.col("len") > 1)
    )
    frequent = pl.concat([gram.select("gram") for gram in grams]).group_by("gram").len("often")
    mine, yours = (
        _rarest(gram, frequent, side).join(common, on="gram", how="semi")
        for gram, side in zip(grams, (left, right), strict=True)
    )
    facts = ("length", "edits", "mark")
    mine = mine.join(left.select("row", *facts), on="row").with_columns(pl.col("mark").hash())
    yours = yours.join(right.select("row", *facts), on="row").with_columns(pl.col("mark").hash())
    allowed = pl.min_horizontal("edits", "edits_right")
    pairs = (
        mine.lazy()
        .join(yours.lazy(), on=["gram", "mark"])
        .filter(
            ((pl.col("length") - pl.col("length_right")).abs() <= allowed)
            & ((pl.col("place") - pl.col("place_right")).abs() <= allowed)
        )
        .select("row", "row_right", allowed.alias("edits"))
        .unique()
        .collect(engine="streaming")
        .sort("row", "row_right")
    )
    return [pairs.slice(start, _CHUNK) for start in range(0, pairs.height, _CHUNK)]


def _grams(side: pl.DataFrame) -> pl.DataFrame:
    keys = side["key"].to_list()
    points = np.frombuffer("".join(keys).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    length = side["length"].to_numpy().astype(np.int64)
    start = np.cumsum(length) - length
    row = np.repeat(np.arange(len(keys), dtype=np.uint32), length)
    place = (np.arange(len(points)) - start[row]).astype(np.int32)
    inside = place <= (length[row] - _GRAM)
    at = np.flatnonzero(inside)
    gram = points[at] << np.uint64(42) | points[at + 1] << np.uint64(21) | points[at + 2] if len(at) else points[:0]
    frame = pl.DataFrame({"row": row[at], "gram": gram, "place": place[at]}, schema_overrides={"row": pl.UInt32})
    return frame.unique(["row", "gram"], keep="first", maintain_order=True)


def _rarest(grams: pl.DataFrame, frequent: pl.DataFrame, side: pl.DataFrame) -> pl.DataFrame:
    ranked = grams.join(frequent, on="gram").join(side.select("row", "edits"), on="row").sort("row", "often", "gram")
    place = pl.int_range(pl.len(), dtype=pl.Int32).over("row")
    return ranked.filter(place <= pl.col("edits") * _SPOILT).select("row", "gram", "place")


def _verified(pairs: pl.DataFrame, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
    from rapidfuzz.distance import OSA
    from rapidfuzz.process import cpdist

    mine, yours = left["key"].gather(pairs["row"]), right["key"].gather(pairs["row_right"])
    distances = cpdist(
        mine.to_list(), yours.to_list(), scorer=OSA.distance, score_cutoff=MOST, dtype=np.int32, workers=-1
    )
    found = pl.DataFrame({"key": mine, "other": yours, "distance": distances, "edits": pairs["edits"]})
    return found.filter((pl.col("distance") > 0) & (pl.col("distance") <= pl.col("edits"))).drop("edits")
