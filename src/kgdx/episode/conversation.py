"""Requests to language models as a log keeps them: only what is new is written, the conversation is a fold.

A training run gets its samples from here: token ids are concatenated, and nothing is tokenised twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from kgdx.episode.segment import Author, Kind, Segment
from kgdx.llm.chat import Completion, Message, Prices, Request, Tokens, seed_of, sound

if TYPE_CHECKING:
    from kgdx.episode.state import State
    from kgdx.episode.tag_protocol import RolloutSpan
    from kgdx.episode.wish import AskModel


class Exchange(NamedTuple):
    """A request to a model and what came of it; ``None`` while it is under way."""

    wish: Segment
    result: Segment | None

    @property
    def text(self) -> str:
        return "" if self.result is None else str(self.result.words.get("text", ""))

    @property
    def failed(self) -> str:
        """Kind of the model's error; empty where there is none."""
        if self.result is None or self.result.kind is not Kind.ERROR:
            return ""
        return str(self.result.data.get("kind", "error"))


def exchanges(log: Sequence[Segment], prompt: str = "") -> list[Exchange]:
    """Return the requests to models of a log, in order."""
    found = []
    for number, segment in enumerate(log):
        if segment.kind is Kind.WISH and segment.name == "ask_model" and segment.data["prompt"].startswith(prompt):
            after = log[number + 1] if number + 1 < len(log) else None
            found.append(Exchange(segment, after))
    return found


def conversation(log: Sequence[Segment]) -> tuple[Message, ...]:
    """Return the messages of the log's latest conversation, what the model wrote among them.

    A request that continues adds to the conversation before it: a message of the assistant goes on with the text of
    the last one.
    """
    messages: list[Message] = []
    for each in exchanges(log):
        if not each.wish.data["continues"]:
            messages = []
        given = [Message(one["role"], one["content"]) for one in each.wish.words["messages"]]
        written = [Message("assistant", each.text)] if each.text else []
        for message in (*given, *written):
            if messages and message.role == messages[-1].role == "assistant":
                messages[-1] = Message("assistant", messages[-1].content + message.content)
            else:
                messages.append(message)
    return tuple(messages)


def spans(log: Sequence[Segment]) -> list[RolloutSpan]:
    """Return the text of the log's latest conversation after its prompt, with who wrote it.

    A stop string is the model's: it wrote that, although its answer ends before.
    """
    from kgdx.episode.tag_protocol import RolloutSpan, joined

    found: list[RolloutSpan] = []
    stop = ""
    for each in exchanges(log):
        more = each.wish.data["continues"]  # then all that was added is of the environment, a reminder too
        found, stop = (found, stop) if more else ([], "")
        given = "".join(one["content"] for one in each.wish.words["messages"] if more or one["role"] == "assistant")
        given = given.removeprefix(stop)
        found += [RolloutSpan(stop, True), RolloutSpan(given, False), RolloutSpan(each.text, True)]
        stop = stopped(each)
    return joined((*found, RolloutSpan(stop, True)))


def stopped(said: Exchange) -> str:
    """Return the stop string that ended an answer; of an endpoint that does not tell, the tag that it left open."""
    if said.result is None or said.failed or said.result.data.get("finish_reason") == "length":
        return ""
    from kgdx.episode.tag_protocol import left_open

    told = said.result.data.get("stop")
    return str(told) if told else left_open(said.text) * bool(said.wish.data["stop"])


def requested(state: State, wish: AskModel) -> Request:
    """Return the pending request as a model gets it.

    Its seed comes from the episode's and the number of its request, so that equal episodes ask equal questions,
    however many run at once. What is left of a limit of tokens bounds the answer.
    """
    messages = conversation(state.log) if wish.continues else wish.messages
    goes_on = wish.continues and bool(messages) and messages[-1].role == "assistant"
    prefix, covered = _covered(state.log, messages) if goes_on else ((), 0)
    most = wish.max_tokens
    if state.limits.tokens is not None:
        used = state.counts.spent.prompt_tokens + state.counts.spent.completion_tokens
        left = max(state.limits.tokens - used, 1)
        most = left if most is None else min(most, left)
    return Request(
        tuple(messages),
        schema=wish.output,
        max_tokens=most,
        temperature=wish.temperature,
        top_p=wish.top_p,
        stop=wish.stop,
        seed=seed_of(state.seed, state.counts.requests) if wish.temperature else None,
        n=wish.samples,
        logprobs=wish.tokens,
        continues=goes_on,
        prefix=prefix,
        prefix_chars=covered,
        reasoning=wish.reasoning,
    )


def _covered(log: Sequence[Segment], messages: Sequence[Message]) -> tuple[tuple[int, ...], int]:
    *before, pending = exchanges(log)
    begun = [number for number, each in enumerate(before) if not each.wish.data["continues"]]
    if not begun or not all(each.result is not None and each.result.tokens for each in before[begun[-1] :]):
        return (), 0
    given = "".join(one["content"] for one in pending.wish.words["messages"] if one["role"] == "assistant")
    stop = stopped(before[-1])
    written = len(stop) if stop and given.startswith(stop) else 0
    return tuple(training_sample(log)[0]), len(messages[-1].content) - len(given) + written


def completed(
    log: Sequence[Segment],
    wish: AskModel,
    name: str,
    samples: Sequence[Completion],
    milliseconds: float,
    prices: Prices = (0.0, 0.0),
) -> Segment:
    """Return the segment of a model's answer; prices are of a million prompt and completion tokens."""
    samples = [_ended(each, wish.stop) for each in samples]
    first = samples[0]
    usage = [each.usage for each in samples]
    data = {
        "prompt": wish.prompt,
        "model": first.model,
        "prompt_tokens": _sum(each.prompt_tokens for each in usage),
        "completion_tokens": _sum(each.completion_tokens for each in usage),
        "cached": all(each.cached for each in samples),
        "finish_reason": first.finish_reason,
    }
    words: dict[str, object] = {"text": sound(first.text)}
    if any(each.reasoning for each in samples):
        words["reasoning"] = [sound(each.reasoning) for each in samples]
    if len(samples) > 1:
        words["samples"] = [sound(each.text) for each in samples]
    if first.stop is not None:
        data["stop"] = first.stop
    before = tuple(training_sample(log)[0]) if wish.continues else ()
    tokens = tuple(_increment(before, each.tokens) for each in samples if each.tokens is not None)
    cost = sum(each.usage.cost(prices) for each in samples if not each.cached)
    return Segment(Author.MODEL, Kind.RESULT, name, data, words, tokens, cost=cost, milliseconds=milliseconds)


def training_sample(log: Sequence[Segment]) -> tuple[list[int], list[bool], list[float]]:
    """Return the latest conversation of a log as a trainer takes it: empty where the backend gave no tokens.

    Token ids, whether the model wrote each (the mask of the loss), and its log-probability, 0 where it did not.
    """
    ids: list[int] = []
    mask: list[bool] = []
    logprobs: list[float] = []
    for each in exchanges(log):
        if not each.wish.data["continues"]:
            ids, mask, logprobs = [], [], []
        if each.result is None or not each.result.tokens:
            continue
        tokens = each.result.tokens[0]
        ids += [*tokens.given, *tokens.written]
        mask += [False] * len(tokens.given) + [True] * len(tokens.written)
        logprobs += [0.0] * len(tokens.given)
        logprobs += tokens.logprobs or [0.0] * len(tokens.written)
    return ids, mask, logprobs


def _ended(sample: Completion, stops: Sequence[str]) -> Completion:
    places = [(place, each) for each in stops if (place := sample.text.find(each)) >= 0]
    if not places:
        return sample
    place, stop = min(places)
    return replace(sample, text=sample.text[:place], stop=stop, finish_reason="stop")


def _increment(before: tuple[int, ...], tokens: Tokens) -> Tokens:
    new = tokens.given[len(before) :] if tokens.given[: len(before)] == before else tokens.given
    return Tokens(new, tokens.written, tokens.logprobs)


def _sum(numbers: object) -> int | None:
    told = [each for each in numbers if each is not None]  # type: ignore[attr-defined]
    return sum(told) if told else None
