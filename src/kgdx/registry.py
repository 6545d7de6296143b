"""Find the classes of one kind by name: the built-in ones, and those that installed packages add by entry points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Generic, TypeVar

from kgdx.errors import ConfigError, KgdxError, MissingPackageError, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class Registry(Generic[T]):
    """Name → class, imported when it is first asked for.

    Installed packages are scanned (some 5 ms) only for a name that is not built in, and to list all names.

    Args:
        kind: What the classes are, in the singular; error messages use it.
        builtin: Name → ``"module:Class"``.

    Example:
        >>> numbers: Registry[complex] = Registry("number", "kgdx.example", {"fraction": "fractions:Fraction"})
        >>> numbers.get("fraction")(1, 3)
        Fraction(1, 3)
        >>> list(numbers), "decimal" in numbers
        (['fraction'], False)
        >>> numbers.get("decimal")
        Traceback (most recent call last):
        kgdx.errors.UsageError: no number 'decimal': one of fraction
    """

    def __init__(
        self,
        kind: str,
        group: str,
        builtin: Mapping[str, str],
        gone: Mapping[str, str] | None = None,
        apart: Mapping[str, str] | None = None,
    ) -> None:
        self.kind, self.group, self.builtin = kind, group, dict(builtin)
        self.gone, self.apart = dict(gone or {}), dict(apart or {})
        self._classes: dict[str, type[T]] = {}
        self._points: dict[str, EntryPoint] | None = None
        self._own: dict[str, type[T]] = {}

    def register(self, name: str, kind: type[T]) -> type[T]:
        """Give a class of this process a name, such as one that is tried out in a notebook; return the class.

        Example:
            >>> numbers: Registry[complex] = Registry("number", "kgdx.example", {})
            >>> numbers.register("float", float) is numbers.get("float")
            True
        """
        if name in self and self.get(name) is not kind:
            raise UsageError(f"there is a {self.kind} {name} already", hint="choose another name")
        self._own[name] = kind
        return kind

    def forget(self, name: str) -> None:
        """Take back :meth:`register`."""
        self._own.pop(name, None)

    def get(self, name: str) -> type[T]:
        """Return the class of a name."""
        if name in self._own:
            return self._own[name]
        if name not in self._classes:
            self._classes[name] = self._built_in(name) if name in self.builtin else self._installed(name)
        return self._classes[name]

    def names(self) -> tuple[str, ...]:
        return tuple(sorted({*self.builtin, *self._own, *self._scan()}))

    def __getitem__(self, name: str) -> type[T]:
        """Return :meth:`get`."""
        return self.get(name)

    def items(self) -> tuple[tuple[str, type[T]], ...]:
        """Return all names with their classes, which are imported for it."""
        return tuple((name, self.get(name)) for name in self.names())

    def values(self) -> tuple[type[T], ...]:
        """Return all classes, which are imported for it."""
        return tuple(kind for _, kind in self.items())

    def __iter__(self) -> Iterator[str]:
        """Iterate over :meth:`names`."""
        return iter(self.names())

    def __len__(self) -> int:
        """Return the number of :meth:`names`."""
        return len(self.names())

    def __contains__(self, name: object) -> bool:
        return name in self.builtin or name in self._own or name in self._scan()

    def _built_in(self, name: str) -> type[T]:
        module, _, attribute = self.builtin[name].partition(":")
        found: type[T] = getattr(import_module(module), attribute)
        return found

    def _installed(self, name: str) -> type[T]:
        found = self._scan()
        if name in self.gone and name not in found:
            raise UsageError(f"the {self.kind} {name} is gone", hint=self.gone[name])
        if name in self.apart and name not in found:
            raise MissingPackageError(f"the {self.kind} {name}", self.apart[name])
        if name not in found:
            raise UsageError(
                f"no {self.kind} {name[:40]!r}", hint=f"one of {', '.join(sorted({*self.builtin, *found}))}"
            )
        try:
            loaded = found[name].load()
        except KgdxError:
            raise
        except Exception as error:
            what = f"the {self.kind} {name} of {_package(found[name])} cannot be imported"
            raise ConfigError(
                f"{what} ({type(error).__name__}: {error})", hint="mend or uninstall the package"
            ) from error
        if not isinstance(loaded, type):
            what = f"the {self.kind} {name} of {_package(found[name])} is no class"
            raise ConfigError(what, hint=f"let its entry point of {self.group} name a class")
        one: type[T] = loaded
        return one

    def _scan(self) -> dict[str, EntryPoint]:
        if self._points is not None:
            return self._points
        from importlib.metadata import entry_points  # reading mails and tables comes with it

        found: dict[str, EntryPoint] = {}
        for point in entry_points(group=self.group):
            other = "kgdx" if point.name in self.builtin else _package(found[point.name]) if point.name in found else ""
            if other:
                what = f"{other} and {_package(point)} both have a {self.kind} named {point.name}"
                raise ConfigError(what, hint="uninstall one of them")
            found[point.name] = point
        self._points = found
        return found


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value
