"""The likelihoods of DDXPlus's evidences: lists of the conditions, and what a table of patients adds to them.

The table holds counts alone: how often a condition has an evidence, which value, what age. Where it is missing, or a
condition had few patients, the lists speak: k patients' weight of a list's share is added to every count.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError

from kgdx.arrays.sparse import Floats, Ints
from kgdx.case.ddxplus_release import PREFIX, VALUE, evidence_of, evidences
from kgdx.case.patient import Case, Status
from kgdx.case.person import years_of
from kgdx.errors import ConfigError
from kgdx.rank.fusion import parts_of_entropy
from kgdx.resources import resource

AGES = (0, 1, 5, 15, 30, 45, 60, 75)
"""Where groups of ages begin, in years."""
FILE = "evidence-table.json"
Counts = dict[str, NonNegativeInt]


class ConditionCounts(BaseModel):
    """Counts of one condition's patients: by evidence, also with a value, and by sex and ages, such as ``MALE 30``."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    patients: NonNegativeInt = 0
    evidences: Counts = {}
    people: Counts = {}


class EvidenceTable(BaseModel):
    """Counts of patients, by condition."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, populate_by_name=True)

    version: Annotated[Literal["kgdx.evidence-table/1"], Field(alias="schema")] = "kgdx.evidence-table/1"
    reference: str = ""
    conditions: dict[str, ConditionCounts] = {}

    @classmethod
    def learned(cls, cases: Iterable[Case], reference: str = "") -> EvidenceTable:
        """Count patients who state one condition; the labels are read here, and never when a case is ranked."""
        patients: Counter[str] = Counter()
        evidences: dict[str, Counter[str]] = {}
        people: dict[str, Counter[str]] = {}
        for case in cases:
            if len(case.diseases) != 1:
                continue
            condition = case.diseases[0]
            patients[condition] += 1
            has = {each.id for each in case.findings if each.status is Status.PRESENT and each.id.startswith(PREFIX)}
            evidences.setdefault(condition, Counter()).update(has | {evidence_of(each) for each in has})
            if (group := person_of(case)) is not None:
                people.setdefault(condition, Counter())[group] += 1
        counted = {
            name: ConditionCounts(
                patients=count,
                evidences=dict(sorted(evidences[name].items())),
                people=dict(sorted(people.get(name, Counter()).items())),
            )
            for name, count in sorted(patients.items())
        }
        return cls(reference=reference, conditions=counted)

    @classmethod
    def read(cls, path: Path | None = None) -> EvidenceTable:
        path = path or resource("ranking", FILE)
        try:
            return cls.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            raise ConfigError(f"{path} cannot be read as a table of evidences", hint="reinstall kgdx") from error

    def write(self, path: Path) -> None:
        lines = [f"{json.dumps(name)}: {each.model_dump_json()}" for name, each in self.conditions.items()]
        joined = ",\n".join(lines)
        head = f'"schema": {json.dumps(self.version)},\n"reference": {json.dumps(self.reference)},\n'
        path.write_text(f'{{{head}"conditions": {{\n{joined}\n}}}}\n', encoding="utf-8")


def person_of(case: Case) -> str | None:
    """Return sex and group of ages; ``None`` where one is not known."""
    years = years_of(case.age)
    if years is None or case.sex not in ("MALE", "FEMALE"):
        return None
    return f"{case.sex} {max(start for start in AGES if start <= max(years, 0))}"


LISTED, UNLISTED = 0.35, 0.005
"""How often a patient with a disease has a symptom that is on its list, and one that is not."""
UNUSUAL = 0.02
"""How often a patient of any condition has a symptom that few conditions are described with, beside their share."""
LIST_PATIENTS = 4.0
"""Patients that a list weighs like, beside those that were counted: what few had tells little."""
VALUE_PATIENTS = 2.0
"""Patients that the usual share of a value weighs like."""
INCIDENCE = 0.7
"""What the log of the number of patients of a condition weighs: few in the table are few at the bedside."""
PERSON_PATIENTS = 6.0
"""Patients that the usual share of a sex and an age weighs like."""
LEAST, MOST = 0.003, 0.99
"""Bounds of a share."""
LACKING = 0.9
"""Largest share that a "no" counts with: made-up patients never lack what belongs to their condition, real ones do."""


class EvidenceOdds:
    """How likely evidences are in each condition.

    ``listed`` is the share of a condition's patients with an evidence, 1 where it is only listed, and 0 where it is
    not, of shape (conditions, evidences). The list of ``whole`` conditions is all that they have; of the others only
    some evidences are stated, such as risks, and what is not listed is as frequent as usual.

    ``chance`` is P(evidence | condition), ``given`` the same of patients who have what the evidence is asked after.
    """

    def __init__(
        self,
        conditions: Sequence[str],
        codes: Sequence[str],
        listed: Floats,
        table: EvidenceTable | None = None,
        whole: Ints | None = None,
    ) -> None:
        known = table.conditions if table is not None else {}
        self._counts = [known.get(id, ConditionCounts()) for id in conditions]
        self._codes, self._place = list(codes), {code: place for place, code in enumerate(codes)}
        self._patients = np.array([each.patients for each in self._counts], float)
        self._with = self._counted(codes)
        share = np.where(listed > 0, LISTED, UNLISTED)
        mixed = (self._with + LIST_PATIENTS * share) / (self._patients[:, None] + LIST_PATIENTS)
        chance = np.where(self._patients[:, None] > 0, np.clip(mixed, LEAST, MOST), share)
        whole = np.ones(len(share), bool) if whole is None else whole
        asked = np.array([code.startswith(PREFIX) for code in codes], bool)
        told = np.where(listed < 1, listed, LISTED)
        few = UNUSUAL + told.sum(axis=0) / max(len(told), 1)
        self._usual = np.where(asked & whole.any(), chance[whole].sum(axis=0) / max(whole.sum(), 1), few)
        stated = np.maximum(told, self._usual)
        self.chance: Floats = np.where(whole[:, None] & asked, chance, stated)
        counted = whole & (self._patients > 0)
        usual = float(self._patients[counted].mean()) if counted.any() else 0.0
        self._prior = np.where(counted, INCIDENCE * np.log((self._patients + 1) / (usual + 1)), 0)
        self._values: dict[str, tuple[list[str], Floats]] = {}
        known_evidences = evidences()
        parents = ((found := known_evidences.get(code.removeprefix(PREFIX))) and found.parent for code in codes)
        self._parent = [self._place.get(f"{PREFIX}{each}", place) for place, each in enumerate(parents)]
        above = np.array(self._parent, np.int64)
        child = above != np.arange(len(codes))
        given = np.clip(self.chance / self.chance[:, above], LEAST, MOST)
        self.given: Floats = np.where(child, given, self.chance)
        self._usual_given = np.where(child, np.clip(self._usual / self._usual[above], LEAST, MOST), self._usual)

    def _counted(self, names: Sequence[str]) -> Floats:
        rows = [[each.evidences.get(name, 0) for name in names] for each in self._counts]
        return np.array(rows, float).reshape(len(self._counts), len(names))

    @cached_property
    def learned(self) -> bool:
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

        A value counts beside its evidence; the person is as :func:`~kgdx.rank.evidence_odds.person_of` writes it.
        """
        given = [id for id in dict.fromkeys(present) if evidence_of(id) in self._place]
        total = np.zeros(len(self._counts))
        there = dict.fromkeys(self._place[evidence_of(id)] for id in given)
        for place in dict.fromkeys(at for each in there for at in (self._parent[each], each)):
            total += np.log(self.given[:, place] / self._usual_given[place])
        for code in (self._codes[place] for place in there):
            total += self._valued(code, [id for id in given if id != code and evidence_of(id) == code])
        lacking = dict.fromkeys(self._place[id] for id in absent if id in self._place)
        for place in lacking:
            parent = self._parent[place]
            if parent == place or parent not in lacking:  # who has no pain lacks no place of it
                chance = np.minimum(self.given[:, place], LACKING)
                total += np.minimum(np.log((1 - chance) / (1 - min(self._usual_given[place], LACKING))), 0)
        return total + self._person(person) + self._prior

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

    Shapes (diseases,) and (diseases, values).
    """
    weight = shares / max(float(shares.sum()), 1e-300)
    chance = chance / np.maximum(chance.sum(axis=1, keepdims=True), 1e-300)
    gain = parts_of_entropy(weight @ chance).sum() - weight @ parts_of_entropy(chance).sum(axis=-1)
    return max(float(gain), 0.0)
