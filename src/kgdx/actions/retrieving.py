"""Actions that ask the graph by template: any read template by name, diseases by phenotype, and similar patients."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar

from pydantic import Field

from kgdx.actions.base import Action, Operations
from kgdx.actions.record import Queries, query
from kgdx.actions.save import case_key
from kgdx.actions.state import Retrieved, State

MAX_ROWS = 10_000
"""Most rows of a template that an episode keeps."""

Limit = Annotated[int, Field(ge=1, le=MAX_ROWS)]


class Retrieve(Action):
    """Run any read template; its header says which parameters it takes.

    Example:
        >>> Retrieve(template="disease_by_id", arguments={"disease": "OMIM:1"}).parameters()["template"]
        'disease_by_id'
    """

    name: ClassVar[str] = "retrieve"

    template: str
    """Name of a read template."""

    arguments: dict[str, Any] = Field(default_factory=dict)
    """Its parameters by name."""

    def run(self, graph: Operations, state: State) -> State:
        """Return the state with the rows among what was retrieved.

        Raises:
            TemplateError: No such read template, or its parameters do not fit.
        """
        return retrieve(graph, state, self, self.template, self.arguments)


class Infer(Action):
    """Find diseases by how many of the phenotypes they are annotated with, ontology descendants included.

    Example:
        >>> Infer(min_match_count=2).parameters()["min_match_count"]
        2
    """

    name: ClassVar[str] = "infer"

    phenotypes: tuple[str, ...] | None = None
    """Ids to match; the case's observed findings when absent."""

    min_match_count: Annotated[int, Field(ge=1)] = 1
    """Fewest matches of a disease."""

    limit: Limit = 20
    """Most diseases."""

    def run(self, graph: Operations, state: State) -> State:
        """Return the state with the diseases found."""
        arguments = {
            "phenotypes": list(state.case.observed if self.phenotypes is None else self.phenotypes),
            "min_match_count": self.min_match_count,
            "limit": self.limit,
        }
        return retrieve(graph, state, self, "infer_diseases", arguments)


class Match(Action):
    """Find the patients in the graph who share most findings with the case, leaving out the case itself.

    Example:
        >>> Match(limit=3).parameters()
        {'min_match_count': 1, 'limit': 3}
    """

    name: ClassVar[str] = "match"

    min_match_count: Annotated[int, Field(ge=1)] = 1
    """Fewest shared findings of a patient."""

    limit: Limit = 10
    """Most patients."""

    def run(self, graph: Operations, state: State) -> State:
        """Return the state with the similar patients found."""
        arguments = {
            "phenotypes": list(state.case.observed),
            "without": [state.case.id, case_key(state.case)],
            "min_match_count": self.min_match_count,
            "limit": self.limit,
        }
        return retrieve(graph, state, self, "similar_cases", arguments)


def retrieve(graph: Operations, state: State, action: Action, template: str, arguments: dict[str, Any]) -> State:
    """Run a template for an action, in its compiled form where it has one, and keep its rows.

    Raises:
        TemplateError: No such read template, or its parameters do not fit.
    """
    asked: Queries = graph.compiled if graph.compiled.has(template) else graph
    state, rows = query(asked, state, template, **arguments)
    found = Retrieved(template, arguments, tuple(rows[:MAX_ROWS]), action.name)
    return state if found in state.retrieved else replace(state, retrieved=(*state.retrieved, found))
