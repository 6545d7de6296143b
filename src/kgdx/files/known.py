"""What is known of the files of a folder: sizes and SHA-256, so that damage is noticed before it answers.

A file whose size and time of change are as they were is taken for what it was; one whose time alone has changed is read
through. So opening costs a look at the directory, whatever a program or a hand has changed since is noticed, and only
what a disk loses by itself has to be looked for (:func:`faults` with ``whole``). No two files of one size have the same
time, so that files are noticed that were given each other's names.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from kgdx.files.private import FILE, FOLDER, private_file

LAYOUT = 1
"""Version of the list's form."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one file.

    Attributes:
        changed: When it was changed last, in nanoseconds since 1970.
    """

    size: int
    changed: int
    sha256: str


Files = Mapping[str, Known]
"""Files by their paths within a folder."""


def listed(folder: Path, *, without: Iterable[str] = ()) -> list[str]:
    """Return the paths of all files within a folder, sorted.

    Args:
        without: Names of files and folders at its top that do not count.
    """
    left_out = set(without)
    found = []
    for place, folders, files in os.walk(folder):
        inside = Path(place).relative_to(folder)
        if not inside.parts:
            folders[:] = [name for name in folders if name not in left_out]
            files = [name for name in files if name not in left_out]
        found += [(inside / name).as_posix() for name in files]
    return sorted(found)


def known(folder: Path, names: Iterable[str], before: Files | None = None) -> dict[str, Known]:
    """Look at files, reading those through that are not as they were before, and bring these to the disk."""
    earlier = before or {}

    def look(name: str) -> Known:
        file = folder / name
        state = file.stat()
        there = earlier.get(name)
        if there is not None and (there.size, there.changed) == (state.st_size, state.st_mtime_ns):
            return there
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
            os.fsync(stream.fileno())
        if state.st_mode & 0o077:
            file.chmod(FILE)
        return Known(state.st_size, state.st_mtime_ns, digest)

    wanted = sorted(names)
    with ThreadPoolExecutor(4) as pool:  # digests are made, and files brought to the disk, outside of Python
        return _told_apart(folder, dict(zip(wanted, pool.map(look, wanted), strict=True)))


def _told_apart(folder: Path, found: dict[str, Known]) -> dict[str, Known]:
    taken: dict[tuple[int, int], str] = {}
    for name, each in found.items():
        changed = each.changed
        while taken.get((each.size, changed), each.sha256) != each.sha256:
            changed += 1
        if changed != each.changed:
            os.utime(folder / name, ns=(changed, changed))
            with (folder / name).open("rb") as stream:
                os.fsync(stream.fileno())
                changed = os.fstat(stream.fileno()).st_mtime_ns  # as exact as the file system has it
            found[name] = Known(each.size, changed, each.sha256)
        taken[each.size, changed] = each.sha256
    return found


def faults(folder: Path, files: Files, *, whole: bool = False, growing: bool = False) -> list[str]:
    """Return what is wrong with files, a few words for each; nothing where they are what they were.

    Args:
        whole: Whether to read all of them through, rather than those alone that were touched.
    """

    def fault(name: str) -> str | None:
        was = files[name]
        try:
            state = (folder / name).stat()
            if state.st_size != was.size:
                if growing and state.st_size > was.size:
                    return None
                return f"{name} has {state.st_size:,} bytes, not {was.size:,}"
            if growing or (not whole and state.st_mtime_ns == was.changed):
                return None
            with (folder / name).open("rb") as stream:
                same = hashlib.file_digest(stream, "sha256").hexdigest() == was.sha256
        except FileNotFoundError:
            return f"{name} is gone"
        except OSError as error:
            return f"{name} cannot be read ({error.strerror or error})"
        return None if same else f"{name} is not what was written"

    if not whole:
        return [found for found in map(fault, files) if found]
    with ThreadPoolExecutor(4) as pool:
        return [found for found in pool.map(fault, files) if found]


def touched(folder: Path, files: Files) -> bool:
    """Whether any file has another time of change, as after a copy, so that each look reads it through."""
    with suppress(OSError):
        return any((folder / name).stat().st_mtime_ns != was.changed for name, was in files.items())
    return True


def as_document(files: Files) -> dict[str, list[object]]:
    return {name: [was.size, was.changed, was.sha256] for name, was in sorted(files.items())}


def from_document(document: object) -> dict[str, Known]:
    """Return the list that JSON values state."""
    if not isinstance(document, dict):
        raise ValueError("no list of files")
    found = {}
    for name, stated in document.items():
        match stated:
            case [int(size), int(changed), str(sha256)]:
                found[str(name)] = Known(size, changed, sha256)
            case _:
                raise ValueError(f"nothing is known of {name}")
    return found


def digest_of(document: object) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def write_list(file: Path, files: Files) -> None:
    """Write a list, in one step; it is on the disk when this returns."""
    document = as_document(files)
    text = json.dumps({"layout": LAYOUT, "checksum": digest_of(document), "files": document})
    write_whole(file, text)


def read_list(file: Path) -> dict[str, Known] | None:
    """Read a list; ``None`` where there is none, or it is damaged or of another layout."""
    try:
        content = json.loads(file.read_bytes())
        if content["layout"] != LAYOUT or content["checksum"] != digest_of(content["files"]):
            return None
        return from_document(content["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_whole(file: Path, content: str | bytes) -> None:
    """Write a private file in one step; it and its name are on the disk when this returns."""
    with whole_file(file) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def whole_file(file: Path) -> Iterator[Path]:
    """Give a private file to write beside another, whose place it takes in one step when it is on the disk.

    It is removed where the block fails, and the other stays as it was.
    """
    temporary = file.with_name(f".{file.name[:40]}.{secrets.token_hex(4)}")
    try:
        yield private_file(temporary)
        with temporary.open("rb") as stream:
            os.fsync(stream.fileno())
        os.replace(temporary, file)
        sync_folder(file.parent)
    finally:
        temporary.unlink(missing_ok=True)


def add_to(file: Path, content: bytes) -> None:
    """Add to the end of a private file, made where there is none; it and its name are on the disk when this returns."""
    new = not file.exists()
    with private_file(file).open("ab") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    if new:
        sync_folder(file.parent)


def place(made: Path, folder: Path) -> None:
    """Give a folder that was made beside another place its name, in one step; all of it is on the disk before that."""
    for name in listed(made):
        with (made / name).open("rb") as stream:
            os.fsync(stream.fileno())
    settle_folders(made)
    os.rename(made, folder)
    sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    if not hasattr(os, "O_DIRECTORY"):  # where folders cannot be opened, names are kept with their files
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def settle_folders(folder: Path) -> None:
    """Close a folder and all folders within it to others, and bring the names in them to the disk."""
    for place, _, _ in os.walk(folder):
        if os.stat(place).st_mode & 0o077:
            os.chmod(place, FOLDER)
        sync_folder(Path(place))
