"""Locks on files, which end with the process that holds them however it ends."""

from __future__ import annotations

import time

POLL_S = 0.05
"""Seconds between two tries at first; who has waited longer tries more often, so that nobody waits for ever."""


def take(handle: int, *, shared: bool = False, wait_s: float | None = None) -> bool:
    """Lock an open file until it is closed; returns whether that could be done in time.

    Args:
        handle: Descriptor of the file; one that is open for reading will do.
        shared: Whether others may hold it shared at the same time.
        wait_s: How long to wait for others, in seconds; ``None`` for as long as it takes.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryFile() as file:
        ...     take(file.fileno(), wait_s=0)
        True
    """
    from portalocker.constants import LockFlags
    from portalocker.exceptions import AlreadyLocked, LockException
    from portalocker.portalocker import lock

    how = (LockFlags.SHARED if shared else LockFlags.EXCLUSIVE) | LockFlags.NON_BLOCKING
    began = time.monotonic()
    while True:
        try:
            lock(handle, how)
            return True
        except AlreadyLocked:
            waited = time.monotonic() - began
            if wait_s is not None and waited >= wait_s:
                return False
        except LockException as error:
            cause = error.__cause__
            raise cause if isinstance(cause, OSError) else OSError(str(error)) from error
        time.sleep(POLL_S / (1 + waited))
