"""Words that a clinician reads for what the graph stores as codes: frequencies, references, ages, statuses.

How relations read stands in the ontology (:func:`kgdx.schema.wording`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kgdx.lazy import lazy_pattern
from kgdx.terms.normalise import read_table

if TYPE_CHECKING:
    from kgdx.results.ranked import CaseSummary

STATUS_WORDS = {
    "present": "present",
    "absent": "absent",
    "unknown": "unclear",
    "family": "in the family",
    "hypothetical": "possible",
}
"""By :class:`kgdx.case.Status`, whose members are these strings."""

SEX_WORDS = {"MALE": "male", "FEMALE": "female", "OTHER_SEX": "other sex", "OTHER": "other sex"}

_CONTROL = lazy_pattern(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f]"
)
_PART, _ALONE = lazy_pattern(r"([,;] )"), lazy_pattern(r"( and | or )")
_FRACTION = lazy_pattern(r"(\d+) of (\d+)")
_DURATION = lazy_pattern(r"P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T.*)?")


def tests_in_chinese(said: str) -> str:
    """Return what settles a disease in Chinese, as far as ``tests_zh.tsv`` has its parts.

    Example:
        >>> tests_in_chinese("chest X-ray, ECG and troponin; treat before the result")
        '胸片、心电图和肌钙蛋白；不等结果先治疗'
    """
    words, told = _tests_in_chinese(), ""
    for part in _PART.split(said):
        pieces = [part] if part in words else _ALONE.split(part)
        told += "".join(words[each] for each in pieces) if all(each in words for each in pieces) else part
    return told


@cache
def _tests_in_chinese() -> Mapping[str, str]:
    found = {said: chinese for said, chinese in read_table(Path(__file__).with_name("tests_zh.tsv"))}
    return found | {", ": "、", "; ": "；", " and ": "和", " or ": "或"}


def clean(text: object) -> str:
    """Return text that cannot steer a terminal.

    Characters that control it, change the direction, hide or cannot be written become visible.
    """
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", str(text).replace("\r\n", "\n"))


def frequency(words: str) -> str:
    """Return how often a phenotype occurs, with the percentage where only a count is given.

    Example:
        >>> frequency("9 of 12"), frequency("frequent (30–79%)"), frequency("")
        ('9 of 12 (75%)', 'frequent (30–79%)', '')
    """
    found = _FRACTION.fullmatch(words)
    if found and int(found[2]):
        return f"{words} ({100 * int(found[1]) / int(found[2]):.0f}%)"
    return clean(words)


def each_reference(values: Iterable[str]) -> list[str]:
    """Return single references, each once; publications come before database entries."""
    each = dict.fromkeys(part.strip() for value in values for part in value.split(";") if part.strip())
    return sorted(each, key=lambda reference: not reference.startswith("PMID:"))


def references(values: Iterable[str], limit: int = 2) -> str:
    """Name the first references and count the rest; publications come before database entries."""
    ordered = each_reference(values)
    more = f" +{len(ordered) - limit}" if len(ordered) > limit else ""
    return clean(", ".join(ordered[:limit])) + more


def age(duration: str | None) -> str:
    """Say an ISO 8601 duration in words.

    Example:
        >>> age("P4Y"), age("P1Y6M"), age("P3W"), age(None)
        ('4 years', '1 year 6 months', '3 weeks', '')
    """
    found = _DURATION.fullmatch(duration or "")
    if not found:
        return clean(duration or "")
    units = ("year", "month", "week", "day")
    parts = [(int(number), unit) for number, unit in zip(found.groups(), units, strict=True) if number]
    return " ".join(f"{number} {unit}{'' if number == 1 else 's'}" for number, unit in parts if number)


ONSET_WORDS = {
    "HP:0030674": "before birth",
    "HP:0003577": "at birth",
    "HP:0003623": "in the first month",
    "HP:0003593": "in infancy",
    "HP:0011463": "in childhood",
    "HP:0003621": "in adolescence",
    "HP:0003581": "in adulthood",
    "HP:0011462": "in young adulthood",
    "HP:0003596": "in middle age",
    "HP:0003584": "in old age",
}
"""HPO's terms of onset, as words that follow "began"."""


def stated_word(kind: str, value: str) -> str:
    """Return what a text states of a patient, in words."""
    words = {"true": "yes", "false": "no", **SEX_WORDS, **ONSET_WORDS}
    return words.get(value) or (age(value) if kind in ("age", "onset") else clean(value.lower()))


def person(case: CaseSummary) -> list[str]:
    """Return what is known of a patient beside the findings, in words.

    Example:
        >>> from kgdx.results.ranked import CaseSummary
        >>> person(CaseSummary("p", sex="FEMALE", age="P3M", onset="HP:0003577", genes=("ATM",), n_genes=1))
        ['female', '3 months', 'began at birth', '1 candidate gene: ATM']
    """
    family = case.family
    onset = ONSET_WORDS.get(case.onset or "") or (f"at {age(case.onset)}" if case.onset else "")
    genes = f"{count(case.n_genes, 'candidate gene')}: {', '.join(map(clean, case.genes[:3]))}" if case.n_genes else ""
    said = (
        SEX_WORDS.get(case.sex, ""),
        age(case.age),
        f"began {onset}" if onset else "",
        "" if family.consanguineous is None else f"parents {'' if family.consanguineous else 'not '}related",
        *(f"{each.lower()} affected" for each in family.affected),
        genes + (" …" if case.n_genes > 3 else ""),
    )
    return [part for part in said if part.strip()]


def count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def signed(value: float, digits: int = 1) -> str:
    """Return a number with its sign, and the true minus; what rounds to nothing has no sign."""
    rounded = round(value, digits)
    return f"{rounded:+.{digits}f}".replace("-", "−") if rounded else f"{0:.{digits}f}"


def seconds(value: float) -> str:
    """Return a duration that is easy to read.

    Example:
        >>> seconds(0.0123), seconds(2.34), seconds(125)
        ('12 ms', '2.3 s', '2 min 5 s')
    """
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 60:
        return f"{value:.1f} s"
    return f"{int(value // 60)} min {value % 60:.0f} s"
