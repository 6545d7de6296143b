"""The command that answers questions from the graph, and pages of results."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kgdx.cli import inputs, options
from kgdx.cli.options import Encoder, Force, Html, Json, Mapping, Model, Store, announce, grouped

if TYPE_CHECKING:
    from kgdx import Diagnosis
    from kgdx.answer.cited_answer import Answer
    from kgdx.episode.segment import Segment

LONGEST = 1_000_000
"""Bytes of standard input that are read at most: more than any question may have."""


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command()(ask)
    app.command()(report)


@dataclass(frozen=True)
class Answering:
    """How a question is answered."""

    policy: Annotated[
        str | None, typer.Option("--policy", metavar="NAME", help="rules, or planner (as with --llm).")
    ] = None
    unstrict: Annotated[
        bool, typer.Option("--unstrict", help="Let the model add what it knows beside the evidence, marked as such.")
    ] = False
    pubmed: Annotated[
        bool | None, typer.Option("--pubmed/--no-pubmed", help="Search PubMed for publications.", show_default=False)
    ] = None
    language: Annotated[
        str | None, typer.Option(metavar="CODE", help="Language of the answer, en or zh; that of the question.")
    ] = None


@dataclass(frozen=True)
class Result:
    """What is done with the answer."""

    save: Annotated[bool, typer.Option("--save", help="Write the run into the graph.")] = False
    save_text: Annotated[
        bool, typer.Option("--save-text", help="Likewise, with question, prompts and answers in their own words.")
    ] = False
    trace: Annotated[bool, typer.Option("--trace", help="Show all evidence, and what the model was asked.")] = False
    html: Html = None
    force: Force = False
    as_json: Json = False


@dataclass(frozen=True)
class Opened:
    """Which graph is asked."""

    encoder: Encoder = False
    mapping: Mapping = None
    store: Store = None


@grouped
def ask(
    question: Annotated[str, typer.Argument(metavar="QUESTION|-", help="In English or Chinese; - reads it.")],
    *,
    case: Annotated[
        str | None, typer.Option("--case", metavar="TEXT|FILE|-", help="The patient that it is about.")
    ] = None,
    answering: Answering,
    model: Model,
    result: Result,
    place: Opened,
) -> None:
    """Answer a medical question, with evidence.

    Example: kgdx ask "Which gene causes Marfan syndrome?"
    """
    import kgdx

    check(result.html, force=result.force)
    asked = _question(question)
    patient = inputs.one(case)
    language = _language(answering.language)
    announce(place.store, model.llm, answering.policy)
    with inputs.graph(place.store, encoder=place.encoder, mapping=place.mapping) as graph:
        found = graph.ask(
            asked,
            case=patient,
            policy=answering.policy,
            model=model.llm,
            strict=not answering.unstrict,
            pubmed=answering.pubmed,
            language=language,
            rounds=model.rounds,
            limits=model.limits(),
            watch=_told if sys.stderr.isatty() and not result.as_json else None,
        )
    _present(found, result, place.store)
    if result.save or result.save_text:
        options.remark(f"saved as {kgdx.save(found, store=place.store, text=result.save_text)}")


def _told(segment: Segment) -> None:
    """Say what is looked up while the answer is awaited."""
    plan = segment.data.get("artifact") if segment.name == "read_plan" else None
    if plan:
        names = ", ".join(each["action"] for each in plan["actions"])
        options.remark(f"round {plan['round']}: {names or 'nothing more to look up'}")
    elif segment.data.get("fault") == "model":
        options.remark(str(segment.data["message"]))


def _question(given: str) -> str:
    if given == "-":
        return sys.stdin.buffer.read(LONGEST).decode("utf-8", "replace")
    return os.fsencode(given).decode("utf-8", "replace")  # whatever the locale took its bytes for


def _language(given: str | None) -> Literal["en", "zh"] | None:
    from kgdx.errors import UsageError

    match given:
        case None | "en" | "zh":
            return given
    raise UsageError(f"the language is {given[:20]!r}", hint="en or zh")


def _present(found: Answer, result: Result, store: str | None) -> None:
    """Print the answer, and write the page where one is wanted."""
    if result.as_json:
        options.write_json(found.to_dict(private=result.trace))
    else:
        from kgdx.render.terminal.answer_text import answer

        options.show(answer(found, everything=result.trace))
    write_result(result.html, found, store=store, force=result.force)


# Pages: the option that writes one beside a result, and the command that makes one of a result's JSON.


EXPLAINED = 10
"""How many diseases a page or a JSON document explains, unless fewer are listed or more are asked for."""


def check(path: Path | None, *, force: bool) -> None:
    """Refuse a place that no page can be written to, before the work that the page would show.

    Raises:
        UsageError: As for :func:`kgdx.render.pages.writable`.
    """
    if path is None:
        return
    from kgdx.render.pages import writable

    writable(path, force=force)


def write(path: Path | None, make: Callable[[], str], *, force: bool) -> None:
    """Write a page where one is wanted, and say where it is.

    Args:
        path: Where to; ``None`` when no page is wanted.
        make: Makes the page.
        force: Whether to replace a file that is no such page.
    """
    if path is None:
        return
    from kgdx.render.pages import write as write_page

    options.remark(f"page written to {write_page(make(), path, force=force)}")


def write_result(path: Path | None, result: Diagnosis | Answer, *, store: str | None, force: bool) -> None:
    """Write the page of a result, with links to Neo4j Browser where the graph is on a Neo4j that answers."""

    def make() -> str:
        import kgdx

        return result.to_html(kgdx.browser_place(result.fingerprint, store))

    write(path, make, force=force)


def report(
    result: Annotated[str, typer.Argument(metavar="FILE.json|-", help="What --json printed; - for standard input.")],
    to: Annotated[
        Path | None,
        typer.Option("--out", "--output", "-o", metavar="FILE", help="Page to write; beside the result by default."),
    ] = None,
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
    """Read a JSON object.

    Raises:
        UsageError: There is no such file, or it holds something else.
    """
    import json
    import sys

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
