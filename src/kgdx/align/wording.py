"""Disease names reduced to the words that tell diseases apart.

"Albinism, oculocutaneous, type VI" and "Oculocutaneous albinism type 6" are then the same.
"""

from __future__ import annotations

import re
import unicodedata

_TENS = ("", "x")
_UNITS = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
NUMERALS = {ten + unit: str(10 * tens + units) for tens, ten in enumerate(_TENS) for units, unit in enumerate(_UNITS)}
"""Roman numerals up to 19."""
# fmt: off
EMPTY = frozenset({
    "a", "an", "the", "of", "with", "without", "and", "or", "due", "to", "in", "by", "from", "for", "type", "form",
    "disease", "syndrome", "disorder", "familial", "hereditary", "inherited", "isolated", "rare", "autosomal",
    "dominant", "recessive", "linked", "related", "associated", "susceptibility",
})
# fmt: on
"""Words that sources add or leave out; inheritance is read apart."""
SAME = (
    ("mental retardation", "intellectual disability"),
    ("intellectual developmental disorder", "intellectual disability"),
    ("aciduria", "acidemia"),
    ("neurosensory", "sensorineural"),
    ("hearing loss", "deafness"),
    ("x-linked", "xlinked"),
    ("x linked", "xlinked"),
)
"""Phrases that OMIM and Orphanet use for the same."""
_WORD = re.compile(r"[a-z]+|\d+")
_SUBTYPE = re.compile(rf"({'|'.join(numeral for numeral in NUMERALS if numeral)})([a-h])")
_GENITIVE = re.compile(r"['’]s\b")


def words(name: str) -> frozenset[str]:
    """Return the telling words of a disease name, without accents, order, plural and Roman numerals.

    Example:
        >>> words("Albinism, oculocutaneous, type VI") == words("Oculocutaneous albinism type 6")
        True
    """
    plain = _plain(name)
    found = (NUMERALS.get(word, word) for word in _WORD.findall(_GENITIVE.sub("", plain)))
    return frozenset(word.rstrip("s") if len(word) > 3 else word for word in found if word not in EMPTY)


def stem(found: frozenset[str]) -> frozenset[str]:
    """Return the words without numbers and single letters: what the members of a numbered series share.

    Example:
        >>> sorted(stem(words("Spastic paraplegia 4, autosomal dominant")))
        ['paraplegia', 'spastic']
    """
    return frozenset(word for word in found if len(word) > 1 and not word.isdigit())


def parted(found: frozenset[str]) -> frozenset[str]:
    """Return the words with Roman numerals parted from the letter of a subtype.

    Example:
        >>> sorted(parted(words("Pseudohypoaldosteronism, type IIB")))
        ['2', 'b', 'pseudohypoaldosteronism']
    """
    result: set[str] = set()
    for word in found:
        lettered = _SUBTYPE.fullmatch(word)
        result |= {NUMERALS[lettered[1]], lettered[2]} if lettered else {word}
    return frozenset(result)


def trigrams(found: frozenset[str]) -> frozenset[str]:
    """Return the letter trigrams of words, with ``#`` at their ends.

    Example:
        >>> sorted(trigrams(frozenset({"gout"})))
        ['#go', 'gou', 'out', 'ut#']
    """
    marked = (f"#{word}#" for word in found)
    return frozenset(word[at : at + 3] for word in marked for at in range(len(word) - 2))


def inheritance(name: str) -> str:
    """Return the modes of inheritance that a name states, as letters: d(ominant), r(ecessive), x(-linked).

    Example:
        >>> inheritance("Spastic paraplegia 4, autosomal dominant")
        'd'
    """
    plain = _plain(name)
    stated = (("d", "dominant"), ("r", "recessive"), ("x", "xlinked"))
    return "".join(letter for letter, word in stated if word in plain)


def _plain(name: str) -> str:
    plain = "".join(c for c in unicodedata.normalize("NFKD", name.lower()) if not unicodedata.combining(c))
    for phrase, other in SAME:
        plain = plain.replace(phrase, other)
    return plain
