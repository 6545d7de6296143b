"""The command that serves the graph to assistants by the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path

from kgdx.cli import inputs
from kgdx.cli import options as output
from kgdx.cli.options import Encoder, Store, flag, option


def mcp(
    http: bool = flag("Listen, instead of standard input and output."),
    host: str = option("127.0.0.1", "ADDRESS", "Where to listen; other machines need a token."),
    port: int = option(8766, "PORT", "0 for a free one.", min=0, max=65535),
    token_file: Path | None = option(None, "FILE", "File with the token that requests bring; or KGDX_SERVE_TOKEN."),
    allow_host: list[str] | None = option(None, "NAME", "A name that the server is called by; can be repeated."),
    timeout: float = option(20.0, "SECONDS", "Longest time for an answer.", min=0.1),
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
