"""The forms of requests and of responses that are no results, as the API's description shows them."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    StrictBool,
    field_validator,
    model_validator,
)

from kgdx.case.patient import Finding, Issue
from kgdx.results.consulted import ConsultationDocument
from kgdx.results.ranked import CaseSummary, DiagnosisDocument, UnreadText


def _number(value: object) -> object:
    if isinstance(value, bool | str):
        raise ValueError("must be a number")
    return value


UNKNOWN = 20
"""So many unknown members are named at most."""

NUMBER = BeforeValidator(_number)
Term = Annotated[str, Field(min_length=1, max_length=300)]
Terms = Annotated[list[Term], Field(max_length=1000)]
Text = Annotated[str, Field(max_length=200_000)]
Id = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[\w.:/-]+$")]

Kind = Literal["Disease", "Phenotype", "Symptom", "Test", "Drug", "Cure", "Gene"]
"""Classes whose names can be completed."""

_PATIENT: dict[str, Any] = {
    "text": "A 7-year-old girl with seizures and ataxia, no hearing loss.",
    "observed": ["HP:0001250", "Ataxia"],
    "excluded": ["HP:0000365"],
    "sex": "FEMALE",
    "age": "P7Y",
}
_PACKET: dict[str, Any] = {
    "id": "patient-1",
    "phenotypicFeatures": [
        {"type": {"id": "HP:0001250", "label": "Seizure"}},
        {"type": {"id": "HP:0000365"}, "excluded": True},
    ],
}


class RequestBody(BaseModel):
    """A request; unknown members are refused."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="wrap")
    @classmethod
    def _few(cls, given: Any, check: ModelWrapValidatorHandler[Self]) -> Self:
        """Name a few unknown members: to name each of a hundred thousand takes a second."""
        if isinstance(given, dict) and len(given) > len(cls.model_fields):
            unknown = islice((name for name in given if name not in cls.model_fields), UNKNOWN)
            known = {name: value for name, value in given.items() if name in cls.model_fields}
            given = known | {name: given[name] for name in unknown}
        return check(given)


Place = Annotated[int, Field(ge=0, le=200_000), NUMBER]


class Correction(RequestBody):
    """A finding as somebody has corrected it."""

    id: Term = Field(description="HPO id, label or phrase.")
    status: Literal["present", "absent", "unknown", "family", "hypothetical", "removed"] = Field(
        "present", description="removed: it was read where there is none, and its words count for nothing."
    )
    start: Place | None = Field(None, description="Where it begins in the text, if it stands there.")
    end: Place | None = Field(None, description="Where it ends.")
    text: Annotated[str, Field(max_length=1000)] = Field("", description="The words that it was read from.")
    value: Annotated[float, NUMBER, Field(allow_inf_nan=False)] | None = Field(
        None, description="The number that was measured."
    )
    unit: Annotated[str, Field(max_length=40)] = Field("", description="Its unit.")
    severity: Annotated[str, Field(max_length=40)] = Field("", description="HPO id of how severe it is.")
    modifiers: Annotated[list[Annotated[str, Field(max_length=40)]], Field(max_length=20)] = Field(
        [], description="HPO ids of its side and course."
    )
    since: Annotated[str, Field(max_length=40)] = Field("", description="How long it has been: P3D, PT2H.")
    doubt: Annotated[str, Field(max_length=40)] = Field("", description="Why a language model doubts it.")


class SecondReading(RequestBody):
    """Whether a language model reads the text, too."""

    reader: StrictBool = Field(
        False,
        description="Whether the language model that the server is configured with reads the text after the rules: it "
        "adds findings (method `model` and its name) and doubts those of the rules (`doubt`), by words of the text "
        "and terms of the graph. Where it fails, what rules read stands, and an issue at `reader` says so.",
    )
    heed_doubts: StrictBool = Field(False, description="Whether findings that it doubts are taken as unknown.")


class PatientInput(SecondReading):
    """A patient: in words, by terms, or both; by corrected findings; or as a GA4GH phenopacket v2."""

    title: Annotated[str, Field(max_length=200)] = Field(
        "", description="What somebody calls the patient; the result bears it in the place of an id made up."
    )

    text: Text = Field("", description="The patient in words, English or Chinese. It is not kept and not logged.")
    observed: Terms = Field([], description="Findings that are present: HPO ids, labels or phrases.")
    excluded: Terms = Field([], description="Findings that are known to be absent.")
    findings: Annotated[list[Correction], Field(max_length=1000)] | None = Field(
        None,
        description="What extract read, as somebody has corrected it: the text is not read for findings again, and "
        "says nothing of who the patient is.",
    )
    phenopacket: dict[str, Any] | None = Field(None, description="A phenopacket, instead of text and terms.")
    sex: Literal["FEMALE", "MALE", "OTHER", "UNKNOWN"] = "UNKNOWN"
    age: Annotated[str, Field(max_length=40, pattern=r"^P?\d[\w\s.]*$")] | None = Field(
        None, description="ISO 8601 duration such as P7Y3M, years, or words such as 3 months."
    )
    onset: Annotated[str, Field(max_length=40)] | None = Field(
        None, description="When the disease began: an age, a stage such as infantile, or HPO's term."
    )
    inheritance: Annotated[str, Field(max_length=60)] | None = Field(
        None, description="The mode that is suspected: AD, AR, XLR, XLD, XL, MT, or HPO's term."
    )
    consanguineous: StrictBool | None = Field(None, description="Whether the parents are related by blood.")
    genes: Annotated[list[Term], Field(max_length=20_000)] = Field(
        [], description="Genes with candidate variants: symbols or ids."
    )
    setting: Literal["emergency", "general", "referral"] | None = Field(
        None, description="Where the patient is seen, which decides how much it counts how common a disease is."
    )
    language: Literal["en", "zh"] | None = Field(None, description="Of the text; found out when absent.")
    case_bank: StrictBool | None = Field(
        None, description="Whether to match with the graph's patients, by default where it has some: diagnose, explain."
    )


class DiagnoseRequest(PatientInput, json_schema_extra={"examples": [_PATIENT, {"phenopacket": _PACKET, "top": 5}]}):
    """A patient to diagnose."""

    top: Annotated[int, Field(ge=1, le=100), NUMBER] = Field(10, description="How many diseases.")
    explain: Annotated[int, Field(ge=0, le=20), NUMBER] = Field(
        0, description="For how many of them to say why: what each finding adds, and evidence paths."
    )
    rerank: StrictBool = Field(
        False, description="Whether the language model that the server is configured with puts the best in order."
    )
    rerank_top: Annotated[int, Field(ge=2, le=100), NUMBER] = Field(50, description="How many of the best it orders.")
    rerank_prompt: Literal["vanilla", "cot"] = Field(
        "vanilla", description="How it is to order them; cot: it writes down its thoughts first."
    )
    thought: StrictBool = Field(
        False,
        description="Whether the language model thinks of what it needs to know first, documents and graph are "
        "searched by that, and it names at most five diseases, each with its place in the ranking by score.",
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        """Refuse to have the model both order and name the diseases."""
        if self.rerank and self.thought:
            raise ValueError("rerank and thought cannot both be asked for")
        return self


class ExplainRequest(
    PatientInput, json_schema_extra={"examples": [{"observed": ["HP:0001250", "HP:0001251"], "disease": "OMIM:208900"}]}
):
    """A patient, and the disease to explain."""

    disease: Id = Field(description="Id of a disease, or of an entry that is merged into one.")


class QuestionsRequest(PatientInput, json_schema_extra={"examples": [{"observed": ["HP:0001250"]}]}):
    """A patient, and how many findings to propose that should be looked for next."""

    count: Annotated[int, Field(ge=1, le=50), NUMBER] = Field(5, description="How many findings.")
    leaders: Annotated[int, Field(ge=1, le=20), NUMBER] = Field(
        4, description="How many leading diseases are to be told apart."
    )
    between: Annotated[list[Id], Field(max_length=10)] = Field(
        [], description="Diseases to tell apart, each taken for equally likely, in the place of the leading ones."
    )


class ExtractRequest(
    SecondReading, json_schema_extra={"examples": [{"text": "No seizures. 患者有共济失调。"}, {"document": _PACKET}]}
):
    """A text to read; or a case in another form, such as a phenopacket."""

    text: Text = Field("", description="In words, English or Chinese. It is not kept and not logged.")
    document: dict[str, Any] | None = Field(
        None, description="A case in JSON instead: a phenopacket v2, or one of the other forms that kgdx reads."
    )
    language: Literal["en", "zh"] | None = None


class Ids(RequestBody, json_schema_extra={"examples": [{"ids": ["HP:0001250"]}]}):
    """Phenotypes to name."""

    ids: Annotated[list[Id], Field(max_length=500)]


class Complete(RequestBody, json_schema_extra={"examples": [{"prefix": "seiz", "limit": 5}]}):
    """The beginning of a name. It is sent in a body, since addresses end up in logs."""

    prefix: Annotated[str, Field(min_length=1, max_length=100)]
    kinds: Annotated[list[Kind], Field(min_length=1, max_length=7)] = ["Phenotype"]
    limit: Annotated[int, Field(ge=1, le=50), NUMBER] = 10


def _answering() -> list[str]:
    from kgdx.episode.policy import POLICIES

    return [name for name, kind in POLICIES.items() if kind.capabilities.answers and not kind.capabilities.asks]


def _enumerated(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [{"type": "string", "enum": _answering()}, {"type": "null"}]


class Ask(PatientInput, json_schema_extra={"examples": [{"question": "Which genes are associated with OMIM:208900?"}]}):
    """A question, about medicine in general or about a patient."""

    question: Annotated[str, Field(min_length=1, max_length=4000)]
    policy: str | None = Field(
        None,
        json_schema_extra=_enumerated,
        description="Who chooses the look-ups; by default the words of the question. planner: the language model that "
        "the server is configured with.",
    )
    options: dict[str, Annotated[str, Field(max_length=2000)]] | None = Field(
        None, max_length=26, description="Letter → words, A, B, C and so on: one is chosen, by a policy that can."
    )
    strict: StrictBool = Field(True, description="Whether the answer may say only what the evidence says.")
    rounds: Annotated[int, Field(ge=1, le=10), NUMBER] = Field(5, description="Most rounds of planning.")

    @field_validator("policy")
    @classmethod
    def _answers(cls, name: str | None) -> str | None:
        """Refuse a policy that answers no questions, or asks the patient, who is not there."""
        if name is not None and name not in _answering():
            raise ValueError(f"the policy has to be one of {', '.join(_answering())}")
        return name

    @property
    def asks_model(self) -> bool:
        from kgdx.episode.policy import POLICIES

        return self.policy is not None and POLICIES.get(self.policy).capabilities.models


class Page(
    RequestBody, json_schema_extra={"examples": [{"document": {"schema": "kgdx.diagnosis/3", "case": {"id": "p"}}}]}
):
    """A result to make a page of."""

    document: dict[str, Any] = Field(description="What diagnose, explain or ask answered.")
    part: StrictBool = Field(False, description="Whether to leave out style and script, for a page that has them.")


class ResponseBody(BaseModel):
    """A response; later versions may add members. Diagnoses and answers are documents of :mod:`kgdx.results`."""

    model_config = ConfigDict(extra="allow")


class TextReading(ResponseBody):
    """What was read: the case, each mention of a finding, what was not read, and what is doubtful."""

    case: CaseSummary = Field(description="The case as it would be ranked, with each finding once.")
    text: str = Field(description="Its text, to whose characters all places refer.")
    findings: tuple[Finding, ...] = Field(description="Each mention of a finding in the text, in its order.")
    unread: tuple[UnreadText, ...] = Field(description="Parts of the text in which nothing was read; without words.")
    issues: tuple[Issue, ...]


class LeadingDisease(ResponseBody):
    """A leading disease."""

    id: str
    name: str
    name_zh: str | None
    share: float = Field(description="Its share among all annotated diseases, 0 to 1.")


class Proposed(ResponseBody):
    """A finding to look for."""

    id: str
    name: str
    bits: float = Field(description="What knowing it is expected to tell about which disease it is.")
    often: list[float] = Field(description="How often each leader's patients have it, 0 to 1, in the leaders' order.")


class Proposals(ResponseBody):
    """What to examine next: the findings that separate the leading diseases most, the best first."""

    leaders: list[LeadingDisease]
    questions: list[Proposed]


class PhenotypeNames(ResponseBody):
    """Names of a phenotype or a symptom."""

    id: str
    name: str | None
    name_zh: str | None


class NamesRequest(ResponseBody):
    """Names of phenotypes and symptoms; ids that the graph lacks are left out."""

    names: list[PhenotypeNames]


class NameCompletion(ResponseBody):
    """An entry whose name fits what was typed."""

    id: str
    kind: str
    name: str


class Completions(ResponseBody):
    """Entries, the best first."""

    terms: list[NameCompletion]


class Disease(ResponseBody):
    """What the graph knows of a disease."""

    id: str
    name: str
    name_zh: str | None
    definition: str | None
    synonyms: list[str] | None
    source: str | None
    same_as: list[dict[str, Any]]
    phenotypes: list[dict[str, Any]]
    phenotypes_left_out: int
    genes: list[dict[str, Any]]
    relations: list[dict[str, Any]]


class Sources(ResponseBody):
    """What the graph holds and was made of, and what it lacks."""

    build: dict[str, Any] | None
    sources: list[dict[str, Any]]
    nodes: dict[str, int] = Field(description="Class → how many.")
    relations: dict[str, int] = Field(description="Relation → how many.")
    absent: list[dict[str, Any]] = Field(
        description="Sources that the graph would gain by, each with what is missing without it and its command."
    )


class ServerDescription(ResponseBody):
    """What this server is and can do."""

    version: str
    notice: str
    token: bool
    model: str | None
    fingerprint: str | None
    created: str | None


class Health(ResponseBody):
    """The server runs."""

    status: Literal["ok"]


class Ready(ResponseBody):
    """The server can answer: workers run, and their graph is there."""

    status: Literal["ready"]
    workers: int
    fingerprint: str


class Html(ResponseBody):
    """A page."""

    html: str


class ProblemDetails(ResponseBody):
    """RFC 9457 problem details."""

    type: str
    title: str
    status: int
    detail: str
    hint: str | None = None


class Consult(PatientInput, json_schema_extra={"examples": [{"observed": ["HP:0001251"], "speaks": "en"}]}):
    """A patient to begin a consultation with; nothing need be known."""

    questions: Annotated[int, Field(ge=0, le=100), NUMBER] = Field(20, description="Most questions.")
    certain: Annotated[float, Field(gt=0, le=1), NUMBER] = Field(
        0.6, description="Share of the leading disease at which no more is asked."
    )
    selector: Annotated[str, Field(max_length=60)] | None = Field(None, description="How the questions are chosen.")
    speaks: Literal["en", "zh"] | None = Field(None, description="Of the questions; that of the words when absent.")


class ConsultationReply(
    RequestBody, json_schema_extra={"examples": [{"transcript": [{"kind": "start"}], "number": 1, "status": "present"}]}
):
    """An answer to the question of a consultation, with all that was said before: the server keeps nothing."""

    transcript: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=2_000)] = Field(
        description="As it came with the question."
    )
    what: Literal["answer", "skip", "back", "finish", "show"] = Field(
        "answer", description="`back` takes the last answer back; `show` only repeats the question."
    )
    number: Annotated[int, Field(ge=0), NUMBER] | None = Field(
        None, description="Of the question that is answered; another one is refused."
    )
    status: Literal["present", "absent", "unknown"] | None = Field(
        None, description="Of the finding that was asked for."
    )
    named: Annotated[list[Id], Field(max_length=200)] = Field([], description="Ids of the options that are chosen.")
    text: Annotated[str, Field(max_length=100_000)] = Field("", description="The answer in words, instead.")
    speaks: Literal["en", "zh"] | None = Field(None, description="Language to go on in; as before when absent.")


class ConsultationState(ConsultationDocument):
    """A consultation as it stands, with the ranked diseases once it has ended."""

    diagnosis: DiagnosisDocument | None = Field(None, description="Once no question waits any more.")
