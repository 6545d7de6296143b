"""Reads relations and symptoms by asking a language model, with a strict schema.

Of a document each phrase has to stand in the text, character by character, and to name a phenotype for the matcher,
which also decides which one. A document whose answer cannot be used is read by the matcher alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from pydantic import BaseModel, ConfigDict, Field

from kgdx.case import Extraction, Finding, FindingReader, Span, Status
from kgdx.errors import LlmError
from kgdx.ingest.extraction.annotate import Article, MatcherReader
from kgdx.ingest.extraction.filters import (
    CLASSES,
    LONGEST,
    OF_A_RECORD,
    TYPES,
    ReadRelations,
    RelationClaim,
    known_classes,
    name,
)
from kgdx.llm.chat import ChatModel, Request, prompt
from kgdx.llm.structured import structured

MAX_TOKENS = 4_000


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class Entity(_Form):
    text: str
    class_: str = Field(alias="class", json_schema_extra={"enum": [*sorted(CLASSES)]})


class StatedRelation(_Form):
    type: str = Field(json_schema_extra={"enum": [*TYPES]})
    head: str
    tail: str
    evidence: str


class Report(_Form):
    entities: list[Entity]
    relations: list[StatedRelation]


@dataclass(frozen=True, slots=True)
class ModelReader:
    """Reads relations by a language model; a :class:`~kgdx.ingest.extraction.filters.RelationReader`."""

    chat: ChatModel
    together: int = 1
    temperature: float = 0.0

    @property
    def model(self) -> str:
        return self.chat.name

    @property
    def prompt(self) -> str | None:
        return prompt("relations").id

    @property
    def signature(self) -> str:
        how = f" {self.together} {self.temperature}" if self.together > 1 or self.temperature else ""
        return f"{self.chat.name} {self.prompt} {LONGEST} {MAX_TOKENS}{how}"

    def read(self, question: str, answer: str) -> ReadRelations:
        text = f"{question}\n{answer}"
        messages = prompt("relations").messages(text=text[:LONGEST])
        request = Request(messages, max_tokens=MAX_TOKENS, temperature=self.temperature)
        report = structured(self.chat, request, Report).value
        entities = tuple((each.text, each.class_) for each in report.entities)
        classes = known_classes(entities)
        statements = tuple(
            RelationClaim(
                **each.model_dump(),
                head_class=classes.get(name(each.head), ""),
                tail_class=classes.get(name(each.tail), ""),
            )
            for each in report.relations
        )
        return ReadRelations(statements, entities, {"text beyond the limit": 1} if len(text) > LONGEST else None)


METHOD = "llm"
SHORTEST = 2
"""Characters of a phrase at least."""


class _Symptoms(_Form):
    symptoms: list[str]


@dataclass(frozen=True, slots=True)
class ModelDocumentReader:
    model: ChatModel
    concurrency: int = 4

    @property
    def name(self) -> str:
        return f"{self.model.name} {prompt('symptoms').id}"

    def read_all(self, articles: Sequence[Article], matcher: FindingReader) -> Iterator[tuple[str, Extraction]]:
        with ThreadPoolExecutor(self.concurrency) as pool:
            answers = pool.map(self._asked, articles)
            for article, phrases in zip(articles, answers, strict=True):
                if phrases is None:
                    yield MatcherReader().name, matcher.extract(article.text)
                else:
                    yield self.name, Extraction(tuple(_findings(article.text, phrases, matcher)))

    def _asked(self, article: Article) -> list[str] | None:
        asked = Request(prompt("symptoms").messages(disease=article.title, text=article.text))
        try:
            return structured(self.model, asked, _Symptoms).value.symptoms
        except LlmError as error:
            if error.kind in OF_A_RECORD:
                return None
            raise


def _findings(text: str, phrases: Sequence[str], matcher: FindingReader) -> Iterator[Finding]:
    for phrase in dict.fromkeys(each.strip() for each in phrases):
        at = text.find(phrase) if len(phrase) >= SHORTEST else -1
        if at < 0:
            continue
        for finding in matcher.extract(phrase).findings:
            if finding.status is Status.PRESENT and finding.span is not None:
                span = Span(at + finding.span.start, at + finding.span.end)
                yield replace(finding, span=span, method=METHOD)
