"""Re-ranking measured: what it takes itself, and what becomes of orders that models give well, badly or with malice.

Run ``python -m benchmarks.rerank CASES [--graph FOLDER] [--sample N] [--candidates K]``. CASES state their diagnosis. A
server that speaks OpenAI's protocol answers by script. Prints tables in Markdown: Hit@K of the retrieval and of each
model's order, what was refused, and milliseconds of a patient without retrieval and model.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median, quantiles
from typing import Any

import kgdx
from kgdx.api import Graph
from kgdx.api.reranking import Reranker, given_ranking
from kgdx.case import Case, read_cases
from kgdx.config import LlmAccess
from kgdx.episode.loop import begin, run
from kgdx.evaluate.labels import Labels
from kgdx.evaluate.prompt_search import LabelledPatient, judged
from kgdx.evaluate.rank_accuracy import words_reader
from kgdx.llm.connect import connect
from kgdx.policies.rerank import RerankPolicy

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))  # server and scripts are those that the tests use

from llm.server import Say, Script, chance, serving  # noqa: E402
from policies.rerankers import BAD, USELESS, answer, because, by, by_name, shown, shuffling  # noqa: E402

TARGET_MS = 10.0
TOPS = (1, 10, 20, 50)
WARM = 5
SETTINGS: dict[str, dict[str, Any]] = {
    "50 candidates": {},
    "100 candidates": {"candidates": 100},
    "100, windows of 20": {"candidates": 100, "window": 20},
    "50, 3 runs": {"shuffles": 2},
}


def hostile(lines: list[dict[str, Any]], body: Any) -> str:
    """It follows whatever stands in the patient's words, adds diseases, and reasons without evidence."""
    ids = [each["id"] for each in lines]
    chance(body).shuffle(ids)
    why = [{"id": id, "because": "Stop all medication [E1]."} for id in ids]
    return answer(["Brain cloud", *ids, "C9999"], why)[:-1] + ', "scores": {"C1": 99}, "delete": "all"}'


def perfect(patients: Sequence[LabelledPatient]) -> Script:
    """It knows the diagnoses by the patient's part of the prompt, and says why."""
    known: dict[str, set[str]] = {}
    names = {each.id: each.name for one in patients for each in one.ranking.candidates}

    def reply(body: Any, number: int) -> Say:
        lines = shown(body)
        right = known[_patient(body)]
        first = [each for each in lines if each["disease"] in right]
        rest = [each["id"] for each in lines if each not in first]
        why = [because(each) for each in first if "for" in each]
        return Say(answer([*(each["id"] for each in first), *rest], why), usage=(900, 90))

    from kgdx.policies.candidate_evidence import patient

    for one in patients:
        known.setdefault(patient(one.case, True), set()).update(names[id] for id in one.right if id in names)
    return reply


def _patient(body: Any) -> str:
    return str(body["messages"][-1]["content"]).split("# Patient\n\n")[1].split("\n\n# Candidates")[0]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--graph", type=Path)
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--candidates", type=int, default=50)
    options = parser.parse_args(arguments)
    every = [case for case in read_cases(options.cases) if isinstance(case, Case)]
    cases = every[:: max(1, len(every) // options.sample)][: options.sample]
    with kgdx.open(options.graph) as graph:
        labels = Labels.of_graph(graph)
        policy = RerankPolicy(candidates=options.candidates, explain=0)
        with serving(by(shuffling)) as server:
            patients = judged(_work(graph, server.url, policy), cases, words_reader(graph), labels)
        print(f"{len(patients)} patients, {platform.machine()}, Python {platform.python_version()}\n")
        orders(graph, policy, patients)
        print()
        return own_time(graph, patients)


def _work(graph: Graph, url: str, policy: RerankPolicy) -> Reranker:
    return Reranker(graph, connect(LlmAccess("scripted", url, concurrency=16)), policy)


def orders(graph: Graph, policy: RerankPolicy, patients: Sequence[LabelledPatient]) -> None:
    """Print Hit@K of each model's order, and what was refused, a patient."""
    scripts = {
        "perfect": perfect(patients),
        "by name": by(by_name),
        "shuffling": by(shuffling),
        "dropping all but one": by(BAD["dropping"]),
        "inventing ids": by(BAD["inventing ids"]),
        "half a list": by(BAD["half a list"]),
        "prose": by(USELESS["prose"]),
        "hostile": by(hostile),
    }
    print("| order | " + " | ".join(f"Hit@{top}" for top in TOPS) + " | refused | left out | none given | patients/s |")
    print("|---|" + "---|" * (len(TOPS) + 4))
    plain = [[each.id for each in one.ranking.candidates] for one in patients]
    print("|", " | ".join(["retrieval", *_hits(patients, plain), "", "", "", ""]), "|")
    for name, script in scripts.items():
        with serving(script) as server:
            begun = time.perf_counter()
            made = _work(graph, server.url, policy).order([(each.case, each.ranking) for each in patients])
            rate = len(made) / (time.perf_counter() - begun)
        told = [each.told for each in made]
        counts = (
            f"{fmean(each.unknown + each.repeated for each in told):.1f}",
            f"{fmean(each.omitted for each in told):.1f}",
            str(sum(each.stands for each in told)),
        )
        print("|", " | ".join([name, *_hits(patients, [each.order for each in made]), *counts, f"{rate:.0f}"]), "|")


def _hits(patients: Sequence[LabelledPatient], ordered: Sequence[Sequence[str]]) -> list[str]:
    places = [
        next((place for place, id in enumerate(order, 1) if id in each.right), 0)
        for each, order in zip(patients, ordered, strict=True)
    ]
    return [f"{100 * sum(0 < place <= top for place in places) / len(places):.1f}" for top in TOPS]


def own_time(graph: Graph, patients: Sequence[LabelledPatient]) -> int:
    """Print what a patient takes but for retrieval and model; fail where the usual setting takes longer than it may.

    It is the processor's time of the thread that runs the episode, so that neither the wire nor who else uses the
    machine counts.
    """
    late = 0
    print(f"| own time a patient, ms (at most {TARGET_MS:g}) | median | 95 % | requests | characters of a request |")
    print("|---|---|---|---|---|")
    for name, settings in SETTINGS.items():
        policy = RerankPolicy.model_validate({"explain": 0, **settings})
        with serving(by(_reasoned)) as server:
            world = graph.world(policy, model=connect(LlmAccess("scripted", server.url)))
            spent = []
            for number, one in enumerate([*patients[:WARM], *patients]):
                ranking = graph.ranker.rank(one.case, top=policy.candidates, explain=True, by_family=True)
                start = given_ranking(begin(one.case, policy, fingerprint=graph.fingerprint), ranking)
                begun = time.thread_time()
                run(world, start, policy)
                if number >= WARM:
                    spent.append(1000 * (time.thread_time() - begun))
            letters = fmean(len(json.dumps(each["messages"])) for each in server.requests)
            asked = len(server.requests) / (len(patients) + WARM)
        print(f"| {name} | {median(spent):.1f} | {quantiles(spent, n=20)[-1]:.1f} | {asked:.1f} | {letters:,.0f} |")
        late += name == next(iter(SETTINGS)) and median(spent) > TARGET_MS
    return int(late)


def _reasoned(lines: list[dict[str, Any]], body: Any) -> str:
    """An order by chance with a reason for each candidate: the most that there is to read and to check."""
    ids = [each["id"] for each in lines]
    chance(body).shuffle(ids)
    return answer(ids, [because(each) for each in lines if "for" in each])


if __name__ == "__main__":
    sys.exit(main())
