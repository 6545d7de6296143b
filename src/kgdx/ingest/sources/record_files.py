"""Files of one record each line: JSON lines, a JSON array, or a table with a header; and their words made clean.

For small, nested or scraped sources, which no columnar reader takes as they are. A record that cannot be read is set
apart with its line, and the rest goes on.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from kgdx.case.case_rows import BadRow, table_rows
from kgdx.errors import CaseError, SourceError
from kgdx.ingest.fetch import read_text
from kgdx.ingest.records import LINE, RECORD_LENGTH, REFUSED, Records, join_rejects

WORDS = pl.List(pl.String())
"""Kind of a column that holds lists of words."""

MAX_TEXT = 1_000_000
"""Most characters of one value: more is no article but a damaged file."""
MAX_PHRASE = 300
"""Most characters of a name or phrase."""

_BAD_JSON = (ValueError, RecursionError)
"""Errors of the parser: syntax errors, numbers of thousands of digits, and nesting without end."""
_TAG = re.compile(r"<(?:/?[A-Za-z][^<>]{0,1000}|!--.*?--)/?>", re.DOTALL)
_BREAK = re.compile(r"<(?:br|/p|/div|/li|/tr|/h\d)\b[^<>]*>", re.IGNORECASE)
_HIDDEN = {code: None for code in range(32) if chr(code) not in "\t\n\r\v\f"} | {0x7F: None, 0xFEFF: None, 0x200B: None}
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORD = re.compile(r"[^\W_]")
_LEAST_LETTERS = 2


@dataclass(slots=True)
class Reading:
    """Rows and refused records of a file that is being read.

    Attributes:
        frames: Frame → its columns.
        kinds: Kind of a column that is no text.
        rows: Frame → rows, the line first.
        rejects: Refused records.
    """

    frames: Mapping[str, Sequence[str]]
    kinds: Mapping[str, pl.DataType] = field(default_factory=dict)
    rows: dict[str, list[tuple[Any, ...]]] = field(init=False)
    rejects: list[tuple[str | None, int | None, str, str, str | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rows = {name: [] for name in self.frames}

    def refuse(self, line: int | None, record: object, reason: str, part: str | None = None) -> None:
        """Set a record apart."""
        shown = record if isinstance(record, str) else json.dumps(record, ensure_ascii=False, default=str)
        self.rejects.append((None, line, _SURROGATE.sub("\ufffd", shown[:RECORD_LENGTH]), reason, part))

    def records(self, version: str | None = None, warnings: Iterable[str] = ()) -> Records:
        """Return frames and refused records."""
        frames = {}
        for name, columns in self.frames.items():
            kinds = {column: self.kinds.get(column, pl.String()) for column in columns}
            frames[name] = pl.DataFrame(self.rows[name], schema={LINE: pl.Int64(), **kinds}, orient="row")
        refused = pl.DataFrame(self.rejects, schema=REFUSED, orient="row")
        return Records(frames, join_rejects([refused]), version, warnings=tuple(warnings))


def documents(path: Path, reading: Reading, columns: Sequence[str] = ()) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each record of a file with its line (its number, in a JSON array); what is no record is refused.

    Args:
        path: JSON lines, a JSON array of objects, or a table with a header line; gzipped or not.
        reading: Takes what is refused.
        columns: Names of which a table's header must have at least one.

    Raises:
        SourceError: The file is unreadable, or holds no record.
    """
    content = read_text(path)
    if content.lstrip()[:1] in (b"[", b"{"):
        found = objects(path, content, reading)
    else:
        found = _table(path, content, reading, columns)
    number = 0
    for number, each in enumerate(found, 1):  # noqa: B007
        yield each
    if not number:
        reason = f" (line {reading.rejects[0][1]}: {reading.rejects[0][3]})" if reading.rejects else ""
        raise SourceError(f"{path} holds no record{reason}", hint="check that it is the right file")


def objects(path: Path, content: bytes, reading: Reading) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of JSON lines or of a JSON array, with their lines (their numbers, in an array).

    Args:
        path: The file, for messages.
        content: Its text in UTF-8.
        reading: Takes what is refused.

    Raises:
        SourceError: It begins like an array and is none.
    """
    first, _, others = content.strip().partition(b"\n")
    if first[:1] == b"[" and (not others or not _complete(first)):
        yield from _array(path, content, reading)
        return
    whole = None if _complete(first) else _whole(content)
    if whole is not None:
        yield 1, whole
        return
    for line, raw in enumerate(content.split(b"\n"), 1):
        if raw.strip():
            try:
                document = json.loads(raw.decode(), object_pairs_hook=_distinct, parse_constant=_absent)
            except UnicodeDecodeError:
                reading.refuse(line, raw[:RECORD_LENGTH].decode("utf-8", "replace"), "it is not UTF-8 text")
            except _BAD_JSON as error:
                reading.refuse(line, raw[:RECORD_LENGTH].decode("utf-8", "replace"), _why(error))
            else:
                yield from _object(line, document, reading)


def _complete(line: bytes) -> bool:
    try:
        json.loads(line)
    except _BAD_JSON:
        return False
    return True


def _whole(content: bytes) -> dict[str, Any] | None:
    """Return the one object that is written over several lines, if it is one."""
    try:
        document = json.loads(content, object_pairs_hook=_distinct, parse_constant=_absent)
    except _BAD_JSON:
        return None
    return document if isinstance(document, dict) else None


def _array(path: Path, content: bytes, reading: Reading) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        found = json.loads(content.decode(), object_pairs_hook=_Pairs, parse_constant=_absent)
    except (UnicodeDecodeError, *_BAD_JSON) as error:
        message = f"{path} is not a JSON array ({_why(error)})"
        raise SourceError(message, hint="give one JSON object a line, so that a damaged one does no harm") from error
    for number, each in enumerate(found, 1):
        try:
            yield from _object(number, each.unpacked() if isinstance(each, _Pairs) else each, reading)
        except ValueError as error:
            reading.refuse(number, str(each), str(error))


class _Pairs(list[Any]):
    """An object of an array as pairs: one with a key twice must not lose the others."""

    def unpacked(self) -> dict[str, Any]:
        plain = [(key, value.unpacked() if isinstance(value, _Pairs) else value) for key, value in self]
        return _distinct([(key, _plain(value)) for key, value in plain])


def _plain(value: Any) -> Any:
    if isinstance(value, list) and not isinstance(value, _Pairs):
        return [each.unpacked() if isinstance(each, _Pairs) else _plain(each) for each in value]
    return value


def _table(
    path: Path, content: bytes, reading: Reading, columns: Sequence[str]
) -> Iterator[tuple[int, dict[str, Any]]]:
    text = content.decode("utf-8", "surrogateescape")
    try:
        for row in table_rows(text.splitlines(keepends=True), columns):
            if isinstance(row, BadRow):
                reading.refuse(row.line, row.text, row.reason)
            else:
                yield row
    except CaseError as error:
        raise SourceError(f"{path}: {error.message}", hint=error.hint) from error


def _object(line: int, document: object, reading: Reading) -> Iterator[tuple[int, dict[str, Any]]]:
    if isinstance(document, dict):
        yield line, document
    else:
        reading.refuse(line, document, "it is not a JSON object")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"it has the key '{next(key for key in keys if keys.count(key) > 1)}' twice")
    return found


def _absent(constant: str) -> None:
    """Read NaN and infinities, which JSON does not have, as absent."""


def _why(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    text = str(error)
    return text if text.startswith("it has the key") else f"it is not valid JSON ({text.partition(':')[0]})"


def prose(text: str) -> str:
    r"""Return a text without markup, control characters and surplus blanks; its lines stay.

    Example:
        >>> prose("<p>Fever &amp; cough.</p>\r\n\r\n\t  Rash\x00.\n")
        'Fever & cough.\nRash.'
    """
    text = _SURROGATE.sub("\ufffd", text)
    if "<" in text:
        text = _TAG.sub(" ", _BREAK.sub("\n", text))
    if "&" in text:
        text = html.unescape(text)
    lines = (" ".join(line.split()) for line in text.translate(_HIDDEN).splitlines())
    return "\n".join(line for line in lines if line)


def phrase(text: str) -> str:
    """Return a name or phrase in one line, in Unicode's composed form.

    Example:
        >>> phrase("  head <b>ache</b> ")
        'head ache'
    """
    return unicodedata.normalize("NFC", " ".join(prose(text).split()))


def problem_of_phrase(text: str) -> str | None:
    """Return why a clean phrase cannot be a name, or ``None``.

    Example:
        >>> problem_of_phrase("：")
        'it has no word'
        >>> problem_of_phrase("loss of senso...")
        'it is cut off'
        >>> problem_of_phrase("咳") is None
        True
    """
    letters = sum(bool(_WORD.match(char)) for char in text)
    if not letters or (letters < _LEAST_LETTERS and text.isascii()):
        return "it has no word"
    if "\ufffd" in text:
        return "it holds bytes that are no text in UTF-8"
    if len(text) > MAX_PHRASE:
        return f"it has {len(text):,} characters"
    if text.endswith(("...", "…", "……")):
        return "it is cut off"
    return None
