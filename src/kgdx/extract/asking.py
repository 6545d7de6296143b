"""A language model that reads symptoms from documents; nothing that it says is believed unless the text says it too.

Each phrase has to stand in the document, character by character, and to name a phenotype for the matcher, which also
decides which one. A document whose answer cannot be used is read by the matcher alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from pydantic import BaseModel, ConfigDict

from kgdx.case import Extraction, Finding, FindingReader, Span, Status
from kgdx.errors import LlmError
from kgdx.extract.annotate import Article, Matching
from kgdx.llm.prompts import prompt
from kgdx.llm.protocol import ChatModel, Request
from kgdx.llm.structured import structured

UNUSABLE = ("refused", "malformed", "truncated", "rejected")
"""Faults of one answer; any other (the key, the network, the recording) stops the build, which goes on where it was."""
METHOD = "llm"
SHORTEST = 2
"""Characters of a phrase at least."""


class _Symptoms(BaseModel):
    model_config = ConfigDict(extra="forbid")

    symptoms: list[str]


@dataclass(frozen=True, slots=True)
class Asking:
    """Reads documents with a language model.

    Attributes:
        model: Who is asked; put a cache before it, and a build that is made again asks nothing.
        concurrency: Questions at a time.
    """

    model: ChatModel
    concurrency: int = 4

    @property
    def name(self) -> str:
        """The model and the prompt."""
        return f"{self.model.name} {prompt('symptoms').id}"

    def read_all(self, articles: Sequence[Article], matcher: FindingReader) -> Iterator[tuple[str, Extraction]]:
        """Yield who read each article, and its findings.

        Raises:
            LlmError: The model cannot be asked.
        """
        with ThreadPoolExecutor(self.concurrency) as pool:
            answers = pool.map(self._asked, articles)
            for article, phrases in zip(articles, answers, strict=True):
                if phrases is None:
                    yield Matching().name, matcher.extract(article.text)
                else:
                    yield self.name, Extraction(tuple(_findings(article.text, phrases, matcher)))

    def _asked(self, article: Article) -> list[str] | None:
        asked = Request(prompt("symptoms").messages(disease=article.title, text=article.text))
        try:
            return structured(self.model, asked, _Symptoms).value.symptoms
        except LlmError as error:
            if error.kind in UNUSABLE:
                return None
            raise


def _findings(text: str, phrases: Sequence[str], matcher: FindingReader) -> Iterator[Finding]:
    """What the phrases name, each with its place in the text."""
    for phrase in dict.fromkeys(each.strip() for each in phrases):
        at = text.find(phrase) if len(phrase) >= SHORTEST else -1
        if at < 0:
            continue
        for finding in matcher.extract(phrase).findings:
            if finding.status is Status.PRESENT and finding.span is not None:
                span = Span(at + finding.span.start, at + finding.span.end)
                yield replace(finding, span=span, method=METHOD)
