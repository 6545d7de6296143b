"""Every method on the same patients in one table: accuracy with intervals over publications, actions, time and cost."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar
from zlib import crc32

import numpy as np

from kgdx.answer.artifacts import Retrieved, Searched, Summarised
from kgdx.case import Case, Status
from kgdx.episode.loop import run
from kgdx.episode.policy import POLICIES, Policy, default_policy, make_policy
from kgdx.episode.segment import Kind
from kgdx.episode.wish import ACTIONS, Action, AskPatient
from kgdx.errors import CaseError, KgdxError, StoreError, UsageError
from kgdx.evaluate.inquiries import Inquiries, Setting
from kgdx.evaluate.labels import cluster, seen
from kgdx.evaluate.metrics import MISS, Floats, as_json, hits, mean_rank, means, milliseconds, once_each, ranks_of
from kgdx.evaluate.model_use import ModelUsage
from kgdx.evaluate.retrieval_accuracy import CandidatePool, ModelOrder
from kgdx.evaluate.runner import Record, Runner, by_arm
from kgdx.learn.diagnosis_game import PLANS, DiagnosisGame, FixedPlan
from kgdx.policies.rerank import RerankPolicy
from kgdx.rank.held_out_ranks import Withheld
from kgdx.rank.ranking import leaving_out
from kgdx.rank.retrieval import FUSED, METHODS
from kgdx.rank.selectors import SELECTORS, make_selector
from kgdx.registry import Registry

if TYPE_CHECKING:
    from kgdx.api import Graph
    from kgdx.evaluate.labels import Labels
    from kgdx.learn.recorded_cases import RecordedCases
    from kgdx.llm.chat import ChatModel, Prices
    from kgdx.rank.case_bank import CaseBank
    from kgdx.rank.retrieval import Retrieval


@dataclass(frozen=True, slots=True)
class PatientResult:
    rank: float
    actions: int = 1
    """What was done: each question, look-up, match or search, and the diagnosis."""
    cost: float = 0.0
    questions: int = 0
    """Of the actions, those that asked the patient for a finding."""
    also: Mapping[str, float] = field(default_factory=dict, hash=False)
    """What else was measured, by name; the table's JSON has the means over the patients that have it."""


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
        try:
            return cls(board, member)
        except KgdxError as error:
            return error


CONTENDERS: Registry[Contender] = Registry(
    "kind of contender",
    "kgdx.leaderboard",
    {
        name: f"kgdx.evaluate.leaderboard:{kind}"
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


LISTED = 20
"""Diseases that a policy lists."""
POOL = 50
"""Diseases that a model puts in order."""
GPT_RAGAD = "vgae-mean"
"""The way to retrieve that GPT-RagAD's language model re-ranks."""
NOBODY_TO_ASK = UsageError("all is told at first", hint="give --known N")


class PlanContender(Contender):
    """A plan that is fixed before a patient is met; it ends with the ranking, by the case bank where there is one."""

    def __init__(self, board: Board, plan: FixedPlan) -> None:
        super().__init__(board)
        self.name, self._plan = str(plan), plan

    @classmethod
    def all(cls, board: Board) -> Iterator[tuple[str, Contender | KgdxError]]:
        yield from ((str(plan), cls(board, plan)) for plan in PLANS)

    def meet(self, id: str) -> PatientResult:
        """Play an episode by row numbers."""
        game = self.board.game
        patient = game.patients.get(id)
        if patient is None:
            raise CaseError(f"nothing of the case {id[:40]} can be ranked", hint="give a finding of the graph")
        at = game.begin(patient)
        while place := int(self._plan((offered := game.listing([at])).features, offered.listed)[0]):
            game.do(at, offered.choice(0, place), patient)
        total = game.tracker.concluded(at.belief, patient.leave_out)
        return PatientResult(
            mean_rank(total, self.board.right(id)), at.questions + len(at.looked) + 1, questions=at.questions
        )


class CaseBankContender(Contender):
    """The product's ranking with its case bank, at once."""

    name = "case bank"

    def __init__(self, board: Board) -> None:
        super().__init__(board)
        self._bank = board.bank

    def meet(self, id: str) -> PatientResult:
        """Rank, raised by the patients that match."""
        scored = self.board.graph.ranker.score(self.board.told(id))
        total = self._bank.match(scored, leaving_out(self.board.ward.cases[id])).raised(scored.total)
        return PatientResult(mean_rank(total, self.board.right(id)), 2)


class RetrievalContender(RegistryContender):
    """A way to retrieve diseases, at once."""

    called = "retrieve"
    among = METHODS

    def __init__(self, board: Board, member: str) -> None:
        super().__init__(board, member)
        self.method: Retrieval = METHODS.get(member).open(board.graph.snapshot, board.graph.ranker.model)

    @classmethod
    def members(cls) -> Iterator[str]:
        """Yield the methods but the product's own, which the plan ``at once`` is."""
        yield from (name for name in METHODS if name != FUSED)

    def meet(self, id: str) -> PatientResult:
        return PatientResult(mean_rank(self.scores(id), self.board.right(id)))

    def scores(self, id: str) -> Floats:
        """Return the score of each candidate; a method that reads words alone reads the names of the findings."""
        try:
            query = self.method.query(self.board.told(id))
        except CaseError:
            query = self.method.query(self.board.worded(id))
        return self.method.scores(query)


class RerankContender(RetrievalContender):
    """A way to retrieve diseases whose best a language model puts in order."""

    called = "rerank"

    def __init__(self, board: Board, member: str) -> None:
        used = board.asked_model()
        super().__init__(board, member)
        self._order = ModelOrder(board.graph, used, RerankPolicy(explain=0), prices=board.prices)

    @classmethod
    def members(cls) -> Iterator[str]:
        """Yield GPT-RagAD's; the product's own ranking with a model's order is the policy ``rerank``."""
        yield GPT_RAGAD

    def meet(self, id: str) -> PatientResult:
        """Rank what is known at first, and have the model order the best."""
        scores, spent = self.scores(id), self._order.used.cost
        best = np.argsort(-scores, kind="stable")[:POOL]
        pool = CandidatePool(self.board.worded(id), tuple(best.tolist()), tuple(scores[best].tolist()))
        order, right = self._order(pool).candidates, self.board.right(id)
        rank = next((float(place) for place, each in enumerate(order, 1) if each in right), mean_rank(scores, right))
        return PatientResult(rank, 1, self._order.used.cost - spent)


class SelectorContender(RegistryContender):
    """A selector of questions, so many of them."""

    called = "ask by"
    among = SELECTORS

    def __init__(self, board: Board, member: str) -> None:
        super().__init__(board, member)
        if board.ward.known is None:
            raise NOBODY_TO_ASK
        make_selector(member)
        self._selector = member
        setting = Setting(board.questions, board.ward.known, board.ward.seed, board.ward.noise)
        self._inquiries = Inquiries(board.graph, board.labels, setting=setting)

    @classmethod
    def members(cls) -> Iterator[str]:
        yield from SELECTORS

    def meet(self, id: str) -> PatientResult:
        """Ask, and take the last ranking."""
        found = self._inquiries.consult(self.board.ward.cases[id], self._selector)
        if "ranks" not in found:
            raise CaseError(found.get("error", f"the case {id[:40]} states no diagnosis"))
        rank = found["ranks"][-1]
        return PatientResult(MISS if rank is None else rank, found["asked"] + 1, questions=found["asked"])


class PolicyContender(RegistryContender):
    """A policy of diagnosis, played as any user would run it."""

    called = "policy"
    among = POLICIES

    def __init__(self, board: Board, member: str) -> None:
        super().__init__(board, member)
        self._policy: Policy = make_policy(
            member, top=LISTED, explain=0, questions=board.questions, patient=board.ward.known is not None
        )
        can = self._policy.capabilities
        if not can.diagnoses:
            raise UsageError("it diagnoses nothing", hint="name a policy that does")
        if can.asks and board.ward.known is None:
            raise NOBODY_TO_ASK
        self._used = board.asked_model() if can.models else None
        if (trained := self._policy.trained_by) and trained != board.split:
            self.remark = f"trained by the split {trained[:12]}…: it may have learned from some of these patients"

    @classmethod
    def members(cls) -> Iterator[str]:
        """Yield the policies that diagnose but the usual one, which the plan ``at once`` is."""
        usual = default_policy("diagnoses")
        yield from (name for name in POLICIES if name != usual and POLICIES.get(name).capabilities.diagnoses)

    def meet(self, id: str) -> PatientResult:
        """Run an episode; a disease that is neither a row of the list nor in a row's family is a miss."""
        ward, spent = self.board.ward, 0.0 if self._used is None else self._used.cost
        world = ward.world if self._used is None else ward.world_with(self._used)
        episode = run(world, ward.start(id, seed=ward.seed, policy=self._policy), self._policy)
        if self._used is not None:
            self._used.check()
        if episode.error is not None:
            raise episode.error
        found = self.board.graph.diagnosis(episode).candidates
        ranker, right = self.board.graph.ranker, {*self.board.right(id)}
        told = [(row.id, row.rank) for row in found] + [(one.id, one.rank) for row in found for one in row.in_family]
        places = sorted(rank for id, rank in told if ranker.number_of(id) in right)
        wished = [each.name for each in episode.state.log if each.kind is Kind.WISH]
        questions = wished.count(AskPatient.name)
        actions = questions + sum(name in ACTIONS and _counts(ACTIONS.get(name)) for name in wished)
        cost = 0.0 if self._used is None else self._used.cost - spent
        return PatientResult(float(next(iter(places), MISS)), actions, cost, questions)


def _counts(action: type[Action]) -> bool:
    return bool(action.ends) or issubclass(action.makes, Retrieved | Searched | Summarised)


AT = (1, 5, 20)
MEASURES = ("acc1", "acc5", "hit20")
"""Shares of the patients whose disease is among the first of :data:`AT`."""
BUDGETS = (0, 5, 10, 20)
"""Numbers of questions: methods that ask no more than so many on average are compared in one block."""


@dataclass
class Leaderboard:
    """Lets contenders, the baseline first, meet the patients of a board in their order."""

    board: Board
    entrants: Entrants

    def __post_init__(self) -> None:
        self.ids = tuple(id for id in self.board.ward.ids if self.board.right(id))
        self._by_name = {each.name: each for each in self.entrants.contenders}

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(self._by_name)

    def run(self, runner: Runner | None = None) -> dict[str, Any]:
        """Meet every patient, and return what :meth:`report` does."""
        if not self.ids:
            raise CaseError("the graph describes the disease of no patient", hint="give cases whose diseases it has")
        runner = runner or Runner()
        runner.order = _turned
        records = runner.run(((id, id) for id in self.ids), self.methods, self)
        runner.check()
        return self.report(records, {name: str(error) for name, error in runner.not_run.items()})

    def __call__(self, id: str, name: str) -> Record:
        begin = time.perf_counter()
        made = self._by_name[name].meet(id)
        spent = {"actions": made.actions, "cost": made.cost, "questions": made.questions, "also": dict(made.also)}
        return {"rank": as_json(made.rank), "ms": 1000 * (time.perf_counter() - begin), **spent}

    def report(self, records: Sequence[Record], not_run: dict[str, str]) -> dict[str, Any]:
        """Return the figures.

        Returns:
            ``methods``: name → ``n``, ``acc1``, ``acc5``, ``hit20``, their ``ci95`` over publications, ``by_disease``
            (means over diseases), ``actions`` and, of them, ``questions`` (means), ``budget`` (the least of
            :data:`BUDGETS` that they keep within, ``None`` for none), ``ms`` (median), ``cost`` (sum), ``failed``
            (patients of whom nothing could be ranked), ``against`` (differences from the first, in pairs) and
            ``unseen`` (the same of patients whose publication the graph's annotations do not cite, ``None`` where there
            are none). ``not_run``: name → why. ``remarks``: name → what a reader has to know. ``left_out``: how many
            patients have a disease that the graph does not describe. ``graph``, ``split`` and ``known``: on what.
        """
        found = by_arm(records, self.methods)
        lost = {name: some[0]["error"] for name, some in found.items() if all("error" in one for one in some)}
        not_run = {**self.entrants.not_run, **not_run, **lost}  # who is lost reads nothing of what these patients tell
        found = {name: some for name, some in found.items() if name not in lost}
        if not found:
            name, why = next(iter(not_run.items()))
            raise UsageError(f"nobody can run: {name} ({why})")
        ward, withheld = self.board.ward, Withheld(self.board.graph.ranker, self.board.graph.snapshot)
        cited = [seen(ward.cases[id], self.board.right(id), withheld) for id in self.ids]
        unseen = [place for place, each in enumerate(cited) if each is False]
        base = next(iter(found.values()))
        methods = {}
        for name, some in found.items():
            methods[name] = self._figures(some, base, range(len(self.ids)))
            methods[name]["unseen"] = self._figures(some, base, unseen) if unseen else None
            asked = methods[name]["questions"]
            methods[name]["budget"] = next((most for most in BUDGETS if asked <= most), None)
        return {
            "graph": self.board.graph.fingerprint,
            "split": self.board.split,
            "known": ward.known,
            "methods": methods,
            "not_run": not_run,
            "remarks": {each.name: each.remark for each in self.entrants.contenders if each.remark},
            "left_out": len(ward.ids) - len(self.ids),
        }

    def _figures(self, records: Sequence[Record], base: Sequence[Record], at: Sequence[int]) -> dict[str, Any]:
        some, others = [records[place] for place in at], [base[place] for place in at]
        cases = [self.board.ward.cases[self.ids[place]] for place in at]
        clusters = [cluster(case) for case in cases]
        each, before = (hits(ranks_of(those), AT) for those in (some, others))
        weight, diseases = once_each([str(self.board.right(case.id)) for case in cases])
        also = [(name, value) for one in some for name, value in one.get("also", {}).items()]
        return {
            "n": len(some),
            **means(MEASURES, each, clusters),
            "by_disease": {"n": diseases, **means(MEASURES, each, clusters, weight)},
            "actions": float(np.mean([one.get("actions", 0) for one in some])),
            "questions": float(np.mean([one.get("questions", 0) for one in some])),
            "ms": milliseconds([one["ms"] for one in some if "error" not in one])["ms_median"],
            "cost": sum(one.get("cost", 0.0) for one in some),
            "failed": sum("error" in one for one in some),
            "also": {name: float(np.mean([value for each, value in also if each == name])) for name, _ in also},
            "against": means(MEASURES, each - before, clusters),
        }


def _turned(id: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Let another contender begin with each patient: who comes first reads what the others find in memory."""
    first = crc32(id.encode()) % max(len(names), 1)
    return (*names[first:], *names[:first])
