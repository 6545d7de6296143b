"""Files of one record each line: JSON lines, a JSON array, or a table with a header; and their words made clean.

For small, nested or scraped sources, which no columnar reader takes as they are. A record that cannot be read is set
apart with its line, and the rest goes on.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from kgdx.case.case_rows import BadRow, table_rows
from kgdx.errors import CaseError, SourceError
from kgdx.ingest.column_mapping import mapped_columns
from kgdx.ingest.manifest import Manifest
from kgdx.ingest.records import LINE, RECORD_LENGTH, RecordBuilder, Records, join_rejects
from kgdx.ingest.sources.table_files import find_version
from kgdx.ingest.unpack import read_text

VERSION = "1"
LONGEST_VALUE = 1 << 17
"""Characters beyond which a text is taken for damage."""
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


def read(path: Path, manifest: Manifest) -> Records:
    """Read the fields that the manifest maps, as the frame ``rows``.

    A field is named by its path: ``disease.id``; a path that leads through a list gives a list. A line that is no
    JSON object is refused.
    """
    content = read_text(path, manifest.encoding)
    names = mapped_columns(manifest)
    values: dict[str, list[Any]] = {name: [] for name in names}
    lines: list[int] = []
    building = RecordBuilder({})
    damaged = "\ufffd".encode() in content
    for line, entry in objects(path, content, building):
        if reason := _problem(entry, damaged):
            building.refuse(line, entry, reason)
            continue
        lines.append(line)
        for name in names:
            values[name].append(at(entry, name))
    if not lines:
        raise SourceError(f"{path} holds no JSON objects", hint="give one object a line, or a list of objects")
    frame = pl.DataFrame([column(name, found) for name, found in values.items()])
    _check(path, frame, manifest)
    frames = {"rows": frame.with_columns(pl.Series(LINE, lines, pl.Int64))}
    return Records(frames, join_rejects([building.rejects()]), find_version(content, manifest))


def at(entry: Any, path: str) -> Any:
    """Return what stands at a dotted path; through a list, the list of what stands there in its members.

    Example:
        >>> at({"d": {"id": "X"}, "s": [{"n": "a"}, {}, {"n": "b"}]}, "d.id")
        'X'
        >>> at({"s": [{"n": "a"}, {}, {"n": "b"}]}, "s.n")
        ['a', 'b']
    """
    if isinstance(entry, list):
        found = [at(member, path) for member in entry]
        flat = [item for value in found for item in (value if isinstance(value, list) else [value])]
        return [item for item in flat if item is not None]
    if not isinstance(entry, dict):
        return None
    if path in entry:
        return entry[path]
    first, _, rest = path.partition(".")
    return at(entry[first], rest) if rest and first in entry else None


def column(name: str, values: Sequence[Any]) -> pl.Series:
    """Return values as a column: numbers and truth values as such where all are, lists of texts, or texts.

    Example:
        >>> column("n", [1, None]).dtype, column("n", [1, "b"]).to_list(), column("n", [["a"], "b", None]).to_list()
        (Int64, ['1', 'b'], [['a'], ['b'], None])
    """
    kinds = {type(value) for value in values if value is not None}
    if list in kinds:
        lists = [value if value is None or isinstance(value, list) else [value] for value in values]
        texts = [value and [text for each in value if (text := _text(each)) is not None] for value in lists]
        return pl.Series(name, texts, dtype=pl.List(pl.String))
    if kinds and kinds <= {int, float}:
        whole = kinds == {int} and all(value is None or abs(value) < 1 << 63 for value in values)
        if whole or float in kinds:
            return pl.Series(name, values, dtype=pl.Int64 if whole else pl.Float64, strict=False)
    if kinds == {bool}:
        return pl.Series(name, values, dtype=pl.Boolean)
    return pl.Series(name, [_text(value) for value in values], dtype=pl.String)


def _text(value: Any) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.strip() or None


def _problem(entry: Mapping[str, Any], damaged: bool) -> str | None:
    if damaged and "\ufffd" in json.dumps(entry, ensure_ascii=False):
        return "it holds bytes that are no text in the file's encoding"
    long = next((name for name, value in entry.items() if isinstance(value, str) and len(value) > LONGEST_VALUE), None)
    return None if long is None else f"{long} has more than {LONGEST_VALUE:,} characters"


def _check(path: Path, frame: pl.DataFrame, manifest: Manifest) -> None:
    absent = [name for name in frame.columns if frame[name].null_count() == frame.height]
    required = [name for name in absent if name in manifest.columns] or (absent if len(absent) == frame.width else [])
    if required:
        raise SourceError(
            f"no object in {path} has a field {required[0]!r}",
            hint="check the manifest, or make one for this file with `kgdx sources new`",
        )


def documents(path: Path, building: RecordBuilder, columns: Sequence[str] = ()) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each record of a file with its line (its number, in a JSON array); what is no record is refused."""
    content = read_text(path)
    if content.lstrip()[:1] in (b"[", b"{"):
        found = objects(path, content, building)
    else:
        found = _table(path, content, building, columns)
    number = 0
    for number, each in enumerate(found, 1):  # noqa: B007
        yield each
    if not number:
        reason = f" (line {building.refused[0][1]}: {building.first_reason})" if building.refused else ""
        raise SourceError(f"{path} holds no record{reason}", hint="check that it is the right file")


def objects(path: Path, content: bytes, building: RecordBuilder) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of JSON lines or of a JSON array, with their lines (their numbers, in an array)."""
    first, _, others = content.strip().partition(b"\n")
    complete = bool(list(_parsed(first)))
    if first[:1] == b"[" and (not others or not complete):
        yield from _array(path, content, building)
        return
    for whole in () if complete else _parsed(content, object_pairs_hook=_distinct, parse_constant=_absent):
        if isinstance(whole, dict):
            yield 1, whole
            return
    for line, raw in enumerate(content.split(b"\n"), 1):
        if raw.strip():
            try:
                document = json.loads(raw.decode(), object_pairs_hook=_distinct, parse_constant=_absent)
            except _BAD_JSON as error:
                building.refuse(line, raw[:RECORD_LENGTH].decode("utf-8", "replace"), _why(error))
            else:
                yield from _object(line, document, building)


def _parsed(content: bytes, **options: Any) -> Iterator[Any]:
    with suppress(*_BAD_JSON):
        yield json.loads(content, **options)


def _array(path: Path, content: bytes, building: RecordBuilder) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        found = json.loads(content.decode(), object_pairs_hook=_Pairs, parse_constant=_absent)
    except _BAD_JSON as error:
        message = f"{path} is not a JSON array ({_why(error)})"
        raise SourceError(message, hint="give one JSON object a line, so that a damaged one does no harm") from error
    for number, each in enumerate(found, 1):
        try:
            yield from _object(number, _unpacked(each), building)
        except ValueError as error:
            building.refuse(number, str(each), str(error))


class _Pairs(list[Any]):
    """An object of an array as pairs: one with a key twice must not lose the others."""


def _unpacked(value: Any) -> Any:
    if isinstance(value, _Pairs):
        return _distinct([(key, _unpacked(each)) for key, each in value])
    return [_unpacked(each) for each in value] if isinstance(value, list) else value


def _table(
    path: Path, content: bytes, building: RecordBuilder, columns: Sequence[str]
) -> Iterator[tuple[int, dict[str, Any]]]:
    text = content.decode("utf-8", "surrogateescape")
    try:
        for row in table_rows(text.splitlines(keepends=True), columns):
            if isinstance(row, BadRow):
                building.refuse(row.line, row.text, row.reason)
            else:
                yield row
    except CaseError as error:
        raise SourceError(f"{path}: {error.message}", hint=error.hint) from error


def _object(line: int, document: object, building: RecordBuilder) -> Iterator[tuple[int, dict[str, Any]]]:
    if isinstance(document, dict):
        yield line, document
    else:
        building.refuse(line, document, "it is not a JSON object")


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
    r"""Return a text without markup, control characters and surplus blanks; its lines stay."""
    text = _SURROGATE.sub("\ufffd", text)
    if "<" in text:
        text = _TAG.sub(" ", _BREAK.sub("\n", text))
    if "&" in text:
        text = html.unescape(text)
    lines = (" ".join(line.split()) for line in text.translate(_HIDDEN).splitlines())
    return "\n".join(line for line in lines if line)


def phrase(text: str) -> str:
    """Return a name or phrase in one line, in Unicode's composed form."""
    return unicodedata.normalize("NFC", " ".join(prose(text).split()))


def problem_of_phrase(text: str) -> str | None:
    """Return why a clean phrase cannot be a name, or ``None``."""
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
