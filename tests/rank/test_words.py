"""What ranking by words and by meaning claims."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import small_graph
from kgdx.case.ddxplus_patients import MAPPED
from kgdx.case.patient import CORRECTED, Case, Finding, Status
from kgdx.errors import CaseError
from kgdx.graph.snapshot import Snapshot
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.rank import Ranker, meanings
from kgdx.rank.clauses import said, with_phrases
from kgdx.rank.commonness import OPEN, Commonness, mention_counts
from kgdx.rank.meanings import FAR, NEAR, NameMeaning
from kgdx.rank.phrases import MappedTexts
from kgdx.rank.query import Query
from kgdx.rank.wording import CandidateWords, units
from kgdx.results.ranked import Candidate
from small_graph import FEVER, SEIZURE, SHORT, Topics

BY_WORD = {"likelihood": 1.0, "coverage": 0.6, "words": 1.0, "articles": 1.0, "evidences": 3.0, "commonness": 0.1}


@pytest.fixture(scope="module")
def worded(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    folder: Path = tmp_path_factory.mktemp("worded")
    return compile_snapshot(small_graph.worded(), folder / "snapshot", "f2")


@pytest.fixture(scope="module")
def hearing(worded: Snapshot) -> Ranker:
    return Ranker.open(worded, BY_WORD)


def first(ranker: Ranker, case: Case) -> Candidate:
    return ranker.rank(case, explain=True).candidates[0]


def test_every_disease_that_words_describe_is_a_candidate_but_for_names_of_groups(hearing: Ranker) -> None:
    assert hearing.ids == ["KGDX:flu", "KGDX:gout", "OMIM:1", "OMIM:2", "OMIM:3", "UMLS:2"]
    assert hearing.number_of("KGDX:heart") == -1
    assert hearing.number_of("KGDX:night") == hearing.number_of("OMIM:3")


def test_words_alone_rank_in_english_and_chinese(hearing: Ranker) -> None:
    assert first(hearing, Case("p", phrases=("big red toe",))).id == "KGDX:gout"
    assert first(hearing, Case("p", text="Aching muscles, and chills at night.")).id == "KGDX:flu"
    assert first(hearing, Case("p", text="肌肉酸痛两天，没有足趾红肿")).id == "KGDX:flu"


def test_a_case_of_which_no_word_is_known_is_refused(hearing: Ranker) -> None:
    with pytest.raises(
        CaseError, match="no finding was recognised, and no disease of the graph is described in these words"
    ):
        hearing.rank(Case("p", text="xylophone"))


def test_a_graph_without_words_ranks_a_patients_words_by_findings_alone(ranker: Ranker) -> None:
    with pytest.raises(CaseError):
        ranker.rank(Case("p", phrases=("big red toe",)))
    findings = (Finding(SEIZURE),)
    spoken, silent = (ranker.score(Case("p", findings, phrases=said)) for said in (("big red toe",), ()))
    assert spoken.total.tolist() == silent.total.tolist()


def test_the_scores_of_annotated_diseases_do_not_depend_on_others_that_words_describe(
    ranker: Ranker, worded: Snapshot
) -> None:
    plain = {"likelihood": 1.0, "coverage": 0.6}
    both = Ranker.open(worded, plain), Ranker.open(worded, plain, model=ranker.model)
    case = Case("p", (Finding(SEIZURE), Finding(SHORT)))
    ids, values = both[0].score_all(case)
    assert both[0].model.curated.tolist() == [id.split(":")[0] != "KGDX" for id in ids]
    assert np.isfinite(values).all() and values[ids.index("KGDX:gout")] == pytest.approx(0, abs=1e-6)


def test_a_symptom_that_names_a_phenotype_lets_the_term_find_the_disease(hearing: Ranker) -> None:
    number = hearing.number_of("KGDX:flu")
    assert hearing.names.terms[FEVER] in hearing.model.columns.annotated.columns(number)
    parts = hearing.score(Case("p", (Finding(FEVER),))).parts(np.array([number, hearing.number_of("KGDX:gout")]))
    assert parts[0]["likelihood"] > 0 and parts[1]["likelihood"] == pytest.approx(0, abs=1e-6)


def test_contributions_show_which_words_met_and_add_up(hearing: Ranker) -> None:
    case = Case("p", (Finding(FEVER),), phrases=("big red toe", "aching muscles"))
    for candidate in hearing.rank(case, top=6, explain=True).candidates:
        assert sum(part.score for part in candidate.contributions) == pytest.approx(candidate.score, abs=1e-4)
        assert sum(candidate.parts.values()) == pytest.approx(candidate.score, abs=1e-4)
    gout = next(each for each in hearing.rank(case, top=6, explain=True).candidates if each.id == "KGDX:gout")
    met = {part.text: part.words for part in gout.contributions if "words" in part.parts}
    assert met["big red toe"] == "swollen red big toe"
    assert "toe" not in repr(gout).replace("swollen red big toe", "").replace("painful toe", "")


def test_commonness_is_its_own_part_and_counts_as_far_as_the_gate_is_open(hearing: Ranker) -> None:
    scorer = hearing.scorers["commonness"]
    assert isinstance(scorer, Commonness)
    prior = scorer.arrays["prior"]
    flu, gout, rare = (hearing.number_of(id) for id in ("KGDX:flu", "KGDX:gout", "OMIM:1"))
    assert prior[flu] > prior[gout] > prior[rare] == 0  # two texts name influenza, none gout
    query, _ = hearing.query(Case("p", (Finding(SEIZURE),)))
    assert scorer.score(query) == pytest.approx(OPEN * scorer.gate(query) * prior)
    everyday, _ = hearing.query(Case("p", (Finding(FEVER),)))
    assert scorer.gate(everyday) > scorer.gate(query)


def test_mentions_count_other_diseases_texts_once() -> None:
    texts = {0: ["Flu is flu."], 1: ["Not flu, and flu again."], 2: ["像流感一样的感冒"]}
    names = {0: ["flu", "Flus", "流感"], 1: ["croup"], 2: ["感冒"]}
    assert mention_counts({number: [*own, "influenza virus"] for number, own in names.items()}, texts, 3)[0] >= 1
    assert mention_counts(names, texts, 3)[2] == 0


def test_evidences_given_as_nodes_rank_by_the_diseases_lists(hearing: Ranker) -> None:
    case = Case("p", (Finding("DDXPLUS:E_1"),))
    ranking = hearing.rank(case, explain=True)
    best = ranking.candidates[0]
    assert best.id == "KGDX:gout" and best.parts["evidences"] > 0
    assert not [issue for issue in ranking.issues if issue.where == "DDXPLUS:E_1"]
    other = replace(case, findings=(Finding("DDXPLUS:E_1"), Finding(FEVER)))
    assert hearing.score(other).total.tolist() != hearing.score(case).total.tolist()


def test_what_a_graph_does_not_describe_is_said_first(ranker: Ranker, hearing: Ranker) -> None:
    issue = ranker.rank(Case("p", (Finding(SEIZURE),))).issues[0]
    assert "no common diseases" in issue.message and "kgdx build" in issue.remedy
    assert not hearing.rank(Case("p", (Finding(SEIZURE),))).issues
    few = hearing.rank(Case("p", (Finding(SEIZURE),), phrases=("big red toe",))).issues[0]
    assert "only 3 diseases in words" in few.message


def test_what_a_text_denies_or_says_of_relatives_is_no_phrase() -> None:
    text = "Burning when passing urine, but no fever. Her mother has asthma. She denies chest pain."
    assert said(Case("p", text=text)) == ("Burning when passing urine",)
    assert said(Case("p", text="咳嗽痰多，无发热，否认胸痛")) == ("咳嗽痰多",)
    assert said(Case("p", text="anything", phrases=("itchy skin", "itchy skin"))) == ("itchy skin",)


def test_chinese_is_counted_in_pairs_of_characters_and_english_in_words() -> None:
    assert units("咳嗽痰多") == ["咳嗽", "嗽痰", "痰多"]
    assert units("Swollen joints") == units("swollen joint")


def test_a_rarer_word_weighs_more_and_a_language_is_weighed_by_itself() -> None:
    index = CandidateWords.of([(0, ["fever", "toe"]), (1, ["fever", "cough"]), (1, ["发热"])], 2)
    weights = {word: np.zeros(2, np.float32) for word in ("fever", "toe", "发热", "absent")}
    for word, total in weights.items():
        index.add(word, total)
    assert weights["toe"][0] > weights["fever"][0] > 0 and weights["发热"][1] > 0
    assert not weights["absent"].any() and not index.has("absent")


def test_a_clause_whose_words_were_corrected_to_no_finding_says_nothing() -> None:
    text = "Big red toe. Fits since May."
    wrong = Finding(SEIZURE, Status.UNKNOWN, text="Fits", method=CORRECTED)
    assert with_phrases(Case("p", text=text)).phrases == ("Big red toe", "Fits since May")
    assert with_phrases(Case("p", (wrong,), text=text)).phrases == ("Big red toe",)


def test_a_term_that_an_evidence_implies_counts_by_the_evidence_alone(hearing: Ranker) -> None:
    sneezing, implied = Finding("DDXPLUS:E_2"), Finding(FEVER, method=MAPPED, text="DDXPLUS:E_2")

    def terms(*findings: Finding) -> list[str]:
        return [hearing.names.term(row) for row in hearing.query(Case("p", findings))[0].observed.tolist()]

    assert terms(sneezing, implied) == []
    assert terms(implied) == [FEVER], "where the evidence is not known to the graph, the term stands for it"
    assert terms(sneezing, implied, Finding(FEVER, text="fever")) == [FEVER], "it was said, too"


WEIGHTS = {"likelihood": 1.0, "words": 1.0, "meaning": 1.0, "names": 1.0}

GOUT, FLU, RARE = "KGDX:gout", "KGDX:flu", "OMIM:1"


@pytest.fixture(scope="module")
def meant(topics: None, tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return compile_snapshot(small_graph.worded(), tmp_path_factory.mktemp("meanings") / "snapshot", "f2")


@pytest.fixture(scope="module")
def near(meant: Snapshot) -> Ranker:
    return Ranker.open(meant, WEIGHTS)


def part(ranker: Ranker, scorer: str, *phrases: str) -> dict[str, float]:
    query = replace(ranker.query(Case("p", (Finding(SEIZURE),)))[0], phrases=phrases)
    return dict(zip(ranker.ids, ranker.scorers[scorer].score(query).tolist(), strict=True))


def nearest(found: dict[str, float]) -> str:
    return max(found, key=found.__getitem__)


@pytest.mark.usefixtures("topics")
def test_a_phrase_that_shares_no_word_finds_the_disease_that_means_the_same(near: Ranker) -> None:
    assert nearest(part(near, "meaning", "podagra")) == GOUT
    assert nearest(part(near, "meaning", "myalgia")) == FLU
    best = near.rank(Case("p", phrases=("big podagra",)), explain=True).candidates[0]
    assert best.id == GOUT and best.parts["meaning"] > 0
    told = next(each for each in best.contributions if "meaning" in each.parts and each.text == "big podagra")
    assert "toe" in told.words and told.score > 0


@pytest.mark.usefixtures("topics")
def test_meaning_is_the_mean_of_the_best_cosines_standardised(near: Ranker) -> None:
    alone = [part(near, "meaning", phrase) for phrase in ("podagra", "sternutation")]
    both = part(near, "meaning", "podagra", "sternutation")
    assert both == pytest.approx({id: (alone[0][id] + alone[1][id]) / 2 for id in both}, abs=1e-5)
    scorer = near.scorers["meaning"]
    compared = np.array([1.0, 0.0, 0.0, 0.0], np.float32)
    scaled = scorer.scaled(compared)  # type: ignore[attr-defined]
    assert (float(scaled.mean()), float(scaled.std())) == pytest.approx((0, 1), abs=1e-5)


@pytest.mark.usefixtures("topics")
@pytest.mark.parametrize(("cosine", "share"), [(FAR, 0.0), ((FAR + NEAR) / 2, 0.5), (NEAR, 1.0), (1.0, 1.0)])
def test_a_phrase_that_is_near_to_no_symptom_hardly_counts(near: Ranker, cosine: float, share: float) -> None:
    scaled = near.scorers["meaning"].scaled(np.array([cosine, 0.0], np.float32))  # type: ignore[attr-defined]
    assert scaled == pytest.approx([share, -share], abs=1e-5)


@pytest.mark.usefixtures("topics")
def test_names_count_the_nearest_of_all_phrases(near: Ranker) -> None:
    found = part(near, "names", "sternutation", "podagra")
    assert found[GOUT] == pytest.approx(1, abs=1e-6)
    assert found == pytest.approx(
        {id: max(part(near, "names", "sternutation")[id], part(near, "names", "podagra")[id]) for id in found}
    )


@pytest.mark.usefixtures("topics")
@pytest.mark.parametrize("scorer", ["meaning", "names"])
def test_meaning_says_nothing_of_diseases_without_words_and_of_chinese(near: Ranker, scorer: str) -> None:
    assert part(near, scorer, "podagra")[RARE] == 0
    assert set(part(near, scorer, "足趾红肿").values()) == {0.0}


@pytest.mark.usefixtures("topics")
def test_without_the_encoder_words_rank_alone(meant: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meanings, "_installed", lambda: False)
    deaf = Ranker.open(meant, WEIGHTS)
    assert not {"meaning", "names"} & set(deaf.scorers)
    best = deaf.rank(Case("p", phrases=("big red toe",)), explain=True).candidates[0]
    assert best.id == GOUT and not best.parts.get("meaning")


@pytest.mark.usefixtures("topics")
def test_a_patient_without_words_hears_nothing_of_how_words_are_compared(
    meant: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meanings, "_installed", lambda: False)
    deaf, why = Ranker.open(meant, WEIGHTS), "symptoms in words are compared word by word, not by meaning"
    in_words, in_terms = Case("p", phrases=("big red toe",)), Case("p", (Finding(SEIZURE),))
    assert why in [issue.message for issue in deaf.rank(in_words).issues]
    assert why not in [issue.message for issue in deaf.rank(in_terms).issues]


@pytest.mark.usefixtures("topics")
def test_letters_without_sense_are_no_words_of_a_patient(near: Ranker) -> None:
    nothing = np.zeros(0, np.int64)
    meaning, names = (near.scorers[name] for name in ("meaning", "names"))
    assert isinstance(names, NameMeaning)
    assert meaning.knows(Query(nothing, nothing, phrases=("podagra",)))
    assert not meaning.knows(Query(nothing, nothing, phrases=("zzzqx",)))
    gout = Query(nothing, nothing, phrases=("gout",))
    assert names.knows(gout)
    short = {**names.arrays, **MappedTexts.arrays(["VZV"] * len(names.texts))}
    assert not NameMeaning(near.model, short).knows(gout), "abbreviations are near to any letters"


@pytest.mark.usefixtures("topics")
def test_another_encoder_has_vectors_of_its_own(meant: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(Topics):
        name = "other"

    meanings.vectors_of.cache_clear()
    monkeypatch.setattr(meanings, "chosen", lambda: "onnx:elsewhere")
    monkeypatch.setattr(meanings, "usual", Other)
    assert {"meaning", "names"} <= set(Ranker.open(meant, WEIGHTS).scorers)
    assert list((meant.path / "derived").glob("scorer-meaning-*-other.*"))
    meanings.vectors_of.cache_clear()
