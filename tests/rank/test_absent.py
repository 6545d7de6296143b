"""Absent findings count by how obligate they are, and never for a disease; hubs are corrected without diagnoses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import small_graph
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.rank import Ranker
from kgdx.rank.hub import Hub, simulated
from kgdx.rank.term_scorers import OBLIGATE_FROM, OBLIGATE_FULL, OBLIGATE_MOST, Obligate
from small_graph import FEVER, FOCAL, HYPOTONIA, SEIZURE, SHORT

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
