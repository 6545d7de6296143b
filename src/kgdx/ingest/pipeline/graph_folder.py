"""The folder a graph lives in: complete builds, which of them is current, and who may read or write it now.

Layout::

    CURRENT                   name of the complete build, replaced atomically; absent: no graph
    lock                      held exclusively by a builder or a writer
    decisions.lock            held by whoever changes what people decided
    builds/<id>/lock          held shared by readers of this build, exclusively by whoever writes into it
    builds/<id>/turn          held exclusively by a writer that waits for readers; new ones let it go first
    builds/<id>/files.json    sizes and digests of the build's files; see :mod:`kgdx.ingest.pipeline.build_files`
    builds/<id>/store/        the embedded store
    builds/<id>/snapshot/     the compiled snapshot
    builds/<id>/report.json   quarantine.parquet, tables.json, previous.json, manifests/
    stages/                   results of a build's stages, by content; see :mod:`kgdx.ingest.pipeline.stages`

A build is made beside the current one and becomes current in one rename, so readers never wait for a builder, and a
builder that is killed leaves the old graph as it was. What it left behind goes when the next one starts.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kgdx.errors import StoreError, StoreLockedError
from kgdx.files import locks
from kgdx.files.known import sync_folder, write_whole
from kgdx.files.private import FOLDER, private_file, private_folder
from kgdx.ingest.pipeline import build_files
from kgdx.ingest.pipeline.build_files import TURN

if TYPE_CHECKING:
    from kgdx.ingest.pipeline.build_report import BuildReport

WAIT_S = 10.0
"""How long a reader waits for another process before it gives up."""

WRITE_WAIT_S = 30.0
"""How long a writer waits for its turn."""

COURTESY_S = 2.0
"""How long a new reader lets writers go first: whoever reads for long would keep them out if readers never ceased."""


_PARTS = ("store", "snapshot", "report.json", "quarantine.parquet", "tables.json", "previous.json", "manifests")


@dataclass(frozen=True, slots=True)
class BuildFolder:
    id: str
    path: Path
    store: Path
    snapshot: Path
    report: Path
    quarantine: Path
    tables: Path
    previous: Path
    manifests: Path

    @classmethod
    def at(cls, path: Path) -> BuildFolder:
        return cls(path.name, path, *(path / name for name in _PARTS))


class GraphFolder:
    """A graph folder; nothing is opened or created until it is asked for."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser()

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def exists(self) -> bool:
        return self._current() is not None

    def current(self) -> BuildFolder:
        found = self._current()
        if found is None:
            raise StoreError(f"no graph at {self.path}", hint="build one with `kgdx build`")
        return found

    @contextmanager
    def reading(self, wait_s: float = WAIT_S) -> Iterator[BuildFolder]:
        """Hold the current build for reading; any number of processes may, and a builder may go on meanwhile."""
        end = time.monotonic() + wait_s
        with _locked(self.current().path / TURN, min(end, time.monotonic() + COURTESY_S), shared=True):
            pass
        while True:
            build = self.current()
            with _locked(build.path / "lock", end, shared=True) as locked:
                if locked is None:
                    message = f"another process is writing to the graph at {self.path}"
                    raise StoreLockedError(message, hint="wait for it to finish, then try again")
                if locked and self._current() == build:
                    yield build
                    return
            if locked is False and self._current() == build:
                self._mend_lock(build)
            elif time.monotonic() > end:
                raise StoreError(f"the graph at {self.path} keeps changing", hint="try again")

    @contextmanager
    def writing(self, wait_s: float = WRITE_WAIT_S) -> Iterator[BuildFolder]:
        """Hold the current build for writing, alone; writers wait for each other, and are let in before new readers.

        A process that reads it has to leave :meth:`reading` first.
        """
        end = time.monotonic() + wait_s
        self.current()
        with self._exclusive(end):
            build = self.current()
            self._mend_lock(build)
            with ExitStack() as held:
                with _locked(build.path / TURN, end):
                    if not held.enter_context(_locked(build.path / "lock", end)):
                        message = f"another process is reading the graph at {self.path}"
                        raise StoreLockedError(message, hint="close it (a notebook, a running `kgdx`), then try again")
                with _writable(self.path, "free some space; `kgdx verify` tells whether a save was cut short"):
                    held.enter_context(build_files.changing(build.path))
                    yield build
                    held.close()

    @contextmanager
    def building(self, wait_s: float = 0.0, *, first: bool = False) -> Iterator[BuildFolder]:
        """Make a new build: an empty folder that becomes current when the block ends, or goes when it fails.

        ``first`` refuses it where there is a graph already.
        """
        with _writable(self.path):
            if not self.path.exists():
                private_folder(self.path)
            (self.path / "builds").mkdir(FOLDER, exist_ok=True)
        with self._exclusive(time.monotonic() + wait_s):
            self._recover()
            self._clean()
            if first and self.exists:
                raise StoreLockedError(f"another process has made the graph at {self.path}", hint="open it")
            name = f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{secrets.token_hex(2)}"
            build = BuildFolder.at(self.path / "builds" / name)
            try:
                with _writable(self.path):
                    build.path.mkdir(FOLDER)
                    self._mend_lock(build)
                    yield build
                    build_files.record(build.path)
                    self._publish(build)
            finally:
                if self._current() != build:
                    shutil.rmtree(build.path, ignore_errors=True)
            self._clean()

    def _current(self) -> BuildFolder | None:
        try:
            name = (self.path / "CURRENT").read_text("utf-8").strip()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise StoreError(
                f"{self.path / 'CURRENT'} cannot be read ({error})", hint="check its permissions"
            ) from error
        path = self.path / "builds" / name
        if not name or Path(name).name != name or not path.is_dir():
            message = f"the graph at {self.path} names the build {name!r}, which is not there"
            raise StoreError(message, hint="build it again with `kgdx build`; saved cases of a whole build are kept")
        return BuildFolder.at(path)

    def _publish(self, build: BuildFolder) -> None:
        sync_folder(build.path.parent)
        write_whole(self.path / "CURRENT", build.id + "\n")

    def _recover(self) -> None:
        """Make the newest complete build current where CURRENT was lost, so that what users saved in it is kept.

        The list of its files is a build's last, so one that has it is complete; in layouts without one that is the
        report. Called under the folder's lock.
        """
        try:
            if self._current() is not None:
                return
        except StoreError:
            pass
        builds = list((self.path / "builds").iterdir())
        complete = [path.name for path in builds if (path / build_files.LIST).is_file()]
        earlier = [path.name for path in builds if (path / "report.json").is_file() and not (path / TURN).exists()]
        if complete or earlier:
            self._publish(BuildFolder.at(self.path / "builds" / max(complete or earlier)))

    def _clean(self) -> None:
        try:
            current = self._current()
        except StoreError:
            current = None
        for path in (self.path / "builds").iterdir():
            if current is not None and path == current.path:
                continue
            with _locked(path / "lock", 0.0) as locked:
                if locked is not None:
                    shutil.rmtree(path, ignore_errors=True)
        for leftover in self.path.glob(".CURRENT.*"):
            leftover.unlink(missing_ok=True)

    @contextmanager
    def deciding(self, wait_s: float = WAIT_S) -> Iterator[None]:
        """Hold what people decided in this folder (mappings, mended records), so that no other's decision is lost."""
        end, doing = time.monotonic() + wait_s, "changing mappings or mended records of"
        with self._exclusive(end, "decisions.lock", doing):
            yield

    def _lock_file(self, path: Path) -> Path:
        with _writable(self.path):
            private_file(path)
        return path

    def _mend_lock(self, build: BuildFolder) -> None:
        for name in ("lock", TURN):
            self._lock_file(build.path / name)

    @contextmanager
    def _exclusive(self, end: float, name: str = "lock", doing: str = "building or writing") -> Iterator[None]:
        with _locked(self._lock_file(self.path / name), end) as locked:
            if not locked:
                message = f"another process is {doing} the graph at {self.path}"
                raise StoreLockedError(message, hint="wait for it to finish, then try again; nothing was changed")
            yield


def sound_report(build: BuildFolder) -> BuildReport:
    if not build_files.whole(build.path, build.report.name):
        message = f"the build report {build.report} is not what was written"
        raise StoreError(message, hint="build the graph again with `kgdx build`")
    from kgdx.ingest.pipeline.build_report import read_report

    return read_report(build.report)


@contextmanager
def _locked(path: Path, end: float, *, shared: bool = False) -> Iterator[bool | None]:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        yield False
        return
    try:
        taken = locks.take(handle, shared=shared, wait_s=max(0.0, end - time.monotonic()))
        yield (os.fstat(handle).st_nlink > 0) if taken else None
    finally:
        os.close(handle)


@contextmanager
def _writable(
    path: Path, full: str = "free some space or choose another --store; the graph that was there is unchanged"
) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreError(f"the disk is full at {path}", hint=full) from error
        hint = "check its permissions or choose another --store"
        raise StoreError(f"the graph folder {path} cannot be written ({error.strerror or error})", hint=hint) from error
