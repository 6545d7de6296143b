"""Sex, family and mode of inheritance, against the modes by which diseases are known to be inherited."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from kgdx.arrays.sparse import Floats
from kgdx.case.person import Family
from kgdx.rank.person_scorer import ByPerson, below

if TYPE_CHECKING:
    from kgdx.case.patient import Case
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.ranking_model import RankModel

MODES = {
    "HP:0000006": "autosomal dominant",
    "HP:0000007": "autosomal recessive",
    "HP:0001419": "X-linked recessive",
    "HP:0001423": "X-linked dominant",
    "HP:0001417": "X-linked",
    "HP:0001450": "Y-linked",
    "HP:0001427": "mitochondrial",
}
"""Modes that a family or a sex tells apart; a term below one of them stands for the same mode."""
NAMES = tuple(MODES.values())
ORPHANET = {
    "Autosomal dominant": 0,
    "Autosomal recessive": 1,
    "X-linked recessive": 2,
    "X-linked dominant": 3,
    "Y-linked": 5,
    "Mitochondrial inheritance": 6,
}
"""Orphanet's names of modes → place among :data:`NAMES`."""
UNLIKELY_GIRL = np.array([0, 0, 1, 0, 0.5, 1, 0], np.float32)
"""How much less likely each mode makes a girl or a woman than a boy or a man, in bounded log-odds."""
RELATED = np.array([-0.4, 0.8, -0.2, -0.4, -0.2, -0.4, -0.2], np.float32)
"""What related parents say of each mode, in bounded log-odds."""
PARENT = np.array([0.8, -0.6, 0.2, 0.6, 0.3, 0.4, 0.5], np.float32)
"""What a parent with the same disease says."""
SIBLING = np.array([-0.2, 0.5, 0.3, -0.1, 0.2, 0.0, 0.3], np.float32)
"""What a sibling with the same disease says where both parents are healthy."""
MOST = 1.5
"""Bound of what family and stated mode add or take away together."""
ORGANS = {"HP:0000032": 0, "HP:0000022": 0, "HP:0000055": 1, "HP:0000008": 1}
"""Abnormalities of organs that one sex has: 0 male, 1 female."""
SEXES = ("MALE", "FEMALE")
ONE_SEX = 0.6
"""A disease is one of a sex where more than this share of its annotations is of that sex, and none of the other."""
WRONG_SEX = 2.0
"""What the other sex takes away from such a disease."""


def modes_of(snapshot: Snapshot, model: RankModel) -> Floats:
    """Return the share of each mode among those that a candidate is annotated with; shape (candidates, modes).

    A row of zeros says that none is known.
    """
    counts = np.zeros((model.columns.size, len(NAMES)), np.float32)
    kinds = below(snapshot, {id: place for place, id in enumerate(MODES)})
    disease, term = (snapshot.column("has_phenotype", end) for end in ("disease", "phenotype"))
    for row in np.flatnonzero(np.isin(term, list(kinds))).tolist():
        candidate = model.candidates.of[disease[row]]
        if candidate >= 0:
            counts[candidate, kinds[int(term[row])]] += 1
    for row, stated in enumerate(snapshot.column("disease", "inheritance").tolist()):
        candidate = model.candidates.of[row]
        for name in stated if candidate >= 0 and stated is not None else ():
            if name in ORPHANET:
                counts[candidate, ORPHANET[name]] += 1
    total = counts.sum(axis=1, keepdims=True)
    shares: Floats = np.divide(counts, total, out=counts, where=total > 0)
    return shares


class Sex(ByPerson):
    """What the patient's sex takes away: bounded, since carriers fall ill and sources are incomplete.

    s(d) = −Σ_m P(m|d) u(m) for a girl or a woman, with u = 1 for X-linked recessive and Y-linked, .5 for X-linked
    without more; −WRONG_SEX for a disease whose annotations are mostly of organs of the other sex.
    """

    name: ClassVar[str] = "sex"
    rest: ClassVar[str] = "sex"
    subject: ClassVar[str] = "how diseases are inherited"

    @cached_property
    def informed(self) -> bool:
        return bool(self.arrays["modes"].any() or self.arrays["one"].any())

    @classmethod
    def compile(cls, snapshot: Snapshot, model: RankModel) -> Mapping[str, Floats]:
        organs = below(snapshot, ORGANS)
        disease, term = (snapshot.column("has_phenotype", end) for end in ("disease", "phenotype"))
        candidate, inside = model.candidates.of[disease], np.diff(model.basis.up.start) > 0
        use = (candidate >= 0) & inside[term]
        kind = np.full(len(inside), -1)
        kind[list(organs)] = list(organs.values())
        size = model.columns.size
        every = np.maximum(np.bincount(candidate[use], minlength=size), 1)
        of = [candidate[use & (kind[term] == place)] for place in range(len(SEXES))]
        count = np.stack([np.bincount(each, minlength=size) for each in of], axis=1)
        one = (count / every[:, None] > ONE_SEX) & (count[:, ::-1] == 0)
        return {"modes": modes_of(snapshot, model), "one": one}

    def person(self, case: Case) -> str | None:
        return case.sex if case.sex in SEXES else None

    def odds(self, person: Hashable) -> Floats:
        female = person == SEXES[1]
        odds: Floats = np.zeros(self.model.columns.size, np.float32)
        if female:
            odds -= self.arrays["modes"] @ UNLIKELY_GIRL
        odds[self.arrays["one"][:, 0 if female else 1]] = -WRONG_SEX
        return odds

    def reason(self, person: Hashable, candidate: int) -> str:
        female = person == SEXES[1]
        if self.arrays["one"][candidate, 0 if female else 1]:
            return f"a disease of {'male' if female else 'female'} organs; the patient is {str(person).lower()}"
        modes = self.arrays["modes"][candidate] * UNLIKELY_GIRL
        return f"{NAMES[int(modes.argmax())]}; the patient is female" if female and modes.any() else ""


class Inheritance(ByPerson):
    """What a suspected mode and the family say of how a candidate is inherited.

    s(d) = Σ_m P(m|d) r(m), bounded by MOST, where r adds up what related parents, an affected parent, and an affected
    sibling of healthy parents say of a mode; a mode that is suspected counts 1 where the candidate has it and −1 where
    it has others alone. 0 where no mode of the candidate is known.
    """

    name: ClassVar[str] = "inheritance"
    rest: ClassVar[str] = "inheritance"
    subject: ClassVar[str] = "how diseases are inherited"

    @cached_property
    def informed(self) -> bool:
        return bool(self.arrays["modes"].any())

    @classmethod
    def compile(cls, snapshot: Snapshot, model: RankModel) -> Mapping[str, Floats]:
        return {"modes": modes_of(snapshot, model)}

    def person(self, case: Case) -> Family | None:
        family = case.family
        return family if family.consanguineous or family.affected or family.inheritance else None

    def odds(self, person: Hashable) -> Floats:
        family, modes = cast("Family", person), self.arrays["modes"]
        ratio = np.zeros(len(NAMES), np.float32)
        if family.consanguineous:
            ratio += RELATED
        if "PARENT" in family.affected:
            ratio += PARENT
        elif "SIBLING" in family.affected:
            ratio += SIBLING
        odds = modes @ ratio
        if suspected := self._suspected(family):
            share = modes[:, suspected].sum(axis=1)
            odds = odds + np.where(modes.any(axis=1), 2 * share - 1, 0)
        return np.clip(odds, -MOST, MOST)

    def reason(self, person: Hashable, candidate: int) -> str:
        family, modes = cast("Family", person), self.arrays["modes"][candidate]
        if not modes.any():
            return ""
        said = [
            *(["the parents are related"] if family.consanguineous else []),
            *(f"a {each.lower()} is affected" for each in family.affected),
            *(f"{NAMES[place]} inheritance is suspected" for place in self._suspected(family)[:1]),
        ]
        return f"{NAMES[int(modes.argmax())]}; {', '.join(said)}"

    def _suspected(self, family: Family) -> list[int]:
        places = [list(MODES).index(id) for id in family.inheritance if id in MODES]
        return list(dict.fromkeys(each for place in places for each in ((4, 2, 3) if place == 4 else (place,))))
