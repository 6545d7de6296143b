"""Time thought before retrieval; ``python -m benchmarks.thought [--store FOLDER]``, from the top of a checkout.

Option questions are made of the diseases of a graph, and a server on this machine thinks and answers by a script: its
thoughts are the beginnings of what the graph's sources say of the diseases. First the questions are asked one by one,
and what is not the server's time is the policy's own: searching, reading names, looking up facts, fitting, choosing.
Then all are asked at once. The exit code is 1 where a round takes longer than its target.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from random import Random

import kgdx
from kgdx.answer.artifacts import OptionChosen
from kgdx.api import Graph
from kgdx.case import Case
from kgdx.config import LlmAccess
from kgdx.episode import Episode, Limits, State, begin, run, run_many
from kgdx.episode.segment import Author, Kind
from kgdx.llm.connect import connect
from kgdx.policies.thought import ThoughtPolicy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from llm.server import Body, Say, serving

TARGET = 20.0
"""Milliseconds of processor time of a round that are the policy's own, in the mean."""
ASKED = ("Which gene is altered in {}?", "Which finding is typical of {}?", "Which drug is given for {}?")
WORDS = 600
"""Letters of a thought."""


def texts(graph: Graph, chinese: bool) -> list[tuple[str, str]]:
    """Names of diseases with texts: in Chinese what is said of them, in English what is said of findings."""
    diseases = graph.store.export_nodes("Disease", ["name", "definition"]).to_pylist()
    findings = graph.store.export_nodes("Phenotype", ["name", "definition"]).to_pylist()
    told: Iterable[tuple[str, str]]
    if chinese:
        told = ((row["name"], row["definition"] or "") for row in diseases)
    else:
        names = [row["name"] for row in diseases if row["name"] and row["name"].isascii()]
        told = zip(names, (f"{row['name']} is {row['definition']}" for row in findings), strict=False)
    return sorted({name: text for name, text in told if name and len(name) < 60 and len(text) > 80}.items())


def started(graph: Graph, policy: ThoughtPolicy, told: list[tuple[str, str]], count: int) -> list[State]:
    """The first states of the questions, each with four options."""
    chance, starts = Random(1), []
    for number in range(count):
        shown = chance.sample(told, 4)
        question = ASKED[number % len(ASKED)].format(shown[0][0])
        options = dict(zip("ABCD", (name for name, _ in shown), strict=True))
        case = Case(f"q{number}")
        starts.append(begin(case, policy, question=question, options=options, limits=Limits(steps=200, errors=99)))
    return starts


def answering(episode: Episode) -> float:
    """The milliseconds that the log says the server took."""
    return sum(each.milliseconds for each in episode.log if each.author is Author.MODEL and each.kind is Kind.RESULT)


def by_action(episodes: list[Episode]) -> dict[str, list[float]]:
    """Milliseconds of each kind of action, episode by episode."""
    found: dict[str, list[float]] = defaultdict(list)
    for episode in episodes:
        spent: dict[str, float] = defaultdict(float)
        for each in episode.log:
            if each.author is Author.GRAPH:
                spent["get facts" if each.name.startswith(("get_", "infer_")) else each.name] += each.milliseconds
        for name, value in spent.items():
            found[name].append(value)
    return found


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--store", help="folder of the graph; the default graph without it")
    parser.add_argument("--questions", type=int, default=200, help="asked one by one")
    parser.add_argument("--at-once", type=int, default=1000, help="asked all at once")
    parser.add_argument("--chinese", action="store_true", help="thoughts in Chinese")
    parser.add_argument("--set", default="", help="settings of the policy, such as scale=2,scaling=iterative")
    given = parser.parse_args()
    settings = dict(each.split("=", 1) for each in given.set.split(",") if each)
    policy = ThoughtPolicy.model_validate(settings)
    rounds = policy.scale if policy.scaling == "iterative" else 1
    with kgdx.open(given.store) as graph:
        told = texts(graph, given.chinese)

        def script(body: Body, number: int) -> Say:
            said = body["messages"][1]["content"]
            chance = Random(hashlib.sha256(said.encode()).digest())
            if "Identify the relevant" in said:
                return Say(" ".join(f"{name}: {text}" for name, text in chance.sample(told, 3))[:WORDS])
            return Say(f"It is known [E1][E2].\nAnswer: {chance.choice('ABCD')}")

        with serving(script) as server:
            model = connect(LlmAccess("m", server.url, attempts=1, timeout=60.0))
            world = graph.world(policy, model=model)
            for start in started(graph, policy, told, 3):
                run(world, start, policy)  # opens the indexes
            own, taken, episodes = [], [], []
            for start in started(graph, policy, told, given.questions):
                begun, worked = time.perf_counter(), time.thread_time()
                episodes.append(run(world, start, policy))
                taken.append(((time.perf_counter() - begun) * 1000 - answering(episodes[-1])) / rounds)
                own.append((time.thread_time() - worked) * 1000 / rounds)
            print(f"{len(own)} questions, own time of a round, without the server's:")
            for what, values in (("processor", own), ("wall clock", taken)):
                late = sorted(values)[int(0.95 * len(values))]
                print(f"  {what:14} {statistics.mean(values):6.2f} ms in the mean, p95 {late:.2f}")
            for name, values in sorted(by_action(episodes).items(), key=lambda each: -sum(each[1])):
                print(f"  {name:14} {statistics.mean(values) / rounds:6.2f} ms a round, in {len(values)} questions")
        with serving(script, latency=(0.025, 0.075)) as server:
            model = connect(LlmAccess("m", server.url, attempts=1, timeout=60.0, concurrency=64))
            world = graph.world(policy, model=model)
            starts = started(graph, policy, told, given.at_once)
            begun, worked = time.perf_counter(), time.process_time()
            done = asyncio.run(run_many(world, starts, policy, concurrency=256))
            wall, worked = time.perf_counter() - begun, time.process_time() - worked
            chosen = sum(each.state.get(OptionChosen) is not None for each in done)
            print(
                f"{len(done):,} questions at once: {wall:.1f} s, of which {worked:.1f} s processor; {chosen:,} answered"
            )
    return int(statistics.mean(own) > TARGET)


if __name__ == "__main__":
    sys.exit(main())
