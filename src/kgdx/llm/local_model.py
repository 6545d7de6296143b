"""A language model that runs in this process, loaded by the package transformers: nothing is sent anywhere.

Weights are read from safetensors files alone (a pickle runs code), and no code that comes with a model is run.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from threading import Lock
from typing import Any

from kgdx.config import LlmAccess
from kgdx.errors import LlmError, LlmFault, MissingExtraError
from kgdx.llm.budget import Meter
from kgdx.llm.chat import (
    ChatModel,
    Completion,
    Message,
    OnText,
    Request,
    Tokens,
    Usage,
    estimated_tokens,
    seed_of,
    with_schema,
)

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


class Writing:
    """A text that a model writes: its tokens, and what is heard of it.

    A text ends before the first stop string; a token that holds the rest of it stays among the ids. What may be the
    beginning of a stop string, or of a character, is held back until that is clear.
    """

    def __init__(
        self, tokenizer: Any, request: Request, given: Sequence[int], room: int, seed: int, hear: OnText | None = None
    ) -> None:
        self.request, self.given, self.room, self.seed = request, given, room, seed
        self._tokenizer, self._hear, self._text = tokenizer, hear, ""
        self.ids: list[int] = []
        self.logprobs: list[float] = []
        self.finish = ""
        self.stop: str | None = None

    def add(self, new: int, ends: Collection[int] = ()) -> None:
        self.ids.append(new)
        if self._hear is not None or self.request.stop:
            self._read(ended=False)
        if new in ends or self.stop is not None:
            self.finish = "stop"
        elif len(self.ids) >= self.room:
            self.finish = "length"

    def end(self) -> str:
        self._read(ended=True)
        return self._text

    def completion(self, name: str) -> Completion:
        text, usage = self.end(), Usage(len(self.given), len(self.ids))
        logprobs = self.request.logprobs
        tokens = Tokens(tuple(self.given), tuple(self.ids), tuple(self.logprobs)) if logprobs else None
        return Completion(text, name, usage, finish_reason=self.finish or "length", stop=self.stop, tokens=tokens)

    def _read(self, *, ended: bool) -> None:
        text = decoded(self._tokenizer, self.ids)
        places = [(place, each) for each in self.request.stop if (place := text.find(each)) >= 0]
        if places:
            place, self.stop = min(places)
            text = text[:place]
        elif not ended:
            text = text[: len(text) - _open_end(text, self.request.stop)]
        if self._hear is not None and len(text) > len(self._text):
            self._hear(text[len(self._text) :])
        self._text = text


def write(model: Any, tokenizer: Any, texts: Sequence[Writing], ended: Callable[[], bool] = lambda: False) -> None:
    """Have a model write texts together, by transformers' ``generate``, until each is finished or all are ended.

    A text depends on its request and seed alone; where a request has a schema and llguidance is installed, its grammar
    holds the text to it. Log-probabilities are the model's own, before grammar, temperature and ``top_p``.
    """
    import torch
    from transformers import GenerationConfig

    ends, pad = ends_of(model, tokenizer), tokenizer.pad_token_id or 0
    width = max(len(each.given) for each in texts)
    padded = [[pad] * (width - len(each.given)) + list(each.given) for each in texts]
    mask = [[0] * (width - len(each.given)) + [1] * len(each.given) for each in texts]
    chances = [torch.Generator().manual_seed(each.seed) for each in texts]
    grammars = [_grammar(model, tokenizer, each.request.schema) for each in texts]

    def choose(_: Any, scores: Any) -> Any:
        if bool(scores.isnan().any()):
            raise RuntimeError("its scores are no numbers")
        chosen = torch.full_like(scores, -torch.inf)
        for row, (text, chance, grammar, own) in enumerate(zip(texts, chances, grammars, scores.cpu(), strict=True)):
            new = pad
            if not text.finish:
                new = chosen_token(own if grammar is None else _allowed(own, grammar), text.request, chance)
                if grammar is not None:
                    grammar.consume_token(new)
                if text.request.logprobs:
                    text.logprobs.append(float(torch.log_softmax(own, dim=-1)[new]))
                text.add(new, ends)
                if not text.finish and grammar is not None and grammar.is_stopped():
                    text.finish = "stop"
            chosen[row, new] = 0.0
        return chosen

    def stopped(ids: Any, _: Any, **__: Any) -> Any:
        over = ended()
        return torch.tensor([over or bool(text.finish) for text in texts], device=ids.device)

    config = GenerationConfig(  # type: ignore[no-untyped-call]
        max_new_tokens=max(each.room for each in texts), do_sample=False, pad_token_id=pad, repetition_penalty=1.0
    )
    with torch.inference_mode():
        model.generate(
            torch.tensor(padded, device=model.device),
            attention_mask=torch.tensor(mask, device=model.device),
            generation_config=config,
            logits_processor=[choose],
            stopping_criteria=[stopped],
        )


def _grammar(model: Any, tokenizer: Any, schema: Mapping[str, Any] | None) -> Any:
    """Return what holds a text to a schema; ``None`` without one, without llguidance, or where it knows no way."""
    if schema is None or util.find_spec("llguidance") is None:
        return None
    from llguidance import LLMatcher
    from llguidance.hf import from_tokenizer

    held = getattr(tokenizer, "_kgdx_grammar", None)
    try:
        if held is None:
            held = tokenizer._kgdx_grammar = from_tokenizer(tokenizer, model.config.vocab_size)
        grammar = LLMatcher(held, LLMatcher.grammar_from_json_schema(dict(schema)))
    except (ValueError, TypeError):
        return None
    return None if grammar.is_error() else grammar


def _allowed(scores: Any, grammar: Any) -> Any:
    import numpy as np
    import torch

    bits = np.unpackbits(np.frombuffer(grammar.compute_bitmask(), np.uint8), bitorder="little")[: len(scores)]
    held = scores.masked_fill(torch.from_numpy(bits[: len(scores)] == 0), -torch.inf)
    return held if bool(held.isfinite().any()) else scores


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
            raise self._error(f"reads {context:,} tokens, and this is {given:,}", "context", "ask for less at once")
        return min(wanted, context - given)

    def _error(self, what: str, kind: LlmFault, hint: str, partial: str = "") -> LlmError:
        return LlmError(f"the model {self.name} {what}", hint=hint, kind=kind, partial=partial)


class LocalModel(InProcessModel):
    """A model that the package transformers loads, when it is first asked."""

    def __init__(self, access: LlmAccess, meter: Meter | None = None) -> None:
        if util.find_spec("torch") is None or util.find_spec("transformers") is None:
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
            why = " ".join(str(error).split())[:300] or type(error).__name__
            raise self._error(f"cannot be loaded ({why})", "missing", hint) from error
        if getattr(tokenizer, "chat_template", None) is None:
            raise self._error("has no chat template", "rejected", "take one that was trained for conversations")
        return _Loaded(tokenizer, model, getattr(model.config, "max_position_embeddings", None))

    def _generate(
        self, loaded: _Loaded, request: Request, hear: OnText | None, cancelled: Callable[[], bool]
    ) -> Completion:
        given = prompt_ids(loaded.tokenizer, request)
        length = self._length(loaded.context, len(given), request.longest(self.access.max_output))
        seed = seed_of(self.access.seed, request.number) if request.seed is None else request.seed
        writing = Writing(loaded.tokenizer, request, given, length, seed, hear)
        until = time.monotonic() + self.access.timeout

        def ended() -> bool:
            if not writing.finish and not cancelled():
                self._in_time(until, writing.end)
            return cancelled()

        write(loaded.model, loaded.tokenizer, [writing], ended)
        return writing.completion(self.name)


def stamp(name: str) -> str:
    """Return what changes when the weights in a model's folder are written anew; empty where it is no folder."""
    files = sorted(Path(name).expanduser().glob("*.safetensors")) if os.sep in name else []
    return ",".join(f"{each.stat().st_size}-{each.stat().st_mtime_ns}" for each in files)


def chosen_token(scores: Any, request: Request, chance: Any) -> int:
    """Return the next token: the likeliest at temperature 0, otherwise a sample of the likeliest ``top_p``."""
    import torch

    if not request.temperature:
        return int(scores.argmax())
    shares = torch.softmax(scores / request.temperature, dim=-1)
    if request.top_p is None:
        return int(torch.multinomial(shares, 1, generator=chance))
    shares, places = shares.sort(descending=True, stable=True)
    shares[shares.cumsum(-1) - shares >= request.top_p] = 0
    return int(places[torch.multinomial(shares, 1, generator=chance)])


def decoded(tokenizer: Any, ids: Sequence[int]) -> str:
    """Return the text of tokens as it was written: without special tokens, and with no space put in or taken out."""
    text: str = tokenizer.decode(
        ids, skip_special_tokens=True, clean_up_tokenization_spaces=False, spaces_between_special_tokens=False
    )
    return text


def _open_end(text: str, stops: Sequence[str]) -> int:
    """Return how many characters at the end may belong to a stop string, or to a character that is not whole."""
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


CONTEXT = 4_096
"""Tokens that the model reads and writes where nobody sets more: what it takes of memory grows with them."""


class GgufModel(InProcessModel):
    """A model from a file; loaded when it is first asked."""

    def __init__(self, access: LlmAccess, meter: Meter | None = None) -> None:
        from importlib.util import find_spec

        if find_spec("llama_cpp") is None:
            raise MissingExtraError("a language model from a GGUF file", "gguf")
        super().__init__(access, meter)
        self._llama: Any = None

    def window(self) -> int:
        return self.access.context or CONTEXT

    def _completed(self, request: Request, hear: OnText | None, cancelled: Callable[[], bool]) -> Completion:
        if self._llama is None:
            self._llama = self._load()
        messages = list(request.messages)
        begun = messages.pop().content if request.continues else ""
        if request.schema is not None:
            messages = with_schema(messages, request.schema)
        turns = [{"role": each.role, "content": each.content} for each in messages]
        if begun:  # its chat format ends each turn, so a text is continued as a new one that follows it
            turns += [{"role": "assistant", "content": begun}, {"role": "user", "content": "Go on."}]
        given = estimated_tokens([Message("user", each["content"]) for each in turns])
        seed = seed_of(self.access.seed, request.number) if request.seed is None else request.seed
        pieces, finish = [], "length"
        until = time.monotonic() + self.access.timeout
        chosen: dict[str, Any] = {} if request.top_p is None else {"top_p": request.top_p}
        if request.schema is not None:
            chosen["response_format"] = {"type": "json_object", "schema": dict(request.schema)}
        for piece, ended in self._written(turns, given, request, seed, chosen):
            pieces.append(piece)
            finish = ended or finish
            if hear is not None and piece:
                hear(piece)
            if cancelled():
                break
            self._in_time(until, lambda: "".join(pieces))
        text = "".join(pieces)
        read = sum(self._ids(each["content"]) + 4 for each in turns)
        return Completion(text, self.name, Usage(read, self._ids(text)), finish_reason=finish)

    def _written(
        self, turns: list[dict[str, str]], given: int, request: Request, seed: int, chosen: Mapping[str, Any]
    ) -> Iterator[tuple[str, str | None]]:
        window = self.window()
        try:
            for chunk in self._llama.create_chat_completion(
                turns,
                stream=True,
                temperature=request.temperature,
                seed=seed % 2**31,
                stop=list(request.stop),
                max_tokens=self._length(window, min(given, window - 1), request.longest(self.access.max_output)),
                **chosen,
            ):
                choice = chunk["choices"][0]
                yield choice["delta"].get("content") or "", choice["finish_reason"]
        except ValueError as error:
            if "context window" in str(error):
                hint = "set KGDX_LLM_CONTEXT to more, or ask for less at once"
                raise self._error(f"reads and writes {window:,} tokens, and this is more", "context", hint) from None
            raise self._error(f"cannot be asked ({type(error).__name__})", "rejected", "try another file") from error

    def _ids(self, text: str) -> int:
        return len(self._llama.tokenize(text.encode("utf-8", "replace"), add_bos=False, special=False))

    def _load(self) -> Any:
        from llama_cpp import Llama

        path = Path(self.name).expanduser()
        if not path.is_file():
            raise self._error("is no file", "missing", "give the path of a GGUF file, as gguf:FILE")
        try:
            return Llama(
                str(path), n_ctx=self.window(), n_threads=os.cpu_count() or 1, seed=self.access.seed, verbose=False
            )
        except (ValueError, OSError, RuntimeError) as error:
            raise self._error("cannot be loaded", "missing", "give a whole GGUF file that llama.cpp reads") from error
