"""What was learned is read without torch, and refused where it does not fit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from kgdx.errors import AbsentError, StaleSnapshotError, StoreError, UsageError
from kgdx.graph.snapshot import Snapshot
from kgdx.rank.embeddings import CARD, NODES, SCHEMA, WEIGHTS, Embeddings


@pytest.fixture
def folder(tmp_path: Path, snapshot: Snapshot) -> Path:
    """Two diseases and three symptoms in two dimensions, written by hand."""
    card = {
        "schema": SCHEMA,
        "name": "tiny",
        "graph": snapshot.content,
        "sentence_encoder": "letters",
        "training": {"encoder": "vgae"},
        "nodes": {"disease": 2, "symptom": 3},
        "links": {"has_symptom": 3},
        "ends": {"has_symptom": ["disease", "symptom"]},
        "width": 2,
        "input_width": 3,
    }
    arrays = {"links.has_symptom": np.array([[0, 0, 1], [0, 1, 2]], np.int32)}
    for kind, size in card["nodes"].items():  # type: ignore[attr-defined]
        arrays[f"{kind}.row"] = np.arange(size, dtype=np.int32)
        arrays[f"{kind}.latent"] = np.arange(2 * size, dtype=np.float32).reshape(size, 2)
        arrays[f"{kind}.input"] = np.eye(size, 3, dtype=np.float32)
    weights = {
        "decoder.has_symptom": np.array([1, 2], np.float32),
        "held_out.has_symptom.links": np.array([1.0], np.float32),
        "held_out.has_symptom.others": np.array([-1.0], np.float32),
    }
    (tmp_path / CARD).write_text(json.dumps(card))
    save_file(arrays, tmp_path / NODES)
    save_file(weights, tmp_path / WEIGHTS)
    return tmp_path


def changed(folder: Path, **values: Any) -> None:
    card = json.loads((folder / CARD).read_text())
    (folder / CARD).write_text(json.dumps(card | values))


def test_vectors_are_read_by_kind(folder: Path, snapshot: Snapshot) -> None:
    made = Embeddings.open(folder, snapshot, "letters")
    assert list(made.kinds) == ["disease", "symptom"] and list(made.relations) == ["has_symptom"]
    assert made.nodes("disease").tolist() == [[0, 1], [2, 3]]
    assert made.inputs("symptom").shape == (3, 3) and made.rows("symptom").tolist() == [0, 1, 2]


def test_a_patient_is_the_mean_of_the_symptoms_that_the_phrases_stand_for(folder: Path) -> None:
    made = Embeddings.open(folder)
    phrases = np.array([[0.9, 0.1, 0], [0, 0, 1], [0.8, 0, 0.2]], np.float32)
    assert made.nearest(phrases).tolist() == [0, 2]
    assert made.patient(phrases).tolist() == [2, 3]  # type: ignore[union-attr]
    assert made.nearest(phrases, least=0.95).tolist() == [2]
    assert made.patient(phrases, least=2.0) is None
    assert made.patient(phrases[:0]) is None


def test_links_are_scored_by_the_decoder_of_their_relation(folder: Path) -> None:
    made = Embeddings.open(folder)
    assert made.logits("has_symptom", made.nodes("disease"), made.nodes("symptom")[:1]).tolist() == [[2], [6]]
    assert [part.tolist() for part in made.held_out("has_symptom")] == [[1.0], [-1.0]]


def test_what_is_not_there_is_said(folder: Path, tmp_path: Path) -> None:
    made = Embeddings.open(folder)
    with pytest.raises(AbsentError, match="no nodes of the kind 'gene': they have disease, symptom"):
        made.nodes("gene")
    with pytest.raises(AbsentError, match="know no relation 'is_a'"):
        made.logits("is_a", made.nodes("disease"), made.nodes("disease"))
    with pytest.raises(AbsentError, match="no links of 'is_a' were held out"):
        made.held_out("is_a")
    with pytest.raises(AbsentError, match="train them with `kgdx learn embeddings`"):
        Embeddings.open(tmp_path / "none")


def test_embeddings_of_another_graph_or_encoder_are_stale(folder: Path, snapshot: Snapshot) -> None:
    with pytest.raises(StaleSnapshotError, match=r"of the encoder letters, not minilm: train again"):
        Embeddings.open(folder, snapshot, "minilm")
    changed(folder, graph="0" * 64)
    with pytest.raises(StaleSnapshotError, match=r"stale: they are of another graph: train again with `kgdx learn"):
        Embeddings.open(folder, snapshot)


def test_vectors_of_another_width_are_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="vectors of width 4 do not fit embeddings of width 3: encode with letters"):
        Embeddings.open(folder).nearest(np.zeros((1, 4), np.float32))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"schema": "kgdx.embeddings/9"}, "not of kgdx.embeddings/1"),
        ({"width": 3}, "disease.latent has the shape"),
        ({"nodes": {"drug": 1}}, "drug.row"),
        ({"nodes": None}, "items"),
        ({"links": None}, "items"),
        ({"training": {}}, "'encoder' is missing"),
        ({"links": {"has_symptom": 4}}, "links.has_symptom are not 4 links"),
        ({"links": {"is_a": 1}}, "'links.is_a' is missing"),
        ({"ends": {"has_symptom": ["symptom", "disease"]}}, "links.has_symptom are not"),
    ],
)
def test_a_card_that_does_not_fit_is_damage(folder: Path, values: dict[str, Any], said: str) -> None:
    changed(folder, **values)
    with pytest.raises(StoreError, match=f"damaged.*{said}.*train again"):
        Embeddings.open(folder)


def test_damaged_files_are_said_in_one_line(folder: Path) -> None:
    (folder / NODES).write_bytes(b"x" * 100)
    with pytest.raises(StoreError, match="are damaged") as error:
        Embeddings.open(folder)
    assert "\n" not in str(error.value)
    (folder / CARD).write_text("[]")
    with pytest.raises(StoreError, match="are damaged"):
        Embeddings.open(folder)


def test_vectors_that_are_no_numbers_are_damage(folder: Path) -> None:
    from safetensors.numpy import load_file

    arrays = load_file(folder / NODES)
    arrays["disease.latent"][0, 0] = np.nan
    save_file(arrays, folder / NODES)
    with pytest.raises(StoreError, match=r"disease\.latent holds what is no number"):
        Embeddings.open(folder)


@pytest.mark.parametrize("name", ["graph", "name", "sentence_encoder", "training", "width"])
def test_a_card_that_says_too_little_is_damage(folder: Path, snapshot: Snapshot, name: str) -> None:
    card = json.loads((folder / CARD).read_text())
    del card[name]
    (folder / CARD).write_text(json.dumps(card))
    with pytest.raises(StoreError, match=f"damaged \\('{name}' is missing\\): train again"):
        Embeddings.open(folder, snapshot)


def test_weights_that_are_no_numbers_or_missing_are_damage(folder: Path) -> None:
    from safetensors.numpy import load_file

    weights = load_file(folder / WEIGHTS)
    save_file({**weights, "decoder.has_symptom": np.array([1, np.nan], np.float32)}, folder / WEIGHTS)
    with pytest.raises(StoreError, match=r"decoder\.has_symptom holds what is no number"):
        Embeddings.open(folder)
    del weights["decoder.has_symptom"]
    save_file(weights, folder / WEIGHTS)
    with pytest.raises(StoreError, match=r"'decoder\.has_symptom' is missing"):
        Embeddings.open(folder)


@pytest.mark.parametrize("vectors", [np.full((1, 3), np.nan), np.array([["a", "b", "c"]]), None])
def test_vectors_of_phrases_that_are_no_numbers_are_refused(folder: Path, vectors: Any) -> None:
    with pytest.raises(UsageError, match="vectors of phrases hold what is no number: encode with letters"):
        Embeddings.open(folder).patient(vectors)


def test_reading_needs_no_torch() -> None:
    code = "import sys, kgdx.rank.embeddings, kgdx.rank.embeddings; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
