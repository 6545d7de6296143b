"""Options that belong together as one dataclass, so that a command takes a few things instead of a dozen."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose parameters that are dataclasses become an option for each of their fields.

    The fields are annotated as parameters of a command are; groups stand in the order of the command's parameters.

    Example:
        >>> @dataclasses.dataclass(frozen=True)
        ... class Size:
        ...     width: int = 80
        ...     height: int = 24
        >>> @grouped
        ... def draw(size: Size, text: str = "") -> None:
        ...     print(size.width, text)
        >>> list(inspect.signature(draw).parameters)
        ['width', 'height', 'text']
        >>> draw(width=3, height=4, text="x")
        3 x
    """
    hints = typing.get_type_hints(command, include_extras=True)
    own = inspect.signature(command).parameters
    groups = {name: hints[name] for name in own if dataclasses.is_dataclass(hints[name])}
    flat: list[inspect.Parameter] = []
    for name, parameter in own.items():
        options = _options(groups[name]) if name in groups else [parameter.replace(annotation=hints[name])]
        flat += [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in options]

    @functools.wraps(command, updated=())
    def run(**given: Any) -> None:
        made = {
            name: group(**{field.name: given.pop(field.name) for field in dataclasses.fields(group)})
            for name, group in groups.items()
        }
        command(**made, **given)

    vars(run).update(__signature__=inspect.Signature(flat))
    run.__annotations__ = {each.name: each.annotation for each in flat}
    return run


def _options(group: Any) -> list[inspect.Parameter]:
    hints = typing.get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default if field.default is not dataclasses.MISSING else inspect.Parameter.empty,
            annotation=hints[field.name],
        )
        for field in dataclasses.fields(group)
    ]
