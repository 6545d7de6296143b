"""Adds the scorers up: each is standardised over the candidates of the query, weighted, and summed.

Sums of standard scores keep how far a candidate stands out, which fusion by rank throws away (Wu and McClean,
Information Retrieval 2006, compare the two).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from math import isfinite, sqrt
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, PositiveFloat, PositiveInt, ValidationError

from kgdx.arrays.sparse import Floats, Ints
from kgdx.config.values import read_yaml
from kgdx.errors import ConfigError, UsageError, first_fault
from kgdx.lazy import Recent
from kgdx.rank.query import Field as Among
from kgdx.rank.query import Query
from kgdx.rank.scorers import Scorer
from kgdx.rank.term_scorers import ByFinding
from kgdx.resources import resource

FLOOR = -8.0
"""Standard scores below this are cut."""

Reference = Annotated[str, Field(min_length=1)]
"""How a number was found, or where it is from."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Weight(_Part):
    """A scorer's weight, and how it was found."""

    weight: FiniteFloat
    reference: Reference


class Posterior(_Part):
    """How scores become shares: the temperature by number of present findings, and who shares how much."""

    temperature: Annotated[dict[PositiveInt, PositiveFloat], Field(min_length=1)]
    """Of the scores, by number of present phenotypes."""
    of_evidences: PositiveFloat = 1.0
    """Of the scores of a patient with evidences, which are log-odds."""
    plausible: PositiveInt
    """Candidates that share :attr:`most`."""
    most: Annotated[float, Field(gt=0, le=1)]
    """What they share: the rest is left to other diseases, also to those that nobody has described."""
    leaders: PositiveInt
    reference: Reference


class PatientWeights(_Part):
    """What patients of the case bank are worth (:mod:`kgdx.rank.case_bank`)."""

    pooling: PositiveFloat
    """τ: how much several patients of a disease, and its own score, add up."""
    crowding: Annotated[float, Field(ge=0, le=1)]
    """c: how much less each of many patients of a disease is worth."""
    update: Annotated[float, Field(ge=0)]
    """δ: weight of what patients change in a disease's frequencies."""
    annotations: PositiveFloat
    """m: as how many patients a disease's annotations count."""
    reference: Reference


class Mix(_Part):
    """A retrieval method: what its scorers weigh, and how that was found."""

    scorers: Annotated[dict[str, FiniteFloat], Field(min_length=1)]
    own_words: bool = False
    reference: Reference


class Weights(_Part):
    """What each scorer weighs; the scorers that have a weight are those that are used."""

    version: Annotated[Literal["kgdx.weights/1"], Field(alias="schema")] = "kgdx.weights/1"
    scorers: Annotated[dict[str, Weight], Field(min_length=1)]
    methods: dict[str, Mix] = Field(default_factory=dict)
    """Retrieval methods that use other scorers, or weigh them otherwise."""
    own_words: bool = False
    """Whether the clauses of a text count beside phrases that were given with it."""
    posterior: Posterior
    patients: PatientWeights

    @classmethod
    def read(cls, given: Weights | Mapping[str, float] | str | Path | None = None) -> Weights:
        """Return weights: a file like ``ranking/weights.yaml``, the default, or scorer → weight with its rest.

        Example:
            >>> Weights.read({"likelihood": 1, "coverage": 0.5}).of("coverage")
            0.5
        """
        if isinstance(given, Weights):
            return given
        if isinstance(given, Mapping):
            try:
                scorers = {
                    name: Weight(weight=weight, reference="given by the caller") for name, weight in given.items()
                }
                shipped = cls.read()
                return cls(scorers=scorers, posterior=shipped.posterior, patients=shipped.patients)
            except ValidationError as error:
                raise UsageError(
                    f"weights of scorers: {first_fault(error)}", hint="give each scorer one number"
                ) from error
        path = resource("ranking", "weights.yaml") if given is None else Path(given)
        try:
            return cls.model_validate(read_yaml(path))
        except (OSError, ValueError) as error:
            why = first_fault(error) if isinstance(error, ValidationError) else str(error)
            raise ConfigError(f"{path} cannot be read as weights ({why})", hint="see ranking/weights.yaml") from error

    def of(self, name: str) -> float:
        if name not in self.scorers:
            others = ", ".join(sorted(self.scorers))
            raise UsageError(f"the scorer {name[:40]} has no weight", hint=f"weighed are {others}")
        return self.scorers[name].weight

    def of_method(self, name: str) -> Weights:
        if name not in self.methods:
            others = ", ".join(sorted(self.methods)) or "none"
            raise UsageError(f"the retrieval method {name[:40]} has no weights", hint=f"weighed are {others}")
        mix = self.methods[name]
        scorers = {each: Weight(weight=weight, reference=mix.reference) for each, weight in mix.scorers.items()}
        return self.model_copy(update={"scorers": scorers, "own_words": mix.own_words, "methods": {}})


@dataclass(frozen=True, slots=True)
class ScorerScale:
    """How one scorer's values become parts of the score: part = weight · (value − mean) / deviation."""

    mean: float
    deviation: float
    weight: float

    def part(self, value: Floats) -> Floats:
        if self.mean == 0 and self.deviation == 1:
            part: Floats = np.maximum(value, FLOOR)
        else:
            part = value - self.mean
            part /= self.deviation
            np.maximum(part, FLOOR, out=part)
        part *= self.weight
        return part


def scale(scorer: Scorer, values: Floats, weight: float, size: int, field: Among | None = None) -> ScorerScale:
    """Return the scale of one scorer's values in this query."""
    if values.shape != (size,):
        what = f"the scorer {scorer.name} gives scores of shape {values.shape}, not {(size,)}"
        raise UsageError(what, hint="mend its method `score`")
    if not scorer.standardised:
        if not isfinite(float(values.sum())):
            raise _unfinite(scorer)
        return ScorerScale(0.0, 1.0, weight)
    compared = values if field is None else values.take(field.numbers[0])
    count = np.float32(max(len(compared), 1))
    mean = float(np.add.reduce(compared) / count)
    if not isfinite(mean):
        raise _unfinite(scorer)
    compared = compared - np.float32(mean)
    deviation = sqrt(float(np.add.reduce(np.square(compared, out=compared)) / count))
    return ScorerScale(mean, deviation if deviation > 1e-9 else 1.0, weight)


def _unfinite(scorer: Scorer) -> UsageError:
    return UsageError(f"the scorer {scorer.name} gives scores that are not finite", hint="mend its method `score`")


def fused(values: Mapping[str, Floats], scales: Mapping[str, ScorerScale]) -> Floats:
    size = len(next(iter(values.values()), ()))
    return added((scales[name].part(value) for name, value in values.items()), size)


def added(parts: Iterable[Floats], size: int) -> Floats:
    """Return the sum of parts; shape (candidates,)."""
    total = np.zeros(size, np.float32)
    for part in parts:
        total += part
    return total


@dataclass(frozen=True, slots=True)
class Scored:
    """A case with every candidate's scores: by scorer, how they become parts, and in total; shapes (candidates,).

    ``combined`` is what the rows of scorers came to that combine rows: a longer case goes on from there.
    """

    query: Query
    values: Mapping[str, Floats]
    scales: Mapping[str, ScorerScale]
    total: Floats
    combined: Mapping[str, Floats]

    def parts(self, numbers: Ints) -> list[dict[str, float]]:
        scales = [(each.mean, each.deviation, each.weight) for each in map(self.scales.__getitem__, self.values)]
        mean, deviation, weight = np.array(scales, np.float32).T[..., None]
        standard = (np.array([value[numbers] for value in self.values.values()]) - mean) / deviation
        parts = np.maximum(standard, np.float32(FLOOR)) * weight
        return [dict(zip(self.values, part, strict=True)) for part in parts.T.tolist()]


# From scores to shares among the annotated diseases, and what a question about a finding is expected to tell of them.
#
# Shares are no probabilities of disease: a patient may have what nobody has described.


@dataclass(frozen=True, slots=True)
class Beliefs:
    """The leading candidates of a case, best first, with their shares among all annotated diseases, at most 1 in sum.

    ``findings`` is how many present findings they rest on.
    """

    numbers: Ints
    shares: Floats
    findings: int


def temperature(findings: int, fitted: Mapping[int, float]) -> float:
    """Return T for a number of present findings: linear between those it was fitted for, constant beyond."""
    counts = sorted(fitted)
    return float(np.interp(findings, counts, [fitted[count] for count in counts]))


def shares(total: Floats, temperature: float) -> Floats:
    """Return each candidate's share, softmax(score / T); shape (candidates,)."""
    weight = np.exp((total - total.max()) / temperature)
    share: Floats = weight / weight.sum(dtype=np.float64)
    return share


def believed(total: Floats, temperature: float, plausible: int, most: float) -> Floats:
    """Return each candidate's share: softmax(score / T) among the first ones, times what they have in common.

    What is left of 1 goes to the other candidates, none of which gets more than its score over that of the first ones
    gives it; the rest belongs to none of them. Ordered as the scores; shape (candidates,).
    """
    weight = np.exp((total.astype(np.float64) - float(total.max())) / temperature)
    first = np.zeros(len(weight), bool)
    first[leading(total, plausible)] = True
    share: Floats = weight * (most / weight[first].sum())
    others = float(share[~first].sum())
    if others > 1 - most:
        share[~first] *= (1 - most) / others
    return share


def first_share(total: Floats, temperature: float, plausible: int) -> float:
    """Return the share of the first among the plausible ones, as of :func:`believed`."""
    first = np.sort(leading(total, plausible))
    return 1 / float(np.exp((total[first].astype(np.float64) - float(total.max())) / temperature).sum())


def leading(total: Floats, count: int) -> Ints:
    """Return the best candidates, best first; equal scores are in the order of the candidates."""
    near = _above(total, count)
    if count < len(near):
        among = total[near]
        near = near[among >= np.partition(among, -count)[-count]]
    best: Ints = near[np.argsort(-total[near], kind="stable")][:count]
    return best


def _above(total: Floats, count: int) -> Ints:
    some = total[::16]
    place = count // 8 + 4
    if place < len(some):
        bound = np.partition(some, -place)[-place]
        near = np.flatnonzero(total > bound)
        if len(near) >= count:
            return near
        near = np.concatenate([near, np.flatnonzero(total == bound)[: count - len(near)]])
        if len(near) == count:
            return near
    return np.arange(len(total))


def entropy(share: Floats) -> Floats:
    """Return the entropy of a yes or no with a probability of yes, in bits."""
    bits = np.zeros_like(share)
    uncertain = np.flatnonzero((share > 0) & (share < 1))
    yes = share[uncertain]
    bits[uncertain] = -(yes * np.log2(yes) + (1 - yes) * np.log2(1 - yes))
    return bits


def parts_of_entropy(chance: Floats) -> Floats:
    """Return -p log₂ p of each of many answers."""
    bits: Floats = -chance * np.log2(np.where(chance > 0, chance, 1.0))
    return bits


PARTS = 64
"""Parts of scores that are kept, of what does not depend on the findings: 80 kB each."""
ANSWERED = 2.0
"""Findings that answers to questions brought beside which the first words count half. Set by hand."""


class Scorers:
    """The scorers of a ranking with what each weighs."""

    def __init__(self, scorers: Mapping[str, Scorer], weights: Weights, size: int) -> None:
        self.scorers, self.size = scorers, size
        self._weight = {name: weights.of(name) for name in scorers}
        self._nothing = np.zeros(size, np.float32)
        self._nothing.setflags(write=False)
        self.forget()

    def forget(self) -> None:
        self._parts: Recent[tuple[int, float], tuple[Floats, ScorerScale, Floats]] = Recent(PARTS)

    def score(self, query: Query, before: Scored | None = None) -> Scored:
        """Score a query, going on from what is known of it before; the result is the same without that."""
        values: dict[str, Floats] = {}
        combined: dict[str, Floats] = {}
        same = before.values if before is not None and before.query.case is query.case else {}
        for name, scorer in self.scorers.items():
            if scorer.steady and name in same:
                values[name] = same[name]
                continue
            if not scorer.speaks(query):
                continue
            if not scorer.tells(query):
                values[name] = self._nothing
            elif isinstance(scorer, ByFinding):
                rows = None if before is None else before.combined.get(name)
                known = None if before is None or rows is None else (before.query, rows)
                combined[name] = scorer.combined(query, known)
                values[name] = scorer.finish(combined[name], query)
            else:
                values[name] = scorer.score(query)
        return self.fuse(query, values, combined)

    def fuse(self, query: Query, values: Mapping[str, Floats], combined: Mapping[str, Floats]) -> Scored:
        scales, parts = {}, []
        gate = min((scorer.gate(query) for scorer in self.scorers.values()), default=1.0) if query.phrases else 1.0
        for name, value in values.items():
            scorer = self.scorers[name]
            weight = self._weight[name] * scorer.heeded(gate)
            if scorer.hears:
                weight /= 1 + query.answered / ANSWERED
            if value is self._nothing:
                scales[name] = ScorerScale(0.0, 1.0, weight)
            elif scorer.steady:  # the array is kept beside its part, so that no other one can have its id
                make = partial(self._part, scorer, query, value, weight)
                _, scales[name], part = self._parts.get((id(value), weight), make)
                parts.append(part)
            else:
                _, scales[name], part = self._part(scorer, query, value, weight)
                parts.append(part)
        total = added(parts, self.size)
        total.setflags(write=False)  # it is kept, and handed out
        return Scored(query, values, scales, total, combined)

    def _part(self, scorer: Scorer, query: Query, value: Floats, weight: float) -> tuple[Floats, ScorerScale, Floats]:
        field = scorer.field(query)
        found = scale(scorer, value, weight, self.size, field)
        if field is not None:
            value[field.numbers[1]] = found.mean
        return value, found, found.part(value)
