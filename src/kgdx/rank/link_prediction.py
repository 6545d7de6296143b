"""Scores of links as probabilities: by bins of held-out links, monotone, at the rate at which links are in the graph.

    p(link | s in bin b) = π h_b / (π h_b + (1 − π) o_b)

h_b is the share of the held-out links that fall into the bin, o_b that of the pairs that are no links, π the share of
links among all pairs of the graph: so a probability is the share of links among the pairs with such a score, and not
among those of a balanced sample. Bins hold equally many held-out links; their probabilities are made monotone
(isotonic regression: Zadrozny and Elkan, KDD 2002), and log-odds are interpolated between them. A logistic curve
(Platt) is far too sure at the top here, where the few pairs are that anybody asks about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.errors import AbsentError
from kgdx.graph.snapshot import ENDS
from kgdx.rank.embeddings import Embeddings

BINS = 10
"""Bins of a reliability table."""
MOST_KNOTS = 40
"""Bins of a calibration at most."""
LEAST = 10
"""Held-out links that a bin should have."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """How a score becomes a probability: by the scores of bins, ascending, and the log-odds of a link there.

    The expected calibration ``error`` is on the held-out sample where both classes weigh the same, each half judged by
    the fit of the other; ``bins`` are its mean probabilities, the shares that are links, and weights.
    """

    scores: Floats
    log_odds: Floats
    error: float = 0.0
    bins: tuple[tuple[float, float, float], ...] = ()

    @classmethod
    def fit(cls, links: Floats, others: Floats, prior: float) -> Calibration:
        """Fit a calibration by scores of links that were held out of training, and of pairs by chance that are none.

        The ``prior`` is the share of links among all pairs of the graph, above 0 and below 1.
        """
        even = [_crossed(links, others, half) for half in (0, 1)]
        bins = reliability(*(np.concatenate(part) for part in zip(*even, strict=True)))
        return cls(*_fitted(links, others, prior), calibration_error(bins), bins)

    def probability(self, scores: Floats) -> Floats:
        bent: Floats = 0.5 * (1 + np.tanh(np.interp(scores, self.scores, self.log_odds) / 2))
        return bent


def reliability(probabilities: Floats, truth: Floats, weights: Floats) -> tuple[tuple[float, float, float], ...]:
    """Return of each bin of equal width that is not empty: mean probability, share that is true, and weight."""
    place = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    total = np.bincount(place, weights, BINS)
    sums = [np.bincount(place, weights * values, BINS) for values in (probabilities, truth)]
    return tuple(
        (float(sums[0][each] / total[each]), float(sums[1][each] / total[each]), float(total[each]))
        for each in np.flatnonzero(total).tolist()
    )


def calibration_error(bins: tuple[tuple[float, float, float], ...]) -> float:
    """Return the expected calibration error: Σ_b w_b/w |mean probability − share that is true|."""
    total = sum(weight for _, _, weight in bins)
    return sum(weight * abs(mean - share) for mean, share, weight in bins) / total if total else 0.0


def _crossed(links: Floats, others: Floats, half: int) -> tuple[Floats, Floats, Floats]:
    fitted = Calibration(*_fitted(links[1 - half :: 2], others[1 - half :: 2], 0.5))
    own = links[half::2], others[half::2]
    counts = [len(part) for part in own]
    weights = np.repeat([1 / max(count, 1) for count in counts], counts)
    return fitted.probability(np.concatenate(own)), np.repeat([1.0, 0.0], counts), weights


def _fitted(links: Floats, others: Floats, prior: float) -> tuple[Floats, Floats]:
    from scipy.optimize import isotonic_regression

    even = float(np.log(prior) - np.log1p(-prior))
    if not len(links) or not len(others):
        return np.zeros(1), np.array([even])
    count = int(np.clip(len(links) // LEAST, 2, MOST_KNOTS))
    inner = np.unique(np.quantile(links, np.arange(1, count) / count))
    place, other = (np.searchsorted(inner, part, "right") for part in (links, others))
    size = len(inner) + 1
    having, lacking = np.bincount(place, minlength=size), np.bincount(other, minlength=size)
    shares = (having + 0.5) / (len(links) + size / 2), (lacking + 0.5) / (len(others) + size / 2)
    middle = np.bincount(place, links, size) / np.maximum(having, 1)
    told = np.flatnonzero(having)
    odds = np.log(shares[0][told]) - np.log(shares[1][told]) + even
    return middle[told], isotonic_regression(odds, weights=having[told]).x


SAMPLED = 200_000
"""Pairs that are no links, about, of a calibration."""
SHOWN = 2
"""Known links of each kind that are named as the reason for a predicted one."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A node with its cosine to another one of its kind."""

    at: int
    cosine: float


@dataclass(frozen=True, slots=True)
class Expected:
    """A link to the node at a position among those of its kind: as :class:`~kgdx.results.predicted.Prediction`."""

    at: int
    score: float
    probability: float | None
    by_degree: int
    known: bool
    similar: tuple[Neighbour, ...]
    shared: tuple[Neighbour, ...]


def stated_ends(relation: str) -> tuple[str, ...]:
    return tuple(ENDS.get(relation, {}).values())


class LinkPredictor:
    """Predicts the links of one relation."""

    def __init__(self, embeddings: Embeddings, relation: str) -> None:
        self.embeddings, self.relation = embeddings, relation
        self._links = embeddings.links(relation)
        kinds = stated_ends(relation)
        if len(kinds) != 2:
            raise AbsentError(f"{relation} is computed, not stated", hint="ask for the nearest nodes: `kgdx nearest`")
        self.kinds = kinds

    @cached_property
    def calibration(self) -> Calibration | None:
        """How scores become probabilities, fitted on links that training held out and on pairs that are no links.

        There is none where no link was held out: how likely a score is cannot be told by links that were learned.
        """
        try:
            links, _ = self.embeddings.held_out(self.relation)
        except AbsentError:
            return None
        one, other = (self.embeddings.nodes(kind) for kind in self.kinds)
        return calibrate(links, partial(self.embeddings.logits, self.relation), one, other, self._links)

    def known(self, at: int, side: int) -> Ints:
        parts = [self._links[1 - side][self._links[side] == at]]
        if self.kinds[0] == self.kinds[1]:
            parts.append(self._links[side][self._links[1 - side] == at])
        return np.unique(np.concatenate(parts))

    def expect(self, at: int, side: int = 0, *, top: int = 10, known: bool = False) -> list[Expected]:
        own, other = self.kinds[side], self.kinds[1 - side]
        vectors, candidates = self.embeddings.nodes(own)[at : at + 1], self.embeddings.nodes(other)
        heads, tails = (vectors, candidates) if side == 0 else (candidates, vectors)
        scores = self.embeddings.logits(self.relation, heads, tails).ravel()
        stated = self.known(at, side)
        offered = np.ones(len(scores), bool)
        offered[stated] = known
        if own == other:
            offered[at] = False
        places = np.flatnonzero(offered)
        best = places[np.lexsort((places, -scores[places]))[:top]]
        fitted = self.calibration
        share = [None] * len(best) if fitted is None else fitted.probability(scores[best].astype(np.float64)).tolist()
        links = self._links.ravel() if own == other else self._links[1 - side]
        degrees = np.bincount(links, minlength=len(scores))
        hubs = (1 + (degrees[places] > degrees[best][:, None]).sum(axis=1)).tolist()
        held = np.isin(best, stated).tolist()
        return [
            Expected(place, float(scores[place]), probability, hub, has, *self._why(at, place, side, stated))
            for place, probability, hub, has in zip(best.tolist(), share, hubs, held, strict=True)
        ]

    def _why(self, at: int, place: int, side: int, stated: Ints) -> tuple[tuple[Neighbour, ...], tuple[Neighbour, ...]]:
        own, other = self.kinds[side], self.kinds[1 - side]
        holders = self.known(place, 1 - side)
        similar = nearest(self.embeddings.nodes(other), place, stated[stated != place], SHOWN)
        return similar, nearest(self.embeddings.nodes(own), at, holders[holders != at], SHOWN)


def calibrate(
    held_out: Floats, logits: Callable[[Floats, Floats], Floats], one: Floats, other: Floats, links: Ints
) -> Calibration:
    """Fit how scores become probabilities.

    The pairs that are no links are those of some heads, evenly spaced, with all tails: the few of them that score as
    high as links decide what a high score is worth, and a sample of as many pairs as links has hardly any. ``one`` and
    ``other`` are the latents of heads and tails, ``links`` positions among both; shape (2, links).
    """
    count = max(1, min(len(one), SAMPLED // max(len(other), 1)))
    heads = np.unique(np.linspace(0, len(one) - 1, count).astype(np.int64))
    scores = logits(one[heads], other)
    unlinked = np.ones(scores.shape, bool)
    among = np.isin(links[0], heads)
    unlinked[np.searchsorted(heads, links[0][among]), links[1][among]] = False
    prior = links.shape[1] / max(len(one) * len(other), 1)
    return Calibration.fit(held_out, scores[unlinked], min(max(prior, 1e-9), 0.5))


def nearest(
    vectors: Floats, at: int, among: Ints | None = None, top: int = 10, besides: Sequence[Floats] = ()
) -> tuple[Neighbour, ...]:
    """Return the rows whose cosine to a row is greatest, that row left out; ``besides`` order too, standardised."""
    rows = np.arange(len(vectors)) if among is None else among
    rows = rows[rows != at]
    lengths = np.linalg.norm(vectors[rows], axis=1) * np.linalg.norm(vectors[at])
    cosines = (vectors[rows] @ vectors[at]) / np.maximum(lengths, 1e-12)
    order = sum((_standard(each[rows]) for each in besides), _standard(cosines)) if besides and len(rows) else cosines
    best = np.lexsort((rows, -order))[:top]
    return tuple(Neighbour(int(rows[place]), round(float(cosines[place]), 6)) for place in best)


def _standard(values: Floats) -> Floats:
    return np.asarray((values - values.mean()) / max(float(values.std()), 1e-12))


def affinity(embeddings: Embeddings, kind: str, at: int) -> Floats:
    """Return how much each node of a kind has in common with one, corrected by degree; shape (n,).

    What both are linked to counts by its rarity, its own links' inverse logarithm (Adamic and Adar 2003), over the
    root of the numbers of links of both (Salton), so that whoever has many links is not near to all.
    """
    count = len(embeddings.nodes(kind))
    common, degree = np.zeros(count), np.zeros(count)
    for relation in embeddings.relations:
        kinds = stated_ends(relation)
        for side in _sides(kinds, kind) if len(set(kinds)) == 2 else ():
            links = LinkPredictor(embeddings, relation)._links
            mine, theirs = links[side], links[1 - side]
            degree += np.bincount(mine, minlength=count)
            rare = 1 / np.log(2 + np.bincount(theirs))
            has = np.isin(theirs, theirs[mine == at])
            common += np.bincount(mine[has], rare[theirs[has]], count)
    return np.asarray(common / np.sqrt(np.maximum(degree * max(degree[at], 1.0), 1.0)))


def shared(embeddings: Embeddings, kind: str, one: int, other: int) -> Iterator[tuple[str, int]]:
    """Yield what two nodes of one kind are both linked to: kind and position, relation by relation."""
    for relation in embeddings.relations:
        kinds = stated_ends(relation)
        for side in _sides(kinds, kind):
            predictor = LinkPredictor(embeddings, relation)
            for place in np.intersect1d(predictor.known(one, side), predictor.known(other, side)).tolist():
                yield kinds[1 - side], place


def _sides(kinds: Sequence[str], kind: str) -> Sequence[int]:
    if len(kinds) != 2 or kinds[0] == kinds[1]:
        return (0,) if kind in kinds and len(kinds) == 2 else ()
    return [side for side, name in enumerate(kinds) if name == kind]
