"""When the disease began, and how long it has lasted: as diseases are annotated with it and as the patient tells."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

import numpy as np

from kgdx.arrays.sparse import Floats
from kgdx.case.patient import Status
from kgdx.case.person import years_of
from kgdx.graph.snapshot import stated
from kgdx.rank.person_scorer import ByPerson, annotated_with, below
from kgdx.terms.qualifiers import days_of

if TYPE_CHECKING:
    from kgdx.case.patient import Case
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.ranking_model import RankModel

STAGES = (
    "before birth",
    "at birth",
    "in the first month",
    "in infancy",
    "in childhood",
    "in adolescence",
    "in young adulthood",
    "in middle age",
    "in old age",
)
"""The nine stages, as words that follow "begins"."""
ENDS = (28 / 365.25, 1.0, 5.0, 16.0, 40.0, 60.0)
"""Age in years at which the stages from the first month to middle age end."""
TERMS: Mapping[str, tuple[int, ...]] = {
    "HP:0030674": (0,),
    "HP:0003577": (1,),
    "HP:0003623": (2,),
    "HP:0003593": (3,),
    "HP:0011463": (4,),
    "HP:0003621": (5,),
    "HP:0011462": (6,),
    "HP:0003596": (7,),
    "HP:0003584": (8,),
    "HP:0003581": (6, 7, 8),
    "HP:0410280": (1, 2, 3, 4, 5),
}
"""HPO's terms of onset → stages; a term below one of them stands for the same stages."""
ORPHANET: Mapping[str, tuple[int, ...]] = {
    "Antenatal": (0,),
    "Neonatal": (1, 2),
    "Infancy": (3,),
    "Childhood": (4,),
    "Adolescent": (5,),
    "Adult": (6, 7),
    "Elderly": (8,),
    "All ages": tuple(range(9)),
}
"""Orphanet's ages of onset → stages."""
REACH = 0.8
"""How far, in stages, an annotated onset reaches: a neighbouring stage counts e^(−1/REACH)."""
TRUST = 0.7
"""Reliability of onsets, on either side: the rest of the probability is the background's."""


STAGED = 1024
"""Onsets that are kept as they were read."""


class Began(NamedTuple):
    """What is known of the onset: that it lies in one of some stages, or in no later one than the patient's own."""

    stages: tuple[int, ...]
    by_age: bool


class Onset(ByPerson):
    """When the disease began, against the onsets that the candidate is annotated with.

    s(d) = ln((TRUST P(o|d) + (1 − TRUST) P(o)) / P(o)) for the onset o, P(o) being the mean over the diseases whose
    onset is known, and 0 for a disease whose onset is not. P(·|d) is spread over nine stages by e^(−|Δ|/REACH). Where
    only the patient's age is known, o is "no later than now": a child of three months has no disease of old age.
    """

    name: ClassVar[str] = "onset"
    rest: ClassVar[str] = "onset"
    subject: ClassVar[str] = "when diseases begin"

    @cached_property
    def informed(self) -> bool:
        return bool(self.arrays["share"].any())

    @classmethod
    def compile(cls, snapshot: Snapshot, model: RankModel) -> Mapping[str, Floats]:
        size = model.columns.size
        counts = np.zeros((size, len(STAGES)), np.float32)
        said = stated(snapshot, "has_phenotype")
        weight = np.where(said.positive > 0, said.positive, 1.0)
        for row, candidate, stages in annotated_with(snapshot, model, TERMS):
            add(counts[candidate], stages, float(weight[row]))
        for row, ages in enumerate(snapshot.column("disease", "onset_ages").tolist()):
            candidate = model.candidates.of[row]
            for age in ages if candidate >= 0 and ages is not None else ():
                add(counts[candidate], ORPHANET.get(age, ()), 1.0)
        total, kinds = counts.sum(axis=1, keepdims=True), below(snapshot, TERMS)
        ids = snapshot.column("phenotype", "id")
        return {
            "share": np.divide(counts, total, out=counts, where=total > 0),
            "terms": np.array([int(ids[row].removeprefix("HP:")) for row in kinds], np.int64),
            "stages": np.array([[at in stages for at in range(len(STAGES))] for stages in kinds.values()]),
        }

    def person(self, case: Case) -> Began | None:
        """Return the onset that the case states, else that of its first finding, else the age as a bound."""
        earliest = [self._stages(finding.onset) for finding in case.findings if finding.status is Status.PRESENT]
        told = self._stages(case.onset) or min(filter(None, earliest), default=())
        if told:
            return Began(told, by_age=False)
        age = years_of(case.age)
        return None if age is None else Began((stage_at(age),), by_age=True)

    def odds(self, person: Hashable) -> Floats:
        share = self.arrays["share"]
        began = cast("Began", person)
        stages = list(range(began.stages[0] + 1)) if began.by_age else list(began.stages)
        of = share[:, stages].sum(axis=1)
        known = share.any(axis=1)
        common = float(of[known].mean()) if known.any() else 0.0
        odds = np.zeros(len(share), np.float32)
        if common > 0:
            odds[known] = np.log((TRUST * of[known] + (1 - TRUST) * common) / common)
        return odds

    def reason(self, person: Hashable, candidate: int) -> str:
        share, began = np.asarray(self.arrays["share"][candidate]), cast("Began", person)
        if not share.any():
            return ""
        usual = STAGES[int(share.argmax())]
        here = STAGES[began.stages[0]]
        patient = f"the patient is {here}" if began.by_age else f"the patient's began {here}"
        return f"begins mostly {usual}; {patient}"

    def _stages(self, onset: str | None) -> tuple[int, ...]:
        return self._staged(onset) if onset else ()

    @cached_property
    def _staged(self) -> Callable[[str], tuple[int, ...]]:
        return lru_cache(STAGED)(self._read)

    def _read(self, onset: str) -> tuple[int, ...]:
        age = years_of(onset)
        if age is not None:
            return (stage_at(age),)
        number = onset.removeprefix("HP:")
        found = np.flatnonzero(self.arrays["terms"] == (int(number) if number.isdecimal() else -1))
        return tuple(np.flatnonzero(self.arrays["stages"][found[0]]).tolist()) if len(found) else ()


LASTING = {"sudden": 0.01, "minutes": 0.01, "hours": 0.2, "days": 3.0, "weeks": 20.0, "months": 120.0, "years": 1500.0}
"""Days that the words stand for in which the table of conditions tells how long a patient has been ill when seen."""
COURSES = {
    "HP:0011009": (0.01, 20.0),
    "HP:0011011": (3.0, 120.0),
    "HP:0011010": (20.0, 5000.0),
}
"""The same of HPO's terms: acute, subacute, chronic."""
NO_PERIOD = frozenset(("HP:0000141", "HP:0000869"))
"""Amenorrhea, secondary amenorrhea: their duration is that of a pregnancy rather than of an illness."""
WITHIN, PER_TENFOLD, LEAST = 0.6, 1.2, -2.0
"""Log-odds of a duration within what is usual, what each tenfold beyond it takes away, and the least."""


class Course(ByPerson):
    """How long the patient has been ill, against how long those with the candidate have been when they are seen.

    s(d) = max(LEAST, WITHIN − PER_TENFOLD · |Δ|), Δ the tens logarithm of the patient's duration over the nearest that
    is usual, and 0 for a disease of which none is known. The duration is the longest of the present findings'; where
    none is told, acute stands for three days, chronic for a year.
    """

    name: ClassVar[str] = "course"
    rest: ClassVar[str] = "course"
    subject: ClassVar[str] = "how long patients have been ill"

    @cached_property
    def informed(self) -> bool:
        return bool(np.isfinite(self.arrays["lasting"]).any())

    @classmethod
    def compile(cls, snapshot: Snapshot, model: RankModel) -> Mapping[str, Floats]:
        lasting = np.tile(np.array([np.inf, -np.inf], np.float32), (model.columns.size, 1))

        def widen(candidate: int, shortest: float, longest: float) -> None:
            if candidate >= 0:
                lasting[candidate, 0] = min(lasting[candidate, 0], np.log10(shortest))
                lasting[candidate, 1] = max(lasting[candidate, 1], np.log10(longest))

        for _, candidate, usual in annotated_with(snapshot, model, COURSES):
            widen(candidate, *usual)
        stated: dict[int, tuple[float, float]] = {}
        for row, course in enumerate(snapshot.column("disease", "course").tolist()):
            days = [LASTING[word] for word in (course or "").split("-") if word in LASTING]
            if days:  # what begins suddenly is seen up to days later
                stated[int(model.candidates.of[row])] = (min(days), max(*days, 3.0 if "sudden" in course else 0.0))
        for candidate, (shortest, longest) in stated.items():
            lasting[candidate] = np.inf, -np.inf
            widen(candidate, shortest, longest)
        return {"lasting": lasting}

    def person(self, case: Case) -> tuple[float, str] | None:
        told = [finding for finding in case.findings if finding.status is Status.PRESENT]
        ill = [finding for finding in told if finding.id not in NO_PERIOD]
        since = [(days, finding.since) for finding in ill if (days := days_of(finding.since)) is not None]
        if since:
            days, said = max(since)
            return float(np.log10(max(days, 0.01))), said
        modifiers = {each for finding in told for each in finding.modifiers}
        for term, days, said in (("HP:0011010", 365.0, "chronic"), ("HP:0011009", 3.0, "acute")):
            if term in modifiers:
                return float(np.log10(days)), said
        return None

    def odds(self, person: Hashable) -> Floats:
        days, _ = cast("tuple[float, str]", person)
        shortest, longest = self.arrays["lasting"].T
        beyond = np.maximum(np.maximum(shortest - days, days - longest), 0.0)
        return np.where(np.isfinite(shortest), np.maximum(WITHIN - PER_TENFOLD * beyond, LEAST), 0.0).astype(np.float32)

    def reason(self, person: Hashable, candidate: int) -> str:
        shortest, longest = self.arrays["lasting"][candidate].tolist()
        if not np.isfinite(shortest):
            return ""
        usual = "–".join(dict.fromkeys(_span(days) for days in (shortest, longest)))
        return f"patients come after {usual}; this one after {_span(cast('tuple[float, str]', person)[0])}"


def _span(days: float) -> str:
    names = ("minutes", "hours", "days", "weeks", "months", "years")
    return names[int(np.searchsorted((-1.4, 0.0, 1.0, 1.78, 2.7), days, side="right"))]


def stage_at(age: float) -> int:
    return 1 if age <= 0 else 2 + int(np.searchsorted(ENDS, age, side="right"))


def add(shares: Floats, stages: Sequence[int], weight: float) -> None:
    """Add an annotated onset to a candidate's shares, in place; several stages share its weight."""
    for stage in stages:
        shares += np.float32(weight / len(stages)) * np.exp(-np.abs(np.arange(len(STAGES)) - stage) / REACH).astype(
            np.float32
        )
