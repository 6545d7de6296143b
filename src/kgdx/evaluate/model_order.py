"""Layer two of an evaluation of retrieval: a language model's order of what was retrieved, by whatever method."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from kgdx.api.reranking import Estimate, Reranker
from kgdx.errors import UsageError
from kgdx.evaluate.model_use import ModelUsage
from kgdx.evaluate.retrieval_accuracy import CandidatePool, Reordered
from kgdx.llm.chat import ChatModel, Prices, Usage

if TYPE_CHECKING:
    from kgdx.api import Graph
    from kgdx.case import Case
    from kgdx.policies.rerank import RerankPolicy

COUNTED = ("asked", "failed", "unknown", "repeated", "omitted", "moved", "unexplained", "ties", "agreement", "bias")
"""What is kept of each order: see :class:`kgdx.results.ranked.Reranking`."""


class ModelOrder:
    """Has one model, which several orders may share with its budget, order pools by one policy."""

    def __init__(
        self, graph: Graph, model: ChatModel, policy: RerankPolicy, *, prices: Prices = (0.0, 0.0), seed: int = 0
    ) -> None:
        self.used = ModelUsage(model, prices)
        self.about = (policy.prompt.name, policy.prompt.digest)
        self._ranker = graph.ranker
        self._reranker = Reranker(graph, self.used, policy, concurrency=1, seed=seed)

    def __call__(self, pool: CandidatePool) -> Reordered:
        """Return the model's order of a pool; the order of retrieval where it gave none."""
        if self._reranker.policy.prompt.chosen_by(pool.case):
            what = f"the instruction {self.about[0]} was chosen on some of these patients"
            raise UsageError(what, hint="measure it on others, or another one on these")
        named = self._ranker.names.candidate
        ranking = self._reranker.listed([named(each).id for each in pool.candidates], pool.scores)
        made = self._reranker.order([(pool.case, ranking)])[0]
        self.used.check()
        order = tuple(self._ranker.number_of(id) for id in made.order)
        return Reordered(order, {name: getattr(made.told, name) for name in COUNTED})

    def estimate(self, cases: Iterable[Case], patients: int) -> Estimate:
        """Return what ordering so many patients' candidates will take; nothing is sent."""
        found = self._reranker.estimate(cases, patients)
        used = Usage(found.prompt_tokens, found.completion_tokens)
        return replace(found, cost=used.cost(self.used.prices))
