"""What a client waits for that has nothing but a Neo4j's address; ``python -m benchmarks.fetch URI``.

A graph is in the database already (`kgdx push`; the password comes from ``KGDX_NEO4J_PASSWORD``). Each
client is a process with a state folder of its own, and reaches the server over a proxy that counts bytes. It opens the
graph and diagnoses one patient: first from the snapshot that is stored beside the graph, then from one that it exports
and compiles itself, as it would where none is stored. Nothing is written into the database. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from urllib.parse import urlsplit

CLIENT = """
import json, sys, time
import kgdx
from kgdx.actions.graph_source import ServerSource
from kgdx.actions.server_snapshot import ServerSnapshots
from kgdx.config import Settings
from kgdx.errors import StoreError

def refuse(self):
    raise StoreError("a reader")

ServerSource.writing = refuse
if sys.argv[2] == "compiled":
    ServerSnapshots._fetched = lambda *_: None
laps = []
def lap():
    laps.append((time.perf_counter(), time.process_time()))
lap()
graph = kgdx.open(sys.argv[1])
graph.snapshot
lap()
found = graph.diagnose(["HP:0000414", "HP:0002553", "HP:0010049"], top=3)
lap()
print(json.dumps({"laps": laps, "first": found.candidates[0].id, "fingerprint": graph.fingerprint}))
"""


@dataclass
class Proxy:
    """Passes connections on to a server, and counts the bytes that come back."""

    host: str
    port: int
    received: int = 0
    listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))

    def serve(self) -> None:
        with contextlib.suppress(OSError):  # the listener is closed at the end
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection((self.host, self.port))
                for source, target, back in ((client, server, False), (server, client, True)):
                    threading.Thread(target=self.pump, args=(source, target, back), daemon=True).start()

    def pump(self, source: socket.socket, target: socket.socket, back: bool) -> None:
        with contextlib.suppress(OSError):
            while block := source.recv(1 << 16):
                self.received += len(block) if back else 0
                target.sendall(block)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def proxied(uri: str) -> Iterator[tuple[str, Proxy]]:
    """An address that leads to the server, and the count of what comes from there."""
    place = urlsplit(uri)
    proxy = Proxy(place.hostname or "127.0.0.1", place.port or 7687)
    threading.Thread(target=proxy.serve, daemon=True).start()
    with proxy.listener:
        yield f"bolt://127.0.0.1:{proxy.listener.getsockname()[1]}", proxy


def client(uri: str, way: str) -> tuple[str, list[tuple[str, ...]]]:
    """Let a new client open the graph one way; returns what it found, and rows of the table."""
    with proxied(uri) as (address, proxy), tempfile.TemporaryDirectory(prefix="kgdx-fetch-") as home:
        environ = {name: value for name, value in os.environ.items() if name not in ("KGDX_STORE", "KGDX_CACHE")}
        done = subprocess.run(
            [sys.executable, "-c", CLIENT, address, way],
            env={**environ, "KGDX_HOME": home},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        said = json.loads(done.stdout)
        size = proxy.received
    rows = []
    names = (f"snapshot {way}, {size / 1e6:.1f} MB over the network", "… first diagnosis after it")
    for name, (before, after) in zip(names, pairwise(said["laps"]), strict=True):
        rows.append((name, f"{after[0] - before[0]:.1f} s", f"{after[1] - before[1]:.1f} s"))
    return f"{said['first']} {said['fingerprint']}", rows


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("uri", help="the Neo4j, as bolt://host:port")
    options = parser.parse_args(arguments)
    found, rows = zip(*(client(options.uri, way) for way in ("fetched", "compiled")), strict=True)
    print("| what | wall time | processor time |\n|---|---|---|")
    for row in (each for part in rows for each in part):
        print(f"| {' | '.join(row)} |")
    if found[0] != found[1]:
        print(f"the clients differ: {found[0]}, {found[1]}", file=sys.stderr)
    return int(found[0] != found[1])


if __name__ == "__main__":
    sys.exit(main())
