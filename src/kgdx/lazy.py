"""What is made when it is first used: names of a package, regular expressions, and methods of dataclasses.

To compile the methods that compare, hash and show a dataclass takes a third of the time in which it is made.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict as asdict
from dataclasses import field as field
from dataclasses import fields as fields
from dataclasses import is_dataclass as is_dataclass
from dataclasses import replace as replace
from importlib import import_module
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, cast


def names_of(root: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package that imports a module when one of its names is first asked for.

    Example:
        >>> found = names_of("importlib", {"machinery": "ModuleSpec FrozenImporter"})
        >>> found("ModuleSpec").__name__
        'ModuleSpec'
    """
    modules = {name: module for module, names in homes.items() for name in names.split()}

    def found(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {root!r} has no attribute {name!r}")
        return getattr(import_module(f"{root}.{modules[name]}"), name)

    return found


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression that is compiled when it is first used, which many of a module never are.

    Example:
        >>> lazy_pattern("[0-9]+").findall("1 or 22")
        ['1', '22']
    """
    return cast("re.Pattern[str]", _Pattern(text, flags))


class _Pattern:
    def __init__(self, text: str, flags: int) -> None:
        self.pattern, self._given = text, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(re.compile(self.pattern, self._given), name)
        setattr(self, name, found)  # the next call is as quick as the pattern's own
        return found


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(kind=None, /, *, eq=True, repr=True, frozen=False, **how):
        """Make a class a dataclass, as :func:`dataclasses.dataclass` does, with methods that need no compiling."""
        if kind is None:
            return lambda kind: dataclass(kind, eq=eq, repr=repr, frozen=frozen, **how)
        if not eq or how.get("order") or how.get("unsafe_hash"):
            return dataclasses.dataclass(kind, eq=eq, repr=repr, frozen=frozen, **how)
        own = {name for name, value in vars(kind).items() if value is not None}
        made = dataclasses.dataclass(kind, eq=False, repr=False, frozen=frozen, **how)
        named = fields(made)
        compared = _values(each.name for each in named if each.compare)
        hashed = _values(each.name for each in named if (each.compare if each.hash is None else each.hash))

        def equal(one, other):
            return compared(one) == compared(other) if other.__class__ is one.__class__ else NotImplemented

        @recursive_repr()
        def shown(one):
            parts = (f"{each.name}={getattr(one, each.name)!r}" for each in named if each.repr)
            return f"{type(one).__qualname__}({', '.join(parts)})"

        made.__eq__ = made.__eq__ if "__eq__" in own else equal
        if "__hash__" not in own:
            made.__hash__ = (lambda one: hash(hashed(one))) if frozen else None
        if repr and "__repr__" not in own:
            made.__repr__ = shown
        return made


def _values(names: Iterable[str]) -> Callable[[Any], Any]:
    known = tuple(names)
    return attrgetter(*known) if known else lambda _: ()
