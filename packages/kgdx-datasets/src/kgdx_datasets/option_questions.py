"""Published sets of option questions: what of their fields makes a question.

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
from collections.abc import Mapping, Sequence

from kgdx.answer.option_questions import LETTERS, OptionQuestion
from kgdx.errors import SourceError
from kgdx.evaluate.option_sets import OptionFormat, Row, fields, lettered, letters, words

_CHOICES = re.compile(r"\s*Answer Choices:\s*\(A\).*\Z", re.DOTALL)
_HAN = re.compile(r"[\u4e00-\u9fff]")
_WRONG = ("Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")


class MedQA(OptionFormat):
    """MedQA (Jin et al. 2021), in whose form other sets are published, too."""

    name = "medqa"
    groups = fields("question options answer_idx")
    unlike = frozenset({"link", "label"})

    def read(self, row: Row, id: str) -> OptionQuestion:
        return _made(self.name, row, id, lettered(row["options"]), letters(row["answer_idx"]))


class MedMCQA(OptionFormat):
    """MedMCQA (Pal et al. 2022), whose options are counted from 0 or from 1; the test split has no right ones."""

    name = "medmcqa"
    groups = fields("question opa opb opc opd")
    unlike = frozenset({"answer_idx"})
    variants = ("0", "1")

    def __init__(self, rows: Sequence[Row], where: str, variant: str = "") -> None:
        super().__init__(rows, where, variant)
        self.first = int(variant) if variant else _counted_from(rows, where)

    def read(self, row: Row, id: str) -> OptionQuestion:
        cop, first = _number(row.get("cop")), self.first
        known = cop is not None and cop >= 0 and row.get("cop") != ""
        gold = LETTERS[cop - first] if cop is not None and known and 0 <= cop - first < len(LETTERS) else None
        if known and gold is None:
            raise SourceError(f"cop is {cop}, and options are counted from {first}", hint="check the row")
        return _made(self.name, row, id, _columns(row), gold)


class MMLU(OptionFormat):
    """MMLU (Hendrycks et al. 2021)."""

    name = "mmlu"
    headless = ("question", "A", "B", "C", "D", "answer")
    groups = (*fields("question choices answer"), frozenset(headless))

    def read(self, row: Row, id: str) -> OptionQuestion:
        if "choices" not in row:
            return _made(self.name, row, id, {each: words(row[each], each) for each in "ABCD"}, letters(row["answer"]))
        if not isinstance(row["choices"], list):
            raise SourceError("choices are no list")
        at = _number(row["answer"])
        gold = letters(row["answer"]) if at is None else LETTERS[at] if 0 <= at < len(row["choices"]) else str(at)
        options = {LETTERS[n]: words(each, "choices") for n, each in enumerate(row["choices"][: len(LETTERS)])}
        return _made(self.name, row, id, options, gold)


class GPQA(OptionFormat):
    """GPQA (Rein et al. 2023); the order of the options depends on the record's id alone."""

    name = "gpqa"
    groups = (frozenset({"Question", "Correct Answer", *_WRONG}),)

    def read(self, row: Row, id: str) -> OptionQuestion:
        id = str(row.get("Record ID") or id)
        given = [words(row[name], name).strip() for name in ("Correct Answer", *_WRONG)]
        order = sorted(range(len(given)), key=lambda at: hashlib.sha256(f"{id}/{at}".encode()).digest())
        options = {LETTERS[place]: given[at] for place, at in enumerate(order)}
        return _made(self.name, {"question": row["Question"], "id": id}, id, options, LETTERS[order.index(0)])


class Medbullets(OptionFormat):
    """Medbullets (Chen et al. 2024), with four options or five."""

    name = "medbullets"
    groups = fields("question options answer link", "question opa opb answer_idx")

    def read(self, row: Row, id: str) -> OptionQuestion:
        options = lettered(row["options"]) if "options" in row else _columns(row)
        given = {**row, "id": row.get("id") or row.get("idx") or id}
        return _made(self.name, given, id, options, letters(row.get("answer_idx") or row.get("answer")))


class MedXpertQA(OptionFormat):
    """MedXpertQA's text questions (Zuo et al. 2025); the options at the end of the question are taken off."""

    name = "medxpertqa"
    groups = fields("question options label")

    def read(self, row: Row, id: str) -> OptionQuestion:
        label = row["label"][0] if isinstance(row["label"], list) and len(row["label"]) == 1 else row["label"]
        asked = _CHOICES.sub("", words(row["question"], "question"))
        return _made(self.name, {**row, "question": asked}, id, lettered(row["options"]), letters(label))


def _made(source: str, row: Row, id: str, options: Mapping[str, str], gold: str | None) -> OptionQuestion:
    asked = words(row["question"], "question").strip()
    language = "zh" if _HAN.search(asked) else "en"
    return OptionQuestion(str(row.get("id") or id), asked, options, gold, source=source, language=language)


def _columns(row: Row) -> dict[str, str]:
    """The options of ``opa``, ``opb`` …; one that is empty ends them."""
    found: dict[str, str] = {}
    for letter in "ABCDE":
        option = row.get(f"op{letter.lower()}")
        if option is None or (letter == "E" and not str(option).strip()):
            break
        found[letter] = words(option, f"op{letter.lower()}")
    return found


def _number(given: object) -> int | None:
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    return int(given) if isinstance(given, str) and re.fullmatch(r"-?\d{1,6}", given) else None


def _counted_from(rows: Sequence[Row], where: str) -> int:
    """From what number the options are counted; any where no right option is given."""
    given = {str(row.get("cop", "")) for row in rows}
    if {"0", "4"} <= given:
        raise SourceError(f"{where}: cop is 0 in one row and 4 in another", hint="it is counted from 0 or from 1")
    if "0" not in given and "4" not in given and given & {"1", "2", "3"}:
        hint = "--format medmcqa-0 (the hub's files) or medmcqa-1 (the authors')"
        raise SourceError(f"{where}: whether cop is counted from 0 or 1 cannot be told", hint=hint)
    return 1 if "4" in given else 0
