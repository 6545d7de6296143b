"""Where an open graph lives: in a folder, on a Neo4j server, or in a database that others built."""

from __future__ import annotations

import hashlib
import os
import shutil
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from kgdx.errors import AbsentError, StoreError
from kgdx.files.known import place
from kgdx.files.private import private_folder

if TYPE_CHECKING:
    import neo4j

    from kgdx.actions.server_snapshot import Seen
    from kgdx.config import Neo4jAccess, Settings
    from kgdx.graph.copies import CopyReport
    from kgdx.graph.neo4j.neo4j_store import Neo4jStore
    from kgdx.graph.protocol import GraphTable, Row, Store
    from kgdx.graph.snapshot import Snapshot
    from kgdx.ingest.pipeline.graph_folder import BuildFolder
    from kgdx.terms.names.name_index import NameIndex

Tell = Callable[[str], None]
"""Told in words what takes long."""


class GraphSource(Protocol):
    """Where a graph lives, and how it is opened there."""

    url: str

    @property
    def build(self) -> str:
        """Which build is held; empty where nothing is."""
        ...

    @property
    def bookmarks(self) -> tuple[str, ...]:
        """What others need to read what was saved here on any member of a cluster; empty where there is none."""
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

    @property
    def bookmarks(self) -> tuple[str, ...]:
        """Return none: a folder is read as it is."""
        return ()

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

    The three snapshots that were used last are kept, whichever server they belong to.
    """

    def __init__(self, settings: Settings) -> None:
        from kgdx.actions.server_snapshot import ServerSnapshots

        self._access = settings.neo4j()
        self.url = self._access.uri
        self.build = ""
        self._snapshots = ServerSnapshots(snapshots_of(settings.home), server_name(self._access))
        self._seen: Seen | None = None
        self._bookmarks: neo4j.BookmarkManager | None = None

    @property
    def bookmarks(self) -> tuple[str, ...]:
        """What others need to read what was saved here."""
        return () if self._bookmarks is None else tuple(sorted(self._bookmarks.get_bookmarks()))

    def hold(self) -> None:
        """Nothing to hold: the server keeps readers and writers apart."""

    def release(self) -> None:
        """Nothing to release."""

    def replaced(self, store: Callable[[], Store], fingerprint: Callable[[], str]) -> bool:
        """Whether the server holds another graph now, or somebody has changed this one."""
        fingerprint()  # opened it
        own = _own(store())
        return self._seen is None or not self._seen.holds(own.state(), own)

    def store(self) -> Store:
        """Connect, for reading."""
        return self._connect(read_only=True)

    def snapshot(self, store: Callable[[], Store], tell: Tell) -> Snapshot:
        """Open the snapshot of the server's graph; compile it first where this machine has none of what is there."""
        snapshot, self._seen = self._snapshots.open(_own(store()), tell, self.writing)
        return snapshot

    @contextmanager
    def writing(self) -> Iterator[Store]:
        """Connect, for writing; what was written is read by all stores of this source."""
        store = self._connect(read_only=False)
        try:
            yield store
        finally:
            store.close()

    def _connect(self, *, read_only: bool) -> Neo4jStore:
        from kgdx.graph.neo4j.bolt import bookmarks
        from kgdx.graph.neo4j.neo4j_store import Neo4jStore

        self._bookmarks = self._bookmarks or bookmarks(self._access)
        return Neo4jStore.connect(self._access, read_only=read_only, seen=self._bookmarks)


def _own(store: Store) -> Neo4jStore:
    from kgdx.graph.neo4j.neo4j_store import Neo4jStore

    assert isinstance(store, Neo4jStore)
    return store


def server_name(access: Neo4jAccess) -> str:
    """Return how a server's database is called among those seen.

    Example:
        >>> from kgdx.config import Neo4jAccess
        >>> server_name(Neo4jAccess("bolt://127.0.0.1:7687"))
        'bolt://127.0.0.1:7687'
    """
    return f"{access.uri}/{access.database}" if access.database else access.uri


def snapshots_of(home: Path) -> Path:
    """Return the folder of the snapshots of servers' graphs."""
    return home / "snapshots"


def keep_snapshot(snapshot: Path, settings: Settings, access: Neo4jAccess, copied: CopyReport, tell: Tell) -> None:
    """Keep the snapshot of a graph that was copied to a server, so that none has to be compiled from the server.

    On this machine it is made of hard links, and left out where there can be none: then it is fetched when it is first
    needed. It is stored beside the graph, for others to fetch, and the server's Build node learns what it holds, by
    which they see whether the graph there was changed.

    Args:
        snapshot: Folder of the snapshot.
        settings: Where the state of this machine is.
        access: The server.
        copied: How the server stood when it was found to hold the same graph.
        tell: Told in words what is done.
    """
    from kgdx.actions.server_snapshot import Seen, ServerSnapshots, prune_snapshots, share
    from kgdx.graph.neo4j.neo4j_store import Neo4jStore
    from kgdx.graph.snapshot import Snapshot
    from kgdx.graph.snapshot_compile import link_snapshot

    folder = snapshots_of(settings.home)
    temporary = folder / f".kept.{os.getpid()}"
    with Neo4jStore.connect(access, read_only=False) as store:
        fingerprint = store.state().fingerprint
        found = Snapshot.open(snapshot)
        if found.fingerprint != fingerprint:
            return  # a new build is in the place of the one that was copied
        store.state_content(found.content)
        seen = Seen(fingerprint, fingerprint, copied.saves, copied.serial, {})
        if copied.serial is not None and not seen.holds(store.state(), store):
            return  # somebody writes there: whoever opens the graph looks at it anew
        path = folder / fingerprint
        with suppress(OSError, StoreError):
            private_folder(folder)
            link_snapshot(snapshot, temporary, fingerprint)
            shutil.rmtree(path, ignore_errors=True)
            place(temporary, path)
            prune_snapshots(folder, path)
        share(store, found, seen, tell)
        if path.exists():
            ServerSnapshots(folder, server_name(access)).note(store)
    shutil.rmtree(temporary, ignore_errors=True)


class NothingCompiled:
    """Templates without a compiled form: each runs on the store."""

    def has(self, template: str) -> bool:
        """Return that there is none."""
        return False

    def run(self, template: str, /, **parameters: Any) -> list[Row]:
        """Refuse to run one."""
        raise StoreError(f"{template} has no compiled form here", hint="run the template itself")


# A database that others built as an open graph: its templates and names through a mapping, and plainly no snapshot.


class ForeignSource:
    """Where the graph lives that a mapping describes; nothing is held, and nothing is written there.

    Args:
        settings: Name the server, and the mapping's file.
    """

    def __init__(self, settings: Settings) -> None:
        from kgdx.graph.foreign.database_mapping import read_mapping

        assert settings.neo4j_mapping is not None
        self.mapping = read_mapping(settings.neo4j_mapping)
        self._access = settings.neo4j()
        self._kept = settings.home / "foreign"
        self.url = self._access.uri
        self.build = ""

    @property
    def bookmarks(self) -> tuple[str, ...]:
        """Return none: nothing is saved there."""
        return ()

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
        """
        from kgdx.actions.server_snapshot import prune_snapshots
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
    """Return a mapping's path as it is given, for a store that can have one."""
    from kgdx.config import is_neo4j
    from kgdx.errors import UsageError

    if mapping is None:
        return None
    if not is_neo4j(store):
        raise UsageError(f"a mapping is for a Neo4j database, and {store} is a folder", hint="give --store bolt://…")
    return Path(mapping)
