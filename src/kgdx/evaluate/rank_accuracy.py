"""How well diseases are ranked: the rank of the true disease in every case, told apart by what the graph had seen.

HPOA and public phenopackets are curated from the same case reports. ``seen`` are the cases whose publication the
disease's annotations cite, ``withheld`` the same ones ranked without that publication's rows, and ``unseen`` the rest:
the fair estimate for a new patient.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kgdx.case import Ancestry, Case, FindingReader, Status, read_text
from kgdx.case.case_files import Failure
from kgdx.errors import CaseError
from kgdx.evaluate.labels import Labels, cluster, seen
from kgdx.evaluate.metrics import FamilyRanks, Floats, as_json, mean_over, mean_rank, milliseconds, ranks_of, summary
from kgdx.evaluate.runner import Record, Runner, failures, labelled, numbered
from kgdx.rank.held_out_ranks import Withheld
from kgdx.rank.ranking import leaving_out

if TYPE_CHECKING:
    from kgdx.api import Graph
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.case_bank import CaseBank
    from kgdx.rank.ranker import Ranker

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


GROUPS = ("all", "in_graph", "seen", "unseen", "withheld", "group_label")
RANKS = "rank"
"""What the evaluation's only arm is called."""

LISTED = 5
"""Doubtful parts of cases that are named; the rest are counted."""


@dataclass
class RankedCases:
    """Measures of a case where its disease ranks: with everything known, and with its publication withheld.

    Words of a case are turned by ``read`` into what is ranked; of the bank's patients those of its publications are
    left out.
    """

    ranker: Ranker
    snapshot: Snapshot
    labels: Labels
    read: Callable[[Case], Case] = lambda case: case
    bank: CaseBank | None = None

    @cached_property
    def _withheld(self) -> Withheld:
        return Withheld(self.ranker, self.snapshot)

    @cached_property
    def _families(self) -> FamilyRanks:
        return FamilyRanks(self.ranker.model.families.of)

    def __call__(self, case: Case | Failure, arm: str = RANKS) -> Record:
        """Measure one case; one without a diagnosis has no ``cluster``."""
        if isinstance(case, Failure):
            id = case.id or case.where
            return {"id": id, "cluster": id, "disease": "", "family": "", "error": case.message}
        doubtful = [
            ": ".join(filter(None, (each.where, each.message, each.remedy)))
            for each in case.issues
            if each.level != "info"
        ]
        label = self.labels.of(case)
        if not label.stated:
            return {"id": case.id, "doubtful": doubtful}
        record: Record = {
            "id": case.id,
            "cluster": cluster(case),
            "disease": label.disease,
            "family": ",".join(map(str, self._families.of(label.right))) or label.disease,
            "known": bool(label.right),
            "group": list(label.stated) if label.group else [],
            "synthetic": case.synthetic,
            "doubtful": doubtful,
            "seen": seen(case, label.right, self._withheld),
        }
        try:
            self._rank(case, label.right, label.group, record)
        except CaseError as error:
            record["error"] = str(error)
        return record

    def _rank(self, case: Case, right: tuple[int, ...], group: tuple[int, ...], record: Record) -> None:
        begin = time.perf_counter()
        scored = self.ranker.score(self.read(case))
        total = scored.total
        if self.bank is not None:
            total = self.bank.match(scored, leaving_out(case)).raised(total)
        record["ms"] = 1000 * (time.perf_counter() - begin)
        record |= self._ranks("rank", total, right) | self._ranks("of_group", total, group)
        if self.bank is not None:
            record["banked"] = any(self.bank.has(number, leaving_out(case)) for number in right)
        elif record.get("seen"):
            publications = frozenset(case.publications)
            found = {number: self._withheld.without(number, publications) for number in right}
            columns = {number: column for number, column in found.items() if column is not None}
            record |= self._ranks("withheld", self._withheld.score(scored, columns).total, tuple(columns))

    def _ranks(self, name: str, total: Floats, right: tuple[int, ...]) -> Record:
        if not right:
            return {}
        found = {name: mean_rank(total, right), f"{name} family": self._families.rank(total, right)}
        return {key: as_json(rank) for key, rank in found.items()}


def ranked_cases(graph: Graph, case_bank: bool = False) -> RankedCases:
    """Return what ranks cases on a graph, perhaps by its other patients, too."""
    bank = graph.bank if case_bank else None
    return RankedCases(graph.ranker, graph.snapshot, Labels.of_graph(graph), words_reader(graph), bank)


def rank_figures(records: Sequence[Record], n_candidates: int) -> dict[str, Any]:
    """Return what :func:`evaluate_rank` does, of its records."""
    results, unlabelled = labelled(records)
    seen = [each for each in results if each.get("seen")]
    banked = any("banked" in each for each in results)
    members = {
        "all": (results, "rank"),
        "in_graph": ([each for each in results if each.get("known")], "rank"),
        "seen": (seen, "rank"),
        "unseen": ([each for each in results if each.get("seen") is False], "rank"),
        "withheld": ([] if banked else seen, "withheld"),
        "group_label": ([each for each in results if each.get("group")], "of_group"),
    }
    groups = {name: group for name, group in members.items() if group[0]}
    described = sum(bool(each.get("known")) for each in results)
    doubtful = [one for each in records for one in each.get("doubtful", ())]
    report: dict[str, Any] = {
        "groups": {name: summary(ranks_of(some, of), _all(some, "cluster")) for name, (some, of) in groups.items()},
        "by_disease": {
            name: mean_over(ranks_of(some, of), _all(some, "disease"), _all(some, "cluster"))
            for name, (some, of) in groups.items()
        },
        "by_family": {
            name: mean_over(ranks_of(some, f"{of} family"), _all(some, "family"), _all(some, "cluster"))
            for name, (some, of) in groups.items()
        },
        "coverage": described / len(results),
        **milliseconds([each["ms"] for each in results if "ms" in each]),
        "failed": failures(results),
        "unlabelled": unlabelled,
        "unrankable": len(results) - described,
        "group_labels": sorted({label for each in results for label in each.get("group", ())}),
        "doubtful": {"n": len(doubtful), "first": doubtful[:LISTED]},
        "synthetic": sum(bool(each.get("synthetic")) for each in results),
        "n_candidates": n_candidates,
    }
    return report | ({"banked": sum(bool(each.get("banked")) for each in results)} if banked else {})


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
    entry that is merged with it. Whether a case was seen can be said only where it names its publication. By default
    the graph's ids alone are labels, and words are left unread.

    Returns:
        ``groups``, ``by_disease`` (means over diseases) and ``by_family`` (means over families, which are ranked as one
        row each): group → n, top1, top3, top5, top10, top20, top50, mrr, ci95; ``coverage`` (share of the labelled
        cases whose diagnosis the graph describes), ``ms_median`` and ``ms_p95`` (milliseconds a case, reading
        included), ``failed`` (id and reason), ``unlabelled`` (cases without a diagnosis, in no group), ``unrankable``
        (cases whose diseases the graph does not describe), ``group_labels`` (stated groups of diseases), ``doubtful``
        (parts of cases that were left out or mended: how many, and the first of them), ``synthetic`` (cases that were
        made up), ``n_candidates``, and with a bank ``banked``: the cases with another publication's patient of the
        disease in it.
    """
    measure = RankedCases(ranker, snapshot, labels or Labels(ranker, snapshot), read, bank)
    return rank_figures(Runner().run(numbered(cases), [RANKS], measure), ranker.model.columns.size)


def _all(records: Sequence[Record], name: str) -> list[Hashable]:
    return [each[name] for each in records]
