"""The patient's candidate genes, against the genes that diseases are known to have."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cached_property
from math import log
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.case.person import CandidateGene, GeneEvidence
from kgdx.rank.inheritance import modes_of
from kgdx.rank.person_scorer import ByPerson

if TYPE_CHECKING:
    from kgdx.case.patient import Case
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.ranking_model import RankModel

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
            row = self._row(gene)
            if row >= 0 and gene.score > 0 and total > 0:
                value[row] = max(0.0, log(GENES * gene.score / total))
                mono[row] = gene.zygosity == "HETEROZYGOUS"
        return value, mono

    def _row(self, gene: CandidateGene) -> int:
        known = self._rows
        return next((known[name] for name in (gene.id.upper(), gene.name.upper()) if name in known), -1)

    @cached_property
    def _rows(self) -> dict[str, int]:
        names = {str(name).upper(): row for row, name in enumerate(self.arrays["names"].tolist()) if name}
        return names | {str(id).upper(): row for row, id in enumerate(self.arrays["ids"].tolist()) if id}
