"""Commands that measure accuracy: of reading, ranking, evidence and answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kgdx.cli import inputs, output
from kgdx.cli.measure_inquiry import consult, inquiry
from kgdx.cli.measure_retrieval import retrieve
from kgdx.cli.option_groups import Cases, OnSplit, Out, Seed, Sharing, asked_model, held_out_of, require_budget, through
from kgdx.cli.options import (
    OUT,
    BudgetOptions,
    CaseBank,
    Encoder,
    Force,
    Html,
    Json,
    Store,
    add_typer,
    argument,
    flag,
    option,
)
from kgdx.files.private import private_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kgdx.answer.option_questions import OptionQuestion
    from kgdx.api import Graph
    from kgdx.config import LlmAccess
    from kgdx.evaluate.judges import Judge
    from kgdx.evaluate.option_accuracy import OptionArm
    from kgdx.evaluate.question_sets import BenchmarkQuestion, Language
    from kgdx.evaluate.question_sets import Split as SplitName
    from kgdx.llm.chat import ChatModel, Prices

Questions = Annotated[Path, typer.Argument(metavar="FILE", help="Question set, JSON lines; or .gz.")]
OF_SPLIT = "Only questions of this split: tuned, held_out."
PLANS = "Who plans: a model at KGDX_LLM_BASE_URL, or scripted:right, scripted:half-right, scripted:malformed, "


def register(app: typer.Typer) -> None:
    every = (text, rank, retrieve, questions, recall, answers, consult, inquiry)
    add_typer(app, "evaluate", "Measure accuracy on annotated data.", *every, options=option_questions)


def text(
    documents: str = argument(..., "FILE|-", 'JSON lines {"id", "text", "mentions"}; or .gz.'),
    encoder: Encoder = False,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Measure how well findings are read from text.

    A mention is [start, end, text, HPO id]; a document counts as the set of its terms.
    """
    from kgdx.evaluate.text_accuracy import evaluate_text

    with inputs.graph(store, encoder=encoder) as graph:
        result = evaluate_text(graph.reader, inputs.json_lines(documents))
    from kgdx.render.terminal.accuracy_text import text_accuracy

    output.present(result, as_json, text_accuracy)


def rank(
    cases: Cases,
    sharing: Sharing,
    known: Literal["all", "first"] = option(
        "all", "WHAT", "Of DDXPlus's patients: all evidences, or the first complaint."
    ),
    case_bank: CaseBank = None,
    split: OnSplit = None,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Measure how often the diagnosis ranks first.

    Phenopackets, JSON lines {"id", "text"|"phrases"|"observed", "excluded", "diseases"}, tables, DDXPlus, OSCE cases,
    dialogues (DX, IMCS21). An id, an exact cross-reference or a name of a disease counts. A case that fails is a miss.
    """
    from kgdx.evaluate.rank_accuracy import RANKS, rank_figures, ranked_cases
    from kgdx.evaluate.runner import Runner, numbered
    from kgdx.render.terminal.accuracy_text import rank_accuracy

    source, task = held_out_of(split, inputs.many(cases, known)), partial(ranked_cases, case_bank=bool(case_bank))
    with inputs.graph(store) as graph, output.progress_bar("cases", inputs.lines(cases)) as advance:
        runner = Runner(progress=advance, through=through(sharing, task, graph, share=16))
        records = runner.run(numbered(source), [RANKS], None if sharing.shares else task(graph))
        result = rank_figures(records, graph.ranker.model.columns.size)
    output.present(result, as_json, rank_accuracy)


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """How questions are asked."""

    rounds: int = option(5, "N", "Most plans of a model.", min=1, max=50)
    split: str | None = option(None, "NAME", OF_SPLIT)
    unstrict: bool = flag("Let an answer add what the model knows, marked as such.")
    jobs: int | None = option(None, "N", "Questions at the same time; KGDX_LLM_CONCURRENCY.", min=1, max=64)

    def at_once(self, access: LlmAccess | None) -> int:
        return self.jobs or (1 if access is None else access.concurrency)


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """How answers are judged."""

    judge: str | None = option(None, "MODEL", "Who judges; KGDX_JUDGE_MODEL. none: make the answers alone.")
    ragas: bool = flag("Judge by RAGAS's numeric metric; needs kgdx[ragas].")
    margin: float = option(0.05, "X", "Smallest difference of scores that is no tie.", min=0.0, max=1.0)
    seed: Seed = 0


def questions(
    source: str = option("chinese_kg", "NAME", "Whose relations are asked for."),
    diseases: int = option(100, "N", "Diseases asked about for each action; 0 for all.", min=0),
    with_options: bool = flag("Make option questions, N of each kind, from all relations.", "--options"),
    cases: str | None = option(None, "FILE", "With --options: ask for the diagnosis of these cases instead."),
    language: Literal["zh", "en"] | None = option(None, "zh|en", "Only questions in this language."),
    split: Literal["tuned", "held_out"] | None = option(None, "NAME", OF_SPLIT),
    seed: Seed = 0,
    to: Path | None = option(None, "FILE", "File to write; standard output by default.", *OUT),
    store: Store = None,
) -> None:
    """Make a question set from the graph's relations.

    One question for each action, disease, language and split of wordings, with what the graph has to give; or option
    questions. Example: kgdx evaluate questions --options --diseases 50 --out questions.jsonl
    """
    from kgdx.errors import UsageError
    from kgdx.evaluate.question_sets import LANGUAGES, SPLITS

    languages = tuple(each for each in LANGUAGES if language in (None, each))
    splits = tuple(each for each in SPLITS if split in (None, each))
    if cases is not None and not with_options:
        raise UsageError("--cases goes with --options", hint="add it")
    with inputs.graph(store) as graph:
        if with_options:
            text = _option_questions(graph, cases, diseases or NO_LIMIT, languages, splits, seed)
        else:
            from kgdx.evaluate.answer_pairs import CompiledTemplates
            from kgdx.evaluate.question_sets import generate, write_questions

            about: dict[str, Any] = {"source": source, "diseases": diseases or None, "seed": seed}
            made = generate(CompiledTemplates(graph), **about, languages=languages, splits=splits)
            text = write_questions(made)
    if to is None:
        print(text, end="")
    else:
        private_file(to).write_text(text, encoding="utf-8")
        output.remark(f"{text.count(chr(10)):,} questions written to {to}")


NO_LIMIT = 1_000_000


def _option_questions(
    graph: Graph,
    cases: str | None,
    each: int,
    languages: tuple[Language, ...],
    splits: tuple[SplitName, ...],
    seed: int,
) -> str:
    """Option questions as JSON lines; a case that makes none is told."""
    from kgdx.case import Case
    from kgdx.errors import CaseError
    from kgdx.evaluate.generated_options import OptionSettings, case_questions, generate_options
    from kgdx.evaluate.option_sets import write_option_questions

    wanted = OptionSettings(each, seed, languages, splits)
    if cases is None:
        return "".join(f"{line}\n" for line in write_option_questions(generate_options(graph, wanted)))
    given = [one for one in inputs.many(cases) if isinstance(one, Case)]
    found = list(case_questions(graph, given, wanted))
    refused = [one for one in found if isinstance(one, CaseError)]
    for error in refused[:5]:
        output.remark(str(error))
    if len(refused) > 5:
        output.remark(f"… and {len(refused) - 5:,} more cases make no question")
    lines = write_option_questions(one for one in found if not isinstance(one, CaseError))
    return "".join(f"{line}\n" for line in lines)


def recall(
    file: Questions,
    way: PlanOptions,
    llm: str | None = option(None, "MODEL", f"{PLANS}scripted:adversarial; rules when left out."),
    details: Path | None = option(None, "FILE", "Write what was measured of each question, JSON lines."),
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Measure, without a judge, what the evidence holds.

    Recall by action, ranks of inferred diseases, citations that hold, rounds, tokens, time. Example: kgdx evaluate
    recall questions.jsonl --llm scripted:right
    """
    import json

    from kgdx.evaluate.answer_pairs import GraphAsker
    from kgdx.evaluate.evidence_recall import evaluate_recall
    from kgdx.evaluate.question_sets import chosen, read_questions

    asked = chosen(read_questions(file), way.split)
    model, access = (None, None) if llm is None else _model(llm, asked, None)
    with inputs.graph(store) as graph, output.progress_bar("questions", len(asked)) as advance:
        asker = GraphAsker(graph, rounds=way.rounds, strict=not way.unstrict)
        result = evaluate_recall(asked, asker, model, jobs=way.at_once(access), progress=advance)
    rows = result.pop("questions")
    if details is not None:
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        private_file(details).write_text(text, encoding="utf-8")
    from kgdx.render.terminal.accuracy_text import recall_figures

    output.present(result, as_json, recall_figures)


def answers(
    file: Questions,
    out: Path = option(..., "FOLDER", "Where finished work is kept.", *OUT),
    *,
    way: PlanOptions,
    judging: JudgeOptions,
    spending: BudgetOptions,
    llm: str | None = option(None, "MODEL", "Who answers; KGDX_LLM_MODEL."),
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Compare a model's answers with and without the graph, in pairs.

    A judge scores each blindly from 0 to 1. Interrupted, it goes on where it stopped when run again. Example: kgdx
    evaluate answers questions.jsonl --out run --llm MODEL --judge JUDGE
    """
    from kgdx.errors import UsageError
    from kgdx.evaluate.answer_pairs import GraphAsker, PairedEvaluation
    from kgdx.evaluate.question_sets import chosen, read_questions
    from kgdx.evaluate.runner import CACHE
    from kgdx.llm.budget import Budget
    from kgdx.render.terminal.accuracy_text import paired_figures

    asked = chosen(read_questions(file), way.split)
    model, access = _model(llm, asked, out / CACHE)
    judge = _judge(judging, asked, out / CACHE)
    prices = (0.0, 0.0) if access is None else (access.price_in, access.price_out)
    if spending.max_cost is not None and not any(prices):
        hint = "set KGDX_LLM_PRICE_IN and KGDX_LLM_PRICE_OUT"
        raise UsageError("--max-cost needs prices, and none are set", hint=hint)
    with inputs.graph(store) as graph, output.progress_bar("questions", len(asked)) as advance:
        evaluation = PairedEvaluation(
            model,
            GraphAsker(graph, rounds=way.rounds, strict=not way.unstrict).answered,
            judge,
            about={"graph": graph.fingerprint, "rounds": way.rounds, "strict": not way.unstrict},
            prices=prices,
            budget=Budget(spending.max_calls, spending.max_tokens, spending.max_cost, spending.max_seconds),
            margin=judging.margin,
            seed=judging.seed,
            jobs=way.at_once(access),
            progress=advance,
        )
        result = evaluation.run(asked, out)
    output.present(result, as_json, lambda figures: paired_figures(figures, out))


def _model(
    name: str | None, questions: tuple[BenchmarkQuestion, ...], cache: Path | None
) -> tuple[ChatModel, LlmAccess | None]:
    from kgdx.evaluate.scripted_models import scripted

    return asked_model(name, lambda kind: scripted(kind, questions), cache)


def _judge(how: JudgeOptions, questions: tuple[BenchmarkQuestion, ...], cache: Path) -> Judge | None:
    from kgdx.config import Settings
    from kgdx.evaluate.judges import ModelJudge
    from kgdx.evaluate.scripted_models import PREFIX, scripted

    if how.judge == "none":
        return None
    if how.judge is not None and how.judge.startswith(PREFIX):
        return ModelJudge(scripted(how.judge, questions))
    access = Settings.load().judge(how.judge)
    if how.ragas:
        from kgdx.evaluate.judges import RagasJudge

        return RagasJudge.connect(access)
    return ModelJudge(inputs.connected(access, cache)[0], (access.price_in, access.price_out))


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
    questions: Path = argument(..., "FILE", "MedQA, MedMCQA, MMLU, GPQA, Medbullets, MedXpertQA, or our own; or .gz."),
    *,
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
    from kgdx.evaluate.option_accuracy import OptionEvaluation, option_arm, varied
    from kgdx.evaluate.option_sets import contamination, permuted, read_option_set, sampled
    from kgdx.render.terminal.accuracy_text import option_figures

    output.check(html, force=force)
    found = read_option_set(questions, asking.format)
    asked = permuted(sampled(found.questions, asking.sample, asking.seed), asking.seed)
    names = [each.strip() for each in answering.arms.split(",") if each.strip()]
    if answering.vary:
        names += list(varied(names[-1] if names else "thought", answering.vary))
    arms = [option_arm(each) for each in dict.fromkeys(names)]
    with inputs.graph(store) as graph:
        models, prices, at_once = _models(graph, arms, answering, budget, asked, asking)
        with output.progress_bar("questions", len(asked)) as advance:
            evaluation = OptionEvaluation(graph, arms, models, prices, asking.jobs or at_once, asking.seed, advance)
            result = evaluation.run(asked, asking.out)
            result |= {"format": found.format, "refused": list(found.refused)}
            result["contamination"] = contamination(graph.texts, asked)
    output.present(result, as_json, option_figures)
    if html is not None:
        from kgdx.render.pages.figure_pages import options_page

        output.write(html, lambda: options_page(result), force=force)


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
    from kgdx.evaluate.scripted_models import PREFIX, scripted_options
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
        output.remark(f"asking {described(access)}")
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
