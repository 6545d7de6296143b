"""Alignment in stages, as MedKGI describes it: the same name, a slip of spelling, near in meaning.

Each stage is only for what the one before left open. The outcome is a table of candidates, and of it a decision for
each subject.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from kgdx.terms.encoder import NameEncoder, nearest_names
from kgdx.terms.names.entity_names import Side
from kgdx.terms.names.typos import VERSION as TYPOS
from kgdx.terms.names.typos import look_alike, near
from kgdx.terms.normalise import VERSION as FORMS
from kgdx.terms.phrase_vectors import contrary

VERSION = 3
"""Changes with what any stage finds or how a decision is made."""
VERSIONS = (VERSION, FORMS, TYPOS)
"""Versions of all that a decision about names depends on."""

STAGES = ("given", "exact", "normalised", "edit", "encoder")
"""How a pair was found, the surest first: by an id that the source itself gives, by the same folded name, by the same
name without plural, spelling variant, numeral form or word order, by a typo, by meaning."""

COSINE = 0.85
"""Cosine from which on names are near enough in meaning, as MedKGI has it."""

LEAD = 0.04
"""How far the nearest name must be ahead of the next entity's; chosen on the tuning half of benchmarks/alignment.py."""

CANDIDATES = {
    "subject": pl.String,
    "object": pl.String,
    "method": pl.String,
    "score": pl.Float64,
    "said": pl.String,
    "matched": pl.String,
    "relation": pl.String,
}
"""Columns of a table of candidates; ``relation`` is how the subject relates to the object. What a typo or nearness in
meaning joins is ``close`` until a person decides."""

NORMALISED, REORDERED = 0.98, 0.97
"""Score of a name that is the same but for inflection and numerals, or also for the order of its words."""
_NEAREST = 5
"""How many of the nearest entities are candidates."""
_FLOOR = 0.7
"""Least cosine of a candidate, whether or not it is near enough to be stated."""
_TRIED = 20
"""Names that are looked at for the nearest entities; one entity may have several of them."""
TYPO_COST = 0.03
"""Deduction from the score for each letter of a typo."""


@dataclass(frozen=True, slots=True)
class AlignmentLimits:
    """Limits to what one alignment may state.

    Attributes:
        stages: The stages that may state something; candidates of others are only shown.
        cosine: Least cosine of the stage ``encoder``.
        least: Least score of the other stages.
        alone: Whether an object is stated for one subject of a vocabulary only (by meaning one that leads by
            ``lead``), and for exact and close relations only: what joins diseases must not join two of one source.
    """

    stages: tuple[str, ...] = STAGES
    cosine: float = COSINE
    lead: float = LEAD
    least: float = 0.85
    alone: bool = False

    def to_dict(self) -> dict[str, Any]:
        return asdict(replace(self, stages=())) | {"stages": list(self.stages)}


def pairs_frame(subjects: list[str] | None = None, objects: list[str] | None = None) -> pl.DataFrame:
    return pl.DataFrame(
        {"subject": subjects or [], "object": objects or []}, schema={"subject": pl.String, "object": pl.String}
    )


@dataclass(frozen=True, slots=True)
class Given:
    """Pairs that are known before names are compared."""

    pairs: pl.DataFrame = field(default_factory=lambda: pairs_frame())
    refused: pl.DataFrame = field(default_factory=lambda: pairs_frame())


def candidates(
    subjects: Side,
    objects: Side,
    rules: AlignmentLimits,
    given: Given | None = None,
    meaning: NameEncoder | None = None,
    words: Container[str] | None = None,
) -> pl.DataFrame:
    """Return the candidates of each subject by the first stage that finds any.

    Returns:
        Columns :data:`CANDIDATES`; the best pair of names of each subject and object.
    """
    known = given or Given()
    there = known.pairs.join(objects.entities.select(object="id"), on="object", how="semi")
    there = there.join(subjects.entities.select("id", "name"), left_on="subject", right_on="id")
    there = there.join(objects.entities.select("id", matched="name"), left_on="object", right_on="id")
    fixed = {"method": pl.lit("given"), "score": pl.lit(1.0), "relation": pl.lit("exact"), "said": pl.col("name")}
    found = [_shaped(there.with_columns(**fixed)).join(known.refused, on=["subject", "object"], how="anti")]
    left = subjects
    stages: list[Callable[[Side], pl.DataFrame]] = [lambda side: _same_names(side, objects)]
    if "edit" in rules.stages:
        stages.append(lambda side: _typos(side, objects, words))
    if meaning is not None:
        stages.append(lambda side: _meanings(side, objects, meaning, words or ()))
    for stage in stages:
        left = left.without(found[-1]["subject"].unique())
        new = stage(left).join(known.refused, on=["subject", "object"], how="anti")
        found.append(_best_names(new))
    return pl.concat(found)


def _same_names(subjects: Side, objects: Side) -> pl.DataFrame:
    found = [
        _joined(subjects.names, objects.names, form, method, factor)
        for form, method, factor in (
            ("folded", "exact", 1.0),
            ("key", "normalised", NORMALISED),
            ("bag", "normalised", REORDERED),
        )
    ]
    return pl.concat(found)


def _joined(mine: pl.DataFrame, yours: pl.DataFrame, form: str, method: str, factor: float) -> pl.DataFrame:
    columns = [pl.col(name) for name in ("entity", "text", "weight", "relation", "turned")]
    sides = (side.select(*columns, pl.col(form).alias("form")).drop_nulls("form") for side in (mine, yours))
    left, right = sides
    pairs = left.join(right, on="form")
    if form == "bag":
        pairs = pairs.filter(pl.col("turned") | pl.col("turned_right"))
    return _scored(pairs, pl.lit(method), pl.lit(factor))


def _typos(subjects: Side, objects: Side, words: Container[str] | None) -> pl.DataFrame:
    keys = [side.names.select("key", "mark", "han").unique("key", maintain_order=True) for side in (subjects, objects)]
    columns = ["entity", "text", "weight", "relation", "key"]
    pairs = (
        near(keys[0], keys[1], words)
        .join(subjects.names.select(columns), on="key")
        .join(objects.names.select(columns), left_on="other", right_on="key")
    )
    return _scored(pairs, pl.lit("edit"), 1 - TYPO_COST * pl.col("distance"))


def _meanings(subjects: Side, objects: Side, meaning: NameEncoder, words: Container[str]) -> pl.DataFrame:
    sides = [side.names if meaning.chinese else side.names.filter(~pl.col("han")) for side in (subjects, objects)]
    if any(names.is_empty() for names in sides):
        rows, cosines = np.zeros((0, 0), np.int64), np.zeros((0, 0), np.float32)
    else:
        mine, yours = (meaning.encoder.encode(names["text"].to_list()) for names in sides)
        rows, cosines = nearest_names(mine, yours, _TRIED)
    row, at = np.nonzero(cosines >= _FLOOR)
    columns = ("entity", "text", "weight", "relation", "mark", "key")
    left, right = (names.select(columns)[each] for names, each in zip(sides, (row, rows[row, at]), strict=True))
    found = left.hstack(right.rename({name: f"{name}_right" for name in columns}))
    found = found.with_columns(pl.Series("cosine", cosines[row, at].astype(np.float64)))
    compared = found.select("text", "text_right", "key", "key_right").iter_rows()
    agrees = [not contrary(one, other) and not look_alike(mine, yours, words) for one, other, mine, yours in compared]
    found = found.filter(pl.Series(agrees, dtype=pl.Boolean) & (pl.col("mark") == pl.col("mark_right")))
    best = found.sort("cosine", descending=True, maintain_order=True)
    best = best.unique(["entity", "entity_right"], keep="first", maintain_order=True)
    best = best.filter(pl.int_range(pl.len()).over("entity") < _NEAREST)
    return _scored(best, pl.lit("encoder"), pl.col("cosine"), weigh=False)


def _scored(pairs: pl.DataFrame, method: pl.Expr, factor: pl.Expr, *, weigh: bool = True) -> pl.DataFrame:
    mine, yours = pl.col("relation"), pl.col("relation_right")
    turned = yours.replace({"narrower": "broader", "broader": "narrower"})
    usable = pairs.filter((pl.col("entity") != pl.col("entity_right")) & ((mine == "exact") | (yours == "exact")))
    score = factor * pl.col("weight") * pl.col("weight_right") if weigh else factor
    said = pl.when(mine == "exact").then(turned).otherwise(mine)
    unsure = method.is_in(["edit", "encoder"]) & (said == "exact")
    return usable.select(
        subject="entity",
        object="entity_right",
        method=method,
        score=score.cast(pl.Float64).round(4),
        said="text",
        matched="text_right",
        relation=pl.when(unsure).then(pl.lit("close")).otherwise(said),
    )


def _shaped(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(pl.col(name).cast(type_) for name, type_ in CANDIDATES.items())


def _best_names(found: pl.DataFrame) -> pl.DataFrame:
    order = ["subject", "object", "score", "said", "matched"]
    best = _shaped(found).sort(order, descending=[False, False, True, False, False])
    return best.unique(["subject", "object"], keep="first", maintain_order=True)


def decide(found: pl.DataFrame, rules: AlignmentLimits) -> pl.DataFrame:
    """Decide which candidates are stated.

    Returns:
        The candidates, each subject's best first, with ``outcome``: ``stated``; ``ambiguous`` (another one is as
        good); ``below`` (its score or stage is not enough); ``taken`` (the object is another subject's); ``other`` (a
        better one is there). A subject has at most one that is stated.
    """
    stage = pl.col("method").replace_strict({name: at for at, name in enumerate(STAGES)}, return_dtype=pl.Int32)
    keys = ["subject", "stage", "score", "object"]
    ranked = _shaped(found).with_columns(stage.alias("stage")).sort(keys, descending=[False, False, True, False])
    first = pl.col("score").first().over("subject"), pl.col("stage").first().over("subject")
    margin = pl.when(pl.col("method") == "encoder").then(rules.lead).otherwise(0) + 1e-9
    best = (pl.col("score") >= first[0] - margin) & (pl.col("stage") == first[1])
    ranked = ranked.with_columns(best.alias("best"))
    least = pl.when(pl.col("method") == "encoder").then(rules.cosine).otherwise(rules.least)
    enough = (pl.col("score") >= least) & pl.col("method").is_in(rules.stages)
    if rules.alone:
        enough = enough & pl.col("relation").is_in(["exact", "close"])
    outcome = (
        pl.when(~pl.col("best"))
        .then(pl.lit("other"))
        .when(~enough)
        .then(pl.lit("below"))
        .when(pl.col("best").sum().over("subject") > 1)
        .then(pl.lit("ambiguous"))
        .otherwise(pl.lit("stated"))
    )
    decided = ranked.with_columns(outcome.alias("outcome"))
    if rules.alone:
        decided = _alone(decided, rules.lead)
    return decided.drop("stage", "best")


def _alone(decided: pl.DataFrame, lead: float) -> pl.DataFrame:
    rivals = (pl.col("outcome") == "stated") | (pl.col("method") == "encoder")
    stated = decided.filter(rivals).sort("stage", "score", descending=[False, True])
    first = pl.col("stage").first().over("object"), pl.col("score").first().over("object")
    margin = pl.when(pl.col("method") == "encoder").then(lead).otherwise(0) + 1e-9
    best = (pl.col("stage") == first[0]) & (pl.col("score") >= first[1] - margin)
    kept = stated.with_columns(best.alias("best")).with_columns(pl.col("best").sum().over("object").alias("rivals"))
    lost = kept.filter((pl.col("outcome") == "stated") & (~pl.col("best") | (pl.col("rivals") > 1)))
    lost = lost.select("subject", "object", pl.lit(True).alias("lost"))
    joined = decided.join(lost, on=["subject", "object"], how="left", maintain_order="left")
    outcome = pl.when(pl.col("lost").fill_null(False)).then(pl.lit("taken")).otherwise("outcome")
    return joined.with_columns(outcome.alias("outcome")).drop("lost")
