"""Cases from files of any kept form (phenopackets, JSON, OSCE, dialogues, tables, text; gzipped), and folders of them.

A case that cannot be read becomes a :class:`Failure`, so that one bad line does not lose the rest of a batch.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from kgdx.case.case_json import KEYS, case_from_dialogue, case_from_json, case_from_osce, dialogues, is_dialogue
from kgdx.case.case_rows import CONTENT, BadRow, case_from_row, header, is_row, table_rows
from kgdx.case.cleaning import MAX_CHARACTERS, case_from_text, sanitise
from kgdx.case.ddxplus_patients import COLUMNS as PATIENT_COLUMNS
from kgdx.case.ddxplus_patients import Known, case_from_patient, is_patients
from kgdx.case.patient import Case, FindingReader, constructor
from kgdx.case.phenopacket import case_from_phenopacket
from kgdx.case.published_cases import (
    check_columns,
    form_of,
    is_admissions,
    osce_of_clinical,
    read_admissions,
    row_of,
    row_of_list,
)
from kgdx.errors import CaseError
from kgdx.files.private import possible
from kgdx.lazy import lazy_pattern

SUFFIXES = (".json", ".jsonl", ".ndjson", ".txt", ".csv", ".tsv")
"""Files of a folder that are read as cases (each also with ``.gz``)."""

_PHENOPACKET_KEYS = {"phenotypicFeatures", "phenotypic_features", "metaData", "meta_data", "subject"}
_FORMS = (
    "a GA4GH phenopacket v2, {observed, excluded, …}, {text}, an OSCE case, a dialogue of DX or IMCS21, "
    "or a table with a header"
)
_BAD_JSON = (ValueError, RecursionError)
"""What the parser raises: syntax errors, numbers of thousands of digits, and nesting without end."""

MAX_DOCUMENT = 50_000_000
"""Most characters of one line, or of one document over several lines: more is no patient (or a gzip bomb)."""

_IN_UTF8 = "give cases as JSON or text in UTF-8"
_UNDECODED = lazy_pattern("[\udc80-\udcff]")
"""What bytes that are no UTF-8 are read as, so that they spoil their own line alone."""

_WEB_PAGE = lazy_pattern(r"\ufeff?\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)
"""How the page of an error begins that was saved in the place of a file."""

_TERM_LINE = lazy_pattern(r"(?P<absent>[-!]\s*)?(?P<id>HP:\d{7})\b.*")


@dataclass(frozen=True, slots=True)
class Failure:
    """A case that could not be read; ``where`` names file and line."""

    where: str
    message: str
    id: str = ""


def read_cases(path: str | Path, *, known: Known = "all") -> Iterator[Case | Failure]:
    """Read every case of a file or folder, in order; a bad one is a :class:`Failure`."""
    place = possible(path)
    if not place.exists():
        raise CaseError(f"no such file or folder: {place}", hint="check the path")
    if place.is_dir() and is_admissions(place):
        for found in read_admissions(place):
            yield found if isinstance(found, Case) else Failure(found[0], str(found[1]))
        return
    files = _files(place) if place.is_dir() else []
    if place.is_dir() and not files:
        raise CaseError(f"no case file in {place}", hint=f"it should hold {', '.join(SUFFIXES)} files")
    if not place.is_dir():
        yield from _file(place, known)
        return
    for file in files:
        try:
            for case in _file(file, known):
                yield case if isinstance(case, Failure) else replace(case, file=str(file.relative_to(place)))
        except CaseError as error:
            yield Failure(str(file), str(error))


def parse_cases(stream: IO[bytes], where: str = "standard input", *, known: Known = "all") -> Iterator[Case | Failure]:
    """Read every case of an open binary stream, whatever its form; see :func:`read_cases`."""
    with _detached(stream) as text:
        try:
            yield from _parse(text, where, known)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise CaseError(f"{where}: the gzip file is truncated or damaged", hint="fetch it again") from error


@contextmanager
def _detached(stream: IO[bytes]) -> Iterator[io.TextIOWrapper]:
    buffered = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream)  # type: ignore[type-var]
    packed = buffered.peek(2)[:2] == b"\x1f\x8b"
    text = io.TextIOWrapper(
        gzip.GzipFile(fileobj=buffered) if packed else buffered, encoding="utf-8-sig", errors="surrogateescape"
    )
    try:
        yield text
    finally:
        text.detach()
        if buffered is not stream:
            buffered.detach()


_SUFFIX = lazy_pattern(r"\S\.(json|jsonl|ndjson|txt|gz|ya?ml|csv|tsv|pdf|docx?|rtf|xml|md)$", re.IGNORECASE)
_PLACE = lazy_pattern(r"(/|\./|\.\./|~|[A-Za-z]:[\\/])\S")


def names_file(words: str) -> bool:
    """Whether words are written like the name of a file rather than about a patient.

    Example:
        >>> [names_file(words) for words in ("patient.json", "./note", "fever since 3/2024", "fever.")]
        [True, True, False, False]
    """
    words = words.strip()
    return "\n" not in words and len(words) < 4096 and bool(_SUFFIX.search(words) or _PLACE.match(words))


def case_from_document(document: object, where: str = "case") -> Case:
    """Read one parsed JSON document of any kept form, told by its keys."""
    if isinstance(document, list) and (row := row_of_list(document, where)) is not None:
        return sanitise(case_from_row(row, where))
    if not isinstance(document, dict):
        raise CaseError(f"{where}: a case is a JSON object", hint=f"give {_FORMS}")
    if form_of(document) is not None:
        return sanitise(case_from_row(row_of(document, where), where))
    if "OSCE_Examination" in document:
        return case_from_osce(document, where)
    if (osce := osce_of_clinical(document, where)) is not None:
        return sanitise(case_from_osce(osce, where))
    if is_dialogue(document):
        return sanitise(case_from_dialogue(document, where))
    if "observed" in document or document.keys() <= KEYS:
        return sanitise(case_from_json(document, where))
    if document.keys() & _PHENOPACKET_KEYS:
        return sanitise(case_from_phenopacket(document, where))
    if is_row(document):
        return sanitise(case_from_row(document, where))
    raise CaseError(f"{where}: the form of the case is unknown", hint=f"give {_FORMS}")


@constructor
def one_phenopacket(packet: str | Path | dict[str, Any], graph: FindingReader | None = None) -> Case:
    """Read exactly one phenopacket, from a file or from parsed JSON."""
    if isinstance(packet, dict):
        case = sanitise(case_from_phenopacket(packet))
    else:
        case = one_case(packet)
        if case.source != "phenopacket":
            raise CaseError(f"{packet}: not a phenopacket", hint="read other forms with `read_cases`")
    return case if graph is None else sanitise(case, graph)


def one_case(path: str | Path) -> Case:
    """Read a file that holds exactly one case."""
    cases = read_cases(path)
    first = next(cases)
    if isinstance(first, Failure):
        raise CaseError(first.message)
    if next(cases, None) is not None:
        raise CaseError(f"{path}: the file holds several cases", hint="read them with `read_cases`")
    return first


def _files(folder: Path) -> list[Path]:
    ends = tuple(suffix + extra for suffix in SUFFIXES for extra in ("", ".gz"))
    return sorted(file for file in folder.rglob("*") if file.name.lower().endswith(ends) and file.is_file())


def _file(file: Path, known: Known) -> Iterator[Case | Failure]:
    try:
        with file.open("rb") as stream:
            yield from parse_cases(stream, str(file), known=known)
    except OSError as error:
        raise CaseError(f"{file}: cannot be read", hint=error.strerror or str(error)) from error


def _parse(stream: io.TextIOWrapper, where: str, known: Known) -> Iterator[Case | Failure]:
    lines = enumerate(_lines(stream, where), start=1)
    number, line = next(((at, text) for at, text in lines if text.strip()), (0, ""))
    if not line:
        raise CaseError(f"{where}: it is empty", hint=f"give {_FORMS}")
    if line.lstrip()[0] not in "{[":
        if _is_header(line):
            yield from _table([line, *(text for _, text in lines)], where, number, known)
            return
        if _WEB_PAGE.match(line):
            raise CaseError(f"{where}: it is a web page", hint="save the file that the page offers")
        yield _plain_text(_decoded(line + stream.read(MAX_CHARACTERS + 1), where), where)
        return
    try:
        document = json.loads(line)
    except _BAD_JSON:
        yield from _whole(line, stream, where, number)
        return
    if _UNDECODED.search(line):
        yield _line(line, f"{where} line {number}")
    else:
        yield from _documents(document, f"{where} line {number}")
    for at, text in lines:
        if text.strip():
            yield _line(text, f"{where} line {at}")


def _is_header(line: str) -> bool:
    names, _ = header(line)
    known = bool(set(names) & set(CONTENT)) or is_patients(names) or form_of(names) is not None
    return len(names) > 1 and known


def _table(lines: list[str], where: str, first: int, known: Known) -> Iterator[Case | Failure]:
    names = header(lines[0])[0]
    patients, published = is_patients(names), form_of(names) is not None
    check_columns(names, where)
    for row in table_rows(lines, () if published else tuple(PATIENT_COLUMNS) if patients else CONTENT):
        if isinstance(row, BadRow):
            place = f"{where} line {row.line + first - 1}"
            yield Failure(place, f"{place}: {row.reason}: mend the line")
        else:
            place = f"{where} line {row[0] + first - 1}"
            try:
                if patients:
                    yield sanitise(case_from_patient(row[1], row[0] + first - 1, place, known))
                else:
                    yield sanitise(case_from_row(row_of(row[1], place) if published else row[1], place))
            except CaseError as error:
                yield Failure(place, str(error), row[1].get("id", ""))


def _lines(stream: io.TextIOWrapper, where: str) -> Iterator[str]:
    while line := stream.readline(MAX_DOCUMENT):
        if len(line) == MAX_DOCUMENT and not line.endswith("\n"):
            raise _too_long(where)
        yield line


def _too_long(where: str) -> CaseError:
    message = f"{where}: one document has more than {MAX_DOCUMENT:,} characters"
    return CaseError(message, hint="give one case a line, as JSON lines")


def _whole(line: str, stream: io.TextIOWrapper, where: str, number: int) -> Iterator[Case | Failure]:
    rest = stream.read(MAX_DOCUMENT)
    if stream.read(1):
        raise _too_long(where)
    try:
        document = json.loads(line + rest)
    except _BAD_JSON as error:
        lines = [(number, line), *enumerate(rest.split("\n"), start=number + 1)]
        parts = [(at, text) for at, text in lines if text.strip()]
        if not any(_is_json(text) for _, text in parts[1:3]):
            raise CaseError(f"{where}: it is not valid JSON ({error})", hint="mend or fetch the file again") from error
        for at, text in parts:
            yield _line(text, f"{where} line {at}")
        return
    _decoded(rest, where)
    yield from _documents(document, where)


def _decoded(text: str, where: str) -> str:
    if _UNDECODED.search(text):
        raise CaseError(f"{where}: it is not UTF-8 text", hint=_IN_UTF8)
    return text


def _documents(document: object, where: str) -> Iterator[Case | Failure]:
    if isinstance(document, list) and row_of_list(document, where) is not None:
        yield _document(document, where)
    elif isinstance(document, list):
        if not document:
            raise CaseError(f"{where}: the list holds no case", hint=f"give {_FORMS}")
        for number, inner in enumerate(document):
            yield _document(inner, f"{where}[{number}]")
    elif isinstance(document, dict) and (released := list(dialogues(document))):
        for id, inner in released:
            yield _document({"id": id, **inner} if isinstance(inner, dict) else inner, f"{where} {id[:40]!r}")
    else:
        yield _document(document, where)


def _line(line: str, where: str) -> Case | Failure:
    try:
        _decoded(line, where)
        return _document(json.loads(line), where)
    except _BAD_JSON as error:
        return Failure(where, f"{where}: it is not valid JSON ({error}): mend the line")
    except CaseError as error:
        return Failure(where, str(error))


def _document(document: object, where: str) -> Case | Failure:
    try:
        return case_from_document(document, where)
    except CaseError as error:
        identifier = document.get("id") if isinstance(document, dict) else None
        return Failure(where, str(error), identifier if isinstance(identifier, str) else "")


def _is_json(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except _BAD_JSON:
        return False


def _plain_text(text: str, where: str) -> Case | Failure:
    if "\0" in text:
        return Failure(where, f"{where}: it is not text: {_IN_UTF8}")
    lines = [_TERM_LINE.fullmatch(line.strip()) for line in text.splitlines() if line.strip()]
    try:
        if all(lines):
            terms = [(found["id"], bool(found["absent"])) for found in lines if found]
            observed = [identifier for identifier, absent in terms if not absent]
            excluded = [identifier for identifier, absent in terms if absent]
            return sanitise(case_from_json({"observed": observed, "excluded": excluded}, where))
        return case_from_text(text)
    except CaseError as error:
        return Failure(where, f"{where}: {error}")
