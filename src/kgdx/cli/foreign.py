"""Commands about databases that others built: a first mapping, and whether one fits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kgdx.cli import output
from kgdx.cli.options import Json
from kgdx.errors import StoreError, UsageError

Server = Annotated[
    str | None,
    typer.Argument(metavar="URI", help="Address of the Neo4j, as bolt://…; by default KGDX_STORE's or the local one."),
]


def register(group: typer.Typer) -> None:
    """Add the commands to those about Neo4j."""
    mapping = typer.Typer(
        no_args_is_help=True, rich_markup_mode=None, help="Databases that others built, read through a mapping."
    )
    mapping.command("new")(new)
    mapping.command("check")(check)
    group.add_typer(mapping, name="mapping")


def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The mapping to write.")],
    uri: Server = None,
    source: Annotated[str, typer.Option(metavar="NAME", help="How rows name the database.")] = "mine",
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
) -> None:
    """Propose a mapping from a database's own names.

    Example: kgdx neo4j mapping new mine.yaml bolt://127.0.0.1:7687
    """
    from kgdx.config import Settings
    from kgdx.store.foreign.database import ForeignDatabase
    from kgdx.store.foreign.propose import propose

    if file.exists() and not force:
        raise UsageError(f"{file} is there already", hint="give another name, or --force")
    with ForeignDatabase(Settings.load().neo4j(uri)) as database:
        text = propose(database, source)
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        message = f"{file} cannot be written ({error.strerror or error})"
        raise UsageError(message, hint="give another place") from error
    output.remark(f"{file} is a proposal: look at it, then run `kgdx neo4j mapping check {file}`")


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The mapping.")],
    uri: Server = None,
    as_json: Json = False,
) -> None:
    """Hold a mapping against its database.

    The exit code is 6 when something does not fit.
    """
    from kgdx.config import Settings
    from kgdx.show.graph import checked
    from kgdx.store.foreign.check import check as compare
    from kgdx.store.foreign.mapping import read_mapping

    report = compare(Settings.load().neo4j(uri), read_mapping(file))
    if as_json:
        output.write_json(report.to_dict())
    else:
        output.show(checked(report))
    if report.faults:
        first = report.faults[0]
        raise StoreError(f"{len(report.faults)} lines of {file} do not fit: {first.name} {first.theirs} {first.fault}")
