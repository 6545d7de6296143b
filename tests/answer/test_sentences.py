"""Sentences and marks as people and models write them, in English and Chinese."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.answer.sentences import marks, split


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Fever is typical [E1]. Cough is too [E2].", ["Fever is typical [E1].", "Cough is too [E2]."]),
        ("Fever is typical.[E1] Cough is too.[E2]", ["Fever is typical.[E1]", "Cough is too.[E2]"]),
        ("Fever. [E1][E2] Cough. [E3]", ["Fever. [E1][E2]", "Cough. [E3]"]),
        ("[E1] Fever is typical. [E2] Cough is too.", ["[E1] Fever is typical.", "[E2] Cough is too."]),
        ("It was 39.5 °C, i.e. high, as Dr. Doe says [E1].", ["It was 39.5 °C, i.e. high, as Dr. Doe says [E1]."]),
        ("It is due to E. coli [E1]. See Fig. 3 of it.", ["It is due to E. coli [E1].", "See Fig. 3 of it."]),
        ("Doe et al. saw it in J. Smith's patients.", ["Doe et al. saw it in J. Smith's patients."]),
        ("It is hepatitis B. It spreads.", ["It is hepatitis B.", "It spreads."]),
        ("Is it flu? Yes! It is.", ["Is it flu?", "Yes!", "It is."]),
        ('He said "it hurts." Then he left.', ['He said "it hurts."', "Then he left."]),
        ("发热常见[E1]。咳嗽也常见【E2】。", ["发热常见[E1]。", "咳嗽也常见【E2】。"]),
        ("发热常见。[E1]咳嗽也常见。【E2】", ["发热常见。[E1]", "咳嗽也常见。【E2】"]),
        ("是流感吗？是的！多休息。", ["是流感吗？", "是的！", "多休息。"]),
        ("体温39.5℃,有咳嗽.伴头痛.", ["体温39.5℃,有咳嗽.", "伴头痛."]),
        ("他说：“疼。”然后离开。", ["他说：“疼。”", "然后离开。"]),
        ("见 https://example.org/a.b?c=d 一文。", ["见 https://example.org/a.b?c=d 一文。"]),
        ("no full stop at the end", ["no full stop at the end"]),
        ("", []),
        (" \n\n ", []),
    ],
)
def test_text_is_split_where_a_sentence_ends(text: str, sentences: list[str]) -> None:
    assert [piece.text for piece in split(text)] == sentences


def test_lines_of_a_list_are_sentences_and_the_line_that_leads_to_them_is_known() -> None:
    pieces = split("## Signs\nThese are typical:\n- fever [E1]\n2. cough [E2]\n\nSo much for it.")
    assert [(piece.text, piece.item, piece.title) for piece in pieces] == [
        ("## Signs", False, True),
        ("These are typical:", False, True),
        ("- fever [E1]", True, False),
        ("2. cough [E2]", True, False),
        ("So much for it.", False, False),
    ]
    assert [piece.gap for piece in pieces] == ["", "\n", "\n", "\n", "\n\n"]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("[E1]", ["E1"]),
        ("[E1, E3]", ["E1", "E3"]),
        ("[E1][E2]", ["E1", "E2"]),
        ("[E1;E2]（E3）", ["E1", "E2", "E3"]),
        ("【E1、E2】", ["E1", "E2"]),
        ("［Ｅ１，Ｅ２］", ["E1", "E2"]),
        ("【证据：E7】", ["E7"]),
        ("[evidence E7 and E8]", ["E7", "E8"]),
        ("[e4]", ["E4"]),
        ("[E3-E5]", ["E3", "E4", "E5"]),
        ("[E3–5]", ["E3", "E4", "E5"]),
        ("[E007]", ["E7"]),
        ("[^E1]", ["E1"]),
        ("[E1](https://example.org/x)", ["E1"]),
        ("[1]", ["1"]),
        ("[1, 2-4]", ["1", "2", "4"]),
        ("[E5-E2]", []),
        ("(1)", []),
        ("[HP:0001250]", []),
        ("[E1 ubiquitin ligase]", []),
        ("(see below) [sic] [] [E]", []),
        ("vitamin E2 and E. coli", []),
    ],
)
def test_marks_are_read_in_every_form(text: str, ids: list[str]) -> None:
    assert [id for mark in marks(text) for id in mark.ids] == ids


def test_a_mark_over_a_boundless_span_names_no_more_than_it_may() -> None:
    assert [len(mark.ids) for mark in marks("[E1-E999999]")] == [201]


@given(st.text(alphabet="aE1 .。!?[]【】\n-，;(）有「”", max_size=120))
def test_splitting_loses_and_adds_nothing_but_space(text: str) -> None:
    assert "".join("".join(piece.text for piece in split(text)).split()) == "".join(text.split())


@given(st.text(max_size=200))
def test_any_text_is_split_and_its_marks_lie_within_it(text: str) -> None:
    for piece in split(text):
        assert piece.text.strip() == piece.text != ""
    for mark in marks(text):
        assert 0 <= mark.start < mark.end <= len(text)
        assert mark.ids
