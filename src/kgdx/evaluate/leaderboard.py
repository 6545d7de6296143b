"""Every method on the same patients in one table: accuracy with intervals over publications, actions, time and cost."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from zlib import crc32

import numpy as np

from kgdx.errors import CaseError, UsageError
from kgdx.evaluate.contenders import Board, Entrants
from kgdx.evaluate.metrics import as_json, hits, means, milliseconds, once_each, ranks_of
from kgdx.evaluate.runner import Record, Runner, by_arm
from kgdx.rank.held_out_ranks import Withheld

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
        """Return what a contender makes of a patient."""
        begin = time.perf_counter()
        made = self._by_name[name].meet(id)
        spent = {"actions": made.actions, "cost": made.cost, "questions": made.questions}
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
        not_run = {**self.entrants.not_run, **not_run}
        for name, some in list(found.items()):
            if all("error" in one for one in some):  # it reads nothing of what these patients tell
                not_run[name] = some[0]["error"]
                del found[name]
        if not found:
            name, why = next(iter(not_run.items()))
            raise UsageError(f"nobody can run: {name} ({why})")
        every = list(range(len(self.ids)))
        unseen = [place for place, id in enumerate(self.ids) if self.seen(id) is False]
        base = next(iter(found.values()))
        methods = {}
        for name, some in found.items():
            methods[name] = self._figures(some, base, every)
            methods[name]["unseen"] = self._figures(some, base, unseen) if unseen else None
            asked = methods[name]["questions"]
            methods[name]["budget"] = next((most for most in BUDGETS if asked <= most), None)
        return {
            "graph": self.board.graph.fingerprint,
            "split": self.board.split,
            "known": self.board.ward.known,
            "methods": methods,
            "not_run": not_run,
            "remarks": {each.name: each.remark for each in self.entrants.contenders if each.remark},
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

    def _figures(self, records: Sequence[Record], base: Sequence[Record], at: Sequence[int]) -> dict[str, Any]:
        some, others = [records[place] for place in at], [base[place] for place in at]
        cases = [self.board.ward.cases[self.ids[place]] for place in at]
        clusters = [case.publications[0] if case.publications else case.id for case in cases]
        each, before = (hits(ranks_of(those), AT) for those in (some, others))
        weight, diseases = once_each([str(self.board.right(case.id)) for case in cases])
        return {
            "n": len(some),
            **means(MEASURES, each, clusters),
            "by_disease": {"n": diseases, **means(MEASURES, each, clusters, weight)},
            "actions": float(np.mean([one.get("actions", 0) for one in some])),
            "questions": float(np.mean([one.get("questions", 0) for one in some])),
            "ms": milliseconds([one["ms"] for one in some if "error" not in one])["ms_median"],
            "cost": sum(one.get("cost", 0.0) for one in some),
            "failed": sum("error" in one for one in some),
            "against": means(MEASURES, each - before, clusters),
        }


def _turned(id: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Let another contender begin with each patient: who comes first reads what the others find in memory."""
    first = crc32(id.encode()) % max(len(names), 1)
    return (*names[first:], *names[:first])
