"""A language model plans graph actions round by round; the answer is then written from what they found.

What the question's words ask for is looked up by rules first, so that a model never leaves less, and the model is shown
what rules answer: it lets that stand, or looks up what is missing and writes the answer. As DeepDoctor-RAG does it: the
model is given the question, the actions and what was found so far, and answers with a list of actions; an empty list,
or a limit, ends the rounds. What a plan left over, which rounds there were and what there is to mend are read from the
log, so that the policy itself remembers nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, Field, model_validator

from kgdx.actions.answering import Draft, Respond
from kgdx.actions.describing import Describe, NameFound
from kgdx.actions.reading import Recognise
from kgdx.answer.artifacts import Named, Retrieved, mentions_of
from kgdx.answer.evidence_pack import clean, pack
from kgdx.answer.wants import Want
from kgdx.case import Case
from kgdx.episode.conversation import exchanges
from kgdx.episode.described import purpose
from kgdx.episode.lookup_rounds import rounds_of
from kgdx.episode.operations import Operations
from kgdx.episode.policy import Capabilities
from kgdx.episode.segment import Kind, Segment
from kgdx.episode.state import Artifact, Reads, State
from kgdx.episode.wish import ACTIONS, UNPLANNED, Action, AskModel, Remark, Wish, parse_action, wish_of
from kgdx.errors import UsageError
from kgdx.llm.chat import prompt
from kgdx.llm.structured import parse
from kgdx.policies.finishing import FINAL, EndingPolicy, WritingPolicy, drafted, lost, name_of, quoted, undescribed
from kgdx.policies.question_rules import RulesPolicy
from kgdx.results.cited import LookupStep, Resolved

REASON = 300
"""Letters of a reason at most that a model is told."""

_NAMES = ("action", "name", "tool", "function")

_FIELDS = ("parameters", "arguments", "args", "params", "input")
"""Keys under which models put the fields of an action that belong beside its name."""


@dataclass(frozen=True, slots=True)
class Planned(Artifact):
    """A plan after it was read and judged."""

    depends: ClassVar[tuple[Reads, ...]] = ()
    kept: ClassVar[bool] = True
    many: ClassVar[bool] = True

    round: int
    actions: tuple[dict[str, Any], ...] = field(default=(), hash=False)
    refused: tuple[str, ...] = ()
    ended: bool = False
    failed: bool = False
    verdict: str = ""
    """``stands`` where what rules answer is the answer, ``enough`` where nothing further is to be planned."""
    thought: str = field(default="", repr=False)

    def to_data(self) -> dict[str, Any]:
        lists = {"actions": list(self.actions), "refused": list(self.refused)}
        return {name: lists.get(name, value) for name, value in asdict(self).items() if name != "thought"}

    def to_words(self) -> dict[str, Any]:
        return {"thought": self.thought} if self.thought else {}

    @classmethod
    def from_log(cls, data: Mapping[str, Any], words: Mapping[str, Any]) -> Planned:
        lists = {"actions": tuple(data["actions"]), "refused": tuple(data["refused"])}
        return cls(**{**data, **lists}, thought=str(words.get("thought", "")))


class WrittenPlan(BaseModel):
    """A plan as a model writes it: an object with a list of actions, a bare list, or a single action."""

    openings: ClassVar[str] = "{["

    items: tuple[Any, ...]
    """What should be actions, unjudged."""
    thought: str = ""
    """Why, in the model's words."""
    verdict: str = ""
    """``stands`` where it lets the answer of rules stand, ``enough`` where it is its last."""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        if (items := _items(given)) is None:
            raise ValueError("it holds no JSON object with a list of actions")
        told = given if isinstance(given, dict) else {}
        thought = told.get("thought")
        stands, enough = told.get("stands") is True and not items, told.get("enough") is True
        verdict = "stands" if stands else "enough" if enough else ""
        return {"items": tuple(items), "thought": thought if isinstance(thought, str) else "", "verdict": verdict}


def _items(found: Any) -> list[Any] | None:
    if isinstance(found, list):
        return found if not found or any(_named(each) for each in found) else None
    if not isinstance(found, dict):
        return None
    listed = found.get("actions")
    if isinstance(listed, list):
        return listed
    if isinstance(listed, dict):
        return [listed]
    return [found] if _named(found) else None


def _named(item: Any) -> bool:
    return isinstance(item, dict) and any(isinstance(item.get(key), str | Mapping) for key in _NAMES)


def document(item: Any) -> dict[str, Any]:
    """Return an item in the form of :func:`kgdx.actions.parse_action`, however the model put its fields."""
    if not isinstance(item, Mapping):
        raise UsageError("an action is a JSON object with its name and fields")
    inner = item.get("function")
    if isinstance(inner, Mapping):
        return document(inner)
    key = next((key for key in _NAMES if key in item), "action")
    fields = {str(name): value for name, value in item.items() if name != key and name not in _FIELDS}
    for nested in (item[name] for name in _FIELDS if name in item):
        if isinstance(nested, str):
            try:
                nested = json.loads(nested)
            except ValueError:
                nested = None
        if not isinstance(nested, Mapping):
            raise UsageError("the fields of an action stand beside its name")
        fields |= {str(name): value for name, value in nested.items()}
    return {"action": item.get(key), **fields}


def judge(
    items: Sequence[Any],
    registry: Mapping[str, type[Action]],
    before: Iterable[Action],
    resolved: Sequence[Resolved],
    most: int,
) -> tuple[tuple[Action, ...], tuple[str, ...]]:
    """Return which items of a plan are run, in order, and why the rest are not, in words for the model."""
    known = {action_key(action, resolved) for action in before}
    actions: list[Action] = []
    refused: dict[str, None] = {}
    for number, item in enumerate(items):
        if len(actions) == most or len(refused) == most:
            refused[f"{len(items) - number:,} of {len(items):,} actions are left out: at most {most} a round"] = None
            break
        try:
            action = parse_action(document(item), registry)
            action = type(action).model_validate({**action.usual, **action.model_dump(exclude_unset=True)})
        except UsageError as error:
            refused[error.message[:REASON]] = None  # the hint lists all actions, which the model was told
            continue
        key = action_key(action, resolved)
        if key in known:
            refused[f"{shown(action)} was run already; its result is among what was found"] = None
            continue
        known.add(key)
        actions.append(action)
    return tuple(actions), tuple(refused)


def action_key(action: Action, resolved: Sequence[Resolved] = ()) -> str:
    """Return what makes an action the same as another: its name and its fields, names replaced by what they mean."""
    meant = {each.given.casefold().strip(): each.ids for each in resolved if each.ids}
    return json.dumps([action.name, _canonical(action.parameters(), meant)], sort_keys=True, ensure_ascii=False)


def _canonical(value: Any, meant: Mapping[str, tuple[str, ...]]) -> Any:
    if isinstance(value, Mapping):
        return {key: _canonical(inner, meant) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        parts = {part for inner in value for part in _parts(inner, meant)}
        return sorted(parts)
    return value


def _parts(value: Any, meant: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    if isinstance(value, str):
        word = value.casefold().strip()
        yield from meant.get(word, (word,))
    else:
        yield json.dumps(_canonical(value, meant), sort_keys=True, ensure_ascii=False)


def shown(action: Action) -> str:
    """Return an action in one line, fields that have their usual value left out."""
    fields = action.model_dump(mode="json", exclude_defaults=True)
    return f"{action.name} {json.dumps(fields, ensure_ascii=False)}" if fields else action.name


def plan_schema(registry: Mapping[str, type[Action]]) -> dict[str, Any]:
    """Return the JSON schema of a plan, for endpoints that hold a model to it; actions of the same fields share one."""
    names: dict[str, list[str]] = {}
    for name, kind in sorted(registry.items()):
        names.setdefault(json.dumps(_fields(kind)), []).append(name)
    return _object(
        thought={"type": "string"},
        stands={"type": "boolean"},
        enough={"type": "boolean"},
        actions={"type": "array", "items": {"anyOf": [_form(of, json.loads(fields)) for fields, of in names.items()]}},
    )


def _form(names: list[str], fields: Mapping[str, Any]) -> dict[str, Any]:
    return _object(action={"type": "string", "enum": names}, **fields)


def _object(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}


def _fields(kind: type[Action]) -> dict[str, Any]:
    properties = kind.model_json_schema().get("properties", {})
    planned = {name: properties[name] for name in planned_fields(kind)}
    kept = {name: each["anyOf"][0] if "anyOf" in each else each for name, each in planned.items()}
    return {name: {key: value for key, value in each.items() if key in _KEPT} for name, each in kept.items()}


@cache
def planned_fields(kind: type[Action]) -> tuple[str, ...]:
    """Return the fields that a plan gives: those that have to be given, and otherwise the texts that it begins with."""
    schema = kind.model_json_schema()
    first: tuple[str, dict[str, Any]] = next(iter(schema.get("properties", {}).items()), ("", {}))
    lists = [each for each in (first[1], *first[1].get("anyOf", ())) if each.get("type") == "array"]
    return tuple(schema.get("required", ())) or ((first[0],) if lists else ())


_KEPT = frozenset({"type", "items", "enum", "const", "minItems", "maxItems"})


CLASSES = "diseases, phenotypes (HPO), symptoms, tests, drugs, treatments (cures) and genes"

MENTIONS = 20

FINDINGS = 100

IDS = 1
"""Ids that are shown of one name; one disease has entries in several sources."""

QUESTION = 4_000

FIELDS = 120

DRAFT = 900

DIAGNOSIS = "Which diseases explain this patient's findings best, and what in the graph speaks for them?"

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
            verdict="" if unfit else reading.verdict,
            thought=reading.thought,
        )


def _done(log: Sequence[Segment], registry: Mapping[str, type[Action]]) -> Iterator[Action]:
    for segment in log:
        if segment.kind is Kind.WISH and segment.name in registry:
            action = wish_of(segment.name, {**segment.data, **segment.words})
            assert isinstance(action, Action)
            yield action


@cache
def signature(kind: type[Action]) -> str:
    shown = (f"{name}: {'|'.join(of['enum'])}" if "enum" in of else name for name, of in _fields(kind).items())
    return f"{kind.name}({', '.join(shown)}): {purpose(kind)}"


def briefing(
    state: State, registry: Mapping[str, type[Action]], *, number: int, rounds: int, most: int, room: int
) -> dict[str, str]:
    """Return what fills the planner's prompt."""
    from kgdx.llm.deidentify import without_persons

    return {
        "graph": CLASSES,
        "actions": "\n".join(signature(kind) for _, kind in sorted(registry.items())),
        "question": clean(state.question, QUESTION) or DIAGNOSIS,
        "entities": "\n".join(_mentioned(state)) or "None that the graph knows by that name.",
        "findings": "\n".join(_findings(state.case)) or "There is no patient.",
        "done": without_persons("\n".join(history(state.log)), state.question) or "Nothing yet.",
        "found": pack(state).prompt(room) or "Nothing yet.",
        "draft": quoted(without_persons(drafted(state), state.question)[:DRAFT]) or "They answer nothing.",
        "round": str(number),
        "rounds": str(rounds),
        "most": str(most),
    }


def history(log: tuple[Segment, ...]) -> Iterator[str]:
    """Yield what each round asked and what came of it, a line each: rows, what failed, what was refused."""
    for each in rounds_of(log):
        yield f"Round {each.number}:" if each.number else "Before the first round:"
        for step in each.steps:
            yield f"- {_shown(step)}: {_came(step)}"
        for reason in each.refused:
            yield f"- refused: {reason}"


def _came(step: LookupStep) -> str:
    if step.error:
        return f"error: {step.error}"
    return "done" if step.rows is None else f"{step.rows:,} rows"


def _shown(step: LookupStep) -> str:
    fields = {key: value for key, value in step.parameters.items() if value not in (None, [], "")}
    written = json.dumps(fields, ensure_ascii=False)
    return f"{step.action} {written[:FIELDS]}" if fields else step.action


def _mentioned(state: State) -> Iterator[str]:
    for mention in mentions_of(state)[:MENTIONS]:
        yield f"- {json.dumps(mention.text, ensure_ascii=False)}: {mention.kind} {', '.join(mention.ids[:IDS])}"


def _findings(case: Case) -> Iterator[str]:
    about = [f"{key} {value}" for key, value in (("sex", case.sex), ("age", case.age)) if value]
    if about and case.findings:
        yield f"- {', '.join(about)}"
    for finding in case.findings[:FINDINGS]:
        yield f"- {finding.status}: {finding.label or finding.id} ({finding.id})"
    if len(case.findings) > FINDINGS:
        yield f"- and {len(case.findings) - FINDINGS:,} more"


class PlannerPolicy(WritingPolicy):
    """Ask a language model what to look up, look it up, and have the answer written from it."""

    name: ClassVar[str] = "planner"
    capabilities: ClassVar[Capabilities] = Capabilities(answers=True, models=True)

    rounds: Annotated[int, Field(ge=1, le=MAX_ROUNDS)] = 5
    """Most plans."""
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
        if not made and self._ruled(state) and (action := self._draft(state)) is not None:
            return action
        stands = bool(made) and made[-1]["verdict"] == "stands" and (self.strict or "[E" in drafted(state))
        if stands or Want.URGENCY in self.respond(state).wants:
            return self.finish(state, ask=False)
        if self._may_plan(state, made):
            return self._plan(state, registry, len(made) + 1)
        unused = made and self._ruled(state) and not any(each["actions"] or each["ended"] for each in made)
        why = f"the model {name_of(exchanges(state.log))} gave no plan that could be used"
        if unused and not state.tried(remark := Remark(code=UNPLANNED, text=why)):
            return remark
        unnamed = state.question and state.all(Retrieved) and state.get(Named) is None
        if unnamed and state.log[-1].kind is not Kind.ERROR:
            return NameFound()
        return self.finish(state)

    def respond(self, state: State) -> Respond:
        return self._rules.respond(state) if self._ruled(state) else super().respond(state)

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
        steps = rounds_of(state.log)[-1].steps if made and made[-1]["verdict"] == "enough" else ()
        if any(each.rows for each in steps) and not any(each.error for each in steps):
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

    @property
    def _rules(self) -> RulesPolicy:
        return RulesPolicy(**self.model_dump(include=set(EndingPolicy.model_fields)))

    def _ruled(self, state: State) -> bool:
        return self.fallback and bool(state.question)

    def _draft(self, state: State) -> Action | None:
        """Return what leads to the answer of rules, for the model to judge."""
        draft = Draft(**self.respond(state).model_dump())
        return self._rules.look_up(state) or next(
            (each for each in (NameFound(), draft) if not state.tried(each)), None
        )


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
