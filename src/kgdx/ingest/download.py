"""Downloads over HTTP: resumed where they stopped, fetched again only when changed, retried politely, checksummed.

The cache holds ``<digest of the URL>-<name>`` with ``.json`` beside it (validator and SHA-256); while it is incomplete,
``.part`` and ``.part.json``. Of several processes that want one file, one fetches it and the others find it.
"""

from __future__ import annotations

import datetime
import email.utils
import errno
import hashlib
import http.client
import json
import os
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kgdx.errors import SourceError
from kgdx.files.known import sync_folder, write_whole
from kgdx.files.locks import take

CHUNK = 1 << 20
TIMEOUT_S = 30
ATTEMPTS = 5
LONGEST_WAIT_S = 120.0
MOST = 1 << 36
"""Bytes beyond which a download is taken for one without end."""
_TEMPORARY = (408, 425, 429, 500, 502, 503, 504)


@dataclass(frozen=True, slots=True)
class Downloaded:
    """A file in the cache.

    Attributes:
        path: Where it lies.
        checksum: Its SHA-256.
        note: What the user should know: that the server could not be asked whether there is a newer one.
    """

    path: Path
    checksum: str
    note: str = ""


def download(
    url: str,
    cache: Path,
    *,
    expected: str | None = None,
    progress: Callable[[int, int], None] = lambda _arrived, _total: None,
) -> Downloaded:
    """Bring a file into the cache, or find it there.

    Where the server cannot be reached, a complete file of an earlier download is taken, with a note.

    Args:
        url: ``http://`` or ``https://``.
        cache: The folder of downloads.
        expected: SHA-256 that the file must have.
        progress: Called with the number of bytes that have arrived, and how many there are (0 if that is not known).

    Raises:
        SourceError: It cannot be downloaded, has another checksum, is endless, or cannot be written.
    """
    name = Path(urllib.parse.urlsplit(url).path).name or "download"
    target = cache / f"{hashlib.sha256(url.encode()).hexdigest()[:16]}-{name}"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _alone(target):
            if target.exists() and _known(target).get("sha256") != _sha256(target):
                _forget(target)  # damaged on the disk, or of an interrupted earlier version
            note = _with_patience(url, target, progress)
            checksum = _sha256(target)
    except OSError as error:
        reason = error.strerror or error
        raise SourceError(f"cannot write the download to {cache} ({reason})", hint="free some disk space") from error
    if expected not in (None, checksum):
        _forget(target)
        message = f"{url} has not the checksum that its manifest names (SHA-256 {checksum[:16]}…)"
        hint = "fetch it again; if its publisher has a new version, download that and give it as NAME=FILE"
        raise SourceError(message, hint=hint)
    return Downloaded(target, checksum, note)


@contextmanager
def _alone(target: Path) -> Iterator[None]:
    """Let no other process fetch the same file meanwhile."""
    handle = os.open(target.with_name(f".{target.name}.lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    try:
        take(handle)
        yield
    finally:
        os.close(handle)


def _with_patience(url: str, target: Path, progress: Callable[[int, int], None]) -> str:
    """Try until it is there; returns a note where an earlier download has to do."""
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
    """Return whether there is no network, or no such host: asking once more is enough."""
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
    _remember(target, validator=validator, sha256=_sha256(part))
    with part.open("rb") as stream:
        os.fsync(stream.fileno())
    os.replace(part, target)
    sync_folder(target.parent)
    _forget(part)


def _receive(
    url: str, answer: http.client.HTTPResponse, part: Path, received: int, progress: Callable[[int, int], None]
) -> int:
    """Write what arrives, and return how long the file is then."""
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
    """Return how many seconds to wait: as long as the server asks for, up to two minutes, or ever longer.

    Example:
        >>> wait_of("7", 0), wait_of(None, 3), wait_of("Fri, 31 Dec 1999 23:59:59 GMT", 0), wait_of("soon", 1)
        (7.0, 8.0, 0.0, 2.0)
    """
    if retry_after is None:
        return float(2**attempt)
    if retry_after.strip().isdigit():
        return min(float(retry_after), LONGEST_WAIT_S)
    try:
        until = email.utils.parsedate_to_datetime(retry_after)
    except ValueError:
        return float(2**attempt)
    left = (until - datetime.datetime.now(datetime.UTC)).total_seconds()
    return min(max(0.0, left), LONGEST_WAIT_S)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


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
