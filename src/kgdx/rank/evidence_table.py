"""What patients of DDXPlus teach beyond its lists: how often a condition has an evidence, which value, what age.

The table holds counts alone. Where it is missing, or a condition had few patients, the lists speak: k patients' weight
of a list's share is added to every count.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError

from kgdx.case.ddxplus_release import PREFIX, evidence_of
from kgdx.case.patient import Case, Status
from kgdx.case.person import years_of
from kgdx.errors import ConfigError
from kgdx.resources import resource

AGES = (0, 1, 5, 15, 30, 45, 60, 75)
"""Where groups of ages begin, in years."""
FILE = "evidence-table.json"
Counts = dict[str, NonNegativeInt]


class ConditionCounts(BaseModel):
    """Counts of one condition's patients.

    Attributes:
        patients: How many.
        evidences: Evidence, or evidence with a value → patients with it.
        people: Sex and group of ages, such as ``MALE 30`` → patients.
    """

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
    """Return sex and group of ages; ``None`` where one is not known.

    Example:
        >>> person_of(Case("p", sex="MALE", age="P44Y")), person_of(Case("p", sex="MALE"))
        ('MALE 30', None)
    """
    years = years_of(case.age)
    if years is None or case.sex not in ("MALE", "FEMALE"):
        return None
    return f"{case.sex} {max(start for start in AGES if start <= max(years, 0))}"
