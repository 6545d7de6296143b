"""A language model's symptoms count only where the document says them, and its failures cost one document."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from kgdx.case import Extraction, Finding, Resolution, Span, Status
from kgdx.errors import LlmError
from kgdx.ingest.extraction.annotate import Article, MatcherReader
from kgdx.ingest.extraction.model_readers import ModelDocumentReader
from kgdx.llm.chat import ChatModel, Completion, OnText, Request

WORDS = {"seizures": "HP:0001250", "fever": "HP:0001945"}
TEXT = "It begins with seizures. A high fever may follow."


class Matcher:
    def extract(self, text: str, language: str | None = None, patient: object = None) -> Extraction:
        found = [
            Finding(id, Status.PRESENT, span=Span(text.index(word), text.index(word) + len(word)), text=word)
            for word, id in WORDS.items()
            if word in text
        ]
        return Extraction(tuple(found))

    def resolve(self, term: str) -> Resolution:
        return Resolution()


@dataclass
class Model(ChatModel):
    answer: Callable[[Request], str]
    name: str = "m"
    asked: list[str] = field(default_factory=list)

    async def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        self.asked.append(request.messages[1].content)
        return Completion(self.answer(request), self.name)


def read(answer: Callable[[Request], str], *texts: str) -> list[tuple[str, list[tuple[str, str]]]]:
    articles = [Article(str(n), "made-up disease", text, "OMIM:1") for n, text in enumerate(texts or (TEXT,))]
    found = []
    for article, (name, read) in zip(
        articles, ModelDocumentReader(Model(answer)).read_all(articles, Matcher()), strict=True
    ):
        places = [(f.id, article.text[f.span.start : f.span.end]) for f in read.findings if f.span]
        found.append((name, places))
    return found


def said(*symptoms: str) -> Callable[[Request], str]:
    return lambda request: json.dumps({"symptoms": symptoms})


def test_a_phrase_that_stands_in_the_text_gives_its_phenotype_and_place() -> None:
    assert read(said("high fever", "seizures")) == [
        ("m symptoms@1", [("HP:0001945", "fever"), ("HP:0001250", "seizures")])
    ]
    assert read(said("High fever", "fever and rash", "", "f", "begins")) == [("m symptoms@1", [])]


def test_the_article_and_its_disease_are_asked_about() -> None:
    model = Model(said())
    list(ModelDocumentReader(model).read_all([Article("d", "made-up disease", TEXT, "OMIM:1")], Matcher()))
    (asked,) = model.asked
    assert TEXT in asked
    assert "made-up disease" in asked


@pytest.mark.parametrize("answer", ["I cannot help with that.", "[]", '{"symptoms": 7}'])
def test_a_document_whose_answer_is_useless_is_read_by_the_matcher(answer: str) -> None:
    def answered(request: Request) -> str:
        return answer if "bad" in request.messages[1].content else json.dumps({"symptoms": ["fever"]})

    first, second = read(answered, "bad seizures", "A fever.")
    assert first == (MatcherReader().name, [("HP:0001250", "seizures")])
    assert second == ("m symptoms@1", [("HP:0001945", "fever")])


def test_a_model_that_cannot_be_asked_stops_the_build() -> None:
    def denied(request: Request) -> str:
        raise LlmError("the key is wrong", hint="set another", kind="denied")

    with pytest.raises(LlmError, match="the key is wrong"):
        read(denied)
