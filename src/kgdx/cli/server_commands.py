"""The commands that serve the graph: over HTTP and as a page, and to assistants."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path

from kgdx.cli import inputs, output
from kgdx.cli.options import Encoder, Reading, Store, flag, option


@dataclass(frozen=True)
class ServeOptions:
    """Where the server listens, who may ask it, and how much it does at a time; see :class:`kgdx.serve.Options`."""

    host: str = option("127.0.0.1", "ADDRESS", "Where to listen; other machines need a token.")
    port: int = option(8765, "PORT", "0 for a free one.", min=0, max=65535)
    token_file: Path | None = option(None, "FILE", "File with the token that requests must bring; or KGDX_SERVE_TOKEN.")
    hosts: list[str] | None = option(
        None, "NAME", "A name that the server is called by; can be repeated.", "--allow-host"
    )
    workers: int | None = option(None, "N", "Processes that diagnose; one for each core.", min=1, max=64)
    askers: int = option(2, "N", "Processes that ask a model.", min=1, max=64)
    rate: float = option(50.0, "N", "Requests a second for each client; 0 for any number.", min=0)
    max_body: int = option(2_000_000, "BYTES", "Most bytes of a request.", min=1000)
    waiting: int = option(64, "N", "Requests that may wait for a worker.", min=0)
    seconds: float = option(20.0, "SECONDS", "Longest time for an answer.", "--timeout", min=0.1)
    ask_seconds: float = option(
        300.0, "SECONDS", "Longest time for the answer to a question.", "--ask-timeout", min=0.1
    )


def serve(
    given: ServeOptions,
    quiet: bool = flag("Do not log requests."),
    encoder: Encoder = False,
    store: Store = None,
) -> None:
    """Serve the graph over HTTP, and as a page.

    Example: kgdx serve --port 8765
    """
    from kgdx.serve import Options, read_token
    from kgdx.serve import serve as run

    how = asdict(given) | {"hosts": tuple(given.hosts or ()), "token": read_token(given.token_file)}
    how["workers"] = given.workers or min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)
    del how["token_file"]
    options = Options(store=store, encoder=encoder, log_requests=not quiet, **how).checked()
    inputs.build_default(store)
    run(options, lambda address: output.remark(f"listening on {address}"))


def mcp(
    *,
    http: bool = flag("Listen, instead of standard input and output."),
    host: str = option("127.0.0.1", "ADDRESS", "Where to listen; other machines need a token."),
    port: int = option(8766, "PORT", "0 for a free one.", min=0, max=65535),
    token_file: Path | None = option(None, "FILE", "File with the token that requests bring; or KGDX_SERVE_TOKEN."),
    allow_host: list[str] | None = option(None, "NAME", "A name that the server is called by; can be repeated."),
    timeout: float = option(20.0, "SECONDS", "Longest time for an answer.", min=0.1),
    second: Reading,
    encoder: Encoder = False,
    store: Store = None,
) -> None:
    """Serve the graph to assistants, as MCP tools.

    It needs kgdx[mcp]; an assistant starts it by itself: `kgdx mcp`. Example: kgdx mcp --http --port 8766
    """
    from kgdx.mcp.mcp_server import run
    from kgdx.serve import Options, read_token

    options = Options(
        store=store,
        host=host,
        port=port,
        token=read_token(token_file) if http else None,
        hosts=tuple(allow_host or ()),
        encoder=encoder,
        seconds=timeout,
        **vars(second),
    )
    output.announce(store, second.reader, None)
    inputs.build_default(store)
    run(options, http=http, started=lambda address: output.remark(f"listening on {address}"))
