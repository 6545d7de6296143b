"""A store over somebody's Neo4j database: kgdx's read templates in its names, and nothing that writes."""

from __future__ import annotations

import hashlib
import json
import re
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa

from kgdx.config import Neo4jAccess
from kgdx.errors import StoreError, TemplateError
from kgdx.graph.neo4j.bolt import bookmarks, connect, rows_of, session_of, silent, translated, within
from kgdx.graph.protocol import Closing, Delta, GraphTable, Row, T, Transaction, plain
from kgdx.graph.templates import Template, statement, template, templates, text_of
from kgdx.schema import Schema, load_schema
from kgdx_foreign.cypher_tokens import UnreadableError
from kgdx_foreign.database_mapping import ForeignMapping, read_mapping
from kgdx_foreign.template_rewrite import Rewritten, UnmappedError, quoted, rewrite

if TYPE_CHECKING:
    import neo4j

_IDS = ("id", "disease", "start", "end")
"""Columns that hold an id; a node without its key has none, and cannot be spoken of."""


class Translation:
    """Templates in the names of a mapping, each taken apart once."""

    def __init__(self, mapping: ForeignMapping, schema: Schema | None = None) -> None:
        self.mapping = mapping
        self.schema = schema or load_schema()
        self._known: dict[str, Rewritten | None] = {}

    def of(self, found: Template) -> Rewritten | None:
        """Return a template in their names; ``None`` where the mapping has nothing of what it asks for."""
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
        for name, each in templates("mapped").items():
            try:
                translated = self.of(each) if each.kind == "read" else None
            except TemplateError:
                continue
            if translated is not None:
                found[name] = translated
        return found


class ForeignDatabase(Closing):
    """A connection to a database of whatever shape; use it as a context manager, or close it."""

    def __init__(self, access: Neo4jAccess) -> None:
        self.access = access
        self._driver = connect(access)
        self._seen = bookmarks(access)

    def ask(self, name: str, /, **names: str) -> list[Row]:
        """Run one of the statements that take names as they are; they are quoted."""
        text = _PLACEHOLDER.sub(lambda match: quoted(names[match[1]]), text_of(name))
        return self.read(text, {})

    def read(self, text: str, parameters: Mapping[str, Any]) -> list[Row]:
        """Run Cypher in a read-only transaction, which the server holds it to."""
        with self._session() as session, translated(self.access):
            return session.execute_read(rows_of, text, parameters)

    def explain(self, texts: Mapping[str, str]) -> None:
        """Have the server plan statements without running them."""
        with self._session() as session, translated(self.access):
            for name, text in texts.items():
                if session.execute_read(_kind, text) != "r":
                    raise TemplateError(f"the template {name} would not only read", hint="check the mapping")

    def labels(self) -> list[str]:
        return [row["name"] for row in self.ask("their_labels")]

    def types(self) -> list[str]:
        return [row["name"] for row in self.ask("their_types")]

    def keys(self) -> list[str]:
        return [row["name"] for row in self.ask("their_keys")]

    def close(self) -> None:
        self._driver.close()

    def _session(self) -> AbstractContextManager[neo4j.Session]:
        return session_of(self._driver, self.access, self._seen)


class ForeignStore(Closing):
    """A database that others built, as a :class:`kgdx.graph.protocol.Store` that only reads.

    What the mapping has nothing of has no rows, as in a graph without that source.
    """

    def __init__(self, database: ForeignDatabase, mapping: ForeignMapping) -> None:
        self.mapping = mapping
        self._database = database
        self._translation = Translation(mapping)

    @classmethod
    def connect(cls, access: Neo4jAccess, mapping: ForeignMapping) -> ForeignStore:
        """Open a database, and have its server read all that may be asked of it."""
        store = cls(ForeignDatabase(access), mapping)
        try:
            store.verify()
        except BaseException:
            store.close()
            raise
        return store

    @property
    def url(self) -> str:
        return self._database.access.uri

    @property
    def read_only(self) -> bool:
        return True

    def verify(self) -> None:
        """Check the mapping's names against the database, and every template that it makes."""
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
        found = template(name, "read", "mapped")
        bound = found.bind(parameters)
        if name == "sources":
            return [self._source(found)]
        translated = self._translation.of(found)
        return [] if translated is None else self._rows(translated, bound)

    def answers(self, name: str) -> bool:
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
        for relation, start, end in ((each, *ends) for each in schema.relations.values() for ends in each.ends):
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
        raise self._read_only(name)

    def transact(self, work: Callable[[Transaction], T]) -> T:
        raise self._read_only("a transaction")

    def transaction(self) -> AbstractContextManager[Transaction]:
        raise self._read_only("a transaction")

    def load(self, tables: Iterable[GraphTable]) -> NoReturn:
        raise self._read_only("a load")

    def apply(self, delta: Delta) -> NoReturn:
        raise self._read_only("a change")

    def tables(self) -> Iterator[GraphTable]:
        """Refuse to copy: a mapping says what stands for what, not what everything is."""
        hint = "load your data as a source of your own: docs/how-to/own-source.md"
        raise StoreError(f"the database at {self.url} is read through a mapping and cannot be copied whole", hint=hint)

    def close(self) -> None:
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
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, str)]


# A Neo4j database as it is: its labels, types and properties, asked with quoted names in read-only transactions.


_PLACEHOLDER = re.compile(r"<(\w+)>")


def _kind(tx: neo4j.ManagedTransaction, text: str) -> str | None:
    return tx.run(f"EXPLAIN {text}").consume().query_type


def missing(wanted: Sequence[str], there: Sequence[str], what: str, uri: str) -> None:
    """Refuse names that a database does not have."""
    from kgdx.graph.templates import suggestion

    for name in wanted:
        if name not in there:
            hint = suggestion(name, dict.fromkeys(there)) or f"it has {', '.join(there[:20]) or 'none'}"
            raise StoreError(f"the database at {uri} has no {what} {name!r}", hint=hint)


# Read templates through a py2neo ``Graph``, for code that has one already.
#
# py2neo has ended as a project (its last version is 2021.2.4). That version still reads from Neo4j 5.26, so this
# adapter exists, but nothing else in kgdx uses it: :class:`kgdx.graph.neo4j.neo4j_store.Neo4jStore` is the main road.


class Py2neoReader:
    """Runs kgdx's read templates on somebody's py2neo ``Graph``.

    py2neo itself waits for ever for a server that is gone or silent; a query of ours waits ``seconds``.
    """

    def __init__(self, graph: Any, mapping: str | Path | None = None, *, seconds: float = 60.0) -> None:
        self._graph = graph
        self._seconds = seconds
        self._translation = None if mapping is None else Translation(read_mapping(Path(mapping)))

    def run(self, name: str, /, **parameters: Any) -> list[Row]:
        """Run a read template in a read-only transaction."""
        found = template(name, "read", "neo4j")
        text, bound = found.text, found.bind(parameters)
        if self._translation is not None:
            translated = self._translation.of(found)
            if translated is None:
                return []
            text, bound = translated.text, {**bound, **translated.parameters}
        try:
            return within(self._seconds, lambda: self._query(text, bound))
        except TimeoutError:
            self._graph.service.connector.close()  # what waits there stops trying again as fast as it can
            error = silent(self._graph.service.uri, self._seconds)
            raise StoreError(error.message, hint=f"{error.hint}; make a new py2neo.Graph, this one is closed") from None
        except Exception as error:
            if not type(error).__module__.startswith(("py2neo", "interchange")) and not isinstance(error, OSError):
                raise
            reason = " ".join(str(error).split())[:300]
            if "SyntaxError" in reason:
                raise TemplateError(f"Neo4j cannot read the template {name}: {reason}") from error
            raise StoreError(f"py2neo failed: {reason}", hint="check the server, or use Neo4jStore") from error

    def _query(self, text: str, bound: Mapping[str, Any]) -> list[Row]:
        socket.create_connection(self._graph.service.profile.address, self._seconds).close()
        return [{key: plain(value) for key, value in record.items()} for record in self._graph.query(text, bound)]
