"""Commands about the graph as a whole: build, remove, status, sources."""

from __future__ import annotations

from typing import Annotated

import typer

from kgdx.cli import output
from kgdx.cli.options import Json, Store


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    for command in (build, sources, status, remove):
        app.command()(command)


def build(
    source: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE…]", help="Names of sources, or NAME=PATH-OR-URL; the standard ones when none is given."
        ),
    ] = None,
    discard_cases: Annotated[
        bool, typer.Option("--discard-cases", help="Do not carry saved cases over from the old graph.")
    ] = False,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Build the graph from its sources.

    It replaces the one that is there only when it is complete; saved cases stay. Example: kgdx build hp
    hpoa=my.hpoa orphanet_omim=xrefs.tsv
    """
    import kgdx
    from kgdx.show.build import build_progress, report

    with build_progress() as tell:
        built = kgdx.build(source or None, store=store, progress=tell, keep_cases=not discard_cases)
    if as_json:
        output.write_json(built.to_dict())
    else:
        output.show(report(built))


def remove(
    source: Annotated[str, typer.Argument(help="Name of the source, as `kgdx status` shows it.")],
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Build the graph again without one of its sources."""
    from kgdx import api
    from kgdx.show.build import build_progress, report

    with build_progress() as tell:
        built = api.remove(source, store=store, progress=tell)
    if as_json:
        output.write_json(built.to_dict())
    else:
        output.show(report(built))


def sources(as_json: Json = False) -> None:
    """List the sources that can be loaded."""
    from kgdx.load.info import sources as every
    from kgdx.show.build import source_list

    found = every()
    if as_json:
        output.write_json([each.model_dump(mode="json", by_alias=True) for each in found])
    else:
        output.show(source_list(found))


def status(as_json: Json = False, store: Store = None) -> None:
    """Show where the graph is and what it holds.

    The exit code is 6 when there is no graph.
    """
    import kgdx
    from kgdx.show.build import state

    with kgdx.open(store) as graph:
        found = graph.status()
    if as_json:
        output.write_json(found)
    else:
        output.show(state(found))
