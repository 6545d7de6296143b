"""How many steps a second the environment takes: real actions on recorded patients, the policy included.

    python -m benchmarks.environment STORE [--cases FILE] [--count N] [--json]

One core; set OPENBLAS_NUM_THREADS=1, since all threads count. Choices are drawn at random among what the mask allows. A
step is a listed choice: a round asks ten questions. Each state is new: no case is met twice. Through `gymnasium.make`,
and through `gymnasium.make_vec` with 16 and 64 episodes in step.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import kgdx
from kgdx.case import Case, Failure, read_cases
from kgdx.errors import KgdxError
from kgdx.learn.environment import DIAGNOSIS
from kgdx.learn.recorded_cases import RecordedCases
from kgdx.policies.tags import TagsPolicy
from kgdx_train.adversaries import SCRIPTS, Known, Writer
from kgdx_train.rollouts import TagRollouts

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
WARM = 10
"""Other cases that are played first: they open what an episode reads."""
TOGETHER = (16, 64)
"""Episodes in step."""


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
    met = RecordedCases.of(graph, cases, known=2)
    tracker = graph.belief_tracker
    env = gymnasium.make(DIAGNOSIS, graph=graph, cases=met)
    ids = list(env.unwrapped.game.patients)
    single(env, ids[:WARM])
    for name, begin in (("one episode at a time", WARM), ("the same again", WARM)):
        if name != "the same again":
            forget(graph)
        yield from rates(name, lambda begin=begin: single(env, ids[begin:]), tracker)
    for count in TOGETHER:
        vector = gymnasium.make_vec(DIAGNOSIS, num_envs=count, graph=graph, cases=met)
        forget(graph)
        yield from rates(f"{count} in step", lambda vector=vector: in_step(vector, len(ids)), tracker)
    yield from written(graph, cases[WARM:])


def forget(graph: Any) -> None:
    graph.ranker.forget()
    graph.belief_tracker.forget()


def rates(name: str, played: Callable[[], int], tracker: Any) -> Iterator[dict[str, Any]]:
    """How many steps a second, how many questions, and how many of the states were scored anew."""
    before, started = tracker.scored_anew, time.process_time()
    steps = played()
    spent = time.process_time() - started
    yield {"what": f"{name}: steps", "rate": round(steps / spent)}
    yield {"what": f"{name}: states that were not seen before", "rate": round((tracker.scored_anew - before) / spent)}


def single(env: Any, ids: Sequence[str]) -> int:
    """Play an episode of each case, and return how many steps they took."""
    chance, steps = np.random.default_rng(0), 0
    for id in ids:
        _, info = env.reset(seed=0, options={"case": id})
        ended = False
        while not ended:
            *_, ended, cut, info = env.step(chance.choice(np.flatnonzero(info["action_mask"])))
            steps, ended = steps + 1, ended or cut
    return steps


def in_step(env: Any, count: int) -> int:
    """Play about so many episodes, and return how many steps they took."""
    chance, steps, done = np.random.default_rng(0), 0, 0
    env.reset(seed=1)
    while done < count:
        masks = env.action_masks()
        steps += int(masks.any(axis=1).sum())  # one that ended only begins anew
        _, _, ended, cut, _ = env.step(np.where(masks, chance.random(masks.shape), -1.0).argmax(axis=1))
        done += int((ended | cut).sum())
    return steps


def written(graph: Any, cases: Sequence[Case]) -> Iterator[dict[str, Any]]:
    """Whole rollouts of a scripted writer of tags, and the wishes that they take."""
    ward = RecordedCases.of(graph, cases, known=None)
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
