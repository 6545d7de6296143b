"""Findings of a query: what is similar to one, and what is too little to rank by."""

from __future__ import annotations

import numpy as np
import pytest

from kgdx.case.measured_values import Range
from kgdx.case.patient import Case, Finding, Span, Status, Unread
from kgdx.case.person import CandidateGene, GeneEvidence
from kgdx.errors import MissingExtraError
from kgdx.graph.case_index import UNIT
from kgdx.rank import Ranker
from kgdx.rank.clauses import heard, unread, unread_clauses
from kgdx.rank.judgement import ODDS, traits
from kgdx.rank.near_findings import NearFindings
from kgdx.rank.query import Query
from kgdx.terms.measured.amounts import MEASURED
from kgdx.terms.phrase_vectors import PhraseVectors
from small_graph import FEVER, FOCAL, NERVOUS, SEIZURE, SHORT, STATUS, Topics


@pytest.mark.parametrize(
    "text",
    [
        "I feel fine.",
        "Routine check.",
        "Married, works as a teacher, non-smoker.",
        "Wants to travel to Kenya; asks about vaccinations.",
        "Her mother has migraine.",
        "体检，既往体健。",
    ],
)
def test_wellness_plans_and_the_social_history_are_no_complaints(text: str) -> None:
    assert list(heard(Case("p", text=text))) == []


@pytest.mark.parametrize("text", ["Burning when passing urine", "Tummy ache since last night", "咳嗽痰多"])
def test_complaints_are(text: str) -> None:
    assert list(heard(Case("p", text=text))) == [text]


def test_clauses_with_findings_are_read() -> None:
    case = Case("p", (Finding(FEVER, span=Span(0, 5)),), text="Fever and burning urine")
    assert list(unread_clauses(case)) == ["burning urine"]


@pytest.mark.parametrize(("status", "said"), [(Status.PRESENT, ["PSA 2", "hip pain"]), (Status.ABSENT, ["hip pain"])])
def test_a_clause_that_only_tells_what_is_absent_says_nothing_by_its_words(status: Status, said: list[str]) -> None:
    """Words near to those of a disease, as a normal value's are to "high PSA", spoke for it."""
    case = Case("p", (Finding(FEVER, status, span=Span(0, 7)),), text="PSA 2.1, hip pain")
    assert list(heard(case)) == said


@pytest.mark.parametrize(
    ("findings", "level"),
    [((), "nothing"), ((FEVER,), "little"), ((NERVOUS, SEIZURE), "little"), ((FEVER, SEIZURE), "")],
)
def test_a_text_with_too_little_is_not_ranked(
    ranker: Ranker, monkeypatch: pytest.MonkeyPatch, findings: tuple[str, ...], level: str
) -> None:
    monkeypatch.setattr("kgdx.rank.judgement.FEW_DISEASES", 0)
    case = Case("p", tuple(map(Finding, findings)), text="something")
    found = ranker.rank(case, abstain=True)
    judgement = found.judgement
    assert judgement is not None
    assert (judgement.level if not judgement.ranked else "") == level
    assert bool(found.candidates) is (level == "")
    assert bool(judgement.helps) is (level != "")


def test_terms_are_ranked_whatever_they_are(ranker: Ranker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgdx.rank.judgement.FEW_DISEASES", 0)
    assert ranker.rank(Case("p", (Finding(FEVER),)), abstain=True).candidates


def test_a_finding_beside_a_candidate_gene_is_ranked(ranker: Ranker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgdx.rank.judgement.FEW_DISEASES", 0)
    case = Case("p", (Finding(FEVER),), text="something", gene_evidence=GeneEvidence((CandidateGene("GENA"),)))
    assert ranker.rank(case, abstain=True).candidates


def test_a_candidate_says_how_much_it_explains(ranker: Ranker) -> None:
    found = {each.id: each.explained for each in ranker.rank(([FEVER], ())).candidates}
    assert found["OMIM:3"] == 1.0
    assert found["OMIM:2"] == 0.0


@pytest.mark.parametrize(
    ("text", "ranked"),
    [
        ("Sports medical before the season, feels well, had one fever at nine and nothing since that time.", False),
        ("来打流感疫苗，身体好，去年发过一次热，平时每周跑步三次，吃饭睡觉都好，没有别的情况要说的了。", False),
        ("Sent in with a fever that does not go away and that nobody over there could explain, asks for help.", True),
        ("Insurance medical, feels well otherwise; admitted with a fever that nobody over there could explain.", True),
    ],
)
def test_one_finding_of_somebody_who_is_well_is_not_ranked(
    ranker: Ranker, monkeypatch: pytest.MonkeyPatch, text: str, ranked: bool
) -> None:
    monkeypatch.setattr("kgdx.rank.judgement.FEW_DISEASES", 0)
    assert bool(ranker.rank(Case("p", (Finding(FEVER),), text=text), abstain=True).candidates) is ranked


@pytest.mark.parametrize(
    ("told", "value", "ranked"), [("{}", 54, False), ("{}", 31, True), ("{} years ago, healed", None, False)]
)
def test_what_is_over_or_hardly_beyond_its_range_says_nothing_of_somebody_who_is_well(
    ranker: Ranker, monkeypatch: pytest.MonkeyPatch, told: str, value: float | None, ranked: bool
) -> None:
    monkeypatch.setattr("kgdx.rank.judgement.FEW_DISEASES", 0)
    monkeypatch.setattr("kgdx.rank.judgement.LINE", 0)
    text = f"Driving licence medical, works shifts, walks daily, bakes bread, reads: {told}. Garden, choir, chess club."
    begin, range = text.index("{"), None if value is None else Range(60, 100)
    finding = Finding(FEVER, span=Span(begin, begin + 2), value=value, range=range, since="" if value else "P3Y")
    assert bool(ranker.rank(Case("p", (finding,), text=text), abstain=True).candidates) is ranked


def test_kin_are_similar_by_the_ontology_the_finding_itself_most(ranker: Ranker) -> None:
    near = NearFindings(ranker)
    seizure, fever, unknown = near.by_ontology([SEIZURE, FEVER, "HP:9999999"])
    told = {row["id"]: row["similarity"] for row in near.rows([seizure])}
    assert {SEIZURE, STATUS, FOCAL} <= told.keys() and not {FEVER, SHORT} & told.keys()
    assert max(told.values()) == told[SEIZURE] <= UNIT and list(told.values()) == sorted(told.values(), reverse=True)
    assert [row["id"] for row in near.rows([fever])] == [FEVER] and near.rows([unknown]) == []
    assert near.by_ontology([SEIZURE])[0] is seizure, "a list is made once"


def test_findings_are_similar_to_a_phrase_by_the_cosine_of_their_names(ranker: Ranker) -> None:
    names, rows = ["swollen toe", "muscles ache"], np.array([ranker.names.terms[each] for each in (FEVER, SHORT)])
    near = NearFindings(ranker, PhraseVectors(Topics(), Topics().encode(names), rows))
    podagra, myalgia = near.by_meaning(["podagra", "myalgia"])
    assert [(row["id"], row["similarity"]) for row in near.rows([podagra, myalgia])] == [(FEVER, UNIT), (SHORT, UNIT)]
    assert near.by_meaning(["myalgia", "podagra"]) == [myalgia, podagra]
    with pytest.raises(MissingExtraError, match="by meaning"):
        NearFindings(ranker).by_meaning(["podagra"])


def test_measured_values_of_no_known_analyte_are_told_and_nothing_else() -> None:
    text = "oddness 9.8 % and plain words, 7 of 9"
    parts = (Unread(0, 13, MEASURED, 9.8, "%"), Unread(18, 29, "no finding"), Unread(31, 37, MEASURED, 7))
    assert [each.message for each in unread(Case("p", text=text, unread=parts))] == [
        "no finding was read from oddness 9.8 %"
    ]
    assert not list(unread(Case("p", text=text, unread=parts[1:])))


def test_the_chance_of_the_first_rises_with_its_share_its_fit_and_its_patients() -> None:
    told = ((0.1, 0.5, 0), (0.9, 0.5, 0), (0.9, 0.9, 0), (0.9, 0.9, 1))
    chances = [float(ODDS @ traits(*each[:2], Query(np.arange(3), np.arange(0)), each[2])) for each in told]
    assert chances == sorted(set(chances))
