"""Ask for JSON of a given form: read it strictly, mend what is nearly right, ask again otherwise."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from kgdx.errors import LlmError, MissingExtraError
from kgdx.lazy import lazy_pattern
from kgdx.llm.chat import ChatModel, Completion, Message, Request, sound

Form = TypeVar("Form", bound=BaseModel)

LONGEST = 200_000
"""Characters of an answer at most; what is longer is not read."""

DEEPEST = 40
"""Brackets within brackets at most."""

_PLACES = 20
"""Places in prose at most where JSON is looked for."""

_REFUSAL = lazy_pattern(
    r"^\W*(?:i['’]?m (?:very )?sorry|sorry|i (?:can(?:no|['’])t|am (?:unable|not able) to)|as an ai\b|"
    r"(?:很|非常)?(?:抱歉|对不起)|我(?:无法|不能)|作为(?:一个)?(?:AI|人工智能))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Structured(Generic[Form]):
    """A completion of the form that was asked for; ``mended``: whether it had to be looked for or mended."""

    value: Form
    answer: Completion
    mended: bool
    asked: int


def structured(model: ChatModel, request: Request, form: type[Form], *, again: int = 1) -> Structured[Form]:
    """Ask for a completion of a form.

    Args:
        again: How often a wrong answer is shown to the model with its fault, and asked for once more.
    """
    request = replace(request, schema=form.model_json_schema())
    for asked in range(1, again + 2):
        cut: LlmError | None = None
        try:
            answer = model.ask(request)
        except LlmError as error:
            if error.kind != "truncated":
                raise
            cut, answer = error, Completion(error.partial, model.name)
        try:
            value, mended = parse(answer.text, form)
            return Structured(value, answer, mended or cut is not None, asked)
        except ValueError as error:
            if cut is not None:
                raise cut from None
            if _REFUSAL.match(answer.text):
                message = f"the model {model.name} refuses to answer"
                raise LlmError(message, hint="ask something else, or another model", kind="refused") from None
            wrong = str(error)
        told = f"This answer cannot be used: {wrong}. Answer again, with the JSON object alone."
        turns = (Message("assistant", answer.text[:LONGEST]), Message("user", told))
        request = replace(request, messages=(*request.messages, *turns))
    hint = "try another model, or one that is held to a schema"
    raise LlmError(f"the model {model.name} gives no JSON as asked for ({wrong})", hint=hint, kind="malformed")


def parse(text: str, form: type[Form]) -> tuple[Form, bool]:
    """Read what a model wrote: the first reading that its form takes, and whether it had to be looked for or mended.

    A form may take more than a JSON object: a list, where its ``openings`` have a bracket, or the text itself.
    """
    if len(text) > LONGEST:
        raise ValueError(f"it is longer than {LONGEST:,} characters")
    if depth(text) > DEEPEST:
        raise ValueError("it is nested too deeply")
    wrong = ""
    for number, found in enumerate((*readings(text, getattr(form, "openings", "{")), text)):
        if found is None:
            continue
        try:
            return form.model_validate(found), number > 0
        except ValidationError as error:
            own = error.errors()[0]["type"] == "value_error"
            if not wrong and (own or isinstance(found, dict)):
                wrong = _fault(error)
    raise ValueError(wrong or "it holds no JSON object")


def readings(text: str, openings: str = "{[") -> Iterator[Any]:
    """Yield what a text may mean as JSON, the strictest reading first; readings that fail are ``None``."""
    try:
        yield _sound(json.loads(text))
    except (ValueError, RecursionError):
        yield None
    decoder = json.JSONDecoder()
    place = re.compile(f"[{re.escape(openings)}]")
    at = 0
    for _ in range(_PLACES):
        opening = place.search(text, at)
        if opening is None:
            break
        try:
            found, at = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            at = opening.start() + 1
            continue
        yield _sound(found)
    yield _sound(_mended(text, place))


def _sound(value: Any) -> Any:
    if isinstance(value, str):
        return sound(value)
    if isinstance(value, dict):
        return {sound(key): _sound(inner) for key, inner in value.items()}
    return [_sound(inner) for inner in value] if isinstance(value, list) else value


def _mended(text: str, place: re.Pattern[str]) -> Any:
    try:
        import json_repair
    except ImportError:
        raise MissingExtraError("reading a language model's JSON", "llm") from None
    opening, end = place.search(text), text.rfind("}")
    if opening is None:
        return None
    start = opening.start()
    try:
        return json_repair.loads(text[start : end + 1]) if end > start else None
    except (ValueError, RecursionError):
        return None


def depth(text: str) -> int:
    """Return how deeply brackets are nested at most, wherever they stand.

    Example:
        >>> depth('{"a": [1, [2]]}')
        3
    """
    deepest = now = 0
    for bracket in re.findall(r"[\[\]{}]", text):
        now = now + 1 if bracket in "[{" else max(0, now - 1)
        deepest = max(deepest, now)
    return deepest


def _fault(error: ValidationError) -> str:
    first = error.errors(include_input=False, include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{first['msg'].removeprefix('Value error, ')}{f' at {where}' if where else ''}"
