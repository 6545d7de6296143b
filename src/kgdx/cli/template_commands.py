"""Commands that show the ontology and the named templates, and run one of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kgdx.cli import inputs, output
from kgdx.cli.options import Json, Store, argument
from kgdx.errors import UsageError

if TYPE_CHECKING:
    from kgdx.schema import NodeClass, Relation


def run(
    template: str = argument(..., "TEMPLATE", "Name of a read template; `kgdx templates` lists them."),
    parameters: list[str] | None = argument(None, "NAME=VALUE…", "Its parameters; lists as a,b,c or as JSON."),
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Run one template and show its rows.

    Example: kgdx run disease_by_id disease=OMIM:190350
    """
    from kgdx.graph.templates import template as look_up

    found = look_up(template, kind="read")
    values = parse(found.name, found.parameters, parameters or [])
    with inputs.graph(store) as graph:
        rows = graph.run(found.name, **values)
    from kgdx.render.terminal.graph_text import rows as table

    output.present(rows, as_json, lambda every: table(found.columns, every))


def templates(
    name: str | None = argument(None, "TEMPLATE", "Show this one, with its Cypher."),
    as_json: Json = False,
) -> None:
    """List the templates: what each is for and what it takes."""
    from kgdx.graph.templates import template as look_up
    from kgdx.graph.templates import templates as every

    chosen = [look_up(name)] if name else list(every().values())
    if as_json:
        keys = ("name", "kind", "purpose", "text")
        told = [{key: getattr(each, key) for key in keys} for each in chosen]
        more = [{"parameters": dict(each.parameters), "columns": list(each.columns)} for each in chosen]
        return output.write_json([one | other for one, other in zip(told, more, strict=True)])
    from kgdx.render.terminal.graph_text import template_details, template_list

    output.show(template_details(chosen[0]) if name else template_list(chosen))
    if name:
        print(f"\n{chosen[0].text}")


def parse(template: str, declared: Mapping[str, str], given: Iterable[str]) -> dict[str, Any]:
    """Read ``name=value`` words into the types that a template's header declares for its parameters.

    Example:
        >>> parse("t", {"ids": "strings", "limit": "integer?"}, ["ids=HP:0001250,HP:0002133", "limit=5"])
        {'ids': ['HP:0001250', 'HP:0002133'], 'limit': 5}
    """
    values: dict[str, Any] = {}
    for word in given:
        name, sign, text = word.partition("=")
        if not sign or not name:
            sample = " ".join(f"{each}=…" for each, type_ in declared.items() if not type_.endswith("?"))
            raise UsageError(f"{word!r} is not NAME=VALUE", hint=f"as in `kgdx run {template} {sample}`")
        if name in values:
            raise UsageError(f"{name} is given twice", hint="separate the items of a list by commas")
        wanted = declared.get(name, "string").rstrip("?")
        try:
            values[name] = _READERS[wanted](text)
        except ValueError as error:
            raise UsageError(f"{name}={text[:40]} is not of type {wanted}", hint=_FORMS[wanted]) from error
    return values


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def _strings(text: str) -> list[Any]:
    return _rows(text) if text.startswith("[") else [part.strip() for part in text.split(",") if part.strip()]


def _rows(text: str) -> list[Any]:
    value = json.loads(text)
    if not isinstance(value, list):
        raise ValueError(text)
    return value


_READERS: Mapping[str, Callable[[str], Any]] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": _boolean,
    "strings": _strings,
    "rows": _rows,
}

_FORMS = {
    "string": "any text",
    "integer": "a whole number, such as 10",
    "float": "a number, such as 0.5",
    "boolean": "true or false",
    "strings": 'a,b,c or ["a", "b"]',
    "rows": 'a JSON array of objects, such as [{"id": "…"}]',
}


def schema(
    name: str | None = argument(None, "NAME", "Show this class or relation with its properties."),
    as_json: Json = False,
) -> None:
    """Show the ontology: classes, relations, properties.

    Example: kgdx schema HAS_PHENOTYPE
    """
    from kgdx.render.terminal.graph_text import element, ontology
    from kgdx.schema import load_schema

    found = load_schema()
    if name is None:
        every = {**found.nodes, **found.relations}
        return output.present(_document(every, found.version), as_json, lambda _: ontology(found))
    known: dict[str, NodeClass | Relation] = {each.name.casefold(): each for each in found.nodes.values()}
    chosen = (known | {each.name.casefold(): each for each in found.relations.values()}).get(name.casefold())
    if chosen is None:
        raise UsageError(f"the ontology has no {name!r}", hint="`kgdx schema` lists all classes and relations")
    output.present(_document({chosen.name: chosen}, found.version), as_json, lambda _: element(chosen))


def _document(elements: Mapping[str, Any], version: str) -> dict[str, Any]:
    return {"version": version, "elements": elements}
