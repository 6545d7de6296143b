"""How far a build is, and how long its stages took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

SHARES = {"fetch": 0.02, "parse": 0.3, "check": 0.05, "derive": 0.08, "compile": 0.1, "load": 0.35, "finish": 0.1}
"""Stages in order, and about how much of the whole each is: what a progress bar shows."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a build is.

    Attributes:
        stage: One of :data:`SHARES`.
        detail: What it is at.
        done: Part of the whole, 0 to 1.
        seconds: Since the start.
        rows: Rows done in this stage.
        bytes: Bytes that have arrived.
        total: How many rows (or bytes) there are, if that is known.
    """

    stage: str
    detail: str
    done: float
    seconds: float
    rows: int = 0
    bytes: int = 0
    total: int = 0


@dataclass(slots=True)
class Clock:
    """Reports a build's progress and measures its stages (:data:`SHARES`)."""

    callback: Callable[[Progress], None] | None
    start: float = field(default_factory=time.perf_counter)
    seconds: dict[str, float] = field(default_factory=dict)

    def tell(
        self, stage: str, detail: str, part: float = 0.0, *, rows: int = 0, bytes: int = 0, total: int = 0
    ) -> None:
        """Report that a stage is at ``detail``, ``part`` (0 to 1) of it done."""
        if self.callback is not None:
            names = list(SHARES)
            before = sum(SHARES[name] for name in names[: names.index(stage)])
            done = min(1.0, before + SHARES[stage] * part)
            self.callback(Progress(stage, detail, done, self.elapsed, rows, bytes, total))

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.start

    @contextmanager
    def stage(self, name: str, detail: str) -> Iterator[None]:
        """Report that a stage begins, and measure it."""
        self.tell(name, detail)
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
