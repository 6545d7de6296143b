"""Extracts page by page into a folder: what is finished stays, what fails is tried again, then set apart."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kgdx.errors import LlmError, StoreError, UsageError
from kgdx.ingest.extraction.filters import RelationReader
from kgdx.ingest.extraction.page_folder import ExtractionFolder, PageFacts
from kgdx.ingest.extraction.question_pages import PAGE, PageOutcome, QuestionPage, pages, read_page
from kgdx.ingest.extraction.rule_reader import RuleReader
from kgdx.llm.budget import Meter, Spent

ATTEMPTS = 2
"""Tries of a page; each question to a model is tried several times by itself."""

PAGES_IN_A_ROW = 2
"""Pages that fail one after the other before the extraction stops: then it is the endpoint, not the page."""

_ENDS_ALL = frozenset({"denied", "rejected", "missing", "budget"})


@dataclass(slots=True)
class RelationExtraction:
    """How far an extraction is, and what it gave."""

    folder: str
    model: str
    pages: int = 0
    kept: int = 0
    records: int = 0
    refused: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    by_type: Counter[str] = field(default_factory=Counter)
    failed: dict[int, str] = field(default_factory=dict)
    spent: Spent = field(default_factory=Spent)
    seconds: float = 0.0
    read_now: int = 0

    @property
    def relations(self) -> int:
        return self.by_type.total()

    def add(self, facts: PageFacts, *, before: bool) -> None:
        self.pages += 1
        self.kept += before
        self.records += facts.records
        self.read_now += 0 if before else facts.records
        self.by_type.update(facts.relations)
        self.refused += len(facts.refused)
        self.reasons.update(reason for _, _, reason in facts.refused)
        self.left_out.update(facts.left_out)

    def to_dict(self) -> dict[str, Any]:
        counted = {"reasons": self.reasons, "left_out": self.left_out, "by_type": self.by_type}
        plain = {name: getattr(self, name) for name in self.__slots__}
        ours = {name: dict(count) for name, count in counted.items()}
        return {**plain, **ours, "relations": self.relations, "spent": self.spent.to_dict()}


def extract(
    files: Sequence[Path],
    folder: Path,
    reader: RelationReader,
    *,
    size: int = PAGE,
    only: range | None = None,
    jobs: int = 1,
    meter: Meter | None = None,
    progress: Callable[[RelationExtraction], None] | None = None,
) -> RelationExtraction:
    """Extract the relations of files into a folder, or go on with it."""
    if not files:
        raise UsageError("no file is given", hint="give a file of questions and answers")
    if len({path.name for path in files}) < len(files):
        raise UsageError("two files have one name", hint="records are told apart by file name and line: rename one")
    kept = ExtractionFolder(folder)
    done = RelationExtraction(str(folder), reader.model)
    run = _Run(kept, reader, done, meter or Meter(), progress or (lambda _: None))
    with kept.extracting(reader, size):
        numbered = run.open_pages(files, size, only)
        results = _in_processes if jobs > 1 and isinstance(reader, RuleReader) else _one_by_one
        for page, result in results(numbered, reader, jobs):
            run.settle(page, result)
        if only is None:
            kept.drop_from(run.total)
        elif not done.pages and not done.failed:
            hint = f"the files have the pages 0 to {run.total - 1}"
            raise UsageError(f"there is no page {only.start} to {only.stop - 1}", hint=hint)
        run.tell()
    if done.failed:
        number, reason = next(iter(done.failed.items()))
        message = f"{len(done.failed)} of {done.pages + len(done.failed)} pages failed (page {number}: {reason})"
        raise LlmError(message, hint="run the same command again, finished pages are kept", kind="unreachable")
    return done


Result = PageOutcome | LlmError


@dataclass(slots=True)
class _Run:
    kept: ExtractionFolder
    reader: RelationReader
    done: RelationExtraction
    meter: Meter
    progress: Callable[[RelationExtraction], None]
    start: float = field(default_factory=time.perf_counter)
    total: int = 0
    in_a_row: int = 0

    def open_pages(self, files: Sequence[Path], size: int, only: range | None) -> Iterator[QuestionPage]:
        for page in pages(files, size):
            self.total = page.number + 1
            if only is not None and page.number >= only.stop:
                return
            if only is not None and page.number < only.start:
                continue
            facts = self.kept.facts(page.number)
            if facts is not None and facts.digest == page.digest(self.reader.signature):
                self.done.add(facts, before=True)
                self.tell()
            else:
                yield page

    def settle(self, page: QuestionPage, result: Result) -> None:
        if isinstance(result, PageOutcome):
            facts = self.kept.finish(result, page.digest(self.reader.signature), self.reader)
            self.in_a_row = 0
            self.done.add(facts, before=False)
            self.tell()
            return
        go_on = f"then run the same command again: it goes on at page {page.number}, {self.done.pages} pages are kept"
        if result.kind in _ENDS_ALL:
            raise LlmError(result.message, hint=f"{result.hint or 'mend it'}, {go_on}", kind=result.kind) from result
        self.kept.fail(page.number, page.file, result.message)
        self.done.failed[page.number] = result.message
        self.in_a_row += 1
        self.tell()
        if self.in_a_row >= PAGES_IN_A_ROW:
            message = f"{self.in_a_row} pages failed one after the other ({result.message})"
            raise LlmError(message, hint=f"see that the endpoint runs, {go_on}", kind=result.kind) from result

    def tell(self) -> None:
        self.done.seconds = time.perf_counter() - self.start
        self.done.spent = self.meter.spent
        self.progress(self.done)


def _one_by_one(
    numbered: Iterator[QuestionPage], reader: RelationReader, jobs: int
) -> Iterator[tuple[QuestionPage, Result]]:
    for page in numbered:
        yield page, _tried(page, reader, jobs)


def _tried(page: QuestionPage, reader: RelationReader, jobs: int) -> Result:
    failure: LlmError | None = None
    for _ in range(ATTEMPTS):
        try:
            return read_page(page, reader, jobs)
        except LlmError as error:
            failure = error
            if error.kind in _ENDS_ALL:
                break
    assert failure is not None
    return failure


_reader: RelationReader | None = None
"""Who reads in a process of the pool."""


def _in_processes(
    numbered: Iterator[QuestionPage], reader: RelationReader, jobs: int
) -> Iterator[tuple[QuestionPage, Result]]:
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(jobs, context, _take, (reader,)) as pool:
            waiting: deque[tuple[QuestionPage, Future[PageOutcome]]] = deque()
            for page in numbered:
                waiting.append((page, pool.submit(_read, page)))
                if len(waiting) > 2 * jobs:
                    first, future = waiting.popleft()
                    yield first, future.result()
            while waiting:
                first, future = waiting.popleft()
                yield first, future.result()
    except BrokenProcessPool as error:
        hint = "run the same command again, perhaps with fewer --jobs; finished pages are kept"
        raise StoreError("a process that reads pages was killed", hint=hint) from error


def _take(reader: RelationReader) -> None:
    global _reader
    _reader = reader
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interruption is the first process's affair


def _read(page: QuestionPage) -> PageOutcome:
    assert _reader is not None
    return read_page(page, _reader)
