"""Pairs, DPO and evaluation over one tiny model made from scratch, by the commands that a researcher gives."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from conftest import ROOT, require_module
from kgdx_train.language_run import CURVE, RunFolder


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore")  # of transformers and torch
def test_the_walk_from_pairs_to_the_table_of_arms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trained folder answers behind `--llm transformers:FOLDER`, as the model that it was trained from does.

    How much it has learned is for the benchmark to say: eight questions cannot.
    """
    for name in ("torch", "trl", "datasets"):
        require_module(name, "train")
    for name in ("KGDX_HOME", "KGDX_CACHE", "KGDX_LLM_DEVICE"):
        monkeypatch.setenv(name, "")  # and given back at the end
    monkeypatch.syspath_prepend(str(ROOT))
    benchmark = importlib.import_module("benchmarks.chain")
    found = benchmark.chain(tmp_path, train=60, test=8)
    pairs, arms = found["pairs"], found["options"]["arms"]
    assert pairs["thought"]["pairs"] > 0 and pairs["answer"]["pairs"] > 0 and pairs["questions"] == 60
    assert (tmp_path / "run" / "final" / "model.safetensors").exists() and found["trained"]["step"] > 0
    assert all(told["n"] == 8 for told in arms.values()) and found["options"]["open"] == 0
    curve = RunFolder(tmp_path / "run").rows(CURVE)
    assert curve[-1]["margin"] > curve[0]["margin"] and curve[-1]["margin"] > 0
    assert "| trained | `thought:documents=1` |" in benchmark.tables(found)
