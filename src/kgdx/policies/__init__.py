"""Policies: who chooses the next action of an episode. A new method of diagnosis is a new one, in a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kgdx.actions.episode import Policy
from kgdx.actions.state import Limits
from kgdx.errors import UsageError
from kgdx.policies.fixed import FixedPolicy

if TYPE_CHECKING:
    from kgdx.llm.protocol import ChatModel

ROUNDS = 5
"""Most rounds of a planner, where nobody says."""


def _rules(**settings: Any) -> Policy:
    """Words of the question and names of the graph; no language model."""
    from kgdx.policies.finishing import Finishing
    from kgdx.policies.rules import RulesPolicy

    return RulesPolicy(Finishing(**settings))


def _planner(
    model: ChatModel,
    rounds: int = ROUNDS,
    limits: Limits | None = None,
    prices: tuple[float, float] = (0.0, 0.0),
    on_text: Callable[[str], None] | None = None,
    fallback: bool = True,
    **settings: Any,
) -> Policy:
    """A language model that plans the look-ups and writes the answer."""
    from kgdx.policies.finishing import Finishing
    from kgdx.policies.planner import PlannerPolicy

    ending = Finishing(**settings)
    asked: dict[str, Any] = {"prices": prices, "on_text": on_text, "fallback": fallback}
    return PlannerPolicy(model, rounds, ending=ending, limits=limits or Limits(), **asked)


POLICIES: Mapping[str, Callable[..., Policy]] = MappingProxyType(
    {"fixed": FixedPolicy, "planner": _planner, "rules": _rules}
)
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
