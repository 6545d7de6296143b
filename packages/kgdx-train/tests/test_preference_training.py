"""A language model is trained by DPO on pairs by one command; its reference stays as it was; a killed run goes on."""

from __future__ import annotations

import importlib
import json
import math
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean
from types import ModuleType
from typing import Any, ClassVar

import pytest
import yaml

from conftest import ROOT, require_module
from kgdx.errors import ConfigError, MissingPackageError, StoreError, UsageError
from kgdx_train.language_run import CURVE, EVALUATIONS, FINAL, SAMPLES, RunFolder
from kgdx_train.language_settings import Adapter, DpoSettings
from kgdx_train.preference_pairs import Pair, write_pairs
from kgdx_train.preference_training import PreferenceTraining, pair_training

pytestmark = pytest.mark.filterwarnings("ignore")  # of trl, transformers and torch


@pytest.fixture(scope="module")
def toy() -> Iterator[ModuleType]:
    for name in ("torch", "trl", "datasets", "peft"):
        require_module(name, "train")
    import torch

    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as path:
        path.syspath_prepend(str(ROOT))
        yield importlib.import_module("benchmarks.dpo_toy")


@pytest.fixture(scope="module")
def model(toy: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model that has learnt nothing."""
    folder: Path = tmp_path_factory.mktemp("models") / "model"
    made: Path = toy.make_model(folder, [" ".join((*toy.FINDINGS, *toy.DISEASES))] * 8, template=toy.TEMPLATE)
    return made


@pytest.fixture
def training(toy: ModuleType, model: Path, tmp_path: Path) -> Callable[..., PreferenceTraining]:
    """Makes a training of the tiny model on 24 pairs, four updates long."""

    def made(name: str = "run", kind: type = PreferenceTraining, tell: Any = lambda line: None, **changed: Any) -> Any:
        settings = {"batch": 8, "micro": 4, "epochs": 2, "held_out": 0.3, "rate": 1e-3, "device": "cpu"}
        settings |= {"save": 2, "evaluate": 2, "samples": 1, **changed}
        pairs = list(toy.pairs(12, 0))
        return kind(DpoSettings(model=str(model), pairs="", **settings), pairs, tmp_path / name, tell=tell)

    return made


def configured(folder: Path, pairs: list[Pair], model: Path | str = "model", **changed: Any) -> Path:
    write_pairs(folder / "pairs.jsonl", pairs, {"model": "m"})
    settings = {"model": str(model), "pairs": "pairs.jsonl", "batch": 4, "micro": 4, "epochs": 1, "held_out": 0.3}
    file = folder / "dpo.yaml"
    file.write_text(yaml.safe_dump({**settings, "device": "cpu", "samples": 0, **changed}))
    return file


def pair(number: int, kind: str = "thought") -> Pair:
    prompt = ({"role": "user", "content": "which?"},)
    return Pair(f"q{number}", kind, prompt, "good", "bad", (0, 1), str(number))  # type: ignore[arg-type]


def test_what_is_not_set_is_as_the_paper_says(tmp_path: Path) -> None:
    (tmp_path / "dpo.yaml").write_text("model: m\npairs: p.jsonl\n")
    found = DpoSettings.read(tmp_path / "dpo.yaml")
    assert (found.beta, found.epochs, found.batch, found.rate) == (0.2, 4, 64, 1e-6)
    assert found.pairs == str(tmp_path / "p.jsonl") and found.kinds == "both"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"steps": 4}, "there is no key 'steps'"),
        ({"batch": 10}, "batch 10 is no multiple of micro 4"),
        ({"kinds": "step"}, "kinds: Input should be 'both', 'thought' or 'answer'"),
        ({"beta": 0}, "beta: Input should be"),
        ({"held_out": 1.0}, "held_out: Input should be"),
    ],
)
def test_what_cannot_be_is_one_line(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        DpoSettings.read(configured(tmp_path, [], **changed))
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("pairs", "changed", "said"),
    [
        ([], {}, "holds no pair: its first line says why"),
        ([pair(1), pair(2)], {}, "holds no pair of answers: set `kinds: thought`"),
        ([pair(1, "answer")], {"kinds": "thought"}, "holds no pair of thoughts: set `kinds: answer`"),
    ],
)
def test_pairs_that_do_not_do_are_one_line_before_anything_is_loaded(
    toy: ModuleType, tmp_path: Path, pairs: list[Pair], changed: dict[str, Any], said: str
) -> None:
    settings = DpoSettings.read(configured(tmp_path, pairs, **changed))
    with pytest.raises(UsageError, match=said):
        pair_training(settings, tmp_path / "run")


def test_what_is_not_installed_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgdx_train.training_run.find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match="pip install kgdx-train"):
        pair_training(DpoSettings.read(configured(tmp_path, [pair(1)])), tmp_path / "run")


@pytest.mark.heavy
def test_one_command_trains_and_an_ablation_takes_one_kind(toy: ModuleType, model: Path, tmp_path: Path) -> None:
    configured(tmp_path, list(toy.pairs(9, 0)), model, kinds="answer")
    command = [sys.executable, "-m", "kgdx", "train", "dpo", str(tmp_path / "dpo.yaml"), "-o", str(tmp_path / "run")]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "6 pairs of answers to train on, 3 pairs of answers held out" in done.stderr
    run = RunFolder(tmp_path / "run")
    assert json.loads(done.stdout) == run.rows(EVALUATIONS)[-1] and [row["step"] for row in run.rows(CURVE)] == [1, 2]
    assert {"accuracy", "margin", "loss", "seconds"} <= set(run.rows(CURVE)[0])
    assert (run.path / FINAL / "model.safetensors").exists() and (run.path / "versions.json").exists()
    assert not list(run.path.rglob("*.bin")) and not list(run.path.rglob("*.pkl"))
    told: list[str] = []
    pair_training(DpoSettings.read(tmp_path / "dpo.yaml"), run.path, told.append).run()
    assert "goes on from checkpoint-2" in told and len(run.rows(CURVE)) == 2
    configured(tmp_path, list(toy.pairs(10, 0)), model, kinds="answer")
    with pytest.raises(UsageError, match="holds a run with other settings"):
        pair_training(DpoSettings.read(tmp_path / "dpo.yaml"), run.path, told.append).run()


@pytest.mark.heavy
@pytest.mark.parametrize("adapter", [None, Adapter(rank=2, alpha=4)])
def test_the_reference_is_the_initial_model_all_the_time(
    training: Callable[..., PreferenceTraining], adapter: Adapter | None
) -> None:
    """A loss of log 2 says that model and reference agree; a run that goes on has the same reference as before."""
    training(adapter=adapter).run()
    run = RunFolder(training().folder)
    first, *_, last = run.rows(CURVE)
    assert first["loss"] == pytest.approx(math.log(2), abs=1e-6) and first["margin"] == 0.0
    assert last["margin"] > 0.0
    moved = abs(last["logp_chosen"] - first["logp_chosen"])
    assert moved > 0.0
    kinds = {(row["step"], row["kind"]) for row in run.rows(EVALUATIONS)}
    assert kinds == {(step, kind) for step in (2, 4) for kind in ("thought", "answer")}
    assert {row["kind"] for row in run.rows(SAMPLES)} == {"thought", "answer"}


class Disturbed(PreferenceTraining):
    """Something happens after an update."""

    happens: ClassVar[Callable[[PreferenceTraining, int], object]]

    def trainer(self, run: RunFolder, model: Any, tokenizer: Any) -> Any:
        from transformers import TrainerCallback

        happens = type(self).happens

        class Hearing(TrainerCallback):  # type: ignore[misc]
            def on_step_end(_, args: Any, state: Any, control: Any, **more: Any) -> None:
                happens(self, state.global_step)

        made = super().trainer(run, model, tokenizer)
        made.add_callback(Hearing())
        return made


class Doomed(Disturbed):
    def happens(self, step: int) -> None:
        if step == 3:
            os.kill(os.getpid(), signal.SIGKILL)


class Filling(Disturbed):
    def happens(self, step: int) -> None:
        if step == 1:
            (self.folder / EVALUATIONS).symlink_to("/dev/full")


@pytest.mark.heavy
@pytest.mark.parametrize("adapter", [None, Adapter(rank=2, alpha=4)])
def test_a_run_that_was_killed_goes_on_to_the_same_model(
    training: Callable[..., PreferenceTraining], adapter: Adapter | None
) -> None:
    from safetensors.numpy import load_file

    doomed = training("killed", Doomed, adapter=adapter)
    process = multiprocessing.get_context("fork").Process(target=doomed.run)
    process.start()
    process.join(120)
    assert process.exitcode == -signal.SIGKILL
    killed, whole = (RunFolder(training(name).folder) for name in ("killed", "whole"))
    assert [row["step"] for row in killed.rows(CURVE)] == [1, 2]
    training("killed", adapter=adapter).run()
    training("whole", adapter=adapter).run()
    for name in (CURVE, EVALUATIONS, SAMPLES):
        one, other = ([{**row, "seconds": 0} for row in run.rows(name)] for run in (killed, whole))
        assert one == other and one
    file = "model.safetensors" if adapter is None else "adapter_model.safetensors"
    one, other = (load_file(run.path / FINAL / file) for run in (killed, whole))
    assert all((one[name] == other[name]).all() for name in one)


@pytest.mark.heavy
def test_numbers_that_are_none_end_the_run_with_a_line(
    toy: ModuleType, training: Callable[..., PreferenceTraining], tmp_path: Path
) -> None:
    from safetensors.numpy import load_file, save_file

    folder = toy.make_model(tmp_path / "nan", ["some words"], template=toy.TEMPLATE)
    file = folder / "model.safetensors"
    save_file({name: array * float("nan") for name, array in load_file(file).items()}, file, {"format": "pt"})
    with pytest.raises(UsageError, match="of update 1 is nan: lower the rate"):
        made = training(samples=0)
        made.settings = made.settings.model_copy(update={"model": str(folder)})
        made.run()


@pytest.mark.heavy
def test_a_tokenizer_without_a_template_and_pairs_that_do_not_fit_are_one_line(
    toy: ModuleType, training: Callable[..., PreferenceTraining], tmp_path: Path
) -> None:
    folder = toy.make_model(tmp_path / "plain", ["some words"], template=toy.TEMPLATE)
    (folder / "chat_template.jinja").unlink()
    made = training()
    made.settings = made.settings.model_copy(update={"model": str(folder)})
    with pytest.raises(UsageError, match="the tokenizer has no chat template"):
        made.run()
    told: list[str] = []
    long = training("long", context=64, tell=told.append)
    long.pairs = [each for each in long.pairs if each.kind == "thought"]
    wide = Pair("wide", "thought", ({"role": "user", "content": "word " * 200},), "a", "b", (0, 1), "wide")
    long.pairs.append(wide)  # type: ignore[attr-defined]
    long.run()
    assert "1 of 13 pairs do not fit into the context" in told
    none = training("none", context=64)
    none.pairs = [wide]
    with pytest.raises(UsageError, match="no pair fits into the context of 64 tokens: raise `context`"):
        none.run()


@pytest.mark.heavy
def test_marks_of_the_template_in_a_text_begin_no_turn(toy: ModuleType, model: Path) -> None:
    from transformers import AutoTokenizer

    from kgdx_train.preference_training import _row

    tokenizer = AutoTokenizer.from_pretrained(model)
    hostile = Pair("q", "answer", ({"role": "user", "content": "a </s>"},), "b </s> c", "d", (0, 1), "q")
    row = _row(tokenizer, hostile)
    ids = tokenizer.apply_chat_template(row["prompt"] + row["chosen"], tokenize=True, return_dict=False)
    assert ids.count(tokenizer.eos_token_id) == 1 and ids[-1] == tokenizer.eos_token_id


@pytest.mark.heavy
def test_a_full_disk_ends_the_run_with_a_line(training: Callable[..., PreferenceTraining], tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs a device that is always full")
    with pytest.raises(StoreError, match="No space left on device.*goes on from its last checkpoint"):
        training(kind=Filling, samples=0).run()


@pytest.mark.heavy
def test_pairs_are_put_in_order_by_sixty_updates(toy: ModuleType, model: Path, tmp_path: Path) -> None:
    run = toy.trained(tmp_path, model, "both", 0, batch=32, micro=32, epochs=1, evaluate=0, rate=2e-3)
    rows = run.rows(CURVE)
    assert len(rows) <= 61
    assert fmean(row["accuracy"] for row in rows[-5:]) >= 0.95
