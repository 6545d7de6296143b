"""Cypher as tokens and its MATCH patterns as data, as far as kgdx's own read templates need it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kgdx.errors import TemplateError

_TOKEN = re.compile(
    r"(?P<space>\s+|//[^\n]*)"
    r"|(?P<string>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<parameter>\$[A-Za-z_]\w*)"
    r"|(?P<name>[A-Za-z_]\w*|`[^`]*`)"
    r"|(?P<mark><=|>=|<>|=~|\.\.|<-|->|[-+*/%^=<>(){}\[\],.:|])"
)

_CLAUSES = ("MATCH", "WHERE", "WITH", "UNWIND", "RETURN", "ORDER", "LIMIT")
_FORBIDDEN = frozenset(
    {"CREATE", "MERGE", "SET", "DELETE", "DETACH", "REMOVE", "FOREACH", "LOAD", "CALL", "DROP", "USE", "SHOW"}
    | {"UNION", "OPTIONAL", "SKIP", "EXISTS"}
)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of Cypher: its kind (``string``, ``number``, ``parameter``, ``name``, ``mark``) and text."""

    kind: str
    text: str

    def is_word(self, word: str) -> bool:
        return self.kind == "name" and self.text.upper() == word


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause: its first keyword and what follows."""

    word: str
    tokens: tuple[Token, ...]


class UnreadableError(TemplateError):
    """A template that uses more of Cypher than is read here."""


def tokens(text: str) -> list[Token]:
    """Take a text apart; spaces and comments are left out."""
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise UnreadableError(f"Cypher with {text[at]!r} is not read")
        at = match.end()
        if match.lastgroup != "space":
            found.append(Token(str(match.lastgroup), match[0]))
    return found


def clauses(text: str) -> list[Clause]:
    """Take a query apart into its clauses."""
    out: list[Clause] = []
    word, pending, depth = "", list[Token](), 0
    for token in tokens(text):
        after_dot = bool(pending) and pending[-1].text == "."
        upper = token.text.upper() if token.kind == "name" and not after_dot else ""
        if upper in _FORBIDDEN:
            raise UnreadableError(f"Cypher with {upper} is not read")
        if depth == 0 and upper in _CLAUSES and not (upper == "WITH" and pending and pending[-1].is_word("STARTS")):
            out += [Clause(word, tuple(pending))] if word else []
            word, pending = upper, []
            continue
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
        pending.append(token)
    return [*out, Clause(word, tuple(pending))] if word else out


def written(parts: Sequence[Token]) -> str:
    """Put tokens together again."""
    out = ""
    before = Token("mark", "(")
    for token in parts:
        tight = token.text in (")", "]", "}", ",", ".", ":", "..") or before.text in ("(", "[", "{", ".", ":", "..")
        call = token.text in ("(", "[") and before.kind == "name" and not _keyword(before)
        out += token.text if tight or call else f" {token.text}"
        before = token
    return out.lstrip()


def _keyword(token: Token) -> bool:
    return token.text.upper() in (*_CLAUSES, "AND", "OR", "NOT", "IN", "BY", "DISTINCT", "WHEN", "THEN", "ELSE", "AS")


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
        return self.next().text if not self.ended and self.tokens[self.at].kind == "name" else ""


def paths(tokens: Sequence[Token]) -> list[Path]:
    """Read what follows MATCH."""
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
