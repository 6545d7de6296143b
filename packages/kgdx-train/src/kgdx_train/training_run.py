"""What every training of a language model does with TRL, in a folder from which a killed run goes on.

Weights are read from safetensors alone. The optimiser's state and the random numbers are files that torch writes; they
are read only from a checkpoint whose files are those that this run wrote, and by torch's reader that makes tensors and
numbers but runs no code (``weights_only``).
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kgdx.errors import MissingPackageError, UsageError
from kgdx_train.language_run import EVALUATIONS, FINAL, UNUSED, RunFolder, writing
from kgdx_train.language_settings import RunSettings

NEEDED = ("torch", "transformers", "trl", "accelerate", "datasets")
Tell = Callable[[str], object]


class TrainingRun(ABC):
    """A training of a language model; a subclass says which model is trained how."""

    settings: RunSettings
    folder: Path
    about: Mapping[str, Any]
    tell: Tell

    def check(self) -> None:
        check_machine(self.settings)

    @abstractmethod
    def initial(self, run: RunFolder, state: Any) -> tuple[Any, Any]:
        """Return the model that is trained, as the folder has it, and its tokenizer."""

    @abstractmethod
    def trainer(self, run: RunFolder, model: Any, tokenizer: Any) -> Any:
        """Return TRL's trainer, which tells a recorder what happens."""

    def goes_on(self, noted: Mapping[str, Any]) -> None:
        return None

    def run(self) -> dict[str, Any]:
        """Train until the end, from where the folder is; write the model, and return the last evaluation."""
        self.check()
        with quiet():
            from accelerate import PartialState
            from transformers import PrinterCallback, set_seed

            state = PartialState(cpu=on_cpu(self.settings))
            run = RunFolder(self.folder, bool(state.is_main_process))
            if not run.main:
                self.tell = _unheard
            run.begin({"settings": self.settings.model_dump(mode="json"), **self.about})
            set_seed(self.settings.seed)
            trainer = self.trainer(run, *self.initial(run, state))
            trainer.remove_callback(PrinterCallback)
            whole = run.latest()
            if whole is not None:
                self.goes_on(whole[1])
                self.tell(f"goes on from {whole[0].name}")
            run.rewind(0 if whole is None else whole[1]["step"])
            state.wait_for_everyone()
            with writing(self.folder):
                trainer.train(resume_from_checkpoint=None if whole is None else str(whole[0]))
                trainer.save_model(str(self.folder / FINAL))
                (self.folder / FINAL / UNUSED).unlink(missing_ok=True)
        rows = run.rows(EVALUATIONS)
        return rows[-1] if rows else {"step": trainer.state.global_step}


def _unheard(line: str) -> None:
    """What all but one of several processes tell."""


def check_machine(settings: RunSettings) -> None:
    """Refuse settings that this machine cannot do."""
    needed = (*NEEDED, "peft") if settings.adapter is not None else NEEDED
    if any(find_spec(name) is None for name in needed):
        raise MissingPackageError("training a language model", "kgdx-train")
    import torch

    there, processes = torch.cuda.device_count(), int(os.environ.get("WORLD_SIZE", "1"))
    if settings.device == "cuda" and not torch.cuda.is_available():
        raise UsageError("no CUDA device is there", hint="set device: cpu, or install torch for your CUDA version")
    if settings.device != "cpu" and there > 1 and processes == 1:
        hint = "start it by `accelerate launch -m kgdx train …`, or set CUDA_VISIBLE_DEVICES=0"
        raise UsageError(f"{there} GPUs are visible to one process", hint=hint)
    if settings.batch % (settings.micro * processes):
        what = f"batch {settings.batch} is no multiple of micro {settings.micro} times {processes} processes"
        raise UsageError(what, hint="change one of them")


def loaded(settings: RunSettings, folder: Path | None = None) -> tuple[Any, Any]:
    """Return a model, its weights read from safetensors, and its tokenizer."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    name = str(folder or settings.model)
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
        model = AutoModelForCausalLM.from_pretrained(
            name, use_safetensors=True, trust_remote_code=False, dtype=torch.float32
        )
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        why = " ".join(str(error).split())[:200]
        hint = "give a folder with a model in safetensors, or one that transformers knows"
        raise UsageError(f"the model {name} cannot be loaded ({why})", hint=hint) from error
    return model, tokenizer


def adapter_config(settings: RunSettings) -> Any:
    """Return the adapter as PEFT takes it; ``None`` where none is asked for."""
    if settings.adapter is None:
        return None
    from peft import LoraConfig

    how = settings.adapter
    return LoraConfig(
        r=how.rank,
        lora_alpha=how.alpha,
        lora_dropout=how.dropout,
        target_modules=how.modules,
        task_type="CAUSAL_LM",
    )


def on_cpu(settings: RunSettings) -> bool:
    """Tell whether this process trains on its processor."""
    import torch

    return settings.device == "cpu" or (settings.device == "auto" and not torch.cuda.is_available())


def device_of(settings: RunSettings) -> str:
    return "cpu" if on_cpu(settings) else f"cuda:{os.environ.get('LOCAL_RANK', '0')}"


def common_arguments(settings: RunSettings, folder: Path) -> dict[str, Any]:
    """Return the settings that all trainers of TRL take alike."""
    return {
        "output_dir": str(folder),
        "per_device_train_batch_size": settings.micro,
        "gradient_accumulation_steps": accumulated(settings),
        "learning_rate": settings.rate,
        "lr_scheduler_type": "constant_with_warmup",
        "warmup_steps": settings.rate_warm_up,
        "max_grad_norm": settings.gradient,
        "gradient_checkpointing": settings.checkpointing,
        "eval_steps": settings.evaluate or None,
        "bf16": settings.precision == "bfloat16",
        "use_cpu": on_cpu(settings),
        "seed": settings.seed,
        "save_steps": settings.save,
        "save_total_limit": settings.checkpoints,
        "logging_steps": 1,
        "logging_nan_inf_filter": False,
        "report_to": "none",
        "disable_tqdm": True,
        "log_level": "error",
    }


def accumulated(settings: RunSettings) -> int:
    return settings.batch // (settings.micro * int(os.environ.get("WORLD_SIZE", "1")))


@contextmanager
def quiet() -> Any:
    """Silence what libraries say of themselves; errors are told in one line."""
    import warnings

    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
