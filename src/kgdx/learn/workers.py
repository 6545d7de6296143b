"""Workers that each do shares of some work on a graph that they open once: processes here, or actors of Ray."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kgdx.api import Graph
from kgdx.errors import ConfigError, KgdxError, MissingExtraError, StoreError, UsageError

if TYPE_CHECKING:
    from kgdx.config import Settings

Item_contra = TypeVar("Item_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)


class Work(Protocol[Item_contra, Result_co]):
    """What is done with each of many items.

    It is sent to the processes, as the items and results are: it holds settings, never a graph.
    """

    def on(self, graph: Graph) -> Callable[[Item_contra], Result_co]:
        """Return what does an item on an open graph; called once in each process."""


@dataclass(frozen=True)
class ShareOutcome:
    """What came of a share."""

    results: list[Any]
    error: Exception | None = None


@dataclass(frozen=True)
class Post:
    """What a process is told before its first share: the work, and the graph that it opens for it."""

    work: Work[Any, Any]
    settings: Settings
    encoder: bool
    fingerprint: str

    def begin(self) -> Callable[[Any], Any]:
        """Open the graph."""
        encoder = None
        if self.encoder:
            from kgdx.terms.encoder import usual

            encoder = usual(self.settings)
        graph = Graph(self.settings, encoder)
        if graph.fingerprint != self.fingerprint:
            where = f"the graph at {graph.url} on {socket.gethostname()} is not the one that is open here"
            raise StoreError(where, hint="every machine has to see the same folder at the same path")
        return self.work.on(graph)


class Doer:
    """Does shares in a process of its own; it opens the graph for the first of them."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self._act: Callable[[Any], Any] | None = None

    def do(self, items: Sequence[Any]) -> ShareOutcome:
        """Do the items of a share, up to the first that fails."""
        results: list[Any] = []
        try:
            if self._act is None:
                self._act = self._post.begin()
            for item in items:
                results.append(self._act(item))
        except KgdxError as error:
            return ShareOutcome(results, error)
        except Exception as error:  # a fault of the program: raised again where somebody sees it
            error.add_note(traceback.format_exc())
            return ShareOutcome(results, error)
        return ShareOutcome(results)


class Processes:
    """Processes of this machine, started as there is something to do."""

    gone: type[Exception] = BrokenExecutor
    """Raised for a share that was lost with a process; all that are under way are lost with it."""

    def __init__(self, post: Post, size: int) -> None:
        self._post, self.size = post, size
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, items: Sequence[Any]) -> Future[ShareOutcome]:
        """Hand a share over to whoever is free first."""
        if self._pool is None:
            context = get_context("spawn")
            theirs, self._lifeline = context.Pipe(duplex=False)
            self._pool = ProcessPoolExecutor(self.size, context, _begin, (self._post, theirs))
        with _deaf():
            return self._pool.submit(_do, items)

    def stop(self) -> None:
        if self._pool is not None:
            self._lifeline.close()
            self._pool.shutdown()
            self._pool = None

    close = stop


_doer: Doer | None = None
"""Does the shares of this process, where it is one of :class:`Processes`."""


@contextmanager
def _deaf() -> Iterator[None]:
    """Hold interruptions back; a process that is started meanwhile never hears any: they are the first one's affair."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(post: Post, lifeline: Connection) -> None:
    """Prepare a process: it does not hear interruptions, and ends with the one that started it, or at its word."""
    global _doer
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _doer = Doer(post)

    def end() -> None:
        wait([lifeline])
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()


def _do(items: Sequence[Any]) -> ShareOutcome:
    assert _doer is not None
    return _doer.do(items)


def processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
    """Workers that are actors of Ray; a Ray that runs in this process already is used and left running.

    A Ray of this machine's own lives as long as the work: without dashboard or usage statistics, closed to other users
    by a token, its files in a private folder that is removed.
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
