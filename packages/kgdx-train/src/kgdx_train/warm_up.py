"""Cross-entropy on transcripts: a language model learns the protocol before it is rewarded for anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kgdx.errors import UsageError
from kgdx.llm.chat import Message, Request
from kgdx.llm.local_model import prompt_ids
from kgdx_train.language_settings import WarmUp
from kgdx_train.rollouts import Row


def sample_of(tokenizer: Any, row: Row) -> tuple[list[int], list[bool]]:
    """Return the tokens of a transcript, and which the model wrote; cut as in a rollout, span by span."""
    messages = tuple(Message(each["role"], each["content"]) for each in row["prompt"])
    ids = prompt_ids(tokenizer, Request(messages))
    own = [False] * len(ids)
    for each in row["completion"]:
        going_on = Request((Message("assistant", each["text"]),), continues=True, prefix=tuple(ids))
        ids = prompt_ids(tokenizer, going_on)
        own += [bool(each["own"])] * (len(ids) - len(own))
    return ids, own


def warm_up(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Row],
    settings: WarmUp,
    *,
    seed: int,
    context: int | None,
    tell: Callable[[int, float], object],
) -> None:
    """Train a model on transcripts, on what the model is to write alone."""
    import torch

    samples = [sample_of(tokenizer, row) for row in rows]
    longest = max(len(ids) for ids, _ in samples)
    if context is not None and longest > context:
        what = f"a transcript has {longest:,} tokens, the context {context:,}"
        raise UsageError(what, hint="make transcripts with shorter results, or raise `context`")
    chance = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=settings.rate)
    model.train()
    step = 0
    for _ in range(settings.epochs):
        order = torch.randperm(len(samples), generator=chance).tolist()
        for at in range(0, len(order), settings.batch):
            batch = [samples[place] for place in order[at : at + settings.batch]]
            loss = model(**_padded(batch, tokenizer.pad_token_id or 0, model.device)).loss
            if not bool(torch.isfinite(loss)):
                raise UsageError(f"the loss of the warm-up is {loss.item()}", hint="lower its rate")
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            step += 1
            tell(step, float(loss.detach()))
    model.eval()


def _padded(batch: Sequence[tuple[list[int], list[bool]]], pad: int, device: Any) -> dict[str, Any]:
    """Return a batch as tensors, padded on the right; only what the model wrote has a label."""
    import torch

    width = max(len(ids) for ids, _ in batch)
    ids = torch.full((len(batch), width), pad)
    mask = torch.zeros((len(batch), width), dtype=torch.long)
    labels = torch.full((len(batch), width), -100)
    for row, (given, own) in enumerate(batch):
        ids[row, : len(given)] = torch.tensor(given)
        mask[row, : len(given)] = 1
        labels[row, : len(given)] = torch.tensor([id if mine else -100 for id, mine in zip(given, own, strict=True)])
    return {"input_ids": ids.to(device), "attention_mask": mask.to(device), "labels": labels.to(device)}
