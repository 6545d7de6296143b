"""Starts the server and stops it: the socket, the workers, signals, and the log on standard error."""

from __future__ import annotations

import ipaddress
import os
import secrets
import socket
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from kgdx.config import Settings
from kgdx.errors import ConfigError, MissingExtraError, UsageError
from kgdx.literature.publications import pubmed_access

LEAST_TOKEN = 16
"""Fewest characters of a token: what is shorter can be guessed."""


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of a server.

    Attributes:
        askers: Processes that ask a language model or PubMed, which may take minutes: diagnoses must not wait for them.
        hosts: Names besides ``localhost`` and addresses that requests may be sent to.
        log_requests: Whether to write a line for each request (never with what was asked).
    """

    store: str | None = None
    host: str = "127.0.0.1"
    port: int = 8765
    workers: int = 2
    askers: int = 2
    token: str | None = field(default=None, repr=False)
    hosts: tuple[str, ...] = ()
    encoder: bool = False
    max_body: int = 2_000_000
    rate: float = 50.0
    waiting: int = 64
    seconds: float = 20.0
    ask_seconds: float = 300.0
    log_requests: bool = True

    def checked(self) -> Options:
        """Return the options if they are safe."""
        if self.token is None and not is_loopback(self.host):
            raise UsageError(
                f"{self.host} can be reached from other machines",
                hint="give a token with --token-file or KGDX_SERVE_TOKEN, or listen on 127.0.0.1",
            )
        if self.token is not None and len(self.token) < LEAST_TOKEN:
            hint = f"make one of at least {LEAST_TOKEN} characters, such as by `openssl rand -hex 32`"
            raise UsageError("the token is too short", hint=hint)
        if self.token is not None and not (self.token.isascii() and self.token.isprintable() and " " not in self.token):
            raise UsageError("the token holds characters that no header can", hint="use letters and digits")
        return self


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::"), is_loopback("example.org")
        (True, True, False, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def read_token(file: Path | None) -> str | None:
    """Return the token of a file, or else of ``KGDX_SERVE_TOKEN``; ``None`` where neither is given."""
    if file is None:
        return os.environ.get("KGDX_SERVE_TOKEN") or None
    try:
        with file.open(encoding="utf-8") as stream:
            mode, token = os.fstat(stream.fileno()).st_mode, stream.read(4096).strip()
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read the token file {file}", hint="give a file of one line of text") from error
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ConfigError(f"others can read the token file {file}", hint=f"run `chmod 600 {file}`")
    if not token:
        raise ConfigError(f"the token file {file} is empty", hint="write a token into it")
    return token


def same_token(given: str, expected: str) -> bool:
    """Compare tokens in a time that says nothing of where they differ."""
    return secrets.compare_digest(given.encode("utf-8", "replace"), expected.encode())


def serve(options: Options, started: Callable[[str], None]) -> None:
    """Serve until told to stop (interrupt, SIGTERM): then no new request is taken, and those at work are finished."""
    options.checked()
    import kgdx

    with kgdx.open(options.store) as graph:  # one that is damaged or of another version is told before anyone asks
        graph.names  # noqa: B018 - the first time its index is made, which the workers then share
    try:
        from kgdx.serve.app import create_app
        from kgdx.serve.connections import http_server, places
        from kgdx.serve.worker_pool import WorkerPool
    except ImportError as error:
        raise MissingExtraError("kgdx serve", "serve") from error
    opening = {"store": options.store, "encoder": options.encoder}
    workers = WorkerPool({**opening, "task": "diagnose"}, options.workers, options.waiting, log)
    askers = WorkerPool({**opening, "task": "ask"}, options.askers, options.waiting, log, lazy=True)
    settings = Settings.load(options.store)
    literature = pubmed_access(settings)
    model, asked = model_name(settings), literature is not None and literature.ask
    app = create_app(options, workers, askers, model=model, literature=asked, log=log)
    with listening(options.host, options.port) as place:
        port = place.getsockname()[1]
        shown = f"[{options.host}]" if ":" in options.host else options.host
        started(f"http://{shown}:{port}/")
        http_server(app, options, places()).run(sockets=[place])


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        place = socket.socket(family, kind, protocol)
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            place.bind(address)
            place.listen(2048)
        except OSError:
            place.close()
            raise
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"cannot listen on {host} port {port} ({reason})", hint="choose another --port") from error
    return place


def model_name(settings: Settings) -> str | None:
    """Return the name of the language model that is configured, ``None`` where there is none."""
    try:
        return settings.llm().model
    except ConfigError:
        return None


def log(line: str) -> None:
    """Write a line of the log: with the time, and without what was asked."""
    print(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {line}", file=sys.stderr, flush=True)
