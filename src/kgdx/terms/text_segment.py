"""A segment of an index of texts: how often each word stands in each of at most a million pieces, memory-mapped.

Counts are kept, not weights: the parameters of BM25 and the numbers of all segments come in when a question is asked.
So several segments answer as one index, and other parameters need no second copy.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from kgdx.arrays.sparse import Ints, mapped
from kgdx.files import known
from kgdx.files.private import private_folder
from kgdx.terms.word_index import WordNumbers, counted, words_of

TEXTS, ABOUT = "texts.arrow", "about.json"
ARRAYS = ("words", "start", "text", "tf", "length", "source", "ids")
"""Words as keys, sorted; where the entries of each begin; piece and count of each entry; number of words and source of
each piece; digests of the records' ids, sorted."""
MOST = 255
"""A word that stands in a piece more often than this counts as often as this."""
_KEY, _HEAD = 24, 8


class TextPiece(NamedTuple):
    """A piece of a text."""

    id: str
    title: str
    text: str
    source: str


_SCHEMA = pa.schema([(name, pa.string()) for name in TextPiece._fields])


def keys_of(words: Iterable[str]) -> Ints:
    """Return what words are looked up by: their bytes, or a digest in the place of those beyond the width.

    Example:
        >>> keys_of(["lens", "x" * 99])
        array([b'lens', b'xxxxxxxx72b252a45f1d6962'], dtype='|S24')
    """
    return np.array([_key(word.encode()) for word in words], f"S{_KEY}")


def _key(word: bytes) -> bytes:
    if len(word) <= _KEY:
        return word
    return word[:_HEAD] + hashlib.blake2b(word, digest_size=(_KEY - _HEAD) // 2).hexdigest().encode()


def digests_of(ids: Iterable[str]) -> Ints:
    """Return a number of 64 bits for each id, the same on every machine."""
    made = b"".join(hashlib.blake2b(each.encode(), digest_size=8).digest() for each in ids)
    return np.frombuffer(made, "<u8")


def write(folder: Path, pieces: Sequence[TextPiece], ids: Ints, about: dict[str, object]) -> None:
    """Write a segment of pieces, in one step."""
    vocabulary = WordNumbers()
    length = np.zeros(len(pieces), np.int32)

    def told() -> Iterable[Sequence[str]]:
        for at, piece in enumerate(pieces):
            words = words_of(f"{piece.title} {piece.text}")
            length[at] = len(words)
            yield words

    word, text, tf = counted(told(), vocabulary)
    keys = keys_of(vocabulary)
    order = np.argsort(keys)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    place = np.argsort(rank[word], kind="stable")
    sources = list(dict.fromkeys(piece.source for piece in pieces))
    codes = {name: code for code, name in enumerate(sources)}
    arrays = {
        "words": keys[order],
        "start": np.searchsorted(rank[word][place], np.arange(len(keys) + 1)),
        "text": text[place].astype(np.int32),
        "tf": np.minimum(tf[place], MOST).astype(np.uint8),
        "length": length,
        "source": np.array([codes[piece.source] for piece in pieces], np.uint16),
        "ids": np.sort(ids),
    }
    columns = [pa.array(column, pa.string()) for column in zip(*pieces, strict=True)]
    with _Whole(folder) as new:
        batches = [pa.record_batch(columns, schema=_SCHEMA)] if pieces else []
        _save(new, arrays, batches, {**about, "sources": sources})


def merge(folder: Path, parts: Sequence[TextSegment], about: dict[str, object]) -> None:
    """Write one segment that holds several, in one step; its entries are in memory, 5 bytes each."""
    words = np.unique(np.concatenate([part.words for part in parts])) if parts else keys_of(())
    number = [np.searchsorted(words, part.words) for part in parts]
    start = np.zeros(len(words) + 1, np.int64)
    for part, numbers in zip(parts, number, strict=True):
        start[numbers + 1] += np.diff(part.start)
    np.cumsum(start, out=start)
    sources = list(dict.fromkeys(name for part in parts for name in part.sources))
    with _Whole(folder) as new:
        texts, counts = np.empty(start[-1], np.int32), np.empty(start[-1], np.uint8)
        cursor, first = start[:-1].copy(), 0
        for part, numbers in zip(parts, number, strict=True):
            many = np.diff(part.start)
            place = np.arange(len(part.text)) + np.repeat(cursor[numbers] - part.start[:-1], many)
            texts[place] = part.text + first
            counts[place] = part.tf
            cursor[numbers] += many
            first += len(part)
        codes = [np.array([sources.index(name) for name in part.sources], np.uint16) for part in parts]
        arrays = {
            "words": words,
            "start": start,
            "text": texts,
            "tf": counts,
            "length": _joined([part.length for part in parts], np.int32),
            "source": _joined([code[part.source] for code, part in zip(codes, parts, strict=True)], np.uint16),
            "ids": np.sort(_joined([part.ids for part in parts], np.uint64)),
        }
        batches = (batch for part in parts for batch in part.table.to_batches())
        _save(new, arrays, batches, {**about, "sources": sources})


def _save(folder: Path, arrays: Mapping[str, Ints], batches: Iterable[pa.RecordBatch], about: object) -> None:
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    with pa.OSFile(str(folder / TEXTS), "wb") as sink, pa.ipc.new_file(sink, _SCHEMA) as writer:
        for batch in batches:
            writer.write_batch(batch)
    (folder / ABOUT).write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")


def _joined(arrays: list[Ints], dtype: type) -> Ints:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype)


class _Whole:
    """Makes a folder beside where it belongs, and moves it there when all of it is on the disk."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._new = folder, folder.with_name("unfinished")

    def __enter__(self) -> Path:
        shutil.rmtree(self._new, ignore_errors=True)
        return private_folder(self._new)

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            known.place(self._new, self._folder)


class TextSegment:
    """A segment, opened for reading; nothing of its pieces is read before it is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.words, self.start, self.text, self.tf, self.length, self.source, self.ids = (
            mapped(folder / f"{name}.npy") for name in ARRAYS
        )
        self.about = json.loads((folder / ABOUT).read_bytes())
        self.sources: list[str] = self.about["sources"]

    def __len__(self) -> int:
        return len(self.length)

    @cached_property
    def table(self) -> pa.Table:
        return pa.ipc.open_file(pa.memory_map(str(self._folder / TEXTS))).read_all()

    @cached_property
    def total(self) -> int:
        return int(self.length.sum(dtype=np.int64))

    def find(self, keys: Ints) -> Ints:
        """Return the numbers of words by their keys; -1 for those that it does not hold."""
        if not len(self.words):
            return np.full(len(keys), -1)
        at = np.minimum(np.searchsorted(self.words, keys), len(self.words) - 1)
        return np.where(self.words[at] == keys, at, -1)

    def entries(self, word: int) -> slice:
        return slice(int(self.start[word]), int(self.start[word + 1]))

    def pieces(self, rows: Iterable[int]) -> list[TextPiece]:
        return [TextPiece(**row) for at in rows for row in self.table.slice(at, 1).to_pylist()]

    def of(self, sources: Sequence[str]) -> Ints | None:
        """Return which pieces are of sources; ``None`` where all are."""
        wanted = np.array([name in sources for name in self.sources], bool)
        return None if not sources or wanted.all() else wanted[self.source]
