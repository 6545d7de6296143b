"""From scores to shares among the annotated diseases, and what a question about a finding is expected to tell of them.

Shares are softmax(score / T) over all candidates. They are no probabilities of disease: a patient may have what nobody
has annotated, and common diseases weigh like rare ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from kgdx.arrays.sparse import Floats, Ints, Sparse, gather
from kgdx.rank.columns import Basis


@dataclass(frozen=True, slots=True)
class Beliefs:
    """The leading candidates of a case, best first.

    Attributes:
        numbers: Which candidates; shape (leaders,).
        shares: Their shares among all annotated diseases, at most 1 in sum; shape (leaders,).
        findings: How many present findings they rest on.
    """

    numbers: Ints
    shares: Floats
    findings: int


def temperature(findings: int, fitted: Mapping[int, float]) -> float:
    """Return T for a number of present findings: linear between those it was fitted for, constant beyond.

    Example:
        >>> [round(temperature(n, {2: 2.0, 4: 1.5}), 2) for n in (1, 2, 3, 9)]
        [2.0, 2.0, 1.75, 1.5]
    """
    counts = sorted(fitted)
    return float(np.interp(findings, counts, [fitted[count] for count in counts]))


def shares(total: Floats, temperature: float) -> Floats:
    """Return each candidate's share, softmax(score / T).

    Args:
        total: Scores; shape (candidates,).
        temperature: T.

    Returns:
        Shape (candidates,); sums to 1.

    Example:
        >>> shares(np.array([0.0, 2 * np.log(3)]), temperature=2.0).round(4).tolist()
        [0.25, 0.75]
    """
    weight = np.exp((total - total.max()) / temperature)
    share: Floats = weight / weight.sum(dtype=np.float64)
    return share


def leading(total: Floats, count: int) -> Ints:
    """Return the best candidates, best first; equal scores are in the order of the candidates.

    Example:
        >>> leading(np.array([1.0, 3.0, 2.0, 3.0]), 3).tolist()
        [1, 3, 2]
    """
    least = np.partition(total, -count)[-count] if count < len(total) else total.min()
    near = np.flatnonzero(total >= least)
    best: Ints = near[np.argsort(-total[near], kind="stable")][:count]
    return best


def gains(shares: Floats, numbers: Ints, frequency: Sparse, entropies: Floats, terms: int) -> Floats:
    """Return how many bits an answer about each term is expected to tell about which of some candidates it is.

    This is the mutual information of answer and candidate, H(answer) − Σ_d p(d) H(answer | d). A patient with d has
    the term with its propagated frequency f(t,d), and never where d is not annotated with it: such a term adds nothing
    to either sum, so that both are over annotations alone.

    Args:
        shares: Shares of the candidates; made to sum to 1 here. Shape (leaders,).
        numbers: Which candidates; shape (leaders,).
        frequency: Candidate → terms, with propagated frequencies.
        entropies: :func:`entropy` of each of ``frequency.values``.
        terms: Number of terms.

    Returns:
        Shape (terms,); 0 for a term of which nothing is learnt.

    Example:
        >>> frequency = Sparse(np.array([0, 1, 2]), np.array([0, 1]), np.array([1.0, 0.5]))
        >>> bits = entropy(frequency.values)
        >>> gains(np.array([0.5, 0.5]), np.array([0, 1]), frequency, bits, terms=3).round(3).tolist()
        [1.0, 0.311, 0.0]
    """
    position, owner = gather(frequency.start, numbers)
    term = frequency.index[position]
    weight = (shares / shares.sum())[owner]
    expected = np.bincount(term, weight * frequency.values[position], terms)
    left = np.bincount(term, weight * entropies[position], terms)
    gain: Floats = np.maximum(entropy(expected) - left, 0.0)
    return gain


def entropy(share: Floats) -> Floats:
    """Return the entropy of a yes or no with a probability of yes, in bits.

    Example:
        >>> entropy(np.array([0.0, 0.5, 1.0])).tolist()
        [0.0, 1.0, 0.0]
    """
    bits = np.zeros_like(share)
    uncertain = np.flatnonzero((share > 0) & (share < 1))
    yes = share[uncertain]
    bits[uncertain] = -(yes * np.log2(yes) + (1 - yes) * np.log2(1 - yes))
    return bits


def askable(basis: Basis, present: Iterable[int], others: Iterable[int]) -> Ints:
    """Return which terms a question may still be about; shape (terms,).

    Whoever has a finding has all its ancestors; who lacks it, or cannot say, is asked about nothing below it. Terms
    outside Phenotypic abnormality are no questions.

    Args:
        basis: The terms.
        present: Terms known to be present.
        others: Terms known to be absent, and those to which the answer was "unknown".
    """
    free = np.diff(basis.up.start) > 0
    for term in present:
        free[basis.up.columns(term)] = False
    for term in others:
        free[basis.down.columns(term)] = False
    return free
