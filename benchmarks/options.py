"""The arms of option questions by scripted models over HTTP, and how many questions go through at the same time.

    python -m benchmarks.options [STORE] [--each N] [--questions N] [--at-once N] [--delay S] [--json]

The questions are made from the graph. A server that speaks OpenAI's protocol answers by script: a model that knows the
answers, one that knows half of them, and one that guesses; all believe what they are shown. The tables say what the
pipeline adds, and nothing of any real model or of medicine. The last figures compare the time that a number of
questions takes with what the server's own delay allows at that number of requests at a time. Prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import kgdx
from benchmarks.scripted_models import KNOWN, scripted_options
from kgdx.answer.option_questions import OptionQuestion
from kgdx.api import Graph
from kgdx.case import Case, read_cases
from kgdx.config import LlmAccess
from kgdx.errors import KgdxError
from kgdx.evaluate.generated_options import OptionSettings, case_questions, generate_options
from kgdx.evaluate.option_accuracy import OptionEvaluation, option_arm
from kgdx.evaluate.option_sets import contamination
from kgdx.llm.chat import ChatModel
from kgdx.llm.connect import connect

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
sys.path.insert(0, str(ROOT / "tests"))  # the server is the one that the tests use

from llm.server import answering, serving  # noqa: E402

ARMS = ("none", "question", "thought", "graph", "thought+graph", "parallel", "iterative")
ABLATIONS = ("votes", *(f"thought:documents={k}" for k in (1, 4, 8, 16)), "thought:query=thought")
"""Of the model that half knows alone."""


CASE_ARMS = ("none", "question", "thought", "thought:query=thought", "thought+graph")
"""Of the cases, which do not name what they ask for."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", nargs="?", help="graph folder; the default graph without it")
    parser.add_argument(
        "--each", type=int, default=10, help="questions of each kind, language and holder of the answer"
    )
    parser.add_argument("--questions", type=int, default=1000, help="questions at the same time")
    parser.add_argument("--at-once", type=int, default=64, help="requests at the same time")
    parser.add_argument("--delay", type=float, default=1.0, help="seconds that the server takes for an answer")
    parser.add_argument("--cases", type=Path, default=DATA / "agentclinic-medqa.jsonl.gz", help="OSCE cases")
    parser.add_argument("--count", type=int, default=60, help="cases")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    try:
        with kgdx.open(options.store) as graph:
            asked = list(generate_options(graph, OptionSettings(options.each)))
            found: dict[str, Any] = {kind: accuracy(graph, asked, kind) for kind in KNOWN}
            told = (each for each in islice(read_cases(options.cases), options.count) if isinstance(each, Case))
            made = case_questions(graph, told, OptionSettings())
            vignettes = [each for each in made if isinstance(each, OptionQuestion)]
            found["cases"] = accuracy(graph, vignettes, "half-knows", CASE_ARMS)
            found["contamination"] = contamination(graph.texts, asked)
            found["rates"] = [rate(graph, asked, options, arm) for arm in ("none", "question", "thought+graph")]
    except KgdxError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(json.dumps(found) if options.json else "\n\n".join(tables(found)))
    return 0


def accuracy(graph: Graph, asked: Sequence[OptionQuestion], kind: str, names: Sequence[str] = ()) -> dict[str, Any]:
    """The figures of arms for a scripted model behind an endpoint."""
    names = names or (*ARMS, *(ABLATIONS if kind == "half-knows" else ()))
    with serving(answering(scripted_options(kind, asked))) as server:
        model: ChatModel = connect(LlmAccess(kind, server.url, concurrency=16))
        arms = [option_arm(each) for each in names]
        return OptionEvaluation(graph, arms, {kind: model}, jobs=16).run(asked)


def rate(graph: Graph, asked: Sequence[OptionQuestion], options: argparse.Namespace, arm: str) -> dict[str, Any]:
    """How long many questions take at once, and how long the server's delay alone would."""
    many = [replace(each, id=f"{n}") for n, each in enumerate(islice(cycle(asked), options.questions))]
    delay, at_once = options.delay, options.at_once
    with serving(answering(scripted_options("knows", asked)), latency=(delay, delay)) as server:
        model = connect(LlmAccess("m", server.url, concurrency=at_once))
        evaluation = OptionEvaluation(graph, [option_arm(arm)], {"m": model}, jobs=at_once)
        begun, used = time.perf_counter(), time.process_time()
        told = evaluation.run(many)["arms"][arm]
        took, used = time.perf_counter() - begun, time.process_time() - used
        bound = len(server.requests) * delay / at_once
    return {
        "arm": arm,
        "questions": told["n"],
        "requests": len(server.requests),
        "busiest": server.busiest,
        "seconds": took,
        "bound": bound,
        "processor_ms": 1000 * used / told["n"],
    }


def tables(found: dict[str, Any]) -> list[str]:
    kinds = [kind for kind in KNOWN if kind in found]
    lines = ["| arm | " + " | ".join(kinds) + " | needed shown | calls | tokens |", "|---|" + "---|" * (len(kinds) + 3)]
    for arm in (*ARMS, *ABLATIONS):
        figures = [found[kind]["arms"].get(arm) for kind in kinds]
        cells = ["" if each is None else share(each["accuracy"]) for each in figures]
        told = found["half-knows"]["arms"][arm]
        needed = f"{100 * told['needed']['shown']:.0f}" if told["needed"]["n"] else ""
        cells += [needed, f"{told['calls']:.1f}", f"{told['read'] + told['written']:,.0f}"]
        lines.append(f"| `{arm}` | {' | '.join(cells)} |")
    rests = found["half-knows"]["groups"]["rests_on"]
    shown = ARMS
    by = ["| half-knows, answer held by | n | " + " | ".join(f"`{arm}`" for arm in shown) + " |", "|---" * 9 + "|"]
    for rest, told in rests.items():
        shares = " | ".join(f"{100 * told[arm]['accuracy']:.0f}" for arm in shown)
        by.append(f"| {rest} | {told[shown[0]]['n']} | {shares} |")
    pairs = ["| half-knows, difference | points | won/lost | p |", "|---|---|---|---|"]
    for each in found["half-knows"]["differences"]:
        about = each["difference"]
        ends = f"({100 * about['low']:+.0f} to {100 * about['high']:+.0f})"
        p = "" if each["sign_p"] is None else f"{each['sign_p']:.2g}"
        name = f"`{each['arm']}` − `{each['against']}`"
        pairs.append(f"| {name} | {100 * about['mean']:+.1f} {ends} | {each['wins']}/{each['losses']} | {p} |")
    cases = ["| cases, half-knows | n | accuracy | needed shown |", "|---|---|---|---|"]
    for arm, told in found["cases"]["arms"].items():
        cases.append(f"| `{arm}` | {told['n']} | {share(told['accuracy'])} | {100 * told['needed']['shown']:.0f} |")
    rates = [
        "| arm | questions | requests | at once | s | the server alone, s | processor, ms a question |",
        "|---" * 7 + "|",
    ]
    for row in found["rates"]:
        rates.append(
            f"| `{row['arm']}` | {row['questions']:,} | {row['requests']:,} | {row['busiest']} | {row['seconds']:.1f} "
            f"| {row['bound']:.1f} | {row['processor_ms']:.1f} |"
        )
    return ["\n".join(each) for each in (lines, by, pairs, cases, rates)]


def share(about: dict[str, float]) -> str:
    return f"{100 * about['share']:.0f} ({100 * about['low']:.0f}–{100 * about['high']:.0f})"


if __name__ == "__main__":
    sys.exit(main())
