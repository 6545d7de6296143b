"""The methods of a leaderboard: each meets the same recorded patients, of whom it is told the same at first.

One that can ask is answered from the record; one that cannot ranks what it was told. A patient's own publication is
withheld from whatever matches patients.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from kgdx.case import Case, Status
from kgdx.errors import KgdxError, StoreError, UsageError
from kgdx.evaluate.model_use import ModelUsage
from kgdx.learn.diagnosis_game import DiagnosisGame
from kgdx.registry import Registry

if TYPE_CHECKING:
    from kgdx.api import Graph
    from kgdx.evaluate.labels import Labels
    from kgdx.learn.recorded_cases import RecordedCases
    from kgdx.llm.chat import ChatModel, Prices
    from kgdx.rank.case_bank import CaseBank


@dataclass(frozen=True, slots=True)
class PatientResult:
    """What came of one patient."""

    rank: float
    actions: int = 1
    """What was done: each question, look-up, match or search, and the diagnosis."""
    cost: float = 0.0
    questions: int = 0
    """Of the actions, those that asked the patient for a finding."""


@dataclass(frozen=True)
class Board:
    """What all contenders share: the patients with what is told of each at first, a model for those that need one.

    The split is the digest of the one whose held-out side the patients are; empty where there is none.
    """

    graph: Graph
    ward: RecordedCases
    labels: Labels
    questions: int = 20
    model: ChatModel | None = None
    prices: Prices = (0.0, 0.0)
    split: str = ""

    def right(self, id: str) -> tuple[int, ...]:
        return self.labels.of(self.ward.cases[id]).right

    def told(self, id: str) -> Case:
        return self.ward.start(id).case

    def worded(self, id: str) -> Case:
        """Return the same for what reads words: of findings that were given as terms, their names are the words."""
        told = self.told(id)
        named = dict.fromkeys(each.label for each in told.findings if each.status is Status.PRESENT and each.label)
        return told if told.text or told.phrases else replace(told, phrases=tuple(named))

    def asked_model(self) -> ModelUsage:
        """Return the model, counting what it is asked."""
        if self.model is None:
            raise UsageError("it needs a language model", hint="give --llm MODEL")
        return ModelUsage(self.model, self.prices)

    @cached_property
    def bank(self) -> CaseBank:
        """The graph's patients."""
        bank = self.graph.bank
        if not bank.size:
            raise StoreError("the graph has no patients", hint="build it with phenopackets")
        return bank

    @cached_property
    def game(self) -> DiagnosisGame:
        return DiagnosisGame(self.ward)


class Contender(ABC):
    """A method of a leaderboard; a package adds its own by entry points of the group ``kgdx.leaderboard``."""

    name: str
    """How the table calls it."""
    remark: str = ""
    """What a reader of its figures has to know."""

    def __init__(self, board: Board) -> None:
        self.board = board

    @classmethod
    def all(cls, board: Board) -> Iterator[tuple[str, Contender | KgdxError]]:
        """Yield each method of this kind by name, or why it cannot run; by default the class itself."""
        try:
            yield cls.name, cls(board)
        except KgdxError as error:
            yield cls.name, error

    @abstractmethod
    def meet(self, id: str) -> PatientResult:
        """Meet a patient."""


class RegistryContender(Contender):
    """A kind of contender with a member for each name of a registry; others can be named, as ``split:leaders=5``."""

    called: ClassVar[str]
    """What stands before the member in the table."""
    among: ClassVar[Registry[Any]]
    """Whose names the members have."""

    def __init__(self, board: Board, member: str) -> None:
        super().__init__(board)
        self.name = f"{self.called} {member}"

    @classmethod
    @abstractmethod
    def members(cls) -> Iterator[str]:
        """Yield those that run where nobody names any."""

    @classmethod
    def all(cls, board: Board) -> Iterator[tuple[str, Contender | KgdxError]]:
        for member in cls.members():
            yield f"{cls.called} {member}", cls.made(board, member)

    @classmethod
    def member_of(cls, name: str) -> str | None:
        """Return which member a name of the table means; ``None`` where it means none of this kind."""
        member = name.removeprefix(f"{cls.called} ")
        return member if member != name and member.partition(":")[0] in cls.among else None

    @classmethod
    def made(cls, board: Board, member: str) -> Contender | KgdxError:
        """Return a member, or why it cannot run."""
        try:
            return cls(board, member)
        except KgdxError as error:
            return error


CONTENDERS: Registry[Contender] = Registry(
    "kind of contender",
    "kgdx.leaderboard",
    {
        name: f"kgdx.evaluate.contender_kinds:{kind}"
        for name, kind in {
            "plans": "PlanContender",
            "bank": "CaseBankContender",
            "retrieval": "RetrievalContender",
            "reranking": "RerankContender",
            "selectors": "SelectorContender",
            "policies": "PolicyContender",
        }.items()
    },
)
"""Kind → class; installed packages add theirs by entry points of the group ``kgdx.leaderboard``."""


@dataclass(frozen=True)
class Entrants:
    """Who runs, and why the others do not."""

    contenders: tuple[Contender, ...]
    not_run: Mapping[str, str] = field(default_factory=dict)


def choose(board: Board, wanted: Iterable[str] = ()) -> Entrants:
    """Return the contenders by their names or the names of their kinds; all where none is named."""
    classes = {kind: CONTENDERS.get(kind) for kind in (*CONTENDERS.builtin, *CONTENDERS)}
    kinds = {kind: dict(each.all(board)) for kind, each in classes.items()}
    every = {name: each for kind in kinds.values() for name, each in kind.items()}
    found: dict[str, Contender | KgdxError] = {}
    for name in wanted or every:
        if name in kinds or name in every:
            found |= {each: every[each] for each in kinds.get(name) or [name]}
            continue
        named = [each for each in classes.values() if issubclass(each, RegistryContender) and each.member_of(name)]
        if not named:
            hint = f"a kind ({', '.join(kinds)}), or one of {', '.join(every)}"
            raise UsageError(f"no contender {name[:40]!r}", hint=hint)
        found[name] = named[0].made(board, named[0].member_of(name) or "")
    not_run = {name: str(each) for name, each in found.items() if isinstance(each, KgdxError)}
    able = tuple(each for each in found.values() if isinstance(each, Contender))
    if not able:
        name, why = next(iter(not_run.items()))
        raise UsageError(f"nobody can run: {name} ({why})")
    return Entrants(able, not_run)
