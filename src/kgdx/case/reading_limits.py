"""Limits for reading a text: how much processor time it may take, and how long a run of one kind of sign counts."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from kgdx.config.values import seconds
from kgdx.errors import CaseError
from kgdx.lazy import lazy_pattern

SECONDS = 10.0
"""Processor time that reading one text may take, unless ``KGDX_READ_LIMIT`` says otherwise; 0 for any time."""

_EDGE = 100
_RUN = lazy_pattern(rf"[\W_]{{{2 * _EDGE + 1},}}|\d{{{2 * _EDGE + 1},}}|(\w)\1{{{2 * _EDGE},}}")


def masked_runs(text: str) -> str:
    r"""Return a text of the same length in which the middle of long runs is NUL, so that no pattern goes on through it.

    Runs are more than 200 signs that are no letters or digits, as many digits, or one letter as often. Patterns that go
    through a run from each of its places would take the square of its length.
    """
    return _RUN.sub(_masked, text) if len(text) > 2 * _EDGE else text


def _masked(run: re.Match[str]) -> str:
    whole = run.group()
    return whole[:_EDGE] + "\0" * (len(whole) - 2 * _EDGE) + whole[-_EDGE:]


@contextmanager
def limited() -> Iterator[None]:
    """Raise a CaseError where the block takes more processor time than one text may.

    It holds in a process's main thread, where the system has timers of processor time (not on Windows); of blocks
    within each other the outer one's limit holds.
    """
    limit = seconds("KGDX_READ_LIMIT", os.environ.get("KGDX_READ_LIMIT"), SECONDS)
    timed = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not limit or not timed or signal.getitimer(signal.ITIMER_VIRTUAL)[0]:
        yield
        return

    def stop(*_: object) -> None:
        hint = "split it, or take out what is no text; KGDX_READ_LIMIT sets another limit in seconds"
        raise CaseError(f"reading the text took more than {limit:g} s of processor time", hint=hint)

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
