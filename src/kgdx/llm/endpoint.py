"""A language model behind an endpoint that speaks OpenAI's protocol, asked with patience and within limits.

The client library's own retries are switched off: they are made here, where they are counted, honour ``Retry-After``
in full, and cover a connection that is cut in the middle of an answer. Neither texts nor keys get into logs or errors.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from kgdx.config import LlmAccess
from kgdx.errors import LlmError, LlmFault, MissingExtraError
from kgdx.llm.accounting import Meter, over
from kgdx.llm.protocol import Answer, Request, Usage, sound, with_schema
from kgdx.llm.retry import PATIENCE_S, Backoff, retry_after

if TYPE_CHECKING:
    import openai

    from kgdx.llm.guard import Watch

Mode = Literal["json_schema", "json_object", "plain"]
MODES: tuple[Mode, ...] = ("json_schema", "json_object", "plain")
"""Ways to ask for JSON, the strictest first; an endpoint that rejects one is asked in the next."""

CONNECT_S = 10.0
DAY_S = 86_400.0
_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_UNSUITABLE = frozenset({400, 415, 422, 501})
_REASON = 200
_NOT_THE_PROTOCOL = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""What the client library raises, or what reading its answer does, when a body is not of the protocol."""

LONGEST = 1_000_000
"""Characters of a streamed answer at most; a model that goes on is cut off."""

MOST_TOKENS = 1_000_000_000
"""An endpoint that counts more tokens for one answer miscounts."""

_QUOTED = 12
"""Characters in a row of the request in the endpoint's message that count as quoting it."""


class _Unsuitable(LlmError):
    """The endpoint rejects the request as it stands: perhaps the format that was asked for."""


class _Again(Exception):
    """A try failed in a way that may pass."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.wait = wait


@dataclass(slots=True)
class _Collected:
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    refused: bool = False
    model: str = ""
    finish: str = ""
    usage: Usage = field(default_factory=Usage)

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def add(self, piece: str) -> None:
        self.pieces.append(piece)
        self.length += len(piece)


class Endpoint:
    """A :class:`~kgdx.llm.protocol.ChatModel` over HTTP; safe to call from several threads.

    Args:
        access: Where and as whom to ask.
        meter: Counts calls, retries, tokens and money.
        backoff: When to try again; by default ``access.attempts`` times.

    Raises:
        MissingExtraError: The package ``openai`` is not installed.
    """

    def __init__(self, access: LlmAccess, meter: Meter | None = None, backoff: Backoff | None = None) -> None:
        self.access = access
        self.meter = meter or Meter.of(access)
        self.backoff = backoff or Backoff(access.attempts)
        self._client, self._watch = _client(access, self.meter)
        self._turn = threading.BoundedSemaphore(access.concurrency)
        self._mode = 0
        self._counts_streams = True

    @property
    def name(self) -> str:
        """The model's name at the endpoint."""
        return self.access.model

    @property
    def mode(self) -> Mode:
        """How this endpoint is asked for JSON: as strictly as it turned out to allow."""
        return MODES[self._mode]

    def ask(self, request: Request, on_text: Callable[[str], None] | None = None) -> Answer:
        """Return the answer; see :meth:`kgdx.llm.protocol.ChatModel.ask`."""
        try:
            self.meter.begin()
            answer = self._suited(request, on_text)
        except LlmError:
            self.meter.failed()
            raise
        self.meter.answered(answer)
        return answer

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _suited(self, request: Request, on_text: Callable[[str], None] | None) -> Answer:
        """Ask in the strictest way that the endpoint takes, and remember which that is."""
        first: LlmError | None = None
        for number in range(self._mode, len(MODES)) if request.schema is not None else [len(MODES) - 1]:
            try:
                answer = self._patiently(request, MODES[number], on_text)
            except _Unsuitable as error:
                first = first or error
                continue
            if request.schema is not None:
                self._mode = number
            return answer
        assert first is not None
        raise LlmError(first.message, hint=first.hint, kind=first.kind) from None

    def _patiently(self, request: Request, mode: Mode, on_text: Callable[[str], None] | None) -> Answer:
        for attempt in range(self.backoff.attempts):
            left = self.meter.left()
            try:
                with self._turn:
                    return self._once(request, mode, on_text)
            except _Again as error:
                wait = self.backoff.wait(attempt, error.wait)
                if wait > PATIENCE_S:
                    hint = "run it again then; what was answered is kept"
                    long = f"{wait:,.0f} s" if wait < DAY_S else "more than a day"
                    raise self._error(f"asks to wait {long} ({error.reason})", "unreachable", hint) from None
                if attempt + 1 == self.backoff.attempts:
                    hint = "check that it runs, then try again; what was answered is kept"
                    tries = f"{attempt + 1} tries" if attempt else "1 try"
                    raise self._error(f"gives no answer in {tries} ({error.reason})", "unreachable", hint) from None
                if left is not None and wait >= left:
                    what = f"{self.meter.budget.seconds:g} seconds ({self._about(f'does not answer: {error.reason}')})"
                    raise over(what, "max_seconds") from None
                self.meter.retried()
                self.backoff.sleep(wait)
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _once(self, request: Request, mode: Mode, on_text: Callable[[str], None] | None) -> Answer:
        import httpx2
        import openai

        from kgdx.llm.guard import Endless

        found = _Collected()
        self._watch.begin()
        try:
            if on_text is None:
                self._whole(request, mode, found)
            else:
                self._pieces(request, mode, found, on_text)
        except openai.APIStatusError as error:
            raise self._status(error, request) from None
        except LlmError as error:  # the budget's
            error.partial = found.text
            raise
        except Endless:
            hint = "set a limit of tokens, or try another model"
            what = f"does not end its answer ({LONGEST:,} characters)"
            raise self._error(what, "truncated", hint, found.text[:LONGEST]) from None
        except (openai.OpenAIError, httpx2.HTTPError, httpx2.StreamError, OSError, *_NOT_THE_PROTOCOL) as error:
            reason = "time-out" if isinstance(error, openai.APITimeoutError | httpx2.TimeoutException) else _kind(error)
            if found.pieces and on_text is not None:
                hint = "ask again"
                raise self._error(f"broke off its answer ({reason})", "cut", hint, found.text) from None
            raise _Again(reason) from None
        return self._judged(found)

    def _whole(self, request: Request, mode: Mode, found: _Collected) -> None:
        made = self._client.chat.completions.create(**self._body(request, mode))
        if not made.choices:
            raise ValueError("an answer without a choice")
        choice = made.choices[0]
        found.refused = bool(choice.message.refusal)
        found.finish = choice.finish_reason or ""
        found.model = _text(made.model)
        found.usage = _usage(made.usage)
        self._add(found, _text(choice.message.content))

    def _pieces(self, request: Request, mode: Mode, found: _Collected, on_text: Callable[[str], None]) -> None:
        body = self._body(request, mode) | {"stream": True}
        if self._counts_streams:
            body["stream_options"] = {"include_usage": True}
        with closing(self._stream(body)) as chunks:
            for chunk in chunks:
                self._watch.begin()
                found.model = _text(chunk.model) or found.model
                if chunk.usage is not None:
                    found.usage = _usage(chunk.usage)
                for choice in chunk.choices[:1]:
                    found.refused = found.refused or bool(choice.delta.refusal)
                    found.finish = choice.finish_reason or found.finish
                    if piece := _text(choice.delta.content):
                        self._add(found, piece)
                        on_text(piece)
                        self.meter.left()
        if not found.finish:
            raise ValueError("the stream ended early")

    def _add(self, found: _Collected, piece: str) -> None:
        from kgdx.llm.guard import Endless

        found.add(piece)
        if found.length > LONGEST:
            raise Endless

    def _stream(self, body: dict[str, Any]) -> Generator[Any, None, None]:
        """The chunks of a streamed answer; an endpoint that cannot count its streams is asked without."""
        import openai

        try:
            stream = self._client.chat.completions.create(**body)
        except openai.BadRequestError:
            if "stream_options" not in body:
                raise
            stream = self._client.chat.completions.create(**{k: v for k, v in body.items() if k != "stream_options"})
            self._counts_streams = False
        with closing(stream):
            yield from stream

    def _body(self, request: Request, mode: Mode) -> dict[str, Any]:
        messages = list(request.messages)
        body: dict[str, Any] = {"model": self.access.model, "temperature": request.temperature}
        if (left := self.meter.left()) is not None:
            body["timeout"] = min(left, self.access.timeout)
        if request.max_tokens is not None:
            body["max_tokens"] = request.max_tokens
        if request.schema is not None:
            if mode == "json_schema":
                wanted = {"name": "answer", "strict": True, "schema": request.schema}
                body["response_format"] = {"type": "json_schema", "json_schema": wanted}
            else:
                messages = with_schema(messages, request.schema)
                if mode == "json_object":
                    body["response_format"] = {"type": "json_object"}
        body["messages"] = [{"role": each.role, "content": each.content} for each in messages]
        return body

    def _judged(self, found: _Collected) -> Answer:
        text = found.text
        if found.refused or found.finish == "content_filter":
            raise self._error("refuses to answer", "refused", "ask something else, or another model")
        if found.finish == "length":
            hint = "ask for less at once, or raise the model's output limit"
            raise self._error("stopped at its token limit", "truncated", hint, text)
        if not text.strip():
            raise self._error("gave an empty answer", "malformed", "try another model")
        return Answer(text, found.model or self.name, found.usage)

    def _status(self, error: openai.APIStatusError, request: Request) -> Exception:
        status, reason = error.status_code, self._said(error, request)
        if status in (401, 403) or error.code == "insufficient_quota":
            hint = "check KGDX_LLM_API_KEY and the account"
            return self._error(f"answers {status}: {reason}", "denied", hint)
        if status in _RETRIED or status >= 520:
            return _Again(f"{status} {reason}", retry_after(error.response.headers))
        if status in _UNSUITABLE:
            hint = "check the model's name and what it can do"
            return _Unsuitable(self._about(f"answers {status}: {reason}"), hint=hint, kind="rejected")
        if 300 <= status < 400:
            hint = "set KGDX_LLM_BASE_URL to the address that answers itself; nothing was sent there"
            return self._error(f"answers {status}, to ask elsewhere", "rejected", hint)
        return self._error(f"answers {status}: {reason}", "rejected", "check KGDX_LLM_BASE_URL and the model's name")

    def _said(self, error: openai.APIStatusError, request: Request) -> str:
        """The endpoint's own words, unless they quote the request or the key."""
        body = error.body.get("message") if isinstance(error.body, dict) else None
        said = " ".join(str(body or "").split())[:_REASON]
        content = " ".join(" ".join(each.content for each in request.messages).split())
        quotes = any(said[at : at + _QUOTED] in content for at in range(max(0, len(said) - _QUOTED + 1)))
        if (self.access.api_key and self.access.api_key in said) or quotes:
            said = ""
        return said or str(error.code or error.response.reason_phrase or "no reason given")

    def _error(self, what: str, kind: LlmFault, hint: str, partial: str = "") -> LlmError:
        return LlmError(self._about(what), hint=hint, kind=kind, partial=partial)

    def _about(self, what: str) -> str:
        return f"the model {self.access.model} at {self.access.base_url} {what}"


def _client(access: LlmAccess, meter: Meter) -> tuple[openai.OpenAI, Watch]:
    try:
        import httpx2
        import openai
    except ImportError:
        raise MissingExtraError("asking a language model", "llm") from None
    from kgdx.llm.guard import Watch, client

    logger = logging.getLogger("openai")
    if logger.getEffectiveLevel() < logging.INFO:
        logger.setLevel(logging.INFO)  # at DEBUG it writes down whole requests
    watch = Watch(access.timeout, meter.left)
    http = client(access.base_url, httpx2.Timeout(access.timeout, connect=min(CONNECT_S, access.timeout)), watch)
    key = access.api_key or "none"  # the library insists on one
    return openai.OpenAI(base_url=access.base_url, api_key=key, http_client=http, max_retries=0), watch


def _text(content: Any) -> str:
    if content is not None and not isinstance(content, str):
        raise TypeError("content that is no text")
    return sound(content or "")


def _usage(found: Any) -> Usage:
    return Usage() if found is None else Usage(_tokens(found.prompt_tokens), _tokens(found.completion_tokens))


def _tokens(count: Any) -> int | None:
    """A number of tokens; ``None`` where what is said is no such number."""
    said = 0 if count is None else count
    return int(said) if isinstance(said, int | float) and 0 <= said < MOST_TOKENS else None


def _kind(error: Exception) -> str:
    """What failed, in words that cannot hold any of the text."""
    words = {
        "APIConnectionError": "no connection",
        "RemoteProtocolError": "connection cut",
        "ReadError": "connection cut",
        "DecodingError": "an answer that is packed",
    }
    cause = error.__cause__
    for each in (cause, error):
        if each is not None and type(each).__name__ in words:
            return words[type(each).__name__]
    return "an answer that is not of the protocol" if isinstance(error, _NOT_THE_PROTOCOL) else "no connection"
