"""When a failed try is made again: exponential back-off with jitter, or when the endpoint says."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
PATIENCE_S = 120.0
"""An endpoint that asks for a longer wait than this is not waited for."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before the next try.

    Attributes:
        attempts: Tries in all.
        sleep: Waits; a test gives its own.
        chance: Gives a number from 0 to 1.
    """

    attempts: int = 5
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random

    def wait(self, attempt: int, asked: float | None = None) -> float:
        """Return the seconds to wait after a try (counted from 0), at least what the endpoint asked for.

        Example:
            >>> calm = Backoff(chance=lambda: 0.5)
            >>> [calm.wait(attempt) for attempt in range(4)], calm.wait(0, asked=7.0)
            ([0.5, 1.0, 2.0, 4.0], 7.0)
        """
        usual = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0**attempt) * (0.5 + self.chance())
        return max(usual, asked or 0.0)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return how many seconds an answer asks to wait (``Retry-After`` in seconds or as a date), if it does.

    Example:
        >>> retry_after({"retry-after": "3"}), retry_after({"retry-after": "soon"})
        (3.0, None)
    """
    text = headers.get("retry-after") or headers.get("Retry-After") or ""
    try:
        seconds = float(text)
    except ValueError:
        try:
            then = parsedate_to_datetime(text)
        except ValueError:
            return None
        then = then if then.tzinfo else then.replace(tzinfo=UTC)
        seconds = (then - (now or datetime.now(UTC))).total_seconds()
    return max(0.0, seconds) if seconds == seconds and seconds != float("inf") else None
