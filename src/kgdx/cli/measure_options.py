"""The command that measures accuracy on option questions, by what is retrieved before they are answered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgdx.cli import inputs, options
from kgdx.cli.evaluation_options import Out, Seed
from kgdx.cli.options import BudgetOptions, Force, Html, Json, Store, option
from kgdx.cli.rerank_options import require_budget

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kgdx.answer.option_questions import OptionQuestion
    from kgdx.api import Graph
    from kgdx.config import LlmAccess
    from kgdx.evaluate.option_accuracy import OptionArm
    from kgdx.llm.chat import ChatModel, Prices

SCRIPTED = "scripted:knows, scripted:half-knows, scripted:guesses, scripted:unsure"


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Who answers, and how."""

    llm: str | None = option(None, "MODEL", f"Who answers; KGDX_LLM_MODEL; or {SCRIPTED}.")
    arms: str = option(
        "none,question,thought,thought+graph,parallel,iterative",
        "NAMES",
        "none, question, thought, graph, thought+graph, parallel, iterative, votes; several with commas, "
        "settings behind colons, another model behind @; the first two are the baselines.",
    )
    vary: str = option("", "SETTING=VALUES", "Also the last arm with each value: documents=1,4,8,16,32.")
    endpoint: list[str] | None = option(None, "MODEL=URL", "Where a model behind @ is asked; several times.")


@dataclass(frozen=True, slots=True)
class QuestionOptions:
    """What is asked, and how it runs."""

    format: str | None = option(None, "NAME", "What the file is written as; by its fields.")
    sample: int | None = option(None, "N", "So many questions, by chance.", min=1)
    seed: Seed = 0
    jobs: int | None = option(None, "N", "Questions at the same time; KGDX_LLM_CONCURRENCY.", min=1, max=1024)
    out: Out = None


def option_questions(
    questions: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="MedQA, MedMCQA, MMLU, GPQA, Medbullets, MedXpertQA, or our own; or .gz."),
    ],
    answering: ModelOptions,
    asking: QuestionOptions,
    budget: BudgetOptions,
    html: Html = None,
    force: Force = False,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Measure answers to option questions.

    Accuracy by arm with intervals, differences in pairs, recall of the needed documents, tokens, cost. Example:
    kgdx evaluate options medqa.jsonl --llm MODEL --out run --max-calls 50000
    """
    from kgdx.cli import page_files
    from kgdx.evaluate.option_accuracy import OptionEvaluation, option_arm, varied
    from kgdx.evaluate.option_sets import contamination, permuted, read_option_set, sampled
    from kgdx.render.terminal.option_text import option_figures

    page_files.check(html, force=force)
    found = read_option_set(questions, asking.format)
    asked = permuted(sampled(found.questions, asking.sample, asking.seed), asking.seed)
    names = [each.strip() for each in answering.arms.split(",") if each.strip()]
    if answering.vary:
        names += list(varied(names[-1] if names else "thought", answering.vary))
    arms = [option_arm(each) for each in dict.fromkeys(names)]
    with inputs.graph(store) as graph:
        models, prices, at_once = _models(graph, arms, answering, budget, asked, asking)
        with options.progress_bar("questions", len(asked)) as advance:
            evaluation = OptionEvaluation(graph, arms, models, prices, asking.jobs or at_once, asking.seed, advance)
            result = evaluation.run(asked, asking.out)
            result |= {"format": found.format, "refused": list(found.refused)}
            result["contamination"] = contamination(graph.texts, asked)
    options.present(result, as_json, option_figures)
    if html is not None:
        from kgdx.render.pages.figure_pages import options_page

        page_files.write(html, lambda: options_page(result), force=force)


def _models(
    graph: Graph,
    arms: Sequence[OptionArm],
    answering: ModelOptions,
    budget: BudgetOptions,
    asked: Sequence[OptionQuestion],
    asking: QuestionOptions,
) -> tuple[dict[str, ChatModel], dict[str, Prices], int]:
    from kgdx.errors import UsageError
    from kgdx.evaluate.runner import CACHE
    from kgdx.evaluate.scripted_models import PREFIX
    from kgdx.evaluate.scripted_options import scripted_options
    from kgdx.llm.budget import Meter
    from kgdx.llm.connect import connect, described

    places = dict(each.partition("=")[::2] for each in answering.endpoint or ())
    if not all(name and "://" in url for name, url in places.items()):
        raise UsageError("--endpoint names no model and address", hint="as in tuned=http://127.0.0.1:8001/v1")
    models: dict[str, ChatModel] = {}
    prices: dict[str, Prices] = {}
    at_once, meter = 1, None
    cache = graph.settings.cache / "llm" / "answers.sqlite" if asking.out is None else asking.out / CACHE
    for name in dict.fromkeys([answering.llm, *(each.model for each in arms if each.model)]):
        if name is not None and name.startswith(PREFIX):
            models[name] = scripted_options(name, asked)
            continue
        require_budget(budget, graph.settings)
        access = _access(graph, name, places, budget, asking.jobs)
        meter = meter or Meter.of(access)
        options.remark(f"asking {described(access)}")
        called = name or access.model  # an arm names a model in this process with `transformers:` before it
        models[called] = connect(access, cache=cache, meter=meter)
        prices[called] = (access.price_in, access.price_out)
        at_once = max(at_once, access.concurrency)
    return models, prices, at_once


def _access(
    graph: Graph, name: str | None, places: Mapping[str, str], budget: BudgetOptions, jobs: int | None
) -> LlmAccess:
    """How a model is asked: as it is set, within the budget, as many requests at a time as questions."""
    from kgdx.api.questions import limited

    access = limited(graph.settings.llm(name), budget.limits())
    url = places.get(access.model, access.base_url)
    return replace(access, base_url=url, concurrency=jobs or access.concurrency)
