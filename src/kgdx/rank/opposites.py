"""Which phenotypes are opposites, by their names: hyper and hypo, tall and short, -cytosis and -penia."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from kgdx.arrays.sparse import Sparse, compressed, gather
from kgdx.config.values import read_yaml
from kgdx.resources import resource


def named_opposites(ids: Sequence[str], names: Sequence[str | None]) -> list[tuple[int, int]]:
    """Return pairs of rows whose names differ by a pair of ``ranking/opposites.yaml``, or that it names by id."""
    table = read_yaml(resource("ranking", "opposites.yaml"))
    row = {id: at for at, id in enumerate(ids)}
    of_name = {name.lower(): at for at, name in enumerate(names) if name}
    found = {(row[one], row[other]): None for one, other in table["pairs"] if one in row and other in row}
    paired = re.compile("|".join(f"(?:{more})" for more, _ in table["parts"]))
    for name, at in of_name.items():
        if not paired.search(name) or any(part in name for part in table["unless"]):
            continue
        for more, less in table["parts"]:
            for place in re.finditer(more, name):
                other = of_name.get(name[: place.start()] + less + name[place.end() :])
                if other is not None:
                    found[at, other] = None
    return list(found)


def opposites(ids: Sequence[str], names: Sequence[str | None], up: Sparse) -> Sparse:
    """Return term → the terms whose descendants are its opposites: those paired with it or with an ancestor.

    A term below both of a pair is the opposite of neither.
    """
    terms = len(ids)
    pairs = [pair for pair in named_opposites(ids, names) if all(len(up.columns(each)) for each in pair)]
    ends = np.array([*pairs, *((other, one) for one, other in pairs)], np.int64).reshape(-1, 2)
    term = np.repeat(np.arange(terms), np.diff(up.start))
    order = np.argsort(ends[:, 0], kind="stable")
    start = np.searchsorted(ends[order, 0], np.arange(terms + 1))
    position, owner = gather(start, up.index)
    lower, other = term[owner], ends[order, 1][position]
    keys = np.unique(lower * np.int64(terms) + other)
    above = term * np.int64(terms) + up.index
    keys = keys[~np.isin(keys, above)]
    lower, other = keys // terms, keys % terms
    return compressed(lower, other.astype(np.int32), np.ones(len(keys), np.int8), terms)
