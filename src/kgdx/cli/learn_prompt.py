"""The command that has a model write instructions for re-ranking, and chooses among them on development patients."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kgdx.cli import inputs
from kgdx.cli import options as output
from kgdx.cli.options import BudgetOptions, Json, Store, announce, grouped
from kgdx.files.private import private_file


@grouped
def prompt(
    cases: Annotated[
        str, typer.Argument(metavar="FILE|FOLDER|-", help="Development patients that state their diagnosis.")
    ],
    out: Annotated[Path, typer.Option("--out", "--output", "-o", metavar="FILE", help="Where the chosen one is kept.")],
    llm: Annotated[str, typer.Option("--llm", metavar="MODEL", help="The model that writes them and re-ranks.")],
    budget: BudgetOptions,
    variants: Annotated[int, typer.Option(metavar="N", min=0, max=20, help="How many it writes.")] = 4,
    top: Annotated[int, typer.Option(metavar="K", min=2, max=500, help="How many candidates are ordered.")] = 50,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the halves of the patients.")] = 0,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Choose an instruction for --rerank-prompt.

    The model writes some beside those that come with kgdx. Half of the patients choose; the figures are of the other
    half. Example: kgdx learn prompt dev.jsonl --llm qwen3:8b --max-calls 2000 --out own.md
    """
    from kgdx.api.reranking import Reranker
    from kgdx.case import Failure
    from kgdx.cli.rerank_options import require_budget
    from kgdx.evaluate import prompt_search as search
    from kgdx.evaluate.labels import Labels
    from kgdx.evaluate.words_reader import words_reader
    from kgdx.policies.instructed import instruction, names, written
    from kgdx.policies.rerank import RerankPolicy

    announce(store, llm, None)
    given = [each for each in inputs.many(cases) if not isinstance(each, Failure)]
    with inputs.graph(store) as graph:
        require_budget(budget, graph.settings)
        at_once = graph.settings.llm(llm).concurrency
        policy = RerankPolicy(candidates=top, explain=0)
        work = Reranker(graph, llm, policy, budget=budget.limits(), concurrency=at_once, seed=seed)
        labels = Labels.of_graph(graph)
        patients = search.judged(work, given, words_reader(graph), labels)
        search.halves(patients, seed)  # before anything is paid for
        tried = len(names()) + variants
        one_each = work.estimate([each.case for each in patients], len(patients))
        output.remark(f"{tried} instructions; each of them: {one_each}")
        found = search.choose(work, patients, [*map(instruction, names()), *search.variants(work, variants)])
    with private_file(out).open("w", encoding="utf-8") as file:
        file.write(written(found.instruction, {"model": llm, "candidates": top, "seed": seed, **found.to_dict()}))
    told = {"instruction": found.instruction.name, "digest": found.instruction.digest, **found.to_dict()}
    if as_json:
        output.write_json(told)
    else:
        from kgdx.render.terminal.accuracy_text import instructions

        output.show(instructions(told))
    output.remark(f"{found.instruction.name} is kept in {out}: `--rerank-prompt {out}`")
