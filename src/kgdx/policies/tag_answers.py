"""What an agent that writes tags is shown: the patient, and what its acts found, cut where it does not fit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from pydantic import Field

from kgdx.answer.artifacts import Retrieved, Searched, Summarised
from kgdx.case import Case, Finding, Status
from kgdx.episode.operations import Operations
from kgdx.episode.segment import Kind, Segment, error_of
from kgdx.episode.state import Artifact, Reads, State
from kgdx.episode.tag_protocol import ANSWERS, RESPONSE, ProtocolRules, inert
from kgdx.episode.wish import Action

NOTHING = "no reference"
"""Said where nothing was found, as in the paper."""
CUT = " … [cut]"
"""Marks a result that did not fit."""
PHENOTYPES = 8
"""Of a matched patient that are shown."""


def presented(case: Case, rules: ProtocolRules) -> dict[str, str]:
    """Return what the prompt says of a patient and of the rules; no id of the case, and no publication."""
    person = ", ".join(filter(None, ["" if case.sex == "UNKNOWN" else case.sex.lower(), case.age or ""]))
    told = {
        "person": person or "nothing is known of age and sex",
        "present": _named(case.findings, Status.PRESENT) or "none",
        "absent": _named(case.findings, Status.ABSENT) or "none",
        "sources": f"the sources are {', '.join(rules.sources)}"
        if rules.sources
        else "without a source all are searched",
    }
    counts = ("names", "lookups", "matches", "queries", "searches", "declared")
    return told | {name: str(getattr(rules, name)) for name in counts}


def offered(told: str, rules: ProtocolRules) -> str:
    r"""Return what the prompt says without the acts that may not be done at all."""
    for act in ANSWERS:
        if not rules.most(act):
            told = re.sub(rf'^- (?:<{act}>|\{{"name": "{act}").*\n(?:  .*\n)*', "", told, flags=re.MULTILINE)
    return told


def _named(findings: Sequence[Finding], status: Status) -> str:
    return ", ".join(dict.fromkeys(inert(each.label or each.id) for each in findings if each.status is status))


def fitted(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: max(0, room - len(CUT))].rstrip()}{CUT}"


@dataclass(frozen=True, slots=True)
class Shown(Artifact):
    """The environment's block after an act."""

    depends: ClassVar[tuple[Reads, ...]] = ()
    kept: ClassVar[bool] = True

    text: str = field(default="", repr=False)

    def to_words(self) -> dict[str, Any]:
        return {"text": self.text}


class ShowFound(Action):
    """Put into words what an act found, for the agent that did it."""

    name: ClassVar[str] = "show_found"
    makes: ClassVar[type[Artifact]] = Shown
    planned: ClassVar[bool] = False
    private: ClassVar[frozenset[str]] = frozenset({"why"})

    act: str
    """The act."""
    call: bool = False
    """Whether it was a call in JSON."""
    why: str = ""
    """Why it was not done; empty where it was."""
    room: Annotated[int, Field(ge=0)]
    """Characters at most, without the tags."""

    @property
    def sees(self) -> tuple[Reads, ...]:
        return ("log", Retrieved, Searched, Summarised)

    def run(self, graph: Operations, view: State) -> Shown:
        tag = RESPONSE if self.call else ANSWERS.get(self.act, RESPONSE)
        found = f"not done: {self.why}" if self.why else "\n".join(_found(graph, view)) or NOTHING
        return Shown(f"<{tag}>{fitted(inert(found), self.room)}</{tag}>")


_PAUSES = frozenset({"read_tags", "show_found"})


def since_read(log: Sequence[Segment]) -> Sequence[Segment]:
    """Return what came after the agent's text was read last, or was answered; all of it where that was never."""
    places = (at for at in range(len(log) - 1, -1, -1) if log[at].kind is Kind.RESULT and log[at].name in _PAUSES)
    return log[next(places, -1) + 1 :]


def _found(graph: Operations, state: State) -> Iterator[str]:
    after = since_read(state.log)
    yield from (str(error_of(each)) for each in after if each.kind is Kind.ERROR)
    done = [each.name for each in after if each.kind is Kind.RESULT]
    latest = state.last(Retrieved)
    if latest is not None and "lookup" in done:
        yield from _guide(latest)
    elif latest is not None and "match" in done:
        yield from _refer(graph.graph.ranker, latest)
    elif "search" in done:
        yield from _points(state)


def _guide(found: Retrieved) -> Iterator[str]:
    for each in found.resolved:
        rows = [row for row in found.rows if row["disease"] in each.ids]
        shares = ("" if row["share"] is None else f" ({100 * float(row['share']):.0f}%)" for row in rows)
        seen = ", ".join(f"{row['name']}{share}" for row, share in zip(rows, shares, strict=True))
        yield f"{rows[0]['disease_name']}: {seen}" if rows else f"{each.given}: {NOTHING}"


def _refer(ranker: Any, found: Retrieved) -> Iterator[str]:
    for number, row in enumerate(found.rows, 1):
        near = dict.fromkeys(id for id in row["matched"] if id in ranker.names.terms)  # one may be nearest to several
        terms = [ranker.names.label(id) for id in near][:PHENOTYPES]
        yield f"{number}. {', '.join(_called(ranker, row['diseases'])) or 'no diagnosis'}: {', '.join(terms)}"


def _called(ranker: Any, diseases: Iterable[str | None]) -> Iterator[str]:
    for id in diseases:
        number = ranker.number_of(id) if id else -1
        if id:
            yield ranker.names.candidate(number).name if number >= 0 else id


def _points(state: State) -> Iterator[str]:
    summary = state.last(Summarised)
    if summary is not None and summary.points:
        yield from (f"- {text}" for text, _ in summary.points)
        return
    queries = {str(each.words.get("query")) for each in since_read(state.log) if each.name == "search"}
    found = [each for each in state.all(Searched) if each.query in queries]
    for passage in dict.fromkeys(one for each in found for one in each.passages):
        yield f"- {passage.title}: {passage.text}"
