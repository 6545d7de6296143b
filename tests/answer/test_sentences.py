"""Sentences and marks as people and models write them are held against the evidence that they name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kgdx
from actions.packs import FLU, filled, row, state
from kgdx.answer.artifacts import Retrieved
from kgdx.answer.evidence_pack import EvidencePack, pack
from kgdx.answer.sentences import MAX_CHARS, Agreement, check, marks, split
from kgdx.answer.templated_answer import templated


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


PACK = filled()


def more() -> EvidencePack:
    """E1 fever, E2 cough, E3 a drug of flu, E4 a symptom of another disease, E5 and E6 Chinese."""
    return pack(
        state(
            retrieved=(
                Retrieved(
                    "symptoms_of_diseases", {}, (row(FLU, "S:fever", "fever"), row(FLU, "S:cough", "cough")), "get"
                ),
                Retrieved("drugs_of_diseases", {}, (row(FLU, "D:1", "oseltamivir"),), "get"),
                Retrieved("symptoms_of_diseases", {}, (row("D:m", "S:r", "rash", disease_name="measles"),), "get"),
                Retrieved("symptoms_of_diseases", {}, (row("D:z", "S:z", "剧烈咳嗽", disease_name="百日咳"),), "get"),
                Retrieved("drugs_of_diseases", {}, (row("D:z", "D:y", "红霉素", disease_name="百日咳"),), "get"),
            ),
            described=(),
            citations=(),
        )
    )


@pytest.mark.parametrize(
    "sentence",
    [
        "It is cured by bleach [E1].",
        "Flu is cured by bleach [E1].",
        "Fever is treated with bleach [E1].",
        "Fever is cured by rest [E1].",
        "The drug of choice is bleach [E3].",
        "The drugs are oseltamivir and bleach [E3].",
        "The symptoms of flu are bleach poisoning [E1] and cough [E2].",
        "Fever is not a symptom of flu [E1].",
        "Measles has the symptom fever [E1].",
        "Fever is contraindicated [E1].",
        "Mutations of the gene cause fever [E1].",
        "用漂白剂可以治愈百日咳[E5]。",
        "百日咳的治疗药物有漂白剂[E6]。",
        "剧烈咳嗽不是百日咳的症状[E5]。",
        "剧烈咳嗽可用青霉素治疗[E5]。",
    ],
)
def test_a_claim_that_its_evidence_does_not_make_is_marked_and_counted(sentence: str) -> None:
    made = check(sentence, more())
    assert made.disagreeing == 1 and not made.sentences[0].agrees
    assert "[not what its evidence says]" in made.text or "［与所引证据不符］" in made.text


@pytest.mark.parametrize(
    "sentence",
    [
        "Fever is typical [E1].",
        "The symptoms of flu are fever [E1] and cough [E2].",
        "Fever and cough are typical of influenza [E1][E2].",
        "[E1] Fever is a symptom. ",
        "Flu commonly presents with fever and coughing [E1, E2].",
        "Influenza is treated with oseltamivir [E3].",
        "In adults, the drug is oseltamivir [E3].",
        "Measles, unlike flu, has rash [E4].",
        "百日咳的症状有剧烈咳嗽[E5]。",
        "百日咳可用红霉素治疗[E6]。",
        "流感常见发热和咳嗽[E1][E2]。",
        "流感的发热（very frequent, 80-99%）和咳嗽（3 of 4）[E1][E2]。",
        "Of flu, both are given as obligate (100%) [E1][E2].",
        "Altogether six different things are counted for the two of them [E1][E2][E3][E4][E5][E6].",
        "- fever [E1]",
        "Not enough evidence: no gene is recorded.",
    ],
)
def test_a_claim_in_other_words_agrees(sentence: str) -> None:
    made = check(sentence, more())
    assert made.disagreeing == 0 and "not what" not in made.text


def test_a_name_in_the_other_language_names_the_same() -> None:
    called = replace(more(), called={"S:fever": {"en": "fever", "zh": "发烧"}})
    assert check("流感的表现为发烧[E1]。", called).disagreeing == 0
    assert check("流感的表现为皮疹[E1]。", called).disagreeing == 1


def test_words_of_a_description_may_be_told_and_others_may_not() -> None:
    description = next(item.id for item in PACK.items if item.kind == "description")
    assert check(f"Flu is an infection that spreads [{description}].", PACK).disagreeing == 0
    assert check(f"It is cured by bleach [{description}].", PACK).disagreeing == 1


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_the_template_says_agrees(language: str) -> None:
    for each in (PACK, more()):
        agreement = Agreement(each)
        assert [s.text for s in templated(each, language).sentences if not agreement.holds(s.text)] == []


QUESTIONS = (
    "What are the symptoms of {name}?",
    "Which genes are associated with {name}?",
    "Which drugs treat {name}?",
    "What is {name}?",
    "{name}有哪些症状？",
    "{name}的相关基因有哪些？",
)


@pytest.mark.heavy
def test_no_templated_answer_of_a_real_graph_is_doubted(default_graph: Path) -> None:
    with kgdx.open(default_graph) as graph:
        names = [each["name"] for each in graph.run("search_diseases", text="syndrome", limit=12)]
        said = wrong = 0
        for name in names:
            for question in QUESTIONS:
                answer = graph.ask(question.format(name=name))
                agreement = Agreement(answer.pack)
                for language in ("en", "zh"):
                    sentences = templated(answer.pack, language).sentences
                    said += len(sentences)
                    wrong += sum(not agreement.holds(each.text) for each in sentences)
    assert said > 100 and wrong == 0


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
