"""Commands that measure answers: question sets, recall of evidence, pairs of answers, consultations, options."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kgdx.cli import inputs, output
from kgdx.cli.inputs import listed
from kgdx.cli.options import OUT, BudgetOptions, Force, Html, Json, Out, Seed, Store, argument, flag, option
from kgdx.errors import CaseError, UsageError
from kgdx.files.private import private_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kgdx.answer.option_questions import OptionQuestion
    from kgdx.api import Graph
    from kgdx.config import LlmAccess
    from kgdx.evaluate.answer_pairs import GraphAsker
    from kgdx.evaluate.consultations import Cast
    from kgdx.evaluate.generated_options import OptionSettings
    from kgdx.evaluate.judges import Judge
    from kgdx.evaluate.option_accuracy import OptionArm
    from kgdx.evaluate.question_sets import BenchmarkQuestion
    from kgdx.llm.budget import Meter
    from kgdx.llm.chat import ChatModel, Prices

Questions = Annotated[Path, typer.Argument(metavar="FILE", help="Question set, JSON lines; or .gz.")]
OF_SPLIT = "Only questions of this split: tuned, held_out."


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """How questions are asked."""

    rounds: int = option(5, "N", "Most plans of a model.", min=1, max=50)
    split: str | None = option(None, "NAME", OF_SPLIT)
    unstrict: bool = flag("Let an answer add what the model knows, marked as such.")
    jobs: int | None = option(None, "N", "Questions at the same time; KGDX_LLM_CONCURRENCY.", min=1, max=64)

    def asker(self, graph: Graph) -> GraphAsker:
        from kgdx.evaluate.answer_pairs import GraphAsker

        return GraphAsker(graph, rounds=self.rounds, strict=not self.unstrict)

    def asked(self, file: Path) -> tuple[BenchmarkQuestion, ...]:
        from kgdx.evaluate.question_sets import chosen, read_questions

        return chosen(read_questions(file), self.split)


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """How answers are judged."""

    judge: str | None = option(None, "MODEL", "Who judges; KGDX_JUDGE_MODEL. none: make the answers alone.")
    ragas: bool = flag("Judge by RAGAS's numeric metric; needs kgdx[ragas].")
    margin: float = option(0.05, "X", "Smallest difference of scores that is no tie.", min=0.0, max=1.0)
    seed: Seed = 0

    def who(self, out: Path) -> Judge | None:
        from kgdx.config import Settings
        from kgdx.evaluate.judges import ModelJudge, RagasJudge

        if self.judge == "none":
            return None
        access = Settings.load().judge(self.judge)
        if self.ragas:
            return RagasJudge.connect(access)
        return ModelJudge(_model(access, out), (access.price_in, access.price_out))


def questions(
    source: str = option("chinese_kg", "NAME", "Whose relations are asked for."),
    diseases: int = option(100, "N", "Diseases asked about for each action; 0 for all.", min=0),
    with_options: bool = flag("Make option questions, N of each kind, from all relations.", "--options"),
    cases: str | None = option(None, "FILE", "With --options: ask for the diagnosis of these cases instead."),
    language: Literal["en", "zh"] | None = option(None, "en|zh", "Only questions in this language."),
    split: Literal["tuned", "held_out"] | None = option(None, "NAME", OF_SPLIT),
    seed: Seed = 0,
    to: Path | None = option(None, "FILE", "File to write; standard output by default.", *OUT),
    store: Store = None,
) -> None:
    """Make a question set from the graph's relations.

    One question for each action, disease, language and split of wordings, with what the graph has to give; or option
    questions. Example: kgdx evaluate questions --options --diseases 50 --out questions.jsonl
    """
    from kgdx.evaluate.answer_pairs import CompiledTemplates
    from kgdx.evaluate.generated_options import OptionSettings, generate_options
    from kgdx.evaluate.option_sets import write_option_questions
    from kgdx.evaluate.question_sets import LANGUAGES, SPLITS, generate, write_questions

    languages = tuple(each for each in LANGUAGES if language in (None, each))
    splits = tuple(each for each in SPLITS if split in (None, each))
    if cases is not None and not with_options:
        raise UsageError("--cases goes with --options", hint="add it")
    with inputs.graph(store) as graph:
        if with_options:
            wanted = OptionSettings(diseases or NO_LIMIT, seed, languages, splits)
            made = generate_options(graph, wanted) if cases is None else _of_cases(graph, cases, wanted)
            text = "".join(f"{line}\n" for line in write_option_questions(made))
        else:
            about: dict[str, Any] = {"source": source, "diseases": diseases or None, "seed": seed}
            text = write_questions(generate(CompiledTemplates(graph), **about, languages=languages, splits=splits))
    with output.written(to) as stream:
        stream.write(text)
    if to is not None:
        output.remark(f"{text.count(chr(10)):,} questions written to {to}")


NO_LIMIT = 1_000_000


def _of_cases(graph: Graph, cases: str, wanted: OptionSettings) -> Iterator[OptionQuestion]:
    """Yield a question for the diagnosis of each case, and tell which make none."""
    from kgdx.case import Case
    from kgdx.evaluate.generated_options import case_questions

    refused = []
    for made in case_questions(graph, (one for one in inputs.many(cases) if isinstance(one, Case)), wanted):
        if isinstance(made, CaseError):
            refused.append(made)
        else:
            yield made
    for error in refused[:5]:
        output.remark(str(error))
    if len(refused) > 5:
        output.remark(f"… and {len(refused) - 5:,} more cases make no question")


def recall(
    file: Questions,
    way: PlanOptions,
    budget: BudgetOptions,
    llm: str | None = option(None, "MODEL", "Who plans: a model at KGDX_LLM_BASE_URL; rules when left out."),
    details: Path | None = option(None, "FILE", "Write what was measured of each question, JSON lines."),
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Measure, without a judge, what the evidence holds.

    Recall by action, ranks of inferred diseases, citations that hold, rounds, tokens, time. Example: kgdx evaluate
    recall questions.jsonl --llm MODEL
    """
    import json

    from kgdx.evaluate.evidence_recall import evaluate_recall

    asked = way.asked(file)
    access = None if llm is None else budget.access(llm)
    model = None if access is None else _model(access)
    jobs = way.jobs or (1 if access is None else access.concurrency)
    with inputs.graph(store) as graph, output.progress_bar("questions", len(asked)) as advance:
        result = evaluate_recall(asked, way.asker(graph), model, jobs=jobs, progress=advance)
    rows = result.pop("questions")
    if details is not None:
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        private_file(details).write_text(text, encoding="utf-8")
    output.figures("recall", result, as_json)


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
    from kgdx.config import Settings
    from kgdx.evaluate.answer_pairs import PairedEvaluation
    from kgdx.llm.budget import Budget
    from kgdx.render.terminal.accuracy_text import paired_figures

    asked = way.asked(file)
    access, _ = Settings.load().llm(llm), spending.access(llm)  # the budget is of all runs into one folder
    judge, prices = judging.who(out), (access.price_in, access.price_out)
    with inputs.graph(store) as graph, output.progress_bar("questions", len(asked)) as advance:
        evaluation = PairedEvaluation(
            _model(access, out),
            way.asker(graph).answered,
            judge,
            about={"graph": graph.fingerprint, "rounds": way.rounds, "strict": not way.unstrict},
            prices=prices,
            budget=Budget(spending.max_calls, spending.max_tokens, spending.max_cost, spending.max_seconds),
            margin=judging.margin,
            seed=judging.seed,
            jobs=way.jobs or access.concurrency,
            progress=advance,
        )
        result = evaluation.run(asked, out)
    output.present(result, as_json, lambda figures: paired_figures(figures, out))


def _model(access: LlmAccess, out: Path | None = None, meter: Meter | None = None) -> ChatModel:
    """Return a model that is connected when it is first asked."""
    from kgdx.config import Settings
    from kgdx.evaluate.model_use import LazyModel
    from kgdx.evaluate.runner import CACHE
    from kgdx.llm.connect import connect, described

    def make() -> ChatModel:
        output.remark(f"asking {described(access)}")
        return connect(access, cache=(out or Settings.load().cache / "llm") / CACHE, meter=meter)

    return LazyModel(access.model, make)


@dataclass(frozen=True, slots=True)
class PlayerOptions:
    """Who plays what."""

    doctor: str = option(
        "medkgi",
        "NAMES",
        "medkgi, house, agentclinic, thought, mediq; several with commas, as house:certain=.9.",
    )
    ablate: str = option("", "WHAT", "Also without: graph, record, selector; several with commas.")
    llm: str | None = option(None, "MODEL", "Who plays the doctor: a model; else rules.")
    patient: str = option("rules", "MODEL", "Who plays patient and measurement; rules by default.")
    judge: str = option("none", "MODEL", "Who judges what the graph does not know; none by default.")
    stage: str | None = option(None, "MODEL", "Who parts vignettes into story, examination and tests.")

    def cast(self, out: Path | None, budget: BudgetOptions) -> Cast:
        """Return who plays; all models share one budget."""
        from kgdx.evaluate.consultations import Cast
        from kgdx.evaluate.judges import DiseaseJudge
        from kgdx.llm.budget import Meter

        named = (self.llm, self.patient, self.judge, self.stage)
        played = [None if name in (None, "rules", "none") else budget.access(name) for name in named]
        meter = next(map(Meter.of, filter(None, played)), Meter())
        doctor, patient, judge, stage = (None if each is None else _model(each, out, meter) for each in played)
        return Cast(doctor, patient, None if judge is None else DiseaseJudge(judge), meter.prices, stage)


def consult(
    cases: str = argument(..., "FILE|FOLDER|-", "OSCE cases: AgentClinic, CMB-Clin; with --stage, vignettes; or .gz."),
    *,
    players: PlayerOptions,
    budget: BudgetOptions,
    questions: int = option(20, "N", "Most turns of a consultation.", min=1, max=500),
    sample: int | None = option(None, "N", "Only the first N cases.", min=1),
    jobs: int = option(8, "N", "Consultations at the same time.", min=1, max=256),
    seed: Seed = 0,
    out: Out = None,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Measure doctors who consult simulated patients.

    Accuracy by exact match and by a judge, turns, coverage, what models got wrong. Example: kgdx evaluate consult
    cases.jsonl --doctor medkgi --ablate graph,record,selector
    """
    from itertools import islice

    from kgdx.evaluate.consultations import ConsultEvaluation, doctor, expanded

    names = list(dict.fromkeys(expanded(listed(players.doctor), listed(players.ablate))))
    doctors = [doctor(name, model=players.llm is not None, questions=questions) for name in names]
    given = list(islice(inputs.many(cases), sample))
    cast = players.cast(out, budget)
    with inputs.graph(store) as graph, output.progress_bar("patients", len(given)) as advance:
        result = ConsultEvaluation(graph, doctors, cast, seed, jobs, advance).run(given, out)
    output.figures("consult", result, as_json)


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Who answers, and how."""

    llm: str | None = option(None, "MODEL", "Who answers; KGDX_LLM_MODEL.")
    arms: str = option(
        "none,question,thought,thought+graph,parallel,iterative",
        "NAMES",
        "none, question, thought, graph, thought+graph, parallel, iterative, votes; several with commas, "
        "settings behind colons, another model behind @; the first two are the baselines.",
    )
    vary: str = option("", "SETTING=VALUES", "Also the last arm with each value: documents=1,4,8,16,32.")
    endpoint: list[str] | None = option(None, "MODEL=URL", "Where a model behind @ is asked; several times.")


def option_questions(
    questions: Path = argument(..., "FILE", "MedQA, MedMCQA, MMLU, GPQA, Medbullets, MedXpertQA, or our own; or .gz."),
    *,
    answering: ModelOptions,
    format: str | None = option(None, "NAME", "What the file is written as; by its fields."),
    sample: int | None = option(None, "N", "So many questions, by chance.", min=1),
    seed: Seed = 0,
    jobs: int | None = option(None, "N", "Questions at the same time; KGDX_LLM_CONCURRENCY.", min=1, max=1024),
    out: Out = None,
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

    output.check(html, force=force)
    found = read_option_set(questions, format)
    asked = permuted(sampled(found.questions, sample, seed), seed)
    names = listed(answering.arms)
    if answering.vary:
        names += list(varied(names[-1] if names else "thought", answering.vary))
    arms = [option_arm(each) for each in dict.fromkeys(names)]
    with inputs.graph(store) as graph:
        models, prices, at_once = _models(graph, arms, answering, budget, jobs, out)
        with output.progress_bar("questions", len(asked)) as advance:
            evaluation = OptionEvaluation(graph, arms, models, prices, jobs or at_once, seed, advance)
            result = evaluation.run(asked, out)
            result |= {"format": found.format, "refused": list(found.refused)}
            result["contamination"] = contamination(graph.texts, asked)
    output.figures("options", result, as_json)
    output.figures_page("options", result, html, force=force)


def _models(
    graph: Graph,
    arms: Sequence[OptionArm],
    answering: ModelOptions,
    budget: BudgetOptions,
    jobs: int | None,
    out: Path | None,
) -> tuple[dict[str, ChatModel], dict[str, Prices], int]:
    from kgdx.evaluate.runner import CACHE
    from kgdx.llm.budget import Meter
    from kgdx.llm.connect import connect, described

    places = dict(each.partition("=")[::2] for each in answering.endpoint or ())
    if not all(name and "://" in url for name, url in places.items()):
        raise UsageError("--endpoint names no model and address", hint="as in tuned=http://127.0.0.1:8001/v1")
    models: dict[str, ChatModel] = {}
    prices: dict[str, Prices] = {}
    at_once, meter = 1, None
    cache = (out or graph.settings.cache / "llm") / CACHE
    for name in dict.fromkeys([answering.llm, *(each.model for each in arms if each.model)]):
        budget.require(graph.settings)
        access = budget.access(name)
        url = places.get(access.model, access.base_url)
        access = replace(access, base_url=url, concurrency=jobs or access.concurrency)
        meter = meter or Meter.of(access)
        output.remark(f"asking {described(access)}")
        called = name or access.model  # an arm names a model in this process with `transformers:` before it
        models[called] = connect(access, cache=cache, meter=meter)
        prices[called] = (access.price_in, access.price_out)
        at_once = max(at_once, access.concurrency)
    return models, prices, at_once
