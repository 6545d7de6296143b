"""Work that the tests of sharing out give to other processes, which import it from here."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kgdx.api import Graph
from kgdx.errors import MissingExtraError

FAILS, BROKEN = -1, -2
"""Items that raise."""


@dataclass(frozen=True)
class Counting:
    """Tells of an item what the graph says of its size, and who looked.

    Attributes:
        marks: Folder where a process that dies leaves a mark, so that it dies once.
        deadly: Item that kills the process, and
        always: whether it does so each time.
        pause: Seconds that an item takes.
        endless: Item that takes an hour.
    """

    marks: Path | None = None
    deadly: int | None = None
    always: bool = False
    pause: float = 0.0
    endless: int | None = None

    def on(self, graph: Graph) -> Callable[[int], tuple[int, int, int]]:
        size = graph.ranker.model.columns.size

        def act(item: int) -> tuple[int, int, int]:
            time.sleep(3600 if item == self.endless else self.pause)
            if item == self.deadly and self.marks is not None:
                mark = self.marks / "died"
                if self.always or not mark.exists():
                    mark.write_text(f"{mark.read_text() if mark.exists() else ''}{os.getpid()}\n")
                    os.kill(os.getpid(), signal.SIGKILL)
            if item == FAILS:
                raise MissingExtraError("this item", "cluster")
            if item == BROKEN:
                raise ZeroDivisionError("a fault of the program")
            return item, item * size, os.getpid()

        return act
