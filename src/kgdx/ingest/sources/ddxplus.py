"""DDXPlus's conditions and evidences, with the words and terms that ship with kgdx.

What these are is said in :mod:`kgdx.case.ddxplus_release`. Entries of a newer release that the tables do not know keep
the release's own words.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from kgdx.case import ddxplus_release as release
from kgdx.errors import SourceError
from kgdx.ingest.manifest import Manifest
from kgdx.ingest.records import RecordBuilder, Records
from kgdx.ingest.unpack import read_text

FRAMES = {
    "condition": "id name name_zh name_fr synonyms:strings xrefs:strings severity:int64",
    "evidence": "id name name_zh synonyms:strings question question_fr kind answers:strings default parent"
    " antecedent:bool",
    "symptom": "condition evidence antecedent:bool",
    "term": "evidence term relation",
    **dict.fromkeys(("entry", "heading"), "condition term relation"),
}
_TABLES = (release.WORDS, release.TERMS, release.NAMES)
_BESIDE = {"release_conditions": "release_evidences", "ddxplus-conditions": "ddxplus-evidences"}
_MESH = "MESH:"
_Entry = TypeVar("_Entry")


VERSION = f"1.{hashlib.sha256(b''.join(release.shipped(name).read_bytes() for name in _TABLES)).hexdigest()[:12]}"
"""Changes with the reader and with the tables that it joins to the release."""


def read(path: Path, manifest: Manifest) -> Records:
    """Read conditions, and the evidences in the file beside them.

    Frames: ``condition``, ``evidence``, ``symptom`` (which evidence speaks for which condition), and ``term``,
    ``entry``, ``heading`` (what the tables map to HPO, to OMIM and Orphanet, and to MeSH).
    """
    building = RecordBuilder(FRAMES)
    evidences = _entries(_beside(path), release.parse_evidence, building)
    conditions = _entries(path, release.parse_condition, building)
    for number, evidence in evidences.values():
        _evidence(number, evidence, building)
    for number, condition in conditions.values():
        _condition(number, condition, {code for code in evidences}, building)
    return building.records()


def _beside(path: Path) -> Path:
    for conditions, evidences in _BESIDE.items():
        if path.name.startswith(conditions):
            name = path.name.replace(conditions, evidences)
            found = [each for each in (path.with_name(name), *path.parent.glob(f"{evidences}.json*")) if each.exists()]
            if found:
                return found[0]
    hint = "call the files release_conditions.json and release_evidences.json, and put them into one folder"
    raise SourceError(f"the evidences of {path} are not beside it", hint=hint)


def _entries(path: Path, parse: Callable[[str, Any], _Entry], building: RecordBuilder) -> dict[str, tuple[int, _Entry]]:
    try:
        document = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path} is not valid JSON ({error})", hint="fetch it again") from error
    if not isinstance(document, dict) or not document:
        raise SourceError(f"{path} holds no entry", hint="give DDXPlus's file, an object with a key for each entry")
    found = {}
    for number, (key, given) in enumerate(document.items(), 1):
        try:
            found[key] = number, parse(key, given)
        except ValueError as error:
            file = None if parse is release.parse_condition else str(path)
            building.refuse(number, key[:200], str(error), file=file)
    if not found:
        raise SourceError(f"{path} holds no entry of the release ({building.refused[-1][3]})", hint="check the file")
    return found


def _evidence(number: int, evidence: release.ReleasedEvidence, building: RecordBuilder) -> None:
    words = release.evidence_words().get(evidence.code)
    synonyms = [] if words is None else [*words.synonyms, *words.synonyms_zh]
    building.add(
        "evidence",
        number,
        evidence.id,
        evidence.question if words is None else words.name,
        None if words is None else words.name_zh,
        synonyms,
        evidence.question,
        evidence.question_fr,
        evidence.kind,
        [f"{value} {meaning}" if value != meaning else value for value, meaning in evidence.values.items()],
        evidence.default,
        None if evidence.parent == evidence.code else f"{release.PREFIX}{evidence.parent}",
        evidence.antecedent,
    )
    for term in release.evidence_terms().get(evidence.code, ()):
        building.add("term", number, evidence.id, term.id, term.relation)


def _condition(number: int, condition: release.Condition, known: set[str], building: RecordBuilder) -> None:
    words = release.condition_words().get(condition.name)
    name = condition.name if words is None else words.name
    others = () if words is None else (*words.synonyms, *words.synonyms_zh)
    synonyms = [each for each in dict.fromkeys((condition.name, *others)) if each != name]
    zh = None if words is None else words.name_zh
    xrefs = [f"ICD10:{code}" for code in condition.icd10]
    building.add("condition", number, condition.id, name, zh, condition.name_fr, synonyms, xrefs, condition.severity)
    for codes, antecedent in ((condition.symptoms, False), (condition.antecedents, True)):
        for code in codes:
            if code in known:
                building.add("symptom", number, condition.id, f"{release.PREFIX}{code}", antecedent)
            else:
                building.refuse(number, condition.name, f"{code[:40]!r} is no evidence of the release", "frame:symptom")
    for term in release.condition_terms().get(condition.name, ()):
        frame = "heading" if term.id.startswith(_MESH) else "entry"
        building.add(frame, number, condition.id, term.id, term.relation)
