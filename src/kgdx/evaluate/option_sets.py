"""Sets of questions with options: as they are published, and our own JSON lines.

A file is JSON lines or a table (CSV), gzipped or not, and of one format, which its fields tell. A row that is no
question is refused with its line and counted; the others are read.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import random
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgdx.answer.option_questions import OptionQuestion
from kgdx.errors import KgdxError, SourceError, UsageError
from kgdx.evaluate.option_formats import FORMATS, HEADLESS, OWN, Format, Row, medmcqa
from kgdx.terms.overlap import contained_in

if TYPE_CHECKING:
    from kgdx.terms.text_search import Texts

LONGEST_LINE = 1_000_000
"""Characters of a line at most."""

WHOLE = 0.8
"""A question of whose words so large a share stands in a text stands there wholly."""

FORCED = (*FORMATS, "medmcqa-0", "medmcqa-1")
"""Names of formats that can be asked for; the last two say from what number MedMCQA's options are counted."""

_HINT = f"it can be forced: --format {', '.join(FORCED)}"


@dataclass(frozen=True, slots=True)
class OptionSet:
    """What a file of questions holds.

    Attributes:
        questions: Those that could be read.
        refused: Why others could not, with the line; one for each.
        format: What the file was read as.
    """

    questions: tuple[OptionQuestion, ...]
    refused: tuple[str, ...] = ()
    format: str = "own"

    @property
    def answerable(self) -> tuple[OptionQuestion, ...]:
        """The questions whose right option is known."""
        return tuple(each for each in self.questions if each.gold is not None)


def read_option_set(path: str | Path, format: str | None = None) -> OptionSet:
    """Read a set of option questions.

    Args:
        path: The file.
        format: One of :data:`FORCED`; by its fields when ``None``.

    Raises:
        SourceError: It cannot be read, holds two formats or none that is known, or no question.
        UsageError: There is no such format.
    """
    path = Path(path)
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise SourceError(f"{path}: the gzip file is truncated or damaged", hint="fetch it again") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise SourceError(f"the questions {path} cannot be read ({reason})", hint="check the path") from error
    return parse_option_set(content, str(path), format)


def parse_option_set(content: bytes, where: str = "questions", format: str | None = None) -> OptionSet:
    """Read a set from the bytes of a file; errors as of :func:`read_option_set`.

    Example:
        >>> row = b'{"question": "Which?", "options": {"A": "x", "B": "y"}, "answer": "y", "answer_idx": "B"}'
        >>> found = parse_option_set(row)
        >>> found.format, found.questions[0].gold
        ('medqa', 'B')
    """
    if format is not None and format not in FORCED:
        raise UsageError(f"no format is called {format[:40]!r}", hint=f"one of {', '.join(FORCED)}")
    rows, refused = [], []
    for number, row in _rows(content):
        if isinstance(row, str):
            refused.append(f"{where} line {number}: {row}")
        else:
            rows.append((number, row))
    if not rows:
        raise SourceError(refused[0] if refused else f"{where} holds no question", hint=_example())
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
    """Yield a JSON line for each question.

    Example:
        >>> next(write_option_questions([OptionQuestion("q1", "Which?", {"A": "x", "B": "y"}, "A")]))
        '{"id": "q1", "question": "Which?", "options": {"A": "x", "B": "y"}, "gold": "A"}'
    """
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
    """Return a digest of a whole set, whatever its order."""
    lines = sorted(json.dumps(to_dict(each), ensure_ascii=False, sort_keys=True) for each in questions)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def sampled(questions: Sequence[OptionQuestion], count: int | None, seed: int = 0) -> tuple[OptionQuestion, ...]:
    """Return so many questions by chance, in their order; all where there are no more.

    Example:
        >>> asked = [OptionQuestion(str(n), "Which?", {"A": "x", "B": "y"}) for n in range(5)]
        >>> len(sampled(asked, 2))
        2
    """
    if count is None or count >= len(questions):
        return tuple(questions)
    chosen = sorted(random.Random(seed).sample(range(len(questions)), count))
    return tuple(questions[at] for at in chosen)


def contamination(texts: Texts, questions: Sequence[OptionQuestion]) -> dict[str, Any]:
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
                yield number, _object(line)
    else:
        yield from _table(content)


def _object(line: bytes) -> dict[str, Any] | str:
    if len(line) > LONGEST_LINE:
        return f"it is longer than {LONGEST_LINE:,} bytes"
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return "it is not valid JSON; is the file cut off?"
    return value if isinstance(value, dict) else "it is not a JSON object"


def _table(content: bytes) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """The rows of a table; without names of columns, those of MMLU."""
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
            named = any(cell.strip().casefold() == HEADLESS[0] for cell in cells)
            headless = not named and len(cells) == len(HEADLESS) and cells[-1].strip() in tuple("ABCD")
            names = list(HEADLESS) if headless else [cell.strip() for cell in cells]
            if not headless:
                continue
        if len(cells) != len(names):
            yield line, f"it has {len(cells)} cells, and the table {len(names)} columns; is the file cut off?"
        else:
            yield line, dict(zip(names, cells, strict=True))


def _format(rows: list[tuple[int, dict[str, Any]]], where: str, forced: str | None) -> Format:
    """The format of all rows: the one that is forced, or what their fields tell.

    A row whose fields tell nothing is left to be refused.
    """
    name = forced.partition("-")[0] if forced else None
    if name is None:
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
            raise SourceError(f"{where}: no known format has the fields {has}", hint=_HINT)
        name = next(iter(first))
    kind = FORMATS[name]
    if name != "medmcqa":
        return kind
    start = int(forced[-1]) if forced in ("medmcqa-0", "medmcqa-1") else _counted([row for _, row in rows], where)
    return Format(kind.name, kind.fields, partial(medmcqa, first=start))


def _counted(rows: Iterable[Row], where: str) -> int:
    """From what number the options of a MedMCQA file are counted; any where no right option is given."""
    given = {str(row.get("cop", "")) for row in rows}
    if {"0", "4"} <= given:
        raise SourceError(f"{where}: cop is 0 in one row and 4 in another", hint="it is counted from 0 or from 1")
    if "0" not in given and "4" not in given and given & {"1", "2", "3"}:
        hint = "--format medmcqa-0 (the hub's files) or medmcqa-1 (the authors')"
        raise SourceError(f"{where}: whether cop is counted from 0 or 1 cannot be told", hint=hint)
    return 1 if "4" in given else 0


def _example() -> str:
    return 'a line is {"id": "q1", "question": "…", "options": {"A": "…", "B": "…"}, "gold": "A"}'
