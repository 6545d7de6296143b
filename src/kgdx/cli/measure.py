"""Commands that measure on cases: how findings are read, diseases ranked and retrieved, and questions chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from kgdx.cli import inputs, output
from kgdx.cli.inputs import listed
from kgdx.cli.measure_answers import answers, consult, option_questions, questions, recall
from kgdx.cli.options import (
    BudgetOptions,
    CaseBank,
    Cases,
    Encoder,
    Force,
    Html,
    Json,
    OnSplit,
    Out,
    Sample,
    Seed,
    Sharing,
    Store,
    add_typer,
    argument,
    flag,
    option,
)
from kgdx.errors import UsageError
from kgdx.files.private import private_file

if TYPE_CHECKING:
    from kgdx.api import Graph
    from kgdx.case import Case, Failure
    from kgdx.evaluate.inquiries import Answers, Setting
    from kgdx.evaluate.retrieval_accuracy import Arm, RetrievedCases


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
    output.figures("text", result, as_json)


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

    source, task = _held_out(cases, split, known), partial(ranked_cases, case_bank=bool(case_bank))
    with inputs.graph(store) as graph, output.progress_bar("cases", inputs.lines(cases)) as advance:
        runner = Runner(progress=advance, through=sharing.through(task, graph, share=16))
        records = runner.run(numbered(source), [RANKS], None if sharing.shares else task(graph))
        result = rank_figures(records, graph.ranker.model.columns.size)
    output.figures("rank", result, as_json)


def _held_out(cases: str, split: Path | None, known: Literal["all", "first"] = "all") -> Iterator[Case | Failure]:
    """Read the cases that a split holds out; all of them where there is none."""
    from kgdx.case.splits import Split

    given = inputs.many(cases, known)
    return given if split is None else iter(Split.read(split).only(given))


ALL = "all"
KEEP = (2, 500)


@dataclass(frozen=True, slots=True)
class ArmOptions:
    """What is compared."""

    methods: str = option(ALL, "NAMES", "Ways to retrieve, several with commas; the first is the baseline.")
    without: str = option("", "SCORERS", "Also each method without these of its scorers, one by one, or a+b.")
    candidates: str | None = option(None, "SOURCE", "Compare only the diseases that this source describes.")
    at: str = option("1,10,20,50", "K,…", "Ranks at which is measured.")
    keep: str = option("100", "K,…", "Candidates that are retrieved, and re-ordered; each K is an arm.")


@dataclass(frozen=True, slots=True)
class RerankArmOptions:
    """What re-orders the candidates of the first method."""

    rerank: str = option("", "MODELS", "Models that re-order what the first method retrieved.")
    prompt: str = option("vanilla", "NAMES|FILES", "How: vanilla, cot, or files of `learn prompt`; each is an arm.")
    rerank_weight: float = option(1.0, "SHARE", "Of its order beside the score; 1: the order alone.", min=0, max=1)
    alone: bool = flag("Also what each model names without the graph.")
    shuffle: int = option(0, "N", "Ask N times more, in random orders; measures agreement.", min=0, max=20)


def retrieve(
    cases: Cases,
    arms: ArmOptions,
    layer_two: RerankArmOptions,
    budget: BudgetOptions,
    errors: Path | None = option(None, "FILE", "What became of each patient: .csv, .tsv or .jsonl."),
    out: Out = None,
    *,
    sharing: Sharing,
    split: OnSplit = None,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Compare ways to retrieve the diagnosis.

    Hit@K and NDCG@K with intervals, differences in pairs, and for each patient where the diagnosis was lost; with
    --rerank after a model's re-ordering, too. Example: kgdx evaluate retrieve cases.jsonl --methods fused,bm25
    --errors errors.csv
    """
    from kgdx.case import Failure
    from kgdx.evaluate import retrieval_accuracy as accuracy
    from kgdx.evaluate.runner import Runner, finish, kept, numbered

    if layer_two.rerank:
        sharing.refuse_ray("--rerank")
    if errors is not None and errors.suffix not in (*accuracy.SEPARATORS, ".jsonl"):
        raise UsageError(f"{errors.name!r} does not say its form", hint="end it in .csv, .tsv or .jsonl")
    given = list(_held_out(cases, split))
    with inputs.graph(store) as graph:
        chosen, not_run = _arms(arms, graph)
        chosen += _reordered(chosen[0], arms, layer_two, budget, graph)
        measured = _measured(graph, arms, chosen)
        at = accuracy.whole_numbers(arms.at, "--at", 1, measured.size)
        orders = {arm.name: arm.reorder for arm in chosen if isinstance(arm.reorder, accuracy.ModelOrder)}
        patients = [case for case in given if not isinstance(case, Failure)]
        for name, order in orders.items():
            output.remark(f"{name}: {order.estimate(patients, len(patients))}")
        digests = {arm.name: arm.method.ranker.digest for arm in chosen}
        about: dict[str, Any] = {"graph": graph.fingerprint, "candidates": arms.candidates, "arms": digests}
        if orders:
            about["prompts"] = [list(each) for each in sorted({order.about for order in orders.values()})]
            about |= {"weight": layer_two.rerank_weight, "shuffle": layer_two.shuffle}
        names = [*digests]
        with kept(out, about, given) as journal, output.progress_bar("patients", len(given)) as advance:
            runner = Runner(journal, progress=advance)
            if layer_two.rerank:
                set_for_each = (graph.settings.llm(name).concurrency for name in listed(layer_two.rerank))
                runner.jobs = sharing.jobs or max(set_for_each)
            else:
                runner.through = sharing.through(partial(_measured, wanted=arms), graph, share=4)
            records = runner.run(numbered(given), names, measured)
            runner.check()
            not_run |= {name: str(error) for name, error in runner.not_run.items()}
            result = accuracy.retrieval_figures(records, names, measured.size, at)
            result["not_run"] = not_run | result["not_run"]
            finish(out, records, result)
    if errors is not None:
        private_file(errors).write_text(accuracy.patient_lines(records, errors.suffix), encoding="utf-8")
        output.remark(f"what became of each patient: {errors}")
    output.figures("retrieval", result, as_json)


def _measured(graph: Graph, wanted: ArmOptions, chosen: Sequence[Arm] | None = None) -> RetrievedCases:
    """What ranks cases by arms; by default those that re-order nothing."""
    from kgdx.evaluate.labels import Labels
    from kgdx.evaluate.rank_accuracy import words_reader
    from kgdx.evaluate.retrieval_accuracy import RetrievedCases, of_source

    among = None if wanted.candidates is None else of_source(graph.snapshot, graph.ranker, wanted.candidates)
    arms, labels = _arms(wanted, graph)[0] if chosen is None else chosen, Labels.of_graph(graph)
    return RetrievedCases(arms, graph.ranker, graph.snapshot, labels, words_reader(graph), among)


def _arms(wanted: ArmOptions, graph: Graph) -> tuple[list[Arm], dict[str, str]]:
    from kgdx.evaluate.retrieval_accuracy import Arm, whole_numbers
    from kgdx.evaluate.runner import able
    from kgdx.rank.retrieval import FUSED, METHODS

    every = wanted.methods.strip() == ALL
    names = [FUSED, *(each for each in METHODS if each != FUSED)] if every else listed(wanted.methods)
    if not names:
        raise UsageError("no method is named", hint=f"some of {', '.join(METHODS)}")
    kinds = {name: METHODS.get(name) for name in dict.fromkeys(names)}
    opened, not_run = able(kinds, lambda name: kinds[name].open(graph.snapshot, graph.ranker.model))
    arms: list[Arm] = []
    left_out, most = listed(wanted.without), max(whole_numbers(wanted.keep, "--keep", *KEEP))
    for method in opened:
        arms.append(Arm(method.name, method, kept=most))
        for scorer in left_out:
            some = {*scorer.split("+")}
            weights = {each: part.weight for each, part in method.weights().scorers.items() if each not in some}
            if some <= {*method.ranker.scorers} and weights:
                less = type(method).open(graph.snapshot, graph.ranker.model, weights)
                arms.append(Arm(f"{method.name} without {scorer}", less, kept=most))
    if unused := [each for each in left_out if not any(arm.name.endswith(f" without {each}") for arm in arms)]:
        used = sorted({scorer for arm in arms for scorer in arm.method.ranker.scorers})
        raise UsageError(
            f"no method here has a scorer {unused[0][:40]!r} to leave out", hint=f"one of {', '.join(used)}"
        )
    return arms, not_run


def _reordered(first: Arm, wanted: ArmOptions, how: RerankArmOptions, budget: BudgetOptions, graph: Graph) -> list[Arm]:
    models = listed(how.rerank)
    if not models:
        return []
    from kgdx.api.questions import connected
    from kgdx.episode.policy import make_policy
    from kgdx.evaluate.retrieval_accuracy import Arm, ModelAlone, ModelOrder, whole_numbers
    from kgdx.policies.rerank import RerankPolicy

    budget.require(graph.settings)
    found = []
    for name in models:
        model, prices = connected(graph.settings, name, budget.limits())
        if how.alone:
            found.append(Arm(f"{name} alone", first.method, ModelAlone(graph, model)))
        for prompt in listed(how.prompt):
            for kept in whole_numbers(wanted.keep, "--keep", *KEEP):
                said = {"candidates": kept, "prompt": prompt, "weight": how.rerank_weight, "shuffles": how.shuffle}
                policy = make_policy("rerank", said, explain=0)
                assert isinstance(policy, RerankPolicy)
                order = ModelOrder(graph, model, policy, prices=prices)
                title = f"{first.name} + {name} ({policy.prompt.name}, {kept})"
                found.append(Arm(title, first.method, order, kept))
    return found


@dataclass(frozen=True, slots=True)
class InquiryOptions:
    """Who asks, and how it is answered."""

    selectors: str = option(
        "infogain,degree", "NAMES", "Who chooses questions; several with commas, settings behind a colon."
    )
    answers: str = option("named", "bare,named", "Whether a yes says which recorded finding it is; one or both.")
    questions: int = option(20, "N", "Questions to each patient.", min=1, max=500)
    ablate: str = option("", "WHAT", "Also without: graph, record, selector; several with commas.")
    kinds: str = option("phenotype,evidence", "KINDS", "Asked about: phenotype, evidence, symptom, test.")


@dataclass(frozen=True, slots=True)
class PatientOptions:
    """Which patients, and how they answer."""

    start: int = option(2, "N", "Findings known at first.", min=1, max=100)
    forgets: float = option(0.0, "SHARE", "Of the findings, not known.", min=0, max=1)
    contradicts: float = option(0.0, "SHARE", "Of the yes and no, turned round.", min=0, max=1)
    unsure: float = option(0.0, "SHARE", "Of the questions, answered with don't know.", min=0, max=1)
    sample: Sample = None
    seed: Seed = 0


def inquiry(
    cases: Cases,
    asking: InquiryOptions,
    patients: PatientOptions,
    out: Out = None,
    plot: Path | None = option(None, "FILE", "Accuracy by question as a picture, PNG; needs kgdx[plot]."),
    html: Html = None,
    force: Force = False,
    *,
    sharing: Sharing,
    split: OnSplit = None,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Measure how fast questions lead to the diagnosis.

    Each case plays a patient that answers from what it records. Example: kgdx evaluate inquiry cases.jsonl --selectors
    infogain,degree --answers bare,named
    """
    from kgdx.evaluate.inquiries import checked_selectors, evaluate_inquiry, inquiries_on, sampled
    from kgdx.evaluate.runner import Runner, finish, kept

    output.check(html, force=force)
    selectors, answers, setting = _wanted(asking, patients)
    given = list(_held_out(cases, split))
    if patients.sample is not None:
        given = sampled(given, patients.sample, patients.seed)
    with inputs.graph(store) as graph, output.progress_bar("patients", len(given)) as advance:
        task = partial(inquiries_on, setting=setting)
        about = {"graph": graph.fingerprint, "selectors": selectors, "answers": answers, "setting": asdict(setting)}
        checked_selectors(selectors)
        with kept(out, about, given) as journal:
            runner = Runner(journal, progress=advance, through=sharing.through(task, graph, share=2))
            result = evaluate_inquiry(task(graph), given, selectors, answers, runner)
            finish(out, runner.records, result)
    output.figures("inquiry", result, as_json)
    if plot is not None:
        from kgdx.render.plots import inquiry_plot

        inquiry_plot(result, plot)
        output.remark(f"picture written to {plot}")
    output.figures_page("inquiry", result, html, force=force)


def _wanted(asking: InquiryOptions, patients: PatientOptions) -> tuple[list[str], list[Answers], Setting]:
    from kgdx.episode.recorded_patient import Noise
    from kgdx.evaluate.inquiries import ABLATIONS, ANSWERS, Setting

    ablate, answers, kinds = (listed(each) for each in (asking.ablate, asking.answers, asking.kinds))
    for given, known in ((ablate, tuple(ABLATIONS)), (answers, ANSWERS)):
        if wrong := [each for each in given if each not in known]:
            raise UsageError(f"there is no {wrong[0][:40]!r} here", hint=f"one of {', '.join(known)}")
    names = [*listed(asking.selectors), *(name for each in ablate for name in ABLATIONS[each])]
    noise = Noise(patients.forgets, patients.contradicts, patients.unsure)
    setting = Setting(asking.questions, patients.start, patients.seed, noise, tuple(kinds))
    return list(dict.fromkeys(names)), [each for each in ANSWERS if each in answers], setting
