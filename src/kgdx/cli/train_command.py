"""The commands that train language models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from kgdx.cli import inputs, options
from kgdx.cli.options import Json, Store


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Train language models; needs kgdx[train].")
    group.callback()(lambda: None)
    group.command()(grpo)
    group.command()(dpo)
    app.add_typer(group, name="train")


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
    from kgdx.learn.language_settings import GrpoSettings
    from kgdx.learn.language_training import graph_training

    settings = GrpoSettings.read(config)
    with inputs.graph(store) as graph:
        made = graph_training(graph, settings, to, options.remark).run()
    _finish(made, to, plot, ROLLOUTS, as_json)


def dpo(config: Config, to: To, plot: Plot = None, as_json: Json = False) -> None:
    """Train a language model by DPO on pairs.

    They are those of `kgdx learn pairs`, of thoughts and of answers, mixed as in RAR². Interrupted, it goes on from its
    last checkpoint when run again. On many GPUs: accelerate launch -m kgdx train dpo. Example: kgdx train dpo dpo.yaml
    -o run
    """
    from kgdx.learn.language_settings import DpoSettings
    from kgdx.learn.preference_training import pair_training

    made = pair_training(DpoSettings.read(config), to, options.remark).run()
    _finish(made, to, plot, PAIRS, as_json)


def _finish(made: Mapping[str, Any], run: Path, plot: Path | None, shown: Mapping[str, str], as_json: bool) -> None:
    if plot is not None:
        from kgdx.learn.language_run import CURVE, RunFolder, curves
        from kgdx.render.plots import training_plot

        rows = RunFolder(run).rows(CURVE)
        training_plot({"run": curves(rows, tuple(shown))}, len(rows), plot, shown)
        options.remark(f"picture written to {plot}")
    if as_json:
        options.write_json(made)
    else:
        print(f"trained for {made['step']:,} updates: {run / 'final'}")
