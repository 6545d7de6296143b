"""Pairs, DPO and evaluation by the three commands, over one tiny language model that was made from scratch.

    python -m benchmarks.chain [--train N] [--test N] [--keep FOLDER]

`kgdx learn pairs`, `kgdx train dpo` and `kgdx evaluate options` run one after the other as a researcher runs them, in a
folder of their own. No medicine: a patient of a made-up ward shows a made-up sign; the sign belongs to a made-up organ,
and what is known of that organ in that ward stands in one document of an indexed folder, as eight of each ward do. The
model that is begun with mostly repeats the sign as its thought, which finds no document in particular; it mostly copies
what a document says, and without one recalls what is usual, which is right for four wards in ten. Prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import yaml

import kgdx
from benchmarks.dpo_toy import SHARES, TEMPLATE
from benchmarks.train_toy import DISEASES, FINDINGS, make_model
from kgdx.answer.option_questions import LETTERS, OptionQuestion
from kgdx.api import Graph
from kgdx.llm.chat import Message
from kgdx.policies.thought import ThoughtPolicy
from kgdx.policies.thought_reading import direct_messages
from kgdx_train.language_run import FINAL
from kgdx_train.language_settings import DpoSettings, WarmUp
from kgdx_train.pair_making import Retrieval
from kgdx_train.training_run import loaded
from kgdx_train.warm_up import warm_up

ROOT = Path(__file__).resolve().parents[1]
TINY = ROOT / "tests" / "data" / "tiny"
ORGANS = ("amril", "brone", "cavit", "dolen", "eskar", "frint", "gulda", "hemro")
"""What the signs belong to, in their order; a document's key."""
USUAL = 0.4
"""Share of the wards in which the document says what is usual."""
READS = (0.8, 0.1)
"""How often the model that is begun with says what a document says, and what is usual."""
BEFORE = ("none", "question:documents=1", "thought:documents=1")
AFTER = ("none", "thought:documents=1")
TAG = "wards"
TOLD = 650
"""Wards of which the model that is begun with was told."""
LIMIT = ("--max-calls", "100000")
LONG = 20
"""A line of the prompts that is longer and always the same is one token of the tiny model, which so reads faster."""


@dataclass(frozen=True, slots=True)
class RecordedCases:
    """A question: its ward, the sign that is shown, and what each organ's document says."""

    number: int
    sign: str
    says: dict[str, str]

    @classmethod
    def of(cls, number: int) -> RecordedCases:
        chance = Random(f"ward {number}")
        place = chance.randrange(len(FINDINGS))
        said = list(DISEASES)
        chance.shuffle(said)
        if chance.random() < USUAL:
            other = said.index(DISEASES[place])
            said[place], said[other] = said[other], said[place]
        return cls(number, FINDINGS[place], dict(zip(ORGANS, said, strict=True)))

    @property
    def organ(self) -> str:
        return ORGANS[FINDINGS.index(self.sign)]

    @property
    def usual(self) -> str:
        return DISEASES[FINDINGS.index(self.sign)]

    @property
    def question(self) -> OptionQuestion:
        words = list(DISEASES)
        Random(f"options {self.number}").shuffle(words)
        options = dict(zip(LETTERS, words, strict=False))
        gold = next(letter for letter, each in options.items() if each == self.says[self.organ])
        asked = f"A patient of ward{self.number} shows {self.sign}. Which is it?"
        return OptionQuestion(f"ward{self.number}", asked, options, gold, (self.document(self.organ),), language="en")

    def document(self, organ: str) -> str:
        return f"ward{self.number}-{organ}"

    def documents(self) -> Iterator[dict[str, str]]:
        organs = list(ORGANS)
        Random(f"documents {self.number}").shuffle(organs)
        for organ in organs:
            text = f"{organ} of ward{self.number} means {self.says[organ]}."
            yield {"id": self.document(organ), "title": "", "content": text}


def transcripts(retrieval: Retrieval, wards: Sequence[RecordedCases], seed: int) -> Iterator[dict[str, Any]]:
    """What the model that is begun with writes behind the very prompts of the policy."""
    for ward in wards:
        chance, asked = Random(f"told {seed} {ward.number}"), ward.question
        thought = chance.choice([ward.organ, *ORGANS])
        told: list[tuple[tuple[Message, ...], str]] = [
            (retrieval.thought(asked), _drawn(chance, SHARES, ward.sign, ward.organ, ORGANS)),
            (retrieval.answer(asked, f"{thought}."), _drawn(chance, READS, ward.says[thought], ward.usual, DISEASES)),
        ]
        for before in ("", f"{thought}."):
            direct = direct_messages(asked.question, asked.options, "en", before)
            told.append((direct, ward.usual if chance.random() < 0.9 else chance.choice(DISEASES)))
        for messages, said in told:
            prompt = [{"role": each.role, "content": each.content} for each in messages]
            yield {"prompt": prompt, "completion": [{"text": f"{said}.", "own": True}]}


def _drawn(chance: Random, shares: tuple[float, float], first: str, second: str, words: Sequence[str]) -> str:
    drawn = chance.random()
    return first if drawn < shares[0] else second if drawn < sum(shares) else chance.choice(words)


def begun(folder: Path, graph: Graph, wards: Sequence[RecordedCases], seed: int, epochs: int = 4) -> Path:
    """Write the model that is begun with, where it is not there."""
    if (folder / "config.json").exists():
        return folder
    retrieval = Retrieval(graph, ThoughtPolicy(documents=1, facts=False))
    told = list(transcripts(retrieval, wards, seed))
    texts = [each["content"] for row in told for each in row["prompt"]]
    lines = Counter(line for text in texts for line in text.split("\n"))
    fixed = [line for line, times in lines.items() if times >= len(wards) and len(line) > LONG]
    words = [" ".join((*FINDINGS, *ORGANS, *DISEASES))] * 200
    make_model(folder, [*texts, *words], seed, template=TEMPLATE, vocabulary=1_000, added=fixed)
    model, tokenizer = loaded(DpoSettings(model=str(folder), pairs=""))
    how = WarmUp(transcripts="", epochs=epochs, batch=16, rate=2e-3)
    losses: list[float] = []
    warm_up(model, tokenizer, told, how, seed=seed, context=None, tell=lambda step, loss: losses.append(loss))
    _tell(f"begun with {len(losses)} updates, loss {losses[0]:.2f} to {losses[-1]:.2f}")
    # its texts end with a full stop: transcripts may hold no special token
    model.generation_config.eos_token_id = [tokenizer.eos_token_id, *tokenizer.encode(".")]
    model.save_pretrained(folder, safe_serialization=True)
    return folder


def command(*words: str, folder: Path) -> str:
    """Run a command of kgdx as a user does, and return what it prints."""
    _tell("kgdx " + " ".join(words).replace(str(folder), "…"))
    called = [sys.executable, "-m", "kgdx", *words]
    done = subprocess.run(
        called, stdout=subprocess.PIPE, text=True, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    return done.stdout


def chain(folder: Path, train: int, test: int, *, seed: int = 0, **changed: Any) -> dict[str, Any]:
    """Make wards, graph, index and model, run the three commands, and return what they printed.

    Args:
        folder: Holds all of it.
        train: Questions of which pairs are made.
        test: Questions that are evaluated; no pair is of them, and the model that is begun with never saw them.
        seed: Of the model.
        changed: Settings of the training.
    """
    os.environ |= {"KGDX_HOME": str(folder / "home"), "KGDX_CACHE": str(folder / "cache"), "KGDX_LLM_DEVICE": "cpu"}
    store, base, run = str(folder / "graph"), folder / "base", folder / "run"
    wards = [RecordedCases.of(number) for number in range(TOLD + train + test)]
    _written(folder / TAG / "all.jsonl", (each for ward in wards for each in ward.documents()))
    for name, some in (("train", wards[TOLD : TOLD + train]), ("test", wards[TOLD + train :])):
        _written(folder / f"{name}.jsonl", (_row(ward.question) for ward in some))
    if not Path(store).exists():
        kgdx.build({"hp": str(TINY / "hp.obo"), "hpoa": str(TINY / "phenotype.hpoa")}, store=store)
    command("index", str(folder / TAG), "--tag", TAG, "--store", store, folder=folder)
    with kgdx.open(store) as graph:
        begun(base, graph, wards[:TOLD], seed)
    model, pairs = f"transformers:{base}", folder / "pairs.jsonl"
    found = {}
    how = ("--documents", "1", "--no-facts", "--thoughts", "6", "--temperature", "1", "--top-p", "1")
    asked = ("learn", "pairs", str(folder / "train.jsonl"), "--llm", model, "-o", str(pairs), "--store", store)
    found["pairs"] = json.loads(command(*asked, *how, *LIMIT, "--json", folder=folder))["statistics"]
    settings = {"batch": 8, "micro": 8, "epochs": 8, "rate": 5e-4, "evaluate": 20, "samples": 2, "device": "cpu"}
    settings |= {"model": str(base), "pairs": str(pairs), "save": 1_000, **changed}
    (folder / "dpo.yaml").write_text(yaml.safe_dump(settings))
    trained = command("train", "dpo", str(folder / "dpo.yaml"), "-o", str(run), "--json", folder=folder)
    found["trained"] = json.loads(trained)
    arms = ",".join([*BEFORE, *(f"{each}@transformers:{run / FINAL}" for each in AFTER)])
    asked = ("evaluate", "options", str(folder / "test.jsonl"), "--llm", model, "--arms", arms, "--store", store)
    found["options"] = json.loads(command(*asked, *LIMIT, "--json", folder=folder))
    return found


def _written(file: Path, rows: Iterator[dict[str, Any]]) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(json.dumps(each) + "\n" for each in rows))


def _row(asked: OptionQuestion) -> dict[str, Any]:
    given = {"id": asked.id, "question": asked.question, "options": dict(asked.options), "gold": asked.gold}
    return {**given, "needed": list(asked.needed)}


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def tables(found: dict[str, Any]) -> str:
    """Return the table of arms, and the pairs, as Markdown."""
    lines = ["| model | arm | right, % | needed document shown, % | calls |", "|---|---|---|---|---|"]
    for name, told in found["options"]["arms"].items():
        arm, trained, _ = name.partition("@")
        about, shown = told["accuracy"], told["needed"]["shown"]
        right = f"{100 * about['share']:.0f} ({100 * about['low']:.0f}–{100 * about['high']:.0f})"
        seen = "" if shown is None or arm == "none" else f"{100 * shown:.0f}"
        lines.append(f"| {'trained' if trained else 'begun with'} | `{arm}` | {right} | {seen} | {told['calls']:.0f} |")
    for kind in ("thought", "answer"):
        told = found["pairs"][kind]
        why = ", ".join(f"{name} {count}" for name, count in told["questions"].items())
        lines += ["", f"{told['pairs']} pairs of {kind}s; questions: {why}"]
    return "\n".join(lines)


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", type=int, default=60, help="questions of which pairs are made")
    parser.add_argument("--test", type=int, default=40, help="questions that are evaluated")
    parser.add_argument("--keep", type=Path, help="a folder in which everything stays: goes on")
    given = parser.parse_args()
    torch.set_num_threads(1)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) if given.keep is None else given.keep.resolve()
        folder.mkdir(exist_ok=True)
        found = chain(folder, given.train, given.test)
    print(tables(found))
    print(f"\n{time.perf_counter() - started:.0f} s by the clock")


if __name__ == "__main__":
    main()
