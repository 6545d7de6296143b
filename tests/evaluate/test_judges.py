"""RAGAS as the judge: by its documented interface where it is not installed, by itself over HTTP where it is."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from kgdx.config import LlmAccess
from kgdx.errors import LlmError, MissingExtraError
from kgdx.evaluate.judges import RagasJudge, rubric
from kgdx.evaluate.question_sets import BenchmarkQuestion
from llm.server import Fail, Raw, Say, serving

INSTALLED = importlib.util.find_spec("ragas") is not None
ASKED = BenchmarkQuestion(id="q", question="流感有哪些症状？ {x} $y", reference="发热、咳嗽")


class Metric:
    """The part of RAGAS 0.4's ``NumericMetric`` that is used, with its own signatures."""

    def __init__(self, name: str, prompt: str, allowed_values: tuple[float, float]) -> None:
        self.name, self.prompt, self.allowed_values = name, prompt, allowed_values

    def score(self, **kwargs: Any) -> Any:
        llm = kwargs.pop("llm")
        return llm.generate(self.prompt.format(**kwargs))

    def validate_result_value(self, value: Any) -> str | None:
        low, high = self.allowed_values
        return None if isinstance(value, int | float) and low <= value <= high else "out of range"


class Model:
    """What its ``llm_factory`` returns."""

    def __init__(self, result: Any) -> None:
        self.result = result
        self.prompts: list[str] = []

    def generate(self, prompt: str) -> Any:
        self.prompts.append(prompt)
        if isinstance(self.result, Exception):
            raise self.result
        return SimpleNamespace(value=self.result, reason="so")


def judge(result: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[RagasJudge, Model]:
    model = Model(result)
    modules: dict[str, dict[str, Any]] = {
        "openai": {"OpenAI": SimpleNamespace},
        "ragas": {"__version__": "0.4.3"},
        "ragas.llms": {"llm_factory": lambda name, client: model},
        "ragas.metrics": {"NumericMetric": Metric},
    }
    for name, content in modules.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    return RagasJudge.connect(LlmAccess("judge", "http://127.0.0.1:9/v1")), model


def test_score_is_the_metrics_and_the_prompt_our_rubric(monkeypatch: pytest.MonkeyPatch) -> None:
    made, model = judge(0.75, monkeypatch)
    found = made.score(ASKED, "发热 [E1]，{还有} $z")
    assert (found.score, found.reason, found.calls) == (0.75, "so", 1)
    assert made.id == "judge judge@1 ragas 0.4.3"
    (asked,) = model.prompts
    assert "from 0 to 1" in asked and "流感有哪些症状？ {x} $y" in asked and "发热、咳嗽" in asked
    assert "发热，{还有} $z" in asked and "[E1]" not in asked


def test_ragas_reports_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.delenv("RAGAS_DO_NOT_TRACK", raising=False)
    judge(0.5, monkeypatch)
    assert os.environ["RAGAS_DO_NOT_TRACK"] == "true"
    monkeypatch.delenv("RAGAS_DO_NOT_TRACK")


class AuthenticationError(Exception):
    status_code = 401


class NotFoundError(Exception):
    status_code = 404


class APIConnectionError(Exception):
    pass


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (1.5, "malformed"),
        ("good", "malformed"),
        (ValueError("the patient's name"), "malformed"),
        (AuthenticationError(), "denied"),
        (NotFoundError(), "rejected"),
        (APIConnectionError(), "unreachable"),
    ],
)
def test_what_goes_wrong_in_ragas_is_an_error_of_ours(result: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, _ = judge(result, monkeypatch)
    with pytest.raises(LlmError) as caught:
        made.score(ASKED, "a")
    assert caught.value.kind == kind and "patient" not in str(caught.value)


@pytest.mark.skipif(INSTALLED, reason="RAGAS is installed")
def test_missing_ragas_is_said_in_one_line() -> None:
    with pytest.raises(MissingExtraError, match=r'without kgdx\[llm\].* pip install "kgdx\[ragas\]"'):
        RagasJudge.connect(LlmAccess("judge", "http://127.0.0.1:9/v1"))


def test_rubric_has_a_place_for_each_part_and_no_other() -> None:
    assert rubric().format(question="Q", reference="R", answer="A").count("# ") == 3


@pytest.mark.skipif(not INSTALLED, reason='needs RAGAS in an environment of its own: pip install "kgdx[ragas]"')
@pytest.mark.filterwarnings("ignore")
class TestInstalled:
    """RAGAS itself, over HTTP."""

    def test_score_comes_over_http(self) -> None:
        with serving(lambda body, number: Say('{"reason": "half of it", "value": 0.5}')) as server:
            made = RagasJudge.connect(LlmAccess("judge", server.url))
            found = made.score(ASKED, "发热 [E1]")
        assert (found.score, found.reason) == (0.5, "half of it")
        asked = server.requests[0]["messages"][-1]["content"]
        assert "流感有哪些症状？ {x} $y" in asked and "[E1]" not in asked

    @pytest.mark.parametrize(
        ("reply", "kind"),
        [
            (Say('{"reason": "", "value": 7}'), "malformed"),
            (Fail(401), "denied"),
            (Fail(404), "rejected"),
            (Raw(b"{}"), "malformed"),
        ],
    )
    def test_failure_is_told_by_its_kind(self, reply: Any, kind: str) -> None:
        with serving(lambda body, number: reply) as server:
            made = RagasJudge.connect(LlmAccess("judge", server.url, attempts=1))
            with pytest.raises(LlmError) as caught:
                made.score(ASKED, "a")
        assert caught.value.kind == kind
