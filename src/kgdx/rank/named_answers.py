"""What a question tells whose yes is followed by "which?": the answer is then one of many findings, not yes or no."""

from __future__ import annotations

import numpy as np

from kgdx.arrays.sparse import Floats, Ints, gather
from kgdx.rank.question_pools import Pool

TOLD = 0.4
"""Share of a patient's findings that come up when they are asked for: more than that is not recorded of anybody."""


def named_information(pool: Pool, shares: Floats, leaders: Ints, free: Ints) -> Floats:
    """Return the mutual information of each question's named answer and the disease, in bits; shape (items,).

    A patient with d has the findings below q that can still be named at the rates λ(t,d) = TOLD · f(t,d), and names the
    first of them, as of a Poisson process: P(none | d) = exp(−Λ) and P(t | d) = (1 − exp(−Λ)) λ(t,d) / Λ with Λ their
    sum. The gain is H(answer) − Σ_d p(d) H(answer | d) over the leaders, times their share.

    Args:
        pool: The questions; one item may lie below another.
        shares: Share of each candidate; shape (candidates,).
        leaders: Those that are compared.
        free: Which items may still be named; shape (items,).
    """
    items = len(pool.ids)
    share = shares[leaders].astype(np.float64)
    mass = float(share.sum())
    if pool.up is None or mass <= 0:
        return np.zeros(items)
    share /= mass
    place, owner = gather(pool.neighbours.start, leaders)
    finding = pool.neighbours.index[place]
    use = free[finding]
    finding, owner = finding[use], owner[use]
    rate = TOLD * pool.neighbours.values[place][use].astype(np.float64)
    pair, entry = gather(pool.up.start, finding)  # a pair is a finding and an item above it
    candidate, asked, rate = owner[entry], pool.up.index[pair], rate[entry]
    cell = candidate * items + asked
    size = len(leaders) * items
    total = np.bincount(cell, rate, size)
    which = _safe_log(total) - np.bincount(cell, rate * np.log2(rate), size) / np.maximum(total, 1e-300)
    yes = -np.expm1(-total)
    known = np.where(total > 0, _terms(yes) + _terms(1 - yes) + yes * which, 0).reshape(len(leaders), items)
    chance = share @ yes.reshape(len(leaders), items)
    scale = yes / np.maximum(total, 1e-300)
    named = np.bincount(pair, share[candidate] * scale[cell] * rate, len(pool.up.index))
    heard = np.bincount(pool.up.index, _terms(named), items) + _terms(1 - chance)
    gain: Floats = np.where(chance > 0, np.maximum(heard - share @ known, 0), 0) * mass
    return gain


def _terms(chance: Floats) -> Floats:
    """−p log2 p of each."""
    return -chance * _safe_log(chance)


def _safe_log(value: Floats) -> Floats:
    """Logarithm to base 2, 0 for 0."""
    found: Floats = np.log2(np.where(value > 0, value, 1.0))
    return found
