"""What a language model is trained on: cases to sample from, rollouts with rewards, and held-out cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Protocol

from kgdx.episode.conversation import exchanges, spans
from kgdx.episode.segment import Segment
from kgdx.errors import UsageError
from kgdx.llm.chat import Request, prompt
from kgdx.llm.local_model import prompt_ids
from kgdx.policies.tags import PROMPTS, TagsPolicy, presented
from kgdx_train.batch_model import BatchModel
from kgdx_train.rewards import Scoring, declared, reward
from kgdx_train.rollouts import Row, TagRollouts, rows
from kgdx_train.tool_environment import tool_environment

AT_ONCE = 64
"""Rollouts of an evaluation that are sampled together."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one held-out case went, greedily."""

    case: str
    figures: Mapping[str, float]
    words: Mapping[str, Any] = field(repr=False)


class Task(Protocol):
    """What a model is trained on; the graph's is :class:`GraphTask`."""

    done: int
    """Rollouts so far on this process: the seed of the next one."""
    held_out: Sequence[str]
    """What is evaluated on."""

    def rows(self) -> list[Row]:
        """Return the rows that are sampled from: the column ``prompt`` names a case."""

    def check(self, tokenizer: Any, context: int | None) -> None:
        """Refuse a tokenizer or a context that does not do."""

    def sampled(self, prompts: Sequence[Any], trainer: Any) -> dict[str, list[Any]]:
        """Return rollouts as TRL's ``rollout_func`` does, with a column ``reward``."""

    def evaluated(self, model: BatchModel, ids: Sequence[str]) -> list[Outcome]:
        """Return how held-out cases go, greedily."""

    def tools(self) -> Callable[[], Any]:
        """Return TRL's ``environment_factory``, for models that call tools by their own template."""


@dataclass
class GraphTask:
    """Diagnosis on the graph, by tags or calls."""

    rollouts: TagRollouts
    train: Sequence[str] = field(repr=False)
    held_out: Sequence[str] = field(repr=False)

    @property
    def done(self) -> int:
        return self.rollouts.done

    @done.setter
    def done(self, value: int) -> None:
        self.rollouts.done = value

    def rows(self) -> list[Row]:
        return rows(self.rollouts.ward, self.train)

    def check(self, tokenizer: Any, context: int | None) -> None:
        """Refuse a context that the longest prompt does not leave room in."""
        if context is None:
            return
        ward, policy = self.rollouts.ward, self.rollouts.policy
        told = [presented(ward.start(id).case, policy.rules) for id in (*self.train, *self.held_out)]
        longest = max(told, key=lambda each: sum(map(len, each.values())))
        length = len(prompt_ids(tokenizer, Request(prompt(PROMPTS[policy.notation]).messages(**longest))))
        if length >= context:
            what = f"the longest prompt has {length:,} tokens, the context {context:,}"
            raise UsageError(what, hint="raise `context`, or tell less of a case by `known`")

    def tools(self) -> Callable[[], Any]:
        """Return the tools of the graph, an environment for each rollout."""
        policy = self.rollouts.policy
        return tool_environment(self.rollouts.ward, Scoring(rules=policy.rules), policy.result)

    def sampled(self, prompts: Sequence[Any], trainer: Any) -> dict[str, list[Any]]:
        return self.rollouts(prompts, trainer)

    def evaluated(self, model: BatchModel, ids: Sequence[str]) -> list[Outcome]:
        """Return how held-out cases go, greedily."""
        greedy = TagRollouts(self.rollouts.ward, self.rollouts.policy, context=self.rollouts.context)
        policy: TagsPolicy = self.rollouts.policy.model_copy(update={"temperature": 0.0})
        found: list[Outcome] = []
        for at in range(0, len(ids), AT_ONCE):
            some = list(ids[at : at + AT_ONCE])
            for id, episode in zip(some, greedy.run(model, policy, some), strict=True):
                found.append(self._outcome(id, episode.log))
        return found

    def _outcome(self, id: str, log: Sequence[Segment]) -> Outcome:
        truth = self.rollouts.ward.truth(id)
        found = reward(log, truth, Scoring(rules=self.rollouts.policy.rules))
        said, _ = declared(log)
        figures = {
            "reward": found.reported,
            "format": found.parts[0].value,
            "top1": float(bool(truth.ids.intersection(said[:1]))),
            "top5": float(bool(truth.ids.intersection(said[:5]))),
            "requests": float(len(exchanges(log))),
        }
        text = [{"by": "model" if each.own else "graph", "text": each.text} for each in spans(log)]
        return Outcome(id, figures, {"case": id, "why": str(found), "rollout": text})


def means(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Return the means of all figures."""
    names = outcomes[0].figures if outcomes else ()
    return {name: round(fmean(each.figures[name] for each in outcomes), 4) for name in names}
