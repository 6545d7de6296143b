"""Paired comparison: intervals that agree with SciPy's, wins and losses, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kgdx.errors import UsageError
from kgdx.evaluate.metrics import compare, interval, sign_test

scores = st.floats(0, 1)


def test_interval_is_that_of_scipys_bca() -> None:
    values = np.random.default_rng(3).beta(0.5, 2.0, 60)
    ours = interval(values, range(60), resamples=20_000)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(4)
    ).confidence_interval
    assert ours["mean"] == pytest.approx(values.mean())
    assert (ours["low"], ours["high"]) == pytest.approx((theirs.low, theirs.high), abs=0.006)


def test_interval_covers_the_true_mean_about_as_often_as_it_says() -> None:
    generator = np.random.default_rng(1)
    covered = 0
    for number in range(200):
        found = interval(generator.exponential(1.0, 40), range(40), seed=number, resamples=1_000)
        assert found["low"] is not None and found["high"] is not None
        covered += found["low"] <= 1.0 <= found["high"]
    assert covered >= 175


def test_paraphrases_of_one_question_make_the_interval_no_narrower() -> None:
    values = np.random.default_rng(2).uniform(size=20)
    alone = interval(values, range(20))
    thrice = interval(np.repeat(values, 3), np.repeat(np.arange(20), 3).tolist())
    assert (thrice["mean"], thrice["low"], thrice["high"]) == pytest.approx(
        (alone["mean"], alone["low"], alone["high"])
    )


def test_interval_of_equal_values_is_a_point_and_of_one_value_none() -> None:
    assert interval([0.5, 0.5, 0.5], range(3))["low"] == 0.5
    only = interval([0.5], [0])
    assert (only["mean"], only["low"], only["high"]) == (0.5, None, None)


def test_differences_below_the_margin_are_ties_and_one_of_the_margin_is_none() -> None:
    found = compare([0.30, 0.34, 0.90, 0.10], [0.25, 0.30, 0.20, 0.40], margin=0.05)
    assert (found["wins"], found["ties"], found["losses"]) == (2, 1, 1)
    exact = compare([0.5, 0.5], [0.5, 0.4], margin=0.0)
    assert (exact["wins"], exact["ties"], exact["losses"]) == (1, 1, 0)


def test_sign_test_is_scipys() -> None:
    for wins, losses in [(7, 2), (3, 3), (0, 9), (40, 61)]:
        assert sign_test(wins, losses) == pytest.approx(stats.binomtest(wins, wins + losses).pvalue)
    assert sign_test(560, 500) == pytest.approx(stats.binomtest(560, 1060).pvalue, rel=0.01)


@given(st.lists(st.tuples(scores, scores), min_size=2, max_size=12))
def test_comparison_turns_round_with_its_arms(pairs: list[tuple[float, float]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    there, back = compare(first, second, resamples=200), compare(second, first, resamples=200)
    assert (there["wins"], there["ties"], there["losses"]) == (back["losses"], back["ties"], back["wins"])
    assert there["difference"]["mean"] == pytest.approx(-back["difference"]["mean"])
    assert there["n"] == there["wins"] + there["ties"] + there["losses"] == len(pairs)


@given(st.lists(scores, min_size=2, max_size=12))
def test_interval_lies_within_the_values_and_is_the_same_for_the_same_seed(values: list[float]) -> None:
    found = interval(values, range(len(values)), resamples=300)
    assert found["low"] is not None and found["high"] is not None
    assert min(values) - 1e-9 <= found["low"] <= found["high"] <= max(values) + 1e-9
    assert found == interval(values, range(len(values)), resamples=300)


@pytest.mark.parametrize(
    ("treated", "control", "margin", "reason"),
    [
        ([], [], 0.05, "0 scores"),
        ([1.0], [1.0, 0.0], 0.05, "paired with 2"),
        ([float("nan")], [1.0], 0.05, "no finite number"),
        ([1.0], [1.0], -0.1, "margin is -0.1"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    treated: list[float], control: list[float], margin: float, reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        compare(treated, control, margin=margin)


def test_classic_figures_are_scipys() -> None:
    generator = np.random.default_rng(5)
    treated, control = generator.uniform(size=40), generator.uniform(size=40) / 2
    found = compare(treated.tolist(), control.tolist())
    theirs = stats.ttest_rel(treated, control)
    assert (found["t"], found["t_p"]) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert found["cohens_d"] == pytest.approx(theirs.statistic / 40**0.5)
    assert found["deviations"] == pytest.approx((treated.std(ddof=1), control.std(ddof=1)))
    assert found["gain"] == pytest.approx(treated.mean() / control.mean() - 1)


def test_paraphrases_make_t_no_greater() -> None:
    treated, control = np.random.default_rng(6).uniform(size=(2, 20))
    alone = compare(treated.tolist(), control.tolist())
    groups = np.repeat(np.arange(20), 3).tolist()
    thrice = compare(np.repeat(treated, 3).tolist(), np.repeat(control, 3).tolist(), groups)
    assert thrice["t"] == pytest.approx(alone["t"])


def test_what_cannot_be_told_is_none() -> None:
    one = compare([0.5], [0.0])
    assert (one["deviations"], one["t"], one["cohens_d"], one["gain"]) == (None, None, None, None)
    even = compare([0.5, 0.6], [0.4, 0.5])
    assert even["t"] is None and even["gain"] == pytest.approx(0.1 / 0.45)
