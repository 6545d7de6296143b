"""A model that is being trained, asked as any other: requests that wait at the same time are sampled together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kgdx.episode.tag_protocol import CLOSING
from kgdx.errors import LlmError, UsageError
from kgdx.llm.chat import ChatModel, Completion, OnText, Request
from kgdx.llm.local_model import MAX_NEW_TOKENS, Writing, prompt_ids, write


def check_tokenizer(tokenizer: Any) -> None:
    """Refuse a tokenizer with which the protocol cannot be learnt."""
    check_template(tokenizer)
    opening = {each.replace("/", "") for each in CLOSING}
    special = sorted({*CLOSING, *opening}.intersection(tokenizer.all_special_tokens))
    if special:
        hint = "add the tags as ordinary tokens: tokenizer.add_tokens([...])"
        raise UsageError(f"the tag {special[0]} is a special token of the tokenizer", hint=hint)


def check_template(tokenizer: Any) -> None:
    """Refuse a tokenizer of a model that was not trained for conversations."""
    if getattr(tokenizer, "chat_template", None) is None:
        raise UsageError("the tokenizer has no chat template", hint="take one that was trained for conversations")


class BatchModel(ChatModel):
    """Samples from a model in memory, such as a trainer's; all requests that wait are one batch.

    What a request gets depends on it and its seed alone, but for the last digits of the numbers.
    """

    def __init__(self, model: Any, tokenizer: Any, context: int | None = None) -> None:
        check_tokenizer(tokenizer)
        self._model, self._tokenizer = model, tokenizer
        self._context = context or getattr(model.config, "max_position_embeddings", None)
        self._waiting: list[tuple[Request, asyncio.Future[Completion]]] = []
        self.batches: list[int] = []
        """How many requests each batch had."""

    @property
    def name(self) -> str:
        return "trained"

    async def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._flush)  # behind all that is ready to ask, too
        future: asyncio.Future[Completion] = loop.create_future()
        self._waiting.append((request, future))
        return await future

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        self.batches.append(len(waiting))
        try:
            made = self.sampled([request for request, _ in waiting])
        except Exception as error:  # each that waits has to hear of it
            for _, future in waiting:
                future.set_exception(error)
            return
        for (_, future), each in zip(waiting, made, strict=True):
            if isinstance(each, LlmError):
                future.set_exception(each)
            else:
                future.set_result(each)

    def sampled(self, requests: Sequence[Request]) -> list[Completion | LlmError]:
        """Return a sample of each request; an error for one that is longer than the context."""
        given = [prompt_ids(self._tokenizer, each) for each in requests]
        texts = [
            Writing(self._tokenizer, replace(each, logprobs=True), ids, self._room(each, len(ids)), each.seed or 0)
            for each, ids in zip(requests, given, strict=True)
        ]
        training = self._model.training
        self._model.eval()
        try:
            if fits := [text for text in texts if text.room > 0]:
                write(self._model, self._tokenizer, fits)
        except RuntimeError as error:
            hint = "go on from an earlier checkpoint with a lower rate"
            raise UsageError(f"the model cannot be sampled from ({error})", hint=hint) from error
        finally:
            self._model.train(training)
        return [self._longer(text) if text.room <= 0 else text.completion(self.name) for text in texts]

    def _room(self, request: Request, given: int) -> int:
        wanted = request.max_tokens or MAX_NEW_TOKENS
        return wanted if self._context is None else min(wanted, self._context - given)

    def _longer(self, text: Writing) -> LlmError:
        hint = "shorten the results, or take a model with a longer context"
        what = f"reads {self._context:,} tokens, and this is {len(text.given):,}"
        return LlmError(f"the model {self.name} {what}", hint=hint, kind="rejected")
