"""The files of a build as it left them: recorded before the build has a name, looked at whenever it is opened.

``files.json`` lists all files of a build's folder but those that are derived from its snapshot, which have lists of
their own (:meth:`kgdx.graph.snapshot.Snapshot.derived`). Users' cases are written into the store later on: whoever
writes says so beside it first (``writing``), and records the files again afterwards. Where that was cut short, the
engine brings the store to its last whole state, and its files are known only by what they at least hold; the next write
records them when the store's content, without what users saved, is what the build loaded.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from kgdx.errors import StoreError
from kgdx.files import known as files
from kgdx.files.private import private_file
from kgdx.graph.snapshot import DERIVED
from kgdx.schema.model import PREDICTED

LAYOUT = 3
"""Of a build's folder: 1 had neither tables nor a list of files, 2 had tables, 3 has both."""

LIST = "files.json"
TURN = "turn"
WRITING = "writing"
SAVED = "saved"
"""A file that is there once users have saved into a build since it was made."""

_OWN = ("lock", TURN, LIST, WRITING, SAVED)
_NOTES = ("store/statistics.json", "store/last-tx-id.bin")
"""What the engine notes whenever it closes a store, and does without: damage to it has no effect."""
_ROOM = 8 << 20
"""Bytes that have to be free before a save begins: without them its end could not be written down."""
_STORE, _SNAPSHOT = "store/", "snapshot/"
_GROWS = ".bucket"
"""Files of the store that a write only makes longer; others it may put in the place of each other."""

_AGAIN = "build it again with `kgdx build`"
_CARRIED = f"{_AGAIN}, which carries over what was saved in it"


def record(build: Path) -> None:
    _write(build, files.known(build, _names(build), files.read_list(build / LIST)))


def check(build: Path) -> None:
    """Look whether a build's store and snapshot are what was written: sizes, and the content of what was touched."""
    known = _known(build)
    wanted = {name: was for name, was in known.items() if name.startswith((_STORE, _SNAPSHOT))}
    interrupted = (build / WRITING).exists()
    _refuse(build, _faults(build, wanted, interrupted))
    if not interrupted and files.touched(build, wanted):
        with suppress(OSError):  # a folder for reading only is read through again each time
            times = {name: (build / name).stat().st_mtime_ns for name in wanted}
            looked_at = {name: files.Known(was.size, times[name], was.sha256) for name, was in wanted.items()}
            files.write_list(build / LIST, known | looked_at)


def whole(build: Path, part: str) -> bool:
    """Whether the files of one part of a build are what was written, looked at as :func:`check` does."""
    known = files.read_list(build / LIST)
    if known is None or (part == "store" and (build / WRITING).exists()):
        return False
    wanted = {name: was for name, was in known.items() if name.split("/")[0] == part}
    return bool(wanted) and not _faults(build, wanted, False)


@contextmanager
def changing(build: Path) -> Iterator[None]:
    """Record a build's files again after a write into its store. Called by whoever holds the build alone."""
    check(build)
    if (build / WRITING).exists():
        _refuse(build, _differing(build))
    known = _known(build)
    if shutil.disk_usage(build).free < _ROOM:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    private_file(build / WRITING)
    private_file(build / SAVED)
    files.sync_folder(build)
    try:
        yield
    finally:
        _write(build, files.known(build, _names(build), known))
        (build / WRITING).unlink()


def has_saved(build: Path) -> bool:
    return (build / SAVED).exists() or (build / WRITING).exists()


@dataclass(frozen=True, slots=True)
class Verified:
    path: str
    files: int
    bytes: int
    faults: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()


def refuse_damaged(build: Path) -> None:
    """Read all files of a build, before they are copied."""
    if found := verify(build).faults:
        message = f"the graph in {build} is damaged: {found[0]}"
        raise StoreError(message, hint="build it again with `kgdx build`; nothing was copied")


def verify(build: Path) -> Verified:
    known: Mapping[str, files.Known] = _known(build)
    unchecked: tuple[str, ...] = ()
    found: list[str] = []
    of_store: Mapping[str, files.Known] = {}
    if (build / WRITING).exists():
        of_store = {name: was for name, was in known.items() if name.startswith(_STORE)}
        known = {name: was for name, was in known.items() if name not in of_store}
        found += _faults(build, of_store, True) or _differing(build)
        unchecked = (
            f"a save was cut short, so {len(of_store)} files of the store have no digests until the next save; their"
            " content was compared with what the build loaded, but for what was saved",
        )
    found += files.faults(build, known, whole=True)
    found += [f"{name} is in no list" for name in _names(build) if name not in known and name not in of_store]
    with suppress(ValueError):  # where it is no list, its own digest has said so
        for name, was in files.from_document(_json(build / _SNAPSHOT / "snapshot.json").get("files")).items():
            listed = known.get(f"{_SNAPSHOT}{name}")
            if listed is None or listed.sha256 != was.sha256:
                found.append(f"{_SNAPSHOT}{name} is not what snapshot.json says")
    from kgdx.terms.text_index import CARD  # it brings Arrow, which opening a graph does without

    again, read = [], list(known.values())
    for part in _derived(build):
        own = files.read_list(part / LIST)
        with suppress(ValueError):  # an index of texts says it in its card
            own = own if own is not None else files.from_document(_json(part / CARD).get("files"))
        if own is None or files.faults(part, own, whole=True):
            again.append(part.name)
        else:
            read += own.values()
    return Verified(str(build), len(read), sum(was.size for was in read), tuple(found), tuple(again), unchecked)


def is_listed(build: Path) -> bool:
    return files.read_list(build / LIST) is not None


def _known(build: Path) -> dict[str, files.Known]:
    if (found := files.read_list(build / LIST)) is not None:
        return found
    stated = _json(build / LIST).get("layout")
    if stated is None and not (build / TURN).exists():  # layouts 1 and 2 knew neither
        stated = 2 if (build / "tables.json").exists() else 1
    elif isinstance(stated, int) and stated != files.LAYOUT:
        stated += LAYOUT - files.LAYOUT
    else:
        raise StoreError(f"the list of files of the build at {build} is gone or damaged", hint=_CARRIED)
    made = f"kgdx {_json(build / 'report.json').get('kgdx_version', 'of an unknown version')}"
    message = f"the graph in {build} was made by {made} (layout {stated}; this version reads layout {LAYOUT})"
    raise StoreError(message, hint=_CARRIED)


def _json(file: Path) -> dict[str, object]:
    with suppress(OSError, ValueError):
        if isinstance(content := json.loads(file.read_bytes()), dict):
            return content
    return {}


def _names(build: Path) -> list[str]:
    derived = f"{_SNAPSHOT}{DERIVED}/"
    return [n for n in files.listed(build, without=_OWN) if not n.startswith(derived) and n not in _NOTES]


def _derived(build: Path) -> list[Path]:
    folder = build / _SNAPSHOT / DERIVED
    whole = (part for part in folder.glob("*") if part.is_dir() and part.suffix != ".partial")
    return sorted(part for part in whole if not part.name.startswith("."))


def _faults(build: Path, wanted: Mapping[str, files.Known], interrupted: bool) -> list[str]:
    if not interrupted:
        return files.faults(build, wanted)
    growing = {name: was for name, was in wanted.items() if name.startswith(_STORE) and name.endswith(_GROWS)}
    others = {name: was for name, was in wanted.items() if not name.startswith(_STORE)}
    return files.faults(build, growing, growing=True) + files.faults(build, others)


def _differing(build: Path) -> list[str]:
    from kgdx.graph.arcade.embedded import ArcadeStore  # only after a save that was cut short
    from kgdx.graph.tables import combine, digests
    from kgdx.ingest.pipeline.built_graph import BuiltGraph, stated_graph

    try:
        with ArcadeStore.open(build / "store") as store:
            found = {part: digest for part, digest in digests(store.tables()).items() if _of_sources(*part)}
    except StoreError as error:
        return [f"{_STORE} cannot be read ({error.message})"]
    graph = stated_graph(build / "tables.json") or BuiltGraph()
    loaded = {part: digest for part, digest in graph.parts.items() if digest[0] and _of_sources(*part)}
    if not loaded:  # copied from a server
        same = combine(found) == _json(build / "report.json").get("fingerprint")
        return [] if same else [f"{_STORE} does not hold what was loaded"]
    wrong = sorted(part for part in found.keys() | loaded.keys() if found.get(part) != loaded.get(part))
    return [f"{_STORE} does not hold what was loaded of {title} ({source})" for title, source in wrong]


def _of_sources(title: str, source: str) -> bool:
    return source != "user" and f"-{PREDICTED}->" not in title


def _write(build: Path, known: Mapping[str, files.Known]) -> None:
    files.settle_folders(build)
    for name in _NOTES:
        if (build / name).exists():
            private_file(build / name)
    files.write_list(build / LIST, known)


def _refuse(build: Path, faults: list[str]) -> None:
    if faults:
        more = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
        which = "store" if faults[0].startswith(_STORE) else "snapshot"
        message = f"the {which} of the graph in {build} is damaged: {faults[0]}{more}"
        raise StoreError(message, hint=f"{_AGAIN}; `kgdx verify` lists all that is wrong")
