"""HPO's disease annotations (`phenotype.hpoa`): who has which phenotype, how often, and what is known to be absent.

An annotation is *absent* when its qualifier is NOT, its frequency is 0 of n or 0 %, or its frequency class is
HP:0040285 (excluded). Format: https://obophenotype.github.io/human-phenotype-ontology/annotations/phenotype_hpoa/
"""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

from kgdx.ingest.manifest import Manifest
from kgdx.ingest.records import LINE, Records, join_rejects, split
from kgdx.ingest.sources.table_files import read_lines, shown
from kgdx.schema.model import EXCLUDED, FREQUENCIES

_ASPECTS = {"I": "inheritance", **dict.fromkeys("CMH", "course")}
"""Aspect (I inheritance, C course, M modifier, H past medical history) → frame; all others are what a disease shows."""

_WORD = re.compile(r"\b(?:[A-Z]{4,}|AND|DUE|OF|THE|TO)\b")
_ACRONYMS = {"AREDYLD", "CADDS", "CHANDS", "DDOST", "MELAS", "MERRF", "PANDAS"}


def read(path: Path, manifest: Manifest) -> Records:
    """Read annotations into the frames ``present``, ``inheritance``, ``course`` and ``absent``, and their diseases."""
    rows, rejects, version = read_lines(path, manifest)
    rows, wrong = split(rows.drop("_text").with_columns(*frequencies("frequency")), _problems())
    rejects.append(wrong)
    rows = rows.rename({"_n": "numerator", "_m": "denominator"})
    excluded = (
        (pl.col("qualifier") == "NOT")
        | (pl.col("numerator") == 0)
        | (pl.col("percentage") == 0)
        | (pl.col("frequency_class") == EXCLUDED)
    ).fill_null(False)
    kind = pl.col("aspect").replace_strict(_ASPECTS, default=None, return_dtype=pl.String)
    frames = {
        "disease": _diseases(rows),
        "present": rows.filter(~excluded & kind.is_null()),
        "inheritance": rows.filter(~excluded & (kind == "inheritance").fill_null(False)),
        "course": rows.filter(~excluded & (kind == "course").fill_null(False)),
        "absent": rows.filter(excluded),
    }
    return Records(frames, join_rejects(rejects), version)


def frequencies(column: str) -> tuple[pl.Expr, ...]:
    """Return expressions that read a frequency: ``_n`` and ``_m`` (n of m), ``percentage`` and ``frequency_class``.

    Example:
        >>> pl.DataFrame({"f": ["2/3", "12.5%", "HP:0040281"]}).select(frequencies("f")).rows()
        [(2, 3, None, None), (None, None, 12.5, None), (None, None, None, 'HP:0040281')]
    """
    text = pl.col(column)
    fraction = r"^([0-9]{1,9})\s*/\s*([0-9]{1,9})$"
    return (
        text.str.extract(fraction, 1).cast(pl.Int64).alias("_n"),
        text.str.extract(fraction, 2).cast(pl.Int64).alias("_m"),
        text.str.extract(r"^([0-9]{1,3}(?:\.[0-9]+)?)\s*%$", 1).cast(pl.Float64).alias("percentage"),
        text.str.extract(rf"^({'|'.join(FREQUENCIES)})$", 1).alias("frequency_class"),
    )


def in_small_letters(name: str) -> str:
    """Return a name in capitals, as some of OMIM's are, the way the others are written.

    Example:
        >>> in_small_letters("DUODENAL ULCER DUE TO ANTRAL G-CELL HYPERFUNCTION"), in_small_letters("MELAS")
        ('Duodenal ulcer due to antral G-cell hyperfunction', 'MELAS')
    """
    words = _WORD.sub(lambda word: word[0] if word[0] in _ACRONYMS else word[0].lower(), name)
    return words[:1].upper() + words[1:]


def _problems() -> pl.Expr:
    read = pl.any_horizontal(pl.col("_n", "percentage", "frequency_class").is_not_null())
    return pl.coalesce(
        pl.when(pl.col("database_id").is_null()).then(pl.lit("database_id is empty")),
        pl.when(pl.col("hpo_id").is_null()).then(pl.lit("hpo_id is empty")),
        pl.when(pl.col("qualifier").is_not_null() & (pl.col("qualifier") != "NOT")).then(
            pl.format("qualifier is {}, not NOT or empty", shown("qualifier"))
        ),
        pl.when(pl.col("frequency").is_not_null() & ~read).then(
            pl.format("frequency is {}: neither n/m, a percentage, nor an HPO term of a frequency", shown("frequency"))
        ),
        pl.when((pl.col("_n") > pl.col("_m")) | (pl.col("_m") == 0) | (pl.col("percentage") > 100)).then(
            pl.format("frequency {} is not between 0 and 1", shown("frequency"))
        ),
    )


def _diseases(rows: pl.DataFrame) -> pl.DataFrame:
    name = pl.col("disease_name")
    shouted = name.str.contains("[A-Z]{4}") & ~name.str.contains("[a-z]{2}")
    written = pl.when(shouted).then(name.map_elements(in_small_letters, pl.String)).otherwise(name)
    names = rows.select("database_id", written.alias("disease_name"), LINE).unique(
        subset=["database_id", "disease_name"], keep="first", maintain_order=True
    )
    known = pl.col("disease_name").drop_nulls()
    return names.group_by("database_id", maintain_order=True).agg(
        pl.col(LINE).first(), name=known.first(), other_names=known.slice(1)
    )
