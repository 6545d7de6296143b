"""Cypher as tokens, as far as kgdx's own read templates need it."""

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
    | {"UNION", "OPTIONAL", "SKIP", "EXISTS", "STARTNODE", "ENDNODE"}
)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of Cypher: its kind (``string``, ``number``, ``parameter``, ``name``, ``mark``) and text."""

    kind: str
    text: str

    def is_word(self, word: str) -> bool:
        """Whether it is a keyword."""
        return self.kind == "name" and self.text.upper() == word


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause: its first keyword and what follows."""

    word: str
    tokens: tuple[Token, ...]


class UnreadableError(TemplateError):
    """A template that uses more of Cypher than is read here."""


def tokens(text: str) -> list[Token]:
    """Take a text apart; spaces and comments are left out.

    Raises:
        UnreadableError: A character that no token begins with.

    Example:
        >>> [token.text for token in tokens("(d:Disease {id: $x})-[:`A B`]->() // end")]
        ['(', 'd', ':', 'Disease', '{', 'id', ':', '$x', '}', ')', '-', '[', ':', '`A B`', ']', '->', '(', ')']
    """
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
    """Take a query apart into its clauses.

    Raises:
        UnreadableError: It has a clause that is not read, such as one that writes.

    Example:
        >>> [clause.word for clause in clauses("MATCH (d) WHERE d.id = $x RETURN d.id AS id ORDER BY id")]
        ['MATCH', 'WHERE', 'RETURN', 'ORDER']
    """
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
    """Put tokens together again.

    Example:
        >>> written(tokens("WHERE size( x.names )>2"))
        'WHERE size(x.names) > 2'
    """
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
