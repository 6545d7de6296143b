"""Functions that the build's second process can import: well-behaved, failing, and talkative compile hooks."""

from __future__ import annotations

import os
from pathlib import Path

from kgdx.errors import StoreError
from kgdx.store.snapshot import Snapshot


def count_diseases(snapshot: Snapshot) -> None:
    """Keep the number of diseases and the process that counted them."""
    print("what a hook prints does not disturb the build")

    def compute(folder: Path) -> None:
        (folder / "count").write_text(str(snapshot.rows("disease")))
        (folder / "process").write_text(str(os.getpid()))

    snapshot.derived("count", 1, compute)


def refuse(snapshot: Snapshot) -> None:
    """Fail as kgdx does."""
    raise StoreError(f"no model for {snapshot.rows('disease')} diseases", hint="build it again")


def crash(snapshot: Snapshot) -> None:
    """Fail as a defect does."""
    raise ZeroDivisionError("by zero")


def die(snapshot: Snapshot) -> None:
    """End without a word."""
    os._exit(9)
