"""Which question tells most: selectors behind one interface, found by name in :data:`SELECTORS`.

A selector gives each question a value; the house asks the one of the highest value for its price. What may not be
asked (what is known, implied or settled) is left out before, for all selectors alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kgdx.arrays.sparse import Floats, Ints, gather
from kgdx.errors import UsageError, first_fault
from kgdx.rank.fusion import Scored, entropy, leading, parts_of_entropy
from kgdx.rank.question_pools import QuestionPool
from kgdx.registry import Registry

DEFAULT = "infogain"
"""The selector that is taken where nobody names one."""

COMPARED = 40
"""Leaders among which the gain of a named answer is computed."""


TOLD = 0.4
"""Share of a patient's findings that come up when they are asked for: more than that is not recorded of anybody."""


@dataclass(frozen=True)
class Situation:
    """What a selector may read: shares of shape (candidates,), what may be asked in ``free`` of shape (items,).

    Where ``named``, a yes is followed by "which?", so that it names the finding below the one that was asked for. A
    ``person`` answers yes or no first, of what tells the leaders apart; ``families`` are the candidates' families;
    kinds of one patient share which candidates are ``best``, by their number. ``alike`` returns the cosines of
    the names of candidates and of findings, shape (candidates, findings).
    """

    shares: Floats
    pool: QuestionPool
    free: Ints
    scored: Scored
    named: bool = False
    seed: int = 0
    person: bool = False
    families: Ints | None = None
    best: dict[int, Ints] = field(default_factory=dict)
    alike: Callable[[Ints, Ints], Floats] = field(kw_only=True)

    @cached_property
    def told(self) -> Floats:
        return np.where(self.pool.described, self.shares, 0).astype(np.float32)

    @cached_property
    def gain(self) -> Floats:
        """What the answer to each question is expected to tell, in bits; shape (items,)."""
        if self.person and self.pool.kind == "phenotype":
            return self._plain_gain()
        if self.named and self.pool.kind == "phenotype":
            return named_information(self.pool, self.told, self.leaders(COMPARED), self.free)
        gain = mutual_information(self.pool, self.told)
        return gain + self.pool.value_information(self.told, self.free) if self.named else gain

    @cached_property
    def often(self) -> Floats:
        item, _, likely, _ = self._leading
        return np.bincount(item, likely, len(self.pool.ids))

    @cached_property
    def _leading(self) -> tuple[Ints, Ints, Floats, Floats]:
        leaders, by = self.leaders(COMPARED), self.pool.likelihood
        share = self.told[leaders].astype(np.float64)
        share /= max(float(share.sum()), 1e-30)
        place, owner = gather(by.start, leaders)
        return by.index[place], owner, share[owner] * by.values[place], share

    def _plain_gain(self) -> Floats:
        leaders, gain = self.leaders(COMPARED), np.zeros(len(self.pool.ids))
        item, owner, likely, share = self._leading
        asked, column = numbered(item, len(gain))  # what no leader has tells nothing
        _, family = np.unique(leaders if self.families is None else self.families[leaders], return_inverse=True)
        cells, cell = numbered(family[owner] * len(asked) + column, len(leaders) * len(asked))
        weight = np.bincount(family, share)[cells // max(len(asked), 1)]
        chance = np.minimum(np.bincount(cell, likely, len(cells)) / weight, 1)
        known = np.bincount(cells % max(len(asked), 1), weight * entropy(chance), len(asked))
        gain[asked] = np.maximum(entropy(np.minimum(self.often[asked], 1)) - known, 0) * self.told[leaders].sum()
        return gain

    def leaders(self, count: int) -> Ints:
        """Return those of the leading candidates, best first, that an answer can move; all kinds have the same."""
        best = self._best(count)
        found: Ints = best[self.told[best] > 0]
        return found

    def _best(self, count: int) -> Ints:
        if count not in self.best:
            self.best[count] = leading(self.shares, count)
        return self.best[count]

    def mass(self, count: int) -> float:
        """Return the share of the leading candidates that an answer can move: what a kind of question is worth."""
        best = self._best(count)
        return float(self.told[best].sum() / max(float(self.shares[best].sum()), 1e-30))


class Selector(BaseModel, ABC):
    """Values questions. Subclasses give it a :attr:`name`; its fields are its settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ClassVar[str]

    @abstractmethod
    def value(self, situation: Situation) -> Floats:
        """Return what each question is worth, 0 for one that is worth nothing; shape (items,)."""


class InfoGain(Selector):
    """Mutual information of answer and disease, in bits: IG(q) = H(answer) − Σ_d p(d) H(answer | d).

    Where a yes names the finding, the answer is one of all findings below the one that is asked for, and the sum is
    over the leaders (:func:`named_information`): a wide question may tell more than a narrow
    one. Where the answer is yes or no, it is over the full posterior, by two sparse products.
    """

    name: ClassVar[str] = "infogain"

    widest: Annotated[int, Field(ge=1)] = 25
    """Most findings that lie below one that is asked for.

    Wider ones tell more of whoever names all that he has, and are none to a person, but for those that have words in
    ``ranking/questions.tsv`` ("Is anything wrong with the eyes or with seeing?").
    """

    def value(self, situation: Situation) -> Floats:
        pool, gain = situation.pool, situation.gain
        if pool.down is None:
            return gain
        asked = np.diff(pool.down.start) <= self.widest
        if pool.reviewed is not None:
            asked |= pool.reviewed
        if situation.person and pool.worded is not None:
            asked |= pool.worded
        return np.where(asked, gain, 0)


def mutual_information(pool: QuestionPool, shares: Floats) -> Floats:
    """Return the mutual information of the answer to each question and the disease, in bits; shape (items,).

    Candidates that an answer does not move have the share 0; what all of them lack of 1 learns nothing.
    """
    mass = float(shares.sum(dtype=np.float64))
    if mass <= 0:
        return np.zeros(len(pool.ids), np.float32)
    weight = (shares / np.float32(mass)).astype(np.float32)
    expected = pool.above_base @ weight + np.float32(pool.base)
    left = pool.entropies @ weight + np.float32(pool.base_entropy)
    gain: Floats = np.maximum(entropy(np.clip(expected, 0, 1)) - left, 0) * np.float32(mass)
    return gain


def named_information(pool: QuestionPool, shares: Floats, leaders: Ints, free: Ints) -> Floats:
    """Return the mutual information of each question's named answer and the disease, in bits; shape (items,).

    A patient with d has the findings below q that can still be named at the rates λ(t,d) = TOLD · f(t,d), and names the
    first of them, as of a Poisson process: P(none | d) = exp(−Λ) and P(t | d) = (1 − exp(−Λ)) λ(t,d) / Λ with Λ their
    sum. The gain is H(answer) − Σ_d p(d) H(answer | d) over the leaders, times their share. ``free`` is which items may
    still be named.
    """
    items = len(pool.ids)
    gain = np.zeros(items)
    share = shares[leaders].astype(np.float64)
    mass = float(share.sum())
    if pool.up is None or mass <= 0:
        return gain
    share /= mass
    place, owner = gather(pool.neighbours.start, leaders)
    finding = pool.neighbours.index[place]
    use = free[finding]
    finding, owner, place = finding[use], owner[use], place[use]
    pair, entry = gather(pool.up.start, finding)  # a pair is a finding and an item above it
    each = TOLD * pool.neighbours.values[place].astype(np.float64)
    rate, bits = each[entry], (each * np.log2(each))[entry]
    above, column = numbered(pool.up.index[pair], items)
    cells, cell = numbered(owner[entry] * len(above) + column, len(leaders) * len(above))
    candidate, asked = cells // max(len(above), 1), above[cells % max(len(above), 1)]
    total = np.bincount(cell, rate, len(cells))
    which = np.log2(total) - np.bincount(cell, bits, len(cells)) / total
    yes = -np.expm1(-total)
    weight = share[candidate]
    known = np.bincount(asked, weight * (parts_of_entropy(yes) + parts_of_entropy(1 - yes) + yes * which), items)
    chance = np.bincount(asked, weight * yes, items)
    pairs, named = numbered(pair, len(pool.up.index))
    told = np.bincount(named, (weight * yes / total)[cell] * rate, len(pairs))
    heard = np.bincount(pool.up.index[pairs], parts_of_entropy(told), items)
    possible = np.flatnonzero(chance > 0)
    gain[possible] = np.maximum(heard[possible] + parts_of_entropy(1 - chance[possible]) - known[possible], 0) * mass
    return gain


def numbered(values: Ints, size: int) -> tuple[Ints, Ints]:
    """Return distinct values below ``size``, ascending, and the place of each value among them: without sorting."""
    there = np.zeros(size, bool)
    there[values] = True
    distinct = np.flatnonzero(there)
    place = np.empty(size, np.int32)
    place[distinct] = np.arange(len(distinct), dtype=np.int32)
    return distinct, place[values]


class SplitSelector(Selector):
    """Variance, under the posterior, of how often the leaders have a finding, times the share that it can move."""

    name: ClassVar[str] = "split"

    leaders: Annotated[int, Field(ge=1, le=100_000)] = 20
    """Over how many candidates."""

    def value(self, situation: Situation) -> Floats:
        pool, numbers = situation.pool, situation.leaders(self.leaders)
        weight = situation.told[numbers].astype(np.float64)
        place, owner = gather(pool.likelihood.start, numbers)
        item, above = pool.likelihood.index[place], pool.likelihood.values[place].astype(np.float64) - pool.base
        part = (weight / max(weight.sum(), 1e-30))[owner] * above
        mean, square = (np.bincount(item, each, len(pool.ids)) for each in (part, part * above))
        variance: Floats = np.maximum(square - mean * mean, 0) * situation.mass(self.leaders)
        return variance


class LookAhead(Selector):
    """Uncertainty of Thoughts (Hu et al., NeurIPS 2024): what the answer tells, and what the next question then could.

    The reward of a question is its information, less where the answers are unevenly likely, and for the most rewarding
    ``branches`` what is expected of the questions after either answer. The paper has a language model think of
    questions and of the diseases that are possible; here both are the graph's.
    """

    name: ClassVar[str] = "uot"

    leaders: Annotated[int, Field(ge=2, le=1000)] = 20
    """Over how many candidates."""
    branches: Annotated[int, Field(ge=1, le=100)] = 6
    """Questions whose answers are thought of."""
    ahead: Annotated[int, Field(ge=1, le=4)] = 2
    """How many questions in a row are thought of; with one, nothing is looked ahead."""
    uneven: Annotated[float, Field(gt=0)] = 0.4
    """The paper's λ: the smaller it is, the less is an answer worth that is expected."""

    def value(self, situation: Situation) -> Floats:
        numbers, value = situation.leaders(self.leaders), np.zeros(len(situation.pool.ids))
        items = np.flatnonzero(subgraph(situation, self.leaders) & situation.free)
        if len(numbers) and len(items):
            likely = situation.pool.of(numbers, items)
            value[items] = self._reward(situation.told[numbers].astype(np.float64), likely, self.ahead)
        return value * situation.mass(self.leaders)

    def _reward(self, weight: Floats, likely: Floats, ahead: int) -> Floats:
        weight = weight / max(float(weight.sum()), 1e-30)
        chance = weight @ likely
        known = weight @ entropy(likely.ravel()).reshape(likely.shape)
        gain = np.maximum(entropy(chance) - known, 0)
        reward: Floats = gain / (1 + np.abs(2 * chance - 1) / self.uneven)
        if ahead > 1:
            for asked in np.argsort(-reward, kind="stable")[: self.branches].tolist():
                others = np.delete(likely, asked, axis=1)
                for given in (likely[:, asked], 1 - likely[:, asked]):
                    best = -np.sort(-self._reward(weight * given, others, ahead - 1))[: self.branches]
                    reward[asked] += float(weight @ given) * float(best.mean()) if len(best) else 0.0
        return reward


class Degree(Selector):
    """How many diseases have a finding, among the findings of the leaders: the baseline of MedKGI's ablation."""

    name: ClassVar[str] = "degree"

    leaders: Annotated[int, Field(ge=1, le=100_000)] = 5
    """Of how many candidates the findings are asked about."""

    def value(self, situation: Situation) -> Floats:
        pool = situation.pool
        known = np.bincount(pool.neighbours.index, minlength=len(pool.ids))
        return np.where(subgraph(situation, self.leaders), known, 0)


class Common(Selector):
    """How common a finding is over all diseases, whatever is known of the patient: asking without the graph's help."""

    name: ClassVar[str] = "common"

    def value(self, situation: Situation) -> Floats:
        pool = situation.pool
        return np.bincount(pool.neighbours.index, pool.neighbours.values, len(pool.ids)) / len(pool.described)


class Random(Degree):
    """Any finding of the leaders, by the seed and what is known."""

    name: ClassVar[str] = "random"

    def value(self, situation: Situation) -> Floats:
        chance = np.random.default_rng([situation.seed, *np.flatnonzero(~situation.free).tolist()])
        drawn: Floats = 1 - chance.random(len(situation.pool.ids))
        return np.where(subgraph(situation, self.leaders), drawn, 0)


def subgraph(situation: Situation, count: int) -> Ints:
    """Return which questions are about a finding that one of the leaders is annotated with; shape (items,)."""
    inside = np.zeros(len(situation.pool.ids), bool)
    neighbours = situation.pool.neighbours
    inside[neighbours.index[gather(neighbours.start, situation.leaders(count))[0]]] = True
    return inside


SELECTORS: Registry[Selector] = Registry(
    "selector",
    "kgdx.selectors",
    {each.name: f"{__name__}:{each.__name__}" for each in (InfoGain, SplitSelector, LookAhead, Degree, Common, Random)}
    | {"medkgi": "kgdx.rank.selectors:MedKGI"},
)
"""Name → selector; installed packages add theirs by entry points of the group ``kgdx.selectors``."""


def make_selector(given: str | Selector) -> Selector:
    """Return a selector by its name, with settings behind a colon."""
    if isinstance(given, Selector):
        return given
    name, _, settings = given.partition(":")
    kind = SELECTORS.get(name)
    wanted = [each.partition("=") for each in settings.split(",") if each]
    try:
        return kind.model_validate({key.strip(): value.strip() for key, _, value in wanted})
    except ValidationError as error:
        known = ", ".join(kind.model_fields) or "none"
        hint = f"its settings: {known}; such as split:leaders=20"
        raise UsageError(f"selector {name}: {first_fault(error)}", hint=hint) from error


OUTSIDE = 1e-3
"""P(s | D) of a finding outside N(D), on which the paper says nothing."""
LEAST = 1e-6
"""A cosine below this is raised to it: a prior is not negative."""


class MedKGI(Selector):
    """The published gain.

    The vectors of findings and diseases are those of the graph: a disease's vector is its likelihoods, a finding's its
    unit vector carried up the ontology; or, as in the paper, an encoder's of their names. Questions of several kinds
    are valued by the share of the candidates that their kind knows, as by all selectors.
    """

    name: ClassVar[str] = "medkgi"

    candidates: Annotated[int, Field(ge=1, le=1000)] = 5
    """How many candidates."""
    prior: Literal["graph", "encoder"] = "graph"
    """Whose vectors tell how likely a disease is before its findings are looked at; the encoder's know phenotypes."""

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
        value[inside] = parts_of_entropy(belief).sum(axis=0)[0] - _left(belief * yes) - _left(belief * no)
        return np.maximum(value, 0) * situation.mass(self.candidates)

    def _posterior(self, situation: Situation, numbers: Ints, size: Ints) -> Floats:
        query = situation.scored.query
        known = query.observed if situation.pool.kind == "phenotype" else np.array(query.symptoms, np.int64)
        by_names = self.prior == "encoder" and situation.pool.kind == "phenotype"
        cosines = situation.alike if by_names else partial(graph_cosines, situation.pool)
        logs = np.log(prior(cosines(numbers, known)))
        for finding, present in [(each, True) for each in known.tolist()] + [
            (each, False) for each in query.excluded.tolist() if situation.pool.kind == "phenotype"
        ]:
            has = _neighbour(situation.pool, numbers, np.array([finding]))[:, 0]
            inside, outside = (1 / size[:, 0], OUTSIDE) if present else (1 - 1 / (size[:, 0] + 1), 1 - OUTSIDE)
            logs += np.log(np.where(has, inside, outside))
        weight = np.exp(logs - logs.max())
        found: Floats = weight / weight.sum()
        return found


def prior(cosines: Floats) -> Floats:
    """Return P(D) by the cosine of each candidate and each known finding, shape (candidates, findings).

    The mean over the findings, clipped and normalised; uniform where nothing is known.
    """
    clipped = np.maximum(cosines.mean(axis=1), LEAST) if cosines.size else np.ones(len(cosines))
    shares: Floats = clipped / clipped.sum()
    return shares


def graph_cosines(pool: QuestionPool, numbers: Ints, known: Ints) -> Floats:
    """Return the cosine of each candidate's likelihoods and each finding carried up; shape (candidates, findings)."""
    found = np.zeros((len(numbers), len(known)))
    for place, number in enumerate(numbers.tolist()):
        index, value = pool.likelihood.row(number)
        norm = float(np.sqrt(np.square(value.astype(np.float64)).sum())) or 1.0
        for at, finding in enumerate(known.tolist()):
            above = np.array([finding]) if pool.up is None else pool.up.columns(finding)
            found[place, at] = value[np.isin(index, above)].sum(dtype=np.float64) / norm / np.sqrt(max(len(above), 1))
    return found


def _neighbour(pool: QuestionPool, numbers: Ints, items: Ints) -> Ints:
    return np.array([np.isin(items, pool.neighbours.columns(number)) for number in numbers.tolist()])


def _left(joint: Floats) -> Floats:
    chance = joint.sum(axis=0)
    left: Floats = chance * parts_of_entropy(joint / np.maximum(chance, 1e-300)).sum(axis=0)
    return left
