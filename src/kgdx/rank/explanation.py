"""Why a candidate stands where it does: each finding's share of each scorer, and the annotation that explains it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kgdx.arrays.sparse import Floats, Ints, gather
from kgdx.case.patient import Status
from kgdx.errors import UsageError
from kgdx.rank.feature_matrices import Basis
from kgdx.rank.query import Told
from kgdx.rank.ranking_model import RankModel
from kgdx.rank.scorers import Scorer
from kgdx.results.ranked import Contribution

if TYPE_CHECKING:
    from kgdx.rank.fusion import Scored
    from kgdx.rank.ranking import Names

LEAST = 1e-6
"""What is left of a part and below this was rounded away."""
UNLIKE = 0.05
"""Relevance similarity below which a shared ancestor says nothing and the finding counts as background."""


@dataclass(frozen=True, slots=True)
class Match:
    """How a finding and a candidate's annotations meet; ids are rows of the phenotype table, -1 for none."""

    rule: str
    matched: int = -1
    via: int = -1


_BACKGROUND = Match("background")


def explain(
    model: RankModel, names: Names, scored: Scored, scorers: Mapping[str, Scorer], best: Ints
) -> list[tuple[Contribution, ...]]:
    """Return the contributions of the candidates ``best``; each candidate's sum to its score.

    A finding's contribution is what its scorer says that it adds, in units of the fused score. What is left of the
    scorer's part belongs to no finding: the comparison with the mean of the candidates, the cut of extremely low
    values, or what the scorer calls it.

    Raises:
        UsageError: A scorer does not explain each finding for each candidate.
    """
    query, parts = scored.query, scored.parts(best)
    told: dict[Status, Sequence[Sequence[_Told]]] = {
        Status.PRESENT: _told(names, query.observed, matches(model, query.observed, best), best),
        Status.ABSENT: _told(names, query.excluded, exclusions(model, query.excluded, best), best),
    }
    result: list[list[Contribution]] = [[] for _ in best]
    for name in scored.values:
        scorer = scorers[name]
        unit = scored.scales[name].weight / scored.scales[name].deviation
        shares = scorer.explain(query, best)
        if shares.shape != (expected := (len(query.terms(scorer.reads)), len(best))):
            wrong = f"the scorer {name} explains in the shape {shares.shape}, not {expected}"
            raise UsageError(wrong, hint="mend its method `explain`")
        words, reasons = scorer.told(query, best), scorer.says(query, best)
        reads, facts = scorer.reads, told.get(scorer.reads, [()] * len(best))
        for place, share in enumerate((unit * shares.astype(np.float64)).T.tolist()):
            result[place] += [
                Contribution(what.finding, reads, score, what.rule, name, *what.why)
                for what, score in zip(facts[place], share, strict=True)
            ]
            spoken = [_phrase(each, unit * each.value, name) for each in words[place]]
            result[place] += spoken
            rest = parts[place][name] - sum(share) - sum(each.score for each in spoken)
            if abs(rest) > LEAST:
                result[place].append(Contribution("", Status.UNKNOWN, rest, scorer.rest, name, text=reasons[place]))
    return [tuple(found) for found in result]


def _phrase(told: Told, score: float, scorer: str) -> Contribution:
    return Contribution("", Status.PRESENT, score, "phrase", scorer, text=told.text, words=told.matched)


@dataclass(frozen=True, slots=True)
class _Told:
    """A match in words: the finding, the rule, and (matched, via, frequency, references)."""

    finding: str
    rule: str
    why: tuple[str, str, str, tuple[str, ...]]


def _told(names: Names, terms: Ints, found: list[list[Match]], candidates: Ints) -> list[list[_Told]]:
    """Return for each candidate how it meets each finding, in words."""
    findings = [names.term(term) for term in terms.tolist()]
    return [
        [_tell(names, candidate, finding, row[place]) for finding, row in zip(findings, found, strict=True)]
        for place, candidate in enumerate(candidates.tolist())
    ]


def _tell(names: Names, candidate: int, finding: str, match: Match) -> _Told:
    if match.rule == "neighbour":
        return _Told(finding, match.rule, (names.candidate(match.matched).id, "", "", ()))
    if match.matched < 0:
        return _Told(finding, match.rule, ("", "", "", ()))
    stated = names.annotation(candidate, match.matched, lacking=match.rule == "annotated_absent")
    via = names.term(match.via) if match.via >= 0 else ""
    return _Told(finding, match.rule, (names.term(match.matched), via, *stated))


def matches(model: RankModel, terms: Ints, candidates: Ints) -> list[list[Match]]:
    """Return for each finding and candidate the annotation most similar to the finding, and how they meet.

    Equally similar annotations: the more frequent one, then the first.
    """
    basis, annotated = model.basis, model.columns.annotated
    position, owner = gather(annotated.start, candidates)
    position = position[np.lexsort((annotated.index[position], -annotated.values[position], owner))]
    some, begin = np.unique(owner, return_index=True)
    if not len(terms) or not len(some):
        meetings = [_Meeting(model, term) for term in terms.tolist()]
        return [[meeting.match(candidate, None) for candidate in candidates.tolist()] for meeting in meetings]
    annotation, which = np.unique(annotated.index[position], return_inverse=True)
    most, via = _common(basis, terms, annotation)
    similar = 2 * most * -np.expm1(-most) / np.maximum(basis.ic[terms][:, None] + basis.ic[annotation], 1e-9)
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
    """Return the information content of the most informative common ancestors of terms, and which they are."""
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
    """Return in each row the position of the greatest value of each segment; of equal ones the first.

    Example:
        >>> _first_of_greatest(np.array([[1.0, 3.0, 3.0, 0.0, 2.0]]), np.array([0, 3])).tolist()
        [[1, 4]]
    """
    size = values.shape[1]
    length = np.diff(np.r_[begin, size])
    greatest = np.repeat(np.maximum.reduceat(values, begin, axis=1), length, axis=1)
    found: Ints = np.minimum.reduceat(np.where(values == greatest, np.arange(size), size), begin, axis=1)
    return found


class _Meeting:
    """How one finding meets candidates: keeps what all of them share."""

    def __init__(self, model: RankModel, term: int) -> None:
        self._model, self._term = model, term
        self._above: Floats | None = None
        self._lent: Floats | None = None

    def match(self, candidate: int, best: tuple[int, int, float] | None) -> Match:
        """Return the match, given the most similar annotation, the common ancestor and the similarity."""
        lacking = self._model.columns.lacking.columns(candidate)
        if len(lacking):
            lacking = self._general(lacking)
        if best is not None:
            matched, via, similar = best
            if matched == self._term:
                return Match("exact", matched)
            if via == self._term:
                return Match("descendant", matched, self._term)
            if len(lacking):
                return Match("annotated_absent", int(lacking[-1]))
            if matched == via:
                return Match("ancestor", matched, via)
            if similar >= UNLIKE:
                return Match("shared", matched, via)
        elif len(lacking):
            return Match("annotated_absent", int(lacking[-1]))
        neighbour = self._neighbour(candidate)
        return _BACKGROUND if neighbour < 0 else Match("neighbour", neighbour)

    def _general(self, terms: Ints) -> Ints:
        """Those of some terms that are the finding or above it."""
        if self._above is None:
            self._above = np.zeros(len(self._model.basis.ic), bool)
            self._above[self._model.basis.up.columns(self._term)] = True
        return terms[self._above[terms]]

    def _neighbour(self, candidate: int) -> int:
        """The similar candidate that lends most to this one for the finding, -1 for none."""
        if self._lent is None:
            having, frequency = self._model.columns.frequency.row(self._term)
            self._lent = np.zeros(self._model.columns.size, np.float32)
            self._lent[having] = frequency
        best, most = -1, 0.0
        for near in (self._model.alike, self._model.related):
            index, share = near.row(candidate)
            if len(index):
                value = share * self._lent[index]
                top = int(np.argmax(value))
                if value[top] > most:
                    best, most = int(index[top]), float(value[top])
        return best


def exclusions(model: RankModel, terms: Ints, candidates: Ints) -> list[list[Match]]:
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
        row = [Match("excluded")] * len(candidates)
        for at in having[np.lexsort((-having, frequency[having]))].tolist():  # the most frequent comes last, and stays
            matched = int(index[at])
            row[owner[at]] = Match("excluded_annotated", matched, -1 if matched == term else term)
        found.append(row)
    return found
