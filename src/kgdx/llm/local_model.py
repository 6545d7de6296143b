"""A language model that runs in this process, loaded by the package transformers: nothing is sent anywhere.

Weights are read from safetensors files alone (a pickle runs code), and no code that comes with a model is run.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from threading import Lock
from typing import Any

from kgdx.config import LlmAccess
from kgdx.errors import LlmError, LlmFault, MissingExtraError
from kgdx.llm.budget import Meter
from kgdx.llm.chat import ChatModel, Completion, Message, OnText, Request, Tokens, Usage, seed_of, with_schema

MAX_NEW_TOKENS = 2_048
"""Tokens of a completion at most where neither the request nor the settings say."""

_LOADING = Lock()
"""Held while a model is loaded: two threads cannot import transformers at the same time."""
_LONGEST_CONTEXT = 10**9
"""Tokenizers give a number beyond this for a model without a limit."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A model that is ready: ``context`` is how many tokens it can read and write in all, if it says."""

    tokenizer: Any
    model: Any
    context: int | None


class _Written:
    """Collects the tokens as they are sampled, and passes on the text that they have become.

    A text ends before the first stop string; a token that holds the rest of it stays among the ids. What may be the
    beginning of a stop string, or of a character, is held back until that is clear.
    """

    def __init__(self, tokenizer: Any, stops: Sequence[str], hear: OnText | None) -> None:
        self._tokenizer = tokenizer
        self._stops = stops
        self._hear = hear
        self._text = ""
        self.ids: list[int] = []
        self.stop: str | None = None

    def add(self, new: int) -> None:
        self.ids.append(new)
        if self._hear is not None or self._stops:
            self._read(ended=False)

    def end(self) -> str:
        self._read(ended=True)
        return self._text

    def _read(self, *, ended: bool) -> None:
        text = decoded(self._tokenizer, self.ids)
        places = [(place, each) for each in self._stops if (place := text.find(each)) >= 0]
        if places:
            place, self.stop = min(places)
            text = text[:place]
        elif not ended:
            text = text[: len(text) - _open_end(text, self._stops)]
        if self._hear is not None and len(text) > len(self._text):
            self._hear(text[len(self._text) :])
        self._text = text


class InProcessModel(ChatModel):
    """A model in this process: one sample at a time, in a thread of its own; nothing is sent anywhere.

    A subclass gives :meth:`_completed`.
    """

    def __init__(self, access: LlmAccess, meter: Meter | None = None) -> None:
        self.access = access
        self.meter = meter or Meter.of(access)
        self._thread = ThreadPoolExecutor(1, "kgdx-local")

    @property
    def name(self) -> str:
        return self.access.model

    def window(self) -> int | None:
        return self.access.context

    async def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        loop = asyncio.get_running_loop()
        ended = False

        def tell(piece: str) -> None:
            if on_text is not None:
                loop.call_soon_threadsafe(on_text, piece)

        hear = None if on_text is None else tell
        try:
            return await loop.run_in_executor(self._thread, self._counted, request, hear, lambda: ended)
        finally:
            ended = True  # of a caller that was cancelled

    def _counted(self, request: Request, hear: OnText | None, cancelled: Callable[[], bool]) -> Completion:
        try:
            self.meter.begin()
            made = self._completed(request, hear, cancelled)
        except LlmError:
            self.meter.add(failed=1)
            raise
        self.meter.answered(made)
        return made

    @abstractmethod
    def _completed(self, request: Request, hear: OnText | None, cancelled: Callable[[], bool]) -> Completion:
        """Return one sample; end early where the caller was cancelled."""

    def _in_time(self, until: float, written: Callable[[], str]) -> None:
        try:
            self.meter.left()
        except LlmError as error:
            error.partial = written()
            raise
        if time.monotonic() > until:
            hint = "raise KGDX_LLM_TIMEOUT, or ask for less at once"
            what = f"did not end its answer in {self.access.timeout:g} s"
            raise self._error(what, "cut", hint, written())

    def _length(self, context: int | None, given: int, wanted: int) -> int:
        if context is None or context > _LONGEST_CONTEXT:
            return wanted
        if given >= context:
            hint = "ask for less at once, or take a model with a longer context"
            raise self._error(f"reads {context:,} tokens, and this is {given:,}", "context", hint)
        return min(wanted, context - given)

    def _error(self, what: str, kind: LlmFault, hint: str, partial: str = "") -> LlmError:
        return LlmError(f"the model {self.name} {what}", hint=hint, kind=kind, partial=partial)


class LocalModel(InProcessModel):
    """A model that the package transformers loads, when it is first asked.

    A sample depends on the request and its seed alone. Log-probabilities are the model's own, before temperature and
    ``top_p``.

    Args:
        access: ``model`` is a folder, or a name that transformers knows; ``seed`` and ``device`` count too.
        meter: Counts calls and tokens.
    """

    def __init__(self, access: LlmAccess, meter: Meter | None = None) -> None:
        from importlib.util import find_spec

        if find_spec("torch") is None or find_spec("transformers") is None:
            raise MissingExtraError("a language model in this process", "local")
        super().__init__(access, meter)
        self._loaded: _Loaded | None = None

    def _completed(self, request: Request, hear: OnText | None, cancelled: Callable[[], bool]) -> Completion:
        if self._loaded is None:
            with _LOADING:
                self._loaded = self._load()
        return self._generate(self._loaded, request, hear, cancelled)

    def _load(self) -> _Loaded:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()  # type: ignore[no-untyped-call]
        name = str(Path(self.name).expanduser()) if os.sep in self.name else self.name
        safe = {"trust_remote_code": False}
        try:
            device = _device(self.access.device)
            tokenizer = AutoTokenizer.from_pretrained(name, **safe)
            model = AutoModelForCausalLM.from_pretrained(name, use_safetensors=True, dtype="auto", **safe)
            model = model.to(device).eval()
        except (OSError, ValueError, KeyError, RuntimeError, torch.OutOfMemoryError, ImportError) as error:
            hint = (
                "give a folder with a model in safetensors, or one that transformers knows, and a device that is there"
            )
            raise self._error(f"cannot be loaded ({_line(error)})", "missing", hint) from error
        if getattr(tokenizer, "chat_template", None) is None:
            hint = "take one that was trained for conversations"
            raise self._error("has no chat template", "rejected", hint)
        return _Loaded(tokenizer, model, getattr(model.config, "max_position_embeddings", None))

    def _generate(
        self, loaded: _Loaded, request: Request, hear: OnText | None, cancelled: Callable[[], bool]
    ) -> Completion:
        import torch

        given = prompt_ids(loaded.tokenizer, request)
        length = self._length(loaded.context, len(given), request.max_tokens or self.access.max_output)
        written = _Written(loaded.tokenizer, request.stop, hear)
        seed = seed_of(self.access.seed, request.number) if request.seed is None else request.seed
        chance = torch.Generator().manual_seed(seed)
        logprobs: list[float] = []
        ends, finish = ends_of(loaded.model, loaded.tokenizer), "length"
        until = time.monotonic() + self.access.timeout
        with torch.inference_mode():
            for scores in _next_scores(loaded.model, given, written.ids):
                new = chosen_token(scores, request, chance)
                if request.logprobs:
                    logprobs.append(float(torch.log_softmax(scores, dim=-1)[new]))
                written.add(new)
                if new in ends or written.stop is not None:
                    finish = "stop"
                if finish == "stop" or len(written.ids) >= length or cancelled():
                    break
                self._in_time(until, written.end)
        text = written.end()
        tokens = Tokens(tuple(given), tuple(written.ids), tuple(logprobs)) if request.logprobs else None
        usage = Usage(len(given), len(written.ids))
        return Completion(text, self.name, usage, finish_reason=finish, stop=written.stop, tokens=tokens)


def stamp(name: str) -> str:
    """Return what changes when the weights in a model's folder are written anew; empty where it is no folder.

    Example:
        >>> stamp("some/where/else")
        ''
    """
    files = sorted(Path(name).expanduser().glob("*.safetensors")) if os.sep in name else []
    return ",".join(f"{each.stat().st_size}-{each.stat().st_mtime_ns}" for each in files)


def _next_scores(model: Any, given: Sequence[int], written: Sequence[int]) -> Iterator[Any]:
    import torch

    last_only = {"logits_to_keep": 1} if "logits_to_keep" in signature(model.forward).parameters else {}
    ids, past = given, None
    while True:
        made = model(
            input_ids=torch.tensor([list(ids)], device=model.device), past_key_values=past, use_cache=True, **last_only
        )
        yield made.logits[0, -1].float().cpu()
        past = getattr(made, "past_key_values", None)
        ids = written[-1:] if past is not None else [*given, *written]


def chosen_token(scores: Any, request: Request, chance: Any) -> int:
    """Return the next token: the likeliest at temperature 0, otherwise a sample of the likeliest ``top_p``."""
    import torch

    if not request.temperature:
        return int(scores.argmax())
    shares, places = torch.softmax(scores / request.temperature, dim=-1).sort(descending=True, stable=True)
    if request.top_p is not None:
        shares[shares.cumsum(-1) - shares >= request.top_p] = 0
    return int(places[torch.multinomial(shares, 1, generator=chance)])


def decoded(tokenizer: Any, ids: Sequence[int]) -> str:
    """Return the text of tokens as it was written: without special tokens, and with no space put in or taken out."""
    text: str = tokenizer.decode(
        ids, skip_special_tokens=True, clean_up_tokenization_spaces=False, spaces_between_special_tokens=False
    )
    return text


def _open_end(text: str, stops: Sequence[str]) -> int:
    """Return how many characters at the end may belong to a stop string, or to a character that is not whole.

    Example:
        >>> _open_end("a </sea", ["</search>"]), _open_end("a", ["</search>"])
        (5, 0)
    """
    whole = text.rstrip("\ufffd")
    longest = max((len(each) for each in stops), default=0)
    lengths = range(min(len(whole), longest - 1), 0, -1)
    held = next((n for n in lengths if any(each.startswith(whole[-n:]) for each in stops)), 0)
    return len(text) - len(whole) + held


def prompt_ids(tokenizer: Any, request: Request) -> list[int]:
    """Return the tokens that the model reads: the conversation, and the text to be continued."""
    messages = list(request.messages)
    begun = messages.pop().content if request.continues else ""
    if request.prefix:
        return [*request.prefix, *_ids(tokenizer, _safe(tokenizer, "assistant", begun[request.prefix_chars :]))]
    if request.schema is not None:
        messages = with_schema(messages, request.schema)
    text: str = tokenizer.apply_chat_template(
        turns(tokenizer, messages), add_generation_prompt=True, tokenize=False, enable_thinking=False
    )
    return _ids(tokenizer, text + _safe(tokenizer, "assistant", begun))


def turns(tokenizer: Any, messages: Sequence[Message]) -> list[dict[str, str]]:
    """Return a conversation as the tokenizer's chat template takes it; no text in it can begin a turn of its own.

    A template that knows no system role gets that message with the first question.
    """
    try:
        return _turns(tokenizer, messages)
    except Exception as error:
        if not type(error).__module__.startswith("jinja2") or messages[0].role != "system" or len(messages) < 2:
            raise
        first = Message(messages[1].role, f"{messages[0].content}\n\n{messages[1].content}")
        return _turns(tokenizer, [first, *messages[2:]])


def _ids(tokenizer: Any, text: str) -> list[int]:
    found: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return found


def _turns(tokenizer: Any, messages: Sequence[Message]) -> list[dict[str, str]]:
    made = [{"role": each.role, "content": _safe(tokenizer, each.role, each.content)} for each in messages]
    if any(each.role == "system" for each in messages):
        tokenizer.apply_chat_template(made, add_generation_prompt=True, tokenize=False)
    return made


def _safe(tokenizer: Any, role: str, text: str) -> str:
    """Return a text in which no mark of the chat template can begin a turn of its own.

    Special tokens are broken up everywhere, ordinary added tokens that the template uses in what the model reads. All
    others, such as the tags of an agent, stay as they are.
    """
    template = str(tokenizer.chat_template)
    added = tokenizer.added_tokens_decoder.values()
    marks = {*tokenizer.all_special_tokens, *(each.content for each in added if each.special)}
    if role != "assistant":
        marks |= {each.content for each in added if each.content in template}
    longest_first = sorted((each for each in marks if len(each) > 1), key=len, reverse=True)
    if not longest_first:
        return text
    return re.sub("|".join(map(re.escape, longest_first)), lambda mark: f"{mark[0][0]} {mark[0][1:]}", text)


def _device(wanted: str) -> Any:
    import torch

    if wanted != "auto":
        return torch.device(wanted)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def ends_of(model: Any, tokenizer: Any) -> set[int]:
    """Return the tokens that end a text."""
    ends = model.generation_config.eos_token_id
    found = set(ends) if isinstance(ends, list) else {ends}
    return {each for each in (*found, tokenizer.eos_token_id) if each is not None}


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
