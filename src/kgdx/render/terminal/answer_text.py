"""An answer for a reader: how the question was understood, what was looked up, the answer, and its evidence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Protocol

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kgdx.lazy import lazy_pattern
from kgdx.render.terminal.case_text import issues, patient_read
from kgdx.render.terminal.console import Flow
from kgdx.results.cited import AnswerDocument, EvidenceItem, LookupRound, LookupStep, Resolved
from kgdx.results.transcript import exchanges, round_title, tokens
from kgdx.results.view import named, split, topic
from kgdx.results.words import clean, count, frequency


class Answering(Protocol):
    """A result that can be shown: :class:`kgdx.Answer` is one."""

    def document(self, *, private: bool = False) -> AnswerDocument: ...


NOTE = "Decision support for research, to be judged by a clinician."

QUESTION_LETTERS = 400
"""Letters of the question that are shown."""

SHOWN_NAMES = 8
"""Names of an action that are shown."""

SCOPE_LETTERS = 220
"""Letters of a scope note that are shown."""

TEXT_LETTERS = 260
"""Letters of a described disease that are shown."""

UNREMARKABLE = frozenset({"recognise", "describe", "cite", "respond"})
"""Steps of every episode, which are shown only where they fail; what they found stands in sections of its own."""

ELSEWHERE = frozenset({"candidate", "mesh", "publication"})
"""Kinds of evidence that stand in sections of their own, with their marks."""

_MARK = lazy_pattern(r"\[E\d+(?:-E\d+)?\]")


def answer(result: Answering, *, everything: bool = False) -> RenderableType:
    """Return the whole answer, from how the question was understood to what failed."""
    found = result.document(private=True)
    parts: list[RenderableType] = [Text(_cut(clean(found.question), QUESTION_LETTERS), style="bold"), Text()]
    parts += patient_read(found.case) if found.case is not None else []
    parts += _section("Answer", [*_option(found), _words(found)])
    parts += _section("Understood", [_understood(found.pack.resolved)] if found.pack.resolved else [])
    parts += _section("Looked up", list(lookups(found.rounds)))
    parts += _section("Most likely", [_candidates(found)] if found.candidates else [])
    parts += _evidence(found, everything=everything)
    parts += _section("MeSH", list(_mesh(found)))
    parts += _section("Publications", [_references(found)] if found.pack.citations else [])
    parts += _section("Notes", [issues(found.issues)] if found.issues else [])
    if everything:
        parts += _section("What the model was asked", list(_conversation(found)))
    parts.append(Text(_footer(found), style="dim"))
    return Group(*parts)


def _option(found: AnswerDocument) -> Iterator[RenderableType]:
    if (chosen := found.option) is None:
        return
    if not chosen.letter:
        yield Text("No option is chosen.", style="bold")
        return
    votes = f" ({chosen.votes.get(chosen.letter, 0)} of {chosen.answers} answers)" if chosen.answers > 1 else ""
    yield Text(f"{chosen.letter}. {clean(chosen.text)}{votes}", style="bold")


def _section(title: str, parts: Sequence[RenderableType]) -> list[RenderableType]:
    return [Text(title, style="bold underline"), *parts, Text()] if parts else []


def _words(found: AnswerDocument) -> RenderableType:
    words = Text(clean(found.answer.text) if "\n" not in found.answer.text else _lines(found.answer.text))
    words.highlight_regex(_MARK, "cyan")
    if not words.plain.strip():
        words = Text("There is no answer; see the notes.", style="yellow")
    checked: list[RenderableType] = [Padding(Flow(words), (0, 0, 0, 2))]
    doubts = []
    if found.answer.removed:
        gone = ", ".join(dict.fromkeys(found.answer.removed))
        doubts.append(f"{count(len(found.answer.removed), 'citation')} taken out that no evidence has: {clean(gone)}")
    if found.answer.unsupported:
        doubts.append(f"{count(found.answer.unsupported, 'sentence')} without evidence")
    if found.answer.disagreeing:
        doubts.append(f"{count(found.answer.disagreeing, 'sentence')} that the cited evidence does not say")
    checked += [Padding(Text(doubt, style="yellow"), (0, 0, 0, 2)) for doubt in doubts]
    return Group(*checked)


def _lines(text: str) -> str:
    return "\n".join(clean(line) for line in text.splitlines())


def _understood(resolved: Iterable[Resolved]) -> RenderableType:
    table = _table()
    for each in resolved:
        kinds = "/".join(kind.lower() for kind in each.kinds)
        if not each.ids:
            near = f"; near: {', '.join(clean(name) for name in each.candidates[:3])}" if each.candidates else ""
            table.add_row(Text(clean(each.given)), Text(f"no {kinds} of that name{near}", style="yellow"))
            continue
        more = f" and {count(len(each.ids) - 1, 'more entry', 'more entries')}" if len(each.ids) > 1 else ""
        how = each.method if each.method in ("id", "exact") else f"{each.method} {each.score:.2f}"
        line = Text(f"{kinds} {clean(each.names[0])}")
        line.append(f"  {each.ids[0]}{more}; {how}", style="dim")
        table.add_row(Text(clean(each.given)), Flow(line))
    return Padding(table, (0, 0, 0, 2))


def lookups(rounds: Iterable[LookupRound]) -> Iterator[RenderableType]:
    """Yield the actions of each round, with their rows; what failed or was refused, with the reason."""
    for each in rounds:
        if each.round or each.by == "rules":
            title = Text(round_title(each))
            if each.thought:
                title.append(f"  {clean(each.thought)}", style="italic dim")
            yield Padding(title, (0, 0, 0, 2))
        table = _table()
        steps = [step for step in each.steps if step.error or step.action not in UNREMARKABLE]
        for step in steps:
            came = "" if step.rows is None else count(step.rows, "row")
            failed = Text("failed, see the notes", style="yellow")
            table.add_row(Text(step.action), _given(step), failed if step.error else Text(came, style="dim"))
        if steps:
            yield Padding(table, (0, 0, 0, 4 if each.round or each.by == "rules" else 2))
        for why in each.refused:
            yield Padding(Text(f"refused: {clean(why)}", style="yellow"), (0, 0, 0, 4))


def _given(step: LookupStep) -> Text:
    names = [name for value in step.parameters.values() if isinstance(value, list) for name in value]
    shown = ", ".join(clean(str(name)) for name in names[:SHOWN_NAMES])
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return Text(shown + more, style="dim")


def _candidates(found: AnswerDocument) -> RenderableType:
    table = _table()
    marks = _marks(found, "candidate")
    for each in found.candidates[:10]:
        mark = Text(marks.get(each.id, ""), style="cyan")
        table.add_row(Text(f"{each.place}."), mark, Text(clean(each.name or each.id)), Text(each.id, style="dim"))
    return Padding(table, (0, 0, 0, 2))


def _marks(found: AnswerDocument, kind: str) -> dict[str, str]:
    marks: dict[str, str] = {}
    for item in found.pack.items:
        about = {"candidate": [item.subject] if item.subject else [], "mesh": item.objects}.get(kind)
        ids = item.references if about is None else [node.id for node in about]
        if item.kind == kind and ids:
            marks[ids[0]] = item.id
    return marks


def _evidence(found: AnswerDocument, *, everything: bool) -> list[RenderableType]:
    here = [item for item in found.pack.items if item.kind not in ELSEWHERE]
    items = here if everything else [item for item in split(found)[0] if item.kind not in ELSEWHERE]
    parts: list[RenderableType] = []
    groups: dict[str, list[EvidenceItem]] = {}
    for item in items:
        groups.setdefault(topic(item), []).append(item)
    for head, group in groups.items():
        table = _table()
        for item in group:
            table.add_row(Text(item.id, style="cyan"), Flow(Text(_fact(item))), *_beside(item))
        parts += [Padding(Text(head), (0, 0, 0, 2)), Padding(table, (0, 0, 0, 4))]
    left, beyond = len(here) - len(items), sum(found.pack.left_out.values())
    notes = [f"{count(left, 'further item')} of evidence: --trace shows them"] if left else []
    notes += [f"{count(beyond, 'fact')} left out, as there are too many"] if beyond else []
    parts += [Padding(Text(note, style="dim"), (0, 0, 0, 2)) for note in notes]
    return _section("Evidence", parts)


def _fact(item: EvidenceItem) -> str:
    if item.kind == "relation" and item.subject is not None and item.objects:
        return ", ".join(map(named, item.objects))
    if item.kind == "inference" and item.subject is not None:
        return named(item.subject)
    return _cut(clean(item.text), TEXT_LETTERS)


def _beside(item: EvidenceItem) -> tuple[RenderableType, ...]:
    if item.kind == "inference":
        matched = ", ".join(map(named, item.objects))
        share = f"{item.details.get('matched')} of {item.details.get('asked')}"
        return Text(share), Flow(Text(matched, style="dim"))
    often = [] if item.kind == "description" else [Text(frequency(item.frequency))]
    return (*often, Text(" ".join((", ".join(item.sources), *item.references[:2])).strip(), style="dim"))


def _mesh(found: AnswerDocument) -> Iterator[RenderableType]:
    shown: set[str] = set()
    marks = _marks(found, "mesh")
    for each in found.pack.diseases:
        heading = each.mesh
        if heading is None or not heading.id or heading.id in shown:
            continue
        shown.add(heading.id)
        line = Text(f"{marks.get(heading.id, '')}  ".lstrip(), style="cyan")
        line.append(f"{clean(each.names[0] if each.names else each.id)}: ", style="default")
        line.append(clean(heading.heading), style="bold default")
        line.append(f"  {heading.id}  {' '.join(heading.tree_numbers)}", style="dim")
        yield Padding(line, (0, 0, 0, 2))
        how = f"{heading.relation} by {heading.method}, {heading.score:.2f}"
        note = _cut(clean(heading.scope_note), SCOPE_LETTERS)
        yield Padding(Flow(Text(f"{how}. {note}".rstrip(), style="dim")), (0, 0, 0, 4))


def _references(found: AnswerDocument) -> RenderableType:
    table = _table()
    marks = _marks(found, "publication")
    for each in found.pack.citations:
        table.add_row(Text(marks.get(each.id, ""), style="cyan"), Flow(Text(clean(str(each)))))
    return Padding(table, (0, 0, 0, 2))


def _conversation(found: AnswerDocument) -> Iterator[RenderableType]:
    for model, row in exchanges(found.trace):
        told = "asked" if row.kind in ("prompt", "wish") else "said"
        about = {key: value for key, value in row.given.items() if value not in (None, "")}
        yield Text(f"  {clean(model)} {told} {json.dumps(about, ensure_ascii=False)}", style="cyan")
        yield Padding(Text(_lines(row.said)), (0, 0, 0, 4))


def _footer(found: AnswerDocument) -> str:
    who = f"{found.policy} with {clean(found.model)}" if found.model else f"{found.policy}, no language model"
    written = "; the answer by template" if found.model and found.answer.author == "template" else ""
    return f"{who}{taken(found.usage)}{written}.\n{NOTE}"


def taken(usage: Mapping[str, int | float]) -> str:
    """Return what asking a model took, in brackets; nothing where it was not asked."""
    calls, cached, failed = (usage.get(name, 0) for name in ("calls", "cached", "failed"))
    if not calls + cached + failed:
        return ""
    total, cost = sum(tokens(usage)), usage.get("cost", 0.0)
    parts = [
        count(int(calls), "call"),
        f"{failed} failed" if failed else "",
        f"{cached} kept" if cached else "",
        f"{total:,} tokens" if total else "",
        f"cost {cost:.4f}" if cost else "",
    ]
    return f" ({', '.join(part for part in parts if part)})"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


_table = partial(Table.grid, padding=(0, 2, 0, 0))
