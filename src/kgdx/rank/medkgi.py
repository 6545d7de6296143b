"""Information gain as MedKGI publishes it: its prior, its likelihood, five candidates.

P(D) = 1/|S⁺| Σ cos(e_s, e_D), clipped and normalised; P(s | D) = 1/|N(D)| inside the neighbourhood N(D); and
IG(s) = H − [P(s) H(D | s) + P(¬s) H(D | ¬s)].
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from kgdx.arrays.sparse import Floats, Ints
from kgdx.rank.question_pools import QuestionPool
from kgdx.rank.selectors import Selector, Situation

OUTSIDE = 1e-3
"""P(s | D) of a finding outside N(D), on which the paper says nothing."""
LEAST = 1e-6
"""A cosine below this is raised to it: a prior is not negative."""


class MedKGI(Selector):
    """The published gain.

    The vectors of findings and diseases are those of the graph: a disease's vector is its likelihoods, a finding's its
    unit vector carried up the ontology. Any vectors do; the paper's are a language model's. Questions of several kinds
    are valued by the share of the candidates that their kind knows, as by all selectors.
    """

    name: ClassVar[str] = "medkgi"

    candidates: Annotated[int, Field(ge=1, le=1000)] = 5
    """How many candidates."""

    def value(self, situation: Situation) -> Floats:
        pool, numbers = situation.pool, situation.leaders(self.candidates)
        value = np.zeros(len(pool.ids))
        if not len(numbers):
            return value
        inside = np.unique(np.concatenate([pool.neighbours.columns(number) for number in numbers.tolist()]))
        has = _neighbour(pool, numbers, inside)
        size = np.maximum(np.diff(pool.neighbours.start)[numbers], 1)[:, None]
        yes = np.where(has, 1 / size, OUTSIDE)
        no = np.where(has, 1 - 1 / (size + 1), 1 - OUTSIDE)
        belief = self._posterior(situation, numbers, size)[:, None]
        value[inside] = _bits(belief)[0] - _left(belief * yes) - _left(belief * no)
        return np.maximum(value, 0) * situation.mass(self.candidates)

    def _posterior(self, situation: Situation, numbers: Ints, size: Ints) -> Floats:
        query = situation.scored.query
        known = query.observed if situation.pool.kind == "phenotype" else np.array(query.symptoms, np.int64)
        logs = np.log(prior(situation.pool, numbers, known))
        for finding, present in [(each, True) for each in known.tolist()] + [
            (each, False) for each in query.excluded.tolist() if situation.pool.kind == "phenotype"
        ]:
            has = _neighbour(situation.pool, numbers, np.array([finding]))[:, 0]
            inside, outside = (1 / size[:, 0], OUTSIDE) if present else (1 - 1 / (size[:, 0] + 1), 1 - OUTSIDE)
            logs += np.log(np.where(has, inside, outside))
        weight = np.exp(logs - logs.max())
        found: Floats = weight / weight.sum()
        return found


def prior(pool: QuestionPool, numbers: Ints, known: Ints) -> Floats:
    """Return P(D): the mean cosine of the known findings and each disease, clipped and normalised; uniform for none."""
    if not len(known):
        return np.full(len(numbers), 1 / len(numbers))
    cosines = np.zeros(len(numbers))
    for place, number in enumerate(numbers.tolist()):
        index, value = pool.likelihood.row(number)
        norm = float(np.sqrt(np.square(value.astype(np.float64)).sum())) or 1.0
        vector = dict(zip(index.tolist(), (value.astype(np.float64) / norm).tolist(), strict=True))
        for finding in known.tolist():
            above = [finding] if pool.up is None else pool.up.columns(finding).tolist()
            cosines[place] += sum(vector.get(each, 0.0) for each in above) / np.sqrt(max(len(above), 1))
    clipped = np.maximum(cosines / len(known), LEAST)
    shares: Floats = clipped / clipped.sum()
    return shares


def _neighbour(pool: QuestionPool, numbers: Ints, items: Ints) -> Ints:
    return np.array([np.isin(items, pool.neighbours.columns(number)) for number in numbers.tolist()])


def _bits(shares: Floats) -> Floats:
    safe = np.maximum(shares, 1e-300)
    total: Floats = -(shares * np.log2(safe)).sum(axis=0)
    return total


def _left(joint: Floats) -> Floats:
    chance = joint.sum(axis=0)
    left: Floats = chance * _bits(joint / np.maximum(chance, 1e-300))
    return left
