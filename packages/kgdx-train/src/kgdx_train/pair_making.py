"""Has a model think and answer many times, and finds out which thoughts and answers lead to the right option.

What is asked is what the policy ``thought`` asks: each thought is put into an episode of it, whose searches are done on
the graph, and the request for the answer that comes of them is taken. So what is trained is what is used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from kgdx.answer.evidence_pack import language_of
from kgdx.answer.option_questions import OptionQuestion
from kgdx.api.questions import within
from kgdx.api.reranking import Estimate
from kgdx.case import Case
from kgdx.episode.loop import advance, begin, perform, told
from kgdx.episode.segment import Kind as SegmentKind
from kgdx.episode.segment import error_of
from kgdx.episode.wish import AskModel
from kgdx.episode.world import World
from kgdx.errors import LlmError, UsageError
from kgdx.files.known import digest_of
from kgdx.llm.chat import ChatModel, Completion, Message, Request, prompt, seed_of, sound
from kgdx.llm.local_model import stamp
from kgdx.policies.reordering import expected_tokens
from kgdx.policies.thought import ThoughtPolicy
from kgdx.policies.thought_reading import direct_messages
from kgdx_train.pair_choice import Asked, Filters, Statistics, Tried, pairs_of, right
from kgdx_train.preference_pairs import FORMAT, Pair
from kgdx_train.sample_journal import LONGEST, Key, Sample, SampleJournal
from kgdx_train.sample_journal import Asked as What

if TYPE_CHECKING:
    from kgdx.api import Graph

Result = TypeVar("Result")
THOUGHTS, ANSWERS, TEMPERATURE, TOP_P = 15, 5, 0.2, 0.9
"""Samples of a question, and how they are drawn, as in the paper."""
ANSWER_TOKENS = 1_024
"""Tokens of an answer at most, where the policy does not say."""
SAMPLED = 10
"""Questions from whose requests the cost of all is estimated."""
OWN_FAULTS: Mapping[str, str] = {"truncated": "cut", "refused": "refused"}
"""Faults of a model that are those of one sample → what is said of it; every other one ends the work."""
PROMPTS = ("thought", "thought_direct", "thought_answer")
"""What is asked with; in a pairs file with their versions."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How samples are drawn."""

    thoughts: int = THOUGHTS
    answers: int = ANSWERS
    temperature: float = TEMPERATURE
    top_p: float = TOP_P
    seed: int = 0


class Retrieval:
    """Makes the requests of the policy ``thought`` on a graph, with the thought given."""

    def __init__(self, graph: Graph, policy: ThoughtPolicy) -> None:
        self.policy = policy
        self._world = World(graph)

    def thought(self, question: OptionQuestion) -> tuple[Message, ...]:
        return self._request(question, None)

    def answer(self, question: OptionQuestion, thought: str) -> tuple[Message, ...]:
        return self._request(question, thought)

    def _request(self, question: OptionQuestion, thought: str | None) -> tuple[Message, ...]:
        start = begin(
            Case("question"),
            self.policy,
            question=question.question,
            options=question.options,
            limits=within(None),
        )
        state = start
        while True:
            state, wish = advance(state, self.policy)
            if wish is None:
                failed = [each for each in state.log if each.kind is SegmentKind.ERROR]
                raise error_of(failed[-1]) if failed else UsageError(f"question {question.id[:40]!r} asks for nothing")
            if isinstance(wish, AskModel):
                if thought is None or not wish.prompt.startswith("thought@"):
                    return wish.messages
                state = told(self._world, state, "given", [Completion(thought, "given")])
                continue
            after = perform(self._world, state, wish)
            assert after is not None
            state = after


class PairMaker:
    """Samples thoughts and answers of one model, and makes pairs of them."""

    def __init__(
        self,
        retrieval: Retrieval,
        model: ChatModel,
        journal: SampleJournal,
        sampling: Sampling | None = None,
        concurrency: int = 16,
    ) -> None:
        self._retrieval, self._model, self._journal = retrieval, model, journal
        self.sampling = sampling or Sampling()
        self._concurrency = concurrency
        self._requests = asyncio.Semaphore(concurrency)
        self._stopped: LlmError | None = None
        policy = retrieval.policy
        self._tokens = {"thought": policy.thought_tokens, "answer": policy.answer_tokens or ANSWER_TOKENS}

    async def ask(self, questions: Iterable[OptionQuestion], advance: Callable[[], None]) -> list[Asked]:
        """Ask all questions, several at a time, and return them in their order; what was asked before is not again."""
        self._requests = asyncio.Semaphore(self._concurrency)  # of this event loop
        room = asyncio.Semaphore(max(2, self._concurrency // 4))

        async def one(question: OptionQuestion) -> Asked:
            async with room:
                done = await self._asked(question)
            advance()
            return done

        self._stopped = None
        try:
            done = await asyncio.gather(*map(one, questions), return_exceptions=True)
        finally:
            await self._model.aclose()
        for each in done:
            if isinstance(each, BaseException):
                raise self._stopped or each
        return [each for each in done if isinstance(each, Asked)]

    async def _asked(self, question: OptionQuestion) -> Asked:
        digest = question_digest(question)
        if question.gold is None:
            return Asked(question, digest)
        given = self._retrieval.thought(question)
        drawn = await self._drawn(digest, "thought", given, self.sampling.thoughts)
        first = {each.text: number for number, each in reversed(list(enumerate(drawn))) if not each.fault}
        retrieve = cache(partial(self._retrieval.answer, question))
        followed = {text: self._followed(question, number, text, retrieve) for text, number in first.items()}
        found = dict(zip(followed, await _ended(followed.values()), strict=True))
        thoughts = [
            Tried(each, seed_of(self.sampling.seed, number), *found.get(each.text, (None, None)))
            for number, each in enumerate(drawn)
        ]
        documents = retrieve(_best(thoughts, question))
        answers = await self._drawn(digest, "answer", documents, self.sampling.answers)
        tried = [Tried(each, seed_of(self.sampling.seed, number)) for number, each in enumerate(answers)]
        return Asked(question, digest, thoughts, tried, {"thought": given, "answer": documents})

    async def _drawn(self, digest: str, what: What, messages: tuple[Message, ...], count: int) -> list[Sample]:
        how: dict[str, Any] = {"temperature": self.sampling.temperature, "top_p": self.sampling.top_p}
        requests = [
            Request(messages, max_tokens=self._tokens[what], seed=seed_of(self.sampling.seed, number), **how)
            for number in range(count)
        ]
        keys: list[Key] = [(digest, what, self.sampling.seed, number) for number in range(count)]
        return await self._all(keys, requests)

    async def _followed(
        self, question: OptionQuestion, number: int, thought: str, retrieve: Callable[[str], tuple[Message, ...]]
    ) -> tuple[Sample, ...]:
        keys: list[Key] = [
            (question_digest(question), what, self.sampling.seed, number) for what in ("direct", "retrieved")
        ]
        known = tuple(found for key in keys if (found := self._journal.get(key)) is not None)
        if len(known) == len(keys):
            return known
        language = question.language or language_of(question.question)
        direct = direct_messages(question.question, question.options, language, thought)
        requests = [Request(each, max_tokens=self._tokens["answer"]) for each in (direct, retrieve(thought))]
        return tuple(await self._all(keys, requests))

    async def _all(self, keys: Sequence[Key], requests: Sequence[Request]) -> list[Sample]:
        return await _ended(map(self._sample, keys, requests))

    async def _sample(self, key: Key, request: Request) -> Sample:
        if (known := self._journal.get(key)) is not None:
            return known
        async with self._requests:
            if self._stopped is not None:  # what is under way is waited for, and nothing else begun
                raise self._stopped
            try:
                made = await self._model.complete(request)
                sample = _sample_of(made)
            except LlmError as error:
                if error.kind not in OWN_FAULTS:
                    self._stopped = error
                    raise
                sample = Sample(sound(error.partial[:LONGEST]), OWN_FAULTS[error.kind])
        self._journal.add(key, sample)
        return sample

    def about(self, fingerprint: str) -> dict[str, Any]:
        """Return what every sample depends on besides its question: model, prompts, settings, and the graph."""
        return {
            "format": FORMAT,
            "model": f"{self._model.name} {stamp(self._model.name)}".rstrip(),
            "prompts": [prompt(each).id for each in PROMPTS],
            "sampling": {"temperature": self.sampling.temperature, "top_p": self.sampling.top_p},
            "tokens": self._tokens,
            "policy": self._retrieval.policy.model_dump(mode="json"),
            "graph": fingerprint,
        }

    def missing(self, question: OptionQuestion) -> int:
        """Return how many samples of a question are not in the journal, at most."""
        if question.gold is None:
            return 0
        digest, seed = question_digest(question), self.sampling.seed
        counts: dict[What, int] = {"thought": self.sampling.thoughts, "answer": self.sampling.answers}
        counts |= {"direct": self.sampling.thoughts, "retrieved": self.sampling.thoughts}
        keys = [(digest, what, seed, number) for what, count in counts.items() for number in range(count)]
        return sum(self._journal.get(key) is None for key in keys)

    def estimate(self, questions: Sequence[OptionQuestion], prices: tuple[float, float]) -> Estimate:
        """Return what is still to be asked, at most, from the requests of some of the questions; nothing is sent."""
        waiting = [(each, count) for each in questions if (count := self.missing(each))]
        calls = sum(count for _, count in waiting)
        read = written = 0.0
        for question, count in islice(waiting, SAMPLED):
            texts = [_tokens_of(self._retrieval.thought(question)), _tokens_of(self._retrieval.answer(question, ""))]
            thoughts, answers = self.sampling.thoughts, self.sampling.answers
            every = 3 * thoughts + answers
            read += count / every * (2 * thoughts * texts[0] + (thoughts + answers) * texts[1])
            written += (
                count
                / every
                * sum((thoughts * self._tokens["thought"], (2 * thoughts + answers) * self._tokens["answer"]))
            )
        share = len(waiting) / max(1, min(len(waiting), SAMPLED))
        cost = share * (read * prices[0] + written * prices[1]) / 1_000_000
        return Estimate(len(waiting), calls, round(share * read), round(share * written), cost, "questions")


async def _ended(work: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    """Wait until all have ended, also where one fails: what the model was asked is kept."""
    done = await asyncio.gather(*work, return_exceptions=True)
    for each in done:
        if isinstance(each, BaseException):
            raise each
    return [each for each in done if not isinstance(each, BaseException)]


def _tokens_of(messages: Sequence[Message]) -> int:
    return sum(expected_tokens(each.content) for each in messages)


def _sample_of(made: Completion) -> Sample:
    text = sound(made.text)
    if made.finish_reason == "length" or len(text) > LONGEST:
        return Sample(text[:LONGEST], "cut")
    return Sample(text, "" if text.strip() else "empty")


def _best(thoughts: Sequence[Tried], question: OptionQuestion) -> str:
    """The thought with whose documents answers are written: the first that leads to the right option, or the first."""
    usable = [each for each in thoughts if not each.sample.fault]
    good = (each for each in usable if right(each.direct, question) and right(each.retrieved, question))
    best = next(good, None) or next(iter(usable), None)
    return "" if best is None else best.sample.text


def question_digest(question: OptionQuestion) -> str:
    return digest_of([question.question, dict(question.options), question.gold])[:16]


def distinct(questions: Iterable[OptionQuestion]) -> list[OptionQuestion]:
    return list({question_digest(each): each for each in reversed(list(questions))}.values())[::-1]


def made_of(asked: Iterable[Asked], filters: Filters, seed: int) -> tuple[list[Pair], dict[str, Any]]:
    """Return the pairs of questions that were asked, and what became of all questions and samples."""
    pairs: list[Pair] = []
    counted = Statistics()
    for each in asked:
        found, why = pairs_of(each, filters, seed)
        pairs += found
        counted.add(found, why)
    return pairs, counted.to_dict()
