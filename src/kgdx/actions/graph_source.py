"""Where an open graph lives: in a folder, on a Neo4j server, or in a database that a package of its own reads."""

from __future__ import annotations

import json
import os
import shutil
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from kgdx.errors import StoreError, UsageError
from kgdx.files.known import place
from kgdx.files.private import possible, private_folder
from kgdx.registry import Registry

if TYPE_CHECKING:
    import neo4j

    from kgdx.actions.server_snapshot import Seen
    from kgdx.config import Neo4jAccess, Settings
    from kgdx.graph.copies import CopyReport
    from kgdx.graph.neo4j.neo4j_store import Neo4jStore
    from kgdx.graph.protocol import Row, Store
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

    def hold(self) -> None: ...

    def release(self) -> None: ...

    def replaced(self, store: Callable[[], Store], fingerprint: Callable[[], str]) -> bool: ...

    def store(self) -> Store:
        """Open the store, read-only."""
        ...

    def snapshot(self, store: Callable[[], Store], tell: Tell) -> Snapshot: ...

    def writing(self) -> AbstractContextManager[Store]: ...


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
        return self._current().id

    @property
    def bookmarks(self) -> tuple[str, ...]:
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
        """Open the snapshot that the build made, which has to be of the graph that it reports."""
        from kgdx.graph.snapshot import Snapshot

        build, reported = self._current(), None
        with suppress(OSError, ValueError, AttributeError):
            reported = json.loads(build.report.read_bytes()).get("fingerprint")
        return Snapshot.open(build.snapshot, reported, tell=tell)

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
    return f"{access.uri}/{access.database}" if access.database else access.uri


def snapshots_of(home: Path) -> Path:
    return home / "snapshots"


def keep_snapshot(snapshot: Path, settings: Settings, access: Neo4jAccess, copied: CopyReport, tell: Tell) -> None:
    """Keep the snapshot of a graph that was copied to a server, so that none has to be compiled from the server.

    On this machine it is made of hard links, and left out where there can be none: then it is fetched when it is first
    needed. It is stored beside the graph, for others to fetch, and the server's Build node learns what it holds, by
    which they see whether the graph there was changed.
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
        return False

    def run(self, template: str, /, **parameters: Any) -> list[Row]:
        raise StoreError(f"{template} has no compiled form here", hint="run the template itself")


class MappedSource(GraphSource, Protocol):
    """A database that others built, read through the mapping that the settings name."""

    def __init__(self, settings: Settings) -> None: ...

    def names(self, store: Store, tell: Tell) -> NameIndex: ...


MAPPED: Registry[MappedSource] = Registry("graph source", "kgdx.graphs", {}, apart={"mapping": "kgdx-foreign"})
"""The reader of databases that others built, which is a package of its own."""


def mapping_of(mapping: str | Path | None, store: str) -> Path | None:
    """Return a mapping's path as it is given, for a store that can have one."""
    from kgdx.config import is_neo4j

    if mapping is None:
        return None
    if not is_neo4j(store):
        raise UsageError(f"a mapping is for a Neo4j database, and {store} is a folder", hint="give --store bolt://…")
    return possible(mapping)
