"""Accuracy on option questions, by arms: what a model searches for before it answers, and what it is shown.

The arms of RAR² (no retrieval, the question, the thought, scaled thoughts), which here can be given facts of the graph,
too. Every arm answers every question, so arms are compared in pairs. A question by an arm is a piece of work that is
kept when it is finished, so that an evaluation goes on wherever it was stopped.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kgdx.answer.artifacts import Fitted, OptionChosen, Searched
from kgdx.answer.option_questions import OptionQuestion
from kgdx.case import Case
from kgdx.episode.conversation import exchanges
from kgdx.episode.loop import Episode, begin, run
from kgdx.episode.policy import make_policy
from kgdx.episode.state import Limits
from kgdx.episode.world import World
from kgdx.errors import UsageError
from kgdx.evaluate.answer_pairs import HOPELESS
from kgdx.evaluate.metrics import compare, interval, milliseconds, wilson
from kgdx.evaluate.option_sets import set_digest
from kgdx.evaluate.runner import ENDS_ALL, Record, Runner, able, finish, kept
from kgdx.llm.chat import ChatModel, Prices, names, prompt
from kgdx.policies.thought import ThoughtPolicy

if TYPE_CHECKING:
    from kgdx.api import Graph

ARMS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "none": {"query": "none"},
        "question": {"query": "question", "facts": False},
        "thought": {"facts": False},
        "graph": {"documents": 0},
        "thought+graph": {},
        "parallel": {"scale": 4},
        "iterative": {"scale": 4, "scaling": "iterative"},
        "votes": {"votes": 5},
    }
)
"""Name → settings of the policy ``thought`` that differ from its own."""

USUAL = ("none", "question", "thought", "thought+graph", "parallel", "iterative")

LIMITS = Limits(steps=500, stagnation=500, errors=500)
"""A policy ends by itself; what fails is counted and gone on without."""

BASELINES = 2
"""The first arms, with which all that come after them are compared."""

GROUPS = ("rests_on", "source", "language")
"""Fields of a question by whose values accuracy is given, too."""


@dataclass(frozen=True)
class OptionArm:
    """A way to answer.

    Attributes:
        model: Name of the model that it asks; the first one where it names none.
    """

    name: str
    policy: ThoughtPolicy
    model: str = ""


def option_arm(name: str) -> OptionArm:
    """Return an arm: one of :data:`ARMS`, settings of the policy behind colons, a model behind an at sign.

    Example:
        >>> option_arm("thought:documents=8:query=thought@tuned").policy.documents
        8
    """
    said, _, model = name.strip().partition("@")
    way, *settings = said.split(":")
    if way not in ARMS:
        hint = f"one of {', '.join(ARMS)}; settings follow it as in thought:documents=8, a model as in thought@MODEL"
        raise UsageError(f"no arm is called {way[:40]!r}", hint=hint)
    given: dict[str, Any] = dict(ARMS[way])
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or key not in ThoughtPolicy.model_fields:
            hint = f"as in documents=8; one of {', '.join(sorted(ThoughtPolicy.model_fields))}"
            raise UsageError(f"the arm {name[:60]!r} has no setting {key[:40]!r}", hint=hint)
        given[key] = value
    policy = make_policy("thought", given)
    assert isinstance(policy, ThoughtPolicy)
    return OptionArm(name.strip(), policy, model)


def varied(arm: str, setting: str) -> Iterator[str]:
    """Yield the names of an arm with each value of a setting."""
    key, equals, values = setting.partition("=")
    if not equals or not values.strip(", "):
        raise UsageError(f"{setting[:60]!r} names no values", hint="as in documents=1,4,8,16,32")
    way, at, model = arm.partition("@")
    for value in values.split(","):
        yield f"{way}:{key.strip()}={value.strip()}{at}{model}"


@dataclass
class OptionEvaluation:
    """Has arms answer option questions, and adds up how they did.

    Attributes:
        arms: Ways to answer; those after the first are compared with it, those after the second with that, too.
        models: Name → model; the first is asked by arms that name none.
    """

    graph: Graph
    arms: Sequence[OptionArm]
    models: Mapping[str, ChatModel]
    prices: Mapping[str, Prices] = field(default_factory=dict)
    jobs: int = 4
    seed: int = 0
    progress: Callable[[], None] = lambda: None

    def run(self, questions: Sequence[OptionQuestion], folder: Path | None = None) -> dict[str, Any]:
        """Answer what is not answered yet, and return the figures; the folder gets them, too.

        Args:
            questions: Those without a right option are counted, and not asked.
        """
        if all(each.gold is None for each in questions):
            raise UsageError("no question says which option is right", hint="give questions with a gold")
        if not self.arms or len({each.name for each in self.arms}) < len(self.arms):
            raise UsageError("no arm, or one of them twice", hint=f"some of {', '.join(ARMS)}")
        asked = {each.id: each for each in questions if each.gold is not None}
        arms, not_run = able([each.name for each in self.arms], self._ready)
        with kept(folder, self._about(questions)) as journal:
            runner = Runner(journal, self.jobs, self.progress)
            try:
                runner.run(asked.items(), arms, self)
            finally:
                rows = [each for each in runner.records if "kind" not in each]
                not_run |= {name: str(error) for name, error in runner.not_run.items()}
                figures = {**self._figures(questions, rows, not_run), "not_run": not_run}
                finish(folder, rows, figures)
            runner.check()
        return figures

    def __call__(self, question: OptionQuestion, name: str) -> Record:
        """Have an arm answer a question; where its model could not be asked, say why."""
        arm = next(each for each in self.arms if each.name == name)
        model = arm.model or next(iter(self.models))
        world = World(self.graph, models={model: self.models[model]}, prices=self.prices.get(model, (0.0, 0.0)))
        start = begin(
            Case("question"),
            arm.policy,
            question=question.question,
            options=question.options,
            seed=self.seed,
            limits=LIMITS,
            fingerprint=self.graph.fingerprint,
        )
        begun = time.perf_counter()
        episode = run(world, start, arm.policy)
        if isinstance(episode.error, HOPELESS):
            raise episode.error
        failed = {each.failed for each in exchanges(episode.log)}
        kind = next((each for each in (*sorted(ENDS_ALL), "unreachable") if each in failed), "")
        if kind:
            what = "the budget of the model is used up" if kind == "budget" else f"the model cannot be asked ({kind})"
            return {"error": what, "kind": kind}
        return measured(question, episode, (time.perf_counter() - begun) * 1000)

    def _ready(self, name: str) -> str:
        arm = next(each for each in self.arms if each.name == name)
        if arm.model and arm.model not in self.models:
            raise UsageError(f"the arm {arm.name[:60]!r} asks a model that is not connected")
        if arm.policy.documents and arm.policy.query != "none":
            self.graph.texts.ranking(arm.policy.sources)  # raises where they cannot be searched
        return name

    def _about(self, questions: Sequence[OptionQuestion]) -> dict[str, Any]:
        return {
            "what": "options",
            "questions": set_digest(questions),
            "graph": self.graph.fingerprint,
            "arms": {each.name: each.policy.model_dump(mode="json") for each in self.arms},
            "models": list(self.models),
            "prompts": [prompt(each).id for each in names() if each.startswith("thought")],
            "seed": self.seed,
        }

    def _figures(
        self, questions: Sequence[OptionQuestion], rows: Iterable[Mapping[str, Any]], not_run: Mapping[str, str]
    ) -> dict[str, Any]:
        asked = {each.id: each for each in questions if each.gold is not None}
        order = [each.name for each in self.arms if each.name not in not_run]
        by: dict[str, dict[str, Mapping[str, Any]]] = {name: {} for name in order}
        for row in rows:
            if row["arm"] in by and row["item"] in asked:
                by[row["arm"]][row["item"]] = row
        pairs = [(name, baseline) for at, baseline in enumerate(order[:BASELINES], 1) for name in order[at:]]
        return {
            "questions": len(questions),
            "without_gold": len(questions) - len(asked),
            "asked": len(asked),
            "models": list(self.models),
            "arms": {name: arm_figures(list(found.values()), asked, self.seed) for name, found in by.items()},
            "differences": [
                {"arm": one, "against": other, **found}
                for one, other in pairs
                if (found := _difference(by[one], by[other], asked, self.seed)) is not None
            ],
            "groups": {
                group: {
                    value: {
                        name: _share([row for id, row in found.items() if getattr(asked[id], group) == value])
                        for name, found in by.items()
                    }
                    for value in sorted({getattr(each, group) for each in asked.values()} - {""})
                }
                for group in GROUPS
            },
            "open": len(asked) * len(order) - sum(map(len, by.values())),
        }


def measured(question: OptionQuestion, episode: Episode, ms: float) -> dict[str, Any]:
    """Return what is kept of a question by an arm; no words of it."""
    state = episode.state
    chosen, fitted = state.get(OptionChosen), state.get(Fitted)
    shown = [] if fitted is None else [each.id for each in fitted.passages]
    spent, letter = state.counts.spent, "" if chosen is None else chosen.letter
    failed = sorted({each.failed for each in exchanges(episode.log)} - {""})
    found = {each.id for searched in state.all(Searched) for each in searched.passages}
    return {
        "letter": letter,
        "right": letter == question.gold,
        "votes": dict(chosen.votes) if chosen is not None else {},
        "shown": len(shown),
        "needed_found": bool(found & {*question.needed}) if question.needed else None,
        "needed_shown": bool({*shown} & {*question.needed}) if question.needed else None,
        "calls": spent.calls + spent.cached,
        "read": spent.prompt_tokens,
        "written": spent.completion_tokens,
        "cost": round(spent.cost, 9),
        "ms": round(ms, 3),
        "error": ", ".join(failed) or (str(episode.error) if episode.error is not None else ""),
    }


def arm_figures(
    rows: Sequence[Mapping[str, Any]], asked: Mapping[str, OptionQuestion], seed: int = 0
) -> dict[str, Any] | None:
    """Return the figures of an arm; ``None`` where it answered nothing."""
    if not rows:
        return None
    subjects = [_subject(asked[row["item"]]) for row in rows]
    about = interval([float(row["right"]) for row in rows], subjects, seed=seed)
    right, n = sum(row["right"] for row in rows), len(rows)
    low, high = (about["low"], about["high"]) if 0 < right < n and about["low"] is not None else wilson(right, n)
    needing = [row for row in rows if row["needed_shown"] is not None]
    letters = Counter(row["letter"] for row in rows if row["letter"])
    shown = sorted({letter for row in rows for letter in asked[row["item"]].options})
    return {
        "n": n,
        "accuracy": {"share": right / n, "low": low, "high": high},
        "chance": sum(1 / len(asked[row["item"]].options) for row in rows) / n,
        "letters": {letter: letters[letter] / max(1, letters.total()) for letter in shown},
        "unreadable": sum(not row["letter"] for row in rows) / n,
        "needed": {
            "n": len(needing),
            "found": sum(row["needed_found"] for row in needing) / len(needing) if needing else None,
            "shown": sum(row["needed_shown"] for row in needing) / len(needing) if needing else None,
        },
        **{name: sum(row[name] for row in rows) / n for name in ("shown", "calls", "read", "written")},
        "cost": round(sum(row["cost"] for row in rows), 9),
        **milliseconds([row["ms"] for row in rows]),
        "errors": dict(Counter(row["error"][:120] for row in rows if row["error"]).most_common(5)),
    }


def _difference(
    one: Mapping[str, Mapping[str, Any]],
    other: Mapping[str, Mapping[str, Any]],
    asked: Mapping[str, OptionQuestion],
    seed: int,
) -> dict[str, Any] | None:
    """Two arms over the questions that both answered; the sign test of those that only one has right is McNemar's."""
    ids = [id for id in one if id in other]
    if not ids:
        return None
    first, second = ([float(rows[id]["right"]) for id in ids] for rows in (one, other))
    return compare(first, second, [_subject(asked[id]) for id in ids], margin=0.5, seed=seed)


def _share(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"n": len(rows), "accuracy": sum(row["right"] for row in rows) / len(rows) if rows else None}


def _subject(question: OptionQuestion) -> str:
    return question.subject or question.id
