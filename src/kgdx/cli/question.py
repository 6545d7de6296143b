"""The command that answers questions from the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kgdx.cli import inputs, output, pages
from kgdx.cli.groups import grouped
from kgdx.cli.llm import Model, announce
from kgdx.cli.options import Encoder, Force, Html, Json, Store

if TYPE_CHECKING:
    from kgdx.actions.answer import Answer


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(ask)


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
    encoder: Encoder = False,
    store: Store = None,
) -> None:
    """Answer a medical question, with evidence for each claim.

    Example: kgdx ask "Which tests are done for pertussis?"
    """
    import kgdx

    asked = _question(question)
    patient = inputs.one(case)
    language = _language(answering.language)
    announce(store, model.llm, answering.policy)
    with kgdx.open(store, encoder=encoder, progress=output.remark) as graph:
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
        )
    _present(found, result)
    if result.save or result.save_text:
        output.remark(f"saved as {kgdx.save(found, store=store, text=result.save_text)}")


def _question(given: str) -> str:
    import sys

    return sys.stdin.read() if given == "-" else given


def _language(given: str | None) -> Literal["en", "zh"] | None:
    from kgdx.errors import UsageError

    match given:
        case None | "en" | "zh":
            return given
    raise UsageError(f"the language is {given[:20]!r}", hint="en or zh")


def _present(found: Answer, result: Result) -> None:
    """Print the answer, and write the page where one is wanted."""
    if result.as_json:
        output.write_json(found.to_dict(private=result.trace))
    else:
        from kgdx.show.answer import answer

        output.show(answer(found, everything=result.trace))
    pages.write(result.html, found.to_html, force=result.force)
