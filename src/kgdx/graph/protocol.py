"""What every store can do. Two stores implement it: embedded ArcadeDB and Neo4j; one contract suite runs on both."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar, runtime_checkable

if TYPE_CHECKING:
    import pyarrow as pa

Row = dict[str, Any]
T = TypeVar("T")

USER = "user"
"""The source of the cases and runs that users saved after the build."""


@dataclass(frozen=True, slots=True)
class NodeTable:
    """Nodes of one class: column ``id`` (the key) and any of the class's properties."""

    label: str
    rows: pa.Table
    ends: ClassVar[None] = None

    @property
    def name(self) -> str:
        return self.label


@dataclass(frozen=True, slots=True)
class RelationTable:
    """Edges of one type between two classes: columns ``start`` and ``end`` (ids) and any of the type's properties."""

    type: str
    start_label: str
    end_label: str
    rows: pa.Table

    @property
    def name(self) -> str:
        return self.type

    @property
    def ends(self) -> tuple[str, str]:
        return self.start_label, self.end_label


GraphTable = NodeTable | RelationTable


@dataclass(frozen=True, slots=True)
class Delta:
    """The difference between two graphs, as tables.

    Attributes:
        removed: What goes. Of a node the ``id`` is enough, and its edges have to go too; of a relation ``start``,
            ``end`` and the properties that identify it (:attr:`kgdx.schema.model.Relation.identity`). Each row removes
            one edge.
        changed: Nodes whose properties change, whole rows: a property that a row lacks is removed. Edges stay.
    """

    removed: Sequence[GraphTable] = ()
    added: Sequence[GraphTable] = ()
    changed: Sequence[NodeTable] = ()

    @property
    def rows(self) -> int:
        return sum(table.rows.num_rows for table in (*self.removed, *self.added, *self.changed))

    def growth(self) -> dict[str, int]:
        """By how much each class and relation type that rows go from or come to grows; negative where it shrinks."""
        found: dict[str, int] = {}
        for tables, sign in ((self.removed, -1), (self.added, 1)):
            for table in tables:
                found[table.name] = found.get(table.name, 0) + sign * table.rows.num_rows
        return found


class Transaction(Protocol):
    """A running transaction: templates run in order; all of it is kept, or nothing."""

    def run(self, template: str, /, **parameters: Any) -> list[Row]: ...


@runtime_checkable
class Exports(Protocol):
    """What hands out whole columns of a graph: a store, or the tables of a build."""

    def export_nodes(self, label: str, columns: Sequence[str]) -> pa.Table:
        """All nodes of one class: ``id`` and ``columns``, sorted by id; absent values are null (lists: empty)."""
        ...

    def export_relations(self, type: str, start_label: str, end_label: str, columns: Sequence[str]) -> pa.Table:
        """All edges of one type between two classes: ``start``, ``end`` and ``columns``."""
        ...


class Store(Exports, Protocol):
    """A property graph that runs named Cypher templates.

    How one is opened is its class's own: ``ArcadeStore.open(path)``, ``Neo4jStore.connect(access)``, both
    read-only unless asked otherwise.

    Rows are plain Python: ``str``, ``int``, ``float``, ``bool``, ``None``, lists and dicts of these.
    """

    @property
    def url(self) -> str:
        """Path or Bolt URI, without credentials."""
        ...

    @property
    def read_only(self) -> bool:
        """Whether it was opened for reading alone."""
        ...

    def run(self, template: str, /, **parameters: Any) -> list[Row]:
        """Run a read template. Raises TemplateError (name, parameters) or StoreError."""
        ...

    def write(self, template: str, /, **parameters: Any) -> list[Row]:
        """Run one write template in a transaction of its own."""
        ...

    def transact(self, work: Callable[[Transaction], T]) -> T:
        """Run what ``work`` does with a transaction, all or nothing, and return what it returns.

        Where a server cannot serve it now, as when writers wait for each other, ``work`` is run again.
        """
        ...

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Several templates, all or nothing: leaving the block normally commits, an exception rolls back."""
        ...

    def load(self, tables: Iterable[GraphTable]) -> Mapping[str, int]:
        """Bulk load tables (nodes before the edges that need them); returns rows loaded per label and type.

        The ids are checked before; a row that the store refuses raises StoreError and names the table.
        """
        ...

    def apply(self, delta: Delta) -> None:
        """Turn the graph into another one: remove, add and change what the delta says, and count afterwards.

        An embedded store must be a private copy: one that is interrupted never opens as whole. Raises StoreError for a
        delta that was not made from this graph.
        """
        ...

    def tables(self) -> Iterator[GraphTable]:
        """The whole graph but the Build node, as tables with every property."""
        ...

    def counts(self) -> Mapping[str, int]:
        """Nodes per label and edges per type."""
        ...

    def fingerprint(self) -> str:
        """SHA-256 over the whole content, independent of order and of the store; equal content, equal value."""
        ...

    def close(self) -> None:
        """Let go of the store; closing twice is fine."""
        ...


class Closing(ABC):
    """What is closed at the end of a ``with`` block."""

    @abstractmethod
    def close(self) -> None:
        """Close it; closing twice does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# Rows as plain Python, equal from every store, and a digest of them.


_PLAIN = (str, int, float, bool, type(None))
_AS_IT_IS = frozenset({str, int, bool, type(None)})


def plain(value: Any) -> Any:
    """Return ``value`` made of ``str``, ``int``, ``float``, ``bool``, ``None``, lists and dicts only.

    Dates become ISO text, decimals numbers, sets sorted lists. A node or relationship becomes its properties without
    the absent ones, with ``label`` or ``type`` in front.

    Example:
        >>> from decimal import Decimal
        >>> plain({"n": Decimal("2"), "tags": {"b", "a"}})
        {'n': 2, 'tags': ['a', 'b']}
        >>> plain({"@rid": "#1:0", "@cat": "v", "@type": "Disease", "id": "OMIM:154700", "name_zh": None})
        {'label': 'Disease', 'id': 'OMIM:154700'}
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(v) for v in value), key=lambda v: (str(type(v)), str(v)))
    if isinstance(value, Mapping):
        return _record(value) if "@type" in value else {str(k): plain(v) for k, v in value.items()}
    return _foreign(value)


def _record(value: Mapping[str, Any]) -> dict[str, Any]:
    edge = value.get("@cat") == "e" or "@out" in value
    head = {"type" if edge else "label": value["@type"]}
    return head | {k: plain(v) for k, v in value.items() if not k.startswith("@") and v is not None}


def _foreign(value: Any) -> Any:
    if hasattr(value, "iso_format"):
        return value.iso_format()
    if hasattr(value, "labels") and hasattr(value, "items"):
        return {"label": next(iter(value.labels), "")} | {k: plain(v) for k, v in sorted(value.items())}
    if hasattr(value, "type") and hasattr(value, "items"):
        return {"type": value.type} | {k: plain(v) for k, v in sorted(value.items())}
    return str(value)


_encoded = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode


def digest(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return a short SHA-256 of rows, equal for equal rows in any order, on any store.

    Lists inside a row count as bags: stores collect them in no promised order. Floats count to nine digits.
    """
    texts = sorted(_encoded(_canonical(row)) for row in rows)
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def _canonical(value: Any) -> Any:
    if type(value) in _AS_IT_IS:
        return value
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, list | tuple):
        return sorted((_canonical(inner) for inner in value), key=_encoded)
    if isinstance(value, Mapping):  # most of a row is decided here, without a call for each value
        return {key: inner if type(inner) in _AS_IT_IS else _canonical(inner) for key, inner in value.items()}
    return value
