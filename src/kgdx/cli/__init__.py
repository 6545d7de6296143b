"""The command line: commands that read arguments, call the library, and show what it returns. No logic of its own."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit; see :func:`kgdx.cli.commands.main`."""
    gc.set_threshold(200_000, 20, 50)  # modules and tables are no garbage: seeking it takes a tenth of a short command
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # looked for among all packages that are installed
    try:
        from kgdx.cli.commands import main as run
    except KeyboardInterrupt:  # while all that the commands need is being loaded
        sys.exit(130)
    run(arguments)
