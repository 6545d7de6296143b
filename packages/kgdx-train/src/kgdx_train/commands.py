"""The commands that train, and that write what language models are trained on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from kgdx.cli import inputs, options, output
from kgdx.cli.options import Json, Store, option
from kgdx_train.embedding_command import embeddings
from kgdx_train.pair_commands import pairs


class TrainCommands:
    """What the group of commands `kgdx train` is made of."""

    @staticmethod
    def register(group: typer.Typer) -> None:
        options.add(group, grpo, dpo)


class LearnCommands:
    """What the package adds to the group of commands `kgdx learn`."""

    @staticmethod
    def register(group: typer.Typer) -> None:
        options.add(group, embeddings, pairs, transcripts)


Config = Annotated[Path, typer.Argument(metavar="CONFIG.yaml", help="Settings; docs/how-to/train.md lists them.")]
To = Annotated[Path, typer.Option("--out", "--output", "-o", metavar="FOLDER", help="Keep the run here; goes on.")]
Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="Training curves as a picture, PNG; needs kgdx[plot].")]
ROLLOUTS = {"reward": "reward, sampled", "entropy": "entropy of a token", "tokens": "tokens of a rollout"}
PAIRS = {"accuracy": "pairs in the right order", "margin": "margin of rewards", "loss": "loss"}
"""What the pictures of curves show → its label."""


def grpo(config: Config, to: To, plot: Plot = None, as_json: Json = False, store: Store = None) -> None:
    """Train a language model on the graph by GRPO.

    It has the tools and rewards of Deep-DxSearch. Interrupted, it goes on from its last checkpoint when run again. On
    many GPUs: accelerate launch -m kgdx train grpo. Example: kgdx train grpo grpo.yaml -o run
    """
    from kgdx_train.language_settings import GrpoSettings
    from kgdx_train.language_training import graph_training

    settings = GrpoSettings.read(config)
    with inputs.graph(store) as graph:
        made = graph_training(graph, settings, to, output.remark).run()
    _finish(made, to, plot, ROLLOUTS, as_json)


def dpo(config: Config, to: To, plot: Plot = None, as_json: Json = False) -> None:
    """Train a language model by DPO on pairs.

    They are those of `kgdx learn pairs`, of thoughts and of answers, mixed as in RAR². Interrupted, it goes on from its
    last checkpoint when run again. On many GPUs: accelerate launch -m kgdx train dpo. Example: kgdx train dpo dpo.yaml
    -o run
    """
    from kgdx_train.language_settings import DpoSettings
    from kgdx_train.preference_training import pair_training

    made = pair_training(DpoSettings.read(config), to, output.remark).run()
    _finish(made, to, plot, PAIRS, as_json)


def _finish(made: Mapping[str, Any], run: Path, plot: Path | None, shown: Mapping[str, str], as_json: bool) -> None:
    if plot is not None:
        from kgdx.render.plots import training_plot
        from kgdx_train.language_run import CURVE, RunFolder, curves

        rows = RunFolder(run).rows(CURVE)
        training_plot({"run": curves(rows, tuple(shown))}, len(rows), plot, shown)
        output.remark(f"picture written to {plot}")
    if as_json:
        output.write_json(made)
    else:
        print(f"trained for {made['step']:,} updates: {run / 'final'}")


@dataclass(frozen=True, slots=True)
class Writing:
    """What is written down, and how."""

    policy: str = option("fixed", "NAME", "Whose acts, such as fixed.")
    notation: Literal["tags", "calls"] = option("tags", "", "How acts are written: in tags, or as calls in JSON.")
    form: Literal["transcripts", "verl"] = option(
        "transcripts", "", "JSON lines, or rows for verl as Parquet.", "--format"
    )
    least: float | None = option(None, "REWARD", "Only transcripts with at least this reward.")
    result: int = option(2_000, "N", "Characters of what an act is answered by.", min=16)


def transcripts(
    cases: Annotated[str, typer.Argument(metavar="FILE|FOLDER|-", help="Cases that state their diagnosis; or .gz.")],
    to: Annotated[Path, typer.Option("--out", "--output", "-o", metavar="FILE", help="Where they are written.")],
    writing: Writing,
    split: Path | None = option(None, "FILE", "Only those to train on, by `kgdx split`."),
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Write down what a policy does, to warm a model up.

    What it does with cases is written as a language model would. Example: kgdx learn transcripts cases.jsonl --policy
    fixed -o transcripts.jsonl
    """
    from kgdx.case import Case
    from kgdx.case.splits import Split
    from kgdx.episode.policy import make_policy
    from kgdx.learn.recorded_cases import RecordedCases
    from kgdx.policies.tags import TagsPolicy
    from kgdx_train.tag_transcripts import Transcripts, verl_rows, write_transcripts, write_verl

    given = [case for case in inputs.many(cases) if isinstance(case, Case)]
    if split is not None:
        given = Split.read(split).only(given, "train")
    model = TagsPolicy(notation=writing.notation, result=writing.result, top=0, explain=0)
    with inputs.graph(store) as graph:
        ward = RecordedCases.of(graph, given, known=None)
        if writing.form == "verl":
            count = write_verl(verl_rows(ward, ward.ids, model), to)
        else:
            made = Transcripts(ward, make_policy(writing.policy), model)
            with output.progress_bar("transcripts", len(ward.ids)) as advance:
                count = write_transcripts(made.all(ward.ids, advance), to, writing.least)
    if as_json:
        output.write_json({"file": str(to), "transcripts": count, "cases": len(given)})
    else:
        print(f"{count:,} of {len(given):,} cases: {to}")
