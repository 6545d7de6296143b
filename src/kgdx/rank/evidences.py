"""The scorer of symptoms that are given as nodes of the graph, such as the evidences of DDXPlus."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from kgdx.arrays.sparse import Floats, Ints, Sparse, compressed
from kgdx.rank.descriptions import stated
from kgdx.rank.evidence_odds import LISTED, UNLISTED, EvidenceOdds
from kgdx.rank.evidence_table import EvidenceTable, person_of
from kgdx.rank.phrases import Texts
from kgdx.rank.query import Field, Query, Told
from kgdx.rank.scorers import Scorer

if TYPE_CHECKING:
    from kgdx.case.patient import Case
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.ranking_model import RankModel

ASKED = 5.0
"""Log-odds that a patient who was asked in a list's terms has one of its diseases, beside any other disease."""
VOCABULARY = "DDXPLUS:"
"""Symptoms with ids that others know; those of other sources have no other name than their words."""


class Evidences(Scorer):
    """How well a disease explains the symptoms that are given by id, and those that are known to be absent.

    s(d) = ASKED + Σ_e ln p(e | d) / p(e) + Σ_n min(0, ln (1 − p(n | d)) / (1 − UNLISTED)) over the present e and
    the absent n. p is from the lists of symptoms and the table of patients that ships
    (:class:`~kgdx.rank.evidence_odds.EvidenceOdds`), which knows values, sex and age. What is absent is never in
    favour. Diseases without such a list get 0.
    """

    name: ClassVar[str] = "evidences"
    version: ClassVar[int] = 2
    standardised: ClassVar[bool] = False

    @classmethod
    def compile(cls, snapshot: Snapshot, model: RankModel) -> Mapping[str, Floats]:
        """Keep the candidates' lists of symptoms of a vocabulary."""
        ids = snapshot.values("symptom", "id").values()
        known = np.array([id.startswith(VOCABULARY) for id in ids], bool)
        disease, symptom = (snapshot.column("has_symptom", end) for end in ("disease", "symptom"))
        owner = model.candidates.of[disease]
        sources = np.array([stated(source) for source in snapshot.column("has_symptom", "source").tolist()], bool)
        use = (owner >= 0) & sources & (known[symptom] if len(ids) else False)
        if not use.any():
            return {}
        keys = np.unique(symptom[use].astype(np.int64) * len(model.curated) + owner[use])
        row, column = np.divmod(keys, len(model.curated))
        listed = compressed(row, column.astype(np.int32), np.ones(len(row), np.int8), len(ids))
        names = [name or id for name, id in zip(snapshot.column("symptom", "name").tolist(), ids, strict=True)]
        conditions = np.full(len(model.curated), "", "U120")
        conditions[owner[use]] = snapshot.column("disease", "id")[disease[use]].astype("U120")
        codes = np.array([id if mine else "" for id, mine in zip(ids, known.tolist(), strict=True)], "U40")
        texts = Texts.arrays(name if mine else "" for name, mine in zip(names, known.tolist(), strict=True))
        return {"start": listed.start, "index": listed.index, "conditions": conditions, "codes": codes} | texts

    @property
    def applies(self) -> bool:
        """Whether the graph has such lists."""
        return "index" in self.arrays

    @cached_property
    def _listed(self) -> Sparse:
        return Sparse(self.arrays["start"], self.arrays["index"], self.arrays["index"])

    @cached_property
    def _length(self) -> Ints:
        return np.bincount(self.arrays["index"], minlength=len(self.model.curated))

    @cached_property
    def _field(self) -> Field:
        return Field(self._length > 0, self._length == 0)

    def field(self, query: Query) -> Field | None:
        """Return the candidates with lists."""
        return self._field

    def knows(self, query: Query) -> bool:
        """Return whether any symptom is given."""
        return bool(query.symptoms)

    @cached_property
    def numbers(self) -> Ints:
        """The candidates with lists; shape (conditions,)."""
        return np.flatnonzero(self._length > 0)

    @cached_property
    def rows(self) -> Ints:
        """Rows of the symptoms of the vocabulary; shape (evidences,)."""
        return np.flatnonzero(self.arrays["codes"] != "")

    @cached_property
    def odds(self) -> EvidenceOdds:
        """Likelihoods by the lists and the table that ships."""
        return self.odds_of(EvidenceTable.read())

    def odds_of(self, table: EvidenceTable | None) -> EvidenceOdds:
        """Return the likelihoods by the lists and a table of patients; by the lists alone where ``None``."""
        ids = self.arrays["conditions"][self.numbers].tolist()
        return EvidenceOdds(ids, self.arrays["codes"][self.rows].tolist(), self._marked(), table)

    def _marked(self) -> Ints:
        """Whether each condition lists each evidence; shape (conditions, evidences)."""
        found = np.zeros((len(self.numbers), len(self.rows)), bool)
        place = np.full(len(self._length), -1)
        place[self.numbers] = np.arange(len(self.numbers))
        for column, row in enumerate(self.rows.tolist()):
            found[place[self._listed.columns(row)], column] = True
        return found

    def reading(self, case: Case) -> Hashable:
        """Return the evidences of a case with their values, and who the patient is."""
        told = [(each.id, each.status) for each in case.findings if each.id.startswith(VOCABULARY)]
        return (tuple(told), person_of(case)) if told else None

    def tells(self, query: Query) -> bool:
        """Return whether any symptom is given."""
        return self.knows(query)

    def score(self, query: Query) -> Floats:
        """Return the log-likelihood ratio; shape (candidates,)."""
        total = np.zeros(len(self._length), np.float32)
        if not self.tells(query):
            return total
        codes = self.arrays["codes"]
        case = query.case
        present = [str(codes[row]) for row in query.symptoms] if case is None else case.observed
        absent = () if case is None else case.excluded
        person = None if case is None else person_of(case)
        total[self.numbers] = ASKED + self.odds.odds(present, absent, person)
        return total

    def told(self, query: Query, candidates: Ints) -> list[list[Told]]:
        """Return what each symptom adds."""
        texts = Texts(self.arrays["text"], self.arrays["offset"])
        found: list[list[Told]] = [[] for _ in candidates]
        compared, gain = max(int(self._field.compared.sum()), 1), float(np.log(LISTED / UNLISTED))
        for symptom in query.symptoms:
            having = self._listed.columns(symptom)
            mean = gain * len(having) / compared
            for place, number in enumerate(candidates.tolist()):
                if self._length[number]:
                    has = bool((having == number).any())
                    words = texts[symptom]
                    found[place].append(Told(words, words if has else "", gain * has - mean))
        return found
