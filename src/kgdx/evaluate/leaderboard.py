"""Every method on the same patients in one table: accuracy with intervals over publications, actions, time and cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from kgdx.errors import CaseError, KgdxError, LlmError, UsageError
from kgdx.evaluate.contenders import Board, Chosen
from kgdx.evaluate.metrics import MISS, Floats, bootstrap, hits
from kgdx.rank.held_out_ranks import Withheld

if TYPE_CHECKING:
    from kgdx.evaluate.journal import Journal

AT = (1, 5, 20)
MEASURES = ("acc1", "acc5", "hit20")
"""Shares of the patients whose disease is among the first of :data:`AT`."""


@dataclass(frozen=True, slots=True)
class Result:
    """One patient by one contender.

    Attributes:
        rank: Of the right disease; ``inf`` for a miss.
        actions: What was done.
        ms: Milliseconds.
        cost: Of a language model.
        questions: Of the actions, those that asked the patient.
        error: Why nothing could be ranked.
    """

    rank: float = MISS
    actions: int = 0
    ms: float = 0.0
    cost: float = 0.0
    questions: int = 0
    error: str = ""

    def record(self) -> dict[str, Any]:
        """Return it as plain JSON; a miss is ``None``."""
        return {**asdict(self), "rank": None if self.rank == MISS else self.rank}

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Result:
        """Return what :meth:`record` wrote.

        Example:
            >>> Result.of(Result(error="nothing").record()).rank
            inf
        """
        return cls(**{**record, "rank": MISS if record["rank"] is None else record["rank"]})


Meeting = tuple[str, tuple[str, ...]]
"""A patient's id, and the names of the contenders that are still to meet it."""
Came = tuple[str, Result | KgdxError]
"""A contender's name, and what came of it."""


@dataclass
class Leaderboard:
    """Lets contenders meet patients.

    Args:
        board: What they share; its patients are met in their order.
        chosen: Who runs, the baseline first, and who does not.
    """

    board: Board
    chosen: Chosen

    def __post_init__(self) -> None:
        self.ids = tuple(id for id in self.board.ward.ids if self.board.right(id))
        self.found: dict[str, list[Result]] = {each.name: [] for each in self.chosen.contenders}
        self.not_run = dict(self.chosen.not_run)

    def run(
        self,
        journal: Journal | None = None,
        progress: Callable[[], None] = lambda: None,
        through: Callable[[Iterable[Meeting]], Iterable[Iterable[Came]]] | None = None,
    ) -> dict[str, Any]:
        """Meet every patient, and return what :meth:`report` does; what a journal holds is not done again.

        Args:
            journal: Where what is finished is kept.
            progress: Called after each patient.
            through: Has others do what :meth:`meet` does with each of its items.

        Raises:
            CaseError: The graph describes no patient's disease.
            LlmError: The model cannot be reached, or its budget is spent: what is finished is kept.
        """
        if not self.ids:
            raise CaseError("the graph describes the disease of no patient", hint="give cases whose diseases it has")
        done = {} if journal is None else {(each["id"], each["method"]): each["result"] for each in journal.records}
        meetings = ((id, tuple(name for name in self.found if (id, name) not in done)) for id in self.ids)
        for id, came in zip(self.ids, (through or partial(map, self.meet))(meetings), strict=True):
            for name in [name for name in self.found if (id, name) in done]:
                self.found[name].append(Result.of(done[id, name]))
            for name, result in came:
                if name not in self.found:
                    continue
                if isinstance(result, KgdxError):  # it lacks what only meeting shows
                    del self.found[name]
                    self.not_run[name] = str(result)
                    continue
                if journal is not None:
                    journal.add({"id": id, "method": name, "result": result.record()})
                self.found[name].append(result)
            progress()
        return self.report()

    def meet(self, meeting: Meeting) -> Iterator[Came]:
        """Yield what each contender made of a patient, or what it lacks.

        Raises:
            LlmError: The model cannot be reached, or its budget is spent.
        """
        id, names = meeting
        everybody = self.chosen.contenders
        first = crc32(id.encode()) % len(everybody)  # who comes first reads what the others find in memory
        for contender in (*everybody[first:], *everybody[:first]):
            if contender.name in names:
                try:
                    yield contender.name, self._met(contender, id)
                except LlmError:
                    raise
                except KgdxError as error:
                    yield contender.name, error

    @staticmethod
    def _met(contender: Any, id: str) -> Result:
        begin = time.perf_counter()
        try:
            met = contender.meet(id)
        except CaseError as error:
            return Result(error=str(error))
        return Result(met.rank, met.actions, 1000 * (time.perf_counter() - begin), met.cost, met.questions)

    def report(self) -> dict[str, Any]:
        """Return the figures.

        Returns:
            ``methods``: name → ``n``, ``acc1``, ``acc5``, ``hit20``, their ``ci95`` over publications, ``by_disease``
            (means over diseases), ``actions`` and, of them, ``questions`` (means), ``ms`` (median), ``cost`` (sum),
            ``failed`` (patients of whom nothing could be ranked), ``against`` (differences from the first, in pairs)
            and ``unseen`` (the same of patients whose publication the graph's annotations do not cite, ``None`` where
            there are none). ``not_run``: name → why. ``remarks``: name → what a reader has to know. ``left_out``: how
            many patients have a disease that the graph does not describe. ``graph``, ``split`` and ``known``: on what.

        Raises:
            UsageError: Nobody could run.
        """
        for name, results in list(self.found.items()):
            if all(one.error for one in results):  # it reads nothing of what these patients tell
                self.not_run[name] = results[0].error
                del self.found[name]
        if not self.found:
            name, why = next(iter(self.not_run.items()))
            raise UsageError(f"nobody can run: {name} ({why})")
        seen = np.array([self.seen(id) for id in self.ids], object)
        unseen = np.flatnonzero(seen == False).tolist()  # noqa: E712 - None is neither
        every = list(range(len(self.ids)))
        base = next(iter(self.found.values()))
        methods = {}
        for name, results in self.found.items():
            methods[name] = self._figures(results, base, every)
            methods[name]["unseen"] = self._figures(results, base, unseen) if unseen else None
        return {
            "graph": self.board.graph.fingerprint,
            "split": self.board.split,
            "known": self.board.ward.known,
            "methods": methods,
            "not_run": self.not_run,
            "remarks": {each.name: each.remark for each in self.chosen.contenders if each.remark},
            "left_out": len(self.board.ward.ids) - len(self.ids),
        }

    def seen(self, id: str) -> bool | None:
        """Tell whether the graph's annotations cite a patient's publication; ``None`` where it names none."""
        publications = frozenset(self.board.ward.cases[id].publications)
        if not publications:
            return None
        return any(self._withheld.cites(number, publications) for number in self.board.right(id))

    @cached_property
    def _withheld(self) -> Withheld:
        return Withheld(self.board.graph.ranker, self.board.graph.snapshot)

    def _figures(self, results: Sequence[Result], base: Sequence[Result], at: Sequence[int]) -> dict[str, Any]:
        some, others = [results[place] for place in at], [base[place] for place in at]
        cases = [self.board.ward.cases[self.ids[place]] for place in at]
        clusters = [case.publications[0] if case.publications else case.id for case in cases]
        each, before = (hits([one.rank for one in those], AT) for those in (some, others))
        _, owner = np.unique([str(self.board.right(case.id)) for case in cases], return_inverse=True)
        weight = (1 / np.bincount(owner))[owner]
        times = [one.ms for one in some if not one.error]
        return {
            "n": len(some),
            **_means(each, clusters),
            "by_disease": {"n": int(owner.max()) + 1, **_means(each, clusters, weight)},
            "actions": float(np.mean([one.actions for one in some])),
            "questions": float(np.mean([one.questions for one in some])),
            "ms": float(np.median(times)) if times else None,
            "cost": sum(one.cost for one in some),
            "failed": sum(bool(one.error) for one in some),
            "against": _means(each - before, clusters),
        }


def _means(each: Floats, clusters: Sequence[Hashable], weight: Floats | None = None) -> dict[str, Any]:
    weight = np.ones(len(each)) if weight is None else weight
    low, high = bootstrap(each, clusters, weight)
    means = weight @ each / weight.sum()
    ends = {name: [float(low[at]), float(high[at])] for at, name in enumerate(MEASURES)}
    return {**{name: float(means[at]) for at, name in enumerate(MEASURES)}, "ci95": ends}
