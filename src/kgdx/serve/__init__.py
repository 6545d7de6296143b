"""The HTTP server: the graph for programs and, on a small page, for people."""

from __future__ import annotations

from kgdx.serve.run_server import serve
from kgdx.serve.server_options import Options, read_token

__all__ = ["Options", "read_token", "serve"]
