"""Policies: who decides what happens next in an episode. A method of diagnosis is a policy, in a file of its own.

A policy is a pure function of the state: it does no I/O, reads no clock and remembers nothing. What it has to know
from one choice to the next is in the log.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from kgdx.episode.operations import GraphLike
from kgdx.episode.segment import Kind
from kgdx.episode.state import State
from kgdx.episode.wish import ACTIONS, Wish
from kgdx.errors import UsageError, first_fault
from kgdx.registry import Registry


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a policy can do and what it needs; nobody has to know it by name.

    Attributes:
        diagnoses: It can rank and declare diseases for a case.
        answers: It can answer a question.
        asks: It asks the patient, so its episodes may wait.
        may_ask: It asks the patient where its setting ``patient`` says so, and does without otherwise.
        models: It asks language models.
        chooses: It can choose one of the options that come with a question.
        extra: The optional dependencies that it needs, as in ``pip install "kgdx[EXTRA]"``; empty for none.
    """

    diagnoses: bool = True
    answers: bool = False
    asks: bool = False
    may_ask: bool = False
    models: bool = False
    chooses: bool = False
    extra: str = ""


P = TypeVar("P", bound="Policy")


class Policy(BaseModel, ABC):
    """Decides what happens next. Its fields are its settings: the command line, HTTP and the log share their schema.

    Example:
        >>> from kgdx.case import Case
        >>> from kgdx.policies import FixedPolicy
        >>> FixedPolicy(top=3).choose(State(Case("p"))).name
        'extract'
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, defer_build=True)

    name: ClassVar[str]
    capabilities: ClassVar[Capabilities] = Capabilities()

    @property
    def trained_by(self) -> str:
        return ""

    def suited(self, graph: GraphLike) -> Policy:
        return self

    @abstractmethod
    def choose(self, state: State) -> Wish | None:
        """Return what should happen next; ``None`` when there is nothing more to do."""

    def close(self, state: State) -> Wish | None:
        """Return what brings an episode to its end after a limit: at most 8 wishes, ``None`` when it is done.

        The default declares a ranking that is there.
        """
        declare = ACTIONS.get("diagnose")()
        return None if state.question or declare.refused(state) else declare


Story = Callable[[State], Generator[Wish, State, None]]


class Script(Policy):
    """A policy told as a generator: ``state = yield wish``, from the beginning to the end.

    The generator is told again from the log for each choice, so that it needs no memory; it has to be a pure function
    of the states that it is sent.

    Example:
        >>> from kgdx.actions import Rank
        >>> from kgdx.case import Case
        >>> def story(state):
        ...     state = yield Rank(top=5)
        >>> Script(story=story).choose(State(Case("p"))).top
        5
    """

    name: ClassVar[str] = "script"

    story: Story

    def choose(self, state: State) -> Wish | None:
        """Return the wish that follows those of the log."""
        told = self.story(state)
        wish = next(told, None)
        for segment in state.log:
            if segment.kind is Kind.WISH:
                if wish is None or (segment.name, segment.data) != (wish.name, wish.parameters()):
                    raise UsageError("the script differs from its log", hint="resume with the script that began it")
                try:
                    wish = told.send(state)
                except StopIteration:
                    wish = None
        return wish


POLICIES: Registry[Policy] = Registry(
    "policy",
    "kgdx.policies",
    {
        "fixed": "kgdx.policies.fixed:FixedPolicy",
        "rules": "kgdx.policies.question_rules:RulesPolicy",
        "planner": "kgdx.policies.planner:PlannerPolicy",
        "rerank": "kgdx.policies.rerank:RerankPolicy",
        "inquiry": "kgdx.policies.inquiry:InquiryPolicy",
        "rounds": "kgdx.policies.inquiry:RoundsPolicy",
        "doctor": "kgdx.policies.doctor:DoctorPolicy",
        "tags": "kgdx.policies.tags:TagsPolicy",
        "thought": "kgdx.policies.thought:ThoughtPolicy",
        "second_reader": "kgdx.policies.second_reader:SecondReader",
        "doctor_by_rules": "kgdx.policies.doctor:RulesDoctorPolicy",
    },
    gone={"learned": "use --policy rounds, which does better; docs/how-to/learned-policy.md trains one of your own"},
)
"""Name → policy; installed packages add theirs by entry points of the group ``kgdx.policies``."""


def default_policy(what: Literal["answers", "diagnoses", "chooses"], *, models: bool = False) -> str:
    """Return the policy that is taken where nobody names one: the first built-in one that can do it and asks nobody.

    Example:
        >>> default_policy("diagnoses"), default_policy("answers"), default_policy("answers", models=True)
        ('fixed', 'rules', 'planner')
    """
    for name in POLICIES.builtin:
        can = POLICIES.get(name).capabilities
        if getattr(can, what) and can.models is models and not can.asks:
            return name
    raise UsageError(f"no policy {what}", hint="name one")


def make_policy(name: str, /, wanted: Mapping[str, Any] | None = None, **usual: Any) -> Policy:
    """Make a policy by name; it has to have the settings that somebody wanted, and may lack the usual ones.

    Example:
        >>> make_policy("fixed", {"top": 3}).top, make_policy("fixed:top=4,explain=2", top=10).top
        (3, 4)
    """
    name, _, settings = name.partition(":")
    kind = POLICIES.get(name)
    pairs = (each.partition("=") for each in settings.split(",") if each)
    given = {key.strip(): value.strip() for key, _, value in pairs} | dict(wanted or {})
    return configure(kind, {key: value for key, value in usual.items() if key in kind.model_fields} | given)


def configure(kind: type[P], settings: Mapping[str, Any]) -> P:
    """Return a policy of a class with settings."""
    unknown = sorted(settings.keys() - kind.model_fields.keys())
    if unknown:
        known = ", ".join(sorted(kind.model_fields)) or "none"
        raise UsageError(f"the policy {kind.name} has no setting {unknown[0]!r}", hint=f"its settings: {known}")
    try:
        return kind.model_validate(dict(settings))
    except ValidationError as error:
        raise UsageError(f"policy {kind.name}: {first_fault(error)}", hint="mend the setting") from error
