"""Read the responses of an endpoint, in which nothing can be trusted to be what it should be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kgdx.llm.chat import OnText, Request, Tokens, Usage, sound

LONGEST = 1_000_000
"""Characters of a text at most; a model that goes on is cut off."""

MOST_TOKENS = 1_000_000_000
"""An endpoint that counts more tokens for one answer miscounts."""


class Endless(Exception):
    """An answer is larger than any can be."""


@dataclass(slots=True)
class Response:
    """What has arrived of a completion, whole or in chunks."""

    request: Request
    on_text: OnText | None = None
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    reasoning: list[str] = field(default_factory=list)
    refused: bool = False
    model: str = ""
    finish: str = ""
    stop: str | None = None
    usage: Usage = field(default_factory=Usage)
    given: list[Any] = field(default_factory=list)
    written: list[Any] = field(default_factory=list)
    logprobs: list[Any] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def streamed(self) -> bool:
        return self.on_text is not None

    def read(self, made: Any, message: str) -> None:
        """Take in a response or a chunk, whose choice holds a ``message`` or ``delta``."""
        self.model = _text(made.model) or self.model
        if made.usage is not None:
            self.usage = _usage(made.usage)
        self.given += getattr(made, "prompt_token_ids", None) or []
        for choice in made.choices[:1]:
            part = getattr(choice, message)
            self.refused = self.refused or bool(part.refusal)
            self.finish = _text(choice.finish_reason) or self.finish
            stop = getattr(choice, "stop_reason", None)
            self.stop = stop if isinstance(stop, str) else self.stop
            self.written += getattr(choice, "token_ids", None) or []
            if choice.logprobs is not None:
                self.logprobs += [getattr(each, "logprob", None) for each in choice.logprobs.content or ()]
            thought = getattr(part, "reasoning_content", None) or getattr(part, "reasoning", None)
            self.reasoning.append(_text(thought))
            if piece := _text(part.content):
                self.pieces.append(piece)
                self.length += len(piece)
                if self.length > LONGEST:
                    self.pieces = [self.text[:LONGEST]]
                    raise Endless
                if self.on_text is not None:
                    self.on_text(piece)

    def tokens(self) -> Tokens | None:
        """Return the tokens; ``None`` where the endpoint gives none, or such as cannot be."""
        ids = (*self.given, *self.written)
        if not all(isinstance(each, int) and 0 <= each < 2**63 for each in ids):
            return None
        if not all(isinstance(each, int | float) and -1e9 < each < 1e9 for each in self.logprobs):
            return None
        if len({len(each) for each in (self.written, self.logprobs) if each}) != 1:
            return None
        return Tokens(tuple(self.given), tuple(self.written), tuple(map(float, self.logprobs)))


def _text(content: Any) -> str:
    if content is not None and not isinstance(content, str):
        raise TypeError("content that is no text")
    return sound(content or "")


def _usage(found: Any) -> Usage:
    return Usage(_count(found.prompt_tokens), _count(found.completion_tokens))


def _count(count: Any) -> int | None:
    said = 0 if count is None else count
    return int(said) if isinstance(said, int | float) and 0 <= said < MOST_TOKENS else None
