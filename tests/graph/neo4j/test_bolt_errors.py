"""What is said of a server that cannot be used: which of many reasons it is, on one line, within five seconds."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from neo4j.exceptions import Neo4jError

from conftest import require_program
from kgdx.config import Neo4jAccess
from kgdx.errors import StoreError, TemplateError
from kgdx.graph.neo4j import bolt
from kgdx.graph.neo4j.bolt import connect, refuse_old, translated

Talk = Callable[[socket.socket], None]
Serve = Callable[[Talk], int]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts servers on free ports that talk to whoever calls as they are told."""
    opened: list[socket.socket] = []

    def start(talk: Talk) -> int:
        listening = socket.create_server(("127.0.0.1", 0))
        opened.append(listening)

        def loop() -> None:
            while True:
                try:
                    caller, _ = listening.accept()
                    opened.append(caller)
                    talk(caller)
                except OSError:
                    if listening.fileno() < 0:
                        return

        threading.Thread(target=loop, daemon=True).start()
        return int(listening.getsockname()[1])

    yield start
    for each in opened:
        each.close()


def refusal(uri: str) -> str:
    """What is said of the server, which must not take more than one line."""
    with pytest.raises(StoreError) as caught:
        connect(Neo4jAccess(uri, "neo4j", "s3cret"))
    said = str(caught.value)
    assert "\n" not in said and "s3cret" not in said and uri in said
    return said


def answer(reply: bytes) -> Talk:
    def talk(caller: socket.socket) -> None:
        caller.recv(100)
        caller.sendall(reply)
        caller.close()

    return talk


def hold(caller: socket.socket) -> None:
    """Say nothing at all."""


@pytest.mark.parametrize("scheme", ["bolt", "neo4j", "bolt+s"])
def test_a_host_whose_name_is_unknown_is_told(scheme: str) -> None:
    assert "the host of" in (said := refusal(f"{scheme}://graph.invalid:7687")) and "DNS" in said


@pytest.mark.parametrize("scheme", ["bolt+s", "neo4j+s", "bolt+ssc"])
def test_a_server_without_tls_is_told(serve: Serve, scheme: str) -> None:
    port = serve(answer(b"\x00\x00\x00\x00"))
    assert "does not speak TLS: leave the +s or +ssc out" in refusal(f"{scheme}://127.0.0.1:{port}")


def test_a_certificate_of_ones_own_is_told_with_the_way_to_allow_it(serve: Serve, tmp_path: Path) -> None:
    openssl = require_program("openssl", "apt-get install openssl")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subject = ["-subj", "/CN=localhost", "-days", "2", "-nodes"]
    made = ["req", "-x509", "-newkey", "rsa:2048", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([openssl, *made, *subject], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def greet(caller: socket.socket) -> None:
        with context.wrap_socket(caller, server_side=True):
            pass

    port = serve(greet)
    said = refusal(f"bolt+s://localhost:{port}")
    assert "certificate" in said and "is not trusted" in said and "+ssc" in said


def test_a_port_that_speaks_http_is_told(serve: Serve) -> None:
    port = serve(answer(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
    assert "speaks HTTP and not Bolt: give the port of Bolt" in refusal(f"bolt://127.0.0.1:{port}")


def test_a_server_that_hangs_up_may_want_tls(serve: Serve) -> None:
    port = serve(lambda caller: caller.close())
    assert "ended the connection without a word: it may want TLS" in refusal(f"bolt://127.0.0.1:{port}")


def test_a_server_that_only_repeats_what_it_hears_is_told(serve: Serve) -> None:
    def repeat(caller: socket.socket) -> None:
        while heard := caller.recv(4096):
            caller.sendall(heard)

    assert "or later, at the port of Bolt, which is often 7687" in refusal(f"bolt://127.0.0.1:{serve(repeat)}")


@pytest.mark.parametrize("reply", [b"SSH-2.0-OpenSSH_9.2p1\r\n", b"\x00\x00\x00\x00"])
def test_a_server_of_another_kind_or_too_old_is_told(serve: Serve, reply: bytes) -> None:
    said = refusal(f"bolt://127.0.0.1:{serve(answer(reply))}")
    assert "no version of Bolt that this driver knows: kgdx needs Neo4j 5.23 or later, at the port of Bolt" in said


@pytest.mark.parametrize("scheme", ["bolt", "neo4j", "bolt+s"])
def test_a_server_that_says_nothing_is_not_waited_for(
    serve: Serve, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bolt._CONNECT_SECONDS < 5
    monkeypatch.setattr(bolt, "_CONNECT_SECONDS", 0.5)
    port = serve(hold)
    assert "has answered for 0.5 s" in refusal(f"{scheme}://127.0.0.1:{port}")


def test_a_server_that_is_down_is_told_as_before() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert "does not answer: start it" in refusal(f"bolt://127.0.0.1:{port}")


@pytest.mark.parametrize("agent", ["Neo4j/3.5.35", "Neo4j/4.4.40", "Neo4j/5.22.0"])
def test_an_old_server_is_refused_by_its_version(agent: str) -> None:
    with pytest.raises(StoreError, match=rf"is Neo4j {agent[6:]}: kgdx needs 5\.23 or later"):
        refuse_old(agent, Neo4jAccess("bolt://db:7687"))


@pytest.mark.parametrize("agent", ["Neo4j/5.23.0", "Neo4j/5.26.30", "Neo4j/5.27-aura", "Neo4j/2026.08.1", "Other/1.0"])
def test_a_newer_server_is_not(agent: str) -> None:
    refuse_old(agent, Neo4jAccess("bolt://db:7687"))


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("ClientError.Schema.ConstraintValidationFailed", "a node with this id is there already (it said)"),
        ("ClientError.Database.DatabaseNotFound", "has no database of this user that is online"),
        ("ClientError.Transaction.InvalidBookmark", "knows no bookmark as it is set: check KGDX_NEO4J_BOOKMARKS"),
        ("TransientError.Transaction.BookmarkTimeout", "has not received yet what the bookmarks stand for"),
        ("TransientError.General.MemoryPoolOutOfMemoryError", "ran out of memory"),
        ("ClientError.Statement.AccessMode", "is open for reading only"),
        ("ClientError.Statement.SyntaxError", "Neo4j cannot read the template: it said"),
        ("DatabaseError.Transaction.TransactionCommitFailed", "stopped working: it said: see that its disk has space"),
        ("DatabaseError.General.UnknownError", "failed: it said"),
    ],
)
def test_what_a_server_refuses_is_said_in_one_line_by_its_code(code: str, says: str) -> None:
    with pytest.raises((StoreError, TemplateError)) as caught, translated(Neo4jAccess("bolt://h:1", "neo4j", "s3cret")):
        raise Neo4jError._hydrate_neo4j(code=f"Neo.{code}", message="it\nsaid")
    assert says in str(caught.value) and "\n" not in str(caught.value)
