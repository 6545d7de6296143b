"""Count what calls to a language model cost (calls, retries, tokens, money), and stop them at a budget."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from kgdx.config import LlmAccess
from kgdx.errors import LlmError
from kgdx.llm.chat import Completion
from kgdx.llm.response import Response

PROGRESS_S = 10.0
"""Seconds between two lines on what a model is doing."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Totals.

    Attributes:
        cached: Completions that were known already.
        uncounted: Completions whose tokens the endpoint did not tell; they are not in the cost.
        removed: Passages that identify a person and were taken out of what was sent.
    """

    calls: int = 0
    cached: int = 0
    retries: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0
    cost: float = 0.0
    removed: int = 0

    def to_dict(self) -> dict[str, int | float]:
        """Return it as a JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of what may be spent; ``None`` for no limit.

    A call is refused when a limit is reached before it begins. What it costs is known only at its end, so tokens and
    money can pass their limit by what was under way: as many calls as run at a time.
    """

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None

    @classmethod
    def of(cls, access: LlmAccess) -> Budget:
        return cls(access.max_calls, access.max_tokens, access.max_cost, access.max_seconds)


class Meter:
    """Adds up what is spent, from any number of threads and event loops, and refuses calls beyond the budget.

    Example:
        >>> from kgdx.llm.chat import Usage
        >>> meter = Meter(price_in=1.0, price_out=4.0)
        >>> meter.answered(Completion("yes", "m", Usage(1_000, 250)))
        >>> meter.spent.cost
        0.002
    """

    def __init__(
        self,
        price_in: float = 0.0,
        price_out: float = 0.0,
        budget: Budget | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.prices = (price_in, price_out)
        self.budget = budget or Budget()
        self.progress: Callable[[str], None] | None = None
        """Called with a line on what a model is doing that takes long."""
        self._clock = clock
        self._spent = Spent()
        self._started = 0
        self._since: float | None = None
        self._lock = threading.Lock()

    @classmethod
    def of(cls, access: LlmAccess) -> Meter:
        """Return a meter with the prices and limits that are set."""
        return cls(access.price_in, access.price_out, Budget.of(access))

    @property
    def priced(self) -> bool:
        """Whether prices are set."""
        return any(self.prices)

    @property
    def spent(self) -> Spent:
        """What was spent so far."""
        with self._lock:
            return self._spent

    def begin(self) -> None:
        """Let a call begin."""
        with self._lock:
            now, limit = self._spent, self.budget
            if limit.calls is not None and self._started >= limit.calls:
                raise over(f"{limit.calls:,} calls", "max_calls")
            if limit.tokens is not None and now.prompt_tokens + now.completion_tokens >= limit.tokens:
                raise over(f"{limit.tokens:,} tokens", "max_tokens")
            if limit.cost is not None and now.cost >= limit.cost:
                raise over(f"a cost of {limit.cost:g}", "max_cost")
            self._started += 1
            if self._since is None:
                self._since = self._clock()
        self.left()

    def left(self, partial: str = "") -> float | None:
        """Return the seconds that are left, or ``None`` where they are not limited."""
        if self.budget.seconds is None or self._since is None:
            return None
        left = self._since + self.budget.seconds - self._clock()
        if left <= 0:
            raise over(f"{self.budget.seconds:g} seconds", "max_seconds", partial)
        return left

    def heard(self, piece: str) -> None:
        """Take a piece of a text that nobody waits for: it is counted by :meth:`tell`."""

    async def tell(self, name: str, found: Response) -> None:
        """Say every few seconds, for as long as a model writes, how far it is."""
        import asyncio

        began = time.monotonic()
        while self.progress is not None:
            await asyncio.sleep(PROGRESS_S)
            took, count = time.monotonic() - began, len(found.pieces)
            written = f"{count:,} tokens written" if count else "reading"
            self.progress(f"{name}: {written} after {took:.0f} s ({self.spent.calls:,} calls before)")

    def answered(self, made: Completion) -> None:
        """Count a completion."""
        if made.cached:
            self.add(cached=1)
            return
        usage = made.usage
        self.add(
            calls=1,
            prompt_tokens=usage.prompt_tokens or 0,
            completion_tokens=usage.completion_tokens or 0,
            uncounted=int(usage.prompt_tokens is None),
            cost=usage.cost(self.prices),
        )

    def add(self, **counts: float) -> None:
        """Add to fields of :class:`Spent`: retries, failed calls, removed passages."""
        with self._lock:
            sums = {name: getattr(self._spent, name) + count for name, count in counts.items()}
            self._spent = replace(self._spent, **sums)


def over(what: str, setting: str, partial: str = "") -> LlmError:
    """Return the error for a limit that is reached."""
    message = f"the language model has used up its budget of {what}"
    hint = f"raise KGDX_LLM_{setting.upper()} or the limit you gave; what was answered is kept"
    return LlmError(message, hint=hint, kind="budget", partial=partial)
