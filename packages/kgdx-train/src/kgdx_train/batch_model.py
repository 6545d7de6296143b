"""A model that is being trained, asked as any other: requests that wait at the same time are sampled together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from kgdx.episode.tag_protocol import CLOSING
from kgdx.errors import LlmError, UsageError
from kgdx.llm.chat import ChatModel, Completion, OnText, Request, Tokens, Usage
from kgdx.llm.local_model import MAX_NEW_TOKENS, chosen_token, decoded, ends_of, prompt_ids

TAIL = 24
"""Last tokens in which a stop string is looked for; a tag has fewer."""


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
        rows = [_Row(each, ids, self._room(each, len(ids))) for each, ids in zip(requests, given, strict=True)]
        fits = [row for row in rows if row.room > 0]
        if fits:
            self._write(fits)
        return [self._completed(row) for row in rows]

    def _room(self, request: Request, given: int) -> int:
        wanted = request.max_tokens or MAX_NEW_TOKENS
        return wanted if self._context is None else min(wanted, self._context - given)

    def _write(self, rows: Sequence[_Row]) -> None:
        import torch

        ends = ends_of(self._model, self._tokenizer)
        pad = self._tokenizer.pad_token_id or 0
        width = max(len(row.given) for row in rows)
        device = self._model.device
        ids = torch.tensor([[pad] * (width - len(row.given)) + list(row.given) for row in rows], device=device)
        mask = torch.tensor([[0] * (width - len(row.given)) + [1] * len(row.given) for row in rows], device=device)
        past, training = None, self._model.training
        self._model.eval()
        try:
            with torch.no_grad():
                while not all(row.finish for row in rows):
                    places = (mask.cumsum(-1) - 1).clamp(min=0)[:, -ids.shape[1] :]
                    made = self._model(
                        input_ids=ids, attention_mask=mask, position_ids=places, past_key_values=past, use_cache=True
                    )
                    past = made.past_key_values
                    scores = made.logits[:, -1].float().cpu()
                    if bool(scores.isnan().any()):
                        hint = "go on from an earlier checkpoint with a lower rate"
                        raise UsageError("the model's scores are no numbers", hint=hint)
                    new = [pad if row.finish else row.add(each, ends) for row, each in zip(rows, scores, strict=True)]
                    self._stop(rows)
                    ids = torch.tensor(new, device=device)[:, None]
                    mask = torch.cat([mask, torch.ones_like(ids)], dim=1)
        finally:
            self._model.train(training)

    def _stop(self, rows: Sequence[_Row]) -> None:
        for row in rows:
            if not row.finish and row.request.stop:
                tail = decoded(self._tokenizer, row.written[-TAIL:])
                if any(stop in tail for stop in row.request.stop):
                    row.finish = "stop"

    def _completed(self, row: _Row) -> Completion | LlmError:
        if row.room <= 0:
            hint = "shorten the results, or take a model with a longer context"
            what = f"reads {self._context:,} tokens, and this is {len(row.given):,}"
            return LlmError(f"the model {self.name} {what}", hint=hint, kind="rejected")
        text = decoded(self._tokenizer, row.written)
        places = [(place, stop) for stop in row.request.stop if (place := text.find(stop)) >= 0]
        place, stop = min(places, default=(len(text), ""))
        tokens = Tokens(tuple(row.given), tuple(row.written), tuple(row.logprobs))
        usage = Usage(len(row.given), len(row.written))
        return Completion(text[:place], self.name, usage, finish_reason=row.finish, stop=stop or None, tokens=tokens)


class _Row:
    """One text that grows."""

    def __init__(self, request: Request, given: Sequence[int], room: int) -> None:
        import torch

        self.request, self.given, self.room = request, given, room
        self.written: list[int] = []
        self.logprobs: list[float] = []
        self.finish = ""
        self._chance = torch.Generator().manual_seed(request.seed or 0)

    def add(self, scores: Any, ends: set[int]) -> int:
        import torch

        new = chosen_token(scores, self.request, self._chance)
        self.written.append(new)
        self.logprobs.append(float(torch.log_softmax(scores, dim=-1)[new]))
        if new in ends:
            self.finish = "stop"
        elif len(self.written) >= self.room:
            self.finish = "length"
        return new
