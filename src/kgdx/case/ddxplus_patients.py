"""Patients of DDXPlus: rows of its CSV files as cases.

Each evidence is a finding ``DDXPLUS:E_91``, with its value ``DDXPLUS:E_55_@_V_89``. Beside it stand the HPO terms that
it implies (:func:`~kgdx.case.ddxplus_release.evidence_terms`): their ``method`` is ``mapped``, and their ``text`` is
the id of the evidence that they come from, so that a method that reads both counts neither twice.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from kgdx.case.ddxplus_release import (
    PREFIX,
    VALUE,
    ReleasedEvidence,
    condition_words,
    conditions,
    evidence_terms,
    evidence_words,
    evidences,
    phrase,
)
from kgdx.case.patient import Case, Finding, Issue, Status
from kgdx.case.person import iso_age
from kgdx.errors import CaseError
from kgdx.lazy import lazy_pattern

Known = Literal["all", "first"]
"""What a case has of a patient's evidences: all, or the first complaint alone (age and sex in both)."""

COLUMNS = frozenset({"pathology", "evidences", "initial_evidence"})
"""Columns, folded, by which such a table is known."""
MAPPED = "mapped"
"""Method of a finding that an evidence implies."""

_LIST = lazy_pattern(r"\[\s*(?:'[^']*'\s*(?:,\s*'[^']*'\s*)*)?\]")
_MEMBER = lazy_pattern(r"'([^']*)'")
_SEXES = {"M": "MALE", "F": "FEMALE"}
_SHOWN = 40
_LONGEST = 100_000


def is_patients(names: Iterable[str]) -> bool:
    """Say whether the columns of a table, folded, are those of DDXPlus's patients.

    Example:
        >>> is_patients(["age", "sex", "pathology", "evidences", "initial_evidence"]), is_patients(["id", "text"])
        (True, False)
    """
    return set(names) >= COLUMNS


def case_from_patient(row: Mapping[str, str], number: int, where: str = "case", known: Known = "all") -> Case:
    """Read one row.

    The label is the condition's id; the id of the first complaint is kept in ``extra["first"]``, the release's
    differential in ``extra["differential"]`` as pairs of an id and a probability, the condition's names in
    ``extra["diagnosis"]``. What the release does not know (an evidence, a
    value, a condition) is left out, each with an issue.
    """
    reading = _Reading(where)
    first = row.get("initial_evidence", "")
    codes = [first] if known == "first" else _codes(row.get("evidences", ""), where)
    for each in codes:
        reading.answer(each)
    if not reading.findings:
        reason = reading.issues[0].message if reading.issues else "it has no evidence"
        raise CaseError(f"{where}: no evidence can be used ({reason})", hint="give codes such as E_91")
    age, sex = iso_age(row.get("age", "")), _SEXES.get(row.get("sex", "").upper(), "UNKNOWN")
    if age is None:
        reading.note("age", f"{row.get('age', '')[:_SHOWN]!r} is no age in years", "ignored")
    if sex == "UNKNOWN":
        reading.note("sex", f"{row.get('sex', '')[:_SHOWN]!r} is neither M nor F", "read as unknown")
    name = row.get("pathology", "")
    disease = conditions().get(name)
    extra: dict[str, Any] = {"differential": list(_differential(row.get("differential_diagnosis", ""), reading))}
    if first in codes:
        extra["first"] = [f"{PREFIX}{first}"]
    if disease is not None:
        extra["diagnosis"] = list(dict.fromkeys((name, condition_words()[name].name)))
    else:
        reading.note("pathology", f"{name[:_SHOWN]!r} is no condition of DDXPlus", "left out")
    return Case(
        id=f"patient-{number}",
        findings=tuple(reading.settled()),
        sex=sex,
        age=age,
        diseases=() if disease is None else (disease.id,),
        source="ddxplus",
        language="en",
        synthetic=True,
        issues=tuple(reading.issues),
        extra=extra,
    )


@dataclass(slots=True)
class _Reading:
    where: str
    findings: list[Finding] = field(default_factory=list)
    issues: list[Issue] = field(default_factory=list)

    def note(self, part: str, message: str, remedy: str) -> None:
        self.issues.append(Issue("warning", f"{self.where}: {part}", message, remedy))

    def answer(self, said: str) -> None:
        code, mark, value = said.partition(VALUE)
        evidence = evidences().get(code)
        if evidence is None:
            self.note("evidences", f"{said[:_SHOWN]!r} is no evidence of DDXPlus", "left out")
        elif bool(mark) != bool(evidence.values):
            message = "needs a value" if evidence.values else f"has no values, and {said[:_SHOWN]!r} gives one"
            self.note("evidences", f"{code} {message}", "left out")
        elif not mark:
            self._add(Status.PRESENT, code, code, phrase(code))
        elif value not in evidence.values:
            self.note("evidences", f"{value[:_SHOWN]!r} is no value of {code}", "left out")
        else:
            self._valued(evidence, value, said)

    def _valued(self, evidence: ReleasedEvidence, value: str, said: str) -> None:
        present = evidence.answered(value)
        if present:
            self._add(Status.PRESENT, said, evidence.code, phrase(evidence.code, value))
        elif present is False:
            self._add(Status.ABSENT, evidence.code, evidence.code, phrase(evidence.code))

    def _add(self, status: Status, said: str, code: str, label: str) -> None:
        identifier = f"{PREFIX}{said}"
        self.findings.append(Finding(identifier, status, label, text=said))
        implied = ("exact", "narrower") if status is Status.PRESENT else ("exact", "broader")
        for key in dict.fromkeys((said, code)):
            for term in evidence_terms().get(key, ()):
                if term.relation in implied:
                    matched = evidence_words()[code].name
                    self.findings.append(
                        Finding(term.id, status, term.label, text=identifier, matched=matched, method=MAPPED)
                    )

    def settled(self) -> Iterator[Finding]:
        """Yield each finding once; what is implied to be absent only where nothing says that it is present."""
        present = {finding.id for finding in self.findings if finding.status is Status.PRESENT}
        seen: set[str] = set()
        for finding in self.findings:
            if finding.id not in seen and (finding.status is Status.PRESENT or finding.id not in present):
                seen.add(finding.id)
                yield finding


def _codes(cell: str, where: str) -> list[str]:
    if len(cell) > _LONGEST or not _LIST.fullmatch(cell):
        shown = f"{where}: its evidences are no list ({cell[:_SHOWN]!r})"
        raise CaseError(shown, hint="write them as ['E_91', 'E_55_@_V_89']")
    return list(dict.fromkeys(_MEMBER.findall(cell)))


def _differential(cell: str, reading: _Reading) -> Iterator[tuple[str, float]]:
    if not cell:
        return
    try:
        given = ast.literal_eval(cell[:_LONGEST])
        pairs = [(str(name), float(share)) for name, share in given]
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        reading.note("differential_diagnosis", "it is no list of conditions and probabilities", "left out")
        return
    for name, share in pairs:
        if name in conditions():
            yield conditions()[name].id, share
        else:
            reading.note("differential_diagnosis", f"{name[:_SHOWN]!r} is no condition of DDXPlus", "left out")
