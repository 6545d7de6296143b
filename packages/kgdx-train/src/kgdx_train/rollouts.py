"""Rollouts for trainers of language models: tags by TRL's ``rollout_func``, JSON calls by its ``environment_factory``.

Both faces run the same wishes as an episode does (:mod:`kgdx.learn.recorded_cases`), so a rollout is a log, its reward
is a function of it, and what the environment wrote is masked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kgdx.episode.conversation import training_sample
from kgdx.episode.loop import Episode, run_many
from kgdx.episode.segment import Segment
from kgdx.episode.state import State
from kgdx.errors import UsageError
from kgdx.learn.recorded_cases import RecordedCases
from kgdx.llm.chat import ChatModel, private_loop, seed_of
from kgdx.policies.tags import TagsPolicy
from kgdx_train.batch_model import BatchModel
from kgdx_train.rewards import Reward, Scoring, reward

Row = dict[str, Any]
PROCESS = 1_000_000_000
"""More rollouts than one process makes."""


def rows(ward: RecordedCases, ids: Iterable[str] | None = None) -> list[Row]:
    """Return the rows of a trainer's data set: the column ``prompt`` names the case, which no model is shown."""
    chosen = ward.ids if ids is None else tuple(ids)
    for id in chosen:
        ward.start(id)
    return [{"prompt": [{"role": "user", "content": id}], "case": id} for id in chosen]


@dataclass
class TagRollouts:
    """TRL's ``rollout_func``: algorithm 1 on the graph, by the policy ``tags``.

    The trainer's model is asked for all rollouts together. Extra fields of what it returns reach reward functions:
    ``reward`` (see :func:`graph_reward`) and ``reason``.
    """

    ward: RecordedCases
    policy: TagsPolicy = field(default_factory=lambda: TagsPolicy(top=0, explain=0))
    scoring: Callable[[float], Scoring] = field(default=lambda progress: Scoring())
    context: int | None = None
    done: int = 0
    """Rollouts so far: the seed of the next one."""

    def __call__(self, prompts: Sequence[Any], trainer: Any) -> dict[str, list[Any]]:
        """Return the rollouts of prompts: token ids, log-probabilities, and the mask of what the model wrote."""
        unwrapped = trainer.accelerator.unwrap_model(trainer.model)
        model = BatchModel(unwrapped, trainer.processing_class, self.context)
        policy = self.policy.model_copy(update={"temperature": trainer.args.temperature})
        progress = trainer.state.global_step / max(trainer.state.max_steps, 1)
        ids = [_case(prompt) for prompt in prompts]
        episodes = self.run(model, policy, ids, getattr(trainer.accelerator, "process_index", 0))
        scoring = self.scoring(min(progress, 1.0))
        rewards = [reward(each.log, self.ward.truth(id), scoring) for each, id in zip(episodes, ids, strict=True)]
        return sampled([each.log for each in episodes]) | {
            "reward": [each.value for each in rewards],
            "reason": [str(each) for each in rewards],
        }

    def run(self, model: ChatModel, policy: TagsPolicy, ids: Sequence[str], process: int = 0) -> list[Episode]:
        """Run a rollout for each case, each with a seed of its own; a case may come several times."""
        policy = policy.model_copy(update={"tokens": True, "remind": False})
        first, self.done = self.done, self.done + len(ids)
        begin = process * PROCESS + first
        seeds = [seed_of(self.ward.seed, begin + number) for number in range(len(ids))]
        starts = [self.ward.start(id, seed=seed, policy=policy) for id, seed in zip(ids, seeds, strict=True)]
        world = self.ward.world_with(model)
        return _run(run_many(world, starts, policy, concurrency=max(len(ids), 1)))


def _run(work: Any) -> list[Episode]:
    found: list[Episode] = asyncio.run_coroutine_threadsafe(work, private_loop()).result()
    return found


def _case(prompt: Any) -> str:
    content = prompt[-1].get("content") if isinstance(prompt, list) and prompt else None
    if not isinstance(content, str):
        raise UsageError("a prompt names no case", hint="train on the rows of kgdx_train.rollouts.rows")
    return content


def sampled(logs: Iterable[Sequence[Segment]]) -> dict[str, list[Any]]:
    """Return logs as a trainer takes them: ``prompt_ids``, ``completion_ids``, ``logprobs``, ``env_mask``."""
    found: dict[str, list[Any]] = {"prompt_ids": [], "completion_ids": [], "logprobs": [], "env_mask": []}
    for log in logs:
        ids, own, logprobs = training_sample(log)
        begin = own.index(True) if True in own else 0
        if not begin:
            raise UsageError("a rollout has no tokens of the model", hint="shorten its prompt, or ask for tokens")
        found["prompt_ids"].append(ids[:begin])
        found["completion_ids"].append(ids[begin:])
        found["logprobs"].append(logprobs[begin:])
        found["env_mask"].append([int(each) for each in own[begin:]])
    return found


def graph_reward(reward: Sequence[float], **_: Any) -> list[float]:
    """TRL's reward function: what :class:`TagRollouts` has found each rollout to be worth."""
    return list(reward)


def scored(ward: RecordedCases, state: State, scoring: Scoring | None = None) -> Reward:
    return reward(state.log, ward.truth(state.case.id), scoring)
