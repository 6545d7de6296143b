"""A language model plans graph actions round by round; the answer is then written from what they found.

As DeepDoctor-RAG does it: the model is given the question, what the graph can hold, the actions and what was found so
far, and answers with a list of actions; an empty list, or a limit, ends the rounds. What a plan left over, which
rounds there were and what there is to mend are read from the log, so that the policy itself remembers nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kgdx.actions import ACTIONS
from kgdx.actions.answering import Respond
from kgdx.actions.base import Action, parse_action
from kgdx.actions.checking import MAX_CHARS
from kgdx.actions.describing import Describe
from kgdx.actions.episode import Chosen
from kgdx.actions.pack import pack
from kgdx.actions.reading import Extract
from kgdx.actions.recognising import Recognise
from kgdx.actions.rounds import UNPLANNED as REPLACED
from kgdx.actions.state import Author, Limits, Segment, State
from kgdx.llm.prompts import prompt
from kgdx.llm.protocol import ChatModel, Prices, Request
from kgdx.policies import ROUNDS
from kgdx.policies.asking import ask
from kgdx.policies.briefing import briefing
from kgdx.policies.finishing import Finishing, asked_in, chosen, lost, undescribed
from kgdx.policies.plan import Judged, judge, plan_schema, read_plan
from kgdx.policies.rules import RulesPolicy
from kgdx.policies.writing import groundless, write

FINAL = frozenset({"denied", "rejected", "unreachable", "refused", "missing", "budget"})
"""Kinds of a model's errors after which it is asked no more."""

UNPLANNED = frozenset({"extract", "recognise", "retrieve", "infer", "cite", "respond", "diagnose"})
"""Actions that are no part of a plan: they begin and end an episode, or another one does as much and more."""

OF_A_CASE = frozenset({"rank", "explain", "match"})
"""Actions that need a patient's findings."""

GROUNDLESS = "groundless"
"""Name of the segment that says that a model's answer is not taken."""

MAX_NAME = 200
"""Letters of a model's name that an answer carries."""

FRUITLESS = 2
"""After so many rounds in a row that bring no action, the model is not asked for another."""


@dataclass(frozen=True)
class PlannerPolicy:
    """Ask a language model what to look up, look it up, and have the answer written from it.

    Attributes:
        model: Who plans and writes.
        rounds: Most plans.
        actions: Most actions of a plan.
        ending: How the episode ends when nothing more is looked up.
        limits: What the model may cost; one call is kept for the answer.
        prices: Of a million tokens read and written.
        on_text: Given each piece of the answer as it is written.
        found: Characters of what was found that the model is shown.
        fallback: Whether rules and the template stand in where no plan of the model, or not its answer, can be used.
    """

    model: ChatModel
    rounds: int = ROUNDS
    actions: int = 8
    ending: Finishing = field(default_factory=Finishing)
    limits: Limits = field(default_factory=Limits)
    prices: Prices = (0.0, 0.0)
    on_text: Callable[[str], None] | None = field(default=None, repr=False)
    found: int = 12_000
    fallback: bool = True

    @property
    def name(self) -> str:
        """``planner``."""
        return "planner"

    def choose(self, state: State) -> Chosen:
        """Return the next action of the plan; ask for a plan, or for the answer, where there is none."""
        said: tuple[Segment, ...] = ()
        while True:
            action = self._next(state)
            if action is not None or state.done:
                return Chosen(action, said)
            if not self._may_plan(state):
                action, told = self._by_rules(state)
                if action is None:
                    action, told = self._end(state)
                return Chosen(action, (*said, *told))
            segments = self._plan(state)
            said, state = (*said, *segments), state.logged(*segments)

    def registry(self, state: State) -> Mapping[str, type[Action]]:
        """Return the actions that may be planned."""
        left_out = UNPLANNED if state.case.observed else UNPLANNED | OF_A_CASE
        return {name: kind for name, kind in ACTIONS.items() if name not in left_out}

    def _next(self, state: State) -> Action | None:
        """What is to be done before a model is asked: reading, the rest of a plan, describing what it was about."""
        if state.question and not chosen(state, Recognise()):
            return Recognise()
        if (state.case.text or state.case.findings) and not state.read and not chosen(state, Extract()):
            return Extract()
        if lost(state):
            return None
        left = pending(state, self.registry(state))
        if left:
            return left[0]
        unknown = undescribed(state) if state.question and plans(state) else ()
        return Describe(diseases=unknown) if unknown else None

    def _may_plan(self, state: State) -> bool:
        if not state.question and not state.case.observed:
            return False
        made = plans(state)
        ended = bool(made) and bool(made[-1].parameters.get("ended"))
        recent = made[-FRUITLESS:]
        fruitless = len(recent) == FRUITLESS and not any(each.parameters.get("actions") for each in recent)
        if len(made) >= self.rounds or ended or fruitless or lost(state):
            return False
        return self._may_ask(state, kept=1 if state.question else 0)

    def _may_ask(self, state: State, kept: int = 0) -> bool:
        """Whether the model may be asked: it answers, and the budget holds ``kept`` calls more than this one."""
        if any(segment.parameters.get("kind") in FINAL for segment in state.log if segment.kind == "error"):
            return False
        limits, spent = self.limits, state.spent
        seconds = sum(segment.milliseconds for segment in state.log) / 1000
        used = (spent.calls + kept, spent.prompt_tokens + spent.completion_tokens, spent.cost, seconds)
        most = (limits.calls, limits.tokens, limits.cost, limits.seconds)
        return all(limit is None or amount < limit for amount, limit in zip(used, most, strict=True))

    def _plan(self, state: State) -> tuple[Segment, ...]:
        """Ask for a plan and judge it."""
        number, template, registry = len(plans(state)) + 1, prompt("plan"), self.registry(state)
        shown = briefing(state, registry, number=number, rounds=self.rounds, most=self.actions, room=self.found)
        request = Request(template.messages(**shown), schema=plan_schema(registry))
        said = ask(self.model, request, template.id, prices=self.prices, round=number)
        judged, ended, thought = Judged((), ()), False, ""
        if said.text:
            try:
                reading = read_plan(said.text)
                thought = reading.thought
                before = [action for segment in state.log if (action := _action(segment, registry)) is not None]
                judged = judge(reading.items, registry, before, state.resolved, self.actions)
                ended = not reading.items
            except ValueError as error:
                judged = Judged((), (f"the answer could not be read: {error}",))
        elif said.error is not None and said.error.kind not in FINAL:
            judged = Judged((), ("there was no answer that could be read",))
        planned = [{"action": action.name, **action.parameters()} for action in judged.actions]
        told = {"round": number, "actions": planned, "refused": len(judged.refused), "ended": ended}
        refused = (
            Segment(Author.TOOL, "error", "plan", {"error": "UsageError", "round": number}, content=reason)
            for reason in judged.refused
        )
        reasons = (Segment(Author.POLICY, "thought", self.model.name, {"round": number}, content=thought),)
        plan = Segment(Author.POLICY, "plan", self.name, told)
        return (*said.segments, *(reasons if thought else ()), plan, *refused)

    def _by_rules(self, state: State) -> tuple[Action | None, tuple[Segment, ...]]:
        """The next look-up that the question's words ask for, where no plan of the model could be used."""
        made = plans(state)
        if not self.fallback or not state.question or lost(state):
            return None, ()
        if not made or any(each.parameters.get("actions") or each.parameters.get("ended") for each in made):
            return None, ()
        action = RulesPolicy(self.ending).choose(state)
        if action is None or action == self.ending.choose(state):
            return None, ()
        if any(segment.name == REPLACED for segment in state.log):
            return action, ()
        told = {"error": "LlmError", "plans": len(made)}
        why = f"the model {self.model.name} gave no plan that could be used"
        return action, (Segment(Author.TOOL, "error", REPLACED, told, content=why),)

    def _end(self, state: State) -> tuple[Action | None, tuple[Segment, ...]]:
        """The next action on the way to the end; the answer is written by the model where that can be."""
        action = self.ending.choose(state)
        if not isinstance(action, Respond) or not self._may_ask(state):
            return action, ()
        evidence = pack(state)
        if not evidence.answers:
            return action, ()
        language = action.language or asked_in(state)
        said = write(
            self.model,
            evidence,
            strict=action.strict,
            language=language,
            prices=self.prices,
            on_text=self.on_text,
            again=1 if self._may_ask(state, kept=1) else 0,
        )
        text = said.text[:MAX_CHARS]
        if not text.strip():
            return action, said.segments
        if self.fallback and action.strict and groundless(text, evidence, language):
            why = f"the answer of the model {self.model.name} cites nothing of the evidence, and is left out"
            left_out = Segment(Author.TOOL, "error", GROUNDLESS, {"error": "LlmError"}, content=why)
            return action, (*said.segments, left_out)
        author = self.model.name[:MAX_NAME]
        return action.model_copy(update={"text": text, "author": author}), said.segments


def plans(state: State) -> list[Segment]:
    """Return the plans that an episode has made so far."""
    return [segment for segment in state.log if segment.kind == "plan"]


def pending(state: State, registry: Mapping[str, type[Action]]) -> list[Action]:
    """Return what is left to do of the latest plan.

    Example:
        >>> from kgdx.actions import Rank
        >>> from kgdx.case import Case
        >>> plan = Segment(Author.POLICY, "plan", "planner", {"actions": [{"action": "rank"}]})
        >>> [action.name for action in pending(State(Case("p")).logged(plan), {"rank": Rank})]
        ['rank']
    """
    for number in range(len(state.log) - 1, -1, -1):
        if state.log[number].kind == "plan":
            done = sum(segment.kind == "action" for segment in state.log[number:])
            return [parse_action(each, registry) for each in state.log[number].parameters["actions"][done:]]
    return []


def _action(segment: Segment, registry: Mapping[str, type[Action]]) -> Action | None:
    """The action that a segment records, if it is one of the registry."""
    if segment.kind != "action" or segment.name not in registry:
        return None
    return parse_action({"action": segment.name, **segment.parameters}, registry)
