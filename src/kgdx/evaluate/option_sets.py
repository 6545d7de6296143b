"""Sets of questions with options: our own JSON lines, and published ones by the package ``kgdx-datasets``.

A file is JSON lines or a table (CSV), compressed or not, and of one format, which its fields tell. A row that is no
question is refused with its line and counted; the others are read.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from kgdx.answer.option_questions import OptionQuestion
from kgdx.errors import KgdxError, SourceError, UsageError
from kgdx.evaluate.question_sets import object_of
from kgdx.ingest.unpack import read_bytes
from kgdx.registry import Registry
from kgdx.terms.overlap import contained_in

if TYPE_CHECKING:
    from kgdx.terms.text_search import SearchableTexts

WHOLE = 0.8
"""A question of whose words so large a share stands in a text stands there wholly."""

Row = Mapping[str, Any]

OWN = ("id", "question", "options", "gold", "needed", "source", "language", "subject", "rests_on")
"""Fields of our own JSON lines."""

_TEXTS = ("id", "question", "source", "language", "subject", "rests_on")
_EXAMPLE = '{"id": "q1", "question": "…", "options": {"A": "…", "B": "…"}, "gold": "A"}'
_HINT = f"see the fields of each format, or write {_EXAMPLE}"


class OptionFormat(ABC):
    """A way to write a set down; a package adds its own by entry points of the group ``kgdx.option_formats``.

    Args:
        variant: Which of :attr:`variants` is wanted; empty for whichever the rows tell.
    """

    name: ClassVar[str]
    groups: ClassVar[tuple[frozenset[str], ...]]
    """Fields; a row that has all of one group may be of the format."""
    unlike: ClassVar[frozenset[str]] = frozenset()
    """Fields that a row of it does not have."""
    headless: ClassVar[tuple[str, ...]] = ()
    """Columns of its tables without names, the question first and the right letter last; none where they have names."""
    variants: ClassVar[tuple[str, ...]] = ()
    """What may stand behind its name and a dash."""

    def __init__(self, rows: Sequence[Row], where: str, variant: str = "") -> None:
        if variant and variant not in self.variants:
            raise UsageError(f"the format {self.name} has no variant {variant[:40]!r}")

    @classmethod
    def fits(cls, row: Iterable[str]) -> bool:
        """Return whether a row with these fields may be of it."""
        has = frozenset(row)
        return any(group <= has for group in cls.groups) and not cls.unlike & has

    @abstractmethod
    def read(self, row: Row, id: str) -> OptionQuestion:
        """Make a question of a row; the id is for one without."""


def fields(*groups: str) -> tuple[frozenset[str], ...]:
    """Return groups of names."""
    return tuple(frozenset(group.split()) for group in groups)


class OwnFormat(OptionFormat):
    name = "own"
    groups = fields("question options")
    unlike = frozenset({"answer_idx", "answer", "label"})

    def read(self, row: Row, id: str) -> OptionQuestion:
        """Make a question of a row; the id is for one without."""
        if unknown := sorted(set(row) - set(OWN)):
            raise SourceError(f"the field {unknown[0][:40]!r} is not known", hint=_HINT)
        told, needed = {name: words(row.get(name, ""), name) for name in _TEXTS}, row.get("needed", [])
        if not isinstance(needed, list | tuple) or not all(isinstance(each, str) for each in needed):
            raise SourceError("needed is no list of ids", hint=_HINT)
        told["id"] = told["id"] or id
        options, gold = lettered(row["options"]), letters(row.get("gold"))
        return OptionQuestion(options=options, gold=gold, needed=tuple(needed), **told)


PUBLISHED = ("medbullets", "medmcqa", "medxpertqa", "medqa", "mmlu", "gpqa")
FORMATS: Registry[OptionFormat] = Registry(
    "format of option questions",
    "kgdx.option_formats",
    {"own": "kgdx.evaluate.option_sets:OwnFormat"},
    apart=dict.fromkeys(PUBLISHED, "kgdx-datasets"),
)
"""Name → format; those that are published are read by a package of their own."""


def lettered(given: object) -> dict[str, str]:
    """Return options as letters and words, from an object or a list of objects; those without words are left out.

    Example:
        >>> lettered([{"key": "A", "value": "gout"}, {"key": "B", "value": None}])
        {'A': 'gout'}
    """
    if isinstance(given, list) and all(isinstance(each, dict) for each in given):
        pairs = [(each.get("key", each.get("letter")), each.get("value", each.get("content"))) for each in given]
    elif isinstance(given, dict):
        pairs = list(given.items())
    else:
        raise SourceError("options are no object of letters and words", hint=_HINT)
    return {words(letter, "options"): words(said, "options") for letter, said in pairs if said is not None}


def letters(given: object) -> str | None:
    return None if given is None or given == "" else words(given, "the right option").strip().upper()


def words(given: object, name: str) -> str:
    if not isinstance(given, str):
        raise SourceError(f"{name} is no text", hint=_HINT)
    return given


@dataclass(frozen=True, slots=True)
class OptionSet:
    """What a file of questions holds.

    Attributes:
        refused: Why others could not, with the line; one for each.
    """

    questions: tuple[OptionQuestion, ...]
    refused: tuple[str, ...] = ()
    format: str = "own"


def read_option_set(path: str | Path, format: str | None = None) -> OptionSet:
    """Read a set of option questions.

    Args:
        format: One of :data:`FORMATS`, a variant behind a dash; by its fields when ``None``.
    """
    return parse_option_set(read_bytes(Path(path)), str(path), format)


def parse_option_set(content: bytes, where: str = "questions", format: str | None = None) -> OptionSet:
    """Read a set from the bytes of a file.

    Example:
        >>> row = b'{"question": "Which?", "options": {"A": "x", "B": "y"}, "gold": "B"}'
        >>> found = parse_option_set(row)
        >>> found.format, found.questions[0].gold
        ('own', 'B')
    """
    if format is not None:
        FORMATS.get(format.partition("-")[0])
    rows, refused = [], []
    for number, row in _rows(content):
        if isinstance(row, str):
            refused.append(f"{where} line {number}: {row}")
        else:
            rows.append((number, row))
    if not rows:
        raise SourceError(refused[0] if refused else f"{where} holds no question", hint=f"a line is {_EXAMPLE}")
    kind = _format(rows, where, format)
    questions: dict[str, OptionQuestion] = {}
    for number, row in rows:
        try:
            question = kind.read(row, f"{kind.name}-{number}")
            if question.id in questions:
                raise SourceError(f"there is another question {question.id[:60]!r}")
        except KeyError as error:
            refused.append(f"{where} line {number}: the field {error.args[0]!r} is missing")
        except KgdxError as error:
            refused.append(f"{where} line {number}: {error}")
        else:
            questions[question.id] = question
    if not questions:
        raise SourceError(refused[0])
    return OptionSet(tuple(questions.values()), tuple(refused), kind.name)


def write_option_questions(questions: Iterable[OptionQuestion]) -> Iterator[str]:
    """Yield a JSON line for each question."""
    for each in questions:
        yield json.dumps(to_dict(each), ensure_ascii=False)


def to_dict(question: OptionQuestion) -> dict[str, Any]:
    """Return a question as a JSON object of our own fields, without what is empty."""
    found: dict[str, Any] = {}
    for name in OWN:
        value = getattr(question, name)
        if value:
            found[name] = dict(value) if name == "options" else list(value) if name == "needed" else value
    return found


def set_digest(questions: Iterable[OptionQuestion]) -> str:
    lines = sorted(json.dumps(to_dict(each), ensure_ascii=False, sort_keys=True) for each in questions)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def sampled(questions: Sequence[OptionQuestion], count: int | None, seed: int = 0) -> tuple[OptionQuestion, ...]:
    """Return so many questions by chance, in their order; all where there are no more."""
    if count is None or count >= len(questions):
        return tuple(questions)
    chosen = sorted(random.Random(seed).sample(range(len(questions)), count))
    return tuple(questions[at] for at in chosen)


def permuted(questions: Iterable[OptionQuestion], seed: int = 0) -> tuple[OptionQuestion, ...]:
    """Return questions whose options stand in an order by chance, so that a habit of one letter earns that alone.

    Example:
        >>> asked = [OptionQuestion(str(n), "Which?", {"A": "x", "B": "y"}, "A") for n in range(4)]
        >>> [(each.gold, each.options[each.gold]) for each in permuted(asked)]
        [('B', 'x'), ('A', 'x'), ('A', 'x'), ('A', 'x')]
    """
    found = []
    for each in questions:
        order = random.Random(f"{seed} {each.id}").sample(list(each.options), len(each.options))
        options = {letter: each.options[of] for letter, of in zip(each.options, order, strict=True)}
        gold = None if each.gold is None else list(each.options)[order.index(each.gold)]
        found.append(replace(each, options=options, gold=gold))
    return tuple(found)


def contamination(texts: SearchableTexts, questions: Sequence[OptionQuestion]) -> dict[str, Any]:
    """Return which questions stand word for word in the texts that are searched; see :mod:`kgdx.terms.overlap`.

    Returns:
        ``n``: questions compared; ``overlapping``: how many share a run of words with a text; ``whole``: how many of
        them nearly all of their words; ``questions``: the first twenty, by id.
    """
    found = contained_in(texts.ranking(), {each.id: each.question for each in questions})
    first = {id: {"piece": each.piece, "share": round(each.share, 3)} for id, each in list(found.items())[:20]}
    whole = sum(each.share >= WHOLE for each in found.values())
    return {"n": len(questions), "overlapping": len(found), "whole": whole, "questions": first}


def _rows(content: bytes) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """The rows of a file with their lines; of one that is none, why."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    if content.lstrip()[:1] in (b"{", b"["):
        for number, line in enumerate(content.split(b"\n"), 1):
            if line.strip():
                yield number, object_of(line)
    else:
        yield from _table(content)


def _table(content: bytes) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """The rows of a table; without names of columns, those of a format whose tables have none."""
    without_names = [each.headless for each in FORMATS.values() if each.headless]
    reader = csv.reader(io.StringIO(content.decode("utf-8", "replace"), newline=""), strict=True)
    names: list[str] | None = None
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield line, "it is no row of a table; is the file cut off?"
            continue
        if not any(cell.strip() for cell in cells):
            continue
        if names is None:
            named = [cell.strip() for cell in cells]
            names = next((list(each) for each in without_names if _is_first_row(named, each)), named)
            if names is named:
                continue
        if len(cells) != len(names):
            yield line, f"it has {len(cells)} cells, and the table {len(names)} columns; is the file cut off?"
        else:
            yield line, dict(zip(names, cells, strict=True))


def _is_first_row(cells: Sequence[str], columns: Sequence[str]) -> bool:
    told = any(cell.casefold() == columns[0] for cell in cells)
    return not told and len(cells) == len(columns) and cells[-1] in columns[1:-1]


def _format(rows: list[tuple[int, dict[str, Any]]], where: str, forced: str | None) -> OptionFormat:
    """The format of all rows: the one that is forced, or what their fields tell.

    A row whose fields tell nothing is left to be refused.
    """
    name, _, variant = (forced or "").partition("-")
    if not name:
        first: dict[str, int] = {}
        for number, row in rows:
            for each in FORMATS.values():
                if each.fits(row):
                    first.setdefault(each.name, number)
                    break
        if len(first) > 1:
            told = " and ".join(f"{each} (line {number})" for each, number in [*first.items()][:2])
            raise SourceError(f"{where} holds questions in two formats, {told}", hint="split it, or force one")
        if not first:
            has = ", ".join(map(str, [*rows[0][1]][:6]))[:120]
            missing = f"MedQA and other published sets are read after `pip install {FORMATS.apart[PUBLISHED[0]]}`"
            hint = f"it can be forced: --format {', '.join(FORMATS)}" if PUBLISHED[0] in FORMATS else missing
            raise SourceError(f"{where}: no known format has the fields {has}", hint=hint)
        name = next(iter(first))
    return FORMATS.get(name)([row for _, row in rows], where, variant)
