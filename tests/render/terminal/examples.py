"""A small diagnosis made by hand: one disease that fits well, one that fits less."""

from __future__ import annotations

from kgdx.answer.diagnosis import Diagnosis
from kgdx.case import Case, Finding, Issue, Span, Status
from kgdx.results.evidence_paths import EvidencePath, PathNode, PathRelation
from kgdx.results.ranked import Candidate, Contribution

PATIENT = PathNode("p1", "PatientCase", "patient")
DISEASE = PathNode("OMIM:190350", "Disease", "Trichorhinophalangeal syndrome, type I")

FINDINGS = (
    Finding("HP:0002217", label="Slow-growing hair", text="hair grows slowly", span=Span(4, 21), method="variant"),
    Finding("HP:0010049", label="Short metacarpal"),
    Finding("HP:0000337", label="Broad forehead"),
    Finding("HP:0001249", Status.ABSENT, label="Intellectual disability", text="智力正常", span=Span(30, 34)),
    Finding("HP:0002076", Status.FAMILY, label="Migraine", text="migrane", method="fuzzy", score=0.9),
)
CASE = Case("p1", FINDINGS, sex="FEMALE", age="P4Y")


def term(id: str, name: str) -> PathNode:
    return PathNode(id, "Phenotype", name)


def observed(kind: str = "OBSERVED") -> PathRelation:
    return PathRelation(kind)


ANNOTATED = PathRelation("HAS_PHENOTYPE", reversed=True)

EXACT = EvidencePath(
    (PATIENT, term("HP:0002217", "Slow-growing hair"), DISEASE),
    (observed(), ANNOTATED),
    "supports",
    "HP:0002217",
    "9 of 12",
    ("OMIM:190350", "PMID:25792522"),
)
GENERAL = EvidencePath(
    (PATIENT, term("HP:0010049", "Short metacarpal"), term("HP:0005914", "Short long bone"), DISEASE),
    (observed(), PathRelation("IS_A"), ANNOTATED),
    "supports",
    "HP:0010049",
    "frequent (30–79%)",
    ("ORPHA:77258",),
)
AGAINST = EvidencePath(
    (PATIENT, term("HP:0001249", "Intellectual disability"), DISEASE),
    (observed("EXCLUDED"), ANNOTATED),
    "against",
    "HP:0001249",
    "3 of 12",
    ("PMID:1", "PMID:2"),
)
TYPICAL = EvidencePath(
    (term("HP:0010230", "Cone-shaped epiphyses of the phalanges of the hand"), DISEASE),
    (ANNOTATED,),
    "typical_unmentioned",
    "HP:0010230",
    "very frequent (80–99%)",
    ("ORPHA:77258",),
)


def contribution(finding: str, score: float, status: Status = Status.PRESENT) -> Contribution:
    return Contribution("exact", score, finding, status, {"likelihood": score})


FIRST = Candidate(
    1,
    "OMIM:190350",
    DISEASE.name,
    ("OMIM:190350", "ORPHA:77258"),
    9.13,
    {"likelihood": 3.2, "similarity": 5.93},
    (
        contribution("HP:0002217", 3.1),
        contribution("HP:0010049", 1.2),
        contribution("HP:0000337", -0.4),
        contribution("HP:0001249", -0.3, Status.ABSENT),
        contribution("", 5.5),
    ),
)
SECOND = Candidate(2, "OMIM:150230", "Langer-Giedion syndrome", ("OMIM:150230",), 4.2)

DIAGNOSIS = Diagnosis(
    CASE,
    (FIRST, SECOND),
    {FIRST.id: (EXACT, GENERAL, AGAINST, TYPICAL), SECOND.id: ()},
    issues=(
        Issue("info", "HP:1", "Fever is implied by Recurrent fever", "kept"),
        Issue("warning", "HP:2", "Seizure is given both as present and as absent", "kept as present"),
    ),
    n_candidates=12_731,
)
