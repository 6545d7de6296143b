"""Commands that run named templates on the graph."""

from __future__ import annotations

from typing import Annotated

import typer

from kgdx.cli import output
from kgdx.cli.options import Json, Store


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command()(run)
    app.command()(templates)


def run(
    template: Annotated[
        str, typer.Argument(metavar="TEMPLATE", help="Name of a read template; `kgdx templates` lists them.")
    ],
    parameters: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME=VALUE…", help="Its parameters; lists as a,b,c or as JSON."),
    ] = None,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Run one template and show its rows.

    Example: kgdx run disease_by_id disease=OMIM:190350
    """
    import kgdx
    from kgdx.cli.parameters import parse
    from kgdx.store.templates import template as look_up

    found = look_up(template, kind="read")
    values = parse(found.name, found.parameters, parameters or [])
    with kgdx.open(store) as graph:
        rows = graph.run(found.name, **values)
    if as_json:
        output.write_json(rows)
    else:
        from kgdx.show.graph import rows as table

        output.show(table(found.columns, rows))


def templates(
    name: Annotated[str | None, typer.Argument(metavar="TEMPLATE", help="Show this one, with its Cypher.")] = None,
    as_json: Json = False,
) -> None:
    """List the templates: what each is for and what it takes."""
    from kgdx.store.templates import template as look_up
    from kgdx.store.templates import templates as every

    chosen = [look_up(name)] if name else list(every().values())
    if as_json:
        keys = ("name", "kind", "purpose", "text")
        output.write_json(
            [
                {
                    **{key: getattr(each, key) for key in keys},
                    "parameters": dict(each.parameters),
                    "columns": list(each.columns),
                }
                for each in chosen
            ]
        )
        return
    from kgdx.show.graph import template_details, template_list

    output.show(template_details(chosen[0]) if name else template_list(chosen))
    if name:
        print(f"\n{chosen[0].text}")
