"""The other processes of a build: each computes what is derived from the snapshot while the first loads the store.

Run as ``python -m kgdx.ingest.pipeline.snapshot_hooks MODULE:FUNCTION``; it imports the function, reads the snapshot's
path from standard input, runs it, and answers one line of JSON. When standard input closes, it ends: it does not
outlive its build.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from kgdx.errors import KgdxError, StoreError
from kgdx.graph.snapshot import Snapshot

Hook = Callable[[Snapshot], Any]


class Hooks:
    """Compile hooks that run beside the build, each in a process of its own, whose imports begin early.

    A hook that a new process cannot import by name (a lambda, a nested function) runs in this one, in :meth:`finish`.
    """

    def __init__(self, hooks: Sequence[Hook]) -> None:
        self.seconds: dict[str, float] = {}
        self._here = [hook for hook in hooks if _import_name(hook) is None]
        self._snapshot: Path | None = None
        self._processes: dict[str, subprocess.Popen[str]] = {}
        for name in filter(None, map(_import_name, hooks)):
            self._processes[name] = subprocess.Popen(
                [sys.executable, "-m", "kgdx.ingest.pipeline.snapshot_hooks", name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,  # Ctrl-C reaches the build, which then stops this process
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )

    def start(self, snapshot: Path) -> None:
        self._snapshot = snapshot
        for process in self._processes.values():
            assert process.stdin is not None
            try:
                process.stdin.write(f"{snapshot}\n")
                process.stdin.flush()
            except BrokenPipeError as error:
                raise _failure(process, None) from error

    def finish(self) -> None:
        for name, process in self._processes.items():
            assert process.stdout is not None
            line = process.stdout.readline()
            answer = json.loads(line) if line.startswith("{") else None
            if answer is None or "error" in answer:
                raise _failure(process, answer)
            self.seconds[name] = answer["seconds"]
        self.close()
        if self._here and self._snapshot is not None:
            snapshot = Snapshot.open(self._snapshot)
            for hook in self._here:
                start = time.perf_counter()
                hook(snapshot)
                name = getattr(hook, "__qualname__", type(hook).__name__)
                self.seconds[f"{hook.__module__}:{name}"] = time.perf_counter() - start

    def close(self) -> None:
        while self._processes:
            _, process = self._processes.popitem()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _failure(process: subprocess.Popen[str], answer: dict[str, Any] | None) -> StoreError:
    if answer is None:
        code = None
        with suppress(subprocess.TimeoutExpired):  # its end may be noticed a moment after its last word
            code = process.wait(timeout=5)
        answer = {"error": f"the compiling process ended without an answer (exit code {code})"}
    return StoreError(str(answer["error"]), hint=answer.get("hint") or "run the build again")


def _import_name(hook: Hook) -> str | None:
    module, name = getattr(hook, "__module__", None), getattr(hook, "__qualname__", None)
    if not module or not name or module == "__main__" or not sys.executable:
        return None
    try:
        return f"{module}:{name}" if resolve_name(f"{module}:{name}") is hook else None
    except (ImportError, AttributeError, ValueError):
        return None


def _end_with_parent() -> None:
    while sys.stdin.read(1):
        pass
    os._exit(1)


def main(name: str) -> int:
    hook: Hook = resolve_name(name)
    path = sys.stdin.readline().strip()
    if not path:
        return 1
    threading.Thread(target=_end_with_parent, daemon=True).start()
    answers, sys.stdout = sys.stdout, sys.stderr  # what a hook prints is no answer
    start = time.perf_counter()
    try:
        hook(Snapshot.open(path))
        answer: dict[str, Any] = {"seconds": time.perf_counter() - start}
    except KgdxError as error:
        answer = {"error": error.message, "hint": error.hint}
    except Exception as error:  # the boundary between two processes: whatever it is, the first one must hear of it
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), file=answers, flush=True)
    return int("error" in answer)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
