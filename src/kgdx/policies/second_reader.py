"""A language model reads the case's text after the rules, held to words of the text and to terms of the ontology.

What rules have read stays. The model adds findings, each by a quote that stands in the text and by a name that the
graph knows, or by its choice among the graph's nearest terms; and it may doubt what rules have read. What does not hold
is left out and counted. Then another policy goes on with both readings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, Field, PlainSerializer, ValidationError

from kgdx.actions.reading import Extract
from kgdx.answer.artifacts import ranking_of
from kgdx.case import Case, Extraction, Finding, Issue, Span, Status, Unread
from kgdx.case.cleaning import name, sanitise
from kgdx.case.patient import CORRECTED
from kgdx.episode.conversation import exchanges
from kgdx.episode.operations import Operations
from kgdx.episode.policy import Capabilities, Policy, make_policy
from kgdx.episode.segment import Kind, Segment
from kgdx.episode.state import Artifact, Reads, State
from kgdx.episode.wish import Action, AskModel, Outcome, Remark, Wish
from kgdx.llm.chat import prompt
from kgdx.llm.deidentify import PLACEHOLDERS
from kgdx.llm.structured import parse
from kgdx.policies.finishing import FINAL
from kgdx.policies.reordering import expected_tokens
from kgdx.rank.clauses import heard
from kgdx.terms.corpora import cut

PROMPT, NAMES = "second_reader", "second_reader_names"
"""The prompts by which a model reads a text, and by which it chooses among terms."""
MOST = 40
"""Findings of one answer that are looked at."""
MOST_PARTS = 20
"""Parts of a text that a model is shown; rules alone read the rest."""
LONGEST = 200
"""Letters of a quote or a name at most."""
LETTERS = "abcdefgh"
"""What stands for the terms of which the model chooses one, where the graph does not know a name."""
METHOD = "model"
"""How the method of a finding begins that a model has read; the model's name follows."""
SCORE = 0.9
"""Of such a finding."""
READER = "reader"
"""Where its issues and remarks are."""

Doubt = tuple[Finding, str]
Form = TypeVar("Form", bound=BaseModel)
Words = Annotated[str, Field(min_length=1, max_length=LONGEST)]
Reason = Literal["denied", "not the patient", "other meaning", "figure of speech", "past", "not said to be so"]
"""Why a model may doubt a finding."""


class WrittenFinding(BaseModel):
    """A finding as the model writes it."""

    quote: Words
    name: Words
    status: Literal["present", "absent", "past", "possible"]
    whose: Literal["patient", "family", "other"]


class WrittenDoubt(BaseModel):
    """A doubt as the model writes it."""

    number: int
    reason: Reason


class WrittenReading(BaseModel):
    """An answer; each part is read by itself, so that one that is wrong takes none with it."""

    findings: list[Any]
    doubts: list[Any] = []


class WrittenNames(BaseModel, extra="allow"):
    """An answer that chooses terms: number → letter."""


@dataclass(frozen=True, slots=True)
class OpenName:
    """A finding of which it is open what term it is: the graph has none of its name."""

    finding: Finding
    candidates: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ReadTwice(Artifact):
    """What a model's answer has added to what rules have read."""

    depends: ClassVar[tuple[Reads, ...]] = ()
    many: ClassVar[bool] = True

    added: tuple[Finding, ...] = ()
    doubted: tuple[tuple[str, str], ...] = ()
    left: tuple[OpenName, ...] = ()
    refused: Mapping[str, int] = field(default_factory=dict, hash=False)
    issues: tuple[Issue, ...] = ()

    def summary(self) -> dict[str, Any]:
        added = [[each.id, str(each.status)] for each in self.added]
        return {"added": added, "doubted": [list(each) for each in self.doubted], "refused": dict(self.refused)}


def by_rules(case: Case) -> tuple[Finding, ...]:
    """Return what rules have read in the text: a model is shown it by number."""
    return tuple(each for each in case.findings if each.span is not None and not each.method.startswith(METHOD))


class ReadAgain(Action):
    """Add what a model has read to what rules have read: theirs stays, and wins where the two contradict each other."""

    name: ClassVar[str] = "read_again"
    makes: ClassVar[type[Artifact]] = ReadTwice
    planned: ClassVar[bool] = False
    changes_case: ClassVar[bool] = True

    answer: int = 0
    """Which of the model's answers is read; -1 for its choice among terms."""
    heed_doubts: bool = False
    """Whether a finding that the model doubts is taken as unknown."""

    @property
    def sees(self) -> tuple[Reads, ...]:
        return ("log", "case", ReadTwice)

    @property
    def reads(self) -> tuple[Reads, ...]:
        return ()

    def run(self, graph: Operations, view: State) -> Outcome:
        case, chosen, refused = view.case, self.answer < 0, Counter[str]()
        said = exchanges(view.log, f"{NAMES if chosen else PROMPT}@")[self.answer]
        model = said.result.name if said.result is not None else ""
        doubted: list[Doubt] = []
        try:
            if chosen:
                every: list[Finding | OpenName] = list(_chosen(said.text, open_names(view)))
            else:
                written, _ = parse(said.text, WrittenReading)
                every = [_named(graph, each) for each in _found(case.text, model, written, refused)]
                doubted = list(_doubted(by_rules(case), written, refused))
        except ValueError as error:
            fault = f"the model {model} did not read the text: {error}"
            told = [] if said.failed else [Issue("warning", READER, fault, "what rules read stands")]
            return Outcome(ReadTwice(refused={"no answer": 1}, issues=tuple(told)), case.with_issues(told))
        why, taken = {_said(each): reason for each, reason in doubted}, self.heed_doubts and bool(doubted)
        kept = [_doubtful(each, why.get(_said(each), ""), taken) for each in case.findings]
        certain = [each for each in kept if not each.doubt or each.status is not Status.UNKNOWN]
        issues: list[Issue] = []
        added: list[Finding] = []
        for each in every:
            if isinstance(each, Finding) and each.id and _adds(graph, each, (*certain, *added), model, issues):
                added.append(each)
        issues += _told(added, doubted, model, self.heed_doubts)
        refused["no term of the graph"] = sum(isinstance(each, Finding) and not each.id for each in every)
        more = {each.id for each in added}  # what it reads there itself is not taken back
        kept = [each for each in kept if each in certain or each.id not in more]
        both = replace(case, findings=(*kept, *added), unread=_beside(case.unread, added)).with_issues(issues)
        stand = (*heard(both), *(each for each in case.phrases if each not in case.text)) if taken else case.phrases
        both = replace(both, phrases=tuple(each for each in case.phrases if each in stand))
        left = tuple(each for each in every if isinstance(each, OpenName))
        marked = tuple((each.id, reason) for each, reason in doubted)
        return Outcome(
            ReadTwice(tuple(added), marked, left, dict(+refused), tuple(issues)),
            sanitise(both, None, graph.graph.ancestry) if added or taken else both,
        )


def _doubtful(finding: Finding, reason: str, taken: bool) -> Finding:
    """Return a finding with why it is doubted; taken back as a person would, where doubts are heeded."""
    if not reason or finding.status not in (Status.PRESENT, Status.ABSENT):
        return finding
    doubted = replace(finding, doubt=reason)
    return replace(doubted, status=Status.UNKNOWN, method=CORRECTED) if taken else doubted


def _beside(unread: Iterable[Unread], added: Sequence[Finding]) -> tuple[Unread, ...]:
    return tuple(each for each in unread if not any(_meets(each, found.span) for found in added))


def open_names(state: State) -> list[OpenName]:
    return [each for made in state.all(ReadTwice) for each in made.left][:MOST]


def _each(form: type[Form], given: Sequence[Any], refused: Counter[str]) -> Iterator[Form]:
    refused["too many"] += max(0, len(given) - MOST)
    for each in given[:MOST]:
        try:
            yield form.model_validate(each)
        except ValidationError:
            refused["not of the form"] += 1


def _found(text: str, model: str, written: WrittenReading, refused: Counter[str]) -> Iterator[Finding]:
    for each in _each(WrittenFinding, written.findings, refused):
        place = quoted(text, each.quote)
        if place is None:
            refused["not in the text"] += 1
        elif each.whose != "patient" or each.status not in ("present", "absent"):
            refused["not of the patient now"] += 1
        elif ":" in each.name:
            refused["no name"] += 1
        else:
            words = text[place.start : place.end]
            yield Finding("", Status(each.status), "", place, words, each.name, f"{METHOD} {model}".strip(), SCORE)


def quoted(text: str, quote: str) -> Span | None:
    r"""Return where whole words stand in a text, spaces and capitals aside; a mark for what was taken out is no quote.

    Example:
        >>> quoted("He has\nmild ptosis.", "Mild  ptosis"), quoted("He has ptosis.", "as"), quoted("昨夜吐了", "吐")
        (Span(start=7, end=18), None, Span(start=2, end=3))
    """
    words = quote.strip(" \t\n\"'“”‘’.,;，。；").split()
    if not any(map(str.isalpha, "".join(words))) or any(mark in quote for mark in PLACEHOLDERS):
        return None
    said = r"\s+".join(map(re.escape, words))
    found = re.search(rf"(?<![a-z0-9](?=[a-z0-9])){said}(?!(?<=[a-z0-9])[a-z0-9])", text, re.IGNORECASE)
    return None if found is None else Span(*found.span())


def _named(graph: Operations, found: Finding) -> Finding | OpenName:
    """Return a finding with the term of its name; or with the nearest ones, where the graph has none of the name."""
    resolution = graph.graph.reader.resolve(found.matched)
    known = resolution.finding
    if known is not None and known.method in ("exact", "variant"):
        return replace(found, id=known.id, label=known.label)
    near = [(each.id, each.label) for each in (*filter(None, (known,)), *resolution.suggestions)]
    more = [(each.id, each.name) for each in graph.graph.names.resolve(found.matched, ("Phenotype",)).candidates]
    candidates = tuple(dict.fromkeys((*near, *more)))[: len(LETTERS)]
    return OpenName(found, candidates) if candidates else found


def _doubted(rules: Sequence[Finding], written: WrittenReading, refused: Counter[str]) -> Iterator[Doubt]:
    given = {each.number: each.reason for each in _each(WrittenDoubt, written.doubts, refused)}
    for number, each in enumerate(rules, 1):
        if number in given and each.status in (Status.PRESENT, Status.ABSENT):
            yield each, given[number]


def _chosen(text: str, names: Sequence[OpenName]) -> Iterator[Finding]:
    said = parse(text, WrittenNames)[0].model_extra or {}
    for number, each in enumerate(names, 1):
        letter = str(said.get(str(number), "")).strip(" )").casefold()
        at = LETTERS.find(letter) if len(letter) == 1 else -1
        id, label = each.candidates[at] if 0 <= at < len(each.candidates) else ("", "")
        yield replace(each.finding, id=id, label=label)


def _said(finding: Finding) -> tuple[str, Status]:
    return finding.id, finding.status


def _meets(one: Any, other: Span | None) -> bool:
    return other is not None and one.start < other.end and other.start < one.end


def _adds(graph: Operations, said: Finding, known: Sequence[Finding], model: str, issues: list[Issue]) -> bool:
    """Return whether a model's finding adds to those that are known; a contradiction is an issue, and rules win."""
    above = graph.graph.ancestry.ancestors
    for each in known:
        here = _meets(said.span, each.span)
        if each.id == said.id and (here or each.status in (Status.PRESENT, Status.ABSENT)):
            if each.status is not said.status:
                message = f"the model {model} reads {name(each)} as {said.status}, and rules as {each.status}"
                issues.append(Issue("info", each.id, message, "as rules read it"))
            return False
        general, special = (said, each) if said.status is Status.PRESENT else (each, said)
        if here and each.status is said.status and general.id in above(special.id):
            return False
    return True


def _told(added: Iterable[Finding], doubted: Iterable[Doubt], model: str, withdrawn: bool) -> Iterator[Issue]:
    if listed := ", ".join(f"{name(each)} {each.status}" for each in added):
        yield Issue("info", READER, f"read by the model {model}, and by no rule: {listed}", "--not takes one out")
    for each, reason in doubted:
        message = f"the model {model} doubts {name(each)}, read as {each.status}: {reason}"
        remedy = "taken as unknown" if withdrawn else f'--not "{each.label}" takes it out'
        yield Issue("warning", each.id, message, remedy)


def united(found: Extraction, state: State) -> Extraction:
    """Return what rules have read with what a model has added to it, at the end of its reading."""
    why = dict(each for made in state.all(ReadTwice) for each in made.doubted)
    held = set(map(_said, state.case.findings))
    rules = (_doubtful(each, why.get(each.id, ""), _said(each) not in held) for each in found.findings)
    more = [each for each in state.case.findings if each.method.startswith(METHOD)]
    findings = sorted((*rules, *more), key=lambda each: (each.span.start, each.span.end) if each.span else (0, 0))
    issues = (each for each in found.issues if not more or each.where != "text")
    own = (each for made in state.all(ReadTwice) for each in made.issues)
    return replace(found, findings=tuple(findings), issues=(*issues, *own), unread=_beside(found.unread, more))


def _made(given: Any) -> Any:
    return make_policy(given["name"], given.get("settings")) if isinstance(given, Mapping) else given


def _written(policy: Policy | None) -> dict[str, Any] | None:
    return None if policy is None else {"name": policy.name, "settings": policy.model_dump(mode="json", fallback=repr)}


Onward = Annotated[Policy | None, BeforeValidator(_made), PlainSerializer(_written, return_type=dict[str, Any] | None)]
"""A policy, which a log keeps by its name and settings."""


class SecondReader(Policy):
    """Read the text by rules, have a language model read it, too, and go on as another policy does."""

    name: ClassVar[str] = "second_reader"
    capabilities: ClassVar[Capabilities] = Capabilities(models=True)

    then: Onward = Field(default_factory=lambda: make_policy("fixed"))
    """The policy that goes on; the text is read, and no more, where ``None``."""
    model: str = ""
    """Which of the world's models reads; the only one where empty."""
    language: str | None = None
    """Language of the text, where no policy goes on; found out when ``None``."""
    room: Annotated[int, Field(ge=100)] = 1_500
    """Tokens of the text that one request shows, about; a longer text is read in parts, cut at ends of sentences."""
    heed_doubts: bool = False
    """Whether a finding that the model doubts is taken as unknown, rather than told as doubtful."""

    def choose(self, state: State) -> Wish | None:
        """Return what the other policy wishes, but for the second reading once the text was read by rules."""
        begin, end = _place(state)
        if begin < 0 and self.then is None:
            return Extract(language=self.language)
        reading = begin >= 0 and end == len(state.log) and state.case.text.strip() and state.case.source != CORRECTED
        return (self._reading(state) if reading else None) or self._onward(state)

    def close(self, state: State) -> Wish | None:
        """Rank by what was read, where nothing is ranked yet; otherwise end as the other policy does."""
        closing = None if self.then is None else self.then.close(_without(state))
        return closing or (self._onward(state) if ranking_of(state) is None else None)

    def _onward(self, state: State) -> Wish | None:
        return None if self.then is None else self.then.choose(_without(state))

    def _reading(self, state: State) -> Wish | None:
        asked, named = (exchanges(state.log, f"{each}@") for each in (PROMPT, NAMES))
        answer = -1 if named else len(asked) - 1
        if (named or asked) and state.log[-1].name != ReadAgain.name:
            return ReadAgain(answer=answer, heed_doubts=self.heed_doubts)
        if named or state.log[-1].name == Remark.name or any(each.failed in FINAL for each in asked):
            return None
        parts, spent = self._parts(state.case.text), state.limits.model(state.counts) is not None
        if len(asked) < min(len(parts), MOST_PARTS) and not spent:
            return self._ask(state.case, parts[len(asked)])
        if open_names(state) and not spent:
            return self._ask_names(open_names(state))
        text = f"a model has read {len(asked)} of {len(parts)} parts of the text, and rules alone the rest"
        return Remark(code=READER, text=text) if len(asked) < len(parts) else None

    def requests(self, case: Case) -> tuple[AskModel, ...]:
        """Return what is asked about a case's text at most: each part of it, and at last which terms are meant."""
        if not case.text.strip() or case.source == CORRECTED:
            return ()
        return (*(self._ask(case, part) for part in self._parts(case.text)[:MOST_PARTS]), self._ask_names(()))

    def _parts(self, text: str) -> tuple[str, ...]:
        tokens = expected_tokens(text)
        return (text,) if tokens <= self.room else tuple(cut(text, self.room * len(text) // tokens))

    def _ask(self, case: Case, part: str) -> AskModel:
        shown = {number: each for number, each in enumerate(by_rules(case), 1) if each.text in part}
        lines = (f'{number}. "{each.text}": {each.label} ({each.status})' for number, each in shown.items())
        values = {"note": part.strip(), "read": "\n".join(lines) or "Nothing."}
        return self._request(PROMPT, values, _findings_schema([*shown]))

    def _ask_names(self, names: Sequence[OpenName]) -> AskModel:
        lines, choices = [], {}
        for number, each in enumerate(names, 1):
            terms = (f"{letter}) {label}" for letter, (_, label) in zip(LETTERS, each.candidates, strict=False))
            lines.append("\n".join((f'{number}. "{each.finding.text}", called {each.finding.matched}', *terms)))
            choices[str(number)] = {"enum": [*LETTERS[: len(each.candidates)], "none"]}
        return self._request(NAMES, {"names": "\n\n".join(lines)}, _object(choices))

    def _request(self, by: str, values: Mapping[str, str], output: dict[str, Any]) -> AskModel:
        messages = prompt(by).messages(**values)
        return AskModel(model=self.model, prompt=prompt(by).id, messages=messages, output=output, whole=False)


def _place(state: State) -> tuple[int, int]:
    """Return where in the log the second reading begins and ends; -1 where the text was not read by rules yet."""
    log = state.log
    done = (at for at, each in enumerate(log) if each.name == Extract.name and each.kind in (Kind.RESULT, Kind.ERROR))
    begin = end = next(done, -2) + 1
    while end < len(log) and _own(log[end]):
        end += 1 if log[end].name == Remark.name else 2
    return begin, min(end, len(log))


def _own(wish: Segment) -> bool:
    by = str(wish.data.get("prompt", "")).partition("@")[0]
    own = wish.name == ReadAgain.name or by in (PROMPT, NAMES) or wish.data.get("code") == READER
    return own and wish.kind is Kind.WISH


def _without(state: State) -> State:
    """Return a state without the second reading; where rules found nothing, the text is read anew with its findings."""
    begin, end = _place(state)
    if end <= begin:
        return state
    begin -= 2 if state.log[begin - 1].kind is Kind.ERROR else 0
    return replace(state, log=(*state.log[:begin], *state.log[end:]))


def _object(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(fields), "required": list(fields), "additionalProperties": False}


def _findings_schema(numbers: Sequence[int]) -> dict[str, Any]:
    words = {"type": "string", "maxLength": LONGEST}
    closed = {each: {"enum": [*get_args(WrittenFinding.model_fields[each].annotation)]} for each in ("status", "whose")}
    doubt = _object({"number": {"enum": [*numbers]}, "reason": {"enum": [*get_args(Reason)]}})
    findings = {"type": "array", "items": _object({"quote": words, "name": words, **closed}), "maxItems": MOST}
    return _object({"findings": findings, "doubts": {"type": "array", "items": doubt, "maxItems": len(numbers)}})
