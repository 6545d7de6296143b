"""Actions in words, made from their classes: a line each for a language model, and the documentation's action page.

``python -m kgdx.episode.described docs/reference/actions.md`` writes the page; a test keeps it up to date.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgdx.episode.wish import Action, Actions

_TYPES = {"string": "text", "integer": "integer", "number": "number", "boolean": "true or false", "object": "object"}


@dataclass(frozen=True, slots=True)
class FieldDescription:
    """A field of an action: its name, what it may be, its default (``None`` when it must be given)."""

    name: str
    type: str
    default: str | None


@cache
def fields_of(kind: type[Action]) -> tuple[FieldDescription, ...]:
    """Return the fields of an action, the required ones first, with their bounds."""
    properties: Mapping[str, Any] = kind.model_json_schema().get("properties", {})
    found = (FieldDescription(name, _type(schema), _default(kind, name)) for name, schema in properties.items())
    return tuple(sorted(found, key=lambda field: field.default is not None))


@cache
def line(kind: type[Action]) -> str:
    """Return what an action takes and is for in one line, made from the class: for prompts, pages and people.

    Example:
        >>> from kgdx.actions import ACTIONS
        >>> line(ACTIONS["get_definition"]).partition(":")[0]
        '{"action"'
        >>> line(ACTIONS["get_definition"]).endswith("What a finding of the Human Phenotype Ontology is, in its words.")
        True
    """
    parts = [f'"action": "{kind.name}"']
    for field in fields_of(kind):
        type_ = f"[{field.type}]" if field.type.endswith("texts") else field.type
        parts.append(f'"{field.name}": {type_}' + (f" ({field.default})" if field.default is not None else ""))
    return f"{{{', '.join(parts)}}}: {purpose(kind)}"


def purpose(kind: type[Action]) -> str:
    return " ".join(inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0].split())


def markdown(registry: Actions) -> str:
    """Return the page of all actions."""
    lines = [
        "# Actions",
        "",
        "<!-- Made from kgdx.actions by `python -m kgdx.episode.described`; edit the classes, not this page. -->",
        "",
        "An action is a typed request of a policy: a fixed pipeline, rules, or a language model that plans. As JSON it "
        'is `{"action": NAME, …fields}`; names and aliases count in any case. [Ask the graph with '
        "actions](../how-to/actions.md) shows them at work.",
        "",
        "| action | what it does |",
        "| --- | --- |",
        *(f"| [{name}](#{name}) | {purpose(kind)} |" for name, kind in registry.items()),
        "",
    ]
    for name, kind in registry.items():
        lines += [f"## {name}", "", purpose(kind), "", *_facts(kind)]
        if fields_of(kind):
            about = docstrings(kind)
            lines += ["| field | is | default | what it is for |", "| --- | --- | --- | --- |"]
            lines += [
                f"| `{f.name}` | {f.type} | {_shown(f.default)} | {_marked(about.get(f.name, ''))} |"
                for f in fields_of(kind)
            ]
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _marked(text: str) -> str:
    return text.replace("``", "`").replace("|", "\\|")


def _shown(default: str | None) -> str:
    return "required" if default is None else f"`{default}`"


def _facts(kind: type[Action]) -> Iterator[str]:
    template = getattr(kind, "template", None)
    facts = [f"aliases: {', '.join(f'`{alias}`' for alias in kind.aliases)}" if kind.aliases else ""]
    facts.append(f"template: [`{template}`](templates.md)" if isinstance(template, str) else "")
    if any(facts):
        said = "; ".join(filter(None, facts))
        yield from (f"{said[0].upper()}{said[1:]}.", "")


def _type(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join("nothing" if one.get("type") == "null" else _type(one) for one in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f'"{value}"' for value in schema["enum"])
    if schema.get("type") == "array":
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        return f"{least} to {most} texts" if most else "list of texts"
    if schema.get("type") == "integer" and "minimum" in schema:
        return f"{schema['minimum']} to {schema['maximum']}" if "maximum" in schema else f"{schema['minimum']} or more"
    return _TYPES.get(schema.get("type", ""), "value")


def _default(kind: type[Action], name: str) -> str | None:
    field = kind.model_fields[name]
    if field.is_required():
        return None
    value = field.get_default(call_default_factory=True)
    return {"None": "nothing", "()": "none"}.get(str(value), str(value).lower())


def docstrings(kind: type[Action]) -> dict[str, str]:
    """Return what stands below each field in the source of the class and those that it inherits from.

    For the page alone: it needs the source, and CPython 3.11 fails when several threads parse at once.
    """
    found = {name: field.description for name, field in kind.model_fields.items() if field.description}
    for each in reversed(kind.__mro__):
        try:
            source = inspect.getsource(each) if each.__module__.startswith("kgdx.") else ""
        except OSError:  # made of a header
            continue
        for body in ast.parse(textwrap.dedent(source)).body:
            assert isinstance(body, ast.ClassDef)
            for one, other in zip(body.body, body.body[1:], strict=False):
                if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                    text = other.value if isinstance(other, ast.Expr) else None
                    if isinstance(text, ast.Constant) and isinstance(text.value, str):
                        found[one.target.id] = " ".join(text.value.split())
    return found


if __name__ == "__main__":
    from kgdx.episode.wish import ACTIONS

    Path(sys.argv[1]).write_text(markdown(ACTIONS), encoding="utf-8")
