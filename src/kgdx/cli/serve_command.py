"""The command that starts the HTTP server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kgdx.cli import inputs
from kgdx.cli import options as output
from kgdx.cli.options import Encoder, Store, flag, option


@dataclass(frozen=True)
class Listening:
    """Where the server listens, and who may ask it."""

    host: str = option("127.0.0.1", "ADDRESS", "Where to listen; other machines need a token.")
    port: int = option(8765, "PORT", "0 for a free one.", min=0, max=65535)
    token_file: Path | None = option(None, "FILE", "File with the token that requests must bring; or KGDX_SERVE_TOKEN.")
    allow_host: list[str] | None = option(None, "NAME", "A name that the server is called by; can be repeated.")


@dataclass(frozen=True)
class ServeLimits:
    """How much it does at a time, and for whom."""

    workers: int | None = option(None, "N", "Processes that diagnose; one for each core.", min=1, max=64)
    askers: int = option(2, "N", "Processes that ask a model.", min=1, max=64)
    rate: float = option(50.0, "N", "Requests a second for each client; 0 for any number.", min=0)
    max_body: int = option(2_000_000, "BYTES", "Most bytes of a request.", min=1000)
    waiting: int = option(64, "N", "Requests that may wait for a worker.", min=0)
    timeout: float = option(20.0, "SECONDS", "Longest time for an answer.", min=0.1)
    ask_timeout: float = option(300.0, "SECONDS", "Longest time for the answer to a question.", min=0.1)


def serve(
    listening: Listening,
    limits: ServeLimits,
    quiet: bool = flag("Do not log requests."),
    encoder: Encoder = False,
    store: Store = None,
) -> None:
    """Serve the graph over HTTP, and as a page.

    Example: kgdx serve --port 8765
    """
    import os

    from kgdx.serve import Options, read_token
    from kgdx.serve import serve as run

    options = Options(
        store=store,
        host=listening.host,
        port=listening.port,
        workers=limits.workers or min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2),
        askers=limits.askers,
        token=read_token(listening.token_file),
        hosts=tuple(listening.allow_host or ()),
        encoder=encoder,
        max_body=limits.max_body,
        rate=limits.rate,
        waiting=limits.waiting,
        seconds=limits.timeout,
        ask_seconds=limits.ask_timeout,
        log_requests=not quiet,
    ).checked()
    inputs.build_default(store)
    run(options, lambda address: output.remark(f"listening on {address}"))
