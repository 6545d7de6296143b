"""The snapshot of a server's graph, kept on this machine, and whether it still is what the server holds.

A server numbers its transactions, and kgdx counts its saves in the Build node. So as long as the number has grown by
the saves alone, nobody has changed the graph, and to know that costs a read of one node. Otherwise the snapshot is
fetched that is stored beside the graph, where the same is true of it; else the graph is read and compiled anew, and the
snapshot's own content says what it is: that of the graph that was copied there, or another one. What was compiled is
stored beside the graph for the others, where the user may write.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgdx.errors import KgdxError, StoreError
from kgdx.files.known import place, write_whole
from kgdx.files.private import private_folder
from kgdx.graph.snapshot import TABLES, Snapshot

if TYPE_CHECKING:
    from kgdx.graph.neo4j.neo4j_store import Neo4jStore, ServerState
    from kgdx.graph.neo4j.stored_snapshot import Stored

Tell = Callable[[str], None]

Writing = Callable[[], AbstractContextManager[Any]]
"""Opens the graph's store for writing."""

KEPT_SNAPSHOTS = 3
"""How many snapshots of servers' graphs are kept on this machine."""

UNFINISHED_S = 86_400.0
"""A compilation that has not changed its folder for so long was interrupted."""

SEEN = ".seen.json"
"""In the folder of the snapshots: by server, what was last seen there."""

_ATTEMPTS = 3
_SAVED = frozenset({"patient_case", "observed", "excluded"})


@dataclass(frozen=True, slots=True)
class Seen:
    """A server's graph when its snapshot was last found to be what it holds.

    Attributes:
        snapshot: Fingerprint of the snapshot.
        fingerprint: What the Build node said.
        saves: Likewise, the number of saves.
        serial: Number of the last transaction; ``None`` where the server does not tell.
        counts: Nodes and relations by type, where there is no such number.
    """

    snapshot: str
    fingerprint: str
    saves: int
    serial: int | None
    counts: Mapping[str, int]

    def holds(self, state: ServerState, store: Neo4jStore) -> bool:
        """Whether nothing but saves has been written since."""
        if self.fingerprint != state.fingerprint or (self.serial is None) != (state.serial is None):
            return False
        if self.serial is not None and state.serial is not None:
            return state.serial - self.serial == state.saves - self.saves
        return dict(self.counts) == _counts(store)


class ServerSnapshots:
    """The snapshots of servers' graphs that are kept in a folder, by fingerprint."""

    def __init__(self, folder: Path, server: str) -> None:
        self._folder = folder
        self._server = server

    def open(self, store: Neo4jStore, tell: Tell, writing: Writing | None = None) -> tuple[Snapshot, Seen]:
        """Open the snapshot of what the server holds; fetch or compile it first where this machine has none that is."""
        state, seen = store.state(), self._seen()
        if seen is not None and seen.holds(state, store):
            with suppress(StoreError):  # damaged or gone: it is fetched or compiled again
                return self._opened(seen.snapshot, tell), seen
        if (fetched := self._fetched(store, tell)) is not None:
            return fetched
        may_write = writing is not None and _prepared(writing)
        snapshot, state = self._compiled(store, tell)
        seen = self._note(snapshot.fingerprint, state, store)
        if writing is not None and may_write:
            with suppress(KgdxError, OSError), writing() as own:  # it is a service to others
                share(own, snapshot, seen, tell)
        return snapshot, seen

    def note(self, store: Neo4jStore) -> Seen:
        """Remember that a server holds now what the snapshot of its fingerprint was made of."""
        state = store.state()
        return self._note(state.fingerprint, state, store)

    def _fetched(self, store: Neo4jStore, tell: Tell) -> tuple[Snapshot, Seen] | None:
        """Fetch the snapshot that is stored beside the graph; ``None`` where none is of what the server holds."""
        from kgdx.graph.neo4j.stored_snapshot import find

        for _ in range(_ATTEMPTS):
            stored = None
            try:
                state, stored = store.state(), find(store)
                if stored is None or not _is_of(stored, state, store):
                    return None
                snapshot = self._brought(store, stored, tell)
                if not _is_of(stored, now := store.state(), store):
                    continue
            except StoreError as error:
                if stored is not None and self._was_replaced(store, stored):
                    continue
                tell(error.message)
                return None
            if stored.snapshot != stored.fingerprint:
                tell(f"the graph at {store.url} was changed since it was copied there")
            return snapshot, self._note(snapshot.fingerprint, now, store)
        return None

    def _brought(self, store: Neo4jStore, stored: Stored, tell: Tell) -> Snapshot:
        from kgdx.graph.neo4j.stored_snapshot import fetch

        if _content(self._folder / stored.snapshot) == stored.content:
            return self._opened(stored.snapshot, tell)
        tell(f"fetching the snapshot of the server's graph, once ({stored.bytes / 1e6:,.0f} MB)")
        temporary = self._folder / f".{stored.snapshot}.{os.getpid()}.fetched"
        try:
            shutil.rmtree(temporary, ignore_errors=True)
            private_folder(temporary)
            fetch(store, stored, temporary)
            return self._placed(temporary, stored.snapshot, tell)
        except OSError as error:
            raise self._unwritable(error) from error
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    def _was_replaced(self, store: Neo4jStore, stored: Stored) -> bool:
        from kgdx.graph.neo4j.stored_snapshot import find

        with suppress(StoreError):
            now = find(store)
            return now is not None and now.id != stored.id
        return False

    def _unwritable(self, error: OSError) -> StoreError:
        hint = "free some disk space, or set KGDX_HOME to a folder that can be written"
        return StoreError(f"the snapshot cannot be written in {self._folder} ({error})", hint=hint)

    def _opened(self, fingerprint: str, tell: Tell) -> Snapshot:
        path = self._folder / fingerprint
        snapshot = Snapshot.open(path, fingerprint, tell)
        with suppress(OSError):  # another process prunes too, or the folder is for reading only: as good
            os.utime(path)
            prune_snapshots(self._folder, path)
        return snapshot

    def _compiled(self, store: Neo4jStore, tell: Tell) -> tuple[Snapshot, ServerState]:
        """Compile what the server holds; returns also its state before that, so that no later change is lost."""
        from kgdx.graph.snapshot_compile import compile_snapshot, link_snapshot, snapshot_tables

        for _ in range(_ATTEMPTS):
            before = store.state()
            known = self._folder / before.fingerprint
            tell("compiling a snapshot of the server's graph, once")
            private_folder(self._folder)
            temporary = self._folder / f".{before.fingerprint}.{os.getpid()}"
            shutil.rmtree(temporary, ignore_errors=True)
            try:
                made = compile_snapshot(snapshot_tables(store), temporary, before.fingerprint)
                if store.state().fingerprint != before.fingerprint:
                    continue
                expected = before.content or _content(known)
                if expected in (None, made.content):
                    return self._placed(temporary, before.fingerprint, tell), before
                own = _own_fingerprint(before.fingerprint, made.content)
                tell(f"the graph at {store.url} was changed since it was copied there{_differences(known, made)}")
                link_snapshot(temporary, changed := temporary.with_name(f"{temporary.name}.changed"), own)
                return self._placed(changed, own, tell), before
            except OSError as error:
                raise self._unwritable(error) from error
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
                shutil.rmtree(temporary.with_name(f"{temporary.name}.changed"), ignore_errors=True)
        raise StoreError(f"the graph at {store.url} is replaced again and again", hint="try again when that is done")

    def _placed(self, made: Path, fingerprint: str, tell: Tell) -> Snapshot:
        path = self._folder / fingerprint
        if _content(path) != _content(made):
            aside = made.with_name(f"{made.name}.aside")
            with suppress(FileNotFoundError):
                os.rename(path, aside)
            place(made, path)
            shutil.rmtree(aside, ignore_errors=True)
        return self._opened(fingerprint, tell)

    def _seen(self) -> Seen | None:
        try:
            return Seen(**json.loads((self._folder / SEEN).read_bytes())[self._server])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _note(self, snapshot: str, state: ServerState, store: Neo4jStore) -> Seen:
        counts = {} if state.serial is not None else _counts(store)
        seen = Seen(snapshot, state.fingerprint, state.saves, state.serial, counts)
        file = self._folder / SEEN
        try:
            every = json.loads(file.read_bytes())
        except (OSError, ValueError):
            every = {}
        with suppress(OSError):  # a folder for reading only: it is compared again next time
            write_whole(file, json.dumps({**every, self._server: asdict(seen)}))
        return seen


def share(store: Neo4jStore, snapshot: Snapshot, seen: Seen, tell: Tell) -> None:
    """Store a snapshot beside the graph that it was made of, unless somebody has changed that since it was seen.

    The store is open for writing, and knows the names that this needs
    (:func:`kgdx.graph.neo4j.stored_snapshot.prepare`).
    """
    from kgdx.graph.neo4j.stored_snapshot import keep

    if seen.serial is not None and seen.holds(store.state(), store):
        tell("storing the snapshot beside the graph, for others to fetch")
        keep(store, snapshot, seen.fingerprint, seen.saves, seen.serial)


def _prepared(writing: Writing) -> bool:
    """Make names known in the database, before its state is looked at; whether the user may write."""
    from kgdx.graph.neo4j.stored_snapshot import prepare

    with suppress(KgdxError), writing() as own:
        prepare(own)
        return True
    return False


def _is_of(stored: Stored, state: ServerState, store: Neo4jStore) -> bool:
    """Whether a stored snapshot is of what the server holds: nothing but saves has been written since."""
    if state.serial is None:  # the counts alone do not tell
        return False
    if stored.snapshot == stored.fingerprint:
        right = state.content in (None, stored.content)
    else:
        right = stored.snapshot == _own_fingerprint(stored.fingerprint, stored.content)
    return right and Seen(stored.snapshot, stored.fingerprint, stored.saves, stored.serial, {}).holds(state, store)


def _own_fingerprint(fingerprint: str, content: str) -> str:
    return hashlib.sha256(f"{fingerprint}{content}".encode()).hexdigest()


def _content(snapshot: Path) -> str | None:
    """What a snapshot holds; ``None`` where there is none, or it is damaged."""
    try:
        return Snapshot.open(snapshot).content
    except StoreError:
        return None


def _counts(store: Neo4jStore) -> dict[str, int]:
    saved = {"PatientCase", "Diagnosis", "Publication", "OBSERVED", "EXCLUDED", "HAS_RUN", "CONSIDERED", "DIAGNOSED"}
    saved |= {"WEIGHED", "ASKED", "ORDERED", "REPORTED_IN", "PREDICTED", "Build"}
    return {name: n for name, n in store.counts().items() if name not in saved}


def _differences(before: Path, made: Snapshot) -> str:
    try:
        known = Snapshot.open(before)
    except StoreError:
        return ""
    pairs = [(name, made.rows(name), known.rows(name)) for name in TABLES if name not in _SAVED]
    found = [f"{now:,} {name}, not {was:,}" for name, now, was in pairs if now != was]
    return f" ({'; '.join(found)})" if found else " (as many rows, with other values)"


def prune_snapshots(folder: Path, new: Path) -> None:
    """Remove the snapshots of servers' graphs that were used longest ago, and what interrupted compilations left."""
    aged = sorted(
        ((part.stat().st_mtime, part) for part in folder.iterdir() if part != new and part.is_dir()), reverse=True
    )
    whole = [part for _, part in aged if not part.name.startswith(".")]
    unfinished = [part for at, part in aged if part.name.startswith(".") and time.time() - at > UNFINISHED_S]
    for part in (*whole[KEPT_SNAPSHOTS - 1 :], *unfinished):
        shutil.rmtree(part, ignore_errors=True)
