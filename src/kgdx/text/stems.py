"""One class for all forms of a word: plurals, British and American spelling, Greek and Latin derivations, organ words.

The rules are those of English and of medical word formation, not of any corpus. A class need not be a word; it only
has to be the same for forms that mean the same in the name of a finding, on the side of the ontology and of the text.
"""

from __future__ import annotations

import re
from functools import lru_cache

from kgdx.text.lexicon import CLASSES

_SPELLING = (
    (re.compile(r"ae|oe"), "e"),
    (re.compile(r"our(?=$|al$|ed$|ing$|less$|s$)"), "or"),
    (re.compile(r"is(?=e[ds]?$|ing$|ation|ations$)"), "iz"),
    (re.compile(r"sulph"), "sulf"),
    (re.compile(r"leuc"), "leuk"),
    (re.compile(r"ll(?=ed$|ing$)"), "l"),
    (re.compile(r"(?<=[ent])tre$"), "ter"),
)
_PLURALS = (
    ("mata", "ma"),
    ("ces", "x"),
    ("nges", "nx"),
    ("oses", "osis"),
    ("yses", "ysis"),
    ("eses", "esis"),
    ("ises", "is"),
    ("ies", "y"),
    ("sses", "ss"),
    ("shes", "sh"),
    ("ches", "ch"),
    ("xes", "x"),
    ("i", "us"),
)
_DERIVED = (
    ("plastic", "plasia"),
    ("trophic", "trophy"),
    ("cephalic", "cephaly"),
    ("cephalous", "cephaly"),
    ("dactylic", "dactyly"),
    ("dactylous", "dactyly"),
    ("dactylism", "dactyly"),
    ("dactylia", "dactyly"),
    ("cephalia", "cephaly"),
    ("gnathic", "gnathia"),
    ("gnathism", "gnathia"),
    ("emic", "emia"),
    ("uric", "uria"),
    ("plegic", "plegia"),
    ("phagic", "phagia"),
    ("pneic", "pnea"),
    ("penic", "penia"),
    ("kinetic", "kinesia"),
    ("ectatic", "ectasia"),
    ("ectasis", "ectasia"),
    ("genetic", "genesis"),
    ("paretic", "paresis"),
    ("morphic", "morphism"),
    ("tropic", "tropia"),
    ("metropic", "metropia"),
    ("otic", "osis"),
    ("itic", "itis"),
    ("axic", "axia"),
    ("tactic", "taxia"),
    ("megalic", "megaly"),
    ("megalia", "megaly"),
    ("arthric", "arthria"),
    ("phasic", "phasia"),
    ("praxic", "praxia"),
    ("phonic", "phonia"),
    ("lexic", "lexia"),
    ("clonic", "clonus"),
    ("leptic", "lepsy"),
    ("istic", "ism"),
    ("otonic", "otonia"),
    ("ertonic", "ertonia"),
    ("ystonic", "ystonia"),
    ("ismic", "ism"),
    ("pathic", "pathy"),
)
_SUFFIXES = (
    "ational", "ation", "ement", "ments", "ment", "ities", "ity", "ness", "ical", "ally", "ions", "ion", "ing", "ive",
    "ous", "ary", "ory", "ant", "ent", "ate", "ian", "ial", "ium", "al", "ly", "ed", "ic", "ia", "is", "es", "er", "ar",
    "um", "us", "y", "e", "a", "s", "o",
)  # fmt: skip


@lru_cache(maxsize=65536)
def inflection(folded: str) -> str:
    """Return a folded word without spelling variant, plural and Greek or Latin adjective ending.

    Example:
        >>> inflection("haemangiomas"), inflection("fistulae"), inflection("hypoplastic")
        ('hemangioma', 'fistula', 'hypoplasia')
    """
    if len(folded) < 4 or not folded.isalpha():
        return folded
    word = folded[:-1] if folded.endswith("ae") else folded
    for pattern, replacement in _SPELLING:
        word = pattern.sub(replacement, word)
    word = _singular(word)
    for ending, replacement in _DERIVED:
        if word.endswith(ending) and len(word) >= len(ending) + 2:
            return word[: -len(ending)] + replacement
    return word


@lru_cache(maxsize=65536)
def word_class(folded: str) -> str:
    """Return the class of a folded word.

    Example:
        >>> word_class("hypoplastic") == word_class("hypoplasia"), word_class("tumours") == word_class("neoplasm")
        (True, True)
    """
    if folded in CLASSES:
        return CLASSES[folded]
    word = inflection(folded)
    if word in CLASSES or not word.isalpha():
        return CLASSES.get(word, word)
    stem = _strip(word)
    return CLASSES.get(stem, stem)


def _singular(word: str) -> str:
    for ending, replacement in _PLURALS:
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word[: -len(ending)] + replacement
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _strip(word: str) -> str:
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= (4 if len(suffix) < 2 else 5):
            word = word[: -len(suffix)]
            break
    return word[:-1] if len(word) > 4 and word[-1] == word[-2] else word
