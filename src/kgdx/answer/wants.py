"""What a question may want, and which statements and texts of the graph say it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from kgdx.terms.normalise import read_table


class Want(StrEnum):
    """Something that a question may want, in the order in which its words are looked for."""

    DISEASE = "disease"
    SYMPTOM = "symptom"
    TEST = "test"
    DRUG = "drug"
    CONTRAINDICATION = "contraindication"
    CURE = "cure"
    COMORBIDITY = "comorbidity"
    TOGETHER = "together"
    """Diseases that occur with another one, whichever of them comes first."""
    GENE = "gene"
    RECURRENCE = "recurrence"
    """What a mode of inheritance means for the relatives of somebody who has a disease."""
    INHERITANCE = "inheritance"
    ONSET = "onset"
    PREVALENCE = "prevalence"
    RISK = "risk"
    """Who is prone to a disease."""
    CAUSE = "cause"
    COURSE = "course"
    """How a disease goes on and ends: prognosis, duration, whether it is cured."""
    PREVENTION = "prevention"
    TRANSMISSION = "transmission"
    DEPARTMENT = "department"
    DIET = "diet"
    SAFETY = "safety"
    """Whether something may be taken or done by somebody who is pregnant, nursing, driving."""
    URGENCY = "urgency"
    """Whether somebody has to be seen at once."""
    DOSE = "dose"
    PLACE = "place"
    """Hospitals, doctors, appointments, shops, groups of patients."""
    VERDICT = "verdict"
    """Whether somebody is ill, and what a report of theirs means."""
    ELSEWHERE = "elsewhere"
    """Other people, the weather, news: nothing of medicine."""
    COST = "cost"
    SIDE_EFFECT = "side_effect"
    USE = "use"
    """What a drug is used for."""
    TRIAL = "trial"
    CODE = "code"
    NAMES = "names"
    """What a disease or a finding is called besides, in full, or in the other language."""
    LOCUS = "locus"
    HISTORY = "history"
    ABSENT = "absent"
    """Findings that a disease is recorded not to have."""
    FORMS = "forms"
    """The numbered or named forms of a disease."""
    DIFFERENCE = "difference"
    """What one of several diseases has alone, and what they have in common."""
    SHARED = "shared"
    DESCRIPTION = "description"


_ROWS = [row for row in read_table(Path(__file__).with_name("wanted.tsv")) if row[0] in list(Want)]

STATED: Mapping[Want, tuple[str, ...]] = {Want(row[0]): tuple(row[4].split()) for row in _ROWS if row[4]}
"""Want → the relations, or aspects of an annotation (:func:`aspect_of`), that answer it."""

TREATMENTS = frozenset({Want.DRUG, Want.CURE})
"""Wants whose answer carries the weight of its sources, and a caution."""

TEXTS: Mapping[str, tuple[str, ...]] = {
    about: tuple(kinds.split()) for about, kinds in read_table(Path(__file__).with_name("texts.tsv"))
}
"""What a text can be about → the kinds of text (template ``texts_of_diseases``) that say that and nothing else."""

PASSAGES: Mapping[Want, str] = {Want(row[0]): row[5] for row in _ROWS if row[5]}
"""Want → what texts are about that say it."""

IN_WORDS = frozenset({Want.DESCRIPTION, *(want for want, about in PASSAGES.items() if about == want.value)})
"""What sources say in words; of everything else they are read where no relation states it."""


def aspect_of(relation: str, aspect: str, name: str) -> str:
    """Return what an annotation says of a disease: its relation, or a mode of inheritance, an onset, a course.

    Example:
        >>> aspect_of("HAS_PHENOTYPE", "C", "Infantile onset"), aspect_of("HAS_PHENOTYPE", "P", "Fever")
        ('ONSET', 'HAS_PHENOTYPE')
    """
    if relation == "HAS_PHENOTYPE" and aspect == "I":
        return "INHERITANCE"
    if relation == "HAS_PHENOTYPE" and aspect == "C":
        return "ONSET" if name.lower().endswith("onset") else "COURSE"
    return relation


OF_DRUGS = frozenset({Want.SAFETY, Want.DOSE, Want.SIDE_EFFECT, Want.USE})
"""What is asked of drugs, which the answer names, whether the graph knows them or not."""

OUTSIDE = frozenset({Want.PLACE, Want.VERDICT, Want.ELSEWHERE})
"""What is no matter of diseases in general, told by likeness (``question_kinds.tsv``): the answer says who can tell."""

DANGERS = frozenset({Want.SAFETY, Want.DOSE, Want.URGENCY, Want.VERDICT})
"""What rules answer with a line of safety, which stands behind whatever a model answers."""

UNTOLD = frozenset({Want.SAFETY, Want.URGENCY, *OUTSIDE})
"""What nobody may be told from a graph: the answer says so, and whom to ask."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What an answer is to say.

    Attributes:
        others: What may be stated of the subjects, where the question asks whether something is.
        absent: Whether it asks which of several is not.
        unread: Words by which it wants something that has no place in the graph.
    """

    wants: tuple[Want, ...] = ()
    subjects: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    whether: bool = False
    unread: str = ""
    unused: str = ""
    without: tuple[str, ...] = ()
    absent: bool = False
    loaded: frozenset[str] = frozenset()
    """Sources of the graph."""
    rarity: Callable[[str], float] = field(default=lambda id: 4.0, compare=False)
    """The information content of a finding: of two that are as frequent the rarer one stands first."""
