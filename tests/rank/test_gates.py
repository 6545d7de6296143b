"""What sex and age rule out, what begins early or late, and dangerous diseases that must not be missed."""

from __future__ import annotations

from pathlib import Path

import pytest

import kgdx
import small_graph
from kgdx.case.about import with_person
from kgdx.case.patient import Case, Finding
from kgdx.errors import UsageError
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.rank import Ranker
from kgdx.rank.commonness import SETTINGS, setting
from small_graph import FEVER, SHORT

SEX = "1 disease of one sex, which is not told, unless it fits best"
NAMES = {"OMIM:2": "Neonatal short stature", "OMIM:3": "Fever of pregnancy", "UMLS:2": "Rare neonatal epilepsy"}


@pytest.fixture(scope="module")
def ranker(tmp_path_factory: pytest.TempPathFactory) -> Ranker:
    folder: Path = tmp_path_factory.mktemp("gates")
    return Ranker.open(compile_snapshot(small_graph.tables(names=NAMES), folder / "snapshot", "gates"))


def ranked(ranker: Ranker, sex: str, age: str | None, **how: bool) -> tuple[set[str], tuple[str, ...]]:
    found = ranker.rank(Case("p", (Finding(FEVER), Finding(SHORT)), sex=sex, age=age), top=4, **how)
    assert found.judgement is not None
    order = [each.id for each in found.candidates]
    return set(order[: 4 - len(found.judgement.left_out)]), found.judgement.left_out


@pytest.mark.parametrize(
    ("sex", "age", "out"),
    [
        ("MALE", "P30Y", ("1 disease of women or pregnancy", "1 disease of newborns")),
        ("FEMALE", "P30Y", ("1 disease of newborns",)),
        ("FEMALE", "P1M", ("1 disease of pregnancy",)),
        ("FEMALE", "P5Y", ("1 disease of pregnancy", "1 disease of newborns")),
        ("UNKNOWN", None, ()),
    ],
)
def test_pregnancy_is_of_women_of_an_age(ranker: Ranker, sex: str, age: str | None, out: tuple[str, ...]) -> None:
    first, left_out = ranked(ranker, sex, age)
    assert left_out == out
    assert ("OMIM:3" in first) is not any("pregnancy" in each for each in out)


@pytest.mark.parametrize(
    ("text", "out"),
    [
        ("Fever, small for his age", ("1 disease of newborns", "2 diseases that begin in infancy", SEX)),
        ("Fever, small since birth", (SEX,)),
        ("Fever, LMP 7/52 ago", ("1 disease of newborns", "2 diseases that begin in infancy")),
    ],
)
def test_a_text_that_tells_no_sex_and_no_infancy(ranker: Ranker, text: str, out: tuple[str, ...]) -> None:
    case = Case("p", (Finding(FEVER), Finding(SHORT)), text=text)
    found = ranker.rank(case, top=4)
    assert found.judgement is not None
    assert found.judgement.left_out == out


def test_a_disease_of_newborns_with_a_gene_is_not_left_out(ranker: Ranker) -> None:
    assert "OMIM:2" in ranked(ranker, "FEMALE", "P30Y")[0]


def test_gates_can_be_turned_off(ranker: Ranker) -> None:
    first, left_out = ranked(ranker, "MALE", "P30Y", gates=False)
    assert left_out == ()
    assert {"OMIM:3", "UMLS:2"} <= first


def test_a_disease_that_is_ruled_out_can_be_asked_for(ranker: Ranker) -> None:
    found = ranker.rank(Case("p", (Finding(FEVER),), sex="MALE"), top=1, also=["OMIM:3"])
    assert [each.id for each in found.candidates][-1] == "OMIM:3"
    assert found.candidates[-1].rank == ranker.model.columns.size


@pytest.mark.parametrize(
    ("about", "taken"),
    [
        ({}, "general"),
        ({"setting": "emergency"}, "emergency"),
        ({"inheritance": "AD"}, "referral"),
        ({"genes": ["X"]}, "referral"),
    ],
)
def test_the_setting_is_stated_or_follows_a_rule_of_the_person(about: dict[str, object], taken: str) -> None:
    assert setting(with_person(Case("p"), about))[0] == taken  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("Brought in by ambulance, grey and sweating.", "emergency"),
        ("突发左腰部绞痛2小时", "emergency"),
        ("Seen in the genetics clinic for short stature.", "referral"),
        ("Heartburn after meals for four months.", "general"),
        ("Walks for 3 hours a day, tired.", "general"),
    ],
)
def test_a_text_says_where_the_patient_is_seen(text: str, taken: str) -> None:
    assert setting(Case("p", text=text))[0] == taken
    assert setting(Case("p", text=text, setting="general")) == ("general", "as stated")
    assert setting(Case("p", (Finding("HP:0002615"),)))[0] == "emergency"


def test_a_setting_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no setting 'ward'"):
        with_person(Case("p"), {"setting": "ward"})


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
