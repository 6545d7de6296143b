"""The switch that reads by meaning, with a made-up encoder in the place of the real one."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import kgdx
from kgdx.terms import encoder

Invoke = Callable[..., subprocess.CompletedProcess[str]]


class FitsAreSeizures:
    """Knows one thing."""

    name = "fits-are-seizures"

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return np.array([(text in ("Seizure", "falling down spells"), 1e-3) for text in texts], np.float32)


@pytest.fixture
def own(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the graph, beside which vectors may be written."""
    copy = tmp_path / "home"
    shutil.copytree(home, copy)
    return copy


def test_switch_reads_by_meaning_and_says_so(invoke: Invoke, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGDX_HOME", str(own))
    monkeypatch.setattr(encoder, "usual", lambda settings: FitsAreSeizures())
    done = invoke("extract", "Hypotonia, falling down spells.", "--encoder", "--json")
    found = json.loads(done.stdout)["findings"]
    assert [(each["label"], each["method"]) for each in found] == [("Hypotonia", "exact"), ("Seizure", "encoder")]
    assert "once for this graph" in done.stderr
    again = invoke("diagnose", "--encoder", "--json", "--hpo", "falling down spells", "--hpo", "Hypotonia")
    assert "encoding" not in again.stderr
    assert json.loads(again.stdout)["candidates"][0]["id"] == "OMIM:100001"
    assert invoke("diagnose", "--hpo", "falling down spells").returncode == 7


def test_missing_extra_is_one_line_that_says_what_to_install(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    encoder._loaded.cache_clear()
    done = invoke("diagnose", "seizures", "--encoder")
    assert done.returncode == 3
    assert (
        done.stderr.strip() == 'error: the sentence encoder needs an optional dependency: pip install "kgdx[encoder]"'
    )


def test_graph_opens_with_an_encoder_of_ones_own(own: Path) -> None:
    with kgdx.open(own / "graphs" / "default", encoder=FitsAreSeizures()) as graph:
        finding = graph.resolve("falling down spells").finding
    assert finding is not None
    assert (finding.label, finding.method) == ("Seizure", "encoder")
