"""Cases from dialogues in the form of the DX dataset (Xu et al., AAAI 2019) and its relatives.

What the patient reports (explicit) and what the doctor asks for (implicit) are symptoms with true or false.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kgdx.case.model import Case, Finding, Issue, Status, valid
from kgdx.errors import CaseError

_SLOTS = ("explicit_inform_slots", "implicit_inform_slots")
_STATUS: Mapping[str, Status] = {
    **dict.fromkeys(("true", "1", "yes"), Status.PRESENT),
    **dict.fromkeys(("false", "0", "no"), Status.ABSENT),
    **dict.fromkeys(("2", "unk", "unknown", "none", "not sure"), Status.UNKNOWN),
}
"""Truth values as the datasets write them: booleans, or 0, 1 and 2 (not sure)."""


def is_dialogue(document: Mapping[str, Any]) -> bool:
    """Say whether a document has the form.

    Example:
        >>> is_dialogue({"goal": {"explicit_inform_slots": {}}}), is_dialogue({"text": ""})
        (True, False)
    """
    goal = document.get("goal")
    return bool(document.keys() & set(_SLOTS)) or (isinstance(goal, dict) and bool(goal.keys() & set(_SLOTS)))


def case_from_dialogue(document: Mapping[str, Any], where: str = "dialogue") -> Case:
    """Read one consultation; the patient's own report becomes its text, the turns are kept in ``extra["dialogue"]``.

    The disease is a name, not an id, and is kept in ``extra["diagnosis"]``, unread by any scorer.

    Raises:
        CaseError: It does not have the expected parts, or says nothing.

    Example:
        >>> goal = {"explicit_inform_slots": {"咳嗽": True}, "implicit_inform_slots": {"发烧": False}}
        >>> case = case_from_dialogue({"consult_id": "7", "goal": goal, "self_repo": "一直咳嗽"})
        >>> case.id, case.observed, case.excluded, case.text
        ('7', ('咳嗽',), ('发烧',), '一直咳嗽')
    """
    goal = document.get("goal", document)
    if not isinstance(goal, dict):
        raise CaseError(f"{where}: goal is no object", hint="give dialogues in the form of the DX dataset")
    issues: list[Issue] = []
    findings = tuple(finding for slot in _SLOTS for finding in _findings(goal, slot, where, issues))
    text = _string(document, "self_repo", where) or _string(document, "self_report", where)
    if not findings and not text:
        raise CaseError(f"{where}: the dialogue names no symptom", hint=f"give {' and '.join(_SLOTS)}")
    turns = document.get("dialog", document.get("dialogue", []))
    if not isinstance(turns, list) or not all(isinstance(turn, str) for turn in turns):
        issues.append(Issue("warning", f"{where}: dialog", "dialog is no list of texts", "ignored"))
        turns = []
    disease = _string(document, "disease_tag", where) or _string(goal, "disease_tag", where)
    identifier = _string(document, "consult_id", where) or _string(document, "id", where)
    extra: dict[str, Any] = {"dialogue": [valid(turn).strip() for turn in turns], "diagnosis": disease}
    return Case(
        id=identifier,
        findings=findings,
        text=text,
        source="dialogue",
        language="zh",
        issues=tuple(issues),
        extra={key: value for key, value in extra.items() if value},
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


def _string(document: Mapping[str, Any], key: str, where: str) -> str:
    value = document.get(key)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise CaseError(f"{where}: {key} is no text", hint="give dialogues in the form of the DX dataset")
    return valid(str(value)).strip()
