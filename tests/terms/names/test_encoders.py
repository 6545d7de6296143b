"""Encoders by name, and vectors that are not made twice."""

from __future__ import annotations

import importlib.util
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from kgdx.config import Settings
from kgdx.errors import ConfigError, MissingExtraError, StoreError
from kgdx.terms.encoder import CachedEncoder, Vectors, encoder, meaning


class Counting:
    """An encoder that remembers what it was asked for."""

    name = "counting"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        return np.array([[len(text), 1.0] for text in texts], np.float32)


def test_vectors_are_kept_between_runs(tmp_path: Path) -> None:
    inner = Counting()
    first = CachedEncoder(inner, tmp_path).encode(["fever", "rash", "fever"])
    again = CachedEncoder(inner, tmp_path).encode(["rash", "cough"])
    assert inner.asked == ["fever", "rash", "cough"]
    assert first.tolist() == [[5, 1], [4, 1], [5, 1]]
    assert again.tolist() == [[4, 1], [5, 1]]


def test_without_a_folder_nothing_is_kept() -> None:
    inner = Counting()
    for _ in range(2):
        CachedEncoder(inner).encode(["fever"])
    assert inner.asked == ["fever", "fever"]


def test_a_damaged_file_or_vector_is_made_anew(tmp_path: Path) -> None:
    file, inner = tmp_path / "counting.sqlite", Counting()
    file.write_text("no database" * 500)
    for _ in range(2):
        assert CachedEncoder(inner, tmp_path).encode(["fever"]).tolist() == [[5, 1]]
    assert inner.asked == ["fever"]
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("UPDATE vectors SET vector = zeroblob(length(vector))")
    assert CachedEncoder(inner, tmp_path).encode(["fever"]).tolist() == [[5, 1]]
    assert inner.asked == ["fever", "fever"]


def test_a_file_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "counting.sqlite").mkdir()
    with pytest.raises(StoreError, match=r"counting\.sqlite cannot be used .*: remove it"):
        CachedEncoder(Counting(), tmp_path).encode(["fever"])


def test_no_more_is_kept_than_was_allowed(tmp_path: Path) -> None:
    inner = Counting()
    kept = CachedEncoder(inner, tmp_path, most=16_384)
    for number in range(40):
        kept.encode([f"{number} {at}" for at in range(50)])
    assert (tmp_path / "counting.sqlite").stat().st_size < 3 * 16_384
    asked = len(inner.asked)
    kept.encode([f"39 {at}" for at in range(50)])
    assert len(inner.asked) == asked


def test_settings_name_the_encoder(tmp_path: Path) -> None:
    assert meaning(Settings.load(environ={"KGDX_HOME": str(tmp_path)})) is None
    (tmp_path / "config.toml").write_text('[align]\nencoder = "minilm"\nlanguages = "en, zh"\n')
    settings = Settings.load(environ={"KGDX_HOME": str(tmp_path)})
    assert (settings.align_encoder, settings.align_languages) == ("minilm", ("en", "zh"))
    with pytest.raises(ConfigError, match="'english' is no language"):
        Settings.load(environ={"KGDX_HOME": str(tmp_path), "KGDX_ALIGN_LANGUAGES": "english"})


@pytest.mark.skipif(importlib.util.find_spec("sentence_transformers") is not None, reason="the extra is installed")
def test_a_model_whose_library_is_missing_says_what_to_install() -> None:
    with pytest.raises(MissingExtraError, match=r'pip install "kgdx\[transformers\]"'):
        encoder("sentence-transformers:pritamdeka/S-PubMedBert-MS-MARCO")
