"""The answer says the fact that was asked for, first, in the language of the question, and names what is not there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from actions.packs import row
from episode.states import holding, state_of
from kgdx.answer.artifacts import Named, Retrieved
from kgdx.answer.evidence_pack import EvidencePack, pack
from kgdx.answer.focused_answer import focused
from kgdx.answer.sentences import check
from kgdx.answer.stated_things import family_of, marks_of
from kgdx.answer.wants import Asked, Want
from kgdx.results.cited import Resolved

FLU = Resolved("flu", ("Disease",), ("D", "D2"), ("flu", "流感"), "exact", 1.0)


def evidence(*found: Retrieved, names: dict[str, dict[str, str]] | None = None, **more: Any) -> EvidencePack:
    state = state_of(question="?", retrieved=found, resolved=more.pop("resolved", (FLU,)), **more)
    return pack(holding(state, Named(names or {})))


def annotated(*rows: dict[str, Any]) -> Retrieved:
    return Retrieved("phenotypes_of_diseases", {"diseases": ["D"]}, rows, "get_phenotype")


def passage(text: str, kind: str = "definition", about: str = "cause", source: str = "book") -> Retrieved:
    told = {"disease": "D", "disease_name": "flu", "kind": kind, "text": text, "source": source, "about": about}
    return Retrieved("texts_of_diseases", {"diseases": ["D"]}, (told,), "get_passage")


def test_the_mode_of_inheritance_is_told_without_the_other_findings() -> None:
    found = annotated(row("D", "P", "Fever", aspect="P"), row("D", "I", "Autosomal dominant inheritance", aspect="I"))
    made = focused(evidence(found), Asked((Want.INHERITANCE,), ("flu",)))
    assert made.text == "The mode of inheritance recorded for flu is Autosomal dominant inheritance [E2]."


@pytest.mark.parametrize(
    ("question", "begin"),
    [
        ("Is flu hereditary?", "Yes: the mode of inheritance recorded for flu is"),
        ("Is flu dominant?", "Yes: the mode"),
        ("Is flu recessive?", "Not as asked: the mode"),
        ("Is flu passed on by one parent only?", "The mode"),
    ],
)
def test_yes_is_said_of_the_mode_of_inheritance_that_is_asked_for(question: str, begin: str) -> None:
    found = annotated(row("D", "I", "Autosomal dominant inheritance", aspect="I"))
    pack = replace(evidence(found), question=question)
    assert focused(pack, Asked((Want.INHERITANCE,), ("flu",), whether=True)).text.startswith(begin)


def test_onset_and_course_are_told_apart() -> None:
    found = annotated(row("D", "C1", "Infantile onset", aspect="C"), row("D", "C2", "Progressive", aspect="C"))
    assert "Infantile onset" in focused(evidence(found), Asked((Want.ONSET,), ("flu",))).text
    assert "Infantile" not in focused(evidence(found), Asked((Want.COURSE,), ("flu",))).text


def test_a_chinese_answer_has_chinese_names_with_the_original_in_brackets() -> None:
    found = annotated(row("D", "I", "Autosomal dominant inheritance", aspect="I"))
    names = {"I": {"zh": "常染色体显性遗传", "en": "Autosomal dominant inheritance"}, "D": {"zh": "流感"}}
    made = focused(evidence(found, names=names), Asked((Want.INHERITANCE,), ("flu",)), "zh")
    assert made.text == "流感的遗传方式有常染色体显性遗传（Autosomal dominant inheritance）[E1]。"


def test_what_entries_of_one_disease_state_in_several_sources_is_said_once_and_first() -> None:
    rows = (row("D", "S:1", "chills"), row("D", "S:2", "fever"), row("D2", "S:3", "fever", source="atlas"))
    found = Retrieved("symptoms_of_diseases", {}, rows, "get_symptom")
    made = focused(evidence(found), Asked((Want.SYMPTOM,), ("flu",)))
    assert made.text == "The symptoms recorded for flu are fever [E2][E3] and chills [E1]."


def test_a_risk_factor_is_no_symptom() -> None:
    rows = (row("D", "S:1", "smokes", antecedent=True), row("D", "S:2", "fever"))
    found = evidence(Retrieved("symptoms_of_diseases", {}, rows, "get_symptom"))
    assert focused(found, Asked((Want.SYMPTOM,), ("flu",))).text == "The symptom recorded for flu is fever [E2]."
    assert focused(found, Asked((Want.RISK,), ("flu",))).text == "The risk factor recorded for flu is smokes [E1]."


@pytest.mark.parametrize(("language", "whom"), [("en", "ask a doctor or a pharmacist"), ("zh", "请咨询医生或药师")])
def test_nobody_is_told_what_is_safe(language: str, whom: str) -> None:
    made = focused(evidence(), Asked((Want.SAFETY,), ("flu",)), language)
    assert whom in made.text and made.insufficient


def test_an_emergency_is_named_first_and_what_was_not_used_last() -> None:
    asked = Asked((Want.URGENCY,), ("flu",), unused="grandmother", without=("rash",))
    said = [each.text for each in focused(evidence(), asked).sentences]
    assert "Call the emergency number now" in said[0]
    assert "recorded with rash were left out" in said[-2] and said[-1] == "Nothing was made of “grandmother”."


def test_the_marks_of_a_long_list_stand_behind_it_and_pass_the_check() -> None:
    rows = tuple(row("D", f"S:{n}", f"sign {n}") for n in range(6))
    found = evidence(Retrieved("symptoms_of_diseases", {}, rows, "get_symptom"))
    made = focused(found, Asked((Want.SYMPTOM,), ("flu",)))
    assert made.text.endswith("sign 4 and sign 5 [E1-E6].")
    checked = check(made.text, found)
    assert (checked.removed, checked.unsupported) == ((), 0)
    assert checked.cited == made.cited


def test_the_fact_stands_in_the_first_400_characters_however_much_there_is() -> None:
    rows = tuple(row("D", f"S:{n}", f"a rather long name of sign {n}") for n in range(80))
    made = focused(
        evidence(Retrieved("symptoms_of_diseases", {}, rows, "get_symptom")), Asked((Want.SYMPTOM,), ("flu",))
    )
    assert len(made.text) <= 520
    assert " more " in made.text


def test_treatments_carry_their_sources_and_a_caution() -> None:
    found = Retrieved("drugs_of_diseases", {}, (row("D", "x", "aspirin", source="chinese_kg"),), "get_drug")
    made = focused(evidence(found), Asked((Want.DRUG,), ("flu",)))
    assert made.text == (
        "The drug recommended for flu is aspirin [E1]. "
        "This is stated by 1 source, chinese_kg (compiled from web pages of medical advice, no guideline) [E1]. "
        "Whether a treatment suits a patient, and its dose, is for a clinician to decide."
    )


def test_what_a_source_says_in_words_is_quoted_with_the_source() -> None:
    made = focused(evidence(passage("Flu is caused by a virus.")), Asked((Want.CAUSE,), ("flu",)))
    assert made.text == "“Flu is caused by a virus” (book) [E1]."


def test_words_in_another_language_are_quoted_as_such() -> None:
    made = focused(evidence(passage("由病毒引起。", source="zh")), Asked((Want.CAUSE,), ("flu",)))
    assert made.text == "zh says in Chinese: “由病毒引起” [E1]."


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "Not in this graph: no source of it states the prevalence of flu; "), ("zh", "图谱中没有流感的患病率：")],
)
def test_what_is_not_there_is_named_with_what_would_bring_it(language: str, said: str) -> None:
    made = focused(evidence(names={"D": {"zh": "流感"}}), Asked((Want.PREVALENCE,), ("flu",)), language)
    assert made.text.startswith(said)
    assert "orphanet" in made.text
    assert made.insufficient


def test_an_unknown_name_is_refused_by_name() -> None:
    unknown = Resolved("blorgitis", ("Disease",), candidates=("bursitis",))
    made = focused(EvidencePack(resolved=(unknown,)), Asked((Want.CURE,), ("blorgitis",)))
    assert made.text == "Not enough evidence: the graph has no entry called blorgitis; near it are bursitis."
    assert made.insufficient


def test_a_name_that_was_written_otherwise_is_said() -> None:
    short = Resolved("Duchenne", ("Disease",), ("D",), ("Duchenne muscular dystrophy",), "short", 0.9)
    found = annotated(row("D", "I", "X-linked inheritance", aspect="I"))
    made = focused(evidence(found, resolved=(short,)), Asked((Want.INHERITANCE,), ("Duchenne",)))
    assert made.text.startswith("“Duchenne” is taken for Duchenne muscular dystrophy. The mode of inheritance")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((row("D", "P", "Ectopia lentis"),), "Yes: the feature recorded for flu is Ectopia lentis [E1]."),
        ((), "Not recorded: no source of this graph states lens dislocation of flu, which does not exclude it."),
    ],
)
def test_whether_something_is_stated_is_yes_or_not_recorded(rows: tuple[dict[str, Any], ...], said: str) -> None:
    asked = Asked((Want.SYMPTOM,), ("flu",), ("lens dislocation",), whether=True)
    assert focused(evidence(annotated(*rows)), asked).text == said


def test_two_diseases_are_compared_by_what_they_share_and_what_each_has_alone() -> None:
    cold = Resolved("cold", ("Disease",), ("C",), ("cold",), "exact", 1.0)
    rows = (row("D", "a", "fever"), row("D", "b", "chills"), row("C", "a", "fever"), row("C", "c", "sneezing"))
    found = Retrieved("symptoms_of_diseases", {}, rows, "get_symptom")
    made = focused(evidence(found, resolved=(FLU, cold)), Asked((Want.DIFFERENCE,), ("flu", "cold")))
    assert made.text.endswith("Recorded for cold, not recorded for flu: sneezing [E4].")
    assert made.text.startswith("Both flu and cold: fever [E1][E3]. Recorded for flu")
    made = focused(evidence(found, resolved=(FLU, cold)), Asked((Want.DIFFERENCE, Want.CURE), ("flu", "cold")))
    assert "Recorded for cold, not recorded for flu: sneezing" in made.text and "treatments of cold" in made.text


def test_forms_of_one_disease_are_one_among_those_that_match() -> None:
    rows = tuple(
        {"id": id, "name": name, "matched": 1, "matched_ids": ["p"], "matched_names": ["deafness"]}
        for id, name in (("U1", "Usher syndrome, type 1"), ("U2", "Usher syndrome, type 2"), ("X", "Xyz"))
    )
    found = Retrieved("infer_diseases", {"phenotypes": ["p"]}, rows, "infer_by_phenotype")
    made = focused(evidence(found), Asked((Want.DISEASE,)))
    assert made.text == "The diseases recorded with deafness are Usher syndrome (2 forms) [E1][E2] and Xyz [E3]."
    made = focused(evidence(found, resolved=(FLU,)), Asked((Want.DISEASE, Want.CURE), ("flu",)))
    assert "no source of it states the treatments of flu" in made.text


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("Alport syndrome 3, autosomal dominant", "alport syndrome"),
        ("Homocystinuria due to CBS deficiency", "homocystinuria"),
        ("Marfan syndrome", "marfan syndrome"),
    ],
)
def test_the_number_and_mode_of_a_form_are_no_part_of_its_family(name: str, family: str) -> None:
    assert family_of(name) == family


def test_marks_that_follow_one_another_are_a_range() -> None:
    assert marks_of(("E9", "E1", "E2", "E3", "E5", "E6")) == "[E1-E3][E5][E6][E9]"
