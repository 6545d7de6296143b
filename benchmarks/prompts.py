"""Tokens that each path of a language model sends: ``python -m benchmarks.prompts [GRAPH]``.

A model that writes what no path can use is asked on every path, so that each goes as far as it goes with the worst one.
Tokens are those of the prompts, with the words of a schema as an endpoint is told that takes no ``json_schema``;
a fourth of the letters, or counted by a tokenizer (``KGDX_TOKENIZER``: a folder that transformers loads).
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import kgdx
from kgdx.llm.chat import ChatModel, Completion, OnText, Request, Usage, names, prompt, with_schema

QUESTIONS = ("What are the symptoms of Marfan syndrome?", "Which disease causes seizures, ataxia and nystagmus?")
PATIENT = "A girl of 7 with short stature, sparse scalp hair, a bulbous nose and cone-shaped epiphyses. No deafness."
BEGINNINGS = {name: prompt(name).system[:60] for name in names()}
PLAN = '{"thought": "", "actions": [{"action": "get_symptom", "diseases": ["Marfan syndrome"]}]}'


def counter() -> Callable[[str], int]:
    """Return what counts the tokens of a text."""
    if folder := os.environ.get("KGDX_TOKENIZER"):
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(folder)
        return lambda text: len(tokenizer(text)["input_ids"])
    return lambda text: len(text) // 4


class Recorder(ChatModel):
    """Counts what it is asked, by prompt, and writes a plan that is of no use, or nothing that can be read."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self.count = count
        self.asked: dict[str, list[int]] = defaultdict(list)
        self.path = ""

    @property
    def name(self) -> str:
        """Its name."""
        return "recorder"

    async def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        """Return what it writes."""
        told = request.messages if request.schema is None else with_schema(request.messages, request.schema)
        tokens = sum(self.count(each.content) + 4 for each in told)
        kind = next((each for each in names() if request.messages[0].content.startswith(BEGINNINGS[each])), "")
        self.asked[f"{self.path}: {kind}"].append(tokens)
        plan = "You plan how to look up" in request.messages[0].content
        return Completion(PLAN if plan else "I do not know.", self.name, Usage(tokens, 4))


def main() -> None:
    """Print a row for each path."""
    model = Recorder(counter())
    graph: Any = kgdx.open(*sys.argv[1:2])

    def ask(question: str, policy: str, **how: Any) -> Callable[[], object]:
        return lambda: graph.ask(question, policy=policy, model=model, **how)

    def tried(path: str, run: Callable[[], object]) -> None:
        model.path = path
        try:
            run()
        except kgdx.KgdxError as error:
            print(f"{path}: {error}", file=sys.stderr)

    for question in QUESTIONS:
        for rounds in (1, 2):
            tried(
                f"ask, {rounds} round(s)",
                lambda q=question, r=rounds: graph.ask(q, policy="planner", model=model, rounds=r),
            )
        tried("thought", lambda q=question: graph.ask(q, policy="thought", model=model))
    for policy in ("rerank", "tags", "thought", "planner"):
        tried(f"diagnose --policy {policy}", lambda p=policy: graph.diagnose(PATIENT, policy=p, model=model))
    print(f"{'path':40} requests  largest     sum")
    for path, counts in model.asked.items():
        print(f"{path:40} {len(counts):8} {max(counts):8,} {sum(counts):7,}")


if __name__ == "__main__":
    main()
