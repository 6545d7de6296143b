"""The configuration of a run is checked before anything is loaded; its folder knows what was written whole."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
import yaml

from kgdx.errors import ConfigError, MissingPackageError, StoreError, UsageError
from kgdx_train.language_run import CONFIG, CURVE, SAMPLES, UNUSED, WHOLE, RunFolder, curves, versions
from kgdx_train.language_settings import DpoSettings, GrpoSettings, RunSettings
from kgdx_train.language_training import check_run

LEAST = {"model": "m", "cases": "c.jsonl"}


def written(folder: Path, **changed: Any) -> Path:
    file = folder / "grpo.yaml"
    file.write_text(yaml.safe_dump({**LEAST, **changed}))
    return file


def test_what_is_not_set_is_as_the_paper_and_the_documentation_say(tmp_path: Path) -> None:
    found = GrpoSettings.read(written(tmp_path))
    assert (found.loss, found.scale, found.clip, found.beta, found.rate) == ("grpo", "batch", 0.2, 0.005, 1e-6)
    assert found.limits.rules().matches == 3 and found.cases == str(tmp_path / "c.jsonl")


def test_paths_are_those_of_the_file_and_a_model_may_be_a_name(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    warm = {"transcripts": "t.jsonl"}
    found = GrpoSettings.read(written(tmp_path, split="s.json", warm_up=warm))
    assert found.model == str(tmp_path / "m") and found.split == str(tmp_path / "s.json")
    assert found.warm_up is not None and found.warm_up.transcripts == str(tmp_path / "t.jsonl")
    assert GrpoSettings.read(written(tmp_path, model="owner/name")).model == "owner/name"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"learning": 1}, "there is no key 'learning'"),
        ({"limits": {"match": 1}}, "there is no key 'limits.match'"),
        ({"batch": 56, "group": 16}, "batch 56 is no multiple of group 16"),
        ({"batch": 24, "micro": 16}, "batch 24 is no multiple of micro 16"),
        ({"save": 15, "passes": 2}, "save 15 is no multiple of passes 2"),
        ({"vllm": True}, "vllm samples for the notation tools alone, not for tags"),
        ({"notation": "tools", "stages": True}, "stages do not go with the notation tools"),
        ({"group": 1}, "group: Input should be greater than or equal to 2"),
        ({"steps": "many"}, "steps: Input should be a valid integer"),
        ({"rate": float("nan")}, "rate: Input should be"),
        ({"device": "gpu"}, "device: Input should be 'auto', 'cpu' or 'cuda'"),
    ],
)
def test_what_cannot_be_is_one_line(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        GrpoSettings.read(written(tmp_path, **changed))
    assert said in str(error.value) and "\n" not in str(error.value)


def test_a_file_that_is_none_is_one_line(tmp_path: Path) -> None:
    for content in ("a: [", "- 1", ""):
        (tmp_path / "x.yaml").write_text(content)
        with pytest.raises(ConfigError, match=r"x\.yaml"):
            GrpoSettings.read(tmp_path / "x.yaml")
    with pytest.raises(ConfigError, match="cannot be read"):
        GrpoSettings.read(tmp_path / "none.yaml")


def test_every_setting_says_what_it_is() -> None:
    import inspect

    source = "".join(inspect.getsource(kind) for kind in (RunSettings, GrpoSettings, DpoSettings))
    for name in {**GrpoSettings.model_fields, **DpoSettings.model_fields}:
        _, _, after = source.partition(f"\n    {name}: ")
        assert after.partition("\n")[2].lstrip().startswith('"""'), name


def test_another_run_is_not_gone_on_with(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    run.begin({"a": 1})
    run.begin({"a": 1})
    assert json.loads((run.path / CONFIG).read_text()) == {"a": 1} and "kgdx" in versions()
    with pytest.raises(UsageError, match="holds a run with other settings"):
        run.begin({"a": 2})


def checkpoint(run: RunFolder, step: int) -> Path:
    folder = run.path / f"checkpoint-{step}"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_text(f"weights {step}")
    (folder / UNUSED).write_text("a pickle")
    return folder


def test_a_checkpoint_counts_when_it_is_whole_and_as_it_was_written(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    assert run.latest() is None
    for step in (2, 10):
        run.close(checkpoint(run, step), {"step": step, "rollouts": step * 8})
    assert not (tmp_path / "checkpoint-10" / UNUSED).exists()
    checkpoint(run, 12)  # killed before it was marked
    found = run.latest()
    assert found is not None and found[0].name == "checkpoint-10" and found[1]["rollouts"] == 80
    (found[0] / "model.safetensors").write_text("other weights")
    found = run.latest()
    assert found is not None and found[0].name == "checkpoint-2"
    (found[0] / WHOLE).write_text("{")
    assert run.latest() is None


def test_what_came_after_the_checkpoint_is_forgotten(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.add(CURVE, *({"step": step, "reward": step / 10} for step in range(5)))
    early = {"step": 1, "text": "one\u2028two\u0085three"}
    run.add(SAMPLES, early, {"step": 4, "rollout": []})
    with (tmp_path / CURVE).open("a") as stream:
        stream.write('{"step": 5, "rew')  # killed in the middle of a line
    checkpoint(run, 3)
    run.rewind(2)
    assert curves(run.rows(CURVE), ["reward"]) == {"reward": [0.0, 0.1, 0.2]}
    assert run.rows(SAMPLES) == [early] and not (tmp_path / "checkpoint-3").exists()


def test_only_the_main_process_writes(tmp_path: Path) -> None:
    other = RunFolder(tmp_path / "run", main=False)
    other.begin({"a": 1})
    other.add(CURVE, {"step": 1})
    assert not (tmp_path / "run").exists()


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs a device that is always full")
    (tmp_path / CURVE).symlink_to("/dev/full")
    with pytest.raises(StoreError, match="No space left on device.*make room, and run it again"):
        RunFolder(tmp_path).add(CURVE, {"step": 1})


def missing(name: str) -> str:
    raise PackageNotFoundError(name)


def test_what_the_machine_lacks_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    from conftest import require_module

    for name in ("torch", "trl", "peft"):
        require_module(name, "train")
    import torch

    def refused(message: str, **changed: Any) -> None:
        with pytest.raises(UsageError, match=message):
            check_run(GrpoSettings(**LEAST, **changed))

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    refused("no CUDA device is there: set device: cpu", device="cuda")
    absent = "vLLM is not installed: install trl"
    with monkeypatch.context() as without:
        without.setattr("kgdx_train.language_training.version", missing)
        refused(absent, vllm=True, notation="tools")
        for number, known in (("0.19.1", False), ("0.32.0", False), ("0.24.0+cu129", True)):
            without.setattr("kgdx_train.language_training.version", lambda name, number=number: number)
            if known:
                check_run(GrpoSettings(**LEAST, vllm=True, notation="tools"))
            else:
                refused(f"vLLM is of version {number}, TRL works with 0.22 to 0.31", vllm=True, notation="tools")
    monkeypatch.setenv("WORLD_SIZE", "4")
    refused("batch 48 is no multiple of micro 8 times 4 processes")
    monkeypatch.delenv("WORLD_SIZE")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    refused("2 GPUs are visible to one process: start it by `accelerate launch")
    there = importlib.util.find_spec
    monkeypatch.setattr("kgdx_train.training_run.find_spec", lambda name: None if name == "trl" else there(name))
    with pytest.raises(MissingPackageError, match="pip install kgdx-train"):
        check_run(GrpoSettings(**LEAST))
