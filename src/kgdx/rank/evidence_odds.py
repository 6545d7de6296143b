"""The likelihoods of DDXPlus's evidences: lists of the conditions, and what a table of patients adds to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.case.ddxplus_release import PREFIX, VALUE, evidence_of, evidences
from kgdx.rank.evidence_table import ConditionCounts, EvidenceTable

LISTED, UNLISTED = 0.35, 0.005
"""How often a patient with a disease has a symptom that is on its list, and one that is not."""
LIST_PATIENTS = 2.0
"""Patients that a list weighs like, beside those that were counted."""
VALUE_PATIENTS = 2.0
"""Patients that the usual share of a value weighs like."""
PERSON_PATIENTS = 6.0
"""Patients that the usual share of a sex and an age weighs like."""
LEAST, MOST = 0.003, 0.99
"""Bounds of a share."""


class EvidenceOdds:
    """How likely evidences are in each condition.

    Args:
        conditions: Ids of the conditions.
        codes: Ids of the evidences.
        listed: Whether a condition lists an evidence; shape (conditions, evidences).
        table: Counts of patients; lists alone where ``None``.
    """

    def __init__(
        self, conditions: Sequence[str], codes: Sequence[str], listed: Ints, table: EvidenceTable | None = None
    ) -> None:
        known = table.conditions if table is not None else {}
        self._counts = [known.get(id, ConditionCounts()) for id in conditions]
        self._codes, self._place = list(codes), {code: place for place, code in enumerate(codes)}
        self._patients = np.array([each.patients for each in self._counts], float)
        self._with = self._counted(codes)
        share = np.where(listed, LISTED, UNLISTED)
        mixed = (self._with + LIST_PATIENTS * share) / (self._patients[:, None] + LIST_PATIENTS)
        self.chance: Floats = np.where(self._patients[:, None] > 0, np.clip(mixed, LEAST, MOST), share)
        self._usual = self.chance.mean(axis=0)
        self._values: dict[str, tuple[list[str], Floats]] = {}

    def _counted(self, names: Sequence[str]) -> Floats:
        rows = [[each.evidences.get(name, 0) for name in names] for each in self._counts]
        return np.array(rows, float).reshape(len(self._counts), len(names))

    @cached_property
    def learned(self) -> bool:
        """Whether any patient was counted."""
        return bool(self._patients.sum() > 0)

    def values(self, code: str) -> tuple[list[str], Floats]:
        """Return an evidence's values, and P(value | condition, yes); shape (conditions, values)."""
        if code not in self._values:
            one = evidences().get(code.removeprefix(PREFIX))
            stated = () if one is None else (value for value in one.values if one.answered(value))
            names = [f"{code}{VALUE}{value}" for value in stated]
            count = self._counted(names)
            usual = (count.sum(axis=0) + 1) / max(count.sum() + len(names), 1)
            share = (count + VALUE_PATIENTS * usual) / (count.sum(axis=1, keepdims=True) + VALUE_PATIENTS)
            self._values[code] = names, share
        return self._values[code]

    def odds(self, present: Iterable[str], absent: Iterable[str], person: str | None = None) -> Floats:
        """Return the log-likelihood ratio of each condition to the usual patient; shape (conditions,).

        Args:
            present: Ids of evidences, with their values; a value counts beside its evidence.
            absent: Ids of evidences.
            person: Sex and age, as :func:`~kgdx.rank.evidence_table.person_of` writes them.
        """
        given = [id for id in dict.fromkeys(present) if evidence_of(id) in self._place]
        total = np.zeros(len(self._counts))
        for code in dict.fromkeys(map(evidence_of, given)):
            place = self._place[code]
            total += np.log(self.chance[:, place] / self._usual[place])
            total += self._valued(code, [id for id in given if id != code and evidence_of(id) == code])
        for code in dict.fromkeys(absent):
            if (at := self._place.get(code)) is not None:
                total += np.minimum(np.log((1 - self.chance[:, at]) / (1 - UNLISTED)), 0)
        return total + self._person(person)

    def _valued(self, code: str, given: list[str]) -> Floats:
        names, share = self.values(code)
        known = [names.index(id) for id in given if id in names]
        if not known or not self.learned:
            return np.zeros(len(self._counts))
        ratio = np.log(share[:, known] / share[:, known].mean(axis=0))
        spread: Floats = ratio.sum(axis=1) / np.sqrt(len(known))  # the values of one answer are not independent
        return spread

    def _person(self, person: str | None) -> Floats:
        if person is None or not self.learned:
            return np.zeros(len(self._counts))
        count = np.array([each.people.get(person, 0) for each in self._counts], float)
        usual = (count.sum() + 1) / (self._patients.sum() + 1)
        ratio: Floats = np.log((count + PERSON_PATIENTS * usual) / (self._patients + PERSON_PATIENTS) / usual)
        return ratio


def information(shares: Floats, chance: Floats) -> float:
    """Return the mutual information, in bits, of which value it is and the disease.

    Args:
        shares: Share of each disease; shape (diseases,).
        chance: P(value | disease); shape (diseases, values).

    Example:
        >>> information(np.array([0.5, 0.5]), np.eye(2))
        1.0
    """
    weight = shares / max(float(shares.sum()), 1e-300)

    def bits(p: Floats) -> Floats:
        found: Floats = -(p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=-1)
        return found

    chance = chance / np.maximum(chance.sum(axis=1, keepdims=True), 1e-300)
    gain = np.asarray(bits(weight @ chance) - weight @ bits(chance))
    return max(float(gain), 0.0)
