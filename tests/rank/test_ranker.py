"""What a ranking claims: merging, order, excluded findings, explanations that add up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import small_graph
from conftest import examples
from kgdx.case.patient import Case, Finding, Status
from kgdx.errors import CaseError, UsageError
from kgdx.graph.protocol import NodeTable
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.rank import Ranker
from kgdx.rank.term_scorers import EXCLUDED_MOST
from kgdx.results.ranked import Candidate
from small_graph import DELAY, FEVER, FOCAL, HYPOTONIA, NAMES, NERVOUS, RECESSIVE, ROOT, SEIZURE, SHORT, STATUS, TERMS

PHENOTYPES = sorted(set(TERMS) - {"HP:0000001", RECESSIVE})


def scores(ranker: Ranker, observed: list[str], excluded: tuple[str, ...] = ()) -> dict[str, float]:
    ids, values = ranker.score_all((observed, excluded))
    return dict(zip(ids, values.tolist(), strict=True))


def first(ranker: Ranker, observed: list[str], excluded: tuple[str, ...] = ()) -> Candidate:
    return ranker.rank((observed, excluded), explain=True).candidates[0]


def rules(candidate: Candidate, finding: str) -> set[str]:
    return {part.rule for part in candidate.contributions if part.finding == finding}


def test_equal_entries_are_one_candidate_and_unannotated_ones_are_none(ranker: Ranker) -> None:
    assert ranker.ids == ["OMIM:1", "OMIM:2", "OMIM:3", "UMLS:2"]
    best = first(ranker, [SEIZURE])
    assert (best.id, best.members) == ("OMIM:1", ("OMIM:1", "ORPHA:1"))
    assert ranker.number_of("ORPHA:1") == ranker.number_of("OMIM:1")
    assert ranker.number_of("OMIM:4") == ranker.number_of("OMIM:99") == -1


def test_a_candidate_whose_own_entry_has_no_name_takes_that_of_an_equal_one(tmp_path: Path) -> None:
    diseases, *others = small_graph.tables()
    at = diseases.rows.column_names.index("name")
    names = ["OMIM:1", *diseases.rows.column("name").to_pylist()[1:]]
    unnamed = NodeTable("Disease", diseases.rows.set_column(at, "name", pa.array(names)))
    ranker = Ranker.open(compile_snapshot([unnamed, *others], tmp_path / "snapshot", "f1"))
    candidate = first(ranker, [SEIZURE])
    assert (candidate.id, candidate.name) == ("OMIM:1", NAMES["ORPHA:1"])


def test_the_disease_that_has_the_findings_comes_first(ranker: Ranker) -> None:
    assert first(ranker, [SEIZURE, STATUS]).id == "OMIM:1"
    assert first(ranker, [SHORT, HYPOTONIA]).id == "OMIM:2"
    assert first(ranker, [FEVER]).id == "OMIM:3"


def test_excluded_finding_lowers_the_score_of_a_disease_that_has_it(ranker: Ranker) -> None:
    before, after = scores(ranker, [FEVER, SHORT]), scores(ranker, [FEVER, SHORT], (SEIZURE,))
    assert after["OMIM:1"] < before["OMIM:1"]
    assert after["OMIM:3"] == before["OMIM:3"]


def test_excluded_findings_together_take_away_a_bounded_part(ranker: Ranker) -> None:
    before, after = scores(ranker, [FEVER]), scores(ranker, [FEVER], (SEIZURE, STATUS, HYPOTONIA, NERVOUS))
    lost = {id: before[id] - after[id] for id in before}
    assert lost["OMIM:1"] == pytest.approx(ranker.weights.of("excluded") * EXCLUDED_MOST, abs=1e-5)
    assert max(lost.values()) == lost["OMIM:1"]


def test_a_more_specific_shared_finding_raises_the_score_more(ranker: Ranker) -> None:
    general, specific = (first(ranker, [term]).score for term in (SEIZURE, STATUS))
    assert specific > general


def test_annotated_absent_finding_speaks_against_the_disease(ranker: Ranker) -> None:
    case = ranker.rank(([SEIZURE, FEVER], ()), explain=True)
    short = next(c for c in case.candidates if c.id == "OMIM:2")
    against = [p for p in short.contributions if p.finding == SEIZURE and "likelihood" in p.parts]
    assert [p.rule for p in against] == ["annotated_absent"]
    assert against[0].score < 0 and against[0].matched == SEIZURE and against[0].references == ("OMIM:2",)


@pytest.mark.parametrize(
    ("finding", "disease", "rule", "matched", "via"),
    [
        (SEIZURE, "OMIM:1", "exact", SEIZURE, ""),
        (NERVOUS, "UMLS:2", "descendant", FOCAL, NERVOUS),
        (DELAY, "OMIM:2", "shared", SHORT, "HP:0001507"),
        (SHORT, "OMIM:3", "background", "", ""),
    ],
)
def test_a_finding_is_explained_by_the_nearest_annotation(
    ranker: Ranker, finding: str, disease: str, rule: str, matched: str, via: str
) -> None:
    candidate = next(c for c in ranker.rank(([finding], ()), explain=True).candidates if c.id == disease)
    part = next(p for p in candidate.contributions if "coverage" in p.parts and p.finding == finding)
    assert (part.rule, part.matched, part.via) == (rule, matched, via)


def test_an_explanation_says_how_often_and_who_says_so(ranker: Ranker) -> None:
    part = next(p for p in first(ranker, [SEIZURE]).contributions if p.finding == SEIZURE)
    assert (part.frequency, part.references) == ("3/4, very frequent", ("PMID:1", "ORPHA:1"))


def test_an_excluded_finding_is_shown_with_what_it_contradicts(ranker: Ranker) -> None:
    best = first(ranker, [STATUS, FOCAL], (SEIZURE,))
    part = next(p for p in best.contributions if p.status is Status.ABSENT)
    assert (part.rule, part.matched) == ("excluded_annotated", SEIZURE)
    assert part.score < 0


def test_what_a_broader_group_has_counts_less_than_ones_own(ranker: Ranker) -> None:
    lent = next(c for c in ranker.rank(([FOCAL], ()), explain=True).candidates if c.id == "OMIM:2")
    part = next(p for p in lent.contributions if p.finding == FOCAL and "likelihood" in p.parts)
    assert (part.rule, part.references) == ("exact", ("UMLS:2",))
    assert lent.parts["likelihood"] < first(ranker, [FOCAL]).parts["likelihood"]


@examples(60)
@given(
    observed=st.lists(st.sampled_from(PHENOTYPES), min_size=1, max_size=6, unique=True),
    excluded=st.lists(st.sampled_from(PHENOTYPES), max_size=4, unique=True),
)
def test_contributions_and_parts_sum_to_the_score(ranker: Ranker, observed: list[str], excluded: list[str]) -> None:
    ids, values = ranker.score_all((observed, excluded))
    ranking = ranker.rank((observed, excluded), top=len(ids), explain=True)
    assert [c.rank for c in ranking.candidates] == [1, 2, 3, 4] and ranking.n_candidates == len(ids)
    for candidate in ranking.candidates:
        assert sum(p.score for p in candidate.contributions) == pytest.approx(candidate.score, abs=4e-6)
        assert sum(candidate.parts.values()) == pytest.approx(values[ids.index(candidate.id)], abs=1e-5)
        assert {p.finding for p in candidate.contributions} - {""} == set(observed) | set(excluded)


@given(order=st.permutations([SEIZURE, HYPOTONIA, SHORT, FEVER]))
def test_the_order_of_findings_does_not_matter(ranker: Ranker, order: list[str]) -> None:
    expected = ranker.score_all(([SEIZURE, HYPOTONIA, SHORT, FEVER], ()))[1]
    assert np.allclose(ranker.score_all((order, ()))[1], expected, atol=1e-5)


def test_explaining_changes_nothing_but_the_contributions(ranker: Ranker) -> None:
    case = [SEIZURE, SHORT], (HYPOTONIA,)
    bare, told = ranker.rank(case), ranker.rank(case, explain=True)
    assert all(not candidate.contributions for candidate in bare.candidates)
    assert [replace(candidate, contributions=()) for candidate in told.candidates] == list(bare.candidates)
    assert ranker.explain(case, bare.candidates[2:]) == told.candidates[2:]
    with pytest.raises(UsageError, match="OMIM:4 is not among the ranked diseases"):
        ranker.explain(case, [replace(bare.candidates[0], id="OMIM:4")])


def forgetful(ranker: Ranker) -> Ranker:
    return Ranker(ranker.model, ranker.names, ranker.scorers, ranker.weights)


def test_what_is_kept_is_not_computed_again(ranker: Ranker, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh, case = forgetful(ranker), ([SEIZURE, SHORT], (HYPOTONIA,))
    rows: list[int] = []
    scorer = fresh.scorers["coverage"]
    kept = scorer.kept
    monkeypatch.setattr(scorer, "kept", lambda term: (rows.append(1), kept(term))[1])
    one = fresh.rank(case), fresh.beliefs(case)
    assert len(rows) == 2
    two = fresh.rank(case), fresh.beliefs(case)
    assert two[0].candidates is one[0].candidates and two[1] is one[1]
    fresh.score(([SEIZURE, SHORT, FEVER], (HYPOTONIA,)))
    fresh.score(([SEIZURE, SHORT, FEVER], (HYPOTONIA, FOCAL)))
    assert len(rows) == 3, "a case with one finding more goes on from the one that is kept"
    with pytest.raises(ValueError, match="read-only"):
        fresh.score_all(case)[1][0] = 0


def test_a_case_that_differs_only_in_what_cannot_be_used_says_so_again(ranker: Ranker) -> None:
    ranker.rank(([SEIZURE], ()))
    assert [issue.where for issue in ranker.rank(([SEIZURE, RECESSIVE], ())).issues] == [RECESSIVE]


CASES = st.tuples(
    st.lists(st.sampled_from(PHENOTYPES), min_size=1, max_size=6, unique=True),
    st.lists(st.sampled_from(PHENOTYPES), max_size=3, unique=True),
)


@examples(40)
@given(cases=st.lists(CASES, max_size=4))
def test_many_cases_score_as_each_alone_to_the_last_bit(
    ranker: Ranker, cases: list[tuple[list[str], list[str]]]
) -> None:
    many = ranker.score_many(cases)
    assert many.shape == (len(cases), 4)
    for case, scores in zip(cases, many, strict=True):
        assert (scores == forgetful(ranker).score_all(case)[1]).all()


@examples(80)
@given(case=CASES, earlier=CASES, known=st.tuples(st.integers(1, 6), st.integers(0, 3)))
def test_one_more_finding_scores_as_the_whole_case_to_the_last_bit(
    ranker: Ranker, case: tuple[list[str], list[str]], earlier: tuple[list[str], list[str]], known: tuple[int, int]
) -> None:
    whole = forgetful(ranker).score(case)
    less = ranker.score((case[0][: known[0]], case[1][: known[1]]))
    for before in (less, ranker.score(earlier)):  # what is no beginning of the case changes nothing either
        kept = {name: rows.copy() for name, rows in before.combined.items()}
        after = forgetful(ranker).score(case, before)
        assert (after.total == whole.total).all()
        assert all((after.values[name] == value).all() for name, value in whole.values.items())
        assert all((before.combined[name] == rows).all() for name, rows in kept.items())


def test_equal_scores_are_ordered_by_id(ranker: Ranker) -> None:
    candidates = ranker.rank(([ROOT], ())).candidates
    assert [c.id for c in candidates] == [c.id for c in sorted(candidates, key=lambda c: (-c.score, c.id))]


def test_alternative_and_replaced_ids_are_read_as_the_current_one(ranker: Ranker) -> None:
    assert scores(ranker, ["HP:0001275"]) == scores(ranker, [SEIZURE])
    assert scores(ranker, ["HP:0006824"]) == scores(ranker, [HYPOTONIA])


def test_what_cannot_be_used_is_said(ranker: Ranker) -> None:
    ranking = ranker.rank(([SEIZURE, "HP:9999999", RECESSIVE], ()))
    assert [(issue.where, issue.level) for issue in ranking.issues] == [("HP:9999999", "warning"), (RECESSIVE, "info")]
    assert all(issue.message.startswith(f"{issue.where} is not a") for issue in ranking.issues)


def test_a_case_without_usable_finding_is_an_error_that_says_what_to_do(ranker: Ranker) -> None:
    with pytest.raises(CaseError, match="no observed finding of the case can be ranked: give at least one"):
        ranker.rank(Case("c", (Finding(RECESSIVE), Finding(SEIZURE, Status.ABSENT))))


def test_top_limits_the_candidates_and_not_the_comparison(ranker: Ranker) -> None:
    ranking = ranker.rank(([SEIZURE], ()), top=2)
    assert (len(ranking.candidates), ranking.n_candidates) == (2, 4)
