"""Packs for tests: a question, what two actions found, and what the graph says of it."""

from __future__ import annotations

from typing import Any

from episode.states import state_of
from kgdx.answer.artifacts import Retrieved
from kgdx.answer.evidence_pack import EvidencePack, pack
from kgdx.episode.state import State
from kgdx.results.cited import Citation, Description, MeshHeading, Resolved

FLU, COLD = "D:flu", "D:cold"
MESH = MeshHeading(
    id="MESH:D007251",
    heading="Influenza, Human",
    scope_note="An acute viral infection.",
    tree_numbers=("C01.748.310",),
    relation="exact",
    method="exact",
    score=1.0,
    decision={"reason": "so"},
)


def row(disease: str, id: str, name: str, **more: Any) -> dict[str, Any]:
    return {"disease": disease, "id": id, "name": name, "source": "book", "reference": None, **more}


def state(question: str = "What are the symptoms of flu?", **more: Any) -> State:
    """An episode that asked for symptoms and drugs of influenza, and by symptoms for diseases."""
    symptoms = (
        row(FLU, "S:fever", "fever", reference="PMID:7;PMID:8"),
        row(FLU, "S:cough", "cough"),
        row(FLU, "S:fever", "fever", source="atlas", reference="PMID:9"),
    )
    inferred = (
        {"id": FLU, "name": "flu", "matched": 2, "matched_ids": ["a", "b"], "matched_names": ["fever", "cough"]},
        {"id": COLD, "name": "cold", "matched": 1, "matched_ids": ["b"], "matched_names": ["cough"]},
    )
    asked = {"symptoms": [{"given": "fever", "id": "a"}, {"given": "cough", "id": "b"}]}
    fields: dict[str, Any] = {
        "resolved": (Resolved("influenza", ("Disease",), (FLU,), ("flu",), "exact", 1.0),),
        "retrieved": (
            Retrieved("symptoms_of_diseases", {"diseases": [FLU]}, symptoms, "get_symptom"),
            Retrieved("drugs_of_diseases", {"diseases": [FLU]}, (), "get_drug"),
            Retrieved("infer_diseases_by_symptoms", asked, inferred, "infer_by_symptom"),
        ),
        "described": (Description(FLU, ("flu", "influenza"), "Flu is an infection. It spreads.", "book", MESH),),
        "citations": (Citation("PMID:7", "On flu", ("Doe J",), "J Test", "2020", "10.1000/7", about=(FLU,)),),
    }
    return state_of(question=question, **(fields | more))


def filled(question: str = "What are the symptoms of flu?") -> EvidencePack:
    return pack(state(question))
