"""A read template in the names of somebody's database: taken apart into tokens, and put together with quoted names.

Of the mapping, only quoted names get into the text; every value goes in as a parameter. What is rewritten is understood
to the last token, and anything else is refused: nothing is replaced within text that was not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kgdx.schema import Schema
from kgdx_foreign.cypher_tokens import (
    Clause,
    NodePattern,
    Path,
    RelationPattern,
    Token,
    UnreadableError,
    clauses,
    paths,
    tokens,
    written,
)
from kgdx_foreign.database_mapping import Constant, ForeignMapping

_WHOLE = frozenset(
    {"labels", "keys", "properties", "nodes", "relationships", "startnode", "endnode", "elementid", "id"}
)
"""Functions that tell of a node what a mapping does not translate."""


class UnmappedError(Exception):
    """The database has nothing of a class or relation that a template asks for."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A template for one database."""

    text: str
    parameters: Mapping[str, str]


def quoted(name: str) -> str:
    """Return a name as Cypher quotes it."""
    return "`" + name.replace("`", "``") + "`"


def rewrite(text: str, mapping: ForeignMapping, schema: Schema) -> Rewritten:
    """Return a template's text in the names of the mapping."""
    return _Rewriter(mapping, schema).query(clauses(text))


@dataclass(slots=True)
class _Rewriter:
    mapping: ForeignMapping
    schema: Schema
    nodes: dict[str, str] = field(default_factory=dict)
    """Variable of a node that is there → class."""
    relations: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Variable of a relation that is there → its types that are mapped."""
    made: set[str] = field(default_factory=set)
    """Variables of what is made of a list: maps with our names."""
    values: dict[str, str] = field(default_factory=dict)
    """Parameters of our own."""

    def query(self, parts: list[Clause]) -> Rewritten:
        lines: list[str] = []
        matched = False
        place = 0
        while place < len(parts):
            part = parts[place]
            place += 1
            if part.word == "MATCH":
                condition = parts[place] if place < len(parts) and parts[place].word == "WHERE" else None
                place += condition is not None
                lines += self._match(part, condition)
                matched = True
                continue
            self._check(part)
            body = written(self._expressions(part.tokens))
            if part.word in ("WITH", "RETURN") and matched and not part.tokens[0].is_word("DISTINCT"):
                following = parts[place] if place < len(parts) and parts[place].word == "ORDER" else None
                if following is None or not self._touches(following.tokens, {*self.nodes, *self.relations}):
                    body = f"DISTINCT {body}"
                matched = False
            lines.append(f"{part.word} {body}")
        return Rewritten("\n".join(lines), dict(self.values))

    def _match(self, part: Clause, condition: Clause | None) -> list[str]:
        found = paths(part.tokens)
        self._declare(found)
        listed = [path for path in found if any(not self._is_there(node) for node in _nodes_of(path))]
        if listed:
            if len(found) > 1:
                raise UnreadableError("several patterns, one of them of a list")
            return self._listed(found[0], condition)
        lines = [f"MATCH {', '.join(self._path(path) for path in found)}"]
        return lines + ([] if condition is None else [f"WHERE {written(self._expressions(condition.tokens))}"])

    def _declare(self, found: Iterable[Path]) -> None:
        for path in found:
            for part in path:
                if isinstance(part, NodePattern):
                    kind = part.kind or self.nodes.get(part.var, "")
                    if not kind:
                        raise UnreadableError("a node without a class")
                    if self.nodes.get(part.var, kind) != kind or part.var in self.made:
                        raise UnreadableError(f"the variable {part.var} for two things")
                    if part.var and kind in self.mapping.nodes:
                        self.nodes[part.var] = kind
                elif part.var:
                    self.relations[part.var] = tuple(name for name in part.types if name in self.mapping.relations)

    def _is_there(self, node: NodePattern) -> bool:
        kind = node.kind or self.nodes.get(node.var, "")
        if kind in self.mapping.nodes:
            return True
        if any(True for _ in self.mapping.listed(kind, self.schema)):
            return False
        raise UnmappedError(kind)

    # --- what is there -----------------------------------------------------------------------------------------------

    def _path(self, path: Path) -> str:
        out = ""
        for place, part in enumerate(path):
            if isinstance(part, NodePattern):
                out += self._node(part)
            else:
                before, after = path[place - 1], path[place + 1]
                assert isinstance(before, NodePattern) and isinstance(after, NodePattern)
                out += self._relation(part, self._kind(before) != self._kind(after))
        return out

    def _kind(self, node: NodePattern) -> str:
        return node.kind or self.nodes[node.var]

    def _node(self, node: NodePattern) -> str:
        label = ":" + "|".join(quoted(name) for name in self.mapping.nodes[node.kind].label) if node.kind else ""
        conditions = []
        for property, value in node.conditions:
            theirs = self.mapping.property_of(self._kind(node), property)
            if not isinstance(theirs, str):
                raise UnmappedError(f"{self._kind(node)}.{property}")
            conditions.append(f"{quoted(theirs)}: {written(self._expressions(value))}")
        condition = f" {{{', '.join(conditions)}}}" if conditions else ""
        return f"({node.var}{label}{condition})"

    def _relation(self, relation: RelationPattern, told_apart: bool) -> str:
        """A relation in their names; where their types point to different sides, the classes of its ends tell which."""
        ours = [name for name in relation.types if name in self.mapping.relations]
        if not ours:
            raise UnmappedError("|".join(relation.types))
        typed = [self.mapping.relations[name] for name in ours]
        if any(each.type is None for each in typed):
            raise UnreadableError("relations of types and of lists in one pattern")
        types = "|".join(dict.fromkeys(quoted(name) for each in typed for name in each.type or ()))
        left, right = relation.left, relation.right
        turned = {each.reversed for each in typed}
        if (left or right) and len(turned) > 1:
            if not told_apart:
                raise UnreadableError("types that point to different sides, between nodes of one class")
            left = right = False
        elif turned == {True}:
            left, right = right, left
        repeated = "".join(token.text for token in relation.repeated)
        return f"{'<' if left else ''}-[{relation.var}:{types}{repeated}]-{'>' if right else ''}"

    # --- lists on nodes ----------------------------------------------------------------------------------------------

    def _listed(self, path: Path, condition: Clause | None) -> list[str]:
        """What a list names, as if it were nodes: maps with our names, made of the items of the list."""
        owner, relation, item = self._parts_of_list(path)
        holder = next(
            (found for found in self.mapping.listed(item.kind, self.schema) if self._fits(found, relation, owner)), None
        )
        if holder is None:
            raise UnmappedError("|".join(relation.types) if relation else item.kind)
        name, kind, property = holder
        there = owner or NodePattern("kgdx_owner", kind)
        self.nodes[there.var] = kind
        self.made |= {item.var, relation.var} - {""} if relation else {item.var} - {""}
        self.relations.pop(relation.var if relation else "", None)
        early = condition is not None and not self._touches(condition.tokens, self.made)
        where = [] if condition is None else [f"WHERE {written(self._expressions(condition.tokens))}"]
        limits = [f"kgdx_item = {written(self._expressions(value))}" for key, value in item.conditions if key in _KEYS]
        if len(limits) < len(item.conditions):
            raise UnmappedError(f"a condition on {item.kind}")
        shown = [f"{self._item(item.kind)} AS {item.var}"] if item.var else []
        shown += [f"{self._edge(name)} AS {relation.var}"] if relation and relation.var else []
        carried = "*" if owner else "kgdx_item"
        return [
            f"MATCH {self._node(there)}",
            *(where if early else []),
            f"UNWIND coalesce({there.var}.{quoted(property)}, []) AS kgdx_item",
            f"WITH DISTINCT {carried}" + (f" WHERE {' AND '.join(limits)}" if limits else ""),
            f"WITH {', '.join(['*', *shown])}",
            *([] if early else where),
        ]

    def _parts_of_list(self, path: Path) -> tuple[NodePattern | None, RelationPattern | None, NodePattern]:
        ends = _nodes_of(path)
        items = [node for node in ends if not self._is_there(node)]
        if len(ends) > 2 or len(items) != 1 or items[0].var in self.nodes:
            raise UnreadableError("a longer path over a list")
        if len(ends) == 1:
            return None, None, items[0]
        relation = path[1]
        assert isinstance(relation, RelationPattern)
        owner = next(node for node in ends if node is not items[0])
        if relation.repeated or not owner.var:
            raise UnreadableError("a repeated relation over a list")
        return owner, relation, items[0]

    def _fits(self, holder: tuple[str, str, str], relation: RelationPattern | None, owner: NodePattern | None) -> bool:
        return relation is None or (
            holder[0] in relation.types and owner is not None and self._kind(owner) == holder[1]
        )

    def _item(self, kind: str) -> str:
        pairs = ["id: kgdx_item", "name: kgdx_item"]
        for property in self.schema.nodes[kind].properties:
            if property not in _KEYS:
                stated = {"language": self.mapping.language, "source": self.mapping.source}.get(property)
                pairs.append(f"{property}: {'null' if stated is None else self._value(stated)}")
        return f"{{{', '.join(pairs)}}}"

    def _edge(self, name: str) -> str:
        """What joins a node to an item of its list, as a map with the properties of our relation."""
        source = self._value(self.mapping.source)
        known = self.schema.relations[name].properties
        pairs = [f"{key}: {source if key == 'source' else 'null'}" for key in known]
        return f"{{{', '.join(pairs)}}}"

    # --- expressions -------------------------------------------------------------------------------------------------

    def _expressions(self, given: Iterable[Token]) -> list[Token]:
        parts = list(given)
        out: list[Token] = []
        place = 0
        while place < len(parts):
            token = parts[place]
            after = parts[place + 1].text if place + 1 < len(parts) else ""
            bound = token.kind == "name" and (not out or out[-1].text != ".")
            if bound and after == "." and token.text in {*self.nodes, *self.relations}:
                out += self._property(token, parts[place + 2].text)
                place += 3
            elif bound and after == "(" and token.text.lower() == "type":
                out += self._type(parts[place + 2].text)
                place += 4
            elif bound and after in ("(", "{") and self._tells_all(parts, place):
                raise UnreadableError(f"{token.text} of a node")
            else:
                out.append(token)
                place += 1
        return out

    def _tells_all(self, parts: list[Token], place: int) -> bool:
        token, inner = parts[place], parts[place + 2].text if place + 2 < len(parts) else ""
        if parts[place + 1].text == "{":
            return token.text in {*self.nodes, *self.relations}
        return token.text.lower() in _WHOLE and inner in {*self.nodes, *self.relations, *self.made}

    def _property(self, variable: Token, property: str) -> list[Token]:
        kind = self.nodes.get(variable.text)
        if kind is not None:
            found = self.mapping.property_of(kind, property)
        else:
            stated = [self.mapping.property_of_relation(name, property) for name in self.relations[variable.text]]
            found = stated[0] if stated else None
            if any(each != found for each in stated):
                raise UnreadableError(f"{property} of relations that have it under different names")
        if found is None:
            return [Token("name", "null")]
        if isinstance(found, Constant):
            return [Token("parameter", self._value(found.value))]
        return [variable, Token("mark", "."), Token("name", quoted(found))]

    def _type(self, variable: str) -> list[Token]:
        if variable not in self.relations:
            raise UnreadableError(f"the type of {variable}, which is of no relation or of a list")
        text = f"CASE type({variable})"
        for name in self.relations[variable]:
            for theirs in self.mapping.relations[name].type or ():
                text += f" WHEN {self._value(theirs)} THEN {self._value(name)}"
        return tokens(f"{text} END")

    def _value(self, value: str) -> str:
        for name, known in self.values.items():
            if known == value:
                return f"${name}"
        name = f"kgdx_{len(self.values)}"
        self.values[name] = value
        return f"${name}"

    def _check(self, part: Clause) -> None:
        variables = {*self.nodes, *self.relations, *self.made}
        collected = {
            parts[-1].text
            for parts in _items(part.tokens)
            if len(parts) > 2 and parts[-2].is_word("AS") and parts[0].is_word("COLLECT")
        }
        for parts in _items(part.tokens):
            if part.word == "RETURN" and len(parts) < 3 and parts[-1].text in variables - self.made:
                raise UnreadableError("a whole node is returned")
            if part.word == "RETURN" and parts[-1].text in collected:
                raise UnreadableError("whole nodes are returned")
            if len(parts) > 2 and parts[-2].is_word("AS") and parts[-1].text in variables and part.word == "WITH":
                raise UnreadableError(f"the variable {parts[-1].text} for two things")

    @staticmethod
    def _touches(parts: Iterable[Token], variables: set[str]) -> bool:
        return any(token.kind == "name" and token.text in variables for token in parts)


_KEYS = ("id", "name")


def _nodes_of(path: Path) -> list[NodePattern]:
    return [part for part in path if isinstance(part, NodePattern)]


def _items(parts: Iterable[Token]) -> list[list[Token]]:
    out: list[list[Token]] = [[]]
    depth = 0
    for token in parts:
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
        if token.text == "," and depth == 0:
            out.append([])
        else:
            out[-1].append(token)
    return [part for part in out if part]
