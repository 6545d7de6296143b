"""The plain JSON form of a case: ``{"id", "observed", "excluded", "diseases", …}``, one object a line in files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from kgdx.case.model import SEXES, Case, Finding, Issue, Status, valid
from kgdx.errors import CaseError

KEYS = frozenset(
    {
        *("id", "observed", "excluded", "diseases", "sex", "age", "text"),
        *("publications", "genes", "language", "source", "synthetic"),
    }
)
"""Keys that the plain form knows; others are kept in ``Case.extra``."""


def case_from_json(document: Mapping[str, Any], where: str = "case") -> Case:
    """Read the plain JSON form.

    Raises:
        CaseError: A value has the wrong type, or there is neither a finding nor a text.

    Example:
        >>> case_from_json({"id": "a", "observed": ["HP:0001250"], "diseases": ["OMIM:1"]}).observed
        ('HP:0001250',)
    """
    observed, excluded = _strings(document, "observed", where), _strings(document, "excluded", where)
    text = string(document, "text", where)
    if not (observed or excluded or text):
        _refuse(where, "the case has no finding and no text", 'give "observed": ["HP:…"], or "text"')
    findings = [Finding(term, Status.PRESENT, text=term) for term in observed]
    findings += [Finding(term, Status.ABSENT, text=term) for term in excluded]
    sex = string(document, "sex", where).upper() or "UNKNOWN"
    known = sex in SEXES
    strange = Issue("warning", f"{where}: sex", f"{sex[:40]!r} is not one of {', '.join(SEXES)}", "read as unknown")
    return Case(
        id=string(document, "id", where),
        findings=tuple(findings),
        text=text,
        sex=sex if known else "UNKNOWN",
        age=string(document, "age", where) or None,
        diseases=_strings(document, "diseases", where),
        publications=_strings(document, "publications", where),
        genes=_strings(document, "genes", where),
        source=string(document, "source", where) or "user",
        language=string(document, "language", where) or None,
        synthetic=_synthetic(document, where),
        issues=() if known else (strange,),
        extra={key: value for key, value in document.items() if key not in KEYS},
    ).identified()


def case_to_json(case: Case, *, text: bool = False) -> dict[str, Any]:
    """Write the plain JSON form; the patient's text only when asked for.

    Example:
        >>> case_to_json(Case("a", (Finding("HP:0001250"),)))["observed"]
        ['HP:0001250']
    """
    document: dict[str, Any] = {
        "id": case.id,
        "observed": list(case.observed),
        "excluded": list(case.excluded),
        "diseases": list(case.diseases),
        "sex": case.sex,
        "age": case.age,
        "publications": list(case.publications),
        "genes": list(case.genes),
        "source": case.source,
    }
    if case.language:
        document["language"] = case.language
    if case.synthetic:
        document["synthetic"] = True
    if text:
        document["text"] = case.text
    return document


def string(document: Mapping[str, Any], key: str, where: str) -> str:
    """Return a value as a text, empty where there is none.

    Raises:
        CaseError: It is neither a string nor an integer.
    """
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
