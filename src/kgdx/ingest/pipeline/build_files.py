"""The files of a build as it left them: recorded before the build has a name, looked at whenever it is opened.

``files.json`` lists all files of a build's folder but those that are derived from its snapshot, which have lists of
their own (:meth:`kgdx.graph.snapshot.Snapshot.derived`). Users' cases are written into the store later on: whoever
writes says so beside it first (``writing``), and records the files again afterwards. Where that was cut short, the
engine brings the store to its last whole state, and until the next write its files are known only by what they at
least hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from kgdx.errors import StoreError
from kgdx.files import known as files
from kgdx.files.private import private_file
from kgdx.graph.snapshot import DERIVED

LIST = "files.json"
WRITING = "writing"
SAVED = "saved"
"""A file that is there once users have saved into a build since it was made."""

_OWN = ("lock", "turn", LIST, WRITING, SAVED)
_NOTES = ("store/statistics.json", "store/last-tx-id.bin")
"""What the engine notes whenever it closes a store, and does without: damage to it has no effect."""
_STORE, _SNAPSHOT = "store/", "snapshot/"
_GROWS = ".bucket"
"""Files of the store that a write only makes longer; others it may put in the place of each other."""

_AGAIN = "build it again with `kgdx build`"


def record(build: Path) -> None:
    """List all files of a build, and bring them to the disk; the list is there last.

    Raises:
        OSError: A file cannot be read, or the disk is full.
    """
    _write(build, files.known(build, _names(build), files.read_list(build / LIST)))


def check(build: Path) -> None:
    """Look whether a build's store and snapshot are what was written: sizes, and the content of what was touched.

    Raises:
        StoreError: They are not.
    """
    known = _known(build)
    wanted = {name: was for name, was in known.items() if name.startswith((_STORE, _SNAPSHOT))}
    interrupted = (build / WRITING).exists()
    found = _faults(build, wanted, interrupted)
    if found:
        raise _damaged(build, found)
    if not interrupted and files.touched(build, wanted):
        with suppress(OSError):  # a folder for reading only is read through again each time
            files.write_list(build / LIST, _with_times(build, known))


def whole(build: Path, part: str) -> bool:
    """Whether the files of one part of a build are what was written, looked at as :func:`check` does.

    Args:
        build: The build's folder.
        part: File or folder at its top, such as ``store`` or ``report.json``.
    """
    known = files.read_list(build / LIST)
    if known is None:
        return False
    wanted = {name: was for name, was in known.items() if name.split("/")[0] == part}
    return bool(wanted) and not _faults(build, wanted, (build / WRITING).exists())


@contextmanager
def changing(build: Path) -> Iterator[None]:
    """Record a build's files again after a write into its store. Called by whoever holds the build alone.

    Raises:
        StoreError: The store is damaged: nothing is written into it, and damage is not recorded as what was written.
    """
    check(build)
    known = _known(build)
    private_file(build / WRITING)
    private_file(build / SAVED)
    files.sync_folder(build)
    try:
        yield
    finally:
        _write(build, files.known(build, _names(build), known))
        (build / WRITING).unlink()


def has_saved(build: Path) -> bool:
    """Whether users may have saved into a build since it was made."""
    return (build / SAVED).exists() or (build / WRITING).exists()


@dataclass(frozen=True, slots=True)
class Verified:
    """What a comparison of all files of a build with their digests has found.

    Attributes:
        path: The build's folder.
        files: How many files were read.
        bytes: How many bytes.
        faults: What is wrong, a few words for each.
        again: Derived parts that are damaged; each is made again when it is next needed.
        remarks: What could not be told.
    """

    path: str
    files: int
    bytes: int
    faults: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def verify(build: Path) -> Verified:
    """Read all files of a build and compare them with their digests.

    Raises:
        StoreError: The list of files is gone or damaged.
    """
    known: Mapping[str, files.Known] = _known(build)
    remarks: tuple[str, ...] = ()
    found: list[str] = []
    if (build / WRITING).exists():
        of_store = {name: was for name, was in known.items() if name.startswith(_STORE)}
        known = {name: was for name, was in known.items() if name not in of_store}
        found += _faults(build, of_store, True)
        remarks = ("a save was cut short: the store's digests are known again after the next one",)
    found += files.faults(build, known, whole=True)
    again, read = [], list(known.values())
    for part in _derived(build):
        own = files.read_list(part / LIST)
        if own is None or files.faults(part, own, whole=True):
            again.append(part.name)
        else:
            read += own.values()
    return Verified(str(build), len(read), sum(was.size for was in read), tuple(found), tuple(again), remarks)


def _known(build: Path) -> dict[str, files.Known]:
    found = files.read_list(build / LIST)
    if found is None:
        raise StoreError(f"the list of files of the build at {build} is gone or damaged", hint=_AGAIN)
    return found


def _names(build: Path) -> list[str]:
    derived = f"{_SNAPSHOT}{DERIVED}/"
    return [n for n in files.listed(build, without=_OWN) if not n.startswith(derived) and n not in _NOTES]


def _derived(build: Path) -> list[Path]:
    folder = build / _SNAPSHOT / DERIVED
    return sorted(part for part in folder.glob("*") if part.is_dir() and not part.name.startswith("."))


def _faults(build: Path, wanted: Mapping[str, files.Known], interrupted: bool) -> list[str]:
    if not interrupted:
        return files.faults(build, wanted)
    growing = {name: was for name, was in wanted.items() if name.startswith(_STORE) and name.endswith(_GROWS)}
    others = {name: was for name, was in wanted.items() if not name.startswith(_STORE)}
    return files.faults(build, growing, growing=True) + files.faults(build, others)


def _with_times(build: Path, known: Mapping[str, files.Known]) -> dict[str, files.Known]:
    """The same content with the times that files have now: :func:`check` has read through what was touched."""
    checked = (_STORE, _SNAPSHOT)
    return {
        name: files.Known(was.size, (build / name).stat().st_mtime_ns, was.sha256) if name.startswith(checked) else was
        for name, was in known.items()
    }


def _write(build: Path, known: Mapping[str, files.Known]) -> None:
    files.settle_folders(build)
    for name in _NOTES:
        if (build / name).exists():
            private_file(build / name)
    files.write_list(build / LIST, known)


def _damaged(build: Path, found: list[str]) -> StoreError:
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    which = "store" if found[0].startswith(_STORE) else "snapshot"
    message = f"the {which} of the graph in {build} is damaged: {found[0]}{more}"
    return StoreError(message, hint=f"{_AGAIN}; `kgdx verify` lists all that is wrong")
