"""What the questions to a language model have cost: calls, retries, tokens, money."""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass, replace

from kgdx.config import LlmAccess
from kgdx.llm.protocol import Answer

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Spent:
    """Totals.

    Attributes:
        calls: Answers that the endpoint gave.
        cached: Answers that were there already.
        retries: Tries that failed and were made again.
        failed: Questions without an answer.
        read: Tokens read by the model.
        written: Tokens written by it.
        uncounted: Answers whose tokens the endpoint did not tell; they are not in the cost.
        cost: Money, in the currency of the prices; 0 where no prices are set.
    """

    calls: int = 0
    cached: int = 0
    retries: int = 0
    failed: int = 0
    read: int = 0
    written: int = 0
    uncounted: int = 0
    cost: float = 0.0

    def to_dict(self) -> dict[str, int | float]:
        """Return it as a JSON object."""
        return asdict(self)


class Meter:
    """Adds up what is spent, over any number of threads.

    Example:
        >>> from kgdx.llm.protocol import Usage
        >>> meter = Meter(price_in=1.0, price_out=4.0)
        >>> meter.answered(Answer("yes", "m", Usage(1_000, 250)))
        >>> meter.spent.cost
        0.002
    """

    def __init__(self, price_in: float = 0.0, price_out: float = 0.0) -> None:
        self.prices = (price_in, price_out)
        self._spent = Spent()
        self._lock = threading.Lock()

    @classmethod
    def of(cls, access: LlmAccess) -> Meter:
        """Return a meter with the prices that are set."""
        return cls(access.price_in, access.price_out)

    @property
    def priced(self) -> bool:
        """Whether prices are set."""
        return any(self.prices)

    @property
    def spent(self) -> Spent:
        """What was spent so far."""
        with self._lock:
            return self._spent

    def answered(self, answer: Answer) -> None:
        """Count an answer."""
        with self._lock:
            now = self._spent
            if answer.cached:
                self._spent = replace(now, cached=now.cached + 1)
                return
            read, written = answer.usage.read, answer.usage.written
            cost = ((read or 0) * self.prices[0] + (written or 0) * self.prices[1]) / MILLION
            self._spent = replace(
                now,
                calls=now.calls + 1,
                read=now.read + (read or 0),
                written=now.written + (written or 0),
                uncounted=now.uncounted + (read is None),
                cost=now.cost + cost,
            )

    def retried(self) -> None:
        """Count a try that is made again."""
        with self._lock:
            self._spent = replace(self._spent, retries=self._spent.retries + 1)

    def failed(self) -> None:
        """Count a question without an answer."""
        with self._lock:
            self._spent = replace(self._spent, failed=self._spent.failed + 1)
