"""The command that trains the policy of ``--policy learned``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from kgdx.cli import inputs, options
from kgdx.cli.options import Json, Store, grouped

SHOWN = ("top1", "top5", "reward", "actions", "questions")


@dataclass(frozen=True, slots=True)
class How:
    """How it is trained."""

    updates: Annotated[int, typer.Option(metavar="N", help="How often episodes are played and learned from.")] = 150
    episodes: Annotated[int, typer.Option(metavar="N", help="Episodes of an update.")] = 512
    group: Annotated[int, typer.Option(metavar="N", help="Of them, those of one patient.")] = 8
    rate: Annotated[float, typer.Option(metavar="RATE", help="Step size of Adam.")] = 1e-3
    known: Annotated[int, typer.Option(metavar="N", min=1, max=100, help="Findings known at first.")] = 2
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of all random choices.")] = 0


@grouped
def policy(
    cases: Annotated[str, typer.Argument(metavar="FILE|FOLDER|-", help="Cases that state their diagnosis; or .gz.")],
    to: Annotated[Path, typer.Option("--out", "--output", "-o", metavar="FOLDER", help="Keep the run here; goes on.")],
    how: How,
    split: Annotated[
        Path | None, typer.Option("--split", metavar="FILE", help="Train on one side of this file of `kgdx split`.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Training curves as a picture, PNG; needs kgdx[plot].")
    ] = None,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Train the policy that chooses what to do next.

    It chooses among questions, look-ups, a search, matches and a diagnosis. Interrupted, it goes on where it stopped
    when run again. Example: kgdx learn policy cases.jsonl -o run; kgdx consult --policy
    learned:checkpoint=run/policy.safetensors
    """
    from kgdx.case import Case
    from kgdx.case.splits import Split
    from kgdx.learn.group_policy import Settings
    from kgdx.learn.policy_training import POLICY, train_policy

    settings = Settings(how.updates, how.episodes, how.group, how.rate, seed=how.seed)
    given = [case for case in inputs.many(cases) if isinstance(case, Case)]
    parts = Split.read(split) if split is not None else Split.of(given, seed=how.seed)
    with inputs.graph(store) as graph, options.progress_bar("updates", settings.updates) as advance:
        made = train_policy(graph, given, parts, settings, to, known=how.known, progress=advance)
    if plot is not None:
        from kgdx.render.plots import training_plot

        training_plot({"policy": made.card["curve"]}, settings.updates, plot)
        options.remark(f"picture written to {plot}")
    options.write_json(dict(made.card)) if as_json else _show(dict(made.card), to / POLICY)


def _show(card: dict[str, Any], path: Path) -> None:
    print(f"trained on {card['patients']:,} patients, measured on {card['held_out']:,}: {path}")
    width = max(map(len, card["figures"]))
    print(f"{'':{width}}  " + "  ".join(f"{name:>9}" for name in SHOWN))
    for name, found in card["figures"].items():
        print(f"{name:{width}}  " + "  ".join(f"{found[each]:9.3f}" for each in SHOWN))
