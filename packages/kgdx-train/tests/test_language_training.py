"""A language model is trained on the graph by one command."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from types import ModuleType
from typing import Any

import pytest
import yaml

from conftest import require_module
from kgdx.api import Graph
from kgdx.errors import StoreError, UsageError
from kgdx_train.language_run import CURVE, EVALUATIONS, FINAL, SAMPLES, VERSIONS, RunFolder
from kgdx_train.language_settings import Adapter, GrpoSettings, WarmUp
from kgdx_train.language_training import LanguageTraining, graph_training
from kgdx_train.rewards import EVEN, least
from learn.conftest import PATIENTS, packet
from llm.test_local_model import TOOLS

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def toy() -> ModuleType:
    for name in ("torch", "trl", "datasets", "peft"):
        require_module(name, "train")
    import torch

    torch.set_num_threads(1)
    from benchmarks import train_toy

    return train_toy


def config(folder: Path, toy: ModuleType, **changed: Any) -> Path:
    """A configuration of a tiny model and four patients, two updates long."""
    cases = folder / "cases.jsonl"
    cases.write_text("".join(json.dumps(packet(*each)) + "\n" for each in PATIENTS))
    if not (folder / "model").exists():
        toy.make_model(folder / "model", ["<match>Seizure</match>", "You diagnose rare diseases."] * 4)
    settings = {"model": "model", "cases": "cases.jsonl", "held_out": 0.5, "steps": 2, "batch": 4, "group": 2}
    settings |= {"micro": 4, "tokens": 8, "save": 1, "evaluate": 1, "rate": 1e-3, "device": "cpu"}
    file = folder / "grpo.yaml"
    file.write_text(yaml.safe_dump({**settings, **changed}))
    return file


def train(store: Path, *arguments: str | Path, **how: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kgdx", *map(str, arguments), "--store", str(store)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **how)


def test_a_model_that_calls_tools_by_its_own_template_is_trained(graph: Graph, toy: ModuleType, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    file = config(tmp_path, toy, notation="tools", steps=1)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model")
    tokenizer.chat_template = TOOLS
    tokenizer.response_template = {"defaults": {"role": "assistant"}, "fields": {"content": {}}}
    tokenizer.save_pretrained(tmp_path / "model")
    graph_training(graph, GrpoSettings.read(file), tmp_path / "run", lambda line: None).run()
    run = RunFolder(tmp_path / "run")
    assert [row["reward"] for row in run.rows(CURVE)] == [pytest.approx(least(EVEN))]
    assert run.rows(EVALUATIONS) == [{"step": 1, "drawn": pytest.approx(least(EVEN))}]


def test_one_command_writes_transcripts_and_one_trains(patients_folder: Path, toy: ModuleType, tmp_path: Path) -> None:
    warm = {"transcripts": "told.jsonl", "epochs": 2, "rate": 0.003}
    file = config(tmp_path, toy, warm_up=warm)
    made = train(patients_folder, "learn", "transcripts", tmp_path / "cases.jsonl", "-o", tmp_path / "told.jsonl")
    assert made.returncode == 0 and "4 of 4 cases" in made.stdout, made.stderr
    done = train(patients_folder, "train", "grpo", file, "-o", tmp_path / "run", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["step"] == 2
    run = RunFolder(tmp_path / "run")
    assert [row["step"] for row in run.rows(CURVE)] == [1, 2]
    assert {"reward", "kl", "entropy", "loss", "seconds"} <= set(run.rows(CURVE)[0])
    assert [row["step"] for row in run.rows(EVALUATIONS)] == [0, 1, 2]
    assert {each["by"] for row in run.rows(SAMPLES) for each in row["rollout"]} <= {"model", "graph"}
    assert json.loads((run.path / VERSIONS).read_text()).keys() >= {"kgdx", "torch", "trl"}
    assert (run.path / FINAL / "model.safetensors").exists()
    assert not list(run.path.rglob("*.bin")) and not list(run.path.rglob("*.pkl"))
    again = train(patients_folder, "train", "grpo", file, "-o", tmp_path / "run")
    assert again.returncode == 0 and "goes on from checkpoint-2" in again.stderr, again.stderr
    assert len(run.rows(CURVE)) == 2
    config(tmp_path, toy, warm_up=warm, seed=1)
    other = train(patients_folder, "train", "grpo", file, "-o", tmp_path / "run")
    assert other.returncode == 2 and "holds a run with other settings" in other.stderr


@pytest.fixture
def training(toy: ModuleType, tmp_path: Path) -> Callable[..., LanguageTraining]:
    """Makes the training of a tiny model on the toy, four updates long."""

    def made(task: Any = None, name: str = "run", **changed: Any) -> LanguageTraining:
        folder = tmp_path / "model"
        if not folder.exists():
            told = toy.Toy().transcripts(20, 0.5)
            toy.make_model(folder, [each["text"] for row in told for each in row["completion"]])
        settings = {"batch": 8, "group": 4, "micro": 4, "steps": 4, "save": 2, "evaluate": 2, "evaluated": 4}
        settings |= {"rate": 1e-3, "device": "cpu", **changed}
        return LanguageTraining(
            GrpoSettings(model=str(folder), cases="", **settings),
            task or toy.Toy(),
            tmp_path / name,
            transcripts=toy.Toy().transcripts(16, 0.5),
            tell=lambda line: None,
        )

    return made


def in_a_process_of_its_own(training: LanguageTraining) -> int | None:
    process = multiprocessing.get_context("fork").Process(target=training.run)
    process.start()
    process.join(120)
    return process.exitcode


@pytest.mark.parametrize("adapter", [None, Adapter(rank=2, alpha=4)])
def test_a_run_that_was_killed_goes_on_to_the_same_model(
    toy: ModuleType, training: Callable[..., LanguageTraining], adapter: Adapter | None
) -> None:
    from safetensors.numpy import load_file

    class Doomed(toy.Toy):  # type: ignore[misc, name-defined]
        def sampled(self, prompts: Any, trainer: Any) -> Any:
            if trainer.state.global_step == 3:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().sampled(prompts, trainer)

    warm = WarmUp(transcripts="", batch=8, rate=1e-3)
    how = {"adapter": adapter, "warm_up": warm}
    assert in_a_process_of_its_own(training(Doomed(), "killed", **how)) == -signal.SIGKILL
    killed = RunFolder(training(name="killed").folder)
    assert [row["step"] for row in killed.rows(CURVE)] == [1, 2, 3]
    training(name="killed", **how).run()
    training(name="whole", **how).run()
    whole = RunFolder(training(name="whole").folder)
    for name in (CURVE, EVALUATIONS, SAMPLES):
        one, other = ([{**row, "seconds": 0} for row in run.rows(name)] for run in (killed, whole))
        assert one == other and one
    file = "model.safetensors" if adapter is None else "adapter_model.safetensors"
    one, other = (load_file(run.path / FINAL / file) for run in (killed, whole))
    assert all((one[name] == other[name]).all() for name in one)


def test_a_checkpoint_is_read_without_running_its_code(training: Callable[..., LanguageTraining]) -> None:
    training().run()
    run = RunFolder(training().folder)
    shutil.rmtree(run.path / "checkpoint-4")
    found = run.latest()
    assert found is not None and found[0].name == "checkpoint-2"

    class Harmful:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(run.path / "harmed"),)

    (found[0] / "optimizer.pt").write_bytes(pickle.dumps(Harmful()))
    assert run.latest() is None  # not what the run wrote
    run.close(found[0], {"step": 2, "rollouts": 16})  # who can write its list, too, gets an error of torch's reader
    with pytest.raises(Exception, match=r"[Ww]eights.only|unpickling"):
        training().run()
    assert not (run.path / "harmed").exists()


@pytest.mark.parametrize(
    ("reward", "changed", "said"),
    [
        (float("nan"), {}, "a rollout has the reward nan"),
        (0.5, {"idle": 2}, "in 2 updates the rollouts of each case were worth the same: warm the model up"),
    ],
)
def test_a_run_that_cannot_learn_ends_with_a_line(
    toy: ModuleType, training: Callable[..., LanguageTraining], reward: float, changed: dict[str, Any], said: str
) -> None:
    class Constant(toy.Toy):  # type: ignore[misc, name-defined]
        def sampled(self, prompts: Any, trainer: Any) -> Any:
            return {**super().sampled(prompts, trainer), "reward": [reward] * len(prompts)}

    with pytest.raises(UsageError, match=said):
        training(Constant(), **changed).run()


def test_weights_that_are_no_numbers_end_the_run_with_a_line(
    training: Callable[..., LanguageTraining], tmp_path: Path
) -> None:
    from safetensors.numpy import load_file, save_file

    made = training()
    file = tmp_path / "model" / "model.safetensors"
    save_file({name: array * float("nan") for name, array in load_file(file).items()}, file, {"format": "pt"})
    with pytest.raises(UsageError, match="its scores are no numbers.*: go on from an earlier checkpoint"):
        made.run()
    with pytest.raises(UsageError, match="the loss of the warm-up is nan: lower its rate"):
        training(name="warm", warm_up=WarmUp(transcripts="")).run()


def test_a_model_or_tokenizer_that_does_not_do_is_one_line(
    toy: ModuleType, training: Callable[..., LanguageTraining], tmp_path: Path
) -> None:
    made = training()
    file = tmp_path / "model" / "tokenizer_config.json"
    template = tmp_path / "model" / "chat_template.jinja"
    template.unlink()
    with pytest.raises(UsageError, match="the tokenizer has no chat template"):
        made.run()
    template.write_text(toy.TEMPLATE)
    config = json.loads(file.read_text())
    file.write_text(json.dumps({**config, "extra_special_tokens": ["</match>"]}))
    with pytest.raises(UsageError, match="the tag </match> is a special token"):
        made.run()
    file.write_text(json.dumps(config))
    long = WarmUp(transcripts="")
    with pytest.raises(UsageError, match="a transcript has .* tokens, the context 64"):
        rows = [{**row, "completion": row["completion"] * 4} for row in made.transcripts]
        replace(training(name="long", warm_up=long, context=64), transcripts=rows).run()
    (tmp_path / "model" / "model.safetensors").rename(tmp_path / "model" / "pytorch_model.bin")
    with pytest.raises(UsageError, match="cannot be loaded .*: give a folder with a model in safetensors"):
        made.run()


def test_a_full_disk_ends_the_run_with_a_line(
    toy: ModuleType, training: Callable[..., LanguageTraining], tmp_path: Path
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs a device that is always full")

    class Filling(toy.Toy):  # type: ignore[misc, name-defined]
        def evaluated(self, model: Any, ids: Any) -> Any:
            (tmp_path / "run" / EVALUATIONS).symlink_to("/dev/full")
            return super().evaluated(model, ids)

    with pytest.raises(StoreError, match="No space left on device.*goes on from its last checkpoint"):
        training(Filling()).run()


def test_a_prompt_that_leaves_no_room_is_said_before_anything_is_sampled(
    graph: Graph, toy: ModuleType, tmp_path: Path
) -> None:
    settings = GrpoSettings.read(config(tmp_path, toy, context=64))
    with pytest.raises(UsageError, match="the longest prompt has .* tokens, the context 64: raise `context`"):
        graph_training(graph, settings, tmp_path / "run").run()


def test_a_tiny_model_learns_to_copy_the_argument(toy: ModuleType, tmp_path: Path) -> None:
    run = toy.trained(tmp_path, "tags", 24, evaluate=0)
    rewards = [row["reward"] for row in run.rows(CURVE)]
    assert fmean(rewards[-8:]) > fmean(rewards[:8]) + 0.08
