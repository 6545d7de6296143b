"""How well diseases are ranked: the rank of the true disease in every case, told apart by what the graph had seen.

HPOA and public phenopackets are curated from the same case reports. ``seen`` are the cases whose publication the
disease's annotations cite, ``withheld`` the same ones ranked without that publication's rows, and ``unseen`` the rest:
the fair estimate for a new patient.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kgdx.case.case_files import Failure
from kgdx.case.patient import Case, Issue
from kgdx.errors import CaseError
from kgdx.evaluate.labels import Label, Labels
from kgdx.evaluate.metrics import MISS, Families, Floats, mean_over, mean_rank, summary
from kgdx.evaluate.words_reader import words_reader
from kgdx.rank.held_out_ranks import Withheld
from kgdx.rank.ranking import leaving_out

if TYPE_CHECKING:
    from kgdx.api import Graph
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.case_bank import CaseBank
    from kgdx.rank.ranker import Ranker

GROUPS = ("all", "in_graph", "seen", "unseen", "withheld", "group_label")
FORMS = (
    "phenopackets, JSON lines with diseases, a table with a column diagnosis, OSCE cases, dialogues of DX or IMCS21, "
    "or a DDXPlus patients file"
)
"""The forms of cases that state a diagnosis."""

LISTED = 5
"""Doubtful parts of cases that are named; the rest are counted."""


class Ranks(NamedTuple):
    """Rank of the true disease among the diseases, and of its family among the families."""

    disease: float = MISS
    family: float = MISS


NOWHERE = Ranks()


@dataclass(slots=True)
class Result:
    """One case: the ranks of its disease, with everything known and with its publication withheld."""

    cluster: str
    label: Label
    family: Hashable = ()
    ranks: Ranks = NOWHERE
    withheld: Ranks = NOWHERE
    of_group: Ranks = NOWHERE
    seen: bool | None = None
    banked: bool = False


@dataclass(slots=True)
class Looked:
    """What one case adds to the figures.

    Attributes:
        result: Its ranks; ``None`` for a case without a diagnosis.
        error: Why it could not be read or ranked.
        ms: Milliseconds that reading and ranking took; ``None`` where they failed.
        doubtful: Its parts that were left out or mended.
        synthetic: Whether it was made up.
    """

    result: Result | None = None
    error: dict[str, str] | None = None
    ms: float | None = None
    doubtful: tuple[Issue, ...] = ()
    synthetic: bool = False


class RankAccuracy:
    """Ranks cases one after the other, keeping of each only where its disease stood.

    Args:
        ranker: What ranks.
        snapshot: The snapshot that the ranker reads.
        labels: Say what counts as right.
        read: Turns the words of a case into what is ranked.
        bank: Other patients to match with; those of the case's publications are left out.
    """

    def __init__(
        self,
        ranker: Ranker,
        snapshot: Snapshot,
        labels: Labels,
        read: Callable[[Case], Case],
        bank: CaseBank | None = None,
    ) -> None:
        self._ranker, self._labels, self._read, self._bank = ranker, labels, read, bank
        self._withheld = Withheld(ranker, snapshot)
        self._families = Families(ranker.model.families.of)
        self.results: list[Result] = []
        self.failed: list[dict[str, str]] = []
        self.times: list[float] = []
        self.doubtful: list[Issue] = []
        self.synthetic = self.unlabelled = 0

    def add(self, case: Case | Failure) -> None:
        """Rank one case; one that cannot be read or ranked is a miss, one without a diagnosis is only counted."""
        self.take(self.look(case))

    def take(self, looked: Looked) -> None:
        """Count what :meth:`look` returned, here or in another process."""
        self.doubtful += looked.doubtful
        self.synthetic += looked.synthetic
        self.unlabelled += looked.result is None
        if looked.error is not None:
            self.failed.append(looked.error)
        if looked.result is not None:
            self.results.append(looked.result)
        if looked.ms is not None:
            self.times.append(looked.ms)

    def look(self, case: Case | Failure) -> Looked:
        """Rank one case, and count nothing."""
        if isinstance(case, Failure):
            id = case.id or case.where
            return Looked(Result(id, Label()), {"id": id, "error": case.message})
        looked = Looked(doubtful=tuple(issue for issue in case.issues if issue.level != "info"))
        label = self._labels.of(case)
        if not label.stated:
            return looked
        looked.synthetic = case.synthetic
        family = self._families.of(label.right) or label.disease
        looked.result = Result(case.publications[0] if case.publications else case.id, label, family)
        if label.right and case.publications:
            publications = frozenset(case.publications)
            looked.result.seen = any(self._withheld.cites(number, publications) for number in label.right)
        try:
            looked.ms = self._rank(case, looked.result)
        except CaseError as error:
            looked.error = {"id": case.id, "error": str(error)}
        return looked

    def _rank(self, case: Case, result: Result) -> float:
        """Rank one case into ``result``; return the milliseconds that reading and ranking took."""
        right = result.label.right
        begin = time.perf_counter()
        scored = self._ranker.score(self._read(case))
        total = scored.total
        if self._bank is not None:
            total = self._bank.match(scored, leaving_out(case)).raised(total)
        milliseconds = 1000 * (time.perf_counter() - begin)
        if self._bank is not None:
            result.banked = any(self._bank.has(number, leaving_out(case)) for number in right)
        result.ranks, result.of_group = self._ranks(total, right), self._ranks(total, result.label.group)
        if result.seen and self._bank is None:
            publications = frozenset(case.publications)
            found = {number: self._withheld.without(number, publications) for number in right}
            columns = {number: column for number, column in found.items() if column is not None}
            result.withheld = self._ranks(self._withheld.score(scored, columns).total, tuple(columns))
        return milliseconds

    def _ranks(self, total: Floats, right: tuple[int, ...]) -> Ranks:
        return Ranks(mean_rank(total, right), self._families.rank(total, right)) if right else NOWHERE

    def report(self) -> dict[str, Any]:
        """Return what :func:`evaluate_rank` does.

        Raises:
            CaseError: No case states a diagnosis.
        """
        if not self.results:
            none = f"none of {self.unlabelled:,} cases states its diagnosis"
            what = none if self.unlabelled else "there is no case to evaluate on"
            raise CaseError(what, hint=f"give {FORMS}")
        chosen = self._groups()
        described = sum(bool(result.label.right) for result in self.results)
        report: dict[str, Any] = {
            "groups": {name: summary(group.ranks(), group.clusters()) for name, group in chosen.items()},
            "by_disease": {
                name: mean_over(group.ranks(), group.diseases(), group.clusters()) for name, group in chosen.items()
            },
            "by_family": {
                name: mean_over(group.family_ranks(), group.families(), group.clusters())
                for name, group in chosen.items()
            },
            "coverage": described / len(self.results),
            "ms_median": float(np.median(self.times)) if self.times else None,
            "ms_p95": float(np.percentile(self.times, 95)) if self.times else None,
            "failed": self.failed,
            "unlabelled": self.unlabelled,
            "unrankable": len(self.results) - described,
            "group_labels": sorted({each for r in self.results if r.label.group for each in r.label.stated}),
            "doubtful": {"n": len(self.doubtful), "first": [_said(issue) for issue in self.doubtful[:LISTED]]},
            "synthetic": self.synthetic,
            "n_candidates": self._ranker.model.columns.size,
        }
        if self._bank is not None:
            report["banked"] = sum(result.banked for result in self.results)
        return report

    def _groups(self) -> dict[str, _Group]:
        """Group → its cases and their ranks; a group that cannot be told, or has no case, is left out."""
        results = self.results
        seen = [result for result in results if result.seen]
        members = {
            "all": _Group(results, "ranks"),
            "in_graph": _Group([result for result in results if result.label.right], "ranks"),
            "seen": _Group(seen, "ranks"),
            "unseen": _Group([result for result in results if result.seen is False], "ranks"),
            "withheld": _Group(seen if self._bank is None else [], "withheld"),
            "group_label": _Group([result for result in results if result.label.group], "of_group"),
        }
        return {name: group for name, group in members.items() if group.results}


@dataclass(frozen=True, slots=True)
class Ranking:
    """The work of ranking a case on a graph, for :func:`kgdx.learn.shares.shared`.

    Attributes:
        case_bank: Whether to match with the graph's other patients, too.
    """

    case_bank: bool = False

    def measured(self, graph: Graph) -> RankAccuracy:
        """Return what takes the results."""
        labels = Labels(graph.ranker, graph.snapshot, lambda: graph.names)
        bank = graph.bank if self.case_bank else None
        return RankAccuracy(graph.ranker, graph.snapshot, labels, words_reader(graph), bank)

    def on(self, graph: Graph) -> Callable[[Case | Failure], Looked]:
        """Return what ranks a case."""
        return self.measured(graph).look


@dataclass(frozen=True, slots=True)
class _Group:
    """Cases, and which of their ranks count."""

    results: list[Result]
    which: str

    def ranks(self) -> list[float]:
        return [getattr(result, self.which).disease for result in self.results]

    def family_ranks(self) -> list[float]:
        return [getattr(result, self.which).family for result in self.results]

    def diseases(self) -> list[str]:
        return [result.label.disease for result in self.results]

    def families(self) -> list[Hashable]:
        return [result.family for result in self.results]

    def clusters(self) -> list[str]:
        return [result.cluster for result in self.results]


def evaluate_rank(
    ranker: Ranker,
    snapshot: Snapshot,
    cases: Iterable[Case | Failure],
    bank: CaseBank | None = None,
    *,
    labels: Labels | None = None,
    read: Callable[[Case], Case] = lambda case: case,
) -> dict[str, Any]:
    """Rank every case and compare with the diseases that it states.

    A case that cannot be read or ranked stays in the denominator as a miss. Any stated diagnosis counts, and so does an
    entry that is merged with it. Whether a case was seen can be said only where it names its publication.

    Args:
        ranker: What ranks.
        snapshot: The snapshot that the ranker reads.
        cases: Cases with their diagnoses, or what could not be read; one is held at a time.
        bank: Other patients to match with, where that is switched on; those of the case's publications are left out.
        labels: Say what counts as right; by default the ids of the graph alone.
        read: Turns the words of a case into what is ranked; by default they are left unread.

    Returns:
        ``groups``, ``by_disease`` (means over diseases) and ``by_family`` (means over families, which are ranked as one
        row each): group → n, top1, top3, top5, top10, top20, top50, mrr, ci95; ``coverage`` (share of the labelled
        cases whose diagnosis the graph describes), ``ms_median`` and ``ms_p95`` (milliseconds a case, reading
        included), ``failed`` (id and reason), ``unlabelled`` (cases without a diagnosis, in no group), ``unrankable``
        (cases whose diseases the graph does not describe), ``group_labels`` (stated groups of diseases), ``doubtful``
        (parts of cases that were left out or mended: how many, and the first of them), ``synthetic`` (cases that were
        made up), ``n_candidates``, and with a bank ``banked``: the cases with another publication's patient of the
        disease in it.

    Raises:
        CaseError: There is no case with a diagnosis.
    """
    measured = RankAccuracy(ranker, snapshot, labels or Labels(ranker, snapshot), read, bank)
    for case in cases:
        measured.add(case)
    return measured.report()


def _said(issue: Issue) -> str:
    return ": ".join(filter(None, (issue.where, issue.message, issue.remedy)))
