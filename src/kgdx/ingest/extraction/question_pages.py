"""Files of question–answer lines in pages, and what is read from a page."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from kgdx.errors import LlmError, SourceError
from kgdx.ingest.extraction.filters import LONGEST, OF_A_RECORD, FilteredClaims, ReadRelations, RelationReader, believe
from kgdx.ingest.records import RECORD_LENGTH
from kgdx.ingest.unpack import unpacked

LONGEST_LINE = 2_000_000
"""Bytes of a line; no question and answer are longer."""

LONGEST_TEXT = 200_000
"""Characters of a question or an answer."""

_PAIRS = (
    ("questions", "answers"),
    ("question", "answer"),
    ("question", "response"),
    ("input", "output"),
    ("instruction", "output"),
)
_TURNS = ("data", "conversations", "messages")
_SPOKEN = re.compile(r"\s*(?:(?P<asked>问|患者|病人|用户)|(?P<answered>答|医生))\s*[:：]\s*(?P<text>.*)", re.DOTALL)
_ASKING, _ANSWERING = frozenset({"human", "user", "patient"}), frozenset({"gpt", "assistant", "doctor", "bot"})
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff\ud800-\udfff]")


def read_line(line: bytes) -> tuple[str, str, str | None]:
    """Read one record.

    ``{"questions": [["…", "…"]] or ["…"] or "…", "answers": ["…"]}``, ``{"question", "answer"}``, ``{"Question",
    "Response"}``, ``{"input", "output"}``, ``{"instruction", "output"}``, ``{"data": ["问：…", "答：…"]}``, turns as
    ShareGPT and chat models have them, each with or without ``id``; the first of these whose question and answer both
    say something. Of several wordings of a question the first is taken; several answers are put together, and so are
    the turns of each speaker.

    Returns:
        Question, answer, and the record's own id, if it has one.
    """
    if len(line) > LONGEST_LINE:
        raise ValueError(f"the line is longer than {LONGEST_LINE:,} bytes")
    if b"\0" in line:
        raise ValueError("the line holds NUL bytes")
    try:
        record = json.loads(line.decode("utf-8").removeprefix("\ufeff"))
    except UnicodeDecodeError:
        raise ValueError("the line is not UTF-8") from None
    except (ValueError, RecursionError):
        raise ValueError("the line is no JSON") from None
    if not isinstance(record, dict):
        raise ValueError("the line is no JSON object")
    if turns := next((record[name] for name in _TURNS if isinstance(record.get(name), list)), None):
        return (*_turns(turns), _id(record))
    empty: list[str] = []
    record = {key.lower() if key in ("Question", "Response", "Answer") else key: record[key] for key in record}
    for asked, answered in _PAIRS:
        if asked in record and answered in record:
            question, answer = _texts(record[asked], asked), _texts(record[answered], answered)
            if question and answer:
                return question[0], "\n".join(dict.fromkeys(answer)), _id(record)
            empty.append(answered if question else asked)
    raise ValueError(f"{empty[0]} is empty" if empty else "it has no question and answer")


def _turns(turns: list[Any]) -> tuple[str, str]:
    said: dict[bool, list[str]] = {True: [], False: []}
    for number, turn in enumerate(turns):
        if isinstance(turn, str):
            found = _SPOKEN.fullmatch(turn)
            asks, text = (bool(found["asked"]), found["text"]) if found else (number % 2 == 0, turn)
        elif isinstance(turn, dict):
            speaker = str(turn.get("from", turn.get("role"))).lower()
            if speaker not in _ASKING | _ANSWERING:
                continue  # what the system was told
            asks, text = speaker in _ASKING, turn.get("value", turn.get("content"))
        else:
            raise ValueError("a turn is neither text nor an object")
        said[asks] += _texts(text, "a turn")
    if not said[True] or not said[False]:
        raise ValueError("nobody asks" if said[False] else "nobody answers")
    return "\n".join(said[True]), "\n".join(said[False])


def clean(text: str) -> str:
    return _CONTROL.sub("", _TAG.sub("", text))


def _texts(value: Any, field: str, depth: int = 0) -> list[str]:
    if isinstance(value, str):
        text = clean(value).strip()
        if len(text) > LONGEST_TEXT:
            raise ValueError(f"{field} is longer than {LONGEST_TEXT:,} characters")
        return [text] if text else []
    if isinstance(value, list) and depth < 2:
        return [text for each in value for text in _texts(each, field, depth + 1)]
    raise ValueError(f"{field} is no text")


def _id(record: dict[str, Any]) -> str | None:
    found = record.get("id", record.get("_id"))
    if isinstance(found, bool) or not isinstance(found, str | int):
        return None
    return clean(str(found)).strip()[:100] or None


PAGE = 1000
"""Records of a page."""

LARGEST = 32_000_000
"""Bytes of a page; one of long lines holds fewer records."""

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class QuestionPage:
    number: int
    file: str
    lines: tuple[tuple[int, bytes], ...] = field(repr=False)

    def digest(self, signature: str) -> str:
        total = hashlib.sha256(f"{signature}\0{self.number}\0{self.file}\0".encode())
        for number, line in self.lines:
            total.update(b"%d\0%d\0" % (number, len(line)))
            total.update(line)
        return total.hexdigest()


@dataclass(slots=True)
class PageOutcome:
    """What was read of a page: the relations with the record and line of each, and what could not be read.

    ``refused`` are records by line, the beginning of their text, and why; ``left_out`` counts statements by reason.
    """

    page: int
    file: str
    records: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    refused: list[tuple[int, str, str]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def pages(files: Sequence[Path], size: int = PAGE) -> Iterator[QuestionPage]:
    """Cut files into pages; each file begins a new one."""
    number = 0
    for path in files:
        lines: list[tuple[int, bytes]] = []
        weight = 0
        for place, line in _lines(path):
            lines.append((place, line))
            weight += len(line)
            if len(lines) == size or weight > LARGEST:
                yield QuestionPage(number, path.name, tuple(lines))
                number, lines, weight = number + 1, [], 0
        if lines:
            yield QuestionPage(number, path.name, tuple(lines))
            number += 1


def count(files: Sequence[Path], size: int = PAGE) -> int:
    return sum(-(-sum(1 for _ in _lines(path)) // size) for path in files)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with unpacked(path) as stream:
        buffer, number, dropping = b"", 0, False
        while block := stream.read(_BLOCK):
            *whole, buffer = (buffer + block).split(b"\n")
            for line in whole:
                number += 1
                if not dropping and line.strip():
                    _refuse_array(path, line, number)
                    yield number, line.rstrip(b"\r")
                dropping = False
            if len(buffer) > LONGEST_LINE:
                if not dropping:
                    yield number + 1, buffer[: LONGEST_LINE + 1]
                buffer, dropping = b"", True
        if buffer.strip() and not dropping:
            _refuse_array(path, buffer, number + 1)
            yield number + 1, buffer


def _refuse_array(path: Path, line: bytes, number: int) -> None:
    if number == 1 and line.lstrip(b"\xef\xbb\xbf \t").startswith(b"["):
        raise SourceError(f"{path} is a JSON array, not JSON lines", hint=f"`jq -c '.[]' {path}` makes lines of it")


def read_page(page: QuestionPage, reader: RelationReader, jobs: int = 1) -> PageOutcome:
    outcome = PageOutcome(page.number, page.file, len(page.lines))
    texts: list[tuple[str, str]] = []
    places: list[tuple[int, bytes, str]] = []
    for number, line in page.lines:
        try:
            question, answer, own = read_line(line)
        except ValueError as error:
            outcome.refused.append(_refused(number, line, str(error)))
            continue
        texts.append((question, answer))
        places.append((number, line, own or f"{page.file}:{number}"))
    failures: list[LlmError] = []
    size = reader.together
    together = [texts[at : at + size] for at in range(0, len(texts), size)]
    with ThreadPoolExecutor(jobs) as pool:
        run = map if jobs == 1 else pool.map
        believed = list(chain.from_iterable(run(partial(_believed, reader), together)))
    for result, (number, line, record) in zip(believed, places, strict=True):
        if isinstance(result, LlmError):
            failures.append(result)
            outcome.refused.append(_refused(number, line, result.message))
            continue
        outcome.left_out.update(result.refused)
        outcome.rows += ({**asdict(each), "record": record, "line": number} for each in result.relations)
    if failures and len(failures) == len(texts) and all(each.kind == "rejected" for each in failures):
        raise failures[0]
    return outcome


def _believed(reader: RelationReader, records: Sequence[tuple[str, str]]) -> list[FilteredClaims | LlmError]:
    """Return what is believed of records that are read together, or alone where they are long or that gives nothing."""
    texts = ["\n".join(each) for each in records]
    if len(texts) > 1 and sum(map(len, texts)) <= LONGEST:
        found = _tried(lambda: reader.read(texts[0], "\n".join(texts[1:])))
        if not isinstance(found, LlmError):
            return [believe(found.within(text), text) for text in texts]
    alone = zip([_tried(partial(reader.read, *each)) for each in records], texts, strict=True)
    return [each if isinstance(each, LlmError) else believe(each, text) for each, text in alone]


def _tried(task: Callable[[], ReadRelations]) -> ReadRelations | LlmError:
    try:
        return task()
    except LlmError as error:
        if error.kind not in OF_A_RECORD:
            raise
        return error


def _refused(line: int, content: bytes, reason: str) -> tuple[int, str, str]:
    return line, clean(content[: RECORD_LENGTH * 4].decode("utf-8", "replace"))[:RECORD_LENGTH], reason
