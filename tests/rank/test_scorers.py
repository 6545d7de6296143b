"""What each scorer of terms claims, on the small graph and a made-up one: by hand and against the definitions."""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import small_graph
from kgdx.arrays.sparse import ancestors
from kgdx.graph.protocol import NodeTable, RelationTable
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.lazy import Recent
from kgdx.rank import Ranker
from kgdx.rank.feature_matrices import named_opposites, opposites
from kgdx.rank.hub import Hub, simulated
from kgdx.rank.term_scorers import (
    BREADTH,
    EXCLUDED_MOST,
    EXCLUDED_SHARE,
    OBLIGATE_FROM,
    OBLIGATE_FULL,
    OBLIGATE_MOST,
    SPECIFIC,
    Obligate,
)
from small_graph import FEVER, FOCAL, HYPOTONIA, NERVOUS, ROOT, SEIZURE, SHORT, STATUS

EPILEPSY, SHORTNESS, UNKNOWN_FEVER = 0, 1, 2

CERTAIN_FEVER = 1 - 1 / 4  # 1 − e^−IC of a term that one of four candidates has

OF_FINDINGS = ("likelihood", "coverage", "typicality", "excluded")

EVERYONE = np.arange(4)


@dataclass(frozen=True)
class Scored:
    """One scorer's scores, and each finding's share beyond its mean over the candidates."""

    total: Any
    shares: Any


def scored(ranker: Ranker, name: str, observed: list[str], excluded: tuple[str, ...] = ()) -> Scored:
    query, _ = ranker.query((observed, excluded))
    scorer = ranker.scorers[name]
    return Scored(scorer.score(query), scorer.explain(query, EVERYONE))


def test_likelihood_is_the_mean_over_findings_less_the_breadth_of_the_disease(ranker: Ranker) -> None:
    one, two = (scored(ranker, "likelihood", terms) for terms in ([SEIZURE], [SEIZURE, FEVER]))
    assert two.shares[0] == pytest.approx(one.shares[0] / 2)
    correction = BREADTH * ranker.model.columns.breadth
    assert two.total + correction == pytest.approx(two.shares.sum(axis=0) + (two.total + correction).mean(), abs=1e-6)


def test_likelihood_says_more_of_a_finding_that_fewer_diseases_have(ranker: Ranker) -> None:
    rare = scored(ranker, "likelihood", [STATUS]).total
    common = scored(ranker, "likelihood", [NERVOUS]).total
    assert np.argmax(rare) == EPILEPSY
    assert np.ptp(rare) > np.ptp(common)


def test_coverage_asks_how_much_of_the_patient_the_disease_explains(ranker: Ranker) -> None:
    explained = scored(ranker, "coverage", [FEVER]).total
    assert explained[UNKNOWN_FEVER] == pytest.approx(CERTAIN_FEVER)
    half = scored(ranker, "coverage", [FEVER, SHORT]).total  # two findings of equal information, one explained
    assert half[UNKNOWN_FEVER] == pytest.approx(CERTAIN_FEVER / 2)


def test_typicality_asks_how_much_of_the_disease_the_patient_shows(ranker: Ranker) -> None:
    alone, besides = (scored(ranker, "typicality", terms).total for terms in ([FEVER], [FEVER, SHORT]))
    assert alone[UNKNOWN_FEVER] == besides[UNKNOWN_FEVER] == pytest.approx(CERTAIN_FEVER)
    part, whole = (scored(ranker, "typicality", terms).total for terms in ([SHORT], [SHORT, HYPOTONIA]))
    assert 0 < part[SHORTNESS] < whole[SHORTNESS]


def test_excluded_takes_away_what_the_disease_makes_likely_and_no_more_than_its_bound(ranker: Ranker) -> None:
    index, frequency = ranker.model.columns.frequency.row(ranker.names.terms[FEVER])
    assert index.tolist() == [UNKNOWN_FEVER]
    one = scored(ranker, "excluded", [SHORT], (FEVER,)).total
    assert one[UNKNOWN_FEVER] == pytest.approx(np.log1p(-EXCLUDED_SHARE * float(frequency[0])), abs=1e-5)
    assert one[[EPILEPSY, SHORTNESS]].tolist() == [0, 0]
    many = scored(ranker, "excluded", [FEVER], (SEIZURE, STATUS, HYPOTONIA, NERVOUS))
    assert many.total.min() == -EXCLUDED_MOST
    assert many.shares.sum(axis=0) == pytest.approx(many.total, abs=1e-6)


@pytest.mark.parametrize("name", OF_FINDINGS)
def test_the_findings_shares_of_every_scorer_explain_its_total(ranker: Ranker, name: str) -> None:
    scores = scored(ranker, name, [SEIZURE, SHORT], (HYPOTONIA,))
    rest = scores.total - scores.shares.sum(axis=0)
    of_no_finding = {"likelihood": -BREADTH * ranker.model.columns.breadth, "hub": scores.total}
    expected = of_no_finding.get(name, np.zeros(4))
    assert np.ptp(rest - expected) == pytest.approx(0, abs=1e-6)  # the rest is the same for all candidates


@pytest.mark.parametrize("name", OF_FINDINGS)
def test_a_scorer_of_findings_scores_any_columns(ranker: Ranker, name: str) -> None:
    query, _ = ranker.query(([SEIZURE, SHORT], (HYPOTONIA,)))
    other = ranker.scorers[name].on(ranker.model.columns)
    assert other is not None and other is not ranker.scorers[name]
    assert (other.score(query) == ranker.scorers[name].score(query)).all()


def test_rows_are_kept_within_their_bound_the_last_used_the_longest() -> None:
    rows: Recent[int, int] = Recent(2)
    computed: list[int] = []

    def compute(term: int) -> int:
        computed.append(term)
        return 10 * term

    for term in (1, 2, 1, 3, 1, 2):
        assert rows.get(term, lambda term=term: compute(term)) == 10 * term  # type: ignore[misc]
    assert computed == [1, 2, 3, 2] and [rows.peek(term) for term in (1, 2, 3)] == [10, 20, None]


HAS = [
    ("OMIM:1", SEIZURE, 40, 40, None, "PMID:1"),
    ("OMIM:1", HYPOTONIA, None, None, "HP:0040283", "PMID:1"),
    ("OMIM:2", SEIZURE, None, None, "HP:0040280", "OMIM:2"),
    ("OMIM:2", SHORT, 1, 2, None, "PMID:2"),
    ("OMIM:3", SEIZURE, 3, 3, None, "PMID:3"),
    ("OMIM:3", FEVER, 1, 4, None, "PMID:3"),
]

LACKS = [("OMIM:3", SHORT, 0, 3, None, "PMID:3")]


@pytest.fixture(scope="module")
def obligate(tmp_path_factory: pytest.TempPathFactory) -> Ranker:
    tables = small_graph.tables(same_as=(), has=HAS, lacks=LACKS)
    return Ranker.open(compile_snapshot(tables, tmp_path_factory.mktemp("obligate") / "s", "f1"))


def lost(ranker: Ranker, finding: str) -> dict[str, float]:
    before, after = (ranker.score_all(([FEVER], absent))[1] for absent in ((), (finding,)))
    return dict(zip(ranker.ids, (before - after).tolist(), strict=True))


def test_the_absence_of_what_every_patient_has_moves_a_candidate_visibly(obligate: Ranker) -> None:
    seizure = lost(obligate, SEIZURE)
    assert seizure["OMIM:1"] >= 1, "40 of 40 patients have it"
    assert seizure["OMIM:2"] >= 1, "its source calls it obligate"
    assert seizure["OMIM:3"] < 0.1, "3 of 3 patients are too few to say so"


def test_the_absence_of_an_occasional_finding_hardly_counts(obligate: Ranker) -> None:
    assert 0 < lost(obligate, HYPOTONIA)["OMIM:1"] < 0.05


def test_an_absent_finding_is_shown_with_what_it_takes_away(obligate: Ranker) -> None:
    told = next(c for c in obligate.rank(([FEVER], [SEIZURE]), explain=True).candidates if c.id == "OMIM:1")
    part = next(each for each in told.contributions if "obligate" in each.parts)
    assert (part.finding, part.rule, part.matched) == (SEIZURE, "excluded_annotated", SEIZURE)
    assert part.parts["obligate"] == pytest.approx(told.parts["obligate"], abs=1e-4)


@given(terms=st.lists(st.sampled_from([SEIZURE, FOCAL, HYPOTONIA, SHORT]), unique=True, min_size=1))
def test_absent_findings_never_raise_a_disease_and_stay_within_their_bound(obligate: Ranker, terms: list[str]) -> None:
    scorer = obligate.scorers["obligate"]
    assert isinstance(scorer, Obligate)
    value = scorer.score(obligate.query(([FEVER], terms))[0])
    assert (value <= 0).all() and (value >= -OBLIGATE_MOST).all()


def test_the_penalty_rises_with_the_frequency() -> None:
    frequency = np.linspace(0, 1, 101, dtype=np.float32)
    penalty = Obligate.penalty(Obligate.__new__(Obligate), frequency)
    assert (np.diff(penalty) <= 0).all()
    assert (penalty[frequency < OBLIGATE_FROM] == 0).all() and (penalty[frequency > OBLIGATE_FULL] == -1).all()


def test_hubs_are_the_same_for_every_patient_and_need_findings(ranker: Ranker) -> None:
    scorer = ranker.scorers["hub"]
    one, other = (ranker.query(([term], ()))[0] for term in (SEIZURE, FEVER))
    assert (scorer.score(one) == scorer.score(other)).all()
    assert scorer.speaks(one)


def test_hubs_are_corrected_around_the_mean_of_the_curated_candidates(ranker: Ranker) -> None:
    assert float(ranker.scorers["hub"].arrays["score"][ranker.model.curated].mean()) == pytest.approx(0, abs=1e-6)


def test_simulated_patients_are_the_same_each_time_and_have_terms_of_their_disease(tmp_path: Path) -> None:
    tables = small_graph.tables(same_as=(), has=[*HAS, ("OMIM:1", FEVER, 1, 40, None, "PMID:1")], lacks=LACKS)
    snapshot = compile_snapshot(tables, tmp_path / "s", "f1")
    model = Ranker.open(snapshot).model
    drawn = [(disease, query.observed.tolist()) for disease, query in simulated(model, 50)]
    assert drawn == [(disease, query.observed.tolist()) for disease, query in simulated(model, 50)]
    assert {disease for disease, _ in drawn} == {0}, "the others have fewer than three annotations"
    having = {int(term) for term in model.propagated.columns(0)}
    assert all(set(terms) <= having for _, terms in drawn)
    assert (Hub.compile(snapshot, model)["score"] == Hub.compile(snapshot, model)["score"]).all()


IDS = ["HP:1", "HP:2", "HP:3", "HP:4", "HP:5"]

NAMES = [
    "Abnormal blood pressure",
    "Hypertension",
    "Hypotension",
    "Renovascular hypertension",
    "Orthostatic hypotension",
]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Tachycardia", "Bradycardia"),
        ("Leukocytosis", "Leukopenia"),
        ("Tall stature", "Short stature"),
        ("Delayed thelarche", "Premature thelarche"),
        ("Increased circulating renin concentration", "Decreased circulating renin concentration"),
    ],
)
def test_opposites_are_read_from_names(one: str, other: str) -> None:
    assert [set(pair) for pair in named_opposites(["HP:1", "HP:2"], [one, other])] == [{0, 1}]


def test_a_name_of_a_place_has_no_opposite() -> None:
    names = ["Abnormal large intestine morphology", "Abnormal small intestine morphology"]
    assert named_opposites(["HP:1", "HP:2"], names) == []


def test_what_is_below_an_opposite_inherits_it() -> None:
    up = ancestors(np.array([1, 2, 3, 4]), np.array([0, 0, 1, 2]), n=5, root=0)
    found = opposites(IDS, NAMES, up)
    assert [found.columns(term).tolist() for term in range(5)] == [[], [2], [1], [2], [1]]


def test_a_term_below_both_is_the_opposite_of_neither() -> None:
    up = ancestors(np.array([1, 2, 3, 3, 4]), np.array([0, 0, 1, 2, 2]), n=5, root=0)
    assert opposites(IDS, NAMES, up).columns(3).tolist() == []


@pytest.fixture(scope="module")
def opposed(tmp_path_factory: pytest.TempPathFactory) -> Ranker:
    """The small graph, in which short stature and delayed growth are opposites."""
    pair = small_graph.SHORT, small_graph.DELAY
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "kgdx.rank.feature_matrices.named_opposites",
            lambda ids, names: [tuple(map(list(ids).index, pair))],
        )
        folder: Path = tmp_path_factory.mktemp("opposites")
        return Ranker.open(compile_snapshot(small_graph.tables(), folder / "snapshot", "opposites"))


@pytest.mark.parametrize(
    ("finding", "disease", "rule", "matched"),
    [
        (small_graph.DELAY, "OMIM:2", "opposite", small_graph.SHORT),
        (small_graph.SHORT, "OMIM:1", "annotated_absent", small_graph.SHORT),
    ],
)
def test_what_is_contrary_speaks_against(opposed: Ranker, finding: str, disease: str, rule: str, matched: str) -> None:
    others = [finding, small_graph.SEIZURE, small_graph.HYPOTONIA]
    found = opposed.rank((others, ()), also=[disease], explain=True)
    candidate = next(each for each in found.candidates if each.id == disease)
    rows = [each for each in candidate.contributions if each.finding == finding]
    assert {(each.rule, each.matched) for each in rows} == {(rule, matched)}
    assert sum(each.score for each in rows) < 0
    assert sum(each.score for each in candidate.contributions) == pytest.approx(candidate.score, abs=1e-5)


DISEASES, TERMS = 400, 250

Made = tuple[list[str], list[str]]


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Ranker:
    draw = random.Random(7)
    terms = [ROOT, *(f"HP:{number:07}" for number in range(200, 200 + TERMS))]
    parents = [(term, terms[draw.randrange(max(0, at - 40), at)]) for at, term in enumerate(terms) if at]
    more = [(term, draw.choice(terms[:at])) for at, term in enumerate(terms) if at > 5 and at % 4 == 0]
    ids = [f"OMIM:{number}" for number in range(DISEASES)]
    has = [
        (id, term, draw.randrange(1, 9), 8 + draw.randrange(9), None, "PMID:1")
        for id in ids
        for term in draw.sample(terms[1:], draw.randrange(1, 15))
    ]
    edges = pa.table({"start": [child for child, _ in parents + more], "end": [parent for _, parent in parents + more]})
    tables = [
        NodeTable("Disease", pa.table({"id": ids, "name": [f"Disease {id}" for id in ids]})),
        NodeTable("Phenotype", pa.table({"id": terms, "name": terms})),
        RelationTable("IS_A", "Phenotype", "Phenotype", edges),
        small_graph._annotations("HAS_PHENOTYPE", has),
    ]
    return Ranker.open(compile_snapshot(tables, tmp_path_factory.mktemp("made-up") / "snapshot", "f"))


@pytest.fixture(scope="module")
def cases(made_up: Ranker) -> list[Made]:
    draw = random.Random(8)
    return [
        (draw.sample(made_up.terms, draw.randrange(1, 12)), draw.sample(made_up.terms, draw.randrange(4)))
        for _ in range(40)
    ]


def test_alone_in_a_batch_and_finding_by_finding_the_scores_are_equal_to_the_last_bit(
    made_up: Ranker, cases: list[Made]
) -> None:
    many = Ranker(made_up.model, made_up.names, made_up.scorers, made_up.weights).score_many(cases)
    for (observed, excluded), scores in zip(cases, many, strict=True):
        grown = None
        for count in range(1, len(observed) + 1):
            grown = made_up.score((observed[:count], excluded[: count - 1]), grown)
        grown = made_up.score((observed, excluded), grown)
        forgetful = Ranker(made_up.model, made_up.names, made_up.scorers, made_up.weights)
        assert (grown.total == scores).all()
        assert (forgetful.score((observed, excluded)).total == scores).all()


def test_similarities_are_those_of_the_definition(made_up: Ranker, cases: list[Made]) -> None:
    basis, columns = made_up.model.basis, made_up.model.columns
    above = [set(basis.up.columns(term).tolist()) for term in range(len(basis.ic))]
    ic = basis.ic.astype(float).tolist()

    def similar(one: int, other: int) -> float:
        shared = above[one] & above[other]
        common = max((ic[each] for each in shared if ic[each] >= min(SPECIFIC, ic[one], ic[other])), default=0.0)
        return 2 * common * (1 - exp(-common)) / (ic[one] + ic[other]) if common > 0 else 0.0

    for case in cases[:6]:
        query, _ = made_up.query(case)
        scored, terms = made_up.score_query(query), query.observed.tolist()
        for number in range(0, DISEASES, 37):
            having, frequency = columns.annotated.row(number)
            found = [max(similar(term, other) for other in having.tolist()) for term in terms]
            coverage = sum(ic[term] * value for term, value in zip(terms, found, strict=True))
            assert scored.values["coverage"][number] == pytest.approx(
                coverage / sum(ic[term] for term in terms), abs=1e-5
            )
            weight = [ic[other] * f**0.5 for other, f in zip(having.tolist(), frequency.tolist(), strict=True)]
            shown = [max(similar(other, term) for term in terms) for other in having.tolist()]
            typical = sum(w * s for w, s in zip(weight, shown, strict=True)) / sum(weight)
            assert scored.values["typicality"][number] == pytest.approx(typical, abs=1e-5)


def test_contributions_sum_to_the_score_of_every_candidate(made_up: Ranker, cases: list[Made]) -> None:
    for case in cases[:6]:
        for candidate in made_up.rank(case, top=DISEASES, explain=True).candidates:
            assert sum(part.score for part in candidate.contributions) == pytest.approx(candidate.score, abs=4e-6)
