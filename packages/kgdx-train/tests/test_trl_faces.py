"""TRL's own trainer takes both faces: a step on rollouts of tags, and the tools of the environment by their schemas."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from conftest import require_module
from kgdx.config import LlmAccess
from kgdx.episode import run
from kgdx.episode.conversation import training_sample
from kgdx.learn.recorded_cases import RecordedCases
from kgdx.llm.connect import connect
from kgdx.policies.tags import TagsPolicy
from kgdx_train.rewards import EVEN, least
from kgdx_train.rollouts import TagRollouts, graph_reward, rows
from kgdx_train.tool_environment import tool_environment
from llm.test_local_model import TOOLS, made

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings("ignore"),  # of trl, transformers and torch
]


@pytest.fixture(scope="module")
def trl() -> Any:
    for name in ("torch", "trl", "datasets"):
        require_module(name, "train")
    os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    import trl

    torch.set_num_threads(1)
    return trl


def loaded(folder: Path) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder)
    model.config.max_position_embeddings = 8_192
    return model, AutoTokenizer.from_pretrained(folder)


def settings(trl: Any, folder: Path) -> Any:
    return trl.GRPOConfig(
        output_dir=str(folder),
        per_device_train_batch_size=2,
        num_generations=2,
        max_steps=2,
        max_completion_length=8,
        logging_steps=1,
        report_to="none",
        use_cpu=True,
        bf16=False,
        save_strategy="no",
        disable_tqdm=True,
    )


def test_a_trainer_takes_steps_on_rollouts_of_tags(ward: RecordedCases, trl: Any, tmp_path: Path) -> None:
    import torch
    from datasets import Dataset

    model, tokenizer = loaded(made(tmp_path / "model", torch))
    rollouts = TagRollouts(ward, TagsPolicy(top=0, explain=0, max_tokens=8), context=8_192)
    trainer = trl.GRPOTrainer(
        model=model,
        args=settings(trl, tmp_path),
        processing_class=tokenizer,
        rollout_func=rollouts,
        reward_funcs=graph_reward,
        train_dataset=Dataset.from_list(rows(ward)),
    )
    trainer.train()
    told = [each["reward"] for each in trainer.state.log_history if "reward" in each]
    assert rollouts.done == 4 and told == pytest.approx([least(EVEN)] * 2)


def test_a_trainer_takes_the_tools_of_the_environment(ward: RecordedCases, trl: Any, tmp_path: Path) -> None:
    import torch
    from datasets import Dataset

    model, tokenizer = loaded(made(tmp_path / "model", torch))
    tokenizer.chat_template = TOOLS
    tokenizer.response_template = {"defaults": {"role": "assistant"}, "fields": {"content": {}}}
    trainer = trl.GRPOTrainer(
        model=model,
        args=settings(trl, tmp_path),
        processing_class=tokenizer,
        environment_factory=tool_environment(ward),
        train_dataset=Dataset.from_list(rows(ward)),
    )
    assert sorted(each.__name__ for each in trainer.tools) == ["diagnose", "lookup", "match", "search"]
    trainer.train()
    assert [each["reward"] for each in trainer.state.log_history if "reward" in each] == pytest.approx(
        [least(EVEN)] * 2
    )


def test_a_model_in_this_process_writes_tags_whose_tokens_are_kept(
    ward: RecordedCases, trl: Any, tmp_path: Path
) -> None:
    import torch

    folder = made(tmp_path, torch)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 8_192}))
    policy = TagsPolicy(tokens=True, max_tokens=6, notation="calls")
    model = connect(LlmAccess(str(folder), "transformers", device="cpu", timeout=60.0))
    episode = run(ward.world_with(model), ward.start("one", policy=policy), policy)
    ids, own, logprobs = training_sample(episode.log)
    assert episode.reason == "diagnosed", "what a model leaves open, the graph ranks"
    assert len(ids) == len(own) == len(logprobs) and 0 < sum(own) <= 2 * 6, "a reply, and one after the reminder"
