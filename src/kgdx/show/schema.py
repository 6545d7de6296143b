"""The ontology in the terminal: classes and relations at a glance, or one of them in full."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from kgdx.schema import NodeClass, Relation, Schema
from kgdx.show.console import plain


def overview(schema: Schema) -> RenderableType:
    """All node classes and relations, one line each."""
    nodes = plain(
        ("Class", "What it is"),
        [
            (Text(each.name, style="bold"), _said(each.definition, f"ids {', '.join(each.prefixes) or 'of any form'}"))
            for each in schema.nodes.values()
        ],
    )
    relations = plain(
        ("Relation", "What it says"),
        [(Text(each.name, style="bold"), _said(each.definition, _ends(each))) for each in schema.relations.values()],
    )
    head = Text(f"Ontology {schema.version}: {len(schema.nodes)} node classes, {len(schema.relations)} relations")
    return Group(head, Text(), nodes, Text(), relations)


def element(each: NodeClass | Relation) -> RenderableType:
    """One class or relation with its properties."""
    facts = [Text(each.name, style="bold"), Text(each.definition), Text()]
    if isinstance(each, Relation):
        facts.append(Text(f"joins       {_ends(each)}"))
        facts.append(Text(f"told apart  by {', '.join(each.identity)}"))
    else:
        facts.append(Text(f"ids         {', '.join(each.prefixes) or 'any'}"))
    if each.biolink:
        facts.append(Text(f"Biolink     {each.biolink}"))
    rows = [
        (Text(prop.name, style="bold" if prop.required else ""), prop.type, _meaning(prop.definition, prop.values))
        for prop in each.properties.values()
    ]
    return Group(*facts, Text(), plain(("Property", "Type", "Meaning"), rows))


def _said(definition: str, fact: str) -> Text:
    text = Text(f"{definition}\n")
    return text.append(fact, style="dim")


def _ends(relation: Relation) -> str:
    return ", ".join(f"{start} → {end}" for start, end in relation.ends)


def _meaning(definition: str, values: tuple[str, ...]) -> str:
    return f"{definition} One of {', '.join(values)}." if values else definition
