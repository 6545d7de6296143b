"""Reading by meaning: the graph's names as vectors, and the parts of a text that hold none of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kgdx.case.patient import Finding, Span, Status
from kgdx.terms.dictionary import in_scope
from kgdx.terms.encoder import VERSION, Encoder, Rows, Vectors, name_vectors, nearest_names
from kgdx.terms.normalise import MODIFIERS, word_rows
from kgdx.terms.tokens import SOFT, words

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.terms.phenotypes import Terms

PHRASE = 0.85
"""Cosine from which a given phrase, which is meant to be a finding, is taken for the nearest name."""

PART = 0.90
"""The same for a part of a free text, which need not be about a finding at all."""

MOST_WORDS = 8
"""Content words of the longest part of a text that is compared; longer ones are about several things."""

_NEXT = 10
"""How many of the nearest names are tried until one does not say the contrary."""

_CONTRARY = [frozenset(words) for words in word_rows("contrary")]
_OPPOSED = tuple(zip(_CONTRARY[::2], _CONTRARY[1::2], strict=True))
"""Words that turn a name into its contrary, which an encoder hardly tells apart."""


@dataclass(frozen=True, slots=True)
class PhraseVectors:
    """The terms' names as vectors; synonyms bring more wrong matches than right ones."""

    encoder: Encoder
    vectors: Vectors
    terms: Rows

    @classmethod
    def open(cls, snapshot: Snapshot, encoder: Encoder, progress: Callable[[str], None] | None = None) -> PhraseVectors:
        """Open the vectors of a snapshot's names, encoding them first if that was not done yet."""

        def names() -> dict[int, str]:
            column = snapshot.values("phenotype", "name").values()
            return {row: column[row] for row in np.flatnonzero(in_scope(snapshot)).tolist() if column[row]}

        return cls(encoder, *name_vectors(snapshot, ("meaning", str(VERSION)), encoder, names, progress))

    def nearest(self, phrases: Sequence[str], terms: Terms) -> list[tuple[int, float]]:
        """Return for each phrase the term whose name comes nearest without saying the contrary, and the cosine."""
        if not len(self.terms) or not phrases:
            return [(0, 0.0)] * len(phrases)
        found = nearest_names(self.encoder.encode(phrases), self.vectors, _NEXT)
        return [self._best(*each, terms) for each in zip(phrases, *found, strict=True)]

    def _best(self, phrase: str, rows: Rows, cosines: Vectors, terms: Terms) -> tuple[int, float]:
        for term, cosine in zip(self.terms[rows].tolist(), cosines.tolist(), strict=True):
            if not contrary(phrase, terms.name(term)):
                return term, cosine
        return 0, 0.0

    def find(self, phrase: str, terms: Terms) -> Finding | None:
        """Return what a phrase that is meant to be a finding comes nearest to, if that is near enough."""
        ((term, cosine),) = self.nearest([phrase], terms)
        return _finding(phrase, terms, term, cosine) if cosine >= PHRASE else None

    def read(self, text: str, found: Iterable[Finding], terms: Terms) -> list[Finding]:
        """Return the findings near to the parts of a text in which none was found."""
        parts = list(silent_parts(text, [finding.span for finding in found if finding.span]))
        said = [text[part.start : part.end] for part in parts]
        return [
            _finding(phrase, terms, term, cosine, part)
            for part, phrase, (term, cosine) in zip(parts, said, self.nearest(said, terms), strict=True)
            if cosine >= PART
        ]


def _finding(phrase: str, terms: Terms, term: int, cosine: float, span: Span | None = None) -> Finding:
    name = terms.name(term)
    return Finding(terms.id(term), Status.PRESENT, name, span, phrase, name, "encoder", round(cosine, 3))


def contrary(phrase: str, name: str) -> bool:
    """Return whether two names say opposite things of what they are about."""
    said, named = set(phrase.lower().split()), set(name.lower().split())
    directions = [(_direction(said, *pair), _direction(named, *pair)) for pair in _OPPOSED]
    return any(one * other < 0 for one, other in directions)


def _direction(words: set[str], one: frozenset[str], other: frozenset[str]) -> int:
    return bool(words & one) - bool(words & other)


def silent_parts(text: str, spans: Sequence[Span]) -> Iterator[Span]:
    """Yield the parts of a text between commas, conjunctions and ends of clauses that no span touches.

    Parts of one word are left out, since a single word that no name has says too little, and so are long ones.
    """
    found = words(text)
    bounds = [at for at, parting in enumerate(found.parting.tolist()) if parting >= SOFT]
    taken = np.zeros(len(text) + 1, bool)
    for span in spans:
        taken[span.start : span.end] = True
    for first, beyond in zip(bounds, [*bounds[1:], len(found.folded)], strict=True):
        start, end = int(found.starts[first]), int(found.ends[beyond - 1])
        telling = sum(word not in MODIFIERS for word in found.folded[first:beyond])
        if telling > 1 and beyond - first <= MOST_WORDS and not taken[start:end].any():
            yield Span(start, end)
