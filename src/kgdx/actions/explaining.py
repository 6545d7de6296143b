"""The action that finds, for the best candidates, the paths in the graph that speak for and against them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from kgdx.actions import paths
from kgdx.answer.artifacts import Explained, ranking_of
from kgdx.episode.state import Artifact, State
from kgdx.episode.wish import Action, Operations
from kgdx.errors import UsageError
from kgdx.graph.protocol import Row
from kgdx.results.ranked import EvidencePath

if TYPE_CHECKING:
    from kgdx.rank import Candidate, Contribution

MAX_EXPLAINED = 1000
"""Most candidates that one request explains."""

TYPICAL_SHARE = 0.5
"""A phenotype that at least half of the patients have counts as typical."""

TYPICAL_ROWS = 200
"""How many typical annotations are read per disease, those that the case implies among them."""


SHARED_FINDINGS = 20
"""For how many findings, of those that meet a candidate only at a shared ancestor, the way there is looked up: a case
of hundreds of findings meets every disease at hundreds of ancestors, which hardly count."""


TOGETHER = 30
"""Up to so many findings, one query asks for all candidates; beyond, every finding would meet the ancestors of every
candidate in it, and one query for each candidate takes a fifth of the time."""


class Explain(Action):
    """Find the evidence paths of candidates: what supports them, what speaks against, what is typical but unmentioned.

    Example:
        >>> Explain(top=3).parameters()
        {'diseases': None, 'top': 3, 'typical': 5}
    """

    name: ClassVar[str] = "explain"
    needs_findings: ClassVar[bool] = True
    makes: ClassVar[type[Artifact]] = Explained

    diseases: tuple[str, ...] | None = None
    """Ids of candidates, or of any diseases; the best of the ranking when absent."""

    top: Annotated[int, Field(ge=1, le=MAX_EXPLAINED)] = 10
    """How many of the ranking's best to explain, when no ids are given."""

    typical: Annotated[int, Field(ge=0, le=1000)] = 5
    """How many unmentioned typical phenotypes to show for each."""

    def run(self, graph: Operations, view: State) -> Explained:
        """Return the evidence for the diseases asked for.

        Raises:
            UsageError: Nothing has been ranked and no disease is named.
        """
        members = self._members(view)
        if not members:
            return Explained()
        case, ids = view.case, sorted(members)
        observed, excluded = list(case.observed), list(case.excluded)
        candidates = self._told(graph, view, members)
        direct = graph.query("evidence_supporting", diseases=ids, findings=observed)
        shared = _shared(graph, candidates, members, direct)
        contrary = graph.query("evidence_against", diseases=ids, findings=observed, excluded=excluded)
        usual = graph.query(
            "evidence_typical",
            diseases=ids,
            known=[*observed, *excluded],
            minimum=TYPICAL_SHARE,
            limit=TYPICAL_ROWS * len(ids),
        )
        for_ = paths.by_candidate([*direct, *shared], members)
        against = paths.by_candidate(contrary, members)
        typical = paths.by_candidate(usual, members)
        found: dict[str, tuple[EvidencePath, ...]] = {
            candidate: (
                *paths.supporting(case, for_.get(candidate, ())),
                *paths.against(case, against.get(candidate, ())),
                *paths.typical(case, typical.get(candidate, ()), graph.graph.ancestry, self.typical),
            )
            for candidate in dict.fromkeys(members.values())
        }
        return Explained(found, candidates)

    def _told(self, graph: Operations, view: State, members: Mapping[str, str]) -> tuple[Candidate, ...]:
        """The candidates that are explained, with what each finding adds to their scores."""
        ranking = ranking_of(view)
        chosen = [] if ranking is None else [each for each in ranking.candidates if each.id in members]
        if all(each.contributions for each in chosen):
            return tuple(chosen)
        given = {"candidates": [each.id for each in chosen]}
        told: tuple[Candidate, ...] = graph.tool(
            "ranker", given, lambda: graph.graph.ranker.explain(view.case, chosen), len
        )
        return told

    def _members(self, state: State) -> dict[str, str]:
        """Disease id → id of the candidate that it is shown under."""
        ranking = ranking_of(state)
        candidates = () if ranking is None else ranking.candidates
        if self.diseases is None:
            if ranking is None:
                raise UsageError("there is nothing to explain", hint="rank first, or name diseases")
            chosen = {candidate.id: tuple(candidate.members) for candidate in candidates[: self.top]}
        else:
            merged = {member: candidate for candidate in candidates for member in (candidate.id, *candidate.members)}
            chosen = {
                merged[id].id if id in merged else id: tuple(merged[id].members) if id in merged else ()
                for id in self.diseases
            }
        return {member: id for id, others in chosen.items() for member in (id, *others)}


def _strongest(candidate: Candidate, covered: Set[str]) -> Iterator[Contribution]:
    """Yield the matches at shared ancestors of the :data:`SHARED_FINDINGS` findings that they help most."""
    parts = [part for part in candidate.contributions if part.rule == "shared" and part.finding not in covered]
    helped: dict[str, float] = {}
    for part in parts:
        helped[part.finding] = helped.get(part.finding, 0.0) + part.score
    ordered = sorted((-score, finding) for finding, score in helped.items() if score > 0)
    kept = {finding for _, finding in ordered[:SHARED_FINDINGS]}
    yield from (part for part in parts if part.finding in kept)


def _shared(
    graph: Operations, candidates: Iterable[Candidate], members: Mapping[str, str], direct: Iterable[Row]
) -> list[Row]:
    """Return the annotations that meet a finding only at a shared ancestor, as the ranker named it."""
    covered = {(members[row["disease"]], row["finding"]) for row in direct}
    wanted = {
        (candidate.id, part.finding, part.via, part.matched)
        for candidate in candidates
        if candidate.id in members
        for part in _strongest(candidate, {finding for id, finding in covered if id == candidate.id})
    }
    rows: list[Row] = []
    together = len({part[1] for part in wanted}) <= TOGETHER
    groups = [set(members.values())] if together else [{each} for each in dict.fromkeys(members.values())]
    for group in groups:
        parts = [part for part in wanted if part[0] in group]
        if parts:
            diseases, findings, via, matched = (sorted({str(part[at]) for part in parts}) for at in range(4))
            named = sorted(member for member, candidate in members.items() if candidate in diseases)
            rows += graph.query("evidence_shared", diseases=named, findings=findings, matched=matched, via=via)
    return [row for row in rows if (members[row["disease"]], row["finding"], row["via"], row["phenotype"]) in wanted]
