"""Names that look alike are kept apart at every stage, whatever words are known."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from kgdx.terms.encoder import NameEncoder
from kgdx.terms.names.cascade import STAGES, AlignmentLimits, candidates, decide
from kgdx.terms.names.entity_names import Side, side

PAIRS = [
    tuple(map(str.strip, line.split("|")))
    for line in Path(__file__).with_name("look_alikes.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]


def of(names: list[str], prefix: str) -> Side:
    ids = [f"{prefix}:{number}" for number in range(len(names))]
    nodes = pl.DataFrame({"id": ids, "name": names, "source": prefix})
    said = pl.DataFrame({"entity": ids, "text": names, "weight": 1.0, "relation": "exact"})
    return side(nodes, said, diseases=True)


class _Near:
    """An encoder that finds any two names near."""

    name = "near"

    def encode(self, names: list[str]) -> object:
        import numpy as np

        return np.ones((len(names), 4), np.float32) / 2


@pytest.mark.parametrize("words", [set[str](), None])
def test_no_two_that_look_alike_are_joined_by_a_typo(words: set[str] | None) -> None:
    joined = 0
    for one, other in PAIRS:
        found = decide(candidates(of([one], "A"), of([other], "B"), AlignmentLimits(), words=words), AlignmentLimits())
        joined += (found["outcome"] == "stated").sum()
    assert len(PAIRS) >= 198 and joined <= 0.01 * len(PAIRS)


def test_no_two_that_look_alike_are_joined_by_meaning() -> None:
    meaning = NameEncoder(_Near(), chinese=True)  # type: ignore[arg-type]
    joined = []
    for one, other in PAIRS:
        found = candidates(of([one], "A"), of([other], "B"), AlignmentLimits(stages=STAGES), None, meaning, set())
        joined += [(one, other)] * found.height
    assert len(joined) <= 0.3 * len(PAIRS), joined


def test_what_a_typo_joins_is_close_and_what_a_name_joins_is_exact() -> None:
    found = candidates(
        of(["legionela pneumonia", "gout"], "A"), of(["legionella pneumonia", "Gout"], "B"), AlignmentLimits()
    )
    assert dict(found.select("subject", "relation").iter_rows()) == {"A:0": "close", "A:1": "exact"}
