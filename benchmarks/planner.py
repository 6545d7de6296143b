"""Planners measured over real HTTP: recall by action, rounds, tokens, citations, and kgdx's own time in a round.

Run ``python benchmarks/planner.py [--graph FOLDER] [--questions FILE] [--diseases N]``, on a graph that has the Chinese
knowledge graph. A server that speaks OpenAI's protocol answers by script: a planner that is always right, one that is
half right, one that writes damaged JSON and one that means harm; the rules need none. Prints tables in Markdown.
``--diseases 2`` is a small run of a minute.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import kgdx
from benchmarks.scripted_models import PLANNERS, scripted
from kgdx.api import Graph
from kgdx.config import LlmAccess
from kgdx.evaluate.answer_pairs import CompiledTemplates, GraphAsker
from kgdx.evaluate.evidence_recall import evaluate_recall
from kgdx.evaluate.question_sets import BenchmarkQuestion, chosen, generate, read_questions
from kgdx.llm.chat import ChatModel, Completion, OnText, Request
from kgdx.llm.connect import connect

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))  # the server is the one that the tests use

from llm.server import Server, answering, serving  # noqa: E402

TARGET_MS = 20.0
WARM = 3
RULES = "rules"
NOTES = """
a round: all of a question but the model, from the question to the checked answer, divided by its rounds.
between two answers: what runs after an answer of the model and before the next one is asked for.
the wire: HTTP and its client, a call (median); not in the others. All scripted models know the questions' gold."""


@dataclass
class Timed(ChatModel):
    """A model whose answers are timed, on either side of the wire."""

    model: ChatModel
    seconds: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.model.name

    async def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        begin = time.perf_counter()
        try:
            return await self.model.complete(request, on_text)
        finally:
            self.seconds.append(time.perf_counter() - begin)


@contextmanager
def over_http(model: ChatModel) -> Iterator[tuple[ChatModel, Server]]:
    """A scripted model behind an endpoint, asked as any other."""
    with serving(answering(model)) as server:
        yield connect(LlmAccess(model.name.replace(":", "-"), server.url)), server


def measured(graph: Graph, kind: str, questions: Sequence[BenchmarkQuestion]) -> dict[str, Any]:
    """The figures of the rules, or of a planner over HTTP."""
    ask = GraphAsker(graph)
    if kind == RULES:
        for question in questions[:WARM]:
            ask(question, None)
        return evaluate_recall(questions, ask)
    there = Timed(scripted(kind, questions))
    with over_http(there) as (model, _):
        here = Timed(model)
        for question in questions[:WARM]:
            ask(question, here)
        here.seconds.clear()
        there.seconds.clear()
        result = evaluate_recall(questions, ask, here)
    result["rounds"] = own_rounds(result["questions"])
    same = len(here.seconds) == len(there.seconds)  # an answer that was no answer is asked for again
    wire = 1000 * (np.array(here.seconds) - np.array(there.seconds)) if same else np.array([])
    result["wire"] = float(np.median(wire)) if len(wire) else None
    return result


def own_rounds(rows: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Median and 95th percentile of kgdx's own time by round: all of a question but the model, from the question to the
    checked answer, divided by its rounds."""
    spent = [row["own_ms"] / row["rounds"] for row in rows if row["rounds"]]
    return float(np.median(spent)), float(np.percentile(spent, 95))


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
        cells += [result["action"][action]["recall"]["mean"] for kind, result in results.items() if kind != RULES]
        rows.append([f"`{action}`", *map(number, cells)])
    planners = [kind for kind in results if kind != RULES]
    return table(["recall of the gold", "rules, tuned", "rules, held out", *planners], rows)


def by_policy(results: Mapping[str, Mapping[str, Any]]) -> str:
    """What each policy reached and took."""
    columns = ["", "n", "recall", "MRR", "precision", "citations that hold", "rounds", "calls", "tokens", "failed"]
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
                all_["failed"],
            ]
        )
    return table(columns, rows)


def overheads(results: Mapping[str, Mapping[str, Any]]) -> str:
    """kgdx's own time: everything but the model."""
    columns = ["own time, ms", "a round, median", "p95", "between two answers, median", "p95", "a question", "the wire"]
    rows = []
    for kind, result in results.items():
        all_ = result["all"]
        if kind == RULES:
            rows.append([kind, "", "", "", "", number(all_["own_ms"], 1), ""])
            continue
        spent = (*result["rounds"], all_["round_ms"], all_["round_ms_p95"], all_["own_ms"], result["wire"])
        rows.append([kind, *(number(value, 1) for value in spent)])
    return table(columns, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", help="graph folder; KGDX_STORE by default")
    parser.add_argument("--questions", type=Path, help="question set; generated when left out")
    parser.add_argument("--diseases", type=int, default=20, help="diseases asked about for each action")
    parser.add_argument("--split", help="only questions of this split")
    parser.add_argument("--policies", nargs="*", choices=PLANNERS, default=PLANNERS, help="planners beside the rules")
    options = parser.parse_args()
    with kgdx.open(options.graph) as graph:
        made = generate(CompiledTemplates(graph), diseases=options.diseases)
        questions = chosen(read_questions(options.questions) if options.questions else made, options.split)
        results = {kind: measured(graph, kind, questions) for kind in (RULES, *options.policies)}
    print(f"{len(questions)} questions, Python {platform.python_version()}, kgdx {kgdx.__version__}\n")
    print(by_action(results), by_policy(results), overheads(results), sep="\n\n")
    median, p95 = max((result["rounds"] for kind, result in results.items() if kind != RULES), default=(0.0, 0.0))
    verdict = "within" if median <= TARGET_MS else "beyond"
    told = f"median {median:.1f} ms, {verdict} {TARGET_MS:.0f} ms; p95 {p95:.1f} ms"
    print(f"\nown time of a round, slowest planner: {told}")
    print(NOTES)


if __name__ == "__main__":
    main()
