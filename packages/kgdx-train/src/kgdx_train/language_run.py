"""The folder of a training run of a language model: settings, versions, curve, evaluations, samples and checkpoints.

A checkpoint counts only when its list of files was written behind all of them, so that a run that was killed in the
middle of one goes on from the one before.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from kgdx.errors import StoreError, UsageError
from kgdx.files.known import add_to, as_document, faults, from_document, known, listed, write_whole
from kgdx.files.private import private_folder

CONFIG, VERSIONS, CURVE, EVALUATIONS, SAMPLES = (
    "config.json",
    "versions.json",
    "curve.jsonl",
    "evaluations.jsonl",
    "samples.jsonl",
)
INITIAL, FINAL, WHOLE = "initial", "final", "whole.json"
PACKAGES = ("kgdx", "torch", "transformers", "trl", "peft", "accelerate", "datasets", "vllm")
UNUSED = "training_args.bin"
"""A pickle that transformers writes into each checkpoint and never reads."""


@dataclass(frozen=True)
class RunFolder:
    """The folder of a run."""

    path: Path
    main: bool = True

    def begin(self, settings: Mapping[str, Any]) -> None:
        """Write down what is run, or see that it is the same."""
        content = json.dumps(dict(settings), indent=2, sort_keys=True)
        file = self.path / CONFIG
        if file.exists() and file.read_text() != content:
            what = f"{self.path} holds a run with other settings, cases or graph"
            raise UsageError(what, hint="go on with the same ones, remove it, or give another folder")
        if self.main:
            with writing(self.path):
                private_folder(self.path)
                write_whole(file, content)
                write_whole(self.path / VERSIONS, json.dumps(versions(), indent=2))

    def add(self, name: str, *rows: Mapping[str, Any]) -> None:
        """Add lines to a file."""
        if self.main and rows:
            lines = "".join(json.dumps(dict(row), ensure_ascii=False) + "\n" for row in rows)
            with writing(self.path):
                add_to(self.path / name, lines.encode())

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return the lines of a file; one that was cut by a kill is left out."""
        file = self.path / name
        return list(_rows(file.read_text(encoding="utf-8"))) if file.exists() else []

    def close(self, checkpoint: Path, done: Mapping[str, Any]) -> None:
        """Mark a checkpoint as whole."""
        if self.main:
            with writing(self.path):
                (checkpoint / UNUSED).unlink(missing_ok=True)
                files = as_document(known(checkpoint, listed(checkpoint, without=[WHOLE])))
                write_whole(checkpoint / WHOLE, json.dumps({**done, "files": files}))

    def latest(self) -> tuple[Path, dict[str, Any]] | None:
        """Return the last whole checkpoint and what was noted with it."""
        folders = [each for each in self.path.glob("checkpoint-*") if each.name.rpartition("-")[2].isdigit()]
        for folder in sorted(folders, key=lambda each: int(each.name.rpartition("-")[2]), reverse=True):
            try:
                noted = json.loads((folder / WHOLE).read_text())
                if not faults(folder, from_document(noted["files"])):
                    return folder, noted
            except (OSError, ValueError, KeyError, TypeError):
                continue
        return None

    def rewind(self, step: int) -> None:
        """Leave out of all files what came after a step, since it will come again; and checkpoints that are broken."""
        if not self.main:
            return
        with writing(self.path):
            for name in (CURVE, EVALUATIONS, SAMPLES):
                kept = [row for row in self.rows(name) if row["step"] <= step]
                if (self.path / name).exists():
                    write_whole(self.path / name, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept))
            for folder in self.path.glob("checkpoint-*"):
                if not (folder / WHOLE).exists():
                    shutil.rmtree(folder)


class writing:
    """Turn errors of the disk into one line."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and (said := unwritten(error)):
            what = f"{self.place} cannot be written ({said})"
            raise StoreError(what, hint="make room, and run it again: it goes on from its last checkpoint") from error


def unwritten(error: BaseException) -> str:
    """Return what a disk said, of an error in which it did; empty for any other."""
    said = " ".join(str(error).split())[:200]
    kind = type(error).__name__
    if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
        return error.strerror or said
    wrote = "PytorchStreamWriter" in said or "unexpected pos" in said or kind == "SafetensorError"
    return said if wrote else ""


def _rows(text: str) -> Iterator[dict[str, Any]]:
    for line in text.split("\n"):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and isinstance(row.get("step"), int):
            yield row


def versions() -> dict[str, str]:
    """Return the versions of what a run depends on; those that are not installed are left out."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def curves(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, list[float]]:
    """Return columns of lines, of those that have them all."""
    whole = [row for row in rows if all(isinstance(row.get(name), int | float) for name in names)]
    return {name: [float(row[name]) for row in whole] for name in names}
