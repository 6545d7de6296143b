"""The workers of a server: each is a process that answers one request at a time, is watched, and is replaced.

One queue for all of them, so that no request waits behind a slow one while another worker is free.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import orjson

from kgdx.serve.problems import Problem, RequestRefused, busy
from kgdx.serve.worker import CANCEL, EVENT, HEADER, MAX_FRAME, PROBLEM, READY, REQUEST, frame

START_S = 120.0
"""How long a worker may take to open its graph; a snapshot of a server's graph may have to be compiled for it."""

AGAIN_S = (0.5, 1.0, 2.0, 5.0, 10.0)
"""How long to wait before a worker that did not start is started again, by how often it failed."""

CANCEL_S = 3.0
"""How long a worker may take to leave what nobody waits for any more, before it is replaced."""

STOP_S = 3.0
"""How long a worker has to end by itself."""

WORKER = (sys.executable, "-m", "kgdx.serve.worker")
"""What a worker runs."""

Found = TypeVar("Found")
EventHandler = Callable[[dict[str, Any]], None]


CLIENT: ContextVar[str] = ContextVar("client", default="")
"""Who sent the request that is being answered; empty for the server itself."""


class Worker:
    """One process and the pipes to it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.process, self._to, self._from = process, process.stdin, process.stdout
        self._head: tuple[int, int] | None = None

    @classmethod
    async def start(cls, opening: Mapping[str, Any], command: Sequence[str] = WORKER) -> tuple[Worker, dict[str, Any]]:
        """Start a process and wait until it has opened the graph.

        Returns:
            The worker, and which graph it serves.
        """
        one_thread = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, **one_thread},
            start_new_session=True,  # an interrupt in the terminal is the server's to handle
        )
        worker = cls(process)
        try:
            await worker._send(orjson.dumps(opening))
            async with asyncio.timeout(START_S):
                kind, content = await worker._frame()
            if kind != READY:
                raise RequestRefused(Problem(**orjson.loads(content)))
        except BaseException:
            await worker.stop(at_once=True)
            raise
        return worker, orjson.loads(content)

    async def ask(self, content: bytes, event: EventHandler | None) -> bytes:
        """Return the JSON of an answer to a request."""
        await self._send(content)
        return await self._answer(event)

    async def leave(self) -> None:
        """Have the worker leave its request, whose answer nobody waits for."""
        await self._send(b"", CANCEL)
        async with asyncio.timeout(CANCEL_S):
            with suppress(RequestRefused):
                await self._answer(None)

    async def _answer(self, event: EventHandler | None) -> bytes:
        while True:
            kind, content = await self._frame()
            if kind == EVENT:
                if event is not None:
                    event(orjson.loads(content))
            elif kind == PROBLEM:
                raise RequestRefused(Problem(**orjson.loads(content)))
            else:
                return content

    async def stop(self, *, at_once: bool = False) -> None:
        """End the process."""
        self._to.close()
        if not at_once:
            with suppress(TimeoutError):
                async with asyncio.timeout(STOP_S):
                    await self.process.wait()
        if self.process.returncode is None:
            with suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()

    async def _frame(self) -> tuple[int, bytes]:
        """Read a frame; where that is cancelled, the next caller goes on with it."""
        try:
            if self._head is None:
                self._head = HEADER.unpack(await self._from.readexactly(HEADER.size))
            length, kind = self._head
            if length > MAX_FRAME:
                raise ConnectionError("the worker's stream is broken")
            content = await self._from.readexactly(length)
        except asyncio.IncompleteReadError as error:
            raise ConnectionError("the worker has stopped") from error
        self._head = None
        return kind, content

    async def _send(self, content: bytes, kind: int = REQUEST) -> None:
        if self._to.is_closing():  # writing would be an error of another kind
            raise ConnectionError("the worker has stopped")
        self._to.write(frame(kind, content))
        await self._to.drain()


class WorkerPool:
    """Some workers and the queue before them."""

    def __init__(
        self,
        opening: Mapping[str, Any],
        size: int,
        waiting: int,
        log: Callable[[str], None],
        *,
        lazy: bool = False,
        command: Sequence[str] = WORKER,
    ) -> None:
        self._lazy, self._command = lazy, command
        self._opening, self._size, self._waiting_limit, self._log = opening, size, waiting, log
        self._idle: asyncio.LifoQueue[Worker] = asyncio.LifoQueue()
        self._alive: set[Worker] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._shares: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._waiting = 0
        self._closed = self._failing = False
        self.graph: dict[str, Any] = {}
        self.trouble: Problem | None = busy("the workers are starting", after=2)

    @property
    def alive(self) -> int:
        return len(self._alive)

    def start(self) -> None:
        """Start the workers, which takes a second or two; requests wait for them."""
        self._lazy = False
        for _ in range(self._size):
            self._begin()

    async def ask(
        self, operation: str, given: Mapping[str, Any], *, seconds: float, event: EventHandler | None = None
    ) -> bytes:
        """Have a worker answer a request; those of one client have half of the workers at most.

        Returns:
            JSON of the answer.
        """
        if self._lazy:
            self.start()
        content = request(operation, given)
        async with self._share(seconds):
            return await self._ask(operation, content, seconds, event)

    @asynccontextmanager
    async def _share(self, seconds: float) -> AsyncIterator[None]:
        """Hold one of the workers that a client may have at once."""
        if not (client := CLIENT.get()):
            yield
            return
        share = self._shares.setdefault(client, asyncio.Semaphore(max(1, self._size // 2)))
        if share.locked():
            await self._wait(share.acquire(), seconds)
        else:
            await share.acquire()
        try:
            yield
        finally:
            share.release()

    async def _ask(self, operation: str, content: bytes, seconds: float, event: EventHandler | None) -> bytes:
        worker = await self._free(seconds)
        after: Callable[[Worker], None] = self._replace
        try:
            async with asyncio.timeout(seconds):
                answer = await worker.ask(content, event)
            after = self._idle.put_nowait
            return answer
        except RequestRefused:
            after = self._idle.put_nowait
            raise
        except asyncio.CancelledError:
            after = self._recall
            raise
        except TimeoutError:
            hint = "ask for less at once, or raise the server's time-out"
            problem = Problem(503, "time-out", f"no answer within {seconds:g} s", hint, headers={"Retry-After": "5"})
            raise RequestRefused(problem) from None
        except (ConnectionError, ValueError):
            self._log(f"a worker ended while it did {operation} (exit code {worker.process.returncode})")
            raise RequestRefused(busy("the worker that had this request has ended", after=2)) from None
        finally:
            after(worker)

    async def look(self, seconds: float) -> None:
        """Ask each worker that has nothing to do whether its graph is there; afterwards ``trouble`` says."""
        free = [self._idle.get_nowait() for _ in range(self._idle.qsize())]
        for worker in free:
            try:
                async with asyncio.timeout(seconds):
                    self.graph = orjson.loads(await worker.ask(request("ready", {}), None))
                self.trouble = None
            except RequestRefused as refused:
                self.trouble = refused.problem
            except (TimeoutError, ConnectionError, ValueError) as error:
                self.trouble = busy("a worker does not answer", after=2)
                self._failing = isinstance(error, TimeoutError)  # it waits for its store, as the next one will
                self._replace(worker)
                continue
            self._idle.put_nowait(worker)

    async def close(self) -> None:
        """End all workers."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(worker.stop() for worker in self._alive))
        self._alive.clear()

    async def _free(self, seconds: float) -> Worker:
        with suppress(asyncio.QueueEmpty):
            while (worker := self._idle.get_nowait()).process.returncode is not None:
                self._log(f"a worker ended while it had nothing to do (exit code {worker.process.returncode})")
                self._replace(worker)
            return worker
        if self._failing and not self._alive and self.trouble is not None:
            raise RequestRefused(_away(self.trouble))
        return await self._wait(self._idle.get(), seconds)

    async def _wait(self, turn: Coroutine[Any, Any, Found], seconds: float) -> Found:
        if self._waiting >= self._waiting_limit:
            turn.close()
            raise RequestRefused(busy("all workers are busy"))
        self._waiting += 1
        try:
            async with asyncio.timeout(seconds):
                return await turn
        except TimeoutError:
            raise RequestRefused(
                _away(self.trouble) if self.trouble else busy("all workers are busy", after=2)
            ) from None
        finally:
            self._waiting -= 1

    def _recall(self, worker: Worker) -> None:
        async def leave() -> None:
            try:
                await worker.leave()
            except (TimeoutError, ConnectionError, ValueError):
                self._replace(worker)
            else:
                self._idle.put_nowait(worker)

        self._spawn(leave())

    def _replace(self, worker: Worker) -> None:
        self._alive.discard(worker)
        self._spawn(worker.stop(at_once=True))
        self._begin()

    def _begin(self) -> None:
        if not self._closed:
            self._spawn(self._bring_up())

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _bring_up(self) -> None:
        """Start one worker, again and again until it runs."""
        failures = 0
        while not self._closed:
            started = time.monotonic()
            try:
                worker, self.graph = await Worker.start(self._opening, self._command)
            except RequestRefused as refused:
                problem, self._failing = refused.problem, True
                if self.trouble != problem:
                    self._log(": ".join(filter(None, ("a worker does not start", problem.detail, problem.hint))))
                self.trouble = problem
            except (OSError, TimeoutError, ValueError):
                self.trouble = busy("a worker does not start", after=5)
                self._log("a worker ended before it was up")
            else:
                self._alive.add(worker)
                self._idle.put_nowait(worker)
                self.trouble, self._failing = None, False
                return
            rest = AGAIN_S[min(failures, len(AGAIN_S) - 1)]
            failures += 1
            await asyncio.sleep(max(0.0, rest - (time.monotonic() - started)))


def request(operation: str, given: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps({"operation": operation, "given": given})
    except (TypeError, RecursionError):
        hint = "mend the JSON: characters in Unicode, numbers up to 64 bits, nesting up to 200 levels"
        raise RequestRefused(Problem(422, "unusable", "the request holds values that cannot be used", hint)) from None


def _away(trouble: Problem) -> Problem:
    hint = "the server tries again by itself; its log says what to do"
    return Problem(503, trouble.kind, trouble.detail, hint, headers={"Retry-After": "5"})
