"""Pairs, DPO and evaluation over one tiny model made from scratch, by the commands that a researcher gives."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from conftest import ROOT, require_module


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of transformers and torch
def test_what_pairs_teach_by_dpo_is_seen_in_the_evaluation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trained folder answers behind `--llm transformers:FOLDER`, as the model that it was trained from does."""
    for name in ("torch", "trl", "datasets"):
        require_module(name, "train")
    for name in ("KGDX_HOME", "KGDX_CACHE", "KGDX_LLM_DEVICE"):
        monkeypatch.setenv(name, "")  # and given back at the end
    monkeypatch.syspath_prepend(str(ROOT))
    benchmark = importlib.import_module("benchmarks.chain")
    found = benchmark.chain(tmp_path, train=60, test=20)
    pairs, arms = found["pairs"], found["options"]["arms"]
    assert pairs["thought"]["pairs"] > 0 and pairs["answer"]["pairs"] > 0 and pairs["questions"] == 60
    assert (tmp_path / "run" / "final" / "model.safetensors").exists() and found["trained"]["step"] > 0
    assert all(told["n"] == 20 for told in arms.values()) and found["options"]["open"] == 0
    before = arms["thought:documents=1"]
    after = next(told for name, told in arms.items() if name.startswith("thought:documents=1@transformers:"))
    assert after["accuracy"]["share"] > before["accuracy"]["share"]
    assert after["needed"]["shown"] > before["needed"]["shown"]
    assert "| trained | `thought:documents=1` |" in benchmark.tables(found)
