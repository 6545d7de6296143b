"""Why a candidate stands where it does: each finding's share of each scorer, and the annotation that explains it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, NamedTuple
from weakref import proxy

import numpy as np

from kgdx.arrays.sparse import Floats, Ints, gather
from kgdx.case.patient import Status
from kgdx.errors import UsageError
from kgdx.rank.feature_matrices import Basis, among
from kgdx.rank.ranking_model import RankModel
from kgdx.rank.scorers import Scorer
from kgdx.rank.term_scorers import SPECIFIC, dense
from kgdx.results.ranked import Contribution

if TYPE_CHECKING:
    from kgdx.rank.fusion import Scored
    from kgdx.rank.query import Told
    from kgdx.rank.ranking import CandidateNames

DIGITS = 4
"""Decimals of a finding's part of a score; what is rounded away belongs to no finding."""
LEAST = 1e-6
"""What is left of a part and below this was rounded away."""
UNLIKE = 0.05
"""Relevance similarity below which a shared ancestor says nothing and the finding counts as background."""


class AnnotationMatch(NamedTuple):
    """How a finding and a candidate's annotations meet; ids are rows of the phenotype table, -1 for none."""

    rule: str
    matched: int = -1
    via: int = -1


class Explanation:
    """What each finding, each phrase and the person add to the scores of some candidates.

    A finding's contribution is what its scorer says that it adds, in units of the fused score. What is left of its part
    belongs to no finding: the comparison with the candidates' mean, the cut of low values, or what the scorer calls it.
    """

    def __init__(
        self, model: RankModel, names: CandidateNames, scored: Scored, scorers: Mapping[str, Scorer], best: Ints
    ) -> None:
        self._model, self._names, self._scored, self._query, self._best = model, names, scored, scored.query, best
        self._scorers = {name: scorers[name] for name in scored.values if scorers[name].tells(scored.query)}
        self._unit = {name: scale.weight / scale.deviation for name, scale in scored.scales.items()}
        me = proxy(self)  # no circle: what is explained goes with its answer, not when garbage is sought
        self._shares, self._left = cache(partial(Explanation._shared, me)), cache(partial(Explanation._unshared, me))

    def _shared(self, name: str) -> Floats | None:
        scorer, query, best = self._scorers[name], self._query, self._best
        shares = scorer.explain(query, best)
        if shares.shape != (expected := (len(query.terms(scorer.reads)), len(best))):
            wrong = f"the scorer {name} explains in the shape {shares.shape}, not {expected}"
            raise UsageError(wrong, hint="mend its method `explain`")
        if not shares.any():
            return None
        shares = np.round(self._unit[name] * shares.astype(np.float64), DIGITS)
        if scorer.reads is Status.PRESENT:  # an opposite that is less typical of others does not speak for this one
            shares = np.where(self._against, np.minimum(shares, 0), shares)
        return shares

    def _unshared(self, name: str) -> list[float]:
        rest: Floats = self._scored.scales[name].part(self._scored.values[name][self._best]).astype(np.float64)
        shares = self._shares(name)
        for each in () if shares is None else shares:
            rest -= each
        return rest.tolist()  # type: ignore[no-any-return]

    @cached_property
    def _against(self) -> Ints:
        against = (self._model.columns.contrary.columns(term) for term in self._query.observed.tolist())
        return np.array([among(self._best, each) for each in against]).reshape(-1, len(self._best))

    def _words(self, scorers: Mapping[str, Scorer]) -> list[tuple[str, Sequence[Sequence[Told]], Sequence[str]]]:
        query, best = self._query, self._best
        return [(name, each.told(query, best), each.says(query, best)) for name, each in scorers.items()]

    @cached_property
    def _worded(self) -> list[tuple[str, Sequence[Sequence[Told]], Sequence[str]]]:
        words = self._words({name: each for name, each in self._scorers.items() if each.rest != "prior"})
        return [each for each in words if any(each[1]) or any(each[2])]

    def brief(self, place: int, least: float) -> list[Contribution]:
        """Return what adds at least so much to a candidate's score, without its prior and how findings are met."""
        findings = zip(self._query.observed.tolist(), self._sums[place], strict=False)
        found = [Contribution("", score, self._names.term(term)) for term, score in findings if score >= least]
        return [*found, *(each for each in self._rest(place, worded=True) if each.score >= least)]

    @cached_property
    def _sums(self) -> list[list[float]]:
        told = (self._shares(name) for name, each in self._scorers.items() if each.reads is Status.PRESENT)
        present = [share for share in told if share is not None]
        return np.round(sum(present), 2 * DIGITS).T.tolist() if present else [[]] * len(self._best)

    def _rest(self, place: int, *, worded: bool = False) -> list[Contribution]:
        found: dict[tuple[str, str, str], Contribution] = {}
        for name, told, says in self._worded if worded else self._words(self._scorers):
            why = says[place]
            if worded and not why and not told[place]:
                continue
            left, rule, unit = self._left(name)[place], self._scorers[name].rest, self._unit[name]
            for each in told[place]:
                row = found.setdefault(
                    ("phrase", each.text, each.matched),
                    Contribution("phrase", 0.0, status=Status.PRESENT, text=each.text, words=each.matched),
                )
                score = round(unit * each.value, DIGITS)
                row.parts[name] = row.parts.get(name, 0.0) + score
                left -= score
            left = round(left, 2 * DIGITS)
            if abs(left) > LEAST and (why or not worded):
                row = found.setdefault((rule, why, ""), Contribution(rule, 0.0, text=why))
                row.parts[name] = row.parts.get(name, 0.0) + left
        for row in found.values():
            row.score = round(sum(row.parts.values()), 2 * DIGITS)
        return list(found.values())

    def contributions(self, place: int, raised: tuple[Contribution, ...] = ()) -> tuple[Contribution, ...]:
        """Return what adds to the score of a candidate and what takes from it, with what a patient raised it by."""
        found = []
        for status, rows in self._rows.items():
            told = ((name, self._shares(name)) for name, each in self._scorers.items() if each.reads is status)
            shares = [(name, share[:, place].tolist()) for name, share in told if share is not None]
            for number, row in enumerate(rows[place]):
                row.parts = {name: share[number] for name, share in shares if share[number]}
                row.score = round(sum(row.parts.values()), 2 * DIGITS)
            found += rows[place]
        return (*found, *self._rest(place), *raised)

    @cached_property
    def _rows(self) -> dict[Status, list[list[Contribution]]]:
        model, query, best, reads, found = (
            self._model,
            self._query,
            self._best,
            {each.reads for each in self._scorers.values()},
            {},
        )
        for status, terms, meet in (
            (Status.PRESENT, query.observed, matches),
            (Status.ABSENT, query.excluded, exclusions),
        ):
            if status in reads:
                findings, met = [self._names.term(term) for term in terms.tolist()], meet(model, terms, best)
                found[status] = [
                    [
                        _row(self._names, candidate, id, status, each[place])
                        for id, each in zip(findings, met, strict=True)
                    ]
                    for place, candidate in enumerate(best.tolist())
                ]
        return found


def _row(names: CandidateNames, candidate: int, finding: str, status: Status, match: AnnotationMatch) -> Contribution:
    row = Contribution(match.rule, 0.0, finding, status)
    if match.rule == "neighbour":
        row.matched = names.candidate(match.matched).id
    elif match.matched >= 0:
        row.matched = names.term(match.matched)
        row.via = names.term(match.via) if match.via >= 0 else ""
        lacking = match.rule == "annotated_absent"
        row.frequency, row.references = names.annotation(candidate, match.matched, lacking=lacking)
    return row


def matches(model: RankModel, terms: Ints, candidates: Ints) -> list[list[AnnotationMatch]]:
    """Return for each finding and candidate the annotation most similar to the finding, and how they meet.

    Equally similar annotations: the more frequent one, then the first.
    """
    basis, annotated = model.basis, model.columns.annotated
    position, owner = gather(annotated.start, candidates)
    position = position[np.lexsort((annotated.index[position], -annotated.values[position], owner))]
    some, begin = np.unique(owner, return_index=True)
    if not len(terms) or not len(some):
        return [[_Meeting(model, term).match(each, None) for each in candidates.tolist()] for term in terms.tolist()]
    annotation, which = np.unique(annotated.index[position], return_inverse=True)
    most, via = _common(basis, terms, annotation)
    similar = 2 * most * -np.expm1(-most) / np.maximum(basis.ic[terms][:, None] + basis.ic[annotation], 1e-9)
    similar[most < np.minimum(SPECIFIC, np.minimum(basis.ic[terms][:, None], basis.ic[annotation]))] = 0
    first = _first_of_greatest(similar[:, which], begin)
    chosen, value = which[first], np.take_along_axis(similar[:, which], first, axis=1)
    found = []
    for row, term in enumerate(terms.tolist()):
        best = {
            owner: (int(annotation[at]), int(via[row, at]), float(value[row, place]))
            for place, (owner, at) in enumerate(zip(some.tolist(), chosen[row].tolist(), strict=True))
        }
        meeting = _Meeting(model, term)
        found.append([meeting.match(candidate, best.get(i)) for i, candidate in enumerate(candidates.tolist())])
    return found


def _common(basis: Basis, terms: Ints, others: Ints) -> tuple[Floats, Ints]:
    entry, _ = gather(basis.up.start, others)
    ancestor = basis.up.index[entry]
    above = np.zeros((len(terms), len(basis.ic)), bool)
    up, of = gather(basis.up.start, terms)
    above[of, basis.up.index[up]] = True
    begin = np.cumsum(np.r_[0, np.diff(basis.up.start)[others][:-1]])
    ic = np.where(above[:, ancestor], basis.ic[ancestor], np.float32(-1))
    first = _first_of_greatest(ic, begin)
    return np.take_along_axis(ic, first, axis=1), ancestor[first]


def _first_of_greatest(values: Floats, begin: Ints) -> Ints:
    size = values.shape[1]
    length = np.diff(np.r_[begin, size])
    greatest = np.repeat(np.maximum.reduceat(values, begin, axis=1), length, axis=1)
    found: Ints = np.minimum.reduceat(np.where(values == greatest, np.arange(size), size), begin, axis=1)
    return found


class _Meeting:
    def __init__(self, model: RankModel, term: int) -> None:
        self._model, self._term = model, term
        self._contrary = set(model.columns.contrary.columns(term).tolist())

    @cached_property
    def _lent(self) -> Floats:
        return dense(*self._model.columns.frequency.row(self._term), self._model.columns.size)

    def match(self, candidate: int, best: tuple[int, int, float] | None) -> AnnotationMatch:
        if candidate in self._contrary:
            return self._against(candidate)
        if best is not None:
            matched, via, similar = best
            if matched == self._term:
                return AnnotationMatch("exact", matched)
            if via == self._term:
                return AnnotationMatch("descendant", matched, self._term)
            if matched == via:
                return AnnotationMatch("ancestor", matched, via)
            if similar >= UNLIKE:
                return AnnotationMatch("shared", matched, via)
        neighbour = self._neighbour(candidate)
        return AnnotationMatch("background") if neighbour < 0 else AnnotationMatch("neighbour", neighbour)

    def _against(self, candidate: int) -> AnnotationMatch:
        basis, columns = self._model.basis, self._model.columns
        lacking = np.intersect1d(columns.lacking.columns(candidate), basis.up.columns(self._term), assume_unique=True)
        if len(lacking):
            return AnnotationMatch("annotated_absent", int(lacking[-1]))
        annotated, frequency = columns.annotated.row(candidate)
        most = max(
            (float(frequency[at]), -at)
            for top in basis.opposite.columns(self._term).tolist()
            for at in np.flatnonzero(np.isin(annotated, basis.down.columns(top))).tolist()
        )
        return AnnotationMatch("opposite", int(annotated[-most[1]]))

    def _neighbour(self, candidate: int) -> int:
        best, most = -1, 0.0
        for near in (self._model.alike, self._model.related):
            index, share = near.row(candidate)
            if len(index):
                value = share * self._lent[index]
                top = int(np.argmax(value))
                if value[top] > most:
                    best, most = int(index[top]), float(value[top])
        return best


def exclusions(model: RankModel, terms: Ints, candidates: Ints) -> list[list[AnnotationMatch]]:
    """Return how each excluded finding meets each candidate: what it would have at or below the term."""
    annotated = model.columns.annotated
    position, owner = gather(annotated.start, candidates)
    index, frequency = annotated.index[position], annotated.values[position]
    below = np.zeros(len(model.basis.ic), bool)
    found = []
    for term in terms.tolist():
        under = model.basis.down.columns(term)
        below[under] = True
        having = np.flatnonzero(below[index])
        below[under] = False
        row = [AnnotationMatch("excluded")] * len(candidates)
        for at in having[np.lexsort((-having, frequency[having]))].tolist():  # the most frequent comes last, and stays
            matched = int(index[at])
            row[owner[at]] = AnnotationMatch("excluded_annotated", matched, -1 if matched == term else term)
        found.append(row)
    return found
