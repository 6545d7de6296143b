"""A reader that knows six words: what the case room needs of the text room."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from kgdx.case import Extraction, Finding, Issue, Resolution, Span, Status

WORDS = {
    "seizure": Finding("HP:0001250", label="Seizure"),
    "status epilepticus": Finding("HP:0002133", label="Status epilepticus"),
    "hypotonia": Finding("HP:0001252", label="Hypotonia"),
    "fever": Finding("HP:0001945", label="Fever"),
}
OLD = {"HP:0006824": "HP:0001252"}
ABOVE = {"HP:0002133": frozenset({"HP:0001250", "HP:0000707"}), "HP:0001250": frozenset({"HP:0000707"})}


class SixWords:
    """Finds words of a small table; ``no`` before one makes it absent."""

    def extract(self, text: str, language: str | None = None, patient: object = None) -> Extraction:
        found = []
        for match in re.finditer(r"(no )?(status epilepticus|seizure|hypotonia|fever)", text):
            status = Status.ABSENT if match[1] else Status.PRESENT
            found.append(replace(WORDS[match[2]], status=status, span=Span(*match.span(2)), text=match[2]))
        return Extraction(tuple(found))

    def resolve(self, term: str) -> Resolution:
        known = {finding.id: finding for finding in WORDS.values()} | WORDS
        if term in OLD:
            notice = Issue("info", term, f"{term} is obsolete", f"read as {OLD[term]}")
            return Resolution(known[OLD[term]], (notice,))
        if term in known:
            return Resolution(known[term])
        return Resolution(None, (), (WORDS["seizure"], WORDS["fever"]))


class Above:
    """Knows which of the six terms stand above which."""

    def ancestors(self, id: str) -> frozenset[str]:
        return ABOVE.get(id, frozenset())


@pytest.fixture
def reader() -> SixWords:
    return SixWords()


@pytest.fixture
def ancestry() -> Above:
    return Above()
