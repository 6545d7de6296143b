"""The command that serves the graph to assistants by the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kgdx.cli import inputs
from kgdx.cli import options as output
from kgdx.cli.options import Encoder, Store


def register(app: typer.Typer) -> None:
    app.command()(mcp)


def mcp(
    http: Annotated[bool, typer.Option("--http", help="Listen, instead of standard input and output.")] = False,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen; other machines need a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="0 for a free one.")] = 8766,
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File with the token that requests bring; or KGDX_SERVE_TOKEN.")
    ] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A name that the server is called by; can be repeated.")
    ] = None,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", min=0.1, help="Longest time for an answer.")] = 20.0,
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
    )
    inputs.build_default(store)
    run(options, http=http, started=lambda address: output.remark(f"listening on {address}"))
