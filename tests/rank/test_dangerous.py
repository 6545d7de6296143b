"""What must not be missed: dangerous diseases that the findings do not exclude, each with what settles it."""

from __future__ import annotations

from pathlib import Path

import pytest

import kgdx
from kgdx.rank.commonness import SETTINGS

INFARCTION = "58-year-old man. Crushing chest pain for 40 minutes going into the left arm, drenched in sweat, vomited."


@pytest.fixture(scope="module")
def graph(default_graph: Path) -> kgdx.Graph:
    return kgdx.open(default_graph)


def test_a_dangerous_disease_is_named_with_what_settles_it(graph: kgdx.Graph) -> None:
    found = graph.diagnose(INFARCTION)
    named = {each.name: each for each in found.dangerous}
    assert "Myocardial infarction" in named and 1 <= len(named) <= 5
    assert "troponin" in named["Myocardial infarction"].settled_by
    assert "肌钙蛋白" in (named["Myocardial infarction"].settled_by_zh or "")
    assert found.to_dict()["judgement"]["dangerous"][0]["settled_by"]
    assert "Must not be missed" in found.to_html()


def test_the_list_heeds_where_the_patient_is_seen_and_says_what_commonness_rests_on(graph: kgdx.Graph) -> None:
    iron = {}
    for where in SETTINGS:
        found = graph.diagnose("Tired and pale for weeks, short of breath on stairs", setting=where)
        iron[where] = next(each for each in found.candidates if "ron deficiency" in each.name)
    assert iron["general"].parts["prior"] > 3 * iron["referral"].parts["prior"] > 0
    said = next(each.text for each in iron["general"].contributions if each.rule == "prior")
    assert said == "general: very common (table of common conditions)"
    assert sum(row.score for row in iron["general"].contributions) == pytest.approx(iron["general"].score, abs=1e-3)


def test_a_susceptibility_is_less_likely_than_a_disease(graph: kgdx.Graph) -> None:
    found = graph.diagnose("Cough and tired for months, lumps on the shins").candidates[:3]
    assert not any("susceptib" in each.name.lower() for each in found)


def test_a_patient_with_a_rare_disease_has_no_lane_and_one_of_the_other_sex_is_not_in_it(graph: kgdx.Graph) -> None:
    rare = ["Bulbous nose", "Sparse lateral eyebrow", "Short metacarpal", "Slow-growing hair", "Long philtrum"]
    assert graph.diagnose(rare).dangerous == ()
    man = graph.diagnose("30-year-old man with sudden pain in the lower belly, vaginal bleeding and dizziness")
    assert not any("pregnan" in each.name.lower() for each in man.dangerous)


def test_next_tests_are_genes_a_laboratory_finding_that_tells_leaders_apart_and_what_settles_one(
    graph: kgdx.Graph,
) -> None:
    rare = graph.diagnose(["Ataxia", "Telangiectasia", "Recurrent infections"])
    tests = {each.kind: each for each in rare.judgement.tests}
    assert "ATM" in tests["genes"].name and "a variant in ATM" in [each.result for each in tests["genes"].predicts]
    shares = [int(each.result.removesuffix(" %")) for each in tests["laboratory"].predicts]
    assert len(shares) > 1 and max(shares) - min(shares) >= 30
    assert not any(each.name in ("Ataxia", "Telangiectasia") for each in rare.judgement.tests)
    common = graph.diagnose("Sore throat for 2 days, runny nose and cough")
    named = {each.name for each in common.judgement.tests if each.kind == "recommended"}
    assert named and not any(name.startswith("none") for name in named)


def test_a_lump_in_the_breast_is_ranked_in_a_check_up_and_a_sneeze_is_not(graph: kgdx.Graph) -> None:
    found = graph.diagnose("Routine check, feels well, but found a breast lump.")
    assert "Breast cancer" in [each.name for each in found.dangerous]
    assert not graph.diagnose("Routine check, feels well, but has to sneeze.").candidates
