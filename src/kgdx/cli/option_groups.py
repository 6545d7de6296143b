"""Groups of options that several commands share: cases of an evaluation, processes that share work, re-ranking."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from kgdx.cli import inputs
from kgdx.cli.options import OUT, BudgetOptions, option
from kgdx.cli.output import remark

if TYPE_CHECKING:
    from kgdx.answer.diagnosis import Diagnosis
    from kgdx.api import Graph
    from kgdx.api.reranking import PatientsAsked, Reranker
    from kgdx.case import Case, Failure
    from kgdx.config import LlmAccess, Settings
    from kgdx.errors import KgdxError
    from kgdx.evaluate.runner import EvaluationTask
    from kgdx.learn.shares import Item, Result
    from kgdx.learn.workers import Work
    from kgdx.llm.chat import ChatModel
    from kgdx.policies.rerank import RerankPolicy

Cases = Annotated[
    str, typer.Argument(metavar="FILE|FOLDER|-", help="Cases that state their diagnosis, in any form; or .gz.")
]
OnSplit = Annotated[
    Path | None,
    typer.Option("--split", metavar="FILE", help="Only the cases that this file of `kgdx split` holds out."),
]
Out = Annotated[
    Path | None,
    typer.Option(*OUT, metavar="FOLDER", help="Keep finished work here; goes on when run again."),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of all random choices.")]
Sample = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="So many by chance, at most two of a publication.")
]


def held_out_of(split: Path | None, cases: Iterator[Case | Failure]) -> Iterator[Case | Failure]:
    """Return the cases that a split holds out; all of them where there is none."""
    if split is None:
        return cases
    from kgdx.case.splits import Split

    return iter(Split.read(split).only(cases))


def asked_model(
    name: str | None, scripted: Callable[[str], ChatModel], cache: Path | None
) -> tuple[ChatModel, LlmAccess | None]:
    """Return a scripted model, or one that is connected when it is first asked, with the settings of its endpoint."""
    from kgdx.config import Settings
    from kgdx.evaluate.scripted_models import PREFIX

    if name is not None and name.startswith(PREFIX):
        return scripted(name), None
    settings = Settings.load()
    return inputs.connected(settings.llm(name), cache or settings.cache / "llm" / "answers.sqlite")


def listed(given: str) -> list[str]:
    """Return what an option names, several with commas; a comma between the settings of one parts nothing.

    Example:
        >>> listed("split:leaders=3,widest=9, infogain")
        ['split:leaders=3,widest=9', 'infogain']
    """
    names: list[str] = []
    for each in filter(None, map(str.strip, given.split(","))):
        if names and ":" in names[-1] and "=" in each and ":" not in each:
            names[-1] += f",{each}"
        else:
            names.append(each)
    return names


def through(
    sharing: Sharing, task: EvaluationTask, graph: Graph, share: int
) -> Callable[[Iterable[Any]], Iterable[Any]] | None:
    """Return what has other processes measure, so many items at once; ``None`` where nobody else is wanted."""
    if not sharing.shares:
        return None
    from kgdx.evaluate.runner import Shared

    return partial(sharing.out, Shared(task), graph=graph, share=share)


SHARE = 16
"""Items that a process gets at once."""

MANY = 200
"""Fewer cases are done before other processes would have started."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """Who shares the work."""

    jobs: int | None = option(
        None, "N", "Processes that share the work, or requests to a model at a time.", min=1, max=1024
    )
    ray: str | None = option(None, "ADDRESS|local", "Share it out on a Ray cluster; needs kgdx[cluster].")

    @property
    def shares(self) -> bool:
        return self.ray is not None or (self.jobs or 1) > 1

    def out(
        self,
        work: Work[Item, Result],
        items: Iterable[Item],
        graph: Graph,
        *,
        total: int | None = None,
        encoder: bool = False,
        share: int = SHARE,
    ) -> Iterator[Result]:
        """Yield the result of each item, in their order; with a total, as many processes share as suit so many."""
        from kgdx.learn.shares import shared

        jobs = self.jobs
        if jobs is None and self.ray is None:
            jobs = jobs_for(total)
        return shared(work, items, graph, jobs=jobs, ray=self.ray, encoder=encoder, share=share)

    def refuse_ray(self, what: str) -> None:
        """Refuse Ray where a model is asked, whose budget one process keeps."""
        from kgdx.errors import UsageError

        if self.ray is not None:
            raise UsageError(f"--ray goes without {what}", hint="--jobs says how many requests run at a time")

    def refuse(self, what: str) -> None:
        """Refuse other processes where a model is asked, whose budget one process keeps."""
        from kgdx.errors import UsageError

        if self.shares:
            hint = "KGDX_LLM_CONCURRENCY says how many requests run at a time"
            raise UsageError(f"--jobs and --ray go without {what}", hint=hint)


def jobs_for(count: int | None) -> int:
    """Return how many processes suit so many cases, when nobody says."""
    from kgdx.learn.workers import processors

    return 1 if (count or 0) < MANY else processors()


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
