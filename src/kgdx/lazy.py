"""What is made when it is first used: names of a package from its modules, regular expressions, values kept a while."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Generic, TypeVar, cast

K = TypeVar("K")
V = TypeVar("V")


def names_of(root: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package that imports a module when one of its names is first asked for.

    Example:
        >>> found = names_of("importlib", {"machinery": "ModuleSpec FrozenImporter"})
        >>> found("ModuleSpec").__name__
        'ModuleSpec'
    """
    modules = {name: module for module, names in homes.items() for name in names.split()}

    @cache
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


class Recent(Generic[K, V]):
    """The values last used, at most ``size``; safe to share between threads."""

    def __init__(self, size: int = 512) -> None:
        self._size = size
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def peek(self, key: K) -> V | None:
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def get(self, key: K, compute: Callable[[], V]) -> V:
        value = self.peek(key)
        if value is None:
            value = compute()
            self.keep(key, value)
        return value

    def keep(self, key: K, value: V) -> None:
        with self._lock:
            self._values[key] = value
            while len(self._values) > self._size:
                self._values.popitem(last=False)
