"""Requests to a language model, the prompts that they are made of, and completions; each model is a :class:`ChatModel`.

Prompts are files, ``prompts/<name>.md``, with a version that is raised whenever their words change.
"""

from __future__ import annotations

import hashlib
import json
import queue
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any, Literal

from kgdx.errors import LlmError
from kgdx.lazy import lazy_pattern

if TYPE_CHECKING:
    import asyncio

Role = Literal["system", "user", "assistant"]
ReasoningChoice = Literal["keep", "separate", "drop"]
OnText = Callable[[str], None]
"""Called with each piece of a text as it arrives."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation; its text is left out of the representation, since it may be a patient's."""

    role: Role
    content: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Request:
    """A conversation to be continued.

    Attributes:
        schema: JSON schema that the completion has to fit; ``None`` for free text.
        stop: Strings that end the completion; they are not part of its text.
        seed: Seed of the sampling; ``None`` for the model's own. A server may ignore it.
        n: Number of samples; each is what a request of its own with the seed ``seed_of(seed, i)`` gives.
        number: Which of several samples without a seed this is; tells them apart in a cache.
        continues: Whether to continue the text of the last message, the assistant's, instead of beginning a new one.
        prefix: Token ids of the prompt and of the first ``prefix_chars`` characters of the text to continue, in the
            model's own ids. A model in this process continues exactly these; an endpoint continues the text.
        prefix_chars: How many characters of the last message ``prefix`` covers.
        reasoning: What to do with the part between ``<think>`` and ``</think>``: ``keep`` it in the text, ``separate``
            it into :attr:`Completion.reasoning`, or ``drop`` it.
    """

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    max_tokens: int | None = None
    temperature: float = 0.0
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    n: int = 1
    number: int = 0
    logprobs: bool = False
    continues: bool = False
    prefix: tuple[int, ...] = field(default=(), repr=False)
    prefix_chars: int = 0
    reasoning: ReasoningChoice = "separate"

    def longest(self, most: int | None) -> int:
        """Return how many tokens the answer may have: as many as it asks for, and never more than are set."""
        return min(filter(None, (self.max_tokens, most)), default=2_048)

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ValueError(f"n is {self.n}: ask for one sample or more")
        if (self.continues or self.prefix) and not (self.messages and self.messages[-1].role == "assistant"):
            raise ValueError("only a message of the assistant can be continued: make it the last one")

    def key(self, *more: str) -> str:
        """Return the SHA-256 of the request (and of ``more``): equal requests have equal keys.

        Fields at their defaults are left out, so that a field that is added later changes no key.

        Example:
            >>> request = Request((Message("user", "hello"),))
            >>> request.key("m") == Request((Message("user", "hello"),)).key("m") != request.key("n")
            True
        """
        first = ("messages", "schema", "max_tokens", "temperature")
        changed = {each.name for each in fields(self) if getattr(self, each.name) != each.default}
        settings = {name: value for name, value in asdict(self).items() if name in first or name in changed}
        content = json.dumps([list(more), settings], ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()

    def samples(self) -> tuple[Request, ...]:
        """Return the requests for one sample each that this one stands for."""
        if self.n == 1:
            return (self,)
        if self.seed is None:
            return tuple(replace(self, n=1, number=number) for number in range(self.n))
        return tuple(replace(self, n=1, seed=seed_of(self.seed, number)) for number in range(self.n))


def seed_of(seed: int, number: int) -> int:
    """Return the seed of a sample: the seed itself for the first one, others derived from it."""
    if number == 0:
        return seed
    return int.from_bytes(hashlib.sha256(f"{seed}/{number}".encode()).digest()[:4], "big") >> 1


Prices = tuple[float, float]
"""Prices of a million prompt and completion tokens, in any currency."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Numbers of tokens; ``None`` where the model does not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    def cost(self, prices: Prices) -> float:
        """Return what the tokens cost; unknown numbers cost nothing."""
        return ((self.prompt_tokens or 0) * prices[0] + (self.completion_tokens or 0) * prices[1]) / 1_000_000


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one call in the model's own ids; left out of the representation, since they can be decoded.

    Attributes:
        given: Ids of the prompt, with the text that was continued; empty where the model does not give ids.
        written: Ids that were sampled, with those of a stop string and of the end; empty likewise.
        logprobs: Natural log-probability of each sampled token.
    """

    given: tuple[int, ...] = field(default=(), repr=False)
    written: tuple[int, ...] = field(default=(), repr=False)
    logprobs: tuple[float, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Completion:
    """One sample.

    Attributes:
        text: The text, without the stop string; of a request that continues a text, the new part alone.
        cached: Whether it was known already, and cost nothing now.
        finish_reason: ``stop`` (the end, or a stop string), ``length`` (the token limit), or the endpoint's own word.
        reasoning: What the model thought before, where that is separated.
    """

    text: str = field(repr=False)
    model: str
    usage: Usage = Usage()
    cached: bool = False
    finish_reason: str = "stop"
    stop: str | None = None
    reasoning: str = field(default="", repr=False)
    tokens: Tokens | None = None

    def whole(self) -> Completion:
        """Return it if it is complete."""
        if self.finish_reason == "length":
            hint = "ask for less at once, or raise the limit of tokens"
            message = f"the model {self.model} stopped at its token limit"
            raise LlmError(message, hint=hint, kind="truncated", partial=self.text)
        if not self.text.strip():
            what = "thought, and gave no answer" if self.reasoning else "gave an empty answer"
            hint = "try another model, or switch its thinking off"
            raise LlmError(f"the model {self.model} {what}", hint=hint, kind="malformed")
        return self


class ChatModel(ABC):
    """An endpoint, a recording, a model in this process, or a layer in front of one.

    A subclass gives :attr:`name` and :meth:`complete`. Any number of calls may run at the same time, from any threads.
    Whether a completion fits the schema is for the caller to judge; see :func:`kgdx.llm.structured.structured`.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The model's name, as it stands in whatever is made from its completions."""

    @abstractmethod
    async def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        """Return one sample, whatever ``request.n`` says; arguments and errors as of :meth:`sample`."""

    async def sample(self, request: Request, on_text: OnText | None = None) -> list[Completion]:
        """Return ``request.n`` samples, in the order of their numbers; they are sampled concurrently.

        Args:
            on_text: Called in the event loop with each piece of the first sample's text as it arrives.
        """
        import asyncio

        if request.n == 1:
            return [await self.complete(request, on_text)]
        heard = (on_text, *(None for _ in range(request.n - 1)))
        calls = (self.complete(each, hear) for each, hear in zip(request.samples(), heard, strict=True))
        made = await asyncio.gather(*calls, return_exceptions=True)
        for each in made:
            if isinstance(each, BaseException):
                raise each
        return [each for each in made if isinstance(each, Completion)]

    def ask(self, request: Request, on_text: OnText | None = None) -> Completion:
        """Return one whole completion: the synchronous form of :meth:`sample`, also within a running event loop.

        The work is done by an event loop in a thread of its own, which all models share.

        Args:
            on_text: Called in this thread with each piece of the text as it arrives; what it raises ends the call.
        """
        import asyncio

        loop = private_loop()
        pieces: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        call = self.complete(replace(request, n=1), None if on_text is None else pieces.put)
        future = asyncio.run_coroutine_threadsafe(call, loop)
        try:
            if on_text is not None:
                future.add_done_callback(lambda _: pieces.put(None))
                while (piece := pieces.get()) is not None:
                    on_text(piece)
            return future.result().whole()
        except BaseException:
            future.cancel()
            raise

    def window(self) -> int | None:
        """Return how many tokens the model reads and writes in all; ``None`` where it does not say."""
        return None

    async def aclose(self) -> None:
        """Close the connections that this event loop holds; the model can be asked again."""
        return None


_starting = threading.Lock()
_private: list[tuple[threading.Thread, asyncio.AbstractEventLoop]] = []


def private_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of the synchronous calls, which runs in a thread of its own; started at its first use."""
    import asyncio

    with _starting:
        if not _private or not _private[0][0].is_alive():  # after a fork the thread is gone
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=loop.run_forever, name="kgdx-llm", daemon=True)
            thread.start()
            _private[:] = [(thread, loop)]
        thread, loop = _private[0]
    if thread is threading.current_thread():
        raise RuntimeError("a synchronous call within the model's own event loop: await sample() instead")
    return loop


class Layer(ChatModel):
    """A model in front of another one, under the same name."""

    def __init__(self, model: ChatModel) -> None:
        self.model = model

    @property
    def name(self) -> str:
        return self.model.name

    def window(self) -> int | None:
        return self.model.window()

    async def aclose(self) -> None:
        await self.model.aclose()


def with_schema(messages: Sequence[Message], schema: Mapping[str, Any]) -> list[Message]:
    """Return the messages with the schema in words, for a model that may not be constrained to it.

    Example:
        >>> form = {"type": "object", "properties": {"order": {"type": "array", "items": {"enum": ["C1", "C2"]}}}}
        >>> with_schema([Message("user", "hello")], form)[0].content.splitlines()[-1]
        '{"order": [one of "C1", "C2"; …]}'
    """
    said = f"Answer with one JSON object and nothing else, of this form:\n{in_words(schema, schema.get('$defs', {}))}"
    if messages and messages[0].role == "system":
        return [Message("system", f"{messages[0].content}\n\n{said}"), *messages[1:]]
    return [Message("system", said), *messages]


def in_words(schema: Mapping[str, Any], defined: Mapping[str, Any]) -> str:
    """Return a JSON schema as short as it can be told: names of fields with what they hold, never a usable answer."""
    if "$ref" in schema:
        return in_words(defined.get(schema["$ref"].rpartition("/")[2], {}), {})
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        written = ", ".join(json.dumps(each, ensure_ascii=False) for each in values)
        return f"one of {written}" if len(values) > 1 else written
    if "anyOf" in schema:
        return " or ".join(in_words(each, defined) for each in schema["anyOf"])
    if schema.get("type") == "array":
        return f"[{in_words(schema.get('items', {}), defined)}; …]"
    if schema.get("type") == "object" or "properties" in schema:
        fields = {f'"{name}"': inner for name, inner in schema.get("properties", {}).items()}
        more = schema.get("additionalProperties")
        fields |= {"name": more} if isinstance(more, Mapping) else {}
        return "{" + ", ".join(f"{name}: {in_words(inner, defined)}" for name, inner in fields.items()) + "}"
    kind = str(schema.get("type", "anything"))
    return {"string": "text", "boolean": "true or false"}.get(kind, kind)


def estimated_tokens(messages: Sequence[Message]) -> int:
    """Return about how many tokens a conversation has; tokenizers differ by a third.

    Example:
        >>> estimated_tokens([Message("user", "The patient has ataxia and seizures (HP:0001250).")])
        17
    """
    text = "".join(each.content for each in messages)
    letters, digits = len(_LETTERS.findall(text)), len(_DIGITS.findall(text))
    wide = len(_WIDE.findall(text))
    marks = len(text) - letters - digits - wide - len(_SPACES.findall(text))
    return round(letters / 4.5 + digits * 0.6 + marks * 0.5 + wide * 0.9) + 4 * len(messages)


def sound(text: str) -> str:
    """Return text that can be written as UTF-8: half a character, as a broken JSON escape gives it, becomes a ``?``.

    Example:
        >>> sound("a" + chr(0xD83E))
        'a?'
    """
    return text.encode("utf-8", "replace").decode("utf-8")


_LETTERS, _DIGITS, _SPACES = lazy_pattern(r"[A-Za-z]"), lazy_pattern(r"[0-9]"), lazy_pattern(r"\s")
_WIDE = lazy_pattern(r"[\u2e80-\uffff]")
_FILE = lazy_pattern(
    r"---\nversion: (?P<version>\d+)\n---\n+## system\n+(?P<system>.+?)\n+## user\n+(?P<user>.+?)\s*", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt; ``$name`` in its text is filled in."""

    name: str
    version: int
    system: str
    user: str

    @property
    def id(self) -> str:
        """Name and version, as they stand in what is made of the answers."""
        return f"{self.name}@{self.version}"

    def messages(self, **values: str) -> tuple[Message, ...]:
        """Return the conversation with the values filled in; what looks like a name within a value stays."""
        system, user = (Template(part).substitute(values) for part in (self.system, self.user))
        return (Message("system", system), Message("user", user))


def names() -> tuple[str, ...]:
    """Return the names of all prompts."""
    folder = files("kgdx.llm").joinpath("prompts")
    return tuple(sorted(each.name.removesuffix(".md") for each in folder.iterdir() if each.name.endswith(".md")))


@cache
def prompt(name: str) -> Prompt:
    """Return a prompt."""
    if name not in names():
        raise LlmError(f"no prompt is called {name!r}", hint=f"one of {', '.join(names())}", kind="missing")
    text = files("kgdx.llm").joinpath("prompts", f"{name}.md").read_text("utf-8")
    found = _FILE.fullmatch(text)
    if found is None:
        hint = "it has a version, a part `## system` and a part `## user`"
        raise LlmError(f"the prompt {name} is not of the form", hint=hint, kind="missing")
    return Prompt(name, int(found["version"]), found["system"], found["user"])
