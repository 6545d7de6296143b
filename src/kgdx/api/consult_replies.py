"""What a person's words answer to a question: yes, no, a narrower finding, an option, or something else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kgdx.case import Finding, Status
from kgdx.episode.wish import AskPatient, Reply
from kgdx.lazy import lazy_pattern
from kgdx.terms.replies import STATUSES, ReplyMeaning, read_reply

if TYPE_CHECKING:
    from kgdx.actions.graph_context import GraphContext

_LISTED = lazy_pattern(r"[,，、;；]")


def reply_to(graph: GraphContext, asked: AskPatient, words: str, names: Sequence[str]) -> Reply:
    """Return what words answer to a question.

    Whatever they are, they are kept, and read like a note: an instruction in them is a text without findings.
    """
    said = read_reply(words)
    if asked.term is None:
        return Reply(status=Status.UNKNOWN) if said.meaning in STATUSES and not said.rest else Reply(text=words)
    if asked.which:
        return _chosen(graph, asked, words, names, said)
    if said.meaning == "present" and said.rest:
        return _present(asked, _below(graph, asked, f"{asked.label} {said.rest}"), said.rest)
    if said.meaning in STATUSES:
        return Reply.model_validate({"status": said.meaning, "text": said.rest})
    return _read(graph, asked, words, said)


def _read(graph: GraphContext, asked: AskPatient, words: str, said: ReplyMeaning) -> Reply:
    above = graph.ancestry.ancestors(asked.term or "")
    found = graph.extract(words).findings
    below = _below(graph, asked, words)
    if below is not None:
        return _present(asked, below, words)
    if any(each.status is Status.ABSENT and each.id in {asked.term, *above} for each in found):
        return Reply(status=Status.ABSENT, text=words)
    if said.dated and not found:
        return Reply(status=Status.PRESENT, text=words)
    return Reply(text=words)


def _below(graph: GraphContext, asked: AskPatient, words: str) -> Finding | None:
    named = {each.id for each in graph.extract(asked.label).findings}
    found = [each for each in graph.extract(words).findings if each.status is Status.PRESENT]
    narrower = (each for each in found if each.id not in named and asked.term in graph.ancestry.ancestors(each.id))
    return next(narrower, None) or next((each for each in found if each.id == asked.term), None)


def _present(asked: AskPatient, below: Finding | None, words: str) -> Reply:
    if below is None or below.id == asked.term:
        return Reply(status=Status.PRESENT, text=words)
    return Reply(status=Status.PRESENT, term=below.id, label=below.label, text=words)


def _chosen(graph: GraphContext, asked: AskPatient, words: str, names: Sequence[str], said: ReplyMeaning) -> Reply:
    if said.meaning in STATUSES and not said.rest:
        return Reply(status=Status.UNKNOWN)
    named: dict[str, tuple[str, str]] = {}
    for number, (option, name) in enumerate(zip(asked.options, names, strict=True), 1):
        named |= {each.casefold(): option for each in (str(number), *option, name)}
    parts = [each.strip().casefold() for each in _LISTED.split(words) if each.strip()]
    found = dict.fromkeys(named[part] for part in parts if part in named)
    if found and all(part in named for part in parts):
        first, *more = found
        return Reply(status=Status.PRESENT, term=first[0], label=first[1], more=tuple(more))
    below = _below(graph, asked, f"{asked.label} {words}")
    if below is None or below.id == asked.term:
        return Reply(status=Status.UNKNOWN, text=words)
    return _present(asked, below, words)
