"""Questions that would steer a terminal, in terminals that cannot write them, and results that are damaged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

Run = subprocess.CompletedProcess[str]

STEERING = "\x1b[2J\x1b]0;owned\x07Which genes\u202e belong to Aicardi syndrome?\u2028\U000e0041"


def test_a_question_cannot_steer_the_terminal(invoke: Callable[..., Run]) -> None:
    done = invoke("ask", STEERING)
    assert done.returncode == 0
    assert "Which genes" in done.stdout
    assert not set("\x1b\x07\u202e\u2028\U000e0041") & set(done.stdout + done.stderr)


def test_a_terminal_without_chinese_letters_gets_the_answer_all_the_same(
    kgdx_: Callable[..., Run], tmp_path: Path
) -> None:
    old = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    shown = kgdx_("ask", "癫痫有哪些症状?", **old)
    assert (shown.returncode, "Traceback" in shown.stderr) == (0, False)
    written = kgdx_("ask", "癫痫有哪些症状?", "--json", **old)
    assert json.loads(written.stdout)["question"] == "癫痫有哪些症状?"


def test_a_question_from_standard_input_need_not_be_text(home: Path) -> None:
    for given, code in (
        (b"\xff\xfe which genes \x00 of Aicardi syndrome?", 0),
        (b"\xff\xfe\x00", 2),
        (b"x" * 2_000_000, 2),
    ):
        environment = {**os.environ, "KGDX_HOME": str(home), "PYTHONIOENCODING": "utf-8:strict"}
        command = [sys.executable, "-m", "kgdx", "ask", "-"]
        done = subprocess.run(command, input=given, env=environment, capture_output=True, timeout=120, check=False)
        assert (done.returncode, b"Traceback" in done.stderr) == (code, False), done.stderr


def test_the_policy_of_diagnoses_answers_no_questions(invoke: Callable[..., Run]) -> None:
    done = invoke("ask", "What is ptosis?", "--policy", "fixed")
    assert done.returncode == 2
    assert done.stderr == "error: the policy fixed answers no questions: take one of planner, rules, thought\n"


def test_a_result_that_an_editor_gave_a_byte_order_mark_is_a_page(invoke: Callable[..., Run], tmp_path: Path) -> None:
    result = json.dumps({"schema": "kgdx.diagnosis/1", "case": {"id": "p"}})
    (tmp_path / "r.json").write_text(result, encoding="utf-8-sig")
    assert invoke("report", str(tmp_path / "r.json")).returncode == 0
    assert (tmp_path / "r.html").exists()
