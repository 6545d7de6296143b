"""NCBI's limit of requests per second, held by all threads and processes of this machine together."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from pathlib import Path

LONGEST_S = 60.0
"""A turn further away than this was written before the clock was set back: it does not count."""


class RateLimiter:
    """Gives turns that are an interval apart, by a file that holds when the next one is.

    Args:
        file: Shared by all who have to keep the pace together; made when it is not there.
        interval: Seconds between two turns.
    """

    def __init__(self, file: Path, interval: float) -> None:
        self.file = file
        self.interval = interval
        self._lock = threading.Lock()

    def wait(self, until: float) -> bool:
        """Wait for the next turn.

        Args:
            until: Time (of :func:`time.time`) after which a turn is of no use; none is taken then.

        Returns:
            Whether it is one's turn.

        Raises:
            OSError: The file cannot be used.
        """
        turn = self._take(until)
        if turn is None:
            return False
        time.sleep(max(0.0, turn - time.time()))
        return True

    def _take(self, until: float) -> float | None:
        """Write down the next turn as taken, and return when it is."""
        with self._lock, open(os.open(self.file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)  # given back when the file is closed
            now = time.time()
            turn = max(now, _read(handle.read(64), now))
            if turn > until:
                return None
            handle.seek(0)
            handle.write(f"{turn + self.interval:.6f}\n")
            handle.truncate()
            return turn


def _read(text: str, now: float) -> float:
    """When the next turn is, as the file says; now where it says nothing sensible."""
    try:
        turn = float(text)
    except ValueError:
        return now
    return turn if turn - now <= LONGEST_S else now
