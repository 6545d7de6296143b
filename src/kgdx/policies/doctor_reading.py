"""Actions that read what a model wrote as a doctor: its record, its differential, its turn, what it understood.

What cannot be read changes nothing and is counted. Names of diseases are aligned with the graph; a name that the graph
lacks is kept as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from rapidfuzz.distance import Levenshtein

from kgdx.actions.believing import Questions
from kgdx.answer.artifacts import Retrieved
from kgdx.answer.evidence_pack import clean
from kgdx.case import Case, Finding, Status, read_text
from kgdx.episode.conversation import exchanges
from kgdx.episode.loop import CASE_FORM
from kgdx.episode.operations import Operations
from kgdx.episode.segment import Author, Segment
from kgdx.episode.state import Artifact, Reads, State
from kgdx.episode.turns import Turn, turns
from kgdx.episode.wish import Action, Outcome
from kgdx.llm.structured import parse
from kgdx.policies.doctor_forms import (
    Doing,
    Hearing,
    NamedDisease,
    WrittenAbstention,
    WrittenDifferential,
    WrittenRecord,
    WrittenTurn,
    read_turn,
)

LAST = 3
"""Turns that a model is shown beside the record, as MedKGI does."""

NOTHING = "Nothing yet."
SAID = 2_000
"""Letters of one answer that a model is shown."""

OF_A_DISEASE = 12
"""Findings of one disease that a model is shown."""

TRIPLES = 80
"""Relations of the graph that a model is shown."""

LANGUAGES = {"en": "English", "zh": "Chinese (中文)"}


def since_reply(log: Sequence[Segment]) -> tuple[Segment, ...]:
    """Return what was written since the patient last answered: the turn that is under way."""
    for at in range(len(log) - 1, -1, -1):
        if log[at].author is Author.PATIENT:
            return tuple(log[at + 1 :])
    return tuple(log)


def profile(case: Case) -> str:
    """Return who the patient is."""
    about = [f"sex: {case.sex.lower()}"] if case.sex in ("FEMALE", "MALE") else []
    if case.age:
        about.append(f"age: {_age(case.age)}")
    return "; ".join(about) or "Nothing is known of who the patient is."


def _age(age: str) -> str:
    years, _, rest = age.removeprefix("P").partition("Y")
    return f"{years} years" if years.isdigit() and age.startswith("P") and not rest else age


def told(said: Sequence[Turn], last: int | None = None, *, of_patient: bool = False) -> str:
    """Return turns as a model reads them."""
    shown = [each for each in said if not of_patient or not each.asked.order]
    shown = shown if last is None else shown[-last:]
    return "\n".join(line for each in shown for line in _turn(each)) or NOTHING


def _turn(turn: Turn) -> Iterator[str]:
    asked, reply = turn.asked, turn.reply
    words = asked.spoken or (f"{asked.label or asked.term}?" if asked.term else "What are the signs and symptoms?")
    yield f"{f'Doctor orders {asked.order}' if asked.order else 'Doctor asks'}: {clean(words, SAID)}"
    if reply is not None:
        status = "" if reply.status is None else str(reply.status)
        named = f" ({reply.label or reply.term})" if reply.term else ""
        answer = f"{status}{named}. {reply.text}" if status and reply.text else (reply.text or f"{status}{named}")
        yield f"{'Result' if asked.order else 'Patient'}: {clean(answer, SAID) or '(nothing)'}"


def findings(case: Case) -> str:
    """Return the record by rules: what is present, what is absent."""
    parts = []
    for status in (Status.PRESENT, Status.ABSENT):
        names = [clean(each.label or each.id, 200) for each in case.findings if each.status is status]
        if names:
            parts.append(f"{status}: {'; '.join(names)}")
    return "\n".join(parts) or NOTHING


def written(record: WrittenRecord) -> str:
    """Return a record that a model wrote."""
    examined = [f"{each.name}: {each.result}" if each.result else each.name for each in record.examinations]
    parts = {
        "complaint": (record.complaint,),
        "present": record.present,
        "absent": record.absent,
        "history": record.history,
        "examinations": tuple(filter(None, examined)),
    }
    lines = (f"{name}: {clean('; '.join(items), SAID)}" for name, items in parts.items() if any(items))
    return "\n".join(lines) or NOTHING


def differential(named: Sequence[NamedDisease]) -> str:
    return "\n".join(f"{at}. {clean(each.name, 200)}" for at, each in enumerate(named, 1)) or NOTHING


def triples(state: State) -> str:
    """Return the relations of the diseases that were looked up last, a line each."""
    found = next((each for each in reversed(state.all(Retrieved)) if each.action == "get_phenotype"), None)
    if found is None:
        return NOTHING
    names = {id: name for each in found.resolved for id, name in zip(each.ids, each.names, strict=False)}
    shown: dict[str, dict[str, None]] = {}
    for row in found.rows:
        of = shown.setdefault(clean(str(names.get(row["disease"], row["disease"])), 200), {})
        if len(of) < OF_A_DISEASE:
            of[clean(str(row["name"]), 200)] = None
    lines = [f"({disease}) has phenotype ({name})" for disease, of in shown.items() for name in of]
    return "\n".join(lines[:TRIPLES]) or NOTHING


def offered(questions: Questions | None, count: int, asked: Iterable[str]) -> list[tuple[str, str, float]]:
    """Return id, name and gain of the best questions that were not asked yet."""
    before = set(asked)
    listed = () if questions is None else questions.questions
    free = [(each.id, each.label, each.gain) for each in listed if each.id not in before]
    return free[:count]


@dataclass(frozen=True, slots=True)
class _Kept(Artifact):
    """What a model wrote, as it was read; the log keeps it."""

    depends: ClassVar[tuple[Reads, ...]] = ()
    kept: ClassVar[bool] = True
    many: ClassVar[bool] = True

    turn: int
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Recorded(_Kept):
    """The record as a model has written it."""

    unknown: int = 0
    contrary: int = 0
    findings: tuple[tuple[str, str, str], ...] = ()
    record: WrittenRecord | None = None

    def summary(self) -> dict[str, Any]:
        return {"findings": [list(each) for each in self.findings]} if self.findings else {}

    def to_data(self) -> dict[str, Any]:
        counts = {"turn": self.turn, "failed": self.failed, "unknown": self.unknown, "contrary": self.contrary}
        return {**counts, "findings": [list(each) for each in self.findings]}

    def to_words(self) -> dict[str, Any]:
        return {} if self.record is None else {"record": self.record.model_dump(mode="json")}

    @classmethod
    def from_log(cls, data: Mapping[str, Any], words: Mapping[str, Any]) -> Recorded:
        record = WrittenRecord.model_validate(words["record"]) if "record" in words else None
        findings = tuple((id, label, status) for id, label, status in data["findings"])
        return cls(**{**data, "findings": findings}, record=record)

    def digest(self) -> str:
        return Artifact.digest(replace(self, record=None))


@dataclass(frozen=True, slots=True)
class Differential(_Kept):
    """The diseases that a model thinks of, the likeliest first."""

    named: tuple[NamedDisease, ...] = ()

    def to_data(self) -> dict[str, Any]:
        return {"turn": self.turn, "failed": self.failed, "ids": [list(each.ids) for each in self.named]}

    def to_words(self) -> dict[str, Any]:
        return {"names": [each.name for each in self.named]}

    @classmethod
    def from_log(cls, data: Mapping[str, Any], words: Mapping[str, Any]) -> Differential:
        return cls(data["turn"], data["failed"], _named(data["ids"], words["names"]))


@dataclass(frozen=True, slots=True)
class Chosen(_Kept):
    """What a model does in a turn, as a doctor."""

    doing: Doing = "question"
    asks: str = ""
    said: str = ""
    named: tuple[NamedDisease, ...] = ()

    def to_data(self) -> dict[str, Any]:
        ids = [list(each.ids) for each in self.named]
        return {"turn": self.turn, "failed": self.failed, "doing": self.doing, "asks": self.asks, "ids": ids}

    def to_words(self) -> dict[str, Any]:
        return {"said": self.said, "names": [each.name for each in self.named]}

    @classmethod
    def from_log(cls, data: Mapping[str, Any], words: Mapping[str, Any]) -> Chosen:
        named = _named(data["ids"], words["names"])
        return cls(data["turn"], data["failed"], data["doing"], data["asks"], words["said"], named)


@dataclass(frozen=True, slots=True)
class Heard(_Kept):
    """What a model understood of an answer in words; without a status where it understood nothing."""

    status: str = ""
    findings: tuple[tuple[str, str, str], ...] = ()

    def summary(self) -> dict[str, Any]:
        return {"findings": [list(each) for each in self.findings]} if self.findings else {}

    def to_data(self) -> dict[str, Any]:
        found = [list(each) for each in self.findings]
        return {"turn": self.turn, "failed": self.failed, "status": self.status, "findings": found}


@dataclass(frozen=True, slots=True)
class Forgotten(_Kept):
    """What was said more than three turns ago is forgotten."""

    def to_data(self) -> dict[str, Any]:
        return {"turn": self.turn, "failed": self.failed}


def _named(ids: Sequence[Sequence[str]], names: Sequence[str]) -> tuple[NamedDisease, ...]:
    return tuple(NamedDisease(name, tuple(each)) for each, name in zip(ids, names, strict=True))


Alignment = Literal["index", "paper"]
"""How names of diseases are found in the graph: by its index, or by MedKGI's rule."""

EDITS = 3
"""Letters by which a name may differ under MedKGI's rule."""

COSINE = 0.85
"""Least likeness in meaning under MedKGI's rule."""

METHOD = "model"
"""How findings were matched that a model has written down."""


class _Reads(Action):
    """Reads the model's answer to a prompt, of this turn."""

    planned: ClassVar[bool] = False

    turn: int
    """After how many questions."""

    @property
    def sees(self) -> tuple[Reads, ...]:
        return ("log",)

    @property
    def reads(self) -> tuple[Reads, ...]:
        return ()

    def text(self, view: State, prompt: str) -> str:
        said = exchanges(since_reply(view.log), f"{prompt}@")
        if not said or not said[-1].text.strip():
            raise ValueError(f"the model gave no answer ({said[-1].failed or 'empty'})" if said else "it was not asked")
        return said[-1].text


class ReadRecord(_Reads):
    """Read the record that a model wrote; its findings are what is known of the patient."""

    name: ClassVar[str] = "read_record"
    makes: ClassVar[type[Artifact]] = Recorded
    changes_case: ClassVar[bool] = True

    @property
    def sees(self) -> tuple[Reads, ...]:
        return ("log", "case")

    def run(self, graph: Operations, view: State) -> Outcome:
        try:
            record, _ = parse(self.text(view, "doctor_record"), WrittenRecord)
        except ValueError as error:
            return Outcome(Recorded(self.turn, str(error)))
        terms = [(each, Status.PRESENT) for each in record.present] + [(each, Status.ABSENT) for each in record.absent]
        found, unknown = _terms(graph, terms)
        case, contrary = _written(view.case, found)
        return Outcome(Recorded(self.turn, "", unknown, contrary, _shown(found), record), case)


class ReadDifferential(_Reads):
    """Read the differential that a model wrote, and find its diseases in the graph."""

    name: ClassVar[str] = "read_differential"
    makes: ClassVar[type[Artifact]] = Differential

    most: int = 5
    """Most diseases."""
    alignment: Alignment = "index"
    """How their names are found in the graph."""

    def run(self, graph: Operations, view: State) -> Differential:
        try:
            names = parse(self.text(view, "doctor_differential"), WrittenDifferential)[0].diseases[: self.most]
        except ValueError as error:
            return Differential(self.turn, str(error))
        return Differential(self.turn, named=aligned(graph, names, self.alignment))


class ReadTurn(_Reads):
    """Read what a model does in a turn, as a doctor."""

    name: ClassVar[str] = "read_turn"
    makes: ClassVar[type[Artifact]] = Chosen

    asked: Literal["doctor_turn", "doctor_thought", "doctor_plain", "doctor_abstain"] = "doctor_turn"
    """By which prompt."""
    offered: tuple[str, ...] = ()
    """Ids of the questions that it was shown."""
    prose: bool = True
    """Whether plain words are a question."""
    alignment: Alignment = "index"
    """How names of diseases are found in the graph."""

    def run(self, graph: Operations, view: State) -> Chosen:
        try:
            form = WrittenAbstention if self.asked == "doctor_abstain" else WrittenTurn
            said = read_turn(self.text(view, self.asked), self.offered, prose=self.prose, form=form)
        except ValueError as error:
            return Chosen(self.turn, str(error))
        named = aligned(graph, said.thought_of, self.alignment)
        return Chosen(self.turn, doing=said.doing, asks=said.asks, said=said.said, named=named)


class ReadAnswer(_Reads):
    """Read what a model understood of the patient's answer in words."""

    name: ClassVar[str] = "read_answer"
    makes: ClassVar[type[Artifact]] = Heard
    changes_case: ClassVar[bool] = True

    term: str
    """The finding that was asked for."""
    label: str = ""
    """Its name."""

    @property
    def sees(self) -> tuple[Reads, ...]:
        return ("log", "case")

    def run(self, graph: Operations, view: State) -> Outcome:
        try:
            heard, _ = parse(self.text(view, "doctor_hearing"), Hearing)
        except ValueError as error:
            return Outcome(Heard(self.turn, str(error)))
        terms = [(each, Status.PRESENT) for each in heard.present] + [(each, Status.ABSENT) for each in heard.absent]
        found, _ = _terms(graph, terms)
        asked = Finding(self.term, heard.status, self.label, method=METHOD)
        below = [each for each in found if self.term in graph.graph.ancestry.ancestors(each.id)]
        if not any(each.status is Status.PRESENT for each in below):
            found = [asked, *(each for each in found if each.id != self.term)]
        case = view.case
        for finding in found:
            case = case.with_finding(finding)
        return Outcome(Heard(self.turn, "", str(heard.status), _shown(found)), case)


class Forget(_Reads):
    """Forget what was said more than three turns ago, but for the complaint: a consultation without a record."""

    name: ClassVar[str] = "forget"
    makes: ClassVar[type[Artifact]] = Forgotten
    changes_case: ClassVar[bool] = True

    def run(self, graph: Operations, view: State) -> Outcome:
        case: Case = CASE_FORM.validate_python(view.log[0].words["case"])
        said = turns(view.log)
        for each in (*said[:1], *said[max(1, len(said) - LAST) :]):
            if each.reply is not None:
                case = each.reply.heard(case, each.asked)
        if case.text or case.findings:
            case = read_text(case, graph.graph.reader, graph.graph.ancestry, words=True)
        return Outcome(Forgotten(self.turn), case)


def aligned(graph: Operations, names: Iterable[str], rule: Alignment = "index") -> tuple[NamedDisease, ...]:
    """Return diseases with their ids in the graph; without ids where it has none of the name.

    ``index`` takes what the index of names states; ``paper`` also what differs by three letters or is alike in meaning
    by .85, the best one.
    """
    listed = list(names)
    index = graph.graph.names

    def align() -> tuple[NamedDisease, ...]:
        found = []
        for name in listed:
            decision = index.resolve(name, ("Disease",))
            ids = decision.ids or (_nearest(name, decision.candidates) if rule == "paper" else ())
            found.append(NamedDisease(name, tuple(ids)))
        return tuple(found)

    return graph.tool("names", {"kinds": ["Disease"], "names": len(listed)}, align, lambda found: len(found))


def _nearest(name: str, candidates: Iterable[Any]) -> tuple[str, ...]:
    near = [(Levenshtein.distance(name.casefold(), each.matched.casefold()), each) for each in candidates]
    best = min((edits for edits, _ in near), default=EDITS + 1)
    if best <= EDITS:
        return tuple(each.id for edits, each in near if edits == best)
    alike = [each for _, each in near if each.method == "meaning" and each.score >= COSINE]
    return (max(alike, key=lambda each: each.score).id,) if alike else ()


def _shown(found: Iterable[Finding]) -> tuple[tuple[str, str, str], ...]:
    return tuple((each.id, each.label, str(each.status)) for each in found)


def _terms(graph: Operations, phrases: Sequence[tuple[str, Status]]) -> tuple[list[Finding], int]:
    reader = graph.graph.reader
    found = graph.tool(
        "reader",
        {"phrases": len(phrases)},
        lambda: [reader.resolve(phrase).finding for phrase, _ in phrases],
        lambda found: sum(each is not None for each in found),
    )
    pairs = zip(found, phrases, strict=True)
    terms = [replace(each, status=status, text=phrase, method=METHOD) for each, (phrase, status) in pairs if each]
    return terms, len(phrases) - len(terms)


def _written(case: Case, found: Sequence[Finding]) -> tuple[Case, int]:
    answered = [each for each in case.findings if each.method != METHOD]
    kept = {each.id: each.status for each in answered if each.method == "asked"}
    contrary = sum(each.id in kept and kept[each.id] is not each.status for each in found)
    new = [each for each in found if each.id not in kept]
    ids = {each.id for each in new}
    left = [each for each in answered if each.id not in ids]
    return replace(case, findings=(*left, *new)), contrary
