"""kgdx index, and the switch that reads by meaning."""

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
from cli.conftest import Run
from kgdx.terms import encoder


def test_a_corpus_is_recognised_and_its_counts_add_up(invoke: Callable[..., Run], home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "textbooks"
    folder.mkdir()
    lines = ['{"id": "Gout_0", "title": "Gout", "content": "It hurts."}', "{", '{"id": "Gout_0", "content": "Twice."}']
    (folder / "Gout.jsonl").write_text("\n".join(lines))
    (folder / "cover.png").write_bytes(b"")
    done = invoke("index", str(folder), "--k1", "1.2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "1 pieces of texts of textbooks; k1 1.2, b 0.75",
        "1 files: 1 file of textbooks; 1 of other kinds are not read",
        "3 records: 1 kept, 2 refused",
        "  1: no JSON",
        "  1: an id that was there before",
        "  the first of them:",
        "    Gout.jsonl:2: no JSON",
        "    Gout.jsonl:3: an id that was there before, 'Gout_0'",
    ]
    other = json.loads(invoke("index", str(folder), "--k1", "2", "--b", "0.5", "--json").stdout)
    assert (other["k1"], other["b"], other["kept"]) == (2, 0.5, 1)


def test_what_cannot_be_indexed_is_one_line(invoke: Callable[..., Run], home: Path, tmp_path: Path) -> None:
    for arguments, said in (
        ((str(tmp_path / "none"),), "there is no folder"),
        ((str(tmp_path), "--tag", "a/b"), "a source cannot be called"),
        (("--tag", "x"), "a tag is for a folder"),
    ):
        done = invoke("index", *arguments)
        assert done.returncode != 0
        assert said in done.stderr and done.stderr.count("\n") == 1


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
