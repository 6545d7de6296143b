"""Patterns of a MATCH clause as data: nodes and relations with their variables, names and conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kgdx.store.foreign.lexer import Token, UnreadableError

Condition = tuple[str, tuple[Token, ...]]
"""A property and what it has to be."""


@dataclass(frozen=True, slots=True)
class NodePattern:
    """``(var:Kind {property: value})``; a repeated variable may have no kind."""

    var: str
    kind: str
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class RelationPattern:
    """``-[var:A|B*0..20]->``: its types, where it points, and how often it may be repeated (as tokens)."""

    var: str
    types: tuple[str, ...]
    left: bool
    right: bool
    repeated: tuple[Token, ...] = ()


Path = tuple[NodePattern | RelationPattern, ...]
"""A node, and each further one after its relation."""


class _Reader:
    """Reads tokens one after the other."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.at = 0

    @property
    def ended(self) -> bool:
        return self.at >= len(self.tokens)

    def peek(self) -> str:
        return "" if self.ended else self.tokens[self.at].text

    def next(self) -> Token:
        if self.ended:
            raise UnreadableError("a pattern ends early")
        self.at += 1
        return self.tokens[self.at - 1]

    def take(self, text: str) -> bool:
        found = self.peek() == text
        self.at += found
        return found

    def expect(self, *texts: str) -> str:
        token = self.next()
        if token.text not in texts:
            raise UnreadableError(f"a pattern has {token.text!r} where {' or '.join(texts)} is read")
        return token.text

    def name(self) -> str:
        """A name, if one comes."""
        return self.next().text if not self.ended and self.tokens[self.at].kind == "name" else ""


def paths(tokens: Sequence[Token]) -> list[Path]:
    """Read what follows MATCH.

    Raises:
        UnreadableError: It is of a form that no template needs.

    Example:
        >>> from kgdx.store.foreign.lexer import tokens
        >>> [[part.var for part in path] for path in paths(tokens("(d:Disease)-[r:HAS_SYMPTOM]->(x:Symptom)"))]
        [['d', 'r', 'x']]
    """
    reader = _Reader(tokens)
    found = [_path(reader)]
    while reader.take(","):
        found.append(_path(reader))
    if not reader.ended:
        raise UnreadableError(f"a pattern has {reader.peek()!r} at its end")
    return found


def _path(reader: _Reader) -> Path:
    parts: list[NodePattern | RelationPattern] = [_node(reader)]
    while reader.peek() in ("-", "<-"):
        parts += [_relation(reader), _node(reader)]
    return tuple(parts)


def _node(reader: _Reader) -> NodePattern:
    reader.expect("(")
    var = reader.name()
    kind = reader.name() if reader.take(":") else ""
    conditions: list[Condition] = []
    if reader.take("{"):
        while not reader.take("}"):
            property = reader.name()
            reader.expect(":")
            conditions.append((property, _value(reader)))
            reader.take(",")
    reader.expect(")")
    return NodePattern(var, kind, tuple(conditions))


def _value(reader: _Reader) -> tuple[Token, ...]:
    """What a property has to be: a parameter, or ``row.name``."""
    value = [reader.next()]
    while reader.peek() == ".":
        value += [reader.next(), reader.next()]
    if reader.peek() not in (",", "}"):
        raise UnreadableError(f"a condition has {reader.peek()!r} in it")
    return tuple(value)


def _relation(reader: _Reader) -> RelationPattern:
    left = reader.expect("-", "<-") == "<-"
    var, types, repeated = "", list[str](), list[Token]()
    if reader.take("["):
        var = reader.name()
        if reader.take(":"):
            types.append(reader.name())
            while reader.take("|"):
                reader.take(":")
                types.append(reader.name())
        while not reader.take("]"):
            token = reader.next()
            if not repeated and token.text != "*":
                raise UnreadableError(f"a relation has {token.text!r} in it")
            repeated.append(token)
    right = reader.expect("-", "->") == "->"
    if not types or (left and right):
        raise UnreadableError("a relation has no type, or two directions")
    return RelationPattern(var, tuple(types), left, right, tuple(repeated))
