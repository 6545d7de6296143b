"""Settings of a training run of a language model, as a YAML file gives them, checked before anything is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from kgdx.config.values import read_yaml
from kgdx.episode.tag_protocol import ProtocolRules
from kgdx.errors import ConfigError
from kgdx.policies.tags import LEAST, Notation

Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Rate = Annotated[float, Field(gt=0, le=1)]


class Checked(BaseModel):
    """Takes no key that it does not know, and no value of another type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Adapter(Checked):
    """A low-rank adapter (LoRA, by PEFT) that is trained in place of the whole model."""

    rank: Count = 16
    """Rank of the adapter."""
    alpha: Count = 32
    """What its output is scaled by, over the rank."""
    dropout: Share = 0.0
    """Share of its input that is dropped while it is trained."""
    modules: str = "all-linear"
    """Layers that it changes, as PEFT names them."""


class WarmUp(Checked):
    """Cross-entropy on transcripts, before anything is sampled; a model that lacks the protocol learns nothing."""

    transcripts: str
    """File of ``kgdx learn transcripts``; relative to the configuration."""
    epochs: Count = 1
    """How often each transcript is read."""
    batch: Count = 8
    """Transcripts of a step."""
    rate: Rate = 1e-5
    """Step size of AdamW."""


class Limits(Checked):
    """What the model may do in one rollout; the defaults are those of Deep-DxSearch."""

    lookups: Annotated[int, Field(ge=0)] = 1
    """Most look-ups."""
    matches: Annotated[int, Field(ge=0)] = 3
    """Most matches."""
    searches: Annotated[int, Field(ge=0)] = 2
    """Most searches."""
    declared: Count = 5
    """Most diseases of a diagnosis."""
    thought: bool = True
    """Whether a thought has to stand before each act."""

    def rules(self) -> ProtocolRules:
        """Return them as the protocol takes them."""
        return ProtocolRules(**self.model_dump())


class Parts(Checked):
    """Weights of the parts of a reward (equation 17)."""

    match: Share
    search: Share
    diagnosis: Share


class RunSettings(Checked):
    """What every training of a language model has; a run is read from a YAML file."""

    model: str
    """Folder of a model in safetensors, or a name that transformers knows."""
    batch: Count
    """Samples of an update, over all devices."""
    micro: Count
    """Samples that are in memory at once when gradients are computed, on each device."""
    rate: Rate = 1e-6
    """Step size of AdamW, constant after the warm-up of the step size."""
    rate_warm_up: Annotated[int, Field(ge=0)] = 0
    """Updates in which the step size rises from 0."""
    gradient: Annotated[float, Field(gt=0)] = 1.0
    """Greatest norm of the gradient."""
    context: Annotated[int, Field(ge=64)] | None = None
    """Tokens of a sample with its prompt at most; as the model says by default."""
    adapter: Adapter | None = None
    """Train an adapter; the whole model where absent."""

    evaluate: Annotated[int, Field(ge=0)] = 20
    """Updates from one evaluation on what is held out to the next; 0 for none."""
    samples: Annotated[int, Field(ge=0)] = 4
    """Texts of an evaluation that are kept in words."""
    save: Count = 20
    """Updates from one checkpoint to the next."""
    checkpoints: Count = 2
    """How many of them are kept."""

    seed: Annotated[int, Field(ge=0)] = 0
    """Of all random choices."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where it runs; ``auto`` is an accelerator where there is one."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Of the numbers that are computed with; weights are kept in float32."""
    checkpointing: bool = False
    """Whether activations are computed again in place of being kept, which needs less memory."""

    paths: ClassVar[tuple[str, ...]] = ()
    """Fields that name files, relative to the configuration."""

    @model_validator(mode="after")
    def _shared_out(self) -> Self:
        if self.batch % self.micro:
            raise ValueError(f"batch {self.batch} is no multiple of micro {self.micro}")
        return self

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file; its paths are relative to it."""
        hint = "docs/how-to/train.md lists all keys"
        try:
            given = read_yaml(path)
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path} cannot be read ({error})", hint=hint) from error
        try:
            found = cls.model_validate(given)
        except ValidationError as error:
            raise ConfigError(f"{path}: {_first(error)}", hint=hint) from error
        return found.placed(path.parent)

    def placed(self, folder: Path) -> Self:
        """Return them with the paths that are relative to a folder made whole."""
        names = [name for name in self.paths if getattr(self, name) is not None]
        changed = {name: str(folder / Path(getattr(self, name)).expanduser()) for name in names}
        if (folder / self.model).exists():
            changed["model"] = str(folder / Path(self.model).expanduser())
        return self.model_copy(update=changed)


class GrpoSettings(RunSettings):
    """A run of GRPO: group-relative policy optimisation with a clipped ratio (Deep-DxSearch, equation 18)."""

    cases: str
    """Cases that state their diagnoses."""
    split: str | None = None
    """File of ``kgdx split``; where it is absent, cases are split by publication."""
    held_out: Annotated[float, Field(gt=0, lt=1)] = 0.3
    """Share of the cases to hold out where there is no split."""
    known: Count | None = None
    """Findings that are told; all of them by default."""
    notation: Literal["tags", "calls", "tools"] = "tags"
    """How the model writes its acts: ``tags``, ``calls`` in JSON, or ``tools`` as its own chat template calls them."""
    limits: Limits = Limits()
    """What it may do."""

    steps: Count = 400
    """Updates of the model."""
    batch: Count = 48
    """Rollouts of an update, over all devices."""
    group: Annotated[int, Field(ge=2)] = 8
    """Rollouts of one case, among which rewards are compared."""
    micro: Count = 8
    """Rollouts that are in memory at once when gradients are computed, on each device."""
    clip: Share = 0.2
    """How far the ratio of probabilities may be from 1."""
    beta: Annotated[float, Field(ge=0)] = 0.005
    """Weight of the divergence (KL) from the initial model."""
    passes: Count = 1
    """Updates from the same rollouts."""
    scale: Literal["batch", "group", "none"] = "batch"
    """By whose deviation advantages are divided."""
    loss: Literal["grpo", "dapo", "dr_grpo", "bnpo"] = "grpo"
    """How losses of tokens are averaged; ``grpo``, within each rollout first, is the paper's."""
    temperature: Annotated[float, Field(gt=0, le=2)] = 1.0
    """Of the samples."""
    stages: bool = False
    """Whether the weights of the rewards change with the progress (equation 19)."""
    weights: Parts | None = None
    """Of match, search and diagnosis where there are no stages; Deep-DxSearch's last ones where absent."""

    length: Annotated[int, Field(ge=LEAST)] = 32_000
    """Characters of a rollout without its prompt at most."""
    result: Annotated[int, Field(ge=16)] = 2_000
    """Characters of what one act is answered by."""
    tokens: Count = 512
    """Tokens that the model writes before an act at most."""

    warm_up: WarmUp | None = None
    """Cross-entropy on transcripts first."""

    evaluated: Count = 64
    """Held-out cases that are evaluated on at most, the same each time."""
    idle: Count = 100
    """Updates in a row in which no group differs, after which the run ends."""

    vllm: bool = False
    """Whether vLLM samples, within the process; for ``tools`` alone."""

    paths: ClassVar[tuple[str, ...]] = ("cases", "split")

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.batch % self.group:
            raise ValueError(f"batch {self.batch} is no multiple of group {self.group}")
        if self.save % self.passes:
            raise ValueError(f"save {self.save} is no multiple of passes {self.passes}")
        if self.notation == "tools" and (self.stages or self.weights):
            raise ValueError("stages do not go with the notation tools, nor do weights")
        if self.stages and self.weights:
            raise ValueError("stages have weights of their own")
        if self.vllm and self.notation != "tools":
            raise ValueError(f"vllm samples for the notation tools alone, not for {self.notation}")
        return self

    def placed(self, folder: Path) -> Self:
        """Return them with the paths that are relative to a folder made whole."""
        made = super().placed(folder)
        if self.warm_up is None:
            return made
        transcripts = str(folder / Path(self.warm_up.transcripts).expanduser())
        return made.model_copy(update={"warm_up": self.warm_up.model_copy(update={"transcripts": transcripts})})

    @property
    def written(self) -> Notation:
        return "tags" if self.notation == "tags" else "calls"


class DpoSettings(RunSettings):
    """A run of DPO, direct preference optimisation, on thoughts and answers together (RAR², equation 3 put right).

    The loss of a pair is ``-log σ(β log(π_θ⁺/π_ref⁺) - β log(π_θ⁻/π_ref⁻))``, each probability that of a whole text
    behind its whole prompt: the question alone for a thought, the question and the documents for an answer.
    """

    pairs: str
    """File of ``kgdx learn pairs``."""
    kinds: Literal["both", "thought", "answer"] = "both"
    """What is trained on: pairs of thoughts and of answers, mixed and shuffled, or one kind alone, as an ablation."""
    held_out: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Share of the questions whose pairs are held out."""
    epochs: Count = 4
    """How often each pair is read."""
    batch: Count = 64
    """Pairs of an update, over all devices."""
    micro: Count = 4
    """Pairs that are in memory at once when gradients are computed, on each device."""
    beta: Annotated[float, Field(gt=0)] = 0.2
    """How firmly the model is held to the initial one, the reference."""
    evaluated: Count = 256
    """Held-out pairs of a kind that are evaluated on at most, the same each time, in whole steps of ``micro``."""

    paths: ClassVar[tuple[str, ...]] = ("pairs",)


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    name = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        return f"there is no key {name[:60]!r}"
    said = str(first["msg"]).removeprefix("Value error, ")
    return f"{name}: {said}" if name else said
