"""Questions, and an answer with a graph that needs no graph, for tests of evaluations."""

from __future__ import annotations

from kgdx.evaluate.answer_pairs import GraphAnswer
from kgdx.evaluate.question_sets import BenchmarkQuestion, Gold
from kgdx.llm.chat import ChatModel, Message, Request

NAMES = ("发热", "抽搐", "皮疹", "咳嗽", "头痛", "呕吐")


def questions(count: int = 4) -> list[BenchmarkQuestion]:
    """Questions about made-up diseases, each with as many symptoms as there are names."""
    gold = tuple(Gold(name=name, id=f"S:{number}") for number, name in enumerate(NAMES))
    return [
        BenchmarkQuestion(
            id=f"q{number}",
            question=f"{number}号病有哪些症状？",
            language="zh",
            action="get_symptom",
            entities=(f"{number}号病",),
            subjects=(f"D:{number}",),
            gold=gold,
            reference="、".join(NAMES),
            split="tuned" if number % 2 else "held_out",
        )
        for number in range(count)
    ]


def from_evidence(question: BenchmarkQuestion, model: ChatModel) -> GraphAnswer:
    """Plan once, then write from evidence that has all of the gold: three calls of the model."""
    plan = f'# Question\n\n{question.question}\n\n# Your choice\n\nThis is round 1 of at most 5. {{"thought": ""}}'
    model.ask(Request((Message("user", plan),)))
    evidence = ", ".join(f'"E{number}": "{gold.name}"' for number, gold in enumerate(question.gold, 1))
    lines = f'==========\n{{"kind": "relation", "evidence": {{{evidence}}}}}\n=========='
    asked = f"Question:\n\n> {question.question}\n\nEvidence:\n\n{lines}\n"
    return GraphAnswer(model.ask(Request((Message("user", asked),))).text, {"rounds": 1})
