"""The one runner of evaluations: every item by every arm gives a record, kept when it is finished, resumed anywhere.

An evaluation is a task: what is measured (items), by what (arms), and one function from an item and an arm to a record
of JSON values. The runner does the rest in this thread, in several, or in other processes, and says why it stopped; the
figures are made of the records. A record with an ``error`` is a miss that stays; one with a ``kind`` beside it is a
fault of a language model, counted and tried again by the next run. An arm that cannot run for want of something is
named under :attr:`Runner.not_run`, and never ends the others. Layout of the folder of ``--out``::

    journal.jsonl    what is evaluated, then a record a line (:mod:`kgdx.files.journal`)
    answers.sqlite   every single answer of a language model, so that not even half a piece is asked for twice
    results.jsonl    the records in order, or what is known of each question
    summary.json     the figures
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kgdx.case import Case, Failure
from kgdx.errors import CaseError, KgdxError, LlmError, StoreError, UsageError, refusing
from kgdx.files.journal import Journal
from kgdx.files.known import write_whole
from kgdx.llm.budget import Budget

if TYPE_CHECKING:
    from kgdx.api import Graph

Made = TypeVar("Made")
Record = dict[str, Any]
Measure = Callable[[Any, str], Record | None]
"""An item and the name of an arm → what was measured, without these two; ``None`` where there is nothing to measure."""
EvaluationTask = Callable[["Graph"], Measure]
"""An open graph → what measures on it: a function of a module with its settings, as other processes are sent it."""
Piece = tuple[str, Any, tuple[str, ...]]
"""An item's key, the item, and the arms that it is still to be measured by."""

JOURNAL, CACHE, RESULTS, SUMMARY = "journal.jsonl", "answers.sqlite", "results.jsonl", "summary.json"
ENDS_ALL = frozenset({"denied", "missing", "budget"})
"""Faults of a model that every further item would meet, too."""
OUT_OF_REACH = frozenset({"unreachable", "rejected"})
"""Faults that end an evaluation where every item meets them."""
IN_A_ROW = 3
"""Items that meet one of these, one after the other, before the evaluation stops."""
FORMS = (
    "phenopackets, JSON lines with diseases, a table with a column diagnosis, OSCE cases, dialogues of DX or IMCS21, "
    "or a DDXPlus patients file"
)
"""The forms of cases that state a diagnosis."""
WRITABLE = "free some space or choose another --out; what is finished stays"
"""What to do where the folder of an evaluation cannot be written."""
SPENT = ("calls", "read", "written", "cost")
"""What a model took, where a record says so."""


@dataclass
class Runner:
    """Measures items by arms; what the journal has is not made again."""

    journal: Journal | None = None
    jobs: int = 1
    progress: Callable[[], object] = lambda: None
    through: Callable[[Iterable[Piece]], Iterable[Iterable[Record]]] | None = None
    """Has other processes do what :func:`outcomes` does with each of its pieces; see :class:`Shared`."""
    budget: Budget = field(default_factory=Budget)
    """When to begin nothing more, what earlier runs of it took included; time counts from now on."""
    order: Callable[[str, tuple[str, ...]], tuple[str, ...]] = lambda key, arms: arms
    """An item's key and its arms → the order in which they measure it."""
    strict: bool = False
    """Whether an arm that cannot run ends the evaluation."""
    not_run: dict[str, KgdxError] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=lambda: dict.fromkeys(SPENT, 0))
    stopped: str | None = None
    """Why nothing more was begun."""
    fatal: LlmError | None = None
    """The fault of a model that ended it; :meth:`check` raises it once the figures are written."""

    def __post_init__(self) -> None:
        self._lock, self._begun = threading.Lock(), time.monotonic()
        self._found: dict[tuple[str, str], Record] = {}
        self._unreached = 0
        for record in [] if self.journal is None else self.journal.records:
            self._count(record)

    def run(self, items: Iterable[tuple[str, Any]], arms: Sequence[str], measure: Measure | None) -> list[Record]:
        """Return the records of all keyed items by all arms, in that order; what is missing could not be made."""
        keys: list[str] = []

        def pieces() -> Iterator[Piece]:
            for key, item in items:
                keys.append(key)
                left = tuple(arm for arm in arms if "kind" in self._found.get((key, arm), {"kind": ""}))
                yield key, item, self.order(key, left)

        if self.through is not None:
            for records in self.through(pieces()):
                for record in records:
                    self._take(record)
                self.progress()
        elif self.jobs == 1:
            for piece in pieces():
                self._do(piece, measure)
        else:
            with ThreadPoolExecutor(self.jobs) as pool:
                deque(pool.map(lambda piece: self._do(piece, measure), pieces()), maxlen=0)
        able = [arm for arm in arms if arm not in self.not_run]
        if keys and not able:
            raise self.not_run[arms[0]]
        return [self._found[key, arm] for key in keys for arm in able if (key, arm) in self._found]

    @property
    def records(self) -> list[Record]:
        return list(self._found.values())

    def check(self) -> None:
        if self.fatal is not None:
            raise self.fatal

    def _do(self, piece: Piece, measure: Measure | None) -> None:
        assert measure is not None
        key, item, arms = piece
        try:
            for arm in arms:
                if not self._may_begin():
                    return
                if arm not in self.not_run:
                    for record in outcomes(measure, (key, item, (arm,))):
                        self._take(record)
        except BaseException as error:
            self.stopped = self.stopped or str(error)
            raise
        self.progress()

    def _may_begin(self) -> bool:
        with self._lock:
            used = {**self.spent, "tokens": self.spent["read"] + self.spent["written"]}
            used["seconds"] = time.monotonic() - self._begun
            for name, most in asdict(self.budget).items():
                if most is not None and used[name] >= most:
                    self.stopped = self.stopped or f"the budget of {name} is spent"
            return self.stopped is None

    def _take(self, record: Record) -> None:
        if (lacks := record.get("lacks")) is not None:
            if self.strict:
                raise lacks
            self.not_run[record["arm"]] = lacks
            return
        if self.journal is not None:
            self.journal.add(record)
        with self._lock:
            self._count(record)
            kind = record.get("kind", "")
            self._unreached = self._unreached + 1 if kind in OUT_OF_REACH else 0
            if (kind in ENDS_ALL or self._unreached >= IN_A_ROW) and self.fatal is None:
                self.stopped = record["error"]
                hint = "mend it or raise the limit, and run it again: what is finished stays"
                self.fatal = LlmError(record["error"], hint=hint, kind=kind)

    def _count(self, record: Record) -> None:
        self._found[record["item"], record["arm"]] = record
        for name in SPENT:
            self.spent[name] += record.get(name, 0)


def able(names: Iterable[str], make: Callable[[str], Made]) -> tuple[list[Made], dict[str, str]]:
    """Return what could be made of names, and why the rest cannot run; raise the first reason where none can."""
    made: list[Made] = []
    not_run: dict[str, KgdxError] = {}
    for name in names:
        try:
            made.append(make(name))
        except KgdxError as error:
            not_run[name] = error
    if not made and not_run:
        raise next(iter(not_run.values()))
    return made, {name: str(error) for name, error in not_run.items()}


def outcomes(measure: Measure, piece: Piece) -> Iterator[Record]:
    """Yield the record of an item by each arm; of an arm that cannot run, what it ``lacks``."""
    key, item, arms = piece
    for arm in arms:
        made: Mapping[str, Any] | None
        try:
            made = measure(item, arm)
        except CaseError as error:
            made = {"error": str(error)}
        except LlmError as error:
            made = {"error": str(error), "kind": error.kind}
        except KgdxError as error:
            made = {"lacks": error}
        if made is not None:
            yield {"item": key, "arm": arm, **made}


@dataclass(frozen=True, slots=True)
class Shared:
    """A task as :func:`kgdx.learn.shares.shared` shares it out: what :attr:`Runner.through` does with each piece."""

    task: EvaluationTask

    def on(self, graph: Graph) -> Callable[[Piece], list[Record]]:
        measure = self.task(graph)
        return lambda piece: list(outcomes(measure, piece))


def numbered(cases: Iterable[Case | Failure]) -> Iterator[tuple[str, Case | Failure]]:
    """Yield cases with keys, their numbers: two may have one id."""
    return ((str(number), case) for number, case in enumerate(cases))


def by_arm(records: Iterable[Record], arms: Iterable[str]) -> dict[str, list[Record]]:
    """Return the records of each arm that has some."""
    found: dict[str, list[Record]] = {arm: [] for arm in arms}
    for record in records:
        found[record["arm"]].append(record)
    return {arm: some for arm, some in found.items() if some}


@contextmanager
def kept(
    folder: Path | None, about: Mapping[str, Any], cases: Iterable[Case | Failure] = ()
) -> Iterator[Journal | None]:
    """Open the journal of an evaluation, if it has a folder; what is evaluated has to be what it was before."""
    if folder is None:
        yield None
        return
    there = [each.name for each in folder.iterdir()] if folder.is_dir() else []
    if JOURNAL not in there and any(name.partition("-")[0] != CACHE for name in there):
        raise UsageError(f"{folder} holds something that is no evaluation", hint="choose a new or empty folder")
    digest = {"cases": digest_of(cases)} if cases else {}
    with Journal.open(folder / JOURNAL, {**about, **digest}) as journal:
        yield journal


def finish(folder: Path | None, results: Iterable[Mapping[str, Any]], summary: Mapping[str, Any]) -> None:
    """Write the results and the figures into the folder of an evaluation, if it has one; each file whole or not."""
    if folder is None:
        return
    with refusing(StoreError, f"{folder} cannot be written", WRITABLE):
        write_whole(folder / RESULTS, "".join(json.dumps(each) + "\n" for each in results))
        text = json.dumps(summary, ensure_ascii=False, indent=2) + "\n"
        write_whole(folder / SUMMARY, text.encode("utf-8", "replace"))


def digest_of(cases: Iterable[Case | Failure]) -> str:
    """Return a digest of cases in their order: an evaluation that goes on is one of the same cases."""
    told = (case.message if isinstance(case, Failure) else f"{case.id} {case.digest}" for case in cases)
    return hashlib.sha256("\n".join(told).encode("utf-8", "replace")).hexdigest()


def labelled(records: Iterable[Record], name: str = "cluster") -> tuple[list[Record], int]:
    """Return the records of cases that state a diagnosis, which are those with a field, and how many do not."""
    every = list(records)
    found = [each for each in every if name in each]
    if not found:
        none = f"none of {len(every):,} cases states its diagnosis"
        raise CaseError(none if every else "there is no case to evaluate on", hint=f"give {FORMS}")
    return found, len(every) - len(found)


def failures(records: Iterable[Record]) -> list[dict[str, str]]:
    return [{"id": each["id"], "error": each["error"]} for each in records if each.get("error")]


def shares(values: Iterable[str], names: Sequence[str]) -> dict[str, float]:
    """Return which share of some values each name has, of those that it is among."""
    counted = Counter(values)
    return {name: counted[name] / counted.total() for name in names if counted[name]}
