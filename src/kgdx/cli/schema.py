"""The command that shows the ontology: what the graph may hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgdx.cli import output
from kgdx.cli.options import Json

if TYPE_CHECKING:
    from kgdx.schema import NodeClass, Relation


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(schema)


def schema(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Show this class or relation with its properties.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the ontology: classes, relations, properties.

    Example: kgdx schema HAS_PHENOTYPE
    """
    from kgdx.errors import UsageError
    from kgdx.schema import load_schema
    from kgdx.show.graph import element, ontology

    found = load_schema()
    if name is None:
        if as_json:
            output.write_json(_document({**found.nodes, **found.relations}, found.version))
        else:
            output.show(ontology(found))
        return
    every: list[NodeClass | Relation] = [*found.nodes.values(), *found.relations.values()]
    known = {each.name.casefold(): each for each in every}
    chosen = known.get(name.casefold())
    if chosen is None:
        raise UsageError(f"the ontology has no {name!r}", hint="`kgdx schema` lists all classes and relations")
    if as_json:
        output.write_json(_document({chosen.name: chosen}, found.version))
    else:
        output.show(element(chosen))


def _document(elements: Mapping[str, NodeClass | Relation], version: str) -> dict[str, Any]:
    return {"version": version, "elements": {name: _plain(each) for name, each in elements.items()}}


def _plain(part: Any) -> Any:
    """Dataclasses and mappings of them as JSON values."""
    from dataclasses import fields, is_dataclass

    if is_dataclass(part):
        return {field.name: _plain(getattr(part, field.name)) for field in fields(part)}
    if isinstance(part, Mapping):
        return {name: _plain(value) for name, value in part.items()}
    return part
