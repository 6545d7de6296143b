"""The command line: commands that read arguments, call the library, and show what it returns. No logic of its own."""

from __future__ import annotations

from kgdx.cli.app import main

__all__ = ["main"]
