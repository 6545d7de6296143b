"""A case as scorers read it, and what they say of its words."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from kgdx.arrays.sparse import Ints
from kgdx.case.patient import Case, Status
from kgdx.terms.normalise import has_chinese


@dataclass(frozen=True, slots=True)
class Query:
    """A case as rows of the phenotype table, each once; terms outside Phenotypic abnormality are left out.

    The ``case`` is ``None`` where only terms were given; ``phrases`` is what it says in words, as far as the graph has
    words to compare it with, ``symptoms`` are rows of the symptom table, such as evidences of DDXPlus.
    """

    observed: Ints
    excluded: Ints
    case: Case | None = None
    phrases: tuple[str, ...] = ()
    symptoms: tuple[int, ...] = ()

    @property
    def answered(self) -> int:
        """How many findings are known by answers to questions, where the case says something in words beside them."""
        if self.case is None or not self.phrases:
            return 0
        return sum(each.method == "asked" and each.status is Status.PRESENT for each in self.case.findings)

    @property
    def english(self) -> tuple[str, ...]:
        return tuple(phrase for phrase in self.phrases if not has_chinese(phrase))

    def terms(self, status: Status) -> Ints:
        return {Status.PRESENT: self.observed, Status.ABSENT: self.excluded}.get(status, self.observed[:0])


@dataclass(frozen=True)
class Field:
    """Among which candidates scores are compared: whose mean and deviation are the scale; shapes (candidates,).

    The scorer has nothing to say of the ``silent``: their part of the score is 0.
    """

    compared: Ints
    silent: Ints

    @cached_property
    def numbers(self) -> tuple[Ints, Ints]:
        return np.flatnonzero(self.compared), np.flatnonzero(self.silent)


@dataclass(frozen=True, slots=True)
class Told:
    """What one phrase of the patient adds to a candidate's score, and which words of the disease it met.

    The value is what it adds beyond what it adds to the average candidate, in the scorer's own unit.
    """

    text: str = field(repr=False)
    matched: str
    value: float
