"""Families and nested entries: name series, genes, groups, Orphanet entries under OMIM candidates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import small_graph
from kgdx.arrays.sparse import Sparse
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.rank import Ranker
from kgdx.rank.families import MOST_JOINED, Families, _Joined, _series, stem
from kgdx.rank.held_out_ranks import Withheld
from kgdx.rank.ranking import family_rows, placed, ranks_of
from small_graph import DELAY, FEVER, HYPOTONIA, SEIZURE, SHORT


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Retinitis pigmentosa 4", "Retinitis pigmentosa"),
        ("Parkinson disease 23, autosomal recessive early-onset", "Parkinson disease 15"),
        ("Epilepsy, progressive myoclonic, 6", "Epilepsy, progressive myoclonic 1B"),
        ("Gaucher disease, type I", "Gaucher disease, type IIIC"),
        ("Fanconi anemia, complementation group C", "Fanconi anemia, complementation group D2"),
    ],
)
def test_a_number_a_letter_and_the_inheritance_make_no_other_series(one: str, other: str) -> None:
    assert stem(one).words == stem(other).words
    assert stem(one).numbered or stem(other).numbered


def test_a_number_that_is_a_place_on_a_chromosome_makes_another_disease() -> None:
    assert stem("Chromosome 18p deletion syndrome").words != stem("Chromosome 5q deletion syndrome").words


def test_equal_names_without_a_number_are_no_series() -> None:
    assert list(_series([stem("Bazex syndrome"), stem("Bazex syndrome")])) == []
    assert list(_series([stem("Bazex syndrome"), stem("Bazex syndrome 2")])) == [[0, 1]]


@given(st.lists(st.lists(st.integers(0, 199), min_size=2, max_size=6), max_size=120))
def test_no_chain_of_groups_makes_a_family_larger_than_its_bound(groups: list[list[int]]) -> None:
    joined = _Joined(200)
    for group in groups:
        joined.join(group)
    found = joined.families()
    sizes = np.diff(found.members.start)
    assert sizes.sum() == 200 and sizes.max() <= MOST_JOINED
    assert all(found.of[member] == number for number in range(len(sizes)) for member in found.members.columns(number))


def kin(tmp_path: Path) -> Ranker:
    """The small graph, its second and third disease with one gene and one word of their names."""
    tables = small_graph.tables(
        small_graph.SAME[:1],
        names={"OMIM:3": "Hypotonia with fever"},
        genes=[*small_graph.GENES, ("OMIM:3", "NCBIGene:20")],
    )
    return Ranker.open(compile_snapshot(tables, tmp_path / "kin", "f1"))


def test_diseases_with_a_common_gene_are_a_family_where_their_names_agree(tmp_path: Path, ranker: Ranker) -> None:
    assert ranker.family_of("OMIM:3") == "OMIM:3"
    related = kin(tmp_path)
    assert related.family_of("OMIM:3") == related.family_of("OMIM:2") == "OMIM:2"
    assert related.family_of("OMIM:99") == "OMIM:99", "what nobody knows is of no family"


def test_a_list_by_family_has_its_best_member_with_the_others_inside(tmp_path: Path) -> None:
    related, case = kin(tmp_path), ([FEVER, SHORT], ())
    by_disease = {each.id: each for each in related.rank(case).candidates}
    listed = related.rank(case, by_family=True).candidates
    row = next(each for each in listed if each.family)
    (other,) = row.in_family
    assert {row.id, other.id} == {"OMIM:2", "OMIM:3"} and row.family == "OMIM:2" and row.family_size == 2
    assert (row.rank, other.rank) == (by_disease[row.id].rank, by_disease[other.id].rank) and row.rank < other.rank
    assert [each.place for each in listed] == [each.family_rank for each in listed] == [1, 2, 3]
    assert row.separated_by is not None and row.separated_by.other == other.id
    assert row.separated_by.frequency != row.separated_by.other_frequency


def test_a_disease_that_is_asked_for_has_a_row_of_its_own_beside_its_family(tmp_path: Path) -> None:
    related, case = kin(tmp_path), ([FEVER], ())
    listed = related.rank(case, top=1, also=["OMIM:2"], by_family=True).candidates
    assert [(each.id, each.family_rank) for each in listed] == [("OMIM:3", 1), ("OMIM:2", 1)]


def test_a_group_that_is_ranked_is_of_the_family_of_what_is_under_it(ranker: Ranker) -> None:
    assert ranker.family_of("UMLS:2") == ranker.family_of("OMIM:2") == "OMIM:2"


def test_without_families_both_ranks_are_equal(tmp_path: Path) -> None:
    ranker = Ranker.open(compile_snapshot(small_graph.tables(small_graph.SAME[:1]), tmp_path / "s", "f1"))
    case = [SEIZURE, SHORT], (HYPOTONIA,)
    listed = ranker.rank(case, by_family=True).candidates
    assert [each.rank for each in listed] == [each.family_rank for each in listed]
    assert [each.id for each in listed] == [each.id for each in ranker.rank(case).candidates]


@given(total=st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0]), min_size=1, max_size=30))
def test_ranks_within_rows_are_those_of_the_ranking_by_disease(total: list[float]) -> None:
    scores, number = np.array(total), np.arange(len(total), dtype=np.int32)
    alone = Families(number, Sparse(np.arange(len(total) + 1), number, np.ones(len(total), np.int8)))
    listed = family_rows(scores, alone, len(total))
    assert ranks_of(scores, listed) == placed(scores, len(total))


@pytest.mark.parametrize("relation", ["broader", "narrower"])
def test_a_linked_orphanet_entry_is_found_under_its_candidate(tmp_path: Path, relation: str) -> None:
    same = [("ORPHA:1", "OMIM:2", relation)]
    ranker = Ranker.open(compile_snapshot(small_graph.tables(same), tmp_path / "s", "f1"))
    assert "ORPHA:1" not in ranker.ids
    assert ranker.number_of("ORPHA:1") == ranker.number_of("OMIM:2")
    best = next(each for each in ranker.rank(([HYPOTONIA], ())).candidates if each.id == "OMIM:2")
    assert (best.members, best.nested) == (("OMIM:2",), ("ORPHA:1",)), "it is not the same disease"


def test_only_what_is_narrower_inherits_from_a_nested_entry(tmp_path: Path) -> None:
    found = {}
    for relation in ("broader", "narrower"):
        same = [("ORPHA:1", "OMIM:3", relation)]
        ranker = Ranker.open(compile_snapshot(small_graph.tables(same), tmp_path / relation, "f1"))
        having = ranker.model.columns.frequency.columns(ranker.names.terms[SEIZURE]).tolist()
        found[relation] = ranker.number_of("OMIM:3") in having
    assert found == {"broader": True, "narrower": False}


def test_an_entry_that_only_lists_phenotypes_takes_nothing_from_the_disease_that_it_is(tmp_path: Path) -> None:
    broad, *same = ("ORPHA:1", "OMIM:3", "broader"), ("MONDO:1", "OMIM:3", "exact"), ("MONDO:2", "OMIM:1", "exact")
    has = small_graph.HAS + [
        (id, term, None, None, None, None) for id, term in (("MONDO:1", FEVER), ("MONDO:2", SHORT))
    ]
    listing = small_graph.tables([broad, *same], names={"MONDO:1": "one", "MONDO:2": "other"}, has=has)
    found = []
    for name, tables in (("plain", small_graph.tables([broad])), ("listing", listing)):
        ranker = Ranker.open(compile_snapshot(tables, tmp_path / name, "f1"))
        found.append([ranker.model.propagated.row(ranker.number_of(id))[1].tolist() for id in ("OMIM:1", "OMIM:3")])
    assert found[0] == found[1]


def test_an_entry_that_only_lists_what_a_disease_has_is_found_under_it_and_is_no_rival(tmp_path: Path) -> None:
    lists = [("MONDO:1", term, None, None, None, None) for term in (SHORT, HYPOTONIA, DELAY)]
    has = [*small_graph.HAS, ("OMIM:2", DELAY, 2, 8, None, "PMID:3"), *lists]
    ranker = Ranker.open(compile_snapshot(small_graph.tables(names={"MONDO:1": "other"}, has=has), tmp_path, "f1"))
    assert "MONDO:1" not in ranker.ids
    assert ranker.number_of("MONDO:1") == ranker.number_of("OMIM:2") >= 0


def test_an_annotation_inherited_from_a_nested_entry_cites_it(tmp_path: Path) -> None:
    ranker = Ranker.open(compile_snapshot(small_graph.tables([("ORPHA:1", "OMIM:3", "broader")]), tmp_path / "s", "f1"))
    told = next(each for each in ranker.rank(([SEIZURE], ()), explain=True).candidates if each.id == "OMIM:3")
    part = next(each for each in told.contributions if "likelihood" in each.parts and each.finding == SEIZURE)
    assert part.references == ("ORPHA:1",)


def test_withholding_a_publication_keeps_what_is_inherited(tmp_path: Path) -> None:
    snapshot = compile_snapshot(small_graph.tables([("ORPHA:1", "OMIM:3", "broader")]), tmp_path / "s", "f1")
    ranker = Ranker.open(snapshot)
    withheld = Withheld(ranker, snapshot)
    number = ranker.number_of("OMIM:3")
    assert withheld.without(number, frozenset({"PMID:4"})) is None, "nothing of its own is left"
    kept = withheld.without(number, frozenset({"PMID:9"}))
    assert kept is not None
    terms = kept.annotated.columns(0).tolist()
    assert {ranker.names.terms[SEIZURE], ranker.names.terms[FEVER]} <= set(terms)
