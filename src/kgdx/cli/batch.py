"""The command that diagnoses many cases, in this process or in several that read the graph at the same time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import chain, islice, starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kgdx.cli import inputs, output
from kgdx.cli.options import (
    OUT,
    BudgetOptions,
    CaseBank,
    Encoder,
    Policy,
    Reading,
    Rerank,
    Sharing,
    Store,
    Top,
    argument,
    option,
)
from kgdx.cli.output import announce, finished
from kgdx.errors import KgdxError

if TYPE_CHECKING:
    from kgdx.answer.diagnosis import Diagnosis
    from kgdx.api import Graph
    from kgdx.api.reranking import PatientsAsked
    from kgdx.case import Case, Failure
    from kgdx.errors import KgdxError
    from kgdx.policies.rerank import RerankPolicy

FAILED_CASES = 7


@dataclass(frozen=True)
class Many(Reading):
    """What is done with each case of a batch."""

    top: Top = 10
    explain: int = option(0, "N", "For how many diseases to add evidence.", min=0, max=100)
    policy: Policy = None
    llm: str | None = option(None, "MODEL", "Have this model at KGDX_LLM_BASE_URL plan the steps.")
    case_bank: CaseBank = None


def batch(
    cases: str = argument(..., "FILE|FOLDER|-", "Cases: JSON lines, phenopackets, a folder, or -."),
    *,
    many: Many,
    rerank: Rerank,
    budget: BudgetOptions,
    sharing: Sharing,
    encoder: Encoder = False,
    to: Path | None = option(None, "FILE", "File to write; standard output by default.", *OUT),
    store: Store = None,
) -> None:
    """Diagnose many cases, a JSON line for each.

    A case that fails gives a line that says why, and the exit code 7. Example: kgdx batch cases.jsonl > results.jsonl
    """
    source, total = inputs.many(cases), inputs.lines(cases)
    options = {"top": many.top, "explain": many.explain, "policy": many.policy, "case_bank": many.case_bank}
    chosen = rerank.policy(top=many.top, explain=many.explain, case_bank=many.case_bank, others=(many.policy, many.llm))
    asks = announce(store, rerank.rerank or many.llm, many.policy) | announce(store, many.reader, None)
    done = failed = 0
    with inputs.graph(store, encoder=encoder) as graph, output.progress_bar("cases", total) as advance:
        graph.bank.size if many.case_bank else graph.snapshot  # noqa: B018 - without it no case can be diagnosed
        if not asks:
            lines: Iterator[Result] = sharing.out(Diagnosing(options), source, graph, total=total, encoder=encoder)
        else:
            sharing.refuse_ray("--rerank, --llm, --reader and policies that ask a model")
            work = asking(graph, many, budget, sharing.jobs, rerank.rerank, chosen)
            budget.require(graph.settings)
            lines = starmap(outcome, asked(work, source, total))
        with output.written(to) as stream:
            for line, wrong in lines:
                print(line, file=stream)
                done, failed = done + 1, failed + wrong
                advance()
    from kgdx.results.words import count

    output.remark(count(done, "case") + (f", {failed} failed" if failed else ""))
    if failed:
        raise typer.Exit(FAILED_CASES)


def asking(
    graph: Graph, many: Many, budget: BudgetOptions, jobs: int | None, reranker: str | None, order: RerankPolicy | None
) -> PatientsAsked:
    """Return what re-ranks the cases, or diagnoses them by a policy that asks a model; one budget holds for all."""
    from kgdx.api.questions import suited
    from kgdx.api.reranking import PatientsAsked, Reranker

    model = many.llm if order is None else reranker
    at_once = jobs or graph.settings.llm(model or many.reader).concurrency
    reading = {"reader": many.reader, "heed_doubts": many.heed_doubts}
    how: dict[str, Any] = {"budget": budget.limits(), "concurrency": at_once, **reading}
    if order is not None:
        return Reranker(graph, model, order, **how)
    wanted = {} if many.case_bank is None else {"case_bank": many.case_bank}
    shown = {"top": many.top, "explain": min(many.explain, many.top)}
    policy = suited(graph, many.policy, "diagnoses", many.llm, wanted, **shown)
    return PatientsAsked(graph, model, policy, **how)


def asked(
    work: PatientsAsked, given: Iterable[Case | Failure], total: int | None
) -> Iterator[tuple[Case | Failure, Diagnosis | KgdxError | None]]:
    """Yield each case of a batch with what came of it, in their order; says what it took, and of re-ranking before."""
    from kgdx.answer.diagnosis import Diagnosis
    from kgdx.api.reranking import SAMPLE, Reranker
    from kgdx.case import Failure
    from kgdx.episode.segment import add_spent
    from kgdx.llm.budget import Spent
    from kgdx.render.terminal.answer_text import taken

    waiting = iter(given)
    first = list(islice(waiting, SAMPLE))
    some = [each for each in first if not isinstance(each, Failure)]
    if isinstance(work, Reranker):
        patients = "" if total is not None or len(first) < SAMPLE else "for the first patients alone: "
        output.remark(f"{patients}{work.estimate(some, total or len(some))}")
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
    output.remark(f"{told} {done:,}{taken(spent.to_dict())}")


Result = tuple[str, bool]
"""A line of JSON, and whether it says what went wrong."""


@dataclass(frozen=True)
class Diagnosing:
    """Diagnoses a case, by options of :meth:`kgdx.api.Graph.diagnose`."""

    options: Mapping[str, Any]

    def on(self, graph: Graph) -> Callable[[Case | Failure], Result]:
        return lambda case: result(graph, case, self.options)


def result(graph: Graph, case: Case | Failure, options: Mapping[str, Any]) -> Result:
    """Return the diagnosis of one case without its trace, or what went wrong."""
    from kgdx.case import Failure

    try:
        return outcome(case, None if isinstance(case, Failure) else graph.diagnose(case, **options))
    except KgdxError as error:
        return outcome(case, error)


def outcome(case: Case | Failure, found: Diagnosis | KgdxError | None) -> Result:
    """Return the line of a case: its diagnosis without the trace, or what went wrong."""
    from kgdx.case import Failure

    if isinstance(case, Failure):
        line: dict[str, Any] = {"id": case.id, "where": case.where, "error": case.message}
        return json.dumps(line, ensure_ascii=False), True
    try:
        if isinstance(found, KgdxError):
            raise found
        assert found is not None
        finished(found)
        document = found.document(trace=False)
        head = {"id": case.id, "run": document.id, **({"file": case.file} if case.file else {})}
        # its sources are the same in every line; `kgdx info` lists them
        told = document.to_json("id", "created", "links", "sources")
        return f"{json.dumps(head, ensure_ascii=False)[:-1]}, {told[1:]}", False
    except KgdxError as error:
        line = {"id": case.id, "error": str(error), **({"file": case.file} if case.file else {})}
    return json.dumps(line, ensure_ascii=False), True
