"""What nobody is asked any more: what was said or answered, under whatever name, and all that follows from it.

A finding has one identity over HPO, DDXPlus's evidences, symptoms in words and results of tests: a link of the release,
an equal name or synonym, or a row of ``ranking/questions.tsv`` that says which findings say it already.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import cache, cached_property

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.case.ddxplus_release import PREFIX, evidence_of, evidence_terms, evidences
from kgdx.case.patient import Case
from kgdx.case.person import years_of
from kgdx.lazy import lazy_pattern
from kgdx.rank.complaints import GROWN, wordings
from kgdx.rank.question_pools import QuestionPool, asked_of_families
from kgdx.rank.ranking import CandidateNames
from kgdx.rank.ranking_model import RankModel
from kgdx.rank.selectors import Situation

HEADINGS = ("Abnormal", "Aplasia/", "Morphological", "Phenotypic")
"""How names begin under which the ontology only puts findings together."""
INFANT = lazy_pattern(r"(?i)neonat|infan|fetal|intrauter|prenatal|at birth")
"""Names of findings that no grown-up is asked about."""
LONG = 8
"""Values beyond which nobody is asked about a detail."""
ALIKE = 1.25
"""A finding that is at most so much more frequent than one below it is the same question."""
IN_A_ROW, ANOTHER = 2, 0.5
"""Questions about findings of one kind ("a positive antibody") after which the next is worth less, and how much."""
KIN = 60
"""Findings below one that are taken for one kind."""
TOP = 2
"""Terms that a system of organs implies: itself, and Phenotypic abnormality."""
SEXED: Mapping[str, tuple[str, ...]] = {
    "MALE": ("HP:0010460", "HP:0000140", "HP:0002686", "HP:0030012"),
    "FEMALE": ("HP:0010461", "HP:0008669"),
}
"""Findings that nobody of a sex is asked about, nor what is below them: organs of the other, menses, pregnancy."""


_Same = tuple[str, str, str, str]
"""What has a term of HPO: with a value or without, without it, the term, and how they relate."""


@cache
def _said_by() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    said, moot = dict[str, set[str]](), dict[str, set[str]]()
    for id, each in wordings().items():
        for found, others in ((said, each.said_by), (moot, each.moot_by)):
            for other in others:
                found.setdefault(other, set()).add(id)
    return said, moot


class Settled:
    """Says of the questions of a graph which are still free."""

    def __init__(self, model: RankModel, names: CandidateNames, pools: Mapping[str, QuestionPool]) -> None:
        self._model, self._names, self._pools = model, names, pools
        self._unfitting: dict[tuple[str, str | None], dict[str, Ints]] = {}
        self._unasked: dict[str, Ints] = {}
        self._kind = cache(self._kind_of)

    def free(self, case: Case, asked: Iterable[str], kinds: Collection[str], *, person: bool) -> dict[str, Ints]:
        """Return by kind which items may be asked about; shape (items,).

        The answer about ``asked`` ids was no help; a ``person`` is asked, or a program.
        """
        observed = set(case.observed)
        present, others = self.elsewhere(observed, {*case.excluded, *asked, *asked_of_families(case)})
        unfitting = self._unfit(case)
        free = {}
        for kind in kinds:
            pool = self._pools[kind]
            free[kind] = pool.free(present, others) & ~unfitting[kind]
            if kind == "phenotype":
                for row in (pool.rows[id] for id in observed if id in pool.rows):
                    for other in self._model.basis.opposite.columns(row).tolist():
                        free[kind][self._model.basis.down.columns(other)] = False
            if kind == "evidence" and "phenotype" in kinds:
                free[kind] &= ~self._twins
            if person:
                free[kind] &= ~self.unasked(kind)
            if person and kind == "phenotype":
                for row in (pool.rows[id] for id in (*observed, *case.excluded) if id in pool.rows):
                    free[kind][self._called_alike.get(row, [])] = False
        return free

    def above(self, id: str) -> Iterable[str]:
        """Return the ids that a finding implies, itself included."""
        pool = self._pools.get("phenotype")
        row = -1 if pool is None else pool.rows.get(id, -1)
        if pool is None or pool.up is None or row < 0:
            return (id,)
        return (pool.ids[each] for each in pool.up.columns(row).tolist())

    def elsewhere(self, present: set[str], others: set[str]) -> tuple[set[str], set[str]]:
        """Return what is present and what is settled otherwise, also under the names of another vocabulary."""
        implied = {each for id in present for each in self.above(id)}
        said_by, moot_by = _said_by()
        others = others.union(*(said_by[id] for id in implied & said_by.keys()))
        others = others.union(*(moot_by[id] for id in others & moot_by.keys()))
        given = present | {evidence_of(id) for id in present}
        more, settled = set[str](), set[str]()
        for code, evidence, term, relation in dict.fromkeys(
            each for id in implied | given | others for each in self._same_by.get(id, ())
        ):
            if term in implied:
                (settled if relation == "narrower" or code != evidence else more).add(evidence)
            if relation != "broader" and (code in present or (code == evidence and code in given)):
                more.add(term)
            elif relation != "narrower" and code in others:
                settled.add(term)
        for id in others:
            settled |= self._settled_by.get(id, set())
        return present | more, others | (settled - more)

    @cached_property
    def _same_by(self) -> dict[str, list[_Same]]:
        found: dict[str, list[_Same]] = {}
        for each in self._same:
            for id in {each[0], each[2]}:
                found.setdefault(id, []).append(each)
        return found

    @cached_property
    def _same(self) -> list[_Same]:
        if "phenotype" not in self._pools:
            return []
        terms = self._pools["phenotype"].rows
        coded = [(f"{PREFIX}{code}", each) for code, related in evidence_terms().items() for each in related]
        found = [(code, evidence_of(code), each.id, each.relation) for code, each in coded if each.id in terms]
        linked = {code for code, *_ in found}
        named = self._named
        for kind in ("evidence", "symptom"):
            if (pool := self._pools.get(kind)) is None:
                continue
            for id, row in pool.rows.items():
                term = named.get(pool.labels(row).casefold(), "")
                if id not in linked and term in terms:
                    found.append((id, id, term, "exact"))
        return found

    @cached_property
    def _named(self) -> dict[str, str]:
        ids, names, synonyms = (
            self._names.snapshot.column("phenotype", each).tolist() for each in ("id", "name", "synonyms")
        )
        found = {each.casefold(): id for id, more in zip(ids, synonyms, strict=True) for each in more or ()}
        return found | {name.casefold(): id for id, name in zip(ids, names, strict=True) if name}

    @cached_property
    def _called_alike(self) -> dict[int, list[int]]:
        named = defaultdict[str, list[int]](list)
        for row, name in enumerate(self._names.snapshot.column("phenotype", "name_zh").tolist()):
            if name and row < len(self._pools["phenotype"].ids):
                named[name].append(row)
        return {row: rows for rows in named.values() if len(rows) > 1 for row in rows}

    @cached_property
    def _settled_by(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for code, evidence, term, relation in self._same:
            if relation != "broader" and code == evidence:
                for upper in self.above(term):
                    found.setdefault(upper, set()).add(evidence)
        return found

    @cached_property
    def _twins(self) -> Ints:
        pool = self._pools["evidence"]
        mask = np.zeros(len(pool.ids), bool)
        rows = [pool.rows.get(code, -1) for code, _, _, how in self._same if how == "exact"]
        mask[np.array([row for row in rows if row >= 0], np.int64)] = True
        return mask

    def _unfit(self, case: Case) -> dict[str, Ints]:
        if (known := self._unfitting.get((case.sex, case.age))) is not None:
            return known
        masks = {}
        for kind, pool in self._pools.items():
            mask = np.zeros(len(pool.ids), bool)
            for id in SEXED.get(case.sex, ()):
                if (row := pool.rows.get(id, -1)) >= 0:
                    mask[row if pool.down is None else pool.down.columns(row)] = True
            for id, each in wordings().items():
                if (row := pool.rows.get(id, -1)) >= 0 and not each.fits(case):
                    mask[row] = True
            masks[kind] = mask | self._of_infants if kind == "phenotype" and (years_of(case.age) or 0) > GROWN else mask
        self._unfitting[case.sex, case.age] = masks
        return masks

    @cached_property
    def _of_infants(self) -> Ints:
        pool = self._pools["phenotype"]
        return np.array([bool(INFANT.search(pool.labels(row))) for row in range(len(pool.ids))], bool)

    def unasked(self, kind: str) -> Ints:
        """Return what no person is asked: a detail with a long list of values, and a mere heading of HPO."""
        if kind not in self._unasked:
            found = self._unasked[kind] = np.zeros(len(self._pools[kind].ids), bool)
            for id, row in self._pools[kind].rows.items():
                if kind == "evidence":
                    one = evidences().get(id.removeprefix(PREFIX))
                    found[row] = one is not None and one.parent != one.code and len(one.values) > LONG
                elif kind == "phenotype" and id not in wordings():
                    found[row] = self._pools[kind].labels(row).startswith(HEADINGS)
        return self._unasked[kind]

    def without_alike(self, value: Floats, at: Situation, asked: Iterable[str], known: Iterable[str] = ()) -> None:
        """Make worthless what was nearly asked: what is above a finding and hardly more frequent; kin are worth less.

        ``value`` is changed. What was ``asked`` was so in vain; kin of what a person has said or was asked, ``known``,
        are worth less at once.
        """
        pool, up, down = self._pools["phenotype"], self._model.basis.up, self._model.basis.down
        rows, said = ([row for id in ids if (row := pool.rows.get(id, -1)) >= 0] for ids in (asked, known))
        for kind, times in Counter(self._kind(row) for row in (*rows, *said)).items():
            more = times if said else times - IN_A_ROW + 1
            if kind >= 0 and more > 0:
                value[down.columns(kind)] *= ANOTHER**more
        for row in rows:
            above = up.columns(row)
            value[above[at.often[above] <= ALIKE * at.often[row]]] = 0

    def _kind_of(self, row: int) -> int:
        basis = self._model.basis
        above = basis.up.columns(row)
        below = np.diff(basis.down.start)[above]
        below[above == row] = KIN + 1
        return int(above[below.argmin()]) if len(above) and below.min() <= KIN else -1

    @cached_property
    def systems(self) -> Ints:
        """The systems of organs that each phenotype belongs to, a bit each; shape (terms,)."""
        basis = self._model.basis
        bits = np.zeros(len(basis.ic), np.int64)
        for place, row in enumerate(np.flatnonzero(np.diff(basis.up.start) == TOP).tolist()):
            bits[basis.down.columns(row)] |= np.int64(1) << place
        return bits
