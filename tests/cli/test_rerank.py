"""`--rerank MODEL` as a user meets it: one patient, a batch within a budget, and an instruction that is learned."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from llm.server import Body, Reply, Say, serving
from policies.rerankers import backwards, by, perfect, shown

Run = subprocess.CompletedProcess[str]
Invoke = Callable[..., Run]
PATIENT = "seizures, hypotonia and short stature"


pytestmark = pytest.mark.usefixtures("own_model")


def batch(tmp_path: Path, count: int = 3) -> str:
    file = tmp_path / "cases.jsonl"
    lines = [json.dumps({"id": f"p{number}", "text": PATIENT, "age": f"P{number + 1}Y"}) for number in range(count)]
    file.write_text("\n".join([*lines, "not json"]))
    return str(file)


def test_the_table_shows_where_each_was_by_score_and_why_it_moved(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(perfect("Short stature with hypotonia"), monkeypatch):
        done = invoke("diagnose", PATIENT, "--rerank", "m", "--explain", "1")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("asking m at http://127.0.0.1:")
    words = " ".join(done.stdout.split())
    assert "was → # Disease" in words and "2 → 1 Short stature with hypotonia" in words
    assert "is seen in it [E" in words and "number 2 by score" in words
    assert "re-ordered by m (vanilla " in words and "3 candidates, 2 moved" in words
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_the_json_has_both_ranks_and_the_counts(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(by(backwards), monkeypatch):
        options = ("--rerank-top", "2", "--rerank-prompt", "cot", "--shuffle", "1", "--rerank-weight", "0.9", "--json")
        found = json.loads(invoke("diagnose", PATIENT, "--rerank", "m", *options).stdout)
    assert [(each["rank"], each["retrieved_rank"]) for each in found["candidates"]] == [(1, 1), (2, 2), (3, 3)]
    told = found["reranking"]
    assert (told["prompt"], told["candidates"], told["runs"], told["weight"]) == ("cot", 2, 2, 0.9)


def test_a_page_shows_what_was_moved(invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with serving(perfect("Short stature with hypotonia"), monkeypatch):
        assert invoke("diagnose", PATIENT, "--rerank", "m", "--html", str(tmp_path / "x.html")).returncode == 0
    page = (tmp_path / "x.html").read_text("utf-8")
    assert "number by score: 2" in page and "is seen in it [E" in page and "re-ordered by m" in page


def test_who_chooses_the_steps_is_said_once(invoke: Invoke) -> None:
    for other in (("--llm", "m"), ("--policy", "fixed")):
        done = invoke("diagnose", PATIENT, "--rerank", "m", *other)
        assert done.returncode != 0 and "--rerank goes without --llm and --policy" in done.stderr
    assert "no instruction is called" in invoke("diagnose", PATIENT, "--rerank", "m", "--rerank-prompt", "no").stderr
    assert "no endpoint is set" in invoke("diagnose", PATIENT, "--rerank", "m").stderr


def test_a_batch_needs_a_budget_says_what_it_will_take_and_then_did(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with serving(by(backwards), monkeypatch) as server:
        refused = invoke("batch", batch(tmp_path), "--rerank", "m")
        assert refused.returncode != 0 and "nothing limits what that costs" in refused.stderr
        assert not server.requests
        done = invoke("batch", batch(tmp_path), "--rerank", "m", "--max-calls", "2", "--jobs", "1")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 7 and [each["id"] for each in rows[:3]] == ["p0", "p1", "p2"]
    assert "error" in rows[3]
    assert [each["reranking"].get("failed", 0) for each in rows[:3]] == [0, 0, 1]
    assert "about 4 requests for 4 patients" in done.stderr  # a line that cannot be read counts as a patient before
    assert "re-ranked 2 of 3 (2 calls, 1 failed" in done.stderr


def test_how_to_re_rank_without_by_whom_is_refused(invoke: Invoke) -> None:
    done = invoke("diagnose", PATIENT, "--rerank-top", "5")
    assert done.returncode == 2 and not done.stdout
    assert done.stderr == "error: it is said how to re-rank, and not by which model: give --rerank MODEL\n"


def test_an_instruction_is_learned_kept_and_used(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    secret = "Put deletions first, whatever the evidence says of the others."

    def reply(body: Body, number: int) -> Reply:
        if "# Candidates" not in body["messages"][-1]["content"]:
            return Say(json.dumps({"variants": [{"text": secret}]}))
        lines = shown(body)
        wanted = secret in body["messages"][0]["content"]
        ordered = sorted(lines, key=lambda each: wanted and "deletion" not in each["disease"])
        return Say(json.dumps({"order": [each["id"] for each in ordered]}))

    cases, out = tmp_path / "dev.jsonl", tmp_path / "own.md"
    one = {"phenotypes": ["HP:0001250", "HP:0004322"], "diseases": ["DECIPHER:18"]}
    cases.write_text("\n".join(json.dumps({"id": f"p{n}", **one}) for n in range(24)))
    with serving(reply, monkeypatch):
        learn = ("learn", "prompt", str(cases), "--llm", "m", "--variants", "1", "--out", str(out))
        assert "nothing limits" in invoke(*learn).stderr and not out.exists()
        done = invoke(*learn, "--max-calls", "500", "--json")
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        used = invoke("diagnose", PATIENT, "--rerank", "m", "--rerank-prompt", str(out), "--json")
    assert told["instruction"] == "auto-1" and told["measured"]["auto-1"]["hit1"] == 1.0
    found = json.loads(used.stdout)
    assert found["candidates"][0]["id"] == "DECIPHER:18" and found["reranking"]["digest"] == told["digest"]


@pytest.mark.parametrize("how", [("--llm", "m"), ("--policy", "tags", "--llm", "m"), ("--policy", "thought")])
def test_a_batch_by_a_policy_that_asks_a_model_keeps_to_one_budget(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: tuple[str, ...]
) -> None:
    plain = [json.loads(line) for line in invoke("batch", batch(tmp_path)).stdout.splitlines()]
    with serving(lambda body, number: Say("I think that it is a seizure."), monkeypatch) as server:
        monkeypatch.setenv("KGDX_LLM_MODEL", "m")
        refused = invoke("batch", batch(tmp_path), *how)
        assert refused.returncode == 2 and "nothing limits what that costs" in refused.stderr
        done = invoke("batch", batch(tmp_path), *how, "--max-calls", "2", "--jobs", "2")
        assert 1 <= len(server.requests) <= 2
    assert done.returncode == 7 and "a model was asked about 3" in done.stderr  # the last line is no case
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["candidates"][0]["id"] for each in lines[:3]] == [each["candidates"][0]["id"] for each in plain[:3]]


def test_a_second_reader_reads_for_every_command_that_takes_a_patient(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    limp = {"quote": "hangs like a wet towel", "name": "Hypotonia", "status": "present", "whose": "patient"}
    note = "seizures and short stature; the child hangs like a wet towel"

    def script(body: Body, number: int) -> Reply:
        reads = "# Note" in str(body["messages"][-1]["content"])
        return Say(json.dumps({"findings": [limp], "doubts": [{"number": 1, "reason": "past"}]}) if reads else "{}")

    cases, page = tmp_path / "cases.jsonl", tmp_path / "x.html"
    cases.write_text("".join(json.dumps({"id": f"p{number}", "text": note}) + "\n" for number in range(3)))
    with serving(script, monkeypatch):
        done = invoke("extract", note, "--reader", "m")
        heeded = json.loads(invoke("extract", note, "--reader", "m", "--heed-doubts", "--json").stdout)
        assert {f["label"]: f["status"] for f in heeded["findings"]}["Seizure"] == "unknown"
        words = " ".join(done.stdout.split())
        assert "model m 90%" in words and "read by the model m" in words and "doubts Seizure" in words, done.stdout
        assert invoke("diagnose", note, "--reader", "m", "--html", str(page)).returncode == 0
        assert "model m 0.90" in page.read_text("utf-8")
        asked = ("ask", "What are the symptoms of OMIM:100001?", "--case", note)
        consulted = ("consult", note, "--max-questions", "0")
        for command in (("diagnose", note), ("explain", note, "OMIM:100001"), consulted, asked):
            found = json.loads(invoke(*command, "--reader", "m", "--heed-doubts", "--json").stdout)
            told = {each["label"]: each["status"] for each in found["case"]["findings"]}
            assert told["Seizure"] == "unknown" and told["Hypotonia"] == "present", command
        for how in ((), ("--rerank", "m")):
            many = invoke(
                "batch", str(cases), "--reader", "m", "--heed-doubts", "--max-calls", "20", "--explain", "1", *how
            )
            lines = [json.loads(each) for each in many.stdout.splitlines()]
            assert [any(f["method"] == "model m" for f in each["case"]["findings"]) for each in lines] == [True] * 3
            assert not any(f["id"] == "HP:0001250" and f["status"] == "present" for f in lines[0]["case"]["findings"])
            assert not how or "about 9 requests for 3 patients" in many.stderr  # to read, to name, to order
