"""What ranking by meaning claims, with an encoder of which every vector can be worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import small_graph
from kgdx.case.patient import Case, Finding
from kgdx.graph.snapshot import Snapshot
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.rank import Ranker, meanings
from kgdx.rank.meanings import FAR, NEAR, NameMeaning
from kgdx.rank.phrases import MappedTexts
from kgdx.rank.query import Query
from small_graph import SEIZURE, Topics

WEIGHTS = {"likelihood": 1.0, "words": 1.0, "meaning": 1.0, "names": 1.0}
GOUT, FLU, RARE = "KGDX:gout", "KGDX:flu", "OMIM:1"


pytestmark = pytest.mark.usefixtures("topics")


@pytest.fixture(scope="module")
def worded(topics: None, tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return compile_snapshot(small_graph.worded(), tmp_path_factory.mktemp("meanings") / "snapshot", "f2")


@pytest.fixture(scope="module")
def near(worded: Snapshot) -> Ranker:
    return Ranker.open(worded, WEIGHTS)


def part(ranker: Ranker, scorer: str, *phrases: str) -> dict[str, float]:
    query = replace(ranker.query(Case("p", (Finding(SEIZURE),)))[0], phrases=phrases)
    return dict(zip(ranker.ids, ranker.scorers[scorer].score(query).tolist(), strict=True))


def nearest(found: dict[str, float]) -> str:
    return max(found, key=found.__getitem__)


def test_a_phrase_that_shares_no_word_finds_the_disease_that_means_the_same(near: Ranker) -> None:
    assert nearest(part(near, "meaning", "podagra")) == GOUT
    assert nearest(part(near, "meaning", "myalgia")) == FLU
    best = near.rank(Case("p", phrases=("big podagra",)), explain=True).candidates[0]
    assert best.id == GOUT and best.parts["meaning"] > 0
    told = next(each for each in best.contributions if "meaning" in each.parts and each.text == "big podagra")
    assert "toe" in told.words and told.score > 0


def test_meaning_is_the_mean_of_the_best_cosines_standardised(near: Ranker) -> None:
    alone = [part(near, "meaning", phrase) for phrase in ("podagra", "sternutation")]
    both = part(near, "meaning", "podagra", "sternutation")
    assert both == pytest.approx({id: (alone[0][id] + alone[1][id]) / 2 for id in both}, abs=1e-5)
    scorer = near.scorers["meaning"]
    compared = np.array([1.0, 0.0, 0.0, 0.0], np.float32)
    scaled = scorer.scaled(compared)  # type: ignore[attr-defined]
    assert (float(scaled.mean()), float(scaled.std())) == pytest.approx((0, 1), abs=1e-5)


@pytest.mark.parametrize(("cosine", "share"), [(FAR, 0.0), ((FAR + NEAR) / 2, 0.5), (NEAR, 1.0), (1.0, 1.0)])
def test_a_phrase_that_is_near_to_no_symptom_hardly_counts(near: Ranker, cosine: float, share: float) -> None:
    scaled = near.scorers["meaning"].scaled(np.array([cosine, 0.0], np.float32))  # type: ignore[attr-defined]
    assert scaled == pytest.approx([share, -share], abs=1e-5)


def test_names_count_the_nearest_of_all_phrases(near: Ranker) -> None:
    found = part(near, "names", "sternutation", "podagra")
    assert found[GOUT] == pytest.approx(1, abs=1e-6)
    assert found == pytest.approx(
        {id: max(part(near, "names", "sternutation")[id], part(near, "names", "podagra")[id]) for id in found}
    )


@pytest.mark.parametrize("scorer", ["meaning", "names"])
def test_meaning_says_nothing_of_diseases_without_words_and_of_chinese(near: Ranker, scorer: str) -> None:
    assert part(near, scorer, "podagra")[RARE] == 0
    assert set(part(near, scorer, "足趾红肿").values()) == {0.0}


def test_without_the_encoder_words_rank_alone(worded: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meanings, "_installed", lambda: False)
    deaf = Ranker.open(worded, WEIGHTS)
    assert not {"meaning", "names"} & set(deaf.scorers)
    best = deaf.rank(Case("p", phrases=("big red toe",)), explain=True).candidates[0]
    assert best.id == GOUT and not best.parts.get("meaning")


def test_a_patient_without_words_hears_nothing_of_how_words_are_compared(
    worded: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meanings, "_installed", lambda: False)
    deaf, why = Ranker.open(worded, WEIGHTS), "symptoms in words are compared word by word, not by meaning"
    in_words, in_terms = Case("p", phrases=("big red toe",)), Case("p", (Finding(SEIZURE),))
    assert why in [issue.message for issue in deaf.rank(in_words).issues]
    assert why not in [issue.message for issue in deaf.rank(in_terms).issues]


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


def test_another_encoder_has_vectors_of_its_own(worded: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(Topics):
        name = "other"

    meanings.vectors_of.cache_clear()
    monkeypatch.setattr(meanings, "chosen", lambda: "onnx:elsewhere")
    monkeypatch.setattr(meanings, "usual", Other)
    assert {"meaning", "names"} <= set(Ranker.open(worded, WEIGHTS).scorers)
    assert list((worded.path / "derived").glob("scorer-meaning-*-other.*"))
    meanings.vectors_of.cache_clear()
