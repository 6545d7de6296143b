"""`kgdx consult --llm MODEL`: a model behind an endpoint words the questions, and a person answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cli.conftest import Run
from kgdx.evaluate.scripted_agents import scripted_agent
from llm.server import Fail, answering, serving
from osce_cases import osces

Kgdx = Callable[..., Run]
ENDPOINT = {"KGDX_LLM_API_KEY": "none", "KGDX_LLM_ATTEMPTS": "1"}


def test_a_model_words_the_questions_and_a_person_answers(invoke: Kgdx, tmp_path: Path) -> None:
    transcript = tmp_path / "visit.jsonl"
    settings = ("--certain", "1", "--max-questions", "4", "--transcript", str(transcript))
    with serving(answering(scripted_agent("right", osces()))) as server:
        done = invoke(
            "consult", "seizures", "--llm", "m", *settings, stdin="y\nn\n", KGDX_LLM_BASE_URL=server.url, **ENDPOINT
        )
        asked = len(server.requests)
        assert "Do you have" in done.stderr, done.stderr
        resumed = ("consult", "--resume", str(transcript), "--llm", "m")
        again = invoke(*resumed, stdin="f\n", KGDX_LLM_BASE_URL=server.url, **ENDPOINT)
    assert asked >= 2 and again.returncode == 0, again.stderr
    assert '"policy": "doctor"' in transcript.read_text("utf-8")


def test_a_model_that_is_not_there_leaves_the_questions_to_the_selector(invoke: Kgdx) -> None:
    settings = ("--certain", "1", "--max-questions", "2")
    with serving(lambda body, number: Fail(401)) as server:
        done = invoke(
            "consult", "seizures", "--llm", "m", *settings, stdin="n\nn\nf\n", KGDX_LLM_BASE_URL=server.url, **ENDPOINT
        )
    assert done.returncode == 0, done.stderr
    assert "2. " in done.stderr and "Traceback" not in done.stderr


def test_a_model_for_a_policy_that_asks_none_is_refused_in_a_line(invoke: Kgdx) -> None:
    done = invoke("consult", "seizures", "--policy", "inquiry", "--llm", "m", stdin="f\n")
    assert done.returncode != 0 and "asks no model" in done.stderr and done.stderr.count("\n") == 1
