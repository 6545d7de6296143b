"""A tiny language model, made from scratch, learns by DPO to think of the right document and to answer from it.

No graph and no medicine. A made-up question shows a word; another word, its key, names the document that holds the
answer, and the document of the word itself holds a wrong one. The model that is trained from mostly repeats the word
that it was shown, and mostly answers from memory. Thought pairs teach it to name the key, answer pairs to copy from the
document: only together do they answer questions.

    python -m benchmarks.dpo_toy --plot docs/images/dpo_toy.png
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from benchmarks.train_toy import DISEASES, FINDINGS, make_model
from kgdx.llm.chat import Completion, Message, Request
from kgdx_train.batch_model import BatchModel
from kgdx_train.language_run import CURVE, FINAL, RunFolder, curves
from kgdx_train.language_settings import DpoSettings, WarmUp
from kgdx_train.preference_pairs import Kind, Pair
from kgdx_train.preference_training import PreferenceTraining
from kgdx_train.training_run import loaded
from kgdx_train.warm_up import warm_up

TEMPLATE = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% if m['role'] == 'assistant' %}</s>{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
ARMS = ("both", "thought", "answer")
SHARES = (0.65, 0.25)
"""How often the model that is trained from repeats and recalls, and how often it is right."""
T95 = {3: 4.303}
"""Quantile of Student's distribution for the interval of a mean of three."""


@dataclass(frozen=True, slots=True)
class Riddle:
    """A question: the word that it shows, and what each word's document says."""

    word: str
    documents: dict[str, str]

    @classmethod
    def of(cls, id: str) -> Riddle:
        chance = random.Random(f"riddle {id}")
        word = chance.choice(FINDINGS)
        said = chance.sample(DISEASES, len(FINDINGS))
        found = cls(word, dict(zip(FINDINGS, said, strict=True)))
        return found if found.answer != found.memory else cls.of(f"{id}'")

    @property
    def key(self) -> str:
        return FINDINGS[(FINDINGS.index(self.word) + 3) % len(FINDINGS)]

    @property
    def answer(self) -> str:
        return self.documents[self.key]

    @property
    def memory(self) -> str:
        return DISEASES[FINDINGS.index(self.word)]

    def asked(self, kind: Kind, thought: str = "") -> tuple[Message, ...]:
        if kind == "thought":
            return (Message("user", f"think {self.word}"),)
        return (Message("user", f"answer {self.word} by {thought} {self.documents.get(thought, '')}"),)

    def usual(self, kind: Kind, chance: random.Random) -> str:
        """What the model that is trained from writes."""
        wrong, right = (self.word, self.key) if kind == "thought" else (self.memory, self.answer)
        drawn, words = chance.random(), FINDINGS if kind == "thought" else DISEASES
        if drawn < sum(SHARES):
            return wrong if drawn < SHARES[0] else right
        return chance.choice(words)


def transcripts(count: int, seed: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        riddle, chance = Riddle.of(f"told {seed} {number}"), random.Random(f"told {seed} {number}")
        for kind, thought in (("thought", ""), ("answer", riddle.key)):
            prompt = [{"role": each.role, "content": each.content} for each in riddle.asked(kind, thought)]
            yield {"prompt": prompt, "completion": [{"text": f"{riddle.usual(kind, chance)}.", "own": True}]}


def pairs(count: int, seed: int) -> Iterator[Pair]:
    """A pair of thoughts and one of answers for each question, as a judge that is never wrong would choose them."""
    for number in range(count):
        id = f"{seed} {number}"
        riddle, chance = Riddle.of(f"pair {id}"), random.Random(f"pair {id}")
        for kind, right, words in (("thought", riddle.key, FINDINGS), ("answer", riddle.answer, DISEASES)):
            wrong = riddle.usual(kind, chance)
            while wrong == right:
                wrong = riddle.usual(kind, chance) if chance.random() < 0.9 else chance.choice(words)
            prompt = tuple({"role": each.role, "content": each.content} for each in riddle.asked(kind, riddle.key))
            yield Pair(id, kind, prompt, f"{right}.", f"{wrong}.", (0, 1), id)


def solved(model: BatchModel, riddles: Sequence[Riddle]) -> dict[str, float]:
    """Think, take the document of the word that was thought of, answer; all greedily."""

    def said(requests: Sequence[Request]) -> list[str]:
        found = [each for each in model.sampled(requests) if isinstance(each, Completion)]
        return [each.text.strip() for each in found]

    how: dict[str, Any] = {"max_tokens": 12, "stop": (".",)}
    thoughts = said([Request(each.asked("thought"), **how) for each in riddles])
    asked = [each.asked("answer", thought) for each, thought in zip(riddles, thoughts, strict=True)]
    answers = said([Request(each, **how) for each in asked])
    return {
        "thought": fmean(each.key == said for each, said in zip(riddles, thoughts, strict=True)),
        "answered": fmean(each.answer == said for each, said in zip(riddles, answers, strict=True)),
    }


def begun(folder: Path, seed: int, epochs: int = 10) -> Path:
    """The model that is trained from: it repeats what it is shown, and answers from memory."""
    told = list(transcripts(600, seed))
    texts = [each["prompt"][0]["content"] for each in told] + [" ".join((*FINDINGS, *DISEASES))] * 50
    make_model(folder, texts, seed, template=TEMPLATE)
    settings = DpoSettings(model=str(folder), pairs="", device="cpu")
    model, tokenizer = loaded(settings)
    how = WarmUp(transcripts="", epochs=epochs, batch=32, rate=2e-3)
    warm_up(model, tokenizer, told, how, seed=seed, context=None, tell=lambda step, loss: None)
    model.save_pretrained(folder, safe_serialization=True)
    return folder


def trained(folder: Path, model: Path, arm: str, seed: int, **changed: Any) -> RunFolder:
    """Train by one kind of pairs, or by both, with as many updates of as many pairs."""
    given = [each for each in pairs(1_100 if arm == "both" else 2_200, seed) if arm in ("both", each.kind)]
    settings: dict[str, Any] = {
        "batch": 64,
        "micro": 64,
        "rate": 5e-4,
        "epochs": 2,
        "held_out": 0.12,
        "device": "cpu",
        "samples": 0,
    }
    settings |= {"evaluate": 20, "save": 60, **changed}
    made = DpoSettings(model=str(model), pairs="", seed=seed, **settings)
    PreferenceTraining(made, given, folder / f"{arm} {seed}", tell=lambda line: None).run()
    return RunFolder(folder / f"{arm} {seed}")


def measured(folder: Path, seed: int, count: int = 300) -> dict[str, dict[str, float]]:
    """What the model does before and after training, by arm, on questions that no pair is of."""
    riddles = [Riddle.of(f"asked {seed} {number}") for number in range(count)]
    model = begun(folder / f"model {seed}", seed)
    found = {"before": solved(BatchModel(*loaded(DpoSettings(model=str(model), pairs=""))), riddles)}
    for arm in ARMS:
        run = trained(folder, model, arm, seed)
        final = DpoSettings(model=str(run.path / FINAL), pairs="")
        rows = run.rows(CURVE)
        figures = {"pairs in order": fmean(row["accuracy"] for row in rows[55:60]), "updates": float(len(rows))}
        figures |= {"seconds": sum(row["seconds"] for row in rows)}
        found[arm] = solved(BatchModel(*loaded(final)), riddles) | figures
        print(f"seed {seed}, {arm}: {found[arm]}", flush=True)
    return found


def interval(values: Sequence[float]) -> str:
    half = T95[len(values)] * stdev(values) / len(values) ** 0.5 if len(values) in T95 else float("nan")
    return f"{fmean(values):.3f} ± {half:.3f}"


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--plot", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = [measured(folder, seed) for seed in range(given.seeds)]
        for arm in ("before", *ARMS):
            columns = {name: [each[arm][name] for each in found] for name in found[0][arm]}
            print(f"{arm:8}", "  ".join(f"{name} {interval(values)}" for name, values in columns.items()))
        if given.plot is not None:
            _draw(folder, given.plot)


def _draw(folder: Path, plot: Path) -> None:
    from kgdx.render.plots import training_plot

    shown = {"accuracy": "pairs in the right order", "margin": "margin of rewards", "loss": "loss"}
    rows = {arm: RunFolder(folder / f"{arm} 0").rows(CURVE) for arm in ARMS}
    training_plot({arm: curves(some, tuple(shown)) for arm, some in rows.items()}, len(rows["both"]), plot, shown)


if __name__ == "__main__":
    main()
