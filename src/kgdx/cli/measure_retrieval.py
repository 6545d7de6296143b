"""The command that compares ways to retrieve diseases, and models that re-order what was retrieved."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgdx.cli import inputs, output
from kgdx.cli.option_groups import Cases, OnSplit, Out, Sharing, held_out_of, listed, require_budget, through
from kgdx.cli.options import BudgetOptions, Json, Store, flag, option
from kgdx.files.private import private_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgdx.api import Graph
    from kgdx.case import Case, Failure
    from kgdx.evaluate.retrieval_accuracy import Arm, RetrievedCases

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


@dataclass(frozen=True, slots=True)
class RetrievalFiles:
    """What is written besides."""

    errors: Path | None = option(None, "FILE", "What became of each patient: .csv, .tsv or .jsonl.")
    out: Out = None


def retrieve(
    cases: Cases,
    arms: ArmOptions,
    layer_two: RerankArmOptions,
    budget: BudgetOptions,
    written: RetrievalFiles,
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
    from kgdx.errors import UsageError
    from kgdx.evaluate import retrieval_accuracy as accuracy
    from kgdx.evaluate.runner import Runner, finish, kept, numbered
    from kgdx.render.terminal.accuracy_text import retrieval_figures

    if layer_two.rerank:
        sharing.refuse_ray("--rerank")
    if written.errors is not None and written.errors.suffix not in (*accuracy.SEPARATORS, ".jsonl"):
        hint = "end it in .csv, .tsv or .jsonl"
        raise UsageError(f"{written.errors.name!r} does not say its form", hint=hint)
    given = list(held_out_of(split, inputs.many(cases)))
    with inputs.graph(store) as graph:
        chosen, not_run = _arms(arms, graph)
        chosen += _reordered(chosen[0], arms, layer_two, budget, graph)
        measured = _measured(graph, arms, chosen)
        at = accuracy.whole_numbers(arms.at, "--at", 1, measured.size)
        _announce(chosen, given)
        about = {"graph": graph.fingerprint, "candidates": arms.candidates, **_about(chosen, layer_two)}
        names = [arm.name for arm in chosen]
        with kept(written.out, about, given) as journal, output.progress_bar("patients", len(given)) as advance:
            runner = Runner(journal, progress=advance)
            if layer_two.rerank:
                set_for_each = (graph.settings.llm(name).concurrency for name in listed(layer_two.rerank))
                runner.jobs = sharing.jobs or max(set_for_each)
            else:
                runner.through = through(sharing, partial(_measured, wanted=arms), graph, share=4)
            records = runner.run(numbered(given), names, measured)
            runner.check()
            not_run |= {name: str(error) for name, error in runner.not_run.items()}
            result = accuracy.retrieval_figures(records, names, measured.size, at)
            result["not_run"] = not_run | result["not_run"]
            finish(written.out, records, result)
    if written.errors is not None:
        lines = accuracy.patient_lines(records, written.errors.suffix)
        private_file(written.errors).write_text(lines, encoding="utf-8")
        output.remark(f"what became of each patient: {written.errors}")
    output.present(result, as_json, retrieval_figures)


def _measured(graph: Graph, wanted: ArmOptions, chosen: Sequence[Arm] | None = None) -> RetrievedCases:
    """What ranks cases by arms; by default those that re-order nothing."""
    from kgdx.evaluate.labels import Labels
    from kgdx.evaluate.rank_accuracy import words_reader
    from kgdx.evaluate.retrieval_accuracy import RetrievedCases, of_source

    among = None if wanted.candidates is None else of_source(graph.snapshot, graph.ranker, wanted.candidates)
    arms, labels = _arms(wanted, graph)[0] if chosen is None else chosen, Labels.of_graph(graph)
    return RetrievedCases(arms, graph.ranker, graph.snapshot, labels, words_reader(graph), among)


def _about(arms: Sequence[Arm], how: RerankArmOptions) -> dict[str, Any]:
    """What has to be the same when a comparison goes on: the scorers and weights of each arm, and how is re-ordered."""
    from kgdx.evaluate.retrieval_accuracy import ModelOrder

    prompts = sorted({arm.reorder.about for arm in arms if isinstance(arm.reorder, ModelOrder)})
    layer_two = {"prompts": [list(each) for each in prompts], "weight": how.rerank_weight, "shuffle": how.shuffle}
    return {"arms": {arm.name: arm.method.ranker.digest for arm in arms}, **(layer_two if prompts else {})}


def _arms(wanted: ArmOptions, graph: Graph) -> tuple[list[Arm], dict[str, str]]:
    from kgdx.errors import UsageError
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

    require_budget(budget, graph.settings)
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


def _announce(arms: Sequence[Arm], cases: Sequence[Case | Failure]) -> None:
    from kgdx.case import Failure
    from kgdx.evaluate.retrieval_accuracy import ModelOrder

    known = [case for case in cases if not isinstance(case, Failure)]
    for arm in arms:
        if isinstance(arm.reorder, ModelOrder):
            output.remark(f"{arm.name}: {arm.reorder.estimate(known, len(known))}")
