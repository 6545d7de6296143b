"""An answer is held against its evidence: what the evidence does not carry is taken out and counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actions.packs import filled
from kgdx.answer.evidence_pack import EvidencePack
from kgdx.answer.sentences import MAX_CHARS, check

PACK = filled()


def test_marks_are_brought_into_one_form_and_kept_where_they_stand() -> None:
    made = check("Fever (E1) and cough【Ｅ２】 are typical. [E3, E4]", PACK)
    assert made.text == "Fever [E1] and cough[E2] are typical. [E3][E4]"
    assert made.sentences[0].cites == ("E1", "E2", "E3", "E4")
    assert (made.removed, made.unsupported, made.insufficient) == ((), 0, False)


@pytest.mark.parametrize(
    ("text", "shown", "removed"),
    [
        ("Fever is typical [E1][E99].", "Fever is typical [E1].", ("E99",)),
        ("Fever is typical [E98, E99].", "Fever is typical. [unsupported]", ("E98", "E99")),
        ("Fever is typical [E1] [2].", "Fever is typical [E1].", ("[2]",)),
        ("Fever is typical [E1] (PMID: 12345678).", "Fever is typical [E1].", ("PMID:12345678",)),
        ("Fever is typical [E1] (PMID 7; 12345678).", "Fever is typical [E1] (PMID:7).", ("PMID:12345678",)),
        ("Fever is typical [E1] (PMID:7).", "Fever is typical [E1] (PMID:7).", ()),
        ("See https://pubmed.ncbi.nlm.nih.gov/123/ [E1].", "See [E1].", ("PMID:123",)),
        ("See doi:10.9999/made.up [E1].", "See [E1].", ("doi:10.9999/made.up",)),
        ("See https://doi.org/10.1000/7 [E1].", "See https://doi.org/10.1000/7 [E1].", ()),
        ("发热常见（PMID：12345678）【E1】。", "发热常见[E1]。", ("PMID:12345678",)),
    ],
)
def test_what_no_evidence_carries_is_removed_and_counted(text: str, shown: str, removed: tuple[str, ...]) -> None:
    made = check(text + " Cough is typical [E2].", PACK)
    assert made.text.removesuffix(" Cough is typical [E2].") == shown
    assert made.removed == removed


def test_a_sentence_that_cites_nothing_is_marked_in_strict_mode_only() -> None:
    text = "Fever is typical [E1]. It is always deadly."
    strict, free = check(text, PACK), check(text, PACK, strict=False)
    assert strict.text == "Fever is typical [E1]. It is always deadly. [unsupported]"
    assert free.text == text
    assert strict.unsupported == free.unsupported == 1
    assert [each.supported for each in strict.sentences] == [True, False]


def test_a_sentence_that_cites_nothing_is_marked_in_chinese() -> None:
    made = check("发热常见[E1]。一定会死。", PACK)
    assert made.text == "发热常见[E1]。一定会死。［无依据］"


def test_an_answer_that_cites_nothing_at_all_says_so_first() -> None:
    made = check("It is deadly. Take aspirin.", PACK)
    assert made.insufficient
    assert made.unsupported == 2
    assert made.text.startswith("Not enough evidence: nothing below rests on what the graph returned.\nIt is deadly.")


@pytest.mark.parametrize("text", ["Not enough evidence: no dose is recorded.", "证据不足：没有剂量记录。"])
def test_saying_what_the_evidence_lacks_needs_no_mark(text: str) -> None:
    made = check(text, PACK)
    assert (made.text, made.unsupported, made.insufficient) == (text, 0, True)


def test_a_line_that_leads_to_a_list_rests_on_what_the_list_cites() -> None:
    assert check("These are typical:\n- fever [E1]\n- cough [E2]", PACK).unsupported == 0
    assert check("These are typical:\n- fever [E1]\n- death", PACK).unsupported == 2
    assert check("## Signs\nFever is typical [E1].", PACK).unsupported == 0
    claim = "You have to take ten tablets of warfarin every morning and every evening for the rest of your life:"
    assert check(f"{claim}\n- fever [E1]", PACK).unsupported == 1


def test_an_answer_without_end_is_cut_and_control_characters_are_dropped() -> None:
    made = check("Fever\x1b[31m is typical [E1].\x00 " * 10_000, PACK)
    assert len(made.text) < 2 * MAX_CHARS
    assert made.text.isprintable()


@given(st.text(alphabet="ab E123[],.。\nPMID:【】有", max_size=200), st.booleans())
def test_no_mark_outlives_the_check_that_the_evidence_does_not_have(text: str, strict: bool) -> None:
    made = check(text, PACK, strict=strict)
    assert set(made.cited) <= PACK.ids
    again = check(made.text.replace(" [unsupported]", "").replace("［无依据］", ""), PACK, strict=strict)
    assert again.removed == ()


@given(st.text(max_size=300))
def test_any_text_is_checked(text: str) -> None:
    made = check(text, EvidencePack())
    assert made.cited == ()
    assert made.to_dict()["text"] == made.text
