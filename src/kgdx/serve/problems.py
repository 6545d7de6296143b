"""Errors as RFC 9457 problem details, and the frames in which the server and its workers talk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from kgdx.errors import (
    AbsentError,
    CaseError,
    ConfigError,
    KgdxError,
    LlmError,
    MissingExtraError,
    StoreError,
    StoreLockedError,
    UsageError,
)

MEDIA_TYPE = "application/problem+json"

_KINDS: tuple[tuple[type[KgdxError], int, str], ...] = (
    (StoreLockedError, 503, "graph-locked"),
    (AbsentError, 422, "absent"),
    (StoreError, 503, "graph-unavailable"),
    (CaseError, 422, "case"),
    (UsageError, 422, "unusable"),
    (MissingExtraError, 409, "not-installed"),
    (ConfigError, 409, "not-configured"),
    (LlmError, 502, "language-model"),
)
"""Kind of error → status and the problem's name; the first that fits."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A request that was not answered, and why.

    Attributes:
        kind: Name of the kind of problem; its ``type`` is ``urn:kgdx:problem:<kind>``.
        headers: Sent along, such as ``Retry-After``.
    """

    status: int
    kind: str
    detail: str
    hint: str = ""
    more: Mapping[str, Any] = field(default_factory=dict, hash=False)
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the members of the problem document."""
        document: dict[str, Any] = {
            "type": f"urn:kgdx:problem:{self.kind}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        if self.hint:
            document["hint"] = self.hint
        return {**document, **self.more}


class RequestRefused(Exception):
    """Ends a request with a problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


def problem_of(error: KgdxError) -> Problem:
    for kind, status, name in _KINDS:
        if isinstance(error, kind):
            return Problem(status, name, error.message, error.hint or "")
    return Problem(500, "failed", error.message, error.hint or "")


def busy(detail: str, *, after: int = 1) -> Problem:
    """Return the problem of a server that cannot take a request now."""
    hint = "try again in a moment"
    return Problem(503, "busy", detail, hint, headers={"Retry-After": str(after)})
