"""A database that others built as an open graph: its templates and names through a mapping, and plainly no snapshot."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import NoReturn

import pyarrow as pa

from kgdx.actions.graph_source import Tell
from kgdx.actions.server_snapshot import prune_snapshots
from kgdx.config import Settings
from kgdx.errors import AbsentError, StoreError
from kgdx.graph.protocol import GraphTable, Store
from kgdx.terms.names.name_database import FILE, layout, write_index
from kgdx.terms.names.name_index import NameIndex, named_tables
from kgdx_foreign.database_mapping import read_mapping
from kgdx_foreign.mapped_store import ForeignStore


class ForeignSource:
    """Where the graph lives that a mapping describes; nothing is held, and nothing is written there."""

    def __init__(self, settings: Settings) -> None:
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
        return store().fingerprint() != fingerprint()

    def store(self) -> Store:
        return ForeignStore.connect(self._access, self.mapping)

    def snapshot(self, store: Callable[[], Store], tell: Tell) -> NoReturn:
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
    found = hashlib.sha256(layout().encode())
    for table in tables:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.rows.schema) as stream:
            stream.write_table(table.rows.combine_chunks())
        found.update(sink.getvalue())
    return found.hexdigest()
