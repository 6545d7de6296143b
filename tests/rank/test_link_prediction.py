"""Scores become probabilities that hold, in the order of the scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.errors import AbsentError
from kgdx.rank.embeddings import SCHEMA, Embeddings
from kgdx.rank.link_prediction import (
    Calibration,
    LinkPredictor,
    calibrate,
    calibration_error,
    nearest,
    reliability,
    shared,
)

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
