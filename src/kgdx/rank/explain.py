"""Why a candidate stands where it does: each finding's share of each scorer, and the annotation that explains it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kgdx.case.model import Status
from kgdx.rank.closure import Floats, Ints, gather
from kgdx.rank.compile import RankModel
from kgdx.rank.fusion import AS_IS, Scale
from kgdx.rank.model import Contribution
from kgdx.rank.scorers import Query, Scores

if TYPE_CHECKING:
    from kgdx.rank.names import Names

UNLIKE = 0.05
"""Relevance similarity below which a shared ancestor says nothing and the finding counts as background."""


@dataclass(frozen=True, slots=True)
class Match:
    """How a finding and a candidate's annotations meet; ids are rows of the phenotype table, -1 for none."""

    rule: str
    matched: int = -1
    via: int = -1


def explain(
    model: RankModel, names: Names, query: Query, scores: Mapping[str, Scores], scales: Mapping[str, Scale], best: Ints
) -> list[tuple[Mapping[str, float], tuple[Contribution, ...]]]:
    """Return the parts and the contributions of the candidates ``best``; both sum to the candidate's score.

    A finding's contribution is its share of the scorer's value, against its mean over all candidates, in units of the
    fused score. What is left of the part belongs to no finding: the correction for breadth, the comparison with the
    mean of the candidates, or the cut of extremely low values.
    """
    told = {
        "present": _told(names, query.observed, matches(model, query.observed, best), best),
        "absent": _told(names, query.excluded, [[_excluded(model, t, c) for c in best] for t in query.excluded], best),
    }
    shares = {name: score.findings(best) - score.mean[:, None] for name, score in scores.items()}
    parts = {name: scales[name].part(score.total[best]) for name, score in scores.items()}
    result: list[tuple[Mapping[str, float], tuple[Contribution, ...]]] = []
    for place in range(len(best)):
        found: list[Contribution] = []
        for name, share in shares.items():
            status = Status.ABSENT if name in AS_IS else Status.PRESENT
            unit = scales[name].weight / scales[name].deviation
            for row, facts in enumerate(told[status]):
                what = facts[place]
                found.append(
                    Contribution(what.finding, status, unit * float(share[row, place]), what.rule, name, *what.why)
                )
            rest = float(parts[name][place]) - unit * float(share[:, place].sum())
            if abs(rest) > 1e-6:
                rule = "breadth" if name == "likelihood" else "baseline"
                found.append(Contribution("", Status.UNKNOWN, rest, rule, name))
        result.append(({name: float(part[place]) for name, part in parts.items()}, tuple(found)))
    return result


@dataclass(frozen=True, slots=True)
class _Told:
    """A match in words: the finding, the rule, and (matched, via, frequency, references)."""

    finding: str
    rule: str
    why: tuple[str, str, str, tuple[str, ...]]


def _told(names: Names, terms: Ints, found: list[list[Match]], candidates: Ints) -> list[list[_Told]]:
    return [
        [
            _tell(names, int(candidate), names.term(term), match)
            for candidate, match in zip(candidates, row, strict=True)
        ]
        for term, row in zip(terms.tolist(), found, strict=True)
    ]


def _tell(names: Names, candidate: int, finding: str, match: Match) -> _Told:
    if match.rule == "neighbour":
        return _Told(finding, match.rule, (names.candidate(match.matched), "", "", ()))
    if match.matched < 0:
        return _Told(finding, match.rule, ("", "", "", ()))
    stated = names.annotation(candidate, match.matched, lacking=match.rule == "annotated_absent")
    via = names.term(match.via) if match.via >= 0 else ""
    return _Told(finding, match.rule, (names.term(match.matched), via, *stated))


def matches(model: RankModel, terms: Ints, candidates: Ints) -> list[list[Match]]:
    """Return for each finding and candidate the annotation most similar to the finding, and how they meet."""
    basis, annotated = model.basis, model.columns.annotated
    position, owner = gather(annotated.start, candidates)
    annotation = annotated.index[position]
    entry, which = gather(basis.up.start, annotation)
    ancestor = basis.up.index[entry]
    found = []
    for term in terms.tolist():
        above = np.zeros(len(basis.ic), bool)
        above[basis.up.columns(term)] = True
        common = np.flatnonzero(above[ancestor])
        via, at = ancestor[common], which[common]
        ic = basis.ic[via]
        similar = 2 * ic * -np.expm1(-ic) / np.maximum(basis.ic[term] + basis.ic[annotation[at]], 1e-9)
        order = np.lexsort((annotation[at], -annotated.values[position[at]], -similar, owner[at]))
        first = order[np.flatnonzero(np.r_[True, np.diff(owner[at][order]) > 0])] if len(order) else order
        best = {int(owner[at[i]]): (int(annotation[at[i]]), int(via[i]), float(similar[i])) for i in first}
        found.append([_match(model, term, int(candidate), best.get(i)) for i, candidate in enumerate(candidates)])
    return found


def _match(model: RankModel, term: int, candidate: int, best: tuple[int, int, float] | None) -> Match:
    lacking = model.columns.lacking.columns(candidate)
    if len(lacking):
        lacking = np.intersect1d(lacking, model.basis.up.columns(term))
    if best is not None:
        matched, via, similar = best
        if matched == term:
            return Match("exact", matched)
        if via == term:
            return Match("descendant", matched, term)
        if len(lacking):
            return Match("annotated_absent", int(lacking[-1]))
        if matched == via:
            return Match("ancestor", matched, via)
        if similar >= UNLIKE:
            return Match("shared", matched, via)
    elif len(lacking):
        return Match("annotated_absent", int(lacking[-1]))
    neighbour = _neighbour(model, term, candidate)
    return Match("background") if neighbour < 0 else Match("neighbour", neighbour)


def _neighbour(model: RankModel, term: int, candidate: int) -> int:
    """The similar candidate that lends most to this one for the term, -1 for none."""
    having, frequency = model.columns.frequency.row(term)
    lent: Floats = np.zeros(model.columns.size, np.float32)
    lent[having] = frequency
    best, most = -1, 0.0
    for near in (model.alike, model.related):
        index, share = near.row(candidate)
        if len(index):
            value = share * lent[index]
            top = int(np.argmax(value))
            if value[top] > most:
                best, most = int(index[top]), float(value[top])
    return best


def _excluded(model: RankModel, term: int, candidate: int) -> Match:
    """How an excluded finding meets the candidate: what it would have at or below the term."""
    annotated, frequency = model.columns.annotated.row(candidate)
    below = np.isin(annotated, model.basis.down.columns(term))
    if not below.any():
        return Match("excluded")
    matched = int(annotated[below][np.argmax(frequency[below])])
    return Match("excluded_annotated", matched, -1 if matched == term else term)
