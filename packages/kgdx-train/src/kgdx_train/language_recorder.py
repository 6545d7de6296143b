"""Writes down how a language model is trained: curve, evaluations, samples, and which checkpoints are whole."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from accelerate.utils import gather_object
from transformers import TrainerCallback

from kgdx.errors import LlmError, UsageError
from kgdx.llm.chat import Request
from kgdx_train.batch_model import BatchModel
from kgdx_train.language_run import CURVE, EVALUATIONS, SAMPLES, RunFolder
from kgdx_train.language_settings import DpoSettings, GrpoSettings, RunSettings
from kgdx_train.language_task import Outcome, Task, means
from kgdx_train.preference_pairs import Kind, Pair

S = TypeVar("S", bound=RunSettings)
D = TypeVar("D")
WRITTEN = 256
"""Tokens of a sample at an evaluation at most."""

KEPT = {
    "loss": "loss",
    "grad_norm": "gradient",
    "learning_rate": "rate",
}
"""Measures of every trainer of TRL that the curve keeps → their names in it."""
ROLLOUTS = {
    "reward": "reward",
    "reward_std": "deviation",
    "kl": "kl",
    "entropy": "entropy",
    "completions/mean_length": "tokens",
    "frac_reward_zero_std": "equal_groups",
    **KEPT,
}
"""Likewise of rollouts."""
PAIRS = {
    "rewards/accuracies": "accuracy",
    "rewards/margins": "margin",
    "rewards/chosen": "chosen",
    "rewards/rejected": "rejected",
    "logps/chosen": "logp_chosen",
    "logps/rejected": "logp_rejected",
    **KEPT,
}
"""Likewise of pairs; a reward is β times the logarithm of the ratio to the reference."""
NUMBERS = ("reward", "margin", "loss", "gradient")
"""Those that have to be finite."""


class Recorder(TrainerCallback, Generic[S, D]):
    """TRL's trainer tells it what happens."""

    kept: ClassVar[Mapping[str, str]] = KEPT
    """Measures that the curve keeps; a log is a line of the curve where it has the first of them."""

    def __init__(
        self, settings: S, given: D, run: RunFolder, model: Callable[[], BatchModel], tell: Callable[[str], object]
    ) -> None:
        self._settings, self._given = settings, given
        self._every, self._samples = settings.evaluate, settings.samples
        self._run, self._model, self._tell = run, model, tell
        self._since = time.monotonic()

    def due(self, state: Any) -> bool:
        return bool(self._every) and (state.global_step % self._every == 0 or state.global_step == state.max_steps)

    def evaluate(self, state: Any, control: Any) -> None:
        """Evaluate the model as it is now; nothing by default."""
        return None

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Evaluate the initial model."""
        if state.global_step == 0 and self._every:
            self.evaluate(state, control)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Evaluate, where it is time; keep the last update as a checkpoint, too."""
        if self.due(state):
            self.evaluate(state, control)
        if state.global_step == state.max_steps:
            control.should_save = True

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Write a line of the curve, where a log is one."""
        if not logs or next(iter(self.kept)) not in logs:
            return
        now = time.monotonic()
        row = {name: round(float(logs[own]), 6) for own, name in self.kept.items() if own in logs}
        wrong = next((name for name in NUMBERS if not math.isfinite(row.get(name, 0.0))), None)
        if wrong is not None:
            hint = "lower the rate or the gradient, and run it again: it goes on from its last checkpoint"
            raise UsageError(f"the {wrong} of update {state.global_step} is {row[wrong]}", hint=hint)
        self._run.add(CURVE, {"step": state.global_step, **row, "seconds": round(now - self._since, 3)})
        self._since = now
        self.learned(state.global_step, row)

    def learned(self, step: int, row: Mapping[str, float]) -> None:
        return None

    def noted(self) -> dict[str, Any]:
        return {}

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Mark the checkpoint as whole."""
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        self._run.close(folder, {"step": state.global_step, **self.noted()})


class RolloutRecorder(Recorder[GrpoSettings, Task]):
    """Writes down how a model is trained on rollouts, and evaluates it on held-out cases."""

    kept = ROLLOUTS
    _idle = 0

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Write a line of the curve, or an evaluation by sampled rollouts."""
        if logs and "eval_reward" in logs:
            self._run.add(EVALUATIONS, {"step": state.global_step, "drawn": float(logs["eval_reward"])})
        super().on_log(args, state, control, logs)

    def learned(self, step: int, row: Mapping[str, float]) -> None:
        """End a run that learns nothing."""
        self._idle = self._idle + 1 if row.get("equal_groups", 0.0) == 1.0 else 0
        if self._idle == 1:
            self._tell(f"update {step}: the rollouts of each case are worth the same, nothing is learned")
        if self._idle >= self._settings.idle:
            what = f"in {self._idle} updates the rollouts of each case were worth the same"
            raise UsageError(what, hint="warm the model up, raise the temperature, or take harder cases")

    def noted(self) -> dict[str, Any]:
        return {"rollouts": self._given.done}

    def evaluate(self, state: Any, control: Any) -> None:
        """Play the held-out cases, where there are any."""
        if not self._given.held_out or self._settings.notation == "tools":
            return
        ids = list(self._given.held_out)[: self._settings.evaluated]
        share = ids[_rank() :: _processes()]
        found: list[Outcome] = gather_object(self._given.evaluated(self._model(), share))
        figures = means(found)
        self._run.add(EVALUATIONS, {"step": state.global_step, **figures, "cases": len(found)})
        kept = found[: self._samples]
        self._run.add(SAMPLES, *({"step": state.global_step, **each.words} for each in kept))
        told = ", ".join(f"{name} {value:.3f}" for name, value in figures.items())
        self._tell(f"update {state.global_step}: {told}")


class PairRecorder(Recorder[DpoSettings, Mapping[Kind, Sequence[Pair]]]):
    """Writes down how a model is trained on pairs: figures of held-out pairs by kind, and what it writes now."""

    kept = PAIRS

    def evaluate(self, state: Any, control: Any) -> None:
        """Let the model write, and once it was trained have the trainer evaluate."""
        control.should_evaluate = control.should_evaluate or state.global_step > 0
        self._write(state.global_step)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Write a line of the curve, or the figures of held-out pairs of a kind."""
        super().on_log(args, state, control, logs)
        kind = next((each for each in self._given if f"eval_{each}_loss" in (logs or {})), None)
        if kind is None:
            return
        figures = {name: round(float(logs[f"eval_{own}"]), 6) for own, name in PAIRS.items() if f"eval_{own}" in logs}
        figures |= {"loss": round(float(logs[f"eval_{kind}_loss"]), 6), "pairs": len(self._given[kind])}
        self._run.add(EVALUATIONS, {"step": state.global_step, "kind": kind, **figures})
        told = f"{len(self._given[kind]):,} held-out pairs of {kind}s"
        self._tell(f"update {state.global_step}: {figures['accuracy']:.3f} of {told} in the right order")

    def _write(self, step: int) -> None:
        asked = [each for some in self._given.values() for each in some[: self._samples]]
        if not asked or not self._run.main:
            return
        requests = [Request(each.messages, max_tokens=WRITTEN) for each in asked]
        for pair, made in zip(asked, self._model().sampled(requests), strict=True):
            text = str(made) if isinstance(made, LlmError) else made.text
            told = {"question": pair.id, "kind": pair.kind, "chosen": pair.chosen, "rejected": pair.rejected}
            self._run.add(SAMPLES, {"step": step, **told, "now": text})


def _rank() -> int:
    from accelerate import PartialState

    return int(PartialState().process_index)


def _processes() -> int:
    from accelerate import PartialState

    return int(PartialState().num_processes)
