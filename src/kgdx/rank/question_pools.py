"""What can be asked about: phenotypes, symptoms in words, evidences and tests, each with how often a disease has it.

A pool is one kind of question as a matrix of likelihoods P(yes | disease), so that one rule selects among all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from kgdx.arrays.sparse import Floats, Ints, Sparse, compressed, gather
from kgdx.case.ddxplus_release import PREFIX, evidence_of, evidences
from kgdx.case.ddxplus_release import phrase as evidence_phrase
from kgdx.case.patient import Case
from kgdx.rank.descriptions import stated
from kgdx.rank.evidence_odds import LISTED, UNLISTED, EvidenceOdds, information
from kgdx.rank.fusion import entropy

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.evidences import Evidences
    from kgdx.rank.ranking import CandidateNames
    from kgdx.rank.ranking_model import RankModel

KINDS = ("phenotype", "evidence", "symptom", "test", "history")
"""Kinds of questions: a term of HPO, a question of DDXPlus, a symptom in the words of a source, a test, the family."""
FAMILY = {"FAMILY:PARENT": "affected parent", "FAMILY:SIBLING": "affected sibling", "FAMILY:RELATED": "related parents"}
"""What is asked of the family, with its name."""
BY_MODE = np.array([(0.5, 0.05, 0.03), (0.02, 0.3, 0.25), (0.1, 0.25, 0.03), (0.45, 0.1, 0.03), (0.2, 0.2, 0.03),
                    (0.5, 0.1, 0.03), (0.4, 0.3, 0.03)], np.float32)  # fmt: skip
"""How often that is so, by mode of inheritance (:data:`kgdx.rank.inheritance.NAMES`): by hand, from Mendel's rules."""
SPORADIC = 0.02
"""How often it is so of a disease that is not inherited."""


@dataclass(frozen=True)
class QuestionPool:
    """The questions of one kind.

    ``likelihood`` is candidate → items, with P(yes | candidate), ``base`` that where a described candidate has no
    entry; ``neighbours`` is candidate → what it is annotated with directly, and how often: what a yes may name. ``up``
    is item → what a yes implies, ``down`` what a no settles, itself included in both; ``after`` the item that has to be
    present for it to be asked, -1 for none. An answer moves no candidate that is not ``described``; shape
    (candidates,). ``odds`` has the likelihoods of the values of evidences, for the candidates ``numbers``.
    """

    kind: str
    ids: list[str]
    labels: Callable[[int], str]
    likelihood: Sparse
    base: float
    described: Ints
    neighbours: Sparse
    up: Sparse | None = None
    down: Sparse | None = None
    rows: dict[str, int] = field(default_factory=dict)
    after: Ints | None = None
    reviewed: Ints | None = None
    worded: Ints | None = None
    odds: EvidenceOdds | None = None
    numbers: Ints | None = None

    @cached_property
    def above_base(self) -> Any:
        return self._by_item(self.likelihood.values.astype(np.float32) - np.float32(self.base))

    @cached_property
    def entropies(self) -> Any:
        """Items × candidates: bits of the answer where the disease is known, less those of the base."""
        base = entropy(np.array([self.base]))[0]
        return self._by_item((entropy(self.likelihood.values.astype(np.float64)) - base).astype(np.float32))

    @cached_property
    def base_entropy(self) -> float:
        return float(entropy(np.array([self.base]))[0])

    def _by_item(self, values: Floats) -> Any:
        matrix = Sparse(self.likelihood.start, self.likelihood.index.astype(np.int32), values)
        return matrix.array(len(self.ids)).T.tocsr()

    def value_information(self, shares: Floats, free: Ints) -> Floats:
        """Return the bits that the value adds to the answer of each item, as often as it is yes; shape (items,)."""
        gain = np.zeros(len(self.ids))
        for given, row, values in self._valued:
            if free[row]:
                yes = shares[self.numbers].astype(np.float64) * given
                gain[row] = float(yes.sum()) * information(yes, values)
        return gain

    @cached_property
    def _valued(self) -> list[tuple[Floats, int, Floats]]:
        if self.odds is None or not self.odds.learned:
            return []
        rows, given = sorted(self.rows.values()), self.odds.given.T
        found = ((likely, row, self.odds.values(self.ids[row])) for row, likely in zip(rows, given, strict=False))
        return [(likely, row, of_values) for likely, row, (names, of_values) in found if len(names) > 1]

    def of(self, candidates: Ints, items: Ints) -> Floats:
        """Return P(yes) of some items for some candidates; shape (candidates, items)."""
        place = np.full(len(self.ids), -1)
        place[items] = np.arange(len(items))
        found = np.full((len(candidates), len(items)), self.base)
        position, owner = gather(self.likelihood.start, candidates)
        at = place[self.likelihood.index[position]]
        there = np.flatnonzero(at >= 0)
        found[owner[there], at[there]] = self.likelihood.values[position[there]]
        return found

    def free(self, present: Iterable[str], others: Iterable[str]) -> Ints:
        """Return which items may still be asked about; shape (items,).

        Whoever has a finding has all that it implies; who lacks it, or cannot say, is asked about nothing below it.
        What is only asked after something else waits until that is present.
        """
        free = self._asked.copy()
        for ids, settled in ((present, self.up), (others, self.down)):
            for id in ids:
                row = self.row(id)
                if row >= 0:
                    free[row if settled is None else settled.columns(row)] = False
        if self.after is not None:
            there = np.zeros(len(self.ids) + 1, bool)
            there[np.array([-1, *(self.row(id) for id in present)])] = True
            free &= there[self.after]
        return free

    @cached_property
    def _asked(self) -> Ints:
        return np.ones(len(self.ids), bool) if self.up is None else np.diff(self.up.start) > 0

    def row(self, id: str) -> int:
        return self.rows.get(id, self.rows.get(evidence_of(id), -1))


def pools(
    model: RankModel,
    names: CandidateNames,
    evidences: Evidences | None = None,
    asked_in: Mapping[str, str] = MappingProxyType({}),
    modes: Floats | None = None,
) -> dict[str, QuestionPool]:
    """Return the pools of a graph by kind, without those of which it knows nothing.

    ``asked_in`` are the keys of what has everyday words, none for whole systems; ``modes`` the shares of modes of
    inheritance, of shape (candidates, modes).
    """
    made: dict[str, QuestionPool | None] = {"phenotype": _phenotypes(model, names)}
    made |= {kind: _listed(kind, model, names.snapshot) for kind in KINDS[1:4]}
    made["history"] = None if modes is None else _family(modes)
    pool = made["evidence"]
    if pool is not None and evidences is not None and evidences.applies:
        made["evidence"] = _likelier(pool, evidences)
    if (terms := made["phenotype"]) is not None:
        masks = np.zeros((2, len(terms.ids)), bool)
        for id, each in asked_in.items():
            if id in terms.rows:
                masks[int(bool(each)), terms.rows[id]] = True
        made["phenotype"] = replace(terms, reviewed=masks[0], worded=masks[1])
    return {kind: pool for kind, pool in made.items() if pool is not None and len(pool.likelihood.index)}


def _phenotypes(model: RankModel, names: CandidateNames) -> QuestionPool:
    described = np.diff(model.propagated.start) > 0
    terms = list(names.terms)
    basis = model.basis
    return QuestionPool(
        *("phenotype", terms, lambda row: names.label(terms[row]), model.propagated, 0.0, described),
        *(model.columns.annotated, basis.up, basis.down, names.terms),
    )


def _family(modes: Floats) -> QuestionPool:
    inherited, ids = np.asarray(modes.any(axis=1)), list(FAMILY)
    row, column = (each.ravel() for each in np.meshgrid(np.flatnonzero(inherited), np.arange(len(ids)), indexing="ij"))
    chance = (modes[inherited] @ BY_MODE).astype(np.float32).ravel()
    likely = compressed(row, column.astype(np.int32), chance, len(modes))
    rows = {id: place for place, id in enumerate(ids)}
    return QuestionPool("history", ids, lambda row: FAMILY[ids[row]], likely, SPORADIC, inherited, likely, rows=rows)


def asked_of_families(case: Case) -> set[str]:
    """Return what need not be asked of the family any more."""
    known = {f"FAMILY:{each}" for each in case.family.affected}
    return known | ({"FAMILY:RELATED"} if case.family.consanguineous is not None else set())


def _listed(kind: str, model: RankModel, snapshot: Snapshot) -> QuestionPool | None:
    node, relation = ("test", "recommend_test") if kind == "test" else ("symptom", "has_symptom")
    if not snapshot.rows(relation):
        return None
    ids = [str(id) for id in snapshot.values(node, "id").values()]
    names = snapshot.values(node, "name").values()
    disease, item = (snapshot.column(relation, end) for end in ("disease", node))
    owner = model.candidates.of[disease]
    coded = np.array([id.startswith(PREFIX) for id in ids], bool)
    sources = np.array([stated(source) for source in snapshot.column(relation, "source").tolist()], bool)
    use = (owner >= 0) & sources
    if kind != "test":
        use &= coded[item] == (kind == "evidence")
    size = len(model.curated)
    keys, first = np.unique(owner[use].astype(np.int64) * max(len(ids), 1) + item[use], return_index=True)
    row, column = np.divmod(keys, max(len(ids), 1))
    given = np.full(len(row), np.nan) if kind == "test" else snapshot.column(relation, "score")[use][first]
    share = np.where(np.isnan(given), LISTED, np.clip(given, UNLISTED, 1)).astype(np.float32)
    listed = compressed(row, column.astype(np.int32), share, size)
    kin = _kin(ids, snapshot.column("symptom", "asked_after").tolist()) if kind == "evidence" else (None, None, None)

    def label(row: int) -> str:
        code = ids[row].removeprefix(PREFIX)
        return evidence_phrase(code) if kind == "evidence" and code in evidences() else str(names[row] or ids[row])

    rows = {id: row for row, id in enumerate(ids) if kind == "test" or coded[row] == (kind == "evidence")}
    return QuestionPool(
        kind, ids, label, listed, UNLISTED, np.diff(listed.start) > 0, listed, kin[0], kin[1], rows, kin[2]
    )


def _likelier(pool: QuestionPool, evidences: Evidences) -> QuestionPool:
    odds, numbers, rows = evidences.odds, evidences.numbers, evidences.rows
    row, column = (each.ravel() for each in np.meshgrid(numbers, rows, indexing="ij"))
    values = odds.given.astype(np.float32).ravel()
    likelihood = compressed(row, column.astype(np.int32), values, len(pool.described))
    return replace(pool, likelihood=likelihood, odds=odds, numbers=numbers)


def _kin(ids: list[str], asked_after: list[str]) -> tuple[Sparse, Sparse, Ints]:
    rows = {id: row for row, id in enumerate(ids)}
    released = {each.id: f"{PREFIX}{each.parent}" for each in evidences().values()}
    parents = [
        rows.get(above or released.get(id, ""), row)
        for row, (id, above) in enumerate(zip(ids, asked_after, strict=True))
    ]
    pairs = [(row, row) for id, row in rows.items() if id.startswith(PREFIX)]
    pairs += [(row, parent) for row, parent in enumerate(parents) if parent != row]
    after = np.array([-1 if parent == row else parent for row, parent in enumerate(parents)], np.int64)
    lower, upper = (np.array(ends, np.int32) for ends in zip(*pairs, strict=True))
    ones = np.ones(len(pairs), np.int8)
    return compressed(lower, upper, ones, len(ids)), compressed(upper, lower, ones, len(ids)), after
