"""A diagnosis as a document: ranked diseases, what each finding contributes, and the evidence paths of the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import Field, WrapSerializer

from kgdx.case.measured_values import Range
from kgdx.case.patient import Case, Finding, Status
from kgdx.case.person import Family
from kgdx.results.document import Created, Issues, Links, Plain, Result, Sources
from kgdx.results.evidence_paths import Evidence
from kgdx.terms.normalise import has_chinese

DIAGNOSIS_SCHEMA: Literal["kgdx.diagnosis/3"] = "kgdx.diagnosis/3"
"""Name and version of the JSON form; a field is only ever added within a version."""


GENES_NAMED = 20
"""Candidate genes that a result names; all are counted."""


@dataclass(slots=True, unsafe_hash=True)  # not frozen: there are many, and each would take five times as long
class Contribution(Plain):
    """What a finding, a phrase of the patient, or the person adds to one candidate's score.

    Attributes:
        rule: How finding and disease were matched: ``exact``, ``descendant`` (a more specific term is annotated),
            ``ancestor`` (a more general one), ``shared`` (another term under a common ancestor), ``neighbour``
            (similar diseases have it), ``annotated_absent``, ``opposite``, ``excluded_annotated``, ``excluded``,
            ``background``; ``patient`` for what a patient of the case bank adds beyond the disease's own score;
            ``phrase`` for a symptom in words, ``prior`` for how common the disease is in the setting; ``onset``,
            ``sex``, ``inheritance``, ``gene_evidence`` for what the person adds.
        score: Its share of the candidate's score, in the score's own unit; a candidate's contributions sum to it.
        finding: HPO CURIE of the finding; empty for what belongs to the disease alone (rule ``breadth``) or to the
            comparison with the other diseases (rule ``baseline``).
        status: Whether the patient has the finding or is known not to have it.
        parts: Scorer name → its part of this score; scorers to which it says nothing are left out.
        matched: HPO CURIE of the annotated term that explains it; the similar disease's for ``neighbour``, the
            patient's id for ``patient``.
        via: HPO CURIE of the ancestor that finding and annotated term share; empty where they are the same.
        frequency: The annotated term's frequency as its sources state it.
        references: The sources of that annotation.
        text: The patient's words, for ``phrase``; otherwise why, where it is no finding that adds to the score.
        words: The disease's words that meet them best, for ``phrase``; empty where none does.
    """

    rule: str
    score: float
    finding: str = ""
    status: Status = Status.UNKNOWN
    parts: dict[str, float] = field(default_factory=dict, hash=False)
    matched: str = ""
    via: str = ""
    frequency: str = ""
    references: tuple[str, ...] = ()
    text: str = field(default="", repr=False)
    words: str = ""


class _LazyContributions(Sequence[Contribution]):
    """Stands for a tuple of contributions, made when it is first looked at; what raises most is named at once."""

    __slots__ = ("_made", "_make", "support")

    def __init__(self, make: Callable[[], tuple[Contribution, ...]], support: tuple[str, ...]) -> None:
        self._make, self.support = make, support
        self._made: tuple[Contribution, ...] | None = None

    @property
    def all(self) -> tuple[Contribution, ...]:
        if self._made is None:
            self._made = self._make()
        return self._made

    def __getitem__(self, place: Any) -> Any:
        return self.all[place]

    def __len__(self) -> int:
        return len(self.all)

    def __iter__(self) -> Iterator[Contribution]:
        return iter(self.all)

    def __eq__(self, other: object) -> bool:
        return self.all == (other.all if isinstance(other, _LazyContributions) else other)

    def __hash__(self) -> int:
        return hash(self.all)

    def __repr__(self) -> str:
        return repr(self.all)

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self.all,)


def lazy_contributions(
    make: Callable[[], tuple[Contribution, ...]], support: tuple[str, ...]
) -> tuple[Contribution, ...]:
    """Return contributions that are made when they are first looked at: most lists are shown without them."""
    return cast("tuple[Contribution, ...]", _LazyContributions(make, support))


@dataclass(frozen=True, slots=True)
class MatchedCase:
    """Another patient of the graph, diagnosed with the candidate.

    Attributes:
        id: The patient case's id.
        score: Its score when it is ranked like a disease.
        shared: HPO CURIEs of the case's findings that this patient has too, or has something more specific of.
        publications: Where the patient is reported.
    """

    id: str
    score: float
    shared: tuple[str, ...]
    publications: tuple[str, ...] = ()


Raised = tuple[tuple[MatchedCase, ...], float]
"""The patients that match with a disease, best first, and what they add to its score."""


@dataclass(frozen=True, slots=True)
class FamilyMember(Plain):
    """Another disease of a candidate's family, with its place in the ranking by disease.

    Attributes:
        rank: Its rank by disease.
        id: Its CURIE.
        name: Its name.
        score: Its score.
        name_zh: Its Chinese name, where the graph has one.
        genes: Symbols of its genes.
    """

    rank: int
    id: str
    name: str
    score: float
    name_zh: str | None = None
    genes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Separation(Plain):
    """The finding that separates a candidate from the next best member of its family, whether or not it was asked for.

    Attributes:
        finding: HPO CURIE of the finding.
        name: Its name.
        other: CURIE of the other member.
        frequency: Share of the candidate's patients who have the finding, as the annotations suggest; 0 where it is
            not annotated.
        other_frequency: The same for the other member.
    """

    finding: str
    name: str
    other: str
    frequency: float
    other_frequency: float


@dataclass(frozen=True, slots=True)
class Ground(Plain):
    """A piece of evidence that a reason cites.

    Attributes:
        mark: How the reason names it, such as ``E12``.
        disease: CURIE of the disease that it is about; empty for a passage of a document.
        finding: CURIE of the phenotype, or of what else is stated of it; empty for what is said in words.
        text: It in words; the beginning of a long passage.
        references: What states it.
    """

    mark: str
    disease: str
    finding: str
    text: str
    references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MoveReason(Plain):
    """Why a language model moved or named a candidate, as far as the evidence carries it.

    Attributes:
        text: The sentences that cite evidence and say what it says, with its marks; empty where there are none.
        grounds: What the marks stand for.
        left_out: How many sentences were left out: they cite nothing of the candidate, or say something else.
    """

    text: str = ""
    grounds: tuple[Ground, ...] = ()
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Reranking(Plain):
    """What became of a language model's order of the candidates.

    Attributes:
        model: Who was asked.
        prompt: Name of the instruction.
        digest: Digest of the instruction.
        candidates: How many were to be ordered.
        asked: How many orders were asked for.
        failed: How many of them gave none; the order of retrieval stands there.
        fault: Why the last of these gave none.
        unknown: Ids that were refused because no candidate has them.
        repeated: Ids that were refused because they came again.
        omitted: Candidates that were left out, and follow in the order of retrieval.
        moved: Candidates whose place is another one now.
        unexplained: Those of the listed ones moved up for which no reason is left that the evidence carries.
        weight: Of the model's order beside the score; 1 for the order alone.
        runs: How often all candidates were ordered; from the second time on they were shown in a random order.
        agreement: Mean rank correlation (Kendall) between the orders of two runs; ``None`` where there is one.
        bias: Mean rank correlation between a random order that was shown and the order that came back: 0 where the
            place in the list plays no part.
        ties: Neighbours that the runs together leave tied; the sooner retrieved comes first.
    """

    model: str = ""
    prompt: str = ""
    digest: str = ""
    candidates: int = 0
    asked: int = 0
    failed: int = 0
    fault: str = ""
    unknown: int = 0
    repeated: int = 0
    omitted: int = 0
    moved: int = 0
    unexplained: int = 0
    weight: float = 1.0
    runs: int = 1
    agreement: float | None = None
    bias: float | None = None
    ties: int = 0

    @property
    def stands(self) -> bool:
        return self.failed >= self.asked


@dataclass(frozen=True, slots=True)
class Candidate(Plain):
    """One disease in a ranking; entries that are the same disease are one candidate.

    Attributes:
        rank: Rank by disease; 1 is best; equal scores are ordered by id.
        id: CURIE of the entry that stands for the candidate (OMIM before others).
        name: Its name.
        members: CURIEs of all merged entries, ``id`` first.
        score: Sum of the scorers' weighted, standardised parts.
        parts: Scorer name → its part of the score; ``case_bank`` where a patient raised it.
        contributions: What each finding adds, with the parts by scorer; they sum to ``score``. Empty until it is
            explained.
        support: Names of what raises it, the weightiest first, where a document does not hold its contributions.
        cases: The most similar patients with this disease, where the case bank is used.
        name_zh: Its Chinese name, where the graph has one.
        family: CURIE of the disease that stands for its family (a name series, an Orphanet group, or one gene with
            names that agree); empty where it is of none.
        family_rank: Rank by family, where the list has one row for each.
        family_size: How many diseases the family has.
        in_family: The best other members, where the list has one row for each family.
        separated_by: What separates it from the first of them.
        nested: CURIEs of wider or narrower entries that are ranked under it.
        retrieved_rank: Its number in the list by score, where the list is in another order than that of the scores
            (:mod:`kgdx.policies.rerank`); the scores stay as they are.
        reason: Why it was moved up, or is named, as far as the evidence carries what a language model says of it.
        explained: Share of the patient's findings, by information content, that its annotations explain, 0 to 1.
        genes: Symbols of its genes, as the graph's sources associate them.
        inheritance: Modes of inheritance.
        begins: Stages of life in which it begins.
        prevalence: Orphanet's class of prevalence, or the band of the table of common conditions in a general practice.
    """

    rank: int
    id: str
    name: str
    members: tuple[str, ...]
    score: float
    parts: Mapping[str, float] = field(default_factory=dict)
    contributions: Annotated[tuple[Contribution, ...], WrapSerializer(lambda parts, write: write(tuple(parts)))] = ()
    support: tuple[str, ...] = ()
    cases: tuple[MatchedCase, ...] = ()
    name_zh: str | None = None
    family: str = ""
    family_rank: int | None = None
    family_size: int = 1
    in_family: tuple[FamilyMember, ...] = ()
    separated_by: Separation | None = None
    nested: tuple[str, ...] = ()
    retrieved_rank: int | None = None
    reason: MoveReason | None = None
    explained: float | None = None
    genes: tuple[str, ...] = ()
    inheritance: tuple[str, ...] = ()
    begins: tuple[str, ...] = ()
    prevalence: str | None = None

    @property
    def place(self) -> int:
        return self.rank if self.family_rank is None else self.family_rank


def raised_by(cases: Sequence[MatchedCase], gain: float) -> tuple[Contribution, ...]:
    """Return what the best patient of the case bank adds: one contribution, or none."""
    return (Contribution("patient", gain, parts={"case_bank": gain}, matched=cases[0].id),) if gain else ()


def named_support(candidate: Candidate, name: Callable[[Sequence[Contribution]], tuple[str, ...]]) -> tuple[str, ...]:
    """Return the names of what raises a candidate, by ``name`` where its contributions do not bring them."""
    parts = candidate.contributions
    return parts.support if isinstance(parts, _LazyContributions) else name(parts)


_with_status = WrapSerializer(lambda each, write: {"id": each.id, "status": each.status} | write(each))
StatedFinding = Annotated[Finding, _with_status]
"""A finding whose status is always written."""


@dataclass(frozen=True, slots=True)
class CaseSummary:
    """The patient as understood; the text is no part of it, the words that each finding was read from are.

    Attributes:
        id: Identifier of the case.
        sex: ``FEMALE``, ``MALE``, ``OTHER`` or ``UNKNOWN``.
        age: ISO 8601 duration at last encounter, such as ``P7Y3M``.
        source: Where the case comes from.
        findings: What was found, with each finding's status.
        onset: When the disease began: an HPO CURIE, or an ISO 8601 duration since birth.
        family: What is known of the family.
        genes: Names of the first candidate genes, the weightiest first.
        n_genes: How many candidate genes there are.
        language: ``zh`` where the patient is described in Chinese; otherwise the language as given, or nothing.
    """

    id: str
    sex: str = "UNKNOWN"
    age: str | None = None
    source: str = ""
    findings: tuple[StatedFinding, ...] = ()
    language: str | None = None
    onset: str | None = None
    family: Family = field(default_factory=Family)
    genes: tuple[str, ...] = ()
    n_genes: int = 0

    @classmethod
    def of(cls, case: Case) -> CaseSummary:
        """Return the summary of a case.

        Example:
            >>> CaseSummary.of(Case("p", text="反复抽搐")).language
            'zh'
        """
        words = (case.text, *(finding.text for finding in case.findings))
        language = case.language or ("zh" if any(map(has_chinese, words)) else None)
        genes = case.gene_evidence.genes if case.gene_evidence else ()
        return cls(
            id=case.id,
            sex=case.sex,
            age=case.age,
            source=case.source,
            findings=case.findings,
            language=language,
            onset=case.onset,
            family=case.family,
            genes=tuple(gene.name or gene.id for gene in genes[:GENES_NAMED]),
            n_genes=len(genes),
        )

    @property
    def chinese(self) -> bool:
        return self.language == "zh" or any(has_chinese(finding.text) for finding in self.findings)


@dataclass(frozen=True, slots=True)
class DangerousDisease(Plain):
    """A dangerous disease that the findings do not exclude.

    Attributes:
        id: CURIE of the disease.
        name: Its name.
        rank: Its rank among all diseases.
        settled_by: What confirms or excludes it now, as the table of conditions states it.
        explained: Share of the patient's findings that it explains, 0 to 1.
        name_zh: Its Chinese name, where the graph has one.
        settled_by_zh: What settles it, in Chinese.
    """

    id: str
    name: str
    rank: int
    settled_by: str
    explained: float
    name_zh: str | None = None
    settled_by_zh: str | None = None


@dataclass(frozen=True, slots=True)
class ExpectedResult(Plain):
    """What a candidate predicts of a test.

    Attributes:
        id: CURIE of the candidate.
        name: Its name.
        result: What the test shows where the patient has it.
    """

    id: str
    name: str
    result: str


@dataclass(frozen=True, slots=True)
class NextTest(Plain):
    """A test that would tell the leading candidates apart.

    Attributes:
        name: What to test: genes, a laboratory finding, or what a source recommends.
        kind: ``genes``, ``laboratory`` or ``recommended``.
        predicts: What the leading candidates predict, the leaders first.
    """

    name: str
    kind: str
    predicts: tuple[ExpectedResult, ...]


@dataclass(frozen=True, slots=True)
class Judgement(Plain):
    """How far a list can be relied on as a whole.

    Attributes:
        level: ``low``, ``fair`` or ``good``: how often the first of such a list was right; or why nothing is ranked:
            ``nothing`` for a text without a finding, ``little`` for one with a single unspecific finding.
        text: It in one line.
        helps: What would help, where nothing is ranked.
        setting: Where the patient is seen: ``emergency``, ``general`` or ``referral``; it decides how much it counts
            how common a disease is.
        setting_rule: Why that setting was taken.
        left_out: What sex or age rules out, with how many diseases.
        dangerous: What must not be missed, the likeliest first; at most five.
        tests: What to test next, with what each of the leading candidates predicts.
    """

    level: str
    text: str
    helps: tuple[str, ...] = ()
    setting: str = ""
    setting_rule: str = ""
    left_out: tuple[str, ...] = ()
    dangerous: tuple[DangerousDisease, ...] = ()
    tests: tuple[NextTest, ...] = ()

    @property
    def ranked(self) -> bool:
        return self.level not in ("nothing", "little")


Candidates = Annotated[tuple[Candidate, ...], Field(description="Diseases, best first.")]


@dataclass(frozen=True, slots=True)
class RolloutPart:
    """A part of the text of a model that uses the graph as it writes.

    Attributes:
        author: Who wrote it: ``model`` or ``graph``.
        text: What stands there.
    """

    author: str
    text: str = field(repr=False)


class DiagnosisDocument(Result):
    """A ranking of diseases with the reasons for each place."""

    schema_: Literal["", "kgdx.diagnosis/3"] = Field("", alias="schema", description="The form.")
    current: ClassVar[str] = DIAGNOSIS_SCHEMA
    case: CaseSummary = Field(description="The patient as understood.")
    findings: tuple[ReadFinding, ...] = Field((), description="What the patient has, as read or given, with its place.")
    unread: tuple[UnreadText, ...] = Field((), description="Parts of the text in which nothing was read.")
    n_candidates: int = Field(0, description="How many diseases were ranked.")
    candidates: Candidates
    evidence: Evidence = Field(default_factory=dict)
    issues: Issues = ()
    sources: Sources = ()
    created: Created = ""
    links: Links = Field(default_factory=dict)
    rollout: tuple[RolloutPart, ...] = Field(
        (), description="What a model wrote that uses the graph as it writes, and what the graph put into it."
    )
    judgement: Judgement | None = Field(None, description="How far the list can be relied on; why there is none.")
    reranking: Reranking | None = Field(None, description="What became of a model's order, where one was asked for.")


@dataclass(frozen=True, slots=True)
class ReadFinding:
    """A finding of the patient, with its place in the text.

    Attributes:
        id: HPO CURIE, or the id that was given.
        label: The ontology's name of it.
        status: Present, absent, unknown, in the family, or hypothetical.
        start: Where it begins in the text; nothing where it was given as a term.
        end: Where it ends.
        text: The words that it was read from.
        value: The number that was measured, where the text gives one.
        unit: Its unit, as it is written; where it is left out, the one that it must be in.
        range: The usual values that it was judged by, and where they come from.
    """

    id: str
    label: str
    status: Status
    start: int | None = None
    end: int | None = None
    text: str = ""
    value: float | None = None
    unit: str = ""
    range: Range | None = None

    @classmethod
    def of(cls, finding: Finding) -> ReadFinding:
        start, end = (finding.span.start, finding.span.end) if finding.span else (None, None)
        words = finding.text, finding.value, finding.unit, finding.range
        return cls(finding.id, finding.label, finding.status, start, end, *words)


@dataclass(frozen=True, slots=True)
class UnreadText:
    """A part of the text in which nothing was read, or a measured value that no finding takes up.

    Attributes:
        start: Where it begins in the text.
        end: Where it ends.
        text: Its words, where they are asked for: they are the patient's own.
        note: Why it is named here.
        value: The number that was measured.
        unit: Its unit, as it is written.
    """

    start: int
    end: int
    text: str = ""
    note: str = ""
    value: float | None = None
    unit: str = ""


def unread_texts(case: Case, *, words: bool = False) -> tuple[UnreadText, ...]:
    """Return what was not read of a case's text.

    Example:
        >>> from kgdx.case.patient import Unread
        >>> unread_texts(Case("p", text="odd feeling", unread=(Unread(0, 3),)), words=True)[0].text
        'odd'
    """
    found = []
    for each in case.unread:
        said = case.text[each.start : each.end] if words else ""
        found.append(UnreadText(each.start, each.end, said, each.note, each.value, each.unit))
    return tuple(found)
