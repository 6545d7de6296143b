"""Commands about patient cases themselves."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from kgdx.cli import output
from kgdx.cli.options import Store


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Make up cases to try things out with.")
    group.callback()(lambda: None)
    group.command("synthesize")(synthesize)
    app.add_typer(group, name="cases")


def synthesize(
    n: Annotated[int, typer.Option("--n", "-n", metavar="N", min=1, help="How many cases.")] = 100,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the random choices.")] = 0,
    imprecision: Annotated[
        float, typer.Option(metavar="SHARE", min=0.0, max=1.0, help="Of the terms that give way to an ancestor.")
    ] = 0.2,
    noise: Annotated[
        float, typer.Option(metavar="SHARE", min=0.0, max=1.0, help="Unrelated terms, for each that is observed.")
    ] = 0.2,
    omission: Annotated[
        float, typer.Option(metavar="SHARE", min=0.0, max=1.0, help="Of the terms that are left out.")
    ] = 0.2,
    exclusion: Annotated[
        float, typer.Option(metavar="SHARE", min=0.0, max=1.0, help="Of the absent terms that are stated.")
    ] = 0.1,
    to: Annotated[
        Path | None,
        typer.Option("--out", "--output", "-o", metavar="FILE", help="File to write; standard output by default."),
    ] = None,
    store: Store = None,
) -> None:
    """Make up patients from the annotations of the graph's diseases, as phenopackets marked as synthetic.

    The same graph and seed give the same cases. Example: kgdx cases synthesize --n 1000 --seed 1 --out made-up.jsonl
    """
    import kgdx
    from kgdx.case import case_to_phenopacket
    from kgdx.case.synthesis import Perturbation, Synthesis

    how = Perturbation(imprecision, noise, omission, exclusion)
    with kgdx.open(store) as graph:
        build = graph.status()["build"] or {}
        cases = Synthesis(graph.snapshot).cases(n, seed, how)
        made_of = f"made up from graph {graph.fingerprint[:16]}, seed {seed}, {how}"
        target = nullcontext(sys.stdout) if to is None else to.open("w", encoding="utf-8")
        with target as stream, output.progress_bar("cases", n) as advance:
            for case in output.each(cases, advance):
                packet = case_to_phenopacket(case, build.get("created"), made_of)
                print(json.dumps(packet, ensure_ascii=False), file=stream)
    if to is not None:
        from kgdx.results.words import count

        output.remark(f"{count(n, 'synthetic case')} in {to}")
