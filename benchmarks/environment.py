"""How many steps a second the environment takes: real actions on recorded patients, the policy included.

    python -m benchmarks.environment STORE [--cases FILE] [--count N] [--json]

One core; set OPENBLAS_NUM_THREADS=1, since all threads count. Cold: every episode in a world of its own; warm: in one
that has seen the episodes before, as in training, where a case is played many times. The policy chooses at random among
what the mask allows. A step is a listed choice, which may be many wishes: a round of questions asks ten. In step is the
game without its log, as training plays it, 16 cases together.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import kgdx
from kgdx.case import Case, Failure, read_cases
from kgdx.episode.world import Memo, World
from kgdx.errors import KgdxError
from kgdx.learn.adversaries import SCRIPTS, Known, Writer
from kgdx.learn.bedside import Bedside, recorded
from kgdx.learn.listed_environment import DiagnosisEnv
from kgdx.learn.rollouts import TagRollouts
from kgdx.learn.ward import Ward
from kgdx.policies.choice_network import ChoiceNetwork
from kgdx.policies.tags import TagsPolicy

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
STEPS = 12
WARM = 10
"""Other cases that are played first: they open what an episode reads."""
ROLLOUTS, TOGETHER = 8, 16
"""Times that a case is played, as a group of rollouts is, and cases in step."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", nargs="?", help="graph folder; the default graph without it")
    parser.add_argument("--cases", type=Path, default=DATA / "phenopackets-dev.jsonl.gz")
    parser.add_argument("--count", type=int, default=25, help="cases")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    try:
        with kgdx.open(options.store) as graph:
            cases = list(islice(usable(options.cases), WARM + options.count))
            found = list(measured(graph, cases))
    except KgdxError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    if options.json:
        print(json.dumps(found))
        return 0
    print("| | steps/s |\n|---|---|")
    for row in found:
        print(f"| {row['what']} | {row['rate']:,} |")
    return 0


def usable(path: Path) -> Iterator[Case]:
    """Cases with a diagnosis and at least three findings."""
    for case in read_cases(path):
        if not isinstance(case, Failure) and case.diseases and len(case.observed) >= 3:
            yield case


def measured(graph: Any, cases: Sequence[Case]) -> Iterator[dict[str, Any]]:
    env = DiagnosisEnv(graph, cases)
    met = [case for case in cases if case.id in env.ward.cases]
    play(env, met[:WARM], ROLLOUTS)
    gc.collect()
    for name, fresh in (("random choices, cold", True), ("random choices, each case eight times", False)):
        env.world = World(graph, env.ward, memo=Memo(100_000))
        graph.ranker.forget()
        graph.standings.forget()
        yield from rates(name, lambda fresh=fresh: play(env, met[WARM:], 1 if fresh else ROLLOUTS, fresh=fresh))
    yield from rates("the same again", lambda: play(env, met[WARM:], ROLLOUTS))
    yield from in_step(env)
    yield from written(graph, cases[WARM:])


def rates(name: str, played: Callable[[], tuple[int, int]]) -> Iterator[dict[str, Any]]:
    """How many steps a second, and wishes."""
    started = time.process_time()
    steps, wishes = played()
    spent = time.process_time() - started
    yield {"what": f"{name}: steps", "rate": round(steps / spent)}
    yield {"what": f"{name}: wishes", "rate": round(wishes / spent)}


def in_step(env: DiagnosisEnv) -> Iterator[dict[str, Any]]:
    """The game as training plays it: cases that were not met before, each eight times, chosen for by a network."""
    standings = env.ward.graph.standings
    bedside, patients, network = Bedside(standings), recorded(env.ward, standings), ChoiceNetwork.fresh()
    bedside.play(network, patients[:WARM], np.random.default_rng(0))
    standings.forget()
    for name in ("in step, each case eight times", "in step, the same again"):
        chance, choices = np.random.default_rng(1), 0
        started = time.process_time()
        for begin in range(WARM, len(patients), TOGETHER):
            group = [each for each in patients[begin : begin + TOGETHER] for _ in range(ROLLOUTS)]
            choices += len(bedside.play(network, group, chance).chosen)
        yield {"what": f"{name}: choices", "rate": round(choices / (time.process_time() - started))}


def play(env: DiagnosisEnv, cases: Sequence[Case], times: int, *, fresh: bool = False) -> tuple[int, int]:
    """Play episodes of random legal choices, and return how many steps and wishes they took."""
    steps = wishes = 0
    for case in cases:
        if fresh:
            env.world = World(env.ward.graph, env.ward)
        for seed in range(times):
            chance = np.random.default_rng(seed)
            _, info = env.reset(seed=seed, options={"case": case.id})
            for _ in range(STEPS):
                places = np.flatnonzero(info["action_mask"])
                if info["reason"] or not len(places):
                    break
                *_, info = env.step(places[int(chance.integers(len(places)))])
                steps += 1
            wishes += env.state.counts.steps
    return steps, wishes


def written(graph: Any, cases: Sequence[Case]) -> Iterator[dict[str, Any]]:
    """Whole rollouts of a scripted writer of tags, and the wishes that they take."""
    ward = Ward.of(graph, cases, known=None)
    writer = Writer(SCRIPTS["honest"](Known("Marfan syndrome", "gout", ("Ectopia lentis", "Arachnodactyly"))))
    rollouts, policy = TagRollouts(ward), TagsPolicy(top=0, explain=0)
    rollouts.run(writer, policy, ward.ids[:2])  # opens names and texts
    started = time.process_time()
    episodes = rollouts.run(writer, policy, ward.ids)
    spent = time.process_time() - started
    yield {"what": "tags: whole rollouts (not steps)", "rate": round(len(episodes) / spent)}
    yield {"what": "tags: wishes", "rate": round(sum(each.state.counts.steps for each in episodes) / spent)}


if __name__ == "__main__":
    sys.exit(main())
