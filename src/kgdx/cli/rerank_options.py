"""Options of re-ranking by a language model, what it may cost, and the batch that it re-ranks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, cast

from kgdx.cli.options import BudgetOptions, option, remark

if TYPE_CHECKING:
    from kgdx.answer.diagnosis import Diagnosis
    from kgdx.api import Graph
    from kgdx.api.reranking import PatientsAsked, Reranker
    from kgdx.case import Case, Failure
    from kgdx.config import Settings
    from kgdx.errors import KgdxError
    from kgdx.policies.rerank import RerankPolicy


@dataclass(frozen=True)
class Rerank:
    """Who re-ranks, and how."""

    rerank: str | None = option(None, "MODEL", "Have this model at KGDX_LLM_BASE_URL put the candidates in order.")
    rerank_top: int = option(50, "K", "How many candidates it orders, such as 50, 80 or 100.", min=2, max=500)
    rerank_prompt: str = option("vanilla", "NAME|FILE", "How: vanilla, cot (by thoughts), or a file of `learn prompt`.")
    rerank_weight: float = option(1.0, "SHARE", "Of its order beside the score; 1: the order alone.", min=0, max=1)
    rerank_window: int | None = option(
        None, "N", "Candidates a request, in sliding windows; as fit by default.", min=2, max=500
    )
    shuffle: int = option(0, "N", "Ask N times more, in random orders; measures agreement.", min=0, max=20)

    def policy(
        self, *, top: int, explain: int, case_bank: bool | None, others: Iterable[str | None]
    ) -> RerankPolicy | None:
        """Return the policy that re-ranks; ``None`` where no model is named; ``others`` may choose steps."""
        from kgdx.episode.policy import make_policy
        from kgdx.errors import UsageError

        if self.rerank is None:
            if self != Rerank():
                raise UsageError("it is said how to re-rank, and not by which model", hint="give --rerank MODEL")
            return None

        if any(others):
            raise UsageError("--rerank goes without --llm and --policy", hint="it ranks, and has the model re-order")
        settings: dict[str, Any] = {
            "candidates": self.rerank_top,
            "prompt": self.rerank_prompt,
            "weight": self.rerank_weight,
            "window": self.rerank_window,
            "shuffles": self.shuffle,
        }
        made = make_policy("rerank", settings, top=top, explain=explain, case_bank=case_bank)
        return cast("RerankPolicy", made)

    def reranker(self, graph: Graph, policy: RerankPolicy, budget: BudgetOptions, jobs: int | None) -> Reranker:
        """Return what re-ranks a batch; as many requests at a time as are set for the endpoint where nobody says."""
        from kgdx.api.reranking import Reranker

        at_once = jobs or graph.settings.llm(self.rerank).concurrency
        return Reranker(graph, self.rerank, policy, budget=budget.limits(), concurrency=at_once)


def reranked(
    work: PatientsAsked, given: Iterable[Case | Failure], total: int | None, budget: BudgetOptions
) -> Iterator[tuple[Case | Failure, Diagnosis | KgdxError | None]]:
    """Yield each case of a batch with what came of it, in their order; says what it took, and of re-ranking before."""
    from kgdx.answer.diagnosis import Diagnosis
    from kgdx.api.reranking import SAMPLE, Reranker
    from kgdx.case import Failure
    from kgdx.episode.segment import add_spent
    from kgdx.llm.budget import Spent
    from kgdx.render.terminal.answer_text import taken

    require_budget(budget, work.graph.settings)
    waiting = iter(given)
    first = list(islice(waiting, SAMPLE))
    some = [each for each in first if not isinstance(each, Failure)]
    if isinstance(work, Reranker):
        patients = "" if total is not None or len(first) < SAMPLE else "for the first patients alone: "
        remark(f"{patients}{work.estimate(some, total or len(some))}")
    waiting = chain(first, waiting)
    spent, done, stands = Spent(), 0, 0
    while chunk := list(islice(waiting, work.chunk)):
        found = work.diagnose([each for each in chunk if not isinstance(each, Failure)])
        for each in chunk:
            made = None if isinstance(each, Failure) else next(found)
            if isinstance(made, Diagnosis):
                spent, done = reduce(add_spent, made.trace, spent), done + 1
                stands += made.reranking is None or made.reranking.stands
            yield each, made
    told = f"re-ranked {done - stands:,} of" if isinstance(work, Reranker) else "a model was asked about"
    remark(f"{told} {done:,}{taken(spent.to_dict())}")


def require_budget(budget: BudgetOptions, settings: Settings) -> None:
    """Refuse to ask a model about many patients where neither an option nor a setting limits calls, tokens or cost."""
    from kgdx.errors import UsageError

    names = ("max_calls", "max_tokens", "max_cost")
    if not any(getattr(budget, name) is not None or name in settings.llm_settings for name in names):
        hint = "give --max-calls, --max-tokens or --max-cost, or set KGDX_LLM_MAX_CALLS"
        raise UsageError("a model is asked about many patients, and nothing limits what that costs", hint=hint)
