"""Predicted links have probabilities and reasons, and are kept apart from the facts; a map keeps near what is near."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import kgdx
import made_embeddings
from kgdx.api import Graph
from kgdx.api.predicting import SIDE, embedding_map, laid_out
from kgdx.errors import AbsentError, KgdxError, StaleSnapshotError, StoreError, UsageError
from kgdx.rank.embeddings import CARD, NODES
from kgdx.rank.latents import unit
from kgdx.terms.encoder import nearest_names

FINDINGS = ["HP:0001250", "HP:0001252"]


@pytest.fixture(scope="module")
def store(tiny_graph: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_embeddings.copied(tiny_graph, tmp_path_factory.mktemp("predicting") / "graph")


@pytest.fixture
def graph(store: Path) -> Iterator[Graph]:
    with kgdx.open(store) as opened:
        yield opened


@pytest.fixture(scope="module")
def disease(store: Path) -> str:
    with kgdx.open(store) as graph:
        rows = graph.snapshot.column("has_phenotype", "disease")
        return str(graph.snapshot.table("disease").column("id")[int(np.bincount(rows).argmax())].as_py())


def test_rows_are_probable_new_and_explained(graph: Graph, disease: str) -> None:
    found = graph.predict(disease, "has_phenotype", top=5)
    known = {row["id"] for row in graph.run("phenotypes_of_diseases", diseases=[disease])}
    assert found.rows and not {row.node.id for row in found.rows} & known
    shares = [row.probability for row in found.rows]
    assert all(0 < share < 1 for share in shares) and shares == sorted(shares, reverse=True)
    assert all({each.id for each in row.similar} <= known for row in found.rows)
    assert {row.node.kind for row in found.rows} == {"Phenotype"} and found.relation == "HAS_PHENOTYPE"


def test_known_links_are_marked_where_they_are_asked_for(graph: Graph, disease: str) -> None:
    found = graph.predict(disease, "HAS_PHENOTYPE", top=1000, known=True)
    known = [row for row in found.rows if row.known]
    assert len(known) == found.known and len(found.rows) == found.candidates
    assert np.mean([row.score for row in known]) > np.mean([row.score for row in found.rows if not row.known])


def test_a_phenotype_is_asked_for_its_diseases_by_its_name(graph: Graph) -> None:
    found = graph.predict("phenotype:Seizure", "has_phenotype", top=3, known=True)
    assert found.node.id == "HP:0001250" and {row.node.kind for row in found.rows} == {"Disease"}


def test_more_rows_than_there_are_nodes_are_all_of_them(graph: Graph, disease: str) -> None:
    found = graph.predict(disease, "has_phenotype", top=1000)
    assert len(found.rows) == found.candidates - found.known


def test_nearest_nodes_say_what_both_have(graph: Graph, disease: str) -> None:
    found = graph.nearest(disease, top=3)
    own = {row["id"] for row in graph.run("phenotypes_of_diseases", diseases=[disease])}
    assert len(found.rows) == 3 and all(-1 <= (node.cosine or 0) <= 1 for node, _, _ in found.rows)
    assert all({each.id for each in both} <= own and n >= len(both) for _, both, n in found.rows)
    assert json.loads(json.dumps(found.to_dict()))["schema"] == "kgdx.neighbours/1"


def test_kept_predictions_are_no_facts(store: Path, disease: str) -> None:
    with kgdx.open(store) as graph:
        before = graph.diagnose(FINDINGS, explain=3)
        facts = graph.run("relations_of_disease", disease=disease), graph.snapshot.content, graph.fingerprint
        found = graph.predict(disease, "has_phenotype", top=4)
        for _ in range(2):  # twice is as good as once
            assert graph.keep_predictions(found) == 4
        rows = graph.run("predictions", limit=10)
        assert {row["other"]: row["score"] for row in rows} == {row.node.id: row.score for row in found.rows}
        assert {(row["model"], row["relation"], row["embeddings"]) for row in rows} == {
            ("vgae", "HAS_PHENOTYPE", found.embeddings)
        }
        assert (
            graph.run("relations_of_disease", disease=disease),
            graph.snapshot.content,
            graph.fingerprint,
        ) == facts
        after = graph.diagnose(FINDINGS, explain=3)
        assert [(each.id, each.score) for each in after.candidates] == [(c.id, c.score) for c in before.candidates]
        assert after.evidence == before.evidence
        assert graph.predict(disease, "has_phenotype", top=4) == found
    with kgdx.open(store, on_store=True) as graph:
        again = graph.diagnose(FINDINGS, explain=3)
        assert [(each.id, each.score) for each in again.candidates] == [(c.id, c.score) for c in before.candidates]
        assert again.evidence == before.evidence
        assert graph.drop_predictions("another") == 0
        assert graph.drop_predictions("vgae") == 4
        assert graph.run("predictions", limit=10) == []


def test_links_of_a_phenotype_are_kept_from_their_diseases(store: Path) -> None:
    with kgdx.open(store) as graph:
        found = graph.predict("HP:0001250", "has_phenotype", top=2)
        assert graph.keep_predictions(found) == 2
        rows = graph.run("predictions", limit=10)
        assert {row["other"] for row in rows} == {"HP:0001250"}
        assert {row["disease"] for row in rows} == {row.node.id for row in found.rows}
        assert graph.drop_predictions() == 2


def test_predictions_do_not_outlive_their_graph(store: Path, tiny: Path, tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    shutil.copytree(store, folder)
    with kgdx.open(folder) as graph:
        disease = graph.predict("HP:0001250", "has_phenotype", top=1).rows[0].node.id
        graph.keep_predictions(graph.predict(disease, "has_phenotype", top=2))
    changed = tmp_path / "phenotype.hpoa"
    lines = (tiny / "phenotype.hpoa").read_text("utf-8").splitlines()
    changed.write_text("\n".join(lines[:-1]) + "\n", "utf-8")
    kgdx.api.update({"hpoa": str(changed)}, store=folder)
    with kgdx.open(folder) as graph:
        assert graph.run("predictions", limit=5) == []
        assert "PREDICTED" not in graph.store.counts()
        with pytest.raises(StaleSnapshotError, match="stale.*kgdx learn embeddings"):
            graph.predict(disease, "has_phenotype")


@pytest.mark.parametrize(
    ("node", "relation", "error", "says"),
    [
        ("disease:no such thing", "has_phenotype", UsageError, "is no disease of the graph.*kgdx search"),
        ("", "has_phenotype", UsageError, "no node is named"),
        ("gene:FBN1", "has_phenotype", UsageError, "a gene has no such relation here"),
        ("HP:0001250", "has_wheels", UsageError, "no relation 'has_wheels' to predict: one of .*has_phenotype"),
        ("HP:0001250", "lacks_phenotype", UsageError, "no relation 'lacks_phenotype'"),
        ("HP:0001250", "has_symptom", AbsentError, "know no relation 'has_symptom'.*they have has_phenotype"),
        ("HP:0000001", "has_phenotype", AbsentError, "has none of the links that vgae was learned on"),
    ],
)
def test_what_cannot_be_predicted_is_one_line(
    graph: Graph, node: str, relation: str, error: type[KgdxError], says: str
) -> None:
    with pytest.raises(error, match=says) as caught:
        graph.predict(node, relation)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("top", [0, 1001, "3", 2.5, None])
def test_impossible_numbers_of_rows_are_refused(graph: Graph, top: Any) -> None:
    with pytest.raises(UsageError, match=f"top is {top}"):
        graph.predict("HP:0001250", "has_phenotype", top=top)
    with pytest.raises(UsageError, match=f"top is {top}"):
        graph.nearest("HP:0001250", top=top)


def test_embeddings_that_are_not_there_say_how_to_make_them(tiny_graph: Path, graph: Graph) -> None:
    with kgdx.open(tiny_graph) as bare, pytest.raises(AbsentError, match="train them with `kgdx learn embeddings`"):
        bare.predict("HP:0001250", "has_phenotype")
    with pytest.raises(AbsentError, match="no embeddings in .*other"):
        graph.nearest("HP:0001250", embeddings="other")
    with pytest.raises(UsageError, match="no embeddings are called"):
        graph.nearest("HP:0001250", embeddings="../vgae")


def test_of_several_embeddings_one_has_to_be_named(store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    shutil.copytree(store, folder)
    (folder / "embeddings" / "vgae").rename(folder / "embeddings" / "one")
    with kgdx.open(folder) as graph:
        assert graph.nearest("HP:0001250").model == "one"
        shutil.copytree(folder / "embeddings" / "one", folder / "embeddings" / "two")
        with pytest.raises(UsageError, match="choose: --embeddings one or two"):
            graph.nearest("HP:0001250")


def test_numbers_that_are_none_are_refused(store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    shutil.copytree(store, folder)
    file = folder / "embeddings" / "vgae" / NODES
    arrays = load_file(file)
    arrays["disease.latent"][0, 0] = np.nan
    save_file(arrays, file)
    with kgdx.open(folder) as graph, pytest.raises(StoreError, match="damaged.*kgdx learn embeddings"):
        graph.predict("HP:0001250", "has_phenotype")


def test_another_training_has_another_digest(store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    shutil.copytree(store, folder)
    card = folder / "embeddings" / "vgae" / CARD
    with kgdx.open(folder) as graph:
        before = graph.nearest("HP:0001250").embeddings
        card.write_text(json.dumps(json.loads(card.read_text()) | {"seconds": 1.0}))
        assert graph.nearest("HP:0001250").embeddings != before


class OneHot:
    """Each phrase is the vector of a phenotype."""

    name = "none"

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.eye(len(texts), made_embeddings.WIDTH, dtype=np.float32)


@pytest.mark.parametrize("by", ["links", "source"])
def test_every_node_has_a_place_a_group_and_neighbours(store: Path, by: str) -> None:
    with kgdx.open(store) as graph:
        found = embedding_map(graph, by=by)
        again = embedding_map(graph, by=by)
    size = len(found["names"])
    assert size == len(found["ids"]) == len(found["place"]) == len(found["group"]) == len(found["near"])
    assert all(0 <= at <= SIDE for place in found["place"] for at in place)
    assert set(found["group"]) <= set(range(len(found["groups"]))) and all(found["groups"])
    assert all(at not in near for at, near in enumerate(found["near"]))
    assert found == again, "nothing is left to chance"


def test_clusters_stay_apart() -> None:
    draws = np.random.default_rng(0)
    of = np.repeat(np.arange(4), 50)
    vectors = unit(np.eye(4, 16)[of] + 0.1 * draws.standard_normal((200, 16)))
    place = laid_out(vectors, nearest_names(vectors, vectors, 11)[0][:, 1:])
    centres = np.stack([place[of == group].mean(axis=0) for group in range(4)])
    closest = np.linalg.norm(place[:, None] - centres[None], axis=2).argmin(axis=1)
    assert (closest == of).mean() > 0.95


@pytest.mark.parametrize("size", [1, 2, 3])
def test_few_nodes_are_laid_out_too(size: int) -> None:
    vectors = unit(np.random.default_rng(0).standard_normal((size, 8)))
    near = np.array([[other for other in range(size) if other != at] for at in range(size)], np.int64)
    assert laid_out(vectors, near.reshape(size, size - 1)).shape == (size, 2)


def test_what_cannot_be_drawn_is_said(store: Path) -> None:
    with kgdx.open(store) as graph:
        with pytest.raises(AbsentError, match="no nodes of the kind 'symptom'"):
            embedding_map(graph, phrases=["fits"], encoder=OneHot())
        with pytest.raises(UsageError, match="no kind of node 'planet'"):
            embedding_map(graph, kind="planet")
        with pytest.raises(UsageError, match="no groups by 'colour'"):
            embedding_map(graph, by="colour")
        with pytest.raises(AbsentError, match="no embeddings in"):
            embedding_map(graph, embeddings="other")
