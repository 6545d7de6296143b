"""What the table of common conditions states beside its findings: ages, how dangerous each is, what settles it."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from kgdx.resources import resource

DANGEROUS = "2"


class CommonCondition(NamedTuple):
    """A row of ``data/common-conditions/common-conditions.tsv``; ages in years."""

    name: str
    name_zh: str
    youngest: float
    oldest: float
    dangerous: bool
    settled_by: str


@cache
def common_conditions() -> Mapping[str, CommonCondition]:
    """Return the conditions by id.

    Example:
        >>> common_conditions()["KGDX:common.pulmonary-embolism"].settled_by
        'D-dimer or CT angiography of the lungs'
    """
    found = {}
    with resource("data", "common-conditions", "common-conditions.tsv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["kind"] == "condition":
                ages = float(row["youngest"] or 0), float(row["oldest"] or "inf")
                dangerous = row["severity"] == DANGEROUS
                named = row["name"], row["name_zh"] or row["name"]
                found[row["condition"]] = CommonCondition(*named, *ages, dangerous, row["settled_by"])
    return found
