"""Sex, family, mode of inheritance and candidate genes, against how diseases are known to be inherited."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cached_property
from math import log
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.case.person import Family, GeneEvidence
from kgdx.rank.person_scorer import ByPerson, annotated_with, below

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
    for _, candidate, mode in annotated_with(snapshot, model, {id: place for place, id in enumerate(MODES)}):
        counts[candidate, mode] += 1
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


GENES = 20_000
"""How many genes could have been on a list: the human genes that code for proteins."""
ONE_COPY = log(3)
"""What a variant on one copy alone takes away from a disease that is recessive only."""
MISSING = 1.0
"""What it takes away that none of a disease's genes is on a list that is complete."""


class Genes(ByPerson):
    """Whether the candidate's causal gene is among the genes in which the patient has candidate variants.

    s(d) = max over its genes g on the list of ln(GENES p(g)), at least 0, where p(g) is the gene's share of the list's
    scores: with equal scores ln(GENES / n) for a list of n, 9.9 for a single gene and 0 for a list of all. Less
    ONE_COPY for a recessive disease where one copy alone is changed. −MISSING where the disease's genes are known, none
    is on the list, and the list is complete; 0 where no gene of the disease is known.
    """

    name: ClassVar[str] = "gene_evidence"
    rest: ClassVar[str] = "gene_evidence"
    subject: ClassVar[str] = "the genes of diseases"

    @property
    def informed(self) -> bool:
        return bool(len(self.arrays["candidate"]))

    @classmethod
    def compile(cls, snapshot: Snapshot, model: RankModel) -> Mapping[str, Floats]:
        disease, gene = (snapshot.column("associated_gene", end) for end in ("disease", "gene"))
        candidate = model.candidates.of[disease]
        genes = max(1, snapshot.rows("gene"))
        pairs = np.unique(candidate[candidate >= 0].astype(np.int64) * genes + gene[candidate >= 0])
        ids, names = (snapshot.column("gene", name).tolist() for name in ("id", "name"))
        return {
            "candidate": (pairs // genes).astype(np.int32),
            "gene": (pairs % genes).astype(np.int32),
            "ids": np.array(ids or [""]),
            "names": np.array([name or "" for name in names] or [""]),
            "recessive": modes_of(snapshot, model)[:, 1] == 1,
        }

    def person(self, case: Case) -> GeneEvidence | None:
        return case.gene_evidence

    def odds(self, person: Hashable) -> Floats:
        evidence = cast("GeneEvidence", person)
        candidate, gene = self.arrays["candidate"], self.arrays["gene"]
        value, mono = self._values(evidence)
        each = value[gene] - ONE_COPY * (mono[gene] & self.arrays["recessive"][candidate])
        listed = np.isfinite(each)
        odds = np.zeros(self.model.columns.size, np.float32)
        if evidence.complete:
            odds[candidate] = -MISSING
            odds[candidate[listed]] = 0
        np.maximum.at(odds, candidate[listed], np.maximum(each[listed], 0).astype(np.float32))
        return odds

    def reason(self, person: Hashable, candidate: int) -> str:
        evidence = cast("GeneEvidence", person)
        own = self.arrays["gene"][self.arrays["candidate"] == candidate]
        if not len(own):
            return ""
        value, mono = self._values(evidence)
        names = [str(self.arrays["names"][row]) or str(self.arrays["ids"][row]) for row in own.tolist()]
        listed = [name for name, row in zip(names, own.tolist(), strict=True) if np.isfinite(value[row])]
        if not listed:
            return f"its gene {', '.join(names[:3])} is not among the {len(evidence.genes):,} candidate genes"
        count = len(evidence.genes)
        among = "the candidate gene" if count == 1 else f"among {count:,} candidate genes"
        lone = mono[own[np.isin(names, listed)]].all() and self.arrays["recessive"][candidate]
        return f"its gene {', '.join(listed[:3])} is {among}" + (
            "; one copy is changed, it is recessive" if lone else ""
        )

    def _values(self, evidence: GeneEvidence) -> tuple[Floats, Ints]:
        value = np.full(len(self.arrays["ids"]), -np.inf)
        mono = np.zeros(len(value), bool)
        total = sum(gene.score for gene in evidence.genes)
        for gene in evidence.genes:
            row = next((self._rows[name] for name in (gene.id.upper(), gene.name.upper()) if name in self._rows), -1)
            if row >= 0 and gene.score > 0 and total > 0:
                value[row] = max(0.0, log(GENES * gene.score / total))
                mono[row] = gene.zygosity == "HETEROZYGOUS"
        return value, mono

    @cached_property
    def _rows(self) -> dict[str, int]:
        names = {str(name).upper(): row for row, name in enumerate(self.arrays["names"].tolist()) if name}
        return names | {str(id).upper(): row for row, id in enumerate(self.arrays["ids"].tolist()) if id}
