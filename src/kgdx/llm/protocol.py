"""What is asked of a language model and what comes back; whoever answers is a :class:`ChatModel`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation; its text does not show in the representation, since it may be a patient's."""

    role: Role
    content: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Request:
    """A conversation to be continued.

    Attributes:
        messages: The turns so far.
        schema: JSON schema that the answer has to fit; ``None`` for free text.
        max_tokens: Length at which the answer is cut; ``None`` for the endpoint's own.
        temperature: 0 for the likeliest answer.
    """

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    max_tokens: int | None = None
    temperature: float = 0.0

    def key(self, *more: str) -> str:
        """Return the SHA-256 of what is asked (and of ``more``): equal requests have equal keys.

        Example:
            >>> request = Request((Message("user", "hello"),))
            >>> request.key("m") == Request((Message("user", "hello"),)).key("m") != request.key("n")
            True
        """
        parts = [list(more), asdict(self)]
        content = json.dumps(parts, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


Prices = tuple[float, float]
"""Prices of a million tokens read and written, in any currency."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens read and written; ``None`` where the endpoint does not say."""

    read: int | None = None
    written: int | None = None

    def cost(self, prices: Prices) -> float:
        """Return what the tokens cost; what was not said costs nothing.

        Example:
            >>> Usage(1_000, 250).cost((1.0, 4.0))
            0.002
        """
        return ((self.read or 0) * prices[0] + (self.written or 0) * prices[1]) / 1_000_000


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered.

    Attributes:
        text: Its words.
        model: The model's name as the endpoint gives it.
        usage: Tokens.
        cached: It was answered before, and cost nothing now.
    """

    text: str = field(repr=False)
    model: str
    usage: Usage = Usage()
    cached: bool = False


class ChatModel(Protocol):
    """Whoever can continue a conversation: an endpoint, a recording, a model in this process.

    May be called from several threads. An answer that does not fit the schema is for the caller to judge; see
    :func:`kgdx.llm.structured.structured`.
    """

    @property
    def name(self) -> str:
        """The model's name, as it stands in what is made of its answers."""
        ...

    def ask(self, request: Request, on_text: Callable[[str], None] | None = None) -> Answer:
        """Return the answer.

        Args:
            request: What is asked.
            on_text: Given each piece of the answer as it arrives.

        Raises:
            LlmError: There is no answer; its ``kind`` says why.
        """
        ...


def with_schema(messages: Sequence[Message], schema: Mapping[str, Any]) -> list[Message]:
    """Return the messages with the schema in words, for a model that cannot be held to it.

    Example:
        >>> with_schema([Message("user", "hello")], {"type": "object"})[0].content.splitlines()[-1]
        '{"type": "object"}'
    """
    written = json.dumps(schema, ensure_ascii=False)
    said = f"Answer with one JSON object and nothing else. It has to fit this JSON schema:\n{written}"
    if messages and messages[0].role == "system":
        return [Message("system", f"{messages[0].content}\n\n{said}"), *messages[1:]]
    return [Message("system", said), *messages]


def sound(text: str) -> str:
    """Return text that can be written as UTF-8: half a character, as a broken JSON escape gives it, becomes a ``?``.

    Example:
        >>> sound("a" + chr(0xD83E))
        'a?'
    """
    return text.encode("utf-8", "replace").decode("utf-8")
