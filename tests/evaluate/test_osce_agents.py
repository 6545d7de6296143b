"""Who a doctor meets: the patient tells what it is asked and never the diagnosis; what a case lacks is normal."""

from __future__ import annotations

import asyncio

import pytest
from benchmarks.scripted_agents import scripted_agent
from hypothesis import given
from hypothesis import strategies as st

from kgdx.case import Case, Status
from kgdx.case.case_files import case_from_document
from kgdx.episode import AskPatient, Reply, State
from kgdx.errors import CaseError, LlmError
from kgdx.evaluate.osce_agents import MASK, NORMAL, SENTENCES, Encounter, Osce, checked, encounter, names_of
from kgdx.llm.chat import ChatModel
from osce_cases import CLINICAL, EPILEPSY, UNKNOWN, VIGNETTE, Saying, osces


class Silent:
    """Knows nothing by ids."""

    def reply(self, asked: AskPatient, state: State) -> Reply:
        return Reply(status=Status.UNKNOWN)


def met(osce: Osce, model: ChatModel | None = None) -> Encounter:
    return encounter(osce, Silent(), patient=model)


def ask(spoken: str) -> AskPatient:
    return AskPatient(spoken=spoken)


BEGUN = State(Case("p", text="Seizures"))


def test_the_parts_of_a_case_are_known_apart() -> None:
    epilepsy = osces()[0]
    story = " ".join(each.text for each in epilepsy.story)
    assert "seizures" in story and "Hypotonia" not in story and "Spikes" not in story and EPILEPSY not in story
    assert [each.text for each in epilepsy.tests] == ["Spikes, as in Tiny epilepsy syndrome 1."]
    assert (epilepsy.opening.sex, epilepsy.opening.age, epilepsy.opening.text) == ("FEMALE", "P7Y", "")
    assert not epilepsy.opening.extra, "a doctor who begins knows neither story nor diagnosis"


def test_what_is_no_osce_case_is_refused_in_a_line() -> None:
    with pytest.raises(CaseError, match="no OSCE case"):
        Osce.of(Case("p"))


def test_a_case_of_cmb_clin_is_parted_by_its_headings() -> None:
    case = case_from_document(CLINICAL)
    osce = Osce.of(case)
    assert (case.sex, case.age, osce.diagnosis) == ("MALE", "P49Y", "腹股沟斜疝合并肠梗阻")
    assert osce.complaint == "右下腹痛3小时。" and "右下腹疼痛" in osce.story[0].text
    assert [each.topic for each in osce.tests] == ["laboratory 实验室检查"] * 2 + ["X-ray 腹部X线检查"]
    assert "腹软" in osce.examination[0].text and not any("WBC" in each.text for each in osce.story)
    assert "WBC" not in case.text, "tests are told when they are ordered"
    for damaged in ({"description": "", "QA_pairs": []}, {**CLINICAL, "description": 3}):
        with pytest.raises(CaseError):
            case_from_document(damaged)
    headless = case_from_document({"description": "咳嗽三天。", "QA_pairs": [None, {"answer": 1}]})
    assert headless.text == "History: 咳嗽三天。" and Osce.of(headless).diagnosis == ""


def test_a_model_stages_a_vignette_and_changes_no_word() -> None:
    vignette = case_from_document(VIGNETTE)
    osce = Osce.staged(vignette, Saying('{"examination": [2], "tests": [3, 99], "hidden": [5]}'))
    assert [each.text for each in osce.story] == ["A 7-year-old girl has had seizures since she was a baby."]
    assert [each.text for each in osce.examination] == ["On examination her limbs are limp."]
    assert [each.text for each in osce.tests] == ["An EEG shows spikes."]
    assert (osce.opening.sex, osce.opening.age, osce.diagnosis) == ("FEMALE", "P7Y", EPILEPSY)
    everything = " ".join(each.text for each in (*osce.story, *osce.results))
    assert "epilepsy" not in everything, "what names the diagnosis is left out, whatever the model says"
    with pytest.raises(CaseError, match="nothing to tell"):
        Osce.staged(vignette, Saying('{"hidden": [1, 2, 3, 4, 5]}'))
    with pytest.raises(LlmError, match="no JSON"):
        Osce.staged(vignette, Saying("I would rather not."))
    with pytest.raises(CaseError, match="no vignette"):
        Osce.staged(Case("p", text="Fever."), Saying("{}"))


def test_by_rules_the_first_answer_is_the_complaint_and_later_ones_what_was_asked() -> None:
    patient = met(osces()[0])
    first = patient.reply(ask("What brings you here?"), State(Case("p")))
    assert first.text.startswith("Seizures.")
    assert "violin" in patient.reply(ask("Do you play the violin?"), BEGUN).text
    assert patient.reply(ask("Is there any swelling?"), BEGUN).status is Status.UNKNOWN


def test_a_section_of_the_history_is_told_whole_by_its_heading() -> None:
    patient = met(osces()[0])
    assert patient.reply(ask("What is your social history?"), BEGUN).text == "Lives with her parents. Plays the violin."
    assert patient.reply(AskPatient(), BEGUN).text == "She has had seizures since she was a baby. She has no fever."


def test_what_the_story_does_not_say_of_a_finding_is_answered_by_what_was_measured() -> None:
    class Measured:
        def reply(self, asked: AskPatient, state: State) -> Reply:
            return Reply(status=Status.PRESENT)

    asked = AskPatient(term="HP:0001252", label="Hypotonia")
    known = encounter(osces()[0], Silent(), measured=Measured())
    assert known.reply(asked, BEGUN).status is Status.PRESENT
    assert met(osces()[0]).reply(asked, BEGUN).status is Status.UNKNOWN


def test_what_is_ordered_is_reported_and_what_the_case_lacks_is_normal() -> None:
    here = met(osces()[0])
    assert "Hypotonia" in here.reply(AskPatient(order="examination", spoken="physical examination"), BEGUN).text
    assert "Spikes" in here.reply(AskPatient(order="test", spoken="electroencephalogram"), BEGUN).text
    assert here.reply(AskPatient(order="test", spoken="coronary angiography"), BEGUN).text == NORMAL
    assert "Spikes" in here.reply(AskPatient(kind="test", term="T:1", label="Electroencephalogram"), BEGUN).text


def test_a_patient_is_told_the_story_alone() -> None:
    model = Saying("I have seizures.")
    met(osces()[0], model).reply(ask("What is wrong?"), BEGUN)
    (told,) = model.asked
    assert "seizures" in told
    assert not any(hidden in told for hidden in (EPILEPSY, "Hypotonia", "Spikes"))


@pytest.mark.parametrize(
    "said", ["It is plumbus fever!", "Plumbus-Fever, I fear.", "PF, they said.", f"It is {UNKNOWN}."]
)
def test_a_patient_that_names_the_diagnosis_is_masked_and_counted(said: str) -> None:
    reply = met(osces()[2], Saying(said)).reply(ask("What do you think it is?"), BEGUN)
    assert MASK in reply.text and reply.remarks == ("masked",)
    assert "lumbus" not in reply.text and "PF" not in reply.text


def test_a_patient_that_tells_more_than_was_asked_is_cut() -> None:
    everything = " ".join(each.text for each in osces()[0].story)
    reply = met(osces()[0], Saying(everything)).reply(ask("Do you have a fever?"), BEGUN)
    assert "cut" in reply.remarks and len(reply.text) < len(everything)


def test_a_patient_that_fails_has_the_rules_stand_in() -> None:
    failing = Saying(LlmError("gone", kind="unreachable"))
    reply = met(osces()[0], failing).reply(ask("Do you play the violin?"), BEGUN)
    assert "violin" in reply.text and reply.remarks == ("stood_in:unreachable",)
    with pytest.raises(LlmError, match="spent"):
        met(osces()[0], Saying(LlmError("spent", kind="budget"))).reply(ask("Any pain?"), BEGUN)


@pytest.mark.parametrize(
    ("said", "status"), [("Yes, often.", Status.PRESENT), ("No.", Status.ABSENT), ("Well, at night.", None)]
)
def test_a_yes_or_no_in_words_is_an_answer_to_the_finding(said: str, status: Status | None) -> None:
    asked = AskPatient(term="HP:0001250", label="Seizure", spoken="Do you have fits?")
    assert met(osces()[0], Saying(said)).reply(asked, BEGUN).status is status


def test_patients_answer_each_for_themselves_and_alike_at_once() -> None:
    model = scripted_agent("right", osces())
    known = osces()
    ward = [(met(each, model), State(Case(each.case.id, text="x"))) for each in known]
    asked = ask("What do you have, and since when?")

    async def all_at_once() -> list[Reply]:
        return list(await asyncio.gather(*(each.awaited(asked, state) for each, state in ward)))

    assert asyncio.run(all_at_once()) == [each.reply(asked, state) for each, state in ward]


@given(st.text(max_size=200), st.booleans())
def test_whatever_a_model_says_is_short_and_without_the_diagnosis(said: str, openly: bool) -> None:
    text, _ = checked(f"{said} plumbus fever {said}", osces()[2].story, names_of(UNKNOWN), openly=openly)
    assert "plumbus fever" not in text.casefold()
    assert len(text) <= 2_000 and text.count("plumbus") <= SENTENCES
