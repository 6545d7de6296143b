"""Workers that are actors of Ray, on this machine or a cluster of them.

A Ray of this machine's own lives as long as the work: without dashboard or usage statistics, closed to other users by
a token, its files in a private folder that is removed.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from kgdx.errors import ConfigError, MissingExtraError, UsageError
from kgdx.learn.workers import Doer, Gone, Outcome, Post, Worker, processors

LOCAL = "local"
"""The address that stands for a Ray of this machine's own."""

CONNECT_S = 5.0
"""How long a cluster has to answer."""

STORE_BYTES = 128 * 2**20
"""Shared memory of a Ray of this machine's own: shares and results are small."""

PRIVATE: Mapping[str, str] = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # else each start warns of what a later Ray will do
}
"""What the environment says to Ray."""

HINT = "give host and port of `ray start --head`, or local"


class Actors:
    """Workers that are actors; a Ray that runs in this process already is used and left running.

    Args:
        post: What each is told first.
        address: ``local``, ``auto``, or host and port of a cluster.
        size: How many; as many as there are processors by default.
    """

    def __init__(self, post: Post, address: str, size: int | None) -> None:
        self._post, self._closing = post, ExitStack()
        self._ray = ray = _imported(address)
        try:
            if not ray.is_initialized():
                self._begin(address, size or processors())
            most = int(ray.cluster_resources().get("CPU", 0))
            if most < (size or 1):
                what = f"Ray at {address} has {most} processors, and {size or 1} processes are wanted"
                raise UsageError(what, hint="give fewer --jobs")
        except BaseException:
            self.close()
            raise
        self.size = size or most
        self._kind = ray.remote(num_cpus=1, max_restarts=0)(Doer)

    def worker(self) -> Worker:
        """Start a worker; it waits where the cluster's processors are taken."""
        return _Actor(self._ray, self._kind.remote(self._post))

    def ready(self, busy: Sequence[Worker]) -> Sequence[Worker]:
        """Wait for some of the busy workers."""
        given = {each.share: each for each in busy if isinstance(each, _Actor)}
        done, _ = self._ray.wait(list(given), num_returns=1)
        return [given[share] for share in done]

    def close(self) -> None:
        """Leave the cluster; a Ray of this machine's own ends."""
        self._closing.close()

    def _begin(self, address: str, size: int) -> None:
        how: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}
        if address == LOCAL:
            folder = tempfile.mkdtemp(prefix="kgdx-ray-", dir="/tmp" if os.name == "posix" else None)
            self._closing.callback(shutil.rmtree, folder, ignore_errors=True)
            how |= {"num_cpus": size, "num_gpus": 0, "object_store_memory": STORE_BYTES, "_temp_dir": folder}
            how["include_dashboard"] = False
        else:
            _knock(address)
        self._closing.callback(self._ray.shutdown)
        try:
            self._ray.init(address=address, **how)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise ConfigError(f"Ray at {address} cannot be joined ({_lines(error)[0]})", hint=HINT) from error


class _Actor:
    """An actor, and the share that it was given last."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray, self._actor = ray, actor
        self.share: Any = None

    def give(self, items: Sequence[Any]) -> None:
        self.share = self._actor.do.remote(items)

    def take(self) -> Outcome:
        share, self.share = self.share, None
        try:
            outcome: Outcome = self._ray.get(share)
        except self._ray.exceptions.RayError as error:
            raise Gone(_lines(error)[-1]) from None
        return outcome

    def stop(self) -> None:
        self._ray.kill(self._actor)


def _imported(address: str) -> Any:
    """Import Ray, which reads the environment once, when it is imported."""
    os.environ.update(PRIVATE)
    if address == LOCAL and "ray" not in sys.modules and "RAY_AUTH_MODE" not in os.environ:
        os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
    try:
        import ray
    except ModuleNotFoundError:
        raise MissingExtraError("--ray", "cluster") from None
    return ray


def _knock(address: str) -> None:
    """See whether anybody answers, since Ray itself tries for minutes."""
    if address == "auto":
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65_536:
        raise ConfigError(f"{address[:80]!r} is no address of Ray", hint=HINT)
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(f"nobody answers at {address[:80]} ({reason})", hint=HINT) from error


def _lines(error: BaseException) -> list[str]:
    found = [line.strip()[:200] for line in str(error).splitlines() if line.strip()]
    return found or [type(error).__name__]
