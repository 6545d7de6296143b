"""The one module that knows the embedded engine's Python package; its exceptions leave it as ours.

The bulk loader is fed JSON text made from columns, through the package's own entry point: its public methods take one
Python dict per row and spend three times as long. The version is pinned exactly, and the contract suite covers it.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgdx.errors import StoreError, StoreLockedError, TemplateError

if TYPE_CHECKING:
    import polars as pl

_LOG_CONFIG = Path(__file__).with_name("engine-logging.properties")
_LANGUAGE = "opencypher"
_VERTICES_PER_CALL = 1000
_EDGES_PER_CALL = 1000
_EDGES_PER_FLUSH = 5000


class Batch:
    """Rows on their way into a database: one JSON object (as text) for the properties of each."""

    def __init__(self, native: Any, path: Path) -> None:
        self._native = native
        self._path = path

    def vertices(self, type_: str, properties: pl.Series) -> list[str]:
        """Create vertices and return their record ids, in order."""
        out: list[str] = []
        for rows in properties.to_frame().iter_slices(_VERTICES_PER_CALL):
            text = f'{{"type":{json.dumps(type_)},"rows":[{_joined(rows.to_series())}]}}'
            out += self._call("create_vertices", text)["rids"]
        return out

    def edges(self, type_: str, rows: pl.DataFrame) -> None:
        """Create edges: columns ``start`` and ``end`` with record ids, and ``properties``.

        It is quickest when edges of one start follow each other: then few edge lists are touched at a time.
        """
        name = json.dumps(type_)
        for some in rows.iter_slices(_EDGES_PER_CALL):
            src, dst = (_joined(some[end], '","') for end in ("start", "end"))
            props = _joined(some["properties"])
            self._call("new_edges", f'{{"type":{name},"src":["{src}"],"dst":["{dst}"],"props":[{props}]}}')

    def _call(self, operation: str, text: str) -> Any:
        from arcadedb._native import lib
        from arcadedb._native.database import _error

        with _ours(self._path):
            reply = json.loads(lib.call("arcadedb_n_gb", self._native._gb, lib.b(operation), lib.b(text)))
            if not reply.get("ok"):
                raise _error("", reply)
            return reply


class Database:
    """An open database directory."""

    def __init__(self, native: Any, path: Path, read_only: bool) -> None:
        self._native = native
        self.path = path
        self.read_only = read_only

    def query(self, text: str, parameters: Mapping[str, Any] | None = None, language: str = _LANGUAGE) -> list[Any]:
        with _ours(self.path):
            rows: list[Any] = self._native.query(language, text, dict(parameters or {})).to_list()
            return rows

    def command(self, text: str, parameters: Mapping[str, Any] | None = None, language: str = _LANGUAGE) -> list[Any]:
        with _ours(self.path):
            rows: list[Any] = self._native.command(language, text, dict(parameters or {})).to_list()
            return rows

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Keep everything that the block wrote, or nothing when it raises."""
        with _ours(self.path):
            if self._native.is_transaction_active():
                raise StoreError("a transaction is already running on this store", hint="end it before the next one")
            self._native.begin()
        try:
            yield
            with _ours(self.path):
                self._native.commit()
        except BaseException:
            with suppress(Exception):
                if self._native.is_transaction_active():
                    self._native.rollback()
            raise

    @contextmanager
    def batch(self, *, log_ahead: bool) -> Iterator[Batch]:
        """A bulk load; ``log_ahead`` writes the write-ahead log, which a database in use needs."""
        with _ours(self.path):
            batch = self._native.graph_batch(batch_size=_EDGES_PER_FLUSH, parallel_flush=True, use_wal=log_ahead)
        try:
            yield Batch(batch, self.path)
        finally:
            with _ours(self.path):
                batch.close()

    def close(self) -> None:
        with _ours(self.path):
            self._native.close()


def _joined(texts: pl.Series, separator: str = ",") -> str:
    return str(texts.str.join(separator).item())


def create(path: Path) -> Database:
    """Create an empty database directory; StoreError when there is one."""
    if path.exists() and any(path.iterdir()):
        raise StoreError(f"{path} is not empty", hint="give the new store a folder of its own")
    with _ours(path), _quiet_engine() as arcadedb:
        return Database(arcadedb.create_database(os.fspath(path)), path, read_only=False)


def open_(path: Path, *, read_only: bool) -> Database:
    """Open a database directory; one that a crash left behind is repaired from its write-ahead log first."""
    with _ours(path), _quiet_engine() as arcadedb:
        if read_only:
            try:
                return Database(_shared(arcadedb, path), path, read_only=True)
            except arcadedb.ArcadeDBError as error:
                if "needs recovery" not in str(error):
                    raise
            arcadedb.open_database(os.fspath(path)).close()
            return Database(_shared(arcadedb, path), path, read_only=True)
        return Database(arcadedb.open_database(os.fspath(path)), path, read_only=False)


class _Shared:
    """One read-only handle used by several stores of this process: the engine opens a directory only once."""

    def __init__(self, native: Any, key: str) -> None:
        self.native, self.key, self.users = native, key, 0


class _Lease:
    def __init__(self, shared: _Shared) -> None:
        self._shared: _Shared | None = shared

    def __getattr__(self, name: str) -> Any:
        if self._shared is None:
            raise StoreError("the store is closed", hint="open it again")
        return getattr(self._shared.native, name)

    def close(self) -> None:
        with _registry_lock:
            shared, self._shared = self._shared, None
            if shared is None:
                return
            shared.users -= 1
            if not shared.users:
                _registry.pop(shared.key, None)
                shared.native.close()


_registry: dict[str, _Shared] = {}
_registry_lock = threading.Lock()


def _shared(arcadedb: Any, path: Path) -> _Lease:
    key = os.path.realpath(path)
    with _registry_lock:
        shared = _registry.get(key)
        if shared is None:
            shared = _registry[key] = _Shared(arcadedb.open_database(os.fspath(path), read_only=True), key)
        shared.users += 1
        return _Lease(shared)


_load_lock = threading.Lock()


def require() -> None:
    """Check that the engine is installed, before anything is made for it."""
    try:
        import arcadedb  # noqa: F401  it loads its library when that is first used
    except ImportError as error:
        hint = "use a Neo4j with `--store bolt://…`, filled from another machine by `kgdx push` (docs/dependencies.md)"
        raise StoreError("the embedded engine is not installed on this machine", hint=hint) from error


@contextmanager
def _quiet_engine() -> Iterator[Any]:
    require()
    import arcadedb
    from arcadedb._native import lib

    with _load_lock:
        if not lib.loaded():
            prepare = lib._prepare_logging
            lib._prepare_logging = lambda _given: [f"-Djava.util.logging.config.file={_LOG_CONFIG.as_posix()}"]
            try:
                lib._load()
            finally:
                lib._prepare_logging = prepare
    yield arcadedb


@contextmanager
def _ours(path: Path) -> Iterator[None]:
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        raise StoreError(f"cannot use the store {path}: {error.strerror or error}") from error
    except Exception as error:
        if type(error).__name__ != "ArcadeDBError":
            raise
        raise _translated(error, path) from error


_DAMAGED = ("Invalid position", "Error on creating new database instance", "Parallel scan failed")
"""What the engine says where it finds something else in its files than it wrote."""


def _translated(error: Exception, path: Path) -> StoreError:
    native = getattr(error, "native", None) or {}
    chain: Iterable[Sequence[str]] = native.get("chain") or [
        (native.get("cls") or "", native.get("error") or str(error))
    ]
    names = " ".join(name for name, _ in chain)
    texts = [" ".join(str(text).split()) for _, text in chain]
    message, whole = texts[0], " ".join(texts)
    if "LockException" in names or "already in use" in whole:
        return StoreLockedError(
            f"the store {path} is in use", hint="close the process that has it open, or wait for it"
        )
    if "DatabaseNotFound" in names:
        return StoreError(f"no store at {path}", hint="build one with `kgdx build`")
    if "DatabaseIsReadOnly" in names or "NotIdempotent" in names:
        return StoreError("the store is open for reading only", hint="open it with read_only=False to write")
    if "DuplicatedKey" in names:
        return StoreError(f"a node with this id is there already ({message})", hint="nothing was written")
    if "CommandParsing" in names:
        return TemplateError(f"the store cannot read the template: {message}")
    if "No space left" in whole or "File too large" in whole:
        return StoreError(
            f"the disk of {path} is full", hint="free some space and run it again; nothing is half-written"
        )
    if "Database is closed" in whole or "DatabaseIsClosed" in names:
        return StoreError("the store is closed", hint="open it again")
    if any(said in whole for said in _DAMAGED) and "ermission denied" not in whole:
        hint = "build it again with `kgdx build`; `kgdx verify` lists all that is wrong"
        return StoreError(f"the store {path} is damaged ({message})", hint=hint)
    hint = "see that the disk has space and is sound, then try again; build again with `kgdx build` if that fails"
    return StoreError(f"the store {path} failed ({message})", hint=hint)
