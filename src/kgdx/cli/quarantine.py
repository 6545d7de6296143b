"""Commands about refused records: show, export, retry."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgdx.cli import output
from kgdx.cli.options import Json, Store

if TYPE_CHECKING:
    from polars import DataFrame

Source = Annotated[str | None, typer.Argument(metavar="SOURCE", help="Of this source only.")]

group = typer.Typer(help="Look at refused records, mend and load them.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    for command in (show, export, retry):
        group.command()(command)
    app.add_typer(group, name="quarantine")


def show(
    source: Source = None,
    rows: Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="How many reasons to show.")] = 20,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Show why records were refused, by source and reason, each with how often and an example.

    Example: kgdx quarantine show hpoa
    """
    from dataclasses import asdict

    from kgdx.load.quarantine import summary
    from kgdx.show.quarantine import overview

    table = _table(store, source)
    groups = summary(table)
    if as_json:
        output.write_json([asdict(each) for each in groups])
    else:
        output.show(overview(groups, rows))


def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write: .csv, .jsonl or .parquet.")],
    source: Annotated[str | None, typer.Option("--source", metavar="NAME", help="Of this source only.")] = None,
    store: Store = None,
) -> None:
    """Write the refused records to a file, to be looked at or mended there.

    Mend the column `record`, leave the others as they are, then: kgdx quarantine retry FILE
    """
    from kgdx.load.quarantine import export as write
    from kgdx.results.words import count

    written = write(_table(store, source), file)
    output.remark(f"wrote {count(written, 'record')} to {file}")


def retry(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="An exported file whose records you have mended.")
    ] = None,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Load refused records again: those that were mended in a file, or without one all of them as they are.

    What was mended is kept with the graph and holds for every build of it.
    """
    from kgdx import api
    from kgdx.show.build import build_progress
    from kgdx.show.quarantine import retried

    with build_progress() as tell:
        done = api.retry(file, store=store, progress=tell)
    if as_json:
        refused = [dict(each) for each in done.refused]
        document = {"mended": dict(done.mended), "before": done.before, "after": done.after, "refused": refused}
        output.write_json({**document, "report": done.report.to_dict()})
    else:
        output.show(retried(done))


def _table(store: str | None, source: str | None) -> DataFrame:
    from kgdx.config import Settings
    from kgdx.load.folder import GraphFolder
    from kgdx.load.quarantine import read

    return read(GraphFolder(Settings.load(store).graph_folder), source)
