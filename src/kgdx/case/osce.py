"""OSCE cases in AgentClinic's form (https://agentclinic.github.io): a patient actor, an examination, test results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kgdx.case.model import Case, valid
from kgdx.errors import CaseError

_YEARS = re.compile(r"(\d{1,3})[- ]?(?:years?|yrs?|y/?o)", re.IGNORECASE)
_MONTHS = re.compile(r"(\d{1,3})[- ]?months?", re.IGNORECASE)
_FEMALE = re.compile(r"\b(?:female|woman|girl|lady)\b", re.IGNORECASE)
_MALE = re.compile(r"\b(?:male|man|boy|gentleman)\b", re.IGNORECASE)


def case_from_osce(document: Mapping[str, Any], where: str = "OSCE case") -> Case:
    """Read one OSCE case; what the patient says and what the examination finds become its text.

    The test results and the correct diagnosis (a name, not an id) are kept in ``extra``, unread by any scorer.

    Raises:
        CaseError: The document does not have the expected parts.

    Example:
        >>> actor = {"Demographics": "35-year-old woman", "History": "Ptosis."}
        >>> case = case_from_osce({"OSCE_Examination": {"Patient_Actor": actor}})
        >>> case.sex, case.age, "Ptosis" in case.text
        ('FEMALE', 'P35Y', True)
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
    demographics = str(actor.get("Demographics", ""))
    extra = {
        "objective": examination.get("Objective_for_Doctor"),
        "tests": examination.get("Test_Results"),
        "diagnosis": examination.get("Correct_Diagnosis"),
    }
    return Case(
        id="",
        text=text,
        sex="FEMALE" if _FEMALE.search(demographics) else "MALE" if _MALE.search(demographics) else "UNKNOWN",
        age=_age(demographics),
        source="osce",
        extra={key: value for key, value in extra.items() if value is not None},
    ).identified()


def _sentences(value: object, heading: str = "") -> Iterator[str]:
    """Flatten nested headings to lines: ``Cranial nerves: Presence of ptosis.``."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _sentences(inner, str(key).replace("_", " ").strip())
    elif isinstance(value, list):
        for inner in value:
            yield from _sentences(inner, heading)
    elif isinstance(value, str) and value.strip():
        yield f"{heading}: {value.strip()}" if heading else value.strip()


def _age(demographics: str) -> str | None:
    if years := _YEARS.search(demographics):
        return f"P{int(years[1])}Y"
    if months := _MONTHS.search(demographics):
        return f"P{int(months[1])}M"
    return None
