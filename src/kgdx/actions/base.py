"""What an action is: a typed request that runs graph operations and returns a new state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from kgdx.actions.entities import Names
from kgdx.actions.record import Queries
from kgdx.actions.state import State
from kgdx.case import Ancestry, Case, FindingReader
from kgdx.errors import UsageError

if TYPE_CHECKING:
    from kgdx.align.mesh import Headings
    from kgdx.literature import Literature


class Ranks(Protocol):
    """Ranks diseases for a case; the rank room's ranker does."""

    def rank(self, case: Case, top: int = 10, also: Sequence[str] = (), bank: Any = None) -> Any:
        """Return the best ``top`` candidates and the diseases of ``also`` with their true ranks; ``bank``: patients."""
        ...


class Compiled(Queries, Protocol):
    """Templates in their compiled form: the same rows as a store gives, sooner."""

    def has(self, template: str, /) -> bool:
        """Tell whether a template has a compiled form."""
        ...


class Operations(Queries, Protocol):
    """What an action may use of a graph: templates, and the tools compiled from it."""

    @property
    def reader(self) -> FindingReader:
        """Reads words into findings."""
        ...

    @property
    def ranker(self) -> Ranks:
        """Ranks diseases."""
        ...

    @property
    def bank(self) -> Any:
        """Other patients of the graph, for the ranker to match with."""
        ...

    @property
    def ancestry(self) -> Ancestry:
        """Knows the is-a hierarchy of phenotypes."""
        ...

    @property
    def compiled(self) -> Compiled:
        """Runs what has a compiled form."""
        ...

    @property
    def names(self) -> Names:
        """Looks up the names of entities."""
        ...

    @property
    def literature(self) -> Literature | None:
        """Finds publications; ``None`` where it is not set up.

        Raises:
            KgdxError: Its settings cannot be used, or a package is missing.
        """
        ...

    @property
    def headings(self) -> Headings:
        """Decides which MeSH heading a disease has."""
        ...


class Action(BaseModel, ABC):
    """A request of a policy. Subclasses give it a :attr:`name`, fields, and :meth:`run`.

    An action is pure but for the graph it reads: it takes a state and returns a new one, and records every template
    that it runs (:func:`kgdx.actions.record.query`).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    """Other names under which it is known."""

    @abstractmethod
    def run(self, graph: Operations, state: State) -> State:
        """Return the state after the action.

        Raises:
            KgdxError: It cannot be done; the episode records it.
        """

    def parameters(self) -> dict[str, Any]:
        """Return the request's fields as plain JSON values, for the log."""
        return self.model_dump(mode="json")

    @classmethod
    def describe(cls) -> str:
        """Return what the action takes and is for in one line, made from the class: for prompts, pages and people.

        Example:
            >>> from kgdx.actions import GetSymptom
            >>> GetSymptom.describe()
            '{"action": "get_symptom", "diseases": [1 to 50 texts], "limit": 1 to 1000 (50)}: Symptoms of diseases.'
        """
        from kgdx.actions.described import line

        return line(cls)


def parse_action(document: Mapping[str, Any], registry: Mapping[str, type[Action]]) -> Action:
    """Read an action from untrusted JSON: ``{"action": name, …fields}``.

    Raises:
        UsageError: The action is unknown, or a field does not fit; the message says which.

    Example:
        >>> from kgdx.actions import ACTIONS
        >>> parse_action({"action": "rank", "top": 5}, ACTIONS).top
        5
    """
    name = document.get("action")
    kind = _named(name, registry) if isinstance(name, str) else None
    if kind is None:
        raise UsageError(f"unknown action {str(name)[:40]!r}", hint=f"one of {', '.join(sorted(registry))}")
    try:
        return kind.model_validate({key: value for key, value in document.items() if key != "action"})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"action {name}: {place}: {first['msg']}", hint="mend the field") from error


def _named(name: str, registry: Mapping[str, type[Action]]) -> type[Action] | None:
    """The action of a name or alias, in any case."""
    wanted = name.strip().lower()
    found = registry.get(wanted)
    return found or next((kind for kind in registry.values() if wanted in map(str.lower, kind.aliases)), None)
