"""Policies: who chooses the next action of an episode. A new method of diagnosis is a new one, in a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from kgdx.actions.episode import Policy
from kgdx.errors import UsageError
from kgdx.policies.fixed import FixedPolicy

POLICIES: Mapping[str, Callable[..., Policy]] = MappingProxyType({"fixed": FixedPolicy})
"""Name → maker of a policy; its keyword arguments are the policy's own settings."""


def policy(name: str, **settings: Any) -> Policy:
    """Make a policy by name.

    Raises:
        UsageError: No such policy, or a setting that it does not have.

    Example:
        >>> policy("fixed", top=3).name
        'fixed'
    """
    if name not in POLICIES:
        raise UsageError(f"no policy {name[:40]!r}", hint=f"one of {', '.join(sorted(POLICIES))}")
    try:
        return POLICIES[name](**settings)
    except TypeError as error:
        raise UsageError(f"policy {name}: {error}", hint="see `kgdx.policies`") from error


__all__ = ["POLICIES", "FixedPolicy", "Policy", "policy"]
