"""Cases in JSON: the plain form, dialogues as in the DX dataset and IMCS21, and OSCE cases in AgentClinic's form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from kgdx.case.demographics import described
from kgdx.case.patient import QUALIFIERS, SEXES, Case, Finding, Issue, Status, usable, valid
from kgdx.case.person import (
    RELATIVES,
    SEX_WORDS,
    Family,
    checked_age,
    checked_mode,
    checked_onset,
    gene_evidence,
    gene_evidence_json,
)
from kgdx.errors import CaseError
from kgdx.lazy import lazy_pattern

KEYS = frozenset(
    {
        *("id", "observed", "excluded", "phrases", "diseases", "sex", "age", "text"),
        *("publications", "genes", "causal_genes", "language", "source", "synthetic"),
        *("onset", "inheritance", "consanguineous", "affected_relatives", "qualifiers"),
    }
)
"""Keys that the plain form knows; others are kept in ``Case.extra``."""
_SINCE = lazy_pattern(r"(?:P(?:T\d{1,4}[HM]|\d{1,4}[YMWD]))?")


def case_from_json(document: Mapping[str, Any], where: str = "case") -> Case:
    """Read the plain JSON form.

    ``genes`` are those in which the patient has candidate variants (:func:`kgdx.case.person.gene_evidence`), which
    ranking uses; ``causal_genes`` are labels, like ``diseases``.
    """
    observed, excluded = _strings(document, "observed", where), _strings(document, "excluded", where)
    text, phrases = string(document, "text", where), tuple(filter(None, _strings(document, "phrases", where)))
    if not (observed or excluded or text or phrases):
        _refuse(where, "the case has no finding and no text", 'give "observed": ["HP:…"], "text" or "phrases"')
    findings = [Finding(term, Status.PRESENT, text=term) for term in observed]
    findings += [Finding(term, Status.ABSENT, text=term) for term in excluded]
    said = string(document, "sex", where)
    sex = said.upper() if said.upper() in SEXES else SEX_WORDS.get(said.lower())
    issues: list[Issue] = []
    findings = [_qualified(each, document.get("qualifiers"), where, issues) for each in findings]
    if sex is None:
        message = f"{said[:40]!r} is not one of {', '.join(SEXES)}"
        issues.append(Issue("warning", f"{where}: sex", message, "read as unknown"))
    return Case(
        id=string(document, "id", where),
        findings=tuple(findings),
        text=text,
        sex=sex or "UNKNOWN",
        age=usable(checked_age, string(document, "age", where), "age", where, issues),
        diseases=_strings(document, "diseases", where),
        publications=_strings(document, "publications", where),
        genes=_strings(document, "causal_genes", where),
        onset=usable(checked_onset, string(document, "onset", where), "onset", where, issues),
        family=_family(document, where, issues),
        gene_evidence=gene_evidence(document.get("genes"), f"{where}: genes"),
        source=string(document, "source", where) or "user",
        language=string(document, "language", where) or None,
        synthetic=_synthetic(document, where),
        phrases=phrases,
        issues=tuple(issues),
        extra={key: value for key, value in document.items() if key not in KEYS},
    ).identified()


def case_to_json(case: Case, *, text: bool = False) -> dict[str, Any]:
    """Write the plain JSON form; the patient's text only when asked for."""
    document: dict[str, Any] = {
        "id": case.id,
        "observed": list(case.observed),
        "excluded": list(case.excluded),
        "diseases": list(case.diseases),
        "sex": case.sex,
        "age": case.age,
        "publications": list(case.publications),
        "causal_genes": list(case.genes),
        "source": case.source,
        **_person(case),
    }
    qualified = {each.id: _qualifiers(each) for each in case.findings if _qualifiers(each)}
    if qualified:
        document["qualifiers"] = qualified
    if case.language:
        document["language"] = case.language
    if case.synthetic:
        document["synthetic"] = True
    if text:
        document["text"] = case.text
        if case.phrases:
            document["phrases"] = list(case.phrases)
    return document


def _qualifiers(finding: Finding) -> dict[str, Any]:
    said = {"severity": finding.severity, "modifiers": list(finding.modifiers), "since": finding.since}
    return {key: value for key, value in said.items() if value} if finding.status is Status.PRESENT else {}


def _qualified(finding: Finding, stated: object, where: str, issues: list[Issue]) -> Finding:
    said = stated.get(finding.id) if isinstance(stated, Mapping) else None
    if finding.status is not Status.PRESENT or said is None:
        return finding
    try:
        severity, modifiers, since = said.get("severity", ""), said.get("modifiers", ()), said.get("since", "")
        if not {*modifiers, *filter(None, [severity])} <= QUALIFIERS.keys() or not _SINCE.fullmatch(since):
            raise ValueError
    except (AttributeError, TypeError, ValueError):
        message = f"{str(said)[:60]!r} are no qualifiers"
        issues.append(Issue("warning", f"{where}: qualifiers: {finding.id}", message, "ignored"))
        return finding
    return replace(finding, severity=severity, modifiers=tuple(modifiers), since=since)


def _person(case: Case) -> dict[str, Any]:
    said = {
        "onset": case.onset,
        "inheritance": list(case.family.inheritance),
        "consanguineous": case.family.consanguineous,
        "affected_relatives": list(case.family.affected),
        "genes": gene_evidence_json(case.gene_evidence) if case.gene_evidence else None,
    }
    return {key: value for key, value in said.items() if value is not None and value != []}


def _family(document: Mapping[str, Any], where: str, issues: list[Issue]) -> Family:
    related = document.get("consanguineous")
    if related is not None and not isinstance(related, bool):
        _refuse(where, '"consanguineous" is neither true nor false', "leave it out where it is not known")
    modes = document.get("inheritance")
    listed = _strings({"inheritance": [modes] if isinstance(modes, str) else modes}, "inheritance", where)
    read = (usable(checked_mode, mode, "inheritance", where, issues) for mode in listed)
    affected = tuple(each.upper() for each in _strings(document, "affected_relatives", where))
    if strange := [each for each in affected if each not in RELATIVES]:
        message = f"{strange[0][:40]!r} is not one of {', '.join(RELATIVES)}"
        issues.append(Issue("warning", f"{where}: affected_relatives", message, "ignored"))
    kept = tuple(dict.fromkeys(each for each in affected if each in RELATIVES))
    return Family(related, kept, tuple(dict.fromkeys(filter(None, read))))


def string(document: Mapping[str, Any], key: str, where: str) -> str:
    """Return a value as a text, empty where there is none."""
    value = document.get(key)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        _refuse(where, f'"{key}" is not a string', "see the documented forms of a case")
    text = valid(str(value))
    return text if key == "text" else text.strip()


def _synthetic(document: Mapping[str, Any], where: str) -> bool:
    value = document.get("synthetic", False)
    if not isinstance(value, bool):
        _refuse(where, '"synthetic" is neither true nor false', 'write "synthetic": true for a case that is made up')
    return value


def _strings(document: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    value = document.get(key)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        _refuse(where, f'"{key}" is not a list of strings', f'write "{key}": ["…", "…"]')
    return tuple(valid(item).strip() for item in value)


def _refuse(where: str, message: str, hint: str) -> NoReturn:
    raise CaseError(f"{where}: {message}", hint=hint)


# Cases from consultations: dialogues as in the DX dataset (Xu et al., AAAI 2019) and in IMCS21 (Chen et al.,
# Bioinformatics 2023), and OSCE cases as in AgentClinic.
#
# In a dialogue, what the patient reports (explicit) and what the doctor asks for (implicit) are symptoms with true or
# false. An OSCE case (https://agentclinic.github.io) has a patient actor, an examination and test results.


_SLOTS = ("explicit_inform_slots", "implicit_inform_slots")
"""Symptoms of a dialogue of DX."""
_INFO = ("explicit_info", "implicit_info")
"""Symptoms of a dialogue of IMCS21, each in its member ``Symptom``: a list of those reported, or names with 0, 1, 2."""
_REPORTS = ("self_repo", "self_report", "self-report")
_STATUS: Mapping[str, Status] = {
    **dict.fromkeys(("true", "1", "yes"), Status.PRESENT),
    **dict.fromkeys(("false", "0", "no"), Status.ABSENT),
    **dict.fromkeys(("2", "unk", "unknown", "none", "not sure"), Status.UNKNOWN),
}
"""Truth values as the datasets write them: booleans, or 0, 1 and 2 (not sure)."""


def is_dialogue(document: Mapping[str, Any]) -> bool:
    """Say whether a document has the form of DX or of IMCS21.

    Example:
        >>> is_dialogue({"goal": {"explicit_inform_slots": {}}}), is_dialogue({"text": ""})
        (True, False)
        >>> is_dialogue({"self-report": "咳嗽", "dialogue": [{"speaker": "患者", "sentence": "咳嗽"}]})
        True
    """
    goal = document.get("goal")
    if document.keys() & {*_SLOTS, *_INFO} or (isinstance(goal, dict) and bool(goal.keys() & set(_SLOTS))):
        return True
    turns = document.get("dialogue")
    return isinstance(turns, list) and bool(turns) and all(isinstance(each, dict) for each in turns)


def dialogues(document: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield the id and the content of each dialogue of a release that is one object, as IMCS21 is; else nothing.

    Example:
        >>> [id for id, _ in dialogues({"10": {"explicit_info": {}}, "11": {"explicit_info": {}}})]
        ['10', '11']
        >>> list(dialogues({"goal": {"explicit_inform_slots": {}}}))
        []
    """
    if "goal" not in document and any(isinstance(each, dict) and is_dialogue(each) for each in document.values()):
        yield from document.items()


def case_from_dialogue(document: Mapping[str, Any], where: str = "dialogue") -> Case:
    """Read one consultation; the patient's own report becomes its text.

    The turns are kept in ``extra["dialogue"]``, and what the patient reports at first in ``extra["first"]``.
    The disease is a name, not an id, and is kept in ``extra["diagnosis"]``, unread by any scorer. The reports that
    doctors wrote afterwards are not read: they name the diagnosis.

    Example:
        >>> goal = {"explicit_inform_slots": {"咳嗽": True}, "implicit_inform_slots": {"发烧": False}}
        >>> case = case_from_dialogue({"consult_id": "7", "goal": goal, "self_repo": "一直咳嗽"})
        >>> case.id, case.observed, case.excluded, case.text
        ('7', ('咳嗽',), ('发烧',), '一直咳嗽')
        >>> told = {"explicit_info": {"Symptom": ["腹泻"]}, "implicit_info": {"Symptom": {"发热": "0", "炎症": "2"}}}
        >>> case = case_from_dialogue({"diagnosis": "小儿腹泻", **told})
        >>> case.observed, case.excluded, case.extra["diagnosis"]
        (('腹泻',), ('发热',), '小儿腹泻')
    """
    goal = document.get("goal", document)
    if not isinstance(goal, dict):
        raise CaseError(f"{where}: goal is no object", hint="give dialogues in the form of the DX dataset")
    issues: list[Issue] = []
    first, asked = (_slot(document, goal, place, where, issues) for place in (0, 1))
    reported = {finding.id for finding in first}
    findings = (*first, *(each for each in asked if each.id not in reported or each.status is Status.ABSENT))
    text = next(filter(None, (string(document, key, where) for key in _REPORTS)), "")
    if not findings and not text:
        raise CaseError(f"{where}: the dialogue names no symptom", hint=f"give {' and '.join(_SLOTS)}")
    disease = next(filter(None, (string(each, "disease_tag", where) for each in (document, goal))), "")
    extra: dict[str, Any] = {
        "dialogue": _turns(document, where, issues),
        "diagnosis": disease or string(document, "diagnosis", where),
        "first": [finding.id for finding in first],
    }
    return Case(
        id=string(document, "consult_id", where) or string(document, "id", where),
        findings=findings,
        text=text,
        source="dialogue",
        language="zh",
        issues=tuple(issues),
        extra={key: value for key, value in extra.items() if value},
    ).identified()


def _slot(
    document: Mapping[str, Any], goal: Mapping[str, Any], place: int, where: str, issues: list[Issue]
) -> list[Finding]:
    stated = goal.get(_SLOTS[place])
    if stated is None and (info := document.get(_INFO[place])) is not None:
        stated = info.get("Symptom", {}) if isinstance(info, dict) else info
    if isinstance(stated, list) and all(isinstance(each, str) for each in stated):
        stated = dict.fromkeys(stated, True)
    slot = _SLOTS[place] if _SLOTS[place] in goal else _INFO[place]
    return list(_findings({slot: stated}, slot, where, issues))


def _turns(document: Mapping[str, Any], where: str, issues: list[Issue]) -> list[str]:
    turns = document.get("dialog", document.get("dialogue", []))
    given = turns if isinstance(turns, list) else [None]
    said = [_turn(each, where) if isinstance(each, dict) else each for each in given]
    texts = [valid(each).strip() for each in said if isinstance(each, str)]
    if len(texts) == len(said):
        return texts
    issues.append(Issue("warning", f"{where}: dialog", "dialog is no list of texts", "ignored"))
    return []


def _turn(turn: Mapping[str, Any], where: str) -> str:
    return "：".join(filter(None, (string(turn, key, where) for key in ("speaker", "sentence"))))


def case_from_osce(document: Mapping[str, Any], where: str = "OSCE case") -> Case:
    """Read one OSCE case; what the patient says and what the examination finds become its text.

    What only the patient actor, the examination and the tests know, and the correct diagnosis (a name, not an id), are
    kept apart in ``extra``, unread by any scorer.
    """
    examination = document.get("OSCE_Examination")
    actor = examination.get("Patient_Actor") if isinstance(examination, dict) else None
    if not isinstance(examination, dict) or not isinstance(actor, dict):
        raise CaseError(f"{where}: no OSCE_Examination with a Patient_Actor", hint="give cases in AgentClinic's form")
    told = {key: value for key, value in actor.items() if key != "Demographics"}
    findings = examination.get("Physical_Examination_Findings")
    text = valid("\n".join((*_sentences(told), *_sentences(findings))))
    if not text:
        raise CaseError(f"{where}: the patient actor says nothing", hint="give a History or Symptoms")
    who = described(Case("", text=str(actor.get("Demographics", ""))))
    extra = {
        "objective": examination.get("Objective_for_Doctor"),
        "actor": actor,
        "examination": findings,
        "tests": examination.get("Test_Results"),
        "diagnosis": examination.get("Correct_Diagnosis"),
    }
    return Case(
        id="",
        text=text,
        sex=who.sex,
        age=who.age,
        source="osce",
        extra={key: value for key, value in extra.items() if value is not None},
    ).identified()


def _findings(goal: Mapping[str, Any], slot: str, where: str, issues: list[Issue]) -> Iterator[Finding]:
    slots = goal.get(slot)
    if slots is None:
        return
    if not isinstance(slots, dict):
        issues.append(Issue("warning", f"{where}: {slot}", f"{slot} is no object", "ignored"))
        return
    for name, value in slots.items():
        symptom = " ".join(valid(name).split())
        status = _STATUS.get(str(value).strip().lower()) if isinstance(value, str | int | None) else None
        if status is None or not symptom:
            message = f"{symptom[:40]!r} is {str(value)[:40]!r}, not true or false"
            issues.append(Issue("warning", f"{where}: {slot}", message, "the symptom was ignored"))
        else:
            yield Finding(symptom, status, text=symptom)


def _sentences(value: object, heading: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _sentences(inner, str(key).replace("_", " ").strip())
    elif isinstance(value, list):
        for inner in value:
            yield from _sentences(inner, heading)
    elif isinstance(value, str) and value.strip():
        yield f"{heading}: {value.strip()}" if heading else value.strip()
