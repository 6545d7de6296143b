"""A graph of one disease, made of plain Python: what the actions need, without a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from kgdx.case import Case, Extraction, Finding, Issue, Resolution, Span, Status
from kgdx.errors import CaseError, TemplateError
from kgdx.rank import Ranking
from kgdx.results.ranked import Candidate, Contribution
from kgdx.terms.names.name_decision import Mention, NameDecision, NameEntry

SEIZURE, FOCAL, NERVOUS = "HP:0001250", "HP:0007359", "HP:0000707"
DISEASE, MEMBER = "OMIM:100001", "ORPHA:900001"
ANNOTATION = {"frequency": "3/4", "numerator": 3, "denominator": 4, "reference": "PMID:1;PMID:2", "source": "hpoa"}


def row(finding: str, chain: Sequence[str], direction: str, disease: str = DISEASE, **more: Any) -> dict[str, Any]:
    return {
        "disease": disease,
        "disease_name": "Tiny epilepsy",
        "finding": finding,
        "phenotype": chain[-1],
        "phenotype_name": f"name of {chain[-1]}",
        "direction": direction,
        "path_ids": list(chain),
        "path_names": [f"name of {id}" for id in chain],
        **ANNOTATION,
        **more,
    }


class FakeNames:
    """Knows two names of diseases, one of them of two sources, and some symptoms."""

    known: ClassVar[dict[tuple[str, str], tuple[str, ...]]] = {
        ("Disease", "flu"): ("KGDX:a.1", "KGDX:b.1"),
        ("Disease", "influenza"): ("KGDX:b.1",),
        ("Disease", "gout"): ("OMIM:9",),
        ("Symptom", "fever"): ("KGDX:a.2", "KGDX:b.2"),
        ("Symptom", "cough"): ("KGDX:a.3",),
        ("Phenotype", "seizure"): (SEIZURE, NERVOUS),
        **{(kind, "other"): (f"KGDX:a.{kind}",) for kind in ("Test", "Drug", "Cure", "Gene")},
    }

    def resolve(self, name: str, kinds: Sequence[str] = ("Disease",)) -> NameDecision:
        entries = tuple(
            NameEntry(id, kind, name, id[5:6], name, "exact", "exact", 1.0)
            for kind in kinds
            for id in self.known.get((kind, name), ())
        )
        near = () if entries else (NameEntry("OMIM:9", "Disease", "gout", "o", "gout", "words", "exact", 0.7),)
        return NameDecision(name, tuple(kinds), entries, f"{name!r} is …", near)

    def complete(self, prefix: str, kinds: Sequence[str] = ("Disease",), limit: int = 10) -> list[NameEntry]:
        return []

    def mentions(self, text: str, kinds: Sequence[str] = ()) -> list[Mention]:
        return []


class Fake:
    """Answers templates from a table and counts how often it is asked; it has no symptoms in words."""

    in_words = in_texts = False
    nearness = None
    standings = None
    bank_if_any = None

    def __init__(self) -> None:
        self.answers: dict[str, list[dict[str, Any]]] = {
            "evidence_supporting": [row(SEIZURE, [SEIZURE], "exact")],
            "evidence_against": [],
            "evidence_typical": [],
            "evidence_shared": [],
            "infer_diseases": [{"id": DISEASE, "matched": 1}],
            "similar_cases": [{"id": "case:1", "score": 10_000}],
        }
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.banks: list[Any] = []
        self.score = 1.5
        self.contributions = (Contribution("exact", 1.5, SEIZURE, Status.PRESENT, {"likelihood": 1.5}, SEIZURE),)

    def run(self, template: str, /, **parameters: Any) -> list[dict[str, Any]]:
        self.asked.append((template, parameters))
        if template not in self.answers:
            raise TemplateError(f"no template {template!r}")
        return self.answers[template]

    reader = terms = ranker = ancestry = compiled = property(lambda self: self)

    def has(self, template: str) -> bool:
        return False

    @property
    def names(self) -> FakeNames:
        return FakeNames()

    def current(self, curie: str) -> tuple[Finding, list[Issue]]:
        return Finding(curie, label=f"name of {curie}"), []

    def extract(self, text: str, language: str | None = None, patient: object = None) -> Extraction:
        at = text.find("seizure")
        return Extraction(() if at < 0 else (Finding(SEIZURE, label="Seizure", span=Span(at, at + 7), text="seizure"),))

    def resolve(self, term: str) -> Resolution:
        return Resolution(Finding(term, label=f"name of {term}") if term.startswith("HP:") else None)

    @property
    def bank(self) -> str:
        return "the patients"

    def rank(
        self,
        case: Case,
        top: int = 10,
        also: Sequence[str] = (),
        bank: Any = None,
        *,
        explain: bool = False,
        by_family: bool = False,
        abstain: bool = False,
        gates: bool = True,
    ) -> Ranking:
        self.banks.append(bank)
        if not case.observed:
            raise CaseError("no observed finding of the case can be ranked")
        best = Candidate(
            1, DISEASE, "Tiny epilepsy", (DISEASE, MEMBER), self.score, {"likelihood": self.score}, self.contributions
        )
        return Ranking((best,), 5)

    def ancestors(self, id: str) -> frozenset[str]:
        return {FOCAL: frozenset({SEIZURE, NERVOUS}), SEIZURE: frozenset({NERVOUS})}.get(id, frozenset())
