"""Commands about Neo4j: a local server for people without one, and copies of the graph to and from it."""

from __future__ import annotations

from typing import Annotated

import typer

from kgdx.cli import foreign, output
from kgdx.cli.options import Json, Store
from kgdx.errors import StoreError

Address = Annotated[
    str | None,
    typer.Argument(metavar="URI", help="Address of the Neo4j, as bolt://…; by default that of `kgdx neo4j up`."),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="A local Neo4j, and databases of others.")
    group.command("up")(up)
    group.command("down")(down)
    group.command("status")(server_status)
    group.command("shell-url")(shell_url)
    foreign.register(group)
    app.add_typer(group, name="neo4j")
    app.command()(push)
    app.command()(pull)


def up(
    bolt_port: Annotated[
        int | None, typer.Option(metavar="PORT", min=1, max=65535, help="Port of the Bolt protocol.")
    ] = None,
    http_port: Annotated[
        int | None, typer.Option(metavar="PORT", min=1, max=65535, help="Port of Neo4j Browser.")
    ] = None,
    heap: Annotated[str, typer.Option(metavar="SIZE", help="Memory for Java, such as 1g.")] = "1g",
    as_json: Json = False,
) -> None:
    """Start a local Neo4j.

    It listens on this machine only and has a password of its own; the first time, the server is fetched.
    """
    from kgdx.config import Settings
    from kgdx.show.graph import server
    from kgdx.store.server import up as start

    info = start(
        Settings.load(), bolt_port=bolt_port, http_port=http_port, heap=heap, progress=lambda line: output.remark(line)
    )
    if as_json:
        output.write_json(_plain(info))
    else:
        output.show(server(info))


def down() -> None:
    """Stop the local Neo4j; its data stays."""
    from kgdx.config import Settings
    from kgdx.store.server import down as stop

    output.remark("stopped" if stop(Settings.load()) else "it was not running")


def server_status(as_json: Json = False) -> None:
    """Show whether the local Neo4j runs, and where.

    The exit code is 6 when it does not.
    """
    from kgdx.config import Settings
    from kgdx.show.graph import server
    from kgdx.store.server import status

    info = status(Settings.load())
    if info is None:
        raise StoreError("the local Neo4j is not running", hint="start it with `kgdx neo4j up`")
    if as_json:
        output.write_json(_plain(info))
    else:
        output.show(server(info))


def shell_url(
    query: Annotated[str, typer.Argument(help="Cypher to fill in.")] = "",
) -> None:
    """Print the address of Neo4j Browser on the local server."""
    from kgdx.config import Settings
    from kgdx.store.browser import shell_url as address

    typer.echo(address(Settings.load(), query))


def push(
    uri: Address = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what the Neo4j holds.")] = False,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Copy the embedded graph into a Neo4j.

    Counts and content are compared afterwards, those of large relations by samples.
    """
    from kgdx import api
    from kgdx.show.graph import copied

    report = api.push(store=store, neo4j=uri, force=force, progress=output.remark)
    if as_json:
        output.write_json(_plain(report))
    else:
        output.show(copied(report))


def pull(
    uri: Address = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the embedded graph.")] = False,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Copy the graph of a Neo4j into an embedded one.

    Counts and fingerprint are compared afterwards.
    """
    from kgdx import api
    from kgdx.show.graph import copied

    report = api.pull(store=store, neo4j=uri, force=force, progress=output.remark)
    if as_json:
        output.write_json(_plain(report))
    else:
        output.show(copied(report))


def _plain(info: object) -> dict[str, object]:
    """A dataclass as JSON values; paths as text."""
    from dataclasses import fields
    from pathlib import Path

    values = {field.name: getattr(info, field.name) for field in fields(info)}  # type: ignore[arg-type]
    return {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}
