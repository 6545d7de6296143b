"""The scorer of symptoms that are given as nodes of the graph, such as the evidences of DDXPlus."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from kgdx.arrays.sparse import Floats, Ints, Sparse, compressed
from kgdx.case.ddxplus_patients import MAPPED
from kgdx.case.ddxplus_release import PREFIX, VALUE, evidence_terms
from kgdx.case.patient import Status
from kgdx.rank.descriptions import stated
from kgdx.rank.evidence_odds import LISTED, UNLISTED, EvidenceOdds, EvidenceTable, person_of
from kgdx.rank.phrases import MappedTexts
from kgdx.rank.query import Field, Query, Told
from kgdx.rank.scorers import Scorer

if TYPE_CHECKING:
    from kgdx.case.patient import Case
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.ranking_model import RankModel

ASKED = 5.0
"""Log-odds that a patient who was asked in a list's terms has one of its diseases, beside any other disease."""
RELEASE = "ddxplus"
"""Source whose lists are whole: it asks of everybody what any of its conditions has."""
VOCABULARIES = (PREFIX, "KGDX:common.")
"""Symptoms with ids that are asked about; those of other sources have no other name than their words."""


class Evidences(Scorer):
    """How well a disease explains the symptoms that are given by id, and those that are known to be absent.

    s(d) = ASKED · a + Σ_e ln p(e | d) / p(e) + Σ_n min(0, ln (1 − p(n | d)) / (1 − p(n))) over the present e and the
    absent n, with a the share of what was known at first that is given so: an answer to a question makes nobody a
    patient of such a list. p is from the lists of symptoms and the table of patients that ships
    (:class:`~kgdx.rank.evidence_odds.EvidenceOdds`), which knows values, sex and age; that of what is only asked
    after something else is among those who have it. What is absent is never in favour. Diseases without a list get 0.
    """

    name: ClassVar[str] = "evidences"
    version: ClassVar[int] = 5
    standardised: ClassVar[bool] = False

    @classmethod
    def compile(cls, snapshot: Snapshot, model: RankModel) -> Mapping[str, Floats]:
        ids = snapshot.values("symptom", "id").values()
        known = np.array([id.startswith(VOCABULARIES) for id in ids], bool)
        disease, symptom = (snapshot.column("has_symptom", end) for end in ("disease", "symptom"))
        owner = model.candidates.of[disease]
        sources = np.array([stated(source) for source in snapshot.column("has_symptom", "source").tolist()], bool)
        use = (owner >= 0) & sources & (known[symptom] if len(ids) else False)
        if not use.any():
            return {}
        keys, first = np.unique(symptom[use].astype(np.int64) * len(model.curated) + owner[use], return_index=True)
        row, column = np.divmod(keys, len(model.curated))
        share = np.nan_to_num(snapshot.column("has_symptom", "score")[use][first], nan=1.0).astype(np.float32)
        listed = compressed(row, column.astype(np.int32), share, len(ids))
        names = [name or id for name, id in zip(snapshot.column("symptom", "name").tolist(), ids, strict=True)]
        conditions = np.full(len(model.curated), "", "U120")
        released = use & (snapshot.column("has_symptom", "source") == RELEASE)
        for rows in (use, released):  # the table of patients knows a joined condition by the release's id
            conditions[owner[rows]] = snapshot.column("disease", "id")[disease[rows]].astype("U120")
        codes = np.array([id if mine else "" for id, mine in zip(ids, known.tolist(), strict=True)], str)
        texts = MappedTexts.arrays(name if mine else "" for name, mine in zip(names, known.tolist(), strict=True))
        whole = np.zeros(len(model.curated), bool)
        whole[owner[released]] = True
        made = {"start": listed.start, "index": listed.index, "share": listed.values, "whole": whole}
        return made | {"conditions": conditions, "codes": codes} | texts

    @property
    def applies(self) -> bool:
        return "index" in self.arrays

    @cached_property
    def _listed(self) -> Sparse:
        return Sparse(self.arrays["start"], self.arrays["index"], self.arrays["share"])

    @cached_property
    def _length(self) -> Ints:
        return np.bincount(self.arrays["index"], minlength=len(self.model.curated))

    @cached_property
    def _field(self) -> Field:
        return Field(self._length > 0, self._length == 0)

    def field(self, query: Query) -> Field | None:
        return self._field

    def knows(self, query: Query) -> bool:
        return bool(query.symptoms)

    @cached_property
    def numbers(self) -> Ints:
        return np.flatnonzero(self._length > 0)

    @cached_property
    def rows(self) -> Ints:
        return np.flatnonzero(self.arrays["codes"] != "")

    @cached_property
    def odds(self) -> EvidenceOdds:
        return self.odds_of(EvidenceTable.read())

    def odds_of(self, table: EvidenceTable | None) -> EvidenceOdds:
        """Return the likelihoods by the lists and a table of patients; by the lists alone where ``None``."""
        ids = self.arrays["conditions"][self.numbers].tolist()
        whole = self.arrays["whole"][self.numbers]
        return EvidenceOdds(ids, self.arrays["codes"][self.rows].tolist(), self._marked(), table, whole)

    def _marked(self) -> Floats:
        found = np.zeros((len(self.numbers), len(self.rows)), np.float32)
        place = np.full(len(self._length), -1)
        place[self.numbers] = np.arange(len(self.numbers))
        for column, row in enumerate(self.rows.tolist()):
            numbers, share = self._listed.row(row)
            found[place[numbers], column] = share
        return found

    def reading(self, case: Case) -> Hashable:
        told = [(each.id, each.status) for each in case.findings if each.id.startswith(VOCABULARIES)]
        denied = _denied(case)
        return (tuple(told), denied, _at_first(case), person_of(case)) if told or denied else None

    def tells(self, query: Query) -> bool:
        return self.knows(query) or (query.case is not None and bool(_denied(query.case)))

    def score(self, query: Query) -> Floats:
        total = np.zeros(len(self._length), np.float32)
        if not self.tells(query):
            return total
        case = query.case
        if case is None:
            codes = self.arrays["codes"]
            asked, odds = 1.0, self.odds.odds([str(codes[row]) for row in query.symptoms], ())
        else:
            asked, odds = _at_first(case), self.odds.odds(case.observed, _denied(case), person_of(case))
        total[self.numbers] = odds + ASKED * asked * self.arrays["whole"][self.numbers]
        return total

    def told(self, query: Query, candidates: Ints) -> list[list[Told]]:
        texts = MappedTexts(self.arrays["text"], self.arrays["offset"])
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


@cache
def _denials() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for code, terms in evidence_terms().items():
        for each in terms:
            if VALUE not in code and each.relation != "broader":
                found[each.id] = (*found.get(each.id, ()), f"{PREFIX}{code}")
    return found


def _denied(case: Case) -> tuple[str, ...]:
    absent = [each for each in case.findings if each.status is Status.ABSENT]
    codes = [each.id for each in absent if each.id.startswith(VOCABULARIES)]
    said = (each for each in absent if each.method == "asked" or each.span is not None)
    return tuple(dict.fromkeys((*codes, *(code for each in said for code in _denials().get(each.id, ())))))


def _at_first(case: Case) -> float:
    first = [
        each.id for each in case.findings if each.status is Status.PRESENT and each.method not in (MAPPED, "asked")
    ]
    return sum(each.startswith(PREFIX) for each in first) / max(len(first), 1)
