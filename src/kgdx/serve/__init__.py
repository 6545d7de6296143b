"""The HTTP server: the graph for programs and, on a small page, for people."""

from __future__ import annotations

from kgdx.serve.run_server import Options, read_token, serve

__all__ = ["Options", "read_token", "serve"]
