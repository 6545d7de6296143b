"""Trains a language model by DPO on pairs of thoughts and of answers, mixed, with TRL (RAR², equation 3).

As printed, the paper's equation lacks a logarithm and a β, and conditions every probability on the question alone. So
read, it compares ratios of the probabilities of whole texts, which is no difference of rewards, and it takes answers to
be written without the documents that they were written behind. What is minimised here is DPO's own loss,

    -log σ(β log(π_θ(y⁺|x)/π_ref(y⁺|x)) - β log(π_θ(y⁻|x)/π_ref(y⁻|x))),

where ``x`` is all that the model read: question and prompt for a thought; question, documents and prompt for an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from kgdx.errors import UsageError
from kgdx.files.known import digest_of
from kgdx.llm.chat import Message, Request
from kgdx.llm.local_model import prompt_ids, turns
from kgdx_train.batch_model import BatchModel, check_template
from kgdx_train.language_run import RunFolder
from kgdx_train.language_settings import DpoSettings
from kgdx_train.preference_pairs import KINDS, Kind, Pair, read_pairs, split_pairs
from kgdx_train.training_run import Tell, TrainingRun, adapter_config, check_machine, common_arguments, loaded


@dataclass
class PreferenceTraining(TrainingRun):
    """A run of DPO on pairs."""

    settings: DpoSettings
    pairs: Sequence[Pair] = field(repr=False)
    folder: Path
    about: Mapping[str, Any] = field(default_factory=dict)
    tell: Tell = print

    def initial(self, run: RunFolder, state: Any) -> tuple[Any, Any]:
        """Return the initial model, which is the reference too, and its tokenizer."""
        model, tokenizer = loaded(self.settings)
        check_template(tokenizer)
        return model, tokenizer

    def trainer(self, run: RunFolder, model: Any, tokenizer: Any) -> Any:
        """Return TRL's trainer; its reference is a copy of the initial model, or the model without its adapter."""
        from datasets import Dataset, disable_progress_bars
        from trl import DPOTrainer

        from kgdx_train.language_recorder import PairRecorder

        disable_progress_bars()
        context = self.settings.context or getattr(model.config, "max_position_embeddings", None)
        train, held_out = self._sides(tokenizer, context)
        sets = {kind: Dataset.from_list([_row(tokenizer, each) for each in some]) for kind, some in held_out.items()}
        whole = self.settings.adapter is None
        trainer = DPOTrainer(
            model=model,
            ref_model=deepcopy(model) if whole else None,
            args=arguments(self.settings, self.folder, context),
            train_dataset=Dataset.from_list([_row(tokenizer, each) for each in train]),
            eval_dataset=sets or None,
            processing_class=tokenizer,
            peft_config=adapter_config(self.settings),
        )
        model_of = partial(_written_by, trainer, context)
        trainer.add_callback(PairRecorder(self.settings, held_out, run, model_of, self.tell))
        return trainer

    def _sides(self, tokenizer: Any, context: int | None) -> tuple[list[Pair], dict[Kind, list[Pair]]]:
        """The pairs to train on, shuffled, and those that are evaluated on; what fits into the context of each."""
        fits = [each for each in self.pairs if context is None or longest(tokenizer, each) <= context]
        if len(fits) < len(self.pairs):
            self.tell(f"{len(self.pairs) - len(fits):,} of {len(self.pairs):,} pairs do not fit into the context")
        if not fits:
            what = f"no pair fits into the context of {context:,} tokens"
            raise UsageError(what, hint="raise `context`, or make pairs with fewer documents")
        train, rest = split_pairs(fits, self.settings.held_out, self.settings.seed)
        Random(f"{self.settings.seed} order").shuffle(train)
        held_out = {kind: self._evaluated([each for each in rest if each.kind == kind]) for kind in KINDS}
        self.tell(f"{_told(train)} to train on, {_told(rest)} held out")
        return train, {kind: some for kind, some in held_out.items() if some}

    def _evaluated(self, pairs: Sequence[Pair]) -> list[Pair]:
        count = min(len(pairs), self.settings.evaluated)
        micro = self.settings.micro
        return list(pairs[: count if count < micro else count - count % micro])


def _told(pairs: Sequence[Pair]) -> str:
    counts = {kind: sum(each.kind == kind for each in pairs) for kind in KINDS}
    return " and ".join(f"{count:,} pairs of {kind}s" for kind, count in counts.items() if count)


def _written_by(trainer: Any, context: int | None) -> BatchModel:
    unwrapped = trainer.accelerator.unwrap_model(trainer.model)
    return BatchModel(unwrapped, trainer.processing_class, context)


def _row(tokenizer: Any, pair: Pair) -> dict[str, Any]:
    chosen, rejected = (turns(tokenizer, [Message("assistant", each)]) for each in (pair.chosen, pair.rejected))
    prompt = turns(tokenizer, pair.messages)
    how = {"enable_thinking": False}
    return {"prompt": prompt, "chosen": chosen, "rejected": rejected, "chat_template_kwargs": how}


def longest(tokenizer: Any, pair: Pair) -> int:
    """Return how many tokens the longer of a pair's two texts has, with its prompt."""
    given = len(prompt_ids(tokenizer, Request(pair.messages)))
    texts = tokenizer([pair.chosen, pair.rejected], add_special_tokens=False)["input_ids"]
    return given + max(map(len, texts)) + 1


def arguments(settings: DpoSettings, folder: Path, context: int | None) -> Any:
    """Return the settings as TRL takes them."""
    from trl import DPOConfig

    return DPOConfig(
        **common_arguments(settings, folder),
        num_train_epochs=settings.epochs,
        beta=settings.beta,
        loss_type=["sigmoid"],
        max_length=context,
        eval_strategy="no",
        per_device_eval_batch_size=settings.micro,
    )


def pair_training(settings: DpoSettings, folder: Path, tell: Tell = print) -> PreferenceTraining:
    """Return the training on a file of pairs that settings ask for; nothing is loaded yet."""
    check_machine(settings)
    pairs, about = read_pairs(Path(settings.pairs))
    if not pairs:
        raise UsageError(f"{settings.pairs} holds no pair", hint="its first line says why questions gave none")
    wanted: tuple[Kind, ...] = KINDS if settings.kinds == "both" else (settings.kinds,)
    for kind in wanted:
        if not any(each.kind == kind for each in pairs):
            other = next(each.kind for each in pairs)
            hint = f"set `kinds: {other}` to train on {other}s alone, or make more pairs"
            raise UsageError(f"{settings.pairs} holds no pair of {kind}s", hint=hint)
    kept = [each for each in pairs if each.kind in wanted]
    return PreferenceTraining(settings, kept, folder, {"pairs": digest_of([about, *map(asdict, pairs)])}, tell)
