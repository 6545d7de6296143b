"""Names with one word left out where the rest says enough: "happy disposition", "odontogenic keratocysts".

Enough is said when a word is left that hardly any other finding has, and the word left out neither is the noun that the
others describe nor says by itself what is wrong.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence, Set
from typing import NamedTuple

from kgdx.text.stems import word_class
from kgdx.text.tokens import NONE, SOFT

EXACT = 1
"""Rank of an exact synonym; the term's own name has 0."""

RARE = 2
"""Terms at most whose names have the word that carries the meaning."""

SHORTEST = 2
"""Letters of words that are never left out."""

LONGEST = 6
"""Content words of the longest name that is shortened."""

_TELLING = frozenset(
    word_class(word)
    for word in """abnormal absent acute addictive atrophy atypical bifid deficient difficulty ectopic excess extra flat
    lack large long loss low negative no partial poor positive premature prominent severe short slow sluggish small
    supernumerary thick thin unusual weak wide narrow""".split()  # noqa: SIM905
)
"""Words that tell what is wrong: without them a name may be that of a healthy organ, or of the contrary."""

_PARTICIPLE = ("ed", "ing", "ive")
"""Endings of words that mostly tell what is wrong, too."""


class Name(NamedTuple):
    """A name as the dictionary's compiler reads it.

    Attributes:
        term: Row of the ``phenotype`` table.
        number: 0 for the term's name, n for its n-th synonym.
        rank: How good it is; see :class:`kgdx.text.dictionary.Entries`.
        folded: Content words.
        partings: How each is parted from the one before.
        hashes: Hash of each word's class.
    """

    term: int
    number: int
    rank: int
    folded: Sequence[str]
    partings: Sequence[int]
    hashes: list[int]

    @property
    def joined(self) -> bool:
        """It holds a comma, slash or conjunction."""
        return any(parting >= SOFT for parting in self.partings[1:])


def shortened(names: Sequence[Name], taken: Set[int], key: Callable[[list[int]], int]) -> Iterator[tuple[int, Name]]:
    """Yield (key of the rest, name) for rests that are no name and of one term only.

    Args:
        names: All names.
        taken: Keys of whole names.
        key: Gives the key of a sequence of hashes.
    """
    owners: dict[int, set[int]] = defaultdict(set)
    for name in names:
        for value in name.hashes:
            owners[value].add(name.term)
    rare = {value for value, terms in owners.items() if len(terms) <= RARE}
    rests: dict[int, dict[int, Name]] = defaultdict(dict)
    for name in names:
        if name.rank > EXACT or not 2 < len(name.folded) <= LONGEST or rare.isdisjoint(name.hashes):
            continue
        for place in _spare(name):
            rest = [*name.hashes[:place], *name.hashes[place + 1 :]]
            if not rare.isdisjoint(rest) and (value := key(rest)) not in taken:
                rests[value].setdefault(name.term, name)
    for value, by_term in rests.items():
        if len(by_term) == 1:
            yield value, next(iter(by_term.values()))


def _spare(name: Name) -> Iterator[int]:
    """Places of words that may be left out."""
    parted = [place for place, parting in enumerate(name.partings) if place and parting > NONE]
    head = (parted[0] if parted else len(name.folded)) - 1
    for place, word in enumerate(name.folded):
        telling = word_class(word) in _TELLING or word.endswith(_PARTICIPLE)
        if place != head and len(word) > SHORTEST and word.isalpha() and not telling:
            yield place
