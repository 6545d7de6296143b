"""The normaliser: the forms in which words, names and texts are compared, for text matching, look-ups and alignment.

Characters are folded first (case, widths, accents, traditional characters); then words lose plurals, spelling variants
and derivations (:func:`inflection`, :func:`word_class`), and names numerals, articles and word order (:class:`Form`).
The rules are those of English, of medical word formation and of clinical Chinese, not of any corpus; their word lists
are in ``words.tsv``.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from kgdx.lazy import lazy_pattern

VERSION = 2
"""Changes with what any form of a name looks like."""

CJK = "\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
"""Character-class ranges of Han characters, which are matched as characters, not as words."""


@cache
def read_table(file: Path) -> list[list[str]]:
    """Return the rows of a tab-separated file that ships with the package, without comments and column names."""
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return [line.split("\t") for line in lines[1:]]


@cache
def word_rows(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a list of ``words.tsv``.

    Example:
        >>> word_rows("plural")[0]
        ('mata', 'ma')
    """
    rows = read_table(Path(__file__).with_name("words.tsv"))
    return tuple(tuple(words.split(" ")) for row, words in rows if row == name)


def word_list(name: str) -> frozenset[str]:
    return frozenset(word for row in word_rows(name) for word in row)


MODIFIERS = word_list("modifier")
_CLASSES = {word: row[0] for row in word_rows("class") for word in row}
_PLURALS, _DERIVED = word_rows("plural"), word_rows("derived")
(_SUFFIXES,) = word_rows("suffix")
_TELLING = word_list("telling")
SPARE_ZH = lazy_pattern(
    "[扩增肿](?=大$)|延(?=长$)|[升增](?=高$)|降(?=低$)|增(?=[宽厚]$)|缩(?=短$)|(?:形态|浓度|水平)(?=异常$)"
)
"""What people leave out at the end of a name: 脑室大, 血糖异常."""
_CLASSES_ZH = tuple((lazy_pattern("|".join(sorted(row, key=len, reverse=True))), row) for row in word_rows("class_zh"))

_SPELLING = (
    (re.compile(r"ae|oe"), "e"),
    (re.compile(r"our(?=$|al$|ed$|ing$|less$|s$)"), "or"),
    (re.compile(r"is(?=e[ds]?$|ing$|ation|ations$)"), "iz"),
    (re.compile(r"sulph"), "sulf"),
    (re.compile(r"leuc"), "leuk"),
    (re.compile(r"ll(?=ed$|ing$)"), "l"),
    (re.compile(r"(?<=[ent])tre$"), "ter"),
)
_UNITS = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
NUMERALS = {ten + unit: str(10 * tens + at) for tens, ten in enumerate(("", "x")) for at, unit in enumerate(_UNITS)}
"""Roman numerals up to 19."""
_ROMAN = "|".join(sorted(filter(None, NUMERALS), key=len, reverse=True))
_SUBTYPE = lazy_pattern(f"({_ROMAN})([a-h])")
PHRASES = (
    ("mental retardation", "intellectual disability"),
    ("intellectual developmental disorder", "intellectual disability"),
    ("aciduria", "acidemia"),
    ("neurosensory", "sensorineural"),
    ("hearing loss", "deafness"),
    ("x-linked", "xlinked"),
    ("x linked", "xlinked"),
)
"""Phrases that OMIM and Orphanet use for the same."""
_PHRASES = {f" {old.replace('-', ' ')} ": f" {new} " for old, new in PHRASES}
_PHRASE = lazy_pattern("|".join(map(re.escape, _PHRASES)))

_LETTERS = {chr(code): unicodedata.name(chr(code)).rsplit(" ", 1)[-1].lower() for code in range(0x3B1, 0x3CA)}
_GREEK = str.maketrans({letter: f" {name} " for letter, name in _LETTERS.items() if name != "sigma" or letter == "σ"})
_GENITIVE = lazy_pattern(r"['’`]s\b")
_APOSTROPHE = lazy_pattern("['’`]")
_BETWEEN = lazy_pattern(r"(?:[^\w+<>%]|_)+")
_PARTED = lazy_pattern(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
_TYPE_IN = lazy_pattern(r"\btype in *$")
_DIGIT = lazy_pattern(r"\d")
_ABBREVIATION = lazy_pattern(r"\s*(?:[;；,，]\s*[A-Z][A-Z0-9]{1,9}|[(（]\s*[A-Z][A-Za-z0-9-]{1,9}\s*[)）])\s*$")
"""An abbreviation that stands after a name: "Achondroplasia; ACH", "软骨发育不全（ACH）"."""
_ARTICLES = frozenset({"an", "the"})
_UNORDERED, _ORDERING = word_list("unordered"), word_list("ordering")
_TURNED = lazy_pattern(r"[,;]|\b(?:of|in|and|with)\b")
"""Signs that a name's words may have been put into another order; the order of two eponyms is part of a name."""

_HAN = lazy_pattern(f"[{CJK}]")
_HAN_ROMAN = lazy_pattern(f"(?<![a-z])({_ROMAN})(?![a-z])")
_NUMBERED = {"一型": "1型", "二型": "2型", "三型": "3型", "四型": "4型", "五型": "5型"}
_NUMBERED_TYPE = lazy_pattern("|".join(_NUMBERED))
_SAME_ZH = {"综合症": "综合征", "症候群": "综合征", "征候群": "综合征", "粘": "黏", "癫癎": "癫痫", "的": ""}
"""Characters and words that Chinese names use for one another without a difference in meaning."""
_SAME_ZH_SAID = lazy_pattern("|".join(_SAME_ZH))
_TELLING_ZH = lazy_pattern(
    "[0-9a-z]+|[左右上下前后内外急慢高低大小多少增减无不非阳阴男女原继先后早晚良恶显隐轻重新旧初次长短厚薄快慢动静]"
)
_DISORDER = lazy_pattern("(?<!综合)(?<!并发)(?<=...)症$")
"""A last word that clinicians leave out: 血小板减少症 is written 血小板减少."""


def fold(text: str) -> str:
    """Fold case, compatibility forms and accents.

    Example:
        >>> fold("Café-au-lait ﬁssure")
        'cafe-au-lait fissure'
    """
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text)
    return "".join(sign for sign in parts if unicodedata.category(sign)[0] != "M").casefold()


@lru_cache(maxsize=65536)
def inflection(folded: str) -> str:
    """Return a folded word without spelling variant, plural and Greek or Latin adjective ending."""
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
    """Return the class of a folded word: the same for all words that mean the same in the name of a finding.

    It need not be a word itself.
    """
    if folded in _CLASSES:
        return _CLASSES[folded]
    word = inflection(folded)
    if word in _CLASSES or not word.isalpha():
        return _CLASSES.get(word, word)
    stem = _strip(word)
    return _CLASSES.get(stem, stem)


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


@lru_cache(maxsize=65536)
def word_key(word: str) -> tuple[str, ...]:
    """Return what a folded word of a name is compared as: nothing for an article, two words for a lettered numeral.

    Example:
        >>> word_key("the"), word_key("iib"), word_key("rashes")
        ((), ('2', 'b'), ('rash',))
    """
    if word in _ARTICLES:
        return ()
    if word in NUMERALS and word not in ("", "x"):
        return (NUMERALS[word],)
    if len(parts := lettered(word)) > 1:
        return parts
    if word.endswith(("shes", "ches", "sses", "xes")) and len(word) > 4:
        return (inflection(word[:-2]),)
    return (inflection(word[:-1] if word.endswith(("nces", "rces")) else word),)


def lettered(word: str) -> tuple[str, ...]:
    """Part a Roman numeral from the letter of a subtype."""
    found = _SUBTYPE.fullmatch(word)
    return (NUMERALS[found[1]], found[2]) if found else (word,)


class Form(NamedTuple):
    """The forms of one name."""

    folded: str
    key: str
    bag: str | None
    turned: bool
    mark: str
    han: bool


def rephrased(folded: str) -> bool:
    return _PHRASE.search(f" {folded} ") is not None


def form(text: str, *, diseases: bool = True) -> Form:
    """Return the forms of a name.

    Example:
        >>> form("Tumours of the Lung, type II")
        Form(folded='tumours of the lung type ii', key='tumor of lung type 2', bag='2 lung tumor', turned=True, \
mark='2', han=False)
        >>> form("1型糖尿病").mark
        '1'
    """
    found = _form(text, True)
    return found if diseases or found.han or not rephrased(found.folded) else _form(text, False)


@lru_cache(maxsize=1 << 17)
def _form(text: str, diseases: bool) -> Form:
    folded = fold_name(text)
    turned = bool(_TURNED.search(text.lower()))
    if has_chinese(folded):
        key = _han_key(folded)
        return Form(folded, key or folded, None, turned, " ".join(_TELLING_ZH.findall(key)), True)
    plain = _PHRASE.sub(lambda found: _PHRASES[found[0]], f" {folded} ") if diseases else folded
    if _DIGIT.search(plain):
        plain = _PARTED.sub(" ", plain)
    if "type in" in plain:
        plain = _TYPE_IN.sub("type 1 n", plain)  # the subtype In is no preposition
    said = [part for word in plain.split() for part in word_key(word)]
    telling = sorted(filter(_tells, said))
    bag = None
    if len(said) > 1 and _ORDERING.isdisjoint(said):
        bag = " ".join(sorted(word for word in said if word not in _UNORDERED))
    return Form(folded, " ".join(said) or folded, bag, turned, " ".join(telling), False)


@lru_cache(maxsize=65536)
def _tells(word: str) -> bool:
    return word in _TELLING or len(word) == 1 or _DIGIT.search(word) is not None


def fold_name(text: str) -> str:
    """Fold a name: also without genitives and punctuation; a Chinese one loses its blanks.

    Example:
        >>> fold_name("Ménière’s  Disease"), fold_name("Ⅱ型 糖尿病（ＤＭ）"), fold_name("β-Thalassemia")
        ('meniere disease', 'ii型糖尿病dm', 'beta thalassemia')
    """
    plain = fold(text)
    if not plain.isascii():
        plain = simplify(plain).translate(_GREEK)
    if _APOSTROPHE.search(plain):
        plain = _APOSTROPHE.sub("", _GENITIVE.sub("", plain))
    plain = _BETWEEN.sub(" ", plain).strip()
    return plain.replace(" ", "") if has_chinese(plain) else plain


def bare(text: str) -> str:
    """Return a name without the abbreviation that follows it.

    Example:
        >>> bare("软骨发育不全（ACH）"), bare("Gout")
        ('软骨发育不全', 'Gout')
    """
    return _ABBREVIATION.sub("", text)


def _han_key(folded: str) -> str:
    text = _NUMBERED_TYPE.sub(lambda found: _NUMBERED[found[0]], folded)
    text = _HAN_ROMAN.sub(lambda found: NUMERALS[found[1]], text)
    return _SAME_ZH_SAID.sub(lambda found: _SAME_ZH[found[0]], text)


def same_length(folded: str) -> str:
    """Return a folded Chinese text with one wording for those of equal length that are used for one another.

    Example:
        >>> same_length("粘膜综合症")
        '黏膜综合征'
    """
    swapped = {old: new for old, new in _SAME_ZH.items() if len(old) == len(new)}
    return re.sub("|".join(swapped), lambda found: swapped[found[0]], folded)


def has_chinese(text: str) -> bool:
    return not text.isascii() and _HAN.search(text) is not None


@cache
def _simplified() -> dict[int, str]:
    traditional, simplified = read_table(Path(__file__).with_name("traditional.tsv"))
    return {ord(char): simple for char, simple in zip(*traditional, *simplified, strict=True)}


def simplify(text: str) -> str:
    """Return a text of the same length with simplified characters.

    Example:
        >>> simplify("從未發熱")
        '从未发热'
    """
    return text if text.isascii() else text.translate(_simplified())


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text; ``places[i]`` is where its i-th character stands in the original."""

    text: str
    places: list[int]


def fold_chinese(text: str) -> Folded:
    """Fold a text character by character: full-width forms to ASCII, traditional to simplified, no spaces."""
    parts = [_folded_sign(sign) for sign in text]
    return Folded("".join(parts), [place for place, part in enumerate(parts) for _ in part])


@lru_cache(maxsize=65536)
def _folded_sign(sign: str) -> str:
    return "" if sign.isspace() else simplify(unicodedata.normalize("NFKC", sign).lower())


@lru_cache(maxsize=1 << 15)
def wordings(name: str) -> frozenset[str]:
    """Return the other wordings that clinical Chinese has for a folded name."""
    found = {name, _DISORDER.sub("", name), SPARE_ZH.sub("", name)}
    for said, group in _CLASSES_ZH:
        found |= {said.sub(word, other, count=1) for other in tuple(found) if said.search(other) for word in group}
    return frozenset(other for other in found if len(other) > 1) - {name}
