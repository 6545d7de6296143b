"""How well diseases are ranked: the rank of the true disease in every case, told apart by what the graph had seen.

HPOA and public phenopackets are curated from the same case reports. ``seen`` are the cases whose publication the
disease's annotations cite, ``withheld`` the same ones ranked without that publication's rows, and ``unseen`` the rest:
the fair estimate for a new patient.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kgdx.case.case_files import Failure
from kgdx.case.patient import Case
from kgdx.errors import CaseError
from kgdx.evaluate.metrics import MISS, mean_over, mean_rank, summary
from kgdx.rank.held_out_ranks import Withheld
from kgdx.rank.ranking import leaving_out

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.case_bank import CaseBank
    from kgdx.rank.ranker import Ranker

GROUPS = ("all", "in_graph", "seen", "unseen", "withheld")


@dataclass(slots=True)
class _Result:
    """One case: the ranks of its disease, with everything known and with its publication withheld."""

    cluster: str
    disease: str
    rank: float = MISS
    withheld: float = MISS
    in_graph: bool = False
    seen: bool | None = None
    banked: bool = False


def evaluate_rank(
    ranker: Ranker, snapshot: Snapshot, cases: Iterable[Case | Failure], bank: CaseBank | None = None
) -> dict[str, Any]:
    """Rank every case and compare with the diseases that it states.

    A case that cannot be read or ranked stays in the denominator as a miss. Any stated id counts, and so does an entry
    that is merged with it. Whether a case was seen can be said only where it names its publication.

    Args:
        ranker: What ranks.
        snapshot: The snapshot that the ranker reads.
        cases: Cases with their diagnoses, or what could not be read.
        bank: Other patients to match with, where that is switched on; those of the case's publications are left out.

    Returns:
        ``groups`` (group → n, top1, top3, top5, top10, mrr, ci95), ``by_disease`` (the same means over diseases),
        ``ms_median`` and ``ms_p95`` (milliseconds a case), ``failed`` (id and reason), ``unrankable`` (cases whose
        diseases the graph does not annotate), ``synthetic`` (cases that were made up), ``n_candidates``, and with a
        bank ``banked``: the cases of ``in_graph`` with another publication's patient of the disease in it.

    Raises:
        CaseError: There is no case at all.
    """
    withheld = Withheld(ranker, snapshot)
    results: list[_Result] = []
    failed: list[dict[str, str]] = []
    times: list[float] = []
    synthetic = 0
    for case in cases:
        synthetic += isinstance(case, Case) and case.synthetic
        if isinstance(case, Failure):
            failed.append({"id": case.id or case.where, "error": case.message})
            results.append(_Result(case.id or case.where, ""))
            continue
        result = _labelled(ranker, withheld, case)
        results.append(result)
        try:
            times.append(_rank(ranker, withheld, bank, case, result))
        except CaseError as error:
            failed.append({"id": case.id, "error": str(error)})
    if not results:
        raise CaseError("there is no case to evaluate on", hint="give phenopackets, or JSON lines of cases")
    chosen = _groups(results, withhold=bank is None)
    report = {
        "groups": {name: summary(ranks, [r.cluster for r in group]) for name, (group, ranks) in chosen.items()},
        "by_disease": {name: mean_over(ranks, [r.disease for r in group]) for name, (group, ranks) in chosen.items()},
        "ms_median": float(np.median(times)) if times else None,
        "ms_p95": float(np.percentile(times, 95)) if times else None,
        "failed": failed,
        "unrankable": sum(not result.in_graph for result in results),
        "synthetic": synthetic,
        "n_candidates": ranker.model.columns.size,
    }
    if bank is not None:
        report["banked"] = sum(result.banked for result in results)
    return report


def _labelled(ranker: Ranker, withheld: Withheld, case: Case) -> _Result:
    right = _right(ranker, case)
    result = _Result(case.publications[0] if case.publications else case.id, ",".join(case.diseases))
    result.in_graph = bool(right)
    if right and case.publications:
        publications = frozenset(case.publications)
        result.seen = any(withheld.cites(number, publications) for number in right)
    return result


def _right(ranker: Ranker, case: Case) -> list[int]:
    return sorted({number for id in case.diseases if (number := ranker.number_of(id)) >= 0})


def _rank(ranker: Ranker, withheld: Withheld, bank: CaseBank | None, case: Case, result: _Result) -> float:
    """Rank one case into ``result``; return the milliseconds that ranking took."""
    right, publications = _right(ranker, case), frozenset(case.publications)
    begin = time.perf_counter()
    scored = ranker.score(case)
    total = scored.total if bank is None else bank.match(scored, leaving_out(case)).raised(scored.total)
    milliseconds = 1000 * (time.perf_counter() - begin)
    if bank is not None:
        result.banked = any(bank.has(number, leaving_out(case)) for number in right)
    result.rank = mean_rank(total, right)
    if result.seen and bank is None:
        found = {number: withheld.without(number, publications) for number in right}
        columns = {number: column for number, column in found.items() if column is not None}
        result.withheld = mean_rank(withheld.score(scored, columns).total, list(columns))
    return milliseconds


def _groups(results: list[_Result], *, withhold: bool) -> Mapping[str, tuple[list[_Result], list[float]]]:
    """Group → its cases and their ranks; a group that cannot be told, or has no case, is left out."""
    members = {
        "all": results,
        "in_graph": [result for result in results if result.in_graph],
        "seen": [result for result in results if result.seen],
        "unseen": [result for result in results if result.seen is False],
    }
    groups = {name: (group, [result.rank for result in group]) for name, group in members.items() if group}
    if withhold and "seen" in groups:
        groups["withheld"] = (members["seen"], [result.withheld for result in members["seen"]])
    return groups
