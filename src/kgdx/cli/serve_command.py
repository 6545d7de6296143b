"""The command that starts the HTTP server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from kgdx.cli import inputs
from kgdx.cli import options as output
from kgdx.cli.options import Encoder, Store, grouped


def register(app: typer.Typer) -> None:
    app.command()(serve)


@dataclass(frozen=True)
class Listening:
    """Where the server listens, and who may ask it."""

    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen; other machines need a token.")] = (
        "127.0.0.1"
    )
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="0 for a free one.")] = 8765
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File with the token that requests must bring; or KGDX_SERVE_TOKEN."),
    ] = None
    allow_host: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A name that the server is called by; can be repeated.")
    ] = None


@dataclass(frozen=True)
class ServeLimits:
    """How much it does at a time, and for whom."""

    workers: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=64, help="Processes that diagnose; one for each core.")
    ] = None
    askers: Annotated[int, typer.Option(metavar="N", min=1, max=64, help="Processes that ask a model.")] = 2
    rate: Annotated[
        float, typer.Option(metavar="N", min=0, help="Requests a second for each client; 0 for any number.")
    ] = 50.0
    max_body: Annotated[int, typer.Option(metavar="BYTES", min=1000, help="Most bytes of a request.")] = 2_000_000
    waiting: Annotated[int, typer.Option(metavar="N", min=0, help="Requests that may wait for a worker.")] = 64
    timeout: Annotated[float, typer.Option(metavar="SECONDS", min=0.1, help="Longest time for an answer.")] = 20.0
    ask_timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="Longest time for the answer to a question.")
    ] = 300.0


@grouped
def serve(
    listening: Listening,
    limits: ServeLimits,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not log requests.")] = False,
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
