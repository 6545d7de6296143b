"""Reads which labels, relation types and properties a Cypher text uses, as far as kgdx's templates need it.

A stranger's Cypher may fool it; ours is plain, and `test_cypher_text.py` shows that mistakes in it are found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from kgdx.schema import Schema

_STRING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_NODE = re.compile(r"(?<!\w)\(\s*(?P<var>\w*)\s*(?::(?P<names>[\w|&]+))?\s*(?P<map>\{[^{}]*\})?\s*\)")
_EDGE = re.compile(
    r"(?P<left><)?-\s*(?:\[\s*(?P<var>\w*)\s*(?::(?P<names>[\w|:]+))?\s*(?:\*[\d.]*)?\s*(?P<map>\{[^{}]*\})?\s*\]\s*)?"
    r"-(?P<right>>)?"
)
_ACCESS = re.compile(r"(?<![\w$.])([A-Za-z_]\w*)\.([A-Za-z_]\w*)(?!\w*\()")
_ALIAS = re.compile(r"(?<![\w.)])([A-Za-z_]\w*)\s+AS\s+([A-Za-z_]\w*)")
_ROWS = re.compile(r"UNWIND\s+\$\w+\s+AS\s+(\w+)")
_MAP = re.compile(r"\{[^{}]*\}")
_KEY = re.compile(r"([A-Za-z_]\w*)\s*:")


@dataclass
class _Part:
    """One part of a UNION: what its variables stand for."""

    text: str
    nodes: dict[str, set[str]] = field(default_factory=dict)
    edges: dict[str, set[str]] = field(default_factory=dict)
    rows: set[str] = field(default_factory=set)


def faults(text: str, schema: Schema, fields: frozenset[str] = frozenset()) -> list[str]:
    """What a Cypher text uses that the ontology lacks."""
    plain = re.sub(r"//[^\n]*|:\s*<\w+>|\bCALL\s+[\w.]+|(?s:\bOPTIONS\s*\{.*)", "", _STRING.sub("''", text))
    found: list[str] = []
    for piece in re.split(r"\bUNION(?:\s+ALL)?\b", plain):
        found += _part_faults(_Part(piece), schema, fields)
    return found


def returned(text: str) -> list[list[str]]:
    """Names of the columns that each part of a UNION returns; a text that returns nothing gives an empty list.

    What a subquery returns is its own affair.
    """
    plain = _STRING.sub("''", text)
    while (start := plain.find("CALL {")) >= 0:
        plain = plain[:start] + plain[_closing(plain, plain.index("{", start)) + 1 :]
    out = []
    for piece in re.split(r"\bUNION(?:\s+ALL)?\b", plain):
        clause = re.split(r"\bRETURN\b(?:\s+DISTINCT\b)?", piece)[-1] if re.search(r"\bRETURN\b", piece) else ""
        items = _split(re.split(r"\bORDER\s+BY\b|\bSKIP\b|\bLIMIT\b", clause)[0])
        out.append([re.split(r"\bAS\b", item)[-1].strip() for item in items if item.strip()])
    return out


def _closing(text: str, opening: int) -> int:
    """Where the brace is that closes the one at ``opening``."""
    depth = 0
    for place in range(opening, len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if not depth:
            return place
    raise ValueError(f"no brace closes the one at {opening}")


def _split(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for i, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            yield text[start:i]
            start = i + 1
    yield text[start:]


def _names(match: re.Match[str]) -> set[str]:
    return set(re.split(r"[|&:]+", match["names"])) if match["names"] else set()


def _part_faults(part: _Part, schema: Schema, fields: frozenset[str]) -> Iterator[str]:
    nodes = list(_NODE.finditer(part.text))
    edges = [m for m in _EDGE.finditer(part.text) if _touches(part.text, m)]
    for match in nodes:
        part.nodes.setdefault(match["var"], set()).update(_names(match))
    for match in edges:
        part.edges.setdefault(match["var"] or "", set()).update(_names(match))
    part.rows |= set(_ROWS.findall(part.text))
    for old, new in _ALIAS.findall(part.text):
        for known in (part.nodes, part.edges):
            if old in known and new not in known:
                known[new] = known[old]
    yield from _unknown_names(nodes, edges, schema)
    yield from _unknown_keys(nodes, edges, part, schema)
    yield from _wrong_ends(nodes, edges, part, schema)
    yield from _unknown_properties(part, schema, fields)


def _touches(text: str, edge: re.Match[str]) -> bool:
    return text[: edge.start()].rstrip().endswith(")") and text[edge.end() :].lstrip().startswith("(")


def _unknown_names(nodes: list[re.Match[str]], edges: list[re.Match[str]], schema: Schema) -> Iterator[str]:
    for label in sorted({n for m in nodes for n in _names(m)} - schema.nodes.keys()):
        yield f"label {label}"
    for type_ in sorted({n for m in edges for n in _names(m)} - schema.relations.keys()):
        yield f"relation {type_}"


def _node_properties(labels: set[str], schema: Schema) -> set[str]:
    chosen = [schema.nodes[n] for n in (labels & schema.nodes.keys() or schema.nodes)]
    return {name for node in chosen for name in node.properties}


def _edge_properties(types: set[str], schema: Schema) -> set[str]:
    chosen = [schema.relations[n] for n in (types & schema.relations.keys() or schema.relations)]
    return {name for relation in chosen for name in relation.properties}


def _unknown_keys(nodes: list[re.Match[str]], edges: list[re.Match[str]], part: _Part, schema: Schema) -> Iterator[str]:
    for match in nodes:
        known = _node_properties(_names(match) or part.nodes[match["var"]], schema)
        yield from (f"property {key} in {match[0]}" for key in _KEY.findall(match["map"] or "") if key not in known)
    for match in edges:
        known = _edge_properties(_names(match), schema)
        yield from (f"property {key} in {match[0]}" for key in _KEY.findall(match["map"] or "") if key not in known)


def _wrong_ends(nodes: list[re.Match[str]], edges: list[re.Match[str]], part: _Part, schema: Schema) -> Iterator[str]:
    before = {m.end(): m for m in nodes}
    after = {m.start(): m for m in nodes}
    for edge in edges:
        left = before.get(len(part.text[: edge.start()].rstrip()))
        right = after.get(len(part.text) - len(part.text[edge.end() :].lstrip()))
        if left is None or right is None:
            continue
        ends = [part.nodes[m["var"]] if m["var"] else _names(m) for m in (left, right)]
        directions = [ends[::-1]] if edge["left"] else [ends] if edge["right"] else [ends, ends[::-1]]
        for type_ in _names(edge) & schema.relations.keys():
            pairs = schema.relations[type_].ends
            if not any(
                (not start or a in start) and (not end or b in end) for start, end in directions for a, b in pairs
            ):
                yield f"ends of {type_}: {left[0]}{edge[0]}{right[0]}"


def _unknown_properties(part: _Part, schema: Schema, fields: frozenset[str]) -> Iterator[str]:
    made = set(_KEY.findall(" ".join(_MAP.findall(part.text))))
    anything = _node_properties(set(), schema) | _edge_properties(set(), schema) | fields | made
    for var, name in sorted(set(_ACCESS.findall(part.text))):
        if var in part.rows:
            known = set(fields)
        elif var in part.nodes:
            known = _node_properties(part.nodes[var], schema)
        elif var in part.edges:
            known = _edge_properties(part.edges[var], schema)
        else:
            known = anything
        if name not in known:
            yield f"property {var}.{name}"
