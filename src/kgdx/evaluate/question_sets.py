"""Question sets: what is asked, and what a good answer rests on; a JSON line for each question.

Anybody can write one: ``id`` and ``question`` are enough to compare answers, ``action`` and ``gold`` say what the graph
has to give.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from kgdx.errors import SourceError, UsageError
from kgdx.resources import resource

Language = Literal["zh", "en"]
Split = Literal["tuned", "held_out"]

SPLITS: tuple[Split, ...] = ("tuned", "held_out")
LANGUAGES: tuple[Language, ...] = ("zh", "en")


@cache
def phrases() -> Mapping[str, Any]:
    """Return split → action → language → wordings; ``{x}`` stands for what is asked about."""
    import yaml

    read: Mapping[str, Any] = yaml.safe_load(resource("data", "question-wordings.yaml").read_text("utf-8"))
    return read


@dataclass(frozen=True, slots=True)
class QuestionTemplate:
    """One way to ask.

    Attributes:
        id: Such as ``get_symptom/zh/held_out/1``.
        text: Its words, with ``{x}``.
    """

    id: str
    action: str
    language: Language
    split: Split
    text: str

    def asking(self, names: tuple[str, ...]) -> str:
        """Return the question about these names.

        Example:
            >>> next(wordings("get_symptom", "en")).asking(("pertussis",))
            'What are the symptoms of pertussis?'
        """
        return self.text.replace("{x}", joined(names, self.language))


def wordings(action: str, language: Language, split: Split | None = None) -> Iterator[QuestionTemplate]:
    """Yield the wordings of an action, in their order; those of one split, or all."""
    for each in SPLITS if split is None else (split,):
        for number, text in enumerate(phrases()[each][action][language], 1):
            yield QuestionTemplate(f"{action}/{language}/{each}/{number}", action, language, each, text)


def joined(names: tuple[str, ...], language: Language) -> str:
    """Return names as a list in a sentence.

    Example:
        >>> joined(("fever", "cough", "rash"), "en"), joined(("发热", "咳嗽"), "zh")
        ('fever, cough and rash', '发热、咳嗽')
    """
    if language == "zh" or len(names) < 2:
        return "、".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


MOST_QUESTIONS = 1_000_000
"""Questions of a set at most."""

LONGEST_LINE = 1_000_000
"""Characters of a line at most."""

_HINT = 'each line is {"id": "q1", "question": "…"}, perhaps with language, action, gold, reference'

Name = Annotated[str, Field(min_length=1, max_length=500)]


class _Form(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)


class Gold(_Form):
    """Something that the graph has to give: an entity of it, by id or name."""

    name: Name
    id: Annotated[str, Field(max_length=200)] = ""


class BenchmarkQuestion(_Form):
    """One question.

    Attributes:
        action: The graph action that answers it.
        entities: What it names, in the question's words.
        subjects: Ids of the diseases that a ``get`` question is about; a relation of another one does not count.
        gold: What the graph has to give: the other ends of the relations, or diseases for an ``infer`` question.
        reference: A right answer in words, for a judge.
        case: A patient that the question is about: text, terms, or a phenopacket.
        split: ``tuned`` or ``held_out``, or a name of one's own.

    Example:
        >>> row = {"id": "q1", "question": "百日咳有哪些症状？", "gold": ["干咳"]}
        >>> BenchmarkQuestion.model_validate(row).gold[0].name
        '干咳'
    """

    id: Annotated[str, Field(min_length=1, max_length=200)]
    question: Annotated[str, Field(min_length=1, max_length=20_000)]
    language: Annotated[str, Field(pattern="^(zh|en)?$")] = ""
    action: Annotated[str, Field(max_length=100)] = ""
    entities: tuple[Name, ...] = ()
    subjects: tuple[Name, ...] = ()
    gold: tuple[Gold, ...] = ()
    reference: Annotated[str, Field(max_length=100_000)] = ""
    case: str | tuple[str, ...] | dict[str, Any] | None = None
    wording: Annotated[str, Field(max_length=200)] = ""
    split: Annotated[str, Field(max_length=100)] = ""

    @field_validator("action")
    @classmethod
    def _in_lower_case(cls, action: str) -> str:
        return action.lower()

    @field_validator("gold", mode="before")
    @classmethod
    def _names(cls, gold: Any) -> Any:
        if not isinstance(gold, list | tuple):
            return gold
        return [{"name": each} if isinstance(each, str) else each for each in gold]

    def to_dict(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_defaults=True)

    @property
    def cluster(self) -> tuple[str, ...]:
        """What paraphrases have in common: the action and what it has to give; the question's own id without those."""
        gold = (each.id or each.name for each in self.gold)
        return (self.action, *self.subjects, "/", *gold) if self.gold else (self.id,)

    @property
    def digest(self) -> str:
        content = json.dumps(self.to_dict(), ensure_ascii=False, sort_keys=True)
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_questions(path: str | Path) -> tuple[BenchmarkQuestion, ...]:
    """Read a question set, gzipped or not."""
    return parse_questions(io.BytesIO(content_of(Path(path))), str(path))


def content_of(path: Path) -> bytes:
    """Return what a file of questions holds, gzipped or not."""
    try:
        return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise SourceError(f"{path}: the gzip file is truncated or damaged", hint="fetch it again") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise SourceError(f"the questions {path} cannot be read ({reason})", hint="check the path") from error


def parse_questions(lines: Iterable[bytes], where: str = "questions") -> tuple[BenchmarkQuestion, ...]:
    """Read a question set from lines."""
    found: dict[str, BenchmarkQuestion] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place = f"{where} line {number}"
        question = _question(line, place)
        if question.id in found:
            raise SourceError(f"{place}: there is another question {question.id[:60]!r}", hint="give each its own id")
        if len(found) == MOST_QUESTIONS:
            raise SourceError(f"{where} has more than {MOST_QUESTIONS:,} questions", hint="split it")
        found[question.id] = question
    if not found:
        raise SourceError(f"{where} holds no question", hint=_HINT)
    return tuple(found.values())


def write_questions(questions: Iterable[BenchmarkQuestion]) -> str:
    """Return a question set as JSON lines."""
    return "".join(json.dumps(each.to_dict(), ensure_ascii=False) + "\n" for each in questions)


def set_digest(questions: Iterable[BenchmarkQuestion]) -> str:
    return hashlib.sha256("".join(sorted(each.digest for each in questions)).encode()).hexdigest()[:16]


def chosen(questions: Iterable[BenchmarkQuestion], only: str | None) -> tuple[BenchmarkQuestion, ...]:
    """Return the questions of one split; all when ``only`` is ``None``."""
    every = tuple(questions)
    kept = tuple(each for each in every if only is None or each.split == only)
    if not kept:
        splits = sorted({each.split for each in every if each.split})
        hint = f"it has {', '.join(splits)}" if splits else "leave the split out"
        raise UsageError(f"no question is of the split {str(only)[:40]!r}", hint=hint)
    return kept


def object_of(line: bytes) -> dict[str, Any] | str:
    """Return the JSON object of a line, or why it is none."""
    if len(line) > LONGEST_LINE:
        return f"it is longer than {LONGEST_LINE:,} bytes"
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return "it is not valid JSON; is the file cut off?"
    return value if isinstance(value, dict) else "it is not a JSON object"


def _question(line: bytes, place: str) -> BenchmarkQuestion:
    value = object_of(line)
    if isinstance(value, str):
        raise SourceError(f"{place}: {value}", hint=_HINT)
    try:
        return BenchmarkQuestion.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])[:80]
        raise SourceError(f"{place}: {field}: {first['msg']}", hint=_HINT) from error
