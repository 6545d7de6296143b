"""A language model behind an endpoint that speaks OpenAI's protocol, asked concurrently and within limits.

What may pass is tried again, as the endpoint asks for by ``Retry-After``; a time-out is not: what takes too long once
takes too long again. Neither texts nor keys get into logs or errors.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import re
import ssl
import weakref
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from kgdx.config import LlmAccess
from kgdx.errors import LlmError, LlmFault, MissingExtraError
from kgdx.lazy import lazy_pattern
from kgdx.llm.budget import Meter, over
from kgdx.llm.chat import (
    ChatModel,
    Completion,
    Message,
    OnText,
    Request,
    estimated_tokens,
    private_loop,
    with_schema,
)
from kgdx.llm.response import LONGEST, Endless, Response

if TYPE_CHECKING:
    import openai

WAIT_S = 5.0
"""Seconds that an endpoint is waited for to say something of itself."""

OLLAMA_CONTEXT = 4_096
"""Tokens that Ollama reads and writes where nobody sets more."""

_SIZES = ("max_model_len", "loaded_context_length", "context_length", "context_window", "max_context_length", "n_ctx")
"""Names under which servers give a context window, such as vLLM, LM Studio, OpenRouter, Groq, Mistral, llama.cpp."""


def models_of(access: LlmAccess) -> list[Mapping[str, Any]] | None:
    """Return what the endpoint lists as its models; ``None`` where it lists none."""
    found = _asked(access, f"{access.base_url}/models")
    listed = found.get("data") if isinstance(found, dict) else None
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else None


def context_of(access: LlmAccess) -> int | None:
    """Return the context window of the model, as its endpoint gives it; ``None`` where it does not."""
    listed = models_of(access)
    if listed is None:
        return None
    own = next((each for each in listed if each.get("id") == access.model), listed[0] if len(listed) == 1 else {})
    if (size := _size(own)) is not None:
        return size
    root = access.base_url.removesuffix("/v1")
    if own.get("owned_by") == "library":  # Ollama
        running = _asked(access, f"{root}/api/ps")
        loaded = running.get("models", ()) if isinstance(running, dict) else ()
        sizes = (_size(each) for each in loaded if isinstance(each, dict) and each.get("model") == access.model)
        return next(filter(None, sizes), OLLAMA_CONTEXT)
    if own.get("owned_by") == "llamacpp":
        said = _asked(access, f"{root}/props")
        settings = said.get("default_generation_settings") if isinstance(said, dict) else None
        return _size(settings) if isinstance(settings, dict) else None
    return None


def _size(found: Mapping[str, Any]) -> int | None:
    sizes = (found.get(name) for name in _SIZES)
    return next((each for each in sizes if isinstance(each, int) and each > 0), None)


def _asked(access: LlmAccess, url: str) -> Any:
    import httpx2

    headers = {**access.headers} | ({"Authorization": f"Bearer {access.api_key}"} if access.api_key else {})
    secure = url.startswith("https:")
    with suppress(httpx2.HTTPError, ValueError, RecursionError, OSError):
        with httpx2.Client(timeout=WAIT_S, follow_redirects=False, trust_env=secure) as client:
            answer = client.get(url, headers=headers)
        return answer.json() if answer.is_success and len(answer.content) < 4_000_000 else None
    return None


Mode = Literal["json_schema", "json_object_schema", "json_object", "plain"]
MODES: tuple[Mode, ...] = ("json_schema", "json_object_schema", "json_object", "plain")
"""Ways to ask for JSON, the strictest first; an endpoint that rejects one is asked in the next."""

OPTIONAL = ("stream_options", "return_token_ids")
"""Fields of a request that an endpoint may not know; it is asked without those that it rejects."""

ADJUSTABLE = ("temperature", "top_p", "seed", "max_tokens", *OPTIONAL)
"""Fields that an endpoint is asked without, or by another name, where its refusal names them."""

_FORMAT = lazy_pattern(
    r"response_?format|json[_ ]?schema|json_?object|guided|grammar|structured.?output", re.IGNORECASE
)
_CONTEXT = lazy_pattern(r"context[ _](?:length|window|size)|n_ctx|too many tokens|prompt is too long", re.IGNORECASE)
_CONTEXT_SIZE = lazy_pattern(r"(?:context (?:length|window|size)|n_ctx)\D{0,40}?(\d[\d,]{2,})", re.IGNORECASE)

READ_AT_LEAST = 0.6
"""Share of a prompt's estimated tokens that an endpoint has read, where it counts honestly and cuts nothing."""

PATIENCE_S = 120.0
"""An endpoint that asks for a longer wait than this is not waited for."""

FIRST_WAIT_S = 0.5
"""Seconds before the second try at most; each further wait is by chance up to twice as long."""

LEAST_OUTPUT = 64
"""Tokens that a model may write at least, however full its context window is thought to be."""

CONNECTIONS = 8
"""Connections of one client at most."""

_PATH = "/chat/completions"
"""Asked directly: the library's method of that name compares each message with every form that one may have."""

_UNSUITABLE = frozenset({400, 415, 422, 501})
_REASON = 200
_REFUSAL = 4_000
_COUNTED = 500
"""Tokens below which what an endpoint counts says nothing of a cut."""
_USUAL = 0.75
"""Share of what an endpoint has counted before for texts of the same size, below which it has cut."""
_FITS = "set KGDX_LLM_CONTEXT to its context window, so that what is asked fits, or give the model a larger one"
_QUOTED = 12
"""Characters in a row of the request in the endpoint's message that count as quoting it."""

_NOT_THE_PROTOCOL = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""What the client library raises, or what reading its answer does, when a body is not of the protocol."""


class _Unsuitable(LlmError):
    """The endpoint rejects the request as it stands: perhaps a field of it, or the format that was asked for."""

    named: frozenset[str] = frozenset()


class _Passing(LlmError):
    """A failure that may pass by itself; ``wait`` is how many seconds the endpoint asks for."""

    wait: float = 0.0


class _Pool:
    """What one event loop asks with: as many places as calls may be under way.

    Each client holds few connections, since finding a free one takes time in proportion to all of them.
    """

    def __init__(self, access: LlmAccess) -> None:
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
            http = client(access.base_url, access.timeout, places, trusted)
            made = openai.AsyncOpenAI(
                base_url=access.base_url,
                api_key=key,
                http_client=http,
                max_retries=0,  # it would try again after a time-out
                default_headers=dict(access.headers),
            )
            self._clients.append(made)
            for _ in range(places):
                self.free.put_nowait(made)

    async def aclose(self) -> None:
        for each in self._clients:
            await each.close()


class Endpoint(ChatModel):
    """A model over HTTP; any number of calls at a time, of which ``access.concurrency`` are under way."""

    def __init__(self, access: LlmAccess, meter: Meter | None = None) -> None:
        self.access = access
        self.meter = meter or Meter.of(access)
        try:
            import httpx2  # noqa: F401
            import openai  # noqa: F401
            import tenacity  # noqa: F401
        except ImportError:
            raise MissingExtraError("asking a language model", "llm") from None
        logger = logging.getLogger("openai")
        if logger.getEffectiveLevel() < logging.INFO:
            logger.setLevel(logging.INFO)  # at DEBUG it writes down whole requests
        self._pools: dict[asyncio.AbstractEventLoop, _Pool] = {}
        weakref.finalize(self, _drop, self._pools).atexit = False
        self._mode = 0
        self._unknown: set[str] = set()
        self._context = access.context
        self._looked = access.context is not None
        self._density = 0.0

    @property
    def name(self) -> str:
        return self.access.model

    @property
    def mode(self) -> Mode:
        return MODES[self._mode]

    def window(self) -> int | None:
        """Return how many tokens the model reads and writes in all, as set or as the endpoint says."""
        if not self._looked:
            self._looked, self._context = True, context_of(self.access) or self._context
        return self._context

    async def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        pool = self._pool()
        found = Response(request, on_text or (self.meter.heard if self.meter.progress else None))
        client = await pool.free.get()
        telling = asyncio.ensure_future(self.meter.tell(self.name, found)) if self.meter.progress else None
        try:
            self.meter.begin()
            async with asyncio.timeout(self.meter.left()) as limit:
                made = await self._suited(client, found)
            self._check_read(made, request)
        except TimeoutError:
            assert limit.expired()
            self.meter.add(failed=1)
            raise over(f"{self.meter.budget.seconds:g} seconds", "max_seconds", found.text) from None
        except LlmError:
            self.meter.add(failed=1)
            raise
        finally:
            pool.free.put_nowait(client)
            if telling is not None:
                telling.cancel()
        self.meter.answered(made)
        return made

    async def aclose(self) -> None:
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.aclose()

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self.aclose(), private_loop()).result()

    def _pool(self) -> _Pool:
        loop = asyncio.get_running_loop()
        for ended in [each for each in self._pools if each.is_closed()]:
            del self._pools[ended]
        if loop not in self._pools:
            self._pools[loop] = _Pool(self.access)
        return self._pools[loop]

    async def _suited(self, client: openai.AsyncOpenAI, found: Response) -> Completion:
        first: LlmError | None = None
        schema = found.request.schema
        for mode in MODES[self._mode :] if schema is not None else MODES[-1:]:
            try:
                made = await self._adjusted(client, found, mode)
            except _Unsuitable as error:
                first = first or error
                continue
            if schema is not None:
                self._mode = MODES.index(mode)
            return made
        assert first is not None
        raise LlmError(first.message, hint=first.hint, kind=first.kind) from None

    async def _adjusted(self, client: openai.AsyncOpenAI, found: Response, mode: Mode) -> Completion:
        left_out: set[str] = set()
        while True:
            body = self._body(found.request, mode, found.streamed, left_out)
            try:
                made = await self._patient(client, found, body)
            except _Unsuitable as error:
                about_fields = error.named - {"response_format"}
                rejected = about_fields or ({*OPTIONAL} if not error.named else set())
                rejected = {name for name in rejected if name in body}
                if not rejected:
                    raise
                left_out |= rejected
                continue
            self._unknown |= left_out
            return made

    async def _patient(self, client: openai.AsyncOpenAI, found: Response, body: dict[str, Any]) -> Completion:
        from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt
        from tenacity.wait import wait_random_exponential

        growing = wait_random_exponential(multiplier=FIRST_WAIT_S, max=8.0)

        def waits(state: RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome else None
            return (error.wait if isinstance(error, _Passing) else 0.0) or growing(state)

        retrying = AsyncRetrying(
            retry=retry_if_exception(lambda error: isinstance(error, _Passing) and error.wait <= PATIENCE_S),
            stop=stop_after_attempt(self.access.attempts),
            wait=waits,
            before_sleep=lambda _: self.meter.add(retries=1),
            reraise=True,
        )
        try:
            return await retrying(partial(self._once, client, found, body))
        except _Passing as error:
            if error.wait > PATIENCE_S and retrying.statistics["attempt_number"] < self.access.attempts:
                hint = "run it again then; what was answered is kept"
                raise self._error(f"asks to wait {error.wait:,.0f} s ({error.message})", "unreachable", hint) from None
            tries = retrying.statistics["attempt_number"]
            what = f"gives no answer in {tries} {'try' if tries == 1 else 'tries'} ({error.message})"
            hint = "check that it runs, then try again; what was answered is kept"
            raise self._error(what, "unreachable", hint) from None

    async def _once(self, client: openai.AsyncOpenAI, found: Response, body: dict[str, Any]) -> Completion:
        import httpx2
        import openai
        from openai.types.chat import ChatCompletion, ChatCompletionChunk

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
            raise self._status(error, found.request, body) from None
        except LlmError as error:  # the budget's
            error.partial = error.partial or found.text
            raise
        except Endless:
            hint = "set a limit of tokens, or try another model"
            what = f"does not end its answer ({LONGEST:,} characters)"
            raise self._error(what, "truncated", hint, found.text) from None
        except (openai.OpenAIError, httpx2.HTTPError, httpx2.StreamError, OSError, *_NOT_THE_PROTOCOL) as error:
            late = isinstance(error, openai.APITimeoutError | httpx2.TimeoutException)
            reason = "time-out" if late else _kind(error)
            if found.pieces and found.streamed:
                raise self._error(f"broke off its answer ({reason})", "cut", "ask again", found.text) from None
            if late and not isinstance(error.__cause__, httpx2.ConnectTimeout):
                hint = "raise KGDX_LLM_TIMEOUT, ask for less (KGDX_LLM_MAX_OUTPUT), or take a faster model"
                what = f"gives no answer in {self.access.timeout:g} s (time-out)"
                raise self._error(what, "unreachable", hint) from None
            raise _Passing(reason, kind="unreachable") from None

    def _body(self, request: Request, mode: Mode, streamed: bool, left_out: Set[str]) -> dict[str, Any]:
        messages = list(request.messages)
        body: dict[str, Any] = {"model": self.access.model, "temperature": request.temperature}
        settings = {name: getattr(request, name) for name in ("top_p", "seed")}
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
                if mode != "plain":
                    body["response_format"] = {"type": "json_object"}
                if mode == "json_object_schema":
                    body["response_format"]["schema"] = request.schema
        body["messages"] = [{"role": each.role, "content": each.content} for each in messages]
        body["max_tokens"] = self._length(messages, request.longest(self.access.max_output))
        for name in {*self._unknown, *left_out}:
            value = body.pop(name, None)
            if name == "max_tokens" and value is not None:
                body["max_completion_tokens"] = value
        return {**body, **self.access.extra_body}

    def _length(self, messages: Sequence[Message], wanted: int) -> int:
        if self._context is None:
            return wanted
        given = estimated_tokens(messages)
        if given * READ_AT_LEAST > self._context:
            raise self._error(
                f"reads and writes {self._context:,} tokens, and this is about {given:,}", "context", _FITS
            )
        return max(LEAST_OUTPUT, min(wanted, self._context - given))

    def _check_read(self, made: Completion, request: Request) -> None:
        given, read = estimated_tokens(request.messages), made.usage.prompt_tokens or 0
        if request.continues or read < _COUNTED:
            return
        share = read / max(1, given)
        expected = max(READ_AT_LEAST, _USUAL * self._density)
        if share < expected and given > _COUNTED:
            what = f"read {read:,} of about {given:,} tokens: its context window is smaller, and it cut the rest"
            hint = f"{_FITS}; Ollama's is 4,096 unless OLLAMA_CONTEXT_LENGTH or num_ctx says otherwise"
            raise self._error(what, "context", hint, made.text)
        self._density = max(self._density, share)

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

    def _status(self, error: openai.APIStatusError, request: Request, body: Mapping[str, Any]) -> LlmError:
        status, reason = error.status_code, self._said(error, request)
        told = f"{json.dumps(error.body, ensure_ascii=False)[:_REFUSAL]} {error.message[:_REFUSAL]}"
        if status in (401, 403) or error.code == "insufficient_quota":
            hint = "check KGDX_LLM_API_KEY and the account"
            return self._error(f"answers {status}: {reason}", "denied", hint)
        if error.code == "context_length_exceeded" or (status < 500 and status != 429 and _CONTEXT.search(told)):
            size = _CONTEXT_SIZE.search(told)
            if size is not None and self.access.context is None:
                self._context = int(size[1].replace(",", ""))
            return self._error(f"answers {status}: {reason}", "context", _FITS)
        named = {name for name in ADJUSTABLE if name in body and re.search(rf"\b{name}\b", told)}
        if "response_format" in body and _FORMAT.search(told):
            named.add("response_format")
        if status in _UNSUITABLE or (named and status != 429):
            hint = "check the model's name and what it can do"
            rejected = _Unsuitable(self._about(f"answers {status}: {reason}"), hint=hint, kind="rejected")
            rejected.named = frozenset(named)
            return rejected
        if status in (408, 409, 429) or status >= 500:
            passing = _Passing(f"{status} {reason}", kind="unreachable")
            passing.wait = _wait(error)
            return passing
        if 300 <= status < 400:
            hint = "set KGDX_LLM_BASE_URL to the address that answers itself; nothing was sent there"
            return self._error(f"answers {status}, to ask elsewhere", "rejected", hint)
        return self._error(f"answers {status}: {reason}", "rejected", "check KGDX_LLM_BASE_URL and the model's name")

    def _said(self, error: openai.APIStatusError, request: Request) -> str:
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
    for loop, pool in pools.items():
        if loop.is_running():
            asyncio.run_coroutine_threadsafe(pool.aclose(), loop)


def _wait(error: openai.APIStatusError) -> float:
    for name, unit in (("retry-after-ms", 1_000), ("retry-after", 1)):
        try:
            seconds = float(error.response.headers.get(name, "")) / unit
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return 0.0


def _kind(error: Exception) -> str:
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
