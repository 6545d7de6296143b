"""Fields of the published sets of option questions, and what of them makes a question.

==========  ==================================================================================================
MedQA       ``question``, ``options`` (letters, or a list of ``key`` and ``value``), ``answer_idx``
MedMCQA     ``question``, ``opa`` … ``opd``, ``cop``: from 1 in the authors' files, from 0 in the hub's
MMLU        ``question``, ``choices``, ``answer`` (from 0); or six columns without names, the last a letter
GPQA        ``Question``, ``Correct Answer``, ``Incorrect Answer 1`` … ``3``: put in an order by the record's id
Medbullets  ``question``, ``opa`` … ``ope``, ``answer_idx``; or ``options``, ``answer``, ``link``
MedXpertQA  ``id``, ``question`` (with its options at the end), ``options``, ``label``
==========  ==================================================================================================
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kgdx.answer.option_questions import LETTERS, OptionQuestion
from kgdx.errors import SourceError

Row = Mapping[str, Any]

OWN = ("id", "question", "options", "gold", "needed", "source", "language", "subject", "rests_on")
"""Fields of our own JSON lines."""

HEADLESS = ("question", "A", "B", "C", "D", "answer")
"""Columns of an MMLU table, which has no names."""

_TEXTS = ("id", "question", "source", "language", "subject", "rests_on")
_CHOICES = re.compile(r"\s*Answer Choices:\s*\(A\).*\Z", re.DOTALL)
_HAN = re.compile(r"[\u4e00-\u9fff]")
_HINT = 'see the fields of each format, or write {"id": "q1", "question": "…", "options": {"A": "…", "B": "…"}}'


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write a set down.

    Attributes:
        name: What it is called.
        fields: Groups of fields; a row that has all of one group may be of the format.
        read: Makes a question of a row; given the row and an id for rows without one.
        unlike: Fields that a row of it does not have.
    """

    name: str
    fields: tuple[frozenset[str], ...]
    read: Callable[[Row, str], OptionQuestion]
    unlike: frozenset[str] = frozenset()

    def fits(self, row: Iterable[str]) -> bool:
        """Return whether a row may be of it."""
        has = frozenset(row)
        return any(group <= has for group in self.fields) and not self.unlike & has


def own(row: Row, id: str) -> OptionQuestion:
    """Read our own fields."""
    if unknown := sorted(set(row) - set(OWN)):
        raise SourceError(f"the field {unknown[0][:40]!r} is not known", hint=_HINT)
    words = {name: _text(row.get(name, ""), name) for name in _TEXTS}
    gold, needed = row.get("gold"), row.get("needed", [])
    if not isinstance(needed, list | tuple) or not all(isinstance(each, str) for each in needed):
        raise SourceError("needed is no list of ids", hint=_HINT)
    words["id"] = words["id"] or id
    gold = _letter(gold)
    return OptionQuestion(options=_lettered(row.get("options")), gold=gold, needed=tuple(needed), **words)


def medqa(row: Row, id: str) -> OptionQuestion:
    """Read MedQA (Jin et al. 2021), which other sets are published in, too."""
    return _made("medqa", row, id, _lettered(row["options"]), _letter(row["answer_idx"]))


def medmcqa(row: Row, id: str, first: int = 0) -> OptionQuestion:
    """Read MedMCQA (Pal et al. 2022); the test split has no right options.

    Args:
        row: Its fields.
        id: An id for a row without one.
        first: Number of the first option.
    """
    cop = _number(row.get("cop"))
    known = cop is not None and cop >= 0 and row.get("cop") != ""
    gold = LETTERS[cop - first] if cop is not None and known and 0 <= cop - first < len(LETTERS) else None
    if known and gold is None:
        raise SourceError(f"cop is {cop}, and options are counted from {first}", hint="check the row")
    return _made("medmcqa", row, id, _columns(row), gold)


def mmlu(row: Row, id: str) -> OptionQuestion:
    """Read MMLU (Hendrycks et al. 2021)."""
    if "choices" not in row:
        return _made("mmlu", row, id, {letter: _text(row[letter], letter) for letter in "ABCD"}, _letter(row["answer"]))
    if not isinstance(row["choices"], list):
        raise SourceError("choices are no list", hint=_HINT)
    at = _number(row["answer"])
    gold = _letter(row["answer"]) if at is None else LETTERS[at] if 0 <= at < len(row["choices"]) else str(at)
    options = {LETTERS[n]: _text(each, "choices") for n, each in enumerate(row["choices"][: len(LETTERS)])}
    return _made("mmlu", row, id, options, gold)


def gpqa(row: Row, id: str) -> OptionQuestion:
    """Read GPQA (Rein et al. 2023); the order of the options depends on the record's id alone."""
    id = str(row.get("Record ID") or id)
    right = _text(row["Correct Answer"], "Correct Answer").strip()
    wrong = [_text(row[f"Incorrect Answer {n}"], f"Incorrect Answer {n}").strip() for n in (1, 2, 3)]
    order = sorted(enumerate([right, *wrong]), key=lambda each: hashlib.sha256(f"{id}/{each[0]}".encode()).digest())
    gold = next(LETTERS[place] for place, (number, _) in enumerate(order) if number == 0)
    options = {LETTERS[place]: words for place, (_, words) in enumerate(order)}
    return _made("gpqa", {"question": row["Question"], "id": id}, id, options, gold)


def medbullets(row: Row, id: str) -> OptionQuestion:
    """Read Medbullets (Chen et al. 2024), with four options or five."""
    options = _lettered(row["options"]) if "options" in row else _columns(row)
    given = {**row, "id": row.get("id") or row.get("idx") or id}
    return _made("medbullets", given, id, options, _letter(row.get("answer_idx") or row.get("answer")))


def medxpertqa(row: Row, id: str) -> OptionQuestion:
    """Read MedXpertQA's text questions (Zuo et al. 2025); the options at the end of the question are taken off."""
    label = row["label"][0] if isinstance(row["label"], list) and len(row["label"]) == 1 else row["label"]
    asked = _CHOICES.sub("", _text(row["question"], "question"))
    return _made("medxpertqa", {**row, "question": asked}, id, _lettered(row["options"]), _letter(label))


def _fields(*groups: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(group.split()) for group in groups)


FORMATS: Mapping[str, Format] = {
    each.name: each
    for each in (
        Format("own", _fields("question options"), own, frozenset({"answer_idx", "answer", "label"})),
        Format("medbullets", _fields("question options answer link", "question opa opb answer_idx"), medbullets),
        Format("medmcqa", _fields("question opa opb opc opd"), medmcqa, frozenset({"answer_idx"})),
        Format("medxpertqa", _fields("question options label"), medxpertqa),
        Format("medqa", _fields("question options answer_idx"), medqa, frozenset({"link"})),
        Format("mmlu", _fields("question choices answer", " ".join(HEADLESS)), mmlu),
        Format(
            "gpqa",
            (frozenset({"Question", "Correct Answer", *(f"Incorrect Answer {n}" for n in (1, 2, 3))}),),
            gpqa,
        ),
    )
}
"""Name → format."""


def _made(source: str, row: Row, id: str, options: Mapping[str, str], gold: str | None) -> OptionQuestion:
    words = _text(row["question"], "question").strip()
    language = "zh" if _HAN.search(words) else "en"
    return OptionQuestion(str(row.get("id") or id), words, options, gold, source=source, language=language)


def _columns(row: Row) -> dict[str, str]:
    """The options of ``opa``, ``opb`` …; one that is empty ends them."""
    found: dict[str, str] = {}
    for letter in "ABCDE":
        words = row.get(f"op{letter.lower()}")
        if words is None or (letter == "E" and not str(words).strip()):
            break
        found[letter] = _text(words, f"op{letter.lower()}")
    return found


def _lettered(given: object) -> dict[str, str]:
    """Options as letters and words, from an object, or from a list of objects; those without words are left out."""
    if isinstance(given, list) and all(isinstance(each, dict) for each in given):
        pairs = [(each.get("key", each.get("letter")), each.get("value", each.get("content"))) for each in given]
    elif isinstance(given, dict):
        pairs = list(given.items())
    else:
        raise SourceError("options are no object of letters and words", hint=_HINT)
    return {_text(letter, "options"): _text(words, "options") for letter, words in pairs if words is not None}


def _letter(given: object) -> str | None:
    if given is None or given == "":
        return None
    return _text(given, "the right option").strip().upper()


def _number(given: object) -> int | None:
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    return int(given) if isinstance(given, str) and re.fullmatch(r"-?\d{1,6}", given) else None


def _text(given: object, name: str) -> str:
    if not isinstance(given, str):
        raise SourceError(f"{name} is no text", hint=_HINT)
    return given
