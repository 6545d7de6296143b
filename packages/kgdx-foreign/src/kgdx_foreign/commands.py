"""The commands `kgdx neo4j mapping new` and `kgdx neo4j mapping check`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgdx.cli import options, output
from kgdx.cli.options import Json, flag, option
from kgdx.errors import StoreError, UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from kgdx_foreign.mapping_proposal import Report

Server = Annotated[
    str | None,
    typer.Argument(metavar="URI", help="Address of the Neo4j, as bolt://…; by default KGDX_STORE's or the local one."),
]


class MappingCommands:
    """What the group of commands `kgdx neo4j mapping` is made of."""

    @staticmethod
    def register(group: typer.Typer) -> None:
        options.add(group, new, check)


def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The mapping to write.")],
    uri: Server = None,
    source: str = option("mine", "NAME", "How rows name the database."),
    force: bool = flag("Replace the file."),
) -> None:
    """Propose a mapping from a database's own names.

    Example: kgdx neo4j mapping new mine.yaml bolt://127.0.0.1:7687
    """
    from kgdx.config import Settings
    from kgdx_foreign.mapped_store import ForeignDatabase
    from kgdx_foreign.mapping_proposal import propose

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
    from kgdx_foreign.database_mapping import read_mapping
    from kgdx_foreign.mapping_proposal import check as compare

    report = compare(Settings.load().neo4j(uri), read_mapping(file))
    if as_json:
        output.write_json(report.to_dict())
    else:
        output.show(checked(report))
    if report.faults:
        first = report.faults[0]
        raise StoreError(f"{len(report.faults)} lines of {file} do not fit: {first.name} {first.theirs} {first.fault}")


def checked(report: Report) -> RenderableType:
    """Return the lines of a mapping, and what can be asked."""
    from rich.console import Group
    from rich.text import Text

    from kgdx.render.terminal.console import plain
    from kgdx.results.words import clean

    rows = [(line.name, line.theirs, line.n, Text(clean(line.fault), "yellow")) for line in report.lines]
    table = plain(("name", "theirs", "number", "fault"), rows, right=("number",))
    can = Text(f"\nasked by template: {', '.join(report.can) or 'nothing'}")
    cannot = [Text(f"nothing to ask by: {', '.join(report.cannot)}")] if report.cannot else []
    return Group(table, can, *cannot)
