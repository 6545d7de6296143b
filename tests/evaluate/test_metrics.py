"""Ranking metrics, and precision, recall and F1 of reading text, counted by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kgdx.case.patient import Finding, Issue
from kgdx.errors import SourceError, UsageError
from kgdx.evaluate.metrics import (
    METRICS,
    MISS,
    FamilyRanks,
    bootstrap,
    compare,
    interval,
    mean_over,
    mean_rank,
    sign_test,
    summary,
    values,
)
from kgdx.evaluate.text_accuracy import evaluate_text

SCORES = np.array([5.0, 3.0, 3.0, 3.0, 1.0])


@pytest.mark.parametrize(("right", "rank"), [([0], 1.0), ([2], 3.0), ([4], 5.0), ([4, 1], 3.0), ([-1, 0], 1.0)])
def test_ties_share_the_mean_of_their_ranks_and_the_best_right_one_counts(right: list[int], rank: float) -> None:
    assert mean_rank(SCORES, right) == rank


@pytest.mark.parametrize("right", [[], [-1]])
def test_a_label_that_is_no_candidate_is_a_miss(right: list[int]) -> None:
    assert mean_rank(SCORES, right) == MISS
    assert values([MISS]).tolist() == [[0.0] * len(METRICS)]


def test_a_shared_first_place_is_no_top_1() -> None:
    assert values([1.5])[0].tolist() == [0, 1, 1, 1, 1, 1, pytest.approx(2 / 3)]


def test_summary_has_the_fractions_and_an_interval_around_each() -> None:
    found = summary([1, 2, 4, 9, MISS], list("abcde"))
    assert found["n"] == 5
    assert [found[name] for name in METRICS] == pytest.approx(
        [0.2, 0.4, 0.6, 0.8, 0.8, 0.8, (1 + 1 / 2 + 1 / 4 + 1 / 9) / 5]
    )
    assert all(low <= found[name] <= high for name, (low, high) in found["ci95"].items())


def test_intervals_resample_publications_and_not_cases() -> None:
    ranks = [1.0] * 50 + [20.0] * 50
    single = summary(ranks, list(range(100)))["ci95"]["top1"]
    clustered = summary(ranks, ["a"] * 50 + ["b"] * 50)["ci95"]["top1"]
    assert clustered == [0.0, 1.0]
    assert 0.3 < single[0] < single[1] < 0.7


def test_intervals_are_the_same_each_time() -> None:
    each = values([1.0, 3.0, 12.0])
    assert np.array_equal(bootstrap(each, "abc"), bootstrap(each, "abc"))


@given(ranks=st.lists(st.integers(1, 50), min_size=1, max_size=30))
def test_a_wider_top_never_counts_less(ranks: list[int]) -> None:
    found = summary([float(rank) for rank in ranks], ranks)
    assert (
        0 <= found["top1"] <= found["top3"] <= found["top5"] <= found["top10"] <= found["top20"] <= found["top50"] <= 1
    )
    assert found["top1"] <= found["mrr"] <= 1


def test_a_disease_with_many_cases_counts_once() -> None:
    assert mean_over([1.0] * 9 + [50.0], ["a"] * 9 + ["b"])["top1"] == 0.5


def test_intervals_of_means_over_diseases_are_those_of_cases_where_each_has_one() -> None:
    ranks = [1.0, 30.0, 2.0, 1.0, 60.0, 4.0]
    over, micro = mean_over(ranks, range(6), range(6)), summary(ranks, range(6))
    assert over["ci95"]["top1"] == pytest.approx(micro["ci95"]["top1"])


def test_intervals_of_means_over_diseases_hold_the_mean() -> None:
    ranks, diseases = [1.0] * 40 + [20.0] * 10, ["common"] * 40 + list(map(str, range(10)))
    found = mean_over(ranks, diseases, range(50))
    low, high = found["ci95"]["top1"]
    assert found["top1"] == pytest.approx(1 / 11)
    assert low <= found["top1"] <= high < 0.6


def test_a_family_has_the_rank_of_its_best_member() -> None:
    families = FamilyRanks(np.array([7, 7, 2, 2, 5]))
    assert families.rank(SCORES, [1]) == 1.0  # a sister of the first
    assert families.rank(SCORES, [3]) == 2.0  # two of the equal scores are one row
    assert families.rank(SCORES, [4]) == 3.0
    assert families.rank(SCORES, []) == MISS


@given(
    scores=st.lists(st.integers(0, 5), min_size=1, max_size=20),
    data=st.data(),
)
def test_a_family_never_ranks_below_its_member(scores: list[int], data: st.DataObject) -> None:
    of = data.draw(st.lists(st.integers(0, 4), min_size=len(scores), max_size=len(scores)))
    right = data.draw(st.integers(0, len(scores) - 1))
    total = np.array(scores, float)
    assert FamilyRanks(np.array(of)).rank(total, [right]) <= mean_rank(total, [right])
    alone = FamilyRanks(np.arange(len(scores)))
    assert alone.rank(total, [right]) == mean_rank(total, [right])


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


class Terms:
    """One alternative id; everything else is current, but for HP:9999999, which is unknown."""

    def current(self, curie: str) -> tuple[Finding | None, list[Issue]]:
        if curie == "HP:9999999":
            return None, []
        return Finding({"HP:0000002": "HP:0000001"}.get(curie, curie)), []


class Reader:
    """Finds the ids that stand in a text."""

    terms = Terms()

    def mentions(self, text: str) -> list[Finding]:
        return [Finding(word) for word in text.split()]


def evaluated(*docs: dict[str, Any]) -> dict[str, float | int]:
    return evaluate_text(Reader(), docs)  # type: ignore[arg-type]


def doc(text: str, *gold: str) -> dict[str, Any]:
    return {"id": "1", "text": text, "mentions": [[0, 1, "x", curie] for curie in gold]}


def test_counts_are_pooled_over_documents() -> None:
    result = evaluated(doc("HP:0000001 HP:0000003", "HP:0000001"), doc("HP:0000005", "HP:0000005", "HP:0000006"))
    assert result["precision"] == pytest.approx(2 / 3)
    assert result["recall"] == pytest.approx(2 / 3)
    assert result["f1"] == pytest.approx(2 / 3)
    assert result["n"] == 2


def test_alternative_ids_stand_for_the_current_term_and_repeats_count_once() -> None:
    assert evaluated(doc("HP:0000001 HP:0000001", "HP:0000002", "HP:0000001"))["f1"] == 1


def test_gold_id_that_the_ontology_lost_is_missed() -> None:
    assert evaluated(doc("HP:0000001", "HP:0000001", "HP:9999999"))["recall"] == 0.5


def test_documents_without_findings_give_zero_not_an_error() -> None:
    assert evaluated(doc(""))["f1"] == 0


@pytest.mark.parametrize("bad", [{}, {"text": "x"}, {"text": 1, "mentions": []}, {"text": "x", "mentions": [[1]]}])
def test_unusable_document_is_named(bad: dict[str, Any]) -> None:
    with pytest.raises(SourceError, match="document 2"):
        evaluated(doc("HP:0000001"), bad)


def test_no_document_is_an_error() -> None:
    with pytest.raises(SourceError, match="no document"):
        evaluated()
