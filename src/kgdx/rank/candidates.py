"""Which disease entries are one candidate: exactly equal entries are merged, broader groups are remembered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgdx.arrays.sparse import Ints, Sparse, compressed

PREFERRED = ("OMIM:", "ORPHA:", "DECIPHER:")
"""Sources whose entry stands for a merged candidate, in this order; then the smallest id."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The diseases that are compared, in the order of their ids.

    Attributes:
        disease: Row of the disease table that stands for each candidate; shape (candidates,).
        of: Candidate of each disease row, -1 where the entry has no annotation; shape (diseases,).
        members: Candidate → disease rows merged into it, the one that stands for it first.
        narrow: Candidates that inherit from a broader group; shape (pairs,).
        broad: The group's candidate; shape (pairs,).
    """

    disease: Ints
    of: Ints
    members: Sparse
    narrow: Ints
    broad: Ints


def merged(ids: list[str], annotated: Ints, exact: tuple[Ints, Ints], broader: tuple[Ints, Ints]) -> Candidates:
    """Merge exactly equal entries (also through others) and keep those of which anything is annotated.

    Args:
        ids: CURIE of each disease row, ascending.
        annotated: Whether a disease row has annotations that take part in ranking.
        exact: Disease rows that are the same; two arrays of shape (pairs,).
        broader: Group and narrower disease; two arrays of shape (pairs,). A candidate that has an exact counterpart
            does not inherit: its own annotations say more.

    Example:
        >>> ids = ["OMIM:1", "OMIM:2", "ORPHA:1"]
        >>> pairs = np.array([2]), np.array([0])
        >>> none = np.array([], int), np.array([], int)
        >>> merged(ids, np.array([True, True, True]), pairs, none).of.tolist()
        [0, 1, 0]
    """
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    n = len(ids)
    links = sparse.coo_array((np.ones(len(exact[0])), exact), shape=(n, n))
    count, group = connected_components(links, directed=False)
    used = np.zeros(count, bool)
    used[group[annotated]] = True
    preference = np.array([_preference(id) for id in ids], np.int32)
    order = np.lexsort((np.arange(n), preference, group))
    first = order[np.flatnonzero(np.r_[True, np.diff(group[order]) > 0])] if n else order
    disease = np.sort(first[used[group[first]]]).astype(np.int32)
    number = np.full(count, -1, np.int32)
    number[group[disease]] = np.arange(len(disease))
    of = number[group]
    rows = order[of[order] >= 0].astype(np.int32)
    position = np.arange(len(rows), dtype=np.int32)
    by = compressed(of[rows], position, np.ones(len(rows), np.int8), len(disease))
    members = Sparse(by.start, rows[by.index], by.values)
    broad, narrow = of[broader[0]], of[broader[1]]
    alone = np.ones(len(disease), bool)
    alone[of[np.concatenate(exact)]] = False
    keep = (narrow >= 0) & (broad >= 0) & (narrow != broad)
    keep[keep] &= alone[narrow[keep]]
    return Candidates(disease, of, members, narrow[keep], broad[keep])


def _preference(id: str) -> int:
    return next((place for place, prefix in enumerate(PREFERRED) if id.startswith(prefix)), len(PREFERRED))
