"""How the diseases stand for a patient of whom more and more is known: what a policy looks at before it chooses.

The scores are the ranker's; what rests on them (leaders, telling questions, matched patients) is computed once for
equal findings and kept, since most answers are "don't know" and leave all of it as it is.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kgdx.arrays.sparse import Floats, Ints, Sparse, gather
from kgdx.rank.fusion import Scale, Scored, entropy, leading, shares
from kgdx.rank.query import Query, Recent

if TYPE_CHECKING:
    from kgdx.rank.case_bank import CaseBank
    from kgdx.rank.ranker import Ranker
    from kgdx.terms.text_search import Texts

LEADERS = 60
"""Diseases that share all belief: those that a choice is about."""
NAMED = 40
"""Of them, those whose typical terms are asked for."""
WIDE = 400
"""Diseases that a wide round is about: two findings leave more than :data:`LEADERS` possible."""
LOOKED = 5
"""Of them, those that can be looked up."""
TYPICAL = 24
"""Annotated terms of a disease that are kept, the most typical first."""
TELLING = 96
"""Questions that are kept, the most telling first."""
MATCHED = 20
"""N of the best patients that count, and of the best passages."""
SCORED, STANDING = 48, 4096
"""Scored cases with all their arrays that are kept, and cases as they stand: one megabyte, and 80 kB each."""
LESS = 3
"""Findings that a kept case may lack to go on from it."""
TOGETHER = 32
"""Most cases that are scored at once."""


Key = tuple[Hashable, ...]


class Telling(NamedTuple):
    """What could be asked next, in arrays of one length for every patient.

    Attributes:
        terms: The questions that tell most among the leaders, the best first, those among the WIDE best diseases, and
            then the typical terms of each disease that can be looked up; 0 where there are no more; shape
            (2 · TELLING + LOOKED · TYPICAL,).
        there: Whether there is one; of the same shape.
        gain: Bits that the answer to each question tells of which disease it is; shape (2, TELLING).
        chance: Share of a yes.
        first: How often the first leader's patients have it.
        often: How often patients of each disease have its typical terms; shape (LOOKED, TYPICAL).
        diseases: Those that can be looked up, -1 where there are no more; shape (LOOKED,).
        share: Their shares of belief.
    """

    terms: Ints
    there: Ints
    gain: Floats
    chance: Floats
    first: Floats
    often: Floats
    diseases: Ints
    share: Floats


class Asked(NamedTuple):
    """A finding to ask for.

    Attributes:
        id: Which.
        label: Its name.
        below: Ids of later ones that a no, or "don't know", settles.
    """

    id: str
    label: str
    below: tuple[str, ...] = ()


class Matched(NamedTuple):
    """The patients of a bank that match best, as evidence for their diseases.

    Attributes:
        candidates: Their diseases, each once, that of the most similar patient first; shape (diseases,).
        similar: The greatest similarity of a patient of each, 0 to 1; of the same shape.
        of: The place in ``candidates`` of each patient's disease; shape (patients,).
        score: Each patient's, on the scale of the diseases' scores; of the same shape.
    """

    candidates: Ints
    similar: Floats
    of: Ints
    score: Floats

    def gain(self, total: Floats, weight: float) -> Floats:
        """Return how far the patients raise their diseases: τ ln(1 + Σ_p e^((s_p − s) / τ)); shape (diseases,).

        As in the case bank, a disease counts for its own score and its patients' together. So patients raise most what
        the annotations explain worse than they do, and a disease that its annotations explain well keeps its place.

        Args:
            total: Score s of each candidate.
            weight: τ: how much several patients of a disease add up; nothing counts where it is 0.
        """
        if not weight or not len(self.candidates):
            return np.zeros(len(self.candidates), np.float32)
        own = total[self.candidates].astype(np.float64)
        best = own.copy()
        np.maximum.at(best, self.of, self.score)
        share = np.exp((own - best) / weight)
        np.add.at(share, self.of, np.exp((self.score - best[self.of]) / weight))
        gain: Floats = (best - own + weight * np.log(share)).astype(np.float32)
        return gain


class Mentioned(NamedTuple):
    """Diseases that the best passages are of.

    Attributes:
        candidates: Each once, the best first; shape (diseases,).
        similar: The best passage's score over that of the best of all, 0 to 1; of the same shape.
    """

    candidates: Ints
    similar: Floats


@dataclass(frozen=True)
class Standing:
    """Where the diseases stand for some findings.

    Attributes:
        key: What the scores depend on.
        query: The findings.
        total: Score of each candidate; shape (candidates,).
        degrees: Temperature at which scores become shares.
        leaders: The best candidates, best first; shape (LEADERS,).
        share: Their shares of belief, 1 in sum.
        scales: How each scorer's values become parts of the scores.
    """

    key: Key
    query: Query
    total: Floats
    degrees: float
    leaders: Ints
    share: Floats
    scales: Mapping[str, Scale] = field(default_factory=dict, repr=False)

    @cached_property
    def shape(self) -> tuple[float, ...]:
        """How clear it is: shares of the first, the second and the next three, their entropy, score and its gaps."""
        share = self.share[self.share > 0]
        score = self.total[self.leaders[:LOOKED]].tolist()
        second = score[min(1, len(score) - 1)]
        entropy = float(-(share * np.log(share)).sum() / np.log(LEADERS))
        first = (float(self.share[0]), float(self.share[1:2].sum()), float(self.share[2:LOOKED].sum()))
        return (*first, entropy, score[0] / 10, (score[0] - second) / 3, (score[0] - score[-1]) / 3)

    def raised(self, candidates: Ints, gain: Floats) -> Standing:
        """Return where the diseases stand when something else counts too.

        Args:
            candidates: Some diseases, each once.
            gain: How far each is raised.
        """
        if not gain.any():
            return self
        total = self.total.copy()
        total[candidates] += gain
        found = self.waiting((*self.key, candidates.tobytes(), gain.tobytes()), self.query, self.degrees)
        found.stand(total, self.scales)
        return found

    @classmethod
    def waiting(cls, key: Key, query: Query, degrees: float) -> Standing:
        """Return the standing of a case that is not scored yet."""
        return cls(key, query, np.zeros(0), degrees, np.zeros(0, np.int64), np.zeros(0))

    def stand(self, total: Floats, scales: Mapping[str, Scale]) -> None:
        """Take over the scores, and their scales."""
        leaders = leading(total, LEADERS)
        share = shares(total[leaders].astype(np.float64), self.degrees)
        for name, value in (("total", total), ("leaders", leaders), ("share", share), ("scales", scales)):
            object.__setattr__(self, name, value)


class Standings:
    """Says where the diseases stand, for cases of one graph.

    Args:
        ranker: Scores.
        bank: Patients to match with, if there are any.
        texts: To search in, if there are any.
        kept: Cases of which it is kept how the diseases stand; training meets the same ones again and again.
    """

    def __init__(
        self, ranker: Ranker, bank: CaseBank | None = None, texts: Texts | None = None, kept: int = STANDING
    ) -> None:
        self.ranker, self.bank, self.texts, self.model = ranker, bank, texts, ranker.model
        self.scored_anew = 0
        """How many cases were scored, and not known already."""
        self._kept = kept
        self._waiting: list[tuple[Standing, Scored | None]] | None = None
        self.forget()

    def forget(self) -> None:
        """Forget all cases that were met."""
        self._scored: Recent[Key, Scored] = Recent(SCORED)
        self._standing: Recent[Key, Standing] = Recent(self._kept)
        self._telling: Recent[Key, Telling] = Recent(self._kept)
        self._matched: Recent[Key, Matched] = Recent(self._kept)
        self._led: Recent[Key, tuple[tuple[str, str, float], ...]] = Recent(self._kept)
        self._asked: Recent[tuple[int, ...], tuple[Asked, ...]] = Recent(self._kept)

    def of(self, query: Query, before: Standing | None = None) -> Standing:
        """Return where the diseases stand.

        Args:
            query: What is known.
            before: Where they stood when less was known of the same patient; while its scores are kept, only what came
                since is computed.
        """
        person = self.ranker.key(query)[2:] if before is None else before.key[2:]
        key = (query.observed.tobytes(), query.excluded.tobytes(), *person)
        return self._standing.get(key, lambda: self._stand(key, query, before))

    def _stand(self, key: Key, query: Query, before: Standing | None) -> Standing:
        self.scored_anew += 1
        known = None if before is None else self._scored.peek(before.key)
        known = known or self._shorter(key, query)
        standing = Standing.waiting(key, query, self.ranker.degrees(query))
        if self._waiting is not None:
            self._waiting.append((standing, known))
            return standing
        scored = self._scored.get(key, lambda: self.ranker.score_anew(query, known))
        standing.stand(scored.total, scored.scales)
        return standing

    def _shorter(self, key: Key, query: Query) -> Scored | None:
        """A scored case that is kept and lacks few of the findings, the last ones."""
        present, absent = len(query.observed), len(query.excluded)
        for less in range(1, LESS + 1):
            for gone in range(max(less - absent, 0), min(less, present) + 1):
                some = query.observed[: present - gone], query.excluded[: absent - less + gone]
                known = self._scored.peek((*(each.tobytes() for each in some), *key[2:]))
                if known is not None:
                    return known
        return None

    @contextmanager
    def together(self) -> Iterator[None]:
        """Score the cases whose standing is asked for within the block at once, when it ends.

        Until then nothing else may be asked of these. The scores are those of one after the other.
        """
        waiting: list[tuple[Standing, Scored | None]] = []
        self._waiting = waiting
        try:
            yield
            self._waiting = None
            for begin in range(0, len(waiting), TOGETHER):
                some = waiting[begin : begin + TOGETHER]
                found = self.ranker.scoring.score([(standing.query, known) for standing, known in some])
                for (standing, _), scored in zip(some, found, strict=True):
                    self._scored.keep(standing.key, scored)
                    standing.stand(scored.total, scored.scales)
        except BaseException:
            self.forget()  # what still waits is never scored
            raise
        finally:
            self._waiting = None

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

    @cached_property
    def outside(self) -> Ints:
        """Which terms are no phenotypic abnormality: nobody is asked for them; shape (terms,)."""
        outside: Ints = np.diff(self.model.basis.up.start) == 0
        return outside

    def telling(self, standing: Standing) -> Telling:
        """Return the questions about typical terms of the leaders, those first that tell most of which leader it is."""
        return self._telling.get(standing.key, lambda: self._tell(standing))

    def _tell(self, standing: Standing) -> Telling:
        diseases, share = np.full(LOOKED, -1), np.zeros(LOOKED, np.float32)
        first = standing.leaders[:LOOKED]
        diseases[: len(first)], share[: len(first)] = first, standing.share[:LOOKED]
        typical, often = (each[diseases] for each in self.typical)
        typical = np.where(diseases[:, None] >= 0, typical, -1)
        questions, padded = np.full((2, TELLING), -1), np.zeros((3, 2, TELLING), np.float32)
        wide = leading(standing.total, WIDE)
        widely = shares(standing.total[wide].astype(np.float64), standing.degrees)
        named = standing.leaders[:NAMED]
        for row, among in enumerate(((standing.leaders, standing.share, named), (wide, widely, wide))):
            terms, *values = self._valued(*among)
            questions[row, : len(terms)] = terms
            padded[:, row, : len(terms)] = values
        asked = np.concatenate([questions.ravel(), typical.ravel()])
        gain, chance, often_first = padded
        return Telling(
            *(np.maximum(asked, 0), asked >= 0, gain, chance, often_first, often * (typical >= 0), diseases, share)
        )

    def _valued(self, leaders: Ints, share: Floats, named: Ints) -> tuple[Ints, Floats, Floats, Floats]:
        """The questions about typical terms of some diseases: terms, gain, chance of a yes, and the first leader's."""
        (often, bits), size = self._askable, len(self.model.basis.ic)
        there, typical = np.zeros(size, bool), self.typical[0][named]
        there[typical[typical >= 0]] = True
        terms = np.flatnonzero(there)
        at, owner = gather(often.start, leaders)
        term, believed = often.index[at], share[owner]
        chance, known = (np.bincount(term, values[at] * believed, size)[terms] for values in (often.values, bits))
        gain = np.maximum(entropy(np.clip(chance, 0, 1)) - known, 0)
        first = np.zeros(size, np.float32)
        index, value = often.row(leaders[0])
        first[index] = value
        order = leading(gain, TELLING)
        return terms[order], gain[order], chance[order], first[terms[order]]

    @cached_property
    def _askable(self) -> tuple[Sparse, Floats]:
        """How often patients of each candidate have the terms that are typical of any, and the bits of each answer."""
        by, named = self.model.propagated, self.typical[0]
        typical = np.zeros(len(self.model.basis.ic), bool)
        typical[named[named >= 0]] = True
        kept = typical[by.index]
        start = np.concatenate([[0], np.cumsum(kept)])[by.start]
        often = Sparse(start, by.index[kept].astype(np.int64), by.values[kept].astype(np.float64))
        return often, entropy(often.values).astype(np.float32).astype(np.float64)

    def match(self, standing: Standing, terms: Sequence[int], leave_out: frozenset[str]) -> Matched:
        """Return the patients most similar to some findings: Sim(q, i) = 1/|q| Σ_j max_k sim(q_j, i_k).

        Equation 21 of Deep-DxSearch (Zheng et al., arXiv:2508.15746), with the relevance similarity of the ontology
        instead of a sentence encoder. The list of each term's nearest patients is computed once. Those that are found
        are scored like diseases by all that is known.

        Args:
            standing: What is known.
            terms: The findings that are matched with; at least one.
            leave_out: Publications and ids of patients that do not count.
        """
        key = (*standing.key, tuple(terms), leave_out)
        return self._matched.get(key, lambda: self._match(standing, terms, leave_out))

    def _match(self, standing: Standing, terms: Sequence[int], leave_out: frozenset[str]) -> Matched:
        assert self.bank is not None
        total = np.zeros(self.bank.size, np.float32)
        for term in terms:
            total += self.bank.similar(term)
        total /= np.float32(len(terms))
        total[~self.bank.used(leave_out)] = -1
        best = leading(total, MATCHED)
        best = best[total[best] >= 0]
        candidates, first, of = np.unique(self.bank.candidate[best], return_index=True, return_inverse=True)
        order = np.argsort(first)
        score = self.bank.scores(standing.query, standing.scales)[best].astype(np.float64)
        return Matched(candidates[order], total[best[first[order]]], np.argsort(order)[of], score)

    def led(self, standing: Standing) -> tuple[tuple[str, str, float], ...]:
        """Return the leaders by id, name and share of belief, best first."""
        return self._led.get(standing.key, lambda: self._named(standing))

    def _named(self, standing: Standing) -> tuple[tuple[str, str, float], ...]:
        described = map(self.ranker.names.candidate, standing.leaders.tolist())
        return tuple(
            (each.id, each.name, share) for each, share in zip(described, standing.share.tolist(), strict=True)
        )

    def asked(self, terms: tuple[int, ...]) -> tuple[Asked, ...]:
        """Return findings by name, each with those after it that lie below."""
        return self._asked.get(terms, lambda: self._ask(terms))

    def _ask(self, terms: tuple[int, ...]) -> tuple[Asked, ...]:
        ids, names = self.ranker.terms, self.ranker.names
        up, below = self.model.basis.up, dict[int, tuple[str, ...]]()
        for place, term in enumerate(terms):
            for above in set(terms[:place]).intersection(up.columns(term).tolist()):
                below[above] = (*below.get(above, ()), ids[term])
        return tuple(Asked(ids[term], names.label(ids[term]), below.get(term, ())) for term in terms)

    def words(self, terms: Sequence[int]) -> str:
        """Return the query by which texts are searched for some findings: their names."""
        return ", ".join(self.ranker.names.label(self.ranker.terms[term]) for term in terms)

    def search(self, terms: Sequence[int]) -> Mentioned:
        """Return the diseases that the best passages about some findings are of; there may be none.

        Only texts about a disease count, which no patient has written: there is nobody to leave out.

        Args:
            terms: The findings whose names are searched for; at least one.
        """
        assert self.texts is not None
        best: dict[int, float] = {}
        for id, _, _, _, score in self.texts.search(self.words(terms), (), MATCHED):
            number = self.ranker.number_of(id.partition("#")[0])
            if number >= 0:
                best.setdefault(number, score)
        value = np.array(list(best.values()), np.float32)
        return Mentioned(np.array(list(best), np.int64), value / value.max() if len(value) else value)
