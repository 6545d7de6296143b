"""The last stage of alignment: names near in meaning by a sentence encoder, of the same numbers and telling words."""

from __future__ import annotations

import numpy as np
import polars as pl

from kgdx.text.encoder import Encoder
from kgdx.text.meaning import contrary

NEAREST = 5
"""How many of the nearest entities are candidates."""
FLOOR = 0.7
"""Least cosine of a candidate, whether or not it is near enough to be stated."""
_BLOCK = 512
_TRIED = 20
"""Names that are looked at for the nearest entities; one entity may have several of them."""

Vectors = np.typing.NDArray[np.float32]


def nearest(subjects: pl.DataFrame, objects: pl.DataFrame, encoder: Encoder, *, chinese: bool) -> pl.DataFrame:
    """Return the nearest names of other entities.

    Args:
        subjects: Names as in :class:`kgdx.align.names.Side`.
        objects: The other side's.
        encoder: What encodes them.
        chinese: Whether it reads Chinese; Chinese names are left out otherwise.

    Returns:
        ``subject``, ``object`` (ids), ``said``, ``matched`` (names), their ``weight``, ``relation`` and ``mark``
        columns (the object's with the suffix ``_right``), and ``cosine``.
    """
    mine, yours = (side if chinese else side.filter(~pl.col("han")) for side in (subjects, objects))
    if mine.is_empty() or yours.is_empty():
        mine, yours = mine.head(0), yours.head(0)
        pairs, cosines = (np.zeros((0, 2), np.int64), np.zeros(0, np.float32))
    else:
        texts = [side["text"].to_list() for side in (mine, yours)]
        pairs, cosines = _pairs(encoder.encode(texts[0]), encoder.encode(texts[1]))
    columns = ("entity", "text", "weight", "relation", "mark")
    left = mine.select(columns)[pairs[:, 0]].rename({"entity": "subject", "text": "said"})
    right = yours.select(columns)[pairs[:, 1]].rename({name: f"{name}_right" for name in columns})
    found = pl.concat([left, right, pl.DataFrame({"cosine": cosines.astype(np.float64)})], how="horizontal")
    found = found.rename({"entity_right": "object", "text_right": "matched"})
    said = [not contrary(one, other) for one, other in found.select("said", "matched").iter_rows()]
    agreeing = found.filter(pl.Series(said, dtype=pl.Boolean) & (pl.col("mark") == pl.col("mark_right")))
    best = agreeing.sort("cosine", descending=True, maintain_order=True).unique(
        ["subject", "object"], keep="first", maintain_order=True
    )
    return best.filter(pl.int_range(pl.len()).over("subject") < NEAREST)


def _pairs(mine: Vectors, yours: Vectors) -> tuple[np.typing.NDArray[np.int64], Vectors]:
    """Rows and cosines of each vector's nearest ones above the floor."""
    tried = min(_TRIED, len(yours))
    rows: list[np.typing.NDArray[np.int64]] = []
    values: list[Vectors] = []
    for start in range(0, len(mine), _BLOCK):
        cosines = mine[start : start + _BLOCK] @ yours.T
        some = np.argpartition(cosines, -tried, axis=1)[:, -tried:]
        value = np.take_along_axis(cosines, some, axis=1)
        row, at = np.nonzero(value >= FLOOR)
        rows.append(np.column_stack([row + start, some[row, at]]))
        values.append(value[row, at])
    return np.concatenate(rows), np.minimum(np.concatenate(values), 1)
