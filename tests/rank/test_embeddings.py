"""What was learned is read without torch, and its scores become probabilities that hold."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from kgdx.errors import AbsentError, StaleSnapshotError, StoreError, UsageError
from kgdx.graph.snapshot import Snapshot
from kgdx.rank.embeddings import CARD, NODES, SCHEMA, WEIGHTS, Embeddings
from kgdx.rank.link_prediction import (
    Calibration,
    LinkPredictor,
    calibrate,
    calibration_error,
    nearest,
    reliability,
    shared,
)


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


SCORES = st.lists(st.floats(-50, 50), max_size=60).map(np.array)


def embeddings(relation: str = "has_symptom", kinds: tuple[str, str] = ("disease", "symptom")) -> Embeddings:
    """Three heads and four tails in two dimensions."""
    latents = {kinds[0]: np.array([[1.0, 0], [0.9, 0.1], [0, 1]], np.float32)}
    latents.setdefault(kinds[1], np.array([[2.0, 0], [1, 0.1], [0, 2], [0.1, 1]], np.float32))
    links = np.array([[0, 1, 2], [0, 1, 2]])
    arrays = {f"{kind}.latent": own for kind, own in latents.items()} | {f"links.{relation}": links}
    card = {"schema": SCHEMA, "nodes": {kind: len(own) for kind, own in latents.items()}, "links": {relation: 3}}
    weights = {f"decoder.{relation}": np.ones(2, np.float32)}
    held = {f"held_out.{relation}.links": np.array([2.0, 1.5]), f"held_out.{relation}.others": np.array([0.0, 0.5])}
    return Embeddings(card, arrays, weights | held)


def test_a_probability_is_the_share_of_links_among_pairs_of_that_score() -> None:
    draws = np.random.default_rng(0)
    links, others = draws.normal(2, 1, 4000), draws.normal(0, 1, 400_000)
    fitted = Calibration.fit(links[:2000], others[:200_000], prior=0.01)
    held = np.concatenate([links[2000:], others[200_000:]])
    stated, truth = fitted.probability(held), np.repeat([1, 0], [2000, 200_000])
    for low, high in ((0, 0.01), (0.01, 0.1), (0.1, 0.3), (0.3, 1)):
        own = (stated >= low) & (stated < high)
        assert truth[own].mean() == pytest.approx(stated[own].mean(), rel=0.25)
    assert fitted.error < 0.03


@given(SCORES, SCORES, st.floats(1e-9, 0.5), SCORES)
def test_probabilities_are_finite_and_keep_the_order(
    links: np.ndarray, others: np.ndarray, prior: float, asked: np.ndarray
) -> None:
    fitted = Calibration.fit(links, others, prior)
    shares = fitted.probability(np.sort(asked))
    assert np.isfinite(shares).all() and (shares >= 0).all() and (shares <= 1).all()
    assert (np.diff(shares) >= -1e-12).all()


def test_scores_that_tell_nothing_leave_the_rate_of_links() -> None:
    draws = np.random.default_rng(1)
    fitted = Calibration.fit(-draws.normal(1, 1, 500), draws.normal(0, 1, 5000), prior=0.01)
    assert np.ptp(fitted.log_odds) == pytest.approx(0, abs=1.5)
    assert Calibration.fit(np.zeros(0), np.zeros(0), 0.25).probability(np.zeros(1)).tolist() == [0.25]


def test_the_error_of_calibration_weighs_bins() -> None:
    bins = reliability(np.array([0.05, 0.05, 0.95]), np.array([0.0, 1.0, 1.0]), np.array([1.0, 1.0, 2.0]))
    assert calibration_error(bins) == pytest.approx(0.5 * 0.45 + 0.5 * 0.05)


def test_new_links_come_with_the_known_ones_that_are_like_them() -> None:
    predictor = LinkPredictor(embeddings(), "has_symptom")
    first = predictor.expect(0, top=1)[0]
    assert (first.at, first.known) == (1, False)
    assert [each.at for each in first.similar] == [0] and [each.at for each in first.shared] == [1]
    assert [each.at for each in predictor.expect(0, top=9)] == [1, 3, 2]
    assert [(each.at, each.known) for each in predictor.expect(0, top=2, known=True)] == [(0, True), (1, False)]
    assert [each.at for each in predictor.expect(0, side=1, top=9)] == [1, 2]


def test_a_prediction_says_where_its_node_stands_by_degree_alone() -> None:
    both = embeddings()
    arrays = {**both.arrays, "links.has_symptom": np.array([[0, 1, 1, 2, 2], [0, 1, 2, 2, 3]])}
    predictor = LinkPredictor(Embeddings(both.card, arrays, both.weights), "has_symptom")
    assert {each.at: each.by_degree for each in predictor.expect(0, top=9)} == {2: 1, 1: 2, 3: 2}


def test_without_held_out_links_scores_order_and_no_probability_is_told() -> None:
    both = embeddings()
    bare = {name: each for name, each in both.weights.items() if not name.startswith("held_out.")}
    found = LinkPredictor(Embeddings(both.card, both.arrays, bare), "has_symptom").expect(0, top=9)
    assert [each.at for each in found] == [1, 3, 2] and {each.probability for each in found} == {None}


def test_links_of_nodes_of_one_kind_have_no_direction() -> None:
    links = embeddings("has_comorbidity", ("disease", "disease"))
    predictor = LinkPredictor(
        Embeddings(links.card, {**links.arrays, "links.has_comorbidity": np.array([[0], [1]])}, links.weights),
        "has_comorbidity",
    )
    assert predictor.known(1, 0).tolist() == [0] and predictor.known(0, 0).tolist() == [1]
    assert [each.at for each in predictor.expect(1, top=9)] == [2], "neither itself nor what it is known to go with"


def test_relations_that_are_computed_are_not_predicted() -> None:
    with pytest.raises(AbsentError, match="is computed, not stated"):
        LinkPredictor(embeddings("similar_diseases", ("disease", "disease")), "similar_diseases")


def test_a_calibration_leaves_the_known_links_out() -> None:
    one, other = np.eye(3), np.eye(3)
    links = np.array([[0, 1, 2], [0, 1, 2]])
    fitted = calibrate(np.ones(50), lambda heads, tails: heads @ tails.T, one, other, links)
    assert (
        fitted.probability(np.ones(1))[0] > 0.9 > 0.2 > fitted.probability(np.array([-1.0]))[0]
        or len(fitted.scores) == 1
    )


def test_nodes_near_each_other_share_their_links() -> None:
    vectors = np.array([[1.0, 0], [0, 0], [1, 0.1]])
    assert [near.at for near in nearest(vectors, 0)] == [2, 1] and nearest(vectors[:1], 0) == ()
    both = embeddings()
    arrays = {**both.arrays, "links.has_symptom": np.array([[0, 1, 1], [0, 0, 1]])}
    assert list(shared(Embeddings(both.card, arrays, both.weights), "disease", 0, 1)) == [("symptom", 0)]


def test_what_both_have_orders_beside_the_cosine() -> None:
    vectors = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.01]])
    assert [each.at for each in nearest(vectors, 0)] == [1, 2]
    assert [
        each.at for each in nearest(vectors, 0, besides=[np.array([0.0, 0.0, 9.0]), np.array([0.0, 0.0, 1.0])])
    ] == [2, 1]
