"""Measure what genes, onset and sex add to the ranking; `python -m benchmarks.genes [CASES]`, from a checkout's top.

Builds the default graph with Orphanet's cross-reference table, ranks every phenopacket whose disease is in it, and
prints in Markdown, in percent of patients and as the mean over diseases: the causal gene alone and among 19, 99 and 999
others (drawn from the genes that have a disease, by a fixed seed), by the weight of the scorer; and the ranking with
and without onset and sex, weights chosen by cross-validation over groups that share no publication and no disease.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import kgdx
from benchmarks.ranking import DATA, FOLDS, Ranked, components, numbers, one_core, prepare, show
from kgdx.case import read_cases
from kgdx.case.person import CandidateGene, merged
from kgdx.evaluate.metrics import mean_rank
from kgdx.rank import Ranker

LISTS = (1, 20, 100, 1000)
WEIGHTS = (0.5, 1.0, 1.25, 1.5)
ONSETS = (0.0, 0.15, 0.3, 0.6)
SEXES = (0.0, 0.5, 1.0, 2.0)
TOPS = (1, 3, 10)
SECTIONS = ("genes", "person")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="?", type=Path, default=DATA / "phenopackets-dev.jsonl.gz")
    parser.add_argument("--table", type=Path, default=DATA / "orphanet-omim-xrefs.tsv.gz", help="cross-references")
    parser.add_argument("--every", type=int, default=1, help="take every Nth case")
    parser.add_argument("--store", type=Path, help="a graph that is there already")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="sections; all by default")
    options = parser.parse_args(arguments)
    cases = list(itertools.islice(read_cases(options.cases), 0, None, options.every))
    with tempfile.TemporaryDirectory(prefix="kgdx-genes-") as scratch, one_core():
        store = options.store or Path(scratch) / "graph"
        if options.store is None:
            kgdx.build({"hp": None, "hpoa": None, "genes": None, "orphanet_omim": str(options.table)}, store=store)
        with kgdx.open(store) as graph:
            ranked = prepare(graph.ranker, graph.snapshot, cases)
            if "genes" in options.only:
                genes(graph.ranker, ranked, causal(options.cases))
            if "person" in options.only:
                person(graph.ranker, ranked)
    return 0


def causal(cases: Path) -> dict[str, str]:
    """Return case id → symbol of the causal gene that its phenopacket names."""
    found = {}
    with gzip.open(cases, "rt", encoding="utf-8") as lines:
        for line in lines:
            packet = json.loads(line)
            for interpretation in packet.get("interpretations", ()):
                for genomic in interpretation["diagnosis"].get("genomicInterpretations", ()):
                    variation = genomic.get("variantInterpretation", {}).get("variationDescriptor", {})
                    symbol = variation.get("geneContext", {}).get("symbol")
                    if symbol:
                        found.setdefault(packet["id"], symbol)
    return found


def genes(ranker: Ranker, ranked: Ranked, symbols: Mapping[str, str]) -> None:
    """Rank each patient by the findings, and with its causal gene on lists of several lengths."""
    scorer = ranker.scorers["gene_evidence"]
    names = np.array(sorted({str(each) for each in scorer.arrays["names"]} - {""}))
    columns = [("findings alone", 0, 0.0), *((f"among {n}, weight {w:g}", n, w) for n in LISTS for w in WEIGHTS)]
    columns += [(f"not among {-n}, weight {w:g}", n, w) for n in (-100,) for w in WEIGHTS]
    chosen = [at for at, case in enumerate(ranked.cases) if case.id in symbols]
    ranks: dict[str, list[float]] = defaultdict(list)
    for at in chosen:
        case = replace(ranked.cases[at], gene_evidence=None)
        scored, right = ranker.score(case), numbers(ranker, case)
        draw = np.random.default_rng([0, at])
        others = [str(each) for each in draw.permutation(names)[: max(LISTS)] if each != symbols[case.id]]
        parts = {}
        for n in (*LISTS, -100):
            names_of = (symbols[case.id], *others[: n - 1]) if n > 0 else others[:-n]
            listed = merged(CandidateGene(each) for each in names_of)
            parts[n] = scorer.score(replace(scored.query, case=replace(case, gene_evidence=listed)))
        for name, n, weight in columns:
            total = scored.total if not n else scored.total + weight * parts[n]
            ranks[name].append(mean_rank(total, right))
    print(f"## The causal gene on a list ({len(chosen):,} patients whose phenopacket names it)\n")
    report(ranked, chosen, ranks)


def person(ranker: Ranker, ranked: Ranked) -> None:
    """Rank each patient with and without onset and sex, the weights chosen on the other folds."""
    settings = [{"onset": onset, "sex": sex} for onset in ONSETS for sex in SEXES]
    ranks = np.array([by_setting(ranker, ranked, at, settings) for at in range(len(ranked.cases))])
    component = np.array(components(ranked.cases))
    fold = np.random.default_rng(0).permutation(component.max() + 1)[component] % FOLDS
    chosen, picked = np.zeros(len(ranks)), []
    for number in range(FOLDS):
        train, test = np.flatnonzero(fold != number), fold == number
        best = int(np.argmax([sum(objective(ranked, train, ranks[:, at])) for at in range(len(settings))]))
        picked.append(str(tuple(settings[best].values())))
        chosen[test] = ranks[test, best]
    shipped = {name: ranker.weights.scorers[name].weight for name in ("onset", "sex")}
    off = {"onset": 0.0, "sex": 0.0}
    rows = {
        "neither": off,
        f"onset {shipped['onset']:g}": off | {"onset": shipped["onset"]},
        f"sex {shipped['sex']:g}": off | {"sex": shipped["sex"]},
        "both, as shipped": shipped,
    }
    found = {name: ranks[:, settings.index(each)].tolist() for name, each in rows.items()}
    print("## Onset and sex\n")
    report(ranked, list(range(len(ranks))), {**found, "both, cross-validated": chosen.tolist()})
    print(f"onset, sex chosen: {'; '.join(picked)}\n")


def by_setting(ranker: Ranker, ranked: Ranked, at: int, settings: list[dict[str, float]]) -> list[float]:
    case = ranked.cases[at]
    scored, right = ranker.score(case), numbers(ranker, case)
    zero = np.zeros_like(scored.total)
    value = {name: scored.values.get(name, zero) for name in ("onset", "sex")}
    base = scored.total - sum(ranker.weights.scorers[name].weight * each for name, each in value.items())
    totals = (base + sum(weight * value[name] for name, weight in each.items()) for each in settings)
    return [mean_rank(total, right) for total in totals]


def objective(ranked: Ranked, chosen: Any, ranks: Any) -> list[float]:
    """Mean over diseases of the reciprocal rank, of seen and of unseen cases."""
    seen = np.array(ranked.seen)[chosen]
    return [by_disease(ranked, chosen[seen == group], 1 / ranks) for group in (True, False)]


def by_disease(ranked: Ranked, chosen: Sequence[int], values: Any) -> float:
    groups: dict[str, list[float]] = defaultdict(list)
    for at in chosen:
        groups[ranked.cases[at].diseases[0]].append(values[at])
    return float(np.mean([np.mean(each) for each in groups.values()])) if groups else 0.0


def report(ranked: Ranked, chosen: Sequence[int], ranks: Mapping[str, Sequence[float]]) -> None:
    rows = []
    for name, found in ranks.items():
        cells = [name]
        for unseen in (False, True):
            group = [place for place, at in enumerate(chosen) if not (unseen and ranked.seen[at])]
            hit = {k: {chosen[place]: float(found[place] <= k) for place in group} for k in TOPS}
            every = "/".join(f"{100 * np.mean(list(hit[k].values())):.1f}" for k in TOPS)
            mean = "/".join(f"{100 * by_disease(ranked, list(hit[k]), hit[k]):.1f}" for k in TOPS)
            cells += [every, mean]
        rows.append(tuple(cells))
    show(("", "in graph", "by disease", "unseen", "by disease"), rows)


if __name__ == "__main__":
    raise SystemExit(main())
