"""Invented OSCE cases in AgentClinic's form, about the diseases of the tiny graph and one that it lacks."""

from __future__ import annotations

from typing import Any

from kgdx.case import case_from_osce
from kgdx.errors import LlmError
from kgdx.evaluate.osce_agents import Osce
from kgdx.llm.chat import ChatModel, Completion, OnText, Request

EPILEPSY = "Tiny epilepsy syndrome 1, autosomal recessive"
SMALL = "Short stature with hypotonia"
UNKNOWN = "Plumbus fever (PF)"


def document(diagnosis: str, primary: str, history: str, **examination: Any) -> dict[str, Any]:
    """One case."""
    return {
        "OSCE_Examination": {
            "Objective_for_Doctor": "Assess the patient.",
            "Patient_Actor": {
                "Demographics": "7-year-old girl",
                "History": history,
                "Symptoms": {"Primary_Symptom": primary, "Secondary_Symptoms": ["Tiredness"]},
                "Social_History": "Lives with her parents. Plays the violin.",
            },
            "Physical_Examination_Findings": {
                "Vital_Signs": {"Temperature": "36.6 °C"},
                **examination.get("examination", {}),
            },
            "Test_Results": examination.get("tests", {}),
            "Correct_Diagnosis": diagnosis,
        }
    }


DOCUMENTS = [
    document(
        EPILEPSY,
        "Seizures",
        "She has had seizures since she was a baby. She has no fever.",
        examination={"Neurological_Examination": {"Tone": "Hypotonia of all limbs."}},
        tests={"Electroencephalogram": {"Findings": "Spikes, as in Tiny epilepsy syndrome 1."}},
    ),
    document(SMALL, "Short stature", "She has short stature and low muscle tone. She has no seizures."),
    document(UNKNOWN, "Fever", "She has had fever for a week. The plumbus fever of her aunt worries her."),
]


VIGNETTE = {
    "id": "v1",
    "text": "A 7-year-old girl has had seizures since she was a baby. On examination her limbs are limp. "
    "An EEG shows spikes. Tiny epilepsy syndrome 1, autosomal recessive is likely. What is the next step?",
    "diagnosis": EPILEPSY,
}
CLINICAL = {
    "id": "0",
    "title": "案例分析",
    "description": "现病史\n（1）病史摘要\n     病人，男，49岁，3小时前出现右下腹疼痛，既往体健。\n"
    "（2）主诉\n     右下腹痛3小时。\n\n体格检查\n体温： T 37.8℃，腹软。\n\n"
    "辅助检查\n（1）实验室检查\n血常规：WBC 5.0×109／L。\n尿常规正常。\n（2）腹部X线检查\n可见液气平。",
    "QA_pairs": [
        {"question": "简述诊断及诊断依据。", "answer": "诊断：腹股沟斜疝合并肠梗阻。\n诊断依据：①右下腹痛3小时；"},
        {"question": "治疗？", "answer": "手术。"},
    ],
}
"""Invented, in CMB-Clin's form."""


def osces() -> list[Osce]:
    return [Osce.of(case_from_osce(each)) for each in DOCUMENTS]


class Saying(ChatModel):
    """Says always the same, or fails."""

    def __init__(self, said: str | LlmError) -> None:
        self.said = said
        self.asked: list[str] = []

    @property
    def name(self) -> str:
        return "saying"

    async def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        self.asked.append(request.messages[-1].content)
        if isinstance(self.said, LlmError):
            raise self.said
        return Completion(self.said, self.name)
