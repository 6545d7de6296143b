"""Ranking metrics and text metrics: how often ranking is right, and how well findings are read from text."""

from __future__ import annotations

import statistics
import time
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kgdx.case.case_files import Failure
from kgdx.case.patient import Case
from kgdx.errors import CaseError, SourceError
from kgdx.rank.held_out_ranks import Withheld
from kgdx.rank.ranking import leaving_out

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.case_bank import CaseBank
    from kgdx.rank.ranker import Ranker
    from kgdx.terms.extractor import Extractor

Floats = NDArray[Any]

TOPS = (1, 3, 5, 10)
METRICS = (*(f"top{k}" for k in TOPS), "mrr")
RESAMPLES = 1000
MISS = float("inf")
"""Rank of a right answer that is not among the candidates."""


def mean_rank(scores: Floats, right: Sequence[int]) -> float:
    """Return the rank of the best right candidate; equal scores share the mean of their ranks.

    Args:
        scores: Score of each candidate; shape (candidates,).
        right: Numbers of the right candidates; negative ones are not in the graph.

    Example:
        >>> mean_rank(np.array([3.0, 2.0, 2.0, 1.0]), [1])
        2.5
    """
    among = [number for number in right if number >= 0]
    if not among:
        return MISS
    best = max(scores[number] for number in among)
    return float((scores > best).sum() + ((scores == best).sum() + 1) / 2)


def values(ranks: Sequence[float]) -> Floats:
    """Return what each rank counts for; shape (ranks, metrics), in the order of ``METRICS``.

    Example:
        >>> values([2.0]).tolist()
        [[0.0, 1.0, 1.0, 1.0, 0.5]]
    """
    rank = np.asarray(ranks, float)
    return np.column_stack([*(rank <= k for k in TOPS), 1 / rank]).astype(float)


def summary(ranks: Sequence[float], clusters: Sequence[Hashable]) -> dict[str, Any]:
    """Return n, top-k, mean reciprocal rank and their bootstrap intervals.

    Args:
        ranks: Rank of the right answer in each case, ``inf`` for a miss.
        clusters: What each case is resampled with, such as its publication.

    Example:
        >>> found = summary([1.0, 4.0], ["a", "b"])
        >>> found["n"], found["top1"], found["top5"], found["mrr"]
        (2, 0.5, 1.0, 0.625)
    """
    each = values(ranks)
    means = each.mean(axis=0)
    low, high = bootstrap(each, clusters)
    return {
        "n": len(each),
        **{name: float(mean) for name, mean in zip(METRICS, means, strict=True)},
        "ci95": {name: [float(low[i]), float(high[i])] for i, name in enumerate(METRICS)},
    }


def mean_over(ranks: Sequence[float], groups: Sequence[Hashable]) -> dict[str, Any]:
    """Return the metrics averaged within groups (such as diseases) first: one with many cases counts once.

    Example:
        >>> mean_over([1.0, 1.0, 1.0, 20.0], ["a", "a", "a", "b"])["top1"]
        0.5
    """
    sums, counts = _by_cluster(values(ranks), groups)
    means = (sums / counts[:, None]).mean(axis=0)
    return {"n": len(counts), **{name: float(mean) for name, mean in zip(METRICS, means, strict=True)}}


def bootstrap(each: Floats, clusters: Sequence[Hashable], resamples: int = RESAMPLES) -> tuple[Floats, Floats]:
    """Return the 2.5 and 97.5 percentiles of the metrics' means when whole clusters are resampled.

    Cases of one publication resemble each other; drawing them singly would make the interval too narrow (Field and
    Welsh, JRSS B 2007).

    Args:
        each: Values of each case; shape (cases, metrics).
        clusters: Cluster of each case.
        resamples: How many samples are drawn, with a fixed seed.
    """
    sums, counts = _by_cluster(each, clusters)
    drawn = np.random.default_rng(0).multinomial(len(counts), np.full(len(counts), 1 / len(counts)), resamples)
    means = (drawn @ sums) / (drawn @ counts)[:, None]
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    return low, high


def _by_cluster(each: Floats, clusters: Sequence[Hashable]) -> tuple[Floats, Floats]:
    numbers: dict[Hashable, int] = {}
    owner = np.array([numbers.setdefault(cluster, len(numbers)) for cluster in clusters])
    sums = np.zeros((len(numbers), each.shape[1]))
    np.add.at(sums, owner, each)
    return sums, np.bincount(owner).astype(float)


# How well diseases are ranked: the rank of the true disease in every case, told apart by what the graph had seen.
#
# HPOA and public phenopackets are curated from the same case reports. ``seen`` are the cases whose publication the
# disease's annotations cite, ``withheld`` the same ones ranked without that publication's rows, and ``unseen`` the
# rest:
# the fair estimate for a new patient.


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


# How well findings are read from text: document-level micro precision, recall and F1 against annotated mentions.
#
# A document counts as the set of terms that it mentions, whatever is said of them: corpora such as GSC+ annotate "no
# seizures" as a mention of seizures, so every status counts, and so do names inside longer ones. Alternative and
# replaced
# ids stand for their current term; a gold id that the ontology has dropped without replacement stays, and is missed.


def evaluate_text(extractor: Extractor, docs: Iterable[Mapping[str, Any]]) -> dict[str, float | int]:
    """Read every document and compare with its annotations.

    Args:
        extractor: What reads the text.
        docs: Mappings with ``text`` and ``mentions``: ``[start, end, text, HPO id]`` each.

    Returns:
        ``precision``, ``recall``, ``f1`` (fractions, over all (document, term) pairs), ``ms_median`` (milliseconds per
        document) and ``n`` (documents).

    Raises:
        SourceError: A document lacks its text or mentions, or there is no document.
    """
    right = found = wanted = 0
    times = []
    for number, doc in enumerate(docs, 1):
        gold = {_current(extractor, curie) for curie in _gold(doc, number)}
        begin = time.perf_counter()
        said = {finding.id for finding in extractor.mentions(doc["text"])}
        times.append(1000 * (time.perf_counter() - begin))
        right += len(gold & said)
        found += len(said)
        wanted += len(gold)
    if not times:
        raise SourceError("there is no document to evaluate on", hint='give JSON lines {"id", "text", "mentions"}')
    return {
        "precision": right / found if found else 0.0,
        "recall": right / wanted if wanted else 0.0,
        "f1": 2 * right / (found + wanted) if found + wanted else 0.0,
        "ms_median": statistics.median(times),
        "n": len(times),
    }


def _gold(doc: Mapping[str, Any], number: int) -> list[str]:
    try:
        mentions = [str(mention[3]) for mention in doc["mentions"]]
        if not isinstance(doc["text"], str):
            raise TypeError("text is no string")
    except (KeyError, IndexError, TypeError) as error:
        message = f"document {number} has no usable text and mentions ({error})"
        raise SourceError(
            message, hint='each needs {"id", "text", "mentions": [[start, end, text, HPO id], …]}'
        ) from None
    return mentions


def _current(extractor: Extractor, curie: str) -> str:
    finding, _ = extractor.terms.current(curie)
    return finding.id if finding else curie
