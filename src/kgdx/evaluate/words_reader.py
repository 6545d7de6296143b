"""Cases in words made ready to be ranked, as a diagnosis reads them; those in ids are left as they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from kgdx.case import Ancestry, Case, FindingReader, Status, read_text

if TYPE_CHECKING:
    from kgdx.api import Graph

_CURIE = re.compile(r"[A-Za-z][\w.]*:\S+")


def words_reader(graph: Graph) -> Callable[[Case], Case]:
    """Return what reads the words of cases; nothing of the graph is opened before a case has any."""

    def read(case: Case) -> Case:
        if not case.text and not case.phrases and all(_CURIE.fullmatch(each.id) for each in case.findings):
            return case
        return words_read(case, graph.reader, graph.ancestry, words=graph.in_words)

    return read


def words_read(case: Case, reader: FindingReader, ancestry: Ancestry | None = None, *, words: bool = False) -> Case:
    """Return a case whose words are read: what a phrase names is a finding too; ``words`` without any may do."""
    named = [each for each in case.findings if not _CURIE.fullmatch(each.id)]
    present = [each.id for each in named if each.status is Status.PRESENT]
    phrases = tuple(dict.fromkeys((*case.phrases, *present)))
    findings = [each for each in case.findings if _CURIE.fullmatch(each.id)]
    for phrase in phrases:
        findings += [replace(each, span=None, text=phrase) for each in reader.extract(phrase).findings]
    for denied in (each for each in named if each.status is not Status.PRESENT):
        found = reader.resolve(denied.id).finding
        if found is not None:
            findings.append(replace(found, status=denied.status, text=denied.text))
    spoken = replace(case, findings=tuple(findings), phrases=phrases)
    return read_text(spoken, reader, ancestry, words=words)
