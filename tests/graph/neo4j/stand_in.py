"""A cluster of stand-ins: each member speaks Bolt for one real server, and knows which part it plays.

Neo4j's free edition has no clusters. So a member answers the question for the routing table itself, refuses writes
where it is no leader with the code that a real one sends, notes what it was asked, and passes on all else.
With a TLS context it also ends the encryption that the server has none of.
"""

from __future__ import annotations

import select
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from conftest import require_program

_BOLT_5_4 = b"\x60\x60\xb0\x17" + b"\x00\x00\x04\x05" + bytes(12)
BEGIN, COMMIT = 0x11, 0x12
_RUN, _ROUTE, _RESET = 0x10, 0x66, 0x0F
_SUCCESS, _FAILURE, _IGNORED = 0x70, 0x7F, 0x7E


class Member:
    """One member; its port accepts callers until it is closed.

    Attributes:
        port: Where it listens.
        role: ``WRITE`` for the leader, ``READ`` for a replica; can be changed.
        asked: The transactions that were begun or run here, as the bytes of their first message.
        cut_at: Kind of message at which a connection is cut, and how often it is passed on before; then ``None`` again.
    """

    def __init__(self, cluster: Cluster, role: str) -> None:
        self.role = role
        self.asked: list[bytes] = []
        self.cut_at: tuple[int, int] | None = None
        self._cluster = cluster
        self._counting = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def reads(self) -> int:
        return sum(_reads(each) for each in self.asked)

    @property
    def writes(self) -> int:
        return len(self.asked) - self.reads

    def close(self) -> None:
        for each in (self._listening, *self._sockets):
            _end(each)

    def _accept(self) -> None:
        while True:
            try:
                caller, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(caller,), daemon=True).start()

    def _serve(self, caller: socket.socket) -> None:
        server = socket.create_connection(self._cluster.server)
        try:
            if self._cluster.tls is not None:
                caller = _decrypted(self._cluster.tls.wrap_socket(caller, server_side=True))
            self._sockets += [caller, server]
            _exactly(caller, 20)
            server.sendall(_BOLT_5_4)
            caller.sendall(_exactly(server, 4))
            threading.Thread(target=_copy, args=(server, caller), daemon=True).start()
            self._talk(caller, server)
        except OSError:  # either side has gone
            pass
        finally:
            _end(caller)
            _end(server)

    def _talk(self, caller: socket.socket, server: socket.socket) -> None:
        refused = False
        for raw, message in _messages(caller):
            kind = message[1]
            if self._is_cut(kind):
                return
            if kind in (BEGIN, _RUN) and (kind == BEGIN or b"\x84mode" in message):
                self.asked.append(message)
            if kind == _ROUTE:
                caller.sendall(_chunked(_SUCCESS, {"rt": self._cluster.table()}))
            elif kind == _RESET:
                refused = False
                server.sendall(raw)
            elif refused:
                caller.sendall(_chunked(_IGNORED))
            elif kind == BEGIN and self.role == "READ" and not _reads(message):
                refused = True
                code = "Neo.ClientError.Cluster.NotALeader"
                caller.sendall(_chunked(_FAILURE, {"code": code, "message": "no write operations are allowed here"}))
            else:
                server.sendall(raw)

    def _is_cut(self, kind: int) -> bool:
        with self._counting:
            if self.cut_at is None or self.cut_at[0] != kind:
                return False
            left = self.cut_at[1]
            self.cut_at = (kind, left - 1) if left else None
            return not left


class Cluster:
    """Some members in front of one server.

    Attributes:
        advertised: The host of the addresses in the routing table.
    """

    advertised = "127.0.0.1"

    def __init__(self, uri: str, roles: tuple[str, ...] = ("WRITE", "READ"), tls: ssl.SSLContext | None = None) -> None:
        host, _, port = uri.rpartition("://")[2].partition(":")
        self.server = (host, int(port))
        self.tls = tls
        self.members = [Member(self, role) for role in roles]

    def uri(self, scheme: str, host: str = "127.0.0.1") -> str:
        return f"{scheme}://{host}:{self.members[0].port}"

    def table(self) -> dict[str, Any]:
        """Return the routing table as a server states it; without replicas, the leader is read from."""
        servers: list[dict[str, Any]] = [{"role": "ROUTE", "addresses": self._addresses()}]
        servers += [{"role": role, "addresses": self._addresses(role)} for role in ("READ", "WRITE")]
        servers[1]["addresses"] = servers[1]["addresses"] or servers[0]["addresses"]
        return {"ttl": 300, "db": "neo4j", "servers": servers}

    def _addresses(self, *roles: str) -> list[str]:
        host = self.advertised
        return [f"{host}:{member.port}" for member in self.members if not roles or member.role in roles]

    def close(self) -> None:
        for member in self.members:
            member.close()


def _reads(message: bytes) -> bool:
    return b"\x84mode\x81r" in message


def _exactly(stream: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = stream.recv(size - len(found))
        if not part:
            raise ConnectionResetError
        found += part
    return found


def _messages(stream: socket.socket) -> Iterator[tuple[bytes, bytes]]:
    """Yield each message as it came, and without the lengths of its chunks."""
    while True:
        raw = message = b""
        while True:
            head = _exactly(stream, 2)
            raw += head
            (size,) = struct.unpack(">H", head)
            if not size:
                if message:
                    break
                continue
            part = _exactly(stream, size)
            raw, message = raw + part, message + part
        yield raw, message


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while part := source.recv(65_536):
            target.sendall(part)
    _end(target)


def _decrypted(caller: ssl.SSLSocket) -> socket.socket:
    """Return a plain connection to an encrypted one, which a single thread reads and writes: TLS allows no more."""
    inner, outer = socket.socketpair()

    def pump() -> None:
        with suppress(OSError):
            while True:
                for stream in [caller] if caller.pending() else select.select([caller, outer], [], [])[0]:
                    part = stream.recv(65_536)
                    if not part:
                        raise ConnectionResetError
                    (outer if stream is caller else caller).sendall(part)
        _end(caller)
        _end(outer)

    threading.Thread(target=pump, daemon=True).start()
    return inner


def _end(stream: socket.socket) -> None:
    """End a connection at once, also for a thread that waits for it: the server rolls back what was not committed."""
    with suppress(OSError):
        stream.shutdown(socket.SHUT_RDWR)
    stream.close()


def _chunked(kind: int, fields: dict[str, Any] | None = None) -> bytes:
    body = bytes([0xB0 if fields is None else 0xB1, kind]) + (b"" if fields is None else _packed(fields))
    return struct.pack(">H", len(body)) + body + b"\x00\x00"


def _packed(value: Any) -> bytes:
    """PackStream, as far as it is needed here."""
    if isinstance(value, int):
        return b"\xc9" + struct.pack(">h", value)
    if isinstance(value, str):
        return b"\xd0" + bytes([len(value)]) + value.encode()
    if isinstance(value, list):
        return bytes([0x90 + len(value)]) + b"".join(map(_packed, value))
    return bytes([0xA0 + len(value)]) + b"".join(_packed(key) + _packed(each) for key, each in value.items())


class Authority:
    """A certificate authority of one test, which makes certificates for this machine."""

    def __init__(self, folder: Path) -> None:
        self._openssl = require_program("openssl", "apt-get install openssl")
        self._folder = folder
        self.certificate = folder / "authority.pem"
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        self._run("req", "-x509", *key, "-keyout", "authority.key", "-out", "authority.pem", "-subj", "/CN=tests")
        self._run("req", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=server")

    def tls(self, names: str = "DNS:localhost,IP:127.0.0.1", days: int = 2) -> ssl.SSLContext:
        """Return what a server encrypts by; with a negative number of days its certificate has expired."""
        (self._folder / "names").write_text(f"subjectAltName={names}\n", "utf-8")
        signed = ["-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial", "-extfile", "names"]
        self._run("x509", "-req", "-in", "server.csr", *signed, "-days", str(days), "-out", "server.pem")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._folder / "server.pem", self._folder / "server.key")
        return context

    def _run(self, *arguments: str) -> None:
        subprocess.run([self._openssl, *arguments], cwd=self._folder, check=True, capture_output=True)
