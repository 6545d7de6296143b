"""Starts the server and stops it: the socket, the workers, signals, and the log on standard error."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from datetime import UTC, datetime

import kgdx
from kgdx.config import Settings
from kgdx.errors import ConfigError, MissingExtraError, UsageError
from kgdx.literature.publications import pubmed_access
from kgdx.serve.server_options import Options


def serve(options: Options, started: Callable[[str], None]) -> None:
    """Serve until told to stop (interrupt, SIGTERM): then no new request is taken, and those at work are finished."""
    options.checked()
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
