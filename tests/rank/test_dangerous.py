"""What must not be missed: dangerous diseases that the findings do not exclude, each with what settles it."""

from __future__ import annotations

from pathlib import Path

import pytest

import kgdx

INFARCTION = "58-year-old man. Crushing chest pain for 40 minutes going into the left arm, drenched in sweat, vomited."


@pytest.fixture(scope="module")
def graph(default_graph: Path) -> kgdx.Graph:
    return kgdx.open(default_graph)


def test_a_dangerous_disease_is_named_with_what_settles_it(graph: kgdx.Graph) -> None:
    found = graph.diagnose(INFARCTION)
    named = {each.name: each for each in found.dangerous}
    assert "Myocardial infarction" in named and 1 <= len(named) <= 5
    assert "troponin" in named["Myocardial infarction"].settled_by
    assert [each.rank for each in found.dangerous] == sorted(each.rank for each in found.dangerous)
    assert found.to_dict()["judgement"]["dangerous"][0]["settled_by"]
    assert "Must not be missed" in found.to_html()


def test_a_patient_with_a_rare_disease_has_no_lane_and_one_of_the_other_sex_is_not_in_it(graph: kgdx.Graph) -> None:
    rare = ["Bulbous nose", "Sparse lateral eyebrow", "Short metacarpal", "Slow-growing hair", "Long philtrum"]
    assert graph.diagnose(rare).dangerous == ()
    man = graph.diagnose("30-year-old man with sudden pain in the lower belly, vaginal bleeding and dizziness")
    assert not any("pregnan" in each.name.lower() for each in man.dangerous)
