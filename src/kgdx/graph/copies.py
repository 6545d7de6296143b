"""Copies of a whole graph between stores. Every copy ends with a comparison of counts and content.

Into a Neo4j that kgdx started itself a large graph goes by Neo4j's offline import, for which the server restarts; any
other copy goes in batches over Bolt.
The Build node is written last, after the comparison, so that an interrupted copy never opens as whole. What users
saved on a server alone is carried over into the graph that replaces theirs.
"""

from __future__ import annotations

import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgdx.config import Neo4jAccess, Settings, same_server
from kgdx.errors import StoreError
from kgdx.graph.neo4j import local_server
from kgdx.graph.neo4j.neo4j_store import Neo4jStore, ServerState
from kgdx.graph.neo4j.saved_rows import SavedRow, additions, keep_aside, saved_rows
from kgdx.graph.neo4j.stored_snapshot import prepare
from kgdx.graph.protocol import USER, GraphTable, NodeTable, RelationTable, Row, Store
from kgdx.graph.tables import (
    BOOKKEEPING,
    Digest,
    Part,
    columns_of,
    combine,
    conformed,
    digests,
    merged,
    ordered,
    title,
    told,
)
from kgdx.schema import load_schema

Progress = Callable[[str], None]

SESSIONS = 2
"""How many sessions write at once where the caller does not say."""

_OFFLINE_ROWS = 50_000  # fewer are over Bolt before the server has restarted
_AGAIN = "it counts as incomplete; copy it again with --force"
_SHOWN = 10  # rows without a place that a report names


@dataclass(frozen=True, slots=True)
class CopyReport:
    """What was copied; both graphs had these counts and this fingerprint afterwards.

    Attributes:
        method: ``offline import``, ``bolt``, ``embedded load``; ``unchanged`` where the same graph was there.
        counts: Nodes per class and relations per type, without the Build node.
        fingerprint: SHA-256 of the content that was read.
        compared: ``whole`` where all content was compared afterwards; ``sampled`` where large relations were compared
            by counts and samples (:func:`difference`).
        serial: Of a server, number of the last transaction when it was found equal; ``None`` where it does not tell.
        carried: Nodes per class and relations per type that users had saved there alone.
        left_out: What the source held and the copy has no place for.
        aside: What users had saved there and the graph has no place for: the server keeps it for a later copy.
    """

    source: str
    target: str
    method: str
    counts: Mapping[str, int]
    fingerprint: str
    seconds: float
    compared: str = "whole"
    serial: int | None = None
    saves: int = 0
    carried: Mapping[str, int] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """A graph's tables as someone kept them beside its store, each class and relation between two classes in one.

    Attributes:
        now: Those that may have changed since, as they are now; each takes the place of the one of its name.
    """

    built: Sequence[GraphTable]
    now: Sequence[GraphTable] = ()


@dataclass(frozen=True, slots=True)
class Content:
    """A whole graph in memory, ready to be written elsewhere."""

    tables: Sequence[GraphTable]
    build: Row
    counts: Mapping[str, int]
    parts: Mapping[Part, Digest]

    @property
    def fingerprint(self) -> str:
        return combine(self.parts)

    @classmethod
    def of(cls, source: Store) -> Content:
        """Read a store's whole content."""
        build = _build(source)
        tables = list(source.tables())
        parts = digests(tables)
        if _build(source) != build:
            raise StoreError(f"the graph at {source.url} was replaced while it was read", hint="run it again")
        without_saved = {part: digest for part, digest in parts.items() if part[1] != USER}
        if build["fingerprint"] not in (combine(parts), combine(without_saved)) and isinstance(source, Neo4jStore):
            build["fingerprint"] = combine(parts)  # somebody has changed what kgdx had copied there
        return cls(tables, build, counts(tables), parts)

    @classmethod
    def of_kept(cls, source: Store, kept: Kept) -> Content | None:
        """Return a store's content from tables that were kept beside it, which is much faster than to read the store.

        Returns:
            ``None`` unless the kept tables have the fingerprint that the store states of its build, and, with what
            changed since, as many rows of each class and type as the store.
        """
        build = _build(source)
        parts = digests(kept.built)
        if combine(parts) != build["fingerprint"]:
            return None
        changed = {title(table) for table in kept.now}
        now = [table for table in kept.now if table.rows.num_rows]
        tables = ordered([*(table for table in kept.built if title(table) not in changed), *now])
        parts = {part: digest for part, digest in parts.items() if part[0] not in changed} | digests(now)
        content = cls(tables, build, counts(tables), parts)
        return content if content.counts == _held(source) else None

    def joined(self, others: Sequence[GraphTable]) -> Content:
        tables = ordered(merged([*self.tables, *others]))
        return Content(tables, self.build, counts(tables), digests(tables)) if others else self

    def verify(self, target: Store) -> None:
        """Compare a store that was written with this content."""
        found = _held(target)
        for name in sorted(self.counts.keys() | found.keys()):
            has, wanted = found.get(name, 0), self.counts.get(name, 0)
            if has != wanted:
                raise StoreError(f"the copy at {target.url} has {has} {name}, not {wanted}", hint=_AGAIN)
        if isinstance(target, Neo4jStore):
            found_in = difference(self.tables, target, known=self.parts)
            if found_in is not None:
                raise StoreError(f"the copy at {target.url} differs in content: {found_in}", hint=_AGAIN)
        elif target.fingerprint() != self.fingerprint:
            raise StoreError(f"the copy at {target.url} differs in content", hint=_AGAIN)


def content_of(source: Store, kept: Kept | None, progress: Progress) -> Content:
    """Return a store's content: from the tables that were kept beside it, or else read from the store."""
    progress("Reading the graph")
    content = None if kept is None else Content.of_kept(source, kept)
    if content is not None:
        return content
    if kept is not None:
        progress("Reading the store, which holds other things than the files of its build")
    return Content.of(source)


def _build(source: Store) -> Row:
    built = source.run("build")
    if len(built) != 1 or not built[0]["fingerprint"]:
        raise StoreError(f"{source.url} holds no finished graph", hint="build one with `kgdx build`")
    return {name: value for name, value in built[0].items() if name != "id"}


def _held(store: Store) -> dict[str, int]:
    return {name: n for name, n in store.counts().items() if name not in BOOKKEEPING}


def counts(tables: Iterable[GraphTable]) -> dict[str, int]:
    """Rows per class and per relation type."""
    found: Counter[str] = Counter()
    for table in tables:
        found[table.name] += table.rows.num_rows
    return {name: n for name, n in found.items() if n}


def push(
    source: Store,
    settings: Settings,
    access: Neo4jAccess,
    *,
    kept: Kept | None = None,
    force: bool = False,
    keep_saved: bool = True,
    sessions: int = SESSIONS,
    progress: Progress = lambda _message: None,
) -> CopyReport:
    """Copy a graph with a finished build into a Neo4j database: an empty one, unless ``force`` replaces what is there.

    Where its tables were ``kept`` beside it, the store is read only if it holds other things. Over Bolt so many
    ``sessions`` write at once.
    """
    content = content_of(source, kept, progress)
    how: dict[str, Any] = {"force": force, "keep_saved": keep_saved, "sessions": sessions, "progress": progress}
    return write(content, source.url, settings, access, **how)


def write(
    content: Content,
    source: str,
    settings: Settings,
    access: Neo4jAccess,
    *,
    force: bool = False,
    keep_saved: bool = True,
    sessions: int = SESSIONS,
    progress: Progress = lambda _message: None,
) -> CopyReport:
    """Write a graph in memory, which is of the place ``source``, into a Neo4j database; else as :func:`push`.

    What users saved there alone is carried over, unless ``keep_saved`` says otherwise.
    """
    started = time.monotonic()
    with Neo4jStore.unchecked(access) as target:
        empty = target.is_empty()
        saved = _saved_there(target, content) if keep_saved and not empty else []
        carried, left = additions(saved, content.tables, load_schema())
        content = content.joined(carried)
        state = None if empty or force else _same_state(target, content)
        if not (empty or force or state):
            hint = "replace it with `kgdx push --force`, which carries over what users saved there"
            raise StoreError(f"the database at {access.uri} holds something else", hint=hint)
        if state is None and not empty:
            keep_aside(target, saved)
    if state is not None:
        how = ("unchanged", state.serial, state.saves)
    else:
        if carried:
            listed = ", ".join(f"{n} {name}" for name, n in counts(carried).items())
            progress(f"Carrying over what users saved there: {listed}")
        how = _written(content, settings, access, left, sessions, progress)
    seconds = round(time.monotonic() - started, 2)
    compared = "sampled" if sampled(content.tables) else "whole"
    method, serial, saves = how
    about = (source, access.uri, method, content.counts, content.fingerprint, seconds)
    aside = tuple(map(str, left[:_SHOWN])) + ((f"… {len(left) - _SHOWN} more",) if len(left) > _SHOWN else ())
    return CopyReport(*about, compared, serial, saves, carried=counts(carried), aside=aside)


def _saved_there(target: Neo4jStore, content: Content) -> list[SavedRow]:
    built = target.run("build")
    try:  # what models expect rests on embeddings of one graph
        same = bool(built) and built[0]["fingerprint"] == content.build["fingerprint"]
        return saved_rows(target, predictions=same)
    except StoreError as error:
        hint = "to copy without it, use `kgdx push --force --discard-saved`; nothing was changed"
        raise StoreError(f"what users saved at {target.url} cannot be read ({error.message})", hint=hint) from error


def _written(
    content: Content,
    settings: Settings,
    access: Neo4jAccess,
    aside: Sequence[SavedRow],
    sessions: int,
    progress: Progress,
) -> tuple[str, int | None, int]:
    """Replace what a database holds; returns how, its last transaction, and the number of saves counted then."""
    running = local_server.status(settings)
    ours = running is not None and running.kind == "java" and same_server(running.bolt, access.uri)
    large = sum(content.counts.values()) >= _OFFLINE_ROWS
    if running is not None and ours and large and access.database in (None, "neo4j"):
        from kgdx.graph.neo4j.import_files import delimiter, import_offline

        if (between := delimiter(content.tables)) is not None:
            import_offline(settings, running, content.tables, between, progress)
            with Neo4jStore.unchecked(access) as target:
                keep_aside(target, aside)
                target.define()
                return "offline import", _finish(target, content, progress), 0
    with Neo4jStore.create(access, clear=True, sessions=sessions) as target, target.incomplete():
        target.load(told(content.tables, progress))
        keep_aside(target, aside)
        return "bolt", _finish(target, content, progress), 0


def _same_state(target: Neo4jStore, content: Content) -> ServerState | None:
    """How a server stood before it was found to hold the content already; ``None`` where it does not."""
    built = target.run("build")
    if not built or built[0]["fingerprint"] != content.build["fingerprint"] or _held(target) != content.counts:
        return None
    prepare(target)
    state = target.state()
    return state if difference(content.tables, target, known=content.parts) is None else None


def _finish(target: Neo4jStore, content: Content, progress: Progress) -> int | None:
    """Compare both graphs, and let the copy count as whole; returns the number of the transaction that does it."""
    progress("Comparing both graphs")
    before = target.serial()
    content.verify(target)
    if target.serial() != before:
        raise StoreError(f"somebody else wrote into {target.url} while it was compared", hint=_AGAIN)
    target.write("set_build", **content.build)
    return None if before is None else before + 1


WHOLE_ROWS = 100_000
"""Relations with more edges than this, between two classes, are compared by samples."""

SAMPLE_ROWS = 20_000
"""About how many edges of such a relation are compared one by one."""

_SEED = 20_031  # the same sample each time, so that a difference shows again


def difference(
    tables: Sequence[GraphTable],
    target: Neo4jStore,
    *,
    known: Mapping[Part, Digest] | None = None,
    whole_rows: int = WHOLE_ROWS,
) -> str | None:
    """Return what differs between tables and the server's graph; ``None`` when nothing that was compared does.

    Relations of up to ``whole_rows`` edges are compared whole.
    """
    stated: defaultdict[str, dict[Part, Digest]] = defaultdict(dict)
    for part, digest in (known or {}).items():
        stated[part[0]][part] = digest

    def differs(table: GraphTable) -> bool:
        if isinstance(table, RelationTable) and table.rows.num_rows > whole_rows:
            return not _alike(table, target)
        return digests([_there(table, target)]) != (stated[title(table)] or digests([table]))

    compared = [table for table in tables if title(table) not in BOOKKEEPING]
    with ThreadPoolExecutor(2) as pool:  # the server reads one table while another one is digested
        found = zip(compared, pool.map(differs, compared), strict=True)
        return next((title(table) for table, other in found if other), None)


def sampled(tables: Iterable[GraphTable]) -> bool:
    return any(isinstance(table, RelationTable) and table.rows.num_rows > WHOLE_ROWS for table in tables)


def _there(table: GraphTable, target: Neo4jStore) -> GraphTable:
    columns = _properties(table)
    if isinstance(table, NodeTable):
        return replace(table, rows=target.export_nodes(table.label, columns))
    ends = table.start_label, table.end_label
    return replace(table, rows=target.export_relations(table.type, *ends, columns))


def _properties(table: GraphTable) -> list[str]:
    return [name for name in columns_of(table, load_schema()) if name not in ("id", "start", "end")]


def _alike(stated: RelationTable, target: Neo4jStore) -> bool:
    columns = _properties(stated)
    table = replace(stated, rows=conformed(stated, load_schema()))
    found = {row["source"]: (row["n"], row["present"]) for row in target.summarise(table, columns)}
    if found != _summary(table.rows):
        return False
    starts = _drawn(table.rows.column("start"))
    mine = table.rows.filter(pc.is_in(table.rows.column("start"), value_set=pa.array(starts, pa.string())))
    theirs = target.export_relations_of(table, starts, columns)
    return digests([replace(table, rows=mine)]) == digests([replace(table, rows=theirs)])


def _summary(rows: pa.Table) -> dict[str, tuple[int, int]]:
    present = np.zeros(rows.num_rows, dtype=np.int64)
    for name in rows.column_names[2:]:
        column = rows.column(name)
        there = pc.is_valid(column)
        if pa.types.is_list(column.type):
            there = pc.greater(pc.fill_null(pc.list_value_length(column), 0), 0)
        present += there.to_numpy()
    grouped = pa.table({"source": rows.column("source"), "present": present}).group_by("source")
    totals = grouped.aggregate([("present", "count"), ("present", "sum")]).to_pylist()
    return {row["source"]: (row["present_count"], row["present_sum"]) for row in totals}


def _drawn(starts: pa.ChunkedArray) -> list[str]:
    """Some start nodes, drawn at random, that have about :data:`SAMPLE_ROWS` edges together."""
    degrees = sorted((row["values"], row["counts"]) for row in pc.value_counts(starts.combine_chunks()).to_pylist())
    random.Random(_SEED).shuffle(degrees)
    drawn: list[str] = []
    edges = 0
    for id_, degree in degrees:
        if not drawn or edges + degree <= SAMPLE_ROWS:
            drawn.append(id_)
            edges += degree
    return drawn
