"""Source files: of an installed package, at a path, or behind a URL, and their checksums.

A download is resumed where it stopped, fetched again only when changed, retried politely. The cache holds
``<digest of the URL>-<name>`` with ``.json`` beside it (validator and SHA-256); while it is incomplete, ``.part`` and
``.part.json``. Of several processes that want one file, one fetches it and the others find it.
"""

from __future__ import annotations

import datetime
import email.utils
import errno
import hashlib
import http.client
import importlib.metadata
import json
import os
import re
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kgdx.errors import SourceError, refusing
from kgdx.files.known import digest_of, sync_folder, write_whole
from kgdx.files.locks import take
from kgdx.files.private import possible
from kgdx.resources import resource

DIGESTS = "digests.json"
"""Name of the file beside the stages."""

Signature = list[list[Any]]
"""Of each file: name below the path, size, time of the last change in nanoseconds, inode."""


def signature(path: Path) -> Signature:
    """Return in what state a file, or every file of a folder, is; equal signatures mean an unchanged content."""
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    found = []
    for file in files:
        state = file.stat()
        found.append([str(file.relative_to(path)), state.st_size, state.st_mtime_ns, state.st_ino])
    return found


class Digests:
    """Checksums of files, kept in one JSON file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, Any] = {}
        try:
            content = json.loads(path.read_bytes())
            if content["checksum"] == digest_of(content["files"]):
                self._known = content["files"]
        except (OSError, ValueError, KeyError, TypeError):
            pass

    def of(self, path: Path, read: Callable[[Path], str]) -> str:
        """Return a file's or folder's digest, computed by ``read`` when it is not known."""
        known = self._known.get(str(path.absolute()))
        try:
            state = signature(path)
        except OSError:
            return read(path)  # which says what is wrong
        if known is not None and known["signature"] == state:
            return str(known["digest"])
        digest = read(path)
        self._known[str(path.absolute())] = {"signature": state, "digest": digest}
        return digest

    def unchanged(self, path: Path) -> bool | None:
        """Return whether a file has the content that was read last, written anew or not; ``None`` when it never was."""
        if (known := self._known.get(str(path.absolute()))) is None:
            return None
        try:
            return bool(known["signature"] == signature(path) or known["digest"] == file_digest(path, str(path)))
        except (OSError, SourceError):
            return False

    def write(self) -> None:
        kept = {path: known for path, known in self._known.items() if Path(path).exists()}
        write_whole(self._path, json.dumps({"checksum": digest_of(kept), "files": kept}))


CHUNK = 1 << 20
TIMEOUT_S = 30
ATTEMPTS = 5
LONGEST_WAIT_S = 120.0
MOST = 1 << 36
"""Bytes beyond which a download is taken for one without end."""
_TEMPORARY = (408, 425, 429, 500, 502, 503, 504)
_OWN = "kgdx"
_PACKAGED = re.compile(r"(?P<package>[A-Za-z][\w.-]+):(?P<file>[\w./-]+)")


@dataclass(frozen=True, slots=True)
class SourceFile:
    path: Path
    origin: str
    checksum: str
    note: str = ""


def fetch(
    origin: str,
    cache: Path,
    *,
    expected: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    digests: Digests | None = None,
    folder: bool = True,
) -> SourceFile:
    scheme = urllib.parse.urlsplit(origin).scheme
    if scheme in ("http", "https"):
        return download(origin, cache, expected, progress or (lambda _arrived, _total: None))
    if scheme == "file":
        path = Path(urllib.request.url2pathname(urllib.parse.urlsplit(origin).path))
    elif (packaged := _PACKAGED.fullmatch(origin)) and not Path(origin).exists():
        path = _packaged(packaged["package"], packaged["file"], origin)
    else:
        path = possible(origin)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise SourceError(f"{origin} is no regular file", hint="save its content to a file first")
    if path.is_dir() and not folder:
        raise SourceError(f"{origin} is a folder", hint="name the file in it")
    checksum = partial(file_digest, origin=origin)
    return SourceFile(path, origin, checksum(path) if digests is None else digests.of(path, checksum))


def _packaged(package: str, file: str, origin: str) -> Path:
    if package == _OWN:
        return resource("data", *file.split("/"))
    try:
        distribution = importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        message = f"{origin} is in the package {package}, which is not installed"
        raise SourceError(message, hint=f"pip install {package}") from None
    for entry in distribution.files or ():
        if entry.as_posix().endswith("/" + file):
            return Path(str(entry.locate()))
    message = f"the installed package {package} has no file {file}"
    raise SourceError(message, hint="name another version's file by its path")


def file_digest(path: Path, origin: str) -> str:
    try:
        if path.is_dir():
            files = sorted(file for file in path.rglob("*") if file.is_file())
            total = hashlib.sha256()
            for file in files:
                total.update(f"{file.relative_to(path).as_posix()}\0{file_digest(file, origin)}\0".encode())
            return total.hexdigest()
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        raise SourceError(f"no such file: {origin}", hint="check the path") from None
    except OSError as error:
        message = f"{origin} cannot be read ({error.strerror or error})"
        raise SourceError(message, hint="check its permissions") from error


def download(url: str, cache: Path, expected: str | None, progress: Callable[[int, int], None]) -> SourceFile:
    """Bring a file into the cache, or find it there.

    Where the server cannot be reached, a complete file of an earlier download is taken, with a note.
    """
    name = Path(urllib.parse.urlsplit(url).path).name or "download"
    target = cache / f"{hashlib.sha256(url.encode()).hexdigest()[:16]}-{name}"
    with refusing(SourceError, f"cannot write the download to {cache}", "free some disk space"):
        cache.mkdir(parents=True, exist_ok=True)
        with _alone(target):
            if target.exists() and _known(target).get("sha256") != file_digest(target, url):
                _forget(target)  # damaged on the disk, or of an interrupted earlier version
            note = _with_patience(url, target, progress)
            checksum = file_digest(target, url)
    if expected not in (None, checksum):
        _forget(target)
        message = f"{url} has not the checksum that its manifest names (SHA-256 {checksum[:16]}…)"
        hint = "fetch it again; if its publisher has a new version, download that and give it as NAME=FILE"
        raise SourceError(message, hint=hint)
    return SourceFile(target, url, checksum, note)


@contextmanager
def _alone(target: Path) -> Iterator[None]:
    handle = os.open(target.with_name(f".{target.name}.lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    try:
        take(handle)
        yield
    finally:
        os.close(handle)


def _with_patience(url: str, target: Path, progress: Callable[[int, int], None]) -> str:
    for attempt in range(ATTEMPTS):
        last = attempt == ATTEMPTS - 1
        try:
            _attempt(url, target, progress)
            return ""
        except urllib.error.HTTPError as error:
            error.close()
            if error.code not in _TEMPORARY or last:
                said = " ".join(str(error.reason).split())
                hint = "check the URL, or fetch the file yourself and give its path"
                raise SourceError(f"{url} answers {error.code} {said}", hint=hint) from error
            time.sleep(wait_of(error.headers.get("Retry-After"), attempt))
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
            if last or _is_offline(error, attempt):
                reason = " ".join(str(getattr(error, "reason", None) or error or type(error).__name__).split())
                if target.exists():
                    return f"{url} cannot be reached ({reason}); the file of an earlier download is used"
                hint = "check the network and run it again (it goes on where it stopped), or give a local path"
                raise SourceError(f"{url} cannot be downloaded ({reason})", hint=hint) from error
            time.sleep(wait_of(None, attempt))
    raise AssertionError("unreachable: the last attempt returns or raises")


def _is_offline(error: Exception, attempt: int) -> bool:
    reason = getattr(error, "reason", error)
    unreachable = isinstance(reason, OSError) and reason.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH)
    return attempt > 0 and (isinstance(reason, socket.gaierror) or unreachable)


def _attempt(url: str, target: Path, progress: Callable[[int, int], None]) -> None:
    part = target.with_name(target.name + ".part")
    received = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "kgdx", "Accept-Encoding": "identity"}
    if received and (validator := _known(part).get("validator")):
        headers |= {"Range": f"bytes={received}-", "If-Range": validator}
    elif target.exists() and (validator := _known(target).get("validator")):
        headers["If-None-Match" if '"' in validator else "If-Modified-Since"] = validator
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT_S) as answer:
            resumed = answer.status == 206
            if resumed and not answer.headers.get("Content-Range", "").startswith(f"bytes {received}-"):
                _forget(part)
                raise http.client.IncompleteRead(b"")  # another piece than the one that was asked for
            if not resumed:
                _forget(part)
                _remember(part, validator=answer.headers.get("ETag") or answer.headers.get("Last-Modified"))
            arrived = _receive(url, answer, part, received if resumed else 0, progress)
            length = answer.headers.get("Content-Range", "").rpartition("/")[2] or answer.headers.get("Content-Length")
    except urllib.error.HTTPError as error:
        if error.code == 304:
            return
        if error.code == 416:  # the part is not a beginning of what the server has now
            _forget(part)
            raise http.client.IncompleteRead(b"") from error
        raise
    if length and length.isdigit() and arrived != int(length):
        if arrived > int(length):
            _forget(part)
        raise http.client.IncompleteRead(b"", max(0, int(length) - arrived))
    validator = _known(part).get("validator")
    _forget(target)
    _remember(target, validator=validator, sha256=file_digest(part, url))
    with part.open("rb") as stream:
        os.fsync(stream.fileno())
    os.replace(part, target)
    sync_folder(target.parent)
    _forget(part)


def _receive(
    url: str, answer: http.client.HTTPResponse, part: Path, received: int, progress: Callable[[int, int], None]
) -> int:
    length = answer.headers.get("Content-Length", "")
    total = received + int(length) if length.isdigit() else 0
    with part.open("ab" if received else "wb") as stream:
        while block := answer.read(CHUNK):
            stream.write(block)
            if stream.tell() > MOST:
                stream.truncate(0)
                hint = "no source is that large: check the URL"
                raise SourceError(f"{url} sends more than {MOST >> 30} GiB", hint=hint)
            progress(stream.tell(), total)
        return stream.tell()


def wait_of(retry_after: str | None, attempt: int) -> float:
    """Return how many seconds to wait: as long as the server asks for, up to two minutes, or ever longer."""
    asked = (retry_after or "").strip()
    if asked.isdigit():
        return min(float(asked), LONGEST_WAIT_S)
    try:
        until = email.utils.parsedate_to_datetime(asked)
    except ValueError:
        return float(2**attempt)
    left = (until - datetime.datetime.now(datetime.UTC)).total_seconds()
    return min(max(0.0, left), LONGEST_WAIT_S)


def _beside(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _known(path: Path) -> Mapping[str, str]:
    try:
        content = json.loads(_beside(path).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _remember(path: Path, **facts: str | None) -> None:
    write_whole(_beside(path), json.dumps({name: fact for name, fact in facts.items() if fact}))


def _forget(path: Path) -> None:
    path.unlink(missing_ok=True)
    _beside(path).unlink(missing_ok=True)
