"""Queries for Neo4j Browser that draw what a result rests on, as paths of real relations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kgdx.errors import UsageError
from kgdx.store.browser import statement

if TYPE_CHECKING:
    from kgdx.actions.answer import Answer
    from kgdx.actions.diagnosis import Diagnosis
    from kgdx.actions.evidence import PathNode
    from kgdx.actions.items import EvidenceItem
    from kgdx.case import Finding

THINGS = 60
"""How many nodes of an answer's evidence are drawn, the cited ones first."""


def diagnosis_query(diagnosis: Diagnosis, ids: Sequence[str] = (), top: int = 3) -> str:
    """Return the query for a saved diagnosis.

    Args:
        diagnosis: The diagnosis.
        ids: Candidates whose evidence is drawn; the first ``top`` when there are none.
        top: How many candidates.

    Raises:
        UsageError: A disease is not among the candidates, or there are none.
    """
    ranks = [diagnosis.candidate(id).rank for id in ids] or [each.rank for each in diagnosis.candidates[:top]]
    return run_query(diagnosis.id, ranks)


def run_query(run: str, ranks: Iterable[int]) -> str:
    """Return the query for a run, and the candidates at some ranks.

    Raises:
        UsageError: There are none.

    Example:
        >>> "run:1" in run_query("run:1", [1])
        True
    """
    wanted = sorted(set(ranks))
    if not wanted:
        raise UsageError(f"{run} has no candidates", hint="say more of the patient, and diagnose again")
    return statement("evidence_of_run", run=run, ranks=wanted)


def disease_query(disease: str, findings: Iterable[Finding]) -> str:
    """Return the query for a disease and the findings of a patient who need not be in the graph.

    Example:
        >>> from kgdx.case import Finding
        >>> "f.id IN ['HP:0001250'] + []" in disease_query("OMIM:1", [Finding("HP:0001250")])
        True
    """
    by_status: dict[str, list[str]] = {"present": [], "absent": []}
    for each in findings:
        if each.status in by_status:
            by_status[each.status].append(each.id)
    return statement("evidence_of_disease", disease=disease, **by_status)


def answer_query(answer: Answer) -> str:
    """Return the query for an answer: the relations between the diseases and the other nodes of its evidence.

    Raises:
        UsageError: Its evidence names no disease.
    """
    cited = frozenset(answer.text.cited)
    diseases: dict[str, None] = {}
    things: dict[str, None] = {}
    for item in sorted(answer.pack.items, key=lambda item: item.id not in cited):
        for node in _nodes(item):
            if len(things) < THINGS or node.id in things:
                things[node.id] = None
                if node.label == "Disease":
                    diseases[node.id] = None
    if not diseases:
        raise UsageError("the answer's evidence names no disease of the graph", hint="ask of one by its name")
    return statement("evidence_of_answer", diseases=list(diseases), things=list(things))


def _nodes(item: EvidenceItem) -> list[PathNode]:
    return [node for node in (item.subject, *item.objects) if node is not None]
