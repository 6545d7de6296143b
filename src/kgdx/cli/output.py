"""Where commands write: results to standard output, remarks and progress to standard error, pages to files."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Mapping as AbcMapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import kgdx
from kgdx.cli.options import OUT, Force, Presentation, argument, option
from kgdx.errors import KgdxError, UsageError
from kgdx.files.private import private_file, private_umask

if TYPE_CHECKING:
    from rich.console import RenderableType

    from kgdx import Diagnosis
    from kgdx.answer.cited_answer import Answer
    from kgdx.api.consulting import Consultation
    from kgdx.api.open_graph import Graph

Piece = TypeVar("Piece")


def show(renderable: RenderableType, least: int = 0, *, facts: bool = False) -> None:
    """Write what a person reads: with colour in a terminal, else as plain lines of so many columns, or facts."""
    from kgdx.render.terminal.console import console, lines_of, text

    screen = console()
    if facts:
        print("".join(f"{line}\n" for line in lines_of(renderable)), end="")
    elif screen.is_terminal:
        screen.print(renderable)
    else:
        print(text(renderable, max(screen.width, least)), end="")


def present(result: Any, as_json: bool, shown: Callable[[Any], RenderableType], least: int = 0) -> None:
    """Write a result as JSON, or as a person reads it, at least so many columns wide."""
    if as_json:
        write_json(result.to_dict() if hasattr(result, "to_dict") else plain(result))
    else:
        show(shown(result), least)


def figures(name: str, result: Any, as_json: bool, least: int = 0) -> None:
    """Write what an evaluation measured, as the function of its name shows it."""
    from kgdx.render.terminal import accuracy_text

    present(result, as_json, getattr(accuracy_text, f"{name}_figures"), least)


def figures_page(name: str, result: Any, path: Path | None, *, force: bool) -> None:
    """Write its page, where one is wanted."""
    from kgdx.render.pages import figure_pages

    write(path, lambda: str(getattr(figure_pages, f"{name}_page")(result)), force=force)


@contextmanager
def written(to: Path | None) -> Iterator[TextIO]:
    """Give the file that ``--out`` names, which its owner alone may read, or else standard output."""
    if to is None:
        yield sys.stdout
        return
    with private_file(to).open("w", encoding="utf-8") as stream:
        yield stream


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
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, AbcMapping):
        return {name: plain(each) for name, each in value.items()}
    return str(value) if isinstance(value, Path) else value


def writes_all(stream: TextIO) -> bool:
    return (stream.encoding or "utf-8").lower().replace("-", "").startswith("utf")


def remark(message: str) -> None:
    print(message, file=sys.stderr)


def remark_saved(run: str, graph: Graph) -> None:
    """Write what was saved, and how other processes read it where the address is that of a cluster."""
    remark(f"saved as {run}")
    if graph.bookmarks and graph.url.lower().startswith("neo4j"):
        remark(f"to read it on any member of a cluster: KGDX_NEO4J_BOOKMARKS={','.join(graph.bookmarks)}")


def each(pieces: Iterable[Piece], advance: Callable[[], None]) -> Iterator[Piece]:
    """Hand on pieces of work, counting each when the next one is asked for."""
    for piece in pieces:
        yield piece
        advance()


def finished(result: Diagnosis) -> None:
    """Fail where an action did: what was found before it may be shown, but is not the whole answer."""
    failed = [issue.message for issue in result.issues if (issue.level, issue.where) == ("error", "episode")]
    if failed:
        raise KgdxError(failed[0])


@contextmanager
def progress_bar(what: str, total: int | None) -> Iterator[Callable[[], None]]:
    """Show a bar with count, rate and time left on standard error, if that is a terminal.

    Yields:
        A function to call after each piece of work.
    """
    from rich import progress

    from kgdx.render.terminal.console import console

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[rate]}"),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(
        *columns, console=console(sys.stderr), transient=True, disable=not sys.stderr.isatty()
    ) as bar:
        task = bar.add_task(what, total=total, rate="")

        def advance() -> None:
            speed = bar.tasks[0].speed
            bar.update(task, advance=1, rate=f"{speed:.0f}/s" if speed else "")

        yield advance


def announce(store: str | None, model: str | None, policy: str | None) -> bool:
    """Say who is asked, before anything is sent; return whether a model is."""
    from kgdx.episode.policy import POLICIES

    if model is None and (policy is None or not POLICIES.get(policy.partition(":")[0]).capabilities.models):
        return False
    from kgdx.config import Settings
    from kgdx.llm.connect import described

    remark(f"asking {described(Settings.load(store).llm(model))}")
    return True


EXPLAINED = 10
"""How many diseases a page or a JSON document explains, unless fewer are listed or more are asked for."""


def check(path: Path | None, *, force: bool) -> None:
    """Refuse a place that no page can be written to, before the work that the page would show."""
    if path is None:
        return
    from kgdx.render.pages import writable

    writable(path, force=force)


def write(path: Path | None, make: Callable[[], str], *, force: bool) -> None:
    """Write a page where one is wanted, and say where it is; by force in the place of a file that is no page."""
    if path is None:
        return
    from kgdx.render.pages import write as write_page

    remark(f"page written to {write_page(make(), path, force=force)}")


def write_result(shown: Presentation, result: Diagnosis | Answer, store: str | None) -> None:
    """Write the page of a result, with links to Neo4j Browser where the graph is on a Neo4j that answers."""

    def make() -> str:
        return result.to_html(kgdx.browser_place(result.fingerprint, store))

    write(shown.html, make, force=shown.force)


def diagnosed(
    shown: Presentation, found: Diagnosis, store: str | None, *, trace: bool, words: bool = False, **how: Any
) -> None:
    """Write a diagnosis for a program or a person, and its page; ``words``: with those that the patient is told in."""
    if shown.as_json:
        write_json(found.to_dict(words=words))
    else:
        from kgdx.render.terminal.diagnosis_text import diagnosis, steps

        show(diagnosis(found, **how), facts=shown.plain)
        if trace:
            show(steps(found.trace), facts=shown.plain)
    write_result(shown, found, store)


def check_record(path: Path | None, *, force: bool) -> None:
    """Refuse a place that no record can be written to."""
    if path is None:
        return
    if path.suffix not in (".json", ".html"):
        raise UsageError(f"{path.name} is no form of a record", hint="name a file.json, .html or .phenopacket.json")
    check(path, force=force or path.suffix == ".json")


def write_record(path: Path | None, consultation: Consultation, *, force: bool) -> None:
    """Write the record of a consultation in the form that the file's name ends with; only its owner may read it."""
    if path is None:
        return
    if path.suffix == ".html":
        from kgdx.render.pages import page

        return write(path, lambda: page(consultation.record), force=force)
    packet = path.name.endswith(".phenopacket.json")
    document = consultation.to_phenopacket() if packet else consultation.record.to_dict()

    with private_umask():
        path.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", "utf-8")
    remark(f"record written to {path}")


def report(
    result: str = argument(..., "FILE.json|-", "What --json printed; - for standard input."),
    to: Path | None = option(None, "FILE", "Page to write; beside the result by default.", *OUT),
    force: Force = False,
) -> None:
    """Make a page of a result that was kept as JSON.

    Example: kgdx diagnose patient.json --json > result.json && kgdx report result.json
    """
    from kgdx.render.pages import page

    document = _document(result)
    if to is None and result == "-":
        raise UsageError("the page has no name", hint="add --out FILE.html")
    target = to or Path(result).with_suffix(".html")
    write(target, lambda: page(document), force=force)


def _document(source: str) -> dict[str, object]:
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8-sig")
        document = json.loads(text)
    except OSError as error:
        raise UsageError(f"{source}: {error.strerror}", hint="name a file that --json wrote") from error
    except (ValueError, RecursionError) as error:  # no JSON, or no UTF-8
        raise UsageError(f"{source[:80]} is no JSON document", hint="name a file that --json wrote") from error
    if not isinstance(document, dict):
        raise UsageError(f"{source[:80]} is no result", hint="name a file that --json wrote for one case")
    return document
