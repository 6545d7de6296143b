"""Trains a language model by GRPO on rollouts of a task with TRL."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgdx.errors import UsageError
from kgdx.files.known import digest_of
from kgdx.learn.recorded_cases import RecordedCases, unseen
from kgdx.policies.tags import TagsPolicy
from kgdx_train.batch_model import BatchModel, check_tokenizer
from kgdx_train.language_run import INITIAL, WHOLE, RunFolder, writing
from kgdx_train.language_settings import GrpoSettings
from kgdx_train.language_task import GraphTask, Task
from kgdx_train.rewards import EVEN, Scoring, Weights, weights
from kgdx_train.rollouts import Row, TagRollouts
from kgdx_train.tag_transcripts import read_transcripts
from kgdx_train.training_run import (
    Tell,
    TrainingRun,
    accumulated,
    adapter_config,
    check_machine,
    common_arguments,
    device_of,
    loaded,
)
from kgdx_train.warm_up import warm_up

if TYPE_CHECKING:
    from kgdx.api import Graph

VLLM = ((0, 22), (0, 31))
"""First and last version of vLLM that TRL 1.16 works with."""


@dataclass
class LanguageTraining(TrainingRun):
    """A run of GRPO on rollouts of a task."""

    settings: GrpoSettings
    task: Task
    folder: Path
    about: Mapping[str, Any] = field(default_factory=dict)
    transcripts: Sequence[Row] = ()
    tell: Tell = print

    def check(self) -> None:
        """Refuse settings that this machine cannot do; see :func:`check_run`."""
        check_run(self.settings)

    def goes_on(self, noted: Mapping[str, Any]) -> None:
        self.task.done = noted["rollouts"]

    def initial(self, run: RunFolder, state: Any) -> tuple[Any, Any]:
        """Return the initial model, warmed up where that is asked for, as the folder has it; and the tokenizer."""
        settings, initial = self.settings, self.folder / INITIAL
        model, tokenizer = loaded(settings)
        check_tokenizer(tokenizer)
        context = settings.context or getattr(model.config, "max_position_embeddings", None)
        self.task.check(tokenizer, context)
        if settings.warm_up is None:
            return adapted(model, settings), tokenizer
        if run.main and not (initial / WHOLE).exists():
            model = adapted(model, settings)
            losses: list[float] = []
            warm_up(
                model.to(device_of(settings)),
                tokenizer,
                self.transcripts,
                settings.warm_up,
                seed=settings.seed,
                context=context,
                tell=lambda step, loss: losses.append(loss),
            )
            self.tell(f"warmed up on {len(self.transcripts):,} transcripts: loss {losses[0]:.3f} to {losses[-1]:.3f}")
            with writing(self.folder):
                model.save_pretrained(initial, safe_serialization=True)
                tokenizer.save_pretrained(initial)
                run.close(initial, {"losses": [round(each, 4) for each in losses]})
        state.wait_for_everyone()
        if settings.adapter is None:
            return loaded(settings, initial)
        return adapted(loaded(settings)[0], settings, initial), tokenizer

    def trainer(self, run: RunFolder, model: Any, tokenizer: Any) -> Any:
        """Return TRL's trainer, which samples rollouts of the task."""
        from datasets import Dataset
        from trl import GRPOTrainer

        from kgdx_train.language_recorder import RolloutRecorder

        given: dict[str, Any] = {"train_dataset": Dataset.from_list(self.task.rows())}
        if self.settings.notation == "tools":
            rows = [_asked(id) for id in self.task.held_out[: self.settings.evaluated]]
            given["train_dataset"] = Dataset.from_list([_asked(row["case"]) for row in self.task.rows()])
            given |= {"environment_factory": self.task.tools(), "eval_dataset": Dataset.from_list(rows)}
        else:
            given |= {"rollout_func": self.task.sampled, "reward_funcs": finite_reward}
        trainer = GRPOTrainer(
            model=model, args=arguments(self.settings, self.folder), processing_class=tokenizer, **given
        )
        model_of = partial(self._sampled_from, trainer)
        trainer.add_callback(RolloutRecorder(self.settings, self.task, run, model_of, self.tell))
        return trainer

    def _sampled_from(self, trainer: Any) -> BatchModel:
        unwrapped = trainer.accelerator.unwrap_model(trainer.model)
        return BatchModel(unwrapped, trainer.processing_class, self.settings.context)


def _asked(id: str) -> Row:
    return {"prompt": [{"role": "user", "content": "Diagnose this patient with the tools."}], "case": id}


def finite_reward(reward: Sequence[float], **_: Any) -> list[float]:
    """TRL's reward function: what the task found each rollout to be worth."""
    wrong = next((each for each in reward if not math.isfinite(each)), None)
    if wrong is not None:
        raise UsageError(f"a rollout has the reward {wrong}", hint="rewards have to be finite numbers")
    return list(reward)


def check_run(settings: GrpoSettings) -> None:
    """Refuse settings that this machine cannot do."""
    check_machine(settings)
    if not settings.vllm:
        return
    hint = "install trl[vllm] in an environment of its own, or set vllm: false"
    try:
        found = version("vllm")
    except PackageNotFoundError as error:
        raise UsageError("vLLM is not installed", hint=hint) from error
    numbers = [int(each) for each in re.findall(r"\d+", found)[:2]]
    if not list(VLLM[0]) <= numbers <= list(VLLM[1]):
        span = " to ".join(".".join(map(str, each)) for each in VLLM)
        raise UsageError(f"vLLM is of version {found}, TRL works with {span}", hint=hint)


def adapted(model: Any, settings: GrpoSettings, folder: Path | None = None) -> Any:
    """Return the model with its adapter, a new one or that of a folder; itself where none is asked for."""
    if settings.adapter is None:
        return model
    from peft import PeftModel, get_peft_model

    if folder is not None:
        return PeftModel.from_pretrained(model, folder, is_trainable=True)
    return get_peft_model(model, adapter_config(settings))


def arguments(settings: GrpoSettings, folder: Path) -> Any:
    """Return the settings as TRL takes them."""
    from trl import GRPOConfig

    return GRPOConfig(
        **common_arguments(settings, folder),
        max_steps=settings.steps,
        steps_per_generation=accumulated(settings),
        num_generations=settings.group,
        num_iterations=settings.passes,
        epsilon=settings.clip,
        beta=settings.beta,
        scale_rewards=settings.scale,
        loss_type=settings.loss,
        temperature=settings.temperature,
        max_completion_length=settings.context or settings.length,
        use_vllm=settings.vllm,
        eval_strategy="steps" if settings.notation == "tools" and settings.evaluate else "no",
        per_device_eval_batch_size=settings.group,
        remove_unused_columns=False,
    )


def graph_training(graph: Graph, settings: GrpoSettings, folder: Path, tell: Tell = print) -> LanguageTraining:
    """Return the training on a graph that settings ask for; nothing is loaded yet.

    Cases whose publications the annotations of their disease cite are left out, as for the learned policy.
    """
    from kgdx.case import Case, read_cases
    from kgdx.case.splits import Split

    check_run(settings)
    given = [each for each in read_cases(settings.cases) if isinstance(each, Case)]
    split = Split.of(given, settings.held_out, settings.seed) if settings.split is None else Split.read(settings.split)
    ward = RecordedCases.of(
        graph, unseen(graph.ranker, graph.snapshot, given), known=settings.known, seed=settings.seed
    )
    sides = {side: [each.id for each in split.only(ward.cases.values(), side)] for side in ("train", "held_out")}
    rules = settings.limits.rules()
    policy = TagsPolicy(
        rules=rules,
        notation=settings.written,
        length=settings.length,
        result=settings.result,
        max_tokens=settings.tokens,
        top=0,
        explain=0,
    )

    given_weights = EVEN if settings.weights is None else Weights(**settings.weights.model_dump())

    def scoring(progress: float) -> Scoring:
        return Scoring(rules=rules, weights=weights(progress) if settings.stages else given_weights)

    task = GraphTask(TagRollouts(ward, policy, scoring, settings.context), sides["train"], sides["held_out"])
    warm = settings.warm_up
    rows = read_transcripts(Path(warm.transcripts), settings.written) if warm is not None else []
    about = {"graph": graph.fingerprint, "split": split.digest, "transcripts": digest_of(rows)}
    return LanguageTraining(settings, task, folder, about, rows, tell)
