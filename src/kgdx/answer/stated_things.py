"""What sources state of diseases, each thing once, as answers list it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kgdx.answer.wants import aspect_of
from kgdx.lazy import lazy_pattern
from kgdx.results.cited import EvidenceItem
from kgdx.schema.model import FREQUENCIES
from kgdx.terms.normalise import fold_name

_NUMBERED = lazy_pattern(
    r"(?:[,;]?\s+(?:type|subtype|group))?[\s-]+(?:[IVX]+|\d+)[A-Za-z]{0,2}\d?$|\s+complex$|[,;].*$|[（(].*$|\s+due\s+to\s.*$",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Thing:
    """Something that is stated of a disease, by whichever sources."""

    shown: str
    bare: str
    """Without the original in the other language, and without how often."""
    cites: list[str]
    sources: set[str]
    weight: float
    native: bool
    rarity: float = 1.0

    @property
    def worth(self) -> float:
        """Where it stands in a list: how often it is, how many more entries have it, and how rare it is elsewhere."""
        return float(((self.weight or _USUAL) + _REPEATED * min(len(self.cites) - 1, _MOST_AGAIN)) * self.rarity**0.5)


_USUAL, _REPEATED, _MOST_AGAIN = 0.3, 0.25, 2
"""Share of a finding whose frequency no source states, what each further entry that states it adds, and how often."""


def family_of(name: str) -> str:
    """Return what the numbered forms of a disease have in common.

    Example:
        >>> {family_of(name) for name in ("Usher syndrome, type IF", "Usher syndrome type 2", "Usher syndrome")}
        {'usher syndrome'}
    """
    return stem(name).casefold()


def same_name(name: str) -> str:
    """Return what the names of one disease have in common in a list: no number, no accents, no "disease" behind.

    Example:
        >>> {same_name(name) for name in ("Behçet disease", "Behcet syndrome")}
        {'behcet'}
    """
    folded = fold_name(stem(name))
    return folded.removesuffix(" disease").removesuffix(" syndrome")


def stem(name: str) -> str:
    while shorter := _NUMBERED.sub("", name).strip():
        if shorter == name:
            break
        name = shorter
    return name


def marks_of(cites: Sequence[str]) -> str:
    """Return marks, with a range for ids that follow one another.

    Example:
        >>> marks_of(("E7", "E1", "E2", "E3"))
        '[E1-E3][E7]'
    """
    numbers = sorted(int(each.removeprefix("E")) for each in cites)
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return "".join(
        f"[E{run[0]}-E{run[-1]}]" if len(run) > 2 else "".join(f"[E{number}]" for number in run) for run in runs
    )


def merged(things: Iterable[Thing]) -> list[Thing]:
    found: dict[str, Thing] = {}
    for each in things:
        key = each.shown.split(" (")[0].split("（")[0].casefold()
        same = found.get(key)
        if same is None:
            found[key] = each
            continue
        same.cites += [id for id in each.cites if id not in same.cites]
        same.sources |= each.sources
        if each.weight > same.weight or (each.native and not same.native):
            same.shown, same.bare, same.native = each.shown, each.bare, each.native or same.native
            same.weight = max(each.weight, same.weight)
    return list(found.values())


def aspect_in(item: EvidenceItem) -> str:
    """Return what an item states of its disease (:func:`kgdx.answer.wants.aspect_of`)."""
    name = item.objects[0].name if item.objects else ""
    return (
        "RISK_FACTOR"
        if item.details.get("antecedent")
        else aspect_of(item.relation, str(item.details.get("aspect", "")), name)
    )


def weight_of(item: EvidenceItem) -> float:
    """How often an object goes with its disease, as far as the source says; its score otherwise."""
    details = item.details
    if details.get("denominator"):
        return (float(details.get("numerator", 0)) + 0.5) / (float(details["denominator"]) + 1)
    if details.get("percentage") is not None:
        return float(details["percentage"]) / 100
    known = FREQUENCIES.get(str(details.get("frequency_class", "")))
    return known.share if known is not None else float(details.get("score") or 0.0)


def often(item: EvidenceItem) -> str:
    details = item.details
    if details.get("denominator"):
        return f" ({details.get('numerator', 0)}/{details['denominator']})"
    known = FREQUENCIES.get(str(details.get("frequency_class", "")))
    return f" ({known.range})" if known is not None else ""
