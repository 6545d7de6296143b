"""Of what sources say in words, the sentences that say what was asked for are picked, short enough to be quoted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.answer.passages import LONGEST, passages
from kgdx.answer.wants import TEXTS


def told(text: str, kind: str = "definition", disease: str = "d", name: str = "百日咳") -> dict[str, Any]:
    return {"disease": disease, "disease_name": name, "kind": kind, "text": text, "source": "book"}


PERTUSSIS = (
    "百日咳(pertussis)是由百日咳杆菌所致的急性呼吸道传染病。多见于5岁以下的小儿，病死率高。百日咳经呼吸道飞沫传播。"
)


@pytest.mark.parametrize(
    ("about", "first"),
    [
        ("cause", "由百日咳杆菌所致"),
        ("transmission", "飞沫传播"),
        ("onset", "5岁以下"),
        ("course", "病死率"),
        ("definition", "百日咳(pertussis)是"),
    ],
)
def test_the_sentence_that_says_it_is_found(about: str, first: str) -> None:
    assert first in passages([told(PERTUSSIS)], about, 3)[0]["text"]


def test_nothing_is_quoted_that_says_something_else() -> None:
    assert passages([told(PERTUSSIS)], "diet", 3) == []
    assert passages([told("传染科", "department")], "transmission", 3) == []


def test_a_text_of_its_own_kind_comes_before_a_sentence_of_another() -> None:
    rows = [told(PERTUSSIS), told("百日咳鲍特菌。", "cause")]
    assert passages(rows, "cause", 3)[0]["text"] == "百日咳鲍特菌。"


def test_of_entries_that_say_as_much_the_one_called_so_comes_first() -> None:
    rows = [told("由甲引起。", disease="d1"), told("由乙引起。", disease="d2")]
    assert passages(rows, "cause", 1, named=["d2"])[0]["text"] == "由乙引起。"


def test_an_article_is_quoted_where_it_speaks_of_the_disease_and_not_of_a_sign() -> None:
    article = told("A rash is caused by heat. Measles is caused by a virus.", "article", name="measles")
    assert [each["text"] for each in passages([article], "cause", 3)] == ["Measles is caused by a virus."]


@given(st.text(max_size=900), st.sampled_from(sorted(TEXTS)))
def test_no_passage_is_longer_than_a_quotation(text: str, about: str) -> None:
    for each in passages([told(text)], about, 5):
        assert 0 < len(each["text"]) <= LONGEST + 2
