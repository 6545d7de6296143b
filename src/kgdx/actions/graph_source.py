"""Where an open graph lives: in a folder, or on a Neo4j server whose snapshot is kept on this machine."""

from __future__ import annotations

import os
import shutil
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kgdx.errors import StoreError

if TYPE_CHECKING:
    from kgdx.config import Settings
    from kgdx.graph.protocol import Store
    from kgdx.graph.snapshot import Snapshot
    from kgdx.ingest.pipeline.graph_folder import BuildFolder

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

    @property
    def build(self) -> str:
        """Which build is held."""
        return self._current().id

    def hold(self) -> None:
        """Read from the build that is there now, which no writer removes meanwhile."""
        self._build = self._held.enter_context(self._folder.reading())

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

        return Snapshot.open(self._current().snapshot)

    @contextmanager
    def writing(self) -> Iterator[Store]:
        """Give the store for writing, alone."""
        from kgdx.graph.arcade.embedded import ArcadeStore

        with self._folder.writing() as build:
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
        return Snapshot.open(path, fingerprint)

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
