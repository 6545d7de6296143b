"""What questions want is told by their words, and the rules look it up."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kgdx
from episode.states import state_of
from kgdx.actions import Respond
from kgdx.answer.wants import OUTSIDE, UNTOLD, Want
from kgdx.case import Case, Span
from kgdx.episode import Action, State
from kgdx.policies.finishing import undescribed
from kgdx.policies.question_reading import GAP, _unpatterned, masked, negated, remainder, says, wants
from kgdx.policies.question_rules import RulesPolicy
from kgdx.results.cited import Resolved
from kgdx.terms.names.name_decision import Mention

DISEASE, SYMPTOM, CURE = ("Disease",), ("Symptom",), ("Cure",)


def naming(question: str, named: Iterable[tuple[str, tuple[str, ...]]]) -> State:
    mentions = tuple(
        Mention(start, start + len(name), name, kind, (f"{kind}:{name}",), (name,))
        for name, kinds in named
        for start in [question.index(name)]
        for kind in kinds
    )
    return state_of(Case("p"), question, mentioned=mentions)


def planned(question: str, named: Iterable[tuple[str, tuple[str, ...]]]) -> list[tuple[str, tuple[str, ...]]]:
    state = naming(question, named)
    return [(action.name, asked(action)) for action in RulesPolicy()._wanted(state)]


def asked(action: Action) -> tuple[str, ...]:
    return next((tuple(value) for value in action.parameters().values() if isinstance(value, list)), ())


def of_first(*kinds: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(f"get_{kind}", ("甲热",)) for kind in kinds]


@pytest.mark.parametrize(
    ("question", "named", "expected"),
    [
        ("甲热会引起什么病？", [("甲热", DISEASE)], [("get_comorbidity", ("甲热",))]),
        ("什么病会引起甲热？", [("甲热", DISEASE)], [("infer_by_comorbidity", ("甲热",))]),
        (
            "甲热常伴随哪些疾病？",
            [("甲热", DISEASE)],
            [("get_comorbidity", ("甲热",)), ("infer_by_comorbidity", ("甲热",))],
        ),
        ("哪些疾病用药物治疗、针灸？", [("药物治疗", CURE), ("针灸", CURE)], [("infer_by_cure", ("药物治疗", "针灸"))]),
        ("甲热的药物治疗有哪些？", [("甲热", DISEASE), ("药物治疗", CURE)], of_first("drug", "medicine", "cure")),
        (
            "肺炎、咳嗽是什么病引起的？",
            [("肺炎", DISEASE + SYMPTOM), ("咳嗽", SYMPTOM)],
            [("infer_by_symptom", ("肺炎", "咳嗽"))],
        ),
        (
            "哪些病会引起肺炎、甲热？",
            [("肺炎", DISEASE + SYMPTOM), ("甲热", DISEASE)],
            [("infer_by_comorbidity", ("肺炎", "甲热"))],
        ),
        ("发热、咳嗽三天", [("发热", DISEASE + SYMPTOM), ("咳嗽", SYMPTOM)], [("infer_by_symptom", ("发热", "咳嗽"))]),
        (
            "A patient presents with 发热. What is the diagnosis?",
            [("发热", DISEASE + SYMPTOM)],
            [("infer_by_symptom", ("发热",))],
        ),
    ],
)
def test_what_is_looked_up_follows_from_how_names_and_words_stand(
    question: str, named: list[tuple[str, tuple[str, ...]]], expected: list[tuple[str, tuple[str, ...]]]
) -> None:
    assert planned(question, named) == expected


def test_everything_is_got_of_a_disease_when_nothing_else_is_said() -> None:
    names = {name for name, _ in planned("甲热", [("甲热", DISEASE)])}
    assert {"get_symptom", "get_test", "get_drug", "get_cure", "get_comorbidity"} <= names


def test_a_name_that_was_looked_up_as_a_symptom_is_not_described_as_a_disease() -> None:
    mentions = tuple(Mention(0, 2, "头痛", kind, (f"{kind}:1",), ("头痛",)) for kind in ("Disease", "Symptom"))
    question = "头痛可能是什么病"
    assert undescribed(state_of(question=question, mentioned=mentions)) == ("Disease:1",)
    asked_as = Resolved("头痛", kinds=("Symptom",), ids=("Symptom:1",))
    assert undescribed(state_of(question=question, mentioned=mentions, resolved=(asked_as,))) == ()


PHENOTYPE = ("Phenotype",)


@pytest.mark.parametrize(
    ("question", "named", "expected"),
    [
        ("甲热会遗传吗", [("甲热", DISEASE)], ["get_phenotype", "get_passage"]),
        ("甲热挂什么科", [("甲热", DISEASE)], ["get_passage"]),
        ("What causes 甲热?", [("甲热", DISEASE)], ["get_gene", "get_passage"]),
        (
            "甲热和乙热有什么区别",
            [("甲热", DISEASE), ("乙热", DISEASE)],
            ["get_symptom", "get_phenotype", "get_gene", "get_phenotype", "get_phenotype"],
        ),
        (
            "Does 甲热 cause 晶脱?",
            [("甲热", DISEASE), ("晶脱", PHENOTYPE)],
            ["get_phenotype", "get_absent", "get_passage"],
        ),
        (
            "diseases with 耳聋 and 色变",
            [("耳聋", DISEASE + SYMPTOM), ("色变", DISEASE + PHENOTYPE)],
            ["infer_by_symptom", "infer_by_phenotype"],
        ),
    ],
)
def test_each_intent_looks_up_what_answers_it(
    question: str, named: list[tuple[str, tuple[str, ...]]], expected: list[str]
) -> None:
    assert [name for name, _ in planned(question, named)] == expected


def inferring(question: str, *named: str) -> dict[str, object]:
    mentions = tuple(
        Mention(start, start + len(name), name, "Phenotype", (f"HP:{name}",), (name,))
        for name in named
        for start in [question.index(name)]
    )
    *_, action = RulesPolicy()._wanted(state_of(Case("p"), question, mentioned=mentions))
    return action.parameters()


def test_what_is_denied_leaves_diseases_out_and_both_means_all() -> None:
    told = inferring("Which diseases have seizures but not ataxia?", "seizures", "ataxia")
    assert (told["phenotypes"], told["without"], told["min_match_count"]) == (["seizures"], ["ataxia"], 1)
    told = inferring("Which diseases have both seizures and ataxia?", "seizures", "ataxia")
    assert (told["phenotypes"], told["without"], told["min_match_count"]) == (["seizures", "ataxia"], None, 2)


@pytest.mark.parametrize(
    ("question", "condition"),
    [
        ("Which X-linked diseases have seizures and ataxia?", "HP:0001417"),
        ("Name autosomal recessive disorders with seizures and ataxia.", "HP:0000007"),
        ("Which conditions inherited through the mitochondria have seizures and ataxia?", "HP:0001427"),
        ("Which adult-onset diseases cause seizures and ataxia?", "HP:0003581"),
    ],
)
def test_the_diseases_asked_for_have_to_have_a_mode_or_an_onset(question: str, condition: str) -> None:
    told = inferring(question, "seizures", "ataxia")
    assert (told["phenotypes"], told["min_match_count"]) == (["seizures", "ataxia", condition], 3)


@pytest.mark.parametrize("question", ["HEXA基因突变会导致什么病?", "What does HEXA code for?"])
def test_a_gene_alone_is_asked_for_its_diseases(question: str) -> None:
    assert [name for name, _ in planned(question, [("HEXA", ("Gene",))])][-1] == "infer_by_gene"


def test_a_question_most_of_which_is_unknown_infers_nothing_from_the_rest() -> None:
    question = "can stress make your hair fall out"
    mentions = (Mention(27, 31, "fall", "Phenotype", ("HP:1",), ("Falls",)),)
    state = state_of(Case("p"), question, mentioned=mentions)
    assert [action.name for action in RulesPolicy()._wanted(state) if action.name.startswith("infer")] == []


def test_a_number_stands_for_another_form_of_the_disease() -> None:
    found = planned("What is the difference between Kabuki syndrome 1 and 2?", [("Kabuki syndrome 1", DISEASE)])
    assert found[0][1] == ("Kabuki syndrome 1", "Kabuki syndrome 2")


@pytest.mark.parametrize(
    ("question", "untold"),
    [
        ("Is 甲药 safe in pregnancy?", Want.SAFETY),
        ("Can I drive with 甲热?", Want.SAFETY),
        ("孕妇能吃甲药吗", Want.SAFETY),
        ("甲热要不要去医院？", Want.URGENCY),
        ("甲热, should I go to hospital?", Want.URGENCY),
        ("Can I take 甲药 with 乙药?", Want.SAFETY),
        ("甲药和乙药能一起吃吗", Want.SAFETY),
        ("My baby has 甲热, what should I do?", Want.URGENCY),
    ],
)
def test_what_no_graph_may_tell_is_recognised(question: str, untold: Want) -> None:
    assert untold in RulesPolicy().respond(state_of(Case("p"), question, mentioned=())).wants


@pytest.mark.parametrize("question", ["Which diseases occur in pregnancy?", "What drives 甲热?", "甲热住院几天？"])
def test_other_questions_are_not_taken_for_it(question: str) -> None:
    assert not UNTOLD.intersection(RulesPolicy().respond(state_of(Case("p"), question, mentioned=())).wants)


@pytest.mark.parametrize(
    ("question", "named", "subject", "others"),
    [
        ("Does 甲热 cause 晶脱?", [("甲热", DISEASE), ("晶脱", PHENOTYPE)], "甲热", ("晶脱",)),
        ("Is 肺炎 a complication of 甲热?", [("肺炎", DISEASE), ("甲热", DISEASE)], "甲热", ("肺炎",)),
        ("甲热会引起肺炎吗", [("甲热", DISEASE), ("肺炎", DISEASE)], "甲热", ("肺炎",)),
        ("Does 甲热 cause purple teeth?", [("甲热", DISEASE), ("teeth", SYMPTOM)], "甲热", ("purple teeth",)),
    ],
)
def test_a_question_of_yes_or_no_is_about_one_disease_and_what_may_be_stated_of_it(
    question: str, named: list[tuple[str, tuple[str, ...]]], subject: str, others: tuple[str, ...]
) -> None:
    made = answered(question, named)
    assert (made.whether, made.subjects, made.others) == (True, (subject,), others)


def test_a_name_that_the_index_has_otherwise_is_looked_up_as_a_disease() -> None:
    state = state_of(Case("p"), "Duchenne inheritance", mentioned=())
    (action,) = RulesPolicy()._wanted(state)
    assert action.words()["names"] == ["Duchenne"]


@pytest.mark.parametrize("question", ["Is 甲热 dominant or recessive?", "甲热的遗传方式是什么"])
def test_a_choice_is_no_question_of_yes_or_no(question: str) -> None:
    assert not answered(question, [("甲热", DISEASE)]).whether


def answered(question: str, named: Iterable[tuple[str, tuple[str, ...]]]) -> Respond:
    return RulesPolicy().respond(naming(question, named))


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("〇吃什么药", {Want.DRUG}),
        ("什么病会并发〇？", {Want.DISEASE, Want.COMORBIDITY}),
        ("〇的禁忌药有哪些", {Want.CONTRAINDICATION}),
        ("which tests and which drugs for 〇?", {Want.TEST, Want.DRUG}),
        ("Which drug is contraindicated in 〇?", {Want.CONTRAINDICATION}),
        ("Which diseases are treated by 〇?", {Want.DISEASE, Want.CURE}),
        ("hello", set()),
        ("Can a father pass 〇 to his son?", {Want.RECURRENCE}),
        ("〇的父亲会把病传给儿子吗？", {Want.RECURRENCE}),
        ("Can I breastfeed while taking 〇?", {Want.SAFETY}),
        ("〇的并发症有哪些疾病", {Want.COMORBIDITY}),
        ("〇会并发的疾病有哪些", {Want.COMORBIDITY}),
        ("并发〇的疾病有哪些？", {Want.DISEASE, Want.COMORBIDITY}),
        ("〇并发于哪些疾病", {Want.DISEASE, Want.COMORBIDITY}),
        ("〇是由什么病引发的？", {Want.DISEASE}),
        ("哪些慢性病会引起〇", {Want.DISEASE}),
        ("什么药治病", {Want.DRUG, Want.CURE}),
        ("为什么会〇、〇？", {Want.DISEASE}),
        ("〇常伴随哪些疾病", {Want.TOGETHER}),
        ("In which diseases does 〇 develop?", {Want.DISEASE}),
        ("Which diseases can lead to 〇?", {Want.DISEASE}),
        ("Which diseases often occur together with 〇?", {Want.TOGETHER, Want.DISEASE}),
        ("〇不能吃什么", {Want.DIET}),
        ("〇是什么病毒引起的", {Want.CAUSE}),
        ("How is 〇 passed on?", {Want.INHERITANCE}),
        ("How common is 〇?", {Want.PREVALENCE}),
        ("Is 〇 contagious?", {Want.TRANSMISSION}),
        ("What is the life expectancy with 〇?", {Want.COURSE}),
        ("同时有〇和〇的病叫什么？", {Want.DISEASE}),
        ("What is 〇 and how is it inherited?", {Want.DESCRIPTION, Want.INHERITANCE}),
        ("〇是什么引起的？怎么预防？", {Want.CAUSE, Want.PREVENTION}),
        ("I have 〇. What are the symptoms and how long does it last?", {Want.SYMPTOM, Want.COURSE}),
        ("What is the difference between 〇 and 〇 and how are they treated?", {Want.DIFFERENCE, Want.CURE}),
        ("My son has 〇. What is it and can he still drive?", {Want.SAFETY}),
        ("同时患有〇和〇的遗传病叫什么？", {Want.DISEASE}),
        ("My son was diagnosed with 〇, how long will he live?", {Want.COURSE}),
    ],
)
def test_wants_are_told_by_words(rest: str, expected: set[Want]) -> None:
    assert set(wants(rest)) == expected


def test_wants_come_in_the_order_of_the_question() -> None:
    assert wants("〇要做什么检查，吃什么药，怎么治疗？") == (Want.TEST, Want.DRUG, Want.CURE)


def test_long_questions_are_read_in_time_that_grows_with_their_length() -> None:
    for unit in ("can 〇 ", "〇会", "how do ", "什么", "which what ", "〇 "):
        wants(unit * 3_000)


def test_no_part_of_a_name_counts_as_a_word() -> None:
    question = "药物性肝炎有哪些症状"
    assert wants(masked(question, [Span(0, 5)])) == (Want.SYMPTOM,)


@given(st.text(max_size=80), st.lists(st.tuples(st.integers(0, 80), st.integers(0, 80)), max_size=4))
def test_any_text_is_masked_and_read(text: str, pairs: list[tuple[int, int]]) -> None:
    spans = [Span(min(pair), max(pair) + 1) for pair in pairs if max(pair) < len(text)]
    rest = masked(text, spans)
    assert rest.count(GAP) >= min(len(spans), 1)
    wants(rest)
    remainder(rest)


@pytest.mark.parametrize(
    ("question", "name", "no"),
    [
        ("cough without fever", "fever", True),
        ("cough and fever", "fever", False),
        ("咳嗽但没有发热", "发热", True),
        ("咳嗽伴发热", "发热", False),
        ("no seizures", "seizures", True),
    ],
)
def test_what_is_not_there_is_told_from_what_is(question: str, name: str, no: bool) -> None:
    at = question.index(name)
    assert negated(question, Span(at, at + len(name))) is no


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Which tests are recommended for pertusis?", "pertusis"),
        ("What is pertusis?", "pertusis"),
        ("What is the first thing to check in pertusis?", "pertusis"),
        ("怀疑百日亥首先做什么检查？", "百日亥"),
        ("百日亥应该先查什么？", "百日亥"),
        ("what?", ""),
    ],
)
def test_what_is_left_may_be_a_name(question: str, name: str) -> None:
    assert remainder(question) == name


@pytest.mark.parametrize(
    ("rest", "causes"),
    [
        ("哪些疾病会引起〇？", True),
        ("Which underlying diseases cause 〇?", True),
        ("哪些疾病会有〇的症状？", False),
        ("Which diseases have the symptoms 〇?", False),
    ],
)
def test_questions_of_causes_are_told_from_those_of_signs(rest: str, causes: bool) -> None:
    assert (says("causes", rest) is not None) is causes


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Which hospital in Dublin is best for 甲热?", Want.PLACE),
        ("Can he wait until the morning? His speech went funny.", Want.URGENCY),
        ("Tell me for certain that my lump is harmless", Want.VERDICT),
        ("What will the weather be like tomorrow?", Want.ELSEWHERE),
        ("这个报告是不是癌，给句准话", Want.VERDICT),
        ("奶奶突然说话不清，能等到明天再去医院吗", Want.URGENCY),
        ("Febrile infant with a bulging fontanelle and non-blanching rash. What now?", Want.URGENCY),
        ("糖尿病患者深大呼吸、呼气有烂苹果味，意识模糊，怎么处理？", Want.URGENCY),
    ],
)
def test_what_no_pattern_reads_is_told_by_the_wordings_that_it_is_like(question: str, kind: Want) -> None:
    assert RulesPolicy().respond(state_of(Case("p"), question, mentioned=())).wants == (kind,)


def test_no_single_word_refuses_a_question_that_names_something() -> None:
    for question in ("〇 vs 〇: what sets them apart clinically?", "List syndromes with 〇 but without 〇", "〇?", ""):
        assert not {*OUTSIDE}.intersection(_unpatterned(question, question, 2)), question
    assert _unpatterned("Which hospital near Leeds is best for 〇?", "", 1) == (Want.PLACE,)


def test_words_of_descriptions_are_read_as_those_of_patients_are() -> None:
    (action, *_) = RulesPolicy()._wanted(state_of(Case("p"), "Boy of four, trouble climbing stairs", mentioned=()))
    assert action.parameters()["read"]


WORDINGS = (
    (
        "names",
        "Other names of {d}?",
        "what is {low} also called",
        "{z}有哪些别名？",
        "{i}对应的中文名",
        "{d}: synonyms",
    ),
    ("gene", "which gene is behind '{d}'?", "{z}是哪个基因出了问题", "Compare the genes of {d} and {e}"),
    ("inheritance", "how's {low} inherited", "{z}怎么遗传的？", "What's the inheritance pattern of {d}?"),
    ("onset", "when does {d} start?", "{z}一般几岁发病"),
    ("symptom", "what are the signs of {low}", "{z}都有啥表现", "Can {f} be a sign of {d}?", "{d}不会有{f}，对吧？"),
    ("code", "OMIM number of {d} please", "MeSH ID for {d}?", "{z}的OMIM号"),
    ("difference", "{d} vs {e}: what sets them apart clinically?", "{d}和{e}差别在哪"),
    ("description", "define {f} in one sentence", "What does {f} mean?", "{i} is what?", "{i}", "啥叫{c}？"),
    ("locus", "which chromosome is {d} on?", "{z}的染色体位置在哪"),
    (
        "disease",
        "Which disorders have {f} but not seizures?",
        "List syndromes with {f} and {o}",
        "有{c}但没有发热的病有哪些",
    ),
)
"""What is wanted, and how it may be asked of diseases (d, e, z) and findings (f, o, in Chinese c, b, by its id i)."""


def test_names_of_the_graph_are_found_in_every_wording_and_so_is_what_is_wanted(default_graph: Path) -> None:
    draw, wrong = random.Random(20291129), []
    with kgdx.open(default_graph) as graph:
        tables = {name: graph.snapshot.table(name).to_pylist() for name in ("disease", "phenotype")}
        diseases = [each for each in tables["disease"] if each["name"].endswith((" syndrome", " disease"))]
        diseases = [each for each in diseases if each["name"].replace(" ", "").isalpha() and each["name"][1].islower()]
        chinese = [each for each in tables["disease"] if (each["name_zh"] or "").endswith("综合征")]
        found = [each for each in tables["phenotype"] if "HP:0000118" in graph.ancestry.ancestors(each["id"])]
        found = [each for each in found if each["name"].isalpha() and each["name_zh"] and each["definition"]]
        findings = [each for each in found if not graph.names.resolve(each["name"]).ids]
        for want, *wordings in WORDINGS:
            for wording in 2 * wordings:
                (d, e), (f, o), z = draw.sample(diseases, 2), draw.sample(findings, 2), draw.choice(chinese)
                said = {"d": d["name"], "low": d["name"].lower(), "e": e["name"], "z": z["name_zh"], "i": f["id"]}
                said |= {"f": f["name"].lower(), "o": o["name"].lower(), "c": f["name_zh"], "b": o["name_zh"]}
                meant = {"d": d, "low": d, "e": e, "z": z, "i": f, "f": f, "o": o, "c": f, "b": o}
                answer = graph.ask(question := wording.format(**said), policy="rules")
                wants = [each.data["wants"] for each in answer.trace if "wants" in each.data]
                ids = {id for each in answer.pack.resolved for id in each.ids}
                if want not in wants[-1] or not {meant[key]["id"] for key in meant if f"{{{key}}}" in wording} <= ids:
                    wrong.append((question, wants[-1]))
    assert wrong == []
