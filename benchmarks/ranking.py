"""Measure the ranking of diseases; `python -m benchmarks.ranking [CASES]`, from the top of a checkout.

Builds the default graph with and without Orphanet's cross-reference table, ranks every case, and prints in Markdown:
accuracy by what the graph had seen, cross-validated choice of the constants and of the temperature of the shares, what
each part contributes, the worth of the table and of the inferred equivalences, and the case bank apart. CASES are
phenopackets. `benchmarks.feet` measures time.

``--graphs FOLDER FOLDER`` ranks the cases on graphs that are built, each with its own patients, and prints them side by
side: the groups are those of the first graph, so that each line is of the same cases. ``--primekg`` builds the default
graph without and with a made PrimeKG (:mod:`benchmarks.generate.primekg`) and ranks every 14th case, without case bank.
"""

from __future__ import annotations

import argparse
import itertools
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import kgdx
from benchmarks.generate.primekg import SEED, write_annotated
from kgdx.case import Failure, read_cases
from kgdx.case.patient import Case
from kgdx.evaluate.metrics import mean_over, mean_rank, ranks_of, summary
from kgdx.evaluate.rank_accuracy import evaluate_rank, ranked_cases
from kgdx.graph.snapshot import Snapshot
from kgdx.rank import Ranker, annotations, candidates, fusion, ranking_model, scorers
from kgdx.rank.case_bank import CaseBank
from kgdx.rank.fusion import shares, temperature
from kgdx.rank.held_out_ranks import Withheld
from kgdx.rank.query import Query

DATA = Path(os.environ.get("KGDX_SHARED_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
FOLDS = 5
COUNTS = (1, 2, 3, 4, 5, 7, 10)
TEMPERATURES = np.round(np.arange(0.4, 3.05, 0.05), 2)
SECTIONS = ("accuracy", "second", "constants", "posterior", "parts", "bank", "table")
GROUP_HEAD = ("group", "cases", "top-1", "top-3", "top-5", "top-10", "MRR", "top-10, 95% interval", "by disease")
HEAD = ("", "in graph top-1", "top-10", "unseen top-1", "top-10")
GRID = {"breadth": (0.0, 0.1, 0.2, 0.3), "coverage": (0.3, 0.6, 1.0), "typicality": (0.1, 0.2, 0.3)}
WEIGHTS = {name: each.weight for name, each in fusion.Weights.read().scorers.items()}
FINDINGS = {name: WEIGHTS[name] for name in ("likelihood", "coverage", "typicality", "excluded")}
"""Weights of the scorers that read the model alone, for candidates that nothing else was compiled for."""
SCORERS: Mapping[str, Sequence[str]] = {
    "all of it": ("likelihood", "coverage", "typicality", "excluded"),
    "without coverage": ("likelihood", "typicality", "excluded"),
    "without typicality": ("likelihood", "coverage", "excluded"),
    "likelihood alone": ("likelihood",),
    "without excluded findings": ("likelihood", "coverage", "typicality"),
}
WITHOUT: Mapping[str, Mapping[tuple[Any, str], Any]] = {
    "without the correction for breadth": {(scorers, "BREADTH"): 0.0},
    "without neighbours": {(candidates, f"{kind}_SHARE"): 1e-9 for kind in ("ANNOTATION", "NAME", "GENE")},
    "without neighbours by annotation": {(candidates, "ANNOTATION_SHARE"): 1e-9},
    "without neighbours by name": {(candidates, "NAME_SHARE"): 1e-9},
    "without neighbours by gene": {(candidates, "GENE_SHARE"): 1e-9},
    "without broader groups": {(annotations, "GROUP_SHARE"): 0.0},
    "without the prior on counts": {(annotations, "PRIOR_PATIENTS"): 0.25},
}


@dataclass(frozen=True, slots=True)
class Ranked:
    """Cases whose disease is in the graph: their ranks can be computed again under other constants."""

    cases: list[Case]
    seen: list[bool]
    clusters: list[str]

    def line(self, name: str, ranks: Sequence[float]) -> tuple[str, ...]:
        parts = []
        for group in (None, False):
            chosen = [i for i, seen in enumerate(self.seen) if group is None or seen == group]
            found = summary([ranks[i] for i in chosen], [self.clusters[i] for i in chosen])
            parts += [percent(found, "top1"), percent(found, "top10")]
        return (name, *parts)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="?", type=Path, default=DATA / "phenopackets-dev.jsonl.gz")
    parser.add_argument("--table", type=Path, default=DATA / "orphanet-omim-xrefs.tsv.gz", help="cross-references")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="sections; all by default")
    parser.add_argument("--graphs", type=Path, nargs="+", help="graphs to rank all cases on, side by side")
    parser.add_argument("--primekg", action="store_true", help="a made PrimeKG beside the default graph")
    options = parser.parse_args(arguments)
    wanted = set(options.only)
    cases = list(read_cases(options.cases))
    if options.graphs:
        side_by_side(options.graphs, cases)
        return 0
    if options.primekg:
        beside_primekg(cases[::14])
        return 0
    with tempfile.TemporaryDirectory(prefix="kgdx-ranking-") as scratch, one_core():
        folder = Path(scratch)
        sources = {"hp": None, "hpoa": None, "genes": None, "orphanet_omim": str(options.table)}
        kgdx.build(sources | {"phenopackets": str(options.cases)}, store=folder / "table")
        with kgdx.open(folder / "table") as graph:
            if "accuracy" in wanted:
                accuracy(graph.ranker, graph.snapshot, cases)
            ranked = prepare(graph.ranker, graph.snapshot, cases)
            if "second" in wanted:
                second_round(graph.snapshot, ranked)
            if "constants" in wanted:
                cross_validation(graph.ranker, ranked)
            if "posterior" in wanted:
                posterior(graph.ranker, ranked)
            if "parts" in wanted:
                ablation(graph.snapshot, ranked)
            if "bank" in wanted:
                bank(graph.ranker, graph.snapshot, cases)
        if "table" in wanted:
            kgdx.build(store=folder / "default")
            worth_of_the_table(folder, cases)
    return 0


def beside_primekg(cases: Sequence[Case | Failure]) -> None:
    with tempfile.TemporaryDirectory(prefix="kgdx-primekg-") as scratch, one_core():
        folder = Path(scratch)
        write_annotated(folder, SEED)
        standard = [name for name in kgdx.build(store=folder / "default").sources if not name.startswith("kgdx:")]
        kgdx.build([*standard, f"primekg={folder / 'kg.csv'}"], store=folder / "primekg")
        side_by_side([folder / "default", folder / "primekg"], cases, case_bank=False)


def side_by_side(graphs: Sequence[Path], cases: Sequence[Case | Failure], *, case_bank: bool = True) -> None:
    rows: list[tuple[str, ...]] = []
    group: dict[str, str] = {}
    for folder in graphs:
        with kgdx.open(folder) as graph:
            rank = ranked_cases(graph, case_bank=case_bank)
            records = [record for case in cases if (record := rank(case)).get("cluster")]
        for record in () if group else records:
            group[record["id"]] = {True: "seen", False: "unseen"}.get(record.get("seen"), "not in the first graph")
        for name in ("all", *sorted(set(group.values()))):
            chosen = [each for each in records if name in ("all", group[each["id"]])]
            ranks, clusters = ranks_of(chosen, "rank"), [each["cluster"] for each in chosen]
            found = summary(ranks, clusters), mean_over(ranks, [each["disease"] for each in chosen], clusters)
            tops = [" / ".join(percent(each, f"top{k}") for k in (1, 3, 10)) for each in found]
            rows.append((name, str(folder), str(len(chosen)), *tops))
    show(("group", "graph", "cases", "top-1 / 3 / 10 by case", "by disease"), sorted(rows, key=lambda row: row[0]))


def accuracy(ranker: Ranker, snapshot: Snapshot, cases: list[Case | Failure]) -> None:
    report = evaluate_rank(ranker, snapshot, cases)
    print(f"## Accuracy, with the cross-reference table ({report['n_candidates']:,} candidates)\n")
    show(GROUP_HEAD, lines(report))
    print(f"{report['unrankable']} cases have a disease that is not annotated; {len(report['failed'])} failed.\n")


def lines(report: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, group in report["groups"].items():
        low, high = group["ci95"]["top10"]
        tops = [percent(group, f"top{k}") for k in (1, 3, 5, 10)]
        by_disease = report["by_disease"][name]
        mean = f"{percent(by_disease, 'top1')} / {percent(by_disease, 'top10')} of {by_disease['n']}"
        yield (name, f"{group['n']:,}", *tops, f"{group['mrr']:.3f}", f"{100 * low:.1f}–{100 * high:.1f}", mean)


def second_round(snapshot: Snapshot, ranked: Ranked) -> None:
    """What nesting, hubs, near-obligate absences and more of the neighbours are worth, as the mean over diseases."""
    without = {name: {key: value for key, value in WEIGHTS.items() if key != name} for name in ("hub", "obligate")}
    apart = {(ranking_model, "nested"): lambda candidates, ids, *groups: candidates}
    fewer = {(candidates, "ANNOTATION_SHARE"): 0.05}
    variants: Mapping[str, tuple[Mapping[tuple[Any, str], Any], Mapping[str, float] | None]] = {
        "all of it": ({}, None),
        "findings alone": ({}, FINDINGS),
        "findings alone, Orphanet's linked entries as rivals": (apart, FINDINGS),
        "without the correction for hubs": ({}, without["hub"]),
        "without near-obligate absences": ({}, without["obligate"]),
        "neighbours by annotation at .05": (fewer, None),
    }
    rows = []
    for name, (changes, weights) in variants.items():
        ranks = ranks_with(snapshot, ranked, changes, weights)
        rows.append((name, *(by_disease(ranked, ranks, seen=seen) for seen in (False, True))))
    print("## Second round: mean over diseases, top-1 / 3 / 10\n")
    show(("", "unseen", "seen"), rows)


def by_disease(ranked: Ranked, ranks: Sequence[float], *, seen: bool) -> str:
    chosen = [at for at, each in enumerate(ranked.seen) if each == seen]
    found = mean_over([ranks[at] for at in chosen], [ranked.cases[at].diseases for at in chosen])
    return " / ".join(percent(found, f"top{k}") for k in (1, 3, 10))


def prepare(ranker: Ranker, snapshot: Snapshot, cases: list[Case | Failure]) -> Ranked:
    withheld = Withheld(ranker, snapshot)
    chosen = [case for case in cases if isinstance(case, Case) and numbers(ranker, case)]
    seen = [any(withheld.cites(n, frozenset(c.publications)) for n in numbers(ranker, c)) for c in chosen]
    return Ranked(chosen, seen, [(case.publications or (case.id,))[0] for case in chosen])


def numbers(ranker: Ranker, case: Case) -> list[int]:
    return [number for id in case.diseases if (number := ranker.number_of(id)) >= 0]


def components(cases: list[Case]) -> list[int]:
    """Connected component of the disease–publication graph that each case is in."""
    parent: dict[str, str] = {}

    def top(name: str) -> str:
        parent.setdefault(name, name)
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for case in cases:
        first, *rest = (*case.diseases, *case.publications)
        for name in rest:
            parent[top(name)] = top(first)
    order: dict[str, int] = {}
    return [order.setdefault(top(case.diseases[0]), len(order)) for case in cases]


def cross_validation(ranker: Ranker, ranked: Ranked) -> None:
    """Choose the constants of the fusion on four fifths of the components, and measure on the last one.

    Chosen is what has the highest mean reciprocal rank when seen and unseen cases count half each.
    """
    settings = [dict(zip(GRID, values, strict=True)) for values in itertools.product(*GRID.values())]
    ranks = np.array([ranks_by_setting(ranker, case, settings) for case in ranked.cases])
    component = np.array(components(ranked.cases))
    fold = np.random.default_rng(0).permutation(component.max() + 1)[component] % FOLDS
    held_out = np.zeros(len(ranks))
    seen = np.array(ranked.seen)
    picked = []
    for number in range(FOLDS):
        test = fold == number
        groups = [(1 / ranks[~test & (seen == value)]).mean(axis=0) for value in (True, False)]
        best = int(np.argmax(sum(groups)))
        picked.append(str(tuple(settings[best].values())))
        held_out[test] = ranks[test, best]
    used = {"breadth": scorers.BREADTH} | {name: WEIGHTS[name] for name in ("coverage", "typicality")}
    print(f"## Constants chosen by {FOLDS}-fold cross-validation over {component.max() + 1} components\n")
    fixed = ranks[:, settings.index(used)]
    show(HEAD, [ranked.line("chosen in each fold", held_out), ranked.line(f"as shipped {tuple(used.values())}", fixed)])
    print(f"{', '.join(GRID)} chosen: {'; '.join(picked)}\n")


def ranks_by_setting(ranker: Ranker, case: Case, settings: list[dict[str, float]]) -> list[float]:
    found = ranker.score(case).values
    breadth = ranker.model.columns.breadth
    right = numbers(ranker, case)
    parts = {name: standard(value) for name, value in found.items() if name in ("coverage", "typicality")}
    likely = {b: standard(found["likelihood"] + (scorers.BREADTH - b) * breadth) for b in GRID["breadth"]}
    against = WEIGHTS["excluded"] * found["excluded"]
    return [
        mean_rank(likely[s["breadth"]] + sum(s[name] * part for name, part in parts.items()) + against, right)
        for s in settings
    ]


def standard(value: Any) -> Any:
    return np.maximum((value - value.mean()) / max(float(value.std()), 1e-9), fusion.FLOOR)


def posterior(ranker: Ranker, ranked: Ranked) -> None:
    """Fit the temperature by number of findings to unseen cases of one half of the components; measure on the other.

    Of each publication at most two cases count, each with its first findings in a random order.
    """
    draw, taken = np.random.default_rng(0), Counter[str]()
    component = np.array(components(ranked.cases))
    half = draw.integers(0, 2, component.max() + 1)[component]
    chosen = []
    for at in draw.permutation(len(ranked.cases)).tolist():
        if not ranked.seen[at] and taken[ranked.clusters[at]] < 2 and len(ranked.cases[at].observed) > 1:
            taken[ranked.clusters[at]] += 1
            chosen.append(at)
    order = {at: draw.permutation(ranker.query(ranked.cases[at])[0].observed).tolist() for at in chosen}
    rows = []
    for count in COUNTS:
        used = [at for at in chosen if len(order[at]) >= count]
        totals = [ranker.score_query(Query(np.array(order[at][:count]), np.array([], int))).total for at in used]
        right = [numbers(ranker, ranked.cases[at]) for at in used]
        loss = np.array(
            [[surprise(total, one, t) for t in TEMPERATURES] for total, one in zip(totals, right, strict=True)]
        )
        fold = half[used]
        best = [float(TEMPERATURES[loss[fold != number].mean(axis=0).argmin()]) for number in (0, 1)]
        shipped = temperature(count, ranker.weights.posterior.temperature)
        first = [shares(total, shipped) for total in totals]
        stated = np.array([share.max() for share in first])
        hit = np.array([share.argmax() in one for share, one in zip(first, right, strict=True)])
        lead = np.array([np.sort(share)[-200:].sum() for share in first])
        sure = [f"{stated[at].mean():.2f} → {hit[at].mean():.2f} ({at.sum()})" for at in bands(stated) if at.any()]
        held = np.mean([loss[at, np.searchsorted(TEMPERATURES, best[fold[at]])] for at in range(len(used))])
        now = np.mean([surprise(total, one, shipped) for total, one in zip(totals, right, strict=True)])
        fits = " and ".join(f"{each:.2f}" for each in best)
        rows.append(
            (
                str(count),
                str(len(used)),
                fits,
                f"{held:.2f}",
                f"{shipped:.2f}",
                f"{now:.2f}",
                f"{lead.mean():.2f}",
                "; ".join(sure),
            )
        )
    print("## Temperature of the shares\n")
    head = (
        "findings",
        "cases",
        "T fitted to each half",
        "surprise, bits",
        "T as shipped",
        "surprise",
        "share of 200 leaders",
    )
    show((*head, "first's stated share → right (cases)"), rows)


def surprise(total: Any, right: Sequence[int], t: float) -> float:
    return float(-np.log2(max(shares(total, t)[list(right)].sum(), 1e-12)))


def bands(stated: Any) -> list[Any]:
    edges = (0.0, 0.1, 0.3, 0.6, 0.8, 1.01)
    return [(stated >= low) & (stated < high) for low, high in itertools.pairwise(edges)]


def ablation(snapshot: Snapshot, ranked: Ranked) -> None:
    rows = []
    for name, kept in SCORERS.items():
        rows.append(ranked.line(name, ranks_with(snapshot, ranked, {}, {each: WEIGHTS[each] for each in kept})))
    for name, changes in WITHOUT.items():
        rows.append(ranked.line(name, ranks_with(snapshot, ranked, changes)))
    print("## What each part contributes\n")
    show(HEAD, rows)


def ranks_with(
    snapshot: Snapshot,
    ranked: Ranked,
    changes: Mapping[tuple[Any, str], Any],
    weights: Mapping[str, float] | None = None,
) -> list[float]:
    """Ranks under other constants and weights; the model is computed anew."""
    saved = {place: getattr(*place) for place in changes}
    try:
        for place, value in changes.items():
            setattr(*place, value)
        ranker = Ranker.open(snapshot, weights, model=ranking_model.build_model(snapshot))
        return [mean_rank(ranker.score_all(case)[1], numbers(ranker, case)) for case in ranked.cases]
    finally:
        for place, value in saved.items():
            setattr(*place, value)


def bank(ranker: Ranker, snapshot: Snapshot, cases: list[Case | Failure]) -> None:
    patients = CaseBank(ranker, snapshot)
    report = evaluate_rank(ranker, snapshot, cases, patients)
    print(f"## With the case bank of {patients.size:,} patients, none of the case's own publication\n")
    show(GROUP_HEAD, lines(report))
    print(f"{report['banked']:,} of {report['groups']['in_graph']['n']:,} cases had another patient of theirs.\n")


def worth_of_the_table(folder: Path, cases: list[Case | Failure]) -> None:
    rows = []
    for name, store in (("cross-reference table", "table"), ("inferred equivalences (the default graph)", "default")):
        with kgdx.open(folder / store) as graph:
            ranked = prepare(graph.ranker, graph.snapshot, cases)
            rows.append(ranked.line(name, ranks_with(graph.snapshot, ranked, {}, FINDINGS)))
            if store == "default":
                rows.append(
                    ranked.line(
                        "neither", ranks_with(graph.snapshot, ranked, {(ranking_model, "merged"): alone}, FINDINGS)
                    )
                )
    print("## Which entries are the same\n")
    show(HEAD, rows)


def alone(ids: list[str], annotated: Any, exact: Any, broader: Any) -> Any:
    """Candidates when no entry is known to be the same as another."""
    from kgdx.rank.candidates import merged

    none = np.zeros(0, np.int64), np.zeros(0, np.int64)
    return merged(ids, annotated, annotated, none, none)


def percent(found: Mapping[str, Any], name: str) -> str:
    return f"{100 * found[name]:.1f}"


def show(head: Sequence[str], rows: Iterator[tuple[str, ...]] | list[tuple[str, ...]]) -> None:
    for row in (head, ["---"] * len(head), *rows):
        print(f"| {' | '.join(row)} |")
    print(flush=True)


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process on one core."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


if __name__ == "__main__":
    raise SystemExit(main())
