"""The one family of errors kgdx raises; each message says what to do next.

The command line prints ``str(error)`` on one line, without a traceback, and exits with ``error.exit_code``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pydantic import ValidationError

LlmFault = Literal[
    "denied", "rejected", "context", "unreachable", "refused", "malformed", "truncated", "cut", "missing", "budget"
]
"""Kinds of :class:`LlmError`."""

Fault = Literal["request", "graph", "model"]
"""Whose fault an error is: what was asked, the graph that cannot be read, or the model that gave no answer."""


class KgdxError(Exception):
    """Base of every error that kgdx raises on purpose.

    Args:
        message: What went wrong, in one sentence.
        hint: What the user can do about it, in one sentence; printed after the message.

    Example:
        >>> str(KgdxError("no graph at /tmp/g", hint="build one with `kgdx build`"))
        'no graph at /tmp/g: build one with `kgdx build`'
    """

    exit_code: int = 1
    fault: Fault = "request"

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message}: {hint}")
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and send it to other processes as it is, whatever its class takes to be made."""
        return _as_it_was, (type(self), self.args, vars(self))


def _as_it_was(kind: type[KgdxError], args: tuple[object, ...], state: dict[str, Any]) -> KgdxError:
    error = kind.__new__(kind, *args)
    vars(error).update(state)
    return error


def first_fault(error: ValidationError) -> str:
    """Return where and why pydantic refused a value first, and nothing of the value."""
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


class UsageError(KgdxError):
    """An argument or option that cannot be right, whatever the data."""

    exit_code = 2


class ConfigError(KgdxError):
    """A setting, environment variable or config file that cannot be used."""

    exit_code = 2


class MissingExtraError(KgdxError):
    """A feature whose optional dependency is not installed."""

    exit_code = 3

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an optional dependency", hint=f'pip install "kgdx[{extra}]"')


class MissingPackageError(MissingExtraError):
    """A feature that a package of its own brings, which is not installed."""

    def __init__(self, feature: str, package: str) -> None:
        KgdxError.__init__(self, f"{feature} needs the package {package}", hint=f"pip install {package}")


class SchemaError(KgdxError):
    """The ontology, or something that must agree with it, is not well-formed."""

    exit_code = 4


class SourceError(KgdxError):
    """A source file or manifest that cannot be read as what it claims to be."""

    exit_code = 5


class StoreError(KgdxError):
    """A store that cannot be opened, read or written."""

    exit_code = 6
    fault: Fault = "graph"


class StoreLockedError(StoreError):
    """Another process holds the store; nothing was changed."""


class StaleSnapshotError(StoreError):
    """The snapshot was compiled from another state of the graph, or by another version."""


class AbsentError(StoreError):
    """The graph holds nothing of the kind that is asked for, and will not until another one is built."""

    fault: Fault = "request"


class TemplateError(StoreError):
    """An unknown template, or parameters that do not fit its header."""


class CaseError(KgdxError):
    """A case file or text from which no usable case can be made."""

    exit_code = 7


class LlmError(KgdxError):
    """A language model that cannot be reached, refuses, or gives no usable answer.

    Args:
        message: What went wrong, in one sentence.
        hint: What the user can do about it.
        kind: ``denied`` (the key or account), ``rejected`` (the request), ``context`` (it does not fit the
            context window), ``unreachable`` (after all retries),
            ``refused`` (by the model), ``malformed`` (no JSON as asked for), ``truncated`` (the answer stopped at the
            token limit), ``cut`` (the stream broke off), ``missing`` (not in the recording), or ``budget`` (what may be
            spent is spent).
        partial: What had arrived of a stream.
    """

    exit_code = 8
    fault: Fault = "model"

    def __init__(self, message: str, *, hint: str | None = None, kind: LlmFault, partial: str = "") -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.partial = partial


@contextmanager
def refusing(kind: type[KgdxError], what: str, hint: str | None = None) -> Iterator[None]:
    """Raise what the system refuses within the block as an error of kgdx, with the system's reason.

    Example:
        >>> with refusing(UsageError, "the notes cannot be read", "check the path"):
        ...     raise PermissionError(13, "Permission denied")
        Traceback (most recent call last):
            ...
        kgdx.errors.UsageError: the notes cannot be read (Permission denied): check the path
    """
    try:
        yield
    except OSError as error:
        raise kind(f"{what} ({error.strerror or error})", hint=hint) from error
