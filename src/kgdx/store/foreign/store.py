"""A store over somebody's Neo4j database: kgdx's read templates in its names, and nothing that writes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NoReturn

import pyarrow as pa

from kgdx.config import Neo4jAccess
from kgdx.errors import StoreError, TemplateError
from kgdx.schema import Schema, load_schema
from kgdx.store.foreign.database import ForeignDatabase, missing
from kgdx.store.foreign.lexer import UnreadableError
from kgdx.store.foreign.mapping import ForeignMapping
from kgdx.store.foreign.rewrite import Rewritten, UnmappedError, rewrite
from kgdx.store.protocol import Closing, Delta, GraphTable, Row, Transaction
from kgdx.store.templates import Template, statement, template, templates

_IDS = ("id", "disease", "start", "end")
"""Columns that hold an id; a node without its key has none, and cannot be spoken of."""


class Translation:
    """Templates in the names of a mapping, each taken apart once."""

    def __init__(self, mapping: ForeignMapping, schema: Schema | None = None) -> None:
        self.mapping = mapping
        self.schema = schema or load_schema()
        self._known: dict[str, Rewritten | None] = {}

    def of(self, found: Template) -> Rewritten | None:
        """Return a template in their names; ``None`` where the mapping has nothing of what it asks for.

        Raises:
            TemplateError: It cannot be translated.
        """
        if found.name not in self._known:
            self._known[found.name] = self.text(found.text, found.name)
        return self._known[found.name]

    def text(self, text: str, name: str) -> Rewritten | None:
        """Return Cypher in their names; ``name`` is how messages call it."""
        try:
            return rewrite(text, self.mapping, self.schema)
        except UnmappedError:
            return None
        except UnreadableError as error:
            hint = "copy your data into a graph of kgdx's own for that: docs/how-to/own-source.md"
            raise TemplateError(f"{name} does not run on a mapped database ({error})", hint=hint) from None

    def all(self) -> dict[str, Rewritten]:
        """Return all read templates that ask for what the mapping has."""
        found: dict[str, Rewritten] = {}
        for name, each in templates("neo4j").items():
            try:
                translated = self.of(each) if each.kind == "read" else None
            except TemplateError:
                continue
            if translated is not None:
                found[name] = translated
        return found


class ForeignStore(Closing):
    """A database that others built, as a :class:`kgdx.store.protocol.Store` that only reads.

    What the mapping has nothing of has no rows, as in a graph without that source.
    """

    def __init__(self, database: ForeignDatabase, mapping: ForeignMapping) -> None:
        self.mapping = mapping
        self._database = database
        self._translation = Translation(mapping)

    @classmethod
    def connect(cls, access: Neo4jAccess, mapping: ForeignMapping) -> ForeignStore:
        """Open a database, and have its server read all that may be asked of it.

        Raises:
            StoreError: The server is down or refuses the user, or the database lacks what the mapping names.
        """
        store = cls(ForeignDatabase(access), mapping)
        try:
            store.verify()
        except BaseException:
            store.close()
            raise
        return store

    @property
    def url(self) -> str:
        """The Bolt address, without credentials."""
        return self._database.access.uri

    @property
    def read_only(self) -> bool:
        """Always true."""
        return True

    def verify(self) -> None:
        """Check the mapping's names against the database, and every template that it makes.

        Raises:
            StoreError: A label, type or property is not there.
            TemplateError: The server cannot read a template.
        """
        nodes, relations = self.mapping.nodes.values(), self.mapping.relations.values()
        missing([label for node in nodes for label in node.label], self._database.labels(), "label", self.url)
        types = [type for relation in relations for type in relation.type or ()]
        missing(types, self._database.types(), "relation type", self.url)
        stated = [each.properties for each in nodes] + [each.properties for each in relations]
        keys = [node.key for node in nodes]
        keys += [value for properties in stated for value in properties.values() if isinstance(value, str)]
        keys += [relation.list for relation in relations if relation.list is not None]
        missing(keys, self._database.keys(), "property", self.url)
        self._database.explain({name: found.text for name, found in self._translation.all().items()})

    def run(self, name: str, /, **parameters: Any) -> list[Row]:
        """Run a read template.

        Raises:
            TemplateError: Unknown template, parameters that do not fit its header, or one that cannot be translated.
            StoreError: The server failed.
        """
        found = template(name, "read", "neo4j")
        bound = found.bind(parameters)
        if name == "sources":
            return [self._source(found)]
        translated = self._translation.of(found)
        return [] if translated is None else self._rows(translated, bound)

    def answers(self, name: str) -> bool:
        """Whether the mapping has what a read template asks for."""
        return name in self._translation.all()

    def export_nodes(self, label: str, columns: Sequence[str]) -> pa.Table:
        """All nodes of one class: ``id`` and, of ``columns``, those that names are looked up by; others are absent."""
        rows = self._asked("names_of_class", label=label)
        once = {row["id"]: row for row in reversed(rows) if isinstance(row["id"], str)}
        known = self._translation.schema.node(label).properties
        made: dict[str, pa.Array] = {"id": pa.array(sorted(once), pa.string())}
        for column in columns:
            values = [once[id].get(column) for id in sorted(once)]
            if column == "source":
                values = [self.mapping.source] * len(values)
            if known[column].is_list if column in known else False:
                made[column] = pa.array([_texts(value) for value in values], pa.list_(pa.string()))
            elif column in known and known[column].type == "boolean":
                made[column] = pa.array([None] * len(values), pa.bool_())
            else:
                made[column] = pa.array([value if isinstance(value, str) else None for value in values], pa.string())
        return pa.table(made)

    def export_relations(self, type: str, start_label: str, end_label: str, columns: Sequence[str]) -> pa.Table:
        """All edges of one type between two classes: ``start``, ``end``, and ``relation`` where it is asked for."""
        rows = self._asked("ends_of_relation", type=type, start=start_label, end=end_label)
        names = ["start", "end", *columns]
        return pa.table({name: pa.array([row.get(name) for row in rows], pa.string()) for name in names})

    def counts(self) -> Mapping[str, int]:
        """Nodes per class and edges per type of ours, in their directions; only what is there."""
        schema = self._translation.schema
        found: dict[str, int] = {}
        for name in schema.nodes:
            found[name] = sum(row["n"] for row in self._asked("count_nodes", label=name))
        for relation, start, end in schema.edge_tables():
            rows = self._asked("count_between", type=relation.name, start=start, end=end)
            found[relation.name] = found.get(relation.name, 0) + sum(row["n"] for row in rows)
        return {name: n for name, n in found.items() if n}

    def fingerprint(self) -> str:
        """SHA-256 of the mapping and of how much the database holds of what it names; its content is not read."""
        counted: dict[str, int] = {}
        for node in self.mapping.nodes.values():
            for label in node.label:
                counted[f"({label})"] = self._database.ask("their_nodes", label=label, key=node.key)[0]["n"]
        for relation in self.mapping.relations.values():
            for type in relation.type or ():
                counted[f"[{type}]"] = self._database.ask("their_relations", type=type)[0]["n"]
        stated = json.dumps([self.mapping.digest, counted], ensure_ascii=False, sort_keys=True)
        return hashlib.sha256(stated.encode()).hexdigest()

    def write(self, name: str, /, **parameters: Any) -> NoReturn:
        """Refuse to write."""
        raise self._read_only(name)

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Refuse to write."""
        raise self._read_only("a transaction")

    def load(self, tables: Iterable[GraphTable]) -> NoReturn:
        """Refuse to write."""
        raise self._read_only("a load")

    def apply(self, delta: Delta) -> NoReturn:
        """Refuse to write."""
        raise self._read_only("a change")

    def tables(self) -> Iterator[GraphTable]:
        """Refuse to copy: a mapping says what stands for what, not what everything is."""
        hint = "load your data as a source of your own: docs/how-to/own-source.md"
        raise StoreError(f"the database at {self.url} is read through a mapping and cannot be copied whole", hint=hint)

    def close(self) -> None:
        """Close it; closing twice does nothing."""
        self._database.close()

    def _asked(self, name: str, /, **names: str) -> list[Row]:
        translated = self._translation.text(statement(name, self._translation.schema, **names), name)
        return [] if translated is None else self._rows(translated, {})

    def _rows(self, translated: Rewritten, bound: Mapping[str, Any]) -> list[Row]:
        rows = self._database.read(translated.text, {**bound, **translated.parameters})
        return [row for row in rows if all(row.get(column, "") is not None for column in _IDS)]

    def _source(self, found: Template) -> Row:
        stated = {"id": self.mapping.source, "licence": self.mapping.licence, "citation": self.mapping.citation}
        return {column: stated.get(column) for column in found.columns}

    def _read_only(self, what: str) -> StoreError:
        hint = "a database that is read through a mapping is never written; use a graph of kgdx's own"
        return StoreError(f"the database at {self.url} is open for reading only ({what})", hint=hint)


def _texts(value: Any) -> list[str]:
    """A list of texts, whatever stands for it."""
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, str)]
