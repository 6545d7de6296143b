"""Answers beside findings in lists and forms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.terms.checklist import answers


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("fits: no", "absent"),
        ("fits - none", "absent"),
        ("fits (-)", "absent"),
        ("fits -ve,", "absent"),
        ("fits\tno\n", "absent"),
        ("fits: N", "absent"),
        ("fits | no |", "absent"),
        ("fits? No.", "absent"),
        ("fits: none reported", "absent"),
        ("fits: yes", "present"),
        ("fits +ve", "present"),
        ("fits (+)", "present"),
        ("fits: unknown", "unknown"),
        ("fits, no fever", None),
        ("fits: no fever", None),
        ("fits-like", None),
    ],
)
def test_the_answer_beside_a_finding_is_read(text: str, status: str | None) -> None:
    found = answers(text, [(0, 4)]).get(0)
    assert (found.status if found else None) == status


def test_an_answer_holds_for_what_a_slash_joins_and_not_for_more() -> None:
    text = "rash, fits/fever: nil"
    assert sorted(answers(text, [(0, 4), (6, 10), (11, 16)])) == [1, 2]


def test_an_empty_box_denies_only_where_another_is_ticked() -> None:
    spans = [(4, 8), (13, 18)]
    assert [str(each.status) for _, each in sorted(answers("[x] fits [ ] fever", spans).items())] == [
        "present",
        "absent",
    ]
    assert answers("[ ] fits", [(4, 8)])[0].status == "unknown"


@given(st.text(alphabet="ab :-()+no/yes[]x√□，。?\t", max_size=40), st.data())
def test_an_answer_stands_in_the_text_beside_its_finding(text: str, data: st.DataObject) -> None:
    ends = data.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=2).map(sorted))
    for each in answers(text, [(ends[0], ends[1])]).values():
        assert 0 <= each.start <= each.end <= len(text)
