"""A plan as a language model writes it: read from whatever it wrote, and judged action by action.

Nothing of it is trusted. What is no action of the registry, does not fit its fields, was done before or is too much is
refused with a reason that the model can mend.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

from pydantic import BaseModel, model_validator

from kgdx.episode.state import Artifact, Reads
from kgdx.episode.wish import Action, parse_action
from kgdx.errors import UsageError
from kgdx.results.cited import Resolved

REASON = 300
"""Letters of a reason at most that a model is told."""

_NAMES = ("action", "name", "tool", "function")
"""Keys under which models name an action."""

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
    thought: str = field(default="", repr=False)

    def to_data(self) -> dict[str, Any]:
        return {
            "round": self.round,
            "actions": list(self.actions),
            "refused": list(self.refused),
            "ended": self.ended,
            "failed": self.failed,
        }

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

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        if (items := _items(given)) is None:
            raise ValueError("it holds no JSON object with a list of actions")
        thought = given.get("thought") if isinstance(given, dict) else ""
        return {"items": tuple(items), "thought": thought if isinstance(thought, str) else ""}


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
"""What endpoints understand of a field's schema."""
