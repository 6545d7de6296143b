"""A language model plans graph actions round by round; the answer is then written from what they found.

Where its plans find nothing, what the question's words ask for is looked up by rules, so that a model never leaves
less; with ``rules`` that comes first, and the model adds to it. As DeepDoctor-RAG does it: the model is given the
question, the actions and what was found so far, and answers with a list of actions; an empty list, or a limit, ends the
rounds. What a plan left over, which rounds there were and what there is to mend are read from the log, so that the
policy itself remembers nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from kgdx.actions.describing import Describe
from kgdx.actions.reading import Recognise
from kgdx.answer.artifacts import Retrieved
from kgdx.episode.conversation import exchanges
from kgdx.episode.lookup_rounds import UNPLANNED
from kgdx.episode.operations import Operations
from kgdx.episode.policy import Capabilities
from kgdx.episode.segment import Kind, Segment
from kgdx.episode.state import Artifact, Reads, State
from kgdx.episode.wish import ACTIONS, Action, AskModel, Remark, Wish, parse_action, wish_of
from kgdx.llm.chat import prompt
from kgdx.llm.structured import parse
from kgdx.policies.briefing import briefing
from kgdx.policies.finishing import FINAL, EndingPolicy, WritingPolicy, lost, name_of, undescribed
from kgdx.policies.plan_text import Planned, WrittenPlan, judge, plan_schema
from kgdx.policies.question_rules import RulesPolicy

MAX_ROUNDS = 50

FRUITLESS = 2
"""After so many rounds in a row that bring no action, the model is not asked for another."""


class ReadPlan(Action):
    """Read the plan that a model wrote, and judge it action by action."""

    name: ClassVar[str] = "read_plan"
    makes: ClassVar[type[Artifact]] = Planned
    planned: ClassVar[bool] = False
    pure: ClassVar[bool] = True

    round: int
    """Which round it is."""
    actions: tuple[str, ...]
    """Names of the actions that may be planned."""
    most: int = 8
    """Most actions of a plan."""

    @property
    def sees(self) -> tuple[Reads, ...]:
        return ("log", Retrieved)

    def run(self, graph: Operations, view: State) -> Planned:
        said = exchanges(view.log, "plan@")[-1]
        if not said.text:
            refused = () if said.failed in FINAL else ("there was no answer that could be read",)
            return Planned(self.round, refused=refused, failed=True)
        registry = {name: ACTIONS.get(name) for name in self.actions}
        try:
            reading, _ = parse(said.text, WrittenPlan)
        except ValueError as error:
            return Planned(self.round, refused=(f"the answer could not be read: {error}",), failed=bool(said.failed))
        resolved = [each for found in view.all(Retrieved) for each in found.resolved]
        actions, unfit = judge(reading.items, registry, tuple(_done(view.log, registry)), resolved, self.most)
        return Planned(
            self.round,
            tuple({"action": action.name, **action.parameters()} for action in actions),
            unfit,
            ended=not reading.items,
            failed=bool(said.failed) and not actions,
            thought=reading.thought,
        )


def _done(log: Sequence[Segment], registry: Mapping[str, type[Action]]) -> Iterator[Action]:
    for segment in log:
        if segment.kind is Kind.WISH and segment.name in registry:
            action = wish_of(segment.name, {**segment.data, **segment.words})
            assert isinstance(action, Action)
            yield action


class PlannerPolicy(WritingPolicy):
    """Ask a language model what to look up, look it up, and have the answer written from it."""

    name: ClassVar[str] = "planner"
    capabilities: ClassVar[Capabilities] = Capabilities(answers=True, models=True)

    rounds: Annotated[int, Field(ge=1, le=MAX_ROUNDS)] = 5
    """Most plans."""
    rules: bool = False
    """Whether what rules look up comes before the first plan, where :attr:`fallback` holds."""
    actions: int = 8
    """Most actions of a plan."""
    found: int = 700
    """Characters of what was found that the model is shown."""

    def choose(self, state: State) -> Wish | None:
        """Return the next action of the plan; ask for a plan, or for the answer, where there is none."""
        wish = self._before(state)
        if wish is not None or lost(state):
            return wish or self.ending(state)
        registry, made = self.registry(state), plans(state)
        if len(exchanges(state.log, "plan@")) > len(made):
            return ReadPlan(round=len(made) + 1, actions=tuple(sorted(registry)), most=self.actions)
        if left := pending(state, registry):
            return left[0]
        if state.question and made and (unknown := undescribed(state)):
            return Describe(diseases=unknown)
        if self.rules and not made and (action := self._by_rules(state)) is not None:
            return action
        if self._may_plan(state, made):
            return self._plan(state, registry, len(made) + 1)
        return self._unplanned(state, made) or self.finish(state)

    def close(self, state: State) -> Wish | None:
        return self.finish(state, ask=False)

    def registry(self, state: State) -> dict[str, type[Action]]:
        findings = bool(state.case.observed)
        return {name: kind for name, kind in ACTIONS.items() if kind.planned and (findings or not kind.needs_findings)}

    def _before(self, state: State) -> Wish | None:
        if state.question and not state.tried(Recognise()):
            return Recognise()
        return next((action for action in self.reading(state) if not state.tried(action)), None)

    def _may_plan(self, state: State, made: list[Mapping[str, Any]]) -> bool:
        if not state.question and not state.case.observed:
            return False
        recent = made[-FRUITLESS:]
        fruitless = len(recent) == FRUITLESS and not any(each["actions"] for each in recent)
        if len(made) >= self.rounds or (made and made[-1]["ended"]) or fruitless:
            return False
        return self.may_ask(state, kept=1 if state.question else 0)

    def _plan(self, state: State, registry: Mapping[str, type[Action]], number: int) -> AskModel:
        template = prompt("plan")
        shown = briefing(state, registry, number=number, rounds=self.rounds, most=self.actions, room=self.found)
        return AskModel(
            prompt=template.id,
            messages=template.messages(**shown),
            output=plan_schema(registry),
            temperature=self.temperature,
        )

    def _by_rules(self, state: State) -> Action | None:
        if not self.fallback or not state.question:
            return None
        return RulesPolicy(**self.model_dump(include=set(EndingPolicy.model_fields))).look_up(state)

    def _unplanned(self, state: State, made: list[Mapping[str, Any]]) -> Wish | None:
        if not self.fallback or not state.question or not made:
            return None
        planned = any(each["actions"] for each in made)
        told = any(each.name == Remark.name and each.data.get("code") == UNPLANNED for each in state.log)
        if planned and not told and any(found.rows for found in state.all(Retrieved)):
            return None
        action, empty = self._by_rules(state), all(each["ended"] for each in made)
        if action is None and (empty or not self.rules):
            return None
        why = "planned no look-up" if empty else "gave no plan that could be used"
        why = "planned nothing that the graph has" if planned else why
        remark = Remark(code=UNPLANNED, text=f"the model {name_of(exchanges(state.log))} {why}")
        return action if state.tried(remark) else remark


def plans(state: State) -> list[Mapping[str, Any]]:
    return [each.data["artifact"] for each in state.log if each.kind is Kind.RESULT and each.name == "read_plan"]


def pending(state: State, registry: Mapping[str, type[Action]]) -> list[Action]:
    """Return what is left to do of the latest plan."""
    for number in range(len(state.log) - 1, -1, -1):
        segment = state.log[number]
        if segment.kind is Kind.RESULT and segment.name == "read_plan":
            done = sum(each.kind is Kind.WISH and each.name in ACTIONS for each in state.log[number:])
            return [parse_action(each, registry) for each in segment.data["artifact"]["actions"][done:]]
    return []
