"""The forms of one name, as :mod:`kgdx.align.forms` makes them of a whole column; a table costs too much for a few."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from kgdx.align import forms
from kgdx.align.wording import NUMERALS, SAME
from kgdx.text.chinese import simplify
from kgdx.text.tokens import CJK

_HAN = re.compile(f"[{CJK}]")
_GREEK = str.maketrans(forms.GREEK)
_GENITIVE = re.compile(r"['’`]s\b")
_APOSTROPHE = re.compile("['’`]")
_BETWEEN = re.compile(r"(?:[^\w+<>%]|_)+")
_SAME = {f" {old.replace('-', ' ')} ": f" {new} " for old, new in SAME}
_PHRASE = re.compile("|".join(map(re.escape, _SAME)))
_LETTER_DIGIT = re.compile(r"([^\W\d_])(\d)")
_DIGIT_LETTER = re.compile(r"(\d)([^\W\d_])")
_TYPE_IN = re.compile(r"\btype in *$")
_TURNED = re.compile(forms.TURNED)
_ABBREVIATION = re.compile(forms.ABBREVIATION)
_NUMBERED = re.compile("|".join(forms.NUMBERED))
_SAME_ZH = re.compile("|".join(forms.SAME_ZH))
_ROMAN = tuple(
    (re.compile(rf"(^|[^a-z]){numeral}([^a-z]|$)"), rf"\g<1>{value}\g<2>")
    for value, numeral in sorted(((value, numeral) for numeral, value in NUMERALS.items() if numeral), reverse=True)
)
_TELLING_ZH = re.compile(rf"[0-9a-z]+|[{forms.TELLING_ZH}]")


@dataclass(frozen=True, slots=True)
class Form:
    """The forms of one name; see :func:`kgdx.align.forms.with_forms` for what each leaves out."""

    folded: str
    key: str
    bag: str | None
    turned: bool
    mark: str
    han: bool


def fold(text: str) -> str:
    """Fold case, compatibility forms, accents, traditional characters and punctuation; Chinese loses its blanks.

    Example:
        >>> fold("Ménière’s  Disease"), fold("Ⅱ型 糖尿病（ＤＭ）")
        ('meniere disease', 'ii型糖尿病dm')
    """
    plain = unicodedata.normalize("NFKD", text)
    plain = "".join(sign for sign in plain if not unicodedata.category(sign).startswith("M")).lower()
    plain = simplify(plain).translate(_GREEK)
    plain = _APOSTROPHE.sub("", _GENITIVE.sub("", plain))
    plain = _BETWEEN.sub(" ", plain).strip()
    return plain.replace(" ", "") if _HAN.search(plain) else plain


def form(text: str) -> Form:
    """Return the forms of a name, those of a name of a disease.

    Example:
        >>> form("Tumours of the Lung, type II")
        Form(folded='tumours of the lung type ii', key='tumor of lung type 2', bag='2 lung tumor', turned=True, \
mark='2', han=False)
    """
    folded = fold(text)
    turned = bool(_TURNED.search(text.lower()))
    if _HAN.search(folded):
        key = _han_key(folded)
        return Form(folded, key or folded, None, turned, " ".join(_TELLING_ZH.findall(key or "")), True)
    key, bag, mark = _latin_key(folded)
    return Form(folded, key, bag, turned, mark, False)


def bare(text: str) -> str:
    """Return a name without the abbreviation that follows it.

    Example:
        >>> bare("软骨发育不全（ACH）"), bare("Gout")
        ('软骨发育不全', 'Gout')
    """
    return _ABBREVIATION.sub("", text)


def same_length(folded: str) -> str:
    """Return a folded Chinese text with one wording for those of equal length that are used for one another.

    Example:
        >>> same_length("粘膜综合症")
        '黏膜综合征'
    """
    swapped = {old: new for old, new in forms.SAME_ZH.items() if len(old) == len(new)}
    return re.sub("|".join(swapped), lambda found: swapped[found[0]], folded)


@lru_cache(maxsize=65536)
def word_key(word: str) -> tuple[str, ...]:
    """Return what a folded word is compared as: nothing for an article, two words for a numeral with a letter."""
    return tuple(forms.word_class(word))


def _latin_key(folded: str) -> tuple[str, str | None, str]:
    text = _PHRASE.sub(lambda found: _SAME[found[0]], f" {folded} ")
    text = _DIGIT_LETTER.sub(r"\1 \2", _LETTER_DIGIT.sub(r"\1 \2", text))
    text = _TYPE_IN.sub("type 1 n", text)
    said = [part for word in text.split(" ") if word for part in word_key(word)]
    telling = sorted(word for word in said if word in forms.TELLING or len(word) == 1 or re.search(r"\d", word))
    bag = None
    if len(said) > 1 and not any(word in forms.ORDER_TELLS for word in said):
        bag = " ".join(sorted(word for word in said if word not in forms.UNORDERED))
    return " ".join(said) or folded, bag, " ".join(telling)


def _han_key(folded: str) -> str:
    text = _NUMBERED.sub(lambda found: forms.NUMBERED[found[0]], folded)
    for pattern, value in _ROMAN:
        text = pattern.sub(value, text)
    return _SAME_ZH.sub(lambda found: forms.SAME_ZH[found[0]], text)
