"""Wishes: what a policy wants to happen, as typed requests that are JSON both ways.

A graph action, a question to the patient, a request to a model, a remark for the log, or a declaration. One class
parses a model's plan, fills a prompt, answers HTTP and reads a log.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kgdx.case import Case, Finding, Issue, Status
from kgdx.case.patient import CORRECTED
from kgdx.episode.operations import Operations
from kgdx.episode.state import Artifact, Effect, Reads, State
from kgdx.episode.state import Wish as Wish
from kgdx.errors import UsageError, first_fault
from kgdx.llm.chat import Message
from kgdx.registry import Registry

MAX_WORDS = 100_000
"""Longest reply of a patient, in characters."""
MAX_SPOKEN = 2_000
"""Letters of a question at most."""
UNPLANNED = "unplanned"
"""Code of the remark that rules take over from a model without a usable plan."""


class Remark(Wish):
    """Say something in the log: a decision of the policy that a reader has to know of, such as a fallback."""

    name: ClassVar[str] = "remark"
    effect: ClassVar[Effect] = "note"

    code: str
    """What it is about, for programs."""
    text: str
    """What is said, for people; without anybody's words."""


class AskPatient(Wish):
    """Ask the patient whether a finding is present, which narrower one it is, or openly; or order an examination."""

    name: ClassVar[str] = "ask_patient"
    effect: ClassVar[Effect] = "patient"
    private: ClassVar[frozenset[str]] = frozenset({"spoken"})

    term: str | None = None
    """The finding that is asked for; ``None`` for an open question."""
    label: str = ""
    """Its name."""
    kind: str = ""
    """What the term is, where it is no phenotype: a test, an evidence of DDXPlus."""
    gain: float | None = None
    """Bits that the answer is expected to tell about which disease it is."""
    options: tuple[tuple[str, str], ...] = ()
    """Ids and names of narrower findings, or of an evidence's values, of which a yes may name one."""
    which: bool = False
    """Whether it asks for one of them alone: the finding itself is known to be present."""
    order: Literal["", "examination", "test"] = ""
    """What is ordered in place of a question; empty for a question."""
    spoken: Annotated[str, Field(max_length=MAX_SPOKEN)] = ""
    """The question as it is put, or what is ordered, where somebody has worded it."""


class Reply(BaseModel):
    """What a patient answers: a status of what was asked, a more specific finding, words, or nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    status: Literal[Status.PRESENT, Status.ABSENT, Status.UNKNOWN] | None = None
    """Of the finding that was asked for; ``None`` where words alone were said."""
    term: str | None = None
    """A more specific finding than the one that was asked for: "yes, namely …"."""
    label: str = ""
    """Its name."""
    more: tuple[tuple[str, str], ...] = ()
    """Ids and names of further ones, where several were to choose from."""
    skipped: bool = False
    """Whether the question is passed over: nothing is known, and it is not asked again."""
    text: Annotated[str, Field(max_length=MAX_WORDS)] = ""
    """Words; they join the case's text and are read like it."""
    remarks: tuple[str, ...] = ()
    """What a program that plays the patient has to say of its answer, such as ``masked``; nobody's words."""

    def heard(self, case: Case, asked: AskPatient) -> Case:
        """Return the case after the reply.

        Example:
            >>> Reply(status="absent").heard(Case("p"), AskPatient(term="HP:0001250")).excluded
            ('HP:0001250',)
        """
        term, label = (self.term, self.label) if self.term else (asked.term, asked.label)
        if asked.kind == "history" and term is not None:
            case = _told(case, term, self.status is Status.PRESENT) if self.status in _CONTRARY else case
            term = None
        elif asked.which and not self.term:
            term = None  # which one it is remains open
        elif asked.which:  # the narrower finding says all of it
            case = replace(case, findings=tuple(each for each in case.findings if each.id != asked.term))
        if self.status is not None and term is not None:
            for id, name in ((term, label), *self.more):
                case = _stated(case, Finding(id, self.status, name, text=self.text, method="asked"))
        if self.text.strip():
            source = "text" if case.source == CORRECTED else case.source  # what comes is read
            case = replace(case, text=f"{case.text}\n{self.text}" if case.text else self.text, source=source)
        return case


def _told(case: Case, asked: str, yes: bool) -> Case:
    what = asked.partition(":")[2]
    if what == "FEMALE":
        return replace(case, sex="FEMALE" if yes else "MALE")
    if what == "RELATED":
        return replace(case, family=replace(case.family, consanguineous=yes))
    others = tuple(each for each in case.family.affected if each != what)
    return replace(case, family=replace(case.family, affected=(*others, what) if yes else others))


_CONTRARY = {Status.PRESENT: Status.ABSENT, Status.ABSENT: Status.PRESENT}


def _stated(case: Case, finding: Finding) -> Case:
    before = next((each for each in case.findings if each.id == finding.id), None)
    case = case.with_finding(finding)
    if before is None or before.status is not _CONTRARY.get(finding.status):
        return case
    message = f"{finding.label or finding.id} was first said to be {before.status}, then {finding.status}"
    return case.with_issues([Issue("warning", finding.id, message, "the later answer counts; go back to change it")])


class AskModel(Wish):
    """Ask a language model. The seed of its samples is the episode's and the number of the request."""

    name: ClassVar[str] = "ask_model"
    effect: ClassVar[Effect] = "model"
    private: ClassVar[frozenset[str]] = frozenset({"messages"})

    prompt: str
    """Name and version of the prompt."""
    messages: tuple[Message, ...] = Field(repr=False)
    """The conversation; where :attr:`continues`, what is added to the one before."""
    model: str = ""
    """Which of the world's models; the only one where empty."""
    output: dict[str, Any] | None = None
    """JSON schema that the answer has to fit; free text where ``None``."""
    continues: bool = False
    """Whether the answer goes on from the last message, which is the assistant's."""
    stop: tuple[str, ...] = ()
    """Texts at which the answer ends."""
    max_tokens: int | None = None
    """Length at which the answer is cut."""
    temperature: float = 0.0
    """0 for the likeliest answer."""
    top_p: float | None = None
    """Share of the likeliest tokens that are sampled from."""
    samples: Annotated[int, Field(ge=1, le=1024)] = 1
    """How many answers, each with a seed of its own."""
    tokens: bool = False
    """Whether token ids and log-probabilities are kept, where the backend gives them."""
    reasoning: Literal["keep", "separate", "drop"] = "separate"
    """What becomes of the part between ``<think>`` and ``</think>``."""
    whole: bool = True
    """Whether an answer that is empty, or cut at its length, is an error."""
    streamed: bool = False
    """Whether its pieces are shown as they arrive."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an action: the artifact that it found, ``None`` for nothing new, and the case, where it changed."""

    artifact: Artifact | None
    case: Case | None = None


class Action(Wish, ABC):
    """A wish that runs graph operations on a view of the state and makes an artifact.

    It is a pure function of its fields, of what it :attr:`reads`, and of the graph.
    """

    effect: ClassVar[Effect] = "graph"
    makes: ClassVar[type[Artifact]]
    """What it finds."""
    changes_case: ClassVar[bool] = False
    """Whether it changes what is known of the patient; a resume runs it again at its place."""
    planned: ClassVar[bool] = True
    """Whether a language model may plan it; what begins and ends an episode is no part of a plan."""
    usual: ClassVar[Mapping[str, Any]] = {}
    """Fields that a plan leaves to it, where another value than the default serves questions better."""
    needs_findings: ClassVar[bool] = False
    """Whether it is about a patient's findings."""
    goes_on: ClassVar[bool] = False
    """Whether it sees the artifact that it made before, fresh or not, and goes on from it; then that has to be kept, or
    the action has to change the case."""
    ends: ClassVar[str] = ""
    """Why the episode ends after it; empty where it goes on."""
    pure: ClassVar[bool] = False
    """Whether it needs no graph, but is a function of the state alone."""
    random: ClassVar[bool] = False
    """Whether it makes random choices, from :meth:`State.random`."""
    slow: ClassVar[bool] = False
    """Whether it may wait for a network or take long; concurrent episodes run it in a thread."""

    @property
    def sees(self) -> tuple[Reads, ...]:
        return ()

    @property
    def reads(self) -> tuple[Reads, ...]:
        return self.makes.depends

    @abstractmethod
    def run(self, graph: Operations, view: State) -> Artifact | Outcome | None:
        """Return what was found; the graph records what is run."""


_BUILT_IN = (
    ("actions.headers", "get_symptom get_test get_drug get_cure"),
    ("actions.retrieving", "get_comorbidity"),
    ("actions.headers", "infer_by_symptom infer_by_test infer_by_drug infer_by_cure infer_by_comorbidity"),
    ("actions.retrieving", "get_phenotype"),
    ("actions.headers", "get_gene get_absent get_medicine infer_by_phenotype infer_by_gene"),
    ("actions.retrieving", "get_cooccurrence"),
    ("actions.describing", "get_definition get_passage get_entry describe name_found"),
    ("actions.answering", "cite draft"),
    ("actions.reading", "understand recognise extract rank"),
    ("actions.believing", "believe propose_questions propose_round"),
    ("actions.explaining", "explain"),
    ("actions.retrieving", "retrieve"),
    ("actions.tools", "lookup match search summarise"),
    ("policies.planner", "read_plan"),
    ("policies.doctor_reading", "read_record read_differential read_turn read_answer forget"),
    ("policies.candidate_evidence", "brief"),
    ("policies.reordering", "read_order reorder"),
    ("policies.second_reader", "read_again"),
    ("policies.tags", "read_tags show_found"),
    ("policies.thought_reading", "open_sources name_thought fit_passages read_choice read_diagnosis"),
    ("actions.reading", "diagnose"),
    ("actions.answering", "respond"),
)
"""Modules with the names of their actions; a class is called as its action, in capitals."""
ACTIONS: Registry[Action] = Registry(
    "action",
    "kgdx.actions",
    {name: f"kgdx.{where}:{name.title().replace('_', '')}" for where, names in _BUILT_IN for name in names.split()},
)
"""Name → action; installed packages add theirs by entry points of the group ``kgdx.actions``."""

_OTHERS: Mapping[str, type[Wish]] = {kind.name: kind for kind in (Remark, AskPatient, AskModel)}


def wish_of(name: str, fields: Mapping[str, Any]) -> Wish:
    return parsed(_OTHERS.get(name) or ACTIONS.get(name), name, fields)


Actions = Mapping[str, type[Action]] | Registry[Action]
"""Name → action."""


def parse_action(document: Mapping[str, Any], registry: Actions) -> Action:
    """Read an action from untrusted JSON: ``{"action": name, …fields}``.

    Example:
        >>> from kgdx.actions import ACTIONS
        >>> parse_action({"action": "rank", "top": 5}, ACTIONS).top
        5
    """
    name = document.get("action")
    kind = _named(name, registry) if isinstance(name, str) else None
    if kind is None:
        raise UsageError(f"unknown action {str(name)[:40]!r}", hint=f"one of {', '.join(sorted(registry))}")
    return parsed(kind, name, {key: value for key, value in document.items() if key != "action"})


W = TypeVar("W", bound=Wish)


def parsed(kind: type[W], name: Any, fields: Mapping[str, Any]) -> W:
    """Return a wish of a class from untrusted fields."""
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        raise UsageError(f"action {name}: {first_fault(error)}", hint="mend the field") from error


def _named(name: str, registry: Actions) -> type[Action] | None:
    wanted = name.strip().lower()
    if wanted in registry:
        return registry[wanted]
    return next((kind for _, kind in registry.items() if wanted in map(str.lower, kind.aliases)), None)
