"""The map keeps near what is near, whatever the number of nodes, and names its groups."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import kgdx
import made_embeddings
from kgdx.api.predicting import SIDE, embedding_map, laid_out, neighbours_of, normalised
from kgdx.errors import AbsentError, UsageError


@pytest.fixture(scope="module")
def store(tiny_graph: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("map") / "graph"
    shutil.copytree(tiny_graph, folder)
    with kgdx.open(folder) as graph:
        made_embeddings.write(folder, graph.snapshot)
    return folder


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
    vectors = normalised(np.eye(4, 16)[of] + 0.1 * draws.standard_normal((200, 16)))
    near, _ = neighbours_of(vectors, vectors, 11)
    place = laid_out(vectors, near[:, 1:])
    centres = np.stack([place[of == group].mean(axis=0) for group in range(4)])
    closest = np.linalg.norm(place[:, None] - centres[None], axis=2).argmin(axis=1)
    assert (closest == of).mean() > 0.95


@pytest.mark.parametrize("size", [1, 2, 3])
def test_few_nodes_are_laid_out_too(size: int) -> None:
    vectors = normalised(np.random.default_rng(0).standard_normal((size, 8)))
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
