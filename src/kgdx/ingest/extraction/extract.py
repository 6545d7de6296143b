"""Extracts page by page into a folder: what is finished stays, what fails is tried again, then set apart.

Layout::

    extraction.jsonl      the journal: who reads and how; then for each page what was read of it, or why it failed
    pages/000012.parquet  the relations of a page, whole before the journal names it

What the journal says last of a page holds; a page that failed is tried again by the next run.
"""

from __future__ import annotations

import json
import multiprocessing
import signal
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from kgdx.errors import LlmError, SourceError, StoreError, StoreLockedError, UsageError
from kgdx.files.journal import Journal
from kgdx.files.known import whole_file
from kgdx.ingest.extraction.filters import TYPES, RelationReader
from kgdx.ingest.extraction.question_pages import PAGE, PageOutcome, QuestionPage, pages, read_page
from kgdx.ingest.extraction.rule_reader import VERSION as RULES
from kgdx.ingest.extraction.rule_reader import RuleReader
from kgdx.ingest.manifest import Manifest
from kgdx.ingest.records import LINE, REJECTS, Records, join_rejects
from kgdx.llm.budget import Meter, Spent

FORMAT = 2
FILE = "extraction.jsonl"
_TEXTS = ("type", "head", "tail", "record", "model", "prompt", "span")
_ORDER = ("type", "head", "tail", "page", "record", "line", "model", "prompt", "span")
SCHEMA = pa.schema([(name, pa.string() if name in _TEXTS else pa.int64()) for name in _ORDER])
"""Columns of a page's relations."""


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What the journal says of a finished page; ``digest`` is of all that its result depended on.

    ``relations`` counts by type what was read, ``refused`` names the records that could not be (line, record, reason),
    ``left_out`` counts by reason the statements that were not believed.
    """

    page: int
    digest: str
    file: str
    records: int
    relations: Mapping[str, int]
    refused: tuple[tuple[int, str, str], ...]
    left_out: Mapping[str, int]


class ExtractionFolder:
    """An extraction's folder; nothing is created until :meth:`extracting`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._journal: Journal | None = None
        self._pages: dict[int, dict[str, Any]] = {}

    @contextmanager
    def extracting(self, reader: RelationReader, size: int) -> Iterator[None]:
        about = {"format": FORMAT, "model": reader.model, "prompt": reader.prompt, "size": size}
        about["signature"] = reader.signature
        if (self.path / FILE).exists() and (before := self.about()) != about:
            message = f"{self.path} holds pages by {before['model']} ({before['size']} records each, or other words)"
            raise UsageError(message, hint="choose another --out, or remove that folder")
        try:
            (self.path / "pages").mkdir(parents=True, exist_ok=True)
            with Journal.open(self.path / FILE, about) as self._journal:
                self._pages = {said["page"]: said for said in self._journal.records}
                for leftover in self.path.glob("pages/.[0-9]*"):
                    leftover.unlink(missing_ok=True)
                yield
        except StoreLockedError as error:
            message = f"another process extracts into {self.path}"
            raise StoreLockedError(message, hint="wait for it to finish, or choose another --out") from error
        except OSError as error:
            hint = "free some space or choose another --out; finished pages stay"
            raise StoreError(f"{self.path} cannot be written ({error.strerror or error})", hint=hint) from error

    def about(self) -> dict[str, Any]:
        return self._lines()[0]

    def finished(self) -> list[PageFacts]:
        return [facts for _, said in sorted(self._said().items()) if (facts := self._facts(said)) is not None]

    def failed(self) -> list[dict[str, Any]]:
        return [said for _, said in sorted(self._said().items()) if "failed" in said]

    def facts(self, page: int) -> PageFacts | None:
        return self._facts(self._said().get(page, {"gone": True}))

    def _facts(self, said: Mapping[str, Any]) -> PageFacts | None:
        if "failed" in said or "gone" in said:
            return None
        try:
            if pq.read_metadata(self.page_file(said["page"])).num_rows != sum(said["relations"].values()):
                return None
        except (OSError, pa.ArrowException):
            return None
        return PageFacts(**{**said, "refused": tuple((line, record, why) for line, record, why in said["refused"])})

    def finish(self, outcome: PageOutcome, digest: str, reader: RelationReader) -> PageFacts:
        left_out = dict(sorted(outcome.left_out.items()))
        by_type = dict(sorted(Counter(row["type"] for row in outcome.rows).items()))
        with whole_file(self.page_file(outcome.page)) as temporary:
            pq.write_table(_table(outcome, reader), temporary, compression="zstd")
        read = outcome.page, digest, outcome.file, outcome.records
        facts = PageFacts(*read, by_type, tuple(outcome.refused), left_out)
        self._add(asdict(facts))
        return facts

    def fail(self, page: int, file: str, reason: str) -> None:
        self._add({"page": page, "file": file, "failed": reason})

    def drop_from(self, page: int) -> None:
        for number in [number for number, said in self._pages.items() if number >= page and "gone" not in said]:
            self._add({"page": number, "gone": True})
            self.page_file(number).unlink(missing_ok=True)

    def _add(self, said: Mapping[str, Any]) -> None:
        assert self._journal is not None
        self._journal.add(said)
        self._pages[said["page"]] = dict(said)

    def _said(self) -> dict[int, dict[str, Any]]:
        return self._pages if self._journal else {said["page"]: said for said in self._lines()[1:]}

    def _lines(self) -> list[dict[str, Any]]:
        hint = "make one with `kgdx extract-relations`, or give a file of questions and answers"
        try:
            content = (self.path / FILE).read_bytes()
            found: list[dict[str, Any]] = [json.loads(line) for line in content[: content.rfind(b"\n")].splitlines()]
        except (OSError, ValueError) as error:
            raise SourceError(f"{self.path} holds no extracted relations", hint=hint) from error
        if not found or found[0].get("format") != FORMAT:
            raise SourceError(f"{self.path} is of another version of kgdx", hint="extract into a new folder")
        return found

    def page_file(self, page: int) -> Path:
        return self.path / "pages" / f"{page:06}.parquet"


def _table(outcome: PageOutcome, reader: RelationReader) -> pa.Table:
    told = {"page": outcome.page, "model": reader.model, "prompt": reader.prompt}
    return pa.Table.from_pylist([{**row, **told} for row in outcome.rows], SCHEMA)


VERSION = f"1 rules {RULES}"

COLUMNS = ("disease", "name", "page", "record", "model", "prompt", "span", "support")
FRAMES = {type_.lower(): COLUMNS for type_ in TYPES}
"""A frame for each relation; a relation that several records state is one row, with their number as ``support``."""


def read(path: Path, manifest: Manifest) -> Records:
    """Read a folder that ``kgdx extract-relations`` made; or read a file's relations by rules, page by page."""
    records = _folder(path) if path.is_dir() else _file(path)
    if not any(frame.height for frame in records.frames.values()):
        hint = "check that it holds Chinese questions and answers, as in kgdx's page on relations from text"
        raise SourceError(f"no relation was read from {path}", hint=hint)
    return records


def _folder(path: Path) -> Records:
    folder = ExtractionFolder(path)
    about, finished, failed = folder.about(), folder.finished(), folder.failed()
    if not finished:
        raise SourceError(f"{path} has no finished page", hint="run `kgdx extract-relations` again")
    rejects = [_rejects(facts.file, facts.refused) for facts in finished]
    missing = f"{len(failed)} of its pages failed and are missing: run `kgdx extract-relations` again"
    version = about["model"] if about["prompt"] is None else f"{about['model']}, {about['prompt']}"
    parts = [folder.page_file(facts.page) for facts in finished]
    return _joined(pl.scan_parquet(parts), rejects, version, [missing] if failed else [])


def _file(path: Path) -> Records:
    reader, rejects, parts = RuleReader(), [], [SCHEMA.empty_table()]
    for page in pages([path]):
        outcome = read_page(page, reader)
        parts.append(_table(outcome, reader))
        rejects.append(_rejects(None, outcome.refused))
    return _joined(pl.LazyFrame(pl.from_arrow(pa.concat_tables(parts))), rejects, reader.model)


def _joined(
    stated: pl.LazyFrame, rejects: Iterable[pl.DataFrame], version: str, warnings: Iterable[str] = ()
) -> Records:
    first = [pl.col(name).first() for name in ("page", "record", "model", "prompt", "span", "line")]
    frames = {}
    for type_ in TYPES:
        of_type = stated.filter(pl.col("type") == type_).group_by("head", "tail", maintain_order=True)
        one = of_type.agg(*first, pl.len().cast(pl.Int64).alias("support"))
        named = one.rename({"head": "disease", "tail": "name", "line": LINE})
        frames[type_.lower()] = named.select(*COLUMNS, LINE).collect()
    merged = int(stated.select(pl.len()).collect().item()) - sum(frame.height for frame in frames.values())
    return Records(frames, join_rejects(rejects), version, merged, tuple(warnings))


def _rejects(file: str | None, refused: Iterable[tuple[int, str, str]]) -> pl.DataFrame:
    return pl.DataFrame([(file, *each) for each in refused], schema=REJECTS, orient="row")


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
        plain = {name: getattr(self, name) for name in self.__slots__}
        plain |= {name: dict(count) for name, count in plain.items() if isinstance(count, Counter)}
        return {**plain, "relations": self.relations, "spent": self.spent.to_dict()}


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
        shared = jobs > 1 and isinstance(reader, RuleReader)
        one_by_one = ((page, _tried(page, reader, jobs)) for page in numbered)
        for page, result in _in_processes(numbered, reader, jobs) if shared else one_by_one:
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


def _tried(page: QuestionPage, reader: RelationReader, jobs: int, tries: int = ATTEMPTS) -> Result:
    try:
        return read_page(page, reader, jobs)
    except LlmError as error:
        return error if tries == 1 or error.kind in _ENDS_ALL else _tried(page, reader, jobs, tries - 1)


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
