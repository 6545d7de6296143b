"""DDXPlus's conditions and evidences: the release's files, and what kgdx knows of them (words, terms of HPO, names).

An evidence is a question to the patient (``E_91``: a fever?); one that is answered by a value is written with it
(``E_55_@_V_89``: pain in the forehead). The tables beside the release's files in ``data/ddxplus`` were checked by hand.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kgdx.errors import CaseError
from kgdx.lazy import lazy_pattern
from kgdx.resources import resource

PREFIX = "DDXPLUS:"
"""How ids of its conditions and evidences begin."""
VALUE = "_@_"
"""Stands between an evidence and its value."""
KINDS = {"B": "binary", "C": "categorical", "M": "multiple"}
"""The release's letter → how an evidence is answered: yes or no, one value, several values."""
RELATIONS = ("exact", "narrower", "broader")
"""How an evidence relates to a term: it means the same, something narrower, or something broader."""

CONDITIONS, EVIDENCES = "release_conditions.json", "release_evidences.json"
WORDS, TERMS, NAMES = "evidence-words.tsv", "evidence-terms.tsv", "condition-names.tsv"
_CODE = lazy_pattern(r"E_\d{1,4}")
_NO_ANSWER = "NA"


@dataclass(frozen=True, slots=True)
class ReleasedEvidence:
    """A question of DDXPlus.

    Attributes:
        code: The release's code, such as ``E_91``.
        kind: One of the values of :data:`KINDS`.
        parent: Code of the evidence that has to be present for it to be asked; its own where there is none.
        default: The value that stands for its absence; ``None`` for a binary one.
    """

    code: str
    kind: str
    antecedent: bool
    parent: str
    question: str
    question_fr: str
    default: str | None
    values: Mapping[str, str]

    @property
    def id(self) -> str:
        return f"{PREFIX}{self.code}"

    def answered(self, value: str) -> bool | None:
        """Return whether a value says that the evidence is present; ``None`` where it says nothing."""
        if self.values[value] == _NO_ANSWER:
            return None
        return value != self.default


@dataclass(frozen=True, slots=True)
class Condition:
    """A disease of DDXPlus."""

    name: str
    name_fr: str
    icd10: tuple[str, ...]
    severity: int
    symptoms: tuple[str, ...]
    antecedents: tuple[str, ...]

    @property
    def id(self) -> str:
        return condition_id(self.name)


@dataclass(frozen=True, slots=True)
class EvidenceWording:
    """How people say something: a name or short phrase in English and Chinese, and others for it."""

    name: str
    name_zh: str
    synonyms: tuple[str, ...]
    synonyms_zh: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RelatedTerm:
    """What an entry relates to in another vocabulary, and how (:data:`RELATIONS`)."""

    id: str
    relation: str
    label: str = ""


def condition_id(name: str) -> str:
    """Return the id of a condition, which the release knows by its name.

    Example:
        >>> condition_id("Guillain-Barré syndrome")
        'DDXPLUS:guillain-barre-syndrome'
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return PREFIX + "-".join(re.findall(r"[a-z0-9]+", plain))


def evidence_of(identifier: str) -> str:
    """Return the id of the evidence that a finding states, without its value."""
    return identifier.partition(VALUE)[0]


def is_detail(identifier: str) -> bool:
    """Return whether an evidence is a detail of another one that has to be present, such as the color of a rash.

    Example:
        >>> is_detail("DDXPLUS:E_130"), is_detail("DDXPLUS:E_129")
        (True, False)
    """
    code = evidence_of(identifier).removeprefix(PREFIX)
    found = evidences().get(code) if identifier.startswith(PREFIX) else None
    return found is not None and found.parent != code and found.kind != "binary"


def values_of(identifier: str) -> tuple[tuple[str, str], ...]:
    """Return what an evidence can be answered with beside yes and no: ids and meanings; none for anything else.

    Example:
        >>> values_of("DDXPLUS:E_130")[1], values_of("DDXPLUS:E_91"), values_of("HP:0001250")
        (('DDXPLUS:E_130_@_V_107', 'yellow'), (), ())
    """
    found = evidences().get(identifier.removeprefix(PREFIX)) if identifier.startswith(PREFIX) else None
    if found is None:
        return ()
    stated = ((value, meaning) for value, meaning in found.values.items() if found.answered(value))
    return tuple((f"{identifier}{VALUE}{value}", meaning) for value, meaning in stated)


def parse_evidence(code: str, given: Any) -> ReleasedEvidence:
    """Read one entry of the release's evidences."""
    fields = _object(given)
    if not _CODE.fullmatch(code) or fields.get("name") != code:
        raise ValueError(f"its name {str(fields.get('name'))[:40]!r} is not its code {code[:40]!r}")
    letter = fields.get("data_type")
    if letter not in KINDS:
        raise ValueError(f"its data_type {str(letter)[:40]!r} is none of {', '.join(KINDS)}")
    if not isinstance(fields.get("is_antecedent"), bool):
        raise ValueError("its is_antecedent is neither true nor false")
    meanings, possible = fields.get("value_meaning"), fields.get("possible-values")
    if not isinstance(meanings, dict) or not isinstance(possible, list) or bool(possible) == (letter == "B"):
        raise ValueError("its possible-values do not fit its data_type")
    values = {str(each): _meaning(str(each), meanings) for each in possible}
    default = str(fields.get("default_value"))
    if values and default not in values:
        raise ValueError(f"its default_value {default[:40]!r} is none of its possible-values")
    question, french, parent = (_text(fields, key) for key in ("question_en", "question_fr", "code_question"))
    return ReleasedEvidence(
        code, KINDS[letter], fields["is_antecedent"], parent, question, french, default if values else None, values
    )


def parse_condition(name: str, given: Any) -> Condition:
    """Read one entry of the release's conditions."""
    fields = _object(given)
    severity = fields.get("severity")
    if isinstance(severity, bool) or not isinstance(severity, int) or not 1 <= severity <= 5:
        raise ValueError("its severity is no number from 1 to 5")
    lists = [fields.get(key) for key in ("symptoms", "antecedents")]
    if not all(isinstance(each, dict) for each in lists):
        raise ValueError("its symptoms and antecedents are no objects")
    codes = [each.strip().upper() for each in _text(fields, "icd10-id").split(",")]
    english, french = _text(fields, "condition_name"), _text(fields, "cond-name-fr")
    if english != name or condition_id(name) == PREFIX:
        raise ValueError(f"its condition_name {english[:40]!r} is not its key {name[:40]!r}")
    symptoms, antecedents = (tuple(map(str, each or ())) for each in lists)
    return Condition(english, french, tuple(filter(None, codes)), severity, symptoms, antecedents)


def _object(given: Any) -> Mapping[str, Any]:
    if not isinstance(given, dict):
        raise ValueError("it is not a JSON object")
    return given


def _text(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"its {key} is no text")
    return " ".join(value.split())


def _meaning(value: str, meanings: Mapping[str, Any]) -> str:
    if value.isdecimal():
        return value
    found = meanings.get(value)
    if not isinstance(found, dict) or not isinstance(found.get("en"), str):
        raise ValueError(f"its value {value[:40]!r} has no meaning in English")
    return str(found["en"])


def shipped(name: str) -> Path:
    """Return the path of a file of the folder ``data/ddxplus``."""
    return resource("data", "ddxplus", name)


@cache
def evidences() -> Mapping[str, ReleasedEvidence]:
    """Return the evidences of the release that ships, by code."""
    return {code: parse_evidence(code, given) for code, given in json.loads(shipped(EVIDENCES).read_bytes()).items()}


@cache
def conditions() -> Mapping[str, Condition]:
    """Return the conditions of the release that ships, by name."""
    return {name: parse_condition(name, given) for name, given in json.loads(shipped(CONDITIONS).read_bytes()).items()}


@cache
def evidence_words() -> Mapping[str, EvidenceWording]:
    """Return short phrases for evidences, by code."""
    return {code: _wording(words) for code, *words in _rows(WORDS)}


@cache
def evidence_terms() -> Mapping[str, tuple[RelatedTerm, ...]]:
    """Return the HPO terms of evidences, by code or, for a value, by code and value (``E_55_@_V_89``)."""
    found: dict[str, tuple[RelatedTerm, ...]] = {}
    for code, value, _, relation, identifier, label in _rows(TERMS):
        key = f"{code}{VALUE}{value}" if value else code
        found[key] = (*found.get(key, ()), RelatedTerm(identifier, relation, label))
    return found


@cache
def condition_words() -> Mapping[str, EvidenceWording]:
    """Return readable names of conditions, by the release's name."""
    return {name: _wording(words) for name, *words, _ in _rows(NAMES)}


@cache
def condition_terms() -> Mapping[str, tuple[RelatedTerm, ...]]:
    """Return entries of OMIM, Orphanet and MeSH for conditions, by the release's name."""
    return {name: tuple(RelatedTerm(*each.split(" ")) for each in _listed(terms)) for name, *_, terms in _rows(NAMES)}


def _wording(words: list[str]) -> EvidenceWording:
    name, name_zh, synonyms, synonyms_zh = words
    return EvidenceWording(name, name_zh, _listed(synonyms), _listed(synonyms_zh))


def _listed(cell: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in cell.split(";") if each.strip())


def _rows(name: str) -> Iterator[list[str]]:
    header, *lines = shipped(name).read_text("utf-8").splitlines()
    for line in lines:
        cells = line.split("\t")
        if len(cells) != header.count("\t") + 1:
            raise CaseError(f"{shipped(name)} is damaged at {line[:40]!r}", hint="reinstall kgdx")
        yield cells


def phrase(code: str, value: str | None = None) -> str:
    """Return how an evidence (with a value) is called."""
    name = evidence_words()[code].name
    return name if value is None else f"{name}: {evidences()[code].values[value]}"
