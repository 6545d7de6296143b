"""Measure the learned policy against fixed plans; `python -m benchmarks.policy STORE CASES --out FOLDER`.

Of CASES, those whose publication the annotations do not cite are parted into five folds by publication. For each fold
and seed a policy is trained on the other folds, and plays greedily with the patients of its own; the plans of
`kgdx.learn.fixed_plans` play with all. Writes the tables of docs/benchmarks.md in Markdown, with 95 % intervals over
publications, each of which counts the same, and the training curves as a picture. FOLDER keeps every run, so that an
interrupted measurement goes on; `--report` prints what is there, `--shipped SPLIT` how the policy that ships does with
the patients that its split holds out, and `--speed` how many choices a second are played.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import kgdx
from kgdx.api import Graph
from kgdx.case import Case, read_cases
from kgdx.case.splits import Split
from kgdx.files.known import write_whole
from kgdx.learn.bedside import Bedside, Played, Recorded, recorded
from kgdx.learn.fixed_plans import PLANS, FixedPlan
from kgdx.learn.group_policy import Settings
from kgdx.learn.policy_training import Training, unseen
from kgdx.learn.shares import shared
from kgdx.learn.ward import Ward
from kgdx.policies.choice_network import ChoiceNetwork, opened
from kgdx.rank.standing import Standings

FOLDS, KNOWN, RESAMPLES = 5, 2, 10_000
ASIDE = 6
"""Of so many publications one is set aside, on which settings were chosen: it is trained on, never measured with."""
KEPT = 20_000
"""Cases of which it is kept how the diseases stand."""
STATED = FixedPlan(8, 2.0)
"""The plan that was best among look-ups when the task was set."""
MEASURES = ("top1", "top5", "reward", "actions", "questions")
Measured = Mapping[str, Sequence[float]]
"""Publication → the mean of each measure over its patients."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--out", type=Path, default=Path("policy-runs"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--updates", type=int, default=Settings.updates)
    parser.add_argument("--rate", type=float, default=Settings.rate)
    parser.add_argument("--most", type=int, default=0, help="patients of a publication that are met; all by default")
    parser.add_argument("--jobs", type=int, help="runs at the same time")
    parser.add_argument("--ray", metavar="ADDRESS|local", help="share the runs out on Ray")
    parser.add_argument("--report", action="store_true", help="print what was measured, and measure nothing")
    parser.add_argument("--shipped", type=Path, metavar="SPLIT", help="measure the policy that ships, and nothing else")
    parser.add_argument("--speed", action="store_true", help="measure how fast episodes are played, and nothing else")
    options = parser.parse_args(arguments)
    if options.speed:
        speed(options)
        return 0
    if options.shipped:
        shipped(options)
        return 0
    if not options.report:
        measure(options)
    report(options.out, options.updates)
    return 0


def measure(options: argparse.Namespace) -> None:
    """Train and play what is not in the folder yet, one seed after the other, or several runs at the same time."""
    with kgdx.open(options.store) as graph:
        bedside, patients = met(graph, options)
        options.out.mkdir(parents=True, exist_ok=True)
        plans = options.out / "plans.json"
        if not plans.exists():
            keep(plans, {str(plan): told(bedside.play(plan, patients), patients) for plan in PLANS})
        runs = [(seed, fold) for seed in range(options.seeds) for fold in range(FOLDS)]
        left = [each for each in runs if not (folder(options, *each) / f"held-out-{options.updates}.json").exists()]
        for line in shared(Runs(options), left, graph, jobs=options.jobs, ray=options.ray, share=1):
            print(line, flush=True)


@dataclass(frozen=True)
class Runs:
    """The work of training, and playing with the patients of the fold that was held out."""

    options: argparse.Namespace

    def on(self, graph: Graph) -> Callable[[tuple[int, int]], str]:
        bedside, patients = met(graph, self.options)

        def act(item: tuple[int, int]) -> str:
            seed, fold = item
            settings = Settings(updates=self.options.updates, rate=self.options.rate, seed=seed)
            return run(bedside, patients, folder(self.options, seed, fold), settings, fold)

        return act


def folder(options: argparse.Namespace, seed: int, fold: int) -> Path:
    """Where a run is kept."""
    return Path(options.out).absolute() / f"seed-{seed}-fold-{fold}"


def met(graph: Graph, options: argparse.Namespace) -> tuple[Bedside, list[Recorded]]:
    """Return who plays, and the patients that are met."""
    cases = [case for case in read_cases(options.cases) if isinstance(case, Case)]
    ward = Ward.of(graph, unseen(graph.ranker, graph.snapshot, cases), known=KNOWN)
    bedside = Bedside(Standings(graph.ranker, graph.bank, graph.texts, KEPT))
    return bedside, some(recorded(ward, bedside.standings), options.most)


def shipped(options: argparse.Namespace) -> None:
    """Print how the policy that ships, and the plans, do with the patients that a split holds out.

    Before it, the plans with the patients of the other side: what a plan may be chosen by.
    """
    with kgdx.open(options.store) as graph:
        bedside, patients = met(graph, options)
        split, network = Split.read(options.shipped), opened("")
        trained, held = ([each for each in patients if each.id in side] for side in (split.train, split.held_out))
        print("On the side that was trained on:\n")
        table({str(plan): told(bedside.play(plan, trained), trained) for plan in PLANS}, {"greedy": {}})
        print("\nOn the side that was held out:\n")
        plans = {str(plan): told(bedside.play(plan, held), held) for plan in PLANS}
        played = {
            "greedy": bedside.play(network, held),
            "sampled": bedside.play(network, held, np.random.default_rng(0)),
        }
    table(plans, {how: told(each, held) for how, each in played.items()})


def speed(options: argparse.Namespace) -> None:
    """Print choices a second of one core, the network's included: 16 patients met 8 times each, in step."""
    with kgdx.open(options.store) as graph:
        bedside, patients = met(graph, options)
        networks = {"untrained": ChoiceNetwork.fresh(), "shipped": opened("")}
        print("| policy, batch | choices | a processor second | of them scored anew |\n|---|---|---|---|")
        for name, network in networks.items():
            for batch in ("first", "second", "third", "the third again"):
                number = {"first": 0, "second": 1}.get(batch, 2)
                chance = np.random.default_rng(number)
                drawn = [patients[at] for at in chance.choice(len(patients), 16, replace=False) for _ in range(8)]
                scored, begin = bedside.standings.scored_anew, time.process_time()
                played = bedside.play(network, drawn, chance)
                rate = len(played.chosen) / (time.process_time() - begin)
                anew = bedside.standings.scored_anew - scored
                print(f"| {name}, {batch} | {len(played.chosen):,} | {rate:,.0f} | {anew:,} |", flush=True)


def some(patients: Sequence[Recorded], most: int) -> list[Recorded]:
    """Return at most so many patients of a publication, those with the first ids; all of them for 0."""
    kept: dict[str, list[Recorded]] = {}
    for each in sorted(patients, key=lambda each: each.id):
        kept.setdefault(each.publication, []).append(each)
    return [each for group in kept.values() for each in group[: most or None]]


def run(bedside: Bedside, patients: list[Recorded], path: Path, settings: Settings, fold: int) -> str:
    """Train on the other folds, and play with the patients of one; return what is said of it."""
    folds = folds_of(patients)
    training = Training(bedside, [each for each in patients if folds[each.publication] != fold], settings, path)
    begin = time.perf_counter()
    network = training.run()
    taken = time.perf_counter() - begin
    held = [each for each in patients if folds[each.publication] == fold]
    found: dict[str, Any] = {"greedy": told(bedside.play(network, held), held), "seconds": taken}
    found["sampled"] = told(bedside.play(network, held, np.random.default_rng(settings.seed)), held)
    keep(path / f"held-out-{settings.updates}.json", found)
    return f"{path.name}: trained in {taken:.0f} s"


def folds_of(patients: Sequence[Recorded]) -> dict[str, int]:
    """Return the fold of each publication, -1 for those on which settings were chosen."""
    names = sorted({each.publication for each in patients})
    aside = set(np.random.default_rng(7).permutation(len(names))[: len(names) // ASIDE].tolist())
    order = np.random.default_rng(0).permutation(len(names)).tolist()
    left = [number for number in order if number not in aside]
    return {names[number]: -1 for number in aside} | {names[number]: at % FOLDS for at, number in enumerate(left)}


def told(played: Played, patients: Sequence[Recorded]) -> dict[str, list[float]]:
    """Return the measures of each publication: means over its patients."""
    values = np.array([played.ranks == 1, played.ranks > 0, played.rewards, played.actions, played.questions], float)
    by: dict[str, list[int]] = {}
    for number, each in enumerate(patients):
        by.setdefault(each.publication, []).append(number)
    return {name: values[:, numbers].mean(axis=1).round(5).tolist() for name, numbers in by.items()}


def keep(path: Path, content: Any) -> None:
    write_whole(path, json.dumps(content))


def report(out: Path, updates: int) -> None:
    """Print the tables, and draw the curves."""
    plans = json.loads((out / "plans.json").read_text("utf-8"))
    files = sorted(out.glob(f"seed-*-fold-*/held-out-{updates}.json"))
    runs = {file.parent.name: json.loads(file.read_text("utf-8")) for file in files}
    print(f"{len(runs)} runs of {updates} updates: {', '.join(runs)}\n")
    held = {how: joined([each[how] for each in runs.values()]) for how in ("greedy", "sampled")}
    table(plans, held)
    if runs:
        from kgdx.render.plots import training_plot

        networks = {name: ChoiceNetwork.read(out / name / "policy.safetensors") for name in runs}
        training_plot({name: network.card["curve"] for name, network in networks.items()}, updates, out / "curves.png")
        print(f"\nseconds of training: {[round(each['seconds']) for each in runs.values()]}; curves: {out}/curves.png")


def table(plans: Mapping[str, Measured], held: Mapping[str, Measured]) -> None:
    """Print the figures of plans and of a learned policy, of the publications that it was measured with."""
    names = held["greedy"].keys() or next(iter(plans.values())).keys()
    plans = {plan: {name: found[name] for name in names} for plan, found in plans.items()}
    print(f"| {len(names)} publications | Acc@1 | Acc@5 | reward | actions | questions |\n|---|---|---|---|---|---|")
    for plan, found in plans.items():
        print("|", " | ".join([plan, *figures(np.array(list(found.values())))]), "|")
    for how, learned in held.items():
        if learned:
            print("|", " | ".join([f"learned, {how}", *figures(np.array(list(learned.values())))]), "|")
            compare(learned, plans)


def joined(found: Sequence[Mapping[str, list[float]]]) -> dict[str, list[float]]:
    """Return the means over runs that a publication was held out of."""
    by: dict[str, list[list[float]]] = {}
    for each in found:
        for name, values in each.items():
            by.setdefault(name, []).append(values)
    return {name: np.mean(values, axis=0).tolist() for name, values in by.items()}


def compare(learned: Measured, plans: Mapping[str, Measured]) -> None:
    """Print the paired differences to the stated plan, to the most accurate one, and to that of the highest reward."""
    means = {name: np.array(list(found.values())).mean(axis=0) for name, found in plans.items()}
    accurate = max(means, key=lambda name: means[name][:2].sum())
    rewarded = max(means, key=lambda name: means[name][2])
    for name in dict.fromkeys((str(STATED), accurate, rewarded)):
        difference = np.array([np.array(learned[each]) - plans[name][each] for each in learned])
        fewer = 1 - np.array(list(learned.values())).mean(axis=0)[3] / means[name][3]
        row = [f"less {name}", *figures(difference), f"{100 * fewer:.0f} % fewer actions"]
        print("|", " | ".join(row), "|")


def figures(values: np.ndarray) -> list[str]:
    """Return means with their intervals over publications; shape of ``values``: (publications, measures)."""
    drawn = np.random.default_rng(0).integers(len(values), size=(RESAMPLES // 10, len(values)))
    resampled = np.array([values[each].mean(axis=0) for each in drawn])
    low, high = np.percentile(resampled, [2.5, 97.5], axis=0)
    scale, form = (100, 100, 1, 1, 1), ("{:.1f}", "{:.1f}", "{:.3f}", "{:.1f}", "{:.0f}")
    return [
        f"{form[at].format(scale[at] * values[:, at].mean())} "
        f"({form[at].format(scale[at] * low[at])} to {form[at].format(scale[at] * high[at])})"
        for at in range(len(MEASURES))
    ]


if __name__ == "__main__":
    raise SystemExit(main())
