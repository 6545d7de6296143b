"""Whether a manifest agrees with the ontology and the formats; if not, on which line and what may stand there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from kgdx.load.faults import did_you_mean, line_of
from kgdx.load.manifest import Manifest, NodeMap, RelationMap, Value
from kgdx.load.sources import FORMATS
from kgdx.schema import Property, Schema

Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Something in a manifest that cannot be: its line, and what to do about it in words."""

    line: int
    message: str


def disagreements(
    manifest: Manifest, schema: Schema, known: Collection[str], formats: Iterable[str] = FORMATS
) -> list[Disagreement]:
    """Compare a manifest with what there is.

    Args:
        manifest: The manifest, with the file that it was read from.
        schema: The ontology.
        known: Names of the sources there are.
        formats: Names of the formats there are.

    Example:
        >>> from kgdx.load.manifest import manifest, manifests
        >>> from kgdx.schema import load_schema
        >>> disagreements(manifest("hpoa"), load_schema(), manifests())
        []
    """
    text = manifest.path.read_text("utf-8") if manifest.path else ""
    found = [*_about(manifest, known, list(formats))]
    for number, node in enumerate(manifest.nodes):
        found += _node(node, schema, ("nodes", number))
    for number, relation in enumerate(manifest.relations):
        found += _relation(relation, schema, ("relations", number))
    return sorted((Disagreement(line_of(text, place), message) for place, message in found), key=lambda each: each.line)


def _about(manifest: Manifest, known: Collection[str], formats: list[str]) -> Iterator[tuple[Place, str]]:
    if not manifest.nodes and not manifest.relations:
        yield (), "it maps nothing: give nodes, relations, or both"
    for place, name in [
        (("format",), manifest.format),
        *((("also", key), name) for key, name in manifest.also.items()),
    ]:
        if name not in formats:
            yield place, f"there is no format {name!r}: one of {', '.join(formats)}{did_you_mean(name, formats)}"
    for number, name in enumerate(manifest.needs):
        if name not in known:
            yield (
                ("needs", number),
                f"there is no source {name!r}: one of {', '.join(known)}{did_you_mean(name, known)}",
            )


def _node(node: NodeMap, schema: Schema, place: Place) -> Iterator[tuple[Place, str]]:
    if node.class_ not in schema.nodes:
        yield (*place, "class"), _no_class(node.class_, schema)
        return
    properties = schema.node(node.class_).properties
    yield from _properties(node.class_, node.properties, properties, place)
    yield from _minted((*place, "id"), node.id, schema)
    missing = [each.name for each in properties.values() if each.required and each.name not in ("id", "source")]
    for name in missing if node.role != "patch" else ():
        if name not in node.properties:
            yield place, f"a {node.class_} must have a {name}: add it under properties"


def _relation(relation: RelationMap, schema: Schema, place: Place) -> Iterator[tuple[Place, str]]:
    ends = (relation.start.class_, relation.end.class_)
    for end, name in zip(("start", "end"), ends, strict=True):
        if name not in schema.nodes:
            yield (*place, end, "class"), _no_class(name, schema)
        yield from _minted((*place, end, "id"), getattr(relation, end).id, schema)
    if relation.type not in schema.relations:
        fitting = [name for name, each in schema.relations.items() if ends in each.ends]
        offer = f"from {ends[0]} to {ends[1]} go {', '.join(fitting)}" if fitting else "see `kgdx schema`"
        message = f"there is no relation {relation.type!r}: {offer}{did_you_mean(relation.type, schema.relations)}"
        yield (*place, "type"), message
        return
    found = schema.relation(relation.type)
    if ends not in found.ends:
        allowed = ", ".join(f"{start}→{end}" for start, end in found.ends)
        yield (*place, "type"), f"no {relation.type} goes from {ends[0]} to {ends[1]}: it goes {allowed}"
    yield from _properties(relation.type, relation.properties, found.properties, place)
    for each in found.properties.values():
        if each.required and each.name != "source" and each.name not in relation.properties:
            yield place, f"a {relation.type} must have a {each.name}: add it under properties"


def _properties(
    owner: str, given: Mapping[str, Value], known: Mapping[str, Property], place: Place
) -> Iterator[tuple[Place, str]]:
    settable = [name for name in known if name not in ("id", "source")]
    for name, value in given.items():
        where = (*place, "properties", name)
        if name not in settable:
            offer = f"one of {', '.join(settable)}" if settable else "it has none"
            yield where, f"{owner} has no property {name!r}: {offer}{did_you_mean(name, settable)}"
            continue
        allowed = known[name].values
        stated = [value.constant] if isinstance(value.constant, str) else list((value.values or {}).values())
        wrong = [each for each in stated if allowed and each not in allowed]
        if wrong:
            yield where, f"{name} is never {wrong[0]!r}: one of {', '.join(allowed)}{did_you_mean(wrong[0], allowed)}"


def _minted(place: Place, id: Value, schema: Schema) -> Iterator[tuple[Place, str]]:
    if id.mint is not None and id.mint not in schema.nodes:
        yield (*place, "mint"), _no_class(id.mint, schema)
    elif id.mint is not None and (prefixes := schema.node(id.mint).prefixes) and "KGDX" not in prefixes:
        yield (*place, "mint"), f"a {id.mint} is known by its id only ({', '.join(prefixes)}), none can be minted"


def _no_class(name: str, schema: Schema) -> str:
    return f"there is no class {name!r}: one of {', '.join(schema.nodes)}{did_you_mean(name, schema.nodes)}"
