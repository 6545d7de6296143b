"""Where an open graph lives: in a folder, on a Neo4j server, or in a database that others built."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from kgdx.errors import AbsentError, StoreError

if TYPE_CHECKING:
    from kgdx.config import Settings
    from kgdx.graph.protocol import GraphTable, Row, Store
    from kgdx.graph.snapshot import Snapshot
    from kgdx.ingest.pipeline.graph_folder import BuildFolder
    from kgdx.terms.names.name_index import NameIndex

Tell = Callable[[str], None]
"""Told in words what takes long."""

KEPT_SNAPSHOTS = 3
"""How many snapshots of servers' graphs are kept on this machine."""

UNFINISHED_S = 86_400.0
"""A compilation that has not changed its folder for so long was interrupted."""


class GraphSource(Protocol):
    """Where a graph lives, and how it is opened there."""

    url: str

    @property
    def build(self) -> str:
        """Which build is held; empty where nothing is."""
        ...

    def hold(self) -> None:
        """Keep writers out."""
        ...

    def release(self) -> None:
        """Let writers in."""
        ...

    def replaced(self, store: Callable[[], Store], fingerprint: Callable[[], str]) -> bool:
        """Whether another graph is there than the one that was opened."""
        ...

    def store(self) -> Store:
        """Open the store, read-only."""
        ...

    def snapshot(self, store: Callable[[], Store], tell: Tell) -> Snapshot:
        """Open the compiled snapshot, making it first where there is none yet."""
        ...

    def writing(self) -> AbstractContextManager[Store]:
        """Give the store for writing, alone."""
        ...


class FolderSource:
    """An embedded graph in a folder; held for reading as long as it is open."""

    def __init__(self, settings: Settings) -> None:
        from kgdx.ingest.pipeline.graph_folder import GraphFolder

        self.url = str(settings.graph_folder)
        self._folder = GraphFolder(settings.graph_folder)
        self._held = ExitStack()
        weakref.finalize(self, self._held.close)  # also where nobody closes it: before the interpreter ends, not during
        self._build: BuildFolder | None = None
        self._save_wait = settings.save_wait

    @property
    def build(self) -> str:
        """Which build is held."""
        return self._current().id

    def hold(self) -> None:
        """Read from the build that is there now, which no writer removes meanwhile; it has to be what was built."""
        from kgdx.ingest.pipeline.build_files import check
        from kgdx.ingest.pipeline.graph_folder import WAIT_S

        build = self._held.enter_context(self._folder.reading(max(WAIT_S, self._save_wait)))
        try:
            check(build.path)
        except StoreError:
            self._held.close()
            raise
        self._build = build

    def release(self) -> None:
        """Let writers in."""
        self._build = None
        self._held.close()

    def replaced(self, store: Callable[[], Store], fingerprint: Callable[[], str]) -> bool:
        """Whether another build has been put in its place."""
        return self._folder.current() != self._build

    def store(self) -> Store:
        """Open the store, which has to be of the snapshot's graph."""
        from kgdx.graph.arcade.embedded import ArcadeStore
        from kgdx.graph.snapshot import Snapshot

        build = self._current()
        store = ArcadeStore.open(build.store, read_only=True)
        try:
            found = store.run("build")
            Snapshot.open(build.snapshot, found[0]["fingerprint"] if found else None)
        except BaseException:
            store.close()
            raise
        return store

    def snapshot(self, store: Callable[[], Store], tell: Tell) -> Snapshot:
        """Open the snapshot that the build made."""
        from kgdx.graph.snapshot import Snapshot

        return Snapshot.open(self._current().snapshot, tell=tell)

    @contextmanager
    def writing(self) -> Iterator[Store]:
        """Give the store for writing, alone."""
        from kgdx.graph.arcade.embedded import ArcadeStore

        with self._folder.writing(self._save_wait) as build:
            store = ArcadeStore.open(build.store, read_only=False)
            try:
                yield store
            finally:
                store.close()

    def _current(self) -> BuildFolder:
        if self._build is None:
            raise StoreError(f"the graph at {self.url} is closed", hint="open it again with `kgdx.open()`")
        return self._build


class ServerSource:
    """A graph on a Neo4j server; its snapshot is kept on this machine, one folder for each fingerprint.

    The :data:`KEPT_SNAPSHOTS` that were used last are kept, whichever server they belong to.
    """

    def __init__(self, settings: Settings) -> None:
        self._access = settings.neo4j()
        self.url = self._access.uri
        self.build = ""
        self._snapshots = snapshots_of(settings.home)

    def hold(self) -> None:
        """Nothing to hold: the server keeps readers and writers apart."""

    def release(self) -> None:
        """Nothing to release."""

    def replaced(self, store: Callable[[], Store], fingerprint: Callable[[], str]) -> bool:
        """Whether the server holds another graph now."""
        found = store().run("build")
        return not found or found[0]["fingerprint"] != fingerprint()

    def store(self) -> Store:
        """Connect, for reading."""
        from kgdx.graph.neo4j.neo4j_store import Neo4jStore

        return Neo4jStore.connect(self._access, read_only=True)

    def snapshot(self, store: Callable[[], Store], tell: Tell) -> Snapshot:
        """Open the snapshot of the server's graph; compile it first where this machine has none yet.

        Raises:
            StoreError: There is no finished graph, or the snapshot cannot be written.
        """
        from kgdx.graph.snapshot import Snapshot
        from kgdx.graph.snapshot_compile import compile_snapshot, snapshot_tables

        found = store().run("build")
        if not found or not found[0]["fingerprint"]:
            raise StoreError(f"no finished graph at {self.url}", hint="copy one there with `kgdx push`")
        fingerprint = found[0]["fingerprint"]
        path = self._snapshots / fingerprint
        if not path.exists():
            tell("compiling a snapshot of the server's graph, once")
            try:
                compile_snapshot(snapshot_tables(store()), path, fingerprint)
            except StoreError:
                if not path.exists():  # otherwise another process was first, and its snapshot is as good
                    raise
        with suppress(OSError):  # another process prunes too, or the folder is for reading only: as good
            os.utime(path)
            prune_snapshots(self._snapshots, path)
        return Snapshot.open(path, fingerprint, tell)

    @contextmanager
    def writing(self) -> Iterator[Store]:
        """Connect, for writing."""
        from kgdx.graph.neo4j.neo4j_store import Neo4jStore

        store = Neo4jStore.connect(self._access, read_only=False)
        try:
            yield store
        finally:
            store.close()


def snapshots_of(home: Path) -> Path:
    """Return the folder of the snapshots of servers' graphs."""
    return home / "snapshots"


def keep_snapshot(snapshot: Path, home: Path, fingerprint: str) -> None:
    """Keep the snapshot of a graph that was copied to a server, so that none has to be compiled from the server.

    It is made of hard links, and left out where there can be none: then it is compiled when it is first needed.

    Args:
        snapshot: Folder of the snapshot.
        home: State folder of this machine.
        fingerprint: That of the graph.
    """
    from kgdx.graph.snapshot_compile import link_snapshot

    path = snapshots_of(home) / fingerprint
    temporary = path.with_name(f".{fingerprint}.{os.getpid()}")
    with suppress(OSError, StoreError):
        path.parent.mkdir(parents=True, exist_ok=True)
        link_snapshot(snapshot, temporary, fingerprint)
        os.rename(temporary, path)
        prune_snapshots(path.parent, path)
    shutil.rmtree(temporary, ignore_errors=True)


def prune_snapshots(folder: Path, new: Path) -> None:
    """Remove the snapshots of servers' graphs that were used longest ago, and what interrupted compilations left.

    Args:
        folder: Folder of all of them; its parts are named by fingerprint, unfinished ones start with a dot.
        new: The one that is wanted now.
    """
    aged = sorted(((part.stat().st_mtime, part) for part in folder.iterdir() if part != new), reverse=True)
    whole = [part for _, part in aged if not part.name.startswith(".")]
    unfinished = [part for at, part in aged if part.name.startswith(".") and time.time() - at > UNFINISHED_S]
    for part in (*whole[KEPT_SNAPSHOTS - 1 :], *unfinished):
        shutil.rmtree(part, ignore_errors=True)


# A database that others built as an open graph: its templates and names through a mapping, and plainly no snapshot.


class NothingCompiled:
    """Templates without a compiled form: each runs on the server."""

    def has(self, template: str) -> bool:
        """Return that there is none."""
        return False

    def run(self, template: str, /, **parameters: Any) -> list[Row]:
        """Refuse to run one."""
        raise StoreError(f"{template} has no compiled form here", hint="run the template itself")


class ForeignSource:
    """Where the graph lives that a mapping describes; nothing is held, and nothing is written there.

    Args:
        settings: Name the server, and the mapping's file.

    Raises:
        ConfigError: The mapping cannot be used, or there is no password.
    """

    def __init__(self, settings: Settings) -> None:
        from kgdx.graph.foreign.database_mapping import read_mapping

        assert settings.neo4j_mapping is not None
        self.mapping = read_mapping(settings.neo4j_mapping)
        self._access = settings.neo4j()
        self._kept = settings.home / "foreign"
        self.url = self._access.uri
        self.build = ""

    def hold(self) -> None:
        """Nothing to hold."""

    def release(self) -> None:
        """Nothing to release."""

    def replaced(self, store: Callable[[], Store], fingerprint: Callable[[], str]) -> bool:
        """Whether the database holds another number of anything than when it was opened."""
        return store().fingerprint() != fingerprint()

    def store(self) -> Store:
        """Open it."""
        from kgdx.graph.foreign.mapped_store import ForeignStore

        return ForeignStore.connect(self._access, self.mapping)

    def snapshot(self, store: Callable[[], Store], tell: Tell) -> Snapshot:
        """Say that there is none, and what follows."""
        raise AbsentError(
            f"the database at {self.url} is read through a mapping and has no snapshot, which ranking, reading of free "
            "text and similar patients need",
            hint="`kgdx ask` and the actions that look up and infer work on it; to diagnose, use a graph of kgdx's own",
        )

    def writing(self) -> AbstractContextManager[Store]:
        """Refuse to write."""
        hint = "save into a graph of kgdx's own"
        raise StoreError(f"the database at {self.url} is read through a mapping and is never written", hint=hint)

    def names(self, store: Store, tell: Tell) -> NameIndex:
        """Open the index of its names, kept on this machine by a digest of what it is made of.

        All names are read at each opening, so that the index is never of another state of the database.

        Raises:
            StoreError: The index cannot be written.
        """
        from kgdx.terms.names.name_database import FILE, write_index
        from kgdx.terms.names.name_index import NameIndex, named_tables

        tables = named_tables(store)
        folder = self._kept / _digest(tables)
        if not (folder / FILE).exists():
            tell("indexing the names of the database, once")
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                message = f"the index of names cannot be written to {folder} ({error.strerror or error})"
                raise StoreError(message, hint="set KGDX_HOME to a folder that can be written") from error
            write_index(folder / FILE, tables)
        with suppress(OSError):  # another process prunes too, or the folder is for reading only: as good
            os.utime(folder)
            prune_snapshots(self._kept, folder)
        return NameIndex(folder / FILE)


def _digest(tables: list[GraphTable]) -> str:
    """SHA-256 of what an index is made of, and of how it is made."""
    import pyarrow as pa

    from kgdx.terms.names.name_database import layout

    found = hashlib.sha256(layout().encode())
    for table in tables:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.rows.schema) as stream:
            stream.write_table(table.rows.combine_chunks())
        found.update(sink.getvalue())
    return found.hexdigest()


def mapping_of(mapping: str | Path | None, store: str) -> Path | None:
    """Return a mapping's path as it is given, for a store that can have one.

    Raises:
        UsageError: The store is a folder.
    """
    from kgdx.config import is_neo4j
    from kgdx.errors import UsageError

    if mapping is None:
        return None
    if not is_neo4j(store):
        raise UsageError(f"a mapping is for a Neo4j database, and {store} is a folder", hint="give --store bolt://…")
    return Path(mapping)
