"""Queries for Neo4j Browser that draw what a result rests on, as paths of real relations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kgdx.errors import UsageError
from kgdx.graph.neo4j.browser_links import statement

if TYPE_CHECKING:
    from kgdx.actions.diagnosis import Diagnosis
    from kgdx.case import Finding


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
