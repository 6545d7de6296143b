"""What a question tells whose yes is followed by "which?": the answer is then one of many findings, not yes or no."""

from __future__ import annotations

import numpy as np

from kgdx.arrays.sparse import Floats, Ints, gather
from kgdx.rank.question_pools import QuestionPool

TOLD = 0.4
"""Share of a patient's findings that come up when they are asked for: more than that is not recorded of anybody."""


def named_information(pool: QuestionPool, shares: Floats, leaders: Ints, free: Ints) -> Floats:
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
    known = np.bincount(asked, weight * (_terms(yes) + _terms(1 - yes) + yes * which), items)
    chance = np.bincount(asked, weight * yes, items)
    pairs, named = numbered(pair, len(pool.up.index))
    told = np.bincount(named, (weight * yes / total)[cell] * rate, len(pairs))
    heard = np.bincount(pool.up.index[pairs], _terms(told), items)
    possible = np.flatnonzero(chance > 0)
    gain[possible] = np.maximum(heard[possible] + _terms(1 - chance[possible]) - known[possible], 0) * mass
    return gain


def numbered(values: Ints, size: int) -> tuple[Ints, Ints]:
    """Return distinct values below ``size``, ascending, and the place of each value among them: without sorting."""
    there = np.zeros(size, bool)
    there[values] = True
    distinct = np.flatnonzero(there)
    place = np.empty(size, np.int32)
    place[distinct] = np.arange(len(distinct), dtype=np.int32)
    return distinct, place[values]


def _terms(chance: Floats) -> Floats:
    found: Floats = -chance * np.log2(np.where(chance > 0, chance, 1.0))
    return found
