"""Sentence encoders by name, and the vectors of names kept on disk so that none is encoded twice."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from kgdx.align.cascade import Meaning
from kgdx.config import Settings
from kgdx.errors import MissingExtraError, StoreError, UsageError
from kgdx.store.shared_file import open_shared
from kgdx.text.encoder import Encoder, MiniLM, Vectors

MINILM = "minilm"
TRANSFORMERS = "sentence-transformers"
_STEP = 2048
_ASKED = 500


class SentenceTransformer:
    """Any model of the sentence-transformers library, such as ``pritamdeka/S-PubMedBert-MS-MARCO``.

    Args:
        model: Name on the hub, or a folder. The library fetches what is not on this machine.

    Raises:
        MissingExtraError: The extra ``transformers`` is not installed.
        UsageError: There is no such model.
    """

    def __init__(self, model: str) -> None:
        try:
            from sentence_transformers import SentenceTransformer as Model
        except ImportError as error:
            raise MissingExtraError(f"the encoder {TRANSFORMERS}:{model}", "transformers") from error
        try:
            self._model: Any = Model(model)
        except (OSError, ValueError) as error:
            hint = "check its name, or give the folder that it is in"
            raise UsageError(f"the sentence encoder {model!r} cannot be loaded ({error})", hint=hint) from error
        self.name = f"{TRANSFORMERS}-{hashlib.sha256(model.encode()).hexdigest()[:12]}"

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row of length 1 for each text."""
        vectors: Vectors = self._model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(vectors, np.float32)


def encoder(name: str) -> Encoder:
    """Return a sentence encoder by name: ``minilm``, or ``sentence-transformers:MODEL``.

    Raises:
        MissingExtraError: What it needs is not installed.
        UsageError: There is no such encoder.

    Example:
        >>> encoder("word2vec")
        Traceback (most recent call last):
            ...
        kgdx.errors.UsageError: no sentence encoder is called 'word2vec': use minilm, or sentence-transformers:MODEL
    """
    kind, _, model = name.partition(":")
    if name == MINILM:
        return MiniLM()
    if kind == TRANSFORMERS and model:
        return SentenceTransformer(model)
    raise UsageError(f"no sentence encoder is called {name!r}", hint=f"use {MINILM}, or {TRANSFORMERS}:MODEL")


def meaning(settings: Settings, progress: Callable[[str], None] | None = None) -> Meaning | None:
    """Return the encoder that the settings name, if they name one; its vectors are kept in the cache folder.

    Example:
        >>> meaning(Settings.load(environ={"KGDX_HOME": "/tmp/kgdx-doc"})) is None
        True
    """
    if settings.align_encoder is None:
        return None
    inner = encoder(settings.align_encoder)
    return Meaning(Kept(inner, settings.cache / "vectors", progress), "zh" in settings.align_languages)


class Kept:
    """An encoder whose vectors are kept in a file, by text; several processes may share it.

    Args:
        inner: What encodes the texts that are not there yet.
        folder: Where the file lies; ``None`` keeps nothing.
        progress: Told in words what takes long.
    """

    def __init__(
        self, inner: Encoder, folder: Path | None = None, progress: Callable[[str], None] | None = None
    ) -> None:
        self.name = inner.name
        self._inner, self._progress = inner, progress or (lambda _: None)
        self._file = folder / f"{inner.name}.sqlite" if folder is not None else None

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row of length 1 for each text.

        Raises:
            StoreError: The file cannot be read or written.
        """
        if self._file is None or not texts:
            return self._inner.encode(texts)
        keys = [hashlib.blake2b(text.encode(), digest_size=16).digest() for text in texts]
        with self._opened(self._file) as database:
            found = _read(database, keys)
            new = [(key, text) for key, text in dict(zip(keys, texts, strict=True)).items() if key not in found]
            for start in range(0, len(new), _STEP):
                if len(new) > _STEP:
                    self._progress(f"encoding names, {start / len(new):.0%} of {len(new):,}")
                block = new[start : start + _STEP]
                vectors = self._inner.encode([text for _, text in block])
                rows = [(key, vector.tobytes()) for (key, _), vector in zip(block, vectors, strict=True)]
                with database:
                    database.execute("BEGIN IMMEDIATE")
                    database.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
                found.update(rows)
        return np.stack([np.frombuffer(found[key], np.float32) for key in keys])

    @contextmanager
    def _opened(self, file: Path) -> Iterator[sqlite3.Connection]:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with closing(open_shared(file, 60)) as database:
                database.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")
                yield database
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"the encoder's file {file} cannot be used ({error})", hint="remove it") from error


def _read(database: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    for start in range(0, len(keys), _ASKED):
        asked = keys[start : start + _ASKED]
        marks = ", ".join("?" * len(asked))
        found.update(database.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", asked))
    return found
