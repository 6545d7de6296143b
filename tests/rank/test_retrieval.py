"""What the retrieval methods claim: names and weights, what each reads, and what it says where it can read nothing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import small_graph
from kgdx.case.patient import Case, Finding
from kgdx.errors import AbsentError, CaseError, StaleSnapshotError, UsageError
from kgdx.graph.snapshot import Snapshot
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.rank import Ranker, meanings
from kgdx.rank.fusion import Weights
from kgdx.rank.latents import folder_of
from kgdx.rank.retrieval import FUSED, METHODS, Retrieval
from kgdx.terms.encoder import MiniLM
from small_graph import SEIZURE, Topics

GOUT, FLU = "KGDX:gout", "KGDX:flu"
LEARNED = {"vgae-mean", "vgae-best", "in-words-learned", "by-hand"}
SPOKEN = Case("p", phrases=("podagra",))


pytestmark = pytest.mark.usefixtures("topics")


@pytest.fixture(scope="module")
def worded(topics: None, tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return compile_snapshot(small_graph.worded(), tmp_path_factory.mktemp("retrieval") / "graph" / "1", "f2")


@pytest.fixture(scope="module")
def ranker(worded: Snapshot) -> Ranker:
    return Ranker.open(worded)


def embed(snapshot: Snapshot, **card: object) -> Path:
    """Write embeddings whose latents are the topics of the symptoms, in English."""
    names = snapshot.table("symptom").column("name").to_pylist()
    languages = snapshot.table("symptom").column("language").to_pylist()
    rows = [row for row, language in enumerate(languages) if language == "en"]
    vectors = Topics().encode([names[row] for row in rows])
    folder = folder_of(snapshot)
    folder.mkdir(parents=True, exist_ok=True)
    told = {
        "schema": "kgdx.embeddings/1",
        "name": "vgae",
        "training": {"encoder": "vgae"},
        "graph": snapshot.content,
        "sentence_encoder": MiniLM.name,
        "nodes": {"symptom": len(rows)},
        "links": {},
        "width": vectors.shape[1],
        "input_width": vectors.shape[1],
    }
    (folder / "card.json").write_text(json.dumps(told | card))
    arrays = {"symptom.row": np.array(rows, np.int32), "symptom.latent": vectors, "symptom.input": vectors}
    save_file(arrays, folder / "nodes.safetensors")
    save_file({"none": np.zeros(1, np.float32)}, folder / "weights.safetensors")
    return folder


def best(method: Retrieval, case: Case) -> str:
    return method.ranker.ids[int(method.scores(method.query(case)).argmax())]


@pytest.mark.parametrize("name", sorted({*METHODS.builtin} - LEARNED - {"mentions", "bm25", FUSED}))
def test_each_method_finds_what_the_words_mean(name: str, worded: Snapshot, ranker: Ranker) -> None:
    method = METHODS.get(name).open(worded, ranker.model)
    scores = method.scores(method.query(SPOKEN))
    assert scores.shape == (len(ranker.ids),) and np.isfinite(scores).all()
    assert best(method, SPOKEN) == GOUT


def test_by_word_only_the_same_words_count(worded: Snapshot) -> None:
    method = METHODS.get("bm25").open(worded)
    assert best(method, Case("p", phrases=("big red toe",))) == GOUT
    with pytest.raises(CaseError, match="no disease of the graph is described in these words"):
        method.query(SPOKEN)


def test_mentions_say_the_same_of_every_patient(worded: Snapshot, ranker: Ranker) -> None:
    method = METHODS.get("mentions").open(worded, ranker.model)
    query, other = (method.query(Case("p", phrases=(said,))) for said in ("big red toe", "xylophone"))
    assert method.scores(query).tolist() == method.scores(other).tolist()
    assert method.scores(query).argmax() == ranker.number_of(FLU)  # two texts name influenza


def test_the_products_own_ranking_is_a_method(worded: Snapshot, ranker: Ranker) -> None:
    method = METHODS.get(FUSED).open(worded, ranker.model)
    assert method.scores(method.query(SPOKEN)).tolist() == ranker.score(SPOKEN).total.tolist()


def test_a_method_takes_weights_of_the_callers_own(worded: Snapshot) -> None:
    given = METHODS.get("in-words").open(worded, weights={"words": 1.0})
    assert list(given.ranker.scorers) == ["words"]
    assert not given.ranker.weights.own_words
    with pytest.raises(UsageError, match="no-method-like-this has no weights: weighed are bm25, by-hand"):
        Weights.read().of_method("no-method-like-this")


def test_a_method_that_reads_words_refuses_findings_alone(worded: Snapshot, ranker: Ranker) -> None:
    method = METHODS.get("in-words").open(worded, ranker.model)
    with pytest.raises(CaseError, match="read words, and the case gives terms: describe the findings in words"):
        method.query(Case("p", (Finding(SEIZURE),)))


def test_the_patients_own_words_count_beside_phrases_where_a_method_says_so(worded: Snapshot) -> None:
    case = Case("p", text="My muscles ache. No sneezing.", phrases=("podagra",))
    phrases = [METHODS.get(name).open(worded).query(case).phrases for name in ("in-words", FUSED)]
    assert phrases == [("podagra", "muscles ache"), ("podagra",)]


def test_a_walk_goes_on_from_findings_and_words(worded: Snapshot, ranker: Ranker) -> None:
    method = METHODS.get("walk").open(worded, ranker.model)
    seizing = method.scores(method.query(Case("p", (Finding(SEIZURE),))))
    assert ranker.ids[int(seizing.argmax())].startswith("OMIM:")
    assert seizing[ranker.number_of(GOUT)] < seizing.max()


def test_the_gist_names_the_words_of_the_disease_and_adds_up(worded: Snapshot, ranker: Ranker) -> None:
    method = METHODS.get("in-words").open(worded, ranker.model)
    case = Case("p", phrases=("podagra", "red joints"))
    for candidate in method.ranker.rank(case, top=6, explain=True).candidates:
        assert sum(part.score for part in candidate.contributions) == pytest.approx(candidate.score, abs=1e-4)
    gout = next(each for each in method.ranker.rank(case, top=6, explain=True).candidates if each.id == GOUT)
    told = {part.text: part.words for part in gout.contributions if "gist" in part.parts and part.rule == "phrase"}
    assert set(told) == {"podagra, red joints"} and "toe" in told["podagra, red joints"]


def test_a_graph_without_words_and_an_encoder_that_is_missing_are_said_in_one_line(
    snapshot: Snapshot, worded: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="this way to retrieve finds nothing in the graph that it reads"):
        METHODS.get("in-words").open(snapshot)
    monkeypatch.setattr(meanings, "_installed", lambda: False)
    with pytest.raises(UsageError, match="install the extra `encoder`"):
        METHODS.get("gist").open(worded)
    assert METHODS.get("bm25").open(worded).ranker.scorers


@pytest.mark.parametrize("name", sorted(LEARNED))
def test_learned_vectors_are_read_where_they_were_trained(name: str, worded: Snapshot, ranker: Ranker) -> None:
    embed(worded)
    method = METHODS.get(name).open(worded, ranker.model)
    assert best(method, SPOKEN) == GOUT
    scores = method.scores(method.query(SPOKEN))
    assert np.isfinite(scores).all()


@pytest.mark.parametrize(("name", "scorer"), [("vgae-mean", "vgae_mean"), ("vgae-best", "vgae_best")])
def test_a_learned_scorer_hears_words_on_its_own(name: str, scorer: str, worded: Snapshot, ranker: Ranker) -> None:
    embed(worded)
    method = METHODS.get(name).open(worded, ranker.model)
    assert list(method.ranker.scorers) == [scorer]
    query = method.query(SPOKEN)
    assert method.ranker.scorers[scorer].knows(query)
    assert np.ptp(method.scores(query)) > 0


def test_learned_vectors_that_are_absent_or_stale_say_how_to_train(worded: Snapshot, ranker: Ranker) -> None:
    method = METHODS.get("vgae-mean")
    for file in embed(worded, graph="another").iterdir():
        assert file.is_file()
    with pytest.raises(StaleSnapshotError, match="stale: they are of another graph: train again with"):
        method.open(worded, ranker.model)
    embed(worded, sentence_encoder="another")
    with pytest.raises(StaleSnapshotError, match="stale: their vectors are of the encoder another"):
        method.open(worded, ranker.model)
    for file in folder_of(worded).iterdir():
        file.unlink()
    with pytest.raises(AbsentError, match="no embeddings in .*: train them with `kgdx learn embeddings`"):
        method.open(worded, ranker.model)
