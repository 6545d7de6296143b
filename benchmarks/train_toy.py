"""A tiny language model, made from scratch, learns the protocol's acts and to copy their arguments, by GRPO.

No graph and no medicine: a made-up patient has one made-up finding, a match with it is answered by one made-up disease,
and the diagnosis is that disease. What is shown is that the trainer, its masks and its rewards teach what they should.

    python -m benchmarks.train_toy --notation tags --steps 300
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, Self

from kgdx.episode.tag_protocol import ANSWERS, CLOSING, RESPONSE, ProtocolRules, RolloutSpan, read
from kgdx.llm.chat import Completion, Message, Request, seed_of
from kgdx.policies.tags import Notation
from kgdx_train.batch_model import BatchModel
from kgdx_train.language_run import CURVE, RunFolder
from kgdx_train.language_settings import GrpoSettings, WarmUp
from kgdx_train.language_task import Outcome
from kgdx_train.language_training import LanguageTraining
from kgdx_train.tag_transcripts import written

FINDINGS = ("basa", "dile", "foru", "gami", "kesu", "lopi", "nuta", "reva")
DISEASES = ("Atrox", "Belum", "Corda", "Delph", "Ersis", "Fural", "Gonex", "Hylia")
TAGS = [*CLOSING, *(each.replace("/", "") for each in CLOSING), "<think>", "</think>"]
TEMPLATE = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<agent>{% endif %}"
)
RULES = ProtocolRules(matches=1, lookups=0, searches=0)
FORMAT, MATCHED, DIAGNOSED = 0.2, 0.4, 0.4
"""What a rollout that keeps to the protocol is worth, and what each right argument adds."""


@dataclass(frozen=True, slots=True)
class Patient:
    finding: str
    disease: str

    findings: ClassVar[Sequence[str]] = FINDINGS
    diseases: ClassVar[Sequence[str]] = DISEASES

    @classmethod
    def of(cls, id: str) -> Self:
        chance = random.Random(f"patient {id}")
        return cls(chance.choice(cls.findings), chance.choice(cls.diseases))

    @property
    def messages(self) -> tuple[Message, ...]:
        return (Message("user", f"has {self.finding}"),)

    def answer(self, finding: str) -> str:
        """The disease that a match finds: the right one only for the finding that the patient has."""
        return self.disease if finding == self.finding else random.Random(f"{self}{finding}").choice(self.diseases)


@dataclass
class Toy:
    """The task, as :class:`kgdx_train.language_task.Task` asks for it."""

    notation: Notation = "tags"
    seed: int = 0
    done: int = 0
    patient: type[Patient] = Patient
    held_out: Sequence[str] = field(default_factory=lambda: [f"held {n}" for n in range(48)])

    def rows(self) -> list[dict[str, Any]]:
        return [{"prompt": [{"role": "user", "content": f"train {n}"}]} for n in range(512)]

    def check(self, tokenizer: Any, context: int | None) -> None: ...

    def sampled(self, prompts: Sequence[Any], trainer: Any) -> dict[str, list[Any]]:
        ids = [prompt[-1]["content"] for prompt in prompts]
        model = BatchModel(trainer.accelerator.unwrap_model(trainer.model), trainer.processing_class)
        seeds = [seed_of(self.seed, self.done + number) for number in range(len(ids))]
        self.done += len(ids)
        found = [each for _, each in self.rollouts(model, ids, trainer.args.temperature, seeds)]
        return {name: [each[name] for each in found] for name in found[0]}

    def evaluated(self, model: BatchModel, ids: Sequence[str]) -> list[Outcome]:
        found = []
        for text, each in self.rollouts(model, ids, 0.0, [0] * len(ids)):
            figures = {"reward": each["reward"], "format": float(each["reward"] > 0)}
            figures["asked"] = float(each["reward"] in (FORMAT + MATCHED, FORMAT + MATCHED + DIAGNOSED))
            figures["copied"] = float(each["reward"] > 0.9)
            found.append(Outcome("", figures, {"rollout": [{"own": s.own, "text": s.text} for s in text]}))
        return found

    def rollouts(
        self, model: BatchModel, ids: Sequence[str], temperature: float, seeds: Sequence[int]
    ) -> Iterator[tuple[list[RolloutSpan], dict[str, Any]]]:
        patients = [self.patient.of(id) for id in ids]
        begun = [
            Request(each.messages, max_tokens=48, temperature=temperature, seed=seed, stop=CLOSING, logprobs=True)
            for each, seed in zip(patients, seeds, strict=True)
        ]
        first = self._asked(model, begun)
        acted = [(n, act) for n, one in enumerate(first) if (act := _act(one)) is not None]
        shown = {n: f"\n<{self._tag}>{patients[n].answer(act)}</{self._tag}>\n" for n, act in acted}
        second = dict(zip(shown, self._asked(model, [_next(begun[n], first[n], shown[n]) for n in shown]), strict=True))
        for n, patient in enumerate(patients):
            spans = [RolloutSpan(_text(first[n]), True)]
            if n in second:
                spans += [RolloutSpan(shown[n], False), RolloutSpan(_text(second[n]), True)]
            yield spans, {**_tokens(first[n], second.get(n)), "reward": worth(spans, patient)}

    @property
    def _tag(self) -> str:
        return RESPONSE if self.notation == "calls" else ANSWERS["match"]

    @staticmethod
    def _asked(model: BatchModel, requests: Sequence[Request]) -> list[Completion]:
        found = model.sampled(requests) if requests else []
        return [each for each in found if isinstance(each, Completion)]

    def transcripts(self, count: int, right: float) -> list[dict[str, Any]]:
        """Transcripts of an agent that keeps to the protocol, with right arguments as often as is said."""
        found = []
        for number in range(count):
            patient, chance = self.patient.of(f"told {number}"), random.Random(f"{self.seed} {number}")
            asked = patient.finding if chance.random() < right else chance.choice(patient.findings)
            answer = patient.answer(asked)
            said = answer if chance.random() < right else chance.choice(patient.diseases)
            found.append(
                {
                    "prompt": [{"role": each.role, "content": each.content} for each in patient.messages],
                    "completion": [
                        {"text": written("match", [asked], self.notation), "own": True},
                        {"text": f"\n<{self._tag}>{answer}</{self._tag}>\n", "own": False},
                        {"text": written("diagnose", [said], self.notation), "own": True},
                    ],
                }
            )
        return found


def _text(one: Completion) -> str:
    return one.text + (one.stop or "")


def _act(one: Completion) -> str | None:
    acts = read([RolloutSpan(_text(one), True)], RULES, ended=False).acts
    return acts[0].items[0].text if len(acts) == 1 and acts[0].tag == "match" and acts[0].items else None


def _next(begun: Request, said: Completion, shown: str) -> Request:
    assert said.tokens is not None
    prefix = (*said.tokens.given, *said.tokens.written)
    text = _text(said)
    messages = (*begun.messages, Message("assistant", text + shown))
    how = {name: getattr(begun, name) for name in ("max_tokens", "temperature", "stop", "logprobs")}
    seed = seed_of(begun.seed or 0, 1)
    return Request(messages, continues=True, prefix=prefix, prefix_chars=len(text), seed=seed, **how)


def _tokens(first: Completion, second: Completion | None) -> dict[str, list[Any]]:
    assert first.tokens is not None
    given, ids, logprobs = first.tokens.given, list(first.tokens.written), list(first.tokens.logprobs)
    mask = [1] * len(ids)
    if second is not None and second.tokens is not None:
        shown = second.tokens.given[len(given) + len(ids) :]
        ids += [*shown, *second.tokens.written]
        mask += [0] * len(shown) + [1] * len(second.tokens.written)
        logprobs += [0.0] * len(shown) + list(second.tokens.logprobs)
    return {"prompt_ids": list(given), "completion_ids": ids, "logprobs": logprobs, "env_mask": mask}


def worth(spans: Sequence[RolloutSpan], patient: Patient) -> float:
    """Nothing where the protocol is broken; otherwise a part for it, and one for each right argument."""
    found = read(spans, RULES)
    if found.violations or [each.tag for each in found.acts] != ["match", "diagnose"]:
        return 0.0
    match, diagnosis = ([each.text for each in act.items] for act in found.acts)
    return FORMAT + MATCHED * (match == [patient.finding]) + DIAGNOSED * (diagnosis == [patient.disease])


def make_model(
    folder: Path,
    texts: Sequence[str],
    seed: int = 0,
    width: int = 64,
    template: str = TEMPLATE,
    vocabulary: int = 600,
    added: Sequence[str] = (),
) -> Path:
    """Write a model of two layers with random weights, and a tokenizer trained on texts, with ``added`` as tokens."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=["<s>", "</s>"], initial_alphabet=sorted(alphabet)
    )
    words.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<s>", eos_token="</s>", pad_token="</s>")
    tokenizer.chat_template = template
    tokenizer.add_tokens([*TAGS, *added])
    tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=8_192,
        tie_word_embeddings=True,
        initializer_range=0.1,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=1,
    )
    LlamaForCausalLM(config).save_pretrained(folder, safe_serialization=True)
    return folder


def trained(
    folder: Path, notation: Notation, steps: int, right: float = 0.3, epochs: int = 12, **changed: Any
) -> RunFolder:
    """Warm a model up, train it, and return the folder of the run."""
    toy = Toy(notation)
    told = toy.transcripts(1_000, right)
    texts = [FINDINGS, DISEASES, *([part["text"] for part in row["completion"]] for row in told)]
    model = make_model(folder / "model", [text for some in texts for text in some] + ["has "] * 50)
    settings = GrpoSettings(
        model=str(model),
        cases="",
        notation=notation,
        steps=steps,
        warm_up=WarmUp(transcripts="", epochs=epochs, batch=32, rate=2e-3),
        **{"rate": 1e-3, "evaluate": 50, "save": 100, "micro": 48, "device": "cpu", **changed},
    )
    LanguageTraining(settings, toy, folder / "run", transcripts=told).run()
    return RunFolder(folder / "run")


def shown(run: RunFolder, every: int = 20) -> None:
    """Print the curve: the reward of sampled rollouts, and the seconds of an update."""
    rows = run.rows(CURVE)
    for at in range(0, len(rows), every):
        some = rows[at : at + every]
        reward, seconds = (fmean(row[name] for row in some) for name in ("reward", "seconds"))
        print(f"updates {some[0]['step']:>4} to {some[-1]['step']:>4}  reward {reward:.3f}  {seconds:.2f} s each")


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notation", choices=("tags", "calls"), default="tags")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rate", type=float, default=1e-3)
    given = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        shown(trained(Path(folder), given.notation, given.steps, rate=given.rate))


if __name__ == "__main__":
    main()
