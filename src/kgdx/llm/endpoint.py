"""A language model behind an endpoint that speaks OpenAI's protocol, asked concurrently and within limits.

The client library retries what may pass and honours ``Retry-After``. Neither texts nor keys get into logs or errors.
"""

from __future__ import annotations

import asyncio
import logging
import math
import ssl
import weakref
from typing import TYPE_CHECKING, Any, Literal

from kgdx.config import LlmAccess
from kgdx.errors import LlmError, LlmFault, MissingExtraError
from kgdx.llm.budget import Meter, over
from kgdx.llm.chat import ChatModel, Completion, OnText, Request, private_loop, with_schema
from kgdx.llm.response import LONGEST, Endless, Response

if TYPE_CHECKING:
    import openai

Mode = Literal["json_schema", "json_object", "plain"]
MODES: tuple[Mode, ...] = ("json_schema", "json_object", "plain")
"""Ways to ask for JSON, the strictest first; an endpoint that rejects one is asked in the next."""

OPTIONAL = ("stream_options", "return_token_ids")
"""Fields of a request that an endpoint may not know; it is asked without those that it rejects."""

PATIENCE_S = 120.0
"""The client library does not wait for an endpoint that asks for a longer wait than this."""

CONNECTIONS = 8
"""Connections of one client at most."""

_PATH = "/chat/completions"
"""Asked directly: the library's method of that name compares each message with every form that one may have."""

_UNSUITABLE = frozenset({400, 415, 422, 501})
_REASON = 200
_QUOTED = 12
"""Characters in a row of the request in the endpoint's message that count as quoting it."""

_NOT_THE_PROTOCOL = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""What the client library raises, or what reading its answer does, when a body is not of the protocol."""


class _Unsuitable(LlmError):
    """The endpoint rejects the request as it stands: perhaps the format that was asked for."""


class _Pool:
    """What one event loop asks with: as many places as calls may be under way.

    Each client holds few connections, since finding a free one takes time in proportion to all of them.

    Attributes:
        free: The clients, each as often as it has places left.
    """

    def __init__(self, access: LlmAccess, meter: Meter) -> None:
        import httpx2
        import openai

        from kgdx.llm.endpoint_guard import client

        self.free: asyncio.LifoQueue[openai.AsyncOpenAI] = asyncio.LifoQueue()
        self._clients: list[openai.AsyncOpenAI] = []
        secure = access.base_url.startswith("https:")
        trusted = httpx2.create_ssl_context() if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        key = access.api_key or "none"  # the library insists on one
        for taken in range(0, access.concurrency, CONNECTIONS):
            places = min(CONNECTIONS, access.concurrency - taken)
            http = client(access.base_url, access.timeout, places, trusted, lambda: meter.add(retries=1))
            made = openai.AsyncOpenAI(
                base_url=access.base_url, api_key=key, http_client=http, max_retries=access.attempts - 1
            )
            self._clients.append(made)
            for _ in range(places):
                self.free.put_nowait(made)

    async def aclose(self) -> None:
        """Close the connections."""
        for each in self._clients:
            await each.close()


class Endpoint(ChatModel):
    """A model over HTTP; any number of calls at a time, of which ``access.concurrency`` are under way.

    Args:
        access: Where and as whom to ask.
        meter: Counts calls, retries, tokens and money.

    Raises:
        MissingExtraError: The package ``openai`` is not installed.
    """

    def __init__(self, access: LlmAccess, meter: Meter | None = None) -> None:
        self.access = access
        self.meter = meter or Meter.of(access)
        try:
            import httpx2  # noqa: F401
            import openai  # noqa: F401
        except ImportError:
            raise MissingExtraError("asking a language model", "llm") from None
        logger = logging.getLogger("openai")
        if logger.getEffectiveLevel() < logging.INFO:
            logger.setLevel(logging.INFO)  # at DEBUG it writes down whole requests
        self._pools: dict[asyncio.AbstractEventLoop, _Pool] = {}
        weakref.finalize(self, _drop, self._pools).atexit = False
        self._mode = 0
        self._unknown: set[str] = set()

    @property
    def name(self) -> str:
        """The model's name at the endpoint."""
        return self.access.model

    @property
    def mode(self) -> Mode:
        """How this endpoint is asked for JSON: as strictly as it turned out to allow."""
        return MODES[self._mode]

    async def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        """Return one sample; see :meth:`kgdx.llm.chat.ChatModel.complete`."""
        pool = self._pool()
        found = Response(request, on_text)
        client = await pool.free.get()
        try:
            self.meter.begin()
            async with asyncio.timeout(self.meter.left()) as limit:
                made = await self._suited(client, found)
        except TimeoutError:
            assert limit.expired()
            self.meter.add(failed=1)
            raise over(f"{self.meter.budget.seconds:g} seconds", "max_seconds", found.text) from None
        except LlmError:
            self.meter.add(failed=1)
            raise
        finally:
            pool.free.put_nowait(client)
        self.meter.answered(made)
        return made

    async def aclose(self) -> None:
        """Close the connections; see :meth:`kgdx.llm.chat.ChatModel.aclose`."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.aclose()

    def close(self) -> None:
        """Close the connections of synchronous calls."""
        asyncio.run_coroutine_threadsafe(self.aclose(), private_loop()).result()

    def _pool(self) -> _Pool:
        """Return the clients of this event loop: connections cannot be shared between loops."""
        loop = asyncio.get_running_loop()
        for ended in [each for each in self._pools if each.is_closed()]:
            del self._pools[ended]
        if loop not in self._pools:
            self._pools[loop] = _Pool(self.access, self.meter)
        return self._pools[loop]

    async def _suited(self, client: openai.AsyncOpenAI, found: Response) -> Completion:
        """Ask in the strictest way that the endpoint takes, and remember which that is."""
        first: LlmError | None = None
        schema = found.request.schema
        for mode in MODES[self._mode :] if schema is not None else MODES[-1:]:
            try:
                made = await self._asked(client, found, self._body(found.request, mode, streamed=found.streamed))
            except _Unsuitable as error:
                first = first or error
                continue
            if schema is not None:
                self._mode = MODES.index(mode)
            return made
        assert first is not None
        raise LlmError(first.message, hint=first.hint, kind=first.kind) from None

    async def _asked(self, client: openai.AsyncOpenAI, found: Response, body: dict[str, Any]) -> Completion:
        """Ask with the fields that not every endpoint knows, and without them where it rejects that."""
        optional = {name for name in OPTIONAL if name in body}
        try:
            return await self._once(client, found, body)
        except _Unsuitable:
            if not optional:
                raise
        made = await self._once(client, found, {name: value for name, value in body.items() if name not in optional})
        self._unknown |= optional
        return made

    async def _once(self, client: openai.AsyncOpenAI, found: Response, body: dict[str, Any]) -> Completion:
        import httpx2
        import openai
        from openai.types.chat import ChatCompletion, ChatCompletionChunk

        from kgdx.llm.endpoint_guard import RETRY_COUNT

        try:
            if not found.streamed:
                found.read(await client.post(_PATH, cast_to=ChatCompletion, body=body), "message")
            else:
                pieces = openai.AsyncStream[ChatCompletionChunk]
                async with await client.post(
                    _PATH, cast_to=ChatCompletionChunk, body=body, stream=True, stream_cls=pieces
                ) as chunks:
                    async for chunk in chunks:
                        found.read(chunk, "delta")
                        self.meter.left()
            return self._judged(found)
        except openai.APIStatusError as error:
            raise self._status(error, found.request, int(error.request.headers.get(RETRY_COUNT, 0)) + 1) from None
        except LlmError as error:  # the budget's
            error.partial = error.partial or found.text
            raise
        except Endless:
            hint = "set a limit of tokens, or try another model"
            what = f"does not end its answer ({LONGEST:,} characters)"
            raise self._error(what, "truncated", hint, found.text) from None
        except (openai.OpenAIError, httpx2.HTTPError, httpx2.StreamError, OSError, *_NOT_THE_PROTOCOL) as error:
            reason = "time-out" if isinstance(error, openai.APITimeoutError | httpx2.TimeoutException) else _kind(error)
            if found.pieces and found.streamed:
                raise self._error(f"broke off its answer ({reason})", "cut", "ask again", found.text) from None
            tries = 1
            if isinstance(error, openai.APIConnectionError):
                tries += int(error.request.headers.get(RETRY_COUNT, 0))
            raise self._silent(tries, reason) from None

    def _body(self, request: Request, mode: Mode, *, streamed: bool) -> dict[str, Any]:
        messages = list(request.messages)
        body: dict[str, Any] = {"model": self.access.model, "temperature": request.temperature}
        settings = {name: getattr(request, name) for name in ("max_tokens", "top_p", "seed")}
        body |= {name: value for name, value in settings.items() if value is not None}
        if request.stop:
            body["stop"] = list(request.stop)
        if request.logprobs:
            body["logprobs"] = body["return_token_ids"] = True
        if request.continues:
            body |= {"continue_final_message": True, "add_generation_prompt": False}
        if streamed:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        if request.schema is not None:
            if mode == "json_schema":
                wanted = {"name": "answer", "strict": True, "schema": request.schema}
                body["response_format"] = {"type": "json_schema", "json_schema": wanted}
            else:
                messages = with_schema(messages, request.schema)
                if mode == "json_object":
                    body["response_format"] = {"type": "json_object"}
        body["messages"] = [{"role": each.role, "content": each.content} for each in messages]
        for name in self._unknown:
            body.pop(name, None)
        return body

    def _judged(self, found: Response) -> Completion:
        if found.streamed and not found.finish:
            raise ValueError("the stream ended early")
        if found.refused or found.finish == "content_filter":
            raise self._error("refuses to answer", "refused", "ask something else, or another model")
        return Completion(
            found.text,
            found.model or self.name,
            found.usage,
            finish_reason=found.finish or "stop",
            stop=found.stop,
            reasoning="".join(found.reasoning),
            tokens=found.tokens() if found.request.logprobs else None,
        )

    def _status(self, error: openai.APIStatusError, request: Request, tries: int) -> LlmError:
        status, reason = error.status_code, self._said(error, request)
        if status in (401, 403) or error.code == "insufficient_quota":
            hint = "check KGDX_LLM_API_KEY and the account"
            return self._error(f"answers {status}: {reason}", "denied", hint)
        if status in _UNSUITABLE:
            hint = "check the model's name and what it can do"
            return _Unsuitable(self._about(f"answers {status}: {reason}"), hint=hint, kind="rejected")
        if status in (408, 409, 429) or status >= 500:
            wait = error.response.headers.get("retry-after", "")
            if tries < self.access.attempts and _seconds(wait) > PATIENCE_S:
                hint = "run it again then; what was answered is kept"
                what = f"asks to wait {_seconds(wait):,.0f} s ({status} {reason})"
                return self._error(what, "unreachable", hint)
            return self._silent(tries, f"{status} {reason}")
        if 300 <= status < 400:
            hint = "set KGDX_LLM_BASE_URL to the address that answers itself; nothing was sent there"
            return self._error(f"answers {status}, to ask elsewhere", "rejected", hint)
        return self._error(f"answers {status}: {reason}", "rejected", "check KGDX_LLM_BASE_URL and the model's name")

    def _silent(self, tries: int, reason: str) -> LlmError:
        hint = "check that it runs, then try again; what was answered is kept"
        what = f"gives no answer in {tries} {'try' if tries == 1 else 'tries'} ({reason})"
        return self._error(what, "unreachable", hint)

    def _said(self, error: openai.APIStatusError, request: Request) -> str:
        """Return the endpoint's own words, unless they quote the request or the key."""
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


def _drop(pools: dict[asyncio.AbstractEventLoop, _Pool]) -> None:
    """Close what a model that is gone has left open."""
    for loop, pool in pools.items():
        if loop.is_running():
            asyncio.run_coroutine_threadsafe(pool.aclose(), loop)


def _seconds(text: str) -> float:
    """Return the seconds of a ``Retry-After`` header; 0 where it holds no number."""
    try:
        seconds = float(text)
    except ValueError:
        return 0.0
    return seconds if math.isfinite(seconds) else 0.0


def _kind(error: Exception) -> str:
    """Return what failed, in words that cannot hold any of the text."""
    words = {
        "RemoteProtocolError": "connection cut",
        "ReadError": "connection cut",
        "DecodingError": "an answer that is packed",
        "Malformed": "an answer that is not of the protocol",
        "APIConnectionError": "no connection",
    }
    for each in (error.__cause__, error):
        if each is not None and type(each).__name__ in words:
            return words[type(each).__name__]
    return "an answer that is not of the protocol" if isinstance(error, _NOT_THE_PROTOCOL) else "no connection"
