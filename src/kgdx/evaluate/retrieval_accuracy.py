"""How well ways to retrieve diseases find the right one: Hit@K and NDCG@K, and for each patient what went wrong.

The measures are those of GPT-RagAD: layer one retrieves K candidates from the graph, layer two re-orders them. Only
what a case's label means counts as right, of which the best rank counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from kgdx.case.case_files import Failure
from kgdx.case.patient import Case
from kgdx.errors import CaseError, UsageError
from kgdx.evaluate.kinship import Kin, Kinship
from kgdx.evaluate.labels import Label
from kgdx.evaluate.metrics import MISS, Floats, mean_rank
from kgdx.graph.snapshot import TABLES
from kgdx.rank.fusion import leading

if TYPE_CHECKING:
    from kgdx.evaluate.journal import Journal
    from kgdx.evaluate.labels import Labels
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.ranker import Ranker
    from kgdx.rank.retrieval import Retrieval

KEPT = 100
"""Candidates that are retrieved, and re-ordered where a model does (the paper's best K)."""
ASKED = 64
"""Cases at a time, where a model re-orders: their requests run at the same time."""
SHARES = ("agreement", "bias")
"""What is told of an order and is no count."""
Stage = Literal["right", "behind", "lost in re-ranking", "missed in retrieval", "not in the graph", "failed"]
STAGES: tuple[Stage, ...] = (
    "right",
    "behind",
    "lost in re-ranking",
    "missed in retrieval",
    "not in the graph",
    "failed",
)
"""The right disease is first; is among those retrieved, but not first; was retrieved further up than it is re-ordered
to; is not among those retrieved; is no candidate; or the case could not be ranked."""


@dataclass(frozen=True, slots=True)
class Pool:
    """What layer one retrieved of a case.

    Attributes:
        case: The case, its words read.
        candidates: Numbers of the best candidates, best first.
        scores: Their scores.
    """

    case: Case
    candidates: tuple[int, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Reordered:
    """What layer two makes of a pool.

    Attributes:
        candidates: The same numbers in a new order.
        told: What became of the order that was asked for: counts, and shares or ``None``.
    """

    candidates: tuple[int, ...]
    told: Mapping[str, float | None] = field(default_factory=dict)


class Reorder(Protocol):
    """Layer two: a new order of the candidates that were retrieved, for several cases at a time."""

    def __call__(self, pools: Sequence[Pool], /) -> Sequence[Reordered]:
        """Return a permutation of the candidates of each pool."""
        ...


@dataclass(frozen=True, slots=True)
class Arm:
    """What is measured: a way to retrieve, and what re-orders its best, if anything.

    Attributes:
        name: How the figures call it.
        method: Scores every candidate.
        reorder: Orders the best ``kept`` anew.
        kept: How many count as retrieved.
    """

    name: str
    method: Retrieval
    reorder: Reorder | None = None
    kept: int = KEPT


@dataclass(frozen=True, slots=True)
class Retrieved:
    """One case by one arm.

    Attributes:
        id: Of the case.
        stated: Its diagnosis, as it states it.
        label: What cases of one label have in common.
        known: Whether the label is among the candidates.
        retrieved: Rank of the right disease in layer one.
        rank: Its rank in the end.
        first: Id of the disease that ranks first, and
        first_name: its name.
        stage: Where the right disease was lost.
        kin: What the first is to the right one.
        ms: Milliseconds, reading included.
        error: Why the case could not be ranked.
        told: What became of the order that layer two was asked for.
    """

    id: str
    stated: str
    label: str
    known: bool = False
    retrieved: float = MISS
    rank: float = MISS
    first: str = ""
    first_name: str = ""
    stage: Stage = "failed"
    kin: Kin = "none"
    ms: float | None = None
    error: str = ""
    told: Mapping[str, float | None] = field(default_factory=dict, hash=False)

    def record(self) -> dict[str, Any]:
        """Return it as plain JSON; a miss is ``None``."""
        ranks = {name: None if (rank := getattr(self, name)) == MISS else rank for name in ("retrieved", "rank")}
        return {**asdict(self), **ranks}

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Retrieved:
        """Return what :meth:`record` wrote.

        Example:
            >>> one = Retrieved("p", "gout", "7", rank=2.0)
            >>> Retrieved.of(one.record()) == one
            True
        """
        ranks = {name: MISS if record[name] is None else record[name] for name in ("retrieved", "rank")}
        return cls(**{**record, **ranks})


Some = Sequence[tuple[Case | Failure, frozenset[str]]]
"""Cases, and the names of the arms that they are still to be ranked by."""

Told = tuple[int, str, Retrieved | None]
"""Place of a case among some, name of an arm, and what it made of it; ``None`` for a case without a diagnosis."""


@dataclass
class RetrievalAccuracy:
    """Ranks cases by arms.

    Attributes:
        arms: What is measured, by the same candidates.
        ranker: Names the candidates.
        snapshot: The snapshot that it reads.
        labels: Say what counts as right.
        read: Turns the words of a case into what is ranked.
        among: Which candidates are compared; shape (candidates,). All where ``None``.
    """

    arms: Sequence[Arm]
    ranker: Ranker
    snapshot: Snapshot
    labels: Labels
    read: Callable[[Case], Case] = lambda case: case
    among: Floats | None = None
    found: dict[str, list[Retrieved]] = field(init=False)
    unlabelled: int = 0

    def __post_init__(self) -> None:
        names = [arm.name for arm in self.arms]
        if len({*names}) < len(names):
            raise UsageError("two arms have one name", hint="name each method once")
        self.found = {arm.name: [] for arm in self.arms}
        self._kinship = Kinship(self.ranker, self.snapshot)

    @property
    def size(self) -> int:
        """How many candidates are compared."""
        return self.ranker.model.columns.size if self.among is None else int(self.among.sum())

    def run(
        self,
        cases: Sequence[Case | Failure],
        journal: Journal | None = None,
        progress: Callable[[], None] = lambda: None,
        through: Callable[[Iterable[Some]], Iterable[Iterable[Told]]] | None = None,
    ) -> None:
        """Rank cases; what a journal holds of them is not done again, and one without a diagnosis is only counted.

        Args:
            cases: The cases.
            journal: Where what is finished is kept.
            progress: Called after each case.
            through: Has others do what :meth:`told` does with each of its items.
        """
        done = {} if journal is None else {(each["case"], each["arm"]): each["retrieved"] for each in journal.records}
        at_once = ASKED if any(arm.reorder is not None for arm in self.arms) else 1
        begins = range(0, len(cases), at_once)

        def some(begin: int) -> Some:
            names = [arm.name for arm in self.arms]
            numbered = enumerate(cases[begin : begin + at_once], begin)
            return [(case, frozenset(name for name in names if (at, name) not in done)) for at, case in numbered]

        for begin, found in zip(begins, (through or partial(map, self.told))(map(some, begins)), strict=True):
            made: dict[tuple[int, str], Retrieved] = {}
            for place, name, retrieved in found:
                if retrieved is None:
                    self.unlabelled += 1
                    continue
                made[begin + place, name] = retrieved
                if journal is not None:
                    journal.add({"case": begin + place, "arm": name, "retrieved": retrieved.record()})
            for at in range(begin, min(begin + at_once, len(cases))):
                for name, results in self.found.items():
                    if (at, name) in made:
                        results.append(made[at, name])
                    elif (at, name) in done:
                        results.append(Retrieved.of(done[at, name]))
                progress()

    def told(self, some: Some) -> Iterator[Told]:
        """Yield what arms make of cases: arm by arm, after the cases that state no diagnosis."""
        firsts = {place: self._first(case) for place, (case, names) in enumerate(some) if names}
        for place, first in firsts.items():
            if first is None:
                yield place, "", None
        for arm in self.arms:
            waiting = {
                place: first for place, first in firsts.items() if first is not None and arm.name in some[place][1]
            }
            for place, retrieved in self._ranked(arm, waiting).items():
                yield place, arm.name, retrieved

    def _first(self, case: Case | Failure) -> _First | None:
        """What is known of a case before it is ranked; ``None`` where it states no diagnosis."""
        if isinstance(case, Failure):
            id = case.id or case.where
            return _First(Retrieved(id, "", id, error=case.message), Label(), Case(id))
        label = self._label(case)
        if not label.stated:
            return None
        about = Retrieved(case.id, "; ".join(label.stated), label.disease, bool(label.right))
        begin = time.perf_counter()
        try:
            spoken = self.read(case)
        except CaseError as error:
            return _First(replace(about, error=str(error)), label, case)
        return _First(about, label, spoken, 1000 * (time.perf_counter() - begin))

    def _label(self, case: Case) -> Label:
        label = self.labels.of(case)
        if self.among is None:
            return label
        right, group = (tuple(each for each in part if self.among[each]) for part in (label.right, label.group))
        return replace(label, right=right, group=group)

    def _ranked(self, arm: Arm, firsts: Mapping[int, _First]) -> dict[int, Retrieved]:
        """What an arm makes of cases, by their numbers."""
        told: dict[int, Retrieved] = {}
        scored: dict[int, tuple[Floats, float]] = {}
        for number, first in firsts.items():
            try:
                if first.about.error:
                    raise CaseError(first.about.error)
                scored[number] = first.scores(arm.method, self.among)
            except CaseError as error:
                told[number] = replace(first.about, error=str(error))
        pools = {number: self._pool(arm, firsts[number].case, scores) for number, (scores, _) in scored.items()}
        begin = time.perf_counter()
        orders = dict(zip(pools, arm.reorder(list(pools.values())), strict=True)) if arm.reorder and pools else {}
        more = 1000 * (time.perf_counter() - begin) / max(len(orders), 1)
        for number, pool in pools.items():
            scores, spent = scored[number]
            order = orders.get(number, Reordered(pool.candidates))
            ms = firsts[number].ms + spent + (more if orders else 0.0)
            told[number] = replace(self._told(arm, firsts[number], scores, order), ms=ms, told=order.told)
        return told

    def _pool(self, arm: Arm, case: Case, scores: Floats) -> Pool:
        best = leading(scores, min(arm.kept, self.size))
        return Pool(case, tuple(best.tolist()), tuple(scores[best].tolist()))

    def _told(self, arm: Arm, first: _First, scores: Floats, order: Reordered) -> Retrieved:
        label = first.label
        retrieved = rank = mean_rank(scores, label.right)
        if arm.reorder is not None:
            placed = {each: place for place, each in enumerate(order.candidates, 1)}
            rank = float(min((placed[each] for each in label.right if each in placed), default=retrieved))
        best = order.candidates[0]
        described = self.ranker.names.candidate(best)
        stage: Stage = "right" if rank <= 1 else _stage(arm, label, retrieved, rank)
        told = replace(first.about, retrieved=retrieved, rank=rank, stage=stage, kin=self._kinship.of(best, label))
        return replace(told, first=described.id, first_name=described.name)


@dataclass
class _First:
    """A case before it is ranked, and its scores once it is; arms that differ in layer two alone share them."""

    about: Retrieved
    label: Label
    case: Case
    ms: float = 0.0
    found: dict[int, tuple[Floats, float]] = field(default_factory=dict)

    def scores(self, method: Retrieval, among: Floats | None) -> tuple[Floats, float]:
        """Return the scores by a method, and the milliseconds that they took.

        Raises:
            CaseError: The method cannot read the case.
        """
        if id(method) not in self.found:
            begin = time.perf_counter()
            scores = method.scores(method.query(self.case))
            if among is not None:
                scores = np.where(among, scores, -np.inf)
            self.found[id(method)] = scores, 1000 * (time.perf_counter() - begin)
        return self.found[id(method)]


def _stage(arm: Arm, label: Label, retrieved: float, rank: float) -> Stage:
    if not label.right:
        return "not in the graph"
    if retrieved > arm.kept:
        return "missed in retrieval"
    return "lost in re-ranking" if rank > retrieved else "behind"


def of_source(snapshot: Snapshot, ranker: Ranker, source: str) -> Floats:
    """Return which candidates a source describes: it has an entry of theirs, or says something of one.

    Raises:
        UsageError: It describes none.
    """
    stated = {"disease": np.arange(snapshot.rows("disease"))} | {
        name: snapshot.column(name, "disease")
        for name, columns in TABLES.items()
        if {"disease", "source"} <= set(columns)
    }
    known: dict[str, list[Floats]] = {}
    for name, rows in stated.items():
        sources = np.asarray(snapshot.table(name).column("source").to_pylist(), object)
        for each in {one for one in sources.tolist() if one}:
            known.setdefault(each, []).append(rows[sources == each])
    among = np.zeros(ranker.model.columns.size, bool)
    for rows in known.get(source, ()):
        of = ranker.model.candidates.of[rows]
        among[of[of >= 0]] = True
    if not among.any():
        raise UsageError(f"no source {source[:40]!r} describes a disease", hint=f"one of {', '.join(sorted(known))}")
    return among
