"""Question sets: what is asked, and what a good answer rests on; a JSON line for each question.

Anybody can write one: ``id`` and ``question`` are enough to compare answers, ``action`` and ``gold`` say what the graph
has to give.
"""

from __future__ import annotations

import hashlib
import io
import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from kgdx.episode.operations import Queries
from kgdx.errors import SourceError, UsageError
from kgdx.graph.protocol import Row
from kgdx.ingest.unpack import read_bytes
from kgdx.resources import resource
from kgdx.terms.names.entity_names import POPULATION

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
    """Read a question set, compressed or not."""
    return parse_questions(io.BytesIO(read_bytes(Path(path))), str(path))


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


SOURCE = "chinese_kg"
DISEASES = 100
"""Diseases asked about for each action, unless it is said otherwise."""

MOST_NAMED = 3
"""Names in an ``infer`` question at most."""

MOST_GOLD = 10
"""Diseases that an ``infer`` question may have as its answer at most: half of what an action gives if nothing else is
asked for, so that diseases with equivalent symptoms, which are right too, do not push them out."""

_TRIES = 4
_BATCH = 200
_NAME = re.compile(r"[^、，,;；。？?…]{2,20}")
"""A name that can stand in a sentence; some of the source's are cut off or are sentences themselves."""

_ENGLISH = re.compile(r"(?=.*[a-z])[A-Za-z][A-Za-z0-9 '’-]{4,60}")


ASKED: Mapping[str, str] = {
    "symptom": "symptoms",
    "test": "tests",
    "drug": "drugs",
    "cure": "cures",
    "comorbidity": "comorbidities",
}
"""Last word of the actions' names → what they read, as the templates call it."""


@dataclass(frozen=True, slots=True)
class _Disease:
    id: str
    names: Mapping[Language, str]


def generate(
    graph: Queries,
    *,
    source: str = SOURCE,
    diseases: int | None = DISEASES,
    seed: int = 0,
    languages: Sequence[Language] = LANGUAGES,
    splits: Sequence[Split] = SPLITS,
) -> Iterator[BenchmarkQuestion]:
    """Yield questions for all ten actions; the same graph, arguments and seed give the same questions.

    Each is asked once in every language and split, in a wording drawn by the seed. A disease is called by its English
    name in an English question where the source has one; other names stand in the question as the source has them.
    """
    known = _diseases(graph.run("diseases_of_source", source=source))
    ask = _QuestionMaker(graph, seed, tuple(languages), tuple(splits))
    none = True
    for kind in ASKED:
        order = sorted(known, key=lambda disease: _digest(seed, kind, disease.id))
        for disease, entities in islice(ask.related(kind, order), diseases):
            none = False
            yield from ask.get(kind, disease, entities)
        groups = (ask.group(kind, disease, entities) for disease, entities in ask.related(kind, order))
        for group in islice(filter(None, groups), diseases):
            yield from ask.infer(kind, group)
    if none:
        hint = "build the graph with it, or name another source of `kgdx status`"
        raise UsageError(f"no disease of the source {source[:60]!r} has relations to ask for", hint=hint)


@dataclass(frozen=True, slots=True)
class _Group:
    """Names to infer from, and the diseases that have all of them."""

    disease: _Disease
    names: tuple[str, ...]
    gold: tuple[Gold, ...]


@dataclass(frozen=True, slots=True)
class _QuestionMaker:
    graph: Queries
    seed: int
    languages: tuple[Language, ...]
    splits: tuple[Split, ...]

    def related(self, kind: str, order: Sequence[_Disease]) -> Iterator[tuple[_Disease, tuple[Gold, ...]]]:
        for begin in range(0, len(order), _BATCH):
            batch = order[begin : begin + _BATCH]
            found: dict[str, dict[str, Gold]] = {}
            for row in self.graph.run(f"{ASKED[kind]}_of_diseases", diseases=[disease.id for disease in batch]):
                found.setdefault(row["disease"], {})[row["id"]] = Gold(id=row["id"], name=row["name"])
            for disease in batch:
                if disease.id in found:
                    yield disease, tuple(found[disease.id].values())

    def get(self, kind: str, disease: _Disease, entities: tuple[Gold, ...]) -> Iterator[BenchmarkQuestion]:
        for wording in self._wordings(f"get_{kind}", disease.id):
            name = disease.names[wording.language]
            yield self._question(wording, disease, (name,), entities, (disease.id,))

    def group(self, kind: str, disease: _Disease, entities: tuple[Gold, ...]) -> _Group | None:
        """Some of a disease's entities that few diseases have together; ``None`` where there are none."""
        named = [each for each in entities if _NAME.fullmatch(each.name)]
        chance = random.Random(_digest(self.seed, kind, disease.id))
        for _ in range(_TRIES):
            drawn = chance.sample(named, min(len(named), MOST_NAMED))
            if not drawn:
                return None
            rows = self.graph.run(
                f"infer_diseases_by_{ASKED[kind]}",
                min_match_count=len({each.name for each in drawn}),
                limit=MOST_GOLD + 1,
                **{ASKED[kind]: [{"given": each.name, "id": each.id} for each in drawn]},
            )
            if 0 < len(rows) <= MOST_GOLD:
                gold = tuple(Gold(id=row["id"], name=row["name"]) for row in rows)
                return _Group(disease, tuple(each.name for each in drawn), gold)
        return None

    def infer(self, kind: str, group: _Group) -> Iterator[BenchmarkQuestion]:
        for wording in self._wordings(f"infer_by_{kind}", group.disease.id):
            yield self._question(wording, group.disease, group.names, group.gold, ())

    def _wordings(self, action: str, key: str) -> Iterator[QuestionTemplate]:
        for language in self.languages:
            for split in self.splits:
                ways = tuple(wordings(action, language, split))
                yield ways[int(_digest(self.seed, action, language, split, key), 16) % len(ways)]

    def _question(
        self,
        wording: QuestionTemplate,
        disease: _Disease,
        names: tuple[str, ...],
        gold: tuple[Gold, ...],
        subjects: tuple[str, ...],
    ) -> BenchmarkQuestion:
        return BenchmarkQuestion(
            id=f"{wording.action}/{wording.language}/{wording.split}/{disease.id}",
            question=wording.asking(names),
            language=wording.language,
            action=wording.action,
            entities=names,
            subjects=subjects,
            gold=gold,
            reference=joined(tuple(each.name for each in gold), wording.language),
            wording=wording.id,
            split=wording.split,
        )


def _diseases(rows: Sequence[Row]) -> list[_Disease]:
    """The diseases with what they are called in a question.

    An English name is used where it means that one disease: sources give the name of the disease in all patients to
    that of some (小儿肺栓塞, "pulmonary embolism"), and one name to several.
    """
    called = Counter(name.casefold() for row in rows for name in {row["name"], *row["synonyms"]})
    return [_disease(row, called) for row in rows]


def _disease(row: Row, called: Mapping[str, int]) -> _Disease:
    name = row["name_zh"] or row["name"]
    usable = () if re.search(POPULATION, name) else row["synonyms"]
    english = (each for each in usable if _ENGLISH.fullmatch(each) and called[each.casefold()] == 1)
    return _Disease(row["id"], {"zh": name, "en": next(english, row["name"])})


def _digest(*parts: object) -> str:
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()
