"""The schema in words: the documentation's schema page.

``python -m kgdx.schema.schema_page docs/reference/schema.md`` writes the page; a test keeps it up to date.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from kgdx.schema import load_schema
from kgdx.schema.model import NodeClass, Property, Relation, Schema

BIOLINK = "https://w3id.org/biolink/vocab/"

_TYPES = {
    "string": "text",
    "integer": "integer",
    "float": "number",
    "boolean": "true or false",
    "strings": "list of texts",
    "floats": "list of numbers",
}


def markdown(schema: Schema) -> str:
    lines = [
        "# The schema",
        "",
        "<!-- Made from ontology/kgdx.owl by `python -m kgdx.schema.schema_page`; edit that file, not this page. -->",
        "",
        f"Version {schema.version} of the ontology declares {len(schema.nodes)} node classes and "
        f"{len(schema.relations)} relations. The stores' tables and constraints, the loaders' checks and this page "
        "are all made from it; `kgdx schema` shows the same in the terminal.",
        "",
        "Properties in **bold** are required. Every node and every relation names its `source`. No node is of two "
        "classes where nothing else is said.",
        "",
        "## Node classes",
        "",
        *_overview(("class", "ids", "definition"), (_node_row(n) for n in schema.nodes.values())),
        "## Relations",
        "",
        *_overview(("relation", "from → to", "definition"), (_relation_row(r) for r in schema.relations.values())),
        "## Node classes in full",
        "",
    ]
    for node in schema.nodes.values():
        lines += _section(node, f"Key: `{node.key}`. Ids: {_forms(node)}.{_shared(node, schema)}")
    lines += ["## Relations in full", ""]
    for relation in schema.relations.values():
        apart = ", ".join(f"`{p}`" for p in relation.identity)
        facts = f"{_ends(relation)}. Two edges between the same nodes differ in {apart}."
        facts += f"{_axioms(relation)}{_wording(relation)}"
        lines += _section(relation, facts)
    return "\n".join(lines).rstrip() + "\n"


def _overview(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    return [_row(header), _row("---" for _ in header), *(_row(r) for r in rows), ""]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _node_row(node: NodeClass) -> tuple[str, ...]:
    return (f"[{node.name}](#{_anchor(node.name)})", _ids(node), node.definition)


def _relation_row(relation: Relation) -> tuple[str, ...]:
    return (f"[{relation.name}](#{_anchor(relation.name)})", _ends(relation), relation.definition)


def _section(entity: NodeClass | Relation, facts: str) -> list[str]:
    biolink = f" Biolink: [`{entity.biolink}`]({BIOLINK}{entity.biolink.partition(':')[2]})." if entity.biolink else ""
    return [
        f"### {entity.name} {{ #{_anchor(entity.name)} }}",
        "",
        entity.definition,
        "",
        f"{facts}{biolink}",
        "",
        *_properties(entity.properties),
    ]


def _properties(properties: Mapping[str, Property]) -> list[str]:
    return _overview(("property", "type", "meaning"), (_property_row(p) for p in properties.values()))


def _property_row(prop: Property) -> tuple[str, ...]:
    name = f"**`{prop.name}`**" if prop.required else f"`{prop.name}`"
    values = f" One of {', '.join(f'`{v}`' for v in prop.values)}." if prop.values else ""
    return (name, _TYPES[prop.type], prop.definition + values)


def _ids(node: NodeClass) -> str:
    return ", ".join(f"`{p}:`" for p in node.prefixes) or "any"


def _forms(node: NodeClass) -> str:
    return ", ".join(f"`{p}:{node.patterns.get(p, '')}`" for p in node.prefixes) or "any"


def _shared(node: NodeClass, schema: Schema) -> str:
    shared = [f"`{name}`" for name in schema.nodes if name != node.name and name not in node.disjoint]
    return f" A node of it may also be of {' or '.join(shared)}." if shared else ""


def _axioms(relation: Relation) -> str:
    inverse = f" Inverse: `{relation.inverse}`." if relation.inverse else ""
    return f"{inverse} {', '.join(sorted(relation.characteristics)).capitalize()}.".removesuffix(" .")


def _ends(relation: Relation) -> str:
    return ", ".join(f"{start} → {end}" for start, end in relation.ends)


def _wording(relation: Relation) -> str:
    read = (f"“{words.label}”, back “{words.inverse}”" for words in relation.wording.values())
    return f" Reads {'; '.join(read)}." if relation.wording else ""


def _anchor(name: str) -> str:
    return name.lower().replace("_", "-")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(markdown(load_schema()), encoding="utf-8")
