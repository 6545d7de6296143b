"""Measure fixed plans, and random legal choices, on held-out patients: `python -m benchmarks.policy STORE CASES`.

Met are cases whose publication the annotations do not cite; with `--split`, those that a file of `kgdx split` holds
out. Two findings are told at first, and no patient is matched with one of its own publication. Prints the table of
docs/benchmarks.md in Markdown, with 95 % intervals over publications, each of which counts the same. `--agent FILE`
adds a MaskablePPO of sb3-contrib that `examples/train_policy.py` has written.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import kgdx
from kgdx.case import Case, read_cases
from kgdx.case.splits import Split
from kgdx.learn.diagnosis_game import PLANS, AtRandom, Chooser, DiagnosisGame, Played, RecordedPatient
from kgdx.learn.recorded_cases import RecordedCases, unseen

KNOWN, RESAMPLES = 2, 1_000
FORMS = ((100, "{:.1f}"), (100, "{:.1f}"), (1, "{:.3f}"), (1, "{:.1f}"), (1, "{:.0f}"))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--split", type=Path, help="only the cases that this file of `kgdx split` holds out")
    parser.add_argument("--most", type=int, default=0, help="patients of a publication that are met; all by default")
    parser.add_argument("--agent", type=Path, help="what examples/train_policy.py has written")
    options = parser.parse_args(arguments)
    cases = [case for case in read_cases(options.cases) if isinstance(case, Case)]
    if options.split:
        cases = list(Split.read(options.split).only(cases))
    with kgdx.open(options.store) as graph:
        met = RecordedCases.of(graph, unseen(graph.ranker, graph.snapshot, cases), known=KNOWN)
        game = DiagnosisGame(met)
        patients = some(game.patients.values(), options.most)
        who: dict[str, Chooser] = {"random choices": AtRandom(np.random.default_rng(0))}
        who |= {str(plan): plan for plan in PLANS}
        if options.agent:
            who["MaskablePPO"] = agent(options.agent)
        papers = len({each.publication for each in patients})
        print(f"| {len(patients):,} patients, {papers} publications | Acc@1 | Acc@5 | reward | choices | questions |")
        print("|---|---|---|---|---|---|")
        for name, choose in who.items():
            print("|", " | ".join([name, *figures(means(game.play(choose, patients), patients))]), "|", flush=True)
    return 0


def some(patients: Any, most: int) -> list[RecordedPatient]:
    """Return at most so many patients of a publication, those with the first ids; all of them for 0."""
    kept: dict[str, list[RecordedPatient]] = {}
    for each in sorted(patients, key=lambda each: each.id):
        kept.setdefault(each.publication, []).append(each)
    return [each for group in kept.values() for each in group[: most or None]]


def agent(path: Path) -> Chooser:
    """Return who chooses as a trained MaskablePPO does."""
    from sb3_contrib import MaskablePPO

    model = MaskablePPO.load(path)
    return lambda features, listed: model.predict(features, action_masks=listed, deterministic=True)[0]


def means(played: Played, patients: Sequence[RecordedPatient]) -> np.ndarray:
    """Return the measures of each publication, means over its patients; shape (publications, measures)."""
    values = np.array([played.ranks == 1, played.ranks > 0, played.rewards, played.steps, played.questions], float)
    of = np.unique([each.publication for each in patients], return_inverse=True)[1]
    return np.array([np.bincount(of, value) / np.bincount(of) for value in values]).T


def figures(values: np.ndarray) -> list[str]:
    """Return means over publications with their intervals."""
    drawn = np.random.default_rng(0).integers(len(values), size=(RESAMPLES, len(values)))
    low, high = np.percentile([values[each].mean(axis=0) for each in drawn], [2.5, 97.5], axis=0)
    return [
        f"{form.format(scale * mean)} ({form.format(scale * least)} to {form.format(scale * most)})"
        for (scale, form), mean, least, most in zip(FORMS, values.mean(axis=0), low, high, strict=True)
    ]


if __name__ == "__main__":
    raise SystemExit(main())
