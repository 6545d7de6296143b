"""What may be read from a text, and what is believed of it: what ontology and text allow."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol

from kgdx.ingest.extraction.clinical_wording import CLASSES, denied, fits, sentences
from kgdx.schema import load_schema

LONGEST_NAME = 40
LONGEST_SPAN = 200
MOST_RELATIONS = 200
"""Relations of one record at most; what names more has lost its way."""

_BLANK = re.compile(r"\s+")
_EDGE = " \t\r\n\"'“”‘’《》「」【】、，,。.；;：:！!？?·-"
_NO_NAME = re.compile(
    r"[<>{}\[\]|\\\x00-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|https?:|[。！？；!?;]|…|\.\.\."
)


@dataclass(frozen=True, slots=True)
class ExtractedRelation:
    """A relation that passed the filter; ``span`` is the passage, verbatim."""

    type: str
    head: str
    tail: str
    span: str


@dataclass(slots=True)
class FilteredClaims:
    relations: list[ExtractedRelation] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)


def believe(found: ReadRelations, text: str) -> FilteredClaims:
    """Filter what was read from a text."""
    kept = FilteredClaims(refused=Counter(found.set_aside or {}))
    said = sentences(text)
    known: set[tuple[str, str, str]] = set()
    for number, statement in enumerate(found.statements):
        if number >= MOST_RELATIONS:
            kept.refused["too many for one record"] += len(found.statements) - number
            break
        head, tail = name(statement.head), name(statement.tail)
        key = (statement.type, head, tail)
        reason = _problem(statement, head, tail, text) or ("duplicate" if key in known else None)
        span = None if reason else _span(said, statement.evidence, head, tail, statement.type)
        if span is None:
            kept.refused[reason or "denied by the text"] += 1
            continue
        known.add(key)
        kept.relations.append(ExtractedRelation(statement.type, head, tail, span))
    isolated = {name(text_) for text_, _ in found.entities} - {end for r in kept.relations for end in (r.head, r.tail)}
    if isolated:
        kept.refused["isolated"] += len(isolated)
    return kept


def name(text: str) -> str:
    return _BLANK.sub(" ", text).strip(_EDGE)


def _problem(statement: RelationClaim, head: str, tail: str, text: str) -> str | None:
    wanted = ends().get(statement.type)
    if wanted is None:
        return "unknown relation"
    if (statement.head_class, statement.tail_class) != wanted:
        return "outside domain or range"
    for each in (head, tail):
        if len(each) < 2:
            return "too short"
        if len(each) > LONGEST_NAME:
            return "too long"
        if _NO_NAME.search(each) or not any(char.isalpha() for char in each):
            return "no name"
        if each not in text:
            return "not in the text"
    if head == tail:
        return "refers to itself"
    return None if fits(tail, wanted[1]) else "outside domain or range"


def _span(said: Sequence[str], evidence: str, head: str, tail: str, type_: str) -> str | None:
    holding = [each for each in said if tail in each and not denied(each, tail, type_)]
    if not holding:
        return None
    evidence = evidence.strip()
    if evidence and tail in evidence and any(evidence in each for each in holding):
        return _cut(evidence, tail)
    return _cut(next((each for each in holding if head in each), holding[0]), tail)


def _cut(passage: str, tail: str) -> str:
    if len(passage) <= LONGEST_SPAN:
        return passage
    start = max(0, passage.index(tail) + len(tail) // 2 - LONGEST_SPAN // 2)
    return passage[start : start + LONGEST_SPAN]


def known_classes(entities: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return what each entity is said to be; one that is said to be two things is neither."""
    said: dict[str, set[str]] = {}
    for text, class_ in entities:
        said.setdefault(name(text), set()).add(class_)
    return {text: next(iter(classes)) for text, classes in said.items() if len(classes) == 1 and classes <= CLASSES}


TYPES = ("HAS_SYMPTOM", "RECOMMEND_TEST", "RECOMMEND_DRUG", "RECOMMEND_CURE", "HAS_COMORBIDITY")
"""The relations that are read from text."""


@cache
def ends() -> Mapping[str, tuple[str, str]]:
    """Return each relation's class of start and end, by the ontology: of several pairs, the one that joins words."""
    schema = load_schema()
    pairs = {name: schema.relation(name).ends for name in TYPES}
    return {name: next(pair for pair in found if pair[1] != "Phenotype") for name, found in pairs.items()}


@dataclass(frozen=True, slots=True)
class RelationClaim:
    """A relation that somebody reads in a text, not yet believed."""

    type: str
    head: str
    tail: str
    head_class: str
    tail_class: str
    evidence: str


@dataclass(frozen=True, slots=True)
class ReadRelations:
    """Statements and entities read from one text."""

    statements: tuple[RelationClaim, ...] = ()
    entities: tuple[tuple[str, str], ...] = ()
    set_aside: Mapping[str, int] | None = None


class RelationReader(Protocol):
    """Reads relations from question and answer; may be called from several threads."""

    @property
    def model(self) -> str: ...

    @property
    def prompt(self) -> str | None: ...

    @property
    def signature(self) -> str: ...

    def read(self, question: str, answer: str) -> ReadRelations: ...
