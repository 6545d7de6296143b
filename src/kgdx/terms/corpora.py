"""Folders of texts: corpora as MedRAG publishes them, in JSON lines with their own chunks and ids, and documents.

A chunk of a corpus stays as it is, so that what is found can be compared with what others find; a document is cut at
ends of sentences. Nothing that cannot be read stops a folder: it is counted and named.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from kgdx.errors import UsageError
from kgdx.lazy import lazy_pattern
from kgdx.terms.documents import READERS, Unreadable, clean, parts_of
from kgdx.terms.text_index import Place, TextRecord
from kgdx.terms.text_segment import TextPiece

MAX_CHARS = 1_000
"""Characters of a piece of a document at most."""
MAX_CHUNK = 10_000
"""Characters of a chunk of a corpus at most; a longer one is cut as documents are."""
MAX_LINE = 8 * 2**20
"""Bytes of a line at most."""
LINES = (".jsonl", ".jsonl.gz")
"""Endings of corpora."""

FETCHED = "abstracts"
"""Tag of the abstracts that were fetched from PubMed, which no folder can have."""

_TAG = lazy_pattern(r"[\w.-]{1,60}")
_BREAK = lazy_pattern(r"(?<=[.!?。！？])\s*|\n+")
_STATPEARLS = lazy_pattern(r"article-\d+_\d+")
_PUBMED = lazy_pattern(r"pubmed\d+n\d+_\d+")


def cut(text: str, longest: int = MAX_CHARS) -> Iterator[str]:
    """Cut a text at ends of sentences into pieces of a length at most.

    Example:
        >>> list(cut("One two. Three four. Five.", 20))
        ['One two. Three four.', 'Five.']
    """
    held = ""
    for sentence in filter(None, (each.strip() for each in _BREAK.split(text))):
        for start in range(0, len(sentence), longest):
            part = sentence[start : start + longest]
            if held and len(held) + 1 + len(part) > longest:
                yield held
                held = part
            else:
                held = f"{held} {part}" if held else part
    if held:
        yield held


def pieces_of(id: str, title: str, text: str, source: str, longest: int = MAX_CHARS) -> Iterator[TextPiece]:
    """Return the pieces of one text; of one without text its title."""
    number = 0
    for number, part in enumerate(cut(text, longest), 1):
        yield TextPiece(id if number == 1 else f"{id}#{number}", title, part, source)
    if not number and title:
        yield TextPiece(id, title, "", source)


class RefusedLine(Exception):
    """A line that is no chunk; its words fit others too."""


def chunk(line: bytes, source: str) -> tuple[TextPiece, ...]:
    """Return the pieces of a line: one, unless the chunk is longer than any of a corpus should be."""
    row = _object(line)
    id = row.get("id")
    if isinstance(id, int) and not isinstance(id, bool):
        id = str(id)
    if not isinstance(id, str) or not id.strip():
        raise RefusedLine("no id")
    title = row.get("title") or ""
    text = row.get("content")
    if text is None:
        text = row.get("contents")
        if isinstance(text, str) and isinstance(title, str) and title and text.startswith(title):
            text = text[len(title) :].lstrip(". ")
    if text is None:
        raise RefusedLine("neither content nor contents")
    if not isinstance(text, str) or not isinstance(title, str):
        raise RefusedLine("a title or content that is no text")
    id, title, text = clean(id), clean(title), clean(text).strip()
    if not text and not title:
        raise RefusedLine("no text")
    if len(text) > MAX_CHUNK:
        return tuple(pieces_of(id, title, text, source, MAX_CHUNK))
    return (TextPiece(id, title, text, source),)


def _object(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise RefusedLine("no UTF-8") from None
    except (ValueError, RecursionError):
        raise RefusedLine("no JSON") from None
    if not isinstance(row, dict):
        raise RefusedLine("no object")
    return row


def kind_of(row: dict[str, Any]) -> str:
    """Return which corpus a line of JSON is from, by the fields and ids that MedRAG gives it."""
    id, title = str(row.get("id")), str(row.get("title"))
    if "PMID" in row or _PUBMED.fullmatch(id):
        return "PubMed abstracts"
    if _STATPEARLS.fullmatch(id):
        return "StatPearls"
    if "wiki_id" in row or id.lower().startswith("wiki"):
        return "Wikipedia"
    return "textbooks" if id.rpartition("_")[0] == title else "chunks"


@dataclass(frozen=True, slots=True)
class Corpus:
    """A folder of texts, or one file."""

    folder: Path
    tag: str
    files: tuple[Path, ...]
    others: int = 0

    @classmethod
    def of(cls, folder: Path, tag: str) -> Corpus:
        """Look at a folder, or take one file."""
        if not _TAG.fullmatch(tag) or tag == FETCHED:
            raise UsageError(f"a source cannot be called {tag[:40]!r}", hint="use letters, digits, '.', '_' and '-'")
        read = f"files ending in {', '.join((*READERS, *LINES))} are read"
        if folder.is_file():
            files, others = [folder], 0
        elif folder.is_dir():
            inside = sorted(each for each in folder.rglob("*") if each.is_file())
            inside = [each for each in inside if not any(part[0] == "." for part in each.relative_to(folder).parts)]
            files = [each for each in inside if _read(each)]
            others = len(inside) - len(files)
        else:
            raise UsageError(f"there is no folder {folder}", hint=f"give one with texts; {read}")
        if not files or not _read(files[0]):
            raise UsageError(f"{folder} holds no text", hint=read)
        return cls(folder if folder.is_dir() else folder.parent, tag, tuple(files), others)

    @property
    def fingerprint(self) -> str:
        """Digest of the names, sizes and times of change of all files."""
        state = [(self._name(each), each.stat().st_size, each.stat().st_mtime_ns) for each in self.files]
        return hashlib.sha256(json.dumps([self.tag, state]).encode()).hexdigest()

    def kinds(self) -> dict[str, int]:
        """Return what the files are → how many; corpora by the first line of the first file of each folder."""
        found: Counter[str] = Counter()
        known: dict[Path, str] = {}
        for file in self.files:
            if file.name.endswith(LINES):
                if file.parent not in known:
                    known[file.parent] = _first_kind(file)
                found[known[file.parent]] += 1
            else:
                found[file.suffix.lower().lstrip(".").upper()] += 1
        return dict(found)

    def records(self, start: Place) -> Iterator[TextRecord]:
        """Read from a place on; files before it are not opened."""
        for number in range(start[0], len(self.files)):
            file, first = self.files[number], start[1] if number == start[0] else 0
            name = self._name(file)
            if file.name.endswith(LINES):
                yield from self._lines(file, name, number, first)
            elif not first:
                yield self._document(file, name, (number, 0))

    def _lines(self, file: Path, name: str, number: int, first: int) -> Iterator[TextRecord]:
        row = -1
        try:
            with _opened(file) as stream:
                for row, line in enumerate(_limited(stream)):
                    if row < first or (line is not None and not line.strip()):
                        continue
                    try:
                        pieces = chunk(line, self.tag) if line is not None else _too_long()
                        yield TextRecord((number, row), pieces, where=f"{name}:{row + 1}")
                    except RefusedLine as error:
                        yield TextRecord((number, row), (), str(error), f"{name}:{row + 1}: {error}")
        except (OSError, EOFError, zlib.error) as error:
            what = "a damaged file" if file.suffix == ".gz" else "a file that cannot be read"
            reason = (getattr(error, "strerror", None) or str(error)).strip()
            if row + 1 >= first:
                yield TextRecord((number, row + 1), (), what, f"{name}:{row + 2}: {what} ({reason})")

    def _document(self, file: Path, name: str, at: Place) -> TextRecord:
        try:
            parts = parts_of(file)
        except Unreadable as error:
            return TextRecord(at, (), str(error), f"{name}: {error}")
        except OSError as error:
            what = "a file that cannot be read"
            return TextRecord(at, (), what, f"{name}: {what} ({error.strerror})")
        title = clean(file.stem)
        pieces = [
            piece for part, text in parts for piece in pieces_of(f"{self.tag}:{name}{part}", title, text, self.tag)
        ]
        return TextRecord(at, tuple(piece for piece in pieces if piece.text), where=name)

    def _name(self, file: Path) -> str:
        return clean(file.relative_to(self.folder).as_posix())


def _read(file: Path) -> bool:
    return file.name.endswith(LINES) or file.suffix.lower() in READERS


def _opened(file: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb"))


def _limited(stream: BinaryIO) -> Iterator[bytes | None]:
    while line := stream.readline(MAX_LINE):
        if len(line) < MAX_LINE or line.endswith(b"\n"):
            yield line
            continue
        while (more := stream.readline(MAX_LINE)) and not more.endswith(b"\n"):
            pass
        yield None


def _too_long() -> tuple[TextPiece, ...]:
    raise RefusedLine(f"a line longer than {MAX_LINE >> 20} MiB")


def _first_kind(file: Path) -> str:
    try:
        with _opened(file) as stream:
            return kind_of(_object(next(iter(_limited(stream))) or b""))
    except (OSError, EOFError, zlib.error, StopIteration, RefusedLine):
        return "chunks"
