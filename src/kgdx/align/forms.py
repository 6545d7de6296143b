"""The forms in which names are compared: folded, normalised, without word order, and what a slip may not change.

Everything runs on whole columns (polars); Python sees each different word once.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

import polars as pl

from kgdx.align.wording import NUMERALS, SAME, parted
from kgdx.text.chinese import simplified_characters
from kgdx.text.stems import inflection
from kgdx.text.tokens import CJK

VERSION = 1
"""Changes with what any form looks like."""

GREEK = {chr(code): unicodedata.name(chr(code)).rsplit(" ", 1)[-1].lower() for code in range(0x3B1, 0x3CA)}
GREEK = {letter: f" {name} " for letter, name in GREEK.items() if name != "sigma" or letter == "σ"}
NUMBERED = {"一型": "1型", "二型": "2型", "三型": "3型", "四型": "4型", "五型": "5型"}
SAME_ZH = {"综合症": "综合征", "症候群": "综合征", "征候群": "综合征", "粘": "黏", "癫癎": "癫痫", "的": ""}
"""Characters and words that Chinese names use for one another without a difference in meaning."""
ABBREVIATION = r"\s*(?:[;；,，]\s*[A-Z][A-Z0-9]{1,9}|[(（]\s*[A-Z][A-Za-z0-9-]{1,9}\s*[)）])\s*$"
"""An abbreviation that stands after a name: "Achondroplasia; ACH", "软骨发育不全（ACH）"."""
_DROPPED = frozenset({"an", "the"})
UNORDERED = frozenset({"of", "in", "type", "nos", "and", "with"})
"""Words that go when a name's words are put into another order: "Fracture of hip", "Hip fracture"."""
ORDER_TELLS = ("without", "except", "from", "to", "by", "due", "after", "before", "not", "than", "secondary", "versus")
"""Words whose neighbours' order carries the meaning."""
# fmt: off
TELLING = frozenset({
    "no", "not", "non", "without", "absent", "absence", "lack", "loss", "never", "except", "with", "or", "and",
    "left", "right", "upper", "lower", "inner", "outer", "anterior", "posterior", "medial", "lateral", "proximal",
    "distal", "dorsal", "ventral", "male", "female", "maternal", "paternal", "acute", "chronic", "congenital",
    "acquired", "primary", "secondary", "major", "minor", "high", "low", "increased", "decreased", "early", "late",
    "benign", "malignant", "dominant", "recessive", "linked", "before", "after",
})
# fmt: on
TURNED = r"[,;]|\b(?:of|in|and|with)\b"
"""What shows that a name's words may have been put into another order; the order of two eponyms is part of a name."""
TELLING_ZH = "左右上下前后内外急慢高低大小多少增减无不非阳阴男女原继先后早晚良恶显隐轻重新旧初次长短厚薄快慢动静"


def simplified(text: pl.Expr) -> pl.Expr:
    """Return texts with simplified characters."""
    table = simplified_characters()
    return text.str.replace_many(list(table), list(table.values()))


def folded(text: pl.Expr) -> pl.Expr:
    """Fold case, compatibility forms, accents, traditional characters and punctuation; Chinese loses its blanks.

    Example:
        >>> names = pl.DataFrame({"text": ["Ménière’s  Disease", "Ⅱ型 糖尿病（ＤＭ）", "β-Thalassemia"]})
        >>> names.select(folded(pl.col("text")))["text"].to_list()
        ['meniere disease', 'ii型糖尿病dm', 'beta thalassemia']
    """
    plain = simplified(text.str.normalize("NFKD").str.replace_all(r"\p{M}", "").str.to_lowercase())
    plain = plain.str.replace_many(list(GREEK), list(GREEK.values()))
    plain = plain.str.replace_all(r"['’`]s\b", "").str.replace_all(r"['’`]", "")
    plain = plain.str.replace_all(r"[^\p{L}\p{N}+<>%]+", " ").str.strip_chars()
    return pl.when(is_chinese(plain)).then(plain.str.replace_all(" ", "", literal=True)).otherwise(plain)


def is_chinese(text: pl.Expr) -> pl.Expr:
    """Say which texts hold Han characters."""
    return text.str.contains(f"[{CJK}]")


def variants(names: pl.DataFrame) -> pl.DataFrame:
    """Add the names without the abbreviation that follows them.

    Args:
        names: With a column ``text``; its other columns are repeated.

    Example:
        >>> variants(pl.DataFrame({"text": ["Achondroplasia; ACH"]}))["text"].to_list()
        ['Achondroplasia; ACH', 'Achondroplasia']
    """
    bare = names.with_columns(pl.col("text").str.replace(ABBREVIATION, ""))
    return pl.concat([names, bare.filter((pl.col("text") != names["text"]) & (pl.col("text").str.len_chars() > 1))])


def with_forms(names: pl.DataFrame, *, diseases: bool) -> pl.DataFrame:
    """Add the forms of the column ``text``.

    Args:
        names: With a column ``text``; rows whose folded form is empty are left out.
        diseases: Whether phrases that sources of diseases use for the same count as the same.

    Returns:
        The names with ``folded``; ``key``: also without plural, spelling variant, Roman numerals and articles;
        ``bag``: the key's words in alphabetical order, absent where their order tells; ``turned``: whether the name
        is of a kind whose words come in several orders; ``mark``: the numbers, letters and telling words, which a slip
        may not change; ``han``.

    Example:
        >>> forms = with_forms(pl.DataFrame({"text": ["Tumours of the Lung, type II", "1型糖尿病"]}), diseases=True)
        >>> forms.select("key", "bag", "mark").rows()
        [('tumor of lung type 2', '2 lung tumor', '2'), ('1型糖尿病', None, '1')]
    """
    forms = names.with_columns(folded(pl.col("text")).alias("folded")).filter(pl.col("folded") != "")
    turned = pl.col("text").str.to_lowercase().str.contains(TURNED)
    forms = forms.with_columns(is_chinese(pl.col("folded")).alias("han"), turned.alias("turned"))
    different = forms.select("folded", "han").unique("folded", maintain_order=True)
    made = pl.concat([_latin_keys(different.filter(~pl.col("han")), diseases), _han_keys(different.filter("han"))])
    return forms.join(made, on="folded", how="left", maintain_order="left")


def _latin_keys(names: pl.DataFrame, diseases: bool) -> pl.DataFrame:
    text = pl.col("folded")
    if diseases:
        old, new = zip(*((f" {a.replace('-', ' ')} ", f" {b} ") for a, b in SAME), strict=True)
        text = pl.concat_str(pl.lit(" "), text, pl.lit(" ")).str.replace_many(list(old), list(new))
    text = text.str.replace_all(r"(\p{L})(\d)", "${1} ${2}").str.replace_all(r"(\d)(\p{L})", "${1} ${2}")
    text = text.str.replace(r"\btype in *$", "type 1 n")  # the subtype In is no preposition
    numbered = names.select("folded", text.str.strip_chars().str.split(" ").alias("word")).with_row_index("name")
    words = numbered.explode("word").filter(pl.col("word") != "")
    classes = _word_classes(words["word"].unique())
    words = words.join(classes, on="word", how="left", maintain_order="left").explode("class").drop_nulls("class")
    said = pl.col("class")
    unordered = said.filter(~said.is_in(UNORDERED)).sort().str.join(" ")
    keys = words.group_by("name", maintain_order=True).agg(
        said.str.join(" ").alias("key"),
        pl.when(said.is_in(ORDER_TELLS).any() | (said.len() < 2)).then(None).otherwise(unordered).alias("bag"),
        said.filter(said.is_in(TELLING) | (said.str.len_chars() == 1) | said.str.contains(r"\d"))
        .sort()
        .str.join(" ")
        .alias("mark"),
    )
    found = numbered.select("name", "folded").join(keys, on="name", how="left").drop("name")
    return found.with_columns(pl.coalesce("key", "folded"), pl.col("mark").fill_null(""))


def _word_classes(words: Iterable[str]) -> pl.DataFrame:
    """What each word is compared as: none for an article, two for a numeral with the letter of a subtype."""
    rows = [(word, word_class(word)) for word in words]
    return pl.DataFrame(rows, schema={"word": pl.String, "class": pl.List(pl.String)}, orient="row")


def word_class(word: str) -> list[str]:
    """Return what a folded word is compared as: nothing for an article, two words for a numeral with a letter."""
    if word in _DROPPED:
        return []
    if word in NUMERALS and word not in ("", "x"):
        return [NUMERALS[word]]
    split = parted(frozenset({word}))
    if len(split) == 2:
        return sorted(split)
    if word.endswith(("shes", "ches", "sses", "xes")) and len(word) > 4:
        return [inflection(word[:-2])]
    return [inflection(word[:-1] if word.endswith(("nces", "rces")) else word)]


def _han_keys(names: pl.DataFrame) -> pl.DataFrame:
    text = pl.col("folded").str.replace_many(list(NUMBERED), list(NUMBERED.values()))
    for value, numeral in sorted(((value, numeral) for numeral, value in NUMERALS.items() if numeral), reverse=True):
        text = text.str.replace_all(rf"(^|[^a-z]){numeral}([^a-z]|$)", f"${{1}}{value}${{2}}")
    text = text.str.replace_many(list(SAME_ZH), list(SAME_ZH.values()))
    keyed = names.select("folded", text.alias("key"))
    telling = pl.col("key").str.extract_all(rf"[0-9a-z]+|[{TELLING_ZH}]").list.join(" ")
    keyed = keyed.with_columns(pl.lit(None, pl.String).alias("bag"), telling.alias("mark"))
    return keyed.with_columns(pl.when(pl.col("key") == "").then("folded").otherwise("key").alias("key"))
