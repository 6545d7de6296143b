"""The words of the field in answers: what a question may want, what sources weigh, what Chinese terms are called."""

from __future__ import annotations

from collections.abc import Container, Mapping
from functools import cache
from pathlib import Path

from kgdx.case.ddxplus_release import PREFIX, evidence_words
from kgdx.terms.everyday import lay_wordings
from kgdx.terms.normalise import read_table

_SUBSTANCE = 3
"""Characters of the shortest name that is sought within the name of a preparation."""


@cache
def wanted(want: str, language: str) -> str:
    """Return what something that is wanted, or a source, is called.

    Example:
        >>> wanted("gene", "zh")
        '致病基因'
    """
    english, chinese, _ = _wanted()[want]
    return chinese if language == "zh" else english


def bringing(want: str, loaded: Container[str]) -> list[str]:
    """Return the sources that would bring something that is wanted and are not loaded.

    Example:
        >>> bringing("drug", {"primekg"})
        ['chinese_kg']
    """
    return [each for each in _wanted()[want][2].split() if each not in loaded]


@cache
def _wanted() -> Mapping[str, list[str]]:
    return {row[0]: row[1:] for row in read_table(Path(__file__).with_name("wanted.tsv"))}


@cache
def note_of(term: str, language: str) -> str:
    """Return the years of an age of onset, or the rule of a mode of inheritance for relatives; empty for other terms.

    Example:
        >>> note_of("HP:0011463", "en")
        '1 to 5 years'
    """
    rows = read_table(Path(__file__).with_name("term_notes.tsv"))
    return next((row[2 if language == "zh" else 1] for row in rows if row[0] == term), "")


@cache
def weights(language: str) -> Mapping[str, str]:
    rows = read_table(Path(__file__).with_name("source_weight.tsv"))
    return {row[0]: row[2] if language == "zh" else row[1] for row in rows}


def in_english(name: str) -> str | None:
    """What a Chinese name of a department, a treatment, a test or a preparation is in English, where it is known.

    Example:
        >>> in_english("内分泌科"), in_english("盐酸二甲双胍片")
        ('endocrinology', 'metformin')
    """
    terms = _terms()
    within = max((term for term in terms if len(term) >= _SUBSTANCE and term in name), key=len, default="")
    return terms.get(name) or terms.get(within)


def chinese_of(name: str) -> tuple[str, ...]:
    """Return the Chinese names of a department, a treatment, a test or a substance that is given in English.

    Example:
        >>> chinese_of("Metformin")
        ('二甲双胍',)
    """
    return tuple(term for term, english in _terms().items() if english.casefold() == name.casefold())


def in_chinese(id: str, name: str) -> str | None:
    """What a finding, a question of DDXPlus, a department, a treatment or a test is in Chinese, where it is known.

    Example:
        >>> in_chinese("HP:0001945", "Fever"), in_chinese("", "Autosomal dominant inheritance")
        ('发烧', '常染色体显性遗传')
    """
    asked = evidence_words().get(id.removeprefix(PREFIX)) if id.startswith(PREFIX) else None
    return _spoken().get(id) or (asked.name_zh if asked else None) or _named().get(name.casefold())


@cache
def _spoken() -> Mapping[str, str]:
    return {id: phrase for phrase, id in reversed(list(lay_wordings()))}


@cache
def _named() -> Mapping[str, str]:
    return {english.casefold(): term for term, english in reversed(list(_terms().items()))}


@cache
def _terms() -> Mapping[str, str]:
    return {row[0]: row[1] for row in read_table(Path(__file__).with_name("clinical_terms.tsv"))}
