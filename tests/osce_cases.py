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
