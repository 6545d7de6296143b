"""Many patients re-ranked by one language model, at the same time and within one budget; and what that will cost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from kgdx.actions.reading import Rank
from kgdx.answer.artifacts import Ranked, Reranked
from kgdx.api.questions import read_twice, within, world_of
from kgdx.case import Case
from kgdx.episode.loop import Episode, advance, begin, perform, run_many
from kgdx.episode.policy import Policy
from kgdx.episode.state import ArtifactEntry, Limits, State
from kgdx.episode.wish import AskModel
from kgdx.errors import KgdxError, UsageError
from kgdx.llm.chat import ChatModel, Prices, private_loop
from kgdx.policies.reordering import expected_tokens
from kgdx.policies.rerank import Instruction, RerankPolicy
from kgdx.policies.second_reader import SecondReader
from kgdx.rank import Ranking
from kgdx.results.ranked import Candidate

if TYPE_CHECKING:
    from kgdx.answer.diagnosis import Diagnosis
    from kgdx.api.open_graph import Graph

CONCURRENCY = 16
"""Patients under way at the same time, where nobody says."""

SAMPLE = 20
"""Patients from whose requests the cost of all is estimated."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What asking a model about many will take at most; answers that are kept cost nothing.

    Attributes:
        cost: By the prices that are set; 0 where none are.
    """

    patients: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float
    what: str = "patients"

    def __str__(self) -> str:
        money = f"at a cost of {self.cost:.2f}" if self.cost else "(no prices are set)"
        tokens = f"{self.prompt_tokens:,} tokens to read, {self.completion_tokens:,} to write"
        return f"about {self.calls:,} requests for {self.patients:,} {self.what}: {tokens} {money}"


class PatientsAsked:
    """Diagnoses patients by a policy that asks a model, many at the same time and within one budget.

    Args:
        budget: What all patients together may cost: calls, tokens, cost, seconds. A model that is handed over ready
            has its own.
        reader: A model that reads the patients' texts after the rules.
        heed_doubts: Whether what it doubts is taken as unknown.
    """

    def __init__(
        self,
        graph: Graph,
        model: ChatModel | str | None,
        policy: Policy,
        *,
        budget: Limits | None = None,
        concurrency: int = CONCURRENCY,
        seed: int = 0,
        reader: ChatModel | str | None = None,
        heed_doubts: bool = False,
    ) -> None:
        self.graph, self.chooser, self.seed, self.concurrency = graph, policy.suited(graph), seed, concurrency
        self.world = world_of(graph, policy, model, budget or Limits())
        if reader is not None:
            limits = budget or Limits()
            self.chooser, self.world = read_twice(
                graph, self.chooser, self.world, reader, limits, heed_doubts=heed_doubts
            )

    @property
    def chunk(self) -> int:
        return 4 * self.concurrency

    def diagnose(self, cases: Iterable[Case]) -> Iterator[Diagnosis | KgdxError]:
        """Yield the diagnosis of each case, or why there is none, in their order."""
        waiting = iter(cases)
        while some := list(islice(waiting, self.chunk)):
            begun = [self._begun(each) for each in some]
            episodes = iter(self._run([each for each in begun if isinstance(each, State)], self.chooser))
            for each in begun:
                try:
                    yield self.graph.diagnosis(next(episodes)) if isinstance(each, State) else each
                except KgdxError as error:
                    yield error

    def _begun(self, case: Case) -> State | KgdxError:
        try:
            return self._start(self.graph.case(case).identified())
        except KgdxError as error:
            return error

    def _start(self, case: Case) -> State:
        fingerprint = self.graph.fingerprint
        return begin(case, self.chooser, seed=self.seed, limits=within(None), fingerprint=fingerprint)

    def _run(self, starts: Sequence[State], policy: Policy) -> list[Episode]:
        work = run_many(self.world, starts, policy, concurrency=self.concurrency)
        return asyncio.run_coroutine_threadsafe(work, private_loop()).result()


class Reranker(PatientsAsked):
    """Re-ranks patients with one model."""

    def __init__(
        self, graph: Graph, model: ChatModel | str | None, policy: RerankPolicy | None = None, **how: Any
    ) -> None:
        self.policy = policy or RerankPolicy()
        super().__init__(graph, model, self.policy, **how)

    def instructed(self, by: Instruction) -> Reranker:
        """Return one that shares model and budget, and re-ranks by another instruction."""
        other = copy(self)
        other.policy = other.chooser = self.policy.model_copy(update={"prompt": by})
        return other

    @property
    def prices(self) -> Prices:
        return self.world.prices

    def order(self, given: Sequence[tuple[Case, Ranking]]) -> list[Reranked]:
        """Return the model's orders of rankings that are made already, by whatever method.

        Args:
            given: Each patient, with findings read, and the ranking; :meth:`listed` makes one of ids.
        """
        policy = self.policy.model_copy(update={"explain": 0})
        starts = [given_ranking(self._start(case), ranking) for case, ranking in given]
        found = []
        for episode in self._run(starts, policy):
            made = episode.state.get(Reranked)
            if made is None:
                raise episode.error or UsageError(f"the episode ended without an order ({episode.reason})")
            found.append(made)
        return found

    def listed(self, ids: Sequence[str], scores: Sequence[float]) -> Ranking:
        """Return a ranking of these diseases in this order, such as another method has retrieved."""
        ranker = self.graph.ranker
        named = (ranker.names.candidate(ranker.numbered(id))._asdict() for id in ids)
        pairs = enumerate(zip(named, scores, strict=True), 1)
        candidates = tuple(Candidate(rank=place, **told, score=score) for place, (told, score) in pairs)
        return Ranking(candidates, ranker.model.columns.size)

    def estimate(self, cases: Iterable[Case], patients: int) -> Estimate:
        """Return what so many patients will take, from the requests of the first :data:`SAMPLE`; nothing is sent."""
        calls = read = written = seen = 0
        for case in islice(cases, SAMPLE):
            seen += 1
            begun = self._begun(case)
            asked = self._first_request(begun) if isinstance(begun, State) else None
            if isinstance(begun, State) and isinstance(self.chooser, SecondReader):
                readings = self.chooser.requests((asked or begun).case)
                calls, written = calls + len(readings), written + expected_tokens(case.text)
                read += sum(expected_tokens(each.content) for reading in readings for each in reading.messages)
            if asked is None:
                continue
            windows = self.policy.parts(asked) * (1 + self.policy.shuffles)
            listed = self.policy.listed(asked)
            calls += len(windows)
            for begin_, end in windows:
                shown = listed[begin_:end]
                read += sum(expected_tokens(each.content) for each in self.policy.messages(asked, shown))
                written += self.policy.expected_answer(len(shown))
        share = patients / seen if seen else 0.0
        calls, read, written = (round(share * each) for each in (calls, read, written))
        cost = (read * self.prices[0] + written * self.prices[1]) / 1_000_000
        return Estimate(patients, calls, read, written, cost)

    def _first_request(self, state: State) -> State | None:
        while True:
            state, wish = advance(state, self.policy)
            if wish is None:
                return None
            if isinstance(wish, AskModel):
                return state
            after = perform(self.world, state, wish)
            assert after is not None
            state = after


def given_ranking(state: State, ranking: Ranking) -> State:
    """Return a state that has a ranking which was made outside of the episode."""
    wish, made = Rank(top=max(1, len(ranking.candidates))), Ranked(ranking)
    return state.found(ArtifactEntry(made, made.digest(), wish.reads, state.stamp(wish.reads), wish), made)
