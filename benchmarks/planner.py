"""Planners measured over real HTTP: recall by action, rounds, tokens, citations, and kgdx's own time in a round.

Run ``python benchmarks/planner.py [--graph FOLDER] [--questions FILE] [--diseases N]``, on a graph that has the Chinese
knowledge graph. A server that speaks OpenAI's protocol answers by script: a planner that is always right, one that is
half right, one that writes damaged JSON and one that means harm; the rules need none. Prints tables in Markdown.
``--transcript ID`` prints one run in full instead: prompts, answers, actions, rows, the evidence, the answer.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import kgdx
from kgdx.api import Graph
from kgdx.config import LlmAccess
from kgdx.evaluate.generated import generate
from kgdx.evaluate.graphs import Asker, Reading
from kgdx.evaluate.questions import Question, chosen, read_questions
from kgdx.evaluate.recall import evaluate_recall
from kgdx.evaluate.scripted import PLANNERS, scripted
from kgdx.llm.connect import connect
from kgdx.llm.protocol import ChatModel

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))  # the server is the one that the tests use

from llm.server import answering, serving  # noqa: E402

TARGET_MS = 20.0
WARM = 3
RULES = "rules"


@contextmanager
def over_http(kind: str, questions: Sequence[Question]) -> Iterator[ChatModel]:
    """A scripted model behind an endpoint, asked as any other."""
    with serving(answering(scripted(kind, questions))) as server:
        yield connect(LlmAccess(f"scripted-{kind}", server.url))


def measured(graph: Graph, kind: str, questions: Sequence[Question]) -> dict[str, Any]:
    """The figures of the rules, or of a planner over HTTP."""
    ask = Asker(graph)
    if kind == RULES:
        for question in questions[:WARM]:
            ask(question, None)
        return evaluate_recall(questions, ask)
    with over_http(kind, questions) as model:
        for question in questions[:WARM]:
            ask(question, model)
        return evaluate_recall(questions, ask, model)


def number(value: float | None, digits: int = 3) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def by_action(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Recall of the gold by action and policy; of the rules apart for held-out wordings."""
    rows = []
    for action in results[RULES]["action"]:
        parts = [results[RULES]["action/split"].get(f"{action}/{split}") for split in ("tuned", "held_out")]
        cells = [part["recall"]["mean"] if part else None for part in parts]
        cells += [results[kind]["action"][action]["recall"]["mean"] for kind in PLANNERS]
        rows.append([f"`{action}`", *map(number, cells)])
    return table(["recall of the gold", "rules, tuned", "rules, held out", *PLANNERS], rows)


def by_policy(results: Mapping[str, Mapping[str, Any]]) -> str:
    """What each policy reached and took."""
    columns = ["", "n", "recall", "MRR", "precision", "citations that hold", "rounds", "calls", "tokens", "own ms"]
    columns += ["ms a round, median", "p95", "failed"]
    rows = []
    for kind, result in results.items():
        all_ = result["all"]
        low, high = (number(all_["recall"][end]) for end in ("low", "high"))
        rows.append(
            [
                kind,
                all_["n"],
                f"{number(all_['recall']['mean'])} ({low}–{high})",
                *(number(all_[name]) for name in ("mrr", "precision", "citations")),
                *(number(all_[name], 1) for name in ("rounds", "calls")),
                f"{all_['read'] + all_['written']:,.0f}",
                number(all_["own_ms"], 1),
                *(number(all_[name], 1) for name in ("round_ms", "round_ms_p95")),
                all_["failed"],
            ]
        )
    return table(columns, rows)


def transcript(graph: Graph, kind: str, question: Question, questions: Sequence[Question]) -> None:
    """Print one run of a planner over HTTP, word by word."""
    with over_http(kind, questions) as model:
        answer = Asker(graph)(question, model)
    print(f"# {question.question}\n")
    for segment in answer.trace:
        told = json.dumps(dict(segment.parameters), ensure_ascii=False)
        rows = "" if segment.rows is None else f" → {segment.rows} rows"
        print(f"[{segment.author}] {segment.kind} {segment.name} {told}{rows} ({segment.milliseconds:.1f} ms)")
        if segment.content:
            print("\n".join(f"    {line}" for line in segment.content.splitlines()))
    print("\n# Evidence\n")
    for item in answer.pack.items:
        print(f"{item.id} {item.kind}: {item.text[:200]} [{', '.join(item.sources)}]")
    print(f"\n# Answer ({answer.text.author}; {len(answer.text.removed)} citations removed)\n\n{answer.text}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", help="graph folder; KGDX_STORE by default")
    parser.add_argument("--questions", type=Path, help="question set; generated when left out")
    parser.add_argument("--diseases", type=int, default=20, help="diseases asked about for each action")
    parser.add_argument("--split", help="only questions of this split")
    parser.add_argument("--transcript", metavar="ID", help="print the run of this question (first: the first one)")
    parser.add_argument("--kind", choices=PLANNERS, default="half-right", help="whose run is printed")
    options = parser.parse_args()
    with kgdx.open(options.graph) as graph:
        made = generate(Reading(graph), diseases=options.diseases)
        questions = chosen(read_questions(options.questions) if options.questions else made, options.split)
        if options.transcript:
            found = [each for each in questions if options.transcript in ("first", each.id)]
            if not found:
                parser.error(f"no question {options.transcript}")
            transcript(graph, options.kind, found[0], questions)
            return
        results = {kind: measured(graph, kind, questions) for kind in (RULES, *PLANNERS)}
    print(f"{len(questions)} questions, Python {platform.python_version()}, kgdx {kgdx.__version__}\n")
    print(by_action(results), by_policy(results), sep="\n\n")
    slow = {kind: result["all"]["round_ms"] for kind, result in results.items() if result["all"]["round_ms"]}
    worst = max(slow, key=lambda kind: slow[kind])
    verdict = "within" if slow[worst] <= TARGET_MS else "beyond"
    print(f"\nown time in a round, median of the slowest ({worst}): {slow[worst]:.1f} ms, {verdict} {TARGET_MS:.0f} ms")


if __name__ == "__main__":
    main()
