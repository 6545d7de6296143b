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
from concurrent.futures import Future
from contextlib import ExitStack
from typing import Any

from kgdx.errors import ConfigError, MissingExtraError, UsageError
from kgdx.learn.workers import Doer, Post, ShareOutcome, processors

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
    """Workers that are actors; a Ray that runs in this process already is used and left running."""

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
            self._closing.close()
            raise
        self.size = size or most
        self.gone: type[Exception] = ray.exceptions.RayError
        self._kind = ray.remote(num_cpus=1, max_restarts=0)(Doer)
        self._given: dict[Any, list[Future[ShareOutcome]]] = {}

    def submit(self, items: Sequence[Any]) -> Future[ShareOutcome]:
        """Hand a share over to the actor that has least to do; a new one waits where the processors are taken."""
        left = {actor: sum(not each.done() for each in given) for actor, given in self._given.items()}
        actor = min(left, key=lambda each: left[each], default=None)
        if actor is None or (left[actor] and len(left) < self.size):
            actor = self._kind.remote(self._post)
        future: Future[ShareOutcome] = actor.do.remote(items).future()
        self._given.setdefault(actor, []).append(future)
        return future

    def stop(self) -> None:
        while self._given:
            self._ray.kill(self._given.popitem()[0])

    def close(self) -> None:
        self.stop()
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
        except Exception as error:  # what does not start in time is a bare one
            why = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
            raise ConfigError(f"Ray at {address} cannot be joined ({why})", hint=HINT) from error


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
