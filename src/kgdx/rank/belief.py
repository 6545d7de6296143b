"""How likely each disease is for a patient of whom more and more is known, and which questions would tell most.

The scores are the ranker's; what rests on them is computed once for equal findings and kept, since most answers are
"don't know" and leave all of it as it is.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kgdx.arrays.sparse import Floats, Ints, Sparse, gather
from kgdx.lazy import Recent
from kgdx.rank.fusion import Scored, entropy, leading, shares
from kgdx.rank.query import Query

if TYPE_CHECKING:
    from kgdx.rank.case_bank import CaseBank
    from kgdx.rank.ranker import Ranker

LEADERS = 400
"""Diseases that share all belief: two findings leave many possible."""
LEAST = 0.0005
"""Share of belief below which a disease says nothing of which question tells most."""
VALUED = 128
"""Leaders by whose belief questions are valued: with 400 plans are as good (docs/benchmarks.md)."""
LOOKED = 5
"""Leaders whose typical terms are looked up."""
TYPICAL = 24
"""Annotated terms of a disease that are kept, the most typical first."""
TELLING = 96
"""Questions that are kept, the most telling first."""
SCORED, BELIEVED = 48, 4096
"""Scored cases with all their arrays that are kept, and beliefs: one megabyte, and 60 kB each."""
LESS = 3
"""Findings that a kept case may lack to go on from it."""
Key = tuple[Hashable, ...]


class Telling(NamedTuple):
    """What could be asked next, in arrays of one length for every patient.

    Attributes:
        terms: The questions that tell most among the leaders, the best first, and then the typical terms of each
            disease that can be looked up; 0 where there are no more; shape (TELLING + LOOKED · TYPICAL,).
        there: Whether there is one; of the same shape.
        values: Bits that the answer to each question tells of which disease it is, the share of a yes, and how often
            the first leader's patients have it; shape (3, TELLING).
        often: How often patients of each disease have its typical terms; shape (LOOKED, TYPICAL).
        diseases: Those that can be looked up, -1 where there are no more; shape (LOOKED,).
    """

    terms: Ints
    there: Ints
    values: Floats
    often: Floats
    diseases: Ints
    share: Floats


@dataclass(frozen=True)
class Belief:
    """Which diseases are how likely for some findings: all scores, and the leaders, best first, with their shares.

    The ``key`` is what the scores depend on; the shares are 1 in sum.
    """

    key: Key
    query: Query
    total: Floats = field(repr=False)
    leaders: Ints = field(repr=False)
    share: Floats = field(repr=False)

    @cached_property
    def shape(self) -> tuple[float, ...]:
        """How peaked it is: shares of the first, the second and the next three, entropy, score and its gaps."""
        share = self.share[self.share > 0]
        score = self.total[self.leaders[:LOOKED]].tolist()
        bits = float(-(share * np.log(share)).sum() / np.log(LEADERS))
        first = (float(self.share[0]), float(self.share[1:2].sum()), float(self.share[2:LOOKED].sum()))
        return (*first, bits, score[0] / 10, (score[0] - score[min(1, len(score) - 1)]) / 3, (score[0] - score[-1]) / 3)


class BeliefTracker:
    """Says which diseases are how likely, for cases of one graph."""

    def __init__(self, ranker: Ranker, bank: CaseBank | None = None) -> None:
        self.ranker, self.bank, self.model = ranker, bank, ranker.model
        self.scored_anew = 0
        """How many cases were scored, and not known already."""
        self.forget()

    def forget(self) -> None:
        self._scored: Recent[Key, Scored] = Recent(SCORED)
        self._beliefs: Recent[Key, Belief] = Recent(BELIEVED)
        self._telling: Recent[Key, Telling] = Recent(BELIEVED)

    def of(self, query: Query, before: Belief | None = None) -> Belief:
        """Return which diseases are how likely.

        While the scores of the belief ``before``, when less was known of the same patient, are kept, only what came
        since is computed.
        """
        person = self.ranker.key(query)[2:] if before is None else before.key[2:]
        key = (query.observed.tobytes(), query.excluded.tobytes(), *person)
        return self._beliefs.get(key, lambda: self._anew(key, query, before))

    def _anew(self, key: Key, query: Query, before: Belief | None) -> Belief:
        self.scored_anew += 1
        known = None if before is None else self._scored.peek(before.key)
        known = known or self._shorter(key, query)
        total = self._scored.get(key, lambda: self.ranker.score_anew(query, known)).total
        leaders = leading(total, LEADERS)
        share = shares(total[leaders].astype(np.float64), self.ranker.degrees(query))
        return Belief(key, query, total, leaders, share)

    def _shorter(self, key: Key, query: Query) -> Scored | None:
        present, absent = len(query.observed), len(query.excluded)
        for less in range(1, LESS + 1):
            for gone in range(max(less - absent, 0), min(less, present) + 1):
                some = query.observed[: present - gone], query.excluded[: absent - less + gone]
                known = self._scored.peek((*(each.tobytes() for each in some), *key[2:]))
                if known is not None:
                    return known
        return None

    def concluded(self, belief: Belief, leave_out: frozenset[str] = frozenset()) -> Floats:
        """Return the scores by which a diagnosis is made: those of the case bank where there is one."""
        if self.bank is None:
            return belief.total
        scored = self._scored.get(belief.key, lambda: self.ranker.score_anew(belief.query))
        return self.bank.match(scored, leave_out).raised(scored.total)

    @cached_property
    def typical(self) -> tuple[Ints, Floats]:
        """The most typical terms of each candidate, best first, and how often its patients have them.

        Shapes (candidates, TYPICAL); -1 and 0 where there are no more.
        """
        annotated, weight = self.model.columns.annotated, self.model.columns.weight
        terms = np.full((self.model.columns.size, TYPICAL), -1, np.int32)
        often = np.zeros(terms.shape, np.float32)
        for candidate in np.flatnonzero(self.model.curated).tolist():
            begin, end = annotated.start[candidate], annotated.start[candidate + 1]
            order = np.argsort(-weight[begin:end], kind="stable")[:TYPICAL]
            terms[candidate, : len(order)] = annotated.index[begin:end][order]
            often[candidate, : len(order)] = annotated.values[begin:end][order]
        return terms, often

    def settled(self, query: Query, unknown: Sequence[int] = ()) -> Ints:
        """Return which terms need not be asked for; shape (terms,)."""
        basis = self.model.basis
        settled: Ints = np.diff(basis.up.start) == 0  # no phenotypic abnormality: nobody is asked for it
        for term in query.observed.tolist():
            settled[basis.up.columns(term)] = True
        for term in (*query.excluded.tolist(), *unknown):
            settled[basis.down.columns(term)] = True
        return settled

    def telling(self, belief: Belief) -> Telling:
        return self._telling.get(belief.key, lambda: self._tell(belief))

    def _tell(self, belief: Belief) -> Telling:
        (every, named), terms = self._askable, self._terms
        leaders = belief.leaders[: max(int((belief.share[:VALUED] >= LEAST).sum()), 1)]
        position, of = gather(every.start, leaders)
        expected = np.zeros(len(terms), np.complex64)
        np.add.at(expected, every.index[position], every.values[position] * belief.share.astype(np.float32)[of])
        there = np.zeros(len(terms) + 1, bool)
        there[named[leaders]] = True  # the last stands for none
        place = np.flatnonzero(there[:-1])
        chance, known = expected.real[place], expected.imag[place]
        gain = np.maximum(entropy(np.minimum(chance, 1)) - known, 0)
        best = leading(gain, TELLING)
        place = place[best]
        had = np.zeros(len(terms), np.float32)
        own, often = every.row(leaders[0])
        had[own] = often.real
        questions, values = np.full(TELLING, -1), np.zeros((3, TELLING), np.float32)
        questions[: len(place)], values[:, : len(place)] = terms[place], (gain[best], chance[best], had[place])
        diseases, share = np.full(LOOKED, -1), np.zeros(LOOKED, np.float32)
        first = belief.leaders[:LOOKED]
        diseases[: len(first)], share[: len(first)] = first, belief.share[:LOOKED]
        typical, often = (each[diseases] for each in self.typical)
        typical = np.where(diseases[:, None] >= 0, typical, -1)
        asked = np.concatenate([questions, typical.ravel()])
        return Telling(np.maximum(asked, 0), asked >= 0, values, often * (typical >= 0), diseases, share)

    @cached_property
    def _terms(self) -> Ints:
        named = self.typical[0]
        return np.unique(named[named >= 0])

    @cached_property
    def _askable(self) -> tuple[Sparse, Ints]:
        """How often each candidate's patients have each term, its bits imaginary; the places of its typical terms."""
        by, size = self.model.propagated, len(self.model.basis.ic)
        place = np.full(size + 1, -1)
        place[self._terms] = np.arange(len(self._terms))
        kept = place[by.index] >= 0
        start, often = np.concatenate([[0], np.cumsum(kept)])[by.start], by.values[kept].astype(np.float32)
        both = often + np.complex64(1j) * entropy(often)
        return Sparse(start, place[by.index[kept]], both), place[self.typical[0]]
