"""The option that writes a page beside a result, and the command that makes one of a result's JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgdx.cli import options
from kgdx.cli.options import Force, Presentation, option

if TYPE_CHECKING:
    from kgdx import Diagnosis
    from kgdx.answer.cited_answer import Answer
    from kgdx.api.consulting import Consultation


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

    options.remark(f"page written to {write_page(make(), path, force=force)}")


def write_result(shown: Presentation, result: Diagnosis | Answer, store: str | None) -> None:
    """Write the page of a result, with links to Neo4j Browser where the graph is on a Neo4j that answers."""

    def make() -> str:
        import kgdx

        return result.to_html(kgdx.browser_place(result.fingerprint, store))

    write(shown.html, make, force=shown.force)


def check_record(path: Path | None, *, force: bool) -> None:
    """Refuse a place that no record can be written to."""
    if path is None:
        return
    from kgdx.errors import UsageError

    if path.suffix not in (".json", ".html"):
        raise UsageError(f"{path.name} is no form of a record", hint="name a file.json, .html or .phenopacket.json")
    check(path, force=force or path.suffix == ".json")


def write_record(path: Path | None, consultation: Consultation, *, force: bool) -> None:
    """Write the record of a consultation in the form that the file's name ends with; only its owner may read it."""
    if path is None:
        return
    import json

    if path.suffix == ".html":
        from kgdx.render.pages import page

        return write(path, lambda: page(consultation.record), force=force)
    packet = path.name.endswith(".phenopacket.json")
    document = consultation.to_phenopacket() if packet else consultation.record.to_dict()
    from kgdx.files.private import private_umask

    with private_umask():
        path.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", "utf-8")
    options.remark(f"record written to {path}")


def report(
    result: Annotated[str, typer.Argument(metavar="FILE.json|-", help="What --json printed; - for standard input.")],
    to: Path | None = option(None, "FILE", "Page to write; beside the result by default.", "--out", "--output", "-o"),
    force: Force = False,
) -> None:
    """Make a page of a result that was kept as JSON.

    Example: kgdx diagnose patient.json --json > result.json && kgdx report result.json
    """
    from kgdx.errors import UsageError
    from kgdx.render.pages import page

    document = _document(result)
    if to is None and result == "-":
        raise UsageError("the page has no name", hint="add --out FILE.html")
    target = to or Path(result).with_suffix(".html")
    write(target, lambda: page(document), force=force)


def _document(source: str) -> dict[str, object]:
    import json

    from kgdx.errors import UsageError

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
