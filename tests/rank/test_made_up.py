"""The scorers on a made-up graph of 400 diseases, against their definitions written out term by term."""

from __future__ import annotations

import random
from math import exp

import pyarrow as pa
import pytest

import small_graph
from kgdx.graph.protocol import NodeTable, RelationTable
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.rank import Ranker
from kgdx.rank.term_scorers import SPECIFIC
from small_graph import ROOT

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
