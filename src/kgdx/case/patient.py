"""A case: what is known of one patient, immutable; and the protocol of what reads words into findings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from kgdx.case.measured_values import Measurement, Range
from kgdx.case.person import Family, GeneEvidence
from kgdx.errors import CaseError
from kgdx.lazy import lazy_pattern

SEXES = ("FEMALE", "MALE", "OTHER", "UNKNOWN")
"""What a case's sex may be: the values of GA4GH phenopackets without the suffix ``_SEX``."""
SETTINGS = ("emergency", "general", "referral")
"""Where patients are seen: emergency room, general practice or ward, clinic of rare diseases."""

_SURROGATE = lazy_pattern("[\ud800-\udfff]")


def valid(text: str) -> str:
    r"""Replace what no encoding can hold (lone surrogates, as broken JSON escapes give them); places stay the same.

    Example:
        >>> valid("fits") == "fits", len(valid("\ud800"))
        (True, 1)
    """
    return _SURROGATE.sub("\ufffd", text)


class Status(StrEnum):
    """What the source says of a finding."""

    PRESENT = "present"
    ABSENT = "absent"
    UNKNOWN = "unknown"
    FAMILY = "family"
    HYPOTHETICAL = "hypothetical"


QUALIFIERS = {
    "HP:0012825": "mild",
    "HP:0012826": "moderate",
    "HP:0012828": "severe",
    "HP:0012829": "profound",
    "HP:0012835": "left",
    "HP:0012834": "right",
    "HP:0012832": "both sides",
    "HP:0011009": "acute",
    "HP:0011011": "subacute",
    "HP:0011010": "chronic",
    "HP:0003676": "progressive",
    "HP:0031796": "recurrent",
    "HP:0031914": "comes and goes",
    "HP:0025301": "at night",
}
"""HPO's clinical modifiers that are read from text, in words."""
CORRECTED = "corrected"
"""Method of a finding that somebody states who may have seen the text: it outweighs what is read there."""


@dataclass(frozen=True, slots=True)
class Span:
    """Characters ``start`` (inclusive) to ``end`` (exclusive) of the case's text."""

    start: int
    end: int

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> Any:
        """Let pydantic read and write it as JSON: ``[start, end]``."""
        from pydantic_core import core_schema as core

        pair = core.list_schema(core.int_schema(), min_length=2, max_length=2)
        written = core.plain_serializer_function_ser_schema(lambda span: [span.start, span.end], return_schema=pair)
        return core.no_info_after_validator_function(lambda ends: cls(*ends), pair, serialization=written)


@dataclass(frozen=True, slots=True)
class Finding:
    """One phenotype of the patient and how it came to be known.

    Attributes:
        id: HPO CURIE, current (not obsolete, not an alternative id).
        status: Present, absent, unknown, in the family, or hypothetical.
        label: The ontology's name of the term.
        span: Where in the text it stands; ``None`` when it was given as a term.
        text: The words it was read from, or the id or phrase that was given.
        matched: The label or synonym that matched.
        method: How it was matched: ``id``, ``exact``, ``variant``, ``fuzzy``, ``encoder``, ``measured``, ``model`` with
            the name of the language model that read it; or :data:`CORRECTED`.
        score: Confidence in the match, 0 to 1.
        onset: HPO CURIE of the age of onset, where the source gives one.
        severity: HPO CURIE of how severe it is (mild, moderate, severe, profound), where that is said.
        modifiers: HPO CURIEs of its side and course: left, right, acute, chronic, progressive, recurrent.
        since: How long it has been, an ISO 8601 duration such as ``P3D`` or ``PT2H``, where that is said.
        value: The number that was measured, where the text gives one.
        unit: Its unit, as it is written; where it is left out, the one that it must be in.
        range: What the value was judged by, where it was.
        doubt: Why a language model that has read the text, too, doubts it; empty where none does.
    """

    id: str
    status: Status = Status.PRESENT
    label: str = ""
    span: Span | None = None
    text: str = ""
    matched: str = ""
    method: str = "id"
    score: float = 1.0
    onset: str | None = None
    severity: str = ""
    modifiers: tuple[str, ...] = ()
    since: str = ""
    value: float | None = None
    unit: str = ""
    range: Range | None = None
    doubt: str = ""

    @property
    def qualified_by(self) -> str:
        """How severe it is, on which side, in what course and for how long, in words.

        Example:
            >>> Finding("HP:0002315", severity="HP:0012828", modifiers=("HP:0011009",), since="P3D").qualified_by
            'severe, acute, for 3 days'
        """
        said = [QUALIFIERS.get(id, id) for id in filter(None, (self.severity, *self.modifiers))]
        unit = {"Y": "year", "M": "minute" if "T" in self.since else "month", "W": "week", "D": "day", "H": "hour"}
        if self.since:
            count = self.since.strip("PTYMWDH")
            said.append(f"for {count} {unit[self.since[-1]]}{'' if count == '1' else 's'}")
        return ", ".join(said)

    @property
    def judged_by(self) -> str:
        """What its words leave out of how it was measured: the unit that was assumed, the usual values.

        Example:
            >>> Finding("HP:0003236", text="CK 5000", value=5000, unit="U/L", range=Range(40, 200)).judged_by
            'U/L, usual 40-200'
        """
        unit = "" if self.unit in self.text else self.unit
        return ", ".join(filter(None, (unit, str(self.range or ""))))


@dataclass(frozen=True, slots=True)
class Unread:
    """A part of the case's text in which nothing was read, or a measured value that no finding takes up."""

    start: int
    end: int
    note: str = ""
    value: float | None = None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Issue:
    """Something in the input that was repaired, ignored or doubtful, and what to do about it.

    Attributes:
        level: ``info``, ``warning`` or ``error``.
        where: The part of the input it concerns (a term, a span, a JSON path).
        message: What was found.
        remedy: What was done, or what the user can do.
    """

    level: str
    where: str
    message: str
    remedy: str = ""


def usable(check: Callable[[str], str], said: str, key: str, where: str, issues: list[Issue]) -> str | None:
    """Return what a check makes of words; where it refuses them, tell why."""
    try:
        return check(said) if said else None
    except CaseError as error:
        issues.append(Issue("warning", f"{where}: {key}", error.message, "ignored"))
        return None


@dataclass(frozen=True, slots=True)
class Extraction:
    """Findings read from a free text, in the order of the text, with what was doubtful and what was not read.

    Example:
        >>> Extraction().findings
        ()
    """

    findings: tuple[Finding, ...] = ()
    issues: tuple[Issue, ...] = ()
    unread: tuple[Unread, ...] = ()


@dataclass(frozen=True, slots=True)
class Resolution:
    """What one given term stands for.

    Attributes:
        finding: The current term, present; ``None`` when nothing fits.
        issues: What had to be mended (an obsolete or alternative id, a misspelling).
        suggestions: The nearest terms, best first, when nothing fits.

    Example:
        >>> Resolution(Finding("HP:0001250", label="Seizure")).finding.label
        'Seizure'
    """

    finding: Finding | None = None
    issues: tuple[Issue, ...] = ()
    suggestions: tuple[Finding, ...] = ()


@runtime_checkable
class FindingReader(Protocol):
    """Turns words into findings; the text room's extractor is one, and so is a graph."""

    def extract(self, text: str, language: str | None = None, patient: Case | None = None) -> Extraction:
        """Read all findings of a free text, in any supported language (``None``: find out which).

        Age and sex of ``patient`` decide which values are usual; without one, what the text says of them does.
        """
        ...

    def resolve(self, term: str) -> Resolution:
        """Find the current term for an HPO id (also an alternative or obsolete one), a label, or a phrase."""
        ...


@runtime_checkable
class ValueJudge(FindingReader, Protocol):
    """A reader of findings that turns measured values into findings, too."""

    def judge(self, measurements: Iterable[Measurement], patient: Case) -> Extraction:
        """Return the findings that values come to, for the patient's age and sex."""
        ...


_CONSTRUCTORS: dict[str, Callable[..., Case]] = {}
_Made = TypeVar("_Made", bound="Callable[..., Case]")


def constructor(function: _Made) -> _Made:
    """Register a function of this package under its name, for the class methods of :class:`Case` to call.

    Readers of words and files stand above the case that they make, so the case does not import them.
    """
    _CONSTRUCTORS[function.__name__] = function
    return function


@dataclass(frozen=True, slots=True)
class Case:
    """What is known of one patient.

    Attributes:
        id: Stable identifier; minted from the content when the source has none.
        findings: Distinct by (id, status); order is the source's.
        text: The free text it was read from, if any. Never logged, and no part of the representation.
        sex: One of :data:`SEXES`.
        age: ISO 8601 duration at last encounter, such as ``P7Y3M``, if known.
        diseases: CURIEs of diagnoses that the source states (labels for evaluation; never read by scorers).
        publications: ``PMID:`` CURIEs of the publications that report the case.
        genes: ``NCBIGene:``/``HGNC:`` CURIEs or symbols of genes that the source does not name as a mere candidate or
            as rejected (never read by scorers).
        onset: When the disease began: an HPO CURIE of a stage of life, or an ISO 8601 duration since birth.
        family: What is known of the patient's family.
        gene_evidence: Genes in which the patient has candidate variants; ``None`` where nothing is known of them.
        setting: Where the patient is seen: one of :data:`SETTINGS`, or nothing.
        source: Where the case comes from.
        file: Which file of a folder it was read from.
        language: BCP 47 tag of its words, such as ``zh``, where it is known.
        synthetic: Whether it was made up rather than observed; such a case is no evidence for a real one.
        phrases: Symptoms in words, such as ``burning when passing urine``, beside what was read as findings.
        unread: Parts of its text in which nothing was read.
        measurements: Measured values that are yet to be judged (:class:`ValueJudge`).
        issues: What was repaired or doubtful while reading it.
        extra: What its form has beyond this, unread (an OSCE case's tests, unknown keys of plain JSON).
    """

    id: str
    findings: tuple[Finding, ...] = ()
    text: str = field(default="", repr=False)
    sex: str = "UNKNOWN"
    age: str | None = None
    diseases: tuple[str, ...] = ()
    publications: tuple[str, ...] = ()
    genes: tuple[str, ...] = ()
    onset: str | None = None
    family: Family = field(default_factory=Family)
    gene_evidence: GeneEvidence | None = None
    setting: str = ""
    source: str = "user"
    file: str = field(default="", compare=False)
    language: str | None = None
    synthetic: bool = False
    phrases: tuple[str, ...] = field(default=(), repr=False)
    unread: tuple[Unread, ...] = field(default=(), repr=False)
    measurements: tuple[Measurement, ...] = field(default=(), repr=False)
    issues: tuple[Issue, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict, hash=False, compare=False, repr=False)

    @property
    def observed(self) -> tuple[str, ...]:
        """Ids of the findings that are present, in order, each once.

        Example:
            >>> Case("p", (Finding("HP:0001250"), Finding("HP:0002133", Status.ABSENT))).observed
            ('HP:0001250',)
        """
        return self._ids(Status.PRESENT)

    @property
    def excluded(self) -> tuple[str, ...]:
        """Ids of the findings that are absent, in order, each once.

        Example:
            >>> Case("p", (Finding("HP:0001250"), Finding("HP:0002133", Status.ABSENT))).excluded
            ('HP:0002133',)
        """
        return self._ids(Status.ABSENT)

    def _ids(self, status: Status) -> tuple[str, ...]:
        return tuple(dict.fromkeys(f.id for f in self.findings if f.status is status))

    def with_finding(self, finding: Finding) -> Case:
        """Return a case with ``finding`` added; it replaces one of the same id."""
        kept = tuple(f for f in self.findings if f.id != finding.id)
        return replace(self, findings=(*kept, finding))

    def with_issues(self, issues: Iterable[Issue]) -> Case:
        """Return a case with ``issues`` appended.

        Example:
            >>> len(Case("p").with_issues([Issue("info", "HP:1", "obsolete")]).issues)
            1
        """
        return replace(self, issues=(*self.issues, *issues))

    @property
    def digest(self) -> str:
        """SHA-256 of what is known of the patient (findings, demographics, text), whatever it is called.

        Example:
            >>> Case("a", text="fits").digest == Case("b", text="fits").digest
            True
        """
        return self._digest_of(self.findings)

    @property
    def background(self) -> str:
        """SHA-256 of what is known beside which findings are present and absent: the rest of :attr:`digest`.

        Example:
            >>> case = Case("p", text="fits", sex="MALE")
            >>> case.background == case.with_finding(Finding("HP:0001250")).background
            True
        """
        known = Status.PRESENT, Status.ABSENT
        return self._digest_of(f for f in self.findings if f.onset or f.since or f.modifiers or f.status not in known)

    @property
    def evidence(self) -> Case:
        """The case as far as a ranking may read it: without text, labels, source and what was doubtful.

        Example:
            >>> Case("p", diseases=("OMIM:1",), sex="MALE").evidence == Case("", sex="MALE")
            True
        """
        known = Status.PRESENT, Status.ABSENT
        return Case(
            "",
            tuple(finding for finding in self.findings if finding.status in known),
            sex=self.sex,
            age=self.age,
            onset=self.onset,
            family=self.family,
            gene_evidence=self.gene_evidence,
            setting=self.setting,
            phrases=self.phrases,
        )

    def _digest_of(self, findings: Iterable[Finding]) -> str:
        stated = sorted((f.id, str(f.status), f.onset or "", *filter(None, (f.since, *f.modifiers))) for f in findings)
        content: list[Any] = [stated, self.text, self.sex, self.age, *([list(self.phrases)] if self.phrases else [])]
        if self.onset or self.family.known or self.gene_evidence:
            genes = asdict(self.gene_evidence) if self.gene_evidence else None
            content.append({"onset": self.onset, "family": asdict(self.family), "genes": genes})
        if self.setting:
            content.append({"setting": self.setting})
        return hashlib.sha256(valid(json.dumps(content, ensure_ascii=False)).encode()).hexdigest()

    def identified(self) -> Case:
        """Return the case with an id: its own, or one minted from its content."""
        return self if self.id else replace(self, id=f"case:{self.digest[:16]}")

    @classmethod
    def from_text(cls, text: str, graph: FindingReader | None = None, *, id: str = "", source: str = "text") -> Case:
        """Make a case from free text; with a graph, its findings are read and cleaned at once."""
        return _CONSTRUCTORS["case_from_text"](text, graph, id=id, source=source)

    @classmethod
    def from_terms(
        cls, terms: Iterable[str], graph: FindingReader, excluded: Iterable[str] = (), *, id: str = ""
    ) -> Case:
        """Make a case from HPO ids (also alternative or obsolete ones), labels or phrases."""
        return _CONSTRUCTORS["case_from_terms"](terms, graph, excluded, id=id)

    @classmethod
    def from_phenopacket(cls, packet: str | Path | dict[str, Any], graph: FindingReader | None = None) -> Case:
        """Read a GA4GH phenopacket v2, from a file or from parsed JSON; a graph brings its ids up to date."""
        return _CONSTRUCTORS["one_phenopacket"](packet, graph)
