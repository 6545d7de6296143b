"""A language model that uses the tools of the graph by writing tags, as Deep-DxSearch does: its algorithm 1.

The model goes on with its own text until the closing tag of an act; the act is done, what it found is put behind it,
and the model goes on, until it has diagnosed or the length is reached. Who wrote what is in the log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from kgdx.actions.reading import Extract, Rank
from kgdx.actions.tools import Lookup, Match, Search, Summarise
from kgdx.answer.artifacts import KeptText, Read, Retrieved, Searched, Summarised
from kgdx.case import Case, Finding, Status
from kgdx.episode.conversation import Exchange, exchanges, spans, stopped
from kgdx.episode.operations import GraphLike, Operations
from kgdx.episode.policy import Capabilities, Policy
from kgdx.episode.segment import Kind, Segment, error_of
from kgdx.episode.state import Artifact, Reads, State
from kgdx.episode.tag_protocol import ANSWERS, CLOSING, PAPER, RESPONSE, Block, ProtocolRules, inert, read
from kgdx.episode.wish import Action, AskModel, Remark, Wish
from kgdx.llm.chat import Message, prompt
from kgdx.policies.doctor_reading import aligned
from kgdx.policies.finishing import declaring, parted

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


class Shown(KeptText):
    """The environment's block after an act."""


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


Notation = Literal["tags", "calls"]
"""How acts are written: blocks of their own, or calls in JSON."""
PROMPTS: Mapping[Notation, str] = {"tags": "tags", "calls": "tool_calls"}
LEAST = 64
"""Characters that have to be left for the model to be asked once more."""


UNDECLARED = "undeclared"
"""Code of the remark that the model declared no disease."""
REMINDER = "This breaks the protocol: {}. Write blocks alone, as you were told; the last one is the diagnosis."


@dataclass(frozen=True, slots=True)
class TagsRead(Artifact):
    """The act that the agent's text ends in."""

    depends: ClassVar[tuple[Reads, ...]] = ()
    kept: ClassVar[bool] = True

    round: int
    act: str = ""
    call: bool = False
    refused: str = ""
    items: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    declared: tuple[str, ...] = ()
    broken: tuple[tuple[str, int], ...] = ()

    def to_data(self) -> dict[str, Any]:
        broken = [list(each) for each in self.broken]
        told = {"round": self.round, "act": self.act, "call": self.call}
        return {**told, "declared": list(self.declared), "broken": broken}

    def to_words(self) -> dict[str, Any]:
        return {"items": [list(each) for each in self.items], "refused": self.refused}

    @classmethod
    def from_log(cls, data: Mapping[str, Any], words: Mapping[str, Any]) -> TagsRead:
        items = tuple((text, source) for text, source in words.get("items", ()))
        broken = tuple((code, place) for code, place in data["broken"])
        act = data["act"], data["call"], words.get("refused", "")
        return cls(data["round"], *act, items, tuple(data["declared"]), broken)


class ReadTags(Action):
    """Read the act that the agent's text ends in; the diseases of a diagnosis are found in the graph by name."""

    name: ClassVar[str] = "read_tags"
    makes: ClassVar[type[Artifact]] = TagsRead
    planned: ClassVar[bool] = False

    round: int
    """After how many answers."""
    rules: ProtocolRules = PAPER
    """What is allowed."""

    @property
    def sees(self) -> tuple[Reads, ...]:
        return ("log",)

    def run(self, graph: Operations, view: State) -> TagsRead:
        text = spans(view.log)
        reading = read(text, self.rules, ended=False)
        length = len("".join(each.text for each in text).rstrip())
        last = next((each for each in reversed(reading.acts) if each.end >= length), None)
        broken = tuple((each.code, each.place) for each in reading.violations)
        if last is None:
            return TagsRead(self.round, broken=broken)
        declared: tuple[str, ...] = ()
        if last.tag == "diagnose" and not last.refused:
            declared = declared_in(graph, last, self.rules.declared)
        items = tuple((each.text, each.source) for each in last.items)
        return TagsRead(self.round, last.tag, last.call, last.refused, items, declared, broken)


def declared_in(graph: Operations, block: Block, most: int) -> tuple[str, ...]:
    """Return the ids of the diseases that a diagnosis names: each once, however it is spelt.

    A name of several diseases stands for the first; what the graph lacks is left out.
    """
    ranker, found = graph.graph.ranker, []
    for each in aligned(graph, [item.text for item in block.items[:most]]):
        numbers = [number for id in each.ids if (number := ranker.number_of(id)) >= 0]
        found += [ranker.names.candidate(numbers[0]).id] if numbers else list(each.ids[:1])
    return tuple(dict.fromkeys(found))


class TagsPolicy(Policy):
    """Let a language model look up, match, search and diagnose by writing tags."""

    name: ClassVar[str] = "tags"
    capabilities: ClassVar[Capabilities] = Capabilities(models=True)

    rules: ProtocolRules = PAPER
    """What the model may do."""
    notation: Notation = "tags"
    """How it writes its acts."""
    length: Annotated[int, Field(ge=LEAST)] = 32_000
    """Characters of the model's text and of what was put into it."""
    result: Annotated[int, Field(ge=16)] = 4_000
    """Characters of one result."""
    max_tokens: Annotated[int, Field(ge=1)] = 2_048
    """Tokens that the model writes at once."""
    matched: Annotated[int, Field(ge=1, le=1_000)] = 20
    """Patients of a match."""
    irrelevant: Annotated[int, Field(ge=0, le=100)] = 0
    """Of what has nothing to do with it, put into each match and search."""
    temperature: float = 0.0
    """0 for the likeliest text."""
    tokens: bool = False
    """Whether token ids and log-probabilities are kept, where the model gives them."""
    without: Annotated[tuple[Literal["lookups", "matches", "searches"], ...], BeforeValidator(parted)] = ()
    """Acts that are not offered, in a text parted by ``+``: a corpus less, as the paper's ablations have it."""
    remind: bool = True
    """Whether a model that ends without an act is told once what breaks the protocol, which the paper does not do."""
    top: int = 10
    """How many candidates are ranked by the graph beside the model's; 0 for none."""
    explain: int = 3
    """How many diseases of the diagnosis are explained."""

    def suited(self, graph: GraphLike) -> Policy:
        """Offer no search where nothing is indexed that says more than what findings are called."""
        left_out = self.without if "searches" in self.without or graph.texts.useful else (*self.without, "searches")
        none: dict[str, Any] = dict.fromkeys(left_out, 0)
        return self.model_copy(update={"rules": replace(self.rules, **none)})

    def choose(self, state: State) -> Wish | None:
        """Return the next wish: ask, read, do the act, show what it found; or come to the end."""
        if state.get(Read) is None and state.case.text and not state.tried(Extract()):
            return Extract()
        if any(each.name == Remark.name and each.data.get("code") == UNDECLARED for each in state.log):
            return self._undeclared(state)
        said = exchanges(state.log)
        if not said:
            system, user = prompt(PROMPTS[self.notation]).messages(**presented(state.case, self.rules))
            return self._asked([replace(system, content=offered(system.content, self.rules)), user], False)
        if said[-1].failed:
            return self._undeclared(state)
        last = state.last(TagsRead)
        if last is None or last.round < len(said):
            return ReadTags(round=len(said), rules=self.rules)
        if last.act == "diagnose" and not last.refused:
            return self._end(state, last)
        onward = self._act(state, last) or self._go_on(state, said[-1]) or self._reminded(state, said)
        return onward or self._undeclared(state)

    def close(self, state: State) -> Wish | None:
        """Return what ends the episode: what the model has declared; where it has not, the graph's ranking."""
        last = state.last(TagsRead)
        return self._end(state, last) if last is not None and last.declared else self._undeclared(state)

    def _undeclared(self, state: State) -> Wish | None:
        if not self.top:
            return None
        where, known = [], list[Any]()
        found = [each.data.get("artifact") for each in state.log if each.name == ReadTags.name]
        for each in filter(None, found):
            codes = dict.fromkeys(code for code, place in each["broken"] if [code, place] not in known)
            known += each["broken"]
            where += [f"{each['round']} ({', '.join(codes)})"] if codes else []
        turns = f"; it broke the protocol in turn {', '.join(where)}" if where else ""
        told = f"the model declared no disease of the graph{turns}; what the graph ranks without it stands"
        remark = Remark(code=UNDECLARED, text=told)
        rank = Rank(top=self.top, explain=True, abstain=True)
        return declaring(state, rank, self.explain) if state.tried(remark) else remark

    def _asked(self, messages: Sequence[Message], continues: bool) -> AskModel:
        return AskModel(
            prompt=prompt(PROMPTS[self.notation]).id,
            messages=tuple(messages),
            continues=continues,
            stop=CLOSING,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            tokens=self.tokens,
            reasoning="keep",
            whole=False,
        )

    def _act(self, state: State, last: TagsRead) -> Wish | None:
        if not last.act or state.log[-1].name == "show_found":
            return None
        done = [each for each in since_read(state.log) if each.kind is Kind.WISH]
        wishes: list[Wish] = [] if last.refused else self._wishes(state, last)
        room = max(0, min(self.result, self.length - _length(state.log)))
        wishes.append(ShowFound(act=last.act, call=last.call, why=last.refused, room=room))
        return wishes[len(done)] if len(done) < len(wishes) else None

    def _wishes(self, state: State, last: TagsRead) -> list[Wish]:
        names = tuple(text for text, _ in last.items)
        if last.act == "lookup":
            return [Lookup(diseases=names)]
        if last.act == "match":
            return [Match(phrases=names, limit=self.matched, irrelevant=self.irrelevant, seed=state.seed)]
        mixed: dict[str, Any] = {"irrelevant": self.irrelevant, "seed": state.seed, "without": state.case.publications}
        found = [Search(query=text, sources=(source,) if source else (), **mixed) for text, source in last.items]
        return [*found, Summarise(query=" ".join(names))]

    def _go_on(self, state: State, said: Exchange) -> Wish | None:
        stop, last = stopped(said), state.last(TagsRead)
        shown = state.last(Shown) if last is not None and last.act else None
        if not stop or _length(state.log) > self.length - LEAST:
            return None
        text = stop if shown is None else f"{stop}\n{shown.text}\n"
        return self._asked([Message("assistant", text)], True)

    def _reminded(self, state: State, said: Sequence[Exchange]) -> Wish | None:
        told = any(one["role"] == "user" for each in said[1:] for one in each.wish.words["messages"])
        if told or not self.remind or _length(state.log) > self.length - LEAST:
            return None
        wrong = dict.fromkeys(each.message for each in read(spans(state.log), self.rules).violations)
        return self._asked([Message("user", REMINDER.format("; ".join(wrong)))], True)

    def _end(self, state: State, last: TagsRead) -> Wish | None:
        if not last.declared:
            return self._undeclared(state)
        known = self.top > 0 and bool(state.case.observed)
        rank = Rank(top=self.top, also=last.declared, explain=True) if known else None
        return declaring(state, rank, self.explain, last.declared)


def _length(log: Sequence[Segment]) -> int:
    return sum(len(each.text) for each in spans(log))
