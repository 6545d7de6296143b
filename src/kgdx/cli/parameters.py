"""Template parameters as they are written on a command line: ``name=value`` by the type that the header declares."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kgdx.errors import UsageError


def parse(template: str, declared: Mapping[str, str], given: Iterable[str]) -> dict[str, Any]:
    """Read ``name=value`` words into the types of a template's parameters.

    Args:
        template: Name of the template, for messages.
        declared: Parameter name → type, as in the template's header.
        given: The words; a list is ``a,b,c`` or a JSON array, rows are a JSON array.

    Raises:
        UsageError: A word is no pair, is given twice, or its value does not fit. Names are left to the template.

    Example:
        >>> parse("t", {"ids": "strings", "limit": "integer?"}, ["ids=HP:0001250,HP:0002133", "limit=5"])
        {'ids': ['HP:0001250', 'HP:0002133'], 'limit': 5}
    """
    values: dict[str, Any] = {}
    for word in given:
        name, sign, text = word.partition("=")
        if not sign or not name:
            raise UsageError(f"{word!r} is not NAME=VALUE", hint=f"as in `kgdx run {template} {_sample(declared)}`")
        if name in values:
            raise UsageError(f"{name} is given twice", hint="separate the items of a list by commas")
        values[name] = _value(name, declared.get(name, "string").rstrip("?"), text)
    return values


def _value(name: str, type_: str, text: str) -> Any:
    try:
        return _READERS[type_](text)
    except ValueError as error:
        raise UsageError(f"{name}={text[:40]} is not of type {type_}", hint=_FORMS[type_]) from error


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def _strings(text: str) -> list[str]:
    if text.startswith("["):
        value = json.loads(text)
        if not isinstance(value, list):
            raise ValueError(text)
        return value
    return [part.strip() for part in text.split(",") if part.strip()]


def _rows(text: str) -> list[Any]:
    value = json.loads(text)
    if not isinstance(value, list):
        raise ValueError(text)
    return value


def _sample(declared: Mapping[str, str]) -> str:
    return " ".join(f"{name}=…" for name, type_ in declared.items() if not type_.endswith("?"))


_READERS: Mapping[str, Callable[[str], Any]] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": _boolean,
    "strings": _strings,
    "rows": _rows,
}

_FORMS = {
    "string": "any text",
    "integer": "a whole number, such as 10",
    "float": "a number, such as 0.5",
    "boolean": "true or false",
    "strings": 'a,b,c or ["a", "b"]',
    "rows": 'a JSON array of objects, such as [{"id": "…"}]',
}
