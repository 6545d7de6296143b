"""The command that answers questions from the graph, and pages of results."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import kgdx
from kgdx.cli import inputs, output
from kgdx.cli.options import (
    Encoder,
    Mapping,
    Model,
    OnStore,
    Presentation,
    Reading,
    Store,
    argument,
    flag,
    option,
)
from kgdx.cli.output import announce
from kgdx.errors import UsageError

if TYPE_CHECKING:
    from kgdx.episode.segment import Segment

LONGEST = 1_000_000
"""Bytes of standard input that are read at most: more than any question may have."""


def ask(
    question: str = argument(..., "QUESTION|-", "In English or Chinese; - reads it."),
    *,
    case: str | None = option(None, "TEXT|FILE|-", "The patient that it is about."),
    policy: str | None = option(None, "NAME", "rules, planner (as with --llm), or thought."),
    unstrict: bool = flag("Let the model add what it knows beside the evidence, marked as such."),
    choices: list[str] | None = option(
        None, "A=WORDS", "An option to choose from; once for each.", "--option", show_default=False
    ),
    pubmed: bool | None = option(None, "", "Search PubMed for publications.", show_default=False),
    language: Literal["en", "zh"] | None = option(None, "CODE", "Language of the answer, en or zh; the question's."),
    model: Model,
    second: Reading,
    save: bool = flag("Write the run into the graph."),
    save_text: bool = flag("Likewise, with question, prompts and answers in their own words."),
    trace: bool = flag("Show all evidence, and what the model was asked."),
    shown: Presentation,
    encoder: Encoder = False,
    mapping: Mapping = None,
    on_store: OnStore = False,
    store: Store = None,
) -> None:
    """Answer a medical question, with evidence.

    Example: kgdx ask "Which gene causes Marfan syndrome?"
    """
    output.check(shown.html, force=shown.force)
    # words of the command line are what the locale took their bytes for
    asked = sys.stdin.buffer.read(LONGEST) if question == "-" else os.fsencode(question)
    patient = inputs.one(case)
    options = _choices(choices or ())
    announce(store, model.llm, policy)
    announce(store, second.reader, None)
    with inputs.graph(store, encoder=encoder, mapping=mapping, on_store=on_store) as graph:
        found = graph.ask(
            asked.decode("utf-8", "replace"),
            case=patient and second.again(graph, patient, model.limits()),
            policy=policy,
            model=model.llm,
            options=options,
            strict=not unstrict,
            pubmed=pubmed,
            language=language,
            rounds=model.rounds,
            limits=model.limits(),
            watch=_told if sys.stderr.isatty() and not shown.as_json else None,
        )
    if shown.as_json:
        output.write_json(found.to_dict(private=trace))
    else:
        from kgdx.render.terminal.answer_text import answer

        output.show(answer(found, everything=trace), facts=shown.plain)
    output.write_result(shown, found, store)
    if save or save_text:
        output.remark(f"saved as {kgdx.save(found, store=store, text=save_text)}")


def _told(segment: Segment) -> None:
    plan = segment.data.get("artifact") if segment.name == "read_plan" else None
    if plan:
        names = ", ".join(each["action"] for each in plan["actions"])
        output.remark(f"round {plan['round']}: {names or 'nothing more to look up'}")
    elif segment.data.get("fault") == "model":
        output.remark(str(segment.data["message"]))


def _choices(given: Iterable[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    for each in given:
        letter, sign, words = each.partition("=")
        letter = letter.strip().upper()
        if not sign:
            raise UsageError(f"an option is {each[:40]!r}", hint='give its letter and its words: --option "A=FBN1"')
        if letter in options:
            raise UsageError(f"the option {letter[:20]} is given twice", hint="give each letter once")
        options[letter] = words.strip()
    return options
