"""`kgdx cases synthesize` writes marked phenopackets that the other commands read."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from kgdx.case import Case, read_cases

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_made_up_cases_are_written_read_and_evaluated(invoke: Run, tmp_path: Path) -> None:
    file = tmp_path / "made-up.jsonl"
    done = invoke("cases", "synthesize", "--n", "5", "--seed", "3", "--out", str(file))
    assert (done.returncode, done.stdout) == (0, "")
    cases = [case for case in read_cases(file) if isinstance(case, Case)]
    assert len(cases) == 5
    assert all(case.synthetic and case.observed and case.diseases for case in cases)
    assert invoke("cases", "synthesize", "--n", "5", "--seed", "3").stdout == file.read_text()
    assert "5 cases made up rather than observed" in invoke("evaluate", "rank", str(file)).stdout
    lines = [json.loads(line) for line in invoke("batch", str(file)).stdout.splitlines()]
    assert [line["id"] for line in lines] == [case.id for case in cases]


def test_a_table_is_diagnosed_and_a_bad_row_says_so(invoke: Run, tmp_path: Path) -> None:
    file = tmp_path / "patients.csv"
    file.write_text("id,text,hpo\n1,She has seizures.,\n2\n3,,HP:0001252\n")
    done = invoke("batch", str(file))
    first, second, third = (json.loads(line) for line in done.stdout.splitlines())
    assert done.returncode == 7
    assert first["candidates"] and third["candidates"]
    assert "line 3: it has 1 cells" in second["error"]
