"""Only a permutation is taken from what a model writes; orders are joined, fused and compared as the papers say."""

from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.policies.reordering import Order, concordance, fused, joined, read_order, windows

SIZE = 6


@given(st.text(max_size=400))
def test_whatever_is_written_gives_numbers_of_the_list_each_once_or_says_why_not(text: str) -> None:
    check(read_order(text, SIZE))


@given(st.lists(st.one_of(st.integers(-3, 99), st.text(max_size=5), st.none(), st.from_regex(r"C\d{1,3}"))))
def test_any_list_of_ids_is_made_a_permutation(ids: list[object]) -> None:
    found = read_order(json.dumps({"order": ids}), SIZE)
    check(found)
    if not found.fault:
        assert len(found.places) + found.unknown + found.repeated == len(ids)


def check(found: Order) -> None:
    assert len(set(found.places)) == len(found.places)
    assert all(0 <= each < SIZE for each in found.places)
    assert found.omitted == SIZE - len(found.places)
    assert bool(found.places) != bool(found.fault)
    assert all(0 <= each < SIZE for each in found.why)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ('{"thought": "[C1] first?", "order": ["C3", "C1"]}', (2, 0)),
        ('{"order": [3, "1", "C02"]}', (2, 0, 1)),
        ('["C3", "C1"]', (2, 0)),
        ("[3] > [1] > [2]", (2, 0, 1)),
        ("<answer>C3 > C1</answer>", (2, 0)),
        ('{"order": ["C3", "C1", "C', (2, 0)),
        ('{"order": [{"id": "C3", "because": "x"}, {"id": "C1"}]}', (2, 0)),
        ('{"notes": ["none"], "order": ["C3"]}', (2,)),
        ('{"排序": ["C3", "C1"]}', (2, 0)),
    ],
)
def test_orders_are_read_in_the_forms_that_models_write(text: str, places: tuple[int, ...]) -> None:
    assert read_order(text, SIZE).places == places


def test_reasons_come_as_a_list_an_object_or_with_the_ids() -> None:
    for written in (
        {"order": ["C2", "C1"], "why": [{"id": "C2", "because": "So."}, {"id": "C77", "because": "No."}]},
        {"order": ["C2", "C1"], "why": {"C2": "So.", "C77": "No."}},
        {"order": [{"id": "C2", "because": "So."}, "C1"]},
    ):
        assert read_order(json.dumps(written), SIZE).why == {1: "So."}


def test_half_an_id_is_not_taken_for_another_one() -> None:
    assert read_order('{"order": ["C3", "C12"', 20).places == (2,)
    assert read_order('{"order": ["C3", "C1', 20).places == (2,)


@given(st.integers(0, 120), st.integers(2, 40), st.integers(1, 40))
def test_windows_cover_the_list_from_the_back_to_the_front(count: int, size: int, step: int) -> None:
    parts = windows(count, size, step)
    covered = {place for begin, end in parts for place in range(begin, end)}
    assert covered == (set(range(count)) if count > 1 else set())
    assert all(end - begin <= size for begin, end in parts)
    assert [begin for begin, _ in parts] == sorted((begin for begin, _ in parts), reverse=True)


def test_the_best_of_the_list_reaches_the_front_through_the_windows() -> None:
    worth = Random(3).sample(range(100), 50)
    order = list(range(50))
    for begin, end in windows(50, 20, 10):
        order[begin:end] = sorted(order[begin:end], key=lambda each: worth[each])
    assert order[:10] == sorted(range(50), key=lambda each: worth[each])[:10]


@given(st.permutations(range(7)), st.lists(st.integers(-50, 50), min_size=7, max_size=7))
def test_fusion_leaves_a_permutation_and_its_ends_are_the_order_and_the_scores(
    order: list[int], scores: list[int]
) -> None:
    assert fused(order, scores, 1.0) == order
    ends = [scores[number] for number in fused(order, scores, 0.0)]
    assert ends == sorted(scores, reverse=True)
    assert sorted(fused(order, scores, 0.5)) == list(range(7))


def test_the_mean_place_counts_over_several_orders_and_ties_are_counted() -> None:
    assert joined([[2, 0, 1], [2, 1, 0]]) == ([2, 0, 1], 1)
    assert joined([[1, 0, 2]] * 3) == ([1, 0, 2], 0)


def test_correlation_of_orders() -> None:
    assert concordance([0, 1, 2, 3], [0, 1, 3, 2]) == pytest.approx(2 / 3)
