"""The answer without a language model: it reads well, cites every sentence, and says what is not there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from actions.fakes import Fake
from actions.packs import filled, row, state
from episode.states import state_of
from kgdx.actions import Explain, Extract, Rank, Respond
from kgdx.answer.artifacts import Retrieved, answer_of
from kgdx.answer.evidence_pack import EvidencePack, pack
from kgdx.answer.sentences import check
from kgdx.answer.templated_answer import templated
from kgdx.case import case_from_text
from kgdx.episode import State, step
from kgdx.errors import UsageError
from kgdx.results.cited import Resolved


def test_an_english_answer_reads_well_and_cites_every_sentence() -> None:
    assert templated(filled()).text == (
        "The symptoms recorded for flu are fever [E1] and cough [E2]. "
        "The disease recorded with fever and cough is flu [E3]. "
        "With cough, 1 of the 2 symptoms given, the disease is cold [E4]. "
        "Flu is an infection [E5]. It spreads [E5]. "
        "The MeSH heading of flu is Influenza, Human (MESH:D007251; C01.748.310) [E6]. "
        "A publication on flu is “On flu” (Doe J, J Test 2020, PMID:7) [E7]. "
        "The graph has no drugs for flu."
    )


def test_a_chinese_answer_reads_well_and_cites_every_sentence() -> None:
    found = (
        Retrieved("symptoms_of_diseases", {}, (row("D", "a", "发热"), row("D", "b", "咳嗽")), "get_symptom"),
        Retrieved("tests_of_diseases", {}, (row("D", "c", "血常规"),), "get_test"),
        Retrieved("cures_of_diseases", {"diseases": ["D"]}, (), "get_cure"),
    )
    resolved = (Resolved("流感", ("Disease",), ("D",), ("流感",), "exact", 1.0),)
    made = templated(pack(state_of(question="?", retrieved=found, resolved=resolved)), "zh")
    assert made.text == "流感的症状有发热[E1]、咳嗽[E2]。流感的推荐检查有血常规[E3]。图谱中没有流感的治疗方法记录。"
    assert made.language == "zh"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_sentence_passes_the_check_that_models_are_held_to(language: str) -> None:
    evidence = filled()
    made = templated(evidence, language)
    for sentence in made.sentences[:-1]:  # the last one says what is not there
        checked = check(sentence.text, evidence)
        assert (checked.removed, checked.unsupported) == ((), 0)
        assert set(sentence.cites) == set(checked.cited)
    assert (made.unsupported, made.removed, made.insufficient, made.author) == (0, (), False, "template")


def test_what_occurs_most_often_comes_first_and_a_long_list_says_how_many_are_left() -> None:
    rows = [row("D", f"P:{n}", f"sign {n}", numerator=n, denominator=40, aspect="P") for n in range(30)]
    rows.append(row("D", "P:i", "Autosomal dominant inheritance", aspect="I"))
    found = (Retrieved("phenotypes_of_diseases", {}, tuple(rows), "get_phenotype"),)
    first, second = templated(pack(state_of(question="?", retrieved=found))).sentences
    assert first.text.startswith("The features recorded for D are sign 29 (29/40) [E30], sign 28 (28/40) [E29]")
    assert first.text.endswith("[E19] and 18 more.")
    assert len(first.cites) == 12
    assert second.text == "The mode of inheritance recorded for D is Autosomal dominant inheritance [E31]."


def test_entries_of_one_name_are_one_in_the_answer_with_the_marks_of_both() -> None:
    rows = (row("D:1", "S:1", "fever"), row("D:2", "S:2", "fever"))
    resolved = (Resolved("flu", ("Disease",), ("D:1", "D:2"), ("flu", "flu")),)
    found = (Retrieved("symptoms_of_diseases", {}, rows, "get_symptom"),)
    made = templated(pack(state_of(question="?", retrieved=found, resolved=resolved)))
    assert made.text == "The symptom recorded for flu is fever [E1][E2]."


def test_a_case_is_answered_with_its_candidates_and_what_speaks_for_them() -> None:
    graph: Any = Fake()
    made = State(case_from_text("a seizure"), question="What is it?")
    for action in (Extract(), Rank(), Explain()):
        made = step(graph, made, action)
    assert templated(pack(made)).text == (
        "The diseases that fit the case best are, in this order, Tiny epilepsy (OMIM:100001) [E1]. "
        "In favour of Tiny epilepsy the case has name of HP:0001250 (3 of 4) [E2]."
    )


def test_a_class_of_frequency_stands_in_one_pair_of_brackets() -> None:
    graph: Any = Fake()
    made = State(case_from_text("a seizure"), question="What is it?")
    for action in (Extract(), Rank(), Explain()):
        made = step(graph, made, action)
    evidence = pack(made)
    items = [replace(each, details={**each.details, "frequency": "very frequent (80-99%)"}) for each in evidence.items]
    assert "HP:0001250 (very frequent, 80-99%) [E2]" in templated(replace(evidence, items=tuple(items))).text


def test_without_evidence_the_answer_says_so_and_names_what_is_near() -> None:
    unknown = Resolved("flou", ("Disease",), candidates=("flu", "floaters"))
    made = templated(EvidencePack(resolved=(unknown,)))
    assert made.text == "Not enough evidence: the graph has no entry called flou; near it are flu and floaters."
    assert made.insufficient
    made = templated(EvidencePack(resolved=(Resolved("流敢", ("Disease",)),)), "zh")
    assert made.text == "证据不足：图谱中没有名为“流敢”的条目；中文名称来自含有它们的来源：kgdx sources。"


def test_names_that_hold_marks_or_markup_stay_harmless() -> None:
    found = (Retrieved("symptoms_of_diseases", {}, (row("D", "S", "pain [E9]. <b>Die"),), "get_symptom"),)
    made = templated(pack(state_of(question="?", retrieved=found)))
    assert made.text == "The symptom recorded for D is pain (E9). ‹b>Die [E1]."
    assert made.cited == ("E1",)


def test_what_another_source_answers_is_not_said_to_be_missing() -> None:
    found = (
        Retrieved("symptoms_of_diseases", {"diseases": ["D"]}, (row("D", "S", "fever"),), "get_symptom"),
        Retrieved("phenotypes_of_diseases", {"diseases": ["D"]}, (), "get_phenotype"),
        Retrieved("medicines_of_diseases", {"diseases": ["D"]}, (), "get_medicine"),
    )
    made = templated(pack(state_of(question="?", retrieved=found)))
    assert made.text == "The symptom recorded for D is fever [E1]. The graph has no medicines for D."


def test_what_was_looked_for_in_vain_is_named_when_nothing_was_found() -> None:
    found = (
        Retrieved("drugs_of_diseases", {"diseases": ["D"]}, (), "get_drug"),
        Retrieved("cures_of_diseases", {"diseases": ["D"]}, (), "get_cure"),
    )
    resolved = (Resolved("flu", ("Disease",), ("D",), ("flu",), "exact", 1.0),)
    made = templated(pack(state_of(question="?", retrieved=found, resolved=resolved)))
    assert made.text == (
        "Not enough evidence: the graph returned nothing for this question. "
        "The graph has no drugs or treatments for flu."
    )
    assert made.insufficient


@pytest.mark.parametrize(
    ("language", "asked", "unasked"),
    [("en", "the graph returned nothing", "nothing was asked"), ("zh", "图谱没有返回", "没有就该问题查询图谱")],
)
def test_that_nothing_was_asked_is_not_that_nothing_was_found(language: str, asked: str, unasked: str) -> None:
    found = (Retrieved("drugs_of_diseases", {"diseases": ["D"]}, (), "get_drug"),)
    assert asked in templated(pack(state_of(question="?", retrieved=found)), language).text
    assert unasked in templated(pack(state_of(question="?")), language).text


def test_responding_without_a_text_answers_by_template_in_the_language_of_the_question() -> None:
    graph: Any = Fake()
    made = step(graph, state("流感有什么症状？"), Respond())
    assert made.finished == "answered"
    answer = answer_of(made)
    assert answer is not None
    assert answer.text.startswith("flu的症状有fever[E1]、cough[E2]。")
    assert [(ran.name, ran.parameters["items"]) for s in made.log for ran in s.operations] == [("template", 7)]


def test_responding_with_a_text_checks_it() -> None:
    graph: Any = Fake()
    answer = answer_of(step(graph, state(), Respond(text="Fever is typical [E1][E77].", author="qwen3")))
    assert answer is not None
    assert (answer.text, answer.removed, answer.author) == ("Fever is typical [E1].", ("E77",), "qwen3")


def test_the_record_of_an_answer_holds_none_of_its_words() -> None:
    action = Respond(text="the patient Ada has a fever [E1]")
    assert "Ada" not in str(action.parameters())
    assert action.words()["text"] == "the patient Ada has a fever [E1]"
    segment = step(Fake(), state(), action).log[0]  # type: ignore[arg-type]
    assert "Ada" not in str(segment.to_dict())
    assert "Ada" not in repr(segment)


def test_an_empty_answer_is_refused() -> None:
    graph: Any = Fake()
    with pytest.raises(UsageError, match="the answer is empty"):
        step(graph, state(), Respond(text=" \n"))
