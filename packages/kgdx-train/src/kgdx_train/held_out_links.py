"""Links that are held out of training, to stop early and to measure: AUC and average precision, beside baselines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.learn.hetero_graph import STATED, HeteroGraph, ends_of


@dataclass(frozen=True, slots=True)
class LinkSplit:
    """The links of a graph, in three parts, and pairs that are no links."""

    training: Mapping[str, Ints]
    stopping: Mapping[str, tuple[Ints, Ints]]
    measured: Mapping[str, tuple[Ints, Ints]]


def split(graph: HeteroGraph, share: float, seed: int) -> LinkSplit:
    """Hold out a share of the links that the graph states, half of them for stopping and half for the figures.

    A relation of which fewer than four links would be held out keeps all, and one that links everything with
    everything. Derived relations do, too.
    """
    draws = np.random.default_rng(seed)
    training: dict[str, Ints] = {}
    parts: tuple[dict[str, tuple[Ints, Ints]], ...] = ({}, {})
    for name, links in graph.edges.items():
        count = int(links.shape[1] * share / 2)
        if name not in STATED or count < 2:
            training[name] = links
            continue
        order = draws.permutation(links.shape[1])
        head, tail = ends_of(name)
        others = unlinked(links, (len(graph.rows[head]), len(graph.rows[tail])), 2 * count, draws)
        if others.shape[1] < 2:  # everything is linked with everything
            training[name] = links
            continue
        for at, part in enumerate(parts):
            part[name] = links[:, order[at * count : (at + 1) * count]], others[:, at::2]
        training[name] = links[:, np.sort(order[2 * count :])]
    return LinkSplit(training, *parts)


def unlinked(links: Ints, sizes: tuple[int, int], count: int, draws: np.random.Generator) -> Ints:
    """Return pairs drawn by chance among those that are no links; shape (2, at most ``count``).

    Example:
        >>> unlinked(np.array([[0, 0], [0, 1]]), (1, 3), 2, np.random.default_rng(0)).tolist()
        [[0, 0], [2, 2]]
    """
    taken = links[0] * sizes[1] + links[1]
    found = np.zeros(0, np.int64)
    for _ in range(100):
        drawn = draws.integers(0, sizes[0] * sizes[1], 2 * count)
        found = np.concatenate([found, drawn[~np.isin(drawn, taken)]])[:count]
        if len(found) == count:
            break
    return np.stack([found // sizes[1], found % sizes[1]])


def auc(links: Floats, others: Floats) -> float:
    """Return the share of pairs of a link and another in which the link scores higher; ties count half.

    Example:
        >>> auc(np.array([2.0, 1.0]), np.array([1.0, 0.0]))
        0.875
    """
    ordered = np.sort(others)
    below = np.searchsorted(ordered, links, "left") + np.searchsorted(ordered, links, "right")
    return float(below.mean() / 2 / max(len(others), 1))


def average_precision(links: Floats, others: Floats) -> float:
    """Return the mean over the links of the precision down to each; among equals the others come first.

    Example:
        >>> average_precision(np.array([2.0, 0.5]), np.array([1.0, 0.0]))
        0.8333333333333333
    """
    descending = np.sort(links)[::-1]
    above = len(others) - np.searchsorted(np.sort(others), descending, "left")
    at = np.arange(1, len(descending) + 1)
    return float((at / (at + above)).mean())


def baselines(graph: HeteroGraph, parts: LinkSplit, relation: str) -> dict[str, dict[str, float]]:
    """Return the figures of two scores that learn nothing: the product of degrees, and the cosine of the names."""
    kinds = ends_of(relation)
    degrees = [
        np.bincount(own, minlength=len(graph.rows[kind]))
        for own, kind in zip(parts.training[relation], kinds, strict=True)
    ]

    def by_degree(pairs: Ints) -> Floats:
        product: Floats = degrees[0][pairs[0]] * degrees[1][pairs[1]]
        return product

    def by_name(pairs: Ints) -> Floats:
        one, other = (graph.inputs[kind][own] for own, kind in zip(pairs, kinds, strict=True))
        cosines: Floats = (one * other).sum(axis=1)
        return cosines

    links, others = parts.measured[relation]
    return {name: figures(by(links), by(others)) for name, by in (("degree", by_degree), ("cosine", by_name))}


def figures(links: Floats, others: Floats) -> dict[str, float]:
    return {"auc": round(auc(links, others), 4), "ap": round(average_precision(links, others), 4)}
