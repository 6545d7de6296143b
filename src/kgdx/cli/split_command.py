"""The command that parts cases into those to train on and those to measure on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kgdx.cli import inputs, options
from kgdx.cli.options import Json


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(split)


def split(
    cases: Annotated[str, typer.Argument(metavar="FILE|FOLDER|-", help="Cases, in any form; or .gz.")],
    to: Annotated[Path, typer.Option("--out", "--output", "-o", metavar="FILE", help="File to write.")],
    held_out: Annotated[float, typer.Option(metavar="SHARE", help="Of the cases, to measure on.")] = 0.3,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of the choice.")] = 0,
    as_json: Json = False,
) -> None:
    """Part cases by publication, to train on one side.

    No publication is on both sides; a case without one is by itself. The file names the cases of each side, with a
    digest. Example: kgdx split cases.jsonl --held-out .3 --seed 0 -o split.json
    """
    from kgdx.case import Failure
    from kgdx.case.splits import Split

    given = list(inputs.many(cases))
    made = Split.of(given, held_out, seed)
    made.write(to)
    unread = sum(isinstance(case, Failure) for case in given)
    if as_json:
        sizes = {"train": len(made.train), "held_out": len(made.held_out), "unread": unread}
        options.write_json({"file": str(to), "digest": made.digest, "seed": made.seed, **sizes})
        return
    print(f"{len(made.train):,} cases to train on, {len(made.held_out):,} held out: {to}")
    print(f"digest {made.digest}")
    if unread:
        options.remark(f"{unread:,} could not be read and are on no side")
