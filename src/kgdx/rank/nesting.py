"""Entries that are no rivals of a candidate but a wider or narrower view of it: they are ranked under it.

Orphanet often describes at one entry what OMIM splits by gene, or at several what OMIM has as one. Where no OMIM entry
is the same, such an entry repeats the annotations of the candidates that it is linked to, and as a row of its own it
would stand in their way. So would the pneumonia of children beside pneumonia in a source of everyday diseases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kgdx.arrays.sparse import Ints, Sparse
from kgdx.rank.candidates import Candidates

NESTED, HOSTS = "ORPHA:", "OMIM:"
"""Entries of the first source are nested under linked candidates that an entry of the second stands for."""
MINTED = "KGDX:"
"""What such a source has for some patients only (小儿肺炎) is nested under the disease, whatever stands for that."""


def nested(candidates: Candidates, ids: Sequence[str], broad: Ints, narrow: Ints) -> Candidates:
    """Return candidates without those that are a wider or narrower entry of another one.

    A nested entry belongs to the first candidate that it is linked to, by which its id finds a place in the ranking.
    It keeps its annotations, which the candidates below it inherit as they do from any broader group.

    ``broad`` and ``narrow`` are disease rows, those of the broader and of the narrower entry of each pair.

    Example:
        >>> from kgdx.rank.candidates import merged
        >>> ids, none = ["OMIM:1", "OMIM:2", "ORPHA:1"], np.array([], int)
        >>> pairs = np.array([2, 2]), np.array([0, 1])
        >>> found = nested(merged(ids, np.ones(3, bool), (none, none), pairs), ids, *pairs)
        >>> found.disease.tolist(), found.of.tolist(), found.entry.tolist(), found.members.columns(2).tolist()
        ([0, 1], [0, 1, 0], [0, 1, 2], [2])
    """
    size = len(candidates.disease)
    standing = [ids[row] for row in candidates.disease.tolist()]
    may, host = (np.array([id.startswith(kind) for id in standing], bool) for kind in (NESTED, HOSTS))
    ends = candidates.of[np.concatenate([broad, narrow])], candidates.of[np.concatenate([narrow, broad])]
    known = (ends[0] >= 0) & (ends[1] >= 0)
    inner, outer = ends[0][known], ends[1][known]
    linked = may[inner] & host[outer]
    of_host = np.full(size, size, np.int32)
    np.minimum.at(of_host, inner[linked], outer[linked].astype(np.int32))
    minted = np.array([id.startswith(MINTED) for id in standing], bool)
    below = minted[inner] & (np.arange(len(known)) >= len(broad))[known] & (of_host[inner] == size) & (inner != outer)
    below &= ~np.isin(outer, inner[below])  # one of the old among the forms of children is under neither
    top = np.where(of_host[outer] < size, of_host[outer], outer)
    np.minimum.at(of_host, inner[below], top[below].astype(np.int32))
    stays = of_host == size
    number = np.empty(size, np.int32)  # candidates first, then nested entries, each in their order
    number[np.argsort(~stays, kind="stable")] = np.arange(size)
    order = np.argsort(number)
    length = np.diff(candidates.members.start)[order]
    members = np.concatenate([candidates.members.columns(each) for each in order.tolist()]) if size else order
    start = np.concatenate([[0], np.cumsum(length)]).astype(np.int32)
    place = np.where(stays, number, number[np.minimum(of_host, size - 1)]) if size else number
    keep = stays[candidates.narrow]
    return replace(
        candidates,
        disease=candidates.disease[stays],
        of=_through(place, candidates.of),
        entry=_through(number, candidates.of),
        members=Sparse(start, members.astype(np.int32), np.ones(len(members), np.int8)),
        narrow=number[candidates.narrow[keep]],
        broad=number[candidates.broad[keep]],
    )


def _through(number: Ints, of: Ints) -> Ints:
    if not len(number):
        return of
    found: Ints = np.where(of >= 0, number[np.maximum(of, 0)], -1).astype(np.int32)
    return found
