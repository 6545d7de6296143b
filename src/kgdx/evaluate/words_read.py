"""Cases in words made ready to be ranked, as a diagnosis reads them; those in ids are left as they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from kgdx.case import Ancestry, Case, Finding, FindingReader, Status, read_text
from kgdx.errors import CaseError

_CURIE = re.compile(r"[A-Za-z][\w.]*:\S+")


def words_reader(reader: Callable[[], FindingReader], ancestry: Callable[[], Ancestry]) -> Callable[[Case], Case]:
    """Return what reads the words of cases.

    Args:
        reader: Opens what reads words; asked at the first case that has any.
        ancestry: Opens the is-a hierarchy of findings.
    """

    def read(case: Case) -> Case:
        if not case.text and not case.phrases and all(_CURIE.fullmatch(each.id) for each in case.findings):
            return case
        return words_read(case, reader(), ancestry())

    return read


def words_read(case: Case, reader: FindingReader, ancestry: Ancestry | None = None) -> Case:
    """Return a case whose words are read: a phrase that names a finding is one too.

    Args:
        case: Any case.
        reader: Reads words into findings.
        ancestry: Knows the is-a hierarchy.

    Raises:
        CaseError: Nothing was recognised in a text, and the case says nothing else.
    """
    findings: list[Finding] = []
    phrases = list(case.phrases)
    for finding in (*case.findings, *(Finding(phrase, text=phrase) for phrase in case.phrases)):
        if _CURIE.fullmatch(finding.id):
            findings.append(finding)
            continue
        if finding.status is Status.PRESENT:
            phrases.append(finding.id)
        found = reader.resolve(finding.id).finding
        if found is not None:
            findings.append(replace(found, status=finding.status, text=finding.text))
    case = replace(case, findings=tuple(findings), phrases=tuple(dict.fromkeys(phrases)))
    try:
        return read_text(case, reader, ancestry)
    except CaseError:
        if not phrases:
            raise
        return case
