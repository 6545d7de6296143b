"""The action that finds, for the best candidates, the paths in the graph that speak for and against them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field

from kgdx.actions import paths
from kgdx.actions.base import Action, Operations
from kgdx.actions.evidence import EvidencePath
from kgdx.actions.record import query
from kgdx.actions.state import State
from kgdx.errors import UsageError

TYPICAL_SHARE = 0.5
"""A phenotype that at least half of the patients have counts as typical."""


class Explain(Action):
    """Find the evidence paths of candidates: what supports them, what speaks against, what is typical but unmentioned.

    Example:
        >>> Explain(top=3).parameters()
        {'diseases': None, 'top': 3, 'typical': 5}
    """

    name: ClassVar[str] = "explain"

    diseases: tuple[str, ...] | None = None
    """Ids of candidates, or of any diseases; the best of the ranking when absent."""

    top: Annotated[int, Field(ge=1, le=1000)] = 10
    """How many of the ranking's best to explain, when no ids are given."""

    typical: Annotated[int, Field(ge=0, le=1000)] = 5
    """How many unmentioned typical phenotypes to show for each."""

    def run(self, graph: Operations, state: State) -> State:
        """Return the state with evidence for the diseases asked for, beside what it has.

        Raises:
            UsageError: Nothing has been ranked and no disease is named.
        """
        members = self._members(state)
        if not members:
            return replace(state, evidence=state.evidence or {})
        ids = sorted(members)
        case = state.case
        observed, excluded = list(case.observed), list(case.excluded)
        state, rows = query(graph, state, "evidence_supporting", diseases=ids, findings=observed)
        support = paths.by_candidate(rows, members)
        state, rows = query(graph, state, "evidence_against", diseases=ids, findings=observed, excluded=excluded)
        contrary = paths.by_candidate(rows, members)
        state, rows = query(
            graph, state, "evidence_typical", diseases=ids, known=[*observed, *excluded], minimum=TYPICAL_SHARE
        )
        usual = paths.by_candidate(rows, members)
        found: Mapping[str, tuple[EvidencePath, ...]] = {
            candidate: (
                *paths.supporting(case, support.get(candidate, ())),
                *paths.against(case, contrary.get(candidate, ())),
                *paths.typical(case, usual.get(candidate, ()), graph.ancestry, self.typical),
            )
            for candidate in dict.fromkeys(members.values())
        }
        return replace(state, evidence={**(state.evidence or {}), **found})

    def _members(self, state: State) -> dict[str, str]:
        """Disease id → id of the candidate that it is shown under."""
        candidates = () if state.ranking is None else state.ranking.candidates
        if self.diseases is None:
            if state.ranking is None:
                raise UsageError("there is nothing to explain", hint="rank first, or name diseases")
            chosen = {candidate.id: tuple(candidate.members) for candidate in candidates[: self.top]}
        else:
            merged = {member: candidate for candidate in candidates for member in (candidate.id, *candidate.members)}
            chosen = {
                merged[id].id if id in merged else id: tuple(merged[id].members) if id in merged else ()
                for id in self.diseases
            }
        return {member: id for id, others in chosen.items() for member in (id, *others)}
