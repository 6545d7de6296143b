"""Actions that ask the graph by template: any read template by name, diseases by phenotype, and similar patients."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from kgdx.answer.artifacts import Retrieved
from kgdx.answer.saved_runs import case_key
from kgdx.episode.state import Artifact, Reads, State
from kgdx.episode.wish import Action, Operations
from kgdx.errors import TemplateError, UsageError
from kgdx.graph.templates import template, templates
from kgdx.results.cited import Resolved

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
    planned: ClassVar[bool] = False
    makes: ClassVar[type[Artifact]] = Retrieved

    template: str
    """Name of a read template."""

    arguments: dict[str, Any] = Field(default_factory=dict)
    """Its parameters by name."""

    def run(self, graph: Operations, view: State) -> Retrieved:
        """Return the rows.

        Raises:
            UsageError: No such read template, or its parameters do not fit.
        """
        templates()  # a malformed file is the graph's fault, what follows that of who asks
        try:
            template(self.template, "read").bind(self.arguments)
        except TemplateError as error:
            raise UsageError(error.message, hint=error.hint) from error
        return retrieve(graph, self, self.template, self.arguments)


class Infer(Action):
    """Find diseases by how many of the phenotypes they are annotated with, ontology descendants included.

    Example:
        >>> Infer(min_match_count=2).parameters()["min_match_count"]
        2
    """

    name: ClassVar[str] = "infer"
    planned: ClassVar[bool] = False
    makes: ClassVar[type[Artifact]] = Retrieved

    phenotypes: tuple[str, ...] | None = None
    """Ids to match; the case's observed findings when absent."""

    min_match_count: Annotated[int, Field(ge=1)] = 1
    """Fewest matches of a disease."""

    limit: Limit = 20
    """Most diseases."""

    @property
    def reads(self) -> tuple[Reads, ...]:
        """The findings, where no phenotypes are given."""
        return ("evidence",) if self.phenotypes is None else ()

    def run(self, graph: Operations, view: State) -> Retrieved:
        """Return the diseases found."""
        arguments = {
            "phenotypes": list(view.case.observed if self.phenotypes is None else self.phenotypes),
            "min_match_count": self.min_match_count,
            "limit": self.limit,
        }
        return retrieve(graph, self, "infer_diseases", arguments)


class Match(Action):
    """Find the patients in the graph who share most findings with the case, leaving out the case itself.

    Example:
        >>> Match(limit=3).parameters()
        {'min_match_count': 1, 'limit': 3}
    """

    name: ClassVar[str] = "match"
    needs_findings: ClassVar[bool] = True
    makes: ClassVar[type[Artifact]] = Retrieved

    min_match_count: Annotated[int, Field(ge=1)] = 1
    """Fewest shared findings of a patient."""

    limit: Limit = 10
    """Most patients."""

    @property
    def reads(self) -> tuple[Reads, ...]:
        """The whole case, which is left out of what is found."""
        return ("case",)

    def run(self, graph: Operations, view: State) -> Retrieved:
        """Return the similar patients found."""
        arguments = {
            "phenotypes": list(view.case.observed),
            "without": [view.case.id, case_key(view.case)],
            "min_match_count": self.min_match_count,
            "limit": self.limit,
        }
        return retrieve(graph, self, "similar_cases", arguments)


def retrieve(
    graph: Operations, action: Action, template: str, arguments: dict[str, Any], resolved: tuple[Resolved, ...] = ()
) -> Retrieved:
    """Run a template for an action, in its compiled form where it has one.

    Args:
        graph: Where it runs.
        action: Who asks.
        template: Name of a read template.
        arguments: Its parameters by name.
        resolved: How the names were understood that the action was given.

    Raises:
        TemplateError: The template cannot be run.
    """
    rows = graph.query(template, **arguments)
    return Retrieved(template, arguments, tuple(rows[:MAX_ROWS]), action.name, resolved, graph.ran[-1].digest)
