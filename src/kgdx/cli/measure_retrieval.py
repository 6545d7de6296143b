"""The command that compares ways to retrieve diseases, and models that re-order what was retrieved."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgdx.cli import inputs, options
from kgdx.cli.held_out_options import OnSplit, held_out_of, working
from kgdx.cli.options import Budget, Json, Store, grouped
from kgdx.cli.rerank_options import require_budget
from kgdx.cli.share_options import Sharing
from kgdx.files.private import private_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kgdx.api import Graph
    from kgdx.case import Case, Failure
    from kgdx.evaluate.retrieval_accuracy import Arm, RetrievalAccuracy, Some, Told

ALL = "all"


@dataclass(frozen=True, slots=True)
class Arms:
    """What is compared."""

    methods: Annotated[
        str, typer.Option(metavar="NAMES", help="Ways to retrieve, several with commas; the first is the baseline.")
    ] = ALL
    without: Annotated[
        str, typer.Option(metavar="SCORERS", help="Also each method without one of these of its scorers.")
    ] = ""
    candidates: Annotated[
        str | None, typer.Option(metavar="SOURCE", help="Compare only the diseases that this source describes.")
    ] = None
    at: Annotated[str, typer.Option("--at", metavar="K,…", help="Ranks at which is measured.")] = "1,10,20,50"
    keep: Annotated[
        str, typer.Option(metavar="K,…", help="Candidates that are retrieved, and re-ordered; each K is an arm.")
    ] = "100"


@dataclass(frozen=True, slots=True)
class LayerTwo:
    """What re-orders the candidates of the first method."""

    rerank: Annotated[
        str, typer.Option(metavar="MODELS", help="Models that re-order what the first method retrieved.")
    ] = ""
    prompt: Annotated[
        str, typer.Option(metavar="NAMES|FILES", help="How: vanilla, cot, or files of `learn prompt`; each is an arm.")
    ] = "vanilla"
    rerank_weight: Annotated[
        float, typer.Option(metavar="SHARE", min=0, max=1, help="Of its order beside the score; 1: the order alone.")
    ] = 1.0
    shuffle: Annotated[
        int, typer.Option(metavar="N", min=0, max=20, help="Ask N times more, in random orders; measures agreement.")
    ] = 0


@dataclass(frozen=True, slots=True)
class Kept:
    """What is written besides."""

    errors: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What became of each patient: .csv, .tsv or .jsonl.")
    ] = None
    out: Annotated[
        Path | None,
        typer.Option("--out", "--output", "-o", metavar="FOLDER", help="Keep finished patients here; goes on."),
    ] = None


@grouped
def retrieve(
    cases: Annotated[
        str, typer.Argument(metavar="FILE|FOLDER|-", help="Cases that state their diagnosis, in any form; or .gz.")
    ],
    arms: Arms,
    layer_two: LayerTwo,
    budget: Budget,
    kept: Kept,
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
    from kgdx.evaluate.retrieval_report import check_suffix, checked_at, patient_lines, retrieval_report

    if layer_two.rerank:
        sharing.refuse("--rerank")
    if kept.errors is not None:
        check_suffix(kept.errors)
    given = list(held_out_of(split, inputs.many(cases)))
    with inputs.graph(store) as graph:
        chosen, not_run = _arms(arms, graph)
        chosen += _reordered(chosen[0], arms, layer_two, budget, graph)
        measured = _measured(arms, chosen, graph)
        at = checked_at(arms.at, measured.size)
        _announce(chosen, given)
        about = {"graph": graph.fingerprint, "candidates": arms.candidates, **_about(chosen, layer_two)}
        with working(kept.out, given, about) as work, options.progress_bar("patients", len(given)) as advance:
            if sharing.shares:
                measured.run(given, work, advance, lambda some: sharing.out(Retrieving(arms), some, graph, share=4))
            else:
                measured.run(given, work, advance)
            result = {**retrieval_report(measured, at), "not_run": not_run}
            if work is not None:
                work.finish(work.records, result)
    if kept.errors is not None:
        private_file(kept.errors).write_text(patient_lines(measured.found, kept.errors.suffix), encoding="utf-8")
        options.remark(f"what became of each patient: {kept.errors}")
    if as_json:
        options.write_json(result)
    else:
        from kgdx.render.terminal.retrieval_text import retrieval_figures

        options.show(retrieval_figures(result))


@dataclass(frozen=True, slots=True)
class Retrieving:
    """The work of ranking cases by arms that re-order nothing."""

    arms: Arms

    def on(self, graph: Graph) -> Callable[[Some], list[Told]]:
        """Return what ranks some cases."""
        measured = _measured(self.arms, _arms(self.arms, graph)[0], graph)
        return lambda some: list(measured.told(some))


def _measured(wanted: Arms, chosen: Sequence[Arm], graph: Graph) -> RetrievalAccuracy:
    """Return what ranks cases by arms.

    Raises:
        UsageError: The source of the candidates describes none.
    """
    from kgdx.evaluate.labels import Labels
    from kgdx.evaluate.retrieval_accuracy import RetrievalAccuracy, of_source
    from kgdx.evaluate.words_reader import words_reader

    among = None if wanted.candidates is None else of_source(graph.snapshot, graph.ranker, wanted.candidates)
    labels = Labels(graph.ranker, graph.snapshot, lambda: graph.names)
    return RetrievalAccuracy(chosen, graph.ranker, graph.snapshot, labels, words_reader(graph), among)


def _about(arms: Sequence[Arm], how: LayerTwo) -> dict[str, Any]:
    """What has to be the same when a comparison goes on: the scorers and weights of each arm, and how is re-ordered."""
    from kgdx.evaluate.model_order import ModelOrder

    prompts = sorted({arm.reorder.about for arm in arms if isinstance(arm.reorder, ModelOrder)})
    layer_two = {"prompts": [list(each) for each in prompts], "weight": how.rerank_weight, "shuffle": how.shuffle}
    return {"arms": {arm.name: arm.method.ranker.digest for arm in arms}, **(layer_two if prompts else {})}


def _arms(wanted: Arms, graph: Graph) -> tuple[list[Arm], dict[str, str]]:
    """What is measured, and why the rest of all methods is not.

    Raises:
        UsageError: There is no such method, or none that this graph can be asked by.
    """
    from kgdx.errors import KgdxError, UsageError
    from kgdx.evaluate.retrieval_accuracy import Arm
    from kgdx.rank.retrieval import FUSED, METHODS

    every = wanted.methods.strip() == ALL
    names = [FUSED, *(each for each in METHODS if each != FUSED)] if every else _listed(wanted.methods)
    if not names:
        raise UsageError("no method is named", hint=f"some of {', '.join(METHODS)}")
    arms: list[Arm] = []
    not_run: dict[str, str] = {}
    left_out = _listed(wanted.without)
    most = max(_numbers(wanted.keep))
    for name in dict.fromkeys(names):
        kind = METHODS.get(name)
        try:
            opened: Any = kind.open(graph.snapshot, graph.ranker.model)
        except KgdxError as error:
            if not every:
                raise
            not_run[name] = str(error)
            continue
        arms.append(Arm(name, opened, kept=most))
        for scorer in left_out:
            weights = {each: part.weight for each, part in kind.weights().scorers.items() if each != scorer}
            if scorer in opened.ranker.scorers and weights:
                less = kind.open(graph.snapshot, graph.ranker.model, weights)
                arms.append(Arm(f"{name} without {scorer}", less, kept=most))
    if unused := [each for each in left_out if not any(arm.name.endswith(f" without {each}") for arm in arms)]:
        used = sorted({scorer for arm in arms for scorer in arm.method.ranker.scorers})
        raise UsageError(
            f"no method here has a scorer {unused[0][:40]!r} to leave out", hint=f"one of {', '.join(used)}"
        )
    return arms, not_run


def _reordered(first: Arm, wanted: Arms, how: LayerTwo, budget: Budget, graph: Graph) -> list[Arm]:
    """The first arm with each model, prompt and number of candidates.

    Raises:
        UsageError: There is no such prompt, or nothing limits the cost.
        ConfigError: No endpoint is set.
    """
    models = _listed(how.rerank)
    if not models:
        return []
    from kgdx.api.questions import connected
    from kgdx.episode.policy import make_policy
    from kgdx.evaluate.model_order import ModelOrder
    from kgdx.evaluate.retrieval_accuracy import Arm
    from kgdx.policies.rerank import RerankPolicy

    require_budget(budget, graph.settings)
    found = []
    for name in models:
        model, prices = connected(graph.settings, name, budget.limits())
        at_once = graph.settings.llm(name).concurrency
        for prompt in _listed(how.prompt):
            for kept in _numbers(wanted.keep):
                said = {"candidates": kept, "prompt": prompt, "weight": how.rerank_weight, "shuffles": how.shuffle}
                policy = make_policy("rerank", said, explain=0)
                assert isinstance(policy, RerankPolicy)
                order = ModelOrder(graph, model, policy, prices=prices, concurrency=at_once)
                title = f"{first.name} + {name} ({policy.prompt.name}, {kept})"
                found.append(Arm(title, first.method, order, kept))
    return found


def _announce(arms: Sequence[Arm], cases: Sequence[Case | Failure]) -> None:
    """Say what the models will take at most, before any is asked."""
    from kgdx.case import Failure
    from kgdx.evaluate.model_order import ModelOrder

    known = [case for case in cases if not isinstance(case, Failure)]
    for arm in arms:
        if isinstance(arm.reorder, ModelOrder):
            options.remark(f"{arm.name}: {arm.reorder.estimate(known, len(known))}")


def _numbers(given: str) -> list[int]:
    """Numbers of candidates that are re-ordered.

    Raises:
        UsageError: They are none.
    """
    from kgdx.errors import UsageError

    parts = _listed(given)
    if not parts or not all(each.isascii() and each.isdigit() and 2 <= int(each) <= 500 for each in parts):
        raise UsageError(f"--keep {given[:40]!r} is no list of numbers from 2 to 500", hint="as in --keep 50,80,100")
    return sorted({int(each) for each in parts})


def _listed(given: str) -> list[str]:
    return [each.strip() for each in given.split(",") if each.strip()]
