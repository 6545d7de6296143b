"""The action that finds what to ask after a yes: which narrower finding is it?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from kgdx.episode.operations import Operations
from kgdx.episode.state import Artifact, State
from kgdx.episode.wish import Action, Option

LEADERS = 50
"""Leading diseases whose annotations say which narrower findings are worth naming."""


@dataclass(frozen=True, slots=True)
class Narrower(Artifact):
    """The kinds of a finding that the leading diseases have, the likeliest first."""

    term: str = ""
    options: tuple[Option, ...] = ()


class Narrow(Action):
    """Find the kinds of a finding that the leading diseases have.

    They are the terms right below it, ordered by how often patients with the leading diseases have each:
    Σ_d p(d) f(d, term), with the disease's share p and the propagated frequency f.

    Example:
        >>> Narrow(term="HP:0001250").parameters()
        {'term': 'HP:0001250', 'count': 8}
    """

    name: ClassVar[str] = "narrow"
    makes: ClassVar[type[Artifact]] = Narrower
    planned: ClassVar[bool] = False

    term: str
    """The finding."""
    count: Annotated[int, Field(ge=1, le=100)] = 8
    """Most kinds."""

    def run(self, graph: Operations, view: State) -> Narrower:
        """Return the kinds; there may be none.

        Raises:
            CaseError: The case has no finding that the ranker knows.
        """
        ranker, case = graph.graph.ranker, view.case
        below = [each for each in graph.graph.ancestry.children(self.term) if each in ranker.names.terms]

        def narrow() -> tuple[Option, ...]:
            known = {finding.id for finding in case.findings}
            rows = {ranker.names.terms[each]: each for each in below if each not in known}
            weight = dict.fromkeys(rows, 0.0)
            beliefs = ranker.beliefs(case, LEADERS)
            for number, share in zip(beliefs.numbers.tolist(), beliefs.shares.tolist(), strict=True):
                terms, frequency = ranker.model.propagated.row(number)
                inside = np.isin(terms, list(rows))
                for row, often in zip(terms[inside].tolist(), frequency[inside].tolist(), strict=True):
                    weight[row] += share * often
            best = sorted((row for row in rows if weight[row] > 0), key=lambda row: (-round(weight[row], 9), rows[row]))
            return tuple(Option(rows[row], ranker.names.label(rows[row])) for row in best[: self.count])

        given = {"term": self.term, "observed": list(case.observed)}
        return Narrower(self.term, graph.tool("narrower", given, narrow, len) if below else ())
