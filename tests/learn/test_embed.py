from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import ROOT, require_module
from kgdx.errors import StoreError, StoreLockedError, UsageError
from kgdx.graph.snapshot import Snapshot
from kgdx.learn.hetero_graph import GraphChoice
from kgdx.rank.embeddings import CARD, Embeddings, Insertion
from worded_graph import Letters, Make

require_module("torch_geometric", "learn")

from kgdx_train.embed import learn_embeddings  # noqa: E402
from kgdx_train.graph_encoders import GRAPH_ENCODERS  # noqa: E402
from kgdx_train.link_training import Training  # noqa: E402

SMALL = Training(epochs=40, hidden=16, latent=8, held_out=0.2, device="cpu")


def same(one: Embeddings, other: Embeddings) -> bool:
    return all(
        np.array_equal(mine[name], theirs[name])
        for mine, theirs in ((one.arrays, other.arrays), (one.weights, other.weights))
        for name in mine
    )


@pytest.mark.parametrize("encoder", ["vgae", "rgcn"])
def test_links_are_told_from_other_pairs(snapshot: Snapshot, letters: Letters, tmp_path: Path, encoder: str) -> None:
    how = Training(encoder=encoder, epochs=100, hidden=16, latent=8, held_out=0.2)
    made = learn_embeddings(snapshot, tmp_path, "x", letters, how=how)
    figures = made.card["figures"]["has_symptom"]
    assert figures["auc"] > 0.8 and figures["auc"] > figures["degree"]["auc"]
    assert made.nodes("disease").shape == (20, 8) and made.inputs("symptom").shape == (12, letters.width)
    links, others = made.held_out("has_symptom")
    assert len(links) == 8 and links.mean() > others.mean()


def test_every_encoder_is_tested() -> None:
    assert set(GRAPH_ENCODERS.builtin) == {"vgae", "rgcn"}


def test_a_seed_gives_the_same_embeddings_and_another_one_others(
    snapshot: Snapshot, letters: Letters, tmp_path: Path
) -> None:
    one, other = (learn_embeddings(snapshot, tmp_path, name, letters, how=SMALL) for name in ("one", "other"))
    assert same(one, other)
    seeded = Training(epochs=40, hidden=16, latent=8, held_out=0.2, seed=1)
    assert not same(one, learn_embeddings(snapshot, tmp_path, "seeded", letters, how=seeded))


@pytest.mark.parametrize("encoder", ["vgae", "rgcn"])
def test_a_training_that_was_stopped_goes_on_to_the_same_end(
    snapshot: Snapshot, letters: Letters, tmp_path: Path, encoder: str
) -> None:
    how = Training(encoder=encoder, epochs=40, hidden=16, latent=8, held_out=0.2)
    whole = learn_embeddings(snapshot, tmp_path, "whole", letters, how=how)
    seen: list[int] = []

    def stop(epoch: int, most: int, loss: float, auc: float | None) -> None:
        seen.append(epoch)
        if seen == [10, 20]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn_embeddings(snapshot, tmp_path, "parts", letters, how=how, progress=stop)
    assert not (tmp_path / "embeddings" / "parts").exists()
    parts = learn_embeddings(snapshot, tmp_path, "parts", letters, how=how, progress=stop)
    assert seen == [10, 20, 30, 40]
    assert same(whole, parts)
    assert not list((tmp_path / "embeddings").glob(".*training"))


def test_other_settings_do_not_go_on_from_a_stopped_training(
    snapshot: Snapshot, letters: Letters, tmp_path: Path
) -> None:
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn_embeddings(snapshot, tmp_path, "x", letters, how=SMALL, progress=stop)
    seen: list[int] = []
    other = Training(epochs=40, hidden=16, latent=8, held_out=0.2, rate=0.02)
    learn_embeddings(snapshot, tmp_path, "x", letters, how=other, progress=lambda epoch, *_: seen.append(epoch))
    assert seen[0] == 10


@pytest.mark.heavy
def test_a_training_that_was_killed_leaves_nothing_half_written(
    snapshot: Snapshot, letters: Letters, tmp_path: Path
) -> None:
    code = f"""
import os, signal
from pathlib import Path
from kgdx.graph.snapshot import Snapshot
from kgdx_train.embed import learn_embeddings
from kgdx_train.link_training import Training
from worded_graph import Letters
def tell(epoch, *_):
    if epoch == 20:
        os.kill(os.getpid(), signal.SIGKILL)
how = Training(epochs=40, hidden=16, latent=8, held_out=0.2, device="cpu")
snapshot = Snapshot.open({str(snapshot.path)!r})
learn_embeddings(snapshot, Path({str(tmp_path)!r}), "x", Letters(), how=how, progress=tell)
"""
    paths = os.pathsep.join(map(str, (ROOT / "tests", *sys.path)))
    environment = {**os.environ, "PYTHONPATH": paths}
    ended = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert not (tmp_path / "embeddings" / "x").exists()
    seen: list[int] = []
    made = learn_embeddings(snapshot, tmp_path, "x", letters, how=SMALL, progress=lambda epoch, *_: seen.append(epoch))
    assert seen == [30, 40]
    assert same(made, learn_embeddings(snapshot, tmp_path, "whole", letters, how=SMALL))


def test_what_a_killed_training_left_goes_with_the_next_one(
    snapshot: Snapshot, letters: Letters, tmp_path: Path
) -> None:
    left, other = (tmp_path / "embeddings" / name for name in (".x.abc", ".y.abc"))
    for folder in (left, other):
        folder.mkdir(parents=True)
    learn_embeddings(snapshot, tmp_path, "x", letters, how=SMALL)
    assert not left.exists() and other.exists()


def test_two_cannot_train_one_name_at_once(snapshot: Snapshot, letters: Letters, tmp_path: Path) -> None:
    def again(*_: Any) -> None:
        learn_embeddings(snapshot, tmp_path, "x", letters, how=SMALL)

    with pytest.raises(StoreLockedError, match="another process is training the embeddings x"):
        learn_embeddings(snapshot, tmp_path, "x", letters, how=SMALL, progress=again)


@pytest.mark.parametrize("part", ["state.safetensors", "nodes.safetensors"])
def test_a_full_disk_leaves_what_was_there(
    snapshot: Snapshot, letters: Letters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    before = learn_embeddings(snapshot, tmp_path, "x", letters, how=SMALL)
    replace = os.replace

    def full(source: Any, target: Any) -> None:
        if Path(target).name == part:
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    other = Training(epochs=40, hidden=16, latent=8, seed=3, device="cpu")
    with pytest.raises(StoreError, match=r"the disk is full at .*: free some space"):
        learn_embeddings(snapshot, tmp_path, "x", letters, how=other)
    assert same(before, Embeddings.open(tmp_path / "embeddings" / "x", snapshot))
    assert not list((tmp_path / "embeddings").glob(".x.*/new"))


def test_a_loss_that_is_no_number_is_said(snapshot: Snapshot, letters: Letters, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the loss is no number after epoch"):
        learn_embeddings(snapshot, tmp_path, "x", letters, how=Training(rate=1e30, held_out=0))
    assert not (tmp_path / "embeddings" / "x").exists()


@pytest.mark.parametrize(
    "wrong",
    [{"held_out": 0.9}, {"epochs": 0}, {"rate": 0.0}, {"rate": float("inf")}, {"patience": -1}, {"seed": 2**63}],
)
def test_settings_outside_their_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="give a number"):
        Training(**wrong)


def test_names_networks_and_devices_that_are_not_there_are_said(
    snapshot: Snapshot, letters: Letters, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="embeddings cannot be called"):
        learn_embeddings(snapshot, tmp_path, "../x", letters)
    with pytest.raises(UsageError, match="no graph encoder 'bert': one of"):
        learn_embeddings(snapshot, tmp_path, "x", letters, how=Training(encoder="bert"))
    with pytest.raises(UsageError, match="no device 'abacus' to train on: use auto"):
        learn_embeddings(snapshot, tmp_path, "x", letters, how=Training(device="abacus"))


def test_an_encoder_that_does_not_read_chinese_is_refused_for_it(
    snapshot: Snapshot, letters: Letters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Letters, "name", "minilm-l6-v2-int8")
    with pytest.raises(UsageError, match="does not read Chinese names"):
        learn_embeddings(snapshot, tmp_path, "x", letters, GraphChoice(languages=("en", "zh")))


def test_one_disease_and_isolated_nodes_can_be_trained(make: Make, letters: Letters, tmp_path: Path) -> None:
    snapshot = make([("X:a", name) for name in ("cough", "itch", "rash")])
    made = learn_embeddings(snapshot, tmp_path, "x", letters, how=SMALL)
    assert made.nodes("disease").shape == (1, 8) and not made.card["figures"]
    assert made.card["statistics"]["isolated"] == {"disease": 0, "symptom": 0}


def test_a_sample_of_the_links_of_each_epoch_trains_too(snapshot: Snapshot, letters: Letters, tmp_path: Path) -> None:
    how = Training(epochs=100, hidden=16, latent=8, held_out=0.2, batch=20)
    assert learn_embeddings(snapshot, tmp_path, "x", letters, how=how).card["figures"]["has_symptom"]["auc"] > 0.7


def test_a_card_says_how_they_were_made_and_holds_no_path(snapshot: Snapshot, letters: Letters, tmp_path: Path) -> None:
    learn_embeddings(snapshot, tmp_path, "x", letters, GraphChoice(gamma=0.3), SMALL)
    text = (tmp_path / "embeddings" / "x" / CARD).read_text()
    card = json.loads(text)
    assert card["choice"]["gamma"] == 0.3 and card["training"]["seed"] == 0 and card["versions"]["torch"]
    assert card["graph"] == snapshot.content and str(tmp_path) not in text


def test_an_inserted_patient_is_what_the_network_makes_of_a_new_node(
    snapshot: Snapshot, make: Make, letters: Letters, tmp_path: Path
) -> None:
    import torch

    from kgdx.learn.hetero_graph import HeteroGraph, hetero_graph
    from kgdx_train.graph_encoders import LayerSizes, Vgae

    made = learn_embeddings(snapshot, tmp_path, "x", letters, how=SMALL)
    graph = hetero_graph(snapshot, letters)
    symptoms, own = np.array([0, 3, 7]), letters.encode(["patient"])[0]
    count = len(graph.rows["disease"])
    links = np.concatenate([graph.edges["has_symptom"], np.stack([np.full(3, count), symptoms])], axis=1)
    grown = HeteroGraph(
        {**graph.rows, "disease": np.arange(count + 1)},
        graph.texts,
        {**graph.inputs, "disease": np.vstack([graph.inputs["disease"], own])},
        {**graph.edges, "has_symptom": links},
    )
    network = Vgae(grown, LayerSizes(16, 8), 0, "cpu")
    for name, parameter in network.parameters.items():
        parameter.data = torch.from_numpy(made.weights[name])
    wanted = network.encode(network.along(grown.edges))[0].detach().numpy()[count]
    assert np.allclose(Insertion(made).node(symptoms, own), wanted, atol=1e-5)


def test_a_patient_is_the_mean_of_the_nearest_symptoms_or_a_node(
    snapshot: Snapshot, letters: Letters, tmp_path: Path
) -> None:
    made = learn_embeddings(snapshot, tmp_path, "x", letters, how=SMALL)
    phrases = letters.encode(["cough", "wheeze"])
    near = made.nearest(phrases)
    assert np.allclose(made.patient(phrases), made.nodes("symptom")[near].mean(axis=0))
    assert made.patient(phrases, least=1.1) is None and Insertion(made).patient(phrases, least=1.1) is None
    inserted = Insertion(made).patient(phrases)
    assert inserted is not None and inserted.shape == (8,)


def test_a_patient_cannot_be_inserted_into_another_network(
    snapshot: Snapshot, letters: Letters, tmp_path: Path
) -> None:
    how = Training(encoder="rgcn", epochs=10, hidden=16, latent=8)
    with pytest.raises(UsageError, match="cannot be inserted"):
        Insertion(learn_embeddings(snapshot, tmp_path, "x", letters, how=how))
