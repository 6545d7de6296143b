"""Where commands write: results to standard output, progress and remarks to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

if TYPE_CHECKING:
    from rich.console import RenderableType


Piece = TypeVar("Piece")


def show(renderable: RenderableType) -> None:
    """Write what a person reads: with colour in a terminal, as plain lines without trailing blanks otherwise."""
    from kgdx.render.terminal.console import console, text

    screen = console()
    if screen.is_terminal:
        screen.print(renderable)
    else:
        print(text(renderable, screen.width), end="")


def write_json(value: Any, *, indent: int | None = 2) -> None:
    """Write what a program reads: one JSON document."""
    print(json.dumps(value, ensure_ascii=not writes_all(sys.stdout), indent=indent))


def plain(value: Any) -> Any:
    """Return dataclasses and mappings, however deep, as JSON objects, and paths as text.

    Example:
        >>> plain({"folder": Path("a") / "b", "n": 1})
        {'folder': 'a/b', 'n': 1}
    """
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    return str(value) if isinstance(value, Path) else value


def writes_all(stream: TextIO) -> bool:
    """Tell whether a stream can write every character, which it cannot in the encodings of old terminals."""
    return (stream.encoding or "utf-8").lower().replace("-", "").startswith("utf")


def remark(message: str) -> None:
    """Write a line that is not the result."""
    print(message, file=sys.stderr)


def each(pieces: Iterable[Piece], advance: Callable[[], None]) -> Iterator[Piece]:
    """Hand on pieces of work, counting each when the next one is asked for.

    Example:
        >>> list(each("ab", lambda: None))
        ['a', 'b']
    """
    for piece in pieces:
        yield piece
        advance()


@contextmanager
def progress_bar(what: str, total: int | None) -> Iterator[Callable[[], None]]:
    """Show a bar with count, rate and time left on standard error, if that is a terminal.

    Yields:
        A function to call after each piece of work.
    """
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from kgdx.render.terminal.console import console

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console(sys.stderr), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(what, total=total, rate="")

        def advance() -> None:
            speed = bar.tasks[0].speed
            bar.update(task, advance=1, rate=f"{speed:.0f}/s" if speed else "")

        yield advance
