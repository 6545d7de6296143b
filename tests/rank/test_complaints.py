"""What is asked first about a complaint, in whose words, of whom, and that one finding has one identity."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import kgdx
from kgdx.case.patient import Case, Finding, Span, Status
from kgdx.rank.complaints import FIRST, NARROWED, SEX, STAGES, asked_first, complaints, complaints_of, wordings
from kgdx.rank.evidence_odds import ConditionCounts, EvidenceOdds, EvidenceTable
from kgdx.rank.evidences import Evidences
from kgdx.rank.proposing import OPTIONS, WAYS, _moves
from kgdx.rank.selectors import Situation, graph_cosines
from kgdx.terms.normalise import has_chinese

LONGEST = 11
"""Questions with which a consultation may begin."""
COUGH, FEVER, CHEST, MISSED = "HP:0012735", "HP:0001945", "HP:0100749", "HP:0000141"
PAIN, PLACE, KIND = "DDXPLUS:E_53", "DDXPLUS:E_55", "DDXPLUS:E_54"


def alone(id: str) -> tuple[str, ...]:
    return (id,)


def test_every_complaint_has_questions_of_every_stage_in_both_languages() -> None:
    assert len(complaints()) >= 40
    for each in complaints():
        assert has_chinese(each.name_zh) and not has_chinese(each.name)
        assert each.terms and set(each.stages) == set(STAGES)
        assert all(each.stages[stage] for stage in STAGES), each.name
        for id in (id for ids in each.stages.values() for id in ids):
            words = wordings()[id]
            assert words.en.endswith("?") and words.zh.endswith("？") and words.way in WAYS


def test_history_is_asked_before_examination_and_laboratory() -> None:
    for each in complaints():
        assert all(wordings()[id].way in ("laboratory", "imaging") for id in each.stages["test"]), each.name
        assert each.due <= set(each.stages["test"])
        assert len({id for stage in FIRST for id in each.stages[stage]}) <= LONGEST, each.name
        ways = Counter(wordings()[id].way for id in each.stages["history"])
        assert ways["ask"] >= max(ways.values()), each.name


def test_the_complaint_that_was_said_first_leads_and_answers_are_none() -> None:
    said = Finding(FEVER, span=Span(20, 25)), Finding(COUGH, span=Span(0, 5)), Finding(CHEST, method="asked")
    assert [each.name for each in complaints_of(Case("p", said), alone)] == ["cough", "fever"]


@pytest.mark.parametrize(("sex", "asked"), [("FEMALE", True), ("MALE", False), ("UNKNOWN", True)])
def test_nobody_is_asked_what_only_others_are(sex: str, asked: bool) -> None:
    pain = Case("p", (Finding("HP:0002027"),), sex=sex, age="P27Y")
    first, rest, _ = asked_first(pain, complaints_of(pain, alone))
    assert all(stage in FIRST for stage in first.values())
    assert ("HP:0000141" in {**first, **rest}) is asked


def test_a_grown_up_is_not_asked_what_children_are() -> None:
    cases = [Case("p", (Finding(FEVER),), age=age) for age in ("P4Y", "P40Y", None)]
    assert ["HP:0000737" in asked_first(each, complaints_of(each, alone))[1] for each in cases] == [True, False, False]


def odds(patients: int = 0) -> EvidenceOdds:
    counted = {
        "many": ConditionCounts(patients=30, evidences={PAIN: 30, PLACE: 30, KIND: 30}),
        "few": ConditionCounts(patients=patients, evidences={}),
    }
    listed = np.array([[1, 1, 1], [0, 0, 0]], np.float32)
    table = EvidenceTable(conditions=counted) if patients else None
    return EvidenceOdds(["many", "few"], [PAIN, PLACE, KIND], listed, table)


def test_what_a_no_implies_is_not_counted_again() -> None:
    made = odds()
    assert made.odds((), (PAIN,)).tolist() == made.odds((), (PAIN, PLACE, KIND)).tolist()
    assert made.odds((), (PAIN,))[0] < 0


def test_a_yes_below_another_counts_given_that() -> None:
    made = odds()
    assert made.odds((PAIN,), ()) == pytest.approx(made.odds((PAIN, PLACE), ()), abs=0.1)


def test_few_patients_teach_little() -> None:
    listed = np.array([[1.0], [1.0]], np.float32)
    counts = {"one": ConditionCounts(patients=1), "many": ConditionCounts(patients=40)}
    made = EvidenceOdds(["one", "many"], [PAIN], listed, EvidenceTable(conditions=counts))
    assert made.chance[0, 0] > 5 * made.chance[1, 0]


def test_what_a_condition_of_risks_alone_does_not_list_is_as_usual() -> None:
    listed = np.array([[1, 1], [0, 1]], np.float32)
    made = EvidenceOdds(["list", "risks"], [PAIN, PLACE], listed, whole=np.array([True, False]))
    assert made.odds((PAIN,), ())[1] == pytest.approx(0.0)
    assert made.odds((), (PAIN,))[1] == pytest.approx(0.0)


def test_only_a_patient_of_a_whole_list_is_taken_for_one_of_it(default_graph: Path) -> None:
    with kgdx.open(default_graph) as graph:
        ranker, scorer = graph.ranker, graph.ranker.scorers["evidences"]
        assert isinstance(scorer, Evidences)
        case = Case("p", (Finding("DDXPLUS:E_53", method="id"), Finding("DDXPLUS:E_91", Status.ABSENT, method="id")))
        score = scorer.score(ranker.query(case)[0])[scorer.numbers]
        whole = scorer.arrays["whole"][scorer.numbers]
        known = scorer.arrays["conditions"][scorer.arrays["whole"]].tolist()
    assert set(known) == set(EvidenceTable.read().conditions), "also those that are joined with others"
    assert (score[~whole] <= 0.5).all() and np.median(score[whole]) > 1


# --- a consultation, as a clinician would hold it

ECG, TROPONIN, HCG = "HP:0012251", "HP:0410173", "HP:6000485"


@pytest.mark.parametrize(
    ("words", "sex", "age", "tests"),
    [
        ("chest pain", "MALE", "P58Y", {ECG, TROPONIN}),
        ("abdominal pain", "FEMALE", "P27Y", {HCG}),
        ("胸痛", "MALE", "P58Y", {ECG, TROPONIN}),
        ("abdominal pain", "MALE", "P27Y", set()),
    ],
)
def test_everybody_with_a_complaint_gets_its_tests_once_history_has_narrowed(
    default_graph: Path, words: str, sex: str, age: str, tests: set[str]
) -> None:
    with kgdx.open(default_graph) as graph:
        talk, asked = graph.consult(Case("p", sex=sex, age=age, text=words)), list[str]()
        while (question := talk.question) is not None:
            asked += [question.term or ""]
            offered = [each.id for each in question.options]
            assert len(offered) <= OPTIONS and all(id in wordings() or "DDXPLUS" in id for id in offered)
            assert has_chinese(question.text) or not (question.term and has_chinese(words))
            talk.answer(False)
    ways = [wordings()[id].way if id in wordings() else "" for id in asked]
    at_once = {id for each in complaints() for stage in FIRST for id in each.stages[stage]}
    early = [id for id, way in zip(asked[: NARROWED - 1], ways, strict=False) if way in ("laboratory", "imaging")]
    assert tests <= set(asked) and set(early) <= at_once and (HCG in tests or HCG not in asked)
    assert len(set(asked)) == len(asked) and not any(id and not wordings()[id].key for id in asked if id in wordings())


@pytest.mark.parametrize("female", [True, False])
def test_a_sex_that_is_not_told_is_asked_once_before_what_depends_on_it(default_graph: Path, female: bool) -> None:
    with kgdx.open(default_graph) as graph:
        talk, asked = graph.consult("30岁，肚子疼"), list[str]()
        while (question := talk.question) is not None:
            asked += [question.term or ""]
            talk.answer(question.term == SEX and female)
    after = [id for id in asked[asked.index(SEX) :] if id in wordings() and wordings()[id].sex == "FEMALE"]
    assert asked.count(SEX) == 1 and bool(after) is female and MISSED not in asked[: asked.index(SEX)]


def test_a_question_that_changes_nothing_likely_moves_nothing() -> None:
    likelihood = np.array([[0.9, 0.5], [0.1, 0.5], [0.1, 0.5], [0.1, 0.5]])
    assert _moves(np.array([0.5, 0.4, 0.05, 0.05]), np.arange(4), likelihood).tolist() == [True, False]
    sure = np.array([[0.6], [0.5], [0.5], [0.6]])
    assert _moves(np.array([0.9, 0.02, 0.02, 0.019]), np.arange(4), sure).tolist() == [False]


# --- what was said, the family, and what settles it

PARENT, RELATED, FACIAL = "FAMILY:PARENT", "FAMILY:RELATED", "HP:0010628"


def free(graph: kgdx.Graph, *present: str, absent: tuple[str, ...] = (), kind: str = "phenotype") -> set[str]:
    proposer = graph.ranker.proposer
    findings = (*map(Finding, present), *(Finding(id, Status.ABSENT) for id in absent))
    found = proposer.settled.free(Case("p", findings), (), [kind], person=True)[kind]
    return {proposer.pools[kind].ids[row] for row in np.flatnonzero(found).tolist()}


@pytest.mark.parametrize(
    ("present", "absent", "settled"),
    [
        ("HP:0002875", "", "HP:0002094"),  # above it
        ("HP:0002094", "", "HP:0002875"),  # a row of the table
        ("HP:0002919", "", "HP:0001946"),
        ("HP:0002591", "", "HP:0002039"),  # an appetite that is great is not poor
        ("HP:0000098", "", "HP:0004322"),  # the opposite
        ("DDXPLUS:E_201", "", COUGH),  # another vocabulary
        ("HP:0000988", FEVER, "HP:0025143"),  # nobody without a fever is asked for shaking chills
    ],
)
def test_what_was_said_under_any_name_is_not_asked(
    default_graph: Path, present: str, absent: str, settled: str
) -> None:
    with kgdx.open(default_graph) as graph:
        assert settled in free(graph)
        assert settled not in free(graph, present, absent=(absent,) if absent else ())


def test_an_evidence_that_is_a_phenotype_is_asked_about_once(default_graph: Path) -> None:
    with kgdx.open(default_graph) as graph:
        proposer, cough = graph.ranker.proposer, "DDXPLUS:E_201"
        row = proposer.pools["evidence"].rows[cough]
        alone_, both = (
            proposer.settled.free(Case("p"), (), kinds, person=True)["evidence"][row]
            for kinds in (["evidence"], ["evidence", "phenotype"])
        )
    assert alone_ and not both


def test_the_family_is_asked_about_where_modes_tell_the_leaders_apart(default_graph: Path) -> None:
    with kgdx.open(default_graph) as graph:
        ranker, case = graph.ranker, Case("p", (Finding("HP:0002072"), Finding("HP:0001268")), age="P45Y")
        asked = {each.id: each for each in ranker.proposer.propose(case, kinds=("history",), complaints=())}
        assert asked[PARENT].gain > 0
        talk = graph.consult(case.with_finding(Finding("HP:0000716")), certain=1.0)
        while (question := talk.question) is not None and question.term != PARENT:
            talk.answer(None)
        assert question is not None and question.text == "Has a parent the same illness?"
        before = talk.differential
        talk.answer(True)
        assert talk.differential != before and PARENT not in {each.id for each in talk.record.findings if not each.turn}
        assert PARENT not in free(graph, kind="history") or RELATED in free(graph, kind="history")
        packet = talk.to_phenopacket()
    assert PARENT not in str(packet)


def test_nothing_is_certain_without_what_settles_it(default_graph: Path) -> None:
    with kgdx.open(default_graph) as graph:
        ranker = graph.ranker
        numbers = {ranker.names.candidate(number).name: number for number in range(len(ranker.ids))}
        embolism, palsy = numbers["Pulmonary embolism"], numbers["Bell palsy"]
        case = Case("p", (Finding("HP:0002094"), Finding("HP:0002105")))
        settled, left = ranker.proposer.settling(case, embolism)
        assert not settled and "HP:0033106" in dict(left)
        assert ranker.proposer.settling(case.with_finding(Finding("HP:0033106")), embolism) == (True, [])
        assert not ranker.proposer.settling(case.with_finding(Finding("HP:0033106", Status.ABSENT)), embolism)[0]
        assert FACIAL in dict(ranker.proposer.settling(Case("p", (Finding("HP:0001260"),)), palsy)[1])


def test_types_of_one_disease_are_not_told_apart_by_questions(default_graph: Path) -> None:
    with kgdx.open(default_graph) as graph:
        ranker = graph.ranker
        case = Case("p", (Finding("HP:0000421"), Finding("HP:0001009"), Finding("HP:0000214")))
        scored = ranker.score_query(ranker.query(case)[0])
        pool = ranker.proposer.pools["phenotype"]
        family = ranker.model.families.members.columns(int(ranker.model.families.of[int(scored.total.argmax())]))
        shares = np.zeros(len(scored.total))
        shares[family] = 1 / len(family)
        told, of = (shares, pool, np.ones(len(pool.ids), bool), scored), ranker.model.families.of
        kept = {"person": True, "alike": partial(graph_cosines, pool)}
        gains = [Situation(*told, families=each, **kept).gain.max() for each in (None, of)]
    assert len(family) > 1 and gains[0] > 0.1 and gains[1] < 1e-9


def test_a_symptom_of_the_graph_is_a_finding_by_its_id(default_graph: Path) -> None:
    with kgdx.open(default_graph) as graph:
        for id, name in (("DDXPLUS:E_79", "smokes cigarettes"), ("KGDX:common.symptom-calf-pain", "Calf pain")):
            found = graph.resolve(id).finding
            assert found is not None and (found.id, found.label) == (id, name)
        assert graph.resolve("DDXPLUS:E_0000").finding is None


def test_weakness_of_one_side_is_asked_about_as_a_stroke_is() -> None:
    weak = Finding("HP:0001324", span=Span(0, 8))
    sided = Finding("HP:0001324", modifiers=("HP:0012834",), span=Span(0, 8))
    names = [complaints_of(Case("p", (each,)), alone)[0].name for each in (weak, sided)]
    assert names == ["weakness", "weakness of one side or of speech"]


def test_terms_of_one_chinese_name_are_one_question(default_graph: Path) -> None:
    with kgdx.open(default_graph) as graph:
        assert "HP:4000054" in free(graph) and "HP:4000054" not in free(graph, "HP:0000988")


def test_what_decides_and_the_first_disease_never_has_leaves_it_unproven(default_graph: Path) -> None:
    with kgdx.open(default_graph) as graph:
        ranker = graph.ranker
        migraine, bleeding = (
            ranker.number_of(each) for each in ("KGDX:common.migraine", "KGDX:common.subarachnoid-hemorrhage")
        )
        told = (Finding("HP:0002315", span=Span(0, 8)), Finding("HP:0030907", method="asked"))
        assert min(migraine, bleeding) >= 0
        assert ranker.proposer.unexplained(Case("p", told), migraine, [bleeding]) == [bleeding]
        assert not ranker.proposer.unexplained(Case("p", told[:1]), migraine, [bleeding])
