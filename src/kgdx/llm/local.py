"""A language model that runs in this process, loaded by the package transformers: nothing is sent anywhere.

Weights are read from safetensors files alone (a pickle runs code), and no code that comes with a model is run.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgdx.config import LlmAccess
from kgdx.errors import LlmError, LlmFault, MissingExtraError
from kgdx.llm.accounting import Meter
from kgdx.llm.protocol import Answer, Message, Request, Usage, with_schema

MAX_NEW_TOKENS = 2_048
"""Length of an answer at most where the question does not say."""

_LONGEST_CONTEXT = 10**9
"""Tokenizers give a number beyond this for a model without a limit."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A model that is ready: ``context`` is how many tokens it can read and write in all, if it says."""

    tokenizer: Any
    model: Any
    context: int | None


class LocalModel:
    """A :class:`~kgdx.llm.protocol.ChatModel` in this process; loaded when it is first asked, one answer at a time.

    Args:
        access: ``model`` is a folder, or a name that transformers knows; ``seed`` and ``device`` count too.
        meter: Counts calls and tokens.

    Raises:
        MissingExtraError: torch or transformers is not installed.
    """

    def __init__(self, access: LlmAccess, meter: Meter | None = None) -> None:
        from importlib.util import find_spec

        if find_spec("torch") is None or find_spec("transformers") is None:
            raise MissingExtraError("a language model in this process", "local")
        self.access = access
        self.meter = meter or Meter.of(access)
        self._turn = threading.Lock()
        self._loaded: _Loaded | None = None

    @property
    def name(self) -> str:
        """The model's folder or name."""
        return self.access.model

    def ask(self, request: Request, on_text: Callable[[str], None] | None = None) -> Answer:
        """Return the answer; see :meth:`kgdx.llm.protocol.ChatModel.ask`."""
        try:
            self.meter.begin()
            with self._turn:
                if self._loaded is None:
                    self._loaded = self._load()
                answer = self._generate(self._loaded, request, on_text)
        except LlmError:
            self.meter.failed()
            raise
        self.meter.answered(answer)
        return answer

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

    def _generate(self, loaded: _Loaded, request: Request, on_text: Callable[[str], None] | None) -> Answer:
        import torch
        from transformers import StoppingCriteriaList

        messages = list(request.messages)
        if request.schema is not None:
            messages = with_schema(messages, request.schema)
        given = _read(loaded, messages)
        read = int(given["input_ids"].shape[1])
        length = self._length(loaded, read, request.max_tokens or MAX_NEW_TOKENS)
        watch = _Watch(self.meter, self.access.timeout)
        pieces = _Pieces(loaded.tokenizer, on_text)
        sampled = {"do_sample": True, "temperature": request.temperature} if request.temperature else {}
        with torch.inference_mode(), torch.random.fork_rng(_cuda(loaded.model.device)):
            torch.manual_seed(self.access.seed)
            made = loaded.model.generate(
                **given,
                max_new_tokens=length,
                streamer=pieces,
                stopping_criteria=StoppingCriteriaList([watch]),
                pad_token_id=_pad(loaded),
                **({"do_sample": False, "temperature": None, "top_p": None, "top_k": None} | sampled),
            )
        new = made[0, read:].tolist()
        text = pieces.text
        self.meter.left(text)
        if watch.late:
            hint = "raise KGDX_LLM_TIMEOUT, or ask for less at once"
            raise self._error(f"did not end its answer in {self.access.timeout:g} s", "cut", hint, text)
        if len(new) >= length and new[-1] not in _ends(loaded):
            hint = "ask for less at once, or raise the limit of tokens"
            raise self._error("stopped at its token limit", "truncated", hint, text)
        if not text.strip():
            raise self._error("gave an empty answer", "malformed", "try another model")
        return Answer(text, self.name, Usage(read, len(new)))

    def _length(self, loaded: _Loaded, read: int, wanted: int) -> int:
        """How many tokens it may write."""
        if loaded.context is None or loaded.context > _LONGEST_CONTEXT:
            return wanted
        if read >= loaded.context:
            hint = "ask for less at once, or take a model with a longer context"
            raise self._error(f"reads {loaded.context:,} tokens, and this is {read:,}", "rejected", hint)
        return min(wanted, loaded.context - read)

    def _error(self, what: str, kind: LlmFault, hint: str, partial: str = "") -> LlmError:
        return LlmError(f"the model {self.name} {what}", hint=hint, kind=kind, partial=partial)


class _Pieces:
    """Takes the tokens as they are made and gives on the text that they have become: whole characters only."""

    def __init__(self, tokenizer: Any, on_text: Callable[[str], None] | None) -> None:
        self._tokenizer = tokenizer
        self._on_text = on_text
        self._tokens: list[int] = []
        self._prompt = True
        self.text = ""

    def put(self, value: Any) -> None:
        """Take tokens; the first ones are the question's."""
        if self._prompt:
            self._prompt = False
            return
        self._tokens += value.reshape(-1).tolist()
        if self._on_text is not None:
            self._say(self._tokenizer.decode(self._tokens, skip_special_tokens=True), ended=False)

    def end(self) -> None:
        """Give on what is left."""
        self._say(self._tokenizer.decode(self._tokens, skip_special_tokens=True), ended=True)

    def _say(self, text: str, *, ended: bool) -> None:
        """A character of several tokens shows as the replacement character until the last of them is there."""
        if not ended and text.endswith("\ufffd"):
            return
        piece, self.text = text[len(self.text) :], text
        if piece and self._on_text is not None:
            self._on_text(piece)


class _Watch:
    """Ends an answer that takes too long: beyond the time-out, or the budget."""

    def __init__(self, meter: Meter, seconds: float) -> None:
        self._meter = meter
        self._until = time.monotonic() + seconds
        self.late = False

    def __call__(self, input_ids: Any, scores: Any, **more: Any) -> Any:
        """Tell for each of the answers whether it ends here."""
        import torch

        self.late = time.monotonic() > self._until
        ended = self.late
        try:
            self._meter.left()
        except LlmError:
            ended = True
        return torch.full((input_ids.shape[0],), ended, dtype=torch.bool, device=input_ids.device)


def _read(loaded: _Loaded, messages: Sequence[Message]) -> Any:
    """The conversation as tokens; a template that knows no system role gets that message with the first question."""
    try:
        given = _applied(loaded, messages)
    except Exception as error:
        if not type(error).__module__.startswith("jinja2") or messages[0].role != "system" or len(messages) < 2:
            raise
        first = Message(messages[1].role, f"{messages[0].content}\n\n{messages[1].content}")
        given = _applied(loaded, [first, *messages[2:]])
    return given.to(loaded.model.device)


def _applied(loaded: _Loaded, messages: Sequence[Message]) -> Any:
    marks = _marks(loaded.tokenizer)
    turns = [{"role": each.role, "content": marks.sub(_broken, each.content)} for each in messages]
    return loaded.tokenizer.apply_chat_template(
        turns, add_generation_prompt=True, return_dict=True, return_tensors="pt", enable_thinking=False
    )


def _marks(tokenizer: Any) -> re.Pattern[str]:
    """The marks with which a template sets turns apart; a text that holds one must not begin a turn of its own."""
    added = (str(each) for each in tokenizer.added_tokens_decoder.values())
    marks = sorted({*tokenizer.all_special_tokens, *added}, key=len, reverse=True)
    return re.compile("|".join(re.escape(each) for each in marks if len(each) > 1) or r"(?!)")


def _broken(mark: re.Match[str]) -> str:
    return f"{mark[0][0]} {mark[0][1:]}"


def _device(wanted: str) -> Any:
    """The device that is asked for; by default an accelerator where there is one."""
    import torch

    if wanted != "auto":
        return torch.device(wanted)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def _cuda(device: Any) -> list[int]:
    """The CUDA devices whose random state is put back afterwards."""
    return [device.index or 0] if device.type == "cuda" else []


def _ends(loaded: _Loaded) -> set[int]:
    """Tokens that end an answer."""
    ends = loaded.model.generation_config.eos_token_id
    found = set(ends) if isinstance(ends, list) else {ends}
    return {each for each in (*found, loaded.tokenizer.eos_token_id) if each is not None}


def _pad(loaded: _Loaded) -> int | None:
    pad = loaded.tokenizer.pad_token_id
    return pad if pad is not None else min(_ends(loaded), default=None)


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
