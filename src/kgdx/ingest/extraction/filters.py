"""What may be read from a text, and what is believed of it: what ontology, text and clinical Chinese allow."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

import yaml

from kgdx.errors import SourceError
from kgdx.ingest.unpack import read_text
from kgdx.schema import load_schema

CLASSES = frozenset({"Disease", "Symptom", "Test", "Drug", "Cure"})

_SENTENCE = re.compile(r"[^。！？!?\n\r]+[。！？!?]?")

_TURN = re.compile(r"[，,；;]|但|而")


@cache
def _patterns() -> Mapping[str, Any]:
    content: Mapping[str, Any] = yaml.safe_load(
        files("kgdx.ingest.extraction").joinpath("chinese.yaml").read_text("utf-8")
    )
    return content


def _compiled(text: str) -> re.Pattern[str]:
    for name in ("LIST", "IS", "MANY"):
        text = text.replace(f"{{{name}}}", _patterns()[name])
    return re.compile("".join(text.split()))


def listed(name: str) -> Iterable[str]:
    return _patterns()[name]  # type: ignore[no-any-return]


@cache
def pattern(name: str, key: str = "") -> re.Pattern[str]:
    return _compiled(_patterns()[name][key] if key else _patterns()[name])


def looks_like(name: str, class_: str) -> bool:
    return pattern("shapes", class_).search(name) is not None


@cache
def cues(type_: str) -> tuple[re.Pattern[str], ...]:
    return tuple(map(_compiled, _patterns()["cues"][type_]))


def sentences(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCE.findall(text) if part.strip()]


def fits(name: str, class_: str) -> bool:
    """Return whether a name may be of a class by its wording: what ends like a drug is no symptom."""
    if class_ == "Drug":
        return not (looks_like(name, "Cure") or (looks_like(name, "Test") and not looks_like(name, "Drug")))
    if class_ == "Cure":
        return not re.search(r"检查$|检测$|化验$|片$|胶囊$|颗粒$|注射液$|口服液$", name)
    if class_ == "Test":
        return not re.search(r"治疗$|疗法$|胶囊$|颗粒$|口服液$|注射液$|综合征$", name)
    return not pattern("no_finding").search(name)


def running(text: str) -> bool:
    return pattern("running").search(text) is not None


def denied(sentence: str, name: str, type_: str) -> bool:
    """Return whether a sentence denies of a name what a relation says."""
    if pattern("apart").search(sentence):
        return True
    at = sentence.find(name)
    clause = _TURN.split(sentence[:at])[-1]
    if pattern("denials", type_).search(clause):
        return True
    return pattern("denied_after").match(sentence[at + len(name) :]) is not None


FIELDS: Mapping[str, str] = {
    "name": "Disease",
    "acompany": "Disease",
    "symptom": "Symptom",
    "check": "Test",
    "common_drug": "Drug",
    "recommand_drug": "Drug",
    "cure_way": "Cure",
}
"""Fields of such a line and the classes of their names."""

_LONGEST = 20


@dataclass(frozen=True, slots=True)
class NameVocabulary:
    names: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        content = json.dumps({key: sorted(value) for key, value in sorted(self.names.items())}, ensure_ascii=False)
        return hashlib.sha256(content.encode()).hexdigest()

    def holds(self, name: str, class_: str) -> bool:
        return name in self.names.get(class_, frozenset())


def read_vocabulary(path: Path) -> NameVocabulary:
    """Read the names of a file of JSON lines with the fields of :data:`FIELDS`, compressed or not.

    A line that is no JSON object is passed over.
    """
    names: dict[str, set[str]] = {class_: set() for class_ in CLASSES}
    for line in io.BytesIO(read_text(path)):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        for key, class_ in FIELDS.items() if isinstance(row, dict) else ():
            values = row.get(key)
            for value in values if isinstance(values, list) else [values]:
                if isinstance(value, str) and 2 <= len(value.strip()) <= _LONGEST:
                    names[class_].add(value.strip())
    if not any(names.values()):
        raise SourceError(f"{path} has no names", hint=f"its lines should have {', '.join(FIELDS)}")
    return NameVocabulary({class_: frozenset(known) for class_, known in names.items()})


OF_A_RECORD = frozenset({"refused", "malformed", "truncated", "rejected"})
"""Faults of one answer; any other (the key, the network, the recording) stops the work, which goes on where it was."""
LONGEST = 6_000
"""Characters of a text that a model reads at most; of a longer one the beginning is read."""
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

    def within(self, text: str) -> ReadRelations:
        """Return what one of the texts that were read together says: its passages stand in it."""
        own = tuple(each for each in self.statements if each.evidence in text and each.head in text)
        return ReadRelations(own, tuple(each for each in self.entities if each[0] in text))


class RelationReader(Protocol):
    """Reads relations from question and answer; may be called from several threads."""

    @property
    def model(self) -> str: ...

    @property
    def prompt(self) -> str | None: ...

    @property
    def signature(self) -> str: ...

    @property
    def together(self) -> int:
        return 1

    def read(self, question: str, answer: str) -> ReadRelations: ...
