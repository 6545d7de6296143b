"""Joining diseases of several vocabularies never makes one of two entries of the same one."""

from __future__ import annotations

from itertools import combinations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from conftest import examples
from kgdx.terms.names.cascade import Given
from kgdx.terms.names.entity_names import diseases
from kgdx.terms.names.same_diseases import RARE, Components, align_diseases, exact_pairs, vocabulary
from terms.names.named import nodes, same_as

NAMES = ("Alpha disease", "Beta disease", "Gamma disease", "Delta disease")
entries = st.dictionaries(
    st.builds("{}:{}".format, st.sampled_from(["OMIM", "ORPHA", "MONDO", "DECIPHER"]), st.integers(1, 4)),
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map(tuple),
    max_size=10,
)


@examples(40)
@given(entries)
def test_a_component_has_one_entry_of_each_vocabulary(rows: dict[str, tuple[str, ...]]) -> None:
    tables = [nodes("Disease", rows)]
    found = align_diseases(diseases(tables), exact_pairs(tables), Given())
    joined = Components()
    for one, other in found.filter(pl.col("outcome") == "stated").select("subject", "object").iter_rows():
        joined.join(one, other)
    for one, other in combinations(rows, 2):
        if joined.find(one) == joined.find(other):
            assert vocabulary(one) != vocabulary(other)
            assert not {vocabulary(one), vocabulary(other)} <= set(RARE)


def test_orphanet_and_omim_are_not_joined_through_a_third() -> None:
    tables = [
        nodes("Disease", {"OMIM:1": ("Alpha disease",), "ORPHA:1": ("Alpha disease",), "KGDX:zh.1": ("Alpha disease",)})
    ]
    found = align_diseases(diseases(tables), exact_pairs(tables), Given())
    assert dict(found.select("object", "outcome").iter_rows()) == {"ORPHA:1": "stated", "OMIM:1": "conflict"}


def test_a_conflict_is_left_to_people() -> None:
    tables = [
        nodes("Disease", {"OMIM:1": ("Alpha disease",), "ORPHA:1": ("Beta disease",)}),
        nodes("Disease", {"MONDO:1": ("Alpha disease", "Beta disease"), "OMIM:2": ("Other disease",)}),
        same_as(("ORPHA:1", "OMIM:2", "exact")),
    ]
    found = align_diseases(diseases(tables), exact_pairs(tables), Given())
    outcomes = dict(found.select("object", "outcome").iter_rows())
    assert outcomes == {"OMIM:1": "stated", "ORPHA:1": "conflict"}


def test_groups_are_none_of_their_members() -> None:
    tables = [nodes("Disease", {"MONDO_GROUPED:1_2": ("Alpha disease",), "MONDO:1": ("Alpha disease",)})]
    assert align_diseases(diseases(tables), exact_pairs(tables), Given()).is_empty()


def test_loaded_equalities_are_taken_for_granted() -> None:
    joined = Components()
    for one, other in (("OMIM:1", "OMIM:2"), ("OMIM:2", "ORPHA:1")):
        joined.join(one, other)
    assert joined.of("ORPHA:1") == {"OMIM:1", "OMIM:2", "ORPHA:1"}
    assert joined.fits("MONDO:1", "OMIM:1")
    assert not joined.fits("OMIM:3", "ORPHA:1")
