"""Texts that stand in the corpora word for word, as the questions of a test set should not.

Two texts overlap where so many words follow each other in both, whatever their case, punctuation and stop words; of
Chinese each character is a word. The check is exact: every piece that holds the words of a run is compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kgdx.lazy import lazy_pattern
from kgdx.terms.text_ranking import SegmentRanking
from kgdx.terms.word_index import words_of

WORDS = 13
"""Words of a run that two texts do not share by chance."""
FEWEST = 6
"""A text of fewer words is not judged; one of fewer than a run must stand there whole."""

_SPACED = lazy_pattern(r"([\u3400-\u9fff])")


@dataclass(frozen=True, slots=True)
class Overlap:
    """Where most of a text stands word for word."""

    piece: str
    source: str
    words: int
    share: float


def contained_in(
    ranking: SegmentRanking, texts: Mapping[str, str], words: int = WORDS, sources: Sequence[str] = ()
) -> dict[str, Overlap]:
    """Return which texts stand in the indexed ones, wholly or in part.

    Returns:
        Id of each text that overlaps → the piece that shares the longest run with it, the first of equal ones.
    """
    found = {}
    for id, text in texts.items():
        told = _tokens(text)
        if len(told) >= FEWEST and (best := _longest(ranking, told, min(words, len(told)), sources)) is not None:
            found[id] = best
    return found


def _tokens(text: str) -> list[str]:
    return words_of(_SPACED.sub(r" \1 ", text))


def _longest(ranking: SegmentRanking, told: list[str], words: int, sources: Sequence[str]) -> Overlap | None:
    runs = {tuple(told[at : at + words]) for at in range(len(told) - words + 1)}
    best: Overlap | None = None
    seen: set[tuple[int, int]] = set()
    for run in sorted(runs):
        for at, rows in ranking.holding(run):
            for row in rows.tolist():
                if (at, row) in seen:
                    continue
                seen.add((at, row))
                (piece,) = ranking.segments[at].pieces([row])
                length = _shared(told, _tokens(f"{piece.title} {piece.text}"), words)
                if (not sources or piece.source in sources) and length > (best.words if best else words - 1):
                    best = Overlap(piece.id, piece.source, length, length / len(told))
    return best


def _shared(told: list[str], other: list[str], words: int) -> int:
    places: dict[tuple[str, ...], list[int]] = {}
    for at in range(len(other) - words + 1):
        places.setdefault(tuple(other[at : at + words]), []).append(at)
    longest = 0
    for at in range(len(told) - words + 1):
        for start in places.get(tuple(told[at : at + words]), ()):
            length = words
            while (
                at + length < len(told) and start + length < len(other) and told[at + length] == other[start + length]
            ):
                length += 1
            longest = max(longest, length)
    return longest
