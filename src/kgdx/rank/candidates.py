"""Which disease entries are one candidate: those that are the same, and wider or narrower views of one.

Orphanet often describes at one entry what OMIM splits by gene, or at several what OMIM has as one. Where no OMIM entry
is the same, such an entry repeats the annotations of the candidates that it is linked to, and as a row of its own it
would stand in their way. So would the pneumonia of children beside pneumonia in a source of everyday diseases. These
are no rivals: they are ranked under the candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kgdx.arrays.sparse import Ints, Sparse, compressed

PREFERRED = ("OMIM:", "ORPHA:", "DECIPHER:")
"""Sources whose entry stands for a merged candidate, in this order; then the smallest id."""
NESTED, HOSTS = "ORPHA:", "OMIM:"
"""Entries of the first source are nested under linked candidates that an entry of the second stands for."""
MINTED = "KGDX:"
"""What such a source has for some patients only (小儿肺炎) is nested under the disease, whatever stands for that."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The diseases that are compared, in the order of their ids.

    Attributes:
        disease: Row of the disease table that stands for each candidate; shape (candidates,).
        of: Candidate of each disease row, -1 where the entry has no annotation; shape (diseases,).
        entry: Row of ``members`` that each disease row is in, -1 for none: that of its candidate, or that of an entry
            that is nested under it; shape (diseases,).
        members: Candidate → disease rows merged into it, the one that stands for it first; after all candidates, the
            same of each nested entry.
        narrow: Candidates that inherit from a broader group; shape (pairs,).
        broad: Row of ``members`` of the group; shape (pairs,).
    """

    disease: Ints
    of: Ints
    entry: Ints
    members: Sparse
    narrow: Ints
    broad: Ints


def merged(ids: list[str], known: Ints, own: Ints, exact: tuple[Ints, Ints], broader: tuple[Ints, Ints]) -> Candidates:
    """Merge exactly equal entries (also through others) and keep those of which anything is annotated.

    ``exact`` and ``broader`` are pairs of disease rows, the group before the narrower disease. A candidate that has an
    exact counterpart does not inherit, unless that only lists phenotypes (not ``own``): its own annotations say more.

    Example:
        >>> ids = ["OMIM:1", "OMIM:2", "ORPHA:1"]
        >>> pairs = np.array([2]), np.array([0])
        >>> none = np.array([], int), np.array([], int)
        >>> merged(ids, *np.ones((2, 3), bool), pairs, none).of.tolist()
        [0, 1, 0]
        >>> merged([*ids, "OMIM:3"], *np.array([[0, 1, 0, 1]] * 2, bool), pairs, (np.array([1]), np.array([3]))).narrow
        array([1], dtype=int32)
    """
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    n = len(ids)
    links = sparse.coo_array((np.ones(len(exact[0])), exact), shape=(n, n))
    count, group = connected_components(links, directed=False)
    used = np.zeros(count, bool)
    used[group[known]] = True
    preference = np.array(
        [next((at for at, of in enumerate(PREFERRED) if id.startswith(of)), len(PREFERRED)) for id in ids]
    )
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
    alone, tells = np.ones(len(disease) + 1, bool), own | (preference < len(PREFERRED))
    alone[of[np.stack(exact)[:, tells[exact[0]] & tells[exact[1]]]]] = False  # what is no candidate, -1, marks the end
    keep = (narrow >= 0) & (broad >= 0) & (narrow != broad) & alone[narrow]
    return Candidates(disease, of, of, members, narrow[keep], broad[keep])


def nested(
    candidates: Candidates, ids: Sequence[str], broad: Ints, narrow: Ints, repeats: tuple[Ints, Ints]
) -> Candidates:
    """Return candidates without those that are a wider or narrower entry of another one, or repeat it under a new name.

    A nested entry belongs to the first candidate that it is linked to, by which its id finds a place in the ranking.
    It keeps its annotations, which the candidates below it inherit as they do from any broader group.

    ``broad`` and ``narrow`` are disease rows, those of the broader and of the narrower entry of each pair; ``repeats``
    are candidates with those that they repeat.

    Example:
        >>> ids, none = ["OMIM:1", "OMIM:2", "ORPHA:1"], np.array([], int)
        >>> pairs = np.array([2, 2]), np.array([0, 1])
        >>> found = nested(merged(ids, *np.ones((2, 3), bool), (none, none), pairs), ids, *pairs, (none, none))
        >>> found.disease.tolist(), found.of.tolist(), found.entry.tolist(), found.members.columns(2).tolist()
        ([0, 1], [0, 1, 0], [0, 1, 2], [2])
    """
    size = len(candidates.disease)
    standing = [ids[row] for row in candidates.disease.tolist()]
    may, host = (np.array([id.startswith(kind) for id in standing], bool) for kind in (NESTED, HOSTS))
    ends = candidates.of[np.concatenate([broad, narrow])], candidates.of[np.concatenate([narrow, broad])]
    known = (ends[0] >= 0) & (ends[1] >= 0)
    inner, outer = (np.append(end[known], more).astype(np.int32) for end, more in zip(ends, repeats, strict=True))
    linked = may[inner] & host[outer]
    of_host = np.full(size, size, np.int32)
    np.minimum.at(of_host, inner[linked], outer[linked])
    minted = np.array([id.startswith(MINTED) for id in standing], bool)
    for_some = minted[ends[0][known]] & (np.arange(len(known)) >= len(broad))[known]
    below = np.append(for_some, np.ones(len(repeats[0]), bool)) & (of_host[inner] == size) & (inner != outer)
    below &= ~np.isin(outer, inner[below])  # one of the old among the forms of children is under neither
    top = np.where(of_host[outer] < size, of_host[outer], outer)
    np.minimum.at(of_host, inner[below], top[below])
    stays = of_host == size
    number = np.empty(size, np.int32)  # candidates first, then nested entries, each in their order
    number[np.argsort(~stays, kind="stable")] = np.arange(size)
    order = np.argsort(number)
    length = np.diff(candidates.members.start)[order]
    members = np.concatenate([candidates.members.columns(each) for each in order.tolist()]) if size else order
    start = np.concatenate([[0], np.cumsum(length)]).astype(np.int32)
    place = np.where(stays, number, np.append(number, 0)[of_host])
    keep = stays[candidates.narrow]
    return replace(
        candidates,
        disease=candidates.disease[stays],
        of=np.append(place, -1)[candidates.of].astype(np.int32),
        entry=np.append(number, -1)[candidates.of].astype(np.int32),
        members=Sparse(start, members.astype(np.int32), np.ones(len(members), np.int8)),
        narrow=number[candidates.narrow[keep]],
        broad=number[candidates.broad[keep]],
    )
