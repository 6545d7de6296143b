"""Which candidates resemble which: by annotation, by the words of their names, by gene.

A disease known from few patients lacks most of what its next patient will show; diseases like it tell what that may be
(the idea of neighbourhood smoothing in collaborative filtering and of cluster-based language models, Liu and Croft,
SIGIR 2004). The neighbours' frequencies enter the likelihood with a small weight and never the evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kgdx.arrays.sparse import Floats, Ints, Sparse, greatest
from kgdx.lazy import lazy_pattern

COUNT = 20
"""Neighbours of each kind."""
ANNOTATION_SHARE = 0.1
NAME_SHARE = 0.05
GENE_SHARE = 0.02
"""Weight of each kind of neighbour in the likelihood's mixture (its own frequencies weigh 0.8)."""
COMMON = 0.1
"""Terms and words of more than this share of the candidates say nothing about likeness and cost most of the time."""
_BLOCK = 512
_WORD = lazy_pattern(r"[^\W\d_]{3,}")


def annotation_features(term: Ints, candidate: Ints, value: Floats, shape: tuple[int, int]) -> Any:
    return _unit(_features(candidate, term, value, shape))


def like(features: Any, vector: Floats, leave_out: int) -> tuple[Ints, Floats]:
    """Return the candidates most similar to one that is not (or no longer) in ``features``, with their shares.

    ``vector`` are its IC-weighted, propagated annotations; ``leave_out`` is the candidate that it stands for.
    """
    value = features @ vector
    value[leave_out] = 0
    best = np.sort(greatest(value, COUNT))
    return best, (value[best] * (ANNOTATION_SHARE / max(float(value[best].sum()), 1e-9))).astype(np.float32)


def by_name(names: Sequence[str], candidate: Ints, size: int) -> Sparse:
    """Return each candidate's most similar ones by the cosine of the words of their names.

    Words weigh log(candidates / candidates with the word); each merged entry's name counts.
    """
    vocabulary: dict[str, int] = {}
    owner: list[int] = []
    word: list[int] = []
    for name, at in zip(names, candidate.tolist(), strict=True):
        for token in dict.fromkeys(_WORD.findall(name.lower())):  # in order: a set's differs from process to process
            owner.append(at)
            word.append(vocabulary.setdefault(token.removesuffix("s"), len(vocabulary)))
    return nearest(weighted(np.array(owner, int), np.array(word, int), (size, len(vocabulary))), NAME_SHARE)


def _features(row: Ints, column: Ints, value: Floats, shape: tuple[int, int]) -> Any:
    from scipy import sparse

    features = sparse.csr_array((value, (row, column)), shape=shape, dtype=np.float32)
    limit = max(2.0, COMMON * shape[0])
    common = np.bincount(features.indices, minlength=shape[1]) > limit
    features.data[common[features.indices]] = 0
    features.eliminate_zeros()
    return features


def weighted(row: Ints, column: Ints, shape: tuple[int, int]) -> Any:
    keys = np.unique(row.astype(np.int64) * max(shape[1], 1) + column)
    row, column = keys // max(shape[1], 1), keys % max(shape[1], 1)
    frequent = np.bincount(column, minlength=shape[1])
    return _unit(_features(row, column, np.log(shape[0] / np.maximum(frequent, 1))[column], shape))


def _unit(features: Any) -> Any:
    from scipy import sparse

    length = np.sqrt(np.asarray(features.multiply(features).sum(axis=1)).ravel())
    return sparse.csr_array(sparse.diags_array((1 / np.maximum(length, 1e-9)).astype(np.float32)) @ features)


def nearest(features: Any, share: float) -> Sparse:
    size = features.shape[0]
    other = features.T.tocsr()
    starts, found, weights = [0], [np.zeros(0, np.int32)], [np.zeros(0, np.float32)]
    for begin in range(0, size, _BLOCK):
        product = (features[begin : begin + _BLOCK] @ other).tocsr()
        product.sort_indices()  # of equal ones the first are taken, whatever the processor
        for row in range(product.shape[0]):
            span = slice(product.indptr[row], product.indptr[row + 1])
            index, value = product.indices[span], product.data[span]
            kept = np.flatnonzero((index != begin + row) & (value > 0))
            kept = kept[np.sort(greatest(value[kept], COUNT))]
            index, value = index[kept], value[kept]
            found.append(index)
            weights.append(value * np.float32(share / value.sum()) if len(value) else value)
            starts.append(starts[-1] + len(index))
    index, value = np.concatenate(found, dtype=np.int32), np.concatenate(weights, dtype=np.float32)
    return Sparse(np.array(starts, np.int32), index, value)
